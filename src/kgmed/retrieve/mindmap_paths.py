"""Retriever: MindMap's path evidence, pruned so that every start of a path has its share.

Paths are grouped by their first entity. Of one group the first `keep` stay; of `keep` groups or more one path each; in
between `keep` // groups of each, and what is left over goes to the last (Wen et al. 2024, 3.2; the paper samples within
a group, the authors' code takes the first).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from random import Random
from typing import Literal

from kgmed.kg.graph import LocalGraph
from kgmed.kg.search.shortest import Direction, shortest
from kgmed.retrieve.arrows import anchors
from kgmed.retrieve.fact import Fact, fact
from kgmed.retrieve.found import Found
from kgmed.retrieve.paths import Paths
from kgmed.types import Evidence, Link, Query

Order = Literal["given", "closest"]


@dataclass(frozen=True)
class MindMapPaths:
    """At most `keep` paths through the linked entities, labelled P1, P2, ... (evidence as `Paths` describes it).

    `order="closest"` starts at the closest pair and goes on to the nearest entity left, instead of in the order of the
    question. `sample` draws all but the best of a group, the same for the same question. Paths that say the same in
    other directions count once. `notes` tell of all that is not shown.
    """

    graph: LocalGraph
    hops: int = 5  # the authors' code; the paper is silent
    keep: int = 5  # the authors' code
    direction: Direction = "both"  # the authors' code: "out", on a graph that states every relation in both directions
    order: Order = "given"
    sample: bool = False
    pool: int = 50  # ours: paths that are pruned

    def __call__(self, query: Query, links: Sequence[Link]) -> Found:
        """The paths kept, those of one start together."""
        ordered = self._nearest(links) if self.order == "closest" else links
        every = Paths(self.graph, hops=self.hops, keep=max(self.pool, self.keep), direction=self.direction)(
            query, ordered
        )
        once: dict[tuple[Fact, ...], Evidence] = {}
        for path in every:
            once.setdefault(tuple(map(fact, path.triples)), path)
        found = list(once.values())
        seed = int.from_bytes(blake2b(query.text.encode(), digest_size=8).digest(), "big")
        kept = pruned(found, self.keep, random=Random(seed) if self.sample else None)  # noqa: S311
        notes = list(every.notes)
        if len(kept) < len(found):
            notes.append(f"paths: {len(kept)} of {len(found)} kept, spread over their starts")
        if self.order == "closest":
            notes.append("paths: entities taken closest first")
        return Found((replace(e, id=f"P{i}") for i, e in enumerate(kept, start=1)), notes=tuple(notes))

    def _nearest(self, links: Sequence[Link]) -> list[Link]:
        """The links of stated entities: the closest pair, then always the nearest to the last; ties as given."""
        nodes = anchors(self.graph, links)
        steps = {frozenset(pair): self._steps(*pair) for pair in combinations(nodes, 2)}
        if not steps:
            return list(links)
        pair = min(steps, key=steps.__getitem__)
        route = [n for n in nodes if n in pair]
        while left := [n for n in nodes if n not in route]:
            route.append(min(left, key=lambda n: steps[frozenset((route[-1], n))]))
        by_node = {self.graph.number(link.entity.id): link for link in reversed(links) if not link.mention.negated}
        return [by_node[n] for n in route]

    def _steps(self, a: int, b: int) -> int:
        """The length of the shortest path between two nodes; more than any where there is none."""
        distance = shortest(self.graph.adjacency, a, b, hops=self.hops, direction=self.direction).distance
        return distance if distance >= 0 else self.hops + 1


def pruned(paths: Sequence[Evidence], keep: int, *, random: Random | None = None) -> list[Evidence]:
    """At most `keep` of the paths, grouped by the entity they start from; `random` draws all but the best of each.

    >>> from kgmed.types import Entity
    >>> starts = [Evidence(t, "path", about=(Entity(t[0], t[0]),)) for t in ("a1", "a2", "a3", "a4", "b1", "b2", "b3")]
    >>> [e.text for e in pruned(starts, 5)]
    ['a1', 'a2', 'b1', 'b2', 'b3']
    """
    groups: dict[str, list[Evidence]] = {}
    for path in paths:
        groups.setdefault(path.about[0].id, []).append(path)
    rows = list(groups.values())
    if random is not None:
        rows = [[row[0], *random.sample(row[1:], len(row) - 1)] for row in rows]
    if len(rows) >= keep:
        return [row[0] for row in rows[:keep]]
    shares = [min(len(row), keep // len(rows)) for row in rows]
    for i in range(len(rows) - 1, -1, -1):  # the last group has what is left over, then those before it
        shares[i] += min(len(rows[i]) - shares[i], keep - sum(shares))
    return [path for row, share in zip(rows, shares, strict=True) for path in row[:share]]
