"""What happens when too much is asked, too long, or who asked has left: over real sockets."""

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

import served
from kgmed.errors import Busy, StoreError
from kgmed.service.app import ServiceSettings
from kgmed.service.work import Left, TooLate, Work
from kgmed.stop import Stop, check_stop, stopping_by
from served import HTTP, QUESTION, Running, Slow, until


def figure(service: Running, name: str, pool: str = "asking") -> float:
    """A figure of a pool, as Prometheus reads it."""
    text = HTTP.get(f"{service.url}/metrics").text
    return float(next(line.split()[-1] for line in text.splitlines() if line.startswith(f'{name}{{pool="{pool}"')))


def ask_and_leave(service: Running, body: dict[str, Any], when: Callable[[], object], path: str = "/v1/ask") -> bool:
    """Ask over a socket and close it when that is so; whether it became so."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as talk:
        talk.sendall(f"{head}\r\n\r\n".encode() + data)
        return until(when)


# --- Over sockets.


@pytest.fixture
def slow() -> Slow:
    """A model that would talk for minutes."""
    return Slow(words=("word ",) * 5_000, seconds=0.02)


def service_of(slow: Slow, **settings: Any) -> Any:
    return served.running(served.cases_of(llm=slow, keep=False), ServiceSettings(**settings))


STREAMED = {"question": QUESTION, "method": "llm", "stream": True}
CHAT = {"model": "kgmed/auto/llm", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}


@pytest.mark.parametrize(("path", "body"), [("/v1/ask", STREAMED), ("/v1/chat/completions", CHAT)])
@pytest.mark.parametrize("stream", [True, False])
def test_leaving_stops_the_model_and_frees_the_place(slow: Slow, path: str, body: Any, *, stream: bool) -> None:
    with service_of(slow, workers=1, waiting=0) as service:
        assert ask_and_leave(service, {**body, "stream": stream}, lambda: slow.said > 2, path)
        assert until(lambda: figure(service, "kgmed_inside") == 0)
        assert slow.left == 1
        assert slow.said < len(slow.words)
        assert figure(service, "kgmed_stopped") == 1
        assert HTTP.post(f"{service.url}/v1/ask", json={"question": QUESTION, "method": "facts"}).status_code == 200


def test_more_than_it_can_do_is_refused_with_when_to_ask_again(slow: Slow) -> None:
    with ThreadPoolExecutor(2) as pool, service_of(slow, workers=1, waiting=1) as service:
        for _ in range(2):
            pool.submit(lambda: HTTP.post(f"{service.url}/v1/ask", json=STREAMED))
        assert until(lambda: figure(service, "kgmed_inside") == 2)
        refused = HTTP.post(f"{service.url}/v1/ask", json={"question": QUESTION, "method": "facts"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        chat = HTTP.post(f"{service.url}/v1/chat/completions", json={**CHAT, "stream": False})
        assert (chat.status_code, chat.json()["error"]["code"]) == (503, "overloaded")
        assert figure(service, "kgmed_refused") == 2


def test_a_slow_model_never_blocks_completion(slow: Slow) -> None:
    with ThreadPoolExecutor(1) as pool, service_of(slow, workers=1, waiting=0) as service:
        pool.submit(lambda: HTTP.post(f"{service.url}/v1/ask", json=STREAMED))
        assert until(lambda: figure(service, "kgmed_inside") == 1)
        found = HTTP.get(f"{service.url}/v1/graphs/hpo/complete", params={"q": "arach"})
        assert found.json()[0]["entity"]["name"] == "Arachnodactyly"


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/chat/completions"])
def test_what_takes_too_long_is_stopped_and_said_so(slow: Slow, path: str) -> None:
    body = {**(STREAMED if path == "/v1/ask" else CHAT), "stream": False}
    with service_of(slow, seconds=0.5) as service:
        late = HTTP.post(f"{service.url}{path}", json=body)
        assert late.status_code == 504
        assert until(lambda: figure(service, "kgmed_inside") == 0)
        assert figure(service, "kgmed_late") == 1


def test_a_stream_that_takes_too_long_ends_with_an_error(slow: Slow) -> None:
    with service_of(slow, seconds=0.5) as service:
        text = HTTP.post(f"{service.url}/v1/ask", json=STREAMED).text
        chat = HTTP.post(f"{service.url}/v1/chat/completions", json=CHAT).text
    assert "event: stage" in text
    kind, data = text.strip().split("\n\n")[-1].split("\n")
    assert (kind, json.loads(data.removeprefix("data: "))["status"]) == ("event: error", 504)
    assert '"error"' in chat
    assert chat.endswith("data: [DONE]\n\n")


def test_an_error_before_the_first_event_is_its_status(slow: Slow) -> None:
    with service_of(slow) as service:
        wrong = HTTP.post(f"{service.url}/v1/ask", json={**STREAMED, "graph": "nope"})
    assert (wrong.status_code, wrong.headers["content-type"]) == (404, "application/problem+json")


def test_a_service_that_ends_stops_what_is_asked_and_says_so(slow: Slow) -> None:
    with service_of(slow) as service, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: HTTP.post(f"{service.url}/v1/ask", json=STREAMED).text)
        assert until(lambda: slow.said > 2)
        service.server.should_exit = True
        assert "event: error" in asked.result()


def test_a_stream_shows_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgmed.service.work.HEARTBEAT", 0.1)
    with service_of(Slow(seconds=0.4)) as service:
        text = HTTP.post(f"{service.url}/v1/ask", json=STREAMED).text
    assert ": alive\n\n" in text
    assert "event: run" in text


def test_a_stream_tells_stages_what_was_found_words_and_the_run(slow: Slow) -> None:
    with service_of(Slow()) as service, HTTP.stream("POST", f"{service.url}/v1/ask", json=STREAMED) as answer:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-accel-buffering"] == "no"
        events = [line.removeprefix("event: ") for line in answer.iter_lines() if line.startswith("event: ")]
    assert events[:5] == ["stage", "stage", "stage", "found", "stage"]
    assert events.index("token") < events.index("run") == len(events) - 1


def test_it_is_ready_only_when_everything_is_open() -> None:
    cases = served.cases_of(keep=False)
    opening, may = threading.Event(), threading.Event()
    open_graph = cases.session.open_graph

    def slowly(name: str) -> Any:
        opening.set()
        may.wait(20)
        return open_graph(name)

    settings = ServiceSettings(patience=0.1)
    with served.running(replace(cases, session=replace(cases.session, open_graph=slowly)), settings) as service:
        assert opening.wait(20)
        assert HTTP.get(f"{service.url}/health/live").status_code == 200
        assert HTTP.get(f"{service.url}/health/ready").status_code == 503
        for asked in (HTTP.get(f"{service.url}/v1/graphs"), HTTP.post(f"{service.url}/v1/ask", json=STREAMED)):
            assert (asked.status_code, asked.headers["retry-after"]) == (503, "5")
        may.set()
        assert until(lambda: HTTP.get(f"{service.url}/health/ready").status_code == 200)


def test_a_graph_that_cannot_be_opened_is_told_by_not_being_ready() -> None:
    def broken(name: str) -> Any:
        raise StoreError("the disk is damaged")

    cases = served.cases_of(keep=False)
    with served.running(replace(cases, session=replace(cases.session, open_graph=broken))) as service:
        assert until(lambda: "damaged" in HTTP.get(f"{service.url}/health/ready").text)
        asked = HTTP.post(f"{service.url}/v1/ask", json={"question": QUESTION})
        assert asked.status_code == 500
        assert "disk" not in asked.text


def test_figures_tell_routes_stages_and_who_abstained(service: Running) -> None:
    HTTP.post(f"{service.url}/v1/ask", json={"question": QUESTION})
    HTTP.post(f"{service.url}/v1/ask", json={"question": "What is the boiling point of tungsten?"})
    text = HTTP.get(f"{service.url}/metrics").text
    assert 'kgmed_request_seconds_count{route="/v1/ask",status="200"} 2.0' in text
    assert 'kgmed_stage_seconds_count{method="facts",stage="link"} 2.0' in text
    assert 'kgmed_abstained_total{method="facts"} 1.0' in text


def test_first_questions_at_once_open_a_graph_once() -> None:
    opened: list[str] = []
    cases = served.cases_of(keep=False)
    open_graph = cases.session.open_graph

    def counted(name: str) -> Any:
        opened.append(name)
        return open_graph(name)

    with (
        served.running(replace(cases, session=replace(cases.session, open_graph=counted))) as service,
        ThreadPoolExecutor(8) as pool,
    ):
        said = list(pool.map(lambda _: HTTP.post(f"{service.url}/v1/ask", json={"question": QUESTION}), range(8)))
    assert {answer.status_code for answer in said} == {200}
    assert sorted(opened) == sorted(set(opened))


# --- The pool alone.


def test_a_job_gives_what_it_gives_and_raises_what_it_raises() -> None:
    async def both() -> None:
        work = Work("w", workers=1, waiting=1, seconds=10)
        assert await work(lambda stop: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await work(lambda stop: 1 // 0)
        while work.counts.inside:
            await asyncio.sleep(0.001)
        assert (work.counts.inside, work.counts.done) == (0, 2)
        work.close()

    asyncio.run(both())


def test_a_place_is_free_when_the_thread_has_ended_not_when_the_asker_has_left() -> None:
    async def leave() -> None:
        work, may, begun = Work("w", workers=1, waiting=0, seconds=10), threading.Event(), threading.Event()

        def job(stop: Stop) -> bool:
            begun.set()
            return may.wait(10)

        async def gone() -> None:
            await asyncio.to_thread(begun.wait, 10)

        with pytest.raises(Left):
            await work(job, gone)
        with pytest.raises(Busy):
            await work(lambda stop: 1)
        may.set()
        while work.counts.inside:
            await asyncio.sleep(0.01)
        assert await work(lambda stop: 1) == 1
        work.close()

    asyncio.run(leave())


def test_a_short_job_does_not_wait_for_long_ones() -> None:
    async def beside() -> None:
        work, may = Work("w", workers=1, waiting=4, seconds=10), threading.Event()
        long = [asyncio.ensure_future(work(lambda stop: may.wait(10), long=True)) for _ in range(4)]
        await asyncio.sleep(0)
        assert await work(lambda stop: 1) == 1
        may.set()
        assert await asyncio.gather(*long) == [True] * 4
        work.close()

    asyncio.run(beside())


def test_the_time_of_a_job_sets_its_stop() -> None:
    async def late() -> Stop:
        work, tokens = Work("w", workers=1, waiting=0, seconds=0.1), []

        def job(stop: Stop) -> None:
            tokens.append(stop)
            with stopping_by(stop):
                while True:
                    check_stop()
                    time.sleep(0.01)

        with pytest.raises(TooLate):
            await work(job)
        work.close()
        return tokens[0]

    assert asyncio.run(late()).is_set


def test_all_that_was_yielded_comes_in_order_before_the_end() -> None:
    async def stream() -> list[int | None]:
        work = Work("w", workers=1, waiting=0, seconds=10)

        def job(stop: Stop) -> Iterator[int]:
            yield from range(2_000)

        found = [item async for item in work.stream(job)]
        work.close()
        return found

    assert asyncio.run(stream()) == list(range(2_000))


def test_no_module_but_a_test_is_rewritten_since_servers_import_in_threads_of_their_own() -> None:
    loaders = {name: vars(made).get("__loader__") for name, made in list(sys.modules.items())}
    rewritten = [name for name, loader in loaders.items() if isinstance(loader, AssertionRewritingHook)]
    assert [name for name in rewritten if "test_work" in name]
    assert not [name for name in rewritten if not any(own in name for own in ("test_", "conftest", "xdist"))]
