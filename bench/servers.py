"""A graph in PostgreSQL, ArcadeDB, Oxigraph and Virtuoso beside the local store and networkx, all in this run.

    python bench/servers.py --graph cmekg                      # a cut of it, on every server that is installed here
    python bench/servers.py --graph cmekg --cut 0 --server postgresql          # all of it
    python bench/servers.py --graph cmekg --cut 0 --server postgresql --equal 200 --method facts --method hykge
    python bench/servers.py --server oxigraph --server arcadedb --equal 20     # questions, evidence compared
    python bench/servers.py --triples 1000000 --server postgresql --server arcadedb    # of a generated graph

With --rows a graph whose files PostgreSQL keeps is fetched as of the others, by queries, where all of it is needed.
Servers are started and stopped, on loopback; each is asked in place. Times are the least of all rounds, in milliseconds
a piece. networkx does less: it finds the shortest way between two, and directed chains, and it knows no names.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import networkx as nx
import numpy as np
from _figures import keep
from numpy.typing import NDArray
from shards import generated

import bolt_server
from kgmed.config import Config
from kgmed.disk import data_folder
from kgmed.errors import KgmedError
from kgmed.graph import library
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Source
from kgmed.graph.remote.database import DatabaseGraph, copied
from kgmed.graph.remote.named import COPIES, load_into, open_database
from kgmed.graph.remote.postgres import Address
from kgmed.graph.search.batched import paths_on
from kgmed.graph.store.store import Store
from kgmed.session import open_session
from postgres_server import PASSWORD, running
from sparql_servers import serving_oxigraph, serving_virtuoso

ROUNDS, ENDS, ANCHORS = 3, 20, 25
SERVERS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "postgresql": running, "arcadedb": bolt_server.serving_bolt, "oxigraph": serving_oxigraph,
    "virtuoso": serving_virtuoso, "own-tables": running,
}  # fmt: skip
WHAT = ("write the graph", "fetch a copy", "a name", "one hop", "one hop, 20 in a call", "paths of 3 hops between two",
        "chains between 25 anchors", "a question")  # fmt: skip
Times = dict[str, float]


def least(act: Callable[[], Any], each: int = 1, rounds: int = ROUNDS) -> float:
    """The least time of some rounds, in milliseconds a piece."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return 1000 * min(times) / each


def cut(store: Store, most: int) -> str:
    """The name of a graph of the first edges of another's diseases, with their ends' names; built here."""
    name = f"{store.name}-cut"

    def aliases(one: str) -> tuple[Alias, ...]:
        return tuple(Alias(*said) for said in store.aliases(store.number(one)))

    def rows() -> Iterator[Row]:
        told, seen = set(), set()
        nodes = (int(node) for node in store.of_kind("disease"))
        triples = (t for node in nodes for t in store.neighbours(store.at(node).id, limit=64))
        for triple in islice((t for t in triples if t not in seen and not seen.add(t)), most):  # type: ignore[func-returns-value]
            for end in (triple.head, triple.tail):
                if end.id not in told:
                    told.add(end.id)
                    yield NodeRow(end.id, end.name, end.kind, "", aliases(end.id))
            yield EdgeRow(triple.head.id, triple.relation.name, triple.tail.id, triple.weight, triple.support)

    relations = {r.name: r for r in store.relations}
    source = Source(name, rows, release=f"{most}", language=store.language, relations=relations)
    library.build_source(name, source, force=True)
    return name


def spread(store: Store) -> NDArray[np.int64]:
    """The nodes of which some are asked about: the diseases, or all where there are none."""
    found = store.of_kind("disease")
    return found if len(found) else np.arange(len(store))


