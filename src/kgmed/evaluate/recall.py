"""Is what a doctor's answer names among the evidence, retrieved from the question's text alone?

Gold = the entities of an answer that the graph has under that name (exact, alias, normalised or folded) and whose
kind is a disease, a test or a drug. An entity is found at k if it is an end of a triple in the first k pieces of
evidence. Micro recall is the share found of all gold entities of all questions, macro recall the mean of the
questions' shares; each has an error of its own. A question that nothing was linked in counts with no evidence; one
whose answer names no entity of the graph has nothing to find and is left out, and counted.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgmed.evaluate.datasets.answers import Consultation
from kgmed.graph.base import LocalGraph
from kgmed.methods.facts import Fitting
from kgmed.records import Evidence, Link, Query, Question
from kgmed.steps.rank import First
from kgmed.steps.retrieve import Overview
from kgmed.toolkit import Toolkit

KINDS = frozenset({"disease", "test", "drug"})
Retrieve = Callable[[Query, Sequence[Link]], list[Evidence]]


def gold_ids(graph: LocalGraph, row: Consultation) -> frozenset[str]:
    """The ids of the answer's diseases, tests and drugs that the graph has."""
    found = (graph.lookup(name)[:1] for name in row.answer_entities)
    return frozenset(m.entity.id for matches in found for m in matches if m.entity.kind in KINDS)


DRAWS = 2_000  # of the bootstrap


@dataclass
class EvidenceRecall:
    """Gold entities found among the first k pieces, question by question."""

    ks: tuple[int, ...] = (5, 10, 20)
    found: dict[int, list[int]] = field(default_factory=dict)  # of each question
    gold: list[int] = field(default_factory=list)  # of each question
    unlinked: int = 0

    @property
    def questions(self) -> int:
        """How many were counted."""
        return len(self.gold)

    @property
    def wanted(self) -> int:
        """The gold entities of all questions."""
        return sum(self.gold)

    def add(self, evidence: Sequence[Evidence], wanted: frozenset[str], *, linked: bool) -> None:
        """Count one question."""
        self.gold.append(len(wanted))
        self.unlinked += not linked
        for k in self.ks:
            held = {e.id for piece in evidence[:k] for t in piece.triples for e in (t.head, t.tail)}
            self.found.setdefault(k, []).append(len(wanted & held))

    def micro(self, k: int) -> float:
        """The share of all gold entities found at k."""
        return sum(self.found.get(k, [])) / max(self.wanted, 1)

    def micro_error(self, k: int, *, seed: int = 0) -> float:
        """Its standard error, by the bootstrap over questions: entities of one question are found or missed together.

        The same seed draws the same questions for every method.
        """
        if self.questions < 2:
            return 0.0
        drawn = np.random.default_rng(seed).integers(0, self.questions, (DRAWS, self.questions))
        found, gold = np.array(self.found[k]), np.array(self.gold)
        return float((found[drawn].sum(axis=1) / gold[drawn].sum(axis=1)).std(ddof=1))

    def macro(self, k: int) -> float:
        """The mean of the questions' shares at k."""
        return float(np.mean(self._shares(k))) if self.questions else 0.0

    def macro_error(self, k: int) -> float:
        """Its standard error."""
        shares = self._shares(k)
        return float(shares.std(ddof=1) / len(shares) ** 0.5) if len(shares) > 1 else 0.0

    def _shares(self, k: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        return np.array(self.found.get(k, []), np.float64) / np.maximum(np.array(self.gold, np.float64), 1)


def methods(toolkit: Toolkit, *, seed: int = 0) -> dict[str, Retrieve]:
    """The product's retrieval and those it is compared with, all in pieces of the same size and on the same links.

    `one-hop` = the neighbourhood of the linked entities, in the order of the graph; `two-hop` adds that of
    their neighbours; `random near` shuffles that; `random` draws pieces around any entity of the graph.
    """
    graph, around = toolkit.graph, Overview(toolkit.graph)
    draw = random.Random(seed)  # noqa: S311

    def two_hop(query: Query, links: Sequence[Link]) -> list[Evidence]:
        near = around(query, links)
        ends = dict.fromkeys(e for piece in near for t in piece.triples for e in (t.head, t.tail))
        named = {link.entity for link in links}
        return [*near, *(piece for e in ends if e not in named for piece in around.of(e))]

    def shuffled(query: Query, links: Sequence[Link]) -> list[Evidence]:
        pieces = two_hop(query, links)
        draw.shuffle(pieces)
        return pieces

    def anything(query: Query, links: Sequence[Link]) -> list[Evidence]:
        nodes = draw.sample(range(graph.adjacency.nodes), min(20, graph.adjacency.nodes))
        return [draw.choice(pieces) for n in nodes if (pieces := around.of(graph.at(n)))]

    return {
        "kgmed facts": Fitting(graph, toolkit.linked),
        "one-hop, unranked": around,
        "two-hop, unranked": two_hop,
        "random near": shuffled,
        "random": anything,
    }


def compare(toolkit: Toolkit, rows: Iterable[Consultation], *, most: int = 20) -> tuple[dict[str, EvidenceRecall], int]:
    """The recall of each method, and the number of rows whose answer names nothing that the graph has."""
    retrievals = methods(toolkit)
    scores = {name: EvidenceRecall() for name in retrievals}
    empty = 0
    for row in rows:
        wanted = gold_ids(toolkit.graph, row)
        if not wanted:
            empty += 1
            continue
        question = Question(row.question, language="en")
        links = toolkit.understood(question)[1]
        for name, retrieve in retrievals.items():
            evidence = First(most)(Query(question), retrieve(Query(question), links))
            scores[name].add(evidence, wanted, linked=bool(links))
    return scores, empty
