"""Retriever: the diseases that explain the findings of a question, each with what speaks for it.

A disease d is scored by the sum over the findings q of log P(q | d) / P(q), where P(q | d) is

- the graph's frequency of q in d, or of the most frequent finding of d that is a kind of q;
- else, by back-off, that of the nearest broader finding a that d is annotated with, times P(q) / P(a), at most
  `share` of it: some of those with "muscle weakness" have a progressive one;
- else P(q) * `unlisted`: graphs leave out much; a finding that the disease excludes has `excluded`;
- never above `certain`: one patient in one is not all patients.

P(q) is the share of diseases annotated with q or a kind of it. A finding that the patient does not have counts
log (1 - P(q | d)) / (1 - P(q)). On a graph without is_a and frequencies this is an overlap weighted by rarity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.by_role import ByRole, Hops
from kgmed.kg.graph import LocalGraph
from kgmed.kg.text import has_cjk
from kgmed.types import Evidence, Link, Query, Role, Triple

Scores = NDArray[np.float64]
_EN = {"lacks": "not listed", "denied": "the question says: not"}
_ZH = {"lacks": "未载", "denied": "问题中说：没有"}


@dataclass(frozen=True)
class Diagnosis:
    """The `keep` diseases that explain the linked findings best. Evidence: kind "candidate", about = (disease, ...)."""

    graph: LocalGraph
    keep: int = 10
    share: float = 0.5
    unlisted: float = 0.1
    excluded: float = 0.001
    certain: float = 0.9
    unweighted: float = 0.5  # P(q | d) where the graph gives no frequency

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Best first; no finding among the links = no evidence. Diseases that match no finding are left out."""
        model = _model(self.graph)
        findings = {self.graph.number(link.entity.id): link for link in links}
        known = {node: link for node, link in findings.items() if model.is_finding(node)}
        wanted = [node for node, link in known.items() if not link.mention.negated]
        if not wanted:
            return []
        total = np.zeros(self.graph.adjacency.nodes)
        matched = np.zeros(self.graph.adjacency.nodes, bool)
        for node, link in known.items():
            p, direct = self._probability(model, node)
            total += self._score(p, model.frequency(node), negated=link.mention.negated)
            if not link.mention.negated:
                matched |= direct
        ranked = self._best(model, np.where(matched & model.is_disease, total, -np.inf))
        return [self._evidence(model, disease, score, known) for disease, score in ranked]

    def _probability(self, model: "_Model", node: int) -> tuple[Scores, NDArray[np.bool_]]:
        """P(q | d) for every node d, and which d are annotated with q or a kind of it."""
        base = model.frequency(node)
        p = np.full(self.graph.adjacency.nodes, base * self.unlisted)
        up = sorted(model.is_a.closure(node, up=True).items(), key=lambda item: -item[1])
        for broader, steps in up:
            if steps:
                hops = model.found.subjects([broader])
                ratio = min(base / model.frequency(broader), self.share)
                np.maximum.at(p, hops.node, self._weights(hops) * ratio)
        kinds = np.array(list(model.is_a.closure(node, up=False)))
        hops = model.found.subjects(kinds)
        direct = np.zeros(len(p), bool)
        direct[hops.node] = True
        np.maximum.at(p, hops.node, self._weights(hops))
        p[model.excludes.subjects([n for n, _ in up]).node] = self.excluded
        return p.clip(1e-6, self.certain), direct

    def _weights(self, hops: Hops) -> Scores:
        weight = self.graph.weight
        return np.full(len(hops.edge), self.unweighted) if weight is None else weight[hops.edge].astype(np.float64)

    @staticmethod
    def _score(p: Scores, base: float, *, negated: bool) -> Scores:
        return np.log((1 - p) / (1 - base)) if negated else np.log(p / base)

    def _best(self, model: "_Model", scores: Scores) -> list[tuple[int, float]]:
        """The best diseases, one of each name, ties by number."""
        size = min(4 * self.keep, len(scores))
        top = np.argpartition(-scores, size - 1)[:size]
        top = top[np.lexsort((top, -scores[top]))]
        chosen: dict[str, tuple[int, float]] = {}
        for node in top[np.isfinite(scores[top])].tolist():
            chosen.setdefault(self.graph.at(node).name.casefold(), (node, float(scores[node])))
        return list(chosen.values())[: self.keep]

    def _evidence(self, model: "_Model", disease: int, score: float, known: dict[int, Link]) -> Evidence:
        entity = self.graph.at(disease)
        rows = {node: self._support(model, disease, node) for node in known}
        triples = tuple(dict.fromkeys(t for found in rows.values() for t in found))
        says = _ZH if has_cjk(entity.name) else _EN
        parts = [_part(known[node], found, says) for node, found in rows.items() if found]
        lacks = [link.entity.name for node, link in known.items() if not rows[node] and not link.mention.negated]
        if lacks:
            parts.append(f"{says['lacks']}: {', '.join(lacks)}")
        about = (entity, *(known[node].entity for node, found in rows.items() if found))
        return Evidence(f"{entity.name}: {'; '.join(parts)}", "candidate", triples, about, round(score, 4))

    def _support(self, model: "_Model", disease: int, finding: int) -> list[Triple]:
        """The triples that tie a disease to a finding: the direct one, else of the nearest narrower or broader one."""
        mine = model.found.objects([disease])
        no = model.excludes.objects([disease])
        annotated = dict(
            zip([*mine.node.tolist(), *no.node.tolist()], [*mine.edge.tolist(), *no.edge.tolist()], strict=True)
        )
        for up in (False, True):
            near = model.is_a.closure(finding, up=up)
            met = sorted((steps, node) for node, steps in near.items() if node in annotated)
            if met and (not up or met[0][0] <= 2):
                return [self.graph.triple(annotated[met[0][1]])]
        return []


