"""The ways of asking a language model: as a stream, for data of a schema, for the likelihood of a text; and what stands
before a model and passes all of them on.
"""

import json
import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from queue import Queue
from threading import Event
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, ModelFailed
from kgmed.language.text import lazily
from kgmed.models.base import LLM, FilledPrompt, Message, Reply
from kgmed.stop import check_stop

# --- Replies as they come: the words of a model that streams, for whoever listens.
# A model may have `stream` beside its `__call__`. `telling(show)` makes a listener of `show` for the length of a block;
# what readers then ask for through `aloud` is told to it piece by piece, by models that cannot stream in one piece.


@dataclass
class _Listener:
    """Who hears the words that readers have a model say, and that they begin anew."""

    on_token: Callable[[str], object]
    on_restart: Callable[[], object]
    begun: bool = False


_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


def streamed(llm: LLM, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
    """The reply of any model piece by piece; one that cannot stream gives it in one piece.

    >>> from kgmed.models.fakes import Echo
    >>> list(streamed(Echo(), [Message("user", "Hello")]))
    ['Hello']
    """
    stream = getattr(llm, "stream", None)  # an instance check sees nothing through wrappers
    if callable(stream):
        whole: Reply = yield from stream(messages, max_tokens=max_tokens)
        return whole
    reply = llm(messages, max_tokens=max_tokens)
    if reply.text:
        yield reply.text
    return reply


def read_stream(pieces: Generator[str, None, Reply], on_token: Callable[[str], object] = lambda _: None) -> Reply:
    """The reply that a stream ends in, after each of its pieces was handed to `on_token`."""
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            reply: Reply = end.value
            return reply
        try:
            check_stop()
            on_token(piece)
        except BaseException:
            pieces.close()
            raise


def stream_from_thread(work: Callable[[Callable[[str], bool]], Reply]) -> Generator[str, None, Reply]:
    """The pieces that `work(put)` puts, from a thread of its own; then what it returns, or raises.

    `put` gives back whether the work may end, since nobody takes any more pieces.

    >>> list(stream_from_thread(lambda put: Reply("Hi there") if not (put("Hi") or put(" there")) else Reply("")))
    ['Hi', ' there']
    """
    pieces: Queue[str | Future[Reply]] = Queue()
    left = Event()

    def put(piece: str) -> bool:
        if piece and not left.is_set():
            pieces.put(piece)
        return left.is_set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, work, put).add_done_callback(pieces.put)
        try:
            while isinstance(piece := pieces.get(), str):
                yield piece
        finally:
            left.set()
        return piece.result()


@contextmanager
def listening(on_token: Callable[[str], object], on_restart: Callable[[], object] = lambda: None) -> Iterator[None]:
    """While the block runs, `on_token` gets the words that readers have a model say, in this thread.

    A reader that has to ask again, since not all evidence fits, calls `on_restart` and begins anew.
    """
    before = _listener.set(_Listener(on_token, on_restart))
    try:
        yield
    finally:
        _listener.reset(before)


