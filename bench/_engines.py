"""The engines that the graph benchmark compares; each function runs alone in its own process."""

import os
import pickle
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from _generate import hykge_size
from _measure import Measured, Queries, each, machine, now, peak, queries, seconds, triples

from kgmed.graph.base import Adjacency, Batch, Batches, EdgeRow, Scope, Source
from kgmed.graph.formats import cmekg
from kgmed.graph.formats import triples as triples_file
from kgmed.graph.search.chains import Chains, chains, mirror, start, step, words
from kgmed.graph.search.paths import shortest
from kgmed.graph.search.scan import Subgraph, direction, subgraph
from kgmed.graph.search.walk import Transition, seeds, walk
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store

US, MS = 1e-6, 1e-3


def source_of(graph: str, folder: Path) -> Source:
    """The graph to build: CMeKG from its package, the generated one from the file that `write` has written."""
    return cmekg.read_cmekg() if graph == "cmekg" else triples_file.read_triples(_file(folder), name="generated")


def _file(folder: Path) -> Path:
    return folder.with_suffix(".tsv")


def write(graph: str, folder: Path, *, quick: bool) -> Measured:
    """Write the generated graph (a tenth of it where quick) as the tab-separated file that it is built from."""
    if graph != "cmekg":
        source = hykge_size(entities=129_000, triples=357_000) if quick else hykge_size()
        with _file(folder).open("w", encoding="utf-8") as f:
            f.writelines("\t".join(row[:3]) + "\n" for row in source.rows() if isinstance(row, EdgeRow))
    return {"peak": peak()}


def built(graph: str, folder: Path) -> Measured:
    """Build the graph's files: seconds, peak memory, bytes on disk."""
    took = seconds(lambda: build(source_of(graph, folder), folder))
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    return {"seconds": took, "peak": peak(), "disk": size}


def rows_only(graph: str, folder: Path) -> Measured:
    """What only reading the rows takes."""

    def read() -> int:
        rows = source_of(graph, folder).rows()
        return sum(1 for _ in (rows.batches if isinstance(rows, Batches) else rows))

    return {"seconds": seconds(read), "peak": peak()}


def from_integers(folder: Path) -> Measured:
    """What building takes where names and numbers are in memory, as the peers have them; files and indexes included."""
    store = open_store(folder)
    names, relations = _names(store), [relation.name for relation in store.relations]
    head, tail, relation = triples(store)

    def rows() -> Batches:
        batch = Batch((), head, relation.astype(np.int64), tail.astype(np.int64))
        return Batches([batch], lambda codes: [names[c] for c in codes], lambda codes: [relations[c] for c in codes])

    with tempfile.TemporaryDirectory() as scratch:
        took = seconds(lambda: build(Source("integers", rows), Path(scratch) / "graph"))
    return {"seconds": took, "peak": peak()}


def ours(folder: Path, *, quick: bool) -> Measured:
    """Everything that is asked of kgmed."""
    opening = float(np.median([seconds(lambda: open_store(folder)) for _ in range(7)]))
    store = open_store(folder)
    adjacency = store.adjacency
    asked = queries(adjacency, quick=quick)
    names = [store.at(node).name for node in asked.named]
    ids, named = ([store.at(node).id for node in nodes] for nodes in (asked.around, asked.named))
    local = subgraph(adjacency, [asked.seed])
    result = {
        "counts": [adjacency.nodes, adjacency.edges, len(local.nodes), local.adjacency.edges],
        "open": opening / MS,
        "number": each(store.number, named, US),
        "lookup": each(store.lookup, names, US),
        "lookup again": each(store.lookup, names, US),
        "one-hop": each(lambda node: store.incident(node, limit=64), asked.around, US),
        "one-hop triples": each(lambda i: store.neighbours(i, limit=64), ids, US),
        "one-hop again": each(lambda i: store.neighbours(i, limit=64), ids, US),
        "chains": _chains(adjacency, asked),
        "all shortest": each(lambda pair: shortest(adjacency, *pair), asked.pairs, MS),
        "distances": [shortest(adjacency, a, b).distance for a, b in asked.pairs],
        "subgraph": each(lambda _: subgraph(adjacency, [asked.seed]), range(9), MS),
        **_walks(local, asked.seed),
        "peak": peak(),
    }
    return {**result, "floor": _floors(store, asked, result)}


