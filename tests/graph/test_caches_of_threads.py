"""What threads share is written by one while another looks through it."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgmed.graph import contradictions
from kgmed.graph.base import kept_with_graph
from kgmed.graph.store import arrays
from kgmed.records import Relation, Role
from role_graph import RoleGraph

THREADS, TURNS = 4, 20_000


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads take turns a thousand times as often as usual, and few things are kept."""
    monkeypatch.setattr(arrays, "_MOST", 40)
    monkeypatch.setattr(arrays, "_AT_ONCE", 2)
    monkeypatch.setattr(contradictions, "_KEPT", 3)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(turn: Callable[[int], object]) -> None:
    """Each thread takes its turns, from a place of its own; what goes wrong in any is raised."""
    with ThreadPoolExecutor(THREADS) as pool:
        work = [pool.submit(_turns, turn, n) for n in range(THREADS)]
    for one in work:
        one.result()


def _turns(turn: Callable[[int], object], n: int) -> None:
    for i in range(TURNS):
        turn(n * 7 + i)


def test_records_go_while_others_come() -> None:
    cache = arrays.RecordCache[int, int]()
    together(lambda n: cache.one(n % 1000, lambda number: number))
    together(lambda n: cache([n % 997, n % 991], lambda numbers: numbers))


def test_records_that_others_made_meanwhile_are_not_made_of_nothing() -> None:
    """An empty array of numbers has no integer type, so that a graph can take no rows by it."""

    class Late(dict[int, int]):
        def __getitem__(self, number: int) -> int:
            raise KeyError(number)  # gone at the first look, there again at the second

    cache = arrays.RecordCache[int, int]()
    cache._kept = Late({1: 10, 2: 20})
    asked: list[list[int]] = []
    assert cache([1, 2], lambda numbers: asked.append(numbers) or numbers) == [10, 20]  # type: ignore[func-returns-value]
    assert asked == []


def test_results_that_are_kept_with_a_graph_go_while_others_come() -> None:
    @kept_with_graph(16)
    def double(graph: RoleGraph, n: int) -> int:
        return 2 * n

    graph = RoleGraph([("a", "must not", "b")], (Relation("must not", Role.CONTRAINDICATED),), {})
    together(lambda n: double(graph, n % 500))


def test_warnings_are_forgotten_while_others_are_read() -> None:
    warns = Relation("must not", Role.CONTRAINDICATED)
    names = [f"drug {n}" for n in range(20)]
    graph = RoleGraph([(n, "must not", "gout") for n in names], (warns,), {"drug": names, "disease": ["gout"]})
    table = contradictions.Warnings(graph)
    nodes = [graph.number(graph.entity(n).id) for n in names]
    together(lambda n: table.of(nodes[n % len(nodes)]))
