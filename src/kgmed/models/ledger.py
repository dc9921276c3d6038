"""What a run asks of language models, written down call by call, in whatever thread the run has to itself.

`Told` stands before a cache and writes down every call; `Reaching` stands behind it and marks those that reached the
model. Outside `with ledger() as book:` nothing is written.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from kgmed.models.passing import Note, Passing, as_it_is
from kgmed.models.prices import Price
from kgmed.prompts import Conversation
from kgmed.stages import LLM, Message, Reply
from kgmed.types import Spent


class Call(NamedTuple):
    """One call: the prompt it was asked with ("" = none of a file), whether it reached the model, and what came."""

    prompt: str
    reached: bool
    failed: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


@dataclass(slots=True)
class Ledger:
    """The calls of one run, in their order."""

    calls: list[Call] = field(default_factory=list)
    reached: int = 0

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts that were asked with, each once."""
        return tuple(dict.fromkeys(call.prompt for call in self.calls if call.prompt))

    def spent(self) -> Spent:
        """The sum of the calls."""
        done = [call for call in self.calls if call.reached and not call.failed]
        costs = [call.cost for call in done if call.cost is not None]
        return Spent(
            calls=len(self.calls),
            cached=sum(not call.reached and not call.failed for call in self.calls),
            failed=sum(call.failed for call in self.calls),
            tokens_in=sum(call.tokens_in for call in done),
            tokens_out=sum(call.tokens_out for call in done),
            cost=round(sum(costs), 9) if len(costs) == len(done) and done else None,
        )


_OPEN: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def ledger() -> Iterator[Ledger]:
    """A new ledger that is written in as long as the block runs; one around it gets a copy at the end."""
    outer, mine = _OPEN.get(), Ledger()
    token = _OPEN.set(mine)
    try:
        yield mine
    finally:
        _OPEN.reset(token)
        if outer is not None:
            outer.calls += mine.calls
            outer.reached += mine.reached


class Reaching(Passing):
    """A model whose calls count as having reached it; it stands behind a cache."""

    @contextmanager
    def around(self, messages: Sequence[Message]) -> Iterator[Note]:
        """Count the call."""
        if (book := _OPEN.get()) is not None:
            book.reached += 1
        yield as_it_is


class Told(Passing):
    """A model whose calls are written down; `behind` = a `Reaching` stands somewhere behind it."""

    def __init__(self, llm: LLM, *, price: Price | None = None, behind: bool = False) -> None:
        """Stand before a model whose tokens have that price."""
        super().__init__(llm)
        self._price, self._behind = price, behind

    @contextmanager
    def around(self, messages: Sequence[Message]) -> Iterator[Note]:
        """Write the call down, also where it fails or is broken off."""
        book = _OPEN.get() or Ledger()
        prompt, before, done = messages.prompt if isinstance(messages, Conversation) else "", book.reached, False

        def note(reply: Reply) -> Reply:
            nonlocal done
            done = True
            book.calls.append(self._call(prompt, reply, reached=not self._behind or book.reached > before))
            return reply

        try:
            yield note
        finally:
            if not done:
                book.calls.append(Call(prompt, not self._behind or book.reached > before, failed=True))

    def _call(self, prompt: str, reply: Reply, *, reached: bool) -> Call:
        """A call that was answered."""
        cost = None if self._price is None else float(self._price.of(reply.tokens_in, reply.tokens_out))
        return Call(prompt, reached, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, cost=cost)
