"""The cache in front of a remote graph, with a graph that counts how often it is asked."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kgmed.cache import Hits
from kgmed.errors import BadInput, StoreError, Unavailable, UnknownName
from kgmed.graph.base import KnowledgeGraph, Match
from kgmed.graph.remote.named import CachedGraph
from kgmed.graph.remote.umls import VARIABLE, Umls
from kgmed.records import Entity, Relation, Role, Support, Triple
from kgmed.servers import Limits
from loopback import Said, loopback

ASTHMA = Entity("x:1", "Asthma", "disease", "of the airways")
COUGH, DRUG = Entity("x:2", "Cough"), Entity("x:3", "Salbutamol 'n' \"more\"")
WORD = Support("PMID:1", (("source", "MSH"), ("sex", "")))
TRIPLES = [
    Triple(ASTHMA, Relation("has_symptom", Role.FINDING), COUGH, 0.25, "far 1", (WORD, WORD)),
    Triple(ASTHMA, Relation("treated_by", Role.TREATS, reverse=True), DRUG),
]
TEXTS = [Triple(ASTHMA, Relation("definition"), Entity("", "哮喘: a disease"), source="far 1")]


@dataclass
class Far:
    """A graph that is far away; `fails` says what it raises."""

    label: str = "far 1"
    asked: list[str] = field(default_factory=list)
    fails: Exception | None = None
    name: str = "far"
    language: str = "en"

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.fails:
            raise self.fails

    def entity(self, entity_id: str, /) -> Entity:
        self._ask(f"entity {entity_id}")
        if entity_id != ASTHMA.id:
            raise UnknownName("entity", entity_id, ())
        return ASTHMA

    def lookup(self, name: str, /) -> list[Match]:
        self._ask(f"lookup {name}")
        return [Match(ASTHMA, "asthma", "normalised", 0.99)] if name == "asthma" else []

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        self._ask(f"neighbours {entity_id} {limit}")
        found = TRIPLES if entity_id == ASTHMA.id else []
        return [t for t in found if not roles or t.relation.role in roles][:limit]

    def attributes(self, entity_id: str, /) -> list[Triple]:
        self._ask(f"attributes {entity_id}")
        return TEXTS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "cache.sqlite"


def everything(graph: KnowledgeGraph) -> list[object]:
    return [
        graph.lookup("asthma"),
        graph.lookup("nothing"),
        graph.entity("x:1"),
        graph.neighbours("x:1"),
        graph.neighbours("x:1", limit=1),
        graph.neighbours("x:1", roles=[Role.TREATS]),
        graph.neighbours("x:9"),
        graph.attributes("x:1"),
    ]


def test_answers_are_those_of_the_graph_and_it_is_asked_once(path: Path) -> None:
    far = Far()
    wanted = everything(Far())
    assert everything(CachedGraph(far, path)) == wanted
    asked = len(far.asked)
    assert asked == len(wanted) - 1  # the smaller limit was answered by the larger
    again = CachedGraph(far, path)
    assert everything(again) == wanted
    assert len(far.asked) == asked
    assert again.hits["neighbours"] == Hits(hits=4, misses=0, negative=1)
    assert again.hits["lookup"] == Hits(hits=2, misses=0, negative=1)
    assert again.hits["lookup"].rate == 1.0


def test_a_limit_above_what_was_fetched_asks_again(path: Path) -> None:
    far = Far()
    cached = CachedGraph(far, path)
    cached.neighbours("x:1")
    cached.neighbours("x:1", limit=10_000)
    cached.neighbours("x:1", limit=10_000)
    assert far.asked == ["neighbours x:1 500", "neighbours x:1 10000"]


def test_that_there_is_nothing_counts_for_a_time_and_an_answer_for_longer(path: Path) -> None:
    far, now = Far(), [0.0]
    cached = CachedGraph(far, path, negative=2.0, positive=10.0, clock=lambda: now[0])
    for hours, asked in ((0.0, 3), (1.9, 3), (2.1, 5), (9.9, 7), (10.1, 8)):
        now[0] = hours * 3600
        assert cached.lookup("asthma")
        assert not cached.lookup("nothing")
        with pytest.raises(UnknownName, match="no entity of far is called 'x:8'"):
            cached.entity("x:8")
        assert len(far.asked) == asked


def test_that_there_is_nothing_does_not_count_for_ever_when_the_clock_goes_back(path: Path) -> None:
    far, now = Far(), [9e9]
    cached = CachedGraph(far, path, negative=2.0, clock=lambda: now[0])
    for moment, asked in ((9e9, 1), (9e9 - 3600, 1), (1e9, 2), (1e9, 2)):
        now[0] = moment
        assert not cached.lookup("nothing")
        assert len(far.asked) == asked


def test_an_answer_that_failed_is_never_kept(path: Path) -> None:
    far = Far(fails=Unavailable("far cannot be reached"))
    cached = CachedGraph(far, path)
    for _ in range(2):
        with pytest.raises(Unavailable):
            cached.lookup("asthma")
        with pytest.raises(Unavailable):
            cached.neighbours("x:1")
    far.fails = None
    assert cached.lookup("asthma")
    assert cached.neighbours("x:1") == TRIPLES


def test_graphs_of_another_label_do_not_share_answers(path: Path) -> None:
    first, second = Far(), Far("far 2")
    CachedGraph(first, path).lookup("asthma")
    CachedGraph(second, path).lookup("asthma")
    assert second.asked == ["lookup asthma"]


def test_spaces_do_not_make_another_term_but_case_may(path: Path) -> None:
    far = Far()
    cached = CachedGraph(far, path)
    for name in (" asthma ", "asthma", "Asthma"):
        cached.lookup(name)
    assert far.asked == ["lookup asthma", "lookup Asthma"]


def test_counts_add_up_in_the_file_when_it_is_closed(path: Path) -> None:
    for _ in range(2):
        with CachedGraph(Far(), path) as cached:
            cached.lookup("asthma")
            cached.lookup("asthma")
    assert cached.totals() == {"lookup": Hits(hits=3, misses=1)}
    assert cached.lookup("asthma")  # it opens again
    assert cached.hits == {"lookup": Hits(hits=1)}
    cached.close()


def test_a_row_that_cannot_be_read_is_asked_for_again(path: Path) -> None:
    cached = CachedGraph(Far(), path)
    for damage in ("", "{", "null", "[7]", '[{"entity": null}]', '{"a": 1}'):
        cached.lookup("asthma")
        with sqlite3.connect(path) as file:
            file.execute("UPDATE answer SET value = ?", (damage,))
        file.close()
        assert cached.lookup("asthma")[0].entity == ASTHMA


@pytest.mark.parametrize("damage", ["empty = 7", "empty = 'x'", "asked = 'x'", "asked = 501", "written = 'x'"])
def test_what_is_damaged_beside_an_answer_is_asked_again(tmp_path: Path, damage: str) -> None:
    graph, path = Far(), tmp_path / "a.sqlite"
    with CachedGraph(graph, path) as cached:
        said = cached.lookup("asthma")
        asked = len(graph.asked)
        file = sqlite3.connect(path)
        with file:
            file.execute(f"UPDATE answer SET {damage}")
        file.close()
        assert cached.lookup("asthma") == said
        assert len(graph.asked) == asked + 1


def test_a_file_that_is_no_cache_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match=r"a\.sqlite: the cache cannot be used .*; delete it or name another"):
        CachedGraph(Far(), path)
    with pytest.raises(StoreError, match="cannot be used"):
        CachedGraph(Far(), tmp_path)


@pytest.mark.parametrize("hours", [{"positive": 0.0}, {"negative": -1.0}, {"positive": float("nan")}])
def test_hours_below_zero_are_refused(path: Path, hours: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="hours"):
        CachedGraph(Far(), path, positive=hours.get("positive", 1.0), negative=hours.get("negative", 1.0))


def test_ten_threads_share_one_cache(path: Path) -> None:
    cached, wanted = CachedGraph(Far(), path), everything(Far())
    got: list[object] = []
    threads = [threading.Thread(target=lambda: got.append(everything(cached))) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cached.close()
    assert got == [wanted] * 10


CHILD = """
import sys
sys.path[:0] = [{tests!r}, {here!r}]
from test_remote_cached import CachedGraph, Far, everything
wanted = everything(Far())
for i in range(20):
    with CachedGraph(Far("far %d" % (i % 3)), {path!r}) as cached:
        if everything(cached) != wanted:
            raise SystemExit("another answer")
