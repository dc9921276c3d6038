"""Diseases that explain the findings of a question: ranked by posterior, a card each with what is done about it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import ByRole, Hops, LocalGraph, Scope
from kgmed.graph.derived import Arrays, cached_arrays
from kgmed.language.text import has_cjk
from kgmed.pipeline import note
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.steps.retrieve import told

# --- How well each disease of a graph explains some findings.
# A disease d is scored by log P(d) plus the sum over the findings q of log P(q | d) / P(q), where P(q | d) is
#
# - the frequency that the graph states of q in d, or of the most frequent finding of d that is a kind of q;
# - where it states none (a weight of 1), `told` / (`told` + number of findings of d): of a long list few are there;
# - else, by back-off, that of the nearest broader finding a that d is annotated with, times P(q) / P(a), at most
#   `share` of it: some of those with "muscle weakness" have a progressive one;
# - else P(q) * `elsewhere`, at most `unlisted`; P(q) * `left_out` where no frequency of d is stated, since what is
#   listed and not counted is listed in part; a finding that d excludes has `excluded`;
# - never above `certain`.
#
# P(q) is the share of diseases annotated with q or a kind of it. A finding that the patient does not have counts
# log (1 - P(q | d)) / (1 - P(q)). A kind of q is what comes below it, and what is named after it ("burning abdominal
# pain" is one of "abdominal pain", 转移性右下腹痛 one of 右下腹痛). P(d) is, to the power of `common`,
#
# - 1 + its tests and treatments: what is seen often is what much is done about;
# - over 1 + diseases that show it / findings that it has: what many diseases show explains little.
#
# Nothing is fitted; docs/diagnose.md says on what each number was chosen.


Scores = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
CARE = (Role.TESTS, Role.TREATS)
VERSION = 1  # goes up when the columns kept beside a graph change
_COLUMNS = ("breadth", "counted", "shown", "care", "tail", "owner")
_LONGEST = 40  # characters of a finding's name; longer ones are sentences
_NAMES = (Scope.PREFERRED, Scope.TRANSLATION)
_FEW = 3  # diseases; what fewer have is not taken for a finding that others are named after or made of
_NOT = re.compile(  # what may stand before a finding's name without making a kind of it
    r"(?:[无不没未非抗假退防]有?|否认|缺乏|没有|未见|避免|预防)[伴明显出现见]{0,3}$"
    r"|\b(?:non|no|not|of|without|from|to|for|with|in|by|after|absent|anti|pseudo)\W*$"
)


@dataclass(frozen=True)
class PosteriorNumbers:
    """The numbers of the ranking; ours, chosen on development parts."""

    told: float = 100.0
    share: float = 0.5
    elsewhere: float = 0.5
    left_out: float = 5.0
    unlisted: float = 0.01
    excluded: float = 0.001
    certain: float = 0.9
    common: float = 1.0


class Posterior:
    """The ranking of a graph's diseases by findings; made once a graph."""

    def __init__(self, graph: LocalGraph, numbers: PosteriorNumbers) -> None:
        """Read what is kept beside the graph, or count it."""
        self.graph, self.numbers = graph, numbers
        self.found, self.is_a = ByRole(graph, Role.FINDING), ByRole(graph, Role.IS_A)
        self.excludes = ByRole(graph, Role.EXCLUDES)
        diseases = graph.of_kind("disease")
        self.is_disease = np.zeros(graph.adjacency.nodes, bool)
        self.is_disease[diseases] = True
        self.count = max(len(diseases), 1)
        key = f"{VERSION} {graph.label}"
        kept = cached_arrays(graph.folder, "findings", key, _COLUMNS, lambda: _counted(graph, diseases))
        self.breadth, self.counted, self.shown, self.care, self._tail, self._owner = (kept[name] for name in _COLUMNS)
        self.is_counted = np.asarray(self.counted > 0)
        self.unstated = numbers.told / (numbers.told + self.breadth)
        self.prior = numbers.common * (np.log1p(self.care) - np.log1p(self.shown / np.maximum(self.breadth, 1)))
        self._own_below = lru_cache(maxsize=1 << 14)(self._kinds)
        self.share_of = lru_cache(maxsize=1 << 14)(self._share_of)

    @property
    def knows_common(self) -> bool:
        """Whether the graph says of any disease what is done about it; one that does not lists rare ones alone."""
        return bool(self.care.any())

    def scores(self, findings: Mapping[int, bool]) -> Scores:
        """The score of each node, -inf where it is no disease or has none of the findings; True = it is denied."""
        total, matched = self.prior.copy(), np.zeros(self.graph.adjacency.nodes, bool)
        for q, denied in findings.items():
            p, direct = self.probability(q)
            base = self.share_of(q)
            total += np.log((1 - p) / (1 - base)) if denied else np.log(p / base)
            if not denied:
                matched |= direct
        matched[list(findings)] = False  # what is found explains itself, which says nothing
        return np.where(matched & self.is_disease, total, -np.inf)

    def probability(self, q: int) -> tuple[Scores, Bools]:
        """P(q | d) for every node d, and which d are annotated with q or a kind of it."""
        n, base = self.numbers, self.share_of(q)
        p = np.minimum(n.unlisted, base * np.where(self.is_counted, n.elsewhere, n.left_out))
        up = self.above(q)
        for broader in up[1:]:
            hops = self.found.subjects([broader])
            if len(hops.node):  # the broadest have thousands of kinds and no disease of their own
                np.maximum.at(p, hops.node, self._weights(hops) * min(base / self.share_of(broader), n.share))
        hops = self.found.subjects(self._own_below(q))
        direct = np.zeros(len(p), bool)
        direct[hops.node] = True
        np.maximum.at(p, hops.node, self._weights(hops))
        p[self.excludes.subjects(up).node] = n.excluded
        return p.clip(1e-6, n.certain), direct

    def is_finding(self, node: int) -> bool:
        """Whether some disease has it, or a kind of it."""
        return self._diseases(node) > 0

    def above(self, node: int) -> list[int]:
        """The node, then what it is a kind of, nearest first."""
        return list(self.is_a.closure(node, up=True))

    def tie(self, disease: int, finding: int) -> int:
        """The edge that ties a disease to a finding, by itself, a kind of it or what it is a kind of; -1 = none."""
        ends: dict[int, int] = {}
        for steps in (self.excludes, self.found):
            hops = steps.objects([disease])
            ends |= dict(zip(hops.node.tolist(), hops.edge.tolist(), strict=True))
        below = self.is_a.closure(finding, up=False)
        near = [*below, *self._own_below(finding).tolist(), *self._broader(finding)]
        return next((ends[node] for node in near if node in ends), -1)

    def _broader(self, node: int) -> list[int]:
        """What a finding is a kind of, at most two steps up."""
        return [above for above, steps in self.is_a.closure(node, up=True).items() if 0 < steps <= 2]

    def _weights(self, hops: Hops) -> Scores:
        """The frequency that each edge from a finding to a disease states, or what stands for one."""
        unstated = self.unstated[hops.node]
        if self.graph.weight is None:
            return np.asarray(unstated, np.float64)
        stated = self.graph.weight[hops.edge].astype(np.float64)
        return np.where(stated < 1, stated, unstated)

    def own(self, q: int) -> int:
        """How many diseases have just this finding."""
        return len(np.unique(self.found.subjects([q]).node))

    def _diseases(self, q: int) -> int:
        return len(np.unique(self.found.subjects(self._own_below(q)).node))

    def _share_of(self, q: int) -> float:
        """P(q): the share of diseases annotated with a finding or a kind of it, never 0 or 1."""
        return (self._diseases(q) + 0.5) / (self.count + 1)

    def _kinds(self, q: int) -> Ints:
        """The node and every kind of it, by the graph and by name."""
        below = list(self.is_a.closure(q, up=False))
        mine = self._tail[self._owner == q].tolist() if self.own(q) >= _FEW else []
        named = {node for tail in mine for node in self._named_after(tail, strict=len(below) > 1)}
        return np.unique(np.array([*below, *named], np.int64))

    def _named_after(self, tail: str, *, strict: bool) -> Iterator[int]:
        """The findings whose name ends in a name, written backwards; `strict` = only Chinese ones."""
        if len(tail) < 2 or (strict and not has_cjk(tail)):
            return
        first, last = np.searchsorted(self._tail, [tail, f"{tail}\U0010ffff"]).tolist()
        for text, node in zip(self._tail[first:last].tolist(), self._owner[first:last].tolist(), strict=True):
            before = text[len(tail) :][::-1]
            whole = not before or has_cjk(tail) or not before[-1].isalnum()
            if whole and not _NOT.search(before):
                yield node


