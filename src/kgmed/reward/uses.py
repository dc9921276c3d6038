"""What a reward is good for besides training by it: best of n, a veto, preference pairs, TRL and PyTorch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kgmed.errors import BadInput, Unavailable
from kgmed.reward.names import text_of
from kgmed.stages import Reward
from kgmed.types import Question


@dataclass(frozen=True, slots=True)
class Best:
    """The answer chosen of several, its place among them and its reward; None = no answer could be judged."""

    answer: str
    place: int
    reward: float | None


def best_of(reward: Reward, question: Question | str, answers: Sequence[str]) -> Best:
    """The answer of the highest reward; ties and answers that cannot be judged go to the first.

    Raises `BadInput` where there is no answer to choose from.
    """
    if not answers:
        raise BadInput("there is no answer to choose from; give at least one")
    scores = reward([question] * len(answers), answers)
    judged = [(score, -i) for i, score in enumerate(scores) if score is not None]
    score, place = max(judged, default=(None, 0))
    return Best(answers[-place], -place, score)


def veto(reward: Reward, question: Question | str, answers: Sequence[str], *, at_least: float) -> Best | None:
    """The first answer, in the order of the model's own preference, whose reward is at least `at_least`; None if none.

    An answer that cannot be judged passes: a veto needs a reason.
    """
    scores = reward([question] * len(answers), answers)
    passed = (i for i, score in enumerate(scores) if score is None or score >= at_least)
    place = next(passed, None)
    return None if place is None else Best(answers[place], place, scores[place])


@dataclass(frozen=True, slots=True)
class Preference:
    """Of two answers to a question, which is better and by how much."""

    question: str
    chosen: str
    rejected: str
    margin: float


def preferences(
    reward: Reward, questions: Sequence[Question | str], answers: Sequence[Sequence[str]], *, margin: float = 0.0
) -> list[Preference]:
    """For each question its best and its worst answer, where they differ by more than `margin`.

    Answers that cannot be judged are left out. All answers are judged in one call.
    """
    if len(questions) != len(answers):
        raise BadInput(f"{len(questions)} questions do not go with {len(answers)} lists of answers; give one each")
    asked = [q for q, several in zip(questions, answers, strict=True) for _ in several]
    scores = iter(reward(asked, [a for several in answers for a in several]))
    pairs = []
    for question, several in zip(questions, answers, strict=True):
        judged = [(score, a) for a in several if (score := next(scores)) is not None]
        if judged:
            best, worst = max(judged, key=lambda j: j[0]), min(judged, key=lambda j: j[0])
            if best[0] - worst[0] > margin:
                pairs.append(Preference(text_of(question), best[1], worst[1], best[0] - worst[0]))
    return pairs


def for_trl(reward: Reward) -> Callable[..., list[float | None]]:
    """The reward in the form of TRL's `reward_funcs`: called with prompts, completions and columns that it ignores.

    A prompt or completion that is a conversation stands for the text of its last message.
    """

    def graph_reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: object) -> list[float | None]:
        return reward([_last(p) for p in prompts], [_last(c) for c in completions])

    return graph_reward


def _last(turn: Any) -> str:
    """The text of a turn, or of the last message of a conversation."""
    return turn if isinstance(turn, str) else str(turn[-1]["content"])


def as_module(reward: Reward) -> Any:
    """The reward as a `torch.nn.Module` without parameters: forward(questions, answers) -> tensor (b,), NaN for None.

    Raises `Unavailable` without PyTorch.
    """
    try:
        import torch
    except ImportError as error:
        raise Unavailable('a reward module needs PyTorch: pip install "kgmed[local]"') from error

    class GraphReward(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        """The reward of a graph."""

        def forward(self, questions: Sequence[Question | str], answers: Sequence[str]) -> Any:
            """One number an answer (b,)."""
            scores = reward(questions, answers)
            return torch.tensor([float("nan") if s is None else s for s in scores], dtype=torch.float32)

    return GraphReward()
