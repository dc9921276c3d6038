"""A generated graph in shards: building within a bound of memory, and that one-hop and chains are those of one store.

    python bench/shards.py                       # 10^7 triples in four shards
    python bench/shards.py --triples 100000000   # 10^8
    python bench/shards.py --without-one         # without the one store to compare with

Entities are a tenth of the triples, relations 60; both ends follow power laws, so that there are hubs. Each graph is
built in a process of its own, whose peak memory is printed. Then 300 entities (uniform, in proportion to degree, hubs)
are asked for 64 neighbours, and sets of 10 anchors for chains of three steps, of both; every answer is compared. Last
each shard is put behind a stand-in that answers in --served-ms, and all are asked in turn and at once.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from _measure import Measured, each, peak, seconds

from kgmed.graph.base import Batch, Batches, Match, Source
from kgmed.graph.search.paths import paths_between
from kgmed.graph.store.build import build
from kgmed.graph.store.folder import current
from kgmed.graph.store.shards import Shards, build_shards, open_shards
from kgmed.graph.store.store import Store, open_store
from kgmed.records import Entity, Role, Triple

T = TypeVar("T")
RELATIONS, BLOCK, SETS, LIMIT = 60, 1 << 20, 5, 20


def generated(triples: int) -> Source:
    """The source: columns made block by block, the same at every call."""

    def batches() -> Iterator[Batch]:
        random, entities = np.random.default_rng(17), triples // 10
        for first in range(0, triples, BLOCK):
            many = min(BLOCK, triples - first)
            head = (entities * random.random(many) ** 2).astype(np.int64)
            tail = (entities * random.random(many) ** 3).astype(np.int64)
            yield Batch((), head * 7919 % entities, random.integers(0, RELATIONS, many), tail * 7919 % entities)

    def rows() -> Batches:
        return Batches(batches(), lambda codes: [f"entity {c}" for c in codes], lambda codes: [f"r{c}" for c in codes])

    return Source("generated", rows, release="seed 17", licence="generated", language="en", prefix="gen")


def main() -> None:
    """Measure and print, or do the one task of a child process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--without-one", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the graphs are to be written; default: a temporary folder")
    parser.add_argument("--served-ms", type=float, default=20.0, help="what a server takes for each answer")
    parser.add_argument("--task", choices=("one", "many"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(_build(options.task, options.folder, options.triples, options.shards)))
        return
    with tempfile.TemporaryDirectory(prefix="kgmed-shards-", dir=options.folder) as folder:
        for task in ("many",) if options.without_one else ("many", "one"):
            _print_built(task, options, _child(task, Path(folder), options))
        many = open_shards(Path(folder) / "many" / "graph")
        _print_asked(many, None if options.without_one else open_store(Path(folder) / "one" / "graph", contents=False))
        _print_served(many, options.served_ms / 1e3)


def _build(task: str, folder: Path, triples: int, shards: int) -> Measured:
    source, place = generated(triples), folder / task / "graph"
    took = seconds(lambda: build_shards(source, place, shards) if task == "many" else build(source, place))
    sizes = [sum(f.stat().st_size for f in d.rglob("*.npy")) for d in sorted(current(place).glob("shard-*"))]
    return {"seconds": took, "peak": peak(), "sizes": sizes or [sum(f.stat().st_size for f in place.rglob("*.npy"))]}


def _child(task: str, folder: Path, options: argparse.Namespace) -> Measured:
    command = [sys.executable, __file__, "--task", task, "--folder", str(folder)]
    command += ["--triples", str(options.triples), "--shards", str(options.shards)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    result: Measured = json.loads(done.stdout.splitlines()[-1])
    return result


def _print_built(task: str, options: argparse.Namespace, found: Measured) -> None:
    what = f"{options.shards} shards" if task == "many" else "one store"
    sizes = ", ".join(f"{size / 1e6:,.0f}" for size in found["sizes"])
    per = sum(found["sizes"]) / options.triples
    print(
        f"{options.triples:,} triples, {what}: built in {found['seconds']:.0f} s, peak {found['peak'] / 2**30:.2f} GB,"
    )
    print(f"  on disk {sizes} MB, {per:.1f} bytes a triple", flush=True)


def _print_asked(many: Shards, one: Store | None) -> None:
    """Times of both, and whether all answers are the same."""
    random = np.random.default_rng(3)
    shard = many.locals[0]
    degree = np.diff(shard.store.adjacency.out.indptr) + np.diff(shard.store.adjacency.into.indptr)
    own = np.flatnonzero(shard.numbers % len(many.graphs) == 0)
    chance = degree[own] / degree[own].sum()
    picked = [*random.choice(own, 140), *random.choice(own, 140, p=chance), *own[np.argsort(-degree[own])[:20]]]
    ids = [shard.store.at(int(node)).id for node in picked]
    asked = each(lambda i: many.neighbours(i), ids, 1e-6)
    print(f"one-hop, 64 shown: shards {asked['median']:.0f} us, p99 {asked['p99']:.0f}", end="")
    if one is not None:
        asked = each(lambda i: one.neighbours(i), ids, 1e-6)
        same = sum(many.neighbours(i) == one.neighbours(i) for i in ids)
        print(f"; one store {asked['median']:.0f} us, p99 {asked['p99']:.0f}; the same {same} of {len(ids)}", end="")
    sets = [[ids[i] for i in random.choice(280, 10, replace=False)] for _ in range(SETS)]
    times, found = [], []
    for anchors in sets:
        times.append(seconds(lambda a=anchors: found.append(many.chains(a, 3, LIMIT))))  # type: ignore[misc]
    nodes = [len(many.ball(anchors, 3)[0]) for anchors in sets]
    print(f"\nchains k = 3, 10 anchors: shards {np.median(times) * 1e3:.0f} ms, most {max(times) * 1e3:.0f}", end="")
    if one is not None:
        again: list[float] = []
        whole = []
        for anchors in sets:
            ends = [one.entity(a) for a in anchors]
            again.append(seconds(lambda e=ends: whole.append(paths_between(one, e, hops=3, limit=LIMIT))))  # type: ignore[misc]
        same = sum(a == b for a, b in zip(found, whole, strict=True))
        print(f"; one store {np.median(again) * 1e3:.0f} ms; the same {same} of {SETS}", end="")
    print(f"\n  {[f.total for f in found]} chains; {nodes} nodes exchanged, {8 * max(nodes) / 1e6:.2f} MB at most;")
    print(f"  3 exchanges with each of {len(many.graphs)} shards: neighbours, triples between, degrees")


class Served:
    """A shard behind a server that takes its time for each answer."""

    def __init__(self, store: Store, wait: float) -> None:
        self.name, self.label, self.language, self._store, self._wait = (
            store.name,
            store.label,
            store.language,
            store,
            wait,
        )

    def _answer(self, ask: Callable[[], T]) -> T:
        time.sleep(self._wait)
        return ask()

    def entity(self, entity_id: str, /) -> Entity:
        return self._answer(lambda: self._store.entity(entity_id))

    def lookup(self, name: str, /) -> list[Match]:
        return self._answer(lambda: self._store.lookup(name))

    def lookup_many(self, names: Sequence[str], /) -> dict[str, list[Match]]:
        return self._answer(lambda: {name: self._store.lookup(name) for name in names})

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        return self._answer(lambda: self._store.neighbours(entity_id, limit=limit, roles=roles))

    def neighbours_of(self, ids: Sequence[str], /, *, limit: int = 64) -> dict[str, list[Triple]]:
        return self._answer(lambda: {one: self._store.neighbours(one, limit=limit) for one in ids})

    def attributes(self, entity_id: str, /) -> list[Triple]:
        return self._answer(lambda: self._store.attributes(entity_id))


class InTurn(Shards):
    """Shards that are asked one after the other."""

    def _each(self, asks: "Sequence[Callable[[], T]]") -> "list[T]":
        return [ask() for ask in asks]


def _print_served(many: Shards, wait: float) -> None:
    """What asking all shards at once saves where each is behind a server."""
    served = [Served(shard.store, wait) for shard in many.locals]
    ids = [f"gen:entity {i}" for i in range(3, 300, 3)]
    names = [f"entity {i}" for i in range(20)]
    asks: dict[str, Callable[[Shards], Any]] = {
        "a name": lambda graph: graph.lookup(names[0]),
        "20 names": lambda graph: graph.lookup_many(names),
        "neighbours of 99": lambda graph: graph.neighbours_of(ids, limit=5),
        "2-hop chains between 5": lambda graph: graph.chains(ids[-5:], 2, LIMIT),
    }
    print(f"each shard behind a server that answers in {wait * 1e3:g} ms:")
    for what, ask in asks.items():
        turn, once = (kind(many.name, served, manifest=many.manifest) for kind in (InTurn, Shards))
        same = "the same" if ask(turn) == ask(once) else "DIFFERENT"
        took = [each(ask, [graph] * 5, 1e-3)["median"] for graph in (turn, once)]
        print(f"  {what}: in turn {took[0]:.0f} ms, all at once {took[1]:.0f} ms; {same}")


if __name__ == "__main__":
    main()
