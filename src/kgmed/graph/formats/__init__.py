"""The graph formats: each is a function that returns a `Source`, and says how its files are recognised.

A new format is one file here, or in another package, with a function `read(path, *, name, release) -> Source` under
`@formats.register("name", suffixes=(".ext",))` of `kgmed.registry`.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Batches, Row, Source
from kgmed.graph.packed import is_archive, unpacked
from kgmed.registry import formats

T = TypeVar("T")


def read(format: str, path: Path | None = None, /, **options: Any) -> Source:
    """The graph in a file of a format; "" = found out by `detect`. Packaged graphs (hpo, cmekg) need no path.

    Raises `UnknownName` for the format, `BadInput` for an option that its reader does not have, and what the reader
    raises: `SourceError`, `Unavailable`.
    """
    if path is not None and (str(path) == "-" or is_archive(path)):
        return _unpacked(format, path, options)
    if not format:
        if path is None:
            raise BadInput(f"neither a format nor a file was named; formats: {', '.join(formats.names())}")
        format = detect(path)
    reader = reader_of(format)
    known = [p.name for p in inspect.signature(reader).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in known and option == "columns":
            mend = "leave --map out, or say --format tables"
            raise BadInput(f"{path} is read as {format}, whose columns have no names to map (--map); {mend}")
        if option not in known:
            raise BadInput(f"the format {format} has no option {option!r}; it has {', '.join(known)}")
    return reader(path, **options)


def _unpacked(format: str, path: Path, options: dict[str, Any]) -> Source:
    """The graph in an archive, or in what comes on standard input; it lies unpacked until the source is gone."""
    folder = unpacked(path)
    shown = Path("standard input" if str(path) == "-" else path)
    with _shown_in(shown, folder.content):
        source = read(format, folder.content, **({"name": folder.called} | options))
    inputs = source.inputs if str(path) == "-" else (path,)

    def told(items: Iterable[T]) -> Iterator[T]:
        with _shown_in(shown, folder.content):
            yield from items

    def rows() -> Iterable[Row]:
        found = source.rows()
        return replace(found, batches=told(found.batches)) if isinstance(found, Batches) else told(found)

    return replace(source, rows=rows, inputs=inputs)


@contextmanager
def _shown_in(path: Path, content: Path) -> Iterator[None]:
    """A block whose errors name files by the archive that the user gave, not by where they were unpacked."""
    try:
        yield
    except SourceError as error:
        if not error.path.is_relative_to(content):
            raise
        raise SourceError(path / error.path.relative_to(content), error.line, error.problem, error.mend) from error


def reader_of(format: str, /) -> Callable[..., Source]:
    """The reader of a format; raises `UnknownName`."""
    return formats.get(format).read


def detect(path: Path) -> str:
    """The format of a file or a folder, by suffix and first lines; raises `SourceError` where they do not tell.

    Where several formats claim it, the longest pattern or start wins, and of looks the surest.
    """
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if not found:
        mend = f"name it by --format: {', '.join(formats.names())}; others can be written as a table of triples"
        raise SourceError(path, 0, "is of no format that can be told by looking", mend)
    return found


def _of_folder(path: Path) -> str:
    """The format of a folder by what it holds; "" where that does not tell."""
    held = [(len(p.replace("*", "")), f.name) for f in formats.all() for p in f.holds if any(path.glob(p))]
    return max(held, default=(0, ""))[1]


def _of_file(path: Path) -> str:
    """The format of a file; "" where neither suffix nor first lines tell."""
    from kgmed.graph.formats.base import check_file, empty, first_lines

    check_file(path)
    known = formats.all()
    for suffix in map(str.casefold, path.suffixes):
        if named := [f.name for f in known if suffix in f.suffixes]:
            return named[0]
    first = [line for line in first_lines(path, 20) if line.strip()]
    if not first:
        raise empty(path)
    if not first[0].lstrip().startswith(("[", "{")):  # of JSON the first lines may hold no more than brackets
        first = first[:2]
    begun = [(len(start), f.name) for f in known for start in f.starts if first[0].startswith(start)]
    return max(begun, default=(0, ""))[1] or _by_looks(first)


def _by_looks(first: Sequence[str]) -> str:
    """The format that is surest of the first two lines; "" where none is."""
    sure = [(int(f.looks(first)), f.name) for f in formats.all() if f.looks is not None]
    most = max(sure, key=lambda one: one[0], default=(0, ""))
    return most[1] if most[0] else ""
