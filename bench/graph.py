"""The graph engine against networkx, igraph and the machine's own limits, all measured in this run.

    python bench/graph.py --graph cmekg            # CMeKG from the package PyCMeKG
    python bench/graph.py --graph hykge            # a generated graph of 1.29 M entities and 3.57 M triples
    python bench/graph.py --graph hykge --quick    # a tenth of it, fewer questions

Every engine runs alone in a process of its own. Times are medians unless a row says otherwise; "x" columns are the
peer's figure divided by ours, "x limit" is ours divided by the least that this machine needs to read what must be read.

Where peers give numbers, so does kgmed: "node of an id" and "one-hop" are like with like. "Name look-up" is not: they
tell whether there is a node of that very name, kgmed gives the entities of a name in any width, case and spelling as
records, and keeps what it has looked up. "One-hop with names" gives records of kgmed's, tuples of three texts of the
peers, which have these texts in memory. Names are given to each engine as texts that it does not hold itself. networkx
and igraph search one of HyKGE's three chain shapes, the directed path (igraph does not tell parallel edges apart). They
build in memory from names and numbers; so does the row "from integers", with files and indexes, while "build" reads the
graph's own files too. Peers run whole anchor sets until --peer-seconds are over, and are compared with ours on the same
sets. The target of the chains is 200 times networkx.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import _engines
import numpy as np
from _figures import keep
from _measure import Measured, child, proportional, use_clock


class Line(NamedTuple):
    """One row of the table: a figure of each engine, in one unit, smaller is better."""

    what: str
    unit: str
    ours: float
    networkx: float | None = None
    igraph: float | None = None
    floor: float | None = None
    target: float | None = None


def main() -> None:
    """Measure and print, or do the one task of a child process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", choices=("cmekg", "hykge"), default="cmekg")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peer-seconds", type=float, default=60.0, help="time for each peer's chains")
    parser.add_argument("--no-peers", action="store_true", help="kgmed and the machine only")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a machine that others use")
    parser.add_argument("--json", type=Path, help="write all figures to this file too")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(_task(options)))
        return
    with tempfile.TemporaryDirectory(prefix="kgmed-bench-") as folder:
        figures = _measure(options, Path(folder) / "graph")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), "utf-8")
    _print(figures)


def _task(options: argparse.Namespace) -> Measured:
    """The one task of a child process."""
    use_clock(options.clock)
    quick, folder, budget = options.quick, options.folder, options.peer_seconds
    if options.task == "write":
        return _engines.write(options.graph, folder, quick=quick)
    if options.task == "build":
        return _engines.built(options.graph, folder)
    if options.task == "integers":
        return _engines.from_integers(folder)
    if options.task == "rows":
        return _engines.rows_only(options.graph, folder)
    if options.task == "networkx":
        return _engines.in_networkx(folder, quick=quick, budget=budget)
    if options.task == "igraph":
        return _engines.in_igraph(folder, quick=quick, budget=budget)
    return _engines.ours(folder, quick=quick)


