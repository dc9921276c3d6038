"""How long an answer takes: LiveQA's questions warm, the first question of a process, a known one as a whole process.

    KGMED_DATA=DIR python bench/answering.py [--most N] [--rounds 5] [--beside CHECKOUT]

All installed graphs are asked. `--beside` measures the code of another checkout (git worktree add CHECKOUT REVISION)
in turn with this one and prints how much of its time is left: on a busy machine that ratio, and those to the fixed work
of this file, are the figures to compare. Each checkout has a copy of the graphs, since two versions of the code make
each other's tables anew. Times are of the processor, the least of the rounds.
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
from pathlib import Path
from time import perf_counter, process_time

from _data import data

from kgmed.disk import graphs_folder

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
    chosen = options.parse_args()
    if chosen.warm:
        print(json.dumps(warm(chosen.most)))
        return
    sources = [ROOT / "src", *([chosen.beside / "src"] if chosen.beside else [])]
    ours, *theirs = measured(sources, chosen.most, chosen.rounds)
    unit = fixed_work()
    head = ["", "seconds", "target", "of the fixed work", *(["beside", "left of it"] if theirs else [])]
    print("  ".join(f"{cell:>18}" for cell in head))
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
    from kgmed.evaluate.datasets.answers import read_liveqa

    session = kgmed.load().prepare()
    session.ask(UNKNOWN)
    texts = list(dict.fromkeys(item.question.text for item in read_liveqa(data())))[: most or None]
    took = []
    begin = perf_counter()
    for text in texts:
        start = process_time()
        session.ask(text)
        took.append(process_time() - start)
    wall = perf_counter() - begin
    tenths = statistics.quantiles(took, n=10)
    return {"median": statistics.median(took), "ninth decile": tenths[8], "on the wall, mean": wall / len(took)}


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
