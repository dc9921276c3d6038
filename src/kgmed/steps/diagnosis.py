"""Diseases that explain the findings of a question: ranked by posterior, a card each with what is done about it."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language import lay as lay
from kgmed.language.particulars import ALCOHOL, SMOKE, People, about, people_of, smokes
from kgmed.language.text import has_cjk, lazily
from kgmed.pipeline import note
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.steps.family import Family
from kgmed.steps.posterior import CARE, FEW, Bools, Posterior, PosteriorNumbers, Scores, posterior
from kgmed.steps.retrieve import told
from kgmed.steps.urgent import MEANT

_A_CLASS = lazily("(?:药物?|抗生素|激素类?|疫苗)$")  # what is taken, whatever kind a graph gives it
TAKEN = frozenset({"drug", "ingredient", "medicine"})  # what is taken is no finding of a disease


# --- What of the links are findings: the entity itself, the findings that its name is made of, or a broader one.


def findings_of(graph: LocalGraph, links: Sequence[Link], model: Posterior | None = None) -> dict[int, Link]:
    """The findings that the links name, by node; one that is named both ways is there."""
    model = model or posterior(graph)
    found: dict[int, Link] = {}
    for link in sorted(links, key=lambda link: link.mention.negated):
        if link.entity.name in ALCOHOL.names or link.entity.kind in TAKEN or _A_CLASS.search(link.entity.name):
            continue
        for node in _meant(model, link.entity):
            if not any(model.alike(node, other) for other in found):
                found[node] = link
    return found


def several_findings(graph: LocalGraph, links: Sequence[Link]) -> bool:
    """Whether the links name more than one finding; of one name that cannot be made of several nothing is asked."""
    some = len(links) > 1 or any(_may_have_parts(_run_together(link.entity.name)) for link in links)
    return some and len(findings_of(graph, links)) > 1


def _meant(model: Posterior, entity: Entity) -> list[int]:
    """The findings that an entity stands for: 发热 and 咳嗽 for 发热咳嗽, a cough for a barking one; [] = none.

    A body part is none, nor is what was drunk: 淋病 is said to show 饮酒.
    """
    node = model.graph.number(entity.id)
    if model.is_place(node):
        return _by_words(model, entity.name)
    parts = _parts(model, node, entity.name)
    if parts:
        return parts
    return next(([n] for n in model.above(node)[:3] if model.is_finding(n)), [])


def _by_words(model: Posterior, name: str) -> list[int]:
    """The finding that a name is a patient's words for: 右下腹痛 of 右下腹; [] = none."""
    told = [one for one in lay.said(name) if one.span == (0, len(name))] if has_cjk(name) else []
    nodes = (model.graph.number(m.entity.id) for one in told for n in one.names for m in model.graph.lookup(n)[:1])
    return [n for n in nodes if model.own(n) >= FEW][:1]


def _parts(model: Posterior, node: int, name: str) -> list[int]:
    """The findings that a Chinese name of four characters or more is made of: 尿频 and 尿痛 of 尿频、尿痛."""
    said = _run_together(name)
    return _cut(model, said, max(FEW, model.own(node)), whole=True) if _may_have_parts(said) else []


def _run_together(name: str) -> str:
    """A name without what joins its parts."""
    return re.sub(r"[、，,和及或伴]", "", name)


def _may_have_parts(said: str) -> bool:
    """Whether a name is long enough, and Chinese: each finding in it has two characters or more."""
    return len(said) > 3 and has_cjk(said)


def _cut(model: Posterior, said: str, least: int, *, whole: bool = False) -> list[int]:
    """The findings, each of at least so many diseases, whose names make up a text; [] = none do."""
    for cut in range(2, len(said) - 1 if whole else len(said) + 1):
        nodes = [model.graph.number(m.entity.id) for m in model.graph.lookup(said[:cut])[:1]]
        if nodes and model.own(nodes[0]) >= least:
            rest = _cut(model, said[cut:], least) if said[cut:] else []
            if rest or not said[cut:]:
                return [*nodes, *rest]
    return []


# --- Retriever: the diseases that explain the linked findings.


_LOOKED = 200  # diseases among which those are looked for that the signs of an emergency mean
EMERGENCY = "emergency"  # the id of a candidate that may kill within hours
_USUAL = 3  # cards whose care is ordered by what is usual, which takes time; a reader looks no further
_ASKED = 2  # findings of each of the first two diseases that are asked for
_EN = {"lacks": "not listed", "denied": "the question says: not", "ask": "to ask for"}
_ZH = {"lacks": "未载", "denied": "问题中说：没有", "ask": "可再问"}
_SERIES = lazily(r"(?:[\s,]+type)?[\s,]+(?:\d{1,3}[a-z]{0,2}|[ivx]{1,5}[a-z]?)$", re.IGNORECASE)


