"""Ranking entity by entity, by lot, and by words."""

from kgmed.methods.kg_rank import PerEntity, Random
from kgmed.models.fakes import OverlapScorer
from kgmed.records import Entity, Evidence, Query, Question
from kgmed.steps.rank import BM25, Rerank

GOUT, FLU = Entity("g", "gout"), Entity("f", "flu")


def about(text: str, *entities: Entity) -> Evidence:
    return Evidence(text, "triple", (), entities)


def test_every_entity_keeps_its_own_best() -> None:
    given = [*(about(f"fever {i}", GOUT) for i in range(5)), about("cough 1", FLU), about("cough 2", FLU)]
    rank = Rerank(OverlapScorer(), keep=2)
    assert {e.text for e in rank(Query(Question("fever")), given)} == {"fever 0", "fever 1"}
    kept = [e.text for e in PerEntity(rank)(Query(Question("fever")), given)]
    assert kept == ["fever 0", "cough 1", "fever 1", "cough 2"]


def test_what_two_entities_share_is_kept_once() -> None:
    given = [about("fever", GOUT, FLU), about("cough", FLU), about("rash")]
    assert [e.text for e in PerEntity(Rerank(OverlapScorer()))(Query(Question("fever")), given)] == [
        "fever",
        "rash",
        "cough",
    ]


def test_a_lot_depends_on_seed_and_question_and_on_nothing_before() -> None:
    given = [about(f"{i}") for i in range(50)]
    one, other = Query(Question("one")), Query(Question("other"))
    rank = Random(keep=10)
    first = rank(one, given)
    rank(other, given)
    assert rank(one, given) == first
    assert len(first) == 10
    others = [rank(other, given), Random(10, seed=1)(one, given)]
    assert all({e.text for e in first} != {e.text for e in found} for found in others)
    assert [e.score for e in first] == sorted((e.score for e in first), reverse=True)


def test_words_of_either_script_rank_and_rare_ones_count_more() -> None:
    given = [about("gout — treated by → drug"), about("gout — found → red toe"), about("胃溃疡 — 药物 → 奥美拉唑")]
    assert BM25(keep=1)(Query(Question("gout in a toe?")), given)[0].text == given[1].text
    assert BM25(keep=1)(Query(Question("胃溃疡吃什么")), given)[0].text == given[2].text
    assert BM25(keep=1, over_hypothesis=True)(Query(Question("?"), "奥美拉唑"), given)[0].text == given[2].text
