"""Data out of a language model's reply: a tolerant reading of JSON, one more try with the reason, then a typed failure.

A model that has `as_json` beside its `__call__` is asked by JSON schema, where a schema is given; the reply is parsed
all the same, since a server may ignore the schema, and a reply that is cut off at its length is no JSON.

Models wrap JSON in fences and prose, leave a comma before the closing bracket, write an ellipsis for "and so on", use
full-width punctuation, or stop in mid-list. `loads` undoes the first four and refuses the last.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from kgmed.errors import ModelFailed
from kgmed.stages import LLM, Message, Reply

T = TypeVar("T")
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_ELLIPSIS = re.compile(r"^(?:\.{2,}|…+|etc\.?|等等?)$", re.IGNORECASE)
_WIDE = str.maketrans("｛｝［］【】：，、“”„＂", '{}[][]:,,""""')
_PAIRS = {"{": "}", "[": "]"}


class Shapes(Protocol):
    """A language model whose reply can be held to a JSON schema."""

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, JSON of that schema as far as it is not cut off; raises what a call raises."""
        ...


def shaped(
    llm: LLM, messages: Sequence[Message], schema: Mapping[str, object] | None, /, *, max_tokens: int = 256
) -> Reply:
    """The reply of any model, held to the schema where there is one and the model can.

    >>> from kgmed.models.fakes import Echo
    >>> shaped(Echo(), [Message("user", "Hello")], strings_schema("terms")).text
    'Hello'
    """
    as_json = getattr(llm, "as_json", None)  # an instance check sees nothing through wrappers
    if schema is None or not callable(as_json):
        return llm(messages, max_tokens=max_tokens)
    reply: Reply = as_json(messages, schema, max_tokens=max_tokens)
    return reply


def strings_schema(key: str, *, least: int = 0, most: int = 0) -> dict[str, object]:
    """The JSON schema of an object with a list of strings under a key; `most` 0 = any number.

    >>> strings_schema("terms", most=3)["properties"]
    {'terms': {'type': 'array', 'items': {'type': 'string'}, 'minItems': 0, 'maxItems': 3}}
    """
    items = {"type": "array", "items": {"type": "string"}, "minItems": least} | ({"maxItems": most} if most else {})
    return {"type": "object", "properties": {key: items}, "required": [key], "additionalProperties": False}


def slots_schema(count: int) -> dict[str, Any]:
    """The JSON schema of an object with a list of exactly `count` strings or nulls.

    >>> slots_schema(2)["properties"]["list"]
    {'type': 'array', 'items': {'anyOf': [{'type': 'string'}, {'type': 'null'}]}, 'minItems': 2, 'maxItems': 2}
    """
    either = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    items = {"type": "array", "items": either, "minItems": count, "maxItems": count}
    return {"type": "object", "properties": {"list": items}, "required": ["list"], "additionalProperties": False}


class Malformed(ModelFailed):
    """A model's reply does not hold the data asked for."""


@dataclass
class Tally:
    """How many replies were asked for, how many a second time, and how many failed even so; safe between threads."""

    asked: int = 0
    again: int = 0
    failed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, *, asked: int = 0, again: int = 0, failed: int = 0) -> None:
        """Count."""
        with self._lock:
            self.asked, self.again, self.failed = self.asked + asked, self.again + again, self.failed + failed


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """Asks a model and parses its reply; `tally` counts what went wrong."""

    llm: LLM
    parse: Callable[[str], T]  # raises `Malformed` with the reason
    max_tokens: int = 256
    again: str = "That reply cannot be used: $reason. Give the answer once more, as JSON and nothing else."
    tally: Tally = field(default_factory=Tally)
    schema: Mapping[str, object] | None = None  # of the reply, for models that can be held to one

    def __call__(self, messages: Sequence[Message], /) -> T:
        """What the reply, or the reply to a second request that gives the reason, holds; raises `Malformed`."""
        self.tally.add(asked=1)
        said = self._say(messages)
        try:
            return self.parse(said)
        except Malformed as problem:
            self.tally.add(again=1)
            more = (Message("assistant", said), Message("user", self.again.replace("$reason", str(problem))))
            return self._last(self._say((*messages, *more)))

    def _say(self, messages: Sequence[Message]) -> str:
        """What the model says."""
        return shaped(self.llm, messages, self.schema, max_tokens=self.max_tokens).text

    def _last(self, said: str) -> T:
        """What the second reply holds."""
        try:
            return self.parse(said)
        except Malformed as problem:
            self.tally.add(failed=1)
            raise Malformed(f"{self.llm.name} gave no usable reply twice: {problem}; it ends {said[-60:]!r}") from None


