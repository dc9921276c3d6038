"""Retriever: what a question asks for (drugs, tests, side effects, ...), from the entities it names.

An asked role leads from an entity of the question to its other end: from a disease to the drugs that treat it, from
a drug to its side effects. Where the question names findings only, the diseases that explain them stand between:
the best is believed by `via`, each other by its odds against the best.

The score of a candidate is the sum over those entities of (belief in the entity) * (weight of the edge), divided by
1 + log10 of the number of things the candidate is said to treat (test, cause, ...): a drug for everything is evidence
for nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.asks import OF_THE_SUBJECT, asks
from kgmed.kg.by_role import ByRole, Hops
from kgmed.kg.graph import LocalGraph
from kgmed.retrieve.diagnosis import Diagnosis
from kgmed.retrieve.overview import Overview
from kgmed.types import Evidence, Link, Query, Role

PATIENT = (Role.TREATS, Role.TESTS, Role.CARE, Role.FOOD, Role.AVOID)  # asked of a patient


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
        around = [(self.graph.at(node), piece) for node in named for piece in pieces.of(self.graph.at(node))]
        found = [
            piece
            for entity, piece in around
            if piece.triples[0].tail.id and (role not in OF_THE_SUBJECT or piece.triples[0].subject == entity)
        ]
        return found if all(len(piece.triples) <= self.listed for piece in found) else []

    def _many(self, query: Query, links: Sequence[Link], named: dict[int, float], role: Role) -> list[Evidence]:
        """The best of many; nothing where no candidate is tied to an entity that the question names."""
        steps, nodes = ByRole(self.graph, role), list(named)
        if not len(steps.objects(nodes).node) and (role in OF_THE_SUBJECT or not len(steps.subjects(nodes).node)):
            return []
        implied = self._implied(query, links) if role in PATIENT else {}
        return self._candidates(
            {**{n: b for n, (b, _) in implied.items()}, **named},
            role,
            {n: i for n, i in implied.items() if n not in named},
        )

    def _implied(self, query: Query, links: Sequence[Link]) -> dict[int, tuple[float, Evidence]]:
        """The diseases that explain the findings, with a belief (`via` for the best, less by odds) and why."""
        cases = Diagnosis(self.graph, keep=self.diseases)(query, links)
        if not cases:
            return {}
        odds = np.exp(np.array([e.score for e in cases]) - cases[0].score)
        belief = self.via * odds
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
        ties: dict[int, dict[int, tuple[float, int]]] = {}  # candidate -> entity -> worth and edge of its best tie
        ways = [(steps.objects(nodes), steps.subjects)]
        if role not in OF_THE_SUBJECT:
            ways.append((steps.subjects(nodes), steps.objects))
        for hops, back in ways:
            candidates, at = np.unique(hops.node, return_inverse=True)
            breadth = np.bincount(back(candidates).origin, minlength=len(candidates))
            worth = np.array(list(belief.values()))[hops.origin] * self._weights(hops) / (1 + np.log10(breadth[at]))
            for node, origin, value, edge in zip(*(c.tolist() for c in (*hops[1::-1], worth, hops.edge)), strict=True):
                mine = ties.setdefault(node, {})
                mine[nodes[origin]] = max(mine.get(nodes[origin], (0.0, edge)), (value, edge))
        score = {node: sum(value for value, _ in mine.values()) for node, mine in ties.items()}
        best = sorted(score, key=lambda n: (-score[n], n))[: self.keep]
        return [self._evidence(node, score[node], ties[node], implied) for node in best]

    def _weights(self, hops: Hops) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        weight = self.graph.weight
        return np.ones(len(hops.edge)) if weight is None else weight[hops.edge].astype(np.float64)

    def _evidence(
        self, node: int, score: float, ties: dict[int, tuple[float, int]], implied: dict[int, tuple[float, Evidence]]
    ) -> Evidence:
        """The candidate with its strongest triples; a disease that no word of the question names brings its reason."""
        strongest = sorted(ties, key=lambda origin: (-ties[origin][0], origin))[:3]
        facts = [self.graph.triple(ties[origin][1]) for origin in strongest]
        reasons = [t for origin in strongest if origin in implied for t in implied[origin][1].triples[:1]]
        shown = tuple(dict.fromkeys([*facts, *reasons]))
        about = (self.graph.at(node), *(self.graph.at(origin) for origin in strongest))
        text = "; ".join(f"{t.head.name} — {t.relation} → {t.tail.name}" for t in shown)
        return Evidence(text, "candidate", shown, about, round(score, 4))
