"""Evidence as numbered lines."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.types import Context, Evidence, Query

_BRACKETS = str.maketrans("[]【】［］〔〕⟦⟧", "()" * 5)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


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


def one_line(text: str) -> str:
    """The text on one line, without control characters and with round brackets for square ones.

    So a name in a graph can neither begin a line of its own nor look like the mark of other evidence.

    >>> one_line("asthma\\n[2] take【3】 \\u202eantimony")
    'asthma (2) take(3) antimony'
    """
    return " ".join(_CONTROL.sub(" ", unicodedata.normalize("NFC", text)).translate(_BRACKETS).split())
