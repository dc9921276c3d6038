"""Text metrics against hand-computed cases and the reference packages."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_makers import items, run
from kgmed.evaluate.items import Gold, Item
from kgmed.evaluate.metrics import PLAIN, metric, metrics
from kgmed.evaluate.metrics.text import bleu, corpus, rouge_l, rouge_n, words
from kgmed.records import Question

WORD = st.sampled_from("the a fever cough patient has had treated with aspirin diseases disease 12 mg".split())  # noqa: SIM905
LONG = st.lists(WORD, min_size=4, max_size=25)
TEXT = st.lists(WORD, min_size=1, max_size=25)
ANSWERED = Item(Question("Why?", id="q"), Gold(texts=("the fever is high", "a cough")))


@pytest.mark.parametrize(
    ("said", "references", "exact", "held"),
    [
        ("The Gout.", ("flu", "gout"), 1, 1),
        ("It is gout, an attack", ("gout",), 0, 1),
        ("gout of a foot", ("gout foot",), 0, 0),
        ("gouty", ("gout",), 0, 0),
        ("是痛风。", ("痛风",), 0, 1),
        ("", ("gout",), 0, 0),
        ("gout", ("the",), 0, 0),
        ("gout", (), None, None),
    ],
)
def test_a_short_answer_is_a_reference_or_holds_one(
    said: str, references: tuple[str, ...], exact: float | None, held: float | None
) -> None:
    item = Item(Question("Why?", id="q"), Gold(texts=references))
    made = run(item.question, said)
    assert (metric("exact").of(made, item), metric("held").of(made, item)) == (exact, held)


@settings(deadline=None)
@given(said=TEXT, wanted=TEXT, stem=st.booleans())
def test_rouge_is_what_the_reference_package_says(said: list[str], wanted: list[str], *, stem: bool) -> None:
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")
    theirs = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stem)
    told = theirs.score(" ".join(wanted), " ".join(said))
    a, b = words(" ".join(said), stem=stem), words(" ".join(wanted), stem=stem)
    for ours, name in ((rouge_n(a, b, 1), "rouge1"), (rouge_n(a, b, 2), "rouge2"), (rouge_l(a, b), "rougeL")):
        assert ours == pytest.approx((told[name].precision, told[name].recall, told[name].fmeasure), abs=1e-9)


@settings(deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=3))
def test_bleu_is_what_the_reference_package_says(said: list[str], wanted: list[list[str]]) -> None:
    translate = pytest.importorskip("nltk.translate.bleu_score")
    for n in range(1, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of texts that share no n-gram
            theirs = translate.sentence_bleu(wanted, said, weights=(1 / n,) * n)
        assert bleu(said, wanted, n) == pytest.approx(theirs if theirs > 1e-60 else 0.0, abs=1e-9)


@given(TEXT, st.lists(TEXT, min_size=1, max_size=3))
def test_bleu_is_a_share_and_whole_for_a_reference_itself(said: list[str], wanted: list[list[str]]) -> None:
    for n in range(1, 5):  # BLEU-2 may be above BLEU-1: "a the a" has both pairs of "the a the"
        assert 0 <= bleu(said, wanted, n) <= 1 + 1e-12
        if len(said) >= n:
            assert bleu(said, [*wanted, said], n) == pytest.approx(1)


@settings(deadline=None)
@given(st.lists(st.tuples(LONG, TEXT), min_size=1, max_size=5))  # NLTK counts a missing n-gram of short answers
def test_bleu_over_all_answers_is_what_the_reference_package_says(pairs: list[tuple[list[str], list[str]]]) -> None:
    translate = pytest.importorskip("nltk.translate.bleu_score")
    told = corpus((said, [wanted]) for said, wanted in pairs)
    for n in range(1, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = translate.corpus_bleu([[w] for _, w in pairs], [s for s, _ in pairs], weights=(1 / n,) * n)
        assert told[n - 1] == pytest.approx(theirs if theirs > 1e-60 else 0.0, abs=1e-9)


@given(TEXT)
def test_a_text_scores_full_against_itself(text: list[str]) -> None:
    assert rouge_l(text, text).f == rouge_n(text, text, 1).f == 1
    assert bleu(text, [text], min(4, len(text))) == pytest.approx(1)


def test_chinese_is_compared_by_characters_and_never_scores_zero_for_its_script() -> None:
    assert rouge_n(words("服用阿司匹林"), words("应服用布洛芬"), 1).recall == pytest.approx(2 / 6)
    assert words("ビタミンB12を飲む") == ["ビ", "タ", "ミ", "ン", "b12", "を", "飲", "む"]
    assert words("hypertension artérielle") == ["hypertension", "artérielle"]


def test_the_best_reference_counts_and_none_is_told_apart_from_zero() -> None:
    said = run(ANSWERED.question, "a cough")
    assert metric("rouge-l").of(said, ANSWERED) == 1
    assert metric("rouge-l").of(said, Item(ANSWERED.question, Gold())) is None
    assert metric("rouge-l").of(None, ANSWERED) == 0


def test_rouge_r_is_two_metrics() -> None:
    said = run(ANSWERED.question, "flu has fever")
    assert metric("rouge-r-knowledge").of(said, ANSWERED) == 1
    assert metric("rouge-r-reference").of(said, ANSWERED) == 0.25


def test_every_metric_scores_a_run_and_a_failure() -> None:
    item = items(1)[0]
    for each in metrics().values():
        for told in (each.of(run(item.question, "flu"), item), each.of(None, item)):
            assert told is None or isinstance(told, float)
        assert each.formula
        assert each.source


def test_the_metrics_that_are_shown_plainly_exist() -> None:
    assert {name for names in PLAIN.values() for name in names} <= set(metrics())
