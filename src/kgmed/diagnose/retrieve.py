"""Stages: the diseases that explain the findings of a question, and a card each with what is done about it."""

import re
from array import array
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

import numpy as np

from kgmed import vocabulary
from kgmed.diagnose.engine import DiagnosisEngine, Presentation, engine
from kgmed.diagnose.findings import findings_of
from kgmed.diagnose.knowledge import CARE, CERTAIN, NARROWER, Bools, Nodes
from kgmed.diagnose.table import Floats
from kgmed.frame import Patient
from kgmed.graph.base import ByRole, LocalGraph, kept_with_graph, names_of
from kgmed.language import lay
from kgmed.language.particulars import ALCOHOL, SMOKE, People, populations
from kgmed.language.text import CJK_LANGUAGES, has_cjk, lazily
from kgmed.question.emergency import is_emergency, meant_by
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.steps.family import Family, telling
from kgmed.steps.retrieve import told

# --- How a disease that explains findings is written as a piece of evidence, and read from one again.

EMERGENCY = "emergency"  # the id of a candidate that may kill within hours
SAYS_EN = {"lacks": "not listed", "denied": "the question says: not", "ask": "to ask for"}
SAYS_ZH = {"lacks": "未载", "denied": "问题中说：没有", "ask": "可再问"}


def told_of(e: Evidence, word: str) -> str:
    """What a candidate's text says under a word: "lacks" (findings told that it has not), "ask", "denied".

    >>> told_of(Evidence("Gout: Fever; not listed: Rash, Cough; to ask for: Tophus", "candidate"), "lacks")
    'Rash, Cough'
    """
    found = re.search(rf"(?:{SAYS_EN[word]}|{SAYS_ZH[word]})[:：]? ?([^;)]+)", e.text)
    return found[1] if found else ""


def is_denied(e: Evidence, triple: Triple) -> bool:
    """Whether a candidate's text says that the question denies a finding of it."""
    return any(
        f"({denied}" in e.text and re.search(rf"{re.escape(triple.object.name)}(?: \([^;]*\))? \({denied}", e.text)
        for denied in (SAYS_EN["denied"], SAYS_ZH["denied"])
    )


# --- The edges that tie a disease to a finding, and the findings that tell two diseases apart.


_ASKABLE = (10, 300)  # ours: diseases that have a finding which is worth asking for: else it is odd, or of anything
_STRONG = 0.25  # ours: how telling it must be, of what tells most (`steps.telling`)


def tie(model: DiagnosisEngine, disease: int, finding: Nodes) -> int:
    """The edge that ties a disease to a finding, by itself, a kind of it or what it is a kind of; -1 = none."""
    ends = _ends(model.graph, disease)
    return next((ends[node] for node in _near(model, finding) if node in ends), -1)


@kept_with_graph(1 << 8)
def _ends(graph: LocalGraph, disease: int) -> dict[int, int]:
    """The findings that a disease has, or is said not to have, each with its edge."""
    ends: dict[int, int] = {}
    for role in (Role.EXCLUDES, Role.FINDING):
        hops = ByRole(graph, role).objects([disease])
        ends |= dict(zip(hops.node.tolist(), hops.edge.tolist(), strict=True))
    return ends


@lru_cache(maxsize=1 << 12)
def _near(model: DiagnosisEngine, finding: Nodes) -> "array[int]":
    """The nodes of a finding, its kinds, and what it is a kind of, at most two steps up."""
    up = ByRole(model.graph, Role.IS_A)
    kinds = [n for q in finding for n in model.world.kinds(q).tolist()]
    above = [n for q in finding for n, steps in up.closure(q, up=True).items() if 0 < steps <= 2]
    named = [n for q in finding for n in (model.world.names.broader(q) if model.world.names else ())]
    return array("i", [*finding, *kinds, *above, *named])  # a tenth of a list's memory


