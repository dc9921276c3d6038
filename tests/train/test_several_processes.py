"""Two processes train one policy on the CPU, as torchrun starts them; the shipped configurations are read.

A configuration of accelerate cannot start them: without a GPU or MPI it runs one process, whatever number it is given.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="training needs torch")
accelerate: Any = pytest.importorskip("accelerate", reason="several processes need accelerate")
pytest.importorskip("trl", reason="grpo needs trl")

from kgmed.train import base  # noqa: E402
from made_cases import patients  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "deploy" / "accelerate"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    parts = [("train", c) for c in patients(60, 1)] + [("test", c) for c in patients(30, 2)]
    rows = [{"positive": c.positive, "disease": c.disease, "split": part, "id": c.id} for part, c in parts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


TWO = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def launched(start: Sequence[str], tmp_path: Path, *words: object) -> dict[str, Any]:
    """The figures of a training command that a module starts, in several processes or one."""
    program = tmp_path / "program.py"
    program.write_text("from kgmed.cli import main\nmain()\n", encoding="utf-8")
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", *start, str(program), "train", *map(str, words)]
    command += ["--policy", "tiny", "--scorer", "walk", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)  # one process alone prints
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", ["rlkgf", "grpo"])
def test_two_processes_train_one_policy(way: str, cases: Path, tmp_path: Path) -> None:
    # of 4 answers to a question soon all are alike, in one process too: GRPO then learns two diseases of the three
    numbers = ("--steps", 25, "--rate", 5e-3, "--samples", 8, "--seed", 1)
    found = launched(TWO, tmp_path, way, cases, "--out", tmp_path / way, *numbers)
    assert found["validation"]["end"] > 0.8 > found["validation"]["start"]
    rows = base.read(tmp_path / way / "log.jsonl")
    assert [row["step"] for row in rows] == list(range(26))  # each round is written once
    state = base.state(tmp_path / way / "checkpoint.safetensors")
    assert state.step == 25


@pytest.mark.slow
def test_questions_that_do_not_divide_among_processes_are_refused(cases: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="do not divide among 2 processes"):
        launched(TWO, tmp_path, "rlkgf", cases, "--out", tmp_path / "x", "--prompts", 3)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_each_configuration_is_one_that_accelerate_reads(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    found = load_config_from_file(str(path))
    eight = path.stem.startswith("eight")
    assert found.num_processes == (8 if eight else 1)
    if eight:
        assert found.mixed_precision == "bf16"
        assert found.fsdp_config or found.deepspeed_config


@pytest.mark.gpu
def test_a_gpu_trains_in_bfloat16_with_checkpointing(cases: Path, tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU is here")
    words = ("grpo", cases, "--out", tmp_path / "g", "--steps", 5, "--device", "cuda", "--bf16")
    config = ("accelerate.commands.launch", "--config_file", str(CONFIGS / "one-gpu.yaml"))
    found = launched(config, tmp_path, *words)
    assert found["memory_mb"] > 0
