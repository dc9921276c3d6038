"""Memory over many questions: a long-lived session must not grow.

    python bench/soak.py [--questions 20000] [--unknown 0.05] [--where]

Questions are made of the names of all installed graphs in forms of both languages, and a share of them of words that no
graph has; each is asked once. Printed are the bytes of the heap (anonymous memory) and the pages of files, which the
system takes back when it needs them.
`--where` names the lines whose memory grew in the second half (slow).
"""

import argparse
import gc
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from _figures import keep

import kgmed
from kgmed.graph import library
from kgmed.graph.store.store import Store
from kgmed.language.text import has_cjk

FORMS = {
    False: ("What treats {}?", "What are the symptoms of {}?", "Can {} be caused by {}?", "Is {} a sign of {}?"),
    True: ("{}吃什么药？", "{}有哪些症状？", "{}会引起{}吗？", "{}怎么办？"),
}
BOUND = 30  # MB of the heap that the last nine tenths of the questions may add: ours, the caches that are then full


def main() -> None:
    """Print the table; ends with an error where the heap grew beyond the bound."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--questions", type=int, default=20_000)
    options.add_argument("--unknown", type=float, default=0.05, help="the share of questions with an unknown word")
    options.add_argument("--where", action="store_true", help="name the lines whose memory grew")
    options.add_argument("--encoder", default="", help="as of kgmed ask")
    chosen = options.parse_args()
    session = kgmed.load(encoder=chosen.encoder).prepare()
    names = [name for graph in session.graphs for name in some_names(library.load(graph))]
    every = max(chosen.questions // 20, 1)
    if chosen.where:
        tracemalloc.start(12)
    begin, first, before = perf_counter(), 0.0, None
    print(f"{'questions':>10} {'heap MB':>8} {'files MB':>8} {'seconds':>8}")
    for i, text in enumerate(questions(names, chosen.questions, chosen.unknown), start=1):
        session.ask(text)
        if i % every == 0:
            gc.collect()
            heap, files = memory()
            first = first or (heap if i * 10 >= chosen.questions else 0.0)
            print(f"{i:>10,} {heap:>8.1f} {files:>8.1f} {perf_counter() - begin:>8.1f}", flush=True)
        if chosen.where and i == chosen.questions // 2:
            before = tracemalloc.take_snapshot()
    if before is not None:
        for row in tracemalloc.take_snapshot().compare_to(before, "lineno")[:20]:
            print(row)
    keep("soak", {"added MB": heap - first, "bound MB": BOUND})
    print(f"the last nine tenths added {heap - first:.1f} MB to the heap; the bound is {BOUND}")
    if heap - first > BOUND:
        raise SystemExit(1)


def some_names(store: Store) -> list[str]:
    """Ten thousand names of a graph, or all."""
    return [store.at(node).name for node in random.Random(1).sample(range(len(store)), min(10_000, len(store)))]


def questions(names: list[str], many: int, unknown: float) -> Iterator[str]:
    """So many questions, the same at every call."""
    chance = random.Random(7)
    for _ in range(many):
        name, other = chance.sample(names, 2)
        if chance.random() < unknown:
            name = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=8))
        yield chance.choice(FORMS[has_cjk(name)]).format(name, other)


def memory() -> tuple[float, float]:
    """The MB of this process that are no file's, and those that are."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith("Rss")}
    return found["RssAnon"], found["RssFile"]


if __name__ == "__main__":
    main()