def _part(link: Link, triples: list[Triple], says: dict[str, str]) -> str:
    """The findings of a disease that answer to one of the question."""
    names = ", ".join(_said(t) for t in triples)
    return f"{names} ({says['denied']} {link.mention.surface})" if link.mention.negated else names


def _said(triple: Triple) -> str:
    """A finding as the graph has it, with how often it is seen."""
    if triple.relation.role is Role.EXCLUDES:
        return f"NOT {triple.object.name}"
    counts = [v for s in triple.support for k, v in s.qualifiers if k == "frequency"]
    return f"{triple.object.name} ({', '.join(dict.fromkeys(counts))})" if counts else triple.object.name


class _Model:
    """What is computed once a graph: the steps over its findings and how common each finding is."""

    def __init__(self, graph: LocalGraph) -> None:
        self.found, self.is_a = ByRole(graph, Role.FINDING), ByRole(graph, Role.IS_A)
        self.excludes = ByRole(graph, Role.EXCLUDES)
        self.is_disease = np.zeros(graph.adjacency.nodes, bool)
        self.is_disease[graph.of_kind("disease")] = True
        self._diseases = max(int(self.is_disease.sum()), 1)
        self.frequency = lru_cache(maxsize=1 << 16)(self._frequency)
        self.is_finding = lru_cache(maxsize=1 << 16)(self._is_finding)

    def _subjects(self, node: int) -> int:
        kinds = np.array(list(self.is_a.closure(node, up=False)))
        return len(np.unique(self.found.subjects(kinds).node))

    def _frequency(self, node: int) -> float:
        """P(q): the share of diseases annotated with a finding or a kind of it, never 0 or 1."""
        return (self._subjects(node) + 1) / (self._diseases + 2)

    def _is_finding(self, node: int) -> bool:
        return self._subjects(node) > 0


@lru_cache(maxsize=4)
def _model(graph: LocalGraph) -> _Model:
    return _Model(graph)
