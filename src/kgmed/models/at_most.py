"""A model that may be asked so many times, and no more."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kgmed.models.metered import BudgetSpent
from kgmed.models.passing import Note, Passing, as_it_is
from kgmed.stages import LLM, Message


class AtMost(Passing):
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