def streamed_reply(llm: LLM, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
    """The model's reply, told to the listener of this thread where there is one."""
    listener = _listener.get()
    if listener is None:
        return llm(messages, max_tokens=max_tokens)
    if listener.begun:
        listener.on_restart()
    listener.begun = True
    aloud = _Aloud(listener)
    reply = read_stream(streamed(llm, messages, max_tokens=max_tokens), aloud)
    aloud.end()
    return reply


# --- Data out of a language model's reply: a tolerant reading of JSON, one more try with the reason, then a typed
# failure.
# A model that has `as_json` beside its `__call__` is asked by JSON schema, where a schema is given; the reply is parsed
# all the same, since a server may ignore the schema, and a reply that is cut off at its length is no JSON.
#
# Models wrap JSON in fences and prose, leave a comma before the closing bracket, write an ellipsis for "and so on", use
# full-width punctuation, or stop in mid-list. `loads` undoes the first four and refuses the last.


T = TypeVar("T")
# What chat templates, reasoning models and gateways leave in a reply: thinking between marks (tags, Mistral's, Kimi's,
# the folded part of Open WebUI, the channels of gpt-oss), turn marks around the answer.
_TAGS = r"(?:think|thinking|thought|reasoning|reflection|seed:think)"
_THINKS = lazily(  # X begins what X_end ends
    rf"(?P<tag><{_TAGS}>|\[THINK\]|◁think▷)|(?P<tag_end></{_TAGS}>|\[/THINK\]|◁/think▷)"
    r"|(?P<fold><details type=\"reasoning\"[^>]{0,200}>)|(?P<fold_end></details>)"
    r"|(?P<channel>(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<>]{0,80}<\|message\|>)"
    r"|(?P<channel_end><\|end\|>)"
)
_BEGUN = lazily(  # a mark that is not whole yet
    r"(?:<\|(?:start|channel)\|>[^<>]{0,80}){0,2}(?:<(?:[^<>\s]{0,60}|details [^<>]{0,200}))?\Z"
    r"|\[/?[A-Z]{0,5}\Z|◁[^▷]{0,8}\Z"
)
_HEAD = lazily(r"\s*(?:<s>\s*)?(?:<[|｜][^|｜<>]{1,40}[|｜]>\s*(?:assistant|final)?\s*)+|\s*<s>")
_TURN_ENDS = lazily(r"<[|｜][^|｜<>]{1,40}[|｜]>|<end_of_turn>|</s>\s*\Z")
_LONGEST_MARK = 300  # characters
_MARKS = lazily(r'\\.|["{}\[\]]', re.DOTALL)
_STRING = lazily(r'"(?:\\.|[^"\\])*+("?)')
_ELLIPSIS = lazily(r"^(?:\.{2,}|…+|etc\.?|等等?)$", re.IGNORECASE)
_WIDE = str.maketrans("｛｝［］【】：，、“”„＂", '{}[][]:,,""""')
_PAIRS = {"{": "}", "[": "]"}


def ask_with_schema(
    llm: LLM, messages: Sequence[Message], schema: Mapping[str, object] | None, /, *, max_tokens: int = 256
) -> Reply:
    """The reply of any model, held to the schema where there is one and the model can.

    >>> from kgmed.models.fakes import Echo
    >>> ask_with_schema(Echo(), [Message("user", "Hello")], strings_schema("terms")).text
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
        return ask_with_schema(self.llm, messages, self.schema, max_tokens=self.max_tokens).text

    def _last(self, said: str) -> T:
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
    for candidate in _bracketed(without_thinking(reply)):
        try:
            value = _without_ellipsis(json.loads(repair_json(candidate)))
        except (ValueError, RecursionError) as error:
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
        for start, stop in sorted(_closed(version)):
            if start >= end:
                end = stop
                yield version[start:stop]


def _closed(text: str) -> Iterator[tuple[int, int]]:
    """Each bracket that is closed: its place and one past its closing one; strings count from the bracket on.

    So brackets with an odd number of quotes before them and those with an even one are two texts of their own.
    """
    halves = (_OpenBrackets(), _OpenBrackets())
    quotes = 0
    for match in _MARKS.finditer(text):
        mark = match.group()
        if mark == '"':
            quotes ^= 1
        elif mark[-1] in _PAIRS:
            halves[quotes].open(match.end() - 1, mark)
        elif mark[0] != "\\":
            yield from ((start, match.end()) for start in halves[quotes].close(mark))


class _OpenBrackets:
    """The brackets that are open; one behind a backslash is none to those before it, but may begin an object."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self._escaped: list[list[tuple[int, str]]] = [[]]  # by how many are open around them

    def open(self, place: int, mark: str) -> None:
        one = (place, _PAIRS[mark[-1]])
        if mark[0] == "\\":
            self._escaped[-1].append(one)
        else:
            self._open.append(one)
            self._escaped.append([])

    def close(self, mark: str) -> Iterator[int]:
        """The places of the brackets that this one closes; one of the wrong kind leaves those around open for good."""
        yield from (place for place, wanted in self._escaped.pop() if wanted == mark)
        if self._open and self._open[-1][1] == mark:
            yield self._open.pop()[0]
        else:
            self._open, self._escaped = [], [[]]


def thoughts(reply: str) -> list[str]:
    """What a model thought aloud, each stretch of it.

    >>> thoughts("<think>Gout?</think>Gout. <think>"), thoughts("Is it gout?</think>Gout.")
    (['Gout?'], ['Is it gout?'])
    """
    return [reply[begin:end] for _, begin, end, _ in _thinking(reply)]


def without_thinking(reply: str, instead: str = "", *, trim: bool = False) -> str:
    """The reply without what the model thought aloud and the marks of turns, with `trim` without the blanks around it.

    Thinking may lack its first mark, which many templates put into the prompt, or its last where it was cut off.

    >>> without_thinking("A <think>Gout?</think> B <think>", "-"), without_thinking("Is it?</think>Gout.<|im_end|>")
    ('A - B <think>', 'Gout.')
    """
    found = list(_thinking(reply))
    begins, ends = [0, *(end for *_, end in found)], [*(start for start, *_ in found), len(reply)]
    kept = [reply[a:b] for a, b in zip(begins, ends, strict=True)]
    if trim and found:
        kept = [kept[0].rstrip(), *(piece.strip() for piece in kept[1:-1]), kept[-1].lstrip()]
    text = instead.join(kept)
    begin = head.end() if (head := _HEAD.match(text)) else 0
    return text[begin : end.start()] if (end := _TURN_ENDS.search(text, begin)) else text[begin:]


def without_marks(prompt: str) -> str:
    """A prompt in a chat template without the marks of its turns, so that its words can be read.

    >>> without_marks("<|im_start|>user\\nfever, no rash<|im_end|>")
    '\\nuser\\nfever, no rash\\n'
    """
    return _TURN_ENDS.sub("\n", prompt)


def spoken(reply: Reply) -> Reply:
    """The reply with what was thought aloud apart from its text.

    >>> found = spoken(Reply("<think>Gout?</think>Gout."))
    >>> found.text, found.thoughts
    ('Gout.', 'Gout?')
    """
    text = without_thinking(reply.text, "\n", trim=True)
    if text == reply.text:
        return reply
    text = text.strip()
    thought = "\n".join(thought.strip() for thought in (reply.thoughts, *thoughts(reply.text)) if thought.strip())
    return replace(reply, text=text, thoughts=thought)


def _thinking(reply: str) -> Iterator[tuple[int, int, int, int]]:
    """Each stretch of thinking: where its mark, its words, its end mark begin, and where that ends."""
    begin, at = None, 0
    for mark in _THINKS.finditer(reply):
        if begin is not None and mark.lastgroup == f"{begin.lastgroup}_end":
            yield begin.start(), begin.end(), mark.start(), mark.end()
            begin, at = None, mark.end()
        elif begin is None and mark.lastgroup in ("tag", "fold", "channel"):
            begin = mark
        elif begin is None and not at and mark.lastgroup == "tag_end":  # the template has begun it
            yield 0, 0, mark.start(), mark.end()
            at = mark.end()
    if begin is not None and not reply[at : begin.start()].strip():  # all that is said is thought, and cut off
        yield begin.start(), begin.end(), len(reply), len(reply)


class _Aloud:
    """Hands on the pieces of a reply less what is thought, as far as pieces can tell; thinking may prove so late."""

    def __init__(self, listener: _Listener) -> None:
        self._listener, self._held, self._said = listener, "", False
        self._until = ""  # what ends the thinking that has begun

    def __call__(self, piece: str) -> None:
        self._held += piece
        while mark := _THINKS.search(self._held):
            before, self._held = self._held[: mark.start()], self._held[mark.end() :]
            if self._until:
                self._until = "" if mark.lastgroup == self._until else self._until
            elif mark.lastgroup != "tag_end":
                self._say(before)
                self._until = f"{mark.lastgroup}_end" if mark.lastgroup in ("tag", "fold", "channel") else ""
            elif self._said:  # what was said so far was thought
                self._said = False
                self._listener.on_restart()
        begun = _BEGUN.search(self._held, max(0, len(self._held) - _LONGEST_MARK))
        keep = begun.start() if begun else len(self._held)
        if not self._until:
            self._say(self._held[:keep])
        self._held = self._held[keep:]

    def end(self) -> None:
        """Say what was held back."""
        if not self._until:
            self._say(self._held)

    def _say(self, text: str) -> None:
        if not self._said and (head := _HEAD.match(text)):
            text = text[head.end() :]
        if text and (self._said or text.strip()):
            self._said = True
            self._listener.on_token(text)


def repair_json(text: str) -> str:
    """JSON without what models add to it: full-width punctuation outside strings, ellipses, trailing commas.

    >>> repair_json('["a", "b, ]", ...,]'), repair_json("{'a': 1}")
    ('["a", "b, ]"]', '{"a": 1}')
    """
    if '"' not in text:
        text = re.sub(r"(?<=[\[{,:])(\s*)'|'(?=\s*[\]},:])", r'\1"', text.translate(_WIDE))
    parts = _strings_apart(text)
    parts[::2] = [re.sub(r"\.{2,}|…+", "", part.translate(_WIDE)) for part in parts[::2]]
    kept = _strings_apart("".join(parts))
    kept[::2] = [re.sub(r",(?:\s*,)*\s*(?=[\]}])", "", re.sub(r",(?:\s*,)+", ",", part)) for part in kept[::2]]
    return "".join(kept)


def _strings_apart(text: str) -> list[str]:
    """The text cut before and after each string: the strings are every second part."""
    parts, at = [], 0
    for match in _STRING.finditer(text):
        if match[1]:  # else a quote that is never closed
            parts += [text[at : match.start()], match.group()]
            at = match.end()
    return [*parts, text[at:]]


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


# --- How likely a language model finds a text: the protocol, what is made of its numbers, and how they are passed on.
# What stands before a model (meter, cache, ledger) counts and keeps a question for likelihoods as a call like any
# other:
# `as_messages` is what was asked, `as_reply` what came, and `from_reply` gives the numbers back bit by bit.


@dataclass(frozen=True, slots=True)
class LogProbs:
    """Natural logarithms of the probability of each token of each text, given the prompt and the tokens before it.

    >>> found = LogProbs((np.log([0.5, 0.5]), np.log([0.25])))
    >>> found.totals.round(3).tolist(), found.means.round(3).tolist(), found.perplexities.round(3).tolist()
    ([-1.386, -1.386], [-0.693, -1.386], [2.0, 4.0])
    """

    tokens: tuple[NDArray[np.float64], ...]
    read: int = 0  # tokens that the model read for it, prompt and texts; 0 = not told

    @property
    def totals(self) -> NDArray[np.float64]:
        """The log-probability of each text (n,); 0 for one without tokens."""
        return np.array([t.sum() for t in self.tokens], np.float64)

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean a token (n,); 0 for a text without tokens."""
        return self.totals / np.array([max(1, len(t)) for t in self.tokens], np.float64)

    @property
    def perplexities(self) -> NDArray[np.float64]:
        """exp(-mean) of each text (n,), which is 2 ** (-mean of log2 p), whatever the base."""
        return np.asarray(np.exp(-self.means), np.float64)


class Likelihood(Protocol):
    """A language model that says how likely it finds a text."""

    @property
    def name(self) -> str:
        """What the model is called, for the run's record."""
        ...

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely each text is right after the prompt, which must not be empty; no chat template is put around it.

        A space between prompt and continuation belongs to the continuation. Raises `Unavailable` or `ModelFailed`.
        """
        ...


class Start(str):
    """The beginning of a text that knows the prompt it was made from."""

    prompt: str = ""  # name, language and hash

    @classmethod
    def of(cls, text: str, prompt: str) -> "Start":
        """That text, made from that prompt."""
        made = cls(text)
        made.prompt = prompt
        return made


def gives_likelihoods(llm: object) -> bool:
    """Whether the model at the end of what stands before it says how likely it finds a text."""
    while (inner := getattr(llm, "llm", None)) is not None:
        llm = inner
    return callable(getattr(llm, "logprobs", None))


def likelihood_model(llm: object, start: str, continuations: Sequence[str]) -> LogProbs:
    """What a model says, or what stands before it; raises `BadInput` for one that gives no likelihoods."""
    ask = getattr(llm, "logprobs", None)
    if not callable(ask):
        name = getattr(llm, "name", type(llm).__name__)
        raise BadInput(f"{name} gives no likelihoods of texts; take --llm smollm2, gguf/PATH or hf/FOLDER")
    found: LogProbs = ask(start, continuations)
    return found


def as_messages(start: str, continuations: Sequence[str]) -> FilledPrompt:
    """The question for likelihoods as messages, of roles that no conversation has."""
    messages = [Message("start", str(start)), *(Message("continuation", text) for text in continuations)]
    return FilledPrompt.of(messages, start.prompt if isinstance(start, Start) else "")


def as_reply(found: LogProbs, name: str) -> Reply:
    """The numbers as a reply: JSON, in which a float comes back as it was.

    >>> as_reply(LogProbs((np.array([-0.5, -1.0]),), 7), "tiny")
    Reply(text='[[-0.5, -1.0]]', tokens_in=7, tokens_out=0, model='tiny')
    """
    return Reply(json.dumps([t.tolist() for t in found.tokens]), found.read, 0, name)


def from_reply(reply: Reply) -> LogProbs:
    """The numbers in a reply; raises `ModelFailed` where it holds none."""
    try:
        return LogProbs(tuple(np.array(row, np.float64) for row in json.loads(reply.text)), reply.tokens_in)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFailed("what was kept of likelihoods holds none; refresh it, or delete the file") from error


def shared_start(start: Sequence[int], whole: Sequence[int]) -> int:
    """How many tokens at their beginning two texts share: less than all of `start` where a token spans the border.

    Raises `ModelFailed` where they share none.

    >>> shared_start([1, 2, 3], [1, 2, 9, 4]), shared_start([1, 2], [1, 2])
    (2, 2)
    """
    same = next((i for i, (a, b) in enumerate(zip(start, whole, strict=False)) if a != b), min(len(start), len(whole)))
    if not same:
        raise ModelFailed("no text can be given a probability without a word before it; give a longer prompt")
    return same


# --- What stands before a model and passes every way of asking it on.
# In one piece, by JSON schema, word by word, and for the likelihood of texts.


Note = Callable[[Reply], Reply]


class Passing:
    """A model before a model; what it does around a call is its `around`."""

    def __init__(self, llm: LLM) -> None:
        """Stand before a model."""
        self.llm = llm

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.llm.name

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of the model."""
        found: Mapping[str, object] = getattr(self.llm, "settings", {})
        return found

    @property
    def trained(self) -> Mapping[str, Any]:
        """How the model was asked in training (`kgmed.models.files.trained_task`)."""
        found: Mapping[str, Any] = getattr(self.llm, "trained", {})
        return found

    def __repr__(self) -> str:
        """What stands before what."""
        return f"{type(self).__name__}({self.llm!r})"

    def around(self, messages: Sequence[Message]) -> AbstractContextManager[Note]:
        """What is done before a call, with its reply, and where it fails; here nothing."""
        return nullcontext(as_it_is)

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply."""
        with self.around(messages) as note:
            return note(self.llm(messages, max_tokens=max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to a JSON schema where the model can."""
        with self.around(messages) as note:
            return note(ask_with_schema(self.llm, messages, schema, max_tokens=max_tokens))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece."""
        with self.around(messages) as note:
            reply = yield from streamed(self.llm, messages, max_tokens=max_tokens)
            return note(reply)

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely the model finds each text after the prompt; raises `BadInput` where it cannot say."""
        with self.around(as_messages(prompt, continuations)) as note:
            return from_reply(note(as_reply(likelihood_model(self.llm, prompt, continuations), self.name)))


def as_it_is(reply: Reply) -> Reply:
    """The reply."""
    return reply
