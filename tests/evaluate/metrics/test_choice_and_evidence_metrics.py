"""Metrics of choices, evidence and cost against cases computed by hand."""

from dataclasses import replace

import pytest

from eval_makers import items, run
from kgmed.evaluate.items import Gold, Item
from kgmed.evaluate.metrics import metric
from kgmed.records import Answer, Context, Entity, Evidence, Question, Relation, Run, Spent, Stage, Triple, Verdict

ITEM = Item(Question("Which?", tuple((x, x) for x in "ABCD"), id="q"), Gold(("A", "B", "D")))


def choosing(letters: str) -> Run:
    made = run(ITEM.question, "said")
    return replace(made, answer=replace(made.answer, choices=tuple(letters)))


@pytest.mark.parametrize(
    ("letters", "accuracy", "pcr", "overlap"), [("ABD", 1, 1, 1), ("AB", 0, 1, 1), ("ABC", 0, 0, 1), ("", 0, 0, 0)]
)
def test_choices_are_scored_as_the_paper_has_it(letters: str, accuracy: int, pcr: int, overlap: int) -> None:
    told = [metric(name).of(choosing(letters), ITEM) for name in ("accuracy", "pcr", "pcr-overlap")]
    assert told == [accuracy, pcr, overlap]


def test_two_letters_where_one_is_right_are_wrong_and_told_apart() -> None:
    single = Item(ITEM.question, Gold(("A",)))
    assert metric("accuracy").of(choosing("AB"), single) == 0
    assert metric("pcr").of(choosing("AB"), single) == 0
    assert metric("several").of(choosing("AB"), single) == 1
    assert metric("several").of(choosing("AB"), ITEM) == 0


def test_a_failed_run_is_wrong_and_counted() -> None:
    names = ("accuracy", "pcr", "no-choice", "failed", "evidence-recall@5")
    assert [metric(name).of(None, ITEM) for name in names] == [0, 0, 1, 1, 0]
    assert metric("seconds").of(None, ITEM) is None


def piece(head: str, relation: str, tail: str) -> Evidence:
    triple = Triple(Entity(head, head), Relation(relation), Entity(tail, tail))
    return Evidence(f"{head} {relation} {tail}", "triple", (triple,))


SHOWN = (piece("flu", "has", "fever"), piece("gout", "treated by", "Colchicine"), piece("flu", "has", "cough"))
ASKED = Item(Question("?", id="e"), Gold(entities=("colchicine", "cough", "rash", "")))


def showing(pieces: tuple[Evidence, ...]) -> Run:
    return replace(run(ASKED.question, "said"), context=Context("", pieces), evidence=pieces)


def test_evidence_is_scored_by_the_gold_names_it_holds() -> None:
    told = showing(SHOWN)
    assert metric("evidence-recall@20").of(told, ASKED) == pytest.approx(2 / 3)
    assert metric("evidence-precision").of(told, ASKED) == pytest.approx(2 / 3)
    ideal = 1 + 0.63093 + 0.5
    assert metric("evidence-ndcg@20").of(told, ASKED) == pytest.approx((0.63093 + 0.5) / ideal, abs=1e-4)
    assert metric("relations").of(told, ASKED) == pytest.approx(2 / 3)
    assert metric("evidence-recall@20").of(showing(()), ASKED) == 0
    assert metric("evidence-recall@20").of(told, Item(ASKED.question, Gold())) is None


def test_the_right_options_stand_for_the_gold_where_no_entity_is_named() -> None:
    item = Item(Question("?", (("A", "Cough"), ("B", "Rash")), id="o"), Gold(("A",)))
    assert metric("evidence-recall@5").of(showing(SHOWN), item) == 1


def test_citations_are_scored_by_what_the_check_says() -> None:
    verdicts = (Verdict("a", True, "", (1,)), Verdict("b", False, "", (2,)), Verdict("c", True, ""))
    told = replace(run(ASKED.question, "said"), answer=Answer("a b c", verdicts=verdicts))
    assert metric("citation-precision").of(told, ASKED) == 0.5
    assert metric("citation-recall").of(told, ASKED) == pytest.approx(1 / 3)


def test_abstaining_is_right_where_the_evidence_held_nothing_of_the_gold() -> None:
    lost = replace(showing((SHOWN[0],)), answer=Answer("nothing", abstained=True))
    missed = replace(showing((SHOWN[1],)), answer=Answer("nothing", abstained=True))
    assert metric("abstained-rightly").of(lost, ASKED) == 1
    assert metric("abstained-rightly").of(missed, ASKED) == 0
    assert metric("abstained-rightly").of(showing(SHOWN), ASKED) is None


def test_what_a_run_took_is_read_from_its_record() -> None:
    spent = Spent(calls=4, cached=1, tokens_in=100, tokens_out=20, cost=None)
    told = replace(run(items(1)[0].question, "x"), spent=spent, stages=(Stage("a", 1.0), Stage("b", 0.5)))
    names = ("calls", "cached", "tokens-in", "tokens-out", "cost", "seconds")
    assert [metric(n).of(told, items(1)[0]) for n in names] == [4, 0.25, 100, 20, None, 1.5]


def test_the_seconds_of_retrieval_are_told_apart_by_whether_the_cache_had_all_some_or_none() -> None:
    stages = (Stage("recognize", 9.0), Stage("link", 1.0), Stage("retrieve", 0.5), Stage("read", 9.0))
    names = ("retrieval-seconds", "retrieval-cached", "retrieval-uncached", "graph-cached")

    def told(*hits: tuple[str, int, int]) -> list[float | None]:
        made = replace(run(items(1)[0].question, "x"), stages=stages, hits=hits)
        return [metric(n).of(made, items(1)[0]) for n in names]

    assert told() == [1.5, None, None, None]
    assert told(("lookup", 2, 2), ("neighbours", 1, 1)) == [1.5, 1.5, None, 1.0]
    assert told(("lookup", 0, 2)) == [1.5, None, 1.5, 0.0]
    assert told(("lookup", 1, 2)) == [1.5, None, None, 0.5]
