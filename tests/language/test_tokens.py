"""Words and their places."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.language.text import fold, fold_word, has_cjk, normalise, tokens

TEXTS = st.text(st.sampled_from("aBé5 .,'’-_/%()<型糖尿病。，Ⅱ１Ａアｶﾞ\u0301ß\n½²"), max_size=30) | st.text(max_size=30)


@given(TEXTS)
def test_words_stand_where_they_say_in_order_and_are_normalised(text: str) -> None:
    found = tokens(text)
    for word in found:
        assert 0 <= word.start < word.end <= len(text)
        assert word.text
        assert normalise(word.text) == word.text
    assert all(a.end <= b.start or (a.start, a.end) == (b.start, b.end) for a, b in pairwise(found))


@given(st.text(st.sampled_from("abcXYZ019 .,;:'()-_/型糖尿病肺炎"), max_size=40))
def test_the_words_are_those_of_the_normalised_text(text: str) -> None:
    assert "".join(t.text for t in tokens(text)) == normalise(text).replace(" ", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Crohn's disease", ["crohn", "disease"]),
        ("Crohn’s", ["crohn"]),
        ("vitamin B12, 3.5%", ["vitamin", "b12", "3.5%"]),
        ("end.Next", ["end", "next"]),
        ("Ⅱ型", ["ii", "型"]),
        ("𝙰型 𝚩", ["a", "型", "β"]),
        ("CT检查", ["ct", "检", "查"]),
        ("ＣＴ　检查", ["ct", "检", "查"]),
        ("", []),
    ],
)
def test_texts_are_cut_into_words(text: str, words: list[str]) -> None:
    assert [t.text for t in tokens(text)] == words


def test_a_wide_letter_keeps_its_own_place() -> None:
    assert [(t.text, t.start, t.end) for t in tokens("。ＡＢ 1")] == [("ab", 1, 3), ("1", 4, 5)]


@given(st.text(st.characters(max_codepoint=127), max_size=30))
def test_plain_text_is_normalised_as_it_is_among_other_characters(text: str) -> None:
    assert normalise(f"é {text}") == f"é {normalise(text)}".rstrip()


@given(TEXTS)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.lists(st.sampled_from(["Muscles", "weakness", "calves", "tumour", "of", "the"]), min_size=2).map(" ".join))
def test_folding_ignores_order_case_and_number(text: str) -> None:
    assert fold(" ".join(reversed(text.upper().split()))) == fold(text)


@pytest.mark.parametrize(("word", "folded"), [("calves", "calf"), ("tumours", "tumor"), ("haematuria", "hematuria")])
def test_words_fold_to_singular_and_american(word: str, folded: str) -> None:
    assert fold_word(word) == folded


def test_kana_are_characters_too() -> None:
    assert has_cjk("リウマチ")
    assert [t.is_cjk for t in tokens("リウ RA")] == [True, True, False]
