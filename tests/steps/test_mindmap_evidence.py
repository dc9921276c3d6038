from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.errors import ModelFailed
from kgmed.methods.mindmap import MindMapPaths, Relevant, pruned
from kgmed.methods.mkg_rank import OwnKnowledge
from kgmed.models.fakes import Scripted, TrigramEncoder
from kgmed.pipeline import notes
from kgmed.records import Entity, Evidence, Link, Query, Question, Relation, Role, Triple
from kgmed.steps.rank import Every, OfTypes, RelevanceByModel, Similar
from memory_graph import MemoryGraph
from role_graph import RoleGraph, query

HAS, TESTS = Relation("has_symptom", Role.FINDING), Relation("needs_test", Role.TESTS, reverse=True)
BAD = Relation("forbidden_in", Role.CONTRAINDICATED)
GRAPH = RoleGraph(
    [
        ("flu", "has_symptom", "fever"),
        ("flu", "has_symptom", "cough"),
        ("flu", "needs_test", "PCR"),
        ("gout", "has_symptom", "toe pain"),
        ("gout", "needs_test", "urate"),
        ("aspirin", "forbidden_in", "flu"),
    ],
    [HAS, TESTS, BAD],
    {"disease": ["flu", "gout"], "symptom": ["fever", "cough", "toe pain"], "test": ["PCR", "urate"]},
)
ASKED = query("I have a fever and a cough")


def links(graph: MemoryGraph, *names: str) -> list[Link]:
    return [RoleGraph.link(graph, name) for name in names]  # type: ignore[arg-type]


def texts(found: Sequence[Evidence]) -> list[str]:
    return [e.text for e in found]


LINE = MemoryGraph([("A", "r", "B"), ("C", "s", "B")], isolated=["Z"])


@pytest.mark.parametrize(
    ("names", "paths"),
    [
        (["A", "B", "C"], ["A -[r]-> B <-[s]- C"]),
        (["A", "C", "B"], ["A -[r]-> B <-[s]- C"]),
        (["A", "A", "C", "A"], ["A -[r]-> B <-[s]- C"]),
        (["A", "Z"], []),
        (["A"], []),
        ([], []),
    ],
)
def test_all_entities_on_a_path_are_consumed_and_no_list_is_too_short(names: list[str], paths: list[str]) -> None:
    found = MindMapPaths(LINE)(ASKED, links(LINE, *names))
    assert texts(found) == paths
    assert [e.id for e in found] == [f"P{i}" for i in range(1, len(paths) + 1)]


def test_a_name_of_several_words_on_a_path_is_recognised() -> None:
    graph = MemoryGraph([("A", "r", "toe pain"), ("toe pain", "s", "C")])
    [found] = MindMapPaths(graph)(ASKED, links(graph, "A", "C", "toe pain"))
    assert [e.name for e in found.about] == ["A", "toe pain", "C"]


def test_the_closest_pair_comes_first_where_asked_for() -> None:
    graph = MemoryGraph([("A", "r", "x"), ("x", "r", "y"), ("y", "r", "B"), ("B", "r", "C")])
    with notes() as left:
        found = MindMapPaths(graph, order="closest")(ASKED, links(graph, "A", "C", "B"))
    assert found[0].about[0].name == "C"
    assert "paths: entities taken closest first" in left
    assert MindMapPaths(graph)(ASKED, links(graph, "A", "C", "B"))[0].about[0].name == "A"


def paths_from(counts: dict[str, int]) -> list[Evidence]:
    return [Evidence(f"{s}{i}", "path", about=(Entity(s, s),)) for s, n in counts.items() for i in range(n)]


@pytest.mark.parametrize(
    ("counts", "kept"),
    [
        ({"a": 7}, ["a0", "a1", "a2", "a3", "a4"]),
        ({"a": 4, "b": 4}, ["a0", "a1", "b0", "b1", "b2"]),
        ({"a": 9, "b": 1}, ["a0", "a1", "a2", "a3", "b0"]),
        (dict.fromkeys("abcdefg", 2), ["a0", "b0", "c0", "d0", "e0"]),
        ({"a": 2, "b": 2, "c": 4}, ["a0", "b0", "c0", "c1", "c2"]),
        ({}, []),
    ],
)
def test_every_start_has_its_share_of_five_and_the_last_the_rest(counts: dict[str, int], kept: list[str]) -> None:
    assert texts(pruned(paths_from(counts), 5)) == kept


