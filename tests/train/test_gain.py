"""The arithmetic of PPO against numbers worked out by hand, and against loops in numpy."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

torch: Any = pytest.importorskip("torch", reason="training needs torch")

from kgmed.train import ppo  # noqa: E402

Floats = NDArray[np.float64]


def tensor(rows: Any) -> Any:
    return torch.tensor(rows, dtype=torch.float64)


def test_the_reward_arrives_at_the_last_action_and_the_penalty_at_each() -> None:
    mask = torch.tensor([[True, True, False], [True, False, False], [False, False, False]])
    found = ppo.per_action(tensor([1.0, 2.0, 3.0]), tensor([[0.1, 0.2, 9.0], [0.5, 9.0, 9.0], [9.0, 9.0, 9.0]]), mask)
    assert torch.allclose(found, tensor([[-0.1, 0.8, 0.0], [1.5, 0.0, 0.0], [0.0, 0.0, 0.0]]))


def test_advantages_of_two_actions_are_those_worked_out_by_hand() -> None:
    # rewards 0, 1; values .5, .25; gamma .9, lambda .8: d1 = 1 - .25 = .75, d0 = .9 * .25 - .5 = -.275,
    # A1 = .75, A0 = -.275 + .9 * .8 * .75 = .265; returns A + V = .765, 1
    mask = torch.tensor([[True, True]])
    found, returns = ppo.advantages(tensor([[0.0, 1.0]]), tensor([[0.5, 0.25]]), mask, gamma=0.9, smoothing=0.8)
    assert torch.allclose(found, tensor([[0.265, 0.75]]))
    assert torch.allclose(returns, tensor([[0.765, 1.0]]))


def test_with_one_action_the_advantage_is_the_reward_less_the_value() -> None:
    found, returns = ppo.advantages(tensor([[2.0]]), tensor([[0.5]]), torch.tensor([[True]]), gamma=0.3, smoothing=0.1)
    assert (found.item(), returns.item()) == (1.5, 2.0)


def test_the_clipped_loss_is_the_one_worked_out_by_hand() -> None:
    # ratios 1.5, 1.5, .5, .5, 1.1 with eps .2: the gain is min(q A, clip(q) A)
    ratios, advantage = [1.5, 1.5, 0.5, 0.5, 1.1], [1.0, -1.0, 1.0, -1.0, 2.0]
    new = tensor([math.log(q) for q in ratios])
    loss, cut = ppo.clipped_loss(new, torch.zeros_like(new), tensor(advantage), 0.2)
    assert torch.allclose(loss, tensor([-1.2, 1.5, -0.5, 0.8, -2.2]))
    assert cut.tolist() == [True, True, True, True, False]


def test_a_clipped_action_has_no_gradient_and_one_that_must_come_back_has() -> None:
    new = tensor([math.log(1.5), math.log(1.5)]).requires_grad_()
    torch.autograd.backward(ppo.clipped_loss(new, tensor([0.0, 0.0]), tensor([1.0, -1.0]), 0.2)[0].sum())
    assert new.grad.tolist() == pytest.approx([0.0, 1.5])


def test_the_value_loss_is_half_the_squared_error() -> None:
    assert ppo.value_loss(tensor([1.0, 3.0]), tensor([2.0, 1.0])).tolist() == [0.5, 2.0]


def slow_advantages(rewards: Floats, values: Floats, lengths: list[int], gamma: float, smoothing: float) -> Floats:
    """A_t as the sum over later k of (gamma lambda)^k d_(t+k), answer by answer."""
    found = np.zeros_like(rewards)
    for i, length in enumerate(lengths):
        steps = [
            rewards[i, t] + (gamma * values[i, t + 1] if t + 1 < length else 0.0) - values[i, t] for t in range(length)
        ]
        for t in range(length):
            found[i, t] = sum((gamma * smoothing) ** (k - t) * steps[k] for k in range(t, length))
    return found


numbers = st.floats(-3, 3, allow_nan=False).map(lambda x: round(x, 3))


@given(st.data(), st.integers(1, 5), st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_advantages_returns_and_whitening_agree_with_slow_loops(data: Any, width: int, lengths: list[int]) -> None:
    lengths = [min(length, width) for length in lengths]
    table = st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=len(lengths), max_size=len(lengths))
    rewards, values = np.array(data.draw(table)), np.array(data.draw(table))
    gamma, smoothing = data.draw(st.sampled_from([0.0, 0.9, 0.99, 1.0])), data.draw(st.sampled_from([0.0, 0.95, 1.0]))
    mask = np.arange(width)[None, :] < np.array(lengths)[:, None]
    rewards = rewards * mask
    found, returns = ppo.advantages(
        tensor(rewards), tensor(values), torch.tensor(mask), gamma=gamma, smoothing=smoothing
    )
    wanted = slow_advantages(rewards, values, lengths, gamma, smoothing)
    assert np.allclose(found.numpy(), wanted)
    assert np.allclose(returns.numpy(), (wanted + values) * mask)
    white = ppo.whiten(tensor(wanted), torch.tensor(mask)).numpy()
    inside = wanted[mask]
    if len(inside) and inside.std() > 1e-3:
        assert np.allclose(white[mask], (inside - inside.mean()) / inside.std(), atol=1e-4)
    assert not white[~mask].any()