def _counted(graph: LocalGraph, diseases: Ints) -> Arrays:
    """How many findings each node has, how many diseases show it, its care, and the findings' names backwards."""
    nodes = graph.adjacency.nodes
    hops = ByRole(graph, Role.FINDING).objects(diseases)
    less = np.zeros(len(hops.edge), bool) if graph.weight is None else graph.weight[hops.edge] < 1
    stated = Hops(*(column[less] for column in hops))
    care = sum((_different(ByRole(graph, role).subjects(diseases), diseases, nodes) for role in CARE), np.zeros(nodes))
    is_finding = np.zeros(nodes, bool)
    is_finding[hops.node] = True
    rows = sorted(
        {(n.text.casefold()[::-1], n.node) for n in graph.names(scopes=_NAMES) if is_finding[n.node]},
    )
    kept = [row for row in rows if 0 < len(row[0]) <= _LONGEST]
    return {
        "breadth": _different(hops, diseases, nodes),
        "counted": _different(stated, diseases, nodes),
        "shown": _different(Hops(hops.node, diseases[hops.origin], hops.edge), np.arange(nodes), nodes),
        "care": care,
        "tail": np.array([text for text, _ in kept], f"<U{_LONGEST}"),
        "owner": np.array([node for _, node in kept], np.int64),
    }