def test_drawing_is_within_a_start_and_the_same_for_one_question() -> None:
    many = paths_from({"a": 20, "b": 20})
    drawn = pruned(many, 5, random=Random(1))
    assert [e.about[0].id for e in drawn] == ["a", "a", "b", "b", "b"]
    assert drawn == pruned(many, 5, random=Random(1)) != pruned(many, 5)
    hub = MemoryGraph([(x, "r", m) for x in ("A", "B") for m in "uvwxyz"])
    kept = [texts(MindMapPaths(hub, keep=2, sample=True)(ASKED, links(hub, "A", "B"))) for _ in range(2)]
    assert kept[0] == kept[1]


def test_what_is_not_shown_is_said() -> None:
    hub = MemoryGraph([(x, "r", m) for x in ("A", "B") for m in "uvwxyz"])
    with notes() as left:
        found = MindMapPaths(hub, keep=2)(ASKED, links(hub, "A", "B"))
    assert len(found) == 2
    assert left == ["paths: 2 of 6 kept, spread over their starts"]


def test_neighbours_are_grouped_and_relevant_ones_bring_in_their_own() -> None:
    found = Relevant(GRAPH, Every(), keep=9)(ASKED, links(GRAPH, "fever"))
    assert set(texts(found)) == {
        "flu — has_symptom → fever",
        "flu — has_symptom → cough",
        "flu — needs_test → PCR",
        "aspirin — forbidden_in → flu",
    }
    assert {tuple(e.name for e in piece.about) for piece in found} == {("fever",), ("fever", "flu")}
    assert [e.id for e in found] == ["N1", "N2", "N3", "N4"]


class ByTail:
    """Scores triples by the name at their end."""

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores = scores

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        return np.array([self.scores.get(t.tail.name, 0.0) for t in triples])


def test_the_cap_comes_after_the_ranking_and_never_takes_a_warning() -> None:
    with notes() as left:
        found = Relevant(GRAPH, ByTail({"PCR": 0.9, "cough": 0.1, "fever": 0.1}), keep=1)(ASKED, links(GRAPH, "flu"))
    assert texts(found) == ["flu — needs_test → PCR", "aspirin — forbidden_in → flu"]
    assert left == ["neighbours: 2 of 3 rows shown"]


def test_neighbours_that_are_not_relevant_are_left_out_and_not_expanded() -> None:
    assert Relevant(GRAPH, ByTail({}))(ASKED, links(GRAPH, "fever")) == []
    kinds = Relevant(GRAPH, Every(), through=("disease",), skip=(Role.FINDING,), keep=9)(ASKED, links(GRAPH, "fever"))
    assert "flu — has_symptom → cough" not in texts(kinds)
    assert "flu — needs_test → PCR" in texts(kinds)


def test_a_fact_that_the_graph_states_in_both_directions_is_one_fact() -> None:
    back = Relation("possible_disease", Role.FINDING, reverse=True)
    rows = [("flu", "has_symptom", "fever"), ("fever", "possible_disease", "flu"), ("flu", "has_symptom", "cough")]
    graph = RoleGraph(rows, [HAS, back], {"disease": ["flu"], "symptom": ["fever", "cough"]})
    assert len(Relevant(graph, Every(), expand=0)(ASKED, links(graph, "fever"))) == 1
    assert len(MindMapPaths(graph)(ASKED, links(graph, "fever", "cough"))) == 1


