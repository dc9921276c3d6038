"""What the evidence holds of the gold, how varied it is, and whether the answer stands on what it cites."""

from collections.abc import Callable
from itertools import combinations
from math import log2

from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics.words import words
from kgmed.kg.text import normalise
from kgmed.types import Evidence, Run


def gold_names(item: Item) -> set[str]:
    """The normalised names that good evidence holds: the gold entities, else the texts of the right options."""
    options = [text for letter, text in item.question.options if letter in item.gold.choices]
    return {normalise(name) for name in item.gold.entities or options} - {""}


def held(evidence: Evidence) -> set[str]:
    """The normalised names at the ends of a piece's triples."""
    return {normalise(e.name) for t in evidence.triples for e in (t.head, t.tail)}


def _recall(k: int) -> Callable[[Run, Item], float | None]:
    def score(run: Run, item: Item) -> float | None:
        gold = gold_names(item)
        names = {name for e in run.context.cited[:k] for name in held(e)}
        return len(gold & names) / len(gold) if gold else None

    return score


def _precision(run: Run, item: Item) -> float | None:
    gold, cited = gold_names(item), run.context.cited
    if not gold:
        return None
    return sum(bool(gold & held(e)) for e in cited) / len(cited) if cited else 0.0


def _ndcg(run: Run, item: Item) -> float | None:
    """A piece gains 1 for each gold name that no piece before it holds; the ideal has one new name a piece."""
    gold = gold_names(item)
    if not gold:
        return None
    seen: set[str] = set()
    gains = []
    for e in run.context.cited[:20]:
        new = (gold & held(e)) - seen
        seen |= new
        gains.append(len(new))
    ideal = sum(1 / log2(i + 2) for i in range(min(len(gold), 20)))
    return min(1.0, sum(g / log2(i + 2) for i, g in enumerate(gains)) / ideal)


def _linked(run: Run, item: Item) -> float:
    named = len(run.links) + len(run.missed)
    return len(run.links) / named if named else 0.0


def _relations(run: Run, item: Item) -> float | None:
    triples = [t for e in run.context.cited for t in e.triples]
    return len({t.relation.name for t in triples}) / len(triples) if triples else None


def _unlike(run: Run, item: Item) -> float | None:
    """1 - the mean share of words that two pieces have in common (Jaccard), over all pairs of the first 20."""
    sets = [set(words(e.text)) for e in run.context.cited[:20]]
    shares = [len(a & b) / len(a | b) for a, b in combinations(sets, 2) if a | b]
    return 1 - sum(shares) / len(shares) if shares else None


def _cited_right(run: Run, item: Item) -> float | None:
    """Of the sentences that cite something, those that the check found borne out by it."""
    citing = [v for v in run.answer.verdicts if v.citations]
    return sum(v.supported for v in citing) / len(citing) if citing else None


def _cited_at_all(run: Run, item: Item) -> float | None:
    """Of all sentences, those that cite something that bears them out."""
    verdicts = run.answer.verdicts
    return sum(v.supported and bool(v.citations) for v in verdicts) / len(verdicts) if verdicts else None


def _abstained(run: Run, item: Item) -> float:
    return float(run.answer.abstained)


def _rightly(run: Run, item: Item) -> float | None:
    """Where it abstained: whether no shown evidence held a name of the gold; else None."""
    gold = gold_names(item)
    if not run.answer.abstained or not gold:
        return None
    return float(not any(gold & held(e) for e in run.evidence))


_ALCE = "after Gao et al. 2023, ALCE; a sentence is judged by kgmed's check, not by a model"
METRICS = (
    *(
        Metric(
            f"evidence-recall@{k}", f"gold names held by the first {k} pieces shown / gold names", "ours", _recall(k)
        )
        for k in (5, 10, 20)
    ),
    Metric("evidence-precision", "pieces shown that hold a gold name / pieces shown", "ours", _precision),
    Metric("evidence-ndcg@20", "sum of new gold names / log2(rank + 1), over the ideal", "Järvelin 2002", _ndcg),
    Metric("linked", "mentions linked / mentions found", "ours", _linked),
    Metric("relations", "distinct relations / triples shown", "ours", _relations, failed=None),
    Metric("unlike", "1 - mean Jaccard of the words of two pieces shown", "ours", _unlike, failed=None),
    Metric("citation-precision", "citing sentences borne out / citing sentences", _ALCE, _cited_right),
    Metric("citation-recall", "sentences that cite and are borne out / sentences", _ALCE, _cited_at_all),
    Metric("abstained", "the answer says that the graph has nothing", "ours", _abstained, higher=False),
    Metric("abstained-rightly", "of those, no evidence held a gold name", "ours", _rightly, failed=None),
)
