"""What calls of a model take, in tokens and money, with limits on them: a budget, calls at once, calls a minute.

A call is let through only if the most that it can take still fits the budget. That most is the longest reply asked
for, and for the prompt one token a byte of UTF-8: no tokenizer of bytes makes more of it.
"""

import json
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from decimal import Decimal

from kgmed.errors import BadInput, Busy, KgmedError, ModelFailed, PromptTooLong
from kgmed.models.likelihood import LogProbs, as_messages, as_reply, asked, from_reply
from kgmed.models.passing import Passing
from kgmed.models.prices import Price, prices
from kgmed.models.rate import Rate
from kgmed.models.streaming import streamed
from kgmed.models.structured import shaped
from kgmed.stages import LLM, Message, Reply

FRAME = 64  # tokens that a model's chat template may add to a prompt,
EACH = 16  # and to each of its messages
LONGEST = 60.0  # seconds between two tries


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
        rate: Rate | None = None,
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
        most = self._taken(bound(messages), max_tokens)
        return self._metered(most, lambda: self.llm(messages, max_tokens=max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to a JSON schema where the model can; the schema counts as part of the prompt."""
        most = self._taken(bound(messages) + len(json.dumps(schema)), max_tokens)
        return self._metered(most, lambda: shaped(self.llm, messages, schema, max_tokens=max_tokens))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece; tried again only before its first piece, one left half-way counts at its most."""
        most = self._taken(bound(messages), max_tokens)
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
        most = self._taken(sum(bound(as_messages(prompt, [text])) for text in continuations), 0)
        return from_reply(self._metered(most, lambda: as_reply(asked(self.llm, prompt, continuations), self.name)))

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
        """Wait before the next try."""
        self._add(Usage(retries=1, cost=self._cost(0, 0)))
        pause = min(LONGEST, 2.0**attempt) * (0.5 + self._jitter.random() / 2)
        self._sleep(max(pause, min(LONGEST, error.after)))

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
        """Count what was taken."""
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


def bound(messages: Sequence[Message]) -> int:
    """The most tokens that a prompt can have.

    >>> bound([Message("user", "发热")])
    86
    """
    return FRAME + sum(EACH + len(m.text.encode("utf-8", "surrogatepass")) for m in messages)


def _sum(a: Usage, b: Usage) -> Usage:
    """Both together; an unknown cost stays unknown."""
    cost = None if a.cost is None or b.cost is None else a.cost + b.cost
    calls, tokens_in, tokens_out = a.calls + b.calls, a.tokens_in + b.tokens_in, a.tokens_out + b.tokens_out
    return Usage(calls, tokens_in, tokens_out, cost, a.retries + b.retries, a.assumed + b.assumed)


def _less(a: Usage, b: Usage) -> Usage:
    """The first without the second."""
    cost = None if b.cost is None else -b.cost
    return _sum(a, Usage(-b.calls, -b.tokens_in, -b.tokens_out, cost))
