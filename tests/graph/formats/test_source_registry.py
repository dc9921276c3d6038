import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kgmed import registry
from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.graph import formats
from kgmed.graph.base import EdgeRow


@pytest.mark.parametrize("name", registry.formats.names())
def test_every_format_has_a_reader_that_takes_a_path_a_name_and_a_release(name: str) -> None:
    reader = formats.reader_of(name)
    assert {"name", "release"} <= set(reader.__kwdefaults__ or {})


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.txt", "a\tr\tb\n", "triples"),
        ("a.csv", "head,relation,tail\na,r,b\n", "triples"),
        ("a.jsonl", '{"head": "a", "relation": "r", "tail": "b"}\n', "triples"),
        ("a.csv", "idx,disease,Symptom\n0,Flu,\"['Cough']\"\n", "disease_table"),
        ("a.json", json.dumps({"name": "a", "symptom": ["b"]}), "disease_json"),
        ("a.json", '{\n"0": {"gaishu_info": {}}}', "disease_json"),
        ("a.json", '[{"name": "a", "symptom": ["b"]}]', "disease_json"),
        ("a.ttl", "", "rdf"),
        ("a.txt", "@prefix ex: <http://e.org/> .\n", "rdf"),
        ("a", "<http://a> <http://b> <http://c> .\n", "rdf"),
        ("a.obo", "", "obo"),
        ("a.txt", "format-version: 1.2\n", "obo"),
        ("a.pkl", "", "cmekg"),
        ("a.pubtator", "", "pubtator"),
        ("a.txt", "7|t|Gout\n7|a|Pain.\n", "pubtator"),
        ("a.bin", "(dp0\n", "cmekg"),
    ],
)
def test_the_format_is_told_by_suffix_and_first_lines(tmp_path: Path, name: str, text: str, format: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert formats.detect(path) == format
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert formats.detect(packed) == format


def test_a_folder_is_told_by_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="its format is not recognised"):
        formats.detect(tmp_path)
    (tmp_path / "a.json").touch()
    assert formats.detect(tmp_path) == "disease_json"
    (tmp_path / "hp.obo").touch()
    assert formats.detect(tmp_path) == "hpo"


@pytest.mark.parametrize("text", ["hello\n", "a,b\n", "a,b,c,d\n1,2,3,4\n", "a b c\n"])
def test_an_unsure_format_is_an_error_that_lists_the_formats(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(
        SourceError, match=r"name it by --format: cmekg, disease_json, disease_table|nearest are tables"
    ):
        formats.detect(path)


def test_read_finds_the_format_and_passes_options_on(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("a_b\tr\tc\n", "utf-8")
    source = formats.read("", path, name="mine", underscores=True)
    assert source.name == "mine"
    assert list(source.rows()) == [EdgeRow("a_b", "r", "c")]


def test_unknown_formats_and_options_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean triples"):
        formats.read("triple", tmp_path)
    with pytest.raises(BadInput, match="no option 'colour'; it has name, release"):
        formats.read("obo", tmp_path, colour="red")
    with pytest.raises(BadInput, match="neither a format nor a file"):
        formats.read("")


def test_importing_the_registry_loads_no_reader() -> None:
    code = (
        "import sys, kgmed.graph.formats as s; print(sorted(m for m in sys.modules if m.startswith(s.__name__ + '.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_map_of_columns_for_a_format_without_names_of_columns_is_told_in_the_words_of_the_command(
    tmp_path: Path,
) -> None:
    (tmp_path / "t.tsv").write_text("gout\ttreated by\tcolchicine\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"t\.tsv is read as triples, .*leave --map out"):
        formats.read("triples", tmp_path / "t.tsv", columns={})
