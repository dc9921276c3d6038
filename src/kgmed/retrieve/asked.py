"""Retriever: what a question asks for (drugs, tests, side effects, ...), from the entities it names.

An asked role leads from an entity of the question to its other end: from a disease to the drugs that treat it, from
a drug to its side effects. Where the question names findings only, the diseases that explain them stand between:
they are entered with the share of belief that `Diagnosis` gives them, at most `via` in all.

The score of a candidate is the sum over its edges to those entities of (belief in the entity) * (weight of the edge),
divided by the square root of the number of things the candidate is said to treat (test, cause, ...): a drug for
everything is evidence for nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.asks import asks
from kgmed.kg.by_role import ByRole, Hops
from kgmed.kg.graph import LocalGraph
from kgmed.retrieve.diagnosis import Diagnosis
from kgmed.retrieve.overview import Overview
from kgmed.types import Entity, Evidence, Link, Query, Role, Triple

_SPREAD = (Role.TREATS, Role.TESTS, Role.CARE, Role.FOOD, Role.AVOID)  # roles asked of a patient, not of an entity only


@dataclass(frozen=True)
class Asked:
    """The `keep` best answers to each role asked for. Evidence: kind "candidate", about = (answer, entities)."""

    graph: LocalGraph
    keep: int = 10
    via: float = 0.5
    diseases: int = 10
    listed: int = 12

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The answers and the texts the graph holds for those roles, in the order of the roles asked for."""
        named = {self.graph.number(link.entity.id): 1.0 for link in links if not link.mention.negated}
        found: list[Evidence] = []
        for role in asks(query.text):
            found += self._texts(named, role)
            found += self._few(named, role) or self._many(query, links, named, role)
        return found

    def _few(self, named: Iterable[int], role: Role) -> list[Evidence]:
        """A list short enough for one piece of evidence needs no ranking."""
        pieces = Overview(self.graph, listed=self.listed + 1, roles=(role,))
        found = [piece for node in named for piece in pieces.of(self.graph.at(node)) if piece.triples[0].tail.id]
        return found if all(len(piece.triples) <= self.listed for piece in found) else []

    def _many(self, query: Query, links: Sequence[Link], named: dict[int, float], role: Role) -> list[Evidence]:
        """The best of many; nothing where no candidate is tied to an entity that the question names."""
        steps, nodes = ByRole(self.graph, role), list(named)
        if not (len(steps.subjects(nodes).node) or len(steps.objects(nodes).node)):
            return []
        implied = self._implied(query, links) if role in _SPREAD else {}
        return self._candidates({**{n: b for n, (b, _) in implied.items()}, **named}, role, implied)

    def _implied(self, query: Query, links: Sequence[Link]) -> dict[int, tuple[float, Evidence]]:
        """The diseases that explain the findings, with a belief (softmax of their scores) and why."""
        cases = Diagnosis(self.graph, keep=self.diseases)(query, links)
        if not cases:
            return {}
        odds = np.exp(np.array([e.score for e in cases]) - cases[0].score)
        belief = self.via * odds / odds.sum()
        return {self.graph.number(e.about[0].id): (float(b), e) for e, b in zip(cases, belief, strict=True)}

    def _texts(self, named: Iterable[int], role: Role) -> list[Evidence]:
        rows = []
        for node in named:
            entity = self.graph.at(node)
            for t in self.graph.attributes(entity.id):
                if t.relation.role is role:
                    text = f"{entity.name} — {t.relation} → {t.tail.name}"
                    rows.append(Evidence(text, "text", (t,), (entity,), 1.0))
        return rows

    def _candidates(
        self, belief: dict[int, float], role: Role, implied: dict[int, tuple[float, Evidence]]
    ) -> list[Evidence]:
        steps, nodes = ByRole(self.graph, role), list(belief)
        score: dict[int, float] = {}
        edges: dict[int, list[tuple[int, int]]] = {}
        for hops, back in ((steps.subjects(nodes), steps.objects), (steps.objects(nodes), steps.subjects)):
            if not len(hops.node):
                continue
            values = np.array(list(belief.values()))[hops.origin] * self._weights(hops)
            candidates, at = np.unique(hops.node, return_inverse=True)
            breadth = np.bincount(back(candidates).origin, minlength=len(candidates)) ** 0.5
            for node, edge, value, origin in zip(
                hops.node.tolist(),
                hops.edge.tolist(),
                (values / breadth[at]).tolist(),
                hops.origin.tolist(),
                strict=True,
            ):
                score[node] = score.get(node, 0.0) + value
                edges.setdefault(node, []).append((edge, nodes[origin]))
        best = sorted(score, key=lambda n: (-score[n], n))[: self.keep]
        return [self._evidence(node, score[node], edges[node], belief, implied) for node in best]

    def _weights(self, hops: Hops) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        weight = self.graph.weight
        return np.ones(len(hops.edge)) if weight is None else weight[hops.edge].astype(np.float64)

    def _evidence(
        self,
        node: int,
        score: float,
        edges: list[tuple[int, int]],
        belief: dict[int, float],
        implied: dict[int, tuple[float, Evidence]],
    ) -> Evidence:
        """The candidate with its strongest triples; a disease that no word of the question names brings its reason."""
        strongest = sorted(set(edges), key=lambda e: (-belief[e[1]], e[0]))[:3]
        triples = [self.graph.triple(edge) for edge, _ in strongest]
        reasons = [implied[origin][1].triples[:1] for _, origin in strongest if belief[origin] < 1]
        shown: tuple[Triple, ...] = tuple(dict.fromkeys([*triples, *(t for r in reasons for t in r)]))
        about: tuple[Entity, ...] = (self.graph.at(node), *(self.graph.at(origin) for _, origin in strongest))
        text = "; ".join(f"{t.head.name} — {t.relation} → {t.tail.name}" for t in shown)
        return Evidence(text, "candidate", shown, tuple(dict.fromkeys(about)), round(score, 4))
