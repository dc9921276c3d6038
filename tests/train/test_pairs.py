"""What is learnt from a graph's names, and what that is worth on entities held out."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.fakes import TrigramEncoder
from kgmed.models.scorers import LexicalPairs
from kgmed.train.pairs import Group, compare_scorers, figures, groups, train
from named_graph import small

SITES = ("calf", "neck", "hand", "knee", "skin", "lung", "eye", "heart", "nose", "hip", "foot", "ear")
GROUP = Group("calf pain", "pain of the calf", ("pain of the neck", "calf"), "synonym", "x")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Findings whose synonyms turn words around, each with a sign, a test, and a remedy that is named like it."""
    rows: list[Row] = [NodeRow("T", "blood test", "test")]
    for site in SITES:
        for what in ("pain", "swelling", "atrophy", "redness"):
            key = f"{what}-{site}"
            rows += [
                NodeRow(key, f"{what} in the region of the {site}", "disease", aliases=(Alias(f"{site} {what}"),)),
                NodeRow(f"{key}-relief", f"{site} {what} relief", "drug"),
                NodeRow(f"{key}-sign", f"sign {site[::-1]} {what}", "symptom"),
                EdgeRow(key, "has_sign", f"{key}-sign"),
                EdgeRow(key, "needs_test", "T"),
            ]
    return small(tmp_path_factory.mktemp("train"), tuple(rows))


@pytest.fixture(scope="module")
def found(graph: Store) -> list[Group]:
    return groups(graph)


class Fixed:
    """Gives the scores that it is told to."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        return np.array(self.scores, np.float32)


@pytest.mark.parametrize(
    ("scores", "mrr", "auc"),
    [((3, 2, 1), 1, 1), ((2, 3, 1), 1 / 2, 1 / 2), ((1, 1, 1), 1 / 3, 1 / 2), ((0, 1, 2), 1 / 3, 0)],
)
def test_ties_count_against_the_rank_and_half_in_the_area(scores: Sequence[float], mrr: float, auc: float) -> None:
    got = figures(Fixed(*scores), [GROUP])
    assert [got.n, got.mrr, got.auc] == pytest.approx([1, mrr, auc])


def test_right_and_wrong_texts_are_those_of_the_graph(graph: Store, found: list[Group]) -> None:
    assert found == groups(graph)
    assert {g.kind for g in found} == {"synonym", "relation"}
    named: dict[str, set[str]] = {}
    for name in graph.names():
        named.setdefault(name.text, set()).add(graph.at(name.node).id)
    for g in found:
        assert g.right not in g.wrong
        if g.kind == "synonym":
            assert named[g.query] == {g.entity} == named[g.right]
            assert all(g.entity not in named[text] for text in g.wrong)
        else:
            asked = g.query.split(" ", 2)[2].replace(" ", "_")
            assert f"— {asked} →" in g.right
            assert g.right.startswith(graph.entity(g.entity).name)


def test_an_entity_is_held_out_with_all_of_its_groups(found: list[Group]) -> None:
    held = {g.entity for g in found if g.held_out}
    learnt = {g.entity for g in found if not g.held_out}
    assert held
    assert learnt
    assert not held & learnt


def test_what_is_learnt_beats_words_and_cosine_on_entities_held_out(graph: Store, found: list[Group]) -> None:
    encoder = TrigramEncoder()
    scorer = train(graph, found, encoder)
    table = compare_scorers({"words": LexicalPairs(), "both": LexicalPairs(encoder), "trained": scorer}, found)
    best = table["trained"]["all"]
    assert best.n == sum(g.held_out for g in found)
    assert best.mrr > max(table["words"]["all"].mrr, table["both"]["all"].mrr)
    assert best.auc > 0.9
    scores = scorer([pair for g in found for pair in g.pairs])
    assert 0 <= scores.min() < scores.max() <= 1
    assert len(scorer.weights) == 12


def test_a_scorer_that_knows_nothing_gains_nothing_from_the_groups(graph: Store, found: list[Group]) -> None:
    held = [g for g in found if g.held_out]
    noise = Fixed(*np.random.default_rng(0).random(sum(len(g.pairs) for g in held)))
    assert 0.3 < figures(noise, held).auc < 0.7


def test_training_is_the_same_every_time(graph: Store, found: list[Group]) -> None:
    assert train(graph, found, None) == train(graph, found, None)


def test_a_graph_without_synonyms_is_refused(tmp_path: Path) -> None:
    bare = small(tmp_path, (NodeRow("a", "gout"), NodeRow("b", "flu"), EdgeRow("a", "is_a", "b")))
    with pytest.raises(BadInput, match="too few synonyms"):
        train(bare, groups(bare), None)