_ACUTE = lazily(r"^(?:acute |急性)(?=\S)", re.IGNORECASE)


@dataclass(frozen=True)
class Diagnosis:
    """The `keep` diseases that explain the linked findings best, each once.

    Evidence: kind "candidate", about = (disease, the findings it has), triples = what ties them, score = log odds.
    """

    graph: LocalGraph
    keep: int = 10
    numbers: PosteriorNumbers = field(default_factory=PosteriorNumbers)

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Best first; no finding among the links = no evidence. Diseases that match no finding are left out."""
        model = posterior(self.graph, self.numbers)
        known = findings_of(self.graph, links, model)
        if all(link.mention.negated for link in known.values()):
            return []
        present = [node for node, link in known.items() if not link.mention.negated]
        own = [n for n in present if n == self.graph.number(known[n].entity.id) and lay.said(known[n].mention.surface)]
        denied = {node: link.mention.negated for node, link in known.items()}
        scores = model.scores(denied, about(query.text), own if len(present) > 1 else ())
        habits = ((ALCOHOL,) if _told(query.text, links) else ()) + ((SMOKE,) if smokes(query.text) else ())
        told = lay.emergency(query.text)
        if told and told.kind in MEANT:
            scores = scores + np.where(self._named(MEANT[told.kind], scores), self.numbers.meant, 0.0)
        named = {known[node].entity.name.casefold() for node in present if not lay.said(known[node].mention.surface)}
        best = self._best(model, scores, present, (*people_of(query.text), *habits), named)
        return [_candidate(model, d, score, known) for d, score in best]

    def _named(self, looks: str, scores: Scores) -> Bools:
        """The best diseases that have such a name."""
        most = np.argsort(-scores)[:_LOOKED]
        found = np.zeros(len(scores), bool)
        found[[n for n in most.tolist() if re.search(looks, self.graph.at(n).name, re.IGNORECASE)]] = True
        return found

    def _best(
        self,
        model: Posterior,
        scores: Scores,
        present: Sequence[int],
        groups: Sequence[People],
        named: Container[str] = (),
    ) -> list[tuple[int, float]]:
        """The best diseases with their scores, one of each name, ties by number; none that is `named`.

        What may kill within hours counts more, if it has several of the findings and no fewer than the best has; so
        does what the graph says to befall the people of whom the patient is one.
        """
        size = min(8 * self.keep, len(scores))
        top = [node for node in np.argpartition(-scores, size - 1)[:size].tolist() if np.isfinite(scores[node])]
        rated = {node: float(scores[node]) for node in top if self.graph.at(node).name.casefold() not in named}
        if not rated:
            return []
        best = max(rated, key=lambda n: (rated[n], -n))
        enough = max(2, sum(model.tie(best, q) >= 0 for q in present))
        for node in rated:
            if model.is_urgent(node) and sum(model.tie(node, q) >= 0 for q in present) >= enough:
                rated[node] += self.numbers.urgent
            if groups and self._befalls(node, groups):
                rated[node] += self.numbers.befalls
        chosen: dict[str, int] = {}
        for node in sorted(rated, key=lambda n: (-rated[n], n)):
            chosen.setdefault(_one_name(self.graph.at(node).name, rare=not model.care[node]), node)
        return [(node, rated[node]) for node in list(chosen.values())[: self.keep]]

    def _befalls(self, node: int, groups: Sequence[People]) -> bool:
        """Whether some of those people are a risk of a disease in the graph: children of chickenpox."""
        about = ByRole(self.graph, Role.RISK).objects([node]).node.tolist()
        causes = ByRole(self.graph, Role.CAUSE).objects([node]).node.tolist() if ALCOHOL in groups else []
        if any(ALCOHOL.in_text.search(self.graph.at(n).name) for n in causes):
            return True
        return any(g.in_text.search(self.graph.at(n).name) for n in about for g in groups)


def _told(text: str, links: Sequence[Link]) -> bool:
    """Whether a text tells of alcohol and does not deny it."""
    named = [link for link in links if link.entity.name in ALCOHOL.names]
    return ALCOHOL.in_question.search(text) is not None and (not named or any(not x.mention.negated for x in named))


def _one_name(name: str, *, rare: bool) -> str:
    """What the entries of one disease have in common; the numbers of a series only where nothing is done about them.

    Acute bronchitis beside bronchitis says nothing more.

    >>> _one_name("Stickler syndrome, type II", rare=True), _one_name("Diabetes mellitus, type 2", rare=False)
    ('stickler syndrome', 'diabetes mellitus, type 2')
    """
    said = _ACUTE.sub("", name.partition(";")[0].casefold().strip())
    return _SERIES.sub("", said) if rare else said


def _candidate(model: Posterior, disease: int, score: float, known: Mapping[int, Link]) -> Evidence:
    """A disease with the findings that it has and, by name, those that it lacks."""
    graph, entity = model.graph, model.graph.at(disease)
    edges = {node: model.tie(disease, node) for node in known}
    has = {node: graph.triple(edge) for node, edge in edges.items() if edge >= 0}
    says = _says(entity)
    parts = list(dict.fromkeys(_part(known[node], triple, says) for node, triple in has.items()))
    lacks = [graph.at(n).name for n, link in known.items() if n not in has and not link.mention.negated]
    if lacks:
        parts.append(f"{says['lacks']}: {', '.join(lacks)}")
    about = (entity, *dict.fromkeys(graph.at(node) for node in has))
    triples = tuple(dict.fromkeys(has.values()))
    urgent = EMERGENCY if model.is_urgent(disease) and sum(not known[node].mention.negated for node in has) > 1 else ""
    return Evidence(f"{entity.name}: {'; '.join(parts)}", "candidate", triples, about, round(score, 4), urgent)


def _says(disease: Entity) -> Mapping[str, str]:
    """The words in which a candidate is told: in the language of its name."""
    return _ZH if has_cjk(disease.name) else _EN


def _part(link: Link, triple: Triple, says: Mapping[str, str]) -> str:
    """A finding as the graph has it, with how often it is seen, and that the question denies it."""
    counts = dict.fromkeys(v for s in triple.support for k, v in s.qualifiers if k == "frequency")
    name = f"{triple.object.name} ({', '.join(counts)})" if counts else triple.object.name
    name = f"NOT {triple.object.name}" if triple.relation.role is Role.EXCLUDES else name
    return f"{name} ({says['denied']} {link.mention.surface})" if link.mention.negated else name


def told_of(e: Evidence, word: str) -> str:
    """What a candidate's text says under a word: "lacks" (findings told that it has not), "ask", "denied".

    >>> told_of(Evidence("Gout: Fever; not listed: Rash, Cough; to ask for: Tophus", "candidate"), "lacks")
    'Rash, Cough'
    """
    found = re.search(rf"(?:{_EN[word]}|{_ZH[word]})[:：]? ?([^;)]+)", e.text)
    return found[1] if found else ""


def is_denied(e: Evidence, triple: Triple) -> bool:
    """Whether a candidate's text says that the question denies a finding of it."""
    return any(
        re.search(rf"{re.escape(triple.object.name)}(?: \([^;]*\))? \({w['denied']}", e.text) for w in (_EN, _ZH)
    )


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
        several = [link.entity for link in findings.values()]  # more than once: a name made of several findings
        named = [
            e for e in _stated(links) if not cases or (self.graph.number(e.id) not in findings and several.count(e) < 2)
        ]
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
        asked = dict(zip(first, _ask(posterior(self.graph), first, links, zh=has_cjk(query.text)), strict=False))
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


