"""Who may ask, and what is refused before anything is done. Requests go over real sockets."""

import asyncio
import contextlib
import json
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send
from typer.testing import CliRunner

import served
from kgmed.cli import app
from kgmed.errors import BadInput, StoreError, UnknownName
from kgmed.service.app import HeldConnection, ServiceSettings
from kgmed.service.client import ServiceClient
from kgmed.service.guard import LARGEST, Guard, Keys, Rate, Rules
from served import HTTP, QUESTION, Running, until

DOORS = (
    ("GET", "/v1/graphs"), ("GET", "/v1/about"), ("GET", "/v1/graphs/hpo/complete?q=a"), ("POST", "/v1/ask"),
    ("POST", "/v1/diagnose"), ("GET", "/v1/runs/0"), ("GET", "/v1/models"), ("POST", "/v1/chat/completions"),
    ("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/openapi.json"), ("GET", "/metrics"), ("GET", "/health/ready"),
    ("GET", "/nowhere"), ("POST", "/"), ("GET", "//v1/graphs"), ("GET", "/v1/../v1/graphs"),
)  # fmt: skip


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "keys.json")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    (folder / "vendor").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>kgmed</title>", encoding="utf-8")
    (folder / "vendor" / "one.js").write_text("export {}", encoding="utf-8")
    (folder / "notes.py").write_text("secret", encoding="utf-8")
    return folder


@pytest.fixture
def keyed(keys: Keys, page: Path) -> Iterator[tuple[Running, str]]:
    """A service with a key, and the key."""
    key = keys.add("ann")
    with served.running(served.cases_of(keep=False), ServiceSettings(keys=str(keys.path)), page=page) as made:
        yield made, key


