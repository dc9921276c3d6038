"""A policy that was trained is asked by `kgmed eval run` as it was trained: the same accuracy on the same cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("transformers", reason="training needs transformers")

from kgmed.cli import app
from kgmed.evaluate.datasets import patients
from kgmed.evaluate.datasets.diagnosis import counted_graph
from tiny_causal import bytes_in

STEPS = {"choice": ("--steps", "8"), "free": ("--steps", "40", "--longest", "40", "--rate", "0.01")}


def told(*words: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("policy", STEPS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_training_and_asking_have_the_same_accuracy(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, language: str
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path / "home"))
    model, out = bytes_in(tmp_path / "tiny", context=1024), tmp_path / "run"
    asked = ("--language", "zh") if language == "zh" else ()
    trained = told("train", "sft", "DXY", "--data", data, "--model", model, "--full", "--policy", policy, "--out", out,
                   *STEPS[policy], *asked)  # fmt: skip
    assert trained["test"]["cases"] == 104
    graph = counted_graph(patients("dxy", data))
    run = ("--data", data, "--set", "dxy-questions", "--llm", f"hf/{out / 'model'}", "-m", "rlkgf-prompt", "-g", graph)
    told("eval", "run", tmp_path / "asked", *run)
    found = told("eval", "score", tmp_path / "asked", "--data", data)
    [accuracy] = [row for row in found["scores"] if row["metric"] == "accuracy"]
    assert accuracy["mean"]["mean"] == pytest.approx(trained["test"]["accuracy"], abs=1 / 104)
