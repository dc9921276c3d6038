"""`kgmed train sft`, `rlkgf` and `rlaif` on a tiny model and cases of one's own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("transformers", reason="training needs transformers")
pytest.importorskip("safetensors", reason="training needs safetensors")

from kgmed.cli import app
from kgmed.errors import BadInput, KgmedError, UnknownName
from kgmed.reward.cases import split
from kgmed.reward.rlkgf import ScorerChoice
from kgmed.train.task import graph_reward, scorer_for, task
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
    assert "its reward model agrees with it on" in judged.stderr
    assert "the judge decided on" in judged.stderr
    assert "on 30 test cases, asked once" in judged.stdout


@pytest.mark.parametrize("way", ["grpo", "rloo"])
def test_trl_takes_the_scorer_that_ppo_takes(cases: Path, tmp_path: Path, way: str) -> None:
    pytest.importorskip("trl", reason="grpo and rloo need trl")
    words = (way, cases, "--out", tmp_path / "run", "--policy", "tiny", "--steps", 2, "--prompts", 4, "--samples", 4)
    found = figures(*words, "--scorer", "gat", "--mu", "learn")
    assert found["tokens_per_second"] > 0
    assert found["memory_mb"] > 10
    with pytest.raises(BadInput, match="scorer = gat mu=learn"):
        run(*words, "--scorer", "walk")


def test_a_comparison_is_one_table_with_errors(cases: Path, tmp_path: Path) -> None:
    words = ("compare", cases, "--out", tmp_path / "all", "--policy", "tiny", "--scorer", "walk", "--seeds", "0,1")
    found = figures(*words, "--stages", "base,warm,sft,ppo", "--steps", 3, "--sft-steps", 3)["tiny"]
    assert list(found["stages"]) == ["base", "warm", "sft", "ppo"]
    assert all(len(stage["each"]) == 2 for stage in found["stages"].values())
    assert any(note.startswith("ppo ends") for note in found["notes"])
    with pytest.raises(BadInput, match="whole numbers with commas"):
        run(*words[:-1], "a,b")
    with pytest.raises(UnknownName, match="did you mean grpo"):
        run(*words, "--stages", "grop")


def test_a_finished_run_is_told_again_and_other_settings_are_refused(cases: Path, tmp_path: Path) -> None:
    words = ("sft", cases, "--out", tmp_path / "run", "--policy", "tiny", "--steps", 2)
    assert figures(*words) == figures(*words)
    with pytest.raises(BadInput, match="seed = 0, not 1"):
        run(*words, "--seed", 1)


def test_the_graph_trains_with_the_scorer_that_ranks_and_goes_on_with_the_same_alone(
    cases: Path, tmp_path: Path
) -> None:
    words = ("rlkgf", cases, "--out", tmp_path / "run", "--policy", "tiny", "--steps", 1, "--prompts", 2)
    run(*words, "--scorer", "gat", "--mu", "learn")
    with pytest.raises(BadInput, match=r"scorer = gat mu=learn temperature=0\.05, not walk temperature"):
        run(*words, "--scorer", "walk")
    mixed = run(*words[:3], tmp_path / "other", *words[4:], "--scorer", "rlkgf", "--mu", "learn")
    assert "mu learnt on" in mixed.stderr


def test_the_reward_in_training_is_the_scorer_of_that_choice() -> None:
    made = task(split("made", patients(60, 1), patients(30, 2), language="en"))
    for choice in (ScorerChoice(name="walk"), ScorerChoice(name="rlkgf"), ScorerChoice(name="gat")):
        trained, ranking = scorer_for(made, choice.fit), choice.fit(made.train, ())
        np.testing.assert_allclose(trained(made.validation), ranking(made.validation), atol=0.02)
        reward = graph_reward(made, trained, made.train)
        case = made.train[0]
        column = list(trained.diseases).index(case.disease)
        assert reward([made.question(case)], [case.disease]) == [pytest.approx(trained([case])[0, column])]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rlkgf", "cases.jsonl", "--scorer", "wlak"), "did you mean walk"),
        (("rlkgf", "cases.jsonl", "--scorer", "walk", "--mu", "0.2"), "no network that mu could weigh"),
        (("rlkgf", "cases.jsonl", "--restart", "0"), "above 0 and at most 1"),
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


def test_a_folder_without_a_run_is_none_to_begin_from(cases: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no run to begin from; name the --out of one"):
        run("rlkgf", cases, "--out", tmp_path / "b", "--policy", "tiny", "--begin", tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no limit on the size of files")
@pytest.mark.parametrize("way", ["rlkgf", "grpo"])
def test_a_disk_that_is_full_when_weights_are_written_is_one_line(cases: Path, tmp_path: Path, way: str) -> None:
    import resource

    words = ["train", way, cases, "--out", tmp_path / "x", "--policy", "tiny", "--steps", 1, "--prompts", 2]
    words += ["--samples", 2]
    program = [sys.executable, "-B", "-c", "from kgmed.cli import main; main()", *map(str, words)]  # no byte code

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(program, capture_output=True, text=True, check=False, preexec_fn=limited)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "kgmed: File too large; make room and run the command again"
    assert "Traceback" not in done.stderr
    again = figures(*words[1:])
    assert again["folder"] == str(tmp_path / "x")


@pytest.mark.parametrize("device", ["abacus", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(cases: Path, tmp_path: Path, device: str) -> None:
    with pytest.raises(BadInput, match=f"nothing can be computed on '{device}'"):
        run("sft", cases, "--out", tmp_path / "x", "--policy", "tiny", "--steps", 1, "--device", device)


@pytest.mark.parametrize("kind", ["tiny", "choice", "free"])
@pytest.mark.parametrize("way", ["sft", "rlkgf", "grpo", "rlaif"])
def test_cuda_that_is_not_there_is_one_line_before_any_model_is_read(
    cases: Path, tmp_path: Path, way: str, kind: str
) -> None:
    if pytest.importorskip("torch").cuda.is_available():
        pytest.skip("here there is a GPU")
    words = ("train", way, cases, "--out", tmp_path / "x", "--policy", kind, "--model", "no-such", "--device", "cuda")
    program = [sys.executable, "-c", "from kgmed.cli import main; main()", *map(str, words)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("kgmed: nothing can be computed on 'cuda' (")
    assert line.endswith("); try cpu")
    assert not (tmp_path / "x").exists()
