"""Metrics of choices, of the evidence found, and of what a run took."""

from collections.abc import Callable
from itertools import combinations
from math import log2

from kgmed.evaluate.items import Item, Metric
from kgmed.evaluate.metrics.text import words
from kgmed.language.text import normalise
from kgmed.records import Evidence, Run
from kgmed.registry import metrics

# --- How the options chosen compare with the right ones: accuracy, PCR, and what went wrong instead.


def exact(chosen: set[str], right: set[str]) -> float:
    """1 where the chosen options are the right ones, all of them and no other (EM; accuracy with one right option)."""
    return float(bool(right) and chosen == right)


def pcr(chosen: set[str], right: set[str]) -> float:
    """1 where something is chosen and nothing of it is wrong (partially correct rate, HyKGE A.2.2 in its words).

    >>> [pcr(set(c), set("ABD")) for c in ("ABD", "AB", "ABC", "")], pcr({"A", "B"}, {"A"})
    ([1.0, 1.0, 0.0, 0.0], 0.0)
    """
    return float(bool(chosen) and chosen <= right)


def pcr_overlap(chosen: set[str], right: set[str]) -> float:
    """1 where any right option is chosen, whatever else is (the other reading of HyKGE's formula)."""
    return float(bool(chosen & right))


def _of(run: Run, item: Item) -> tuple[set[str], set[str]]:
    return set(run.answer.choices), set(item.gold.choices)


def _outside(run: Run, item: Item) -> float:
    """1 where the answer names something that is no option, and chooses none."""
    texts = {text for _, text in item.question.options}
    answer = run.answer
    return float(not answer.choices and not answer.abstained and any(c.name not in texts for c in answer.candidates))


def _several(run: Run, item: Item) -> float:
    return float(len(run.answer.choices) > 1 and len(item.gold.choices) == 1)


_HYKGE = "Jiang et al. 2025, HyKGE, A.2.2"
metrics.add(
    Metric(
        "accuracy", "chosen = right", "EM of HyKGE; accuracy of MKG-Rank", lambda r, i: exact(*_of(r, i)), ("choice",)
    )
)
metrics.add(Metric("pcr", "chosen is not empty and part of right", _HYKGE, lambda r, i: pcr(*_of(r, i)), ("choice",)))
metrics.add(
    Metric("pcr-overlap", "chosen and right share an option", _HYKGE, lambda r, i: pcr_overlap(*_of(r, i)), ("choice",))
)
metrics.add(
    Metric(
        "no-choice",
        "nothing chosen: the run failed, abstained or its reply is unclear",
        "ours; `failed` in MindMap's table",
        lambda r, i: float(not r.answer.choices),
        ("choice",),
        failed=1.0,
        higher=False,
    )
)
metrics.add(Metric("outside", "what is named is no option, such as a disease outside a closed list; counts as wrong",
                   "ours", _outside, ("choice",), higher=False))  # fmt: skip
metrics.add(
    Metric("several", "more than one option chosen where one is right", "ours", _several, ("choice",), higher=False)
)


# --- What the evidence holds of the gold, how varied it is, and whether the answer stands on what it cites.


def gold_names(item: Item) -> set[str]:
    """The normalised names that good evidence holds: the gold entities, else the texts of the right options."""
    options = [text for letter, text in item.question.options if letter in item.gold.choices]
    return {normalise(name) for name in item.gold.entities or options} - {""}


def names_in_evidence(evidence: Evidence) -> set[str]:
    """The normalised names at the ends of a piece's triples."""
    return {normalise(e.name) for t in evidence.triples for e in (t.head, t.tail)}


def _recall(k: int) -> Callable[[Run, Item], float | None]:
    def score(run: Run, item: Item) -> float | None:
        gold = gold_names(item)
        names = {name for e in run.context.cited[:k] for name in names_in_evidence(e)}
        return len(gold & names) / len(gold) if gold else None

    return score


def _precision(run: Run, item: Item) -> float | None:
    gold, cited = gold_names(item), run.context.cited
    return None if not gold else sum(bool(gold & names_in_evidence(e)) for e in cited) / len(cited) if cited else 0.0


def _ndcg(run: Run, item: Item) -> float | None:
    """A piece gains 1 for each gold name that no piece before it holds; the ideal has one new name a piece."""
    gold = gold_names(item)
    if not gold:
        return None
    seen: set[str] = set()
    gains = []
    for e in run.context.cited[:20]:
        new = (gold & names_in_evidence(e)) - seen
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
    """Of the sentences that cite something, those that the check found supported by it."""
    citing = [v for v in run.answer.verdicts if v.citations]
    return sum(v.supported for v in citing) / len(citing) if citing else None


def _cited_at_all(run: Run, item: Item) -> float | None:
    """Of all sentences, those that cite something that supports them."""
    verdicts = run.answer.verdicts
    return sum(v.supported and bool(v.citations) for v in verdicts) / len(verdicts) if verdicts else None


