"""Replies as they come: the words of a model that streams, for whoever listens.

A model may have `stream` beside its `__call__`. `telling(show)` makes a listener of `show` for the length of a block;
what readers then ask for through `aloud` is told to it piece by piece, by models that cannot stream in one piece.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from queue import Queue
from threading import Event
from typing import Protocol

from kgmed.stages import LLM, Message, Reply

_listener: ContextVar[Callable[[str], object] | None] = ContextVar("listener", default=None)


class Streams(Protocol):
    """A language model that can give its reply piece by piece."""

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The pieces of the reply, and the whole of it as the generator's value.

        Raises what a call raises; a reply that breaks off raises `Busy` after the pieces that came.
        """
        ...


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


def told(pieces: Generator[str, None, Reply], on_token: Callable[[str], object]) -> Reply:
    """The reply that a stream ends in, after each of its pieces was handed to `on_token`."""
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            reply: Reply = end.value
            return reply
        try:
            on_token(piece)
        except BaseException:
            pieces.close()
            raise


def pulled(work: Callable[[Callable[[str], bool]], Reply]) -> Generator[str, None, Reply]:
    """The pieces that `work(put)` puts, from a thread of its own; then what it returns, or raises.

    `put` gives back whether the work may end, since nobody takes any more pieces.

    >>> list(pulled(lambda put: Reply("Hi there") if not (put("Hi") or put(" there")) else Reply("")))
    ['Hi', ' there']
    """
    pieces: Queue[str | Future[Reply]] = Queue()
    left = Event()

    def put(piece: str) -> bool:
        if piece and not left.is_set():
            pieces.put(piece)
        return left.is_set()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(copy_context().run, work, put)
        done.add_done_callback(pieces.put)
        try:
            while isinstance(piece := pieces.get(), str):
                yield piece
        finally:
            left.set()
        return piece.result()


@contextmanager
def telling(on_token: Callable[[str], object]) -> Iterator[None]:
    """While the block runs, `on_token` gets the words that readers have a model say, in this thread.

    A reader that has to ask again, since not all evidence fits, tells again from the start.
    """
    before = _listener.set(on_token)
    try:
        yield
    finally:
        _listener.reset(before)


def aloud(llm: LLM, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
    """The model's reply, told to the listener of this thread where there is one."""
    on_token = _listener.get()
    if on_token is None:
        return llm(messages, max_tokens=max_tokens)
    return told(streamed(llm, messages, max_tokens=max_tokens), on_token)