def _different(hops: Hops, nodes: Ints, size: int) -> Scores:
    """How many different nodes each of some nodes leads to (size,)."""
    pairs = np.unique(np.stack([nodes[hops.origin], hops.node]), axis=1)
    return np.bincount(pairs[0], minlength=size).astype(np.float64)


@lru_cache(maxsize=8)
def posterior(graph: LocalGraph, numbers: PosteriorNumbers | None = None) -> Posterior:
    """The ranking on a graph, made once."""
    return Posterior(graph, numbers or PosteriorNumbers())


# --- What of the links are findings: the entity itself, the findings that its name is made of, or a broader one.


def findings_of(graph: LocalGraph, links: Sequence[Link], model: Posterior | None = None) -> dict[int, Link]:
    """The findings that the links name, by node; one that is named both ways is there."""
    model = model or posterior(graph)
    found: dict[int, Link] = {}
    for link in sorted(links, key=lambda link: link.mention.negated):
        for node in _meant(model, link.entity):
            found.setdefault(node, link)
    return found


def _meant(model: Posterior, entity: Entity) -> list[int]:
    """The findings that an entity stands for: 发热 and 咳嗽 for 发热咳嗽, a cough for a barking one; [] = none."""
    node = model.graph.number(entity.id)
    parts = _parts(model, node, entity.name)
    if parts:
        return parts
    return next(([n] for n in model.above(node)[:3] if model.is_finding(n)), [])


def _parts(model: Posterior, node: int, name: str) -> list[int]:
    """The two findings that a Chinese name of four characters or more is made of."""
    for cut in range(2, len(name) - 1 if has_cjk(name) else 0):
        halves = [model.graph.lookup(half)[:1] for half in (name[:cut], name[cut:])]
        nodes = [model.graph.number(m.entity.id) for half in halves for m in half]
        if len(nodes) == 2 and min(map(model.own, nodes)) >= max(_FEW, model.own(node)):
            return nodes
    return []


# --- Retriever: the diseases that explain the linked findings.


_EN = {"lacks": "not listed", "denied": "the question says: not"}
_ZH = {"lacks": "未载", "denied": "问题中说：没有"}
_SERIES = re.compile(r"(?:[\s,]+type)?[\s,]+(?:\d{1,3}[a-z]{0,2}|[ivx]{1,5}[a-z]?)$", re.IGNORECASE)


