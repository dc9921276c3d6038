"""Databases that hang, die, close connections or change while they are asked, and graphs that kgmed did not write."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import bolt_server
from bolt_server import serving_bolt
from kgmed.cli import app
from kgmed.config import Config
from kgmed.errors import BadInput, Busy, KgmedError, Unavailable
from kgmed.evaluate.log import LOG, digest, entries
from kgmed.evaluate.run import StoppedEarly
from kgmed.graph import library
from kgmed.graph.base import EdgeRow, NodeRow, Source
from kgmed.graph.remote import bolt, postgres
from kgmed.graph.remote.database import DatabaseGraph, source_of, within
from kgmed.graph.remote.named import load_into, open_database, source_from
from kgmed.graph.remote.sparql import SparqlDatabase
from kgmed.records import Role
from kgmed.session import open_session
from postgres_server import PASSWORD, running
from sparql_servers import SparqlServer, serving_oxigraph

SECRET = "hunter2secret"


@contextmanager
def pretending(answer: bytes | None, *, every: float = 0.0) -> Iterator[tuple[int, threading.Event]]:
    """The port of a server that says nothing (None), or says something, byte by byte every so often, and closes.

    With it what is set when it has said all, or kept silent as long as it could, to one who still listened.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    over, done = threading.Event(), threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while not over.is_set():
                client, _ = listening.accept()
                threading.Thread(target=speak, args=(client,), daemon=True).start()

    def speak(client: socket.socket) -> None:
        with client, suppress(OSError):
            if answer is None and over.wait(300):
                return
            for i in range(len(answer or b"")):
                client.sendall((answer or b"")[i : i + 1])
                if over.wait(every):
                    return
            done.set()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listening.getsockname()[1], done
    finally:
        over.set()
        listening.close()


ADDRESSES = {
    "postgresql": "postgresql://me@127.0.0.1:{}/kg#small",
    "bolt": "bolt://me@127.0.0.1:{}/kg#small",
    "sparql": "sparql+http://127.0.0.1:{}/query#small",
}
SAYS = {"nothing": (None, 0.0), "closes": (b"", 0.0), "garbage": (b"\x00\xff" * 50, 0.0), "slowly": (b"H" * 1500, 0.2)}
ENDLESS = {"nothing", "slowly"}  # five minutes, which nobody waits


