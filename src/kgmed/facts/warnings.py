"""Which medicines must not be taken, or with care, by people with a condition: what labels and the graph warn of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgmed.frame import Intent
from kgmed.graph.base import ByRole, KnowledgeGraph, LocalGraph, Scope, kept_with_graph
from kgmed.graph.contradictions import WARNS, warnings_of
from kgmed.graph.store.store import Store
from kgmed.language.labels import says_unknown
from kgmed.language.particulars import People, circumstances_of, clauses_about, forbids, populations
from kgmed.language.text import has_cjk, lazily
from kgmed.records import VERDICT, Entity, Evidence, Link, Query, Role, Triple
from kgmed.sentences import catalogue
from kgmed.steps.facts import name_of
from kgmed.steps.family import MEDICINES, Family, medicines_of

_SHOWN = 10  # ours: medicines that are named
_NOT_OF_IT = lazily(r"诱发|引起|导致|可(?:能)?(?:发生|出现)|检查|监测|testing|monitor", re.IGNORECASE)


@dataclass(frozen=True)
class WarnedOf:
    """The verdict "no" with the medicines that are warned of for one condition; [] where no such thing is asked."""

    graph: LocalGraph

    def of(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """One piece: those that must not be taken first, then those to be taken with care."""
        things = [link for link in links if not link.mention.negated]
        family = Family(self.graph)
        if len(things) != 1:
            return []
        if any(e.kind in MEDICINES for e in family.twins(things[0])):
            return []
        found: dict[str, tuple[bool, Entity, Triple]] = {}
        for forbidden, triple in self._warnings(things[0], family):
            drug = triple.subject
            key = family.substance(self.graph.number(drug.id))
            if key not in found or (forbidden and not found[key][0]):
                found[key] = (forbidden, drug, triple)
        usual = medicines_of(self.graph)  # of what there are many products of people have heard
        order = sorted(found, key=lambda name: (not found[name][0], -len(usual.get(name, ()))))
        rows = [found[name] for name in order]
        if not rows:
            return []
        say, thing = catalogue(query.frame.language), things[0].entity
        names = [name_of(drug, say) for _, drug, _ in rows[:_SHOWN]]
        more = say("list.more", count=len(rows) - _SHOWN) if len(rows) > _SHOWN else ""
        said = say("verdict.labels", facts=say.join(names) + more, one=name_of(thing, say))
        return [Evidence(said, VERDICT, tuple(t for *_, t in rows[:_SHOWN]), (thing,), 1.0, "no")]

    def _warnings(self, link: Link, family: Family) -> Iterator[tuple[bool, Triple]]:
        """The triples that warn of a medicine for a thing or in a text that names it, and whether they forbid it."""
        twins = [self.graph.number(e.id) for e in family.twins(link)]
        for role in WARNS:
            for edge in ByRole(self.graph, role).subjects(twins).edge.tolist():
                yield role is Role.CONTRAINDICATED, self.graph.triple(edge)
        if (tables := getattr(self.graph, "tables", None)) is None:
            return
        names, about = self._names(link, twins), circumstances_of(link.mention.surface)
        parts = [re.escape(n) if has_cjk(n) else rf"\b{re.escape(n)}" for n in names]
        pattern = re.compile("|".join([*parts, *(c.found for c in about)]), re.IGNORECASE)
        warnings = warnings_of(self.graph)
        for number in (warnings.numbers if about else warnings.naming(names)).tolist():
            if pattern.search(tables.text[number]) and (triple := self._of_it(number, pattern)):
                yield forbids(clauses_about(triple.object.name, pattern)), triple

    def _of_it(self, number: int, pattern: re.Pattern[str]) -> Triple | None:
        """The triple of a text that warns of a thing, and not of what the medicine does to it."""
        triple: Triple = self.graph.text(number)  # type: ignore[attr-defined]
        said = clauses_about(triple.object.name, pattern)
        about = triple.subject.kind in MEDICINES and said and not _NOT_OF_IT.search(said)
        return (
            triple
            if about and (triple.relation.role is Role.CONTRAINDICATED or forbids(said) or "慎" in said)
            else None
        )

    def _names(self, link: Link, twins: list[int]) -> list[str]:
        """What a text may call the thing."""
        aliases = getattr(self.graph, "aliases", None)
        names = {link.mention.surface, link.entity.name, *(self.graph.at(node).name for node in twins)}
        names |= {
            text for node in twins for text, scope in (aliases(node) if aliases else ()) if scope <= Scope.TRANSLATION
        }
        return [n for n in names if len(n) >= (2 if has_cjk(n) else 5)]


# --- Ranker: adds what the graph warns of to the drugs that the evidence speaks of.


_DRUG_ROLES = (Role.TREATS, Role.DOSAGE, Role.ADVERSE, Role.INTERACTS)
_MANY = 1 << 20  # all of them: a contraindication is never left out


@dataclass(frozen=True)
class Warned:
    """The evidence, then a warning for each drug that a piece of it is about: all its contraindications.

    Where the question asks what to take, so does each drug in a list.
    A drug without contraindications brings its first `cautions` precautions.
    """

    graph: KnowledgeGraph
    cautions: int = 2

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """All of the evidence and, kind "warning", what it must not be read without."""
        said = {t for e in evidence for t in e.triples}
        listed = any(i in (Intent.TREATMENT, Intent.DIAGNOSIS) for i in query.frame.intents)
        about = (t.subject for e in evidence for t in e.triples if _is_about(e, t, listed=listed))
        drugs = dict.fromkeys(drug for drug in about if drug.id)  # a treatment that is only a text has no warnings
        groups = populations(query.frame.patient.groups)
        named = {t.subject for t in said if t.relation.role is Role.CONTRAINDICATED}
        return [*evidence, *(w for drug in drugs for w in self._warning(drug, said, named, groups))]

    def _warning(
        self, drug: Entity, said: set[Triple], named: set[Entity], groups: Sequence[People]
    ) -> Iterator[Evidence]:
        """One piece with what is not said already, and what is said of the people whom the question names.

        `named` = the drugs of which a contraindication is said already.
        """
        mine = [t for t in self._of(drug, Role.CONTRAINDICATED) if t not in said]
        forbidden = bool(mine) or drug in named
        if groups or not forbidden:
            cautions = [t for t in self._of(drug, Role.PRECAUTION) if t not in said]
            mine += [t for t in cautions if any(clauses_about(t.object.name, g.in_text) for g in groups)]
            mine += [t for t in cautions if t not in mine][: 0 if forbidden else self.cautions]
        if mine:
            names = "; ".join(dict.fromkeys(t.object.name for t in mine))
            yield Evidence(f"{drug.name} — {mine[0].relation} → {names}", "warning", tuple(mine), (drug,))

    def _of(self, drug: Entity, role: Role) -> list[Triple]:
        return _warnings_on(self.graph, drug, role)


@kept_with_graph(1 << 10)
def _warnings_on(graph: KnowledgeGraph, drug: Entity, role: Role) -> list[Triple]:
    """All that a graph has of a role about a drug, but that nothing is known."""
    if isinstance(graph, Store) and not any(
        w.contraindication is (role is Role.CONTRAINDICATED) for w in warnings_of(graph).of(graph.number(drug.id))
    ):
        return []  # as of most; its other texts need not be read
    around = graph.neighbours(drug.id, limit=_MANY, roles=(role,))
    own = [t for t in (*around, *graph.attributes(drug.id)) if t.relation.role is role and t.subject == drug]
    return [t for t in own if not says_unknown(t.object.name)]


def _is_about(evidence: Evidence, triple: Triple, *, listed: bool) -> bool:
    """Whether a piece of evidence speaks of the drug of a triple, or `listed` and it names it as a treatment."""
    role = triple.relation.role
    return (listed and role is Role.TREATS) or (role in _DRUG_ROLES and triple.subject in evidence.about)
