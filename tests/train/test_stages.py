"""A tiny model from nothing learns to diagnose in seconds: from the graph, from a judge, from labels."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_cases import DISEASES, made_split

torch: Any = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("transformers", reason="training needs transformers")
pytest.importorskip("safetensors", reason="training needs safetensors")

from kgmed.errors import BadInput, SourceError  # noqa: E402
from kgmed.reward.cases import CauseGraph  # noqa: E402
from kgmed.reward.criticality import Criticality  # noqa: E402
from kgmed.train import ppo, stages  # noqa: E402
from kgmed.train.base import Policy  # noqa: E402
from kgmed.train.compare import CHECKS, USUAL, Comparison, Verified, gap, table, verdict  # noqa: E402
from kgmed.train.policies import ChoicePolicy, Free, tiny  # noqa: E402
from kgmed.train.run import plot  # noqa: E402
from kgmed.train.task import Task, graph_reward, task  # noqa: E402

PPO = ppo.PPOSettings(steps=30, prompts=16, samples=4, batch=64, rate=5e-3)


def scorer(made: Task) -> Criticality:
    return Criticality(CauseGraph.counted(made.train), temperature=0.05)


def free(made: Task, seed: int = 0) -> Policy:
    return Free(tiny(made.names, seed=seed, width=32), longest=1)


def test_rlkgf_teaches_a_model_that_knows_nothing_and_writes_nonsense(tmp_path: Path) -> None:
    made = task(made_split(), listed=False)
    policy = free(made)
    reward = graph_reward(made, scorer(made), made.train)
    rows = stages.reinforced("ppo", policy, made, reward, PPO, stages.Watch(folder=tmp_path, every=30))
    assert rows[0]["accuracy"] < 0.5
    assert rows[1]["invalid"] > 0.5
    assert rows[-1]["accuracy"] > 0.8
    assert rows[-1]["invalid"] < 0.1
    assert made.split.test.report(made.predict(policy)).accuracy > 0.8


def test_supervised_training_learns_labels_and_random_ones_teach_the_form_alone(tmp_path: Path) -> None:
    made = task(made_split(), listed=False)
    settings = stages.SFTSettings(steps=60, batch=16, rate=3e-3)
    true, random = free(made), free(made)
    stages.supervised(true, made, settings, stages.Watch(folder=tmp_path / "true"))
    stages.supervised(random, made, settings, stages.Watch(folder=tmp_path / "random"), labels="random")
    assert stages.validation_accuracy(true, made)["accuracy"] > 0.8
    learnt = stages.validation_accuracy(random, made)
    assert learnt["accuracy"] < 0.7
    assert learnt["invalid_validation"] < 0.1


def test_best_of_n_and_a_veto_mend_a_model_that_guesses() -> None:
    made = task(made_split(), listed=False)
    policy = ChoicePolicy(tiny(made.names, seed=1, width=16), DISEASES)
    checked = Verified(made, policy, scorer(made), n=8)
    before, best, vetoed = (
        made.split.test.report(p) for p in (checked.before(), checked.best(), checked.vetoed(1 / 3))
    )
    assert best.accuracy > before.accuracy + 0.2
    assert vetoed.accuracy > before.accuracy
    assert before.unjudged == 0
    nothing = made.split.test.report(checked.vetoed(2.0))
    assert (nothing.accuracy, nothing.unjudged) == (0.0, 60)


class Alphabet:
    """A judge that likes what comes first in the alphabet."""

    name = "alphabet"

    def __call__(self, asked: Any, /) -> list[bool | None]:
        return [p.first < p.second for p in asked]


def compared(folder: Path, told: list[str]) -> Comparison:
    made = task(made_split(), listed=False)
    return Comparison(
        task=made,
        fit=scorer,
        scored="walk",
        judge=Alphabet,
        judged_by="alphabet",
        make=lambda seed: free(made, seed),
        folder=folder,
        warm=stages.SFTSettings(steps=10, rate=3e-3),
        labels=stages.SFTSettings(steps=20, rate=3e-3),
        reinforce=PPO,
        tell=lambda what, row: told.append(what),
    )


def test_the_comparison_tells_what_each_stage_does_and_a_second_time_trains_nothing(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="grpo needs trl")
    told: list[str] = []
    made = compared(tmp_path, told)
    first = made.seed(0)
    assert set(first) == set(USUAL)
    assert {what.split()[2] for what in told} == {"warm", "sft", "rlaif", "ppo", "grpo", "sft-ppo", "sft-grpo"}
    assert min(first["ppo"]["accuracy"], first["grpo"]["accuracy"]) > 0.8 > 0.6 > first["rlaif"]["accuracy"]
    assert set(first["sft"]["after"]) == set(CHECKS)
    told.clear()
    assert compared(tmp_path, told).seed(0) == first
    assert told == []
    found = table(made, [first], [0])
    assert [row[0] for row in found.rows] == list(USUAL)
    assert found.data["stages"]["ppo"]["took"]["memory_mb"] > 10
    assert any(note.startswith("ppo ends above warm (+") and "above rlaif" in note for note in found.notes)
    assert any("the judge decided on" in note for note in found.notes)


def test_few_labels_are_all_that_sft_and_the_graph_know_and_reinforcement_after_sft_begins_there(
    tmp_path: Path,
) -> None:
    made = compared(tmp_path, [])
    few = replace(made, labelled=3, folder=tmp_path / "few", reinforce=replace(PPO, steps=1, rate=1e-9))
    seen: list[tuple[Any, ...]] = []

    def fitted(known: Task) -> Criticality:
        seen.append(known.train)
        return scorer(known)

    found = replace(few, fit=fitted).seed(0, ("sft", "sft-ppo"))
    assert {len(train) for train in seen} == {3}
    assert len(set(seen)) == 1
    assert set(seen[0]) <= set(made.task.train)
    assert found["sft"]["right"] == found["sft-ppo"]["right"]
    assert found["sft"]["accuracy"] < made.seed(0, ("sft",))["sft"]["accuracy"]


def test_a_folder_with_figures_of_other_settings_is_refused(tmp_path: Path) -> None:
    made = compared(tmp_path, [])
    made.seed(0, ("base",))
    with pytest.raises(BadInput, match="another labelled"):
        replace(made, labelled=5).seed(0, ("base",))
    with pytest.raises(BadInput, match="another judge"):
        replace(made, judged_by="likelihood").seed(0, ("base",))


@pytest.mark.parametrize("name", ["settings.json", "seed-0/base/test.json"])
def test_damaged_figures_of_a_comparison_are_named_with_a_mend(tmp_path: Path, name: str) -> None:
    made = compared(tmp_path, [])
    made.seed(0, ("base",))
    (tmp_path / name).write_text('{"accur', encoding="utf-8")
    with pytest.raises(SourceError, match="no JSON; remove the file") as told:
        compared(tmp_path, []).seed(0, ("base",))
    assert name in str(told.value)


def test_a_difference_within_two_standard_errors_is_said_to_be_none() -> None:
    a = {"accuracy": 0.6, "right": [True, True, True, False, False]}
    b = {"accuracy": 0.6, "right": [False, True, True, True, False]}
    by, error = gap([a, a], [b, b])
    assert (by, error > 0.2) == (0, True)
    assert "ppo ends not apart from sft" in verdict([{"sft": a, "ppo": b}], "ppo", ["sft"])


def test_a_gap_counts_the_larger_of_the_errors_over_seeds_and_over_cases() -> None:
    def of(*right: bool) -> dict[str, Any]:
        return {"accuracy": sum(right) / len(right), "right": list(right)}

    by, error = gap([of(True, True), of(True, True)], [of(False, False), of(True, True)])
    assert by == 0.5
    assert error == pytest.approx(0.5)  # over seeds: 1 and 0; over cases: .5 and .5


@pytest.mark.parametrize("form", ["training.svg", "training.png"])
def test_a_log_is_drawn(tmp_path: Path, form: str) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    log = tmp_path / "log.jsonl"
    rows = [{"step": i, "reward": i / 3, "accuracy": 0.5, "kl": None} for i in range(3)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    plot({"one": log, "missing": tmp_path / "none.jsonl"}, tmp_path / form)
    assert (tmp_path / form).stat().st_size > 5000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.jsonl", form]


def test_nothing_to_draw_and_an_unknown_form_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no log"):
        plot({"missing": tmp_path / "none.jsonl"}, tmp_path / "a.svg")
    with pytest.raises(BadInput, match="must end in"):
        plot({}, tmp_path / "a.bmp")
