"""How long an answer takes: LiveQA's questions warm, the first question of a process, a known one as a whole process.

    KGMED_DATA=DIR python bench/answering.py [--most N] [--rounds 5] [--beside CHECKOUT]
    KGMED_DATA=DIR python bench/answering.py [--methods] --write FILE | --same FILE
    KGMED_DATA=DIR python bench/answering.py --methods

All installed graphs are asked. `--beside` measures the code of another checkout (git worktree add CHECKOUT REVISION)
in turn with this one and prints how much of its time is left: on a busy machine that ratio, and those to the fixed work
of this file, are the figures to compare. Each checkout has a copy of the graphs, since two versions of the code make
each other's tables anew. Times are of the processor, the least of the rounds.

`--write` keeps the run of every question of LiveQA and of bench/*.jsonl, `--same` asks them again and ends with code 1
where a run is another than the one kept, but for its times: what makes answers faster may not change them. Both print
the times of each set, each question new and again.

`--methods` times the methods of the papers without their model, by one that names the names of a question at once and
has nothing else to say: fifty questions of LiveQA and as many Chinese ones of bench/strangers.jsonl, all installed
graphs. "new" = no vector of theirs is kept beside the graph, "kept" = they are, in a session that has not met the
question, "again" = it has. Encoder: its share of the time, and how many texts it read a question.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from _data import data
from _figures import keep
from numpy.typing import NDArray

from kgmed.disk import graphs_folder
from kgmed.models.base import Encoder, Message, Reply
from kgmed.models.encoders import Remembered
from kgmed.records import Query, Question
from kgmed.session import Session
from kgmed.toolkit import Toolkit, default_encoder

ROOT = Path(__file__).resolve().parents[1]
KNOWN = "What are the signs of Marfan syndrome?"
UNKNOWN = "My aunt takes zqylofram for her itchy elbowz, what can she do?"
TARGETS = {"median": 0.050, "ninth decile": 0.150, "first question": 1.0, "whole process": 0.350}
WHOLE = "from kgmed.cli import main; main()"
FIRST = f"import kgmed; kgmed.load().ask({UNKNOWN!r})"
Times = dict[str, float]


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--most", type=int, default=0, help="questions at most; 0 = all")
    options.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    options.add_argument("--beside", type=Path, help="the folder of another checkout")
    options.add_argument("--warm", action="store_true", help="only print the times of the questions, as JSON")
    options.add_argument("--write", type=Path, help="keep the runs of all questions in this file")
    options.add_argument("--same", type=Path, help="compare the runs of all questions with those in this file")
    options.add_argument("--methods", action="store_true", help="time the methods of the papers without their model")
    chosen = options.parse_args()
    if chosen.methods and "KGMED_BENCH_OWN" not in os.environ:  # on graphs beside which no vectors of facts are kept
        with tempfile.TemporaryDirectory() as scratch:
            own = environment(ROOT / "src", Path(scratch)) | {"KGMED_BENCH_OWN": "1"}
            sys.exit(subprocess.run([sys.executable, *sys.argv], env=own, check=False).returncode)
    if chosen.methods:
        sys.exit(methods_timed(chosen.write, chosen.same, chosen.most or 50))
    if chosen.write or chosen.same:
        sys.exit(compared(chosen.write, chosen.same, chosen.most))
    if chosen.warm:
        print(json.dumps(warm(chosen.most)))
        return
    sources = [ROOT / "src", *([chosen.beside / "src"] if chosen.beside else [])]
    ours, *theirs = measured(sources, chosen.most, chosen.rounds)
    unit = fixed_work()
    head = ["", "seconds", "target", "of the fixed work", *(["beside", "left of it"] if theirs else [])]
    print("  ".join(f"{cell:>18}" for cell in head))
    keep("answering", ours)
    for name, seconds in ours.items():
        target = f"{TARGETS[name]:.3f}" if name in TARGETS else ""
        row = [name, f"{seconds:.3f}", target, f"{seconds / unit:.2f}"]
        row += [f"{theirs[0][name]:.3f}", f"{seconds / theirs[0][name]:.2f}"] if theirs else []
        print("  ".join(f"{cell:>18}" for cell in row))


def measured(sources: list[Path], most: int, rounds: int) -> list[Times]:
    """The times of each checkout; they take turns, so that a busy machine is busy for all of them."""
    found: list[Times] = [{} for _ in sources]
    with tempfile.TemporaryDirectory() as scratch:
        each = {source: environment(source, Path(scratch) / str(i)) for i, source in enumerate(sources)}
        for turn in range(rounds + 1):  # the first compiles, and is not counted
            for source, times in zip(sources, found, strict=True):
                took = {"whole process": process(each[source], "-c", WHOLE, "ask", KNOWN)}
                took["first question"] = process(each[source], "-c", FIRST)
                took["python and numpy"] = process(each[source], "-c", "import numpy")
                if turn:
                    times |= {name: min(seconds, times.get(name, seconds)) for name, seconds in took.items()}
        for source, times in zip(sources, found, strict=True):
            told = subprocess.run(
                [sys.executable, __file__, "--warm", "--most", str(most)],
                env=each[source], stdout=subprocess.PIPE, check=True,
            ).stdout  # fmt: skip
            times |= json.loads(told.splitlines()[-1])
    return found


def environment(source: Path, own: Path) -> dict[str, str]:
    """The variables of a process that imports kgmed from a folder, with byte code and graphs in one of its own."""
    shutil.copytree(graphs_folder(), own / "graphs")
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    own_folders = {"KGMED_HOME": str(own), "PYTHONPYCACHEPREFIX": str(own / "compiled")}
    return {**kept, "PYTHONPATH": str(source), **own_folders}


def process(variables: dict[str, str], *words: str) -> float:
    """The processor time of a whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], env=variables, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def warm(most: int) -> Times:
    """The median and the ninth decile of LiveQA's questions, each asked once, graphs and indexes open."""
    import kgmed
    from kgmed.evaluate.datasets import load

    session = kgmed.load().prepare()
    session.ask(UNKNOWN)
    texts = list(dict.fromkeys(item.question.text for item in load("liveqa", data())))[: most or None]
    took = []
    begin = perf_counter()
    for text in texts:
        start = process_time()
        session.ask(text)
        took.append(process_time() - start)
    wall = perf_counter() - begin
    tenths = statistics.quantiles(took, n=10)
    return {"median": statistics.median(took), "ninth decile": tenths[8], "on the wall, mean": wall / len(took)}


