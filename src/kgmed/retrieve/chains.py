"""Retriever: HyKGE's chains between every two linked entities."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from kgmed.kg.graph import LocalGraph
from kgmed.kg.search import chains as search
from kgmed.retrieve.arrows import anchors, arrows
from kgmed.retrieve.found import Found
from kgmed.types import Evidence, Link, Query


@dataclass(frozen=True)
class Chains:
    """The most specific `per_pair` chains of up to `hops` steps between every two entities (HyKGE 3.3).

    Evidence: kind "path", "co_ancestor" or "co_occurrence"; about = both ends, the one linked first in front; triples
    in walking order; score = 1 / product of the inner nodes' degrees, so 1 for a single edge. A question with one
    entity has no chains: set `Neighbours` beside. Where a budget cut the search, the result's `notes` say so.
    """

    graph: LocalGraph
    hops: int = 3  # HyKGE A.2.3; the authors' code stops at 2
    per_pair: int = 20  # not in the paper; its reranker sees all
    budget: search.Budget | None = None  # None = the search's own

    def __call__(self, query: Query, links: Sequence[Link]) -> Found:
        """The chains of each pair in turn, in the order of the links, the most specific first."""
        nodes = anchors(self.graph, links)
        found = search.chains(self.graph.adjacency, nodes, hops=self.hops, per_pair=self.per_pair, budget=self.budget)
        place = {node: i for i, node in enumerate(nodes)}
        turned = [place[a] > place[b] for a, b in found.pairs.tolist()]
        turn = [sorted((place[a], place[b])) for a, b in found.pairs.tolist()]
        pair = found.pair.tolist()
        evidence = self._evidence(found, [turned[p] for p in pair])
        order = sorted(range(len(found)), key=lambda i: turn[pair[i]])
        return Found([evidence[i] for i in order], notes=_notes(found))

    def _evidence(self, found: search.Chains, turned: Sequence[bool]) -> list[Evidence]:
        """A piece for each row; `turned` rows are read from their higher anchor to their lower one."""
        triple, ends = cache(self.graph.triple), found.pairs.tolist()
        columns = (found.length, found.edges, found.forward, found.pair, found.weight)
        pieces = []
        for i, (n, edges, forward, pair, weight) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            along, triples, about = forward[:n], tuple(map(triple, edges[:n])), tuple(map(self.graph.at, ends[pair]))
            if turned[i]:
                along, triples, about = [not x for x in along[::-1]], triples[::-1], about[::-1]
            pieces.append(Evidence(arrows(triples, along), found.kind(i), triples, about, 1 / weight))
        return pieces


def _notes(found: search.Chains) -> tuple[str, ...]:
    """One line where the search was cut."""
    if not found.truncated:
        return ()
    seen = int(found.total.sum())
    return (f"chains: the search stopped at its budget ({', '.join(found.cut)}); at least {seen} chains, more unseen",)
