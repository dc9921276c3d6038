"""Calls counted and held within limits."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, Busy, KgmedError, ModelFailed, PromptTooLong, SourceError, Unavailable
from kgmed.models.base import Message, Reply
from kgmed.models.fakes import Scripted
from kgmed.models.limits import Budget, BudgetSpent, Metered, Price, Usage, parse_prices, prices, token_bound
from kgmed.models.named import CachedLLM
from kgmed.servers import TokenBucket

HELLO = [Message("user", "Hello")]
PRICE = {"m": Price(Decimal(2), Decimal(8), date(2026, 1, 1))}


@dataclass
class Model:
    """Uses what it is told to of what it may."""

    use: Callable[[int, int], tuple[int, int]] = lambda most_in, most_out: (most_in, most_out)
    name: str = "m"
    seconds: float = 0.0
    calls: int = 0
    busy: int = 0
    busiest: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        with self.lock:
            self.calls, self.busy = self.calls + 1, self.busy + 1
            self.busiest = max(self.busiest, self.busy)
        time.sleep(self.seconds)
        with self.lock:
            self.busy -= 1
        return Reply("x", *self.use(token_bound(messages), max_tokens), self.name)


def test_tokens_and_cost_add_up_exactly() -> None:
    llm = Metered(Model(lambda i, o: (1000, 100)), price=PRICE)
    for _ in range(3):
        llm(HELLO)
    assert llm.usage == Usage(3, 3000, 300, Decimal("0.0084"))
    assert llm.usage.tokens == 3300


def test_an_unknown_model_costs_an_unknown_sum_and_never_nothing() -> None:
    llm = Metered(Model(name="new"), price=PRICE)
    assert llm.usage.cost is None
    llm(HELLO)
    assert llm.usage.cost is None
    with pytest.raises(BadInput, match="no price of new is known"):
        Metered(Model(name="new"), price=PRICE, budget=Budget(money=Decimal(1)))


def test_a_budget_stops_before_the_call_that_could_pass_it() -> None:
    most = token_bound(HELLO) + 256
    model = Model()
    llm = Metered(model, price={}, budget=Budget(tokens=2 * most + most - 1))
    llm(HELLO)
    llm(HELLO)
    with pytest.raises(BudgetSpent, match=rf"{2 * most} of {3 * most - 1} tokens are spent.* {most} tokens") as caught:
        llm(HELLO)
    assert (model.calls, llm.usage.tokens) == (2, 2 * most)
    assert not isinstance(caught.value, Unavailable)


def test_a_budget_in_money_is_stopped_at_and_said() -> None:
    llm = Metered(Model(), price=PRICE, budget=Budget(money=Decimal("0.001")))
    with pytest.raises(BudgetSpent, match=r"0 of 0\.001 USD are spent.* or 0\.002218 USD"):
        llm(HELLO)
    assert llm(HELLO, max_tokens=1).text == "x"


calls = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(1, 300)), min_size=1, max_size=30)


@given(calls, st.integers(0, 5000), st.integers(0, 40))
def test_no_budget_is_ever_passed_by_threads_at_once(
    asked: list[tuple[float, float, int]], tokens: int, tenths: int
) -> None:
    shares = iter(asked)
    model = Model(lambda i, o: next((1 + int((i - 1) * a), int(o * b)) for a, b, _ in [next(shares)]))
    budget = Budget(Decimal(tenths) / 10000, tokens)
    llm = Metered(model, price=PRICE, budget=budget)

    def one(length: int) -> None:
        try:
            llm(HELLO, max_tokens=length)
        except BudgetSpent:
            return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, [length for _, _, length in asked]))
    assert llm.usage.tokens <= tokens
    assert llm.usage.cost is not None
    assert llm.usage.cost <= Decimal(tenths) / 10000
    assert llm.usage.calls == model.calls


def test_a_call_that_would_fit_when_another_ends_waits_for_it() -> None:
    most = token_bound(HELLO) + 256
    model = Model(lambda i, o: (1, 1), seconds=0.02)
    llm = Metered(model, price={}, budget=Budget(tokens=most + 10))
    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(lambda _: llm(HELLO), range(4)))) == 4
    assert model.busiest == 1


def test_a_reply_that_does_not_say_what_it_took_counts_at_its_most() -> None:
    llm = Metered(Model(lambda i, o: (0, 0)), price=PRICE)
    llm(HELLO)
    assert (llm.usage.tokens_in, llm.usage.tokens_out, llm.usage.assumed) == (token_bound(HELLO), 256, 1)


def test_a_reply_that_cannot_be_used_counts_and_a_refused_prompt_does_not() -> None:
    llm = Metered(Scripted([ModelFailed("garbage"), PromptTooLong("long")]), price={}, retries=3)
    for kind in (ModelFailed, PromptTooLong):
        with pytest.raises(kind):
            llm(HELLO)
    assert (llm.usage.calls, llm.usage.assumed, llm.usage.tokens) == (1, 1, token_bound(HELLO) + 256)


def test_a_busy_server_is_tried_again_with_growing_pauses_that_the_seed_repeats() -> None:
    def run(seed: int) -> list[float]:
        pauses: list[float] = []
        said = [Busy("busy")] * 4 + ["fine"]
        llm = Metered(Scripted(said), price={}, retries=4, seed=seed, sleep=pauses.append)
        assert llm(HELLO).text == "fine"
        assert (llm.usage.retries, llm.usage.calls) == (4, 1)
        return pauses

    first = run(1)
    assert first == run(1) != run(2)
    assert all(2.0**i / 2 <= pause <= 2.0**i for i, pause in enumerate(first))


def test_a_server_that_says_how_long_to_wait_is_obeyed_up_to_a_minute() -> None:
    pauses: list[float] = []
    said: list[str | Exception] = [Busy("busy", after=9.0), Busy("busy", after=9999.0), "fine"]
    assert Metered(Scripted(said), price={}, retries=2, sleep=pauses.append)(HELLO).text == "fine"
    assert pauses == [9.0, 60.0]


@pytest.mark.parametrize("error", [Unavailable("wrong key"), ModelFailed("refused"), PromptTooLong("long")])
def test_what_no_later_try_can_mend_is_not_tried_again(error: KgmedError) -> None:
    model = Scripted([error, "too late"])
    with pytest.raises(type(error)):
        Metered(model, price={}, retries=5)(HELLO)
    assert len(model.asked) == 1


def test_after_the_last_try_the_error_is_the_models() -> None:
    model = Scripted([Busy("down"), Busy("still down"), "too late"])
    llm = Metered(model, price={}, retries=1, sleep=lambda _: None)
    with pytest.raises(Unavailable, match="still down"):
        llm(HELLO)
    assert (len(model.asked), llm.usage.calls) == (2, 0)


def test_a_failed_call_holds_nothing_back_from_the_next() -> None:
    llm = Metered(Scripted([Unavailable("down"), "up"]), price={}, budget=Budget(tokens=token_bound(HELLO) + 256))
    with pytest.raises(Unavailable):
        llm(HELLO)
    assert llm(HELLO).text == "up"


def test_no_more_calls_run_at_once_than_may() -> None:
    model = Model(seconds=0.01)
    llm = Metered(model, price={}, at_once=2)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: llm(HELLO), range(12)))
    assert (model.busiest, model.calls) == (2, 12)


def test_a_rate_lets_a_burst_through_and_then_one_at_a_time() -> None:
    now = [100.0]
    starts: list[float] = []
    rate = TokenBucket(1.0, burst=3, clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s))
    for _ in range(6):
        rate.wait()
        starts.append(now[0])
    assert starts == [100, 100, 100, 101, 102, 103]
    now[0] += 1000
    for _ in range(4):
        rate.wait()
        starts.append(now[0])
    assert starts[6:] == [1103, 1103, 1103, 1104]


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (60, 0)])
def test_a_rate_of_nothing_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(BadInput):
        TokenBucket(rate, burst=burst)


def test_a_reply_from_the_cache_costs_nothing(tmp_path: Path) -> None:
    metered = Metered(Model(), price=PRICE, budget=Budget(tokens=token_bound(HELLO) + 256))
    cached = CachedLLM(metered, tmp_path / "c.db")
    assert [cached(HELLO).text for _ in range(3)] == ["x"] * 3
    assert metered.usage.calls == 1


def test_no_price_is_shipped_that_nobody_has_checked() -> None:
    assert prices(None) == {}


def test_a_price_of_ones_own_is_read_with_its_day(tmp_path: Path) -> None:
    name = "openai/gpt-4o at api.openai.com"
    (tmp_path / "p.toml").write_text(f'["{name}"]\ninput=1\noutput=1.5\nas_of=2026-02-01\n', encoding="utf-8")
    assert prices(tmp_path / "p.toml") == {name: Price(Decimal(1), Decimal("1.5"), date(2026, 2, 1))}


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[a",
        "a = 1",
        "[a]\ninput=1\noutput=1",
        "[a]\ninput=-1\noutput=1\nas_of=2026-01-01",
        "[a]\ninput=nan\noutput=1\nas_of=2026-01-01",
        "[a]\ninput=true\noutput=1\nas_of=2026-01-01",
        '[a]\ninput="1"\noutput=1\nas_of=2026-01-01',
        "[a]\ninput=1\noutput=1\nas_of=2026-01-01T00:00:00",
        "[a]\ninput=1\noutput=1\nas_of=2026-01-01\nouput=2",
    ],
)
def test_a_table_of_prices_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(SourceError, match=r"^mine\.toml: ") as caught:
        parse_prices(text, Path("mine.toml"))
    assert "\n" not in str(caught.value)


def test_a_file_of_prices_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KgmedError, match=r"none\.toml"):
        prices(tmp_path / "none.toml")


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 100_000])
def test_a_price_of_many_digits_and_lists_too_deep_are_one_line(value: str) -> None:
    with pytest.raises(SourceError, match="is no TOML"):
        parse_prices(f'["m/x"]\ninput = {value}', Path("mine.toml"))
