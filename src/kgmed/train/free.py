"""The paper's policy: the model writes its answer freely, token by token."""

from collections.abc import Iterator, Sequence
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
    batch: int = 16  # prompts read at once, of like length: less padding

    @property
    def name(self) -> str:
        """The model, and that it writes freely."""
        return f"{self.causal.name}, free"

    def answer(self, prompts: Sequence[str], /, generator: "Generator | None" = None) -> Answers:
        """One answer a prompt."""
        torch, end = need("torch"), self.causal.tokens.end
        actions = torch.full((len(prompts), self.longest), end)
        with torch.inference_mode():
            for rows, before in self._parts(prompts):
                said = _written(self.causal, before, self.longest, generator)
                actions[rows, : said.shape[1]] = said
        mask = until_end(actions, end)
        width = int(mask.sum(1).max()) if len(prompts) else 0
        actions, mask = actions[:, :width].clone(), mask[:, :width].clone()
        return Answers(tuple(prompts), self._texts(actions, mask), actions, mask)

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
        """The log-probability of each token after those before it; equal answers are read once."""
        said = [tuple(row[seen].tolist()) for row, seen in zip(answers.actions, answers.mask, strict=True)]
        number = dict[tuple[str, tuple[int, ...]], int]()
        places = [number.setdefault(key, len(number)) for key in zip(answers.prompts, said, strict=True)]
        found = self._read(answers.pick([places.index(k) for k in range(len(number))]))
        return Scores(found.logp[places], found.values[places])

    def _read(self, answers: Answers) -> Scores:
        """The scores of answers that all differ."""
        torch = need("torch")
        order, logp, values = list[int](), [], []
        for rows, before in self._parts(answers.prompts):
            actions, mask = answers.actions[rows], answers.mask[rows]
            taken = self.causal.states(before, actions[:, :-1], mask[:, 1:])[mask.to(self.causal.device)]
            chances = self.causal.head(taken).float().log_softmax(-1)
            order += rows
            logp.append(_placed(chances.gather(-1, actions[mask][:, None].to(chances.device))[:, 0], mask))
            values.append(_placed(self.causal.values(taken), mask))
        back = torch.tensor(order).argsort()
        return Scores(torch.cat(logp)[back], torch.cat(values)[back])

    def _parts(self, prompts: Sequence[str]) -> Iterator[tuple[list[int], list[list[int]]]]:
        """The numbers and the tokens of some prompts at a time, of like length."""
        tokens = {p: self.causal.tokens.encode(p) for p in dict.fromkeys(prompts)}
        unique = sorted(tokens, key=lambda p: len(tokens[p]))
        for i in range(0, len(unique), self.batch):
            some = set(unique[i : i + self.batch])
            rows = [k for k, prompt in enumerate(prompts) if prompt in some]
            yield rows, [tokens[prompts[k]] for k in rows]

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
    begun = causal.begin(before)
    done = torch.zeros(len(before), dtype=torch.bool)
    found: list[Any] = []
    while True:
        token = _drawn(causal.head(begun.last).float().cpu(), generator)
        found.append(torch.where(done, torch.full_like(token, end), token))
        done = done | (token == end)
        if len(found) == longest or bool(done.all()):
            break
        begun.then(found[-1][:, None], torch.ones(len(before), 1))
    tokens: Tensor = torch.stack(found, 1)
    return tokens


def _placed(found: "Tensor", mask: "Tensor") -> "Tensor":
    """One number a token, put where the mask (n, T) is True; 0 elsewhere."""
    empty: Tensor = found.new_zeros(mask.shape)
    return empty.masked_scatter(mask.to(found.device), found)


def _drawn(logits: "Tensor", generator: "Generator | None") -> "Tensor":
    """A token a row (n,): drawn, or the likeliest without a generator."""
    if generator is None:
        return logits.argmax(-1)
    torch = need("torch")
    upto = logits.softmax(-1).cumsum(-1)  # quicker than torch.multinomial, which draws a number a word
    drawn: Tensor = torch.searchsorted(upto, torch.rand(len(upto), 1, generator=generator) * upto[:, -1:])
    return drawn[:, 0].clamp(max=logits.shape[-1] - 1)
