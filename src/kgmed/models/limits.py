"""Limits on what language models are asked, what calls cost, and the ledger of the calls of a run."""

import json
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import TypeGuard

from kgmed.disk import data_folder, parse_toml, read_toml
from kgmed.errors import BadInput, Busy, KgmedError, ModelFailed, PromptTooLong, SourceError
from kgmed.models.asking import (
    LogProbs,
    Note,
    Passing,
    as_it_is,
    as_messages,
    as_reply,
    ask_with_schema,
    from_reply,
    likelihood_model,
    read_stream,
    spoken,
    streamed,
    without_thinking,
)
from kgmed.models.base import LLM, OPEN_LEDGER, Call, FilledPrompt, Ledger, Message, Reply
from kgmed.servers import TokenBucket, pause_before

# --- What models cost: a table that is shipped, and the user's own before it.


FILE = "prices.toml"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and the day on which they were so."""

    input: Decimal
    output: Decimal
    as_of: date

    def of(self, tokens_in: int, tokens_out: int) -> Decimal:
        """What that many tokens cost, exactly.

        >>> Price(Decimal("2.50"), Decimal("10"), date(2025, 8, 1)).of(1000, 100)
        Decimal('0.0035')
        """
        return (self.input * tokens_in + self.output * tokens_out).scaleb(-6).normalize()


def prices(own: Path | None = None) -> dict[str, Price]:
    """The prices by the models' names: those shipped, and before them those of a file of one's own.

    Without `own`, that is `prices.toml` in the data folder, where there is one. Raises `SourceError`.
    """
    shipped = files("kgmed.models").joinpath(FILE).read_text(encoding="utf-8")
    path = own or data_folder() / FILE
    return parse_prices(shipped, Path(FILE)) | (read(path) if own or path.exists() else {})


def read(path: Path) -> dict[str, Price]:
    """The prices in a file; raises `SourceError`."""
    return _prices(read_toml(path, parse_float=Decimal), path)


def parse_prices(text: str, path: Path) -> dict[str, Price]:
    """The prices in a text; `path` is what errors name.

    >>> parse_prices('["gguf/mine"]\\ninput = 0\\noutput = 0\\nas_of = 2026-01-31', Path("p"))["gguf/mine"].of(9, 9)
    Decimal('0')
    """
    return _prices(parse_toml(text, path, parse_float=Decimal), path)


def _prices(table: Mapping[str, object], path: Path) -> dict[str, Price]:
    return {name: _price(name, entry, path) for name, entry in table.items()}


def _price(name: str, entry: object, path: Path) -> Price:
    values: Mapping[str, object] = entry if isinstance(entry, dict) else {}
    known = set(values) == {"input", "output", "as_of"}
    money = [Decimal(v) for v in (values.get("input"), values.get("output")) if _is_money(v)]
    as_of = values.get("as_of")
    if not known or len(money) != 2 or type(as_of) is not date:
        mend = "give it input and output (US dollars per million tokens, not below 0) and as_of = YYYY-MM-DD"
        raise SourceError(path, 0, f"the price of {name!r} is not complete", mend)
    return Price(money[0], money[1], as_of)


def _is_money(value: object) -> TypeGuard[int | Decimal]:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return False
    return Decimal(value).is_finite() and Decimal(value) >= 0


# --- What calls of a model take, in tokens and money, with limits on them: a budget, calls at once, calls a minute.
# A call is let through only if the most that it can take still fits the budget. That most is the longest reply asked
# for, and for the prompt one token a byte of UTF-8: no tokenizer of bytes makes more of it.


FRAME = 64  # tokens that a model's chat template may add to a prompt,
EACH = 16  # and to each of its messages


class BudgetSpent(KgmedError):
    """The next call could take more than is left of the budget; it was not made."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be taken; None = no limit."""

    money: Decimal | None = None  # US dollars
    tokens: int | None = None  # of prompts and replies together


