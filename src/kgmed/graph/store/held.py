"""What a store keeps in memory beside its mapped files once much has been asked of it: its entities as objects."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import Match, Scope, how_found
from kgmed.graph.store.arrays import match_of
from kgmed.records import Entity

if TYPE_CHECKING:
    from kgmed.graph.store.store import Store

MOST = 1 << 19  # entities and other names; 8 times as many edges. A graph of more is always read from its files
LEAST = 1024  # records read from the files before any are held, and as many as the graph has entities
_BLOCK = 1 << 12  # entities made at a time


class InMemory(NamedTuple):
    """The entities of a graph and what leads to them, about 500 bytes an entity and 4 an edge."""

    entities: list[Entity]  # by node
    nodes: dict[str, int]  # by id
    named: dict[str, tuple[Match, ...]]  # what the names of entities lead to, as the graph writes them
    heads: NDArray[np.int32]  # (m,) the node at which each edge begins


class Holding:
    """What a store holds, made when enough was read from its files."""

    def __init__(self, entities: int, names: int, edges: int) -> None:
        """Begin with nothing; the counts tell when it is worth it."""
        fits = names <= MOST and edges <= 8 * MOST
        self.now: InMemory | None = None
        self._left, self._making = max(LEAST, entities) if fits else -1, threading.Lock()

    def read(self, many: int, make: Callable[[], InMemory]) -> None:
        """Count records that were read; one thread calls `make` when that is enough, others go on with the files."""
        if self._left <= 0:
            return
        self._left -= many
        if self._left <= 0 and self._making.acquire(blocking=False):
            self.now = make()  # the lock is never let go of: once is enough


def held(store: "Store", make: Callable[[list[int]], list[Entity]]) -> InMemory:
    """All of a store in memory; `make` gives the entities of node numbers."""
    n = len(store)
    entities = [entity for i in range(0, n, _BLOCK) for entity in make(list(range(i, min(i + _BLOCK, n))))]
    names = list(store.tables.name) if store.speaks else [entity.name for entity in entities]  # no text is there twice
    how, score = how_found("a", "a", Scope.PREFERRED, folded=False)
    alone = _alone(store)
    named: dict[str, tuple[Match, ...]] = {
        name: (match_of(entities[node], name, how, score),) if alone[node] else tuple(store.lookup(name))
        for node, name in enumerate(names)
    }
    heads = np.repeat(np.arange(n, dtype=np.int32), np.diff(store.adjacency.out.indptr))
    return InMemory(entities, {entity.id: node for node, entity in enumerate(entities)}, named, heads)


def _alone(store: "Store") -> NDArray[np.bool_]:
    """Whether no other name of the graph has the key of an entity's own (n,): nothing else has to be looked at."""
    hashes, numbers = store.tables.normalised.hashes, store.tables.normalised.numbers
    differs = np.ones(len(hashes) + 1, bool)
    differs[1:-1] = hashes[1:] != hashes[:-1]
    alone = np.zeros(len(store), bool)
    alone[numbers[differs[1:] & differs[:-1] & (numbers < len(store))]] = True
    return alone