def test_relations_that_run_in_a_circle_end_the_search() -> None:
    circle = RoleGraph([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")], [], {"disease": ["a", "b", "c"]})
    found = Relevant(circle, Every(), through=("disease",), keep=9)(ASKED, links(circle, "a"))
    assert set(texts(found)) == {"a — r → b", "c — r → a", "b — r → c"}


def test_the_shortest_path_has_fewest_steps_not_fewest_characters() -> None:
    long = "a very long name of a disease"
    graph = MemoryGraph([("A", "r", long), (long, "r", "B"), ("A", "r", "x"), ("x", "r", "y"), ("y", "r", "B")])
    assert texts(MindMapPaths(graph)(ASKED, links(graph, "A", "B"))) == [f"A -[r]-> {long} -[r]-> B"]


def test_nothing_of_one_question_is_seen_in_the_next() -> None:
    for relevance in (Every(), OfTypes(), Similar(TrigramEncoder(), 0.0)):
        retrieve = Relevant(GRAPH, relevance, keep=9)
        first = retrieve(ASKED, links(GRAPH, "flu"))
        second = retrieve(query("My toe hurts"), links(GRAPH, "toe pain"))
        names = {e.name for piece in second for t in piece.triples for e in (t.head, t.tail)}
        assert first
        assert names <= {"gout", "toe pain", "urate"}
        assert second == Relevant(GRAPH, relevance, keep=9)(query("My toe hurts"), links(GRAPH, "toe pain"))


def test_types_and_cosine_choose_by_role_and_by_likeness() -> None:
    triples = GRAPH.neighbours("flu")
    by_type = OfTypes((Role.TESTS,))(ASKED, triples)
    assert [t.tail.name for t, s in zip(triples, by_type, strict=True) if s > 0] == ["PCR"]
    asked = query("flu has symptom cough")
    scores = dict(zip([t.tail.name for t in triples], Similar(TrigramEncoder(), 0.5)(asked, triples), strict=True))
    assert scores["cough"] > 0.99
    assert scores["PCR"] == 0
    assert len(Similar(TrigramEncoder())(asked, [])) == 0


@pytest.mark.parametrize("reply", ["1, 3", "Numbers: 1 and 3.", "[1][3]", "1.\n3.", "第1、3条", "1-1, 3"])
def test_a_model_judges_a_batch_in_one_call(reply: str) -> None:
    llm = Scripted([reply])
    assert RelevanceByModel(llm)(ASKED, GRAPH.neighbours("flu")[:3]).tolist() == [1.0, 0.0, 1.0]
    assert len(llm.asked) == 1


def test_a_judgement_that_says_nothing_is_a_failure_and_none_is_none() -> None:
    assert RelevanceByModel(Scripted(["none"]))(ASKED, GRAPH.neighbours("flu")).sum() == 0
    with pytest.raises(ModelFailed, match="which facts matter"):
        RelevanceByModel(Scripted(["Sure!"]))(ASKED, GRAPH.neighbours("flu"))


@pytest.mark.parametrize(
    ("reply", "best"),
    [
        ("Gout hurts the toe. Flu causes fever. Cats sleep.", "Flu causes fever."),
        ("# Background\n- Flu causes fever.\n- Cats sleep a lot.", "Flu causes fever."),
        ("1. Cats sleep a lot.\n2. **Flu causes fever.**", "Flu causes fever."),
        ("流感会引起 fever 和 flu。猫喜欢睡觉。", "流感会引起 fever 和 flu。"),
        ("Flu causes fever.\nFlu causes fever.", "Flu causes fever."),
    ],
)
def test_fragments_of_the_models_own_words_are_picked_by_shared_words(reply: str, best: str) -> None:
    asked = Query(Question("Which causes fever?", (("A", "flu"),)))
    found = OwnKnowledge(Scripted([reply]), keep=1)(asked, [])
    assert texts(found) == [f"{best} (the model's own words)"]
    assert found[0].score > 0


@pytest.mark.parametrize("reply", ["", "   ", "Cats sleep.", "???", "#\n-\n"])
def test_background_that_has_nothing_to_do_with_the_question_is_no_evidence(reply: str) -> None:
    assert OwnKnowledge(Scripted([reply]))(query("fever?"), []) == []
