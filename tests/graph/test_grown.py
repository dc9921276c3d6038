"""What is taken over from an earlier union of some of the same graphs is what a union made from nothing has."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from kgmed.derived import places
from kgmed.graph import grown
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Scope
from kgmed.graph.store.store import Store, open_store
from kgmed.graph.union import merge
from kgmed.toolkit import prepare
from named_graph import CMEKG, HPO, small

OWN = (  # joins entities of both others, moves a name of one, and has names that begin or stand before theirs
    NodeRow("发热", "发热", "symptom", aliases=(Alias("Fever", Scope.TRANSLATION), Alias("Hand or finger heat"))),
    NodeRow("Gout", "Gout", "disease", aliases=(Alias("痛风", Scope.TRANSLATION), Alias("gouty arthritis"))),
    NodeRow("Calf hypertrophy", "Calf hypertrophy", "finding", aliases=(Alias("Muscle weakness, progressive"),)),
    NodeRow("GERD", "Gastroesophageal reflux", "disease", aliases=(Alias("反酸病", Scope.TRANSLATION),)),
    NodeRow("Weakness weakness weakness weakness", "", "symptom"),
    EdgeRow("Gout", "has_symptom", "Fever", 0.5),
)


def union(folder: Path, parts: list[Store]) -> Store:
    """The graphs as one, prepared; it grows from what stands beside it."""
    merge(parts, folder)
    prepare(open_store(folder))
    return open_store(folder)


def kept(store: Store) -> dict[str, np.ndarray]:
    """All arrays that are kept beside a graph."""
    files = [file for place in places(store.folder) for file in place.glob("*.npy")]
    return {f"{file.parent.name.rpartition('-')[0]}/{file.stem}": np.load(file) for file in files}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], name)
    return True


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_union_that_grows_is_the_union_of_all(order: tuple[int, ...], tmp_path: Path) -> None:
    graphs = [small(tmp_path, HPO, "en"), small(tmp_path, CMEKG, "zh", "zh"), small(tmp_path, OWN, "own")]
    some = [graphs[i] for i in sorted(order[:2])]
    first = union(tmp_path / "beside" / "some", some)
    whole = union(tmp_path / "beside" / "all", graphs)
    alone = union(tmp_path / "alone" / "all", graphs)
    taken, none = grown.grown_from(whole), grown.grown_from(alone)
    assert taken is not None
    assert taken.earlier.label == first.label
    assert (taken.names >= 0).any()
    assert none is None
    assert whole.manifest.content == alone.manifest.content
    assert same(kept(whole), kept(alone))


@pytest.mark.starter
@pytest.mark.slow
@pytest.mark.parametrize("added", ["own", "hpo"])
def test_a_union_of_real_graphs_that_grows_is_the_union_of_all(
    added: str, hpo: Store, cmekg: Store, tmp_path: Path
) -> None:
    graphs = {"hpo": hpo, "cmekg": cmekg, "own": small(tmp_path, OWN, "own")}
    union(tmp_path / "beside" / "some", [graph for name, graph in graphs.items() if name != added])
    whole = union(tmp_path / "beside" / "all", list(graphs.values()))
    assert grown.grown_from(whole)
    assert same(kept(whole), kept(union(tmp_path / "alone" / "all", list(graphs.values()))))
