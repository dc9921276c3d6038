"""The tables of medical words: their rows are sound, others can take their place, and what is compiled is the same."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgmed import vocabulary
from kgmed.diagnose.knowledge import seen_often
from kgmed.errors import BadInput
from kgmed.graph.joining import glossary
from kgmed.language import lay
from kgmed.question.emergency import emergency
from kgmed.vocabulary import Predicate

HEADER = "subject\tpredicate\tobject\tlanguage\tsource\tnote"


@pytest.fixture(autouse=True)
def packaged() -> Iterator[None]:
    yield
    vocabulary.use(())


def written(folder: Path, *rows: str, name: str = "mine.tsv", header: str = HEADER) -> Path:
    path = folder / name
    path.write_text("\n".join((header, *rows, "")), encoding="utf-8")
    return path


@pytest.mark.parametrize("table", vocabulary.TABLES)
def test_every_row_of_the_package_is_sound_and_stands_once(table: str) -> None:
    rows = vocabulary.read_rows(vocabulary.PACKAGED / f"{table}.tsv")
    facts = [row[:3] for row in rows if row.predicate != Predicate.LAY_TERM_FOR]  # a few ways are in two places
    assert rows
    sources = {row.source for row in rows} - {"written by contributors"}
    assert all(re.search(r"\b(?:19|20)\d\d\b", source) for source in sources)  # what was published, with its year
    assert len(facts) - len(set(facts)) <= 40


def test_the_page_of_the_vocabulary_tells_every_file_and_predicate() -> None:
    page = (Path(__file__).parents[2] / "docs" / "vocabulary.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)\.tsv` \|.*\| ([\d,]+) \|$", page, re.MULTILINE)
    assert [name for name, _ in told] == list(vocabulary.TABLES)
    assert [int(rows.replace(",", "")) for _, rows in told] == [file.rows for file in vocabulary.files()]
    assert all(f"`{predicate}`" in page for predicate in Predicate)


@pytest.mark.parametrize("table", vocabulary.TABLES)
def test_what_is_read_by_columns_and_what_is_compiled_are_the_rows(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    (tmp_path / "graphs").mkdir()
    path = vocabulary.PACKAGED / f"{table}.tsv"
    rows = [(r.subject, vocabulary.CODES[r.predicate], r.object) for r in vocabulary.read_rows(path)]
    assert list(zip(*vocabulary.read_columns(path), strict=True)) == rows
    (kept,) = (tmp_path / "vocabulary").glob(f"{table}-*.txt")
    assert list(zip(*vocabulary.read_columns(path), strict=True)) == rows
    kept.write_bytes(kept.read_bytes().replace(b"a", b"b", 1))
    assert list(zip(*vocabulary.read_columns(path), strict=True)) == rows
    assert [p.name for p in (tmp_path / "vocabulary").iterdir()] == [kept.name]


def test_nothing_is_compiled_where_there_are_no_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path / "none"))
    vocabulary.read_columns(vocabulary.PACKAGED / "prevalence.tsv")
    assert not (tmp_path / "none").exists()


def test_tables_of_an_earlier_version_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    (tmp_path / "graphs").mkdir()
    (tmp_path / "vocabulary").mkdir()
    (tmp_path / "vocabulary" / "prevalence-00000000.txt").write_text("old", encoding="utf-8")
    vocabulary.read_columns(vocabulary.PACKAGED / "prevalence.tsv")
    (kept,) = (tmp_path / "vocabulary").iterdir()
    assert kept.name != "prevalence-00000000.txt"


def test_a_file_named_as_a_table_takes_its_place(tmp_path: Path) -> None:
    before = seen_often()[1]
    vocabulary.use([written(tmp_path, "gout\tkgmed:prevalence\t2.5\ten\tan atlas\t", name="prevalence.tsv")])
    assert seen_often()[0] == {"gout": 2.5}
    assert seen_often()[1] != before
    vocabulary.use(())
    assert seen_often()[1] == before


def test_rows_of_any_other_file_are_added_to_their_tables(tmp_path: Path) -> None:
    rows = (
        "my belly is a drum\tkgmed:layTermFor\tAbdominal distention\ten\tour clinic\t",
        "Nomolipid\tkgmed:brandOf\tatorvastatin\ten\tour pharmacy\tsold here",
    )
    path = written(tmp_path, *rows)
    vocabulary.use([path])
    assert [s.names[0] for s in lay.said("My belly is a drum")] == ["Abdominal distention"]
    assert any({"atorvastatin", "Nomolipid®", "阿托伐他汀"} <= set(names) for names in glossary())
    assert vocabulary.changed("lay_names")
    assert not vocabulary.changed("word_lists")
    mine = next(file for file in vocabulary.files() if file.file == str(path))
    assert mine == vocabulary.File(str(path), ("lay_names", "medicines"), 2, {"our clinic": 1, "our pharmacy": 1})


def test_without_the_knowledge_of_the_package_emergencies_and_the_words_of_language_stay() -> None:
    vocabulary.use((), packaged=False)
    assert lay.said("It burns when I pee") == []
    assert glossary() == ()
    assert emergency("I want to die") is not None
    assert vocabulary.pattern("classes", "gliptins", Predicate.BROAD_MATCH) == "(?!)"
    assert {name for file in vocabulary.files() for name in file.tables} == set(vocabulary.ALWAYS)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("gout\tkgmed:prevalence\t2.5\ten\tan atlas", "it has 5 columns of 6"),
        ("gout\tkgmed:prevalence\toften\ten\tan atlas\t", "often is no number"),
        ("gout\tkgmed:seen\t2.5\ten\tan atlas\t", "the predicate kgmed:seen is not known"),
        ("\tkgmed:prevalence\t2.5\ten\tan atlas\t", "the subject is empty"),
        ("gout\tkgmed:prevalence\t2.5\ten\t\t", "the source is empty"),
        ("gout\tkgmed:prevalence\t2.5\tfrench\tan atlas\t", "the language french is not known"),
        ("cutting\tkgmed:inName\t(unclosed\ten\tus\t", "is no regular expression"),
        ("chest hurts\tkgmed:signOf\theart\ten\tus\t", "heart is no sign"),
        ("potassium\tkgmed:criticalValue\t2.8 6.2\ten\tus\t", "2.8 6.2 is no critical value"),
        ("孕妇禁用\tkgmed:clauseMeans\tnot in {}\tzh\tus\t", "孕妇禁用 has no gap"),
        ("a list\tskos:member\ta word\ten\tus\t", "skos:member is of no one table"),
    ],
)
def test_a_bad_row_is_named_by_its_file_and_line_and_nothing_changes(tmp_path: Path, row: str, problem: str) -> None:
    path = written(tmp_path, "gout\tkgmed:prevalence\t2.5\ten\tan atlas\t", row)
    with pytest.raises(BadInput) as raised:
        vocabulary.use([path])
    assert str(raised.value).startswith(f"{path}:3: ")
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "influenza" in seen_often()[0]


def test_a_file_without_the_header_or_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r":1: it does not begin with the header"):
        vocabulary.use([written(tmp_path, header="name\tmeans")])
    with pytest.raises(BadInput, match=r"cannot be read: No such file"):
        vocabulary.use([tmp_path / "gone.tsv"])
    (tmp_path / "bytes.tsv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match=r"it is not UTF-8"):
        vocabulary.use([tmp_path / "bytes.tsv"])


def test_a_bad_row_of_the_package_is_named_too(tmp_path: Path) -> None:
    path = written(tmp_path, "gout\tkgmed:seen\t2.5\ten\tan atlas\t", name="prevalence.tsv")
    with pytest.raises(BadInput, match=r"prevalence\.tsv:2: the predicate kgmed:seen is not known"):
        vocabulary.read_columns(path)
