"""Runs that stop and go on, bit by bit the same, and what a damaged or foreign checkpoint says."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from made_cases import made_split

torch: Any = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("transformers", reason="training needs transformers")
safetensors: Any = pytest.importorskip("safetensors.torch", reason="training needs safetensors")

from kgmed.disk import most_memory  # noqa: E402
from kgmed.errors import BadInput, SourceError, UnknownName  # noqa: E402
from kgmed.reward.cases import CauseGraph  # noqa: E402
from kgmed.reward.criticality import Criticality  # noqa: E402
from kgmed.train import base, ppo, stages  # noqa: E402
from kgmed.train.base import Policy, snapshot  # noqa: E402
from kgmed.train.policies import Free, tiny  # noqa: E402
from kgmed.train.run import adam  # noqa: E402
from kgmed.train.task import Task, graph_reward, task  # noqa: E402

SETTINGS = ppo.PPOSettings(steps=7, prompts=4, samples=2, batch=4, kl=0.05, rate=1e-3)


class Stopped(Exception):
    """The run is stopped from outside."""


def made() -> tuple[Task, Policy]:
    asked = task(made_split())
    return asked, Free(tiny(asked.names, seed=1, width=16), longest=2)


def go(
    folder: Path, stop_after: int = 99, settings: ppo.PPOSettings = SETTINGS, save_every: int = 3, way: Any = "ppo"
) -> Policy:
    """The policy of a run; raises `Stopped` when the step after `stop_after` has been logged."""
    asked, policy = made()

    def tell(row: dict[str, Any]) -> None:
        if row["step"] > stop_after:
            raise Stopped

    scorer = Criticality(CauseGraph.counted(asked.train))
    watch = stages.Watch(folder=folder, seed=5, save_every=save_every, tell=tell)
    stages.reinforced(way, policy, asked, graph_reward(asked, scorer, asked.train), settings, watch)
    return policy


def rows(folder: Path) -> list[dict[str, Any]]:
    """The log without times."""
    return [
        {k: v for k, v in row.items() if k not in ("seconds", "processor", "tokens_per_second", "memory_mb")}
        for row in base.read(folder / "log.jsonl")
    ]


@pytest.mark.parametrize("stop_after", [1, 3, 6])
def test_a_run_that_was_stopped_anywhere_ends_bit_by_bit_as_one_that_was_not(tmp_path: Path, stop_after: int) -> None:
    whole = snapshot(go(tmp_path / "whole"))
    with pytest.raises(Stopped):
        go(tmp_path / "parts", stop_after)
    resumed = snapshot(go(tmp_path / "parts"))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")
    assert [row["step"] for row in rows(tmp_path / "parts")] == list(range(8))


def test_a_supervised_run_goes_on_exactly_as_well(tmp_path: Path) -> None:
    def go_on(folder: Path, stop_after: int) -> Policy:
        asked, policy = made()

        def tell(row: dict[str, Any]) -> None:
            if row["step"] > stop_after:
                raise Stopped

        watch = stages.Watch(folder=folder, save_every=2, tell=tell)
        stages.supervised(policy, asked, stages.SFTSettings(steps=5, batch=4), watch)
        return policy

    whole = snapshot(go_on(tmp_path / "whole", 99))
    with pytest.raises(Stopped):
        go_on(tmp_path / "parts", 3)
    resumed = snapshot(go_on(tmp_path / "parts", 99))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.parametrize("way", ["grpo", "rloo"])
def test_a_run_of_trl_goes_on_from_its_last_checkpoint_as_if_it_had_not_stopped(tmp_path: Path, way: str) -> None:
    pytest.importorskip("trl", reason="grpo and rloo need trl")
    chosen = replace(SETTINGS, batch=8, at_once=8, kl=0.0)
    whole = snapshot(go(tmp_path / "whole", settings=chosen, way=way))
    with pytest.raises(Stopped):
        go(tmp_path / "parts", 4, settings=chosen, way=way)
    assert (tmp_path / "parts" / "trainer" / "checkpoint-6").is_dir()  # two passes a round, kept after three rounds
    resumed = snapshot(go(tmp_path / "parts", settings=chosen, way=way))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")
    assert [row["step"] for row in rows(tmp_path / "parts")] == list(range(8))
    assert not (tmp_path / "parts" / "trainer").exists()
    with pytest.raises(BadInput, match="clip"):
        go(tmp_path / "parts", settings=replace(chosen, clip=0.1), way=way)


def test_the_log_tells_speed_and_memory(tmp_path: Path) -> None:
    go(tmp_path)
    last = base.read(tmp_path / "log.jsonl")[-1]
    assert last["tokens_per_second"] > 1
    assert 10 < last["memory_mb"] < 100_000


def test_memory_is_told_on_windows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = SimpleNamespace(memory_info=lambda: SimpleNamespace(peak_wset=300 * 2**20))
    monkeypatch.setitem(sys.modules, "resource", None)  # importing it fails there
    monkeypatch.setitem(sys.modules, "psutil", SimpleNamespace(Process=lambda: taken))
    assert most_memory("win32") == 300 << 20


def test_a_finished_run_is_read_and_not_done_again(tmp_path: Path) -> None:
    first = snapshot(go(tmp_path))
    again = snapshot(go(tmp_path, stop_after=0))  # it would stop at the first step it does
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_another_seed_ends_elsewhere(tmp_path: Path) -> None:
    one = snapshot(go(tmp_path / "a"))
    two = snapshot(go(tmp_path / "b", settings=replace(SETTINGS, rate=2e-3)))
    assert not all(torch.equal(one[name], two[name]) for name in one)


def test_a_run_does_not_go_on_with_other_settings(tmp_path: Path) -> None:
    go(tmp_path)
    with pytest.raises(BadInput, match=r"clip = 0\.2, not 0\.1"):
        go(tmp_path, settings=replace(SETTINGS, clip=0.1))


def test_the_log_says_what_was_measured_before_and_after(tmp_path: Path) -> None:
    go(tmp_path)
    first, *_, last = rows(tmp_path)
    assert {"accuracy", "invalid_validation"} <= first.keys() & last.keys()
    assert {"reward", "kl", "length", "invalid", "unjudged", "loss", "value_loss", "clipped"} <= last.keys()


@pytest.mark.parametrize("damage", [b"", b"\x80\x04}.", b"x" * 200])
def test_a_damaged_checkpoint_is_named_and_nothing_is_unpickled(tmp_path: Path, damage: bytes) -> None:
    go(tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(damage)
    with pytest.raises(SourceError, match=r"checkpoint\.safetensors: no checkpoint .*remove the folder"):
        base.state(tmp_path / "checkpoint.safetensors")
    with pytest.raises(SourceError, match="name the folder of another run"):  # it may be all there is of a training
        base.weights(tmp_path / "checkpoint.safetensors")


def test_damaged_weights_that_a_run_began_with_are_named(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        go(tmp_path, 4)
    (tmp_path / "start.safetensors").write_bytes(b"x" * 200)
    with pytest.raises(SourceError, match=r"start\.safetensors: no checkpoint.*remove the folder"):
        go(tmp_path)


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "start.safetensors"])
@pytest.mark.parametrize("place", [0.3, 0.6, 0.99])
def test_a_run_does_not_go_on_from_weights_in_which_a_bit_is_turned(tmp_path: Path, name: str, place: float) -> None:
    with pytest.raises(Stopped):
        go(tmp_path, 4)
    data = bytearray((tmp_path / name).read_bytes())
    data[int(place * len(data))] ^= 1
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=rf"{name}: no checkpoint .*not what was written.*remove the folder"):
        go(tmp_path)


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "start.safetensors", "log.jsonl"])
def test_a_run_does_not_go_on_from_a_file_of_another_run(tmp_path: Path, name: str) -> None:
    for run, rate in (("a", 1e-3), ("b", 2e-3)):
        with pytest.raises(Stopped):
            go(tmp_path / run, 4, settings=replace(SETTINGS, rate=rate))
    shutil.copy(tmp_path / "b" / name, tmp_path / "a" / name)
    with pytest.raises(BadInput, match=rf"{name}.* remove the folder to begin again"):
        go(tmp_path / "a", settings=replace(SETTINGS, rate=1e-3))


def test_a_changed_figure_in_the_log_is_told_when_the_run_goes_on(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        go(tmp_path, 4)
    log = tmp_path / "log.jsonl"
    log.write_text(log.read_text("utf-8").replace('"kl": ', '"kl": 1e1, "was": ', 1), encoding="utf-8")
    with pytest.raises(SourceError, match=r"log\.jsonl: not what stood beside checkpoint"):
        go(tmp_path)


def test_a_checkpoint_of_trl_that_was_not_written_to_its_end_is_passed_over(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="grpo needs trl")
    chosen = replace(SETTINGS, batch=8, at_once=8, kl=0.0)
    whole = snapshot(go(tmp_path / "whole", settings=chosen, way="grpo"))
    with pytest.raises(Stopped):
        go(tmp_path / "parts", 4, settings=chosen, way="grpo")
    kept = tmp_path / "parts" / "trainer" / "checkpoint-6"
    for name, state in (("checkpoint-8", None), ("checkpoint-10", '{"epoch": 1.')):
        shutil.copytree(kept, kept.with_name(name))
        (kept.with_name(name) / "model.safetensors").write_bytes(b"half")
        (kept.with_name(name) / "trainer_state.json").unlink()
        if state:
            (kept.with_name(name) / "trainer_state.json").write_text(state, encoding="utf-8")
    resumed = snapshot(go(tmp_path / "parts", settings=chosen, way="grpo"))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt"])
def test_a_damaged_checkpoint_of_trl_is_named_with_a_mend(tmp_path: Path, name: str) -> None:
    pytest.importorskip("trl", reason="grpo needs trl")
    chosen = replace(SETTINGS, batch=8, at_once=8, kl=0.0)
    with pytest.raises(Stopped):
        go(tmp_path, 4, settings=chosen, way="grpo")
    (tmp_path / "trainer" / "checkpoint-6" / name).write_bytes(b"\x80\x04}." + b"x" * 200)
    with pytest.raises(SourceError, match=r"checkpoint-6: not the checkpoint that was written.*remove it"):
        go(tmp_path, settings=chosen, way="grpo")


def test_a_safetensors_file_of_another_program_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    safetensors.save_file({"a": torch.zeros(1)}, str(path))
    with pytest.raises(SourceError, match="no checkpoint"):
        base.weights(path)


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    go(tmp_path)
    asked, _ = made()
    other = Free(tiny(asked.names, width=32), longest=2)
    saved = json.loads(_header(tmp_path / "checkpoint.safetensors")["state"])
    with pytest.raises(SourceError, match="not a checkpoint of tiny, free"):
        base.load(tmp_path / "checkpoint.safetensors", other, adam(other, 0.1), torch.Generator(), saved["settings"])


def _header(path: Path) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(str(path), framework="pt") as file:
        found: dict[str, str] = file.metadata()
    return found


def test_a_line_of_the_log_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\nnonsense\n{"step": 3}\n', encoding="utf-8")
    with pytest.raises(SourceError, match=r"log\.jsonl:2"):
        base.read(path)


def test_a_last_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\n{"st', encoding="utf-8")
    assert base.read(path) == [{"step": 1}]
    base.keep_to(path, 1)
    assert path.read_text(encoding="utf-8") == '{"step": 1}\n'


def test_a_run_can_be_shown_on_a_board(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the board needs tensorboard")
    reader: Any = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    asked, policy = made()
    watch = stages.Watch(folder=tmp_path, boards=("tensorboard",))
    reward = graph_reward(asked, Criticality(CauseGraph.counted(asked.train)), asked.train)
    stages.reinforced("ppo", policy, asked, reward, SETTINGS, watch)
    boards = [reader.EventAccumulator(str(path)).Reload() for path in (tmp_path / "board").rglob("events.*")]
    (board,) = (board for board in boards if "reward" in board.Tags()["scalars"])
    assert [event.step for event in board.Scalars("reward")] == list(range(1, 8))
    with pytest.raises(UnknownName, match="no board is called 'tensorbord'"):
        stages.reinforced("ppo", policy, asked, reward, SETTINGS, replace(watch, boards=("tensorbord",)))
