"""Replies of a causal model of `transformers` that grow together, a token each at every step.

A prompt is read when its call joins, without padding where none is of its length; from then on each step computes the
next token of every row. What the model remembers of all rows (keys and values of its layers) lies in one array a layer:
a row ends at the same column as all others, and a row that leaves is replaced by the last one.
"""

import inspect
import json
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, ModelFailed, Unavailable
from kgmed.models.base import GREEDY, PENALTY, Sampling

# --- Replies of a causal model of `transformers` held to a JSON schema: of the tokens that would leave it none is
# chosen.
# The library llguidance says which tokens may come next; it reads the tokenizer once, which takes about a second.


Schema = Mapping[str, object]
# one way to write each value: a small model that may write white space writes nothing else
_COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def schema_reader(tokenizer: Any, ends: Sequence[int]) -> Any:
    """What llguidance knows of a tokenizer; None of one that it cannot read, such as one of words or of Python's own.

    Raises `Unavailable` where the library is not installed.
    """
    try:
        from llguidance.hf import from_tokenizer  # heavy
    except ImportError as error:
        raise Unavailable('replies by JSON schema need llguidance: pip install "kgmed[local]"') from error
    try:
        return from_tokenizer(tokenizer, eos_token=list(ends)) if ends else None
    except ValueError:
        return None


class SchemaState:
    """What holds one reply to its schema, token by token."""

    def __init__(self, known: Any, schema: Schema, ends: Sequence[int]) -> None:
        """`known` = what `reads` gave; raises `ModelFailed` for a schema that the library cannot hold one to."""
        from llguidance import LLMatcher

        grammar = LLMatcher.grammar_from_json_schema(json.dumps({**schema, "x-guidance": _COMPACT}))
        self._row, self._ends = LLMatcher(known, grammar), list(ends)
        if self._row.is_error():
            said = " ".join(self._row.get_error().split())
            raise ModelFailed(f"a reply cannot be held to its JSON schema: {said[:200]}")

    def went_on(self, token: int) -> bool:
        """Whether the schema took that token, and had not ended before it."""
        row = self._row
        return not row.is_stopped() and bool(row.validate_tokens([token])) and bool(row.consume_token(token))

    def allowed(self, many: int) -> NDArray[np.bool_]:
        """Which of so many tokens may come next: those of the schema, or the ends where there is none."""
        found = np.zeros(many, bool)
        if not self._row.is_stopped():
            bits = np.unpackbits(np.frombuffer(self._row.compute_bitmask(), np.uint8), bitorder="little")[:many]
            found[: len(bits)] = bits
        if not found.any():
            found[self._ends] = True
        return found


def schema_processor(held: SchemaState) -> Any:
    """What makes `generate` hold its one row to a schema; where no token is left it ends, and is no whole JSON."""
    import torch  # heavy
    import transformers

    class Only(transformers.LogitsProcessor):
        begun = False

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            if not self.begun or held.went_on(int(input_ids[0, -1])):
                scores[0, torch.from_numpy(~held.allowed(scores.shape[1]))] = -torch.inf
            self.begun = True
            return scores

    return transformers.LogitsProcessorList([Only()])


# --- A reply of a causal model of `transformers`, whole or piece by piece.


class RowRequest(NamedTuple):
    """One call: the tokens of the prompt, the most of the reply, and the JSON schema that it is held to, if any."""

    prompt: list[int]
    most: int
    schema: Schema | None = None
    sampling: Sampling = GREEDY


@contextmanager
def computing(name: str) -> Iterator[None]:
    """A block in which a model computes; what its device or its library cannot do becomes a `ModelFailed`."""
    import torch  # heavy

    try:
        yield
    except torch.OutOfMemoryError as error:
        mend = "give --bits 8 or 4, a smaller --batch, or --evidence-tokens"
        raise ModelFailed(f"{name} has not enough memory on its device ({_said(error)}); {mend}") from None
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        mend = "try --precision float32 without --bits, or another --device"
        raise ModelFailed(f"{name} cannot compute ({_said(error)}); {mend}") from error


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__