def _load() -> str:
    """How busy the machine is: absolute times are only worth something where this is below the number of cores."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def _measure(options: argparse.Namespace, folder: Path) -> Measured:
    """All figures, each engine in its own process."""
    extra = ["--quick"] if options.quick else []
    common = {"graph": options.graph, "folder": folder, "peer-seconds": options.peer_seconds, "clock": options.clock}
    figures: Measured = {"graph": options.graph, "quick": options.quick, "clock": options.clock, "load": [_load()]}
    for task in ("write", "build", "rows", "integers", "ours", *(() if options.no_peers else ("igraph", "networkx"))):
        print(f"... {task}", file=sys.stderr, flush=True)
        try:
            figures[task] = child(task, *extra, **common)
        except subprocess.CalledProcessError:
            if task not in ("igraph", "networkx"):
                raise
            print(f"... {task} FAILED, see above; it is missing from the table", file=sys.stderr)
    print("... shared memory", file=sys.stderr, flush=True)
    figures["load"].append(_load())
    figures["shared"] = {n: _share(n, folder, extra) for n in (1, 4)}
    return figures


def _share(processes: int, folder: Path, extra: list[str]) -> Measured:
    """The memory of so many processes, pages that they share counted once: with numpy alone, with the graph, asked."""
    command = [sys.executable, str(Path(__file__).with_name("_shared.py")), str(folder), *extra]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ)
        for _ in range(processes)
    ]
    figures: Measured = {}
    for stage in ("empty", "open", "asked"):
        for process in running:
            if process.stdout is None or process.stdout.readline() != f"{stage}\n".encode():
                raise SystemExit("a process that was to open the graph ended early")
        figures[stage] = {
            "total": sum(proportional(process.pid) for process in running),
            "files": sum(proportional(process.pid, str(folder)) for process in running),
            "heap": sum(proportional(process.pid, heap=True) for process in running) / processes,
        }
        for process in running:
            if process.stdin is not None:
                process.stdin.write(b"\n")
                process.stdin.flush()
    for process in running:
        process.communicate()
    return figures


def _lines(figures: Measured) -> list[Line]:
    """The table."""
    built, ours, cmekg = figures["build"], figures["ours"], figures["graph"] == "cmekg"
    nx, ig, floor = figures.get("networkx", {}), figures.get("igraph", {}), ours["floor"]
    mb = 1 << 20

    def line(
        what: str,
        unit: str,
        own: float,
        *keys: str,
        per: float = 1,
        floor: float | None = None,
        target: float | None = None,
    ) -> Line:
        """A row whose peer figures stand under the same keys; no key = no peer."""
        peers = [_dig(peer, *keys) if keys else None for peer in (nx, ig)]
        other = [None if p is None else p / per for p in peers]
        return Line(what, unit, own / per, other[0], other[1], floor, target)

    lines = [
        line("build", "s", built["seconds"], target=3 if cmekg else 10),
        line("build from integers", "s", figures["integers"]["seconds"], "seconds"),
        line("build, peak memory", "MB", built["peak"], "peak", per=mb, target=1024),
        line("on disk", "MB", built["disk"], "disk", per=mb),
        line("open", "ms", ours["open"], "open", target=50),
    ]
    asked = (("number", "lookup", "node of an id", 50), ("lookup", "lookup", "name look-up", 50))
    for key, theirs, what, limit in (*asked, ("one-hop", "one-hop", "one-hop, 64 shown", 200)):
        lines.append(line(what, "us", ours[key]["median"], theirs, "median", floor=floor[theirs]))
        lines.append(line(f"{what}, p99", "us", ours[key]["p99"], theirs, "p99", target=limit))
        lines.append(line(f"{what}, max", "us", ours[key]["max"], theirs, "max"))
    for what, key in (("median", "median"), ("p99", "p99")):
        lines.append(line(f"look-up again, {what}", "us", ours["lookup again"][key], "lookup", key))
    for key, what in (("one-hop triples", "one-hop with names"), ("one-hop again", "the same, asked again")):
        lines.append(line(what, "us", ours[key]["median"], "one-hop triples", "median"))
        lines.append(line(f"{what}, p99", "us", ours[key]["p99"], "one-hop triples", "p99", target=200))
    chains = ours["chains"]
    same = [_same_sets(chains["each"], peer) for peer in (nx, ig)]
    lines.append(Line("chains k=3, 25 anchors", "ms", chains["median"], same[0], same[1], floor["chains"], 100))
    lines.append(line("all shortest, counted", "ms", ours["all shortest"]["median"]))
    lines.append(line("cut 2,000 nodes out", "ms", ours["subgraph"]["median"]))
    lines.append(line("walk on them, 1 seed", "ms", ours["walk"]["median"], "walk", "median", floor=floor["walk"]))
    lines.append(line("walk on them, 8 seeds", "ms", ours["walk of 8"]["median"]))
    return lines


def _dig(figures: Measured, *keys: str) -> float | None:
    """A nested figure, None where the engine was not run."""
    value: Any = figures
    for key in keys:
        value = value[key] if value else None
    return None if value is None else float(value)


def _same_sets(ours: list[float], peer: Measured) -> float | None:
    """The peer's time as it would stand beside our median: the mean ratio on the sets that it finished."""
    if not peer:
        return None
    times = peer["chains"]["each"]
    return float(sum(times) / sum(ours[: len(times)]) * np.median(ours) * 1e3)


