"""`kgmed train pairs`, from a graph to a scorer that a method ranks with."""

import json
from pathlib import Path

from typer.testing import CliRunner

from kgmed.cli import app
from kgmed.errors import BadInput
from kgmed.graph.base import Alias, NodeRow, Source
from kgmed.graph.store.build import build
from kgmed.models.encoders import NgramEncoder
from kgmed.models.named import scorer_from

SITES = ("calf", "neck", "hand", "knee", "skin", "lung", "eye", "heart", "nose", "hip", "foot", "ear")


def graph(folder: Path, sites: tuple[str, ...] = SITES) -> Path:
    """The folder of a graph of findings with synonyms."""
    rows = [
        NodeRow(f"{w}-{s}", f"{w} of the {s}", "symptom", aliases=(Alias(f"{s} {w}"),))
        for s in sites
        for w in ("pain", "swelling", "redness")
    ]
    build(Source("g", lambda: iter(rows), language="en"), folder / "g")
    return folder / "g"


def test_a_scorer_is_trained_told_of_and_used(tmp_path: Path) -> None:
    command = ["train", "pairs", str(graph(tmp_path)), "--encoder", "ngrams"]
    told = CliRunner().invoke(app, [*command, "--json"], catch_exceptions=False)
    data = json.loads(told.stdout)
    assert set(data["held out"]) == {"words", "words and vectors", "trained"}
    assert 0 < data["held out"]["trained"]["mrr"] <= 1
    scorer = scorer_from(f"trained/{data['file']}", NgramEncoder())
    assert scorer.name == data["scorer"]  # type: ignore[attr-defined]
    right, wrong = scorer([("calf pain", "pain of the calf"), ("calf pain", "redness of the nose")])
    assert right > wrong
    said = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "s.json")], catch_exceptions=False).stdout
    assert f"--scorer trained/{tmp_path / 's.json'}" in said


def test_a_graph_too_small_to_learn_from_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    folder = graph(tmp_path, SITES[:2])
    result = CliRunner().invoke(
        app, ["train", "pairs", str(folder), "--encoder", "none", "--out", str(tmp_path / "s.json")]
    )
    assert isinstance(result.exception, BadInput)
    assert "too few synonyms" in str(result.exception)
    assert not (tmp_path / "s.json").exists()