@dataclass(frozen=True)
class Diagnosis:
    """The `keep` diseases that explain the linked findings best, each once.

    Evidence: kind "candidate", about = (disease, the findings it has), triples = what ties them, score = log odds.
    """

    graph: LocalGraph
    keep: int = 10
    numbers: PosteriorNumbers = PosteriorNumbers()

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Best first; no finding among the links = no evidence. Diseases that match no finding are left out."""
        model = posterior(self.graph, self.numbers)
        known = findings_of(self.graph, links, model)
        if all(link.mention.negated for link in known.values()):
            return []
        scores = model.scores({node: link.mention.negated for node, link in known.items()})
        return [_candidate(model, d, float(scores[d]), known) for d in self._best(model, scores)]

    def _best(self, model: Posterior, scores: Scores) -> list[int]:
        """The best diseases, one of each name, ties by number."""
        size = min(8 * self.keep, len(scores))
        top = np.argpartition(-scores, size - 1)[:size]
        top = top[np.lexsort((top, -scores[top]))]
        chosen: dict[str, int] = {}
        for node in top[np.isfinite(scores[top])].tolist():
            chosen.setdefault(_one_name(self.graph.at(node).name, rare=not model.care[node]), node)
        return list(chosen.values())[: self.keep]


def _one_name(name: str, *, rare: bool) -> str:
    """What the entries of one disease have in common; the numbers of a series only where nothing is done about them.

    >>> _one_name("Stickler syndrome, type II", rare=True), _one_name("Diabetes mellitus, type 2", rare=False)
    ('stickler syndrome', 'diabetes mellitus, type 2')
    """
    said = name.partition(";")[0].casefold().strip()
    return _SERIES.sub("", said) if rare else said


def _candidate(model: Posterior, disease: int, score: float, known: Mapping[int, Link]) -> Evidence:
    """A disease with the findings that it has and, by name, those that it lacks."""
    graph, entity = model.graph, model.graph.at(disease)
    edges = {node: model.tie(disease, node) for node in known}
    has = {node: graph.triple(edge) for node, edge in edges.items() if edge >= 0}
    says = _ZH if has_cjk(entity.name) else _EN
    parts = list(dict.fromkeys(_part(known[node], triple, says) for node, triple in has.items()))
    lacks = [graph.at(n).name for n, link in known.items() if n not in has and not link.mention.negated]
    if lacks:
        parts.append(f"{says['lacks']}: {', '.join(lacks)}")
    about = (entity, *dict.fromkeys(graph.at(node) for node in has))
    triples = tuple(dict.fromkeys(has.values()))
    return Evidence(f"{entity.name}: {'; '.join(parts)}", "candidate", triples, about, round(score, 4))


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
        named = [e for e in _stated(links) if self.graph.number(e.id) not in findings or not cases]
        bare = (Evidence(entity.name, "neighbours", (), (entity,), 1.0) for entity in named)
        found = [card for card in map(self._card, bare) if card.triples]
        odds = np.exp(np.array([e.score for e in cases]) - cases[0].score) if cases else np.empty(0)
        for case, odd in zip(cases, odds.tolist(), strict=True):
            if case.about[0] not in named:
                found.append(replace(self._card(case), score=round(odd / odds.sum(), 4)))
        return found

    def _card(self, case: Evidence) -> Evidence:
        """A piece with the care of its disease added."""
        rows, texts = list(case.triples), [case.text]
        for role in self.care:
            edges = self._care(case.about[0], role)
            mine = [self.graph.triple(edge) for edge in edges[: self.listed]]
            more = f", … (+{len(edges) - self.listed})" if len(edges) > self.listed else ""
            rows += mine
            texts += [f"{told(case.about[0], mine)}{more}"] if mine else []
        return replace(case, text="; ".join(texts), triples=tuple(dict.fromkeys(rows)))

    def _care(self, entity: Entity, role: Role) -> list[int]:
        """An edge for each thing that is done about a disease, or that a drug or a test is for, heaviest first."""
        ties, node, weight = ByRole(self.graph, role), [self.graph.number(entity.id)], self.graph.weight
        hops = ties.subjects(node) if entity.kind == "disease" else ties.objects(node)
        order = np.arange(len(hops.edge)) if weight is None else np.argsort(-weight[hops.edge], kind="stable")
        kept: dict[int, int] = {}
        for node, edge in zip(hops.node[order].tolist(), hops.edge[order].tolist(), strict=True):
            kept.setdefault(node, edge)
        return list(kept.values())


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
