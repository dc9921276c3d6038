"""A causal language model with a value head: what the policies share.

Only hidden states where an action is taken go through the language model's head; logits of whole prompts would need
several gigabytes. Nothing is dropped out, so that an answer is as likely when it is trained on as when it was given.
"""

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
    return ids, torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=device)


def _read(body: Any, ids: "Tensor", seen: "Tensor", kept: Any = None) -> Any:
    """What a decoder makes of tokens (n, T) at the end of rows whose mask is `seen` (n, L + T)."""
    places = (seen.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    return body(input_ids=ids, attention_mask=seen, position_ids=places, past_key_values=kept, use_cache=True)


# --- A decoder cut in two: lower layers that training leaves alone, and upper ones that it changes.
# What the lower layers make of a prompt never changes, so it is computed once. With adapters in a third of the layers
# alone, a step over the same prompts costs about a third.


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What of a model is trained, and in which precision."""

    full: bool = False  # all of the model; else low-rank adapters (LoRA, Hu et al. 2021) in its linear layers
    top: int = 0  # adapters in so many of the upper layers alone, 0 = in all
    rank: int = 16  # ours, as all numbers of the adapters
    alpha: int = 0  # 0 = twice the rank
    dropout: float = 0.0
    targets: tuple[str, ...] = ()  # names of linear layers; none = all but the head
    bf16: bool = False  # frozen weights in bfloat16; where all are trained, they stay float32 and are computed with so
    bits: int = 0  # frozen weights of 4 or 8 bits (bitsandbytes), 0 = as they are
    checkpointing: bool = False  # what a layer made is computed again for its gradient, not kept
    chat: bool = False  # questions as a turn of the model's chat template
    device: str = "cpu"

    def __post_init__(self) -> None:
        """Raise `BadInput` for what does not go together."""
        if self.full and (self.top or self.bits or self.targets):
            raise BadInput("upper layers alone, chosen layers or few bits go with adapters; leave them or --full out")
        if self.top and self.checkpointing:
            raise BadInput(
                "layers below the top ones keep nothing to compute again; leave out --top or --checkpointing"
            )
        if self.rank < 1 or self.alpha < 0 or not 0 <= self.dropout < 1:
            raise BadInput("a rank of 1 or more, an alpha of 0 or more and a dropout of 0 to below 1 are possible")

    @property
    def told(self) -> dict[str, Any]:
        """What a run depends on, as plain data: what is not as it is by default."""
        plain = asdict(Tuning())
        changed = {k: v for k, v in asdict(self).items() if v != plain[k] and k not in ("device", "checkpointing")}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in changed.items()}


class Tokens(Protocol):
    """A tokenizer."""

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        ...

    def ask(self, question: str, /) -> list[int]:
        """The tokens of a question, up to where the answer begins."""
        ...

    def said(self, answer: str, /) -> list[int]:
        """The tokens of an answer after a question, without the end."""
        ...

    def turn(self, question: str, /) -> Any:
        """The question as TRL takes it, which makes the same tokens of it: a text, or a conversation."""
        ...

    def fast(self) -> Any:
        """The tokenizer as one of transformers."""
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
    tuning: Tuning = field(default_factory=Tuning)
    halves: SplitDecoder | None = None  # in place of the body, where only its upper layers are trained
    read: list[int] = field(default_factory=lambda: [0])  # how many tokens went through the body so far

    @property
    def device(self) -> str:
        """What computes."""
        return self.tuning.device

    def parameters(self) -> dict[str, "Tensor"]:
        """The trained tensors by name."""
        own = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        return own | {f"value.{name}": p for name, p in self.value.named_parameters()}

    def save(self, folder: Path) -> None:
        """Write the model (adapters alone where only they were trained) and its tokenizer in their own formats."""
        need("transformers").utils.logging.disable_progress_bar()
        self.model.save_pretrained(folder)
        self.tokens.save(folder)

    def begin(self, rows: Sequence[Sequence[int]]) -> PrefixCache:
        """Rows of tokens, read, to be gone on from; those that are alike are read once."""
        self.read[0] += sum(map(len, set(map(tuple, rows))))
        return read_prefix(self.body, rows, pad=self.tokens.end, device=self.device)

    def states(self, before: Sequence[Sequence[int]], after: "Tensor", mask: "Tensor") -> "Tensor":
        """Hidden states (n, T + 1, d) at the last token before, and at each of the tokens after (n, T).

        What comes before several rows is read once; what has nothing after it is read by halves where there are some.
        """
        torch = need("torch")
        if self.tuning.checkpointing and torch.is_grad_enabled():
            return self._anew(before, after * mask, mask)
        if after.shape[1]:
            begun = self.begin(before)
            self.read[0] += int(mask.sum())
            return torch.cat([begun.last[:, None], begun.then(after * mask, mask)], 1)  # type: ignore[no-any-return]
        self.read[0] += sum(map(len, before))
        rows, seen = padded(before, pad=self.tokens.end, device=self.device)
        inputs = {"input_ids": rows, "attention_mask": seen, "position_ids": (seen.cumsum(1) - 1).clamp(min=0)}
        found: Tensor = self.halves(**inputs) if self.halves else self.body(**inputs, use_cache=False).last_hidden_state
        return found[:, -1:]

    def _anew(self, before: Sequence[Sequence[int]], after: "Tensor", mask: "Tensor") -> "Tensor":
        """The same states, each row read for itself, its layers computed again when the gradient comes back."""
        torch = need("torch")
        rows, seen = padded(before, pad=self.tokens.end, device=self.device)
        rows, seen = torch.cat([rows, after.to(rows)], 1), torch.cat([seen, mask.to(seen)], 1)
        self.read[0] += int(seen.sum())
        places = (seen.cumsum(1) - 1).clamp(min=0)
        with _computing_again(self.body):
            out = self.body(input_ids=rows, attention_mask=seen, position_ids=places, use_cache=False)
        found: Tensor = out.last_hidden_state[:, rows.shape[1] - after.shape[1] - 1 :]
        return found

    def values(self, states: "Tensor") -> "Tensor":
        """The value of each state, without a gradient to the model: the value head learns alone.

        It sees the direction of a state alone. States are long (50 in SmolLM2): at the rate of the adapters one step
        of Adam would move the value of each by more than rewards differ.
        """
        values: Tensor = self.value(need("torch").nn.functional.normalize(states.detach().float(), dim=-1))
        return values.squeeze(-1)


def build(name: str, model: Any, tokens: Tokens, tuning: Tuning | None = None, *, seed: int = 0) -> Causal:
    """A loaded model made ready for training: all of it, or adapters, which stay in float32."""
    how = tuning or Tuning()
    torch = need("torch")
    body, head = model.get_decoder(), model.get_output_embeddings()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        wrapped = model if how.full else with_adapters(model, body, how)
        value = torch.nn.Linear(model.config.hidden_size, 1)
    for parameter in value.parameters():
        torch.nn.init.zeros_(parameter)
    for frozen in wrapped.parameters() if how.bf16 and not how.full and not how.bits else ():
        frozen.data = frozen.data if frozen.requires_grad else frozen.data.bfloat16()
    (wrapped if how.bits else to_device(wrapped, how.device)).train(mode=False)
    if how.checkpointing:
        _enable_checkpointing(wrapped, body)
    halves = SplitDecoder(body, how.top) if how.top else None
    read = _InBfloat16(body, how.device) if how.bf16 and how.full else body
    return Causal(name, tokens, wrapped, read, head, value.to(how.device), how, halves)


class _InBfloat16:
    """A decoder whose weights are float32 and which computes in bfloat16; its states come back as float32."""

    def __init__(self, body: Any, device: str) -> None:
        self._body, self._device = body, device.partition(":")[0]

    def __call__(self, **given: Any) -> Any:
        torch = need("torch")
        with torch.autocast(self._device, dtype=torch.bfloat16):
            out = self._body(**given)
        out.last_hidden_state = out.last_hidden_state.float()
        return out

    def modules(self) -> Any:
        return self._body.modules()


def _enable_checkpointing(model: Any, body: Any) -> None:
    """Make the layers ready to be computed again; raises `BadInput` for a model that has none such."""
    with warnings.catch_warnings(), suppress(ValueError):  # of a model without such layers
        warnings.simplefilter("ignore", FutureWarning)  # of the name's end in transformers 6
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if not any(_again(m) for m in body.modules()):
        raise BadInput("this model has no layers that could be computed again; leave out --checkpointing")


def _again(module: Any) -> bool:
    """Whether a module computes again what it did not keep."""
    return bool(getattr(module, "gradient_checkpointing", False)) and hasattr(module, "_gradient_checkpointing_func")


@contextmanager
def _computing_again(body: Any) -> Iterator[None]:
    """While this lasts, layers keep nothing; they do so in training only, which nothing else of them is in."""
    layers = [m for m in body.modules() if _again(m)]
    for layer in layers:
        layer.training = True
    try:
        yield
    finally:
        for layer in layers:
            layer.training = False


def load_causal(model: str, folder: Path, tuning: Tuning | None = None) -> "tuple[str, Any, HubTokens]":
    """What `build` makes ready: a model by name; smollm2 (of the data folder `folder`), a folder, a name on the hub."""
    how = tuning or Tuning()
    path = str(as_folder(model, folder)) if model in MODELS else model
    number = {"bits": how.bits} if how.bits else {"dtype": "float32"}
    tokenizer, causal = load_transformer("AutoModelForCausalLM", path, how.device if how.bits else "cpu", **number)
    return Path(model).name if Path(model).is_dir() else model, causal, HubTokens(tokenizer, chat=how.chat)


class HubTokens:
    """A tokenizer of transformers; with `chat` a question is a turn of the model's own template."""

    def __init__(self, tokenizer: Any, *, chat: bool = False) -> None:
        """Raises `BadInput` for one that has no end-of-text token, or no template where one is wanted."""
        if tokenizer.eos_token_id is None:
            raise BadInput("the tokenizer has no end-of-text token; training needs one")
        if chat and not tokenizer.chat_template:
            raise BadInput("the model has no chat template; leave out --chat, or train one that was tuned for chat")
        self._tokenizer, self.chat = tokenizer, chat
        self.end: int = tokenizer.eos_token_id

    def ask(self, question: str, /) -> list[int]:
        """The tokens of a question; raises `BadInput` for one that writes a token of control, such as an end."""
        if strange := [mark for mark in self._tokenizer.all_special_tokens if mark in question]:
            raise BadInput(f"a question holds {strange[0]!r}, which steers the model; take it out of the cases")
        if not self.chat:
            return list(self._tokenizer(question).input_ids)
        text = self._tokenizer.apply_chat_template(self.turn(question), add_generation_prompt=True, tokenize=False)
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    def turn(self, question: str, /) -> Any:
        """The question as TRL takes it."""
        return [{"role": "user", "content": question}] if self.chat else question

    def said(self, answer: str, /) -> list[int]:
        """The tokens of an answer, none of them special; without a template it stands a space after its question."""
        text = answer if self.chat else f" {answer}"
        return list(self._tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids)

    def decode(self, tokens: Sequence[int], /) -> str:
        """The text of tokens, without special ones."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    def fast(self) -> Any:
        """The tokenizer, which pads on the left."""
        self._tokenizer.padding_side = "left"
        return self._tokenizer

    def save(self, folder: Path, /) -> None:
        """Write the tokenizer's files."""
        self._tokenizer.save_pretrained(folder)


def with_adapters(model: Any, decoder: Any, how: Tuning, *, head: str = "") -> Any:
    """A model with low-rank adapters in its decoder; nothing else is trained but a `head` of that name."""
    count = model.config.num_hidden_layers
    which: dict[str, Any] = {"layers_to_transform": list(range(count - how.top, count))} if how.top else {}
    which |= {"modules_to_save": [head], "task_type": "SEQ_CLS"} if head else {"task_type": "CAUSAL_LM"}
    linear = linear_layers(decoder)
    if strange := [name for name in how.targets if name not in linear]:
        raise BadInput(f"the model has no linear layer {strange[0]!r}; it has {', '.join(linear)}")
    numbers = {"r": how.rank, "lora_alpha": how.alpha or 2 * how.rank, "lora_dropout": how.dropout}
    peft = need("peft")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)  # peft 0.21
        return peft.get_peft_model(
            model, peft.LoraConfig(**numbers, target_modules=list(how.targets) or linear, **which)
        )


def linear_layers(decoder: Any) -> list[str]:
    """The names of the linear layers of a decoder, without where they stand and without adapters' own."""
    linear = need("torch").nn.Linear
    names = [name for name, m in decoder.named_modules() if isinstance(m, linear) and "lora_" not in name]
    return sorted({name.removesuffix(".base_layer").rpartition(".")[2] for name in names})
