"""Bytes turned over in what kgmed keeps, a clock that goes back, a user without rights: nothing wrong, one line."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from kgmed.errors import KgmedError

Ended = subprocess.CompletedProcess[str]
Kept = tuple[Callable[[], list[Path]], Callable[[], object]]  # the files, and what is read of them


@dataclass
class Tried:
    """What came of the trials of one kind."""

    name: str
    tried: int = 0
    lost: list[str] = field(default_factory=list)
    how: str = ""


def damage(flips: int, *, seed: int) -> list[Tried]:
    """What came of so many turned bytes, spread over all kinds of files."""
    kinds = [_log, _replies, _answers, _runs, _graph, _large_graph, _merged]
    found, draw = [], random.Random(seed)
    for kind in kinds:
        with tempfile.TemporaryDirectory() as scratch:
            tried = Tried((kind.__doc__ or "").rstrip("."))
            files, read = kind(Path(scratch))
            for _ in range(flips // len(kinds)):
                tried.tried += 1
                if why := _flipped(draw.choice(files()), read, draw):
                    tried.lost.append(why)
            found.append(tried)
    return found


def _flipped(path: Path, read: Callable[[], object], draw: random.Random) -> str:
    """What is wrong with what is read when one byte of a file is another; "" = nothing. The file is mended after."""
    wanted, whole = read(), path.read_bytes()
    place = draw.randrange(len(whole))
    there = path.stat()
    with path.open("r+b") as file:
        file.seek(place)
        file.write(bytes([whole[place] ^ (1 << draw.randrange(8))]))
    try:
        found = read()
    except KgmedError as error:
        return "" if "\n" not in str(error) else f"{path.name}: a message of several lines"
    except Exception as error:  # noqa: BLE001 - any other is what is looked for
        return f"{path.name}, byte {place}: {type(error).__name__}: {error}"
    finally:
        if path.exists():
            path.write_bytes(whole)
            os.utime(path, ns=(there.st_atime_ns, there.st_mtime_ns))
    return "" if found == wanted else f"{path.name}, byte {place}: another answer without a word"


# Each: the files, and what is read of them.


def _log(folder: Path) -> Kept:
    """the log of an evaluation."""
    from eval_makers import items, run
    from kgmed.evaluate import log

    with log.Log(folder, {"data": "toy"}) as opened:
        for item in items(20):
            opened.write(log.Entry(log.Job("facts", item.question.id), run(item.question, "said so")))
    return lambda: [folder / log.LOG], lambda: _but_the_torn(log.entries(folder))


def _but_the_torn(found: dict[Any, Any]) -> object:
    """The entries; where the end of the last line is gone it counts as never written, and is asked again."""
    return [entry for job, entry in found.items() if job.item != "q19"]


def _replies(folder: Path) -> Kept:
    """kept replies of models."""
    from kgmed.models.base import Message
    from kgmed.models.fakes import Echo
    from kgmed.models.named import CachedLLM

    path = folder / "replies.db"
    asked = [[Message("user", f"question {i}")] for i in range(20)]
    cached = CachedLLM(Echo(), path)
    said = [cached(messages).text for messages in asked]
    cached.close()
    _settled(path)

    def read() -> object:
        copy = folder / "copy.db"
        shutil.copyfile(path, copy)
        found = CachedLLM(Echo(), copy)
        try:
            return [found(messages).text for messages in asked] == said
        finally:
            found.close()
            for left in folder.glob("copy.db*"):
                left.unlink()

    return lambda: [path], read


def _settled(path: Path) -> None:
    """Bring everything into the file itself."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def _answers(folder: Path) -> Kept:
    """kept answers of remote graphs."""
    from kgmed.graph.remote.named import CachedGraph

    graph, path = _small(folder / "g", 30), folder / "answers.db"
    ids = [f"g:n{i}" for i in range(30)]
    with CachedGraph(graph, path) as cached:
        said = [cached.neighbours(i) for i in ids]
    _settled(path)

    def read() -> object:
        copy = folder / "copy.db"
        shutil.copyfile(path, copy)
        try:
            with CachedGraph(graph, copy) as found:
                return [found.neighbours(i) for i in ids] == said
        finally:
            for left in folder.glob("copy.db*"):
                left.unlink()

    return lambda: [path], read


