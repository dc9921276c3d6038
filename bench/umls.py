"""The UMLS from RRF files: build time, peak memory and one-hop, on generated files of the Metathesaurus' proportions.

    python bench/umls.py                  # 1 % of UMLS: 38,000 concepts, 780,000 relations, 150,000 names
    python bench/umls.py --percent 10
    python bench/umls.py --full           # 3.8 M concepts, 78 M relations, 15 M names: 10 GB of files

Both directions of each relation stand in the file, as in the real one, hubs as in a power law. The file is made in
this process, the graph in one of its own, whose memory is what is printed. Below full size the last column multiplies
by the share (memory: what was added to that of the interpreter); that is no measurement.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _figures import keep
from _measure import Measured, each, peak, seconds

from kgmed.graph import formats
from kgmed.graph.base import Batches
from kgmed.graph.store.build import build
from kgmed.graph.store.store import open_store

CONCEPTS, RELATIONS, NAMES = 3_800_000, 78_000_000, 15_000_000
TARGETS = {"build": 180.0, "peak": 4096.0, "one-hop": 20.0}
_WORDS = 20_000
_PAIRS = (("CHD", "isa", "PAR", "inverse_isa"), ("RO", "has_finding_site", "RO", "finding_site_of"),
          ("RO", "may_treat", "RO", "may_be_treated_by"), ("RN", "", "RB", ""), ("SIB", "", "SIB", ""))  # fmt: skip


def main() -> None:
    """Measure and print, or do the one task of the child process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--percent", type=float, default=1.0)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the files are to be written; default: a temporary folder")
    parser.add_argument("--task", choices=("rows", "build"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps({"rows": _rows, "build": _build}[options.task](options.folder)))
        return
    share = 1.0 if options.full else options.percent / 100
    with tempfile.TemporaryDirectory(prefix="kgmed-umls-", dir=options.folder) as folder:
        write(Path(folder), share)
        _print(share, _child("rows", folder), _child("build", folder))


def write(folder: Path, share: float) -> None:
    """The four files, of so large a share of the Metathesaurus."""
    random = np.random.default_rng(5)
    concepts, relations, names = (max(2, int(n * share)) for n in (CONCEPTS, RELATIONS, NAMES))
    _write_names(folder / "MRCONSO.RRF", concepts, names, random)
    _write_relations(folder / "MRREL.RRF", concepts, relations // 2, random)
    with (folder / "MRSTY.RRF").open("w", encoding="ascii") as file:
        file.writelines(f"C{i:07d}|T047|B2.2.1.2.1|Disease or Syndrome|AT{i}|256|\n" for i in range(concepts))
    with (folder / "MRDEF.RRF").open("w", encoding="ascii") as file:
        defined = range(0, concepts, 8)
        file.writelines(f"C{i:07d}|A{i}|AT{i}||MSH|{'A disorder of the kind. ' * 8}|N|256|\n" for i in defined)


def _write_names(path: Path, concepts: int, names: int, random: np.random.Generator) -> None:
    """The names, 3.9 a concept, of one to six words, the first of each concept preferred."""
    of = np.sort(np.concatenate([np.arange(concepts), random.integers(0, concepts, names - concepts)]))
    first = np.append(True, of[1:] != of[:-1])
    words = ["".join(map(chr, random.integers(97, 123, n))) for n in random.integers(3, 12, _WORDS)]
    with path.open("w", encoding="ascii") as file:
        for begin in range(0, names, 1 << 16):
            part = slice(begin, begin + (1 << 16))
            picked = random.integers(0, _WORDS, (len(of[part]), 6)).tolist()
            count = random.integers(1, 7, len(of[part])).tolist()
            rows = zip(of[part].tolist(), first[part].tolist(), picked, count, strict=True)
            file.writelines(
                f"C{c:07d}|ENG|{'P' if p else 'S'}|L1|{'PF' if p else 'VO'}|S1|{'Y' if p else 'N'}|A1||||SNOMEDCT_US|"
                f"{'PT' if p else 'SY'}|1|{' '.join(words[w] for w in ws[:n])} {c}|9|N|256|\n"
                for c, p, ws, n in rows
            )


def _write_relations(path: Path, concepts: int, pairs: int, random: np.random.Generator) -> None:
    """Both directions of so many relations."""
    with path.open("w", encoding="ascii") as file:
        for begin in range(0, pairs, 1 << 16):
            n = min(1 << 16, pairs - begin)
            one = random.integers(0, concepts, n)
            other = (concepts * random.random(n) ** 3).astype(np.int64)  # hubs
            kinds = random.integers(0, len(_PAIRS), n).tolist()
            for a, b, k in zip(one.tolist(), other.tolist(), kinds, strict=True):
                rel, rela, back, inverse = _PAIRS[k]
                end = "R12345678||SNOMEDCT_US|SNOMEDCT_US|||N||"
                file.write(f"C{a:07d}|A1234567|SCUI|{rel}|C{b:07d}|A7654321|SCUI|{rela}|{end}\n")
                file.write(f"C{b:07d}|A7654321|SCUI|{back}|C{a:07d}|A1234567|SCUI|{inverse}|{end}\n")


def _child(task: str, folder: str) -> Measured:
    """What another process, which does one task only, measured."""
    command = [sys.executable, __file__, "--task", task, "--folder", folder]
    result: Measured = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return result


def _rows(folder: Path) -> Measured:
    """What only reading the rows takes."""
    rows = formats.read("umls", folder).rows()
    batches = rows.batches if isinstance(rows, Batches) else rows
    return {"seconds": seconds(lambda: sum(1 for _ in batches)), "peak": peak()}


def _build(folder: Path) -> Measured:
    """Building the graph, then asking it."""
    before, resting = resource.getrusage(resource.RUSAGE_SELF), peak()
    took = seconds(lambda: build(formats.read("umls", folder), folder / "graph"))
    after, most, helper = resource.getrusage(resource.RUSAGE_SELF), peak(), resource.getrusage(resource.RUSAGE_CHILDREN)
    store = open_store(folder / "graph")
    nodes = np.random.default_rng(11).integers(0, len(store), 2000).tolist()
    ids, names = [store.at(node).id for node in nodes], [store.at(node).name for node in nodes]
    return {
        "seconds": took,
        "cpu": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime + helper.ru_utime + helper.ru_stime,
        "peak": most + helper.ru_maxrss * 1024,
        "resting": resting,
        "counts": store.manifest.counts,
        "disk": store.manifest.bytes,
        "one-hop": each(lambda node: store.incident(node, limit=64), nodes, 1e-6),
        "triples": each(lambda i: store.neighbours(i, limit=64), ids, 1e-6),
        "again": each(lambda i: store.neighbours(i, limit=64), ids, 1e-6),
        "lookup": each(store.lookup, names, 1e-6),
    }


def _print(share: float, rows: Measured, built: Measured) -> None:
    """The table."""
    mb = 1 << 20
    print(f"{share:.2%} of UMLS: " + ", ".join(f"{n:,} {what}" for what, n in built["counts"].items()))
    print(f"{'':34}{'measured':>12}{'target':>10}{'at 100 %, by proportion':>26}")
    lines = [
        ("build, s", built["seconds"], TARGETS["build"], share),
        ("  of processor time, s", built["cpu"], None, share),
        ("  reading the rows alone, s", rows["seconds"], None, share),
        ("build, peak memory, MB", built["peak"] / mb, TARGETS["peak"], share),
        ("on disk, MB", built["disk"] / mb, None, share),
        ("one-hop, 64 edges, us, median", built["one-hop"]["median"], TARGETS["one-hop"], 1),
        ("one-hop, 64 edges, us, p99", built["one-hop"]["p99"], None, 1),
        ("one-hop as triples, us, median", built["triples"]["median"], TARGETS["one-hop"], 1),
        ("  asked again, us, median", built["again"]["median"], TARGETS["one-hop"], 1),
        ("name look-up, us, median", built["lookup"]["median"], None, 1),
    ]
    if share == 1:
        keep("umls", built["counts"] | {what: float(value) for what, value, *_ in lines})
    for what, value, target, by in lines:
        base = built["resting"] / mb if "memory" in what else 0.0
        whole = f"{base + (value - base) / by:,.0f}" if by < 1 else "" if share < 1 else f"{value:,.1f}"
        print(f"{what:34}{value:>12,.2f}{'' if target is None else f'{target:,.0f}':>10}{whole:>26}")


if __name__ == "__main__":
    main()
