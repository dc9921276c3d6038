"""What a question asks for (drugs, tests, side effects, ...), from the entities that it names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from kgmed.graph.base import ByRole, Hops, LocalGraph
from kgmed.language.question import OF_THE_SUBJECT, types_asked
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.steps.diagnosis import Diagnosis
from kgmed.steps.family import Family, substance
from kgmed.steps.retrieve import told

# --- Retriever: what a question asks for (drugs, tests, side effects, ...), from the entities it names.
# An asked role leads from an entity of the question to its other end: from a disease to the drugs that treat it, from
# a drug to its side effects. An entity that the graph says nothing of in that role is replaced by one of the same name,
# or, a substance, by its brands and the products of it alone. Lists are given heaviest first, then what is said in more
# relations, then the usual: what more things have. Treatments are given a substance at a time, before its brands, and
# the specific first. Where the question names findings only, the diseases that explain them stand between: the best is
# believed by `via`, each other by its odds against the best.
#
# The score of a candidate is the sum over those entities of (belief in the entity) * (weight of the edge), divided by
# 1 + log10 of the number of things the candidate is said to treat (test, ...): a drug for everything is evidence for
# nothing.


PATIENT = (Role.TREATS, Role.TESTS, Role.CARE, Role.FOOD, Role.AVOID)  # asked of a patient
_DONE = (Role.TREATS, Role.TESTS)
_WARNS = (Role.CONTRAINDICATED, Role.PRECAUTION)
OF_A_DRUG = (Role.ADVERSE, Role.CONTRAINDICATED, Role.INTERACTS, Role.PRECAUTION, Role.DOSAGE, Role.TREATS)
Believed = dict[int, tuple[float, Evidence]]  # a disease that explains the findings -> belief in it, and why


@dataclass(frozen=True)
class AskedFor:
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
        found: dict[Role, list[Evidence]] = {}
        for row in types_asked(query.text):
            if row.role is None or row.of_what or row.role in found:
                continue
            for role in (row.role, *row.also):
                found[role] = found.get(role) or self._about(query, links, stated, role)
                if found[role] and not role.is_safety:
                    break
        return [piece for pieces in found.values() for piece in pieces]

    def of(self, link: Link, *roles: Role) -> list[Evidence]:
        """What the graph says of one thing in some roles."""
        return [
            piece
            for role in roles
            for entity, why in self._speaking(link, role).items()
            for piece in self._listed(entity, role, why)
        ]

    def _about(self, query: Query, links: Sequence[Link], stated: Sequence[Link], role: Role) -> list[Evidence]:
        """The evidence for one role."""
        speaking: dict[Entity, tuple[Triple, ...]] = {}
        for link in stated:
            speaking |= self._speaking(link, role)
        pieces = [piece for entity, why in speaking.items() for piece in self._listed(entity, role, why)]
        if role not in PATIENT or any(entity.kind == "disease" for entity in speaking):
            return pieces
        implied = self._implied(query, links) if speaking or self.through else {}
        if not implied:
            return pieces
        texts = [piece for piece in pieces if piece.kind == "text"]
        named = {self.graph.number(entity.id): 1.0 for entity in speaking}
        believed = {n: belief for n, (belief, _) in implied.items()} | named
        return texts + self._candidates(believed, role, {n: i for n, i in implied.items() if n not in named})

    def _speaking(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """What the graph speaks of in a role, the linked entity or others in its place, and what leads there."""
        family = Family(self.graph)
        own = {e: why for e, why in family.twins(link).items() if self._speaks(e, role)}
        if own and role not in _WARNS:  # what warns stands at the substance and at its products
            return dict(islice(own.items(), 1))
        if role not in OF_A_DRUG:
            return self._broader(link, role)
        rows = ((self.graph.at(node), why) for node, why in family.of(link, narrower=False).items())
        products = dict(islice(((e, why) for e, why in rows if self._speaks(e, role)), self.products))
        return own | products or self._broader(link, role)

    def _broader(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """The nearest broader entry, at most two steps up, of which the graph speaks, and the steps to it."""
        ways: dict[int, tuple[Triple, ...]] = {self.graph.number(link.entity.id): ()}
        for _ in range(2):
            before = {self.graph.at(n): why for n, why in ways.items()}
            ways = {n: (*before.get(up.subject, ()), up) for n, (up,) in Family(self.graph).classes(ways).items()}
            spoken = {self.graph.at(n): why for n, why in ways.items() if self._speaks(self.graph.at(n), role)}
            if spoken:
                return dict(islice(spoken.items(), 1))
        return {}

    def _speaks(self, entity: Entity, role: Role) -> bool:
        """Whether the graph has a triple or a text of a role for an entity, as its subject where that matters."""
        steps, node = ByRole(self.graph, role), [self.graph.number(entity.id)]
        if len(steps.objects(node).node) or (role not in OF_THE_SUBJECT and len(steps.subjects(node).node)):
            return True
        return any(t.relation.role is role for t in self.graph.attributes(entity.id))

    def _listed(self, entity: Entity, role: Role, why: tuple[Triple, ...]) -> Iterator[Evidence]:
        """What an entity has in a role, a dozen to a piece, the last with the number left out; a text a piece."""
        reason = "".join(f"; {_written(t)}" for t in why)
        for own in (True, False):
            rows = self._ordered(entity, role, own=own) if own or role not in OF_THE_SUBJECT else []
            if own and role in _DONE and entity.kind == "disease" and self._ordered(entity, role, own=False):
                continue  # what a disease is given for is a slip of the graph
            most = self.listed * self.pieces
            for begin in range(0, min(len(rows), most), self.listed):
                shown = rows[begin : begin + self.listed]
                more = len(rows) - most if begin + self.listed >= most else 0
                text = f"{entity.name} {told(entity, shown)}" + (f", … (+{more})" if more > 0 else "")
                yield Evidence(text + reason, "neighbours", (*shown, *why), (entity,), 1.0)
        for t in self.graph.attributes(entity.id):
            if t.relation.role is role:
                yield Evidence(_written(t) + reason, "text", (t, *why), (entity,), 1.0)

    def _ordered(self, entity: Entity, role: Role, *, own: bool) -> list[Triple]:
        """One triple for each other end: the heaviest, the most often said, then the usual, or the specific."""
        steps, node = ByRole(self.graph, role), [self.graph.number(entity.id)]
        hops = steps.objects(node) if own else steps.subjects(node)
        if not len(hops.node):
            return []
        ends = np.unique(hops.node)
        back = (steps.subjects if own else steps.objects)(ends)
        breadth = dict(zip(ends.tolist(), np.bincount(back.origin, minlength=len(ends)).tolist(), strict=True))
        edges: dict[int, list[Triple]] = {}
        for end, edge in zip(hops.node.tolist(), hops.edge.tolist(), strict=True):
            edges.setdefault(end, []).append(self.graph.triple(edge))
        if role is Role.TREATS and not own:
            return self._by_substance(edges, breadth)
        usual = 1 if own else -1

        def place(end: int) -> tuple[float, int, int, int]:
            said = edges[end]
            return -max(t.weight for t in said), -len({t.relation.name for t in said}), -usual * breadth[end], end

        return [max(edges[end], key=lambda t: t.weight) for end in sorted(edges, key=place)]

    def _by_substance(self, edges: dict[int, list[Triple]], breadth: dict[int, int]) -> list[Triple]:
        """One triple for each medicine, first one of each substance: those that are said in more ways, the specific."""
        family = Family(self.graph)
        groups: dict[str, list[int]] = {}
        for node in edges:
            groups.setdefault(family.substance(node), []).append(node)

        def place(name: str) -> tuple[float, float, float, str]:
            said = [t for node in groups[name] for t in edges[node]]
            worth = max(1 / (1 + np.log10(breadth[node])) for node in groups[name])
            ways = len({t.relation.name for t in said}) + float(np.log2(len(groups[name])))
            return -max(t.weight for t in said), -round(ways, 3), -float(worth), name

        def plain(name: str, node: int) -> tuple[bool, int, str]:
            entity = self.graph.at(node)
            return substance(entity.name) != name, len(entity.name), entity.name

        rows = [sorted(groups[name], key=partial(plain, name)) for name in sorted(groups, key=place)]
        order = [row[0] for row in rows] + [node for row in rows for node in row[1:]]
        return [max(edges[node], key=lambda t: t.weight) for node in order]

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

    >>> from kgmed.records import Relation
    >>> a, b, c = (Entity(n, n) for n in "abc")
    >>> _joined([Triple(a, Relation("treats"), b), Triple(a, Relation("treats"), c)])
    'a — treats → b, c'
    """
    rows: dict[tuple[str, str], list[str]] = {}
    for t in triples:
        rows.setdefault((t.head.name, t.relation.name), []).append(t.tail.name)
    return "; ".join(f"{head} — {relation} → {', '.join(tails)}" for (head, relation), tails in rows.items())
