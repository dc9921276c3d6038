"""Progress on standard error; silent where that is not a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def steps(what: str) -> Iterator[Callable[[str], None]]:
    """A callback for the step being done, in words."""
    with Console(stderr=True).status(what) as status:
        yield status.update
