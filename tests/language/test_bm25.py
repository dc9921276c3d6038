from hypothesis import given
from hypothesis import strategies as st

from kgmed.models.scorers import BM25Index, words

TEXTS = st.lists(st.text(alphabet="ab 胃痛热한", max_size=12), max_size=6)


def test_words_are_those_of_each_script() -> None:
    assert words("胃痛会引起発熱") == ["胃痛", "痛会", "会引", "引起", "起発", "発熱"]
    assert words("고혈압 환자의 두통") == ["고혈압", "환자의", "두통"]
    assert words("Homa na kikohozi") == ["homa", "na", "kikohozi"]


def test_a_word_of_every_text_never_counts_against_one() -> None:
    scores = BM25Index().scores("flu fever", ["flu fever", "flu", "flu cough"])
    assert (scores > 0).all()
    assert scores.argmax() == 0


@given(st.text(alphabet="ab 胃痛热한", max_size=12), TEXTS)
def test_a_text_scores_only_if_it_shares_a_word(query: str, texts: list[str]) -> None:
    scores = BM25Index().scores(query, texts)
    assert [s > 0 for s in scores] == [bool(set(words(query)) & set(words(t))) for t in texts]
    assert (
        BM25Index().best(query, texts, 3)
        == sorted((i for i, s in enumerate(scores) if s), key=lambda i: -scores[i])[:3]
    )
