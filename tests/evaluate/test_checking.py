"""Sentences made of a graph are true or false as they are said to be, and a check is told by both."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kgmed.errors import BadInput
from kgmed.evaluate.checking import KINDS, PARTS, CheckCase, Checking, Maker, Share, checked, forms
from kgmed.graph.store.store import Store
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Answer, Context, Query, Role, Verdict
from kgmed.toolkit import Toolkit
from memory_graph import MemoryGraph


def small() -> MemoryGraph:
    rows = [(f"disease{i}", "has", f"sign{j}") for i in range(12) for j in range(12) if (i * j) % 5 == i % 5]
    rows += [(f"drug{i}", "treats", f"disease{i}") for i in range(12)]
    return MemoryGraph(rows, roles={"has": Role.FINDING, "treats": Role.TREATS})


def test_the_same_seed_makes_the_same_sentences_and_another_others() -> None:
    first, again, other = (list(Maker(small(), seed=s).cases(8)) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_false_sentence_says_what_the_graph_does_not() -> None:
    graph = small()
    stated = {(t.subject.name, t.object.name) for t in map(graph.triple, range(graph.adjacency.edges))}
    for case in Maker(graph, "dev").cases(40):
        if case.shape == "one" and case.kind in ("true", "entity", "other evidence"):
            named = [n for pair in stated for n in pair if f"{n} " in f"{case.sentence[:-1]} "]
            pairs = {(a, b) for a in named for b in named if a != b}
            assert bool(pairs & stated) == (case.kind == "true"), case


def test_every_case_has_the_piece_that_it_is_made_from_and_others() -> None:
    for case in Maker(small()).cases(12):
        assert len(case.evidence) == 5
        assert case.kind in KINDS
        assert case.want == "supported" if case.kind == "true" else case.want != "supported"


def test_a_check_is_told_by_what_it_says_of_each_kind() -> None:
    def credulous(query: Query, context: Context, answer: Answer) -> Answer:
        return replace(answer, verdicts=(Verdict(answer.text, True, "yes"),))

    cases = list(Maker(small()).cases(20))
    found = checked(credulous, cases)
    assert found.right("true").share == 1
    assert found.false.right == 0
    assert sum(found.confusion["contradicted"].values()) == sum(c.want == "contradicted" for c in cases)
    assert found.to_json()["sentences"] == len(cases)


def test_the_worst_label_of_several_sentences_counts() -> None:
    def check(query: Query, context: Context, answer: Answer) -> Answer:
        return replace(answer, verdicts=(Verdict("a", True, ""), Verdict("b", False, "", label="contradicted")))

    case = CheckCase("a. b.", (), "true", "supported", "treats", "one")
    assert [label for _, label, _ in checked(check, [case]).rows] == ["contradicted"]


def test_wilsons_interval_is_that_of_the_paper() -> None:
    low, high = Share(8, 10).interval
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert Checking(()).right("true").n == 0


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", PARTS)
def test_every_form_names_both_ends(language: str, part: str) -> None:
    told = forms(language, part)
    every = [f for group in (*told.true.values(), *told.denied.values()) for f in group]
    assert every
    assert all("{a}" in f and "{b}" in f for f in every)


def test_no_form_of_the_test_part_is_one_of_the_dev_part() -> None:
    def every(language: str, part: str) -> Sequence[str]:
        told = forms(language, part)
        return [f for group in (*told.true.values(), *told.denied.values()) for f in group]

    for language in ("en", "zh"):
        assert not {*every(language, "dev"), *every(language, "dev2")} & set(every(language, "test"))


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(BadInput, match="no part is called 'x'"):
        forms("en", "x")
    with pytest.raises(BadInput, match="no relation that a sentence could be made of"):
        Maker(MemoryGraph([("a", "r", "b")]))


@pytest.mark.slow
@pytest.mark.starter
@pytest.mark.parametrize("name", ["hpo", "cmekg"])
def test_the_check_keeps_its_bars_on_the_packaged_graphs(name: str, request: pytest.FixtureRequest) -> None:
    store: Store = request.getfixturevalue(name)
    found = checked(Toolkit(store, encoder=NgramEncoder()).check, list(Maker(store, "dev").cases(60)))
    assert found.right("true").share >= 0.85
    assert found.false.share >= 0.95
