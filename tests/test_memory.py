"""Memory over many questions is flat: what is remembered of each has an end (bench/soak.py asks 20,000)."""

import gc
import sys
from pathlib import Path

import pytest

from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.models.encoders import NgramEncoder
from kgmed.session import Session
from named_graph import small

DISEASES, FINDINGS = 1_400, 30
WARM = 400
BOUND = 30_000  # blocks of memory that 1,000 questions may add: ours; the records of all their answers take 150,000


def rows() -> list[Row]:
    """Diseases with findings of their own, so that each question meets records that none before it has met."""
    found: list[Row] = []
    for i in range(DISEASES):
        found.append(NodeRow(f"malady {i:04}", kind="disease"))
        for j in range(FINDINGS):
            found.append(NodeRow(f"sign {i * FINDINGS + j:05}", kind="symptom"))
            found.append(EdgeRow(f"malady {i:04}", "has_symptom", f"sign {i * FINDINGS + j:05}"))
    return found


@pytest.mark.slow
def test_a_thousand_questions_after_a_few_hundred_add_nothing_that_stays(tmp_path: Path) -> None:
    store = small(tmp_path, tuple(rows()), "many")
    session = Session(("many",), lambda _: store, encoder=NgramEncoder())
    seen = []
    for i in range(WARM + 1_000):
        assert "sign" in session.ask(f"What are the symptoms of malady {i:04}?").answer.text
        if i % 50 == 49:
            gc.collect()
            seen.append(sys.getallocatedblocks())
    warm = WARM // 50
    added = max(seen[warm:]) - max(seen[:warm])
    assert added < BOUND, f"{added:,} blocks more"
