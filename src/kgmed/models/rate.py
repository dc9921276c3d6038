"""So many calls a minute."""

import threading
import time
from collections.abc import Callable

from kgmed.errors import BadInput


class Rate:
    """A token bucket: so many calls a minute on average, `burst` of them at once."""

    def __init__(
        self,
        per_minute: float,
        *,
        burst: int = 1,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Begin with a full bucket."""
        if not (per_minute > 0 and burst >= 1):
            raise BadInput("a rate needs more than 0 calls a minute and a burst of at least 1")
        self._seconds, self._burst = 60 / per_minute, burst
        self._clock, self._sleep = clock, sleep
        self._free = clock() - burst * self._seconds  # when the bucket was last empty, as if it had always filled
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Take a turn, and come back when it has come."""
        with self._lock:
            now = self._clock()
            self._free = max(self._free, now - self._burst * self._seconds) + self._seconds
            delay = self._free - now
        if delay > 0:
            self._sleep(delay)
