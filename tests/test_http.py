"""The HTTP client below every server: caps, deadlines, redirections, retries, and a key that stays at home."""

import gzip
import json
import logging
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from kgmed.errors import BadInput, Busy, KgmedError, ModelFailed, Unavailable
from kgmed.http import JsonClient
from kgmed.models.base import Message
from kgmed.models.hosted import Anthropic, OpenAI
from kgmed.servers import Key, Limits, Server, host_of
from loopback import Asked, Loopback, Said, loopback

KEY = "1234abcd-secret-5678"
HELLO = [Message("user", "Hello")]
FINE = {"choices": [{"message": {"content": "Hi"}}], "content": [{"type": "text", "text": "Hi"}]}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture
def other() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


def client(server: Loopback, *, parameter: str = "", **more: Any) -> JsonClient:
    plain: dict[str, Any] = {"timeout": 5.0, "retries": 0, "rate": 1000.0, "sleep": lambda _: None}
    return JsonClient(
        server.url, Server(host_of(server.url), Key(KEY, "MY_KEY", parameter)), limits=Limits(**plain | more)
    )


def packed(size: int) -> Said:
    """JSON of that many bytes, compressed."""
    return Said(gzip.compress(json.dumps({"a": "x" * size}).encode()), headers={"Content-Encoding": "gzip"})


def test_json_comes_back_also_compressed(server: Loopback) -> None:
    server.in_turn(packed(5000))
    assert len(client(server).post("/x", {"b": [1, "发热"]})["a"]) == 5000
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("said", [Said({"a": "x" * 5000}), packed(5_000_000)])
def test_a_reply_that_is_too_large_is_refused_once_also_where_it_is_small_before_it_is_unpacked(
    server: Loopback, said: Said
) -> None:
    server.in_turn(said)
    with pytest.raises(Unavailable, match="too large"):
        client(server, largest=2000 if said.headers == {} else 100_000, retries=3).get("/x", {})
    assert len(server.asked) == 1


def test_a_reply_that_is_damaged_where_it_is_compressed_is_a_failure(server: Loopback) -> None:
    server.in_turn(Said(b"no gzip at all", headers={"Content-Encoding": "gzip"}))
    with pytest.raises(Busy, match="broke off"):
        client(server).get("/x", {})


def test_a_reply_that_drips_ends_at_the_deadline() -> None:
    code = """
import socket, threading, time
from kgmed.errors import Busy
from kgmed.http import JsonClient
from kgmed.servers import Limits, Server
listener = socket.create_server(("127.0.0.1", 0))
def drip():
    there, _ = listener.accept()
    there.recv(65536)
    there.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1000000\\r\\n\\r\\n")
    try:
        while True:
            there.sendall(b"x")
            time.sleep(0.05)
    except OSError:
        pass
threading.Thread(target=drip, daemon=True).start()
url = f"http://127.0.0.1:{listener.getsockname()[1]}"
try:
    JsonClient(url, Server("there"), limits=Limits(timeout=0.4, retries=0)).get("/x", {})
except Busy as error:
    print(error)
"""  # the drip would take half a day: without a deadline the process does not end
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300).stdout
    assert told.startswith("there did not answer in time")


@pytest.mark.parametrize("parameter", ["", "apiKey"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_to_another_server_is_not_followed_and_its_key_stays_at_home(
    server: Loopback, other: Loopback, parameter: str, status: int
) -> None:
    server.in_turn(Said({}, status, {"Location": f"{other.url}/?apiKey={KEY}"}))
    with pytest.raises(Unavailable, match=rf"leads to another place \({status}\)"):
        client(server, parameter=parameter).get("/x", {"q": "1"})
    assert other.asked == []


def test_a_key_is_in_the_query_or_the_header_that_it_is_for_and_in_no_log(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    def says(asked: Asked) -> Said:
        return Said() if asked.path == "/new" else Said({}, 302, {"Location": f"/new?q=2&apiKey={KEY}"})

    server.says = says
    with caplog.at_level(logging.INFO):
        client(server, parameter="apiKey").get("/x", {"q": "a b&c=发热"})
    assert [a.query for a in server.asked] == [{"q": "a b&c=发热", "apiKey": KEY}, {"q": "2", "apiKey": KEY}]
    assert "/new" in caplog.text
    assert KEY not in caplog.text


def test_a_login_in_a_url_is_sent_and_not_logged(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("openai")
    server.in_turn(Said(FINE))
    with caplog.at_level(logging.DEBUG):
        OpenAI("m", server.url.replace("//", "//me:hush@"), environment={})(HELLO)
    assert server.asked[0].headers["Authorization"].startswith("Basic ")
    assert "hush" not in caplog.text


@pytest.mark.parametrize("make", [OpenAI, Anthropic])
def test_an_sdk_follows_no_redirection_to_another_server(
    server: Loopback, other: Loopback, make: type[OpenAI] | type[Anthropic]
) -> None:
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    server.in_turn(Said({}, 307, {"Location": f"{other.url}/v1"}))
    with pytest.raises(ModelFailed, match="cannot be used"):
        make("m", server.url, retries=0, environment={"KGMED_API_KEY": KEY})(HELLO)
    assert other.asked == []
    assert len(server.asked) == 1


@pytest.mark.parametrize("make", [OpenAI, Anthropic])
def test_an_sdk_reads_no_reply_without_end(server: Loopback, make: type[OpenAI] | type[Anthropic]) -> None:
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    bomb = zlib.compress(b'{"a": "' + b"x" * (40 << 20), 1)
    headers = {"Content-Encoding": "deflate", "Content-Type": "application/json"}
    server.in_turn(Said(bomb, headers=headers))
    with pytest.raises(ModelFailed, match="too large"):
        make("m", server.url, retries=0, environment={})(HELLO)


def test_statuses_that_may_pass_are_tried_again_with_pauses_of_at_most_a_minute(server: Loopback) -> None:
    slept: list[float] = []
    server.in_turn(
        Said({}, 503), Said({}, 529, {"retry-after-ms": "1500"}), Said({}, 408, {"Retry-After": "999"}), Said({"a": 1})
    )
    assert client(server, retries=3, sleep=slept.append).get("/x", {}) == {"a": 1}
    assert [s for s in slept if s >= 0.5] == [0.5, 1.5, 60.0]  # the others are of its pace


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_opens_a_connection_of_its_own(server: Loopback) -> None:
    ours = client(server)
    ours.get("/x", {})
    if not (child := os.fork()):
        os._exit(0 if ours.get("/x", {}) == {} else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ours.get("/x", {}) == {}


def test_what_cannot_be_sent_is_an_error_of_ours(server: Loopback) -> None:
    with pytest.raises(KgmedError, match="414"):
        client(server).get("/x", {"q": "x" * 70_000})
    for url in ("http://localhost:99999", "http://[", "ftp://a"):
        with pytest.raises(BadInput):
            host_of(url)


def test_a_question_to_a_local_graph_loads_no_http_client() -> None:
    modules = "kgmed kgmed.session kgmed.models.named kgmed.graph.library kgmed.graph.remote.named kgmed.models.hosted"
    code = f"import sys, {', '.join(modules.split())}; print('httpx2' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_the_clock_of_a_try_starts_with_it(server: Loopback) -> None:
    server.in_turn(Said(seconds=0.3))
    with pytest.raises(Busy, match="did not answer in time"):
        client(server, timeout=0.1, retries=1).get("/x", {})
    assert len(server.asked) == 2
