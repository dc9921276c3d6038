"""The words of a model as they come, on standard error; the answer that was made of them follows on standard output."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from kgmed.errors import BadInput

Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream", help="Show the model's words as they come; without it only where a terminal looks."
    ),
]


@contextmanager
def spoken(wanted: bool | None, *, as_json: bool, begin: Callable[[], object] = lambda: None) -> Iterator[None]:
    """While the block runs, what readers have a model say is shown; `begin` is called before the first word.

    `wanted` None = only where both outputs are terminals. Raises `BadInput` where words are wanted beside JSON.
    """
    from kgmed.models.streaming import telling

    if wanted and as_json:
        raise BadInput("--stream shows words and --json prints data; take one of them")
    if as_json or not (sys.stdout.isatty() and sys.stderr.isatty() if wanted is None else wanted):
        yield
        return
    said: list[str] = []

    def show(piece: str) -> None:
        if not said:
            begin()
        said.append(piece)
        sys.stderr.write("".join(c for c in piece if c.isprintable() or c in "\n\t"))  # nothing that moves the cursor
        sys.stderr.flush()

    try:
        with telling(show):
            yield
    finally:
        if said:
            sys.stderr.write("\n\n")
