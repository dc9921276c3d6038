"""MindMap's tree on the screen and as an image, and the steps that are invented or unsupported."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from json_server import JsonServer, Said, serving
from kgmed.cli import app
from kgmed.errors import BadInput

pytest.importorskip("openai")

ROWS = "influenza\thas_symptom\tfever\ninfluenza\thas_symptom\tcough\ngout\thas_symptom\ttoe pain\n"
OUTPUTS = (
    "Output 1: Influenza has the symptoms fever and cough (P1).\n"
    "Output 2: P1('influenza'->'has_symptom'->'fever')->P1('influenza'->'has_symptom'->'rash')->result 1('influenza')\n"
    "Output 3:\nfever (P1)\n└── influenza (P1)\n    └── nonsense & <b (N9)"
)


def reply(text: str) -> Said:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Said(body)


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    (folder / "flu.tsv").write_text(ROWS, encoding="utf-8")
    result = CliRunner().invoke(
        app, ["graph", "build", "flu", str(folder / "flu.tsv")], env={"KGMED_HOME": str(folder)}
    )
    assert result.exit_code == 0, result.output
    return folder


def ask(home: Path, server: JsonServer, last: str, *words: str) -> Result:
    server.says = [reply("fever, cough"), reply(last)]
    env: dict[str, Any] = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_API_KEY": "k"}
    base = ["ask", "I have a fever and a cough. What is it?", "-g", "flu", "-m", "mindmap", "--encoder", "ngrams"]
    model = ["--llm", "openai/m", "--base-url", f"{server.url}/v1", "--set", "rewrite=no"]
    return CliRunner().invoke(app, [*base, *model, *words], env=env)


def test_the_tree_is_drawn_and_what_nothing_bears_out_is_told(server: JsonServer, home: Path) -> None:
    shown = ask(home, server, OUTPUTS)
    assert shown.exit_code == 0, (shown.output, shown.exception)
    assert "Decision tree\nfever (P1)\n└── influenza (P1)\n    └── nonsense & <b (N9)\n" in shown.stdout
    assert "! P1: influenza -> has symptom -> rash: " in shown.stdout
    assert "! tree: N9: cites evidence N9 that does not exist" in shown.stdout


def test_the_tree_is_written_as_an_image_that_is_well_formed(server: JsonServer, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "tree.svg"
    assert ask(home, server, OUTPUTS, "--svg", str(path)).exit_code == 0
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [t.split(" ")[0] for t in texts] == ["fever", "influenza", "nonsense"]
    assert [p.name for p in tmp_path.iterdir()] == ["tree.svg"]


def test_an_answer_without_a_tree_has_no_image(server: JsonServer, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "tree.svg"
    result = ask(home, server, "Output 1: Influenza has the symptom fever (P1).", "--svg", str(path))
    assert isinstance(result.exception, BadInput)
    assert "has no decision tree" in str(result.exception)
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_named(server: JsonServer, home: Path, tmp_path: Path) -> None:
    result = ask(home, server, OUTPUTS, "--svg", str(tmp_path / "none" / "tree.svg"))
    assert isinstance(result.exception, BadInput)
    assert "cannot be written" in str(result.exception)
