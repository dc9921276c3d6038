"""A service of several processes: copies of one that has opened everything."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
TRIPLES = "head\trelation\ttail\nflu\thas_symptom\tfever\nflu\thas_symptom\tcough\naspirin\ttreats\tfever\n"
PATIENCE = 120.0  # seconds: a busy machine


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service of two processes on a small graph, and its address."""
    (tmp_path / "flu.tsv").write_text(TRIPLES, encoding="utf-8")
    given = os.environ | {"KGMED_HOME": str(tmp_path / "home"), "KGMED_ENCODER": "ngrams"}
    command = [sys.executable, "-m", "kgmed"]
    subprocess.run([*command, "graph", "build", "flu", str(tmp_path / "flu.tsv")], env=given, check=True)
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    command += ["serve", "--graph", "flu", "--processes", "2", "--port", str(port)]
    with subprocess.Popen(command, env=given, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, f"http://127.0.0.1:{port}"
        finally:
            for each in (*psutil.Process(process.pid).children(), process) if process.poll() is None else ():
                each.kill()


def within(seconds: float, what: object) -> None:
    """Wait until something holds; fails where it does not in time."""
    assert callable(what)
    last = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < last
        time.sleep(0.1)


def ready(address: str) -> bool:
    """Whether both processes are: of two connections each has one."""
    try:
        with httpx.Client() as one, httpx.Client() as other:
            return {c.get(f"{address}/health/ready").status_code for c in (one, other)} == {200}
    except httpx.TransportError:
        return False


def talking(process: psutil.Process) -> int:
    """How many connections a process has."""
    return sum(one.status == psutil.CONN_ESTABLISHED for one in process.net_connections("tcp"))


@pytest.mark.slow
def test_a_process_that_ends_is_replaced_and_all_end_with_the_first(service: tuple[subprocess.Popen[str], str]) -> None:
    process, address = service
    within(PATIENCE, lambda: ready(address))
    first = psutil.Process(process.pid)
    before = {child.pid for child in first.children()}
    assert len(before) == 2
    run = httpx.post(f"{address}/v1/ask", json={"question": "What are the symptoms of flu?"}, timeout=PATIENCE).json()
    assert "fever" in run["answer"]["text"]
    clients = [httpx.Client() for _ in range(6)]
    for client in clients:
        assert client.get(f"{address}/health/live").status_code == 200
    assert [talking(child) for child in first.children()] == [3, 3]
    for client in clients:
        client.close()
    within(PATIENCE, lambda: not any(map(talking, first.children())))
    time.sleep(6)  # one that ends at once is not replaced
    first.children()[0].kill()
    within(PATIENCE, lambda: len(first.children()) == 2 and {c.pid for c in first.children()} != before)
    within(PATIENCE, lambda: ready(address))
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    said = process.stderr.read() if process.stderr else ""
    seconds = [json.loads(line)["seconds"] for line in said.splitlines() if '"ready"' in line]
    assert len(seconds) == 3
    assert not re.search("Traceback", said)
