"""How linkers are measured."""

import re
import sys
from pathlib import Path

import pytest

from kgmed.evaluate.linking import (
    Concepts,
    LinkingCase,
    LinkingPlace,
    LinkingRecall,
    recall,
    spot,
)
from kgmed.graph.base import Alias, NodeRow, Scope, Source
from kgmed.linking.cascade import Spelled
from kgmed.records import Link, Mention
from named_graph import HPO, small

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from _split import hold_out, misspelled

MANY = tuple(NodeRow(f"X:{i}", f"name {i}", aliases=(Alias(f"other {i}"), Alias(f"Name-{i}"))) for i in range(60))
SOURCE = Source("many", lambda: iter(MANY))


def test_recall_counts_first_five_and_linked(tmp_path: Path) -> None:
    cases = [
        LinkingCase("Fever", frozenset({"HP:5"})),
        LinkingCase("Cough", frozenset({"HP:5"})),
        LinkingCase("tungsten", frozenset()),
    ]
    r = recall(Spelled(small(tmp_path)), cases)
    assert (r.n, r.first, r.five, r.linked, r.precision) == (3, 1 / 3, 1 / 3, 2 / 3, 1 / 2)


def test_no_cases_are_no_error(tmp_path: Path) -> None:
    r = recall(Spelled(small(tmp_path)), [])
    assert (r.n, r.first, r.error, r.precision) == (0, 0, 0, 1)


def test_the_standard_error_is_binomial() -> None:
    assert LinkingRecall(100, 0.5, 0.5, 1).error == pytest.approx(0.05)


def test_held_out_names_are_not_in_the_source_any_more() -> None:
    split = hold_out(SOURCE, scopes=(Scope.EXACT,), every=2)
    left = {a.text for row in split.source.rows() if isinstance(row, NodeRow) for a in row.aliases}
    cases = [*split.train, *split.test]
    assert len(cases) > 10
    assert all(c.text not in left for c in cases)
    assert all(len(c.right) == 1 for c in cases)


def test_train_and_test_share_no_entity_and_are_the_same_every_time() -> None:
    a, b = (hold_out(SOURCE, scopes=(Scope.EXACT,), every=2) for _ in range(2))
    assert (a.train, a.test) == (b.train, b.test)
    assert not {c.right for c in a.train} & {c.right for c in a.test}
    assert a.train
    assert a.test
    assert hold_out(SOURCE, scopes=(Scope.EXACT,), every=2, seed=1).test != a.test


def test_a_name_that_another_name_of_the_entity_spells_is_not_held_out() -> None:
    split = hold_out(SOURCE, scopes=(Scope.EXACT,), every=1)
    assert all(c.text.startswith("other") for c in (*split.train, *split.test))
    assert not hold_out(SOURCE, scopes=(Scope.BRAND,), every=1).test


def test_a_name_of_two_entities_is_held_out_but_not_asked_for() -> None:
    rows = tuple(NodeRow(f"X:{i}", f"name {i}", aliases=(Alias("shared"),)) for i in range(20))
    split = hold_out(Source("shared", lambda: iter(rows)), scopes=(Scope.EXACT,), every=1)
    assert not split.train + split.test
    assert not [a for row in split.source.rows() if isinstance(row, NodeRow) for a in row.aliases]


def test_slips_differ_from_the_name_and_keep_its_entity(tmp_path: Path) -> None:
    train, test = misspelled(small(tmp_path, HPO), 3, shortest=8)
    assert len(train) == len(test) == 3
    assert all(recall(Spelled(small(tmp_path, HPO)), [c]).first == 0 for c in train)


def test_a_concept_is_an_entity_by_its_id_or_by_a_cross_reference(tmp_path: Path) -> None:
    concepts = Concepts(small(tmp_path))
    assert concepts(["UMLS:C0151576"]) == {"HP:4"}
    assert concepts(["HP:5"]) == {"HP:5"}
    assert concepts(["HP:5", "UMLS:C0151576", "UMLS:C1"]) == {"HP:4", "HP:5"}
    assert concepts(["UMLS:C1", "MESH:D1"]) == frozenset()


def test_what_is_found_in_texts_is_held_against_what_is_marked(tmp_path: Path) -> None:
    graph = small(tmp_path)
    linked = Spelled(graph)

    def understand(text: str) -> tuple[list[Mention], list[Link]]:
        """The words of a text, each a mention, and those that the graph names."""
        spans = [(m.start(), m.end()) for m in re.finditer(r"\w+", text)]
        mentions = [Mention(text[start:end], text[start:end], start, end) for start, end in spans]
        return mentions, linked(mentions)

    texts = [
        (
            "Fever and bad cough",
            [LinkingPlace(0, 5, ("HP:5",)), LinkingPlace(10, 19, ("HP:8",)), LinkingPlace(6, 9, ("X:1",))],
        ),
        ("Hypokalemia, fever", [LinkingPlace(0, 5, ("HP:1",)), LinkingPlace(13, 18, ("X:2", "X:2"))]),
    ]
    found = spot(understand, texts, Concepts(graph))
    assert (found.texts, found.places, found.concepts, found.unknown) == (2, 5, 3, 2)
    assert (found.exact, found.touched) == (3 / 5, 1)  # "bad cough" and "Hypok" are no words
    assert (found.found, found.right, found.missed) == (4, 2, 1)  # fever in the second text is marked as unknown
    assert found.precision == 1 / 2
    assert found.recall == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(4 / 7)


def test_no_texts_are_no_error(tmp_path: Path) -> None:
    found = spot(lambda _: ([], []), [], Concepts(small(tmp_path)))
    assert (found.texts, found.exact, found.precision, found.recall, found.f1) == (0, 0, 0, 0, 0)
