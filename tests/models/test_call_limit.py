"""A number of calls that is not passed, in whichever way a model is asked."""

from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgmed.models.asking import ask_with_schema, streamed
from kgmed.models.base import Message, Reply, ledger
from kgmed.models.fakes import Echo
from kgmed.models.limits import BudgetSpent, CallLimit, CountedLLM, RecordedLLM

HELLO = (Message("user", "one two"),)


class Able:
    """A model that can be asked in every way."""

    name = "able"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        return Reply("plain", 1, 1)

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        return Reply("{}", 1, 1)

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        yield "a"
        yield "b"
        return Reply("ab", 1, 1)


def test_the_call_after_the_last_is_not_made() -> None:
    llm = CallLimit(Echo(), 2)
    assert [llm(HELLO).text, llm(HELLO).text] == ["one two", "one two"]
    with pytest.raises(BudgetSpent, match="echo was asked 2 times"):
        llm(HELLO)


def test_ten_threads_pass_it_as_often_as_is_allowed() -> None:
    llm = CallLimit(Echo(), 5)

    def one(_: int) -> bool:
        try:
            llm(HELLO)
        except BudgetSpent:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(one, range(50))) == 5


def test_every_way_of_asking_goes_through_and_is_counted() -> None:
    llm = RecordedLLM(CallLimit(CountedLLM(Able()), 3), behind=True)
    with ledger() as book:
        assert llm(HELLO).text == "plain"
        assert ask_with_schema(llm, HELLO, {"type": "object"}).text == "{}"
        assert list(streamed(llm, HELLO)) == ["a", "b"]
        with pytest.raises(BudgetSpent):
            next(streamed(llm, HELLO))
    assert (book.spent().calls, book.spent().failed, book.reached) == (4, 1, 3)


def test_a_stream_that_is_left_half_way_is_a_failed_call() -> None:
    llm = RecordedLLM(Able())
    with ledger() as book:
        pieces = streamed(llm, HELLO)
        next(pieces)
        pieces.close()
    assert (book.spent().calls, book.spent().failed) == (1, 1)


def test_the_settings_of_the_model_are_those_of_what_stands_before_it() -> None:
    class Set(Able):
        @property
        def settings(self) -> dict[str, object]:
            return {"temperature": 0}

    assert RecordedLLM(CountedLLM(CallLimit(Set(), 1))).settings == {"temperature": 0}
    assert repr(CallLimit(Echo(), 1)) == "CallLimit(Echo(name='echo'))"
