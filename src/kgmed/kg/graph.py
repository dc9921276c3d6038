"""The protocol of a knowledge graph, whether its files are here or its answers come from a server."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed.types import Entity, Relation, Role, Triple


@dataclass(frozen=True, slots=True)
class Match:
    """An entity that a name led to, by which of its names, and how."""

    entity: Entity
    name: str
    how: str  # exact, alias, normalised, folded
    score: float = 1.0


class KnowledgeGraph(Protocol):
    """What every graph can do; a remote one does no more than this."""

    @property
    def name(self) -> str:
        """The name a person types."""
        ...

    @property
    def label(self) -> str:
        """Name, release and content hash: what a run records."""
        ...

    @property
    def language(self) -> str:
        """ISO 639-1 of its names."""
        ...

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`."""
        ...

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, best first: exact, alias, normalised, folded; ties by degree, then id."""
        ...

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, heaviest first; `roles` narrows them."""
        ...

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity; the tail of each is a literal without id."""
        ...


class Csr(NamedTuple):
    """One direction of the edges: those of node v stand at indptr[v]:indptr[v+1], sorted by (neighbour, relation).

    Parallel edges (same ends, other relation) are kept.
    """

    indptr: NDArray[np.int64]  # (n + 1,)
    neighbour: NDArray[np.int32]  # (m,) the node at the other end
    relation: NDArray[np.uint16]  # (m,)
    edge: NDArray[np.int32] | None = None  # (m,) the edge's number in the outgoing order; None = that order itself


class Adjacency(NamedTuple):
    """Both directions of the edges of one graph, on integer node numbers."""

    out: Csr
    into: Csr

    @property
    def nodes(self) -> int:
        """The number of nodes n."""
        return len(self.out.indptr) - 1

    @property
    def edges(self) -> int:
        """The number of edges m."""
        return len(self.out.neighbour)

    @classmethod
    def of(cls, nodes: int, triples: NDArray[np.int64]) -> "Adjacency":
        """Built in memory from rows (head, relation, tail); equal rows are kept once.

        >>> a = Adjacency.of(3, np.array([[0, 0, 1], [0, 1, 1], [1, 0, 2], [1, 0, 2]]))
        >>> a.edges, a.out.neighbour.tolist(), a.into.neighbour.tolist(), a.into.edge.tolist()
        (3, [1, 1, 2], [0, 0, 1], [0, 1, 2])
        """
        rows = np.unique(np.asarray(triples, np.int64).reshape(-1, 3)[:, [0, 2, 1]], axis=0)
        head, tail, relation = rows[:, 0], rows[:, 1], rows[:, 2]
        order = np.lexsort((relation, head, tail))
        out = Csr(indptr(head, nodes), tail.astype(np.int32), relation.astype(np.uint16))
        into = Csr(
            indptr(tail, nodes),
            head[order].astype(np.int32),
            relation[order].astype(np.uint16),
            order.astype(np.int32),
        )
        return cls(out, into)


def indptr(ends: NDArray[Any], nodes: int) -> NDArray[np.int64]:
    """Where the edges of each node begin (n + 1,), from the node of each edge."""
    return np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))]).astype(np.int64)


class Named(NamedTuple):
    """A name of a graph and the number of its entity."""

    text: str
    node: int
    scope: int


class LocalGraph(KnowledgeGraph, Protocol):
    """A graph whose edges are at hand: it can also be searched by path and listed by name."""

    def __hash__(self) -> int:
        """By identity: what is computed once a graph is kept under it."""
        ...

    @property
    def adjacency(self) -> Adjacency:
        """The edges on node numbers 0..n-1."""
        ...

    @property
    def folder(self) -> str:
        """Where its files are, and where what is computed from them (vectors, automata) may be kept."""
        ...

    @property
    def relations(self) -> Sequence[Relation]:
        """The relations by relation number."""
        ...

    @property
    def weight(self) -> NDArray[np.float32] | None:
        """The weight of each edge (m,); None = all 1."""
        ...

    def of_kind(self, kind: str, /) -> NDArray[np.int64]:
        """The node numbers of a kind, ascending."""
        ...

    def number(self, entity_id: str, /) -> int:
        """The node number of an id; raises `UnknownName`."""
        ...

    def at(self, node: int, /) -> Entity:
        """The entity of a node number."""
        ...

    def triple(self, edge: int, /) -> Triple:
        """The triple of an edge number (its place in the outgoing order)."""
        ...

    def names(self, *, scopes: Sequence[int] = ()) -> Iterator[Named]:
        """Every name and alias, by node number; `scopes` narrows them (see `rows.Scope`)."""
        ...
