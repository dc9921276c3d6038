"""The arrays and texts that a stored graph is made of."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.graph import Adjacency, Csr
from kgmed.kg.store.arena import Arena, load
from kgmed.kg.store.manifest import Manifest
from kgmed.kg.store.names import HashIndex


@dataclass(frozen=True)
class Tables:
    """All of a graph's data: n entities, m edges in the outgoing order, a aliases, t texts.

    The names are numbered together: those of the entities 0..n-1, the aliases n..n+a-1.
    """

    adjacency: Adjacency
    key: Arena  # (n,) ids without the graph's prefix; the same object as `name` where they are the names
    name: Arena  # (n,)
    keys: HashIndex  # key -> node
    normalised: HashIndex  # normalised name -> name number
    folded: HashIndex  # folded name -> name number, where it is not the normalised one
    kind: NDArray[np.uint16]  # (n,) number in Manifest.kinds
    alias: Arena  # (a,) sorted by node
    alias_node: NDArray[np.int32]  # (a,)
    alias_scope: NDArray[np.uint8]  # (a,)
    description: Arena  # (d,)
    described: NDArray[np.int32]  # (d,) node of each description, ascending; of equal ones the last counts
    text: Arena  # (t,) sorted by node
    text_node: NDArray[np.int32]  # (t,)
    text_relation: NDArray[np.uint16]  # (t,)
    text_support: NDArray[np.uint32]  # (t,) number in `support`
    support: Arena  # JSON: [[reference, [[key, value], ...]], ...]; number 0 = none
    weight: NDArray[np.float32] | None  # (m,); None = all 1
    edge_support: NDArray[np.uint32] | None  # (m,) number in `support`; None = all 0

    @classmethod
    def open(cls, folder: Path, manifest: Manifest) -> "Tables":
        """The tables of a version folder, mapped."""

        name = Arena.open(folder, "name")
        found: dict[str, Any] = {column: load(folder, column) for column in _COLUMNS}
        found |= {index: HashIndex.open(folder, file) for index, file in _INDEXES.items()}
        found |= {arena: Arena.open(folder, arena) for arena in ("alias", "description", "text", "support")}
        for column in ("weight", "edge_support"):
            found[column] = load(folder, column) if f"{column}.npy" in manifest.files else None
        key = Arena.open(folder, "key") if "key_start.npy" in manifest.files else name
        return cls(adjacency=_adjacency(folder), key=key, name=name, **found)


_INDEXES = {"keys": "key", "normalised": "normalised", "folded": "folded"}
_COLUMNS = ("kind", "alias_node", "alias_scope", "described", "text_node", "text_relation", "text_support")


def _adjacency(folder: Path) -> Adjacency:
    """Both directions of a version's edges, mapped."""
    out = Csr(load(folder, "out_indptr"), load(folder, "out_neighbour"), load(folder, "out_relation"))
    into = Csr(*(load(folder, f"in_{name}") for name in ("indptr", "neighbour", "relation", "edge")))
    return Adjacency(out, into)
