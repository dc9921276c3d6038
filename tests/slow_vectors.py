"""A process that computes the vectors of a graph: `python slow_vectors.py GRAPH`; says when it has encoded a block."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgmed.graph import vectors
from kgmed.graph.base import NodeRow
from kgmed.graph.store.store import Store, open_store
from kgmed.models.encoders import NgramEncoder
from named_graph import small

NAMES = 5000


class Slow(NgramEncoder):
    """An encoder that takes its time, so that processes meet."""

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        time.sleep(0.1)
        rows = super().__call__(texts)
        sys.stdout.write(f"block of {len(texts)}\n")
        sys.stdout.flush()
        return rows


def many(folder: Path) -> Store:
    """A graph of more names than four blocks hold."""
    return small(folder, tuple(NodeRow(f"X:{i:04d}", f"finding number {i}") for i in range(NAMES)))


if __name__ == "__main__":
    vectors.compute(open_store(Path(sys.argv[1])), Slow(64))
