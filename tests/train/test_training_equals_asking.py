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
from kgmed.models.files import TRAINED
from kgmed.train.task import task
from tiny_causal import bytes_in

STEPS = ("--steps", "60", "--rate", "0.003")


def told(*words: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("policy", ["choice", "free"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_training_and_asking_have_the_same_accuracy(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, language: str
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path / "home"))
    kinds = [task(patients("dxy", data), language=language * (language == "zh"), figure6=f) for f in (False, True)]
    words = [*kinds[0].questions(kinds[0].train), *(f" {name}" for name in kinds[0].diseases)]
    words += kinds[1].questions(kinds[1].train[:1])
    model, out = bytes_in(tmp_path / "tiny", context=2048, words=words, width=64, spread=0.02), tmp_path / "run"
    asked = ("--language", "zh") if language == "zh" else ()
    trained = told("train", "sft", "DXY", "--data", data, "--model", model, "--full", "--policy", policy, "--out", out,
                   *STEPS, *asked)  # fmt: skip
    assert trained["test"]["cases"] == 104
    graph = counted_graph(patients("dxy", data))

    def accuracy(folder: Path) -> float:
        run = ("--set", "dxy-questions", "--llm", f"hf/{out / 'model'}", "-m", "rlkgf-prompt", "-g", graph)
        told("eval", "run", folder, "--data", data, *run)
        found = told("eval", "score", folder, "--data", data)
        [row] = [row for row in found["scores"] if row["metric"] == "accuracy"]
        return float(row["mean"]["mean"])

    assert trained["test"]["accuracy"] > 1 / 3  # it has learnt to say diagnoses
    assert accuracy(tmp_path / "asked") == pytest.approx(trained["test"]["accuracy"], abs=1 / 104)
    record = out / "model" / TRAINED
    record.write_text(json.dumps(json.loads(record.read_text("utf-8")) | {"figure6": True}), encoding="utf-8")
    assert abs(accuracy(tmp_path / "otherwise") - trained["test"]["accuracy"]) > 1 / 104  # in other words