def _print(figures: Measured) -> None:
    """The table and what belongs to it."""
    nodes, edges, cut_nodes, cut_edges = figures["ours"]["counts"]
    keep("graph", {f"{figures['graph']} entities": nodes, f"{figures['graph']} triples": edges})
    print(f"\n{figures['graph']}: {nodes:,} entities, {edges:,} triples{' (quick)' if figures['quick'] else ''}\n")
    head = ("", "unit", "kgmed", "networkx", "x", "igraph", "x", "limit", "x limit", "to reach", "")
    print("{:34}{:>5}{:>11}{:>12}{:>9}{:>11}{:>9}{:>10}{:>9}{:>10}{:>8}".format(*head))
    for line in _lines(figures):
        print(_row(line))
        each = {"": line.ours, " networkx": line.networkx, " igraph": line.igraph}
        keep("graph", {f"{figures['graph']} {line.what}{who}": n for who, n in each.items() if n is not None})
    floor, walk = figures["ours"]["floor"]["machine"], figures["ours"]["iterations"]
    print(
        f"\nmachine: read {floor['read'] / 1e9:.1f} GB/s; random read {floor['gather'] * 1e9:.1f} ns independent, ",
        end="",
    )
    print(f"{floor['dependent'] * 1e9:.0f} ns dependent. Cut: {cut_nodes:,} nodes, {cut_edges:,} edges; {walk} steps.")
    print(f"{figures['load'][0]} at the start, {figures['load'][1]} at the end; clock: {figures['clock']}")
    print(f"reading the rows alone: {figures['rows']['seconds']:.1f} s of the build")
    found = figures["ours"]["chains"]
    print(f"kgmed found (3 shapes): {found['found']}, of which directed paths: {found['directed']}")
    for name in ("networkx", "igraph"):
        if name in figures:
            chains = figures[name]["chains"]
            times = ", ".join(f"{t:.2f}" for t in chains["each"])
            print(f"{name} found (1 shape): {chains['found']} in {times} s, {len(chains['each'])} whole sets")
    _print_shared(figures["shared"][1], figures["shared"][4])


def _print_shared(one: Measured, four: Measured) -> None:
    """What four processes take beside one."""
    mb = 2**20
    print("memory in MB, shared pages counted once   1 process  4 processes")
    for stage, what in (("empty", "interpreter and numpy"), ("open", "graph opened"), ("asked", "all questions asked")):
        print(f"  {what:36}{one[stage]['total'] / mb:>13.1f}{four[stage]['total'] / mb:>13.1f}")
    files = four["asked"]["files"] / one["asked"]["files"]
    print(
        f"  {'of which files of the graph':36}{one['asked']['files'] / mb:>13.1f}{four['asked']['files'] / mb:>13.1f}"
    )
    for stage, what in (("open", "opened"), ("asked", "asked")):
        own = (four[stage]["heap"] - four["empty"]["heap"]) / mb
        print(f"  each of four, {what}, holds {own:.1f} MB of its own on top of interpreter and numpy")
    net = [figures["asked"]["total"] - figures["empty"]["total"] for figures in (one, four)]
    print(
        f"4 processes / 1 process: files {files:.2f} x (to reach 1.10), all but interpreter and numpy "
        f"{net[1] / net[0]:.2f} x, all {four['asked']['total'] / one['asked']['total']:.2f} x"
    )


def _row(line: Line) -> str:
    """One row as text."""

    def ratio(value: float | None, by: float | None) -> str:
        return f"{value / by:,.1f}" if value is not None and by else ""

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"

    verdict = "" if line.target is None else "reached" if line.ours <= line.target else "MISSED"
    return (
        f"{line.what:34}{line.unit:>5}{number(line.ours):>11}{number(line.networkx):>12}"
        f"{ratio(line.networkx, line.ours):>9}{number(line.igraph):>11}{ratio(line.igraph, line.ours):>9}"
        f"{number(line.floor):>10}{ratio(line.ours, line.floor):>9}{number(line.target):>10}{verdict:>8}"
    )


if __name__ == "__main__":
    main()
