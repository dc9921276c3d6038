"""Every long operation killed with signal 9 at random moments, and done again: nothing is lost, the result is the same.

Each operation runs in a process of its own, which is killed with all that it has begun. Before it is done again it is
looked at: what was told to be finished must be there, what stood there before must be whole. Afterwards the result
must be that of a run that was not disturbed.
"""

import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Done = Any  # a number shared between processes: how much was told to be finished
LONGEST = 300.0  # seconds that one operation may take
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Operation:
    """What is killed: how it is prepared, done, what it gives, and whether what was finished is there after a kill."""

    name: str
    do: Callable[[Path, Done], object]
    result: Callable[[Path], str]
    prepare: Callable[[Path], object] = lambda _: None
    lacks: Callable[[Path, int], str] = lambda _, __: ""


@dataclass
class Killed:
    """What came of the kills of one operation."""

    name: str
    seconds: float  # of a run that was not disturbed
    kills: int = 0
    lost: list[str] = field(default_factory=list)


def kill_all(kills: int, *, seed: int, only: str = "", tell: bool = False) -> list[Killed]:
    """What came of so many kills, spread over all operations."""
    every = [o for o in operations() if only in o.name]
    draw, found = random.Random(seed), []
    for number, operation in enumerate(every):
        share = kills * (number + 1) // len(every) - kills * number // len(every)
        with tempfile.TemporaryDirectory() as scratch:
            killed = _killed(operation, share, draw, Path(scratch))
        found.append(killed)
        if tell:
            sys.stderr.write(f"{killed.name}: {killed.kills} kills, {len(killed.lost)} lost\n")
    return found


def _killed(operation: Operation, kills: int, draw: random.Random, scratch: Path) -> Killed:
    """One operation, killed so many times."""
    ready, whole = scratch / "ready", scratch / "whole"
    ready.mkdir()
    _apart(operation.prepare, ready)
    shutil.copytree(ready, whole)
    begun = time.monotonic()
    _apart(operation.do, whole, _FORK.Value("q", 0))
    found = Killed(operation.name, time.monotonic() - begun)
    wanted = _apart(operation.result, whole)
    tries, latest = 0, 1.05 * found.seconds
    while found.kills < kills and tries < 10 * kills:
        tries += 1
        here = scratch / f"{tries}"
        shutil.copytree(ready, here)
        moment = draw.uniform(0, latest)
        done = _FORK.Value("q", 0)
        if _kill(operation, here, done, moment):
            found.kills += 1  # the number without its lock, which the killed process may hold
            if why := _again(operation, here, int(done.get_obj().value), wanted):
                found.lost.append(f"after {moment:.3f} s: {why}")
        else:
            latest = min(latest, moment)  # it was done before that
        shutil.rmtree(here, ignore_errors=True)
    return found


def _kill(operation: Operation, folder: Path, done: Done, moment: float) -> bool:
    """Whether the operation was still at work at that moment after its beginning, and so was killed."""
    process = _FORK.Process(target=_alone, args=(operation.do, folder, done))
    process.start()
    process.join(moment)
    running = process.is_alive()
    try:
        os.killpg(process.pid or 0, signal.SIGKILL)  # with the processes that it has begun
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.join()
    return running and process.exitcode == -signal.SIGKILL


def _alone(do: Callable[..., object], *given: object) -> None:
    """Do it as the head of a group of processes, without a word."""
    os.setsid()
    _quiet()
    do(*given)


def _quiet() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _again(operation: Operation, folder: Path, done: int, wanted: str) -> str:
    """What was lost by a kill; "" = nothing."""
    try:
        if why := _apart(operation.lacks, folder, done):
            return str(why)
        _apart(operation.do, folder, _FORK.Value("q", 0))
        result = _apart(operation.result, folder)
    except Failed as error:
        return str(error)
    return "" if result == wanted else f"the result is {str(result)[:60]!r}, not {str(wanted)[:60]!r}"


class Failed(Exception):
    """What another process was to do was not done."""


def _apart(do: Callable[..., Any], *given: object) -> Any:
    """What a function gives in a process of its own, so that nothing that it keeps in memory helps another."""
    ours, theirs = _FORK.Pipe(duplex=False)

    def call() -> None:
        _quiet()
        try:
            theirs.send((True, do(*given)))
        except BaseException as error:  # noqa: BLE001 - it is told to the parent
            theirs.send((False, f"{type(error).__name__}: {error}"))

    def sendable() -> None:
        call()

    process = _FORK.Process(target=sendable)
    process.start()
    theirs.close()
    try:
        good, value = ours.recv() if ours.poll(LONGEST) else (False, f"not done after {LONGEST} s")
    except EOFError:
        good, value = False, "it ended without a word"
    if not good:
        process.kill()
    process.join()
    if not good:
        raise Failed(value)
    return value if isinstance(value, str) else None


