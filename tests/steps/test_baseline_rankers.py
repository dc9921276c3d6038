"""Rankers of the baselines: by each line of a guess, and by what stands out."""

from kgmed.methods.baselines_retrieval import Percentile
from kgmed.models.fakes import TrigramEncoder
from kgmed.records import Entity, Evidence, Query, Question, Relation, Role, Triple
from kgmed.steps.rank import BM25, ByLine

TEXTS = ["gout hurts the toe", "measles brings a rash", "gout is treated", "a rash itches", "tungsten is hard"]
PIECES = [Evidence(text, "triple") for text in TEXTS]
A, B = Entity("a", "a"), Entity("b", "b")
WARNING = Evidence("never", "triple", (Triple(A, Relation("no", Role.CONTRAINDICATED), B),))


def test_every_line_gets_its_share_and_no_piece_stands_twice() -> None:
    query = Query(Question("What?"), "gout and the toe\na rash with measles")
    kept = ByLine(BM25(keep=2))(query, PIECES)
    assert [e.text for e in kept[:2]] == ["gout hurts the toe", "measles brings a rash"]
    assert len({e.text for e in kept}) == len(kept) == 4


def test_without_a_guess_the_question_is_asked() -> None:
    query = Query(Question("Which metal is tungsten?"))
    assert ByLine(BM25(keep=1))(query, PIECES) == BM25(keep=1)(query, PIECES)


def test_what_stands_out_is_kept_best_first() -> None:
    kept = Percentile(TrigramEncoder(), percentile=60, at_least=0.0)(Query(Question("gout hurts the toe")), PIECES)
    assert kept[0].text == "gout hurts the toe"
    assert len(kept) == 2
    assert kept[0].score > kept[1].score


def test_a_threshold_never_empties_the_context_and_a_bound_holds() -> None:
    query = Query(Question("zzz"))
    assert len(Percentile(TrigramEncoder(), at_least=0.99)(query, PIECES)) == 1
    assert len(Percentile(TrigramEncoder(), percentile=0, at_least=-1.0, keep=3)(query, PIECES)) == 3
    assert WARNING in [
        Evidence(e.text, e.kind, e.triples) for e in Percentile(TrigramEncoder(), keep=1)(query, [*PIECES, WARNING])
    ]


def test_equal_pieces_are_kept_once() -> None:
    kept = Percentile(TrigramEncoder(), percentile=0, at_least=-1.0)(Query(Question("gout")), [PIECES[0]] * 3)
    assert len(kept) == 1