def _chains(adjacency: Adjacency, asked: Queries) -> Measured:
    chains(adjacency, asked.sets[0])
    found: list[Chains] = []
    times = [min(seconds(lambda s=s: found.append(chains(adjacency, s))) for _ in range(3)) for s in asked.sets]  # type: ignore[misc]
    totals = [int(c.total.sum()) for c in found[::3]]
    directed = [
        _directed(chains(adjacency, anchors, per_pair=total)) for anchors, total in zip(asked.sets, totals, strict=True)
    ]
    times_of = {"median": float(np.median(times)) / MS, "max": max(times) / MS, "each": times}
    return {**times_of, "found": totals, "directed": directed}


def _directed(found: Chains) -> int:
    """How many of the chains never change direction: the shape that the peers search for."""
    last = found.forward[np.arange(len(found)), found.length - 1]
    return int((found.forward[:, 0] == last).sum())


def _walks(local: Subgraph, seed: int) -> Measured:
    at = int(local.local([seed])[0])
    transition = Transition.of(local.adjacency)
    one, eight = seeds(len(local.nodes), [at]), seeds(len(local.nodes), np.arange(8, dtype=np.int32))
    found = walk(transition, one)
    return {
        "walk": each(lambda _: walk(transition, one), range(49), MS),
        "walk of 8": each(lambda _: walk(transition, eight), range(9), MS),
        "transition": each(lambda _: Transition.of(local.adjacency), range(9), MS),
        "iterations": found.iterations,
        "scores": [at, *np.argsort(-found.scores[0])[:3].tolist(), float(found.scores[0].max())],
    }


def _floors(store: Store, asked: Queries, result: Measured) -> Measured:
    """The least time each figure could take on this machine, now: what must be read, at the speed it can be read."""
    adjacency = store.adjacency
    limit = machine(adjacency.out.neighbour.nbytes + adjacency.out.indptr.nbytes)
    small = machine(adjacency.nodes)
    per_set = []
    for anchors, total in zip(asked.sets, result["chains"]["found"], strict=True):
        scanned = _scanned(adjacency, anchors)
        per_set.append(scanned * (4 / limit["read"] + small["gather"]) + total * 5e-9)
    entries = 2 * result["counts"][3]
    return {
        "machine": limit,
        "lookup": 4 * limit["dependent"] / US,  # hash, number, place, bytes
        "one-hop": 6 * limit["dependent"] / US,  # two rows: pointers, neighbours, relations
        "chains": float(np.median(per_set)) / MS,
        "walk": result["iterations"] * entries * (16 / limit["read"] + 1e-9) / MS,
    }


def _scanned(adjacency: Adjacency, anchors: list[int]) -> int:
    """The middle edges that three-step chains between the anchors make one look at, from the cheaper side."""
    begin = start(np.unique(np.asarray(anchors, np.int32)))
    side = {f: step(adjacency, begin, forward=f, budget=1)[0].ends for f in (True, False)}
    total = 0
    for word in (w for w in words(3) if w >= mirror(w)):
        there, back = direction(adjacency, forward=word[1])
        left, right = side[word[0]], side[not word[2]]
        looks = [int((c.indptr[e + 1] - c.indptr[e]).sum()) for c, e in ((there, left), (back, right))]
        total += min(looks)
    return total


def _names(store: Store) -> list[str]:
    return [named.text for named in store.names(scopes=(Scope.PREFERRED,))]


def _copy(name: str) -> str:
    """A text of its own: that of a question is never the very object that a graph holds."""
    return name.encode().decode()


def in_networkx(folder: Path, *, quick: bool, budget: float) -> Measured:
    """The same of networkx: a MultiDiGraph whose nodes are the names."""
    import networkx as nx
    from networkx.algorithms.link_analysis import pagerank_alg

    store = open_store(folder)
    names, asked = _names(store), queries(store.adjacency, quick=quick)
    relations = [relation.name for relation in store.relations]
    head, tail, relation = (column.tolist() for column in triples(store))
    begin = now()
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[h], names[t], r) for h, t, r in zip(head, tail, relation, strict=True))
    result: Measured = {"seconds": now() - begin, "peak": peak()}
    graph, disk, opening = _reopened(graph)
    result |= {"disk": disk, "open": opening / MS, **_nx_directed(graph, names, relations, asked, budget)}
    del graph
    local = subgraph(store.adjacency, [asked.seed])
    cut, at = nx.MultiGraph(), int(local.local([asked.seed])[0])
    cut.add_nodes_from(range(len(local.nodes)))
    cut.add_edges_from(_local_edges(local))
    pagerank = pagerank_alg._pagerank_python  # what `pagerank` calls needs scipy
    result["walk"] = each(lambda _: pagerank(cut, 0.7, {at: 1.0}, tol=1e-13, max_iter=500), range(3), MS)
    return result