def _runs(folder: Path) -> Kept:
    """the log of one's own questions."""
    from dataclasses import replace

    from eval_makers import items, run
    from kgmed.runs import RunStore

    path = folder / "runs.db"
    made = [
        replace(run(item.question, f"said {item.question.id}"), id=str(UUID(int=i + 1)))
        for i, item in enumerate(items(20))
    ]
    store = RunStore(path)
    for one in made:
        store.put(one)
    store.close()
    _settled(path)

    def read() -> object:
        copy = folder / "copy.db"
        shutil.copyfile(path, copy)
        found = RunStore(copy)
        try:
            listed = [one.at for one in found.list(100)]
            return len(listed) <= len(made) and [found.get(one.id).answer for one in made] == [
                one.answer for one in made
            ]
        finally:
            found.close()
            for left in folder.glob("copy.db*"):
                left.unlink()

    return lambda: [path], read


def _small(folder: Path, size: int, *, text: str = "") -> Any:
    from kgmed.graph.base import EdgeRow, NodeRow, Source
    from kgmed.graph.store.build import build
    from kgmed.graph.store.store import open_store

    def rows() -> Iterator[Any]:
        for i in range(size):
            yield NodeRow(f"g:n{i}", f"finding {i}", "disease", text and f"{i} {text}")
            yield EdgeRow(f"g:n{i}", "r", f"g:n{i * 7 % size}")

    build(Source("g", rows, language="en"), folder)
    return open_store(folder)


def _graph(folder: Path) -> Kept:
    """a stored graph."""
    return _store(folder, _small(folder / "g", 300))


