"""The command as a module of an interpreter, by itself and beside a service that answers for it."""

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import kgmed
from kgmed.__main__ import SOCKET
from kgmed.cli.serve import answering
from kgmed.graph import library
from kgmed.pipeline import Pipeline
from kgmed.records import Answer
from kgmed.session import Session
from kgmed.toolkit import RemoteToolkit, Toolkit

TRIPLES = "head\trelation\ttail\nflu\thas_symptom\tfever\nflu\thas_symptom\tcough\n"
QUESTION = "What are the symptoms of flu?"


def run(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kgmed", *words]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | more, check=False)


def ask(*words: str, **more: str) -> str:
    """What the command prints for a question about the graph `flu`."""
    said = run("ask", "-g", "flu", "--no-log", *words, **more)
    assert (said.returncode, said.stderr) == (0, "")
    return said.stdout


def marked(pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit) -> Pipeline:
    """A pipeline whose answer says that a service gave it."""
    return replace(pipeline, read=lambda query, context: Answer("by the service", reader="none"))


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session on the graph `flu` of a data folder of its own."""
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    (tmp_path / "flu.tsv").write_text(TRIPLES, encoding="utf-8")
    kgmed.build_graph("flu", tmp_path / "flu.tsv")
    return kgmed.load("flu").prepare()


def test_python_m_kgmed_is_the_command() -> None:
    said = subprocess.run([sys.executable, "-m", "kgmed", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == f"kgmed {kgmed.__version__}"


@pytest.mark.skipif(sys.platform == "win32", reason="Python has no Unix sockets there")
class TestAServiceOfTheSameAccount:
    def test_answers_as_the_command_itself_would(self, service: Session) -> None:
        with answering(service):
            for words in ([QUESTION], [QUESTION, "--set", "x=1"], ["钨的沸点是多少？"]):
                assert run("ask", "-g", "flu", *words).stdout == run("ask", "-g", "flu", "--no-service", *words).stdout

    def test_answers_unless_it_is_switched_off(self, service: Session) -> None:
        with answering(service.under(marked)):
            assert ask(QUESTION).startswith("by the service")
            assert "by the service" not in ask(QUESTION, "--no-service") + ask(QUESTION, KGMED_SERVICE="0")

    def test_is_open_to_nobody_else(self, service: Session, tmp_path: Path) -> None:
        with answering(service):
            assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600
        assert not (tmp_path / SOCKET).exists()

    def test_is_not_asked_of_other_graphs_or_models(self, service: Session, tmp_path: Path) -> None:
        kgmed.build_graph("cold", tmp_path / "flu.tsv")
        with answering(service.under(marked)):
            said = run("ask", "-g", "cold", "--no-log", QUESTION)
            assert "fever" in said.stdout

    def test_is_not_asked_once_a_graph_has_changed(self, service: Session) -> None:
        with answering(service.under(marked)):
            library.add("flu", ("flu", "has_symptom", "headache"), new=True)
            assert "headache" in ask(QUESTION)

    def test_that_is_gone_is_not_missed(self, service: Session, tmp_path: Path) -> None:
        with answering(service.under(marked)):
            (tmp_path / SOCKET).rename(tmp_path / "kept")
        (tmp_path / "kept").rename(tmp_path / SOCKET)
        assert "fever" in ask(QUESTION)
