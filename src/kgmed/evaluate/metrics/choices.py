"""How the options chosen compare with the right ones: accuracy, PCR, and what went wrong instead."""

from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.types import Run


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


def _several(run: Run, item: Item) -> float:
    return float(len(run.answer.choices) > 1 and len(item.gold.choices) == 1)


_HYKGE = "Jiang et al. 2025, HyKGE, A.2.2"
METRICS = (
    Metric(
        "accuracy", "chosen = right", "EM of HyKGE; accuracy of MKG-Rank", lambda r, i: exact(*_of(r, i)), ("choice",)
    ),
    Metric("pcr", "chosen is not empty and part of right", _HYKGE, lambda r, i: pcr(*_of(r, i)), ("choice",)),
    Metric(
        "pcr-overlap", "chosen and right share an option", _HYKGE, lambda r, i: pcr_overlap(*_of(r, i)), ("choice",)
    ),
    Metric(
        "no-choice",
        "nothing chosen: the run failed, abstained or its reply is unclear",
        "ours; `failed` in MindMap's table",
        lambda r, i: float(not r.answer.choices),
        ("choice",),
        failed=1.0,
        higher=False,
    ),
    Metric(
        "several",
        "more than one option chosen where one is right",
        "ours",
        _several,
        ("choice",),
        higher=False,
    ),
)
