"""The paper's policy: the model writes its answer freely, token by token."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgmed.errors import BadInput
from kgmed.train.causal import Causal
from kgmed.train.extra import need
from kgmed.train.policy import Answers, Scores

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Free:
    """Answers of at most `longest` tokens, drawn at temperature 1, so that the policy is what is trained."""

    causal: Causal
    longest: int = 16

    @property
    def name(self) -> str:
        """The model, and that it writes freely."""
        return f"{self.causal.name}, free"

    def answer(self, prompts: Sequence[str], /, generator: "Generator | None" = None) -> Answers:
        """One answer a prompt."""
        torch = need("torch")
        before = [self.causal.tokens.encode(p) for p in prompts]
        with torch.inference_mode():
            actions = _written(self.causal, before, self.longest, generator)
        mask = until_end(actions, self.causal.tokens.end)
        return Answers(tuple(prompts), self._texts(actions, mask), actions.clone(), mask.clone())

    def encode(self, prompts: Sequence[str], texts: Sequence[str], /) -> Answers:
        """Given answers as tokens, with the end where it fits; raises `BadInput` for an answer too long."""
        torch, end = need("torch"), self.causal.tokens.end
        said = [self.causal.tokens.encode(f" {text}") for text in texts]
        for text, row in zip(texts, said, strict=True):
            if len(row) > self.longest:
                raise BadInput(f"the answer {text[:60]!r} has {len(row)} tokens, more than {self.longest}; allow more")
        rows = [[*row, end][: self.longest] for row in said]
        width = max(map(len, rows), default=0)
        actions = torch.tensor([row + [end] * (width - len(row)) for row in rows])
        return Answers(tuple(prompts), tuple(texts), actions, until_end(actions, end))

    def scores(self, answers: Answers, /) -> Scores:
        """The log-probability of each token after those before it."""
        before = [self.causal.tokens.encode(p) for p in answers.prompts]
        states = self.causal.states(before, answers.actions, answers.mask)[:, :-1]
        logp = self.causal.head(states).float().log_softmax(-1)
        return Scores(logp.gather(-1, answers.actions[..., None].to(logp.device))[..., 0], self.causal.values(states))

    def parameters(self) -> dict[str, "Tensor"]:
        """The trained tensors by name."""
        return self.causal.parameters()

    def save(self, folder: Path, /) -> None:
        """Write the trained model."""
        self.causal.save(folder)

    def _texts(self, actions: "Tensor", mask: "Tensor") -> tuple[str, ...]:
        """The texts of answers, without the end."""
        end, decode = self.causal.tokens.end, self.causal.tokens.decode
        rows = [row[seen].tolist() for row, seen in zip(actions, mask, strict=True)]
        return tuple(decode([t for t in row if t != end]).strip() for row in rows)


def until_end(actions: "Tensor", end: int) -> "Tensor":
    """The mask (n, T) of the tokens up to the first end, with it."""
    ended = (actions == end).cumsum(1)
    return (ended == 0) | ((ended == 1) & (actions == end))


def _written(causal: Causal, before: list[list[int]], longest: int, generator: "Generator | None") -> "Tensor":
    """Tokens (n, T) after the prompts, T at most `longest`; the end fills up what ends early."""
    torch, end = need("torch"), causal.tokens.end
    width = max(map(len, before))
    ids = torch.tensor([[end] * (width - len(b)) + b for b in before], device=causal.device)
    seen = torch.tensor([[0] * (width - len(b)) + [1] * len(b) for b in before], device=causal.device)
    done = torch.zeros(len(before), dtype=torch.bool)
    kept: Any = None
    found: list[Any] = []
    while len(found) < longest and not bool(done.all()):
        place = (seen.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = causal.body(input_ids=ids, attention_mask=seen, position_ids=place, past_key_values=kept, use_cache=True)
        kept = out.past_key_values
        token = _drawn(causal.head(out.last_hidden_state[:, -1]).float().cpu(), generator)
        found.append(torch.where(done, torch.full_like(token, end), token))
        done = done | (token == end)
        ids = found[-1][:, None].to(causal.device)
        seen = torch.cat([seen, torch.ones_like(seen[:, :1])], 1)
    tokens: Tensor = torch.stack(found, 1)
    return tokens


def _drawn(logits: "Tensor", generator: "Generator | None") -> "Tensor":
    """A token a row (n,): drawn, or the likeliest without a generator."""
    if generator is None:
        return logits.argmax(-1)
    drawn: Tensor = need("torch").multinomial(logits.softmax(-1), 1, generator=generator)
    return drawn[:, 0]
