"""The arithmetic of PPO (Schulman et al. 2017) on padded answers: returns, advantages and the two losses.

Token level with generalised advantage estimation (Schulman et al. 2016): the reward of an answer arrives at its last
action, a KL penalty at each action. With a closed list an answer is one action, and all of this comes down to the
reward minus the value.
"""

from typing import TYPE_CHECKING

from kgmed.train.extra import need

if TYPE_CHECKING:
    from torch import Tensor


def per_action(rewards: "Tensor", penalty: "Tensor", mask: "Tensor") -> "Tensor":
    """The rewards (n, T): minus the penalty (n, T) at each action, plus the answer's reward (n,) at its last."""
    last = mask & (mask.cumsum(1) == mask.sum(1, keepdim=True))
    return rewards[:, None] * last - penalty * mask


def advantages(
    rewards: "Tensor", values: "Tensor", mask: "Tensor", *, gamma: float, smoothing: float
) -> tuple["Tensor", "Tensor"]:
    """Advantages and returns, (n, T) each; `smoothing` = lambda of GAE, 1 = the whole return minus the value.

    A_t = d_t + gamma lambda A_(t+1) with d_t = r_t + gamma V_(t+1) - V_t; nothing comes after the last action.
    """
    torch = need("torch")
    found = torch.zeros_like(rewards)
    after = torch.zeros_like(rewards[:, 0])
    for t in reversed(range(rewards.shape[1])):
        goes_on = mask[:, t + 1].to(rewards.dtype) if t + 1 < rewards.shape[1] else torch.zeros_like(after)
        following = values[:, t + 1] if t + 1 < rewards.shape[1] else torch.zeros_like(after)
        delta = rewards[:, t] + gamma * following * goes_on - values[:, t]
        after = (delta + gamma * smoothing * after * goes_on) * mask[:, t]
        found[:, t] = after
    return found, (found + values) * mask


def mean(values: "Tensor", mask: "Tensor") -> "Tensor":
    """The mean over the actions taken; 0 where there are none."""
    return (values * mask).sum() / mask.sum().clamp(min=1)


def whitened(values: "Tensor", mask: "Tensor") -> "Tensor":
    """The values less their mean, over their standard deviation, both over the actions taken."""
    centred = (values - mean(values, mask)) * mask
    return centred / (mean(centred**2, mask).sqrt() + 1e-8)


def clipped_loss(new: "Tensor", old: "Tensor", advantage: "Tensor", clip: float) -> tuple["Tensor", "Tensor"]:
    """Loss of each action, and whether its ratio was clipped: -min(q A, clip(q) A), q = exp(new - old)."""
    ratio = (new - old).exp()
    limited = ratio.clamp(1 - clip, 1 + clip)
    return -(ratio * advantage).minimum(limited * advantage), (ratio - 1).abs() > clip


def value_loss(values: "Tensor", returns: "Tensor") -> "Tensor":
    """Half the squared error of each action's value."""
    return 0.5 * (values - returns) ** 2
