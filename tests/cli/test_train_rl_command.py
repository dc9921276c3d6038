"""`kgmed train sft`, `rlkgf` and `rlaif` on a tiny model and cases of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("transformers", reason="training needs transformers")
pytest.importorskip("safetensors", reason="training needs safetensors")

from kgmed.cli import app
from kgmed.errors import BadInput, KgmedError, UnknownName
from made_cases import patients


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    parts = [("train", c) for c in patients(60, 1)] + [("test", c) for c in patients(30, 2)]
    rows = [
        {"positive": c.positive, "negative": c.negative, "disease": c.disease, "split": part, "id": c.id}
        for part, c in parts
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(*words: object) -> Any:
    result = CliRunner().invoke(app, ["train", *map(str, words)])
    if isinstance(result.exception, KgmedError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def figures(*words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--json").stdout)
    return found


def test_a_warm_start_then_the_graph_then_a_judge(cases: Path, tmp_path: Path) -> None:
    tiny = ("--policy", "tiny", "--rate", 5e-3)
    warm = figures("sft", cases, "--out", tmp_path / "warm", "--labels", "random", "--steps", 10, *tiny)
    assert warm["validation"]["end"] < 0.8
    begin = ("--begin", tmp_path / "warm", "--samples", 4, *tiny)
    taught = figures("rlkgf", cases, "--out", tmp_path / "g", "--steps", 25, "--plot", tmp_path / "g.svg", *begin)
    assert taught["validation"]["end"] > 0.7 > taught["validation"]["start"]
    assert taught["test"]["accuracy"] > 0.7
    assert taught["test"]["cases"] == 30
    assert (tmp_path / "g.svg").exists()
    assert (tmp_path / "g" / "model" / "model.safetensors").exists()
    judged = run("rlaif", cases, "--out", tmp_path / "j", "--steps", 2, *begin)
    assert "agrees with its judge" in judged.stderr
    assert "on 30 test cases, asked once" in judged.stdout


def test_a_finished_run_is_told_again_and_other_settings_are_refused(cases: Path, tmp_path: Path) -> None:
    words = ("sft", cases, "--out", tmp_path / "run", "--policy", "tiny", "--steps", 2)
    assert figures(*words) == figures(*words)
    with pytest.raises(BadInput, match="seed = 0, not 1"):
        run(*words, "--seed", 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sft", "DXY"), "name the folder of data sets"),
        (("sft", "cases.jsonl", "--labels", "wrong"), "no kind of labels is called 'wrong'"),
        (("rlkgf", "cases.jsonl", "--preset", "papr"), "did you mean paper"),
        (("rlkgf", "cases.jsonl", "--policy", "fre"), "did you mean free"),
        (("sft", "none.jsonl"), "none.jsonl"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    cases: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    given = [str(tmp_path / w) if w.endswith(".jsonl") else w for w in words]
    result = CliRunner().invoke(app, ["train", *given, "--out", str(tmp_path / "run")], env={"KGMED_DATA": ""})
    assert isinstance(result.exception, BadInput | UnknownName), result.output
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
    assert not (tmp_path / "run").exists()


def test_a_start_of_another_model_is_refused(cases: Path, tmp_path: Path) -> None:
    run("sft", cases, "--out", tmp_path / "a", "--policy", "tiny", "--steps", 1)
    text = cases.read_text(encoding="utf-8").replace("gout", "acute gout attack").replace("fever", "high fever")
    (tmp_path / "other.jsonl").write_text(text + text.replace("cough", "wheeze"), encoding="utf-8")
    with pytest.raises(BadInput, match="is of another model"):
        run("sft", tmp_path / "other.jsonl", "--out", tmp_path / "b", "--policy", "tiny", "--begin", tmp_path / "a")


@pytest.mark.parametrize("device", ["abacus", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(cases: Path, tmp_path: Path, device: str) -> None:
    with pytest.raises(BadInput, match=f"nothing can be computed on '{device}'"):
        run("sft", cases, "--out", tmp_path / "x", "--policy", "tiny", "--steps", 1, "--device", device)
