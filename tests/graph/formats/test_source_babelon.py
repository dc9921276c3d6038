"""Names of ontology terms in other languages."""

from pathlib import Path

import pytest

from kgmed.errors import BadInput, SourceError
from kgmed.graph import formats
from kgmed.graph.base import Alias, DroppedRow, NodeRow, Scope

HEAD = "source_language\ttranslation_language\tsubject_id\tpredicate_id\tsource_value\ttranslation_value\t"
TABLE = f"""{HEAD}translation_status
en\tzh\tHP:0001945\trdfs:label\tFever\t发热\tOFFICIAL
en\tzh\tHP:0000020\trdfs:label\tUrinary incontinence\tNA\tNOT_TRANSLATED
en\tzh\tHP:0000021\trdfs:label\tMegacystis\t巨膀胱\tCANDIDATE
en\tzh\tHP:0001945\tIAO:0000115\tA raised temperature\t体温升高\tOFFICIAL
"""
SYNONYMS = """subject_id\ttranslation_value\tsynonym_type\tcontributor
ID\tAL oboInOwl:hasExactSynonym@de SPLIT=|\t>AI oboInOwl:hasSynonymType\tAI dc:contributor
HP:0000020\tHarninkontinenz|Blasenschwäche\tlayperson\t
"""


def german(text: str) -> Alias:
    return Alias(text, Scope.TRANSLATION, "de")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hp-zh.babelon.tsv").write_text(TABLE, "utf-8")
    (tmp_path / "hp-de.synonyms.tsv").write_text(SYNONYMS, "utf-8")
    return tmp_path


def test_only_official_names_are_taken_each_with_its_language(folder: Path) -> None:
    rows = list(formats.read("babelon", folder).rows())
    assert [row for row in rows if isinstance(row, NodeRow)] == [
        NodeRow("HP:0000020", aliases=(german("Harninkontinenz"), german("Blasenschwäche"))),
        NodeRow("HP:0001945", "Fever", aliases=(Alias("发热", Scope.TRANSLATION, "zh"),)),
    ]
    assert [row for row in rows if isinstance(row, DroppedRow)] == [
        DroppedRow("rdfs:label, not translated", 3),
        DroppedRow("rdfs:label, candidate", 4),
        DroppedRow("IAO:0000115, official", 5),
    ]


def test_a_table_is_told_by_its_header_and_a_folder_by_its_tables(folder: Path) -> None:
    assert formats.detect(folder) == formats.detect(folder / "hp-zh.babelon.tsv") == "babelon"


def test_a_table_that_cannot_be_read_is_told_with_its_line(folder: Path) -> None:
    (folder / "hp-zh.babelon.tsv").write_text(TABLE + "en\tzh\n", "utf-8")
    with pytest.raises(SourceError, match=r"hp-zh.babelon.tsv:6: has 2 columns"):
        list(formats.read("babelon", folder).rows())
    (folder / "hp-zh.babelon.tsv").write_text("a\tb\n", "utf-8")
    with pytest.raises(SourceError, match="has no columns subject_id and translation_value"):
        list(formats.read("babelon", folder).rows())


def test_a_table_of_synonyms_must_say_its_language(tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text(SYNONYMS, "utf-8")
    with pytest.raises(SourceError, match="does not say of which language"):
        list(formats.read("babelon", tmp_path / "names.tsv").rows())


def test_a_folder_without_tables_and_no_path_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"holds no .babelon.tsv file"):
        formats.read("babelon", tmp_path)
    with pytest.raises(BadInput, match="needs a file or a folder"):
        formats.read("babelon")