def _large_graph(folder: Path) -> Kept:
    """a stored graph above 64 MB."""
    from kgmed.graph.store.folder import FULL_CHECK

    store = _small(folder / "g", 300, text="x" * (FULL_CHECK // 280))
    if store.manifest.bytes <= FULL_CHECK:
        raise RuntimeError("the graph is too small to show that")
    return _store(folder, store)


def _store(folder: Path, store: Any) -> Kept:
    from kgmed.graph.store.store import open_store

    def read() -> object:
        opened = open_store(folder / "g")
        return [(e.id, e.name, len(e.description), opened.neighbours(e.id)) for e in map(opened.at, range(len(opened)))]

    return lambda: _files(Path(store.folder)), read


def _merged(folder: Path) -> Kept:
    """the merged store of two graphs."""
    from kgmed.graph import library
    from kgmed.graph.base import Alias, EdgeRow, NodeRow, Scope, Source

    os.environ["KGMED_HOME"] = str(folder)
    for name, prefix, other in (("one", "A", "B"), ("two", "B", "A")):
        rows = [NodeRow(f"{prefix}:{i}", f"finding {i}", "disease", aliases=(Alias(f"{other}:{i}", Scope.XREF),))
                for i in range(60)]  # fmt: skip
        edges = [EdgeRow(f"{prefix}:{i}", "r", f"{prefix}:{i * 17 % 60}") for i in range(60)]
        library.build_source(name, Source(name, lambda r=(*rows, *edges): iter(r), language="en"))  # type: ignore[misc]

    def read() -> object:
        os.environ["KGMED_HOME"] = str(folder)
        whole = library.together(["one", "two"])
        return [(e.id, e.name, whole.neighbours(e.id)) for e in map(whole.at, range(len(whole)))]

    read()
    return lambda: _files(Path(library.together(["one", "two"]).folder)), read


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix in (".npy", ".json"))


# --- A clock that goes back, and a user without rights: whole commands, each in a process of its own.


BACK = """
import time
_time, _ns, _begun = time.time, time.time_ns, time.monotonic()
def _shift():
    return 0 if time.monotonic() - _begun < 0.05 else {hours} * 3600
time.time = lambda: _time() - _shift()
time.time_ns = lambda: _ns() - _shift() * 10**9
"""
STEPS: tuple[tuple[str, ...], ...] = (
    ("graph", "build", "flu", "flu.tsv"),
    ("graph", "build", "flu", "flu.tsv", "--force"),
    ("graph", "vectors", "flu"),
    ("graph", "doctor", "flu"),
    ("graph", "add", "flu", "gout", "has_symptom", "fever"),
    ("graph", "find", "flu", "fver"),
    ("ask", "What are the symptoms of flu?", "--graph", "flu"),
    ("eval", "run", "out", "--set", "mine.jsonl", "--method", "facts", "--graph", "flu"),
    ("eval", "score", "out"),
)


def _prepared(folder: Path) -> None:
    rows = "flu\\thas_symptom\\tfever\\ngout\\thas_symptom\\ttoe pain\\ngout\\ttreated_by\\tallopurinol\\n"
    (folder / "flu.tsv").write_text(rows.replace("\\t", "\t").replace("\\n", "\n"), encoding="utf-8")
    row = {"question": "What are the symptoms of flu?", "texts": ["fever"]}
    (folder / "mine.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


def clock() -> Tried:
    """Commands whose clock goes back while they run, and forward again with the next."""
    tried = Tried("commands while the clock goes back by an hour or a year")
    for hours in (1, 24 * 365):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            _prepared(folder)
            (folder / "site").mkdir()
            (folder / "site" / "sitecustomize.py").write_text(BACK.format(hours=hours), encoding="utf-8")
            for number, words in enumerate(STEPS):
                tried.tried += 1
                path = f"{folder / 'site'}{os.pathsep}" if number % 2 else ""
                done = _run(words, folder, {"PYTHONPATH": f"{path}{os.environ.get('PYTHONPATH', '')}"})
                if done.returncode or "Traceback" in done.stderr:
                    tried.lost.append(f"{' '.join(words)}: {done.stderr[-200:]}")
    return tried


def _run(words: Sequence[str], folder: Path, more: Mapping[str, str], before: Sequence[str] = ()) -> Ended:
    """A command in a process of its own, behind the words of another that begins it."""
    environment = {**os.environ, "KGMED_HOME": str(folder / "home"), "HOME": str(folder), **more}
    command = [*before, sys.executable, "-c", "from kgmed.cli import main; main()", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def rights() -> Tried:
    """Commands of a user who may read the home and not write it, or not even that; with graphs in it, and without."""
    tried = Tried("commands of a user without rights")
    for mode in (0o555, 0o000):
        for named in (True, False):
            with tempfile.TemporaryDirectory() as scratch:
                _without_rights(Path(scratch), tried, mode=mode, named=named)
    return tried


def _without_rights(folder: Path, tried: Tried, *, mode: int, named: bool) -> None:
    """Every command on a home with those rights; where it is not `named` there is none yet and none can be made."""
    _prepared(folder)
    if named:
        for words in STEPS[:3]:
            _run(words, folder, {})
    home = folder / "home"
    home.mkdir(exist_ok=True)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in [*home.rglob("*"), home]:
        path.chmod(mode if path.is_dir() else mode & 0o444)
    try:
        for words in STEPS:
            tried.tried += 1
            if why := _refused(words, folder):
                tried.lost.append(f"home {mode:03o}{'' if named else ', empty'}: {' '.join(words)}: {why}")
    finally:
        for path in [home, *home.rglob("*")]:
            path.chmod(0o755)


BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all")


def _refused(words: Sequence[str], folder: Path) -> str:
    """What is wrong with how a command ends for a user who may not write; "" = nothing."""
    done = _run(words, folder, {}, BOUND if is_root() else ())
    said = done.stderr.strip().splitlines()
    if "Traceback" in done.stderr:
        return said[-1]
    return f"{len(said)} lines: {done.stderr[-200:]!r}" if done.returncode and len(said) != 1 else ""


def is_root() -> bool:
    """Whether rights do not bind this process, so that the commands must be begun without that power."""
    return hasattr(os, "getuid") and os.getuid() == 0


def may_try_rights() -> bool:
    """Whether commands can be bound by rights here."""
    return hasattr(os, "getuid") and (not is_root() or shutil.which(BOUND[0]) is not None)
