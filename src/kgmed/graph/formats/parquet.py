"""Parquet files and DuckDB databases, their columns understood as those of tables.

DuckDB reads them, within a bound of memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from kgmed.errors import SourceError, Unavailable
from kgmed.graph.base import Source
from kgmed.graph.formats.base import RoleTable, check_file, name_of, roles_from_toml
from kgmed.graph.formats.tables import (
    COLUMNS_MEND,
    RecordReader,
    TableRecord,
    flat,
    own_columns,
    relation_of,
    said_by,
)
from kgmed.registry import formats

_MEMORY, _ROWS = "1GB", 10_000  # what DuckDB may take; rows that are fetched at a time


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
    table = roles_from_toml(roles) if roles else RoleTable({}, {})
    own, kinds = own_columns(columns) if columns else (), dict(table.kinds)
    reader = RecordReader(name or name_of(path), dict(table.relations), kinds)
    return Source(
        name=reader.name,
        rows=lambda: reader.again().rows(_columnar(files, own)),
        release=release,
        relations=reader.relations,
        kinds=kinds,
        inputs=(*files, *(extra for extra in (roles, columns) if extra)),
    )


def _duckdb() -> Any:
    """The module duckdb."""
    try:
        import duckdb
    except ImportError as error:
        raise Unavailable('Parquet and DuckDB files need DuckDB; pip install "kgmed[duckdb]"') from error
    return duckdb


class _Table(NamedTuple):
    """A table of a file, and how it is asked for."""

    file: Path
    opened: Any
    asked: str  # the query; $1 = the file's path
    is_edges: bool

    @property
    def values(self) -> list[str]:
        """What the query's parameters are."""
        return [str(self.file)] if "$1" in self.asked else []


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
            yield table.file, _of_columns(duckdb, table, own)


def _tables_of(file: Path, duckdb: Any, stack: ExitStack, own: tuple[tuple[str, str], ...]) -> list[_Table]:
    """The tables of a file, which is closed with the stack."""
    base = file.suffix.casefold() == ".duckdb"
    limits = {"memory_limit": _MEMORY, "threads": "2"}
    opened = duckdb.connect(str(file) if base else ":memory:", read_only=base, config=limits)
    stack.callback(opened.close)
    names = [row[0].replace('"', '""') for row in opened.execute("SHOW TABLES").fetchall()] if base else []
    queries = [f'SELECT * FROM "{name}"' for name in names] if base else ["SELECT * FROM read_parquet($1)"]  # noqa: S608
    found = []
    for asked in queries:
        table = _Table(file, opened, asked, is_edges=False)
        header = tuple(row[0] for row in opened.execute(f"DESCRIBE {asked}", table.values).fetchall())
        found.append(table._replace(is_edges={"head", "tail"} <= said_by(header, own).keys()))
    return found


def _unreadable(file: Path, line: int, error: Exception) -> SourceError:
    said = str(error).splitlines()[0][:80]
    return SourceError(file, line, f"cannot be read ({said})", "write it again")


def _of_columns(duckdb: Any, table: _Table, own: tuple[tuple[str, str], ...]) -> Iterator[TableRecord]:
    """The records of one table."""
    number = 0
    try:
        found = table.opened.cursor().execute(table.asked, table.values)
        header = [column[0] for column in found.description]
        places = said_by(tuple(header), own)
        if not (table.is_edges or {"id", "name"} & places.keys()):
            raise SourceError(table.file, 0, f"has columns that say nothing: {', '.join(header)[:80]}", COLUMNS_MEND)
        plain = {"relation": relation_of(table.file)} if table.is_edges and "relation" not in places else {}
        while rows := found.fetchmany(_ROWS):
            for cells in rows:
                number += 1
                said = {what: text for what, at in places.items() if (text := flat(cells[at]))}
                yield TableRecord(number, plain | said, table.is_edges)
    except duckdb.Error as error:
        raise _unreadable(table.file, number, error) from error