def generate_tokens(model: Any, tokenizer: Any, asked: RowRequest, device: str, told: Mapping[str, Any]) -> list[int]:
    """The tokens of the reply, up to its end or its most; `told` = further arguments of `generate`."""
    import torch  # heavy
    import transformers

    ends, pad = ends_of(model, tokenizer), tokenizer.pad_token_id
    config = transformers.GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=asked.most,
        **_drawing(asked.sampling),
        eos_token_id=ends or None,
        pad_token_id=pad if pad is not None else (ends[0] if ends else None),
    )
    ids = torch.tensor([asked.prompt], device=device)
    torch.manual_seed(asked.sampling.seed)
    with torch.inference_mode():
        whole = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config, **told)
    return [int(token) for token in whole[0, len(asked.prompt) :]]


def _drawing(how: Sampling) -> Mapping[str, Any]:
    """What `generate` is told of the draw."""
    held = {PENALTY: how.penalty} if how.penalty != 1 else {}
    if not how.temperature:
        return {"do_sample": False, **held}
    return {"do_sample": True, "temperature": how.temperature, "top_p": how.top_p, "top_k": 0, **held}


def ends_of(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a reply."""
    ends = model.generation_config.eos_token_id or tokenizer.eos_token_id
    return [] if ends is None else [int(e) for e in (ends if isinstance(ends, list) else [ends])]


def streaming(tokenizer: Any, put: Callable[[str], bool]) -> Mapping[str, Any]:
    """What makes `generate` hand its text to `put`, and end when that says so."""
    import transformers  # heavy

    state = {"left": False}

    class Told(transformers.TextStreamer):
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:  # noqa: FBT001, FBT002
            state["left"] = put(text)

    class AskerLeft(transformers.StoppingCriteria):
        def __call__(self, input_ids: Any, scores: Any, **kwargs: object) -> Any:
            import torch

            return torch.full((len(input_ids),), fill_value=state["left"], device=input_ids.device)

    return {
        "streamer": Told(tokenizer, skip_prompt=True, skip_special_tokens=True),
        "stopping_criteria": transformers.StoppingCriteriaList([AskerLeft()]),
    }


# --- Calls of several threads answered together, step by step: each joins when it comes and leaves when it is done.
# One thread works for all, a step at a time; what else it is given runs between two steps. A call that is interrupted
# leaves alone; where a step fails every call in it is begun anew and asked alone, so that an error is its own. One that
# belongs to nobody, such as too little memory for all of them, is a warning.


A = TypeVar("A")
R = TypeVar("R")
Asked = TypeVar("Asked", contravariant=True)
Said = TypeVar("Said", covariant=True)


class BatchWork(Protocol[Asked, Said]):
    """What goes on with several calls at once; each has a number that its caller chose."""

    def step(self, new: Mapping[int, Asked], /) -> Mapping[int, Said]:
        """Take these in, go one step on with all, and give the replies of those that are done, which leave."""

    def leave(self, number: int, /) -> None:
        """Go on without that call."""

    def clear(self) -> None:
        """Forget every call, whatever state a failure left."""


class CallBatcher(Generic[A, R]):
    """Answers calls, up to `most` of them at once, in the one thread of `pool`; safe between threads."""

    def __init__(self, work: BatchWork[A, R], *, most: int, pool: ThreadPoolExecutor) -> None:
        """`pool` must have one thread only, so that `work` needs no lock."""
        self._work, self._most, self._pool = work, most, pool
        self._lock = threading.Lock()
        self._count = 0
        self._waiting: dict[int, tuple[A, Future[R]]] = {}
        self._going: dict[int, tuple[A, Future[R]]] = {}
        self._runs = False

    def __call__(self, asked: A, /) -> R:
        """The reply to that call; raises what the work raises where it is given this call alone."""
        reply: Future[R] = Future()
        with self._lock:
            self._count += 1
            self._waiting[self._count] = (asked, reply)
            if not self._runs:
                self._pool.submit(self._on)
                self._runs = True
        try:
            return reply.result()
        except BaseException:
            reply.cancel()  # where this thread was interrupted: the work leaves it out from its next step on
            raise

    def _on(self) -> None:
        """One step; the next one waits behind whatever else the thread was given."""
        with self._lock:
            for number in [n for n, (_, reply) in self._going.items() if reply.cancelled()]:
                del self._going[number]
                self._work.leave(number)
            self._waiting = {n: call for n, call in self._waiting.items() if not call[1].cancelled()}
            new = dict(islice(self._waiting.items(), self._most - len(self._going)))
            for number in new:
                self._going[number] = self._waiting.pop(number)
            self._runs = bool(self._going)
        if self._runs:
            self._step({n: asked for n, (asked, _) in new.items()})
            self._again()

    def _step(self, new: Mapping[int, A]) -> None:
        """Go on, and hand over the replies that are done."""
        try:
            done = self._work.step(new)
        except Exception as error:  # noqa: BLE001 - whose error it is, is found by asking each alone
            answered = [self._alone(number, asked, reply) for number, (asked, reply) in self._going.items()]
            self._going.clear()
            if all(answered):
                told = f"{len(answered)} calls failed together and were answered one by one: {error!r}"
                warnings.warn(told, RuntimeWarning, stacklevel=2)
            return
        for number, said in done.items():
            _end(self._going.pop(number)[1], said)

    def _alone(self, number: int, asked: A, reply: Future[R]) -> bool:
        """Answer one call while no other is there; whether that went well."""
        self._work.clear()
        try:
            done = self._work.step({number: asked})
            while number not in done:
                done = self._work.step({})
        except Exception as error:  # noqa: BLE001 - it is raised in the thread whose call it was
            self._work.clear()
            _end(reply, error=error)
            return False
        _end(reply, done[number])
        return True

    def _again(self) -> None:
        """See to the next step; an interpreter that ends takes no more work, and nobody may wait for it."""
        try:
            self._pool.submit(self._on)
        except RuntimeError as error:
            with self._lock:
                for _, reply in [*self._going.values(), *self._waiting.values()]:
                    _end(reply, error=error)


def _end(reply: Future[R], said: R | None = None, *, error: Exception | None = None) -> None:
    """Hand a reply over, or what was raised in its place, unless nobody waits for it."""
    if reply.set_running_or_notify_cancel():
        if error is None:
            reply.set_result(said)  # type: ignore[arg-type]
        else:
            reply.set_exception(error)


_SPARE = 128  # columns that are kept free where the array is laid out anew
_APART = 100  # tokens of padding that are read in the time that reading a prompt apart takes (bench/batching.py)
_ATTENTION = {"full_attention", "sliding_attention", "chunked_attention"}


@dataclass(slots=True)
class _Row:
    """One call on its way."""

    number: int
    asked: RowRequest
    held: Any  # what follows its schema, or None
    said: list[int] = field(default_factory=list)

    @property
    def read(self) -> int:
        """Tokens that the model remembers: all but the last one said."""
        return len(self.asked.prompt) + len(self.said) - 1

    @property
    def done(self) -> bool:
        """Whether as much is said as was asked for."""
        return len(self.said) >= self.asked.most


class BatchedReplies:
    """The calls on their way: `kgmed.models.transformers_rows.BatchWork` on tokens."""

    def __init__(self, model: Any, ends: Sequence[int], device: str, follow: Callable[[Any], Any]) -> None:
        """`ends` = the tokens that end a reply; `follow` makes of a schema what holds a row to it.

        Raises `BadInput` for a model that keeps a state in place of keys and values.
        """
        kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or ())
        if getattr(model, "_is_stateful", False) or kinds - _ATTENTION:
            raise BadInput("this model keeps a state that cannot be shared by a batch; ask it without --batch")
        self._model, self._ends, self._device, self._follow = model, ends, device, follow
        self._takes = set(inspect.signature(getattr(model, "get_base_model", lambda: model)().forward).parameters)
        self._rows: list[_Row] = []
        self._keys: list[Any] = []  # a layer each: rows, heads, columns, numbers
        self._values: list[Any] = []
        self._end = 0  # the column after the last one in use

    def step(self, new: Mapping[int, RowRequest], /) -> Mapping[int, list[int]]:
        """Read the new prompts, or where there are none give every row one token more; the replies that are done."""
        import torch  # heavy

        with torch.inference_mode():
            if not new:
                return self._chosen(self._grown(), range(len(self._rows)))
            rows = [_Row(n, a, None if a.schema is None else self._follow(a.schema)) for n, a in new.items()]
            done: dict[int, list[int]] = {}
            for alike in by_length(rows):
                first = len(self._rows)
                logits, layers = self._prompts([r.asked.prompt for r in alike])
                self._rows += alike
                self._lay([r.asked.prompt for r in alike], layers)
                done |= self._chosen(logits, range(first, len(self._rows)))
            return done

    def leave(self, number: int, /) -> None:
        """Go on without that call."""
        import torch  # heavy

        with torch.inference_mode():
            self._drop(next(i for i, row in enumerate(self._rows) if row.number == number))

    def clear(self) -> None:
        """Forget every call."""
        self._rows, self._keys, self._values, self._end = [], [], [], 0

    def _prompts(self, prompts: Sequence[list[int]]) -> tuple[Any, list[tuple[Any, Any]]]:
        """The logits after each prompt, and the keys and values of every layer; prompts end at the same column."""
        import torch  # heavy
        import transformers

        longest = max(map(len, prompts))
        ids = torch.zeros((len(prompts), longest), dtype=torch.long)
        for i, prompt in enumerate(prompts):
            ids[i, longest - len(prompt) :] = torch.tensor(prompt)
        cache: Any = transformers.DynamicCache()
        said = self._forward(ids, torch.tensor([len(p) for p in prompts]), longest, cache)
        return said, [(layer.keys, layer.values) for layer in cache.layers]

    def _grown(self) -> Any:
        """The logits of the next token of every row; what the model remembers grows by one column."""
        import torch  # heavy

        if self._end == self._keys[0].shape[2]:
            self._room(0, 0)
        lengths = torch.tensor([row.read + 1 for row in self._rows])
        width = int(lengths.max())
        many, end = len(self._rows), self._end + 1
        layers = [(keys[:many], values[:many]) for keys, values in zip(self._keys, self._values, strict=True)]
        ids = torch.tensor([[row.said[-1]] for row in self._rows])
        said = self._forward(ids, lengths, width, _cache(layers, end - width, end))
        self._end = end
        return said

    def _forward(self, ids: Any, lengths: Any, width: int, cache: Any) -> Any:
        """The logits after each row; `lengths` = tokens of each with what was read before, in `width` columns."""
        import torch  # heavy

        here = torch.arange(width) >= width - lengths[:, None]
        positions = (here.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        told = {"position_ids": positions.to(self._device), "logits_to_keep": 1}
        said = self._model(
            input_ids=ids.to(self._device),
            attention_mask=here.long().to(self._device),
            past_key_values=cache,
            use_cache=True,
            **{name: value for name, value in told.items() if name in self._takes},
        )
        return said.logits[:, -1].float()

    def _lay(self, prompts: Sequence[list[int]], layers: Sequence[tuple[Any, Any]]) -> None:
        """Lay what was read of the last rows beside the others."""
        wide, first = layers[0][0].shape[2], len(self._rows) - len(prompts)
        if not first:
            self._keys, self._values, self._end = [k for k, _ in layers], [v for _, v in layers], wide
            return
        if wide > self._end or len(self._rows) > len(self._keys[0]):
            self._room(len(self._rows) - len(self._keys[0]), wide)
        for i, (keys, values) in enumerate(layers):
            self._keys[i][first : len(self._rows), :, self._end - wide : self._end] = keys
            self._values[i][first : len(self._rows), :, self._end - wide : self._end] = values

    def _room(self, rows: int, wide: int) -> None:
        """Lay out the arrays anew: for so many rows more, and prompts so wide."""
        old = min(self._end, max(row.read for row in self._rows))
        end = max(old, wide)

        def laid(layer: Any) -> Any:
            many, heads, _, size = layer.shape
            made = layer.new_zeros((many + max(rows, 0), heads, end + _SPARE, size))
            made[:many, :, end - old : end] = layer[:, :, self._end - old : self._end]
            return made

        for layers in (self._keys, self._values):
            for i, layer in enumerate(layers):
                layers[i] = laid(layer)  # one after the other: not all of them lie there twice
        self._end = end

    def _chosen(self, logits: Any, places: range) -> dict[int, list[int]]:
        """Give each of these rows its likeliest token; the replies that are done by it, which leave."""
        import torch  # heavy

        for i, place in enumerate(places):
            if (held := self._rows[place].held) is not None:
                logits[i, torch.from_numpy(~held.allowed(logits.shape[1])).to(logits.device)] = -torch.inf
        for place, token in zip(places, logits.argmax(1).tolist(), strict=True):
            row = self._rows[place]
            row.said.append(token)
            if row.held is not None and not row.held.went_on(token):
                row.held = None
        done = [p for p in places if self._rows[p].said[-1] in self._ends or self._rows[p].done]
        replies = {self._rows[p].number: self._rows[p].said for p in done}
        for place in reversed(done):
            self._drop(place)
        return replies

    def _drop(self, place: int) -> None:
        """The last row takes the place of one that leaves."""
        last = self._rows.pop()
        if place < len(self._rows):
            self._rows[place] = last
            for layer in [*self._keys, *self._values]:
                layer[place] = layer[len(self._rows)]
        elif not self._rows:
            self.clear()


def by_length(rows: Sequence[_Row]) -> list[list[_Row]]:
    """The rows in groups to read together: a longer one joins where the padding costs less than reading it apart.

    >>> rows = [_Row(0, RowRequest([5] * n, 1), None) for n in (90, 300, 70)]
    >>> [[len(r.asked.prompt) for r in g] for g in by_length(rows)]
    [[70, 90], [300]]
    """
    groups: list[list[_Row]] = []
    longest = 0
    for row in sorted(rows, key=lambda r: len(r.asked.prompt)):
        here = len(row.asked.prompt)
        if groups and (here - longest) * len(groups[-1]) <= _APART:
            groups[-1].append(row)
        else:
            groups.append([row])
        longest = here
    return groups


def _cache(layers: Sequence[tuple[Any, Any]], first: int, last: int) -> Any:
    """What the model takes for its memory: those columns of the arrays, where it writes the last one itself."""
    import transformers  # heavy
    from transformers.cache_utils import DynamicLayer

    class KeptLayer(DynamicLayer):  # type: ignore[no-untyped-call]
        def __init__(self, keys: Any, values: Any) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.keys, self.values = keys[:, :, first : last - 1], values[:, :, first : last - 1]
            self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
            self._whole = keys, values

        def update(self, key_states: Any, value_states: Any, *args: object, **kwargs: object) -> Any:
            keys, values = self._whole
            keys[:, :, last - 1 : last], values[:, :, last - 1 : last] = key_states, value_states
            self.keys, self.values = keys[:, :, first:last], values[:, :, first:last]
            return self.keys, self.values

    return transformers.Cache(layers=[KeptLayer(keys, values) for keys, values in layers])
