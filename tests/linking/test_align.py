"""The map that a graph trains on its own names."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.graph.base import NodeRow
from kgmed.graph.store.store import Store, open_store
from kgmed.linking.align import Aligned, align, learnt_by, lend, loss_slope, open_aligned, open_map
from kgmed.models.fakes import TrigramEncoder
from named_graph import KINDS, SITES, paired, small


class Stopping:
    """An encoder that fails when it is asked for more than so many texts."""

    dimensions, name = 256, "stopping"

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        self.left -= len(texts)
        if self.left < 0:
            raise KeyboardInterrupt
        return TrigramEncoder(256)(texts)


def mean_rank(graph: Store, encode: Aligned | TrigramEncoder) -> float:
    """How many names lie nearer to a name than its other name, on average."""
    first, second = [], []
    for site in SITES:
        for end, word in KINDS:
            first.append(site + end)
            second.append(f"{word} of the {site}")
    scores = encode(first) @ encode(second).T
    return float((scores > scores.diagonal()[:, None]).sum(1).mean())


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A graph whose map is trained."""
    made = paired(tmp_path_factory.mktemp("trained"))
    assert open_aligned(made, TrigramEncoder(256)) is None
    align(made, TrigramEncoder(256))
    return made


def test_names_of_one_entity_come_nearer_than_the_encoder_has_them(graph: Store) -> None:
    encoder = TrigramEncoder(256)
    trained = open_map(graph, encoder)
    assert trained is not None
    assert mean_rank(graph, trained) < mean_rank(graph, encoder) / 3


def test_a_map_is_trained_once_and_opened_afterwards(graph: Store) -> None:
    told: list[str] = []
    again = align(graph, TrigramEncoder(256), lambda what, done, of: told.append(what))
    found = open_aligned(graph, TrigramEncoder(256))
    assert again is not None
    assert found is not None
    assert "training" not in told
    assert again.search(["a name of no graph"]) == found.search(["a name of no graph"])
    assert np.array_equal(again.matrix, found.matrix)


def test_the_rows_that_are_kept_are_those_of_the_names(graph: Store) -> None:
    found = open_aligned(graph, TrigramEncoder(256))
    assert found is not None
    expected = found.encoder([found.names.name(i) for i in range(len(found))])
    assert np.allclose(found.matrix, expected, atol=3e-3)


def test_a_training_that_was_interrupted_leaves_no_map_and_goes_on(tmp_path: Path) -> None:
    graph = paired(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        align(graph, Stopping(100))
    assert open_map(graph, Stopping(0)) is None
    assert align(graph, Stopping(1000)) is not None


def test_a_damaged_map_is_as_good_as_none(graph: Store, tmp_path: Path) -> None:
    copied = open_store(shutil.copytree(graph.folder, tmp_path / "copy"))
    assert open_map(copied, TrigramEncoder(256)) is not None
    next(Path(copied.folder).rglob("last.npy")).write_bytes(b"damaged")
    assert open_map(copied, TrigramEncoder(256)) is None


def test_a_graph_of_few_names_trains_none(tmp_path: Path) -> None:
    assert align(small(tmp_path), TrigramEncoder()) is None


def test_names_of_an_entity_in_another_graph_are_learnt_too(tmp_path: Path) -> None:
    """The other graph has the Chinese names of the same ids: then those are near the English ones."""
    graph, encoder = paired(tmp_path / "en"), TrigramEncoder(256)
    parts = dict(zip([w for _, w in KINDS], "炎痛大坏瘤", strict=True))
    rows = [
        NodeRow(f"X:{site}{end}", chr(0x5000 + i) + chr(0x6000 + i) + parts[word])
        for i, site in enumerate(SITES)
        for end, word in KINDS
    ]
    align(graph, encoder, others=[small(tmp_path / "zh", tuple(rows))])
    trained = open_map(graph, encoder)
    assert trained is not None
    chinese = [row.name for row in rows]
    english = [site + end for site in SITES for end, _ in KINDS]
    scores = trained(chinese) @ trained(english).T
    assert float((scores > scores.diagonal()[:, None]).sum(1).mean()) < 10


def test_the_slope_of_the_loss_is_that_of_its_differences() -> None:
    scores = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    entity, step = np.array([0, 1, 1, 2]), 1e-2
    slope = loss_slope(scores, entity)
    for i, j in ((0, 0), (0, 1), (3, 2), (1, 2)):
        up, down = scores.copy(), scores.copy()
        up[i, j] += step
        down[i, j] -= step
        assert slope[i, j] == pytest.approx((_loss(up, entity) - _loss(down, entity)) / (2 * step), abs=1e-3)


def _loss(scores: NDArray[np.float32], entity: NDArray[np.int64]) -> float:
    """The mean cross-entropy of rows and columns, one score at a time."""
    n, total = len(entity), 0.0
    for matrix in (scores, scores.T):
        for i in range(n):
            others = [float(np.exp(matrix[i, j])) for j in range(n) if j == i or entity[i] != entity[j]]
            total -= np.log(float(np.exp(matrix[i, i])) / sum(others))
    return total / (2 * n)


class Counting:
    """An encoder that counts the texts it is asked for."""

    dimensions, name = 256, TrigramEncoder(256).name

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        self.asked += len(texts)
        return TrigramEncoder(256)(texts)


def test_a_map_serves_another_graph_of_these_names_and_only_other_names_are_encoded(
    graph: Store, tmp_path: Path
) -> None:
    rows = [NodeRow(f"X:{site}itis", f"{site}itis") for site in SITES]
    other = small(tmp_path, (*rows, NodeRow("Y:1", "Inflamed hepato")), "other")
    encoder = Counting()
    lent = lend(graph, other, encoder)
    opened, mine = open_aligned(other, TrigramEncoder(256)), open_map(graph, TrigramEncoder(256))
    assert lent is not None
    assert opened is not None
    assert mine is not None
    assert encoder.asked == 1
    assert opened.encoder.name == mine.name
    assert np.allclose(opened.matrix, mine([opened.names.name(i) for i in range(len(opened))]), atol=2e-3)
    assert learnt_by(other, TrigramEncoder(256)) == learnt_by(graph, TrigramEncoder(256)) == graph.label


def test_a_graph_without_a_map_lends_none(tmp_path: Path) -> None:
    one, two = small(tmp_path / "a"), small(tmp_path / "b")
    assert lend(one, two, TrigramEncoder(256)) is None
    assert open_map(two, TrigramEncoder(256)) is None


def test_names_whose_vectors_another_graph_has_are_not_encoded_again(graph: Store, tmp_path: Path) -> None:
    again, encoder = paired(tmp_path), Counting()
    align(again, encoder, known=[graph])
    assert encoder.asked == 0
