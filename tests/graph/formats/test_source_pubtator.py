"""PubTator files: documents with true places, and the graph of what is marked and told in them."""

import gzip
from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Scope
from kgmed.graph.formats import releases
from kgmed.records import Role, Support

TITLE, ABSTRACT = "Famotidine delirium", "FAM and famotidine caused it in BRCA1 carriers."
FILE = f"""7|t|{TITLE}
7|a|{ABSTRACT}
7\t0\t10\tFamotidine\tChemical\tD015738
7\t11\t19\tdelirium\tDisease\tD003693
7\t20\t23\tFAM\tChemical\tD015738
7\t28\t38\tfamotidine\tChemical\tMESH:D015738
7\t52\t57\tBRCA1\tGene\t672
7\t49\t51\tin\tDisease\t-1
7\tCID\tD015738\tD003693
7\tAssociation\t672\tD003693\tNovel
7\tCID\tD015738\t-1

8|t|Two
8|a|hemorrhagic cystitis
8\t4\t24\themorrhagic cystitis\tDisease\tD006470|D003556\themorrhagic|cystitis
8\tCID\tD015738\tD003693
"""


def made(folder: Path, text: str = FILE) -> Path:
    path = folder / "a.PubTator.txt"
    path.write_text(text, "utf-8")
    return path


def test_the_places_are_those_of_title_and_abstract_together(tmp_path: Path) -> None:
    first, second = releases.documents(made(tmp_path))
    assert (first.id, first.line, first.text) == ("7", 1, f"{TITLE} {ABSTRACT}")
    assert all(first.text[m.start : m.end] == m.surface for m in first.marked)
    assert [m.ids for m in first.marked] == [
        ("MESH:D015738",),
        ("MESH:D003693",),
        ("MESH:D015738",),
        ("MESH:D015738",),
        ("NCBIGene:672",),
        (),
    ]
    assert second.marked[0].ids == ("MESH:D006470", "MESH:D003556")


def test_relations_are_edges_with_their_publications_and_concepts_have_the_names_of_the_texts(tmp_path: Path) -> None:
    source = releases.read_pubtator(made(tmp_path))
    rows = list(source.rows())
    edge = EdgeRow("MESH:D015738", "chemical_induced_disease", "MESH:D003693", 1.0, (Support("PMID:7"),))
    assert rows[0] == edge
    assert rows[1] == EdgeRow("NCBIGene:672", "Association", "MESH:D003693", 1.0, (Support("PMID:7"),))
    assert rows[2] == DroppedRow("no id", 11)
    assert rows[3] == edge._replace(support=(Support("PMID:8"),))
    nodes = {row.key: row for row in rows if isinstance(row, NodeRow)}
    drug = NodeRow("MESH:D015738", "Famotidine", "drug", "", (Alias("famotidine"), Alias("FAM", Scope.ABBREVIATION)))
    assert nodes["MESH:D015738"] == drug
    assert (nodes["NCBIGene:672"].name, nodes["NCBIGene:672"].kind) == ("BRCA1", "gene")
    assert nodes["MESH:D006470"].name == ""  # "hemorrhagic cystitis" names two, so neither
    assert source.relations["chemical_induced_disease"].role is Role.ADVERSE


def test_a_packed_file_is_read_as_the_plain_one(tmp_path: Path) -> None:
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(FILE.encode()))
    assert list(releases.documents(packed)) == list(releases.documents(made(tmp_path)))


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 0, "is empty"),
        ("7\t0\t1\tF\tChemical\tD1\n", 1, "belongs to no title"),
        ("7|t|F\n8\t0\t1\tF\tChemical\tD1\n", 2, "belongs to no title"),
        ("7|t|F\n7\t0\t1\tG\tChemical\tD1\n", 2, "marks 'G', but the text has 'F'"),
        ("7|t|F\n7\t5\t6\t\tChemical\tD1\n", 2, "marks ''"),
        ("7|t|F\n7\t0\t1\tF\n", 2, "neither an entity nor a relation"),
        ("7|t|F\n7\tx\t1\tF\tChemical\tD1\n", 2, "neither an entity nor a relation"),
        ("7|t|F\n7\t0\t" + "9" * 5000 + "\tF\tChemical\tD1\n", 2, "neither an entity nor a relation"),
        ("7|t|F\n7\t0\tx\tF\tChemical\tD1\n", 2, "neither an entity nor a relation"),
        ("7|t|F\n7\t0\t1\tF\tC\tD1\tF\tmore\n", 2, "neither an entity nor a relation"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(SourceError, match=problem) as caught:
        list(releases.documents(made(tmp_path, text)))
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_one_mark_at_another_place_is_left_out_and_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = made(tmp_path, FILE + "8\t0\t4\twrong\tDisease\tD000001\n")
    document = list(releases.documents(path))[-1]
    assert [m.surface for m in document.marked] == [
        m.surface for m in list(releases.documents(made(tmp_path)))[-1].marked
    ]
    path = made(tmp_path, FILE + "8\t0\t4\twrong\tDisease\tD000001\n")
    [misplaced] = list(releases.documents(path))[-1].misplaced
    line = len(path.read_text("utf-8").splitlines())
    assert (misplaced.line, misplaced.said) == (line, "wrong")
    assert "marks 'wrong', but the text has" in str(misplaced)
    dropped = [row for row in releases.read_pubtator(path).rows() if isinstance(row, DroppedRow)]
    assert DroppedRow("a mark that is not in the text where it says", line) in dropped
