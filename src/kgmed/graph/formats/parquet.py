"""Parquet files and DuckDB databases, their columns understood as those of tables.

DuckDB reads them, within a bound of memory.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from kgmed.errors import SourceError, Unavailable
from kgmed.graph.base import Source
from kgmed.graph.formats.base import check_file, name_of, reading, said_by
from kgmed.graph.formats.tables import COLUMNS_MEND, TableRecord, flat, relation_of, source_of
from kgmed.graph.packed import FREE, bearable
from kgmed.registry import formats

_MEMORY = "512MB"  # what DuckDB may take
_ROWS = 2048  # that DuckDB unpacks at a time, and that are fetched at a time
_OBJECT = 40  # bytes that a number, or a member of a list, counts
_FOOTER = 1 << 24  # bytes of what a Parquet file says of itself
_WIDEST, _NAMES = 10_000, 1 << 20  # columns, and bytes of their names in all; DuckDB's time grows with their square
_SAFE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}  # a file brings no code here
_MEND = "it is damaged or made to fill the memory; write it as a table of text if you trust it"
_TEXTS = re.compile(r"(?:VARCHAR|JSON|UUID|ENUM\(.*\))$", re.DOTALL)
_NUMBERS = re.compile(r"(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)|BOOLEAN|DATE|TIME.*)$")
_MANY = re.compile(r"\[\d*\]$")


@formats.register("parquet", suffixes=(".parquet", ".duckdb"), holds=("*.parquet",))
def read_parquet(
    path: Path | None, *, name: str = "", release: str = "", roles: Path | None = None, columns: Path | None = None
) -> Source:
    """The graph of Parquet files, or of the tables of a DuckDB database, as `read_tables` understands their columns.

    Raises `SourceError`, and `Unavailable` where DuckDB is not installed.
    """
    if path is None:
        raise SourceError(Path("parquet"), 0, "needs a file or a folder", "name it")
    files = tuple(sorted(path.rglob("*.parquet"))) if path.is_dir() else (path,)
    for file in files:
        check_file(file)
    return source_of(lambda own: _columnar(files, own), files, name or name_of(path), release, roles, columns)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise Unavailable('Parquet and DuckDB files need DuckDB; pip install "kgmed[duckdb]"') from error
    return duckdb


class _Table(NamedTuple):
    """A table of a file, and how it is asked for."""

    file: Path
    opened: Any
    named: str  # as SQL has it; $1 = the file's path
    columns: Mapping[str, str]  # name -> type
    places: Mapping[str, int]  # what is said -> the place of the column that says it

    @property
    def is_edges(self) -> bool:
        """Whether its rows are edges."""
        return {"head", "tail"} <= self.places.keys()

    def ask(self, query: str) -> Any:
        """What a query gives, of which `{}` is the table."""
        values = [str(self.file)] if "$1" in self.named else []
        return self.opened.cursor().execute(query.replace("{}", self.named), values)


def _columnar(files: Sequence[Path], own: tuple[tuple[str, str], ...]) -> Iterator[tuple[Path, Iterable[TableRecord]]]:
    """The records of every table, those of nodes first."""
    duckdb = _duckdb()
    with ExitStack() as stack:
        tables: list[_Table] = []
        for file in files:
            try:
                tables += _tables_of(file, duckdb, stack, own)
            except duckdb.Error as error:
                raise _unreadable(file, 0, error) from error
        for table in sorted(tables, key=lambda one: one.is_edges):
            yield table.file, _of_columns(duckdb, table)


def _tables_of(file: Path, duckdb: Any, stack: ExitStack, own: tuple[tuple[str, str], ...]) -> list[_Table]:
    """The tables of a file, which is closed with the stack; a view is none, as it can ask for anything."""
    opened = duckdb.connect(":memory:", config={"memory_limit": _MEMORY, "threads": "2", **_SAFE})
    stack.callback(opened.close)
    if file.suffix.casefold() == ".duckdb":  # attached, as what it calls functions must not come before DuckDB's own
        path = str(file).replace("'", "''")
        opened.execute(f"ATTACH '{path}' AS given (READ_ONLY)")
        opened.execute("SET enable_external_access = false")
        mine = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'given' AND schema_name = 'main'"
        sources = [f"given.main.{_quoted(row[0])}" for row in opened.execute(mine).fetchall()]
    else:
        _check_footer(file)
        named = "SELECT count(*) - 1, sum(strlen(name)) FROM parquet_schema($1)"
        _check_width(file, *opened.execute(named, [str(file)]).fetchone())
        sources = ["read_parquet($1, binary_as_string = true)"]
    return [_described(_Table(file, opened, source, {}, {}), own) for source in sources]


def _check_footer(file: Path) -> None:
    """Nothing, if what a Parquet file says of itself, at its end, can be read as a whole."""
    with reading(file), file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - 8))
        told = int.from_bytes(opened.read(4), "little")
    if _FOOTER < told < size:
        raise SourceError(file, 0, f"has a footer of {told >> 20:,} MB", "write it with fewer columns or row groups")


def _quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _check_width(file: Path, columns: int, letters: int) -> None:
    if columns > _WIDEST or letters > _NAMES:
        raise SourceError(file, 0, f"has {columns:,} columns, with {letters:,} bytes of names", "keep those that count")


def _described(table: _Table, own: tuple[tuple[str, str], ...]) -> _Table:
    """The table with its columns and what they say; raises `SourceError` where that is nothing or too much."""
    columns = {row[0]: row[1] for row in table.ask("DESCRIBE SELECT * FROM {}").fetchall()}
    _check_width(table.file, len(columns), sum(map(len, columns)))
    places = {what: at for what, at in said_by(tuple(columns), own).items() if _size("", [*columns.values()][at])}
    if not ({"head", "tail"} <= places.keys() or {"id", "name"} & places.keys()):
        problem = f"has columns that say nothing: {', '.join(columns)[:80]}"
        raise SourceError(table.file, 0, problem, COLUMNS_MEND)
    table = table._replace(columns=columns, places=places)
    _check_size(table)
    return table


def _size(value: str, kind: str) -> str:
    """The SQL of how many bytes a value has as text, without unpacking it; "" for what is no text, number or list."""
    if many := _MANY.search(kind):
        inner = _size("x", kind[: many.start()])
        return f"coalesce(list_sum(list_transform({value}, lambda x: {_OBJECT} + {inner})), 0)" if inner else ""
    if _TEXTS.match(kind):
        return f"coalesce(strlen({value}::VARCHAR), 0)"
    return f"{_OBJECT}" if _NUMBERS.match(kind) else ""


def _check_size(table: _Table) -> None:
    """Nothing, if a table is no larger than a packed file may be: a value takes room once, however often it stands."""
    kinds = list(table.columns.items())
    sizes = [_size(_quoted(name), kind) for name, kind in (kinds[at] for at in table.places.values())]
    sizes.append(f"{len(sizes)}")  # what stands between cells
    query = (  # of every so many rows, as they are unpacked
        "SELECT sum(size), max(size) FROM (SELECT sum(size) AS size FROM "  # noqa: S608 - names are quoted
        f"(SELECT size, row_number() OVER () // {_ROWS} AS part FROM (SELECT {' + '.join(sizes)} AS size FROM {{}})) "
        "GROUP BY part)"
    )
    whole, most = table.ask(query).fetchone()
    if (whole or 0) > bearable(table.file.stat().st_size):
        raise SourceError(table.file, 0, f"unpacks to {int(whole) >> 20:,} MB, too much for its size", _MEND)
    if (most or 0) > FREE:
        raise SourceError(table.file, 0, f"has {_ROWS:,} rows of {int(most) >> 20:,} MB", "leave out what is so long")


def _unreadable(file: Path, line: int, error: Exception) -> SourceError:
    return SourceError(file, line, f"cannot be read ({str(error).splitlines()[0][:80]})", "write it again")


def _of_columns(duckdb: Any, table: _Table) -> Iterator[TableRecord]:
    """The records of one table."""
    number, names = 0, list(table.columns)
    plain = {"relation": relation_of(table.file)} if table.is_edges and "relation" not in table.places else {}
    asked = ", ".join(_quoted(names[at]) for at in table.places.values())
    try:
        found = table.ask(f"SELECT {asked} FROM {{}}")  # noqa: S608
        while rows := found.fetchmany(_ROWS):
            for cells in rows:
                number += 1
                said = {what: text for what, cell in zip(table.places, cells, strict=True) if (text := flat(cell))}
                yield TableRecord(number, plain | said, table.is_edges)
    except duckdb.Error as error:
        raise _unreadable(table.file, number, error) from error