# --- The operations.


SIZE = 12_000
FINDINGS = 400


def operations() -> list[Operation]:
    """All of them; what they need is loaded here, so that no process has to."""
    import kgmed.session  # noqa: F401
    from kgmed.graph import union, vectors  # noqa: F401
    from kgmed.graph.doctor import examine  # noqa: F401
    from kgmed.models import encoders, fakes, named  # noqa: F401

    made = [
        Operation("build of a graph", _build, _contents("g"), _write_triples, _whole_or_none),
        Operation("rebuild with other data", _rebuild, _contents("g"), _standing, _old_or_new),
        Operation("graph get from a folder", _get, _contents("made"), _published, _whole_or_none),
        Operation("vectors of a graph", _vectors, _matrix, _named),
        Operation("derived indexes", _derived, _answers, _named),
        Operation("merged store of two graphs", _union, _merged, _two_graphs),
        Operation("edits of a graph", _edit, _journal, _standing, _lacking_edits),
        Operation("evaluation in threads", _evaluate, _digest, _questions, _lacking_entries),
        Operation("replies kept by two processes", _replies, _kept, lambda _: None, _lacking_replies),
        Operation("report of an evaluation", _report, _page, _evaluated),
    ]
    try:
        import safetensors.torch  # noqa: F401
        import torch
        import transformers  # noqa: F401
    except ImportError:
        return made
    torch.set_num_threads(1)
    import kgmed.train.stages  # noqa: F401

    return [*made, Operation("training on cases", _train, _weights, _cases)]


def _at(folder: Path) -> None:
    os.environ["KGMED_HOME"] = str(folder / "home")


def _hash(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(repr, parts)).encode("utf-8", "surrogatepass")).hexdigest()


# graphs


def _write_triples(folder: Path, *, relation: str = "r", size: int = SIZE) -> None:
    rows = (f"n{i}\t{relation}\tn{i * 7919 % size}\n" for i in range(size))
    (folder / f"{relation}.tsv").write_text("".join(rows), encoding="utf-8")


def _build(folder: Path, _: Done, *, relation: str = "r", name: str = "g") -> None:
    from kgmed.graph import library

    _at(folder)
    library.build_graph(name, folder / f"{relation}.tsv")


def _standing(folder: Path) -> None:
    _write_triples(folder)
    _build(folder, None)
    _write_triples(folder, relation="q")


def _rebuild(folder: Path, _: Done) -> None:
    _build(folder, None, relation="q")


def _opened(folder: Path, name: str) -> Any:
    from kgmed.graph.store.store import open_store

    return open_store(folder / "home" / "graphs" / name, contents=True)


def _graph_folder(folder: Path) -> Path:
    from kgmed.disk import graphs_folder

    _at(folder)
    return graphs_folder()


def _contents(name: str) -> Callable[[Path], str]:
    """What a graph holds, and that nothing is left over beside it."""

    def call(folder: Path) -> str:
        from kgmed.graph.store.store import open_store

        place = _graph_folder(folder) / name
        store = open_store(place, contents=True)
        left = sorted(p.name for p in place.iterdir() if not p.name.startswith("v-"))
        return f"{store.manifest.content} {store.manifest.counts} {left}"

    return call


def _whole_or_none(folder: Path, _: int) -> str:
    """Nothing is wrong where each graph that is there opens with all its content."""
    from kgmed.graph.store.store import open_store

    for pointer in _graph_folder(folder).glob("*/CURRENT"):
        open_store(pointer.parent, contents=True)
    return ""


def _old_or_new(folder: Path, _: int) -> str:
    from kgmed.graph.store.store import open_store

    store = open_store(_graph_folder(folder) / "g", contents=True)
    names = [r.name for r in store.relations]
    return "" if names in (["r"], ["q"]) and store.adjacency.edges == SIZE else f"a graph of {names}"


def _published(folder: Path) -> None:
    rows = "".join(f"HP:{n:07}\t名{n}\tzh\trdfs:label\tname {n}\n" for n in range(SIZE))
    head = "subject_id\ttranslation_value\ttranslation_language\tpredicate_id\tsource_value\n"
    (folder / "given").mkdir()
    (folder / "given" / "a-zh.babelon.tsv").write_text(head + rows, encoding="utf-8")


def _get(folder: Path, _: Done) -> None:
    from kgmed.graph.get import get
    from kgmed.graph.library import Published, Remote

    _at(folder)
    path = folder / "given" / "a-zh.babelon.tsv"
    data = path.read_bytes()
    file = Remote(f"https://127.0.0.1:9/{path.name}", len(data), hashlib.sha256(data).hexdigest())
    table = [Published("made", "made for a test", "babelon", "1", "zh", "a licence", "a citation", (file,))]
    get("made", given=folder / "given", table=table)


