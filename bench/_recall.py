"""Is what a doctor's answer names among the evidence, retrieved from the question's text alone?

Gold = the entities of an answer that the graph has under that name (exact, alias, normalised or folded) and whose
kind is a disease, a test or a drug. An entity is found at k if it is an end of a triple in the first k pieces of
evidence, or within a number of tokens (`within`), since pieces differ in size. Micro recall is the share found of all
gold entities of all questions, macro recall the mean of the questions' shares; each has an error of its own. A question
that nothing was linked in counts with no evidence; one whose answer names no entity of the graph has nothing to find
and is left out, and counted.
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from kgmed.evaluate.datasets.questions import Consultation
from kgmed.facts.plan import FromFrame
from kgmed.graph.base import LocalGraph
from kgmed.language.text import one_line
from kgmed.records import Evidence, Link, Query, Question
from kgmed.steps.budget import tokens as count
from kgmed.steps.retrieve import Overview
from kgmed.toolkit import Toolkit

KINDS = frozenset({"disease", "test", "drug"})
Retrieve = Callable[[Query, Sequence[Link]], list[Evidence]]


def gold_ids(graph: LocalGraph, row: Consultation) -> frozenset[str]:
    """The ids of the answer's diseases, tests and drugs that the graph has."""
    found = (graph.lookup(name)[:1] for name in row.answer_entities)
    return frozenset(m.entity.id for matches in found for m in matches if m.entity.kind in KINDS)


DRAWS = 2_000  # of the bootstrap
_CONSTANT = 20  # diseases


@dataclass
class EvidenceRecall:
    """Gold entities found among the first k pieces, question by question."""

    ks: tuple[int, ...] = (5, 10, 20)
    tokens: tuple[int, ...] = (200, 500, 1000)
    found: dict[int, list[int]] = field(default_factory=dict)  # of each question, by pieces or by tokens
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
        cuts = {k: evidence[:k] for k in self.ks} | {n: within(evidence, n) for n in self.tokens}
        for cut, pieces in cuts.items():
            held = {e.id for piece in pieces for t in piece.triples for e in (t.head, t.tail)}
            self.found.setdefault(cut, []).append(len(wanted & held))

    def micro(self, k: int) -> float:
        """The share of all gold entities found at k."""
        return sum(self.found.get(k, [])) / max(self.wanted, 1)

    def micro_error(self, k: int, *, seed: int = 0) -> float:
        """Its standard error, by the bootstrap over questions: entities of one question are found or missed together.

        The same seed draws the same questions for every method.
        """
        if self.questions < 2:
            return 0.0
        return float(self._drawn(self.found[k], seed).std(ddof=1))

    def lead(self, other: "EvidenceRecall", k: int, *, seed: int = 0) -> tuple[float, float]:
        """How much micro recall at k is above another's on the same questions, and the standard error of that."""
        ahead = [a - b for a, b in zip(self.found[k], other.found[k], strict=True)]
        return self.micro(k) - other.micro(k), float(self._drawn(ahead, seed).std(ddof=1))

    def _drawn(self, counts: Sequence[int], seed: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """The sum of some counts over the gold, in each draw of the questions."""
        drawn = np.random.default_rng(seed).integers(0, self.questions, (DRAWS, self.questions))
        share: np.ndarray[tuple[int], np.dtype[np.float64]]
        share = np.array(counts)[drawn].sum(axis=1) / np.array(self.gold)[drawn].sum(axis=1)
        return share

    def macro(self, k: int) -> float:
        """The mean of the questions' shares at k."""
        return float(np.mean(self._shares(k))) if self.questions else 0.0

    def macro_error(self, k: int) -> float:
        """Its standard error."""
        shares = self._shares(k)
        return float(shares.std(ddof=1) / len(shares) ** 0.5) if len(shares) > 1 else 0.0

    def _shares(self, k: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        return np.array(self.found.get(k, []), np.float64) / np.maximum(np.array(self.gold, np.float64), 1)


def within(evidence: Iterable[Evidence], most: int) -> list[Evidence]:
    """The first pieces of evidence whose texts take at most that many tokens, the last cut to what is left of it.

    A piece that is cut holds the triples only whose names still stand in its text.

    >>> from kgmed.records import Entity, Relation, Triple
    >>> a, b, c = (Entity(name, name) for name in ("gout", "colchicine", "ibuprofen"))
    >>> piece = Evidence("gout: colchicine, ibuprofen", "", tuple(Triple(a, Relation("r"), drug) for drug in (b, c)))
    >>> [len(e.triples) for cut in (2, 5, 8) for e in within([piece], cut)]
    [0, 1, 2]
    """
    found: list[Evidence] = []
    for piece in evidence:
        text = one_line(piece.text)
        most -= count(text)
        if most < 0:
            text = _cut(text, count(text) + most)
            told = (t for t in piece.triples if t.head.name in text and t.tail.name in text)
            return [*found, replace(piece, text=text, triples=tuple(told))]
        found.append(piece)
    return found


def _cut(text: str, most: int) -> str:
    """The longest beginning of a text that takes at most that many tokens."""
    return text[: bisect_right(range(len(text)), most, key=lambda end: count(text[: end + 1]))]


def methods(toolkit: Toolkit, *, seed: int = 0) -> dict[str, Retrieve]:
    """The product's retrieval and those it is compared with, all in pieces of the same size and on the same links.

    `one-hop` = the neighbourhood of the linked entities, in the order of the graph; `two-hop` adds that of
    their neighbours; `random near` shuffles that; `random` draws pieces around any entity of the graph. `constant`
    reads no question: all that the graph has of each disease, a piece a disease, in the graph's order.
    """
    graph, around = toolkit.graph, Overview(toolkit.graph)
    draw = random.Random(seed)

    answer = FromFrame(graph, toolkit.linked)

    def from_frame(query: Query, links: Sequence[Link]) -> list[Evidence]:
        frame = toolkit.understand(query, [link.mention for link in links], links)
        return answer(replace(query, frame=frame), links)

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

    @cache
    def entries() -> list[Evidence]:
        diseases = (graph.at(n) for n in graph.of_kind("disease")[:_CONSTANT].tolist())
        told = ((e, tuple(t for piece in around.of(e) for t in piece.triples)) for e in diseases)
        return [Evidence(f"{e.name}: {', '.join(t.object.name for t in held)}", "", held) for e, held in told]

    return {
        "kgmed facts": from_frame,
        "one-hop, unranked": around,
        "two-hop, unranked": two_hop,
        "random near": shuffled,
        "random": anything,
        "constant": lambda _query, _links: entries(),
    }


def compare(toolkit: Toolkit, rows: Iterable[Consultation]) -> tuple[dict[str, EvidenceRecall], int]:
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
            evidence = retrieve(Query(question), links)
            scores[name].add(evidence, wanted, linked=bool(links))
    return scores, empty
