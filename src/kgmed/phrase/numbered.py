"""Evidence as numbered lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.kg.text import one_line
from kgmed.types import Context, Evidence, Query


@dataclass(frozen=True, slots=True)
class Numbered:
    """One line a piece of evidence, as in `[1] asthma | treated by | salbutamol`.

    `limit` = the most pieces shown, 0 = all; evidence that warns is shown beyond it.
    """

    limit: int = 0

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        cited = tuple(e for i, e in enumerate(evidence) if not self.limit or i < self.limit or e.is_safety)
        lines = [f"[{i}] {one_line(e.text)}" for i, e in enumerate(cited, start=1)]
        return Context("\n".join(lines), cited)
