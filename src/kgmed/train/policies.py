"""Policies by the names that a person types."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from kgmed.errors import BadInput, UnknownName
from kgmed.models.files import to_device
from kgmed.models.transformers_lm import END, Fork, forks
from kgmed.train.base import Answers, Policy, Scores, need
from kgmed.train.causal import Causal, Tuning, build, load_causal
from kgmed.train.task import Task

# --- The policy over a closed list: the model chooses one of the listed names and can write nothing else.
# The names form a trie of tokens; at each fork the model's probabilities are shared out among the tokens that lead on,
# so that the probabilities of all names sum to 1. An answer is one action: the number of its name.


if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True, slots=True, eq=False)
class ChoicePolicy:
    """A model that answers with one of `names`."""

    causal: Causal
    names: tuple[str, ...]
    batch: int = 8  # prompts read at once, of like length: less padding
    _forks: list[Fork] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find where the names part; raises `BadInput` where two have the same tokens."""
        rows = [tuple(self.causal.tokens.said(name)) for name in self.names]
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
        before = [self.causal.tokens.ask(p) for p in prompts]
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


# --- The paper's policy: the model writes its answer freely, token by token.


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
        said = [self.causal.tokens.said(text) for text in texts]
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
        tokens = {p: self.causal.tokens.ask(p) for p in dict.fromkeys(prompts)}
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


# --- A model of 90 thousand parameters from nothing, whose words are the names of symptoms and diseases: for tests.
# Everything but its size is as with a large model: it writes freely, may write nonsense, and learns from the reward.


_END = 0
_SAID_END = "<end>"
_DENIALS = ("no", "无")


class NameTokens:
    """A tokenizer whose tokens are names; everything else in a text but denials is passed over.

    >>> tokens = NameTokens(["flu", "fever", "high fever"])
    >>> tokens.ask("High fever, fever. No flu?"), tokens.decode([3, 0])
    ([5, 4, 1, 3], 'flu')
    """

    end = _END

    def __init__(self, names: Sequence[str]) -> None:
        """Take the names, longest matches first."""
        self.names = tuple(names)
        known = dict[str, str]()
        for name in (*_DENIALS, *names):
            known.setdefault(name.casefold(), name)
        self._number = {name: i for i, name in enumerate(known, start=1)}
        self._shown = (_SAID_END, *known.values())
        longest = sorted(self._number, key=len, reverse=True)
        edges = (rf"\b{re.escape(n)}\b" if n.isascii() else re.escape(n) for n in longest)
        self._pattern = re.compile("|".join(edges))

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self._shown)

    def ask(self, question: str, /) -> list[int]:
        """The names in a text, in its order."""
        return [self._number[found] for found in self._pattern.findall(question.casefold())]

    said = ask

    def turn(self, question: str, /) -> str:
        """The question."""
        return question

    def decode(self, tokens: Sequence[int], /) -> str:
        """The names of tokens."""
        return " ".join(self._shown[t] for t in tokens if t != _END)

    def fast(self) -> Any:
        """The same as a tokenizer of transformers, for other trainers; prompts are padded on the left."""
        parts, made = need("tokenizers"), need("transformers").PreTrainedTokenizerFast
        words = parts.Tokenizer(parts.models.WordLevel({_SAID_END: _END} | self._number, unk_token=_SAID_END))
        words.normalizer = parts.normalizers.Lowercase()
        pattern = parts.Regex(self._pattern.pattern)
        words.pre_tokenizer = parts.pre_tokenizers.Split(pattern, behavior="removed", invert=True)
        return made(tokenizer_object=words, eos_token=_SAID_END, pad_token=_SAID_END, padding_side="left")

    def save(self, folder: Path, /) -> None:
        """Write the names."""
        (folder / "names.json").write_text(json.dumps(self.names, ensure_ascii=False), encoding="utf-8")


def tiny(
    names: Sequence[str], *, seed: int = 0, width: int = 64, layers: int = 2, tuning: Tuning | None = None
) -> Causal:
    """A Llama of that size with random weights, all of them trained."""
    transformers, torch = need("transformers"), need("torch")
    tokens = NameTokens(names)
    config = transformers.LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=_END,
        pad_token_id=_END,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.LlamaForCausalLM(config)
    how = tuning or Tuning()
    return build("tiny", model, tokens, Tuning(full=True, bf16=how.bf16, device=how.device), seed=seed)


Kind = Literal["choice", "free", "tiny"]
KINDS = get_args(Kind)


def policy(
    kind: str, model: str, task: Task, folder: Path, *, seed: int = 0, tuning: Tuning | None = None, longest: int = 16
) -> Policy:
    """A policy for a task, untrained; `folder` is the data folder that smollm2 is in. Raises `UnknownName`.

    choice = a causal model that chooses from the listed diseases, free = one that writes at most `longest` tokens,
    tiny = a model from nothing that writes one name. Raises `BadInput` where there is no such device.
    """
    how = tuning or Tuning()
    if kind not in KINDS:
        raise UnknownName("policy", kind, KINDS)
    to_device(need("torch").empty(0), how.device)  # before a large model is read for a device that is not there
    if kind == "tiny":
        return Free(tiny(task.names, seed=seed, tuning=how), longest=1)
    causal: Any = build(*load_causal(model, folder, how), how, seed=seed)
    return ChoicePolicy(causal, task.diseases) if kind == "choice" else Free(causal, longest)
