"""A graph's names in a text."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgmed.graph.base import Alias, NodeRow, Scope
from kgmed.linking.recognise import Lexicon
from kgmed.records import Query, Question
from named_graph import CMEKG, HPO, small


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    return Lexicon(small(tmp_path_factory.mktemp("graph")))


@pytest.fixture(scope="module")
def chinese(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    return Lexicon(small(tmp_path_factory.mktemp("graph"), CMEKG, "zh", "zh"))


def surfaces(lexicon: Lexicon, text: str) -> list[str]:
    return [m.surface for m in lexicon.find(text)]


def test_the_longest_name_is_found(english: Lexicon) -> None:
    assert surfaces(english, "He has progressive muscle weakness.") == ["progressive muscle weakness"]


@pytest.mark.parametrize(
    "text",
    ["weakness of the muscles", "MUSCLE WEAKNESS", "muscles' weakness", "muscle-weakness"],
)
def test_case_number_order_and_hyphens_do_not_matter(english: Lexicon, text: str) -> None:
    assert surfaces(english, f"There is {text} since May") == [text]


@pytest.mark.parametrize(
    "text", ["muscle. Weakness", "muscle, weakness", "muscle and weakness", "muscle: weakness", "muscle\nweakness"]
)
def test_no_name_is_found_across_a_break(english: Lexicon, text: str) -> None:
    assert surfaces(english, text) == []


def test_a_name_with_a_comma_is_found_with_it(english: Lexicon) -> None:
    assert surfaces(english, "muscle weakness, progressive") == ["muscle weakness, progressive"]


@pytest.mark.parametrize("text", ["feverish", "Coughlin", "note:5", "severe", "tungsten"])
def test_parts_of_words_references_and_qualifiers_are_no_names(english: Lexicon, text: str) -> None:
    assert surfaces(english, text) == []


@pytest.mark.parametrize("text", ["UMLS:C0151576", "HGNC:6081", "ICD10:E11.9"])
def test_an_id_is_looked_up_whole_whether_it_is_known_or_not(english: Lexicon, text: str) -> None:
    assert surfaces(english, f"What are the signs of {text}?") == [text]
    assert surfaces(english, f"the signs of {text}.") == [text]


def test_an_entity_is_found_by_its_id(english: Lexicon) -> None:
    assert [match.entity.name for match in english.graph.lookup("HP:5")] == ["Fever"]
    assert not english.graph.lookup("HP:99")


def test_an_acronym_counts_only_in_capitals(english: Lexicon) -> None:
    assert surfaces(english, "a set of SET variants") == ["SET"]


def test_spelling_variants_of_several_words_are_found(english: Lexicon) -> None:
    assert surfaces(english, "pulmonary oedema") == ["pulmonary oedema"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("饭后胃反酸，应该吃什么药？", ["反酸"]),
        ("头痛，经常咳嗽", ["头痛", "咳嗽"]),
        ("ii型糖尿病", ["ii型糖尿病"]),
        ("Ⅱ型 糖尿病", ["Ⅱ型 糖尿病"]),
        ("痛得严重", []),
        ("伴头痛，恶心或呕吐", ["头痛", "恶心", "呕吐"]),
        ("无尿、无力", ["无尿", "无力"]),
    ],
)
def test_chinese_needs_no_segmentation(chinese: Lexicon, text: str, found: list[str]) -> None:
    assert surfaces(chinese, text) == found


def test_denied_names_are_marked(english: Lexicon, chinese: Lexicon) -> None:
    assert [(m.surface, m.negated) for m in english.find("No fever but cough")] == [("fever", True), ("cough", False)]
    assert [(m.surface, m.negated) for m in chinese.find("无发热、咳嗽，有头痛，无尿")] == [
        ("发热", True),
        ("咳嗽", True),
        ("头痛", False),
        ("无尿", False),
    ]


def test_it_is_a_recogniser_of_the_expanded_query(english: Lexicon) -> None:
    found = english(Query(Question("Cough?"), hypothesis="maybe fever"))
    assert [m.name for m in found] == ["Cough", "fever"]


def test_the_index_is_kept_beside_the_graph_and_opened_again(tmp_path: Path) -> None:
    graph = small(tmp_path)
    Lexicon(graph).find("fever")
    assert list(Path(graph.folder).glob("derived/lexicon-*/exact.npy"))
    assert surfaces(Lexicon(graph), "fever") == ["fever"]


def test_a_graph_without_names_finds_nothing(tmp_path: Path) -> None:
    assert Lexicon(small(tmp_path, (NodeRow("?", "?"),))).find("fever?") == []


PIECES = [n.name for n in (*HPO, *CMEKG) if isinstance(n, NodeRow)] + list(" .,，、。'ß\u0301１²") + ["no", "无", "and"]


@example("Cough\u0301Muscle weakness")  # two words of one piece
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join))
def test_mentions_are_exact_places_in_order_without_overlap(both: Lexicon, text: str) -> None:
    found = both.find(text)
    assert all(text[m.start : m.end] == m.surface != "" for m in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    return Lexicon(small(tmp_path_factory.mktemp("graph"), (*HPO, *CMEKG), "both"))


@given(st.sampled_from([n.name for n in HPO if isinstance(n, NodeRow) and n.kind == "phenotype"]))
def test_every_name_is_found_in_its_own_text(both: Lexicon, name: str) -> None:
    assert surfaces(both, f"seen: {name}.") == [name]


def test_an_alias_is_found_whatever_its_scope(tmp_path: Path) -> None:
    lexicon = Lexicon(small(tmp_path, (NodeRow("1", "Aspirin", aliases=(Alias("Bayer Forte", Scope.BRAND),)),)))
    assert surfaces(lexicon, "bayer forte and aspirin") == ["bayer forte", "aspirin"]


def test_a_symbol_counts_only_as_it_is_written(tmp_path: Path) -> None:
    rows = (NodeRow("1", "magnesium", aliases=(Alias("Mg"),)), NodeRow("2", "Flu"), NodeRow("3", "SET", "gene"),
            NodeRow("4", "imaging (Mri)", aliases=(Alias("Mri"),)))  # fmt: skip
    lexicon = Lexicon(small(tmp_path, rows))
    assert surfaces(lexicon, "5 mg of Mg, MG, the flu, a set of SET, an MRI") == ["Mg", "MG", "flu", "SET", "MRI"]


@pytest.mark.data
def test_the_graphs_questions_are_understood(data: Path, tmp_path: Path) -> None:
    from kgmed.graph.formats.obo import read_hpo
    from kgmed.graph.store.build import build
    from kgmed.graph.store.store import open_store

    build(read_hpo(), tmp_path / "hpo")
    found = Lexicon(open_store(tmp_path / "hpo")).find("A boy has progressive muscle weakness; it is all right.")
    assert [m.surface for m in found] == ["progressive muscle weakness"]


def test_what_is_asked_of_a_disease_is_no_disease_of_that_name(tmp_path: Path) -> None:
    graph = small(tmp_path, (NodeRow("1", "高血压"), NodeRow("2", "高血压的治疗")), "zh", "zh")
    assert surfaces(Lexicon(graph), "高血压的治疗方法") == ["高血压"]


def test_a_verb_of_the_question_and_a_piece_of_a_name_are_no_name(tmp_path: Path) -> None:
    graph = small(tmp_path, tuple(NodeRow(n, n) for n in ("胃溃疡", "治疗胃", "治疗儿童", "癫痫")), "zh", "zh")
    assert surfaces(Lexicon(graph), "怎样治疗胃溃疡") == ["胃溃疡"]
    assert surfaces(Lexicon(graph), "什么药治疗儿童癫痫") == ["癫痫"]


def test_two_medicines_side_by_side_are_two_names(tmp_path: Path) -> None:
    rows = tuple(NodeRow(name, name, "drug") for name in ("simvastatin", "clarithromycin", "lithium", "ibuprofen"))
    lexicon = Lexicon(small(tmp_path, rows))
    assert surfaces(lexicon, "simvastatin clarithromycin") == ["simvastatin", "clarithromycin"]
    assert surfaces(lexicon, "lithium ibuprofen") == ["lithium", "ibuprofen"]
    assert surfaces(lexicon, "simvastatin zolvaprofen") == ["simvastatin zolvaprofen"]
