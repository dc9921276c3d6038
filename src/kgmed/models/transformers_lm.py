"""A language model in this process through `transformers`: by a folder, a name on the model hub, or a GGUF file.

Larger in memory than `Gguf`; for models of a hub, for GPUs, for what is trained here, and for many calls at once (what
is faster on a CPU: bench/batching.py). Gives log-probabilities as well: `perplexities` of a text, and the choice of an
option by its likelihood.
"""

import copy
import hashlib
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, PromptTooLong
from kgmed.models.asking import LogProbs, shared_start, stream_from_thread
from kgmed.models.base import FilledPrompt, Message, Reply, sampling
from kgmed.models.encoders import checked_dtype
from kgmed.models.files import MODELS, as_folder, load_transformer, trained_task
from kgmed.models.gguf import whole_characters, without_tags
from kgmed.models.transformers_rows import (
    BatchedReplies,
    CallBatcher,
    RowRequest,
    Schema,
    SchemaState,
    computing,
    ends_of,
    generate_tokens,
    schema_processor,
    schema_reader,
    streaming,
)
from kgmed.registry import models

# --- Log-probabilities of texts after one start by a causal model of `transformers`, which reads the start once.


AT_ONCE = 8  # texts
Scores = list[NDArray[np.float64]]


def row_logprobs(model: Any, rows: Sequence[Sequence[int]], begins: Sequence[int], device: str) -> Scores:
    """The log-probabilities of the tokens of each row from where it begins, which is after its first token.

    What all rows share is read once where the model keeps keys and values of all that it has read, else with each row.
    """
    shared = min(begins, default=1) - 1  # the last token before is read again, for what it says of the next
    read = _read(model, rows[0][:shared], device) if shared else None
    shared = shared if read is not None else 0
    found: Scores = []
    for i in range(0, len(rows), AT_ONCE):
        found += _group(model, rows[i : i + AT_ONCE], begins[i : i + AT_ONCE], read, shared, device)
    return found


def _read(model: Any, start: Sequence[int], device: str) -> Any:
    """What a model keeps of a text that it has read; None where it cannot be given to several."""
    import torch  # heavy
    from transformers.cache_utils import DynamicCache, DynamicLayer

    last = {"logits_to_keep": 1} if "logits_to_keep" in signature(model.forward).parameters else {}
    kept = model(input_ids=torch.tensor([list(start)], device=device), use_cache=True, **last)
    found = getattr(kept, "past_key_values", None)
    whole = isinstance(found, DynamicCache) and all(type(layer) is DynamicLayer for layer in found.layers)
    return found if whole else None


def _group(
    model: Any, rows: Sequence[Sequence[int]], begins: Sequence[int], read: Any, shared: int, device: str
) -> Scores:
    """Some rows at once, after what was read of them."""
    import torch  # heavy

    rest = max(map(len, rows)) - shared
    ids = torch.zeros((len(rows), rest), dtype=torch.long)
    mask = torch.ones((len(rows), shared + rest), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row) - shared] = torch.tensor(list(row[shared:]))
        mask[i, len(row) :] = 0
    past = {}
    if read is not None:
        past = {"past_key_values": copy.deepcopy(read)}
        past["past_key_values"].batch_repeat_interleave(len(rows))
    logits = model(input_ids=ids.to(device), attention_mask=mask.to(device), **past).logits
    found = []
    for i, (row, begin) in enumerate(zip(rows, begins, strict=True)):
        said = torch.log_softmax(logits[i, begin - 1 - shared : len(row) - 1 - shared].double(), -1).cpu().numpy()
        found.append(said[np.arange(len(row) - begin), list(row[begin:])])
    return found


# --- The tokens at which names of a closed list part.


END = -1  # stands for the end of a name, where a longer name goes on


@dataclass(frozen=True, slots=True)
class Fork:
    """A place where names part: the tokens before it, and for each token that may follow the names behind it."""

    before: tuple[int, ...]
    after: Mapping[int, tuple[int, ...]]  # token or END -> numbers of names


def forks(names: Sequence[Sequence[int]]) -> list[Fork]:
    """The forks of tokenised names, shortest first; a name's probability is the product of its turns there.

    >>> [(f.before, dict(f.after)) for f in forks([(5, 6), (5, 7), (8,)])]
    [((), {5: (0, 1), 8: (2,)}), ((5,), {6: (0,), 7: (1,)})]
    """
    prefixes = {tuple(name[:k]) for name in names for k in range(len(name) + 1)}
    found = [Fork(before, _after(names, before)) for before in sorted(prefixes, key=lambda p: (len(p), p))]
    return [fork for fork in found if len(fork.after) > 1]


