"""The graph formats: each is a function that returns a `Source`, and says how its files are recognised.

A new format is one file here, or in another package, with a function `read(path, *, name, release) -> Source` under
`@formats.register("name", suffixes=(".ext",))` of `kgmed.registry`.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Batches, DroppedRow, Row, Source
from kgmed.graph.packed import Unpacked, is_archive, recoded, unpacked
from kgmed.registry import formats

T = TypeVar("T")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>(?:\s*<!--.*?-->)*", re.DOTALL)


def read(format: str, path: Path | None = None, /, *, encoding: str = "", **options: Any) -> Source:
    """The graph in a file of a format; "" = found out by `detect`. Packaged graphs (hpo, cmekg) need no path.

    `encoding` is that of its text; "" = UTF-8, or what its bytes tell. Raises `UnknownName` for the format, `BadInput`
    for an option that its reader does not have, and what the reader raises: `SourceError`, `Unavailable`.
    """
    if path is not None and (str(path) == "-" or is_archive(path)):
        return _copied(format, path, unpacked(path), {"encoding": encoding} | options)
    if path is not None and (copy := recoded(path, encoding)):
        return _copied(format, path, copy, options)
    if not format:
        if path is None:
            raise BadInput(f"neither a format nor a file was named; formats: {', '.join(formats.names())}")
        format = _mapped(path) if "columns" in options else detect(path)
    reader = reader_of(format)
    known = [p.name for p in inspect.signature(reader).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in known and option == "columns":
            mend = "leave --map out, or say --format tables"
            raise BadInput(f"{path} is read as {format}, whose columns have no names to map (--map); {mend}")
        if option not in known:
            raise BadInput(f"the format {format} has no option {option!r}; it has {', '.join(known)}")
    return reader(path, **options)


def _copied(format: str, path: Path, folder: Unpacked, options: dict[str, Any]) -> Source:
    """The graph in a copy that lies in a folder until the source is gone: unpacked, or in UTF-8."""
    shown = Path("standard input" if str(path) == "-" else path)
    with _shown_in(shown, folder.content):
        source = read(format, folder.content, **({"name": folder.called} | options))
    inputs = source.inputs if str(path) == "-" else (path,) if path.is_file() else tuple(
        path / file.relative_to(folder.content) if file.is_relative_to(folder.content) else file
        for file in source.inputs
    )  # fmt: skip

    def told(items: Iterable[T]) -> Iterator[T]:
        with _shown_in(shown, folder.content):
            yield from items

    def rows() -> Iterable[Row]:
        found = source.rows()
        if isinstance(found, Batches):
            return replace(found, batches=told(found.batches))
        return chain((_shown(row, shown, folder.content) for row in told(found)), folder.mended)

    return replace(source, rows=rows, inputs=inputs)


def _shown(row: Row, path: Path, content: Path) -> Row:
    """The row; one that names a file of the copy names that of the user."""
    if type(row) is not DroppedRow or row.file is None or not row.file.is_relative_to(content):
        return row
    return row._replace(file=path / row.file.relative_to(content))


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
        from kgmed.graph.formats.tables import nearest

        raise SourceError(path, 0, "its format is not recognised", nearest(path))
    return found


def _mapped(path: Path) -> str:
    """The format of what comes with a table of what its columns say: one that has columns with names."""
    try:
        found = detect(path)
    except SourceError:
        return "tables"
    return found if "columns" in inspect.signature(reader_of(found)).parameters else "tables"


def _of_folder(path: Path) -> str:
    """The format of a folder by what it holds; "" where that does not tell."""
    held = [(len(p.replace("*", "")), f.name) for f in formats.all() for p in f.holds if any(path.glob(p))]
    found = max(held, default=(0, ""))[1]
    inside = _of_file(any_) if found == "disease_json" and (any_ := min(path.glob("*.json"))).stat().st_size else ""
    return inside if inside == "tables" else found


def _of_file(path: Path) -> str:
    """The format of a file; "" where neither suffix nor first lines tell."""
    from kgmed.graph.formats.base import check_file, empty, first_lines, header_of, open_bytes, reading, remark
    from kgmed.graph.formats.json_records import is_yaml

    check_file(path)
    known = formats.all()
    for suffix in map(str.casefold, path.suffixes):
        if named := [f.name for f in known if suffix in f.suffixes]:
            return named[0]
    with reading(path), open_bytes(path) as file:
        begin = _DECLARATION.sub("", file.read(1 << 16).decode("utf-8-sig", "replace")).lstrip()
    begun = max(((len(start), f.name) for f in known for start in f.starts if begin.startswith(start)), default=(0, ""))
    if begun[0] and begin[0] == "<":  # XML may be in any encoding
        return begun[1]
    first = [line for line in first_lines(path, 20) if line.strip()]
    if not first:
        raise empty(path)
    if first[0].lstrip().startswith(("[", "{")) or is_yaml(path):
        from kgmed.graph.formats.diseases import ENTRIES
        from kgmed.graph.formats.json_records import format_of

        return format_of(path, ENTRIES)
    at, names = header_of(path)
    found = begun[1] or _by_looks([names, *filter(str.strip, first_lines(path, at + 20)[at:])][:2])
    return "tables" if found == "triples" and at > 1 and remark([first[0]]) else found  # others begin with the header


def _by_looks(first: Sequence[str]) -> str:
    """The format that is surest of the first two lines; "" where none is."""
    sure = [(int(f.looks(first)), f.name) for f in formats.all() if f.looks is not None]
    most = max(sure, key=lambda one: one[0], default=(0, ""))
    return most[1] if most[0] else ""