def sets() -> dict[str, list[str]]:
    """All questions that the benchmarks have, by set."""
    from kgmed.evaluate.datasets import load

    found = {"LiveQA": list(dict.fromkeys(item.question.text for item in load("liveqa", data())))}
    for path in sorted(Path(__file__).parent.glob("*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            text = row.get("question") or row.get("story") or row["text"]
            found.setdefault(f"{path.stem} {row.get('lang', '')}".strip(), []).append(text)
    return found


def compared(write: Path | None, same: Path | None, most: int) -> int:
    """1 where a run differs from the kept one, else 0; prints the times of each set and the runs that differ."""
    import kgmed

    session = kgmed.load().prepare()
    session.ask(UNKNOWN)
    kept = json.loads(same.read_text(encoding="utf-8")) if same else {}
    made: dict[str, object] = {}
    for name, texts in sets().items():
        for turn in ("new", "again"):
            took = []
            for text in texts[: most or None]:
                start = process_time()
                run = session.ask(text)
                took.append(process_time() - start)
                found = {k: v for k, v in run.to_json().items() if k not in ("id", "stages")}
                made[f"{name}: {text}"] = rounded(json.loads(json.dumps(found)))
            middle, tenth = statistics.median(took), statistics.quantiles(took, n=10)[8]
            print(f"{name:16} {turn:6} {len(took):5} median {middle * 1e3:6.1f} ms, ninth decile {tenth * 1e3:6.1f} ms")
    return told(made, write, kept, bool(same))


def told(made: dict[str, object], write: Path | None, kept: dict[str, object], compare: bool) -> int:
    """Keep the runs, print which of them differ from those kept before; 1 where one does."""
    if write:
        write.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    other = [text for text in kept if text in made and made[text] != rounded(kept[text])]
    for text in other:
        print("differs:", text)
    print(f"{len(made)} questions" + (f", {len(other)} with another run" if compare else ""))
    return bool(other)


class AtOnce:
    """A model that names the terms it was given, and finds every fact of help; else it has nothing to say."""

    name = "at once"

    def __init__(self) -> None:
        self.terms: list[str] = []

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The reply to a prompt, by its name."""
        name, terms = getattr(messages, "prompt", "").partition(".")[0], self.terms
        said = {
            "kg_rank/terms": json.dumps({"terms": terms}),
            "mkg_rank/question_terms": json.dumps({"medical entities": terms}),
            "mkg_rank/translate": json.dumps(terms),
            "mindmap/extract": ", ".join(terms) or "none",
            "hykge/hypothesis": "It may have to do with " + ", ".join(terms) + ".",
            "baselines/facts": json.dumps({"facts": list(range(1, 100))}),
            "question/frame": '{"asks": []}',
            "check/sentences": '{"verdicts": [], "sentences": []}',
        }.get(name, "Output 1: This is what the facts say [1].")
        return Reply(said, 0, 0, self.name)


class Timed:
    """An encoder, the processor time that it took and the texts that it read."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder, self.name, self.dimensions = encoder, encoder.name, encoder.dimensions
        self.seconds, self.texts = 0.0, 0

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """The encoder's rows."""
        start = process_time()
        rows = self._encoder(texts)
        self.seconds, self.texts = self.seconds + process_time() - start, self.texts + len(texts)
        return rows


def methods_timed(write: Path | None, same: Path | None, most: int) -> int:
    """1 where the run of a method differs from the one kept, else 0; prints a row for each set, method and turn."""
    chinese = map(json.loads, (ROOT / "bench/strangers.jsonl").read_text(encoding="utf-8").splitlines())
    asked = {"LiveQA": sets()["LiveQA"][:most], "Chinese": [r["question"] for r in chinese if r["lang"] == "zh"][:most]}
    made: dict[str, object] = {}
    print(f"the fixed work of this file: {fixed_work() * 1e3:.0f} ms")
    print("set      method    turn   median ms  ninth decile  encoder  texts")
    for name, texts in asked.items():
        for method in ("kg-rank", "mkg-rank", "mindmap", "hykge"):
            for turn in ("new", "kept", "again"):
                for rows in graphs_folder().rglob("facts.sqlite*") if turn == "new" else ():
                    rows.unlink()
                if turn != "again":
                    session, model, encoder = opened(method)
                tools = session.toolkit(session.graphs[0])
                assert isinstance(tools, Toolkit)
                found = {text: tools.recognize(Query(Question(text))) for text in texts}
                encoder.seconds = encoder.texts = 0
                took = []
                for text in texts:
                    model.terms = list(dict.fromkeys(mention.name for mention in found[text]))[:5]
                    start = process_time()
                    run = session.ask(text)
                    took.append(process_time() - start)
                    parts = {k: v for k, v in run.to_json().items() if k not in ("id", "stages", "spent")}
                    made[f"{name}, {method}: {text}"] = rounded(json.loads(json.dumps(parts)))
                middle, tenth = statistics.median(took) * 1e3, statistics.quantiles(took, n=10)[8] * 1e3
                share, each = encoder.seconds / sum(took), encoder.texts / len(texts)
                row = f"{name:8} {method:9} {turn:6}{middle:10.1f}{tenth:14.1f}{share:9.2f}{each:7.0f}"
                print(row, flush=True)
    return told(made, write, json.loads(same.read_text(encoding="utf-8")) if same else {}, bool(same))


def opened(method: str) -> tuple[Session, AtOnce, Timed]:
    """A session that has been asked something else, its model and its encoder."""
    import kgmed

    model, encoder = AtOnce(), Timed(default_encoder())
    session = replace(kgmed.load(method=method), llm=model, encoder=Remembered(encoder)).prepare()
    session.ask(UNKNOWN)
    session.ask("我妈妈的膝盖闻所未闻地疼，怎么办？")
    return session, model, encoder


def rounded(value: object) -> object:
    """The same with its numbers to six digits: those of an encoder depend on what is encoded beside a text."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return round(value, 6) if isinstance(value, float) else value


def fixed_work() -> float:
    """The seconds of some work of the interpreter that no version of kgmed changes; the least of five."""
    text = json.dumps([{"n": i, "words": ["gout"] * 8} for i in range(20_000)])
    took = []
    for _ in range(5):
        start = process_time()
        json.dumps(sorted(json.loads(text), key=lambda row: -row["n"]))
        took.append(process_time() - start)
    return min(took)


if __name__ == "__main__":
    main()
