"""A causal language model with a value head: what the policies share.

Only hidden states where an action is taken go through the language model's head; logits of whole prompts would need
several gigabytes. Nothing is dropped out, so that an answer is as likely when it is trained on as when it was given.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kgmed.errors import BadInput
from kgmed.models.from_hub import as_folder, loaded
from kgmed.models.get import MODELS
from kgmed.train.begun import Begun, begin, padded
from kgmed.train.extra import need
from kgmed.train.halves import Halves

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
    halves: Halves | None = None  # in place of the body, where only its upper layers are trained

    def parameters(self) -> dict[str, "Tensor"]:
        """The trained tensors by name."""
        own = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        return own | {f"value.{name}": p for name, p in self.value.named_parameters()}

    def save(self, folder: Path) -> None:
        """Write the model (adapters alone where only they were trained) and its tokenizer in their own formats."""
        self.model.save_pretrained(folder)
        self.tokens.save(folder)

    def begin(self, rows: Sequence[Sequence[int]]) -> Begun:
        """Rows of tokens, read, to be gone on from; those that are alike are read once."""
        return begin(self.body, rows, pad=self.tokens.end, device=self.device)

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
    wrapped.to(device).train(mode=False)
    name = f"{name}, bfloat16" if half else name  # a run that goes on must be of the same precision
    return Causal(name, tokens, wrapped, body, head, value.to(device), device, Halves(body, top) if top else None)


def opened(model: str, folder: Path) -> "tuple[str, Any, HubTokens]":
    """What `build` makes ready: a model by name; smollm2 (of the data folder `folder`), a folder, a name on the hub."""
    path = str(as_folder(model, folder)) if model in MODELS else model
    tokenizer, causal = loaded("AutoModelForCausalLM", path, dtype="float32")
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