# what is derived from a graph


def _named(folder: Path) -> None:
    from kgmed.graph.base import NodeRow, Source
    from kgmed.graph.store.build import build

    rows = [NodeRow(f"X:{i:05d}", f"finding number {i} of {i % 89} kinds") for i in range(5_000)]
    build(Source("named", lambda: iter(rows), language="en"), folder / "named")


def _vectors(folder: Path, _: Done) -> None:
    from kgmed.graph import vectors
    from kgmed.graph.store.store import open_store
    from kgmed.models.encoders import NgramEncoder

    vectors.compute(open_store(folder / "named"), NgramEncoder(64))


def _matrix(folder: Path) -> str:
    from kgmed.graph import vectors
    from kgmed.graph.store.store import open_store
    from kgmed.models.encoders import NgramEncoder

    store = open_store(folder / "named")
    found = vectors.open_vectors(store, NgramEncoder(64))
    rows = "" if found is None else hashlib.sha256(found.matrix.tobytes()).hexdigest()
    return f"{rows} {_damage(store)} {_left(Path(store.folder))}"


def _damage(store: Any) -> list[str]:
    from kgmed.graph.doctor import examine

    return [str(Path(d).name) for d in examine(store).damage]


def _left(folder: Path) -> list[str]:
    """What unfinished work has left beside what is derived."""
    return sorted(p.name[:7] for p in folder.rglob(".*") if p.is_dir())


def _derived(folder: Path, _: Done) -> None:
    from kgmed.graph.names import Fuzzy
    from kgmed.graph.store.store import open_store
    from kgmed.linking.recognise import Lexicon

    store = open_store(folder / "named")
    Fuzzy(store).search("finding numer 77")
    Lexicon(store).find("finding number 7 of 7 kinds")


def _answers(folder: Path) -> str:
    from kgmed.graph.names import Fuzzy
    from kgmed.graph.store.store import open_store
    from kgmed.linking.recognise import Lexicon

    store = open_store(folder / "named")
    fuzzy, lexicon = Fuzzy(store), Lexicon(store)
    found = [fuzzy.search(f"finding numer {i} of 3 kind") for i in range(20)]
    spans = [lexicon.find(f"has finding number {i} of {i} kinds, and") for i in range(20)]
    return _hash(found, spans, _damage(store), _left(Path(store.folder)))


# several graphs as one


def _two_graphs(folder: Path) -> None:
    from kgmed.graph import library
    from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source

    _at(folder)

    def rows(prefix: str, other: str) -> Iterator[Row]:
        for i in range(1500):
            yield NodeRow(
                f"{prefix}:{i}", f"finding number {i}", "disease", aliases=(Alias(f"{other}:{i}", Scope.XREF),)
            )
        for i in range(1500):
            yield EdgeRow(f"{prefix}:{i}", "r", f"{prefix}:{i * 17 % 1500}")

    for name, prefix, other in (("one", "A", "B"), ("two", "B", "A")):
        library.build_source(name, Source(name, lambda p=prefix, o=other: rows(p, o), language="en"))  # type: ignore[misc]


def _union(folder: Path, _: Done) -> None:
    from kgmed.graph import library

    _at(folder)
    library.together(["one", "two"])


def _merged(folder: Path) -> str:
    from kgmed.graph import library

    _at(folder)
    store = library.together(["one", "two"])
    store.verify()
    place = _graph_folder(folder) / library.TOGETHER
    return f"{store.manifest.content} {len(store)} {sorted(p.name for p in place.rglob('.building*'))}"


# edits


EDITS = 25


def _edit(folder: Path, done: Done) -> None:
    from kgmed.graph import library

    _at(folder)
    there = {e.tail for e in library.edits("g").edits}
    for i in range(EDITS):
        if f"g:n{i}" not in there:
            library.add("g", ("n5", "told", f"n{i}"))
        done.value = i + 1


def _journal(folder: Path) -> str:
    from kgmed.graph import library

    _at(folder)
    return _hash(library.edits("g").edits, library.load("g").adjacency.edges)


def _lacking_edits(folder: Path, done: int) -> str:
    from kgmed.graph import library

    _at(folder)
    kept = len(library.edits("g").edits)
    return "" if kept >= done else f"{done} edits were told to be made, {kept} are there"


# evaluations


def _questions(folder: Path) -> None:
    _at(folder)
    rows = [f"d{i}\thas_symptom\tfinding {j}\n" for i in range(200) for j in (i, i * 7 % 200, i * 13 % 200)]
    (folder / "r.tsv").write_text("".join(rows), encoding="utf-8")
    _build(folder, None)
    asked = ({"question": f"What are the symptoms of d{i}?", "texts": [f"finding {i}"]} for i in range(FINDINGS // 4))
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked), encoding="utf-8")


