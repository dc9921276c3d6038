"""Vectors of a graph's names."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.graph import vectors
from kgmed.graph.base import NodeRow
from kgmed.graph.names import Fuzzy
from kgmed.graph.store.store import Store
from kgmed.models.base import encoded
from kgmed.models.encoders import NgramEncoder
from named_graph import small


class Counting:
    """An encoder that counts its texts and fails after so many calls."""

    dimensions = 64
    name = "counting 1/a"

    def __init__(self, calls: int = 1000) -> None:
        self.left, self.texts, self.inner = calls, 0, NgramEncoder(64)

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.texts += len(texts)
        return self.inner(texts)


def many(folder: Path) -> Store:
    """A graph of more names than three blocks hold."""
    return small(folder, tuple(NodeRow(f"X:{i}", f"finding number {i}") for i in range(3100)))


def test_vectors_are_computed_once(tmp_path: Path) -> None:
    graph, encoder = small(tmp_path), Counting()
    assert vectors.open_vectors(graph, encoder) is None
    assert len(vectors.compute(graph, encoder)) == len(Fuzzy(graph)) == encoder.texts
    vectors.compute(graph, encoder)
    assert encoder.texts == len(Fuzzy(graph))


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    graph, first, second = many(tmp_path), Counting(2), Counting()
    with pytest.raises(KeyboardInterrupt):
        vectors.compute(graph, first)
    assert vectors.open_vectors(graph, first) is None
    done = vectors.compute(graph, second)
    assert first.texts + second.texts == len(done) == 3100
    names = Fuzzy(graph)
    expected = second.inner([names.name(i) for i in range(3100)])
    assert np.allclose(done.matrix, expected, atol=1e-3)


def test_progress_is_told_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    vectors.compute(many(tmp_path), Counting(), lambda done, of: seen.append((done, of)))
    assert seen[-1] == (3100, 3100)
    assert seen == sorted(seen)


def test_damaged_vectors_are_as_good_as_none(tmp_path: Path) -> None:
    graph, encoder = small(tmp_path), Counting()
    vectors.compute(graph, encoder)
    next(Path(graph.folder).rglob("all.npy")).write_bytes(b"damaged")
    assert vectors.open_vectors(graph, encoder) is None


def test_another_encoder_has_vectors_of_its_own(tmp_path: Path) -> None:
    graph = small(tmp_path)
    vectors.compute(graph, Counting())
    assert vectors.open_vectors(graph, NgramEncoder()) is None


def test_the_nearest_names_are_those_of_brute_force(tmp_path: Path) -> None:
    index = vectors.compute(many(tmp_path), Counting())
    found = index.search(["finding number 77", "number 3"], limit=5)
    query = index.encoder(["finding number 77"])[0]
    scores = index.matrix.astype(np.float32) @ query
    assert [n.row for n in found[0]] == np.lexsort((np.arange(len(scores)), -scores))[:5].tolist()
    assert found[0][0].name == "finding number 77"
    assert index.search([]) == []


def test_a_process_that_searches_often_finds_the_same(tmp_path: Path) -> None:
    index = vectors.compute(many(tmp_path), Counting())
    first = index.search(["finding number 77"], limit=5)
    assert all(index.search(["finding number 77"], limit=5) == first for _ in range(6))
    assert index.matrix.dtype == np.float16


def test_a_shortlist_needs_no_index(tmp_path: Path) -> None:
    graph = small(tmp_path)
    near, none = vectors.nearest_by_ngrams(Fuzzy(graph), NgramEncoder(), ["muscle weaknesses", "漢"], limit=2)
    assert near[0].name == "Muscle weakness"
    assert none == []


def test_of_a_shortlist_only_what_may_do_is_encoded(tmp_path: Path) -> None:
    encoder, names = Counting(), Fuzzy(small(tmp_path))
    asked = ["muscle weaknesses", "weak muscles"]
    near = vectors.nearest_by_ngrams(names, encoder, asked, fits=lambda _, name: name == "Muscle weakness")
    assert [[n.name for n in some] for some in near] == [["Muscle weakness"]] * 2
    assert (encoder.left, encoder.texts) == (999, 3)
    assert vectors.nearest_by_ngrams(names, encoder, asked, fits=lambda *_: False) == [[], []]
    assert encoder.texts == 3


class Spread(NgramEncoder):
    """Few dimensions and no zero rows, so that neighbours are many and near."""

    def __init__(self) -> None:
        super().__init__(32)


def test_above_the_limit_an_index_finds_what_exact_search_finds(tmp_path: Path) -> None:
    pytest.importorskip("usearch", reason="needs the package usearch (extra index)")
    graph, encoder = many(tmp_path), Spread()
    exact = vectors.compute(graph, encoder)
    steps: list[tuple[int, int]] = []
    indexed = vectors.compute(graph, encoder, lambda done, of: steps.append((done, of)), exact=1000)
    assert exact.near is None
    assert indexed.near is not None
    assert steps[-1] == (3100, 3100)
    texts = [f"findings numbered {i}" for i in range(0, 3100, 31)]
    wanted, found = exact.search(texts, limit=10), indexed.search(texts, limit=10)
    shared = [len({n.row for n in a} & {n.row for n in b}) for a, b in zip(wanted, found, strict=True)]
    assert sum(shared) / (10 * len(texts)) > 0.95
    scores = {(i, n.row): n.score for i, near in enumerate(wanted) for n in near}
    for i, near in enumerate(found):
        assert [(-n.score, n.row) for n in near] == sorted((-n.score, n.row) for n in near)
        assert all(scores.get((i, n.row), n.score) == pytest.approx(n.score, abs=1e-5) for n in near)
        assert len(near) == 10


def test_an_index_is_made_once_and_opened_afterwards(tmp_path: Path) -> None:
    pytest.importorskip("usearch", reason="needs the package usearch (extra index)")
    graph, encoder, steps = many(tmp_path), Spread(), list[int]()
    vectors.compute(graph, encoder, exact=1000)
    vectors.compute(graph, encoder, lambda done, of: steps.append(done), exact=1000)
    assert steps == []
    again = vectors.open_vectors(graph, encoder, exact=1000)
    assert again is not None
    assert again.near is not None


@pytest.mark.parametrize("keep", [0, 40, 5000])
def test_a_damaged_index_leaves_exact_search(tmp_path: Path, keep: int) -> None:
    pytest.importorskip("usearch", reason="needs the package usearch (extra index)")
    graph, encoder = many(tmp_path), Spread()
    vectors.compute(graph, encoder, exact=1000)
    (path,) = tmp_path.rglob("near.usearch")
    path.write_bytes(path.read_bytes()[:keep])
    found = vectors.open_vectors(graph, encoder, exact=1000)
    assert found is not None
    assert found.near is None
    assert found.search(["finding number 77"], limit=1)[0][0].name == "finding number 77"


def test_vectors_of_facts_are_kept_and_those_of_questions_are_not(tmp_path: Path) -> None:
    graph, encoder = small(tmp_path), Counting()
    texts = ["gout has symptom fever", "flu has symptom cough", "gout has symptom fever"]
    asked, rows = encoded(vectors.FactVectors(graph, encoder), ["What is gout?"], texts)
    assert encoder.texts == 3
    again = encoded(vectors.FactVectors(graph, encoder), ["What is gout?"], [*texts, "flu"])
    assert encoder.texts == 5
    np.testing.assert_array_equal(np.vstack([asked, rows]), encoder.inner(["What is gout?", *texts]))
    np.testing.assert_array_equal(again[1][:3], rows)


def test_vectors_of_facts_are_computed_where_they_cannot_be_kept(tmp_path: Path) -> None:
    graph, encoder = small(tmp_path), Counting()
    kept = vectors.FactVectors(graph, encoder)
    kept._place.parent.mkdir(parents=True)
    kept._place.write_text("no cache")
    for _ in range(2):
        assert kept.facts(["gout has symptom fever"]).shape == (1, 64)
    assert encoder.texts == 2
