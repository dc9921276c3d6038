"""A store of runs in one SQLite file with a write-ahead log, for any number of threads and processes.

The command line keeps what it was asked in one (`kgmed log`); a service can keep its own. A run is kept as compressed
JSON, that of `Run.to_json`, beside the columns that a list shows. The file is its owner's alone (mode 600), and the
oldest runs go where it grows beyond 256 MB.
"""

import json
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from kgmed.cache import CacheFile, Layout
from kgmed.errors import BadInput, StoreError
from kgmed.records import Run, from_json

_MOST = 64 << 20  # bytes of the JSON of one run; a file that unpacks to more is not one of ours
_LARGEST = 256 << 20  # ours: some 30,000 runs
_LAYOUT = Layout(
    "runs",
    {
        "runs": "id TEXT PRIMARY KEY, question TEXT NOT NULL, answer TEXT NOT NULL, graph TEXT NOT NULL, "
        "method TEXT NOT NULL, abstained INTEGER NOT NULL, run BLOB NOT NULL)"
    },
    mark=0x4B52554E,  # KRUN
    largest=_LARGEST,
    oldest="DELETE FROM runs WHERE id IN (SELECT id FROM runs ORDER BY id LIMIT (SELECT 1 + count(*) / 4 FROM runs))",
    wait=2.0,  # an answer waits no longer for its log
)
_MEND = "kgmed log clear"
FILE = "runs.sqlite"  # of the data folder: what was asked of the command line, the page and the service
_WORDS = 16  # ours: that are sought at once
_ROW = "SELECT id, question, answer, graph, method, abstained FROM runs"


@dataclass(frozen=True, slots=True)
class Kept:
    """A run as a list shows it.

    Attributes:
        id: That of the run.
        question: What was asked.
        answer: The text of the answer.
        graph: Name, release and content hash.
        method: The name of the method.
        abstained: Whether there was no answer.
    """

    id: str
    question: str
    answer: str
    graph: str
    method: str
    abstained: bool

    @classmethod
    def of(cls, run: Run) -> "Kept":
        """The run as a list shows it."""
        answer = run.answer
        return cls(run.id, _text(run.question.text), _text(answer.text), run.graph, run.method, answer.abstained)

    @property
    def at(self) -> datetime:
        """When it was asked, to the millisecond, which its id says.

        >>> Kept("0192f0c1-2a80-7000-8000-000000000000", "Gout?", "", "", "", False).at.year
        2024
        """
        return datetime.fromtimestamp((UUID(self.id).int >> 80) / 1000, UTC)


class RunStore:
    """Runs by their id, in the order of their making; what goes wrong with the file is a `StoreError`."""

    def __init__(self, path: Path) -> None:
        """The store in a file, which is made with the first run."""
        self.path = path
        self._opened: CacheFile | None = None

    def put(self, run: Run) -> None:
        """Keep a run; one of the same id is replaced."""
        data = packed(run)
        kept = Kept.of(run)
        row = kept.id, kept.question, kept.answer, kept.graph, kept.method, kept.abstained
        self._file().write("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, data))

    def get(self, id: str) -> Run:
        """The run of an id, or of the beginning or the end of one; "last" = the newest. Raises `BadInput`."""
        if id == "last":
            found = self._rows("SELECT run, id FROM runs ORDER BY id DESC LIMIT 1")
        else:
            like = "".join(c for c in id.lower() if c in "0123456789abcdef-")
            found = self._rows(
                "SELECT run, id FROM runs WHERE id LIKE ? OR id LIKE ? LIMIT 2", f"{like}%", f"%{like}"
            ) if like == id.lower() and like else []  # fmt: skip
        if len(found) != 1:
            why = "several runs have" if found else "no run has"
            raise BadInput(f"{why} the id {id!r}; kgmed log lists them")
        run = unpacked(found[0][0], self.path, _MEND)
        if run.id != found[0][1]:
            raise StoreError(f"{self.path}: holds a run under the id of another; {_MEND}")
        return run

    def list(self, most: int = 20, sought: str = "") -> list[Kept]:
        """The newest runs, newest first, whose question or answer has every word that is sought."""
        words = sought.lower().split()[:_WORDS]
        where = " AND ".join(["instr(lower(question || char(10) || answer), ?)"] * len(words)) or "1"
        rows = self._rows(f"{_ROW} WHERE {where} ORDER BY id DESC LIMIT ?", *words, most)
        try:
            kept = [
                Kept(str(i), asked, said, graph, method, bool(none)) for i, asked, said, graph, method, none in rows
            ]
            return [one for one in kept if one.at]
        except ValueError:
            raise StoreError(f"{self.path}: the id of a run cannot be read; {_MEND}") from None

    def remove(self, id: str) -> None:
        """Delete the run of that whole id, where there is one."""
        if self.path.exists():
            self._file().write("DELETE FROM runs WHERE id = ?", (id,))

    def clear(self) -> int:
        """How many runs were there; none is left, and nothing of them in the file."""
        if not self.path.exists():
            return 0
        file = self._file()
        there: int = file.rows("SELECT count(*) FROM runs")[0][0]
        file.write("DELETE FROM runs", ())
        file.rows("VACUUM")
        file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        return there

    def close(self) -> None:
        """Close the file; it opens again by itself."""
        if self._opened is not None:
            self._opened.close()

    def _file(self) -> CacheFile:
        """The file, made where it is not there."""
        if self._opened is None:
            self._opened = CacheFile(self.path, _LAYOUT)
        return self._opened

    def _rows(self, sql: str, *values: object) -> Any:
        """The rows that a SELECT finds; none where there is no file."""
        return self._file().rows(sql, values) if self.path.exists() else []


def packed(run: Run) -> bytes:
    """The run as compressed JSON."""
    data = b""
    if "pydantic" in sys.modules:  # ten times as fast, but to read it in takes longer than a short command has
        with suppress(TypeError, ValueError):  # half a character, or a setting that is no plain data
            data = run.to_bytes()
    return zlib.compress(data or json.dumps(run, default=_plain, separators=(",", ":")).encode(), 6)


def unpacked(data: bytes, where: object, mend: str) -> Run:
    """A run as it was kept at a place; raises `StoreError`."""
    try:
        reader = zlib.decompressobj()
        plain = reader.decompress(data, _MOST)
        if reader.unconsumed_tail:
            raise StoreError(f"{where}: a run is larger than {_MOST >> 20} MB; {mend}")
        return from_json(Run, json.loads(plain))
    except (zlib.error, TypeError, ValueError, RecursionError, BadInput) as error:
        raise StoreError(f"{where}: a run cannot be read ({error}); {mend}") from None


def _text(text: str) -> str:
    """The text as a column can hold it: a half character is written as "?"."""
    return text.encode("utf-8", "replace").decode()


def _plain(value: object) -> object:
    """What a record, or a setting of a method, is in JSON."""
    if names := getattr(value, "__dataclass_fields__", None):
        return {name: getattr(value, name) for name in names}
    return dict(value) if isinstance(value, Mapping) else value.tolist() if hasattr(value, "tolist") else str(value)
