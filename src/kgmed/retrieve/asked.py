"""Retriever: what a question asks for (drugs, tests, side effects, ...), from the entities it names.

An asked role leads from an entity of the question to its other end: from a disease to the drugs that treat it, from
a drug to its side effects. An entity that the graph says nothing of in that role is replaced by one of the same name,
or, a substance, by its brands and the products of it alone. A list of what an entity has (its findings, its genes) is
given heaviest first; long lists of treatments and tests are ranked. Where the question names findings only, the
diseases that explain them stand between: the best is believed by `via`, each other by its odds against the best.

The score of a candidate is the sum over those entities of (belief in the entity) * (weight of the edge), divided by
1 + log10 of the number of things the candidate is said to treat (test, ...): a drug for everything is evidence for
nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.asks import OF_THE_SUBJECT, asks
from kgmed.kg.by_role import ByRole, Hops
from kgmed.kg.graph import LocalGraph
from kgmed.retrieve.diagnosis import Diagnosis
from kgmed.retrieve.overview import Overview
from kgmed.types import Entity, Evidence, Link, Query, Role, Triple

PATIENT = (Role.TREATS, Role.TESTS, Role.CARE, Role.FOOD, Role.AVOID)  # asked of a patient
RANKED = (Role.TREATS, Role.TESTS)  # long lists, of which the most specific come first
OF_A_DRUG = (Role.ADVERSE, Role.CONTRAINDICATED, Role.INTERACTS, Role.PRECAUTION, Role.DOSAGE, Role.TREATS)
Believed = dict[int, tuple[float, Evidence]]  # a disease that explains the findings -> belief in it, and why


@dataclass(frozen=True)
class Asked:
    """The answers to each role asked for: kind "neighbours" for a list, "text" for a text, "candidate" for one of many.

    A candidate is about (answer, entities it is tied to). `through` = whether diseases that explain the findings may
    answer where nothing that is named has an answer of its own.
    """

    graph: LocalGraph
    keep: int = 10
    via: float = 0.5
    diseases: int = 10
    listed: int = 12
    pieces: int = 3
    products: int = 3
    through: bool = True

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The answers and the texts the graph holds for those roles, in the order of the roles asked for."""
        stated = [link for link in links if not link.mention.negated]
        return [piece for role in asks(query.text) for piece in self._about(query, links, stated, role)]

    def _about(self, query: Query, links: Sequence[Link], stated: Sequence[Link], role: Role) -> list[Evidence]:
        """The evidence for one role."""
        speaking: dict[Entity, tuple[Triple, ...]] = {}
        for link in stated:
            speaking |= self._speaking(link, role)
        pieces = [piece for entity, why in speaking.items() for piece in self._listed(entity, role, why)]
        if role not in RANKED:
            return pieces
        named = {self.graph.number(entity.id): 1.0 for entity in speaking}
        sure = any(entity.kind == "disease" for entity in speaking)
        implied = self._implied(query, links) if not sure and (speaking or self.through) else {}
        if not implied and all(len(piece.triples) < self.listed for piece in pieces):
            return pieces
        texts = [piece for piece in pieces if piece.kind == "text"]
        believed = {n: belief for n, (belief, _) in implied.items()} | named
        return texts + self._candidates(believed, role, {n: i for n, i in implied.items() if n not in named})

    def _speaking(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """What the graph speaks of in a role, the linked entity or others in its place, and what leads there."""
        alike = (link.entity, *(tie for tie in link.ties if tie.kind == link.entity.kind))
        for entity in alike:
            if self._speaks(entity, role):
                return {entity: ()}
        return self._products(link.entity, role) if role in OF_A_DRUG else {}

    def _speaks(self, entity: Entity, role: Role) -> bool:
        """Whether the graph has a triple or a text of a role for an entity, as its subject where that matters."""
        steps, node = ByRole(self.graph, role), [self.graph.number(entity.id)]
        if len(steps.objects(node).node) or (role not in OF_THE_SUBJECT and len(steps.subjects(node).node)):
            return True
        return any(t.relation.role is role for t in self.graph.attributes(entity.id))

    def _products(self, substance: Entity, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """A few products of a substance alone, or its brands, of which the graph speaks, those named after it first."""
        contains = ByRole(self.graph, Role.INGREDIENT)
        node = [self.graph.number(substance.id)]
        hops = contains.subjects(node)
        parts = np.bincount(contains.objects(hops.node).origin, minlength=len(hops.node))
        same = ByRole(self.graph, Role.SAME_AS)
        ways = [Hops(*(c[parts == 1] for c in hops)), same.objects(node), same.subjects(node)]
        alone = [
            (self.graph.at(n), e) for way in ways for n, e in zip(way.node.tolist(), way.edge.tolist(), strict=True)
        ]
        alone.sort(key=lambda row: (substance.name not in row[0].name, row[0].name))
        found: dict[Entity, tuple[Triple, ...]] = {}
        for product, edge in alone:
            if len(found) < self.products and self._speaks(product, role):
                found[product] = (self.graph.triple(edge),)
        return found

    def _listed(self, entity: Entity, role: Role, why: tuple[Triple, ...]) -> Iterator[Evidence]:
        """What an entity has in a role, heaviest first, a text a piece."""
        around = Overview(self.graph, listed=self.listed, roles=(role,), pieces=self.pieces)
        reason = "".join(f"; {_written(t)}" for t in why)
        for piece in around.of(entity):
            mine = piece.triples[0].subject == entity
            if piece.triples[0].tail.id and (mine or role not in OF_THE_SUBJECT):
                yield Evidence(piece.text + reason, "neighbours", (*piece.triples, *why), (entity,), piece.score)
        for t in self.graph.attributes(entity.id):
            if t.relation.role is role:
                yield Evidence(_written(t) + reason, "text", (t, *why), (entity,), 1.0)

    def _implied(self, query: Query, links: Sequence[Link]) -> Believed:
        """The diseases that explain the findings, with a belief (`via` for the best, less by odds) and why."""
        cases = Diagnosis(self.graph, keep=self.diseases)(query, links)
        if not cases:
            return {}
        odds = np.exp(np.array([e.score for e in cases]) - cases[0].score)
        belief = self.via * odds
        return {self.graph.number(e.about[0].id): (float(b), e) for e, b in zip(cases, belief, strict=True)}

    def _candidates(self, belief: dict[int, float], role: Role, implied: Believed) -> list[Evidence]:
        """The best of all that are tied to those entities by a role."""
        steps, nodes = ByRole(self.graph, role), list(belief)
        ties: dict[int, dict[int, tuple[float, int]]] = {}  # candidate -> entity -> worth and edge of its best tie
        for hops, back in ((steps.objects(nodes), steps.subjects), (steps.subjects(nodes), steps.objects)):
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

    def _evidence(self, node: int, score: float, ties: dict[int, tuple[float, int]], implied: Believed) -> Evidence:
        """The candidate with its strongest triples; a disease that no word of the question names brings its reason."""
        strongest = sorted(ties, key=lambda origin: (-ties[origin][0], origin))[:3]
        facts = [self.graph.triple(ties[origin][1]) for origin in strongest]
        reasons = [t for origin in strongest if origin in implied for t in implied[origin][1].triples[:1]]
        shown = tuple(dict.fromkeys([*facts, *reasons]))
        about = (self.graph.at(node), *(self.graph.at(origin) for origin in strongest))
        return Evidence(_joined(shown), "candidate", shown, about, round(score, 4))


def _written(triple: Triple) -> str:
    return f"{triple.head.name} — {triple.relation} → {triple.tail.name}"


def _joined(triples: Sequence[Triple]) -> str:
    """The triples in words, those of one head and relation together.

    >>> from kgmed.types import Relation
    >>> a, b, c = (Entity(n, n) for n in "abc")
    >>> _joined([Triple(a, Relation("treats"), b), Triple(a, Relation("treats"), c)])
    'a — treats → b, c'
    """
    rows: dict[tuple[str, str], list[str]] = {}
    for t in triples:
        rows.setdefault((t.head.name, t.relation.name), []).append(t.tail.name)
    return "; ".join(f"{head} — {relation} → {', '.join(tails)}" for (head, relation), tails in rows.items())