def _ask(model: Posterior, diseases: Sequence[int], links: Sequence[Link], *, zh: bool) -> list[str]:
    """For each of the first two diseases what it has and the other has not, in the language that is asked in."""
    said = [model.graph.at(d).name.casefold() for d in diseases]
    if len(diseases) < 2 or said[0] in said[1] or said[1] in said[0]:  # a kind of the other is not told apart
        return []
    known = {k for node in findings_of(model.graph, links, model) for k in model.kinds(node)}
    pairs = (diseases[:2], diseases[1::-1])
    names = [[model.graph.at(q).name for q in model.telling(one, other, known)] for one, other in pairs]
    return [", ".join([n for n in mine if has_cjk(n) == zh][:_ASKED]) for mine in names]


def _stated(links: Sequence[Link]) -> list[Entity]:
    """The entities that a question names and does not deny, each once."""
    return list(dict.fromkeys(link.entity for link in links if not link.mention.negated))


def first(asked: Sequence[Role]) -> tuple[Role, ...]:
    """What is done about a disease, what a question asks for first.

    >>> first((Role.TREATS, Role.CAUSE))
    (<Role.TREATS: 'treats'>, <Role.TESTS: 'tests'>)
    """
    return (*(role for role in asked if role in CARE), *(role for role in CARE if role not in asked))


# --- Ranker: says where a list of diseases can hold no common one.


@dataclass(frozen=True)
class OnlyRare:
    """The evidence as it is, with a note where it proposes diseases and the graph treats none."""

    graph: LocalGraph

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """All of the evidence."""
        proposed = any(e.kind == "candidate" and e.about and e.about[0].kind == "disease" for e in evidence)
        if proposed and not posterior(self.graph).knows_common:
            note(f"common diseases are not in {self.graph.name}; the rare ones that it describes are listed")
        return list(evidence)