def raw(port: int, lines: Sequence[str], body: bytes = b"") -> str:
    """The head of what is answered to these lines, as they are."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as talk:
        talk.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        got = b""
        while b"\r\n\r\n" not in got and (piece := talk.recv(4096)):
            got += piece
        return got.decode("latin-1")


# --- Keys.


@pytest.mark.parametrize(("method", "path"), DOORS)
def test_with_a_key_set_no_door_opens_without_it(keyed: tuple[Running, str], method: str, path: str) -> None:
    service, key = keyed
    given: list[dict[str, str]] = [
        {}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {key}"}, {"x-api-key": f"{key}x"},
        {"x-api-key": key[:-1]},
        {"cookie": f"key={key}"}, {"authorization": "Bearer"}, {"x-forwarded-for": "127.0.0.1"},
        {"authorization": "Bearer eyJhbGciOiJub25lIn0.e30."}, {"authorization": "Bearer guest"},
    ]  # fmt: skip
    for headers in given:
        answer = HTTP.request(method, service.url + path, headers=headers)
        assert answer.status_code == 401, headers
        assert answer.headers["www-authenticate"] == "Bearer"
    assert HTTP.get(f"{service.url}/v1/graphs?key={key}").status_code == 401


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_the_key_opens_every_door(keyed: tuple[Running, str], header: str) -> None:
    service, key = keyed
    headers = {header: f"Bearer {key}" if header == "authorization" else key}
    assert HTTP.get(f"{service.url}/v1/graphs", headers=headers).status_code == 200
    with ServiceClient(service.url, key=key) as client:
        assert client.ask(QUESTION).context.cited


def test_only_that_it_lives_and_the_pages_own_files_are_open(keyed: tuple[Running, str]) -> None:
    service, _ = keyed
    opened = [p for p in ("/health/live", "/", "/index.html", "/vendor/one.js") if HTTP.get(service.url + p).is_success]
    assert len(opened) == 4
    assert HTTP.get(f"{service.url}/notes.py").status_code == 401


def test_a_key_that_is_withdrawn_is_refused_at_once(keyed: tuple[Running, str], keys: Keys) -> None:
    service, key = keyed
    keys.add("bob")
    assert HTTP.get(f"{service.url}/v1/about", headers={"x-api-key": key}).status_code == 200
    keys.remove("ann")
    assert HTTP.get(f"{service.url}/v1/about", headers={"x-api-key": key}).status_code == 401


def test_a_service_whose_last_key_is_withdrawn_is_open_to_nobody(keyed: tuple[Running, str], keys: Keys) -> None:
    service, key = keyed
    keys.remove("ann")
    for headers in ({}, {"x-api-key": key}, {"x-api-key": ""}):
        assert HTTP.get(f"{service.url}/v1/about", headers=headers).status_code == 401


def test_a_key_is_kept_as_a_hash_in_a_file_of_its_owners(keys: Keys) -> None:
    key = keys.add("ann")
    assert key not in keys.path.read_text(encoding="utf-8")
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert (keys.whose(key), keys.whose("x"), keys.whose("")) == ("ann", "", "")


def test_a_name_has_one_key(keys: Keys) -> None:
    keys.add("ann")
    with pytest.raises(BadInput, match="a key 'ann' already"):
        keys.add("ann")
    with pytest.raises(BadInput, match="needs a name"):
        keys.add(" ")
    with pytest.raises(UnknownName, match="did you mean ann"):
        keys.remove("an")


def test_a_key_that_could_not_be_written_leaves_nothing(keys: Keys) -> None:
    keys.path.mkdir()  # so that no file can take its place
    (keys.path / "x").touch()
    with pytest.raises(StoreError, match=r"keys\.json: "):
        keys._write(())
    assert [p.name for p in keys.path.parent.iterdir()] == ["keys.json"]


def test_keys_are_made_listed_and_withdrawn_by_command(tmp_path: Path) -> None:
    def say(*words: str) -> str:
        done = CliRunner().invoke(app, ["serve", "keys", *words], env={"KGMED_HOME": str(tmp_path), "COLUMNS": "200"})
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    key = say("add", "ann").strip()
    assert key.startswith("kgmed-")
    assert "ann" in say("list")
    assert key not in say("list", "--json")
    assert json.loads(say("add", "bob", "--json"))["name"] == "bob"
    say("remove", "ann")
    assert [row["name"] for row in json.loads(say("list", "--json"))] == ["bob"]


def test_a_key_that_is_withdrawn_beside_others_that_are_made_stays_withdrawn(keys: Keys) -> None:
    script = "import sys; from pathlib import Path; from kgmed.service.guard import Keys; k = Keys(Path(sys.argv[1]))"
    keys.add("stolen")
    work = [f"[k.add(f'{who}{{n}}') for n in range(5)]" for who in "abc"] + ["k.remove('stolen')"]
    started = [subprocess.Popen([sys.executable, "-c", f"{script}; {one}", str(keys.path)]) for one in work]
    assert [one.wait(60) for one in started] == [0] * 4
    assert sorted(key.name for key in keys.all()) == sorted(f"{who}{n}" for who in "abc" for n in range(5))


def test_a_running_service_picks_up_its_first_key(keys: Keys) -> None:
    with served.running(served.cases_of(keep=False), ServiceSettings(keys=str(keys.path))) as service:
        url = f"{service.url}/v1/about"
        before = HTTP.get(url).status_code
        key = keys.add("ann")
        with_it = HTTP.get(url, headers={"x-api-key": key}).status_code
        assert (before, HTTP.get(url).status_code, with_it) == (200, 401, 200)
        keys.remove("ann")
        assert HTTP.get(url).status_code == 401  # whose keys are all withdrawn is open to nobody


def test_a_demo_is_open_though_there_are_keys(keys: Keys) -> None:
    keys.add("ann")
    with served.running(served.cases_of(keep=False), ServiceSettings(keys=str(keys.path), demo=True)) as service:
        assert HTTP.get(f"{service.url}/v1/about").status_code == 200


# --- Connections.


def ended(talk: socket.socket) -> bool:
    """Whether the server ends a connection, whatever it says before."""
    with contextlib.suppress(ConnectionError):
        while talk.recv(4096):
            pass
    return True


class Hurried(HeldConnection):
    """Few connections, and little time."""

    most, seconds = 20, 0.6


def test_connections_that_ask_nothing_are_ended_and_keep_nobody_away() -> None:
    with served.running(served.cases_of(keep=False), http=Hurried) as service, contextlib.ExitStack() as held:
        place = ("127.0.0.1", service.port)
        idle = [held.enter_context(socket.create_connection(place, timeout=10)) for _ in range(10)]
        half = [held.enter_context(socket.create_connection(place, timeout=10)) for _ in range(10)]
        kept = half[0]
        kept.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert kept.recv(4096).startswith(b"HTTP/1.1 200")
        for one in half:
            one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ")  # and no more
        assert ended(held.enter_context(socket.create_connection(place, timeout=10)))  # one too many
        assert all(ended(one) for one in (*idle, *half))
        assert HTTP.get(f"{service.url}/health/live").status_code == 200


def test_a_slow_answer_is_no_idle_connection() -> None:
    cases = served.cases_of(llm=served.Slow(seconds=0.5), keep=False)
    with served.running(cases, http=Hurried) as service:
        said = HTTP.post(f"{service.url}/v1/ask", json={"question": QUESTION, "method": "zero-shot"})
        assert said.status_code == 200


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_as_many_connections_are_held_as_the_process_may_open(tmp_path: Path) -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    script = (
        "import resource; from kgmed.service import app;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (512, {hard})); print(app._most_connections());"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    most, soft = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(soft) >= 512
    assert int(most) == min(8192, int(soft) - 256)


# --- Where it listens.


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_beyond_this_machine_it_does_not_begin_without_a_key(keys: Keys, host: str) -> None:
    with pytest.raises(BadInput, match="kgmed serve keys add NAME"):
        ServiceSettings(host=host).rules(keys)
    keys.add("ann")
    assert ServiceSettings(host=host).rules(keys).keyed


@pytest.mark.parametrize("allowed", [("kg.example.org",), ("localhost", "10.1.2.3")])
def test_behind_a_proxy_that_others_reach_it_does_not_begin_without_a_key(keys: Keys, allowed: tuple[str, ...]) -> None:
    behind = ServiceSettings(proxy=True, allow_hosts=allowed)
    with pytest.raises(BadInput, match="there is no key"):
        behind.rules(keys)
    assert not replace(behind, demo=True).rules(keys).keyed
    assert not replace(behind, proxy=False).rules(keys).keyed  # a name of this machine
    keys.add("ann")
    assert behind.rules(keys).keyed


def test_the_command_says_so_and_ends(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0"], env={"KGMED_HOME": str(tmp_path)})
    assert isinstance(done.exception, BadInput)
    assert "there is no key" in str(done.exception)


def test_a_demo_needs_no_key_and_has_a_rate(keys: Keys) -> None:
    assert not ServiceSettings(host="0.0.0.0", demo=True).rules(keys).keyed
    with served.running(served.cases_of(keep=False), ServiceSettings(demo=True), clock=lambda: 0.0) as service:
        said = [HTTP.get(f"{service.url}/v1/about").status_code for _ in range(12)]
    assert said == [200] * 10 + [429] * 2


# --- Hosts and origins.


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil", "169.254.169.254:80"])
def test_another_host_is_refused_at_every_door(service: Running, host: str) -> None:
    for path in ("/", "/v1/graphs", "/mcp", "/health/live"):
        assert raw(service.port, [f"GET {path} HTTP/1.1", f"Host: {host}"]).startswith("HTTP/1.1 421")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]:8765"])
def test_the_names_of_loopback_are_served(service: Running, host: str) -> None:
    assert raw(service.port, ["GET /health/live HTTP/1.1", f"Host: {host}"]).startswith("HTTP/1.1 200")


def test_a_name_that_is_allowed_is_served() -> None:
    with served.running(served.cases_of(keep=False), ServiceSettings(allow_hosts=("kg.example",))) as service:
        assert raw(service.port, ["GET /v1/about HTTP/1.1", "Host: KG.example:443"]).startswith("HTTP/1.1 200")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1"])
def test_a_page_of_another_origin_is_refused(service: Running, origin: str) -> None:
    for method, path in (("POST", "/v1/ask"), ("GET", "/v1/graphs"), ("POST", "/mcp"), ("OPTIONS", "/v1/ask")):
        answer = HTTP.request(method, service.url + path, headers={"origin": origin}, json={"question": "Gout?"})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


def test_the_services_own_page_asks(service: Running) -> None:
    headers = {"origin": service.url}
    assert HTTP.post(f"{service.url}/v1/ask", headers=headers, json={"question": QUESTION}).status_code == 200


def test_an_origin_that_is_named_may_ask_and_gets_no_cookies(keys: Keys) -> None:
    key, origin = keys.add("ann"), "https://page.example"
    settings = ServiceSettings(allow_origins=(origin,), keys=str(keys.path))
    with served.running(served.cases_of(keep=False), settings) as service:
        first = HTTP.options(f"{service.url}/v1/ask", headers={"origin": origin})
        asked = {"origin": origin, "x-api-key": key}
        then = HTTP.post(f"{service.url}/v1/ask", headers=asked, json={"question": QUESTION})
        without = HTTP.post(f"{service.url}/v1/ask", headers={"origin": origin}, json={"question": QUESTION})
    assert (first.status_code, then.status_code, without.status_code) == (204, 200, 401)
    assert {a.headers["access-control-allow-origin"] for a in (first, then, without)} == {origin}
    assert not {"access-control-allow-credentials", "set-cookie"} & {*first.headers, *then.headers}


def test_a_form_of_another_page_cannot_ask(service: Running) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        body = json.dumps({"question": QUESTION})
        answer = HTTP.post(f"{service.url}/v1/ask", content=body, headers={"content-type": kind})
        assert answer.status_code == 422, kind


# --- Sizes.


def test_a_body_that_says_it_is_too_large_is_refused_unread(service: Running) -> None:
    for length in (LARGEST + 1, 10**15, "-1", "x"):
        told = raw(service.port, ["POST /v1/ask HTTP/1.1", "Host: localhost", f"Content-Length: {length}"])
        assert told.startswith(("HTTP/1.1 413", "HTTP/1.1 400"))


def test_a_body_that_never_ends_is_given_up_and_who_has_sent_all_is_heard_as_long_as_it_takes(keys: Keys) -> None:
    heard: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] == "http.request":
            heard.append("part")
        heard.append(message["type"])

    async def asked(*parts: Message, rest: asyncio.Event) -> list[Message]:
        left, told = list(parts), list[Message]()

        async def receive() -> Message:
            if not left:
                await rest.wait()
                return {"type": "http.disconnect"}
            return left.pop(0)

        async def send(message: Message) -> None:
            told.append(message)

        scope = {"type": "http", "method": "POST", "path": "/v1/ask", "headers": [(b"host", b"localhost")]}
        async with asyncio.TaskGroup() as group:
            group.create_task(Guard(app, Rules(within=0.1), keys, Rate(0))(scope, receive, send))
            await asyncio.sleep(0.3)  # longer than a body may take
            rest.set()
        return told

    some: Message = {"type": "http.request", "body": b"{", "more_body": True}
    late, *_ = asyncio.run(asked(some, rest=asyncio.Event()))
    assert late["status"] == 408
    assert dict(late["headers"])[b"connection"] == b"close"
    assert heard == ["part", "http.disconnect"]
    assert asyncio.run(asked(some, {**some, "more_body": False}, rest=asyncio.Event())) == []
    assert heard[2:] == ["part", "part", "http.disconnect"]


@pytest.mark.parametrize("path", ["/v1/ask", "/mcp", "/v1/chat/completions"])
def test_a_body_in_chunks_is_cut_off_where_it_is_too_large(service: Running, path: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(32):
            yield b" " * (LARGEST // 16)

    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    assert HTTP.post(f"{service.url}{path}", content=chunks(), headers=headers).status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        {"question": "a" * 50_001},
        {"question": "Gout?", "reading": {"intents": ["nonsense"]}},
        {"question": ""},
        {"question": "Gout?", "llm": "openai/x"},
        {"question": "Gout?", "base_url": "http://169.254.169.254"},
        {"question": "Gout?", "prompts": "/etc"},
        {"question": "Gout?", "settings": {"keep": 1}},
        {"question": "Gout?", "after": ["../../etc/passwd"]},
        {"question": ["Gout?"]},
        ["Gout?"],
    ],
)
def test_what_does_not_fit_or_is_not_known_is_refused(service: Running, body: Any) -> None:
    answer = HTTP.post(f"{service.url}/v1/ask", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("text", ["\ud800 gout", "gout\x00", "gout \U0010ffff", "🦠" * 3000])
def test_no_text_breaks_it(service: Running, text: str) -> None:
    body = json.dumps({"question": text})  # half characters as escapes, as JSON allows
    answer = HTTP.post(f"{service.url}/v1/ask", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 422)


# --- Names are names.


@pytest.mark.parametrize("graph", ["../hpo", "/etc", "C:\\x", ".", "..", ".together", "{home}/graphs/hpo", "hpo,cmekg"])
def test_a_graph_is_never_a_path(service: Running, home: Path, graph: str) -> None:
    name = graph.format(home=home)
    asked = HTTP.post(f"{service.url}/v1/ask", json={"question": QUESTION, "graph": name})
    assert asked.status_code == 404
    looked = HTTP.get(f"{service.url}/v1/graphs/{name.replace('/', '%2F')}/complete", params={"q": "a"})
    assert looked.status_code == 404
    chat = {"model": f"kgmed/{name}/facts", "messages": [{"role": "user", "content": QUESTION}]}
    assert HTTP.post(f"{service.url}/v1/chat/completions", json=chat).status_code == 404


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/app.py", "/..%2fapp.py", "/app.py", "/notes.py", "/%00", "/page/app.py"]
)
def test_a_file_that_is_not_the_pages_is_not_there(page: Path, path: str) -> None:
    with served.running(served.cases_of(keep=False), page=page) as service:
        assert raw(service.port, [f"GET {path} HTTP/1.1", "Host: localhost"]).startswith("HTTP/1.1 404")


# --- Headers.


def test_every_answer_has_a_strict_policy_for_pages(keyed: tuple[Running, str]) -> None:
    service, key = keyed
    for path in ("/", "/v1/graphs", "/nowhere", "/health/live", "/v1/models"):
        for headers in ({}, {"x-api-key": key}, {"host": "evil.example"}):
            answer = HTTP.get(service.url + path, headers=headers)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"


# --- Rates.


def test_who_asks_too_often_waits_as_long_as_it_says(keys: Keys) -> None:
    mine, other = keys.add("ann"), keys.add("bob")
    settings = ServiceSettings(rate=60, keys=str(keys.path))
    with served.running(served.cases_of(keep=False), settings, clock=lambda: 0.0) as service:
        said = [HTTP.get(f"{service.url}/v1/about", headers={"x-api-key": mine}) for _ in range(12)]
        assert HTTP.get(f"{service.url}/v1/about", headers={"x-api-key": other}).status_code == 200
        assert HTTP.get(f"{service.url}/health/live").status_code == 200
    refused = [answer for answer in said if answer.status_code == 429]
    assert [int(answer.headers["retry-after"]) for answer in refused] == [1, 1]


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    rate = Rate(60, clock=lambda: now[0])
    assert [rate.wait("a") for _ in range(10)] == [0.0] * 10
    assert rate.wait("a") == pytest.approx(1.0)
    assert rate.wait("b") == 0.0
    now[0] = 1.0
    assert (rate.wait("a"), rate.wait("a") > 0) == (0.0, True)


def test_no_number_of_clients_fills_the_memory() -> None:
    rate = Rate(60, clock=lambda: 0.0)
    for i in range(20_000):
        rate.wait(str(i))
    assert len(rate._left) <= 10_000


# --- Logs.


def test_no_line_of_the_log_holds_what_was_asked(service: Running) -> None:
    secret = "Mrs Unforgettable of Marfan syndrome"
    HTTP.post(f"{service.url}/v1/ask", json={"question": f"{secret}?"})
    HTTP.post(f"{service.url}/v1/ask", json={"question": f"{secret}?", "stream": True})
    HTTP.get(f"{service.url}/v1/graphs/hpo/complete", params={"q": "Unforgettable"})
    HTTP.get(f"{service.url}/v1/graphs/hpo/entities/Unforgettable")
    HTTP.get(f"{service.url}/Unforgettable")
    HTTP.post(f"{service.url}/v1/diagnose", json={"text": "Unforgettable"})
    chat = {"model": "kgmed/auto/auto", "messages": [{"role": "user", "content": secret}]}
    HTTP.post(f"{service.url}/v1/chat/completions", json=chat)
    assert len(service.lines) > 7
    assert not [line for line in service.lines if "Unforgettable" in line]
    assert all(json.loads(line)["event"] for line in service.lines)


def test_questions_are_logged_where_that_is_switched_on() -> None:
    with served.running(served.cases_of(keep=False), ServiceSettings(log_questions=True)) as service:
        HTTP.post(f"{service.url}/v1/ask", json={"question": QUESTION})
        (run,) = [json.loads(line) for line in service.lines if json.loads(line)["event"] == "run"]
    assert run["question"] == QUESTION
    assert (run["graph"], run["method"], run["abstained"]) == (run["graph"], "facts", False)


def test_a_line_names_the_key_and_never_holds_it(keyed: tuple[Running, str]) -> None:
    service, key = keyed
    HTTP.get(f"{service.url}/v1/about", headers={"x-api-key": key})
    assert until(lambda: [line for line in service.lines if '"key": "ann"' in line])  # written behind the answer
    assert not [line for line in service.lines if key in line]