@pytest.mark.parametrize("says", SAYS)
@pytest.mark.parametrize("kind", ADDRESSES)
def test_a_server_that_hangs_closes_or_talks_nonsense_is_one_line_in_time(
    kind: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("psycopg",) * (kind == "postgresql") + ("neo4j",) * (kind == "bolt"):
        pytest.importorskip(module)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("NEO4J_PASSWORD", SECRET)
    monkeypatch.setattr(bolt, "LATE", 3.0)
    monkeypatch.setattr(bolt, "WAIT", 2.0)
    monkeypatch.setattr(postgres, "WAIT", 2)
    monkeypatch.setattr("kgmed.graph.remote.sparql.SECONDS", 2.0)
    with pretending(SAYS[says][0], every=SAYS[says][1]) as (port, done):
        with pytest.raises(Unavailable) as told:
            open_database(ADDRESSES[kind].format(port), os.environ)
        assert says not in ENDLESS or not done.is_set()
    assert "\n" not in str(told.value)
    assert "127.0.0.1" in str(told.value)
    assert SECRET not in str(told.value)
    assert told.value.__cause__ is None


def test_a_call_that_never_ends_is_given_up() -> None:
    over = threading.Event()

    def silent() -> list[str]:
        over.wait(300)
        return []

    with pytest.raises(Busy, match="here did not answer in 0 seconds"):
        within(0.2, "here", silent, (OSError,))
    over.set()


@pytest.mark.parametrize("address", [
    "bolt://me:{}@h:7687/kg#small", "bolt://me:{}@[::1/kg#small", "bolt:/me:{}@h/kg#small", "neo4j://me:{},x@h/kg#a",
    "bolt://h/kg?password={}#small", "neo4j+s:me:{}@h", "bolt://me:{}@h:999999/kg#small", "blot://me:{}@h/kg#small",
    "sparql+http://me:{}@h/q#small",
])  # fmt: skip
def test_a_mistyped_bolt_address_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(KgmedError) as refused:
        open_session(Config(graph=address.format(SECRET))).ask("What is flu?")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("address", [
    "https://me:{}@h/graph.json#sha256=00", "postgresql//me:{}@h/kg#x", "host=h user=me password={}",
    "sparql+http://h/q?apikey={}#s", "bolt:me:{}@h",
])  # fmt: skip
@pytest.mark.parametrize("command", [
    "ask What -g {}", "graph get {}", "graph show {} gout", "graph load x {}", "graph build z --from {}",
    "graph schema {}", "graph info {}", "graph vectors x --to {}",
])  # fmt: skip
def test_no_command_repeats_the_password_of_an_address(home: None, command: str, address: str) -> None:
    words = [word.format(address.format(SECRET)) for word in command.split()]
    told = CliRunner().invoke(app, words)
    assert told.exit_code
    assert SECRET not in told.output + str(told.exception)


def small() -> Iterator[NodeRow | EdgeRow]:
    yield NodeRow("flu", "Influenza", "disease")
    yield EdgeRow("flu", "has symptom", "fever")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("NEO4J_PASSWORD", bolt_server.PASSWORD)
    library.build_source("small", Source("small", small, language="en"))


def test_a_server_that_dies_is_told_and_asked_again_when_it_is_back(home: None) -> None:
    pytest.importorskip("psycopg")
    with running() as server:
        if server is None:
            pytest.skip("no PostgreSQL: apt-get install postgresql")
        load_into(server.address("small"), "small", os.environ)
        graph = DatabaseGraph(postgres.Postgres(postgres.Address.of(server.address("small"))))
        assert graph.neighbours("flu")
        with postgres.Address.of(server.address("small")).connect(write=True) as other:
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        assert graph.neighbours("flu")  # on a new connection
        with postgres.Address.of(server.address("small")).connect(write=True) as other:
            other.execute("DROP TABLE edge CASCADE")
        with pytest.raises(KgmedError, match="kgmed graph load small"):
            graph.neighbours("flu")
    with pytest.raises(Busy, match="cannot be reached"):
        graph.neighbours("flu")
    graph.close()


def test_an_evaluation_goes_on_after_its_graph_server_died(
    home: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ({"id": f"q{i}", "question": f"Which symptom has influenza in case {i}?", "answer": "A", "language": "en",
             "options": {"A": "fever", "B": "flu"}} for i in range(12))  # fmt: skip
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked, log = SparqlDatabase.rows, tmp_path / "run" / LOG

    def run(server: SparqlServer, out: str, *more: str) -> Result:
        words = ("eval", "run", str(tmp_path / out), "-s", str(tmp_path / "q.jsonl"), "-m", "facts", "--part", "")
        return CliRunner().invoke(app, [*words, "-g", server.address("small"), *more])

    with serving_oxigraph(tmp_path / "data") as server:
        if server is None:
            pytest.skip("no Oxigraph: pip install oxigraph")
        load_into(server.address("small"), "small", os.environ)
        process, port = server.process, int(server.url.split(":")[2].split("/")[0])

        def dies(self: SparqlDatabase, what: str, /, **values: Any) -> list[Any]:
            if log.exists() and log.read_bytes().count(b"\n") == 3:
                process.kill()
                process.wait()
            return asked(self, what, **values)

        monkeypatch.setattr(SparqlDatabase, "rows", dies)
        stopped = run(server, "run")
        assert isinstance(stopped.exception, StoppedEarly), stopped.output
        assert "answers are left" in str(stopped.exception)
        monkeypatch.setattr(SparqlDatabase, "rows", asked)
    with serving_oxigraph(tmp_path / "data", port) as server:
        assert server is not None
        for words in (("run", "--again"), ("calm",)):
            told = run(server, *words)
            assert told.exit_code == 0, told.output
    assert digest(entries(tmp_path / "run")) == digest(entries(tmp_path / "calm"))


def test_relations_that_come_while_a_graph_is_asked_are_told(home: None) -> None:
    with serving_oxigraph() as server:
        if server is None:
            pytest.skip("no Oxigraph: pip install oxigraph")
        address = server.address("small")
        load_into(address, "small", os.environ)
        graph, _ = open_database(address, os.environ)
        assert graph.neighbours("flu")
        more = "<urn:kgmed:small:edge:0> <urn:kgmed:edge_relation> 7"
        place = "GRAPH <urn:kgmed:graph:small>"
        graph.database._updates.tell(  # type: ignore[attr-defined]
            {"update": f"DELETE WHERE {{ {place} {{ <urn:kgmed:small:edge:0> <urn:kgmed:edge_relation> ?r }} }} ;"
                       f"INSERT DATA {{ {place} {{ {more} }} }}"}
        )  # fmt: skip
        with pytest.raises(Unavailable, match="has changed while it was asked"):
            graph.neighbours("flu")


def test_a_snapshot_is_the_graph_that_a_query_of_the_user_selects(home: None, tmp_path: Path) -> None:
    query = tmp_path / "query.rq"
    query.write_text(
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
        "SELECT ?head ?headLabel ?headKind ?relation ?tail ?tailLabel WHERE { ?head ?relation ?tail"
        " ; rdfs:label ?headLabel ."
        " BIND('disease' AS ?headKind) OPTIONAL { ?tail rdfs:label ?tailLabel } FILTER(?relation != rdfs:label) }"
    )
    with serving_oxigraph() as server:
        if server is None:
            pytest.skip("no Oxigraph: pip install oxigraph")
        from kgmed.http import JsonClient
        from kgmed.servers import Server

        told = (
            '<http://ex.org/gout> rdfs:label "Gout"@en ; <http://ex.org/has_symptom> <http://ex.org/pain> ;'
            ' <http://ex.org/dosage> "twice a day" . <http://ex.org/pain> rdfs:label "joint pain" .'
        )
        JsonClient(server.url.replace("/query", "/update"), Server("127.0.0.1")).tell(
            {"update": f"PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> INSERT DATA {{ {told} }}"}
        )
        source = source_from(f"sparql+{server.url}", "gout", os.environ, query=query)
        library.build_source("gout", source)
    store = library.load("gout")
    (found,) = store.neighbours(store.lookup("Gout")[0].entity.id)
    assert (found.head.kind, found.relation.role, found.tail.name) == ("disease", Role.FINDING, "joint pain")
    assert [t.tail.name for t in store.attributes(found.head.id)] == ["twice a day"]
    query.write_text("SELECT ?head WHERE { ?head ?p ?tail }")
    with pytest.raises(BadInput, match="--query needs"):
        source_from("bolt://h/kg#a", "gout", os.environ, query=query)


@pytest.fixture(scope="module")
def theirs() -> Iterator[Any]:
    pytest.importorskip("neo4j")
    if not find_spec("arcadedb_embedded"):
        pytest.skip("no ArcadeDB: pip install arcadedb-embedded")
    with serving_bolt() as server:
        environment = {"NEO4J_PASSWORD": bolt_server.PASSWORD}
        assert server is not None
        address = bolt.BoltAddress.of(server.address("mine"))
        connection = bolt.Connection(address, environment)
        for query in (
            "CREATE (:Disease {doid: 'D1', name: 'Influenza', synonyms: ['grippe', '流感'], "
            "definition: 'A viral infection.'})",
            "CREATE (:Disease {doid: 'D2', name: 'Common cold', synonyms: [], definition: ''})",
            "CREATE (:Symptom {doid: 'S1', name: 'fever'})",
            "CREATE (:Symptom {doid: 'S2', name: 'Cough'})",
            "MATCH (a {doid: 'D1'}), (b {doid: 'S1'}) CREATE (a)-[:HAS_SYMPTOM {pmid: ['1', '2'], w: 0.5}]->(b)",
            "MATCH (a {doid: 'D1'}), (b {doid: 'S2'}) CREATE (a)-[:HAS_SYMPTOM]->(b)",
            "MATCH (a {doid: 'D2'}), (b {doid: 'S2'}) CREATE (a)-[:HAS_SYMPTOM]->(b)",
        ):
            connection.run(query, {}, write=True)
        connection.close()
        yield server, environment


class TestOfGraphsThatKgmedDidNotWrite:
    def test_a_mapping_is_proposed_from_the_schema_and_read_again(self, theirs: Any, tmp_path: Path) -> None:
        server, environment = theirs
        told = bolt.propose(bolt.BoltAddress.of(server.address("mine")), environment)
        (tmp_path / "map.toml").write_text(told, encoding="utf-8")
        schema = bolt.read_mapping(tmp_path / "map.toml")
        assert schema.kinds == {"Disease": "disease", "Symptom": "symptom"}
        assert (schema.name, schema.aliases, schema.description) == ("name", ("synonyms",), "definition")
        assert schema.relations["HAS_SYMPTOM"].role is Role.FINDING

    def test_such_a_graph_is_asked_in_place_and_fetched_whole(
        self, theirs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server, environment = theirs
        monkeypatch.setenv("KGMED_HOME", str(tmp_path))
        told = bolt.propose(bolt.BoltAddress.of(server.address("mine")), environment)
        told = told.replace('id = ""', 'id = "doid"').replace("references = []", 'references = ["pmid"]\nweight = "w"')
        (tmp_path / "map.toml").write_text(told, encoding="utf-8")
        address = server.address("mine", f"?map={tmp_path}/map.toml")
        graph, in_place = open_database(address, environment)
        assert in_place
        assert [m.entity.id for m in graph.lookup("influenza")] == ["D1"]
        assert [m.how for m in graph.lookup("流感")] == ["alias"]
        assert graph.entity("D1").description == "A viral infection."
        found = {t.tail.name: t for t in graph.neighbours("D1")}
        assert {name: t.weight for name, t in found.items()} == {"fever": 0.5, "Cough": 1.0}
        assert [s.reference for s in found["fever"].support] == ["1", "2"]
        assert [str(p) for p in graph.between("D1", "D2", 3, 5).paths] == [
            "Influenza -has symptom-> Cough <-has symptom- Common cold"
        ]
        monkeypatch.setenv("NEO4J_PASSWORD", bolt_server.PASSWORD)
        with open_session(Config(graph=address, method="facts")) as session:
            assert "fever" in session.ask("What are the symptoms of influenza?").answer.text
        library.build_source("mine", source_of(graph, "mine"))
        store = library.load("mine")
        assert {t.tail.name for t in store.neighbours("D1")} == {"fever", "Cough"}
        assert store.lookup("grippe")
        graph.close()

    def test_a_mapping_that_cannot_be_used_is_refused_in_one_line(self, tmp_path: Path) -> None:
        for text, said in (
            ("[kinds]", "names no label"), ("kids = 1", "has no 'kids'"),
            ("name = 3\n[kinds]\nA='a'", "must be a text"),
            ("[kinds]\nA = 'a'\n[relations]\nR = 'nothing'", "names no role"),
            ("[kinds]\nA = 'a'\n[relations]\nR = {name = [1], role = 'finding'}", "must be a text"),
            ("= 3", "is no TOML"),
        ):  # fmt: skip
            (tmp_path / "map.toml").write_text(text)
            with pytest.raises(BadInput, match=said):
                bolt.read_mapping(tmp_path / "map.toml")
