"""The supports of edges and texts while a graph is built: each is one JSON text, number 0 says nothing."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.store.arena import ArenaWriter
from kgmed.types import Support


class Supports:
    """Numbers for supports as they come; their texts go to the arena `support`."""

    def __init__(self, folder: Path) -> None:
        """Begin with number 0."""
        self.texts = ArenaWriter(folder, "support")
        self.texts.add("")

    def number(self, support: tuple[Support, ...]) -> int:
        """The number of a support; 0 where there is none."""
        return self.texts.add(pack_support(support)) if support else 0

    def numbers(self, supports: Sequence[tuple[Support, ...]]) -> NDArray[np.uint32]:
        """The number of each support (n,)."""
        if not any(supports):
            return np.zeros(len(supports), np.uint32)
        return np.fromiter(map(self.number, supports), np.uint32, len(supports))

    def merged(self, numbers: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
        """Of each run of numbers, which begin at `starts`, the one that says all of it, each word once."""
        if len(starts) == len(numbers):
            return numbers
        sizes = np.diff(np.append(starts, len(numbers)))
        many = np.add.reduceat(numbers > 0, starts, dtype=np.int64)
        kept = np.maximum.reduceat(numbers, starts)
        for i in np.flatnonzero(many > 1):
            kept[i] = self._joined([int(n) for n in numbers[starts[i] : starts[i] + sizes[i]] if n])
        return kept

    def _joined(self, numbers: list[int]) -> int:
        rows = [json.dumps(row, ensure_ascii=False) for n in numbers for row in json.loads(self.texts.peek(n))]
        return self.texts.add("[" + ",".join(dict.fromkeys(rows)) + "]")


def pack_support(support: Iterable[Support]) -> str:
    """The text that a support is stored as, each word once."""
    rows = [[s.reference, s.qualifiers] for s in dict.fromkeys(support)]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
