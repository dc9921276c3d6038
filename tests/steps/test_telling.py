"""What a finding tells of a disease, and a side effect of a medicine."""

import numpy as np

from kgmed.graph.base import Adjacency
from kgmed.records import Relation, Role
from kgmed.steps.family import marking, specific, telling

# findings: 10 wheezing, 11 cough, 12 fever, 13 a phrase of one text; diseases: 0 asthma, 1-3 like it, 4-9 fevers
EDGES = [
    (0, 10),
    (0, 11),
    (0, 12),
    (0, 13),
    *[(d, f) for d in (1, 2, 3) for f in (10, 11)],
    *[(d, 12) for d in range(4, 10)],
]


class Small:
    """A graph of findings, each edge said once in each of `relations`."""

    def __init__(self, edges: list[tuple[int, int]], role: Role = Role.FINDING) -> None:
        self.adjacency = Adjacency.of(14, np.array([[head, 0, tail] for head, tail in edges]))
        self.relations = (Relation("has", role),)


def order(edges: list[tuple[int, int]], disease: int = 0) -> list[int]:
    scores = telling(Small(edges), disease)  # type: ignore[arg-type]
    return sorted(scores, key=lambda f: (-scores[f], f))


def test_what_diseases_like_it_show_comes_before_what_all_show_and_what_no_other_shows() -> None:
    assert order(EDGES) == [10, 11, 12, 13]


def test_an_edge_that_is_said_twice_counts_once() -> None:
    assert order([*EDGES, (4, 12), (5, 12), (6, 12)]) == order(EDGES)


def test_a_disease_that_shares_nothing_has_no_order_of_its_own() -> None:
    assert set(telling(Small([(0, 10), (0, 13)]), 0).values()) == {0.0}  # type: ignore[arg-type]


# side effects: 10 rash, 11 nausea, 12 cough, 13 a slip of one label; products: 0 and 1 of one medicine, 2 and 3 of its
# class, 4-9 of others
LABELS = [
    *[(product, effect) for product in (0, 1, 2, 3) for effect in (10, 11, 12)],
    (1, 13),
    *[(product, effect) for product in range(4, 10) for effect in (10, 11)],
]


def test_what_marks_a_medicine_comes_before_what_all_labels_name_and_before_a_slip_of_one_label() -> None:
    places = marking(Small(LABELS, Role.ADVERSE), [0, 1])  # type: ignore[arg-type]
    assert places[12] == 0
    assert set(places) == {10, 11, 12, 13}


def test_what_is_usual_has_the_third_place_of_the_side_effects_whatever_one_label_adds() -> None:
    slips = [(0, effect) for effect in (1, 2, 3, 4, 5)]
    places = marking(Small([*LABELS, *slips], Role.ADVERSE), [0, 1])  # type: ignore[arg-type]
    assert min(places[10], places[11]) == 2


def test_a_medicine_whose_labels_name_no_side_effect_has_no_places() -> None:
    assert marking(Small(LABELS, Role.ADVERSE), [13]) == {}  # type: ignore[arg-type]


def test_a_complication_of_its_own_kind_comes_before_one_that_many_diseases_have() -> None:
    """10 pneumonia is a complication of all, 11 of the diseases that are like the first."""
    ties = [*[(d, 10) for d in range(10)], (0, 11), (1, 11), (2, 11)]
    places = specific(Small(ties, Role.COMPLICATION), [0])  # type: ignore[arg-type]
    assert places[11] < places[10]
