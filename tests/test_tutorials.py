"""The notebooks of docs/tutorials give what they show; `python tests/test_tutorials.py` renews what they show."""

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def run(notebook: dict[str, Any]) -> list[str]:
    """What each cell of code prints; the last value is not shown, since the notebooks print."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec("".join(cell["source"]), names)
            shown.append(out.getvalue())
    return shown


def told(cell: dict[str, Any]) -> str:
    """What a cell shows."""
    return "".join("".join(output["text"]) for output in cell["outputs"])


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_gives_what_it_shows(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    notebook = json.loads(file.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [told(cell) for cell in cells] == run(notebook)
    assert any(map(told, cells))


def test_every_paper_has_a_notebook() -> None:
    assert {file.stem for file in NOTEBOOKS} == {"kg-rank", "mkg-rank", "mindmap", "hykge", "rlkgf"}


def _renewed(file: Path) -> None:
    """Write what the cells print into the notebook."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, text) in enumerate(zip(cells, run(notebook), strict=True), start=1):
        cell["execution_count"] = number
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}] * bool(
            text
        )
    file.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as environment:
        environment.setenv("KGMED_HOME", home)
        for one in NOTEBOOKS:
            _renewed(one)