"""


def test_processes_share_one_file(path: Path) -> None:
    here = Path(__file__).parent
    code = CHILD.format(tests=str(here.parents[1]), here=str(here), path=str(path))
    running = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, said
    totals = [CachedGraph(Far(f"far {i}"), path).totals() for i in range(3)]
    assert sum(t["lookup"].hits + t["lookup"].misses for t in totals) == 4 * 20 * 2


FORKED = """
import os, sys
sys.path[:0] = [{tests!r}, {here!r}]
from test_remote_cached import CachedGraph, Far
cached = CachedGraph(Far(), {path!r})
cached.lookup("asthma")
child = os.fork()
if not child:
    found = cached.lookup("asthma")
    cached.close()
    os._exit(0 if found else 1)
status = os.waitpid(child, 0)[1]
sys.exit(status or (0 if cached.lookup("asthma") else 2))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_opens_a_connection_of_its_own(path: Path) -> None:
    here = Path(__file__).parent
    code = FORKED.format(tests=str(here.parents[1]), here=str(here), path=str(path))
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_key_of_umls_is_nowhere_in_the_file(path: Path) -> None:
    key = "1234abcd-secret-5678"
    with loopback() as server:
        server.in_turn(Said({"result": {"results": [{"ui": "C0004096", "name": "Asthma"}]}}))
        graph = Umls(server.url, environment={VARIABLE: key}, limits=Limits(rate=1000.0))
        with CachedGraph(graph, path) as cached:
            assert cached.lookup("Asthma") == cached.lookup("Asthma")
            assert key not in repr(cached)
        assert len(server.asked) == 1
    assert not [p for p in path.parent.iterdir() if key.encode() in p.read_bytes()]


def test_an_answer_of_which_a_letter_was_changed_is_asked_for_again_and_one_of_old_is_not(path: Path) -> None:
    graph = Far()
    with CachedGraph(graph, path) as cached:
        cached.entity("x:1")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE answer SET value = replace(value, 'Asthma', 'Asthna')")
    with CachedGraph(graph, path) as cached:
        assert cached.entity("x:1") == ASTHMA
    asked = len(graph.asked)
    connection.execute("UPDATE answer SET value = substr(value, 17)")
    with CachedGraph(graph, path) as cached:
        assert cached.entity("x:1") == ASTHMA
    assert len(graph.asked) == asked == 2
    connection.close()
