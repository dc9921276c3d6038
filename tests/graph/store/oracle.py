"""The plainest graph there can be, in dicts, and what hypothesis feeds both it and the store."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.graph.store.store import Store
from kgmed.records import Support, Triple

ODD = ["", "a", "A", "ａ", "肺炎", "肺炎 ", "Crohn’s disease", "crohn s disease", "x\ny", "n\0l", "\t", "😀", "é", "é"]
texts = st.sampled_from([*ODD, "long" * 5000]) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
keys = st.sampled_from(["a", "b", "c", "d", "A", "肺炎", "", "x\ny", "n\0l", "pre:a"]) | texts
supports = st.lists(
    st.builds(
        Support,
        st.sampled_from(["", "PMID:1", "PMID:2"]),
        st.lists(st.tuples(st.sampled_from(["onset", "sex"]), texts), max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)
weights = st.sampled_from([1.0, 0.0, 0.5, 0.25])
edges = st.builds(EdgeRow, keys, st.sampled_from(["treats", "has_symptom", "r", "药物"]), keys, weights, supports)
aliases = st.lists(st.builds(Alias, texts, st.sampled_from(Scope)), max_size=3).map(tuple)
nodes = st.builds(NodeRow, keys, texts, st.sampled_from(["", "disease", "drug"]), texts, aliases)
about = st.builds(TextRow, keys, st.sampled_from(["dosage", "r"]), texts, supports)
rows = st.lists(st.one_of(edges, edges, nodes, about), min_size=1, max_size=30)


@dataclass
class Oracle:
    """A graph in dicts."""

    edges: dict[tuple[str, str, str], tuple[float, tuple[Support, ...]]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, list[tuple[str, Scope]]] = field(default_factory=dict)
    texts: dict[str, list[tuple[str, str, tuple[Support, ...]]]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Oracle":
        """The graph of some rows."""
        graph = cls()
        for row in rows:
            graph.take(row)
        return graph

    def take(self, row: Row) -> None:
        """Add a row."""
        if isinstance(row, EdgeRow):
            weight, said = self.edges.get((row.head, row.relation, row.tail), (0.0, ()))
            both = tuple(dict.fromkeys((*said, *row.support)))
            self.edges[row.head, row.relation, row.tail] = max(weight, row.weight), both
            self.names.setdefault(row.head, row.head)
            self.names.setdefault(row.tail, row.tail)
        elif isinstance(row, TextRow):
            self.names.setdefault(row.key, row.key)
            said = tuple(dict.fromkeys(row.support))
            self.texts.setdefault(row.key, []).append((row.relation, row.text, said))
        elif isinstance(row, NodeRow):
            own = row.name if row.name != row.key else ""  # a key that stands in for a name is none
            self.names[row.key] = own or self.names.get(row.key, row.key)
            self.kinds[row.key] = row.kind or self.kinds.get(row.key, "")
            self.descriptions[row.key] = row.description or self.descriptions.get(row.key, "")
            self.aliases.setdefault(row.key, []).extend((a.text, a.scope) for a in row.aliases)

    def around(self, key: str) -> set[tuple[str, str, str]]:
        """The triples that touch an entity."""
        return {triple for triple in self.edges if key in (triple[0], triple[2])}


def source(rows: list[Row], *, prefix: str = "", name: str = "g") -> Source:
    """The rows as a source."""

    def read() -> Iterator[Row]:
        return iter(rows)

    return Source(name, read, release="1", prefix=prefix, language="en", inputs=(Path("rows.tsv"),))


def flat(triple: Triple) -> tuple[tuple[str, str, str], tuple[float, tuple[Support, ...]]]:
    """A triple as the oracle has it."""
    return (triple.head.id, triple.relation.name, triple.tail.id), (triple.weight, triple.support)


def triples(store: Store) -> dict[tuple[str, str, str], tuple[float, tuple[Support, ...]]]:
    """All triples of a store."""
    found = [flat(store.triple(i)) for i in range(store.adjacency.edges)]
    if len(dict(found)) != len(found):
        raise ValueError("a triple is stored twice")
    return dict(found)
