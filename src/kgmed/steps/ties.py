"""For a question with options: the shortest ties between what it names and what each option names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.graph.base import LocalGraph
from kgmed.records import Evidence, Link, Query, Triple

Linked = Callable[[str], Sequence[Link]]  # the entities named in a text


@dataclass(frozen=True)
class OptionPaths:
    """Ties of one or two edges to each option. Evidence: kind "option", id = its letter, about = (entity, option).

    The score of a tie is 1 / log2(2 + degree) of what it passes through, and of the ends for a single edge: a tie
    through a hub says little. A tie of one edge counts double.
    """

    graph: LocalGraph
    link: Linked
    keep: int = 3  # ties an option

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The ties of each option, best first; an option without one has no evidence."""
        stem = [self.graph.number(link.entity.id) for link in links if not link.mention.negated]
        found: list[Evidence] = []
        for letter, text in query.question.options:
            nodes = [self.graph.number(link.entity.id) for link in self.link(text)]
            ties = [tie for a in stem for b in nodes if a != b for tie in self._ties(a, b, letter)]
            found += sorted(ties, key=lambda e: -e.score)[: self.keep]
        return sorted(found, key=lambda e: -e.score)

    def _ties(self, a: int, b: int, letter: str) -> list[Evidence]:
        near, far = self._around(a), self._around(b)
        ties: list[tuple[tuple[int, ...], float]] = [((edge,), 2 * self._worth(b)) for edge in near.get(b, [])]
        middles = sorted((near.keys() & far.keys()) - {a, b}, key=lambda n: (self._degree(n), n))[: self.keep]
        ties += [((near[n][0], far[n][0]), self._worth(n)) for n in middles]
        return [self._evidence(a, b, letter, edges, worth) for edges, worth in ties[: self.keep]]

    def _around(self, node: int) -> dict[int, list[int]]:
        """The neighbours of a node with the edges to them."""
        out, into = self.graph.adjacency
        rows: dict[int, list[int]] = {}
        for csr in (out, into):
            span = slice(int(csr.indptr[node]), int(csr.indptr[node + 1]))
            edges = np.arange(span.start, span.stop) if csr.edge is None else csr.edge[span]
            for near, edge in zip(csr.neighbour[span].tolist(), edges.tolist(), strict=True):
                rows.setdefault(near, []).append(edge)
        return rows

    def _degree(self, node: int) -> int:
        return int(self.graph.adjacency.degrees(np.array(node)))

    def _worth(self, node: int) -> float:
        return float(1 / np.log2(2 + self._degree(node)))

    def _evidence(self, a: int, b: int, letter: str, edges: Sequence[int], worth: float) -> Evidence:
        triples: list[Triple] = [self.graph.triple(edge) for edge in edges]
        text = "; ".join(f"{t.head.name} — {t.relation} → {t.tail.name}" for t in triples)
        about = (self.graph.at(a), self.graph.at(b))
        return Evidence(f"{letter}: {text}", "option", tuple(triples), about, round(worth, 4), letter)