def _after(names: Sequence[Sequence[int]], before: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """For each token that follows `before`, the names that go on with it."""
    k, after = len(before), dict[int, tuple[int, ...]]()
    for number, name in enumerate(names):
        if tuple(name[:k]) == before:
            token = name[k] if len(name) > k else END
            after[token] = (*after.get(token, ()), number)
    return after


AUTO = "auto"
_CONTEXT = 2048  # tokens, where the model names no limit


class TransformersLM:
    """A causal model: equal prompts get equal replies, as long as each is answered alone (`batch` 1).

    It is greedy unless `sampled` says otherwise; calls that are drawn are answered alone, each by its own seed.

    Safe between threads. With `batch` above 1 calls that come at once are generated together, which takes less
    than one after the other; sums are then rounded otherwise, so that a reply can differ from the one given alone.
    """

    def __init__(
        self, model: str | Path, *, device: str = "cpu", context: int = 0, batch: int = 1, dtype: str = AUTO,
        bits: int = 0, adapter: str | Path = "",
    ) -> None:  # fmt: skip
        """Load a model; `context` = tokens of prompt and reply together, 0 = as many as the model can.

        `batch` = most calls that are generated together; `dtype` one of `DTYPES`, auto = that of the files; `bits` and
        `adapter` as `load_transformer` has them. Raises `BadInput`, `Unavailable` or `ModelFailed`.
        """
        if batch < 1:
            raise BadInput("a batch holds at least one call")
        number = checked_dtype(dtype)
        kind = "AutoModelForCausalLM"
        self._tokenizer, self._model = load_transformer(kind, model, device, dtype=number, bits=bits, adapter=adapter)
        self.trained = trained_task(adapter or model)
        path, more = Path(model), f" + {Path(adapter).name}" if adapter else ""
        self.name = f"hf/{path.name if path.exists() else model}{more}"
        self.context = context or _limit(self._model)
        self._device, self._batch, self._dtype, self._bits = device, batch, dtype, bits
        # one thread computes for all: memory that many threads take from the C library is never given back, gigabytes
        self._one = ThreadPoolExecutor(1, "model")
        self._together: CallBatcher[RowRequest, list[int]] | None = None
        if batch > 1:
            rows = BatchedReplies(self._model, self._ends, device, self._held)
            self._together = CallBatcher(rows, most=batch, pool=self._one)

    @property
    def settings(self) -> dict[str, object]:
        """What replies depend on beside the messages, for a cache; a sample of the weights tells trainings apart.

        `batch`, `dtype`, `bits` and `device` are told where they were asked for.
        """
        asked = {"batch": self._batch if self._batch > 1 else 0, "dtype": self._dtype.removeprefix(AUTO),
                 "bits": self._bits, "device": self._device.removeprefix("cpu")}  # fmt: skip
        told = {name: value for name, value in asked.items() if value}
        return {**sampling().settings, "context": self.context, "weights": self._weights, **told}

    @cached_property
    def bytes(self) -> int:
        """How much memory the weights take."""
        return sum(weight.numel() * weight.element_size() for weight in self._model.parameters())

    @cached_property
    def _weights(self) -> str:
        """The beginning of a hash over some 64 numbers of every weight of the model."""
        digest = hashlib.sha256()
        for weight in self._model.parameters():
            flat = weight.detach().flatten()
            digest.update(flat[:: max(1, len(flat) // 64)].double().cpu().numpy().tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def _ends(self) -> list[int]:
        return ends_of(self._model, self._tokenizer)

    @cached_property
    def _known(self) -> Any:
        """What is known of the tokenizer, to hold replies to a schema."""
        return schema_reader(self._tokenizer, self._ends)

    def __repr__(self) -> str:
        """The name, the device and the context."""
        return f"TransformersLM({self.name}, device={self._device!r}, context={self.context})"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The reply; `PromptTooLong` where prompt and reply do not fit into the context.

        The prompt that a model of `kgmed train` was trained with is asked as it was there.
        """
        if self._as_trained(messages) and self.trained["policy"] == "choice":
            return self._chosen(messages)
        return self._replied(self._asked(messages, max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Schema, /, *, max_tokens: int = 256) -> Reply:
        """The reply, which can only be JSON of that schema, or the beginning of it where `max_tokens` cut it off.

        Where the tokenizer cannot be held to one (see `reads`) the reply is a plain one.
        """
        asked = self._asked(messages, max_tokens)
        return self._replied(asked._replace(schema=schema) if self._known is not None else asked)

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece, never in a batch; one that is left early stops the model."""
        if self._as_trained(messages):
            return stream_from_thread(lambda _: self(messages, max_tokens=max_tokens))
        return stream_from_thread(lambda put: self._alone(self._asked(messages, max_tokens), put))

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely each text is after the prompt; both are read as they are, without a chat template."""
        start = self._tokens(prompt)
        rows = [self._tokens(prompt + text) for text in continuations]
        begins = [shared_start(start, row) for row in rows]
        longest = max(map(len, rows), default=0)
        if longest > self.context:
            raise self._too_long(longest)
        with computing(self.name):
            found = self._one.submit(self._scored, rows, begins).result()
        return LogProbs(tuple(found), sum(map(len, rows)))

    def _scored(self, rows: list[list[int]], begins: list[int]) -> list[NDArray[np.float64]]:
        """The log-probabilities of the tokens of each row from where it begins."""
        import torch  # heavy

        with torch.inference_mode():
            return row_logprobs(self._model, rows, begins, self._device)

    def _asked(self, messages: Sequence[Message], max_tokens: int) -> RowRequest:
        asked = RowRequest(self._prompt(messages), max_tokens, sampling=sampling())
        if len(asked.prompt) + max_tokens > self.context:
            raise self._too_long(len(asked.prompt) + max_tokens)
        return asked

    def _replied(self, asked: RowRequest) -> Reply:
        """The reply, alone or beside others."""
        alone = self._together is None or asked.sampling.temperature > 0 or asked.sampling.penalty != 1
        if alone or self._together is None:
            return self._alone(asked)
        with computing(self.name):
            return self._reply(asked, self._together(asked))

    def _alone(self, asked: RowRequest, put: Callable[[str], bool] | None = None) -> Reply:
        """The reply; its pieces are handed to `put` on the way."""
        told = dict(streaming(self._tokenizer, put) if put else {})
        if asked.schema is not None:
            told["logits_processor"] = schema_processor(self._held(asked.schema))
        with computing(self.name):
            row = self._one.submit(generate_tokens, self._model, self._tokenizer, asked, self._device, told).result()
        return self._reply(asked, row)

    def _held(self, schema: Schema) -> SchemaState:
        return SchemaState(self._known, schema, self._ends)

    def _reply(self, asked: RowRequest, row: Sequence[int]) -> Reply:
        said = self._tokenizer.decode(row, skip_special_tokens=True)
        cut = len(row) == asked.most
        return Reply(whole_characters(said) if cut else said, len(asked.prompt), len(row), self.name, cut)

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of a conversation: by the model's chat template, or where it has none as paragraphs."""
        turns = [{"role": m.role, "content": _whole(without_tags(m.text))} for m in messages]
        if self._as_trained(messages) and not self.trained["chat"]:
            return [int(t) for t in self._tokenizer(turns[-1]["content"])["input_ids"]]
        if not self._tokenizer.chat_template:
            return self._tokens("\n\n".join(turn["content"] for turn in turns) + "\n\n")
        text = self._tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        return [int(t) for t in self._tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _as_trained(self, messages: Sequence[Message]) -> bool:
        """Whether this is the prompt that the model was trained with."""
        asked = messages.prompt.split(".")[0] if isinstance(messages, FilledPrompt) else ""
        return bool(asked) and self.trained.get("prompt") == asked

    def _chosen(self, messages: Sequence[Message]) -> Reply:
        """The likeliest of the diseases that the model chooses among, its turns shared out at each fork."""
        prompt, names = self._prompt(messages), self.trained["diseases"]
        lead = "" if self.trained["chat"] else " "
        said = [self._tokenizer(lead + name, add_special_tokens=False)["input_ids"] for name in names]
        rows = [[*prompt, *row, self._tokenizer.eos_token_id] for row in said]
        if (longest := max(map(len, rows))) > self.context:
            raise self._too_long(longest)
        with computing(self.name):
            found = self._one.submit(self._scored, rows, [len(prompt)] * len(rows)).result()
        turns = [(*row, END) for row in said]
        known = {(row[:k], row[k]): x for row, logp in zip(turns, found, strict=True) for k, x in enumerate(logp)}
        chances = np.zeros(len(names))
        for fork in forks(said):
            logp = np.array([known[fork.before, turn] for turn in fork.after])
            logp -= np.logaddexp.reduce(logp)
            for x, leads in zip(logp, fork.after.values(), strict=True):
                chances[list(leads)] += x
        return Reply(names[int(chances.argmax())], len(prompt), 0, self.name)

    def _tokens(self, text: str) -> list[int]:
        """The tokens of a text, with the mark of a beginning where the model has one."""
        ids = self._tokenizer(_whole(without_tags(text)), add_special_tokens=False)["input_ids"]
        begin = self._tokenizer.bos_token_id
        adds = begin is not None and self._tokenizer("")["input_ids"][:1] == [begin]
        return [*([int(begin)] if adds else []), *map(int, ids)]

    def _too_long(self, tokens: int) -> PromptTooLong:
        message = f"{self.name} can read {self.context} tokens at once and was given {tokens}; ask with less evidence"
        return PromptTooLong(message, tokens=tokens, limit=self.context)


def _whole(text: str) -> str:
    """The text without halves of characters, which tokenizers cannot read."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _limit(model: Any) -> int:
    """The tokens that a model can read at once."""
    config: object = model.config
    named = (getattr(config, field, None) for field in ("max_position_embeddings", "n_positions"))
    return next((int(n) for n in named if n), _CONTEXT)


@models.register("hf/FOLDER_OR_NAME", takes=("folder", "batch", "precision", "device", "bits", "adapter"))
def _hub_model(
    name: str, *, folder: Path, batch: int, precision: str, device: str, bits: int, adapter: str
) -> TransformersLM:
    """A folder (a model's or an adapter's), a name on the model hub, a GGUF file, or a packaged model."""
    path, more = Path(name).expanduser(), Path(adapter).expanduser()
    place = as_folder(name, folder) if name in MODELS else path if path.exists() else name
    return TransformersLM(
        place, batch=batch, dtype=precision or AUTO, device=device or "cpu", bits=bits,
        adapter=more if adapter and more.exists() else adapter,
    )  # fmt: skip