def is_illness(name: str) -> bool:
    """Whether a name that stands among findings is by its words that of an illness: nobody is asked for that.

    >>> [is_illness(name) for name in ("Pharyngitis", "Cyanosis", "Hematemesis", "肺炎", "反跳痛")]
    [True, False, False, True, False]
    """
    return bool(vocabulary.listed("illnesses by name").search(name)) and not vocabulary.listed(
        "signs named as illnesses"
    ).search(name)


def telling_apart(model: DiagnosisEngine, one: int, other: int, known: Container[int]) -> Iterator[int]:
    """The findings that tell strongly of one disease and that another does not have, the most telling first.

    None that is known already, that few or hundreds of diseases have, or that is an illness or in the name.
    """
    told = telling(model.graph, one)
    name, (few, many), least = model.graph.at(one).name.casefold(), _ASKABLE, 0.0
    for q in sorted(told, key=lambda q: (-told[q], q)):
        if told[q] < least:
            return
        if q in known or (least and not few <= model.world.own(q) <= many) or tie(model, other, (q,)) >= 0:
            continue
        least = least or _STRONG * told[q]  # the first of all tells most
        said = model.graph.at(q).name
        if few <= model.world.own(q) <= many and not is_illness(said) and said.casefold() not in name:
            yield q


# --- Retriever: the diseases that explain the linked findings.


_LOOKED = 200  # diseases among which those are looked for that the signs of an emergency mean
_USUAL = 3  # cards whose care is ordered by what is usual, which takes time; a reader looks no further
_ASKED = 2  # findings of each of the first two diseases that are asked for
# What must not be missed is a rule and not a likelihood, so that no cases can fit it; see docs/diagnose.md.
URGENT = 1.0  # what is added to a disease that may kill within hours and fits as well as the best
_ALARMING = 1.1  # ours: bits told for an emergency, of those that name one disease of all; dizziness and nausea: 0.9
MEANS = 3.0  # what is added to what the signs of an emergency mean, where they are told: a stroke
AT_RISK = 1.1  # log 3; what is added where the graph says that such people get it
_SERIES = lazily(r"(?:[\s,]+type)?[\s,]+(?:\d{1,3}[a-z]{0,2}|[ivx]{1,5}[a-z]?)$", re.IGNORECASE)