def _abstained(run: Run, item: Item) -> float:
    return float(run.answer.abstained)


def _rightly(run: Run, item: Item) -> float | None:
    """Where it abstained: whether no shown evidence held a name of the gold; else None."""
    gold = gold_names(item)
    if not run.answer.abstained or not gold:
        return None
    return float(not any(gold & names_in_evidence(e) for e in run.evidence))


_ALCE = "after Gao et al. 2023, ALCE; a sentence is judged by kgmed's check, not by a model"
for k in (5, 10, 20):
    metrics.add(
        Metric(
            f"evidence-recall@{k}", f"gold names held by the first {k} pieces shown / gold names", "ours", _recall(k)
        )
    )
metrics.add(Metric("evidence-precision", "pieces shown that hold a gold name / pieces shown", "ours", _precision))
metrics.add(
    Metric("evidence-ndcg@20", "sum of new gold names / log2(rank + 1), over the ideal", "Järvelin 2002", _ndcg)
)
metrics.add(Metric("linked", "mentions linked / mentions found", "ours", _linked))
metrics.add(Metric("relations", "distinct relations / triples shown", "ours", _relations, failed=None))
metrics.add(Metric("unlike", "1 - mean Jaccard of the words of two pieces shown", "ours", _unlike, failed=None))
metrics.add(Metric("citation-precision", "citing sentences supported / citing sentences", _ALCE, _cited_right))
metrics.add(Metric("citation-recall", "sentences that cite and are supported / sentences", _ALCE, _cited_at_all))
metrics.add(Metric("abstained", "the answer says that the graph has nothing", "ours", _abstained, higher=False))
metrics.add(Metric("abstained-rightly", "of those, no evidence held a gold name", "ours", _rightly, failed=None))


# --- What a run took: seconds, calls of a model, tokens, money, answers of a cache.


def _hits(run: Run, item: Item) -> float | None:
    return run.spent.cached / run.spent.calls if run.spent.calls else None


def _failures(run: Run, item: Item) -> float:
    return float(len(run.failures))


metrics.add(Metric("failed", "the run ended with an error", "ours", lambda r, i: 0.0, failed=1.0, higher=False))
metrics.add(
    Metric("faults", "things that went wrong without ending the run", "ours", _failures, failed=None, higher=False)
)
metrics.add(
    Metric("seconds", "of all stages", "ours", lambda r, i: sum(s.seconds for s in r.stages), failed=None, higher=False)
)
metrics.add(
    Metric("calls", "of a language model", "ours", lambda r, i: float(r.spent.calls), failed=None, higher=False)
)
metrics.add(
    Metric("tokens-in", "read by the model", "ours", lambda r, i: float(r.spent.tokens_in), failed=None, higher=False)
)
metrics.add(
    Metric("tokens-out", "written by it", "ours", lambda r, i: float(r.spent.tokens_out), failed=None, higher=False)
)
metrics.add(
    Metric("cost", "US dollars, where a price is known", "ours", lambda r, i: r.spent.cost, failed=None, higher=False)
)
metrics.add(Metric("cached", "calls answered by a cache / calls", "ours", _hits, failed=None))


# --- How long a graph was asked, with and without what its cache had (MKG-Rank: 14 s and .0009 s a query).


def _graph_seconds(run: Run, item: Item) -> float:
    return sum((stage.seconds for stage in run.stages if stage.name in ("link", "retrieve")), 0.0)


def _graph_cached(run: Run, item: Item) -> float | None:
    asked = sum(total for _, _, total in run.hits)
    return sum(found for _, found, _ in run.hits) / asked if asked else None


def _retrieval_where(run: Run, item: Item, *, cached: bool) -> float | None:
    """The seconds of a run whose every answer of the graph was, or was not, in the cache; None for any other run."""
    return _graph_seconds(run, item) if _graph_cached(run, item) == float(cached) else None


_MKG = "MKG-Rank, arXiv 2503.16131 (query time with its cache)"
_SECONDS = "seconds of linking and retrieval"
metrics.add(Metric("retrieval-seconds", _SECONDS, _MKG, _graph_seconds, failed=None, higher=False))
metrics.add(Metric("retrieval-cached", f"{_SECONDS} where the cache had every answer of the graph", _MKG,
                   lambda r, i: _retrieval_where(r, i, cached=True), failed=None, higher=False))  # fmt: skip
metrics.add(Metric("retrieval-uncached", f"{_SECONDS} where the cache had none of them", _MKG,
                   lambda r, i: _retrieval_where(r, i, cached=False), failed=None, higher=False))  # fmt: skip
metrics.add(
    Metric("graph-cached", "answers of the graph that its cache had / answers", _MKG, _graph_cached, failed=None)
)
