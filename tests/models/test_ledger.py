"""What a run asks of models is written down: prompts, calls, cached calls, failures, tokens, money."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from kgmed.errors import ModelFailed
from kgmed.models.base import Message, ledger
from kgmed.models.fakes import Echo, Scripted
from kgmed.models.limits import CountedLLM, Price, RecordedLLM
from kgmed.models.named import CachedLLM
from kgmed.prompts import prompt

HELLO = (Message("user", "one two"),)
PRICE = Price(Decimal(1_000_000), Decimal(2_000_000), date(2026, 1, 1))


def test_calls_are_counted_with_their_tokens_and_cost() -> None:
    llm = RecordedLLM(Echo(), price=PRICE)
    with ledger() as book:
        llm(HELLO)
        llm(HELLO)
    spent = book.spent()
    assert (spent.calls, spent.cached, spent.failed, spent.tokens_in, spent.tokens_out) == (2, 0, 0, 4, 4)
    assert spent.cost == 12.0


def test_a_reply_from_the_cache_costs_nothing_and_is_told_apart(tmp_path: Path) -> None:
    llm = RecordedLLM(CachedLLM(CountedLLM(Echo()), tmp_path / "replies.sqlite"), price=PRICE, behind=True)
    with ledger() as first:
        llm(HELLO)
    with ledger() as second:
        llm(HELLO)
    assert (first.spent().calls, first.spent().cached, first.spent().cost) == (1, 0, 6.0)
    assert (second.spent().calls, second.spent().cached, second.spent().tokens_in) == (1, 1, 0)


def test_a_call_that_fails_is_counted_and_fails_on() -> None:
    llm = RecordedLLM(Scripted([ModelFailed("no"), "yes"]))
    with ledger() as book:
        with pytest.raises(ModelFailed):
            llm(HELLO)
        llm(HELLO)
    assert (book.spent().calls, book.spent().failed, book.spent().tokens_out) == (2, 1, 1)


def test_without_a_price_no_cost_is_told() -> None:
    with ledger() as book:
        RecordedLLM(Echo())(HELLO)
    assert book.spent().cost is None


def test_the_prompts_are_those_asked_with_each_once() -> None:
    asked = prompt("hykge/hypothesis")
    llm = RecordedLLM(Echo())
    with ledger() as book:
        llm(asked.messages(question="a"))
        llm(asked.messages(question="b"))
        llm(HELLO)
    assert book.prompts == (f"hykge/hypothesis.en {asked.hash}",)


def test_an_outer_ledger_holds_what_an_inner_one_does() -> None:
    llm = RecordedLLM(Echo())
    with ledger() as outer:
        with ledger() as inner:
            llm(HELLO)
        llm(HELLO)
    assert (len(inner.calls), len(outer.calls)) == (1, 2)


def test_runs_in_ten_threads_do_not_write_into_each_others_ledgers() -> None:
    llm = RecordedLLM(Echo())

    def one(count: int) -> int:
        with ledger() as book:
            for _ in range(count):
                llm(HELLO)
        return len(book.calls)

    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(one, range(10))) == list(range(10))


def test_nothing_is_written_outside_a_run() -> None:
    assert RecordedLLM(Echo())(HELLO).text == "one two"