def _nx_directed(graph: Any, names: list[str], relations: list[str], asked: Queries, budget: float) -> Measured:
    import networkx as nx

    def around(name: str) -> list[Any]:
        edges = list(islice(graph.out_edges(name, keys=True), 64))
        return edges + list(islice(graph.in_edges(name, keys=True), 64 - len(edges)))

    def said(name: str) -> list[tuple[str, str, str]]:
        return [(h, relations[r], t) for h, t, r in around(name)]

    def paths(anchors: list[str]) -> int:
        return sum(1 for a in anchors for _ in nx.all_simple_paths(graph, a, set(anchors) - {a}, cutoff=3))

    return {
        "lookup": each(graph.has_node, [_copy(names[n]) for n in asked.named], US),
        "one-hop": each(around, [_copy(names[n]) for n in asked.around], US),
        "one-hop triples": each(said, [_copy(names[n]) for n in asked.around], US),
        "chains": _boxed(paths, [[names[n] for n in anchors] for anchors in asked.sets], budget),
    }


def _local_edges(local: Subgraph) -> list[tuple[int, int]]:
    heads = np.repeat(np.arange(local.adjacency.nodes), np.diff(local.adjacency.out.indptr))
    return list(zip(heads.tolist(), local.adjacency.out.neighbour.tolist(), strict=True))


def _reopened(graph: Any) -> tuple[Any, int, float]:
    """The graph written with pickle and read again, the bytes, and the seconds of reading."""
    with tempfile.TemporaryFile() as file:
        pickle.dump(graph, file, protocol=pickle.HIGHEST_PROTOCOL)
        del graph
        size = file.tell()
        file.seek(0)
        begin = now()
        again = pickle.load(file)
        return again, size, now() - begin


def _boxed(paths: Any, sets: list[list[Any]], budget: float) -> Measured:
    """Whole anchor sets, one after the other, until the time is up; at least one."""
    times: list[float] = []
    found = []
    while len(times) < len(sets) and (not times or sum(times) < budget):
        begin = now()
        found.append(paths(sets[len(times)]))
        times.append(now() - begin)
    return {"median": float(np.median(times)) / MS, "each": times, "found": found}


def in_igraph(folder: Path, *, quick: bool, budget: float) -> Measured:
    """The same of igraph, with names and relations as attributes."""
    import igraph

    store = open_store(folder)
    names, asked = _names(store), queries(store.adjacency, quick=quick)
    head, tail, relation = triples(store)
    begin = now()
    graph = igraph.Graph(n=len(names), edges=np.column_stack([head, tail]), directed=True)
    graph.vs["name"], graph.es["relation"] = names, [store.relations[r].name for r in relation.tolist()]
    result: Measured = {"seconds": now() - begin, "peak": peak()}
    graph, disk, opening = _reopened(graph)
    graph.vs.find(name=names[0])  # builds its index of names
    sets = asked.sets

    def said(name: str) -> list[tuple[str, str, str]]:
        edges = graph.es[graph.incident(graph.vs.find(name=name), mode="all")[:64]]
        ends = ((*graph.vs[list(edge.tuple)]["name"], edge["relation"]) for edge in edges)
        return [(head, relation, tail) for head, tail, relation in ends]

    def paths(anchors: list[int]) -> int:
        return sum(
            len(graph.get_all_simple_paths(a, to=[b for b in anchors if b != a], maxlen=3, mode="out")) for a in anchors
        )

    local = subgraph(store.adjacency, [asked.seed])
    cut = igraph.Graph(n=len(local.nodes), edges=_local_edges(local))
    at = int(local.local([asked.seed])[0])
    pagerank = cut.personalized_pagerank
    scores = np.array(pagerank(reset_vertices=at, damping=0.7, directed=False))
    return result | {
        "disk": disk,
        "open": opening / MS,
        "lookup": each(lambda name: graph.vs.find(name=name), [_copy(names[n]) for n in asked.named], US),
        "one-hop": each(lambda node: graph.incident(node, mode="all")[:64], asked.around, US),
        "one-hop triples": each(said, [_copy(names[n]) for n in asked.around], US),
        "chains": _boxed(paths, sets, budget),
        "walk": each(lambda _: pagerank(reset_vertices=at, damping=0.7, directed=False), range(49), MS),
        "scores": [at, *np.argsort(-scores)[:3].tolist(), float(scores.max())],
    }


os.environ.setdefault("OMP_NUM_THREADS", "1")
