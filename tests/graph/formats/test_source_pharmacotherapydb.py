"""Pairs of drug and disease that physicians judged."""

from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.graph import formats
from kgmed.graph.base import EdgeRow, NodeRow
from kgmed.records import Role, Support

HEAD = "doid_id\tdrugbank_id\tdisease\tdrug\tcategory\tn_curators\tn_resources\n"
ROWS = (
    "DOID:13189\tDB00437\tgout\tAllopurinol\tDM\t2\t3\n"
    "DOID:13189\tDB00328\tgout\tIndomethacin\tSYM\t1\t2\n"
    "DOID:13189\tDB01016\tgout\tGlyburide\tNOT\t3\t1\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "indications.tsv"
    path.write_text(HEAD + ROWS, "utf-8")
    return path


def test_a_pair_is_a_treatment_only_where_it_was_judged_one(table: Path) -> None:
    source = formats.read("pharmacotherapydb", table)
    edges = [row for row in source.rows() if isinstance(row, EdgeRow)]
    assert [(row.head, source.relations[row.relation].role) for row in edges] == [
        ("DRUGBANK:DB00437", Role.TREATS),
        ("DRUGBANK:DB00328", Role.TREATS),
        ("DRUGBANK:DB01016", Role.OTHER),
    ]
    assert edges[0].support == (Support("", (("curators", "2"), ("resources", "3"))),)


def test_each_drug_and_disease_is_told_once_with_its_name(table: Path) -> None:
    nodes = [row for row in formats.read("pharmacotherapydb", table).rows() if isinstance(row, NodeRow)]
    assert [row.name for row in nodes] == ["Allopurinol", "gout", "Indomethacin", "Glyburide"]


def test_the_table_is_told_by_its_header(table: Path) -> None:
    assert formats.detect(table) == "pharmacotherapydb"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", "has no column doid_id"),
        (HEAD + "DOID:1\tDB1\ta\tb\n", ":2: has 4 columns"),
        (HEAD + "DOID:1\tDB1\ta\tb\tMAYBE\t1\t1\n", ":2: has the category 'MAYBE'"),
        (HEAD + "DOID:1\t\ta\tb\tDM\t1\t1\n", ":2: has the category 'DM', or lacks a name or an id"),
    ],
)
def test_a_row_that_cannot_be_read_is_told_with_its_line(table: Path, text: str, message: str) -> None:
    table.write_text(text, "utf-8")
    with pytest.raises(SourceError, match=message):
        list(formats.read("pharmacotherapydb", table).rows())