def loads(reply: str) -> Any:
    """The first JSON object or array of a reply, however wrapped; raises `Malformed` where there is none.

    >>> loads('Sure! ```json\\n{"terms": ["gout", "IL-1",],}\\n``` Hope it helps.')
    {'terms': ['gout', 'IL-1']}
    >>> loads('｛“词”：［“痛风”，“发热”，……］｝')
    {'词': ['痛风', '发热']}
    """
    return next(values(reply))


def values(reply: str) -> Iterator[Any]:
    """Every JSON object or array of a reply, in order; raises `Malformed` at the end where there is none."""
    problem, found = "it holds no JSON object or list", False
    for candidate in _bracketed(_THINKING.sub("", reply)):
        try:
            value = _without_ellipsis(json.loads(mended(candidate)))
        except ValueError as error:
            problem = f"its JSON is damaged ({error})"
        else:
            found = True
            yield value
    if not found:
        raise Malformed(problem)


def _bracketed(text: str) -> Iterator[str]:
    """Every outermost stretch of a text between matching brackets, first as it stands, then with narrow brackets."""
    for version in dict.fromkeys((text, text.translate(_WIDE))):
        end = 0
        for match in re.finditer(r"[{\[]", version):
            if match.start() >= end:
                stop = _closing(version, match.start())
                if stop:
                    end = stop
                    yield version[match.start() : stop]


def _closing(text: str, start: int) -> int:
    """Where the bracket at `start` is closed (one past it), strings skipped; 0 = never."""
    open_: list[str] = []
    quoted = False
    for match in re.finditer(r'\\.|["{}\[\]]', text[start:], re.DOTALL):
        mark = match.group()
        if mark == '"':
            quoted = not quoted
        elif quoted or mark[0] == "\\":
            continue
        elif mark in _PAIRS:
            open_.append(_PAIRS[mark])
        elif mark != open_.pop():
            return 0
        if not open_:
            return start + match.end()
    return 0


def mended(text: str) -> str:
    """JSON without what models add to it: full-width punctuation outside strings, ellipses, trailing commas.

    >>> mended('["a", "b, ]", ...,]'), mended("{'a': 1}")
    ('["a", "b, ]"]', '{"a": 1}')
    """
    if '"' not in text:
        text = re.sub(r"(?<=[\[{,:])(\s*)'|'(?=\s*[\]},:])", r'\1"', text.translate(_WIDE))
    parts = re.split(r'("(?:\\.|[^"\\])*")', text)
    parts[::2] = [re.sub(r"\.{2,}|…+", "", part.translate(_WIDE)) for part in parts[::2]]
    joined = "".join(parts)
    kept = re.split(r'("(?:\\.|[^"\\])*")', joined)
    kept[::2] = [re.sub(r",(?:\s*,)*\s*(?=[\]}])", "", re.sub(r",(?:\s*,)+", ",", part)) for part in kept[::2]]
    return "".join(kept)


def _without_ellipsis(value: Any) -> Any:
    """The value without list items that only say "and so on"."""
    if isinstance(value, dict):
        return {k: _without_ellipsis(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_ellipsis(v) for v in value if not (isinstance(v, str) and _ELLIPSIS.match(v.strip()))]
    return value


def strings(reply: str, key: str) -> list[str]:
    """The list of strings under a key of the reply's object, or the list that the reply is; each once.

    The object may have one key of another name. Raises `Malformed`.

    >>> strings('{"terms": ["Gout", "gout", " "]}', "terms"), strings('As in [1]: {"x": ["a"]}', "terms")
    (['Gout'], ['a'])
    """
    problem = Malformed("nothing was found")
    for value in values(reply):
        try:
            return _list_under(value, key)
        except Malformed as error:
            problem = error
    raise problem


def _list_under(value: Any, key: str) -> list[str]:
    """The list of distinct strings under a key of one value."""
    if isinstance(value, dict):
        value = value.get(key, next(iter(value.values())) if len(value) == 1 else None)
    if not isinstance(value, list):
        raise Malformed(f'it must be an object with the key "{key}" and a list of strings')
    if strange := [v for v in value if not isinstance(v, str)]:
        raise Malformed(f'the list under "{key}" must hold strings only, not {json.dumps(strange[0])[:40]}')
    found: dict[str, str] = {}
    for text in (" ".join(v.split()) for v in value):
        found.setdefault(text.casefold(), text)
    return [text for text in found.values() if text]
