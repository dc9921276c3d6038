"""What every scorer of diseases does, and the predictor it makes."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed.reward.cases import Case, Predict

Floats = NDArray[np.float64]


class Scorer(Protocol):
    """Scores the diseases of a closed list for patients."""

    @property
    def diseases(self) -> tuple[str, ...]:
        """The m diseases, by column."""
        ...

    def __call__(self, cases: Sequence[Case], /) -> Floats:
        """Rows (b, m) that sum to 1 over the diseases of the patient's subgraph; NaN = not in it.

        A row of NaN alone means that the scorer cannot judge the patient.
        """
        ...


def first(scorer: Scorer) -> Predict:
    """The predictor that names the best disease; None where the scorer cannot judge; ties go to the first column."""

    def predict(cases: Sequence[Case]) -> list[str | None]:
        rows = np.nan_to_num(scorer(cases), nan=-np.inf)
        best = rows.argmax(axis=1) if len(rows) else []
        return [scorer.diseases[j] if np.isfinite(row[j]) else None for row, j in zip(rows, best, strict=True)]

    return predict


def ranked(scorer: Scorer, cases: Sequence[Case], *, keep: int) -> list[list[tuple[str, float]]]:
    """The `keep` best diseases of each case with their scores; those outside the patient's subgraph are left out."""
    found = []
    for row in scorer(cases):
        order = [j for j in np.argsort(-row, kind="stable") if np.isfinite(row[j])]
        found.append([(scorer.diseases[j], float(row[j])) for j in order[:keep]])
    return found


def tempered(values: NDArray[np.floating[Any]], temperature: float) -> Floats:
    """The softmax of each row / temperature over what is not NaN (b, m).

    >>> tempered(np.array([[0.0, np.log(3), np.nan]]), 1.0).round(2).tolist()
    [[0.25, 0.75, nan]]
    """
    seen = ~np.isnan(values)
    top = np.where(seen, values, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    raised = np.where(seen, np.exp((values - np.where(np.isfinite(top), top, 0.0)) / temperature), 0.0)
    total = raised.sum(axis=1, keepdims=True)
    return np.where(seen, raised / np.where(total > 0, total, 1.0), np.nan)
