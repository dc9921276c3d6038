"""Replies piece by piece, and who hears them."""

import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kgmed.errors import Busy
from kgmed.models.asking import listening, read_stream, streamed, streamed_reply
from kgmed.models.base import Message, Reply
from kgmed.models.fakes import Echo, Scripted
from kgmed.models.limits import Budget, BudgetSpent, Metered, token_bound
from kgmed.models.named import CachedLLM, NotRecorded
from kgmed.records import Context, Evidence, Query, Question
from kgmed.steps.read import LLMReader

HELLO = [Message("user", "Hello there")]


@dataclass
class Streaming:
    """Says its pieces; `breaks` = busy after so many of them, in the first `times` calls."""

    pieces: Sequence[str] = ("Hi", " there")
    breaks: int = -1
    times: int = 99
    name: str = "m"
    closed: int = 0
    calls: list[str] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        self.calls.append("whole")
        return Reply("".join(self.pieces), 5, 2, self.name)

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        self.calls.append("stream")
        try:
            for i, piece in enumerate(self.pieces):
                if i == self.breaks and len(self.calls) <= self.times:
                    raise Busy("it broke off")
                yield piece
        finally:
            self.closed += 1
        return Reply("".join(self.pieces), 5, 2, self.name)


def test_a_model_that_streams_is_told_piece_by_piece_and_any_other_at_once() -> None:
    heard: list[str] = []
    assert read_stream(streamed(Streaming(), HELLO), heard.append) == Reply("Hi there", 5, 2, "m")
    assert heard == ["Hi", " there"]
    assert read_stream(streamed(Echo(), HELLO), heard.append).text == "Hello there"
    assert heard[2:] == ["Hello there"]


def test_nobody_listens_unless_asked_to_and_only_within_the_block() -> None:
    heard: list[str] = []
    llm = Streaming()
    streamed_reply(llm, HELLO)
    with listening(heard.append):
        streamed_reply(llm, HELLO)
    streamed_reply(llm, HELLO)
    assert (llm.calls, heard) == (["whole", "stream", "whole"], ["Hi", " there"])


def test_a_listener_hears_its_own_thread_only() -> None:
    heard: list[str] = []
    with listening(heard.append):
        other = threading.Thread(target=streamed_reply, args=(Streaming(), HELLO))
        other.start()
        other.join()
    assert heard == []


def test_a_listener_that_fails_ends_the_stream() -> None:
    llm = Streaming()

    def full(piece: str) -> None:
        raise OSError("no space")

    with listening(full), pytest.raises(OSError, match="no space"):
        streamed_reply(llm, HELLO)
    assert llm.closed == 1


def test_what_a_reader_says_is_heard_and_is_its_answer() -> None:
    heard: list[str] = []
    evidence = Evidence("Flu | symptom | Fever", "triple")
    llm = Streaming(("Flu causes", " fever", " [1]."))
    with listening(heard.append):
        answer = LLMReader(llm)(
            Query(Question("What does flu cause?")), Context("[1] Flu | symptom | Fever", (evidence,))
        )
    assert "".join(heard) == "Flu causes fever [1]."
    assert "fever" in answer.text


def test_a_cache_keeps_what_was_streamed_and_says_it_again_without_the_model(tmp_path: Path) -> None:
    llm = Streaming()
    cached = CachedLLM(llm, tmp_path / "c.db")
    first = list(cached.stream(HELLO))
    assert (first, list(cached.stream(HELLO)), cached(HELLO).text) == (["Hi", " there"], ["Hi there"], "Hi there")
    assert llm.calls == ["stream"]
    with pytest.raises(NotRecorded):
        list(CachedLLM(llm, tmp_path / "c.db", mode="replay").stream([Message("user", "new")]))


def test_half_a_stream_is_not_kept(tmp_path: Path) -> None:
    cached = CachedLLM(Streaming(breaks=1, times=1), tmp_path / "c.db")
    with pytest.raises(Busy):
        list(cached.stream(HELLO))
    assert list(cached.stream(HELLO)) == ["Hi", " there"]


def test_a_stream_is_metered_like_a_call() -> None:
    llm = Metered(Streaming(), price={}, budget=Budget(tokens=token_bound(HELLO) + 256))
    assert read_stream(llm.stream(HELLO), len).text == "Hi there"
    assert (llm.usage.calls, llm.usage.tokens) == (1, 7)
    with pytest.raises(BudgetSpent):
        next(llm.stream(HELLO))


def test_a_stream_is_tried_again_only_before_its_first_word() -> None:
    llm = Metered(Streaming(breaks=0, times=1), price={}, retries=1, sleep=lambda _: None)
    assert list(llm.stream(HELLO)) == ["Hi", " there"]
    assert llm.usage.retries == 1
    half = Streaming(breaks=1)
    with pytest.raises(Busy):
        list(Metered(half, price={}, retries=1, sleep=lambda _: None).stream(HELLO))
    assert half.calls == ["stream"]


def test_a_stream_that_broke_off_or_was_left_counts_at_its_most() -> None:
    llm = Metered(Streaming(breaks=1), price={})
    with pytest.raises(Busy):
        list(llm.stream(HELLO))
    left = Metered(Streaming(), price={})
    stream = left.stream(HELLO)
    next(stream)
    stream.close()
    for metered in (llm, left):
        assert (metered.usage.calls, metered.usage.assumed, metered.usage.tokens) == (1, 1, token_bound(HELLO) + 256)


def test_a_model_that_cannot_stream_is_metered_and_kept_as_well(tmp_path: Path) -> None:
    cached = CachedLLM(Metered(Scripted(["Hi there"]), price={}), tmp_path / "c.db")
    assert [list(cached.stream(HELLO)) for _ in range(2)] == [["Hi there"]] * 2
