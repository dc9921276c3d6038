"""A causal language model with a value head: what the policies share.

Only hidden states where an action is taken go through the language model's head; logits of whole prompts would need
several gigabytes. Nothing is dropped out, so that an answer is as likely when it is trained on as when it was given.
"""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kgmed.errors import BadInput
from kgmed.models.files import MODELS, as_folder, load_transformer, to_device
from kgmed.train.base import need

# --- Rows of tokens that a decoder has begun to read; rows that begin alike are read once.
# The keys and values of a prompt are kept and shared by its answers: eight answers to a question cost little more than
# one. Gradients flow back through them, so that training on answers trains how the prompts are read, too.


if TYPE_CHECKING:
    from torch import Tensor


@dataclass(slots=True, eq=False)
class PrefixCache:
    """n rows of tokens as far as a decoder has read them."""

    body: Any  # the decoder: tokens -> hidden states
    seen: "Tensor"  # (n, L) int64, 0 where a row is padded
    last: "Tensor"  # (n, d), the hidden state at the end of each row
    kept: Any  # keys and values of the rows, a cache of transformers

    def then(self, tokens: "Tensor", mask: "Tensor") -> "Tensor":
        """The hidden states (n, T, d) at tokens (n, T) that come next, which from now on belong to the rows."""
        self.seen = need("torch").cat([self.seen, mask.to(self.seen)], 1)
        states = _read(self.body, tokens.to(self.seen.device), self.seen, self.kept).last_hidden_state
        self.last = states[:, -1]
        return states  # type: ignore[no-any-return]


def read_prefix(body: Any, rows: Sequence[Sequence[int]], *, pad: int, device: str = "cpu") -> PrefixCache:
    """The rows, read; those that are alike once, all padded on the left to one length."""
    torch = need("torch")
    unique = list(dict.fromkeys(map(tuple, rows)))
    number = {row: i for i, row in enumerate(unique)}
    places = torch.tensor([number[tuple(row)] for row in rows], device=device)
    ids, seen = padded(unique, pad=pad, device=device)
    out = _read(body, ids, seen)
    out.past_key_values.batch_select_indices(places)
    return PrefixCache(body, seen[places], out.last_hidden_state[:, -1][places], out.past_key_values)


def padded(rows: Sequence[Sequence[int]], *, pad: int, device: str = "cpu") -> tuple["Tensor", "Tensor"]:
    """Tokens (n, L) padded on the left, and a mask (n, L) int64."""
    torch, longest = need("torch"), max(map(len, rows))
    ids = torch.tensor([[pad] * (longest - len(row)) + list(row) for row in rows], device=device)
    seen = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=device)
    return ids, seen


