"""The policy over a closed list: the model chooses one of the listed names and can write nothing else.

The names form a trie of tokens; at each fork the model's probabilities are shared out among the tokens that lead on,
so that the probabilities of all names sum to 1. An answer is one action: the number of its name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgmed.errors import BadInput
from kgmed.train.causal import Causal
from kgmed.train.extra import need
from kgmed.train.policy import Answers, Scores
from kgmed.train.trie import END, Fork, forks

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A model that answers with one of `names`."""

    causal: Causal
    names: tuple[str, ...]
    batch: int = 8  # prompts read at once, of like length: less padding
    _forks: list[Fork] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find where the names part; raises `BadInput` where two have the same tokens."""
        rows = [tuple(self.causal.tokens.encode(f" {name}")) for name in self.names]
        if len(set(rows)) < len(rows) or len(rows) < 2:
            raise BadInput("a choice needs two names or more that the model's tokens tell apart; name others")
        object.__setattr__(self, "_forks", forks(rows))

    @property
    def name(self) -> str:
        """The model, and among how many names it chooses."""
        return f"{self.causal.name}, one of {len(self.names)}"

    def answer(self, prompts: Sequence[str], /, generator: "Generator | None" = None) -> Answers:
        """One name a prompt."""
        torch = need("torch")
        with torch.no_grad():
            logp, values = self._all(prompts)
        drawn = logp.argmax(-1, keepdim=True)
        if generator is not None:
            drawn = torch.multinomial(logp.exp(), 1, generator=generator)
        return replace(self._answers(prompts, drawn[:, 0]), given=Scores(logp.gather(1, drawn), values[:, None]))

    def encode(self, prompts: Sequence[str], texts: Sequence[str], /) -> Answers:
        """Given names as actions; raises `BadInput` for one that is not listed."""
        if strange := [text for text in texts if text not in self.names]:
            raise BadInput(f"{strange[0][:60]!r} is none of the {len(self.names)} listed names")
        return self._answers(prompts, need("torch").tensor([self.names.index(text) for text in texts]))

    def scores(self, answers: Answers, /) -> Scores:
        """The log-probability of each name chosen; a prompt that comes several times is read once."""
        logp, values = self._all(answers.prompts)
        return Scores(logp.gather(1, answers.actions), values[:, None])

    def chances(self, prompts: Sequence[str]) -> "Tensor":
        """The probability of each name after each prompt (n, m); rows sum to 1."""
        return self._all(prompts)[0].exp()

    def parameters(self) -> dict[str, "Tensor"]:
        """The trained tensors by name."""
        return self.causal.parameters()

    def save(self, folder: Path, /) -> None:
        """Write the trained model."""
        self.causal.save(folder)

    def _answers(self, prompts: Sequence[str], numbers: "Tensor") -> Answers:
        texts = tuple(self.names[i] for i in numbers.tolist())
        actions = numbers[:, None]
        return Answers(tuple(prompts), texts, actions, need("torch").ones_like(actions, dtype=need("torch").bool))

    def _all(self, prompts: Sequence[str]) -> tuple["Tensor", "Tensor"]:
        """Log-probabilities (n, m) and values (n,), each prompt read once."""
        torch = need("torch")
        unique = sorted(dict.fromkeys(prompts), key=len)
        parts = [self._read(unique[i : i + self.batch]) for i in range(0, len(unique), self.batch)]
        place = {prompt: i for i, prompt in enumerate(unique)}
        rows = [place[p] for p in prompts]
        return torch.cat([p[0] for p in parts])[rows], torch.cat([p[1] for p in parts])[rows]

    def _read(self, prompts: Sequence[str]) -> tuple["Tensor", "Tensor"]:
        """Log-probabilities of the names (n, m) and the value after each prompt (n,)."""
        torch = need("torch")
        before = [self.causal.tokens.encode(p) for p in prompts]
        total = torch.zeros(len(before), len(self.names))
        values = torch.zeros(0)
        for fork in self._forks:
            nothing = torch.zeros(len(before), 0, dtype=torch.int64)
            state = self.causal.states([[*b, *fork.before] for b in before], nothing, nothing.bool())[:, 0]
            if not len(values):
                values = self.causal.values(state).cpu()
            total = total + self._at(fork, state)
        return total, values

    def _at(self, fork: Fork, state: "Tensor") -> "Tensor":
        """What a fork adds to each name's log-probability (n, m), from the states (n, d) there."""
        torch = need("torch")
        turns = [self.causal.tokens.end if token == END else token for token in fork.after]
        logits = torch.nn.functional.linear(state, self.causal.head.weight[turns]).float().log_softmax(-1).cpu()
        spread = torch.zeros(len(turns), len(self.names))
        for turn, names in enumerate(fork.after.values()):
            spread[turn, list(names)] = 1
        added: Tensor = logits @ spread
        return added
