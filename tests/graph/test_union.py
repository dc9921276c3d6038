"""Several graphs as one: what is joined and what is not, where each triple is from, and in which language."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kgmed.cli import app
from kgmed.errors import BadInput, UnknownName
from kgmed.graph import library
from kgmed.graph.base import Alias, ByRole, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.graph.doctor import examine
from kgmed.graph.joining import substance
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.graph.union import merge
from kgmed.records import Relation, Role, Support
from kgmed.session import open_named

HPO: tuple[Row, ...] = (
    NodeRow("HP:0002076", "Migraine", "phenotype", "A headache.", (Alias("UMLS:C0149931", Scope.XREF),)),
    NodeRow("HP:0001945", "Fever", "phenotype"),
    NodeRow("OMIM:154700", "Marfan syndrome", "disease"),
    NodeRow("ORPHA:558", "Marfan syndrome", "disease"),
    NodeRow("OMIM:614816", "Loeys-Dietz syndrome 1", "disease"),
    NodeRow("ORPHA:60030", "Loeys-Dietz syndrome", "disease"),
    NodeRow("OMIM:125853", "Type 2 diabetes mellitus", "disease"),
    EdgeRow("OMIM:154700", "has_phenotype", "HP:0002076", 0.5, (Support("PMID:1", (("frequency", "1/2"),)),)),
    EdgeRow("ORPHA:558", "has_phenotype", "HP:0001945"),
)
CMEKG: tuple[Row, ...] = (
    NodeRow("偏头痛", "", "disease", aliases=(Alias("ICD10:G43.9", Scope.XREF),)),
    NodeRow("发热", "", "symptom"),
    NodeRow("发烧", "", "symptom"),
    NodeRow("II型糖尿病", "", "disease"),
    NodeRow("I型糖尿病", "", "disease"),
    NodeRow("肾病综合症", "", "disease"),
    NodeRow("肾病综合征", "", "disease"),
    NodeRow("心肌梗死", "", "disease", aliases=(Alias("MI", Scope.ABBREVIATION),)),
    NodeRow("二尖瓣关闭不全", "", "disease"),
    NodeRow("小儿马方综合征", "", "disease", aliases=(Alias("Marfan syndrome", Scope.TRANSLATION),)),
    NodeRow("阿莫西林胶囊", "", "drug", aliases=(Alias("Amoxicillin", Scope.TRANSLATION),)),
    NodeRow("阿莫西林片", "", "drug", aliases=(Alias("Amoxicillin", Scope.TRANSLATION), Alias("阿莫西林胶囊"))),
    EdgeRow("偏头痛", "药物治疗", "布洛芬"),
    EdgeRow("发热", "见于", "偏头痛"),
    TextRow("偏头痛", "注意事项", "避光"),
)


def stored(folder: Path, name: str, rows: tuple[Row, ...], **about: object) -> Store:
    roles = {"药物治疗": Relation("药物治疗", Role.TREATS, reverse=True)}
    source = Source(name, lambda: iter(rows), relations=roles, **about)  # type: ignore[arg-type]
    build(source, folder / name)
    return open_store(folder / name)


@pytest.fixture
def parts(tmp_path: Path) -> list[Store]:
    english = stored(tmp_path, "hpo", HPO, language="en", release="1")
    return [english, stored(tmp_path, "cmekg", CMEKG, language="zh", release="2", prefix="cmekg")]


@pytest.fixture
def whole(parts: list[Store], tmp_path: Path) -> Store:
    merge(parts, tmp_path / "whole")
    return open_store(tmp_path / "whole")


def same(graph: Store, *ids: str) -> bool:
    return len({graph.number(i) for i in ids}) == 1


def test_a_thing_of_both_languages_is_one_entity_under_the_ids_and_names_of_all(whole: Store) -> None:
    assert same(whole, "HP:0002076", "cmekg:偏头痛")
    assert [whole.lookup(name)[0].entity.id for name in ("migraine", "偏头痛", "ICD10:G43.9")] == ["HP:0002076"] * 3
    assert whole.entity("cmekg:偏头痛").description == "A headache."
    assert whole.attributes("HP:0002076")[0].tail.name == "避光"


def test_records_of_one_disease_in_two_vocabularies_are_one_and_subtypes_are_not(whole: Store) -> None:
    assert same(whole, "OMIM:154700", "ORPHA:558")
    assert not same(whole, "OMIM:614816", "ORPHA:60030")
    assert not same(whole, "cmekg:小儿马方综合征", "ORPHA:558")


def test_chinese_forms_of_a_name_are_one_and_types_are_not(whole: Store) -> None:
    assert same(whole, "cmekg:肾病综合症", "cmekg:肾病综合征")
    assert same(whole, "cmekg:发热", "cmekg:发烧", "HP:0001945")
    assert same(whole, "cmekg:II型糖尿病", "OMIM:125853")
    assert not same(whole, "cmekg:I型糖尿病", "cmekg:II型糖尿病")
    assert whole.lookup("T2DM")[0].entity == whole.lookup("2型糖尿病")[0].entity


def test_no_drug_is_joined_to_another(whole: Store) -> None:
    assert not same(whole, "cmekg:阿莫西林胶囊", "cmekg:阿莫西林片")


def test_a_short_form_of_two_meanings_leads_by_itself_to_the_usual_one(whole: Store) -> None:
    assert {m.entity.name for m in whole.lookup("MI")} == {"心肌梗死"}


def test_each_triple_and_text_names_the_graph_it_is_of(whole: Store) -> None:
    found = {(t.head.id, t.tail.id): t.source for t in whole.neighbours("HP:0002076")}
    assert found["OMIM:154700", "HP:0002076"] == "hpo 1"
    assert found["HP:0002076", "cmekg:布洛芬"] == "cmekg 2"
    assert whole.attributes("HP:0002076")[0].source == "cmekg 2"
    assert whole.label.startswith("hpo 1 + cmekg 2 #")


def test_weights_support_and_roles_come_through(whole: Store) -> None:
    one = next(t for t in whole.neighbours("HP:0002076") if t.source == "hpo 1")
    assert (one.weight, one.support) == (0.5, (Support("PMID:1", (("frequency", "1/2"),)),))
    drugs = ByRole(whole, Role.TREATS).subjects([whole.number("HP:0002076")]).node
    assert [whole.at(n).id for n in drugs.tolist()] == ["cmekg:布洛芬"]


def test_no_edge_is_lost_but_those_inside_a_thing(whole: Store, parts: list[Store]) -> None:
    assert whole.adjacency.edges == sum(part.adjacency.edges for part in parts)
    heads = np.repeat(np.arange(len(whole)), np.diff(whole.adjacency.out.indptr))
    assert not (heads == whole.adjacency.out.neighbour).any()


def test_a_pair_that_is_forbidden_stays_apart(parts: list[Store], tmp_path: Path) -> None:
    merge(parts, tmp_path / "apart", forbidden=[("cmekg:偏头痛", "HP:0002076")])
    assert not same(open_store(tmp_path / "apart"), "HP:0002076", "cmekg:偏头痛")


def test_the_doctor_lists_what_was_joined_and_why(whole: Store, parts: list[Store]) -> None:
    joins = {join.ids[0]: join for join in examine(whole, parts=parts).joins}
    assert joins["HP:0002076"].ids == ("HP:0002076", "cmekg:偏头痛")
    assert joins["HP:0002076"].why == ("glossary migraine",)


def test_entities_and_relations_are_called_in_the_language_that_is_spoken_and_ids_stay(whole: Store) -> None:
    for language, name in (("en", "Migraine"), ("zh", "偏头痛")):
        entity = whole.speaking(language).lookup("偏头痛")[0].entity
        assert (entity.id, entity.name) == ("HP:0002076", name)
    triple = next(t for t in whole.speaking("en").neighbours("HP:0002076") if t.relation.name == "药物治疗")
    assert (str(triple.relation), triple.tail.name) == ("treated with", "ibuprofen")


def test_a_name_of_another_language_that_its_graph_tags_is_not_taken_for_english(tmp_path: Path) -> None:
    names = (Alias("Fieber", Scope.TRANSLATION, "de"), Alias("fever", Scope.TRANSLATION, "en"))
    graph = stored(tmp_path, "zh", (NodeRow("发热", aliases=names),), language="zh")
    assert graph.speaking("en").lookup("发热")[0].entity.name == "fever"
    assert graph.speaking("de").lookup("发热")[0].entity.name == "Fieber"


def test_what_is_told_of_under_a_chinese_name_alone_is_found_in_english_below_what_has_the_name(tmp_path: Path) -> None:
    said = {"细菌性肺炎": "disease", "支气管镜检查": "test", "糖尿病患者": "disease", "尿血": "disease"}
    rows: list[Row] = [NodeRow(name, "", kind) for name, kind in said.items()]
    rows += [EdgeRow(name, "见于", f"{i}") for name in said for i in range(3)] + [NodeRow("气道异物", "", "disease")]
    graphs = [stored(tmp_path, "zh", tuple(rows), language="zh"), stored(tmp_path, "en", HPO, language="en")]
    merge(graphs, tmp_path / "both")
    graph = open_store(tmp_path / "both")
    names = ("bacterial pneumonia", "bronchoscopy", "people with diabetes", "blood in the urine", "airway foreign body")
    found = [[m.entity.name for m in graph.lookup(name)] for name in names]
    assert found == [["细菌性肺炎"], ["支气管镜检查"], [], [], []]


def test_a_code_joins_where_names_agree_and_else_only_names_more_broadly(tmp_path: Path) -> None:
    chinese = {"ICD10:A18.4": ("Tuberculosis of skin", "皮肤结核病"), "ICD10:L12.1": ("Scars", "瘢痕性类天疱疮病")}
    titles = tuple(
        NodeRow(code, title, "disease", aliases=(Alias(name, Scope.TRANSLATION, "zh"),))
        for code, (title, name) in chinese.items()
    )
    told = (
        NodeRow("疣状狼疮", "", "disease", aliases=(Alias("ICD10:A18.4", Scope.XREF),)),
        NodeRow("瘢痕性类天疱疮", "", "disease", aliases=(Alias("ICD10:L12.1", Scope.XREF),)),
    )
    both = [stored(tmp_path, "zh", told, language="zh", prefix="zh"), stored(tmp_path, "icd10", titles, language="en")]
    merge(both, tmp_path / "both")
    graph = open_store(tmp_path / "both")
    assert same(graph, "zh:瘢痕性类天疱疮", "ICD10:L12.1")
    assert not same(graph, "zh:疣状狼疮", "ICD10:A18.4")
    assert graph.speaking("en").entity("zh:疣状狼疮").name == "Tuberculosis of skin (疣状狼疮)"


def test_a_name_that_lost_its_spaces_is_read_with_them_and_is_one_thing_with_that(tmp_path: Path) -> None:
    run = (Alias("rheumaticfever", Scope.EXACT, "en"),)
    chinese = (NodeRow("风湿热", "", "disease", aliases=run), NodeRow("鹅口疮", "", "disease", aliases=(
        Alias("oralcandidiasis", Scope.EXACT, "en"),)))  # fmt: skip
    english = [NodeRow("X:1", "Rheumatic fever", "disease")]
    english += [NodeRow(f"X:{i}", name, "disease") for i, name in enumerate(
        (*(f"oral {w}" for w in ("ulcer", "pain", "lesion")), *(f"{w} candidiasis" for w in ("skin", "nail", "eye"))), 2
    )]  # fmt: skip
    both = [
        stored(tmp_path, "en", tuple(english), language="en"),
        stored(tmp_path, "zh", chinese, language="zh", prefix="zh"),
    ]
    merge(both, tmp_path / "both")
    graph = open_store(tmp_path / "both")
    assert same(graph, "zh:风湿热", "X:1")
    assert [m.entity.id for m in graph.lookup("oral candidiasis")] == ["zh:鹅口疮"]


def test_an_illness_of_children_gives_way_where_its_name_leaves_them_out(tmp_path: Path) -> None:
    rows = (
        NodeRow("小儿乙丙炎", "", "disease", aliases=(Alias("乙丙炎", Scope.EXACT, "zh"),)),
        NodeRow("甲丁炎", "", "disease", aliases=(Alias("乙丙炎", Scope.TRANSLATION, "zh"),)),
        NodeRow("克罗病", "", "disease", aliases=(Alias("克尔", Scope.RELATED, "zh"),)),
    )
    merge([stored(tmp_path, "zh", rows, language="zh", prefix="zh")], tmp_path / "one")
    graph = open_store(tmp_path / "one")
    assert graph.lookup("乙丙炎")[0].entity.id == "zh:甲丁炎"
    assert graph.lookup("克尔") == []


# --- by name, kept under the folder of the graphs


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    for name, text in (("one", "gout\thas_symptom\tpain\n"), ("two", "Gout\ttreated_by\tcolchicine\n")):
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
        library.build_graph(name, tmp_path / f"{name}.tsv")
    return tmp_path


def test_names_with_commas_open_one_graph_which_is_made_once(home: Path) -> None:
    first = library.load("one,two")
    assert {t.source for t in first.neighbours(first.lookup("gout")[0].entity.id)} == {"one", "two"}
    assert library.load("one, two").folder == first.folder
    assert "one+two" not in [m.name for m in library.graphs()]


def test_an_edit_or_a_new_build_of_a_part_makes_it_anew(home: Path) -> None:
    assert not library.load("one,two").lookup("tophus")
    library.add("one", ("gout", "has_symptom", "tophus"), new=True)
    edited = library.load("one,two")
    found = edited.neighbours(edited.lookup("tophus")[0].entity.id)
    assert [(t.head.name, t.source) for t in found] == [("gout", "edits of one")]
    library.build_graph("two", home / "one.tsv")
    assert not library.load("one,two").lookup("colchicine")


def test_a_pair_in_apart_tsv_is_not_joined_from_then_on(home: Path) -> None:
    assert len(library.load("one,two").lookup("gout")) == 1
    (home / "graphs" / library.APART).write_text("# not the same\none:gout\ttwo:Gout\n", encoding="utf-8")
    assert len(library.load("one,two").lookup("gout")) == 2
    (home / "graphs" / library.APART).write_text("one:gout\n", encoding="utf-8")
    with pytest.raises(BadInput, match="names no pair"):
        library.load("one,two")


def test_a_name_that_no_graph_has_is_refused(home: Path) -> None:
    with pytest.raises(UnknownName, match="three"):
        library.load("one,three")


def test_graphs_are_joined_when_first_asked_and_let_go_when_a_member_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    place, files = tmp_path / "graphs" / library.TOGETHER, {}
    for name, triple in (
        ("one", "gout,has_symptom,pain\n"),
        ("two", "gout,treats,rest\n"),
        ("three", "flu,treats,x\n"),
    ):
        files[name] = tmp_path / f"{name}.csv"
        files[name].write_text(triple)
        assert CliRunner().invoke(app, ["graph", "build", name, str(files[name])]).exit_code == 0
    assert not place.exists()
    assert library.standing(["one", "two"]) is None
    for names in ("one,two", "one,two,three"):
        open_named(names)
    assert {folder.name for folder in place.iterdir()} == {"one+two", "one+three+two"}
    assert "one+two" in CliRunner().invoke(app, ["graph", "list"]).output
    files["three"].write_text("flu,treats,y\n")
    CliRunner().invoke(app, ["graph", "build", "three", str(files["three"])])
    assert [folder.name for folder in place.iterdir()] == ["one+two"]  # the other was of another graph
    shutil.rmtree(tmp_path / "graphs" / "two")
    library.prune()
    assert not list(place.iterdir())


@pytest.mark.parametrize("name", ["氯化钾", "氯化钙", "葡萄糖酸钙", "calcium carbonate", "potassium chloride"])
def test_a_salt_whose_metal_is_the_medicine_keeps_it(name: str) -> None:
    assert substance(name) == name
    assert substance("双氯芬酸钠") == "双氯芬酸"