def asked(graph: Any, store: Store) -> Times:
    """What a graph takes to be asked, in milliseconds."""
    diseases = spread(store)
    ends = [store.at(int(node)) for node in diseases[:: max(1, len(diseases) // ENDS)][:ENDS]]
    anchors = [store.at(int(node)) for node in diseases[:: max(1, len(diseases) // ANCHORS)][:ANCHORS]]
    ids, pairs = [e.id for e in ends], list(zip(ends[:5], ends[5:10], strict=True))
    found = {
        "a name": least(lambda: [graph.lookup(e.name) for e in ends], len(ends)),
        "one hop": least(lambda: [graph.neighbours(one) for one in ids], len(ids)),
        "paths of 3 hops between two": least(lambda: [paths_on(graph, p, hops=3) for p in pairs], len(pairs)),
        "chains between 25 anchors": least(lambda: paths_on(graph, anchors, hops=3), rounds=1),
    }
    if isinstance(graph, DatabaseGraph):
        found["one hop, 20 in a call"] = least(lambda: graph.neighbours_of(ids), len(ids))
        same = all(paths_on(store, p, hops=3) == paths_on(graph, p, hops=3) for p in [*pairs, anchors])
        print(f"paths and chains of {graph.database.where}: {'as in the local store' if same else 'OTHERS'}")
    return found


def in_networkx(store: Store) -> Times:
    """The same in networkx, of what it has."""
    graph = nx.MultiDiGraph()
    out = store.adjacency.out
    for head in range(len(store)):
        graph.add_node(head)
        graph.add_edges_from((head, int(t)) for t in out.neighbour[out.indptr[head] : out.indptr[head + 1]])
    ways, diseases = graph.to_undirected(as_view=True), [int(n) for n in store.of_kind("disease")]
    ends = diseases[:: max(1, len(diseases) // ENDS)][:ENDS]
    anchors = diseases[:: max(1, len(diseases) // ANCHORS)][:ANCHORS]

    def between(one: int, other: int) -> list[int]:
        return list(nx.shortest_path(ways, one, other)) if nx.has_path(ways, one, other) else []

    def chains() -> int:
        return sum(1 for a, b in combinations(anchors, 2) for _ in nx.all_simple_paths(graph, a, b, cutoff=3))

    return {
        "one hop": least(lambda: [list(ways.edges(n)) for n in ends], len(ends)),
        "paths of 3 hops between two": least(lambda: [between(*p) for p in zip(ends[:5], ends[5:10], strict=True)], 5),
        "chains between 25 anchors": least(chains, rounds=1),
    }


TYPES = {
    "zh": ("{}有哪些症状？", "{}怎么治疗？", "{}和{}有什么关系？", "{}用什么药？", "{}的病因是什么？"),
    "en": ("What are the symptoms of {}?", "How is {} treated?", "How are {} and {} related?", "What causes {}?",
           "Which genes are involved in {}?"),
}  # fmt: skip


def questions(store: Store, most: int) -> list[str]:
    """Questions of five types about diseases of a graph."""
    nodes = spread(store)
    names = [store.at(int(node)).name for node in nodes[:: max(1, len(nodes) // most)][:most]]
    types = TYPES["zh" if store.language == "zh" else "en"]
    return [types[i % 5].format(name, names[(7 * i + 3) % len(names)]) for i, name in enumerate(names)]


def equal(store: Store, address: str, method: str, most: int) -> str:
    """How many questions have the same links and evidence in place as on the local store, and how many are refused."""
    same = filled = refused = 0
    slowest = (0.0, "")
    local, there = (Config(graph=where, method=method) for where in (store.name, address))
    with open_session(local) as here, open_session(there) as beside:
        for question in questions(store, most):
            one = here.ask(question)
            filled += bool(one.evidence)
            begun = time.perf_counter()
            try:
                other = beside.ask(question)
            except KgmedError as e:
                refused += 1
                print(f"  {question} {e}")
                continue
            slowest = max(slowest, (time.perf_counter() - begun, question))
            alike = (one.links, one.evidence) == (other.links, other.evidence)
            same += alike
            if not alike:
                print(f"  {question} differs")
    copies = sum(f.stat().st_size for f in (data_folder() / COPIES).rglob("*") if f.is_file())
    late = f"the slowest took {slowest[0]:.1f} s, copies {copies / 1e6:.0f} MB"
    return f"{method}: {same} of {most} equal ({filled} with evidence), {refused} refused; {late}"


def measure(name: str, address: str, store: Store) -> Times:
    """What a server takes, in milliseconds."""
    begun = time.perf_counter()
    load_into(address, name, os.environ, force=True)
    found = {"write the graph": 1000 * (time.perf_counter() - begun)}
    graph, _ = open_database(address, os.environ)
    if graph.bytes and address.startswith("postgresql"):
        with tempfile.TemporaryDirectory(prefix="kgmed-bench-") as folder:
            found["fetch a copy"] = least(lambda: copied(graph, Path(folder)), rounds=1)
    found |= asked(graph, store)
    graph.close()
    return found | {"a question": question_time(store, address)}


THEIRS = """
DROP TABLE IF EXISTS thing, other_name, fact;
CREATE TABLE thing (id text PRIMARY KEY, title text, what text);
CREATE TABLE other_name (thing text, name text);
CREATE TABLE fact (a text, predicate text, b text, share float8);
"""
INDEXES = """
CREATE INDEX ON fact (a); CREATE INDEX ON fact (b); CREATE INDEX ON other_name (thing);
CREATE INDEX ON thing (lower(title)); CREATE INDEX ON other_name (lower(name)); ANALYZE;
"""
MAPPING = """
language = "{language}"
[kinds.thing]
name = "title"
kind_column = "what"
prefix = ""
[relations.fact]
head = {{ thing = "a" }}
tail = {{ thing = "b" }}
column = "predicate"
weight = "share"
[[aliases]]
of = "thing"
table = "other_name"
entity = "thing"
name = "name"
[relations.fact.roles]
"""


def measure_own(address: str, store: Store, folder: Path) -> Times:
    """What tables of a user's own take that say what the graph says, with an index of all that is looked for."""
    begun, path = time.perf_counter(), folder / "map.toml"
    with Address.of(address).connect(write=True) as connection:
        connection.execute("SET search_path = public")
        connection.execute(THEIRS.encode())
        cursor, nodes = connection.cursor(), [store.at(node) for node in range(len(store))]
        tables: dict[str, Any] = {
            "thing": ((e.id, e.name, e.kind) for e in nodes),
            "other_name": ((e.id, name) for node, e in enumerate(nodes) for name, _ in store.aliases(node)),
            "fact": (
                (t.head.id, t.relation.name, t.tail.id, t.weight)
                for t in store.triples(np.arange(store.adjacency.edges))
            ),
        }
        for table, rows in tables.items():
            with cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row(row)
        connection.execute(INDEXES.encode())
    found = {"write the graph": 1000 * (time.perf_counter() - begun)}
    roles = [
        f"{json.dumps(r.name, ensure_ascii=False)} = {{ role = '{r.role.value}', reverse = {str(r.reverse).lower()} }}"
        for r in store.relations
    ]
    path.write_text(MAPPING.format(language=store.language) + "\n".join(roles), encoding="utf-8")
    address = address.replace("#", f"?map={path}#")
    graph, _ = open_database(address, os.environ)
    found |= asked(graph, store)
    graph.close()
    return found | {"a question": question_time(store, address)}


def question_time(store: Store, where: str) -> float:
    """What a question takes without a model, in milliseconds."""
    some = questions(store, 20)[::5]
    with open_session(Config(graph=where, method="facts")) as session:
        return least(lambda: [session.ask(q) for q in some], len(some))


def table(columns: dict[str, Times]) -> None:
    """Print what was measured, a column a server."""
    print(f"{'ms':30s}" + "".join(f"{name:>14s}" for name in columns))
    for what in WHAT:
        keep("servers", {f"{what} {name} ms": c[what] for name, c in columns.items() if what in c})
        cells = (f"{c[what]:14.3f}" if what in c else f"{'':14s}" for c in columns.values())
        print(f"{what:30s}" + "".join(cells))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="cmekg")
    parser.add_argument("--cut", type=int, default=5_000, help="edges of the cut; 0 = the whole graph")
    parser.add_argument("--server", action="append", choices=list(SERVERS), help="may be repeated; all if not given")
    parser.add_argument("--equal", type=int, default=0, help="compare the evidence of so many questions instead")
    parser.add_argument("--rows", action="store_true", help="with --equal: no files of a graph are fetched")
    parser.add_argument("--method", action="append", help="with --equal; may be repeated; facts if not given")
    parser.add_argument("--triples", type=int, default=0, help="ask a generated graph of so many (bench/shards.py)")
    options = parser.parse_args()
    os.environ |= {"PGPASSWORD": PASSWORD, "NEO4J_PASSWORD": bolt_server.PASSWORD}
    if options.triples:
        name = f"generated-{options.triples}"
        library.build_source(name, replace(generated(options.triples), name=name), force=True)
    else:
        name = cut(library.load(options.graph), options.cut) if options.cut else options.graph
    store, columns = library.load(name), dict[str, Times]()
    print(f"{store!r}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if not options.equal:
        columns["local store"] = asked(store, store) | {"a question": question_time(store, name)}
        columns |= {} if options.triples else {"networkx": in_networkx(store)}
    for server in options.server or SERVERS:
        with SERVERS[server]() as found:
            if found is None:
                print(f"{server} is not installed here")
                continue
            address = found.address(name)
            if server == "own-tables":
                with tempfile.TemporaryDirectory(prefix="kgmed-bench-") as folder:
                    columns[server] = measure_own(address, store, Path(folder))
                continue
            if not options.equal:
                columns[server] = measure(name, address.replace("/postgres#", "/postgres?asked=in-place#"), store)
                continue
            load_into(address, name, os.environ, force=True)
            if options.rows and server == "postgresql":
                with Address.of(address).connect(write=True) as connection:
                    connection.execute("UPDATE graph SET bytes = 0")
            for method in options.method or ("facts",):
                there = address.replace("/postgres#", "/postgres?asked=in-place#")
                print(server, equal(store, there, method, options.equal), flush=True)
    if columns:
        table(columns)


if __name__ == "__main__":
    try:
        main()
    except KgmedError as e:
        sys.exit(f"{e}")