@dataclass(frozen=True, slots=True)
class Usage:
    """What was taken.

    `assumed` = calls that were counted at their most, since the server sent something unusable, or did not say what
    they took. What a server takes for a call that it never answered is not known here and not in it.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: Decimal | None = None  # US dollars; None where no price is known
    retries: int = 0
    assumed: int = 0

    @property
    def tokens(self) -> int:
        """Those of prompts and replies together."""
        return self.tokens_in + self.tokens_out


class Metered(Passing):
    """A model whose calls are counted, priced, held within limits, and tried again where its server is busy.

    What no later try can mend (a wrong key, an unknown model, a refused request, an unusable reply) is not tried again.

    `OpenAI` and `Anthropic` try again by themselves too: give `retries=0` to one of the two.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        budget: Budget | None = None,
        price: Mapping[str, Price] | None = None,
        at_once: int = 8,
        rate: TokenBucket | None = None,
        retries: int = 0,
        seed: int = 0,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Wrap a model; `at_once` 0 = any number of calls, `price` None = the table of `prices()`.

        Raises `BadInput` for a budget in money where the model's price is not known.
        """
        super().__init__(llm)
        self.budget = budget or Budget()
        self._price = (prices() if price is None else price).get(llm.name)
        if self.budget.money is not None and self._price is None:
            raise BadInput(f"no price of {llm.name} is known; put it into prices.toml, or set a budget in tokens")
        self._slots = threading.BoundedSemaphore(at_once) if at_once else nullcontext()
        self._rate, self._retries, self._sleep = rate, retries, sleep
        self._jitter = random.Random(seed)  # noqa: S311
        self._usage, self._reserved = Usage(cost=self._cost(0, 0)), Usage(cost=self._cost(0, 0))
        self._changed = threading.Condition()

    @property
    def usage(self) -> Usage:
        """What was taken so far by calls that have ended."""
        return self._usage

    def __repr__(self) -> str:
        """The model and the budget."""
        return f"Metered({self.llm.name}, {self.budget})"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply; raises `BudgetSpent` before a call that the budget might not cover."""
        most = self._taken(token_bound(messages), max_tokens)
        return self._metered(most, lambda: self.llm(messages, max_tokens=max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to a JSON schema where the model can; the schema counts as part of the prompt."""
        most = self._taken(token_bound(messages) + len(json.dumps(schema)), max_tokens)
        return self._metered(most, lambda: ask_with_schema(self.llm, messages, schema, max_tokens=max_tokens))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece; tried again only before its first piece, one left half-way counts at its most."""
        most = self._taken(token_bound(messages), max_tokens)
        with self._held(most):
            begun: list[str] = []
            try:
                reply = yield from self._pieces(messages, max_tokens, begun)
            except BaseException as error:
                if begun or _counts(error):
                    self._add(most, assumed=1)
                raise
            self._took(reply, most)
            return reply

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely the model finds each text; the prompt counts once for each, as some models read it."""
        most = self._taken(sum(token_bound(as_messages(prompt, [text])) for text in continuations), 0)
        return from_reply(
            self._metered(most, lambda: as_reply(likelihood_model(self.llm, prompt, continuations), self.name))
        )

    def _metered(self, most: Usage, call: Callable[[], Reply]) -> Reply:
        """What a call gives that takes no more than `most`."""
        with self._held(most):
            try:
                reply = self._tried(call)
            except ModelFailed as error:
                if _counts(error):
                    self._add(most, assumed=1)
                raise
            self._took(reply, most)
            return reply

    def _tried(self, call: Callable[[], Reply]) -> Reply:
        """The reply, after as many tries as there may be; a server that says how long to wait is obeyed."""
        for attempt in range(self._retries):
            try:
                with self._turn():
                    return call()
            except Busy as error:
                self._pause(error, attempt)
        with self._turn():
            return call()

    def _pieces(self, messages: Sequence[Message], max_tokens: int, begun: list[str]) -> Generator[str, None, Reply]:
        """The pieces of the reply, each put into `begun` as well."""
        attempt = 0
        while True:
            try:
                with self._turn():
                    return (yield from _noted(streamed(self.llm, messages, max_tokens=max_tokens), begun))
            except Busy as error:
                if begun or attempt >= self._retries:
                    raise
                self._pause(error, attempt)
                attempt += 1

    def _pause(self, error: Busy, attempt: int) -> None:
        self._add(Usage(retries=1, cost=self._cost(0, 0)))
        self._sleep(pause_before(attempt, after=error.after, first=1.0, jitter=0.5 + self._jitter.random() / 2))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One try, when there is room and time for it."""
        with self._slots:
            if self._rate is not None:
                self._rate.wait()
            yield

    def _took(self, reply: Reply, most: Usage) -> None:
        """Count what a reply says that it took, or the most where it does not say."""
        said = reply.tokens_in > 0
        self._add(self._taken(reply.tokens_in, reply.tokens_out) if said else most, assumed=not said)

    @contextmanager
    def _held(self, most: Usage) -> Iterator[None]:
        """Keep the most that a call can take reserved while it runs; wait where others hold what may become free."""
        with self._changed:
            while not self._fits(_sum(self._reserved, most)):
                if not self._fits(most):
                    raise BudgetSpent(self._spent(most))
                self._changed.wait()
            self._reserved = _sum(self._reserved, most)
        try:
            yield
        finally:
            with self._changed:
                self._reserved = _less(self._reserved, most)
                self._changed.notify_all()

    def _fits(self, more: Usage) -> bool:
        """Whether the budget covers that on top of what was taken."""
        after, budget = _sum(self._usage, more), self.budget
        in_money = budget.money is None or after.cost is None or after.cost <= budget.money
        return in_money and (budget.tokens is None or after.tokens <= budget.tokens)

    def _spent(self, most: Usage) -> str:
        """What the budget is, what was taken, and what the next call may take."""
        money = f" and {self._usage.cost:f} of {self.budget.money:f} USD" if self.budget.money is not None else ""
        tokens = f" of {self.budget.tokens}" if self.budget.tokens is not None else ""
        next_one = f"{most.tokens} tokens" + (f" or {most.cost:f} USD" if money else "")
        return (
            f"the budget of {self.name} ends here: {self._usage.tokens}{tokens} tokens{money} are spent, and the next "
            f"call may take {next_one}; raise the budget, or ask for less"
        )

    def _taken(self, tokens_in: int, tokens_out: int) -> Usage:
        """What one call with that many tokens takes."""
        return Usage(1, tokens_in, tokens_out, self._cost(tokens_in, tokens_out))

    def _cost(self, tokens_in: int, tokens_out: int) -> Decimal | None:
        """What that many tokens cost; None where no price is known."""
        return None if self._price is None else self._price.of(tokens_in, tokens_out)

    def _add(self, taken: Usage, *, assumed: int = 0) -> None:
        with self._changed:
            self._usage = _sum(self._usage, _sum(taken, Usage(assumed=int(assumed), cost=self._cost(0, 0))))


def _noted(pieces: Generator[str, None, Reply], begun: list[str]) -> Generator[str, None, Reply]:
    """The same stream, each piece put into a list before it is passed on."""
    try:
        while True:
            piece = next(pieces)
            begun.append(piece)
            yield piece
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    finally:
        pieces.close()


def _counts(error: BaseException) -> bool:
    """Whether a call that ended so was answered, and not refused: it took something."""
    return isinstance(error, ModelFailed) and not isinstance(error, PromptTooLong)


def token_bound(messages: Sequence[Message]) -> int:
    """The most tokens that a prompt can have.

    >>> token_bound([Message("user", "发热")])
    86
    """
    return FRAME + sum(EACH + len(m.text.encode("utf-8", "surrogatepass")) for m in messages)


def _sum(a: Usage, b: Usage) -> Usage:
    """Both together; an unknown cost stays unknown."""
    cost = None if a.cost is None or b.cost is None else a.cost + b.cost
    calls, tokens_in, tokens_out = a.calls + b.calls, a.tokens_in + b.tokens_in, a.tokens_out + b.tokens_out
    return Usage(calls, tokens_in, tokens_out, cost, a.retries + b.retries, a.assumed + b.assumed)


def _less(a: Usage, b: Usage) -> Usage:
    return _sum(a, Usage(-b.calls, -b.tokens_in, -b.tokens_out, None if b.cost is None else -b.cost))


# --- A model that may be asked so many times, and no more.


class CallLimit(Passing):
    """Counts the calls, whatever came of them; safe between threads. One call more raises `BudgetSpent`."""

    def __init__(self, llm: LLM, calls: int) -> None:
        """Let that many calls through to a model."""
        super().__init__(llm)
        self.calls, self._left, self._lock = calls, calls, threading.Lock()

    @contextmanager
    def around(self, messages: Sequence[Message]) -> Iterator[Note]:
        """Take one of the calls."""
        with self._lock:
            if not self._left:
                raise BudgetSpent(f"{self.name} was asked {self.calls} times, which is the limit set; raise max_calls")
            self._left -= 1
        yield as_it_is


# --- How long replies may be: so long as the user says, or with room to think for a model that thinks first.


ROOMS = (8_192, 32_768)  # tokens to think in; ours: what reasoning models take for a question, and four times that


class ThinkingRoom(Passing):
    """A model that gets room to think beside the tokens of its reply, once it has used those up and said nothing.

    Methods ask for replies of 32 to 500 tokens, and servers count thinking among them. A model that does not think is
    asked as before. Where the room is more than fits the model, half of it is taken, and so on.
    """

    def __init__(self, llm: LLM, rooms: Sequence[int] = ROOMS) -> None:
        """Without room, until it is seen to be needed; `rooms` = what is tried then, in tokens."""
        super().__init__(llm)
        self._rooms = tuple(rooms)
        self.room = 0  # the tokens that it may think in now

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply; raises `ModelFailed` where no room is enough."""
        return read_stream(self._tried(lambda most: _silent(lambda: self.llm(messages, max_tokens=most)), max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to a JSON schema where the model can."""
        held = lambda most: _silent(lambda: ask_with_schema(self.llm, messages, schema, max_tokens=most))  # noqa: E731
        return read_stream(self._tried(held, max_tokens))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece; thinking that was cut off is followed by that of the next try."""
        return (yield from self._tried(lambda most: streamed(self.llm, messages, max_tokens=most), max_tokens))

    def _tried(self, ask: Callable[[int], Generator[str, None, Reply]], most: int) -> Generator[str, None, Reply]:
        """What is said with enough room."""
        while True:
            room = self.room
            try:
                reply = yield from ask(most + room)
            except PromptTooLong:
                if room < ROOMS[0] // 8:
                    raise
                self._rooms = (*(r for r in self._rooms if r < room // 2), room // 2)
                self.room = min(self.room, room // 2)
                continue
            if not reply.cut or without_thinking(reply.text).strip():
                return reply
            self._grow(room, most)

    def _grow(self, room: int, most: int) -> None:
        """Take the next room; raises `ModelFailed` where there is none."""
        more = next((r for r in self._rooms if r > room), 0)
        if not more:
            raise ModelFailed(f"{self.name} {CUT.format(most + room)}")
        self.room = max(self.room, more)


def _silent(ask: Callable[[], Reply]) -> Generator[str, None, Reply]:
    """A reply that comes in one piece, which nobody hears."""
    yield from ()
    return ask()


CUT = "was cut off at {:,} tokens before it said anything; give its replies more by --reply-tokens"


class ReplyLimit(Passing):
    """A model whose replies are of `most` tokens, whatever a method asks for; its name says so.

    More than methods ask for is for models that think first, less for a quick look.
    """

    def __init__(self, llm: LLM, most: int) -> None:
        """Bound a model."""
        super().__init__(llm)
        self.most = most

    @property
    def name(self) -> str:
        """The model and the bound, since its replies are others than those of the model."""
        return f"{self.llm.name}, {self.most} tokens a reply"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply."""
        return super().__call__(messages, max_tokens=self.most)

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to a JSON schema where the model can."""
        return super().as_json(messages, schema, max_tokens=self.most)

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece."""
        return (yield from super().stream(messages, max_tokens=self.most))


# --- Models that write down what is asked of them (`kgmed.models.base.ledger`).


class CountedLLM(Passing):
    """A model whose calls count as having reached it; it stands behind a cache."""

    @contextmanager
    def around(self, messages: Sequence[Message]) -> Iterator[Note]:
        """Count the call."""
        if (book := OPEN_LEDGER.get()) is not None:
            book.reached += 1
        yield as_it_is


class RecordedLLM(Passing):
    """A model whose calls are written down, and whose replies come without what it thought aloud.

    `behind` = a `CountedLLM` stands somewhere behind it.
    """

    def __init__(self, llm: LLM, *, price: Price | None = None, behind: bool = False) -> None:
        """Stand before a model whose tokens have that price."""
        super().__init__(llm)
        self._price, self._behind = price, behind

    @contextmanager
    def around(self, messages: Sequence[Message]) -> Iterator[Note]:
        """Write the call down, also where it fails or is broken off."""
        book = OPEN_LEDGER.get() or Ledger()
        prompt, before, done = messages.prompt if isinstance(messages, FilledPrompt) else "", book.reached, False

        def note(reply: Reply) -> Reply:
            nonlocal done
            done = True
            book.calls.append(self._call(prompt, reply, reached=not self._behind or book.reached > before))
            return spoken(reply)

        try:
            yield note
        finally:
            if not done:
                book.calls.append(Call(prompt, not self._behind or book.reached > before, failed=True))

    def _call(self, prompt: str, reply: Reply, *, reached: bool) -> Call:
        """A call that was answered."""
        cost = None if self._price is None else float(self._price.of(reply.tokens_in, reply.tokens_out))
        return Call(prompt, reached, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, cost=cost)
