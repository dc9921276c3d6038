"""The loop: one step against numpy, what it learns, and what moves nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="training needs torch")

from kgmed.errors import BadInput  # noqa: E402
from kgmed.train import ppo  # noqa: E402
from kgmed.train import ppo as arithmetic  # noqa: E402
from kgmed.train.base import Answers, snapshot  # noqa: E402
from kgmed.train.run import adam  # noqa: E402
from made_cases import Table  # noqa: E402

TEXTS = ("a", "b", "c")
WORTH = {"p": {"a": 0.0, "b": 1.0, "c": 0.2}, "q": {"a": 0.9, "b": 0.0, "c": 0.1}}


def reward(questions: Sequence[Any], answers: Sequence[str]) -> list[float | None]:
    return [WORTH[q][a] for q, a in zip(questions, answers, strict=True)]


def settings(**other: Any) -> ppo.PPOSettings:
    return ppo.PPOSettings(**{"prompts": 2, "samples": 8, "steps": 1, "rate": 0.1, **other})


def trained(policy: Table, chosen: ppo.PPOSettings, score: Any = reward, **other: Any) -> list[dict[str, Any]]:
    optimizer, generator = adam(policy, chosen.rate), torch.Generator().manual_seed(3)
    found = ppo.steps(policy, ["p", "q"], score, chosen, optimizer=optimizer, generator=generator, **other)
    return list(found)


def log_softmax(logits: Any) -> Any:
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def slow(answers: Answers, rewards: list[float], start: Any, chosen: ppo.PPOSettings) -> tuple[Any, Any]:
    """Logits and values after one step of PPO with one action an answer, gradients worked out by hand."""
    logits, worth = np.array(start, np.float64), np.zeros(2)
    rows = [["p", "q"].index(p) for p in answers.prompts]
    actions = answers.actions[:, 0].tolist()
    old = log_softmax(logits)[rows, actions]
    gains = np.array(rewards) - worth[rows]
    returns = gains + worth[rows]
    gains = (gains - gains.mean()) / (gains.std() + 1e-8)
    moments = [[np.zeros_like(x), np.zeros_like(x)] for x in (logits, worth)]
    for t in range(1, chosen.epochs + 1):
        slope, slope_v = np.zeros_like(logits), np.zeros_like(worth)
        for row, action, was, gain, target in zip(rows, actions, old, gains, returns, strict=True):
            ratio = np.exp(log_softmax(logits)[row, action] - was)
            free = ratio * gain <= np.clip(ratio, 1 - chosen.clip, 1 + chosen.clip) * gain
            towards = -np.exp(log_softmax(logits)[row])
            towards[action] += 1
            slope[row] -= free * ratio * gain * towards / len(rows)
            slope_v[row] += chosen.value * (worth[row] - target) / len(rows)
        norm = np.sqrt((slope**2).sum() + (slope_v**2).sum())
        cut = min(1.0, chosen.norm / (norm + 1e-6))
        for x, g, (m, v) in zip((logits, worth), (slope * cut, slope_v * cut), moments, strict=True):
            m[...], v[...] = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            x -= chosen.rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return logits, worth


@pytest.mark.parametrize("norm", [1.0, 0.01])
def test_a_step_of_several_epochs_is_that_of_a_slow_reimplementation_in_numpy(norm: float) -> None:
    start = [[0.2, -0.1, 0.4], [0.0, 0.3, -0.5]]
    chosen = settings(epochs=4, rate=0.3, norm=norm)
    policy, seen = Table(["p", "q"], TEXTS, start), []

    def noting(questions: Sequence[Any], answers: Sequence[str]) -> list[float | None]:
        seen.append(policy.encode(questions, answers))
        return reward(questions, answers)

    (row,) = trained(policy, chosen, noting)
    marks = [WORTH[p][t] for p, t in zip(seen[0].prompts, seen[0].texts, strict=True)]
    logits, worth = slow(seen[0], marks, start, chosen)
    assert np.allclose(policy.logits.detach().numpy(), logits, atol=1e-5)
    assert np.allclose(policy.worth.detach().numpy(), worth, atol=1e-5)
    assert row["reward"] == pytest.approx(np.mean(marks))
    assert row["clipped"] > 0


def test_the_best_answer_to_each_question_is_learnt() -> None:
    policy = Table(["p", "q"], TEXTS)
    rows = trained(policy, settings(steps=40))
    assert policy.answer(["p", "q"]).texts == ("b", "a")
    assert rows[-1]["reward"] > 0.8 > 0.5 > rows[0]["reward"]


def test_micro_batches_change_nothing_but_memory() -> None:
    whole, parts = (Table(["p", "q"], TEXTS) for _ in range(2))
    trained(whole, settings(steps=3))
    trained(parts, settings(steps=3, at_once=3))
    assert torch.allclose(whole.logits, parts.logits, atol=1e-6)


def test_answers_that_cannot_be_judged_are_counted_and_move_nothing() -> None:
    policy = Table(["p", "q"], TEXTS)
    before = snapshot(policy)
    (row,) = trained(policy, settings(), lambda q, a: [None] * len(q))
    assert (row["unjudged"], row["reward"]) == (1.0, None)
    assert all(torch.equal(p, before[name]) for name, p in policy.parameters().items())


def test_only_the_judged_answers_move_the_policy() -> None:
    policy = Table(["p", "q"], TEXTS)
    (row,) = trained(
        policy, settings(), lambda q, a: [WORTH[x][y] if x == "p" else None for x, y in zip(q, a, strict=True)]
    )
    assert row["unjudged"] == 0.5
    assert not policy.logits[1].any()
    assert policy.logits[0].any()


def test_a_penalty_holds_the_policy_near_its_start() -> None:
    far, near = Table(["p", "q"], TEXTS), Table(["p", "q"], TEXTS)
    trained(far, settings(steps=30, whiten=False))
    rows = trained(near, settings(steps=30, whiten=False, kl=5.0), reference=snapshot(near))
    assert near.logits.abs().max() < far.logits.abs().max() / 2
    assert rows[0]["kl"] == 0


def test_a_penalty_without_what_to_stay_near_is_refused() -> None:
    with pytest.raises(BadInput, match="reference"):
        trained(Table(["p", "q"], TEXTS), settings(kl=0.1))


def test_invalid_answers_are_counted_and_the_kl_is_told_where_it_was_measured() -> None:
    policy = Table(["p", "q"], TEXTS)
    rows = trained(policy, settings(steps=4, kl_every=2), reference=snapshot(policy), named=lambda text: text != "a")
    assert ["kl" in row for row in rows] == [False, True, False, True]
    assert all(0 < row["invalid"] < 1 for row in rows)


def test_every_question_is_drawn_once_before_any_comes_again() -> None:
    chosen = settings(prompts=5, samples=2)
    asked = ppo.draw_questions(list("abcde"), chosen, torch.Generator().manual_seed(0))
    assert sorted(asked) == sorted("abcde" * 2)
    assert asked[::2] == asked[1::2]


def test_a_name_is_not_paid_for_being_short_unless_the_papers_gamma_asks_for_it() -> None:
    mask = torch.tensor([[True, True, False, False], [True, True, True, True]])
    paid = arithmetic.per_action(torch.tensor([0.2, 0.2]), torch.zeros(2, 4), mask)
    first = {}
    for name, chosen in (("ours", ppo.PPOSettings()), ("paper", ppo.PAPER)):
        found, _ = arithmetic.advantages(
            paid, torch.zeros(2, 4), mask, gamma=chosen.gamma, smoothing=chosen.smoothing
        )  # values are 0 at the start
        first[name] = found[:, 0].tolist()
    assert first["ours"] == pytest.approx([0.2, 0.2])
    assert first["paper"] == pytest.approx([0.2 * 0.9405, 0.2 * 0.9405**3])  # 0.99 x 0.95 a token


def test_the_rate_falls_to_a_step_above_nothing() -> None:
    chosen = settings(steps=4, rate=1.0)
    assert [ppo.rate(chosen, s) for s in (1, 2, 3, 4)] == [1.0, 0.75, 0.5, 0.25]
    assert ppo.rate(replace(chosen, decay=False), 4) == 1.0


@pytest.mark.parametrize("wrong", [{"clip": 0}, {"gamma": 1.5}, {"epochs": 0}, {"rate": 0}, {"steps": 0}])
def test_numbers_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        settings(**wrong)


def test_the_numbers_of_the_paper_are_those_of_its_table_7() -> None:
    p = ppo.PAPER
    assert (p.clip, p.gamma, p.batch, p.rate, p.epochs, p.kl) == (0.2, 0.99, 16, 1e-5, 5, 0.0)
