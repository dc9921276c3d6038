"""A remote graph's concept and its triples out of the cache, against the 0.0009 s that MKG-Rank reports for its own.

    python bench/cached.py

The graph behind the cache is made up and at hand, so that what is measured is the cache: 2,000 concepts of 40 triples
each, asked for by name and then for their triples, in random order. "first" has an empty file and writes it.
"""

import tempfile
from pathlib import Path

import numpy as np
from _figures import keep
from _measure import each

from kgmed.graph.base import Match
from kgmed.graph.remote.named import CachedGraph
from kgmed.records import Entity, Relation, Role, Support, Triple

CONCEPTS, TRIPLES = 2_000, 40
PAPER = 900.0  # us


class Far:
    """A graph of made-up concepts."""

    name, label, language = "far", "far 1", "en"

    def entity(self, entity_id: str, /) -> Entity:
        return Entity(entity_id, f"concept number {entity_id[5:]}", "disease", "A disorder of the kind.")

    def lookup(self, name: str, /) -> list[Match]:
        return [Match(self.entity(f"umls:{name.rpartition(' ')[2]}"), name, "exact")]

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: object = ()) -> list[Triple]:
        head, word = self.entity(entity_id), (Support("", (("source", "SNOMEDCT_US"),)),)
        tails = (Entity(f"SNOMEDCT_US:{i}", f"a finding of the kind {i}") for i in range(min(limit, TRIPLES)))
        return [Triple(head, Relation("has_finding", Role.FINDING), t, 1.0, self.label, word) for t in tails]

    def attributes(self, entity_id: str, /) -> list[Triple]:
        return []


def main() -> None:
    """Measure and print."""
    order = np.random.default_rng(3).permutation(CONCEPTS).tolist()
    names = [f"concept number {i}" for i in order]
    with tempfile.TemporaryDirectory(prefix="kgmed-bench-") as folder:
        path = Path(folder) / "cache.sqlite"
        cached = CachedGraph(Far(), path)
        rows = [("first", each(lambda n: cached.neighbours(cached.lookup(n)[0].entity.id), names, 1e-6))]
        rows += [("concept", each(cached.lookup, names, 1e-6))]
        rows += [("concept and triples", each(lambda n: cached.neighbours(cached.lookup(n)[0].entity.id), names, 1e-6))]
        size = path.stat().st_size
    print(f"{CONCEPTS:,} concepts of {TRIPLES} triples, {size / 1e6:.1f} MB; us")
    print(f"{'':22}{'median':>10}{'p99':>10}{'max':>10}{'MKG-Rank':>10}{'x':>8}")
    for what, found in rows:
        keep("cached", {f"{what} {k} us": found[k] for k in ("median", "p99", "max")})
        figures = "".join(f"{found[k]:>10,.0f}" for k in ("median", "p99", "max"))
        print(f"{what:22}{figures}{PAPER:>10,.0f}{PAPER / found['median']:>8.1f}")


if __name__ == "__main__":
    main()
