"""Brute force over small graphs in plain Python, and graphs to try it on."""

from collections import defaultdict
from itertools import combinations, pairwise

import numpy as np
from hypothesis import strategies as st

from kgmed.graph.base import Adjacency

Step = tuple[int, bool, int]  # edge number, along the edge?, node reached
Walked = tuple[tuple[int, ...], tuple[Step, ...]]  # nodes, steps


def steps_of(adjacency: Adjacency) -> dict[int, list[Step]]:
    """Every step that can be taken from each node, along and against the edges."""
    steps: dict[int, list[Step]] = defaultdict(list)
    for head in range(adjacency.nodes):
        for edge in range(int(adjacency.out.indptr[head]), int(adjacency.out.indptr[head + 1])):
            tail = int(adjacency.out.neighbour[edge])
            steps[head].append((edge, True, tail))
            steps[tail].append((edge, False, head))
    return steps


def simple_paths(adjacency: Adjacency, source: int, target: int, hops: int) -> list[Walked]:
    """All simple paths of 1..hops steps in any direction, parallel edges apart."""
    steps, found = steps_of(adjacency), []

    def grow(nodes: tuple[int, ...], taken: tuple[Step, ...]) -> None:
        if nodes[-1] == target:
            found.append((nodes, taken))
            return
        if len(taken) == hops:
            return
        for step in steps[nodes[-1]]:
            if step[2] not in nodes:
                grow((*nodes, step[2]), (*taken, step))

    grow((source,), ())
    return found


def switches(taken: tuple[Step, ...]) -> int:
    """How often a path changes direction."""
    return sum(a[1] != b[1] for a, b in pairwise(taken))


def order_of(adjacency: Adjacency, walked: Walked) -> tuple[object, ...]:
    """The documented order of paths: degrees of inner nodes, length, nodes, relations, directions."""
    nodes, taken = walked
    steps = steps_of(adjacency)
    weight = 1
    for node in nodes[1:-1]:
        weight *= len(steps[node])  # a self loop is two steps
    relations = tuple(int(adjacency.out.relation[s[0]]) for s in taken)
    return weight, len(taken), nodes, relations, tuple(s[1] for s in taken)


def chains_of(adjacency: Adjacency, anchors: list[int], hops: int) -> dict[tuple[int, int], list[Walked]]:
    """For each two anchors, lower first: the chains with at most one change of direction, in the documented order."""
    return {
        (a, b): sorted(
            (w for w in simple_paths(adjacency, a, b, hops) if switches(w[1]) <= 1),
            key=lambda w: order_of(adjacency, w),
        )
        for a, b in combinations(sorted(set(anchors)), 2)
    }


@st.composite
def graphs(draw: st.DrawFn, *, nodes: int = 8, edges: int = 24, relations: int = 3) -> Adjacency:
    """Graphs with self loops, parallel edges, isolated nodes and, often, a hub."""
    n = draw(st.integers(2, nodes))
    node = st.integers(0, n - 1)
    if draw(st.booleans()):
        node = st.one_of(st.just(0), node)  # a hub
    rows = draw(st.lists(st.tuples(node, st.integers(0, relations - 1), node), max_size=edges))
    return Adjacency.of(n, np.array(rows, np.int64).reshape(-1, 3))