@dataclass(frozen=True)
class Diagnosis:
    """The `keep` diseases that explain the linked findings best, each once.

    Evidence: kind "candidate", about = (disease, the findings it has), triples = what ties them, score = log odds.
    """

    graph: LocalGraph
    keep: int = 10

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Best first; no finding among the links = no evidence. Diseases that match no finding are left out."""
        model, patient = engine(self.graph), query.frame.patient
        known = findings_of(self.graph, links)
        present = tuple(nodes for nodes, link in known.items() if not link.mention.negated)
        if not present:
            return []
        absent = tuple(nodes for nodes in known if nodes not in present)
        traits = frozenset(patient.traits)
        shown = Presentation(present, absent, patient.sex, patient.age, None, traits)
        fits = count_fitting(model, present)
        scores = self._of_themselves(model, known, present, np.where(fits > 0, model.scores(shown), -np.inf))
        scores = self._alarms(model, traits, scores)
        named = {known[q].entity.name.casefold() for q in present if not lay.said(known[q].mention.surface)}
        best = self._best(model, scores, fits, _people(patient, links), named)
        return [candidate(model, d, score, known) for d, score in best]

    def _of_themselves(
        self, model: DiagnosisEngine, known: Mapping[Nodes, Link], present: Sequence[Nodes], scores: Floats
    ) -> Floats:
        """The scores, without the findings that explain nothing but themselves.

        Of several, one that is an illness by the words of the patient stays, and explains itself: sad for months.
        """
        place = model.world.place
        for finding in present:
            link = known[finding]
            own = len(present) > 1 and model.graph.number(link.entity.id) in finding and lay.said(link.mention.surface)
            for at in (place[node] for node in finding if node in place):
                base = model.world.rarity_of(model.world.having(finding)[1])
                scores[at] = scores[at] + np.log1p(CERTAIN / base) if own else -np.inf
        return scores

    def _alarms(self, model: DiagnosisEngine, traits: frozenset[str], scores: Floats) -> Floats:
        """The scores with what the signs of an emergency that is told mean before the rest."""
        for kind in (t.removeprefix("urgent ") for t in traits if t.startswith("urgent ")):
            if looks := meant_by(kind):
                scores = scores + np.where(self._named(model, looks, scores), MEANS, 0.0)
        return scores

    def _named(self, model: DiagnosisEngine, looks: str, scores: Floats) -> Bools:
        """The best diseases that have such a name."""
        found = np.zeros(len(scores), bool)
        for d in np.argsort(-scores)[:_LOOKED].tolist():
            found[d] = re.search(looks, _name(model, d), re.IGNORECASE) is not None
        return found

    def _best(
        self, model: DiagnosisEngine, scores: Floats, fits: Floats, groups: Sequence[People], named: Container[str]
    ) -> list[tuple[int, float]]:
        """The best diseases (nodes) with their scores, one of each name, ties by number; none that is `named`.

        What may kill within hours counts more, if it has several of the findings and no fewer than the best has; so
        does what the graph says to befall the people of whom the patient is one.
        """
        size = min(8 * self.keep, len(scores))
        top = [d for d in np.argpartition(-scores, size - 1)[:size].tolist() if np.isfinite(scores[d])]
        rated = {d: float(scores[d]) for d in top if _name(model, d).casefold() not in named}
        if not rated:
            return []
        urgent = model.world.prior.urgent
        enough = max(2, fits[max(rated, key=lambda d: (rated[d], -d))])
        for d in rated:
            rated[d] += URGENT if urgent[d] and fits[d] >= enough else 0.0
            rated[d] += AT_RISK if groups and self._at_risk(int(model.world.diseases[d]), groups) else 0.0
        chosen: dict[str, int] = {}
        for d in sorted(rated, key=lambda d: (-rated[d], d)):
            chosen.setdefault(one_name(_name(model, d), rare=not model.world.prior.care[d]), d)
        return [(int(model.world.diseases[d]), rated[d]) for d in list(chosen.values())[: self.keep]]

    def _at_risk(self, node: int, groups: Sequence[People]) -> bool:
        """Whether some of those people are a risk of a disease in the graph: children of chickenpox."""
        about = ByRole(self.graph, Role.RISK).objects([node]).node.tolist()
        causes = ByRole(self.graph, Role.CAUSE).objects([node]).node.tolist() if ALCOHOL in groups else []
        if any(ALCOHOL.in_text.search(self.graph.at(n).name) for n in causes):
            return True
        return any(g.in_text.search(self.graph.at(n).name) for n in about for g in groups)


def _drinks(patient: Patient, links: Sequence[Link]) -> bool:
    """Whether alcohol is told of and not denied."""
    named = [link for link in links if link.entity.name in ALCOHOL.names]
    return "alcohol" in patient.traits and (not named or any(not x.mention.negated for x in named))


def _people(patient: Patient, links: Sequence[Link]) -> tuple[People, ...]:
    """The groups of people of whom the patient is one."""
    drinks = (ALCOHOL,) if _drinks(patient, links) else ()
    return (*populations(patient.groups), *drinks, *((SMOKE,) if "smoking" in patient.traits else ()))


def count_fitting(model: DiagnosisEngine, present: Sequence[Nodes]) -> Floats:
    """How many of the findings each disease has, or has a kind of (diseases,)."""
    none = np.zeros(model.world.size)
    return np.asarray(sum(((model.world.fit(q)[0] <= NARROWER).astype(np.float64) for q in present), none))


def _name(model: DiagnosisEngine, disease: int) -> str:
    return model.graph.at(int(model.world.diseases[disease])).name


def one_name(name: str, *, rare: bool) -> str:
    """What the entries of one disease have in common; the numbers of a series only where nothing is done about them.

    Acute bronchitis beside bronchitis says nothing more.

    >>> one_name("Stickler syndrome, type II", rare=True), one_name("Diabetes mellitus, type 2", rare=False)
    ('stickler syndrome', 'diabetes mellitus, type 2')
    """
    said = vocabulary.listed("acute").sub("", name.partition(";")[0].casefold().strip())
    return _SERIES.sub("", said) if rare else said


def candidate(model: DiagnosisEngine, disease: int, score: float, known: Mapping[Nodes, Link]) -> Evidence:
    """A disease with the findings that it has and, by name, those that it lacks."""
    graph, entity = model.graph, model.graph.at(disease)
    edges = {node: tie(model, disease, node) for node in known}
    has = {node: graph.triple(edge) for node, edge in edges.items() if edge >= 0}
    says = _says(entity)
    parts = list(dict.fromkeys(_part(known[node], triple, says) for node, triple in has.items()))
    lacks = [graph.at(q[0]).name for q, link in known.items() if q not in has and not link.mention.negated]
    if lacks:
        parts.append(f"{says['lacks']}: {', '.join(lacks)}")
    about = (entity, *dict.fromkeys(graph.at(q[0]) for q in has))
    triples = tuple(dict.fromkeys(has.values()))
    world, told_of_it = model.world, [q for q in has if not known[q].mention.negated]
    bits = -sum(float(np.log2(world.rarity[q[0]])) for q in told_of_it)
    tells = len(told_of_it) > 1 and bits >= _ALARMING * np.log2(world.originals)
    alarms = tells and world.prior.urgent[world.place[disease]]
    urgent = EMERGENCY if alarms and any(is_emergency(name) for name, _ in names_of(graph, disease)) else ""
    return Evidence(f"{entity.name}: {'; '.join(parts)}", "candidate", triples, about, round(score, 4), urgent)


def _says(disease: Entity) -> Mapping[str, str]:
    """The words in which a candidate is told: in the language of its name."""
    return SAYS_ZH if has_cjk(disease.name) else SAYS_EN


def _part(link: Link, triple: Triple, says: Mapping[str, str]) -> str:
    """A finding as the graph has it, with how often it is seen, and that the question denies it."""
    counts = dict.fromkeys(v for s in triple.support for k, v in s.qualifiers if k == "frequency")
    name = f"{triple.object.name} ({', '.join(counts)})" if counts else triple.object.name
    name = f"NOT {triple.object.name}" if triple.relation.role is Role.EXCLUDES else name
    return f"{name} ({says['denied']} {link.mention.surface})" if link.mention.negated else name


# --- Retriever: one card a disease: what speaks for it, its tests and its treatments.


@dataclass(frozen=True)
class Consult:
    """What a question names (diseases, drugs, tests), then the diseases that explain its findings, a card each.

    A card is one piece: the matched findings, then at most `listed` of what the graph has of each role of `care`.
    Kind "candidate" for one that explains findings, "neighbours" for what is named, unless it is one of the findings
    (constipation). The score is the belief in the disease: the softmax of the log odds, 1 for one named.
    """

    graph: LocalGraph
    keep: int = 20
    listed: int = 12
    care: tuple[Role, ...] = CARE

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The cards, those of what is named first, then by belief."""
        cases = Diagnosis(self.graph, keep=self.keep)(query, links)
        findings = findings_of(self.graph, links)
        own = {node for nodes in findings for node in nodes}
        several = [link.entity for link in findings.values()]  # more than once: a name made of several findings
        stated = dict.fromkeys(link.entity for link in links if not link.mention.negated)
        named = [e for e in stated if not cases or (self.graph.number(e.id) not in own and several.count(e) < 2)]
        bare = (Evidence(entity.name, "neighbours", (), (entity,), 1.0) for entity in named)
        found = [card for card in map(self._card, bare) if card.triples]
        odds = np.exp(np.array([e.score for e in cases]) - cases[0].score) if cases else np.empty(0)
        for case, odd in zip(cases, odds.tolist(), strict=True):
            if case.about[0] not in named:
                found.append(replace(self._card(case, usual=len(found) < _USUAL), score=round(odd / odds.sum(), 4)))
        return self._with_questions(query, links, found)

    def _with_questions(self, query: Query, links: Sequence[Link], cards: list[Evidence]) -> list[Evidence]:
        """The cards; those of the first two proposed end with the findings to ask for that tell them apart."""
        first = [self.graph.number(card.about[0].id) for card in cards if card.kind == "candidate"][:2]
        asked = dict(zip(first, _ask(engine(self.graph), first, links, query.frame.language), strict=False))
        more = [asked.get(self.graph.number(card.about[0].id), "") for card in cards]
        return [
            replace(card, text=f"{card.text}; {_says(card.about[0])['ask']}: {told}") if told else card
            for card, told in zip(cards, more, strict=True)
        ]

    def _card(self, case: Evidence, *, usual: bool = False) -> Evidence:
        """A piece with the care of its disease added, `usual` = what is usually done first."""
        rows, texts = list(case.triples), [case.text]
        for role in self.care:
            found = self._usual(case.about[0], role) if usual else []
            edges = [] if found else self._care(case.about[0], role)
            mine = found[: self.listed] or [self.graph.triple(edge) for edge in edges[: self.listed]]
            left = len(found or edges) - self.listed
            more = f", … (+{left})" if left > 0 else ""
            rows += mine
            texts += [f"{told(case.about[0], mine)}{more}"] if mine else []
        return replace(case, text="; ".join(texts), triples=tuple(dict.fromkeys(rows)))

    def _usual(self, entity: Entity, role: Role) -> list[Triple]:
        """What is done about a disease, the usual first; [] for anything else."""
        family = Family(self.graph, medicines=True)
        return family.ordered(entity, role, own=False) if entity.kind == "disease" else []

    def _care(self, entity: Entity, role: Role) -> list[int]:
        """An edge for each thing that is done about a disease, or that a drug or a test is for, heaviest first."""
        ties, node, weight = ByRole(self.graph, role), [self.graph.number(entity.id)], self.graph.weight
        hops = ties.subjects(node) if entity.kind == "disease" else ties.objects(node)
        order = np.arange(len(hops.edge)) if weight is None else np.argsort(-weight[hops.edge], kind="stable")
        kept: dict[int, int] = {}
        for node, edge in zip(hops.node[order].tolist(), hops.edge[order].tolist(), strict=True):
            kept.setdefault(node, edge)
        return list(kept.values())


def _ask(model: DiagnosisEngine, diseases: Sequence[int], links: Sequence[Link], language: str) -> list[str]:
    """For each of the first two diseases what it has and the other has not, in the language that is asked in."""
    said = [model.graph.at(d).name.casefold() for d in diseases]
    if len(diseases) < 2 or said[0] in said[1] or said[1] in said[0]:  # a kind of the other is not told apart
        return []
    known = {k for q in findings_of(model.graph, links) for n in q for k in model.world.kinds(n).tolist()}
    pairs = (diseases[:2], diseases[1::-1])
    names = [map(model.graph.at, telling_apart(model, one, other, known)) for one, other in pairs]
    asked = [(e.name for e in mine if has_cjk(e.name) == (language in CJK_LANGUAGES)) for mine in names]
    return [", ".join(islice(mine, _ASKED)) for mine in asked]


def first(asked: Sequence[Role]) -> tuple[Role, ...]:
    """What is done about a disease, what a question asks for first.

    >>> first((Role.TREATS, Role.CAUSE))
    (<Role.TREATS: 'treats'>, <Role.TESTS: 'tests'>)
    """
    return (*(role for role in asked if role in CARE), *(role for role in CARE if role not in asked))
