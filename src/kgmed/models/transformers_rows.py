"""Replies of a causal model of `transformers` that grow together, a token each at every step.

A prompt is read when its call joins, without padding where none is of its length; from then on each step computes the
next token of every row. What the model remembers of all rows (keys and values of its layers) lies in one array a layer:
a row ends at the same column as all others, and a row that leaves is replaced by the last one.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgmed.errors import BadInput
from kgmed.models.transformers_text import Asked

_SPARE = 128  # columns that are kept free where the array is laid out anew
_APART = 100  # tokens of padding that are read in the time that reading a prompt apart takes (bench/batching.py)
_ATTENTION = {"full_attention", "sliding_attention", "chunked_attention"}


@dataclass(slots=True)
class _Row:
    """One call on its way."""

    number: int
    asked: Asked
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


class Rows:
    """The calls on their way: `kgmed.models.joining.Work` on tokens."""

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

    def step(self, new: Mapping[int, Asked], /) -> Mapping[int, list[int]]:
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
        lengths = torch.tensor([len(p) for p in prompts])
        said = self._forward(ids, lengths, longest, cache)
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

    >>> [[len(r.asked.prompt) for r in g] for g in by_length([_Row(0, Asked([5] * n, 1), None) for n in (90, 300, 70)])]
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

    class Shown(DynamicLayer):  # type: ignore[no-untyped-call]
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

    return transformers.Cache(layers=[Shown(keys, values) for keys, values in layers])