def _evaluate(folder: Path, done: Done) -> None:
    from kgmed.config import Config
    from kgmed.evaluate.run import Evaluation, ThreadExecutor, evaluate

    _at(folder)
    config = Config(graph="g")
    trial = Evaluation(methods=("facts",), dataset=str(folder / "mine.jsonl"), data=folder, config=config)
    trial = _moved(trial)

    def each(_: object) -> None:
        done.value += 1

    evaluate(trial, folder / "run", ThreadExecutor(3), each=each)


def _moved(trial: Any) -> Any:
    """The same evaluation, its data set named by a path that is the same in each copy of the folder."""
    from dataclasses import replace

    os.chdir(trial.data)
    return replace(trial, dataset="mine.jsonl", data=Path())


def _digest(folder: Path) -> str:
    from kgmed.evaluate.log import digest, entries

    found = entries(folder / "run")
    return f"{len(found)} {digest(found)}"


def _lacking_entries(folder: Path, done: int) -> str:
    from kgmed.evaluate.log import entries

    kept = len(entries(folder / "run"))
    return "" if kept >= done else f"{done} answers were told to be kept, {kept} are there"


def _evaluated(folder: Path) -> None:
    _questions(folder)
    _evaluate(folder, _FORK.Value("q", 0))


def _report(folder: Path, _: Done) -> None:
    from typer.testing import CliRunner

    from kgmed.cli import app

    os.chdir(folder)
    found = CliRunner().invoke(app, ["eval", "report", "run", "--data", ".", "--out", "report", "--markdown", "r.md"])
    if found.exit_code:
        raise Failed(found.output + repr(found.exception))


def _page(folder: Path) -> str:
    files = sorted(p for p in (folder / "report").rglob("*") if p.is_file())
    told = [(p.relative_to(folder).as_posix(), hashlib.sha256(p.read_bytes()).hexdigest()) for p in files]
    return _hash(told, (folder / "r.md").read_text(encoding="utf-8"))


# replies


CALLS = 300


def _ask_all(folder: Path, start: int, done: Done) -> None:
    from kgmed.models.base import Message
    from kgmed.models.fakes import Echo
    from kgmed.models.named import CachedLLM

    cached = CachedLLM(Echo(), folder / "replies.db")
    for i in range(start, CALLS + start):
        cached([Message("user", f"question {i % CALLS}")])
        if done is not None:
            done.value += 1
    cached.close()


def _replies(folder: Path, done: Done) -> None:
    other = os.fork()
    if not other:
        _ask_all(folder, CALLS // 2, None)
        os._exit(0)
    _ask_all(folder, 0, done)
    os.waitpid(other, 0)


def _kept(folder: Path) -> str:
    import sqlite3

    connection = sqlite3.connect(folder / "replies.db")
    sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
    rows = connection.execute("SELECT key, model, settings, reply FROM replies ORDER BY key").fetchall()
    connection.close()
    return f"{sound} {len(rows)} {_hash(rows)}"


def _lacking_replies(folder: Path, done: int) -> str:
    from kgmed.models.base import Message
    from kgmed.models.fakes import Echo
    from kgmed.models.named import CachedLLM

    if not done:
        return ""
    replayed = CachedLLM(Echo(), folder / "replies.db", mode="replay")
    wrong = [i for i in range(done) if not replayed([Message("user", f"question {i}")]).text.endswith(f"question {i}")]
    return f"wrong replies to {wrong}" if wrong else ""


# training


def _cases(folder: Path) -> None:
    from made_cases import patients

    parts = [("train", c) for c in patients(60, 1)] + [("test", c) for c in patients(30, 2)]
    rows = (
        {"positive": c.positive, "negative": c.negative, "disease": c.disease, "split": part, "id": c.id}
        for part, c in parts
    )
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _train(folder: Path, _: Done) -> None:
    from typer.testing import CliRunner

    from kgmed.cli import app

    os.chdir(folder)
    words = ["train", "rlkgf", "cases.jsonl", "--out", "run", "--policy", "tiny", "--steps", "10", "--rate", "5e-3"]
    found = CliRunner().invoke(app, words)
    if found.exit_code:
        raise Failed(found.output + repr(found.exception))


def _weights(folder: Path) -> str:
    model = folder / "run" / "model" / "model.safetensors"
    steps = [json.loads(line)["step"] for line in (folder / "run" / "log.jsonl").read_text("utf-8").splitlines()]
    return f"{hashlib.sha256(model.read_bytes()).hexdigest()} {steps}"
