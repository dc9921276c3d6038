"""The edits of a graph as a person made them: one JSON object a line, only ever appended to.

The file stands in the graph's folder beside CURRENT, so that it outlives a rebuild. A last line without its end was
being written when the process was killed; it is left out, reported, and removed by the next edit.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgmed.errors import StoreError
from kgmed.kg.rows import EdgeRow
from kgmed.kg.store.edits import Withdrawn, edit
from kgmed.kg.store.lock import locked
from kgmed.kg.store.store import Store
from kgmed.types import Support

FILE = "edits.jsonl"
ADD, WITHDRAW = "add", "withdraw"


@dataclass(frozen=True, slots=True)
class Edit:
    """One triple added or withdrawn; head and tail are ids."""

    what: str  # add or withdraw
    head: str
    relation: str
    tail: str
    reference: str = ""
    note: str = ""
    weight: float = 1.0

    @property
    def triple(self) -> Withdrawn:
        """Head, relation and tail."""
        return self.head, self.relation, self.tail

    @property
    def row(self) -> EdgeRow:
        """The triple to add."""
        said = (("note", self.note),) if self.note else ()
        support = (Support(self.reference, said),) if self.reference or said else ()
        return EdgeRow(*self.triple, self.weight, support)


@dataclass(frozen=True, slots=True)
class Journal:
    """The edits of a graph, oldest first, and a report of each that cannot be made."""

    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()


def read_journal(folder: Path) -> Journal:
    """The journal of a graph's folder; raises `StoreError` naming a line that is no edit."""
    path = folder / FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Journal()
    except OSError as e:
        raise StoreError(f"{path}: cannot be read ({e.strerror})") from e
    *lines, torn = data.split(b"\n")
    edits = tuple(_parsed(path, number, line) for number, line in enumerate(lines, start=1) if line.strip())
    notes = (f"{path}:{len(lines) + 1}: the last edit was not written to its end and is left out",) if torn else ()
    return Journal(edits, notes)


def _parsed(path: Path, number: int, line: bytes) -> Edit:
    """The edit in a line."""
    try:
        data = json.loads(line)
        edit = Edit(**data)
        if edit.what in (ADD, WITHDRAW) and _sound(data, edit):
            return edit
    except (ValueError, TypeError, RecursionError):
        pass
    raise StoreError(f"{path}:{number}: is no edit; mend or remove that line")


def _sound(data: dict[str, Any], edit: Edit) -> bool:
    texts = (value for key, value in data.items() if key != "weight")
    weight = edit.weight
    return all(isinstance(v, str) for v in texts) and isinstance(weight, int | float) and 0 <= weight <= 1


def append(folder: Path, edit: Edit) -> None:
    """Write an edit to the end of the journal, and to the disk."""
    line = json.dumps({k: v for k, v in asdict(edit).items() if v not in ("", 1.0)}, ensure_ascii=False)
    with locked(folder), (folder / FILE).open("ab+") as f:
        f.seek(0)
        whole = f.read().rfind(b"\n") + 1
        f.truncate(whole)
        f.write(line.encode() + b"\n")
        f.flush()
        os.fsync(f.fileno())


def replay(store: Store, edits: Iterable[Edit]) -> tuple[Store, tuple[str, ...]]:
    """The graph after those edits, and a note for each that asks for what is not there (any more)."""
    added: dict[Withdrawn, list[EdgeRow]] = {}
    gone: dict[Withdrawn, None] = {}
    notes = []
    for number, one in enumerate(edits, start=1):
        if one.what == ADD:
            added.setdefault(one.triple, []).append(one.row)
            continue
        is_there = one.triple not in gone and store.edge(*one.triple) >= 0
        if added.pop(one.triple, None) is None and not is_there:
            notes.append(f"edit {number} withdraws {' | '.join(one.triple)}, which {store.name} does not have")
        if is_there:
            gone[one.triple] = None
    return edit(store, [row for rows in added.values() for row in rows], gone), tuple(notes)