def _read(body: Any, ids: "Tensor", seen: "Tensor", kept: Any = None) -> Any:
    """What a decoder makes of tokens (n, T) at the end of rows whose mask is `seen` (n, L + T)."""
    places = (seen.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    return body(input_ids=ids, attention_mask=seen, position_ids=places, past_key_values=kept, use_cache=True)


# --- A decoder cut in two: lower layers that training leaves alone, and upper ones that it changes.
# What the lower layers make of a prompt never changes, so it is computed once. With adapters in a third of the layers
# alone, a step over the same prompts costs about a third.


if TYPE_CHECKING:
    from torch import Tensor

_TRIED = (3, 1, 2, 5, 4)  # any tokens, to see that the halves are the whole


class SplitDecoder:
    """Runs a decoder as its two halves; the results of the lower one are kept, a row of tokens each."""

    def __init__(self, body: Any, upper: int) -> None:
        """Cut `upper` layers off the top of a decoder with `layers` and `norm`; raises `BadInput` where that fails."""
        torch = need("torch")
        if not (hasattr(body, "layers") and hasattr(body, "norm") and 0 < upper < len(body.layers)):
            raise BadInput(
                f"the top {upper} layers of this model cannot be trained alone; train adapters in all of them"
            )
        cut = len(body.layers) - upper
        self._lower, self._upper = _shallow(body), _shallow(body)
        self._lower.layers, self._upper.layers = body.layers[:cut], body.layers[cut:]
        self._lower.norm = torch.nn.Identity()
        self._known: dict[tuple[int, ...], Tensor] = {}
        self._check(body)

    def __call__(self, input_ids: "Tensor", attention_mask: "Tensor", position_ids: "Tensor") -> "Tensor":
        """The hidden states (n, L, d) of padded rows of tokens, as the whole decoder gives them where the mask is 1."""
        below = self._below(input_ids, attention_mask, position_ids)
        found: Tensor = self._upper(
            inputs_embeds=below, attention_mask=attention_mask, position_ids=position_ids, use_cache=False
        ).last_hidden_state
        return found

    def _below(self, ids: "Tensor", mask: "Tensor", places: "Tensor") -> "Tensor":
        """What the lower layers make of the rows, computed for those that are new."""
        torch, there = need("torch"), mask.bool()
        keys = [tuple(row[seen].tolist()) for row, seen in zip(ids, there, strict=True)]
        new = [i for i, key in enumerate(keys) if key not in self._known]
        if new:
            with torch.no_grad():
                states = self._lower(
                    input_ids=ids[new], attention_mask=mask[new], position_ids=places[new], use_cache=False
                ).last_hidden_state
            self._known.update({keys[i]: row[there[i]].clone() for i, row in zip(new, states, strict=True)})
        width = self._known[keys[0]].shape[-1]
        below: Tensor = torch.zeros(*ids.shape, width, device=ids.device, dtype=self._known[keys[0]].dtype)
        for i, key in enumerate(keys):
            below[i, there[i]] = self._known[key]
        return below

    def _check(self, body: Any) -> None:
        """Refuse a decoder that does more than run its layers one after the other."""
        torch = need("torch")
        device = next(body.parameters()).device
        ids = torch.tensor([_TRIED], device=device)
        mask, places = torch.ones_like(ids), torch.arange(ids.shape[1], device=device)[None, :]
        with torch.no_grad():
            whole = body(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=False).last_hidden_state
            halves = self(ids, mask, places)
        self._known.clear()
        if not torch.allclose(whole, halves, rtol=1e-3, atol=1e-3 * float(whole.abs().max())):
            raise BadInput("this model is more than its layers in turn; train adapters in all of them")


def _shallow(body: Any) -> Any:
    """A copy of a module whose parts can be replaced without changing the module; the parts are the same ones."""
    twin = copy.copy(body)
    twin._modules = dict(body._modules)
    return twin


# --- A causal language model with a value head: what the policies share.
# Only hidden states where an action is taken go through the language model's head; logits of whole prompts would need
# several gigabytes. Nothing is dropped out, so that an answer is as likely when it is trained on as when it was given.


if TYPE_CHECKING:
    from torch import Tensor

Adapt = Literal["lora", "full"]
RANK = 16  # of LoRA, on all linear layers but the head


class Tokens(Protocol):
    """A tokenizer."""

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        ...

    def encode(self, text: str, /) -> list[int]:
        """The tokens of a text."""
        ...

    def decode(self, tokens: Sequence[int], /) -> str:
        """The text of tokens, without the end."""
        ...

    def save(self, folder: Path, /) -> None:
        """Write the tokenizer beside its model."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Causal:
    """A causal model, its tokenizer and a value head; `model` is what is saved, `body` what gives hidden states."""

    name: str
    tokens: Tokens
    model: Any  # of transformers, or of peft around one
    body: Any  # tokens -> hidden states
    head: Any  # hidden states -> logits
    value: Any  # hidden states -> the value
    device: str = "cpu"
    halves: SplitDecoder | None = None  # in place of the body, where only its upper layers are trained

    def parameters(self) -> dict[str, "Tensor"]:
        """The trained tensors by name."""
        own = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        return own | {f"value.{name}": p for name, p in self.value.named_parameters()}

    def save(self, folder: Path) -> None:
        """Write the model (adapters alone where only they were trained) and its tokenizer in their own formats."""
        self.model.save_pretrained(folder)
        self.tokens.save(folder)

    def begin(self, rows: Sequence[Sequence[int]]) -> PrefixCache:
        """Rows of tokens, read, to be gone on from; those that are alike are read once."""
        return read_prefix(self.body, rows, pad=self.tokens.end, device=self.device)

    def states(self, before: Sequence[Sequence[int]], after: "Tensor", mask: "Tensor") -> "Tensor":
        """Hidden states (n, T + 1, d) at the last token before, and at each of the tokens after (n, T).

        What comes before several rows is read once; what has nothing after it is read by halves where there are some.
        """
        torch = need("torch")
        if after.shape[1]:
            begun = self.begin(before)
            return torch.cat([begun.last[:, None], begun.then(after * mask, mask)], 1)  # type: ignore[no-any-return]
        rows, seen = padded(before, pad=self.tokens.end, device=self.device)
        inputs = {"input_ids": rows, "attention_mask": seen, "position_ids": (seen.cumsum(1) - 1).clamp(min=0)}
        found: Tensor = self.halves(**inputs) if self.halves else self.body(**inputs, use_cache=False).last_hidden_state
        return found[:, -1:]

    def values(self, states: "Tensor") -> "Tensor":
        """The value of each state, without a gradient to the model: the value head learns alone.

        It sees the direction of a state alone. States are long (50 in SmolLM2): at the rate of the adapters one step
        of Adam would move the value of each by more than rewards differ.
        """
        values: Tensor = self.value(need("torch").nn.functional.normalize(states.detach().float(), dim=-1))
        return values.squeeze(-1)


def build(
    name: str,
    model: Any,
    tokens: Tokens,
    *,
    adapt: Adapt = "lora",
    top: int = 0,
    half: bool = False,
    seed: int = 0,
    device: str = "cpu",
) -> Causal:
    """A loaded model made ready for training: all of it ("full"), or low-rank adapters (LoRA, Hu et al. 2021).

    `top` = adapters in so many of the upper layers alone, 0 = in all; `half` = what is not trained in bfloat16, which
    is about twice as fast where the processor has it. The adapters stay in float32.
    """
    if (top or half) and adapt == "full":
        raise BadInput("upper layers alone, or half precision, go with adapters; leave out one of the two")
    torch = need("torch")
    body, head = model.get_decoder(), model.get_output_embeddings()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        wrapped = _with_adapters(model, top) if adapt == "lora" else model
        value = torch.nn.Linear(model.config.hidden_size, 1)
    for parameter in value.parameters():
        torch.nn.init.zeros_(parameter)
    for frozen in wrapped.parameters() if half else ():
        frozen.data = frozen.data if frozen.requires_grad else frozen.data.bfloat16()
    to_device(wrapped, device).train(mode=False)
    name = f"{name}, bfloat16" if half else name  # a run that goes on must be of the same precision
    return Causal(name, tokens, wrapped, body, head, value.to(device), device, SplitDecoder(body, top) if top else None)


def load_causal(model: str, folder: Path) -> "tuple[str, Any, HubTokens]":
    """What `build` makes ready: a model by name; smollm2 (of the data folder `folder`), a folder, a name on the hub."""
    path = str(as_folder(model, folder)) if model in MODELS else model
    tokenizer, causal = load_transformer("AutoModelForCausalLM", path, dtype="float32")
    name = Path(model).name if Path(model).is_dir() else model
    return name, causal, HubTokens(tokenizer)


class HubTokens:
    """A tokenizer of transformers."""

    def __init__(self, tokenizer: Any) -> None:
        """Raises `BadInput` for one that has no end-of-text token."""
        if tokenizer.eos_token_id is None:
            raise BadInput("the tokenizer has no end-of-text token; training needs one")
        self._tokenizer = tokenizer
        self.end: int = tokenizer.eos_token_id

    def encode(self, text: str, /) -> list[int]:
        """The tokens of a text, without special ones; a text cannot write special tokens either."""
        return list(self._tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids)

    def decode(self, tokens: Sequence[int], /) -> str:
        """The text of tokens, without special ones."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    def save(self, folder: Path, /) -> None:
        """Write the tokenizer's files."""
        self._tokenizer.save_pretrained(folder)


def _with_adapters(model: Any, top: int) -> Any:
    """The model with low-rank adapters in the linear layers of its top layers (0 = all); nothing else is trained."""
    count = model.config.num_hidden_layers
    which: dict[str, Any] = {"layers_to_transform": list(range(count - top, count))} if top else {}
    numbers = {"r": RANK, "lora_alpha": 2 * RANK, "target_modules": _linear(model), **which}
    peft = need("peft")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)  # peft 0.21
        return peft.get_peft_model(model, peft.LoraConfig(**numbers))


def _linear(model: Any) -> list[str]:
    """The names of the linear layers of a model's decoder, without where they stand."""
    linear = need("torch").nn.Linear
    return sorted({name.rpartition(".")[2] for name, m in model.get_decoder().named_modules() if isinstance(m, linear)})
