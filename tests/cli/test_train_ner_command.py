"""`kgmed train ner`, from a file to a tagger."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")

from kgmed.cli import app
from kgmed.config import Config
from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.graph.base import EdgeRow, Source
from kgmed.graph.store.build import build
from kgmed.linking.by_model import open_tagger
from kgmed.models.named import check_choices
from kgmed.records import Query, Question
from kgmed.session import open_session


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    """Forty short texts with one entity each."""
    rows = [
        {
            "text": f"第{i}人胃痛",
            "entities": [{"start_idx": len(f"第{i}人"), "end_idx": len(f"第{i}人") + 1, "type": "sym"}],
        }
        for i in range(40)
    ]
    path = tmp_path / "marked.json"
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """The folder of a graph that knows a pain and its drug."""
    build(Source("g", lambda: iter([EdgeRow("胃药", "治疗", "胃痛")]), language="zh"), tmp_path / "graph")
    return tmp_path / "graph"


def run(*words: object) -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(app, ["train", "ner", *map(str, words)])
    return result.exit_code, result.stdout, result.exception


def test_a_tagger_is_trained_told_of_and_used(marked: Path, graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "tagger"
    code, said, _ = run(
        marked, "--out", out, "--preset", "small", "--epochs", 6, "--batch", 2, "--rate", 0.01, "--json"
    )
    assert code == 0
    figures = json.loads(said)
    assert sum(figures["samples"].values()) == 40
    assert figures["training"]["epochs"] == 6
    assert figures["test"]["all"]["f1"] == 1
    assert [m.name for m in open_tagger(out, device="cpu")(Query(Question("第7人胃痛")))] == ["胃痛"]
    check_choices(Config(tagger=out, device="cpu"))
    with pytest.raises(BadInput, match="nothing can be computed on 'abacus'"):
        open_session(Config(graph=str(graph), tagger=out, device="abacus"))
    code, table, _ = run(marked, "--out", out, "--preset", "small", "--epochs", 6, "--batch", 2, "--rate", 0.01)
    assert code == 0
    assert table.splitlines()[0].split("\t") == ["part", "entities", "P", "R", "F1", "found", "gold"]
    assert "test\ttype sym\t1.000\t1.000\t1.000" in table


def test_asking_with_a_tagger_finds_its_terms_and_a_missing_one_is_refused(
    marked: Path, tmp_path: Path, graph: Path
) -> None:
    out = tmp_path / "tagger"
    run(marked, "--out", out, "--preset", "small", "--epochs", 6, "--batch", 2, "--rate", 0.01)
    ask = ["ask", "-g", str(graph), "-m", "hykge", "--encoder", "ngrams", "--json", "--no-log", "第7人胃痛"]
    result = CliRunner().invoke(app, [*ask, "--tagger", str(out)])
    assert [m["name"] for m in json.loads(result.stdout)["mentions"]] == ["胃痛"]
    refused = CliRunner().invoke(app, [*ask, "--tagger", str(tmp_path / "none")])
    assert isinstance(refused.exception, SourceError)
    assert "tagger.json: is not there" in str(refused.exception)


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (["--preset", "smal"], UnknownName, "did you mean small"),
        (["--epochs", 0], BadInput, "epochs is 0"),
        (["--rate", "nan"], BadInput, "rate is nan"),
        (["--device", "abacus", "--preset", "small"], BadInput, "'abacus'"),
        (["--encoder", "x", "--vectors"], BadInput, "leave out"),
    ],
)
def test_options_that_cannot_be_are_refused_and_nothing_is_written(
    marked: Path, tmp_path: Path, words: list[object], error: type[BadInput], says: str
) -> None:
    code, _, raised = run(marked, "--out", tmp_path / "t", *words)
    assert code != 0
    assert isinstance(raised, error)
    assert says in str(raised)
    assert not (tmp_path / "t").exists()


def test_a_file_without_entities_is_refused_by_line_and_record(tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    path.write_text('[{"text": "胃痛"}]', encoding="utf-8")
    _, _, raised = run(path, "--out", tmp_path / "t")
    assert isinstance(raised, SourceError)
    assert "plain.json:1: record 1 has no list of entities" in str(raised)
    assert not (tmp_path / "t").exists()
