"""A third language is one catalogue and a glossary: questions in Japanese, asked of HPO with its translations."""

import json
from pathlib import Path

import pytest

from kgmed.graph import formats
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.graph.union import merge
from kgmed.records import Question
from kgmed.session import Session

ROWS = (Path(__file__).parents[2] / "bench" / "japanese.jsonl").read_text(encoding="utf-8").splitlines()
LEAST = 0.8  # of the answers: what they get today


@pytest.mark.data
@pytest.mark.starter
@pytest.mark.slow
def test_most_questions_in_japanese_are_answered_with_a_name_that_they_ask_for(
    hpo: Store, data: Path, tmp_path: Path
) -> None:
    build(formats.read("babelon", data / "public_graphs" / "hpo_translations", name="t"), tmp_path / "t")
    merge([hpo, open_store(tmp_path / "t")], tmp_path / "both")
    session = Session(("both",), {"both": open_store(tmp_path / "both")}.__getitem__, {"both": "en"})
    rows = [json.loads(row) for row in ROWS]
    answers = [session.ask(Question(row["question"], language="ja")).answer.text for row in rows]
    right = [any(name in text for name in row["any"]) for row, text in zip(rows, answers, strict=True)]
    assert sum(right) >= LEAST * len(rows)
