"""`kgmed eval linking`: a graph built from annotated texts, held against other texts."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.evaluate.datasets.described import BC5CDR

TRAIN = "1|t|Aspirin and ulcer\n1|a|None.\n1\t0\t7\tAspirin\tChemical\tD001241\n1\t12\t17\tulcer\tDisease\tD014456\n"
TEST = (
    "2|t|Ulcers after aspirin\n2|a|and gout.\n2\t0\t6\tUlcers\tDisease\tD014456\n"
    "2\t13\t20\taspirin\tChemical\tD001241\n2\t25\t29\tgout\tDisease\tD006073\n"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with BC5CDR's files, made up, and the graph of the first."""
    folder = tmp_path_factory.mktemp("linking")
    (folder / "bc5cdr").mkdir()
    for file, text in zip(BC5CDR.values(), (TRAIN, TRAIN, TEST), strict=True):
        (folder / file).write_bytes(gzip.compress(text.encode()))
    assert kgmed(folder, "graph", "build", "cdr", str(folder / BC5CDR["train"])).exit_code == 0
    return folder


def kgmed(home: Path, *words: str) -> Result:
    environment = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_DATA": str(home)}
    return CliRunner().invoke(app, list(words), env=environment)


def linking(home: Path, *words: str) -> Result:
    return kgmed(home, "eval", "linking", "--encoder", "ngrams", *words)


def test_names_and_texts_are_held_against_what_is_marked(home: Path) -> None:
    told = linking(home, "--set", "bc5cdr", "--graph", "cdr", "--json")
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert (found["names"], found["in the graph"], found["linked though not in the graph"]) == (3, 2, 0)
    assert (found["recall@1"], found["precision"]) == (1, 1)
    texts = found["in texts"]
    assert (texts["texts"], texts["places"], texts["concepts"], texts["unknown"]) == (1, 3, 2, 1)
    assert (texts["precision"], texts["recall"], texts["f1"]) == (1, 1, 1)


def test_names_alone_have_no_texts(home: Path, tmp_path: Path) -> None:
    (tmp_path / "xlbel").mkdir()
    (tmp_path / "xlbel/v0.0_en.txt").write_text("C0018099||gout\nC0000001||aspirin\n", "utf-8")
    told = linking(home, "--set", "xlbel-en", "--graph", "cdr", "--data", str(tmp_path), "--number", "2")
    assert told.exit_code == 0, told.output
    assert "in the graph: 0" in told.stdout
    assert "recall@1: -\n" in told.stdout
    assert "linked though not in the graph: 0.5000" in told.stdout
    assert "texts" not in told.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--set", "bc5cd", "--graph", "cdr"), "did you mean bc5cdr"),
        (("--set", "bc5cdr"), "name the graph to link to"),
        (("--set", "bc5cdr", "--graph", "cdr", "--part", "all"), "no part is called 'all'"),
        (("--set", "bc5cdr", "--graph", "wikidata"), "whose files are here"),
    ],
)
def test_what_cannot_be_measured_says_so(home: Path, words: tuple[str, ...], says: str) -> None:
    told = linking(home, *words)
    assert says in str(told.exception)
