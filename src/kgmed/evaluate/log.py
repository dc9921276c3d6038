"""The append-only log of an evaluation: one JSON object a line, each a finished question of one method.

A folder holds `manifest.json` (what is compared with what) and `log.jsonl`. An entry is on the disk before the next
one begins, so that a killed evaluation loses nothing that was finished; a last line without its end is cut off when
the log is opened again. A later entry of the same question, method and seed replaces an earlier one. Scores are
computed from the log alone. The manifest bears an id made by chance, which is in the hash of every line: lines of
another folder's log are refused.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self
from uuid import uuid4

import xxhash

from kgmed.disk import hold, write_whole
from kgmed.errors import BadInput, SourceError
from kgmed.records import Run, to_json

LOG, MANIFEST, LOCK = "log.jsonl", "manifest.json", ".lock"


class Job(NamedTuple):
    """One question to ask of one method, with a seed."""

    method: str
    item: str
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of a job: its run, or in one line why there is none. A failure is a result and is scored as one."""

    job: Job
    run: Run | None = None
    error: str = ""

    @property
    def untimed(self) -> "Entry":
        """The entry without its seconds and its run's id: what must be equal when the same is done again."""
        if self.run is None:
            return self
        stages = tuple(replace(s, seconds=0.0) for s in self.run.stages)
        return replace(self, run=replace(self.run, stages=stages, id=""))


_KEYS = {*Job._fields, "error", "run"}
_CHECK = b',"check":"'


def to_line(entry: Entry, of: str = "") -> bytes:
    """One line of the log of a folder, with a hash of its id and what it says, which finds damage."""
    plain = _plain(entry)
    return plain[:-1] + _CHECK + _hash(plain, of).encode() + b'"}\n'


def _hash(said: bytes, of: str) -> str:
    return xxhash.xxh3_64_hexdigest(of.encode() + said)


def _plain(entry: Entry) -> bytes:
    data = {**entry.job._asdict(), "error": entry.error, "run": to_json(entry.run)}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _entry(path: Path, number: int, line: bytes, of: str) -> Entry:
    """The entry in a line of the log of a folder; raises `SourceError`."""
    try:
        data = json.loads(line.decode("utf-8", "surrogatepass"))
        said = line.rpartition(_CHECK)[0] + b"}"
        old = data.keys() == _KEYS and not of  # folders of old have no id, the oldest lines no hash
        if not old and (data.keys() != _KEYS | {"check"} or data["check"] != _hash(said, of)):
            raise ValueError
        run = None if data["run"] is None else Run.from_json(data["run"])
        return Entry(Job(str(data["method"]), str(data["item"]), int(data["seed"])), run, str(data["error"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, BadInput):
        raise SourceError(
            path, number, "is no entry of this evaluation's log", "remove that line and run again"
        ) from None


def entries(folder: Path) -> dict[Job, Entry]:
    """The last entry of every job, in the order of the log; a torn last line is left out."""
    path, of = folder / LOG, _id(folder)
    try:
        with path.open("rb") as f:
            lines = ((i, line) for i, line in enumerate(f, start=1) if line.endswith(b"\n"))
            found = [_entry(path, i, line, of) for i, line in lines]
    except FileNotFoundError:
        return {}
    return {e.job: e for e in found}


def digest(found: dict[Job, Entry]) -> str:
    """A hash of all that the entries say but seconds and ids, whatever their order."""
    whole = hashlib.sha256()
    for job in sorted(found):
        whole.update(_plain(found[job].untimed) + b"\n")
    return whole.hexdigest()


class Log:
    """A log opened for writing by one process at a time; a context manager.

    `manifest` says what is compared; a folder that was begun with another one is refused (`BadInput`), because its
    entries would be answers to another question. Only the list under `grows` may be longer now than it was.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], *, grows: str = "") -> None:
        """Open or begin the log in a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lock = hold(folder / LOCK)
        try:
            _agree(folder / MANIFEST, manifest, grows)
            self._id = _id(folder)
            self._file: BinaryIO = (folder / LOG).open("ab+")
            _cut(self._file)
            self.done = entries(folder)
        except BaseException:
            self._lock.release()
            raise

    def write(self, entry: Entry) -> None:
        """Add an entry and bring it to the disk."""
        self._file.write(to_line(entry, self._id))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.done[entry.job] = entry

    def __enter__(self) -> Self:
        """The log itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it; what was written stays."""
        self._file.close()
        self._lock.release()


def _cut(file: BinaryIO) -> None:
    """Cut off a last line that has no end."""
    end = file.seek(0, os.SEEK_END)
    tail = b""
    while end and b"\n" not in tail:
        start = max(0, end - (1 << 16))
        file.seek(start)
        tail = file.read(end - start) + tail
        end = start
    if tail and not tail.endswith(b"\n"):
        file.truncate(end + tail.rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)


def _agree(path: Path, manifest: dict[str, Any], grows: str) -> None:
    """Write the manifest, or find the same one there, or one that it adds to; raises `BadInput` naming what differs."""
    wanted = json.loads(json.dumps(manifest, ensure_ascii=False))
    if path.exists():
        there = read_manifest(path.parent)
        differing = [k for k in sorted({*there, *wanted}) if there.get(k) != wanted.get(k)]
        lacking = [one for one in there[grows] if one not in wanted[grows]] if differing == [grows] else []
        if lacking:
            raise BadInput(f"{path}: was begun with the {grows} {', '.join(lacking)} too; name them, or another folder")
        if differing not in ([], [grows]):
            raise BadInput(f"{path}: was begun with another {', '.join(differing)}; name another folder")
        if not differing:
            return
    kept = _id(path.parent) if path.exists() else uuid4().hex
    wanted |= {"id": kept} if kept else {}  # one of old has none
    write_whole(path, json.dumps(wanted, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the evaluation in a folder compares; raises `SourceError`."""
    return {k: v for k, v in _manifest(folder).items() if k != "id"}


def _id(folder: Path) -> str:
    """The id of the evaluation in a folder; "" = it has none."""
    return str(_manifest(folder).get("id", "")) if (folder / MANIFEST).exists() else ""


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{folder}: holds no evaluation (no {MANIFEST}); begin one with kgmed eval run") from None
    except (ValueError, RecursionError):
        raise SourceError(path, 0, "is not JSON", "begin the evaluation anew in another folder") from None
    if not isinstance(data, dict):
        raise SourceError(path, 0, "is no manifest", "begin the evaluation anew in another folder")
    return data


def in_order(found: dict[Job, Entry], jobs: Iterator[Job] | list[Job]) -> list[Entry]:
    """The entries of the jobs in their order; without those that were never done."""
    return [found[job] for job in jobs if job in found]
