"""Examples of what private functions decide about words, names and texts; public ones have theirs beside them."""

import re

from kgmed.facts import circumstances, operators
from kgmed.graph.formats import parquet, tables, triples
from kgmed.graph.remote import umls
from kgmed.language import lay, relations
from kgmed.linking import cascade, recognise, scattered
from kgmed.methods import rlkgf
from kgmed.models import named
from kgmed.records import Entity, Relation, Triple
from kgmed.reward.cases import NamesIn
from kgmed.steps import family


def test_stems_of_a_name() -> None:
    assert (
        sorted(scattered._content("Fracture of the hand")),
        sorted(scattered._content("Eye alignment disorder")),
    ) == (["fractur", "hand"], ["align", "eye"])
    assert (
        sorted(scattered._content("Disorder of the spinal cord")),
        sorted(scattered._content("Hypoplasia of the small bowel")),
    ) == (["cord", "disord", "spinal"], [])


def test_where_a_chinese_name_begins() -> None:
    assert (recognise._begins("吃野牡丹", 1, {0}, ()), recognise._begins("多花野牡丹", 2, (), ())) == (1, 0)
    assert (
        recognise._begins("香药胃安胶囊", 2, (), (), piece=True),
        recognise._begins("我吃胃安胶囊", 2, (), (), piece=True),
    ) == (0, 2)


def test_a_short_form_in_a_label_is_written_as_such() -> None:
    assert (
        [
            bool(re.search(circumstances._in_text("ALL"), said, re.IGNORECASE))
            for said in ("Not in ALL", "Not in all people")
        ]
    ) == [True, False]
    assert (
        [
            bool(re.search(circumstances._in_text("血糖"), said))
            for said in ("低血糖发作时禁用", "监测血糖", "合用抗血糖药")
        ]
    ) == [False, True, False]


def test_a_name_that_goes_on_is_another() -> None:
    texts = ("支原体肺炎", "是肺炎。", "患者可能得了肺炎，不是流感", "肺炎球菌感染", "不是肺炎而是流感")
    assert ([rlkgf._goes_on(text, *NamesIn({"肺炎": ()})(text)) for text in texts]) == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert (
        [rlkgf._goes_on(t, *NamesIn({"gout": ()})(t)) for t in ("non-gout", "tophaceous gout", "It is gout, not flu")]
    ) == [True, True, False]


def test_the_file_of_a_local_model() -> None:
    assert (named._file_name("models/a.gguf"), named._file_name("gguf/models/a.gguf"), named._file_name("")) == (
        "gguf/a.gguf",
        "gguf/a.gguf",
        "",
    )
    assert (named._file_name("hf/org/name")) == "hf/org/name"


def test_the_longest_of_names_that_overlap_stays() -> None:
    assert (
        [
            (s.start, s.end)
            for s in recognise._disjoint(
                [
                    recognise.Span(0, 2, True),
                    recognise.Span(1, 4, True),
                    recognise.Span(3, 5, True),
                    recognise.Span(4, 5, True),
                ]
            )
        ]
    ) == [(1, 4), (4, 5)]


def test_words_of_one_family() -> None:
    assert (
        [
            cascade._relatives(*pair)
            for pair in (("coughing", "cough"), ("fibromyalgia", "fibrosarcoma"), ("spine", "spinal"))
        ]
    ) == [True, False, False]
    assert ([cascade._relatives("prolactin", "prolactinoma"), cascade._relatives("tuberculous", "tuberculosis")]) == [
        False,
        True,
    ]


def test_chinese_names_that_are_made_by_a_frame() -> None:
    assert (
        relations.in_english("既往结核病史"),
        relations.in_english("发热或血钙过高"),
        relations.in_english("可能与清化热痰有关"),
    ) == ("history of tuberculosis", "", "")


def test_characters_of_a_name_that_stand_apart() -> None:
    assert (lay._in_order(lay._apart("糖尿病人血糖高", ("尿", "血")), ("尿", "血"))) == ()
    assert (lay._in_order(lay._apart("糖尿病人血糖高", ("血糖", "高")), ("血糖", "高"))) == ((4, 6), (6, 7))


def test_the_id_behind_an_address_of_umls() -> None:
    assert (umls._identity("https://uts-ws.nlm.nih.gov/rest/content/2022AA/source/MDR/20000178")) == "MDR:20000178"
    assert (umls._identity("https://uts-ws.nlm.nih.gov/rest/content/2022AA/CUI/C0018681"), umls._identity("NONE")) == (
        "umls:C0018681",
        "",
    )


def test_the_columns_of_a_table_of_triples() -> None:
    assert (
        triples._places(["source", "type", "target"]),
        triples._places(["type", "is a", "label"]),
        triples._places(["a", "relation", "b"]),
    ) == ({"head": 0, "tail": 2, "relation": 1}, {}, {"head": 0, "relation": 1, "tail": 2})


def test_how_long_a_cell_is_in_sql() -> None:
    assert (
        parquet._size('"a"', "BIGINT"),
        parquet._size('"a"', "VARCHAR"),
        parquet._size('"a"', "STRUCT(f VARCHAR)"),
    ) == ("40", 'coalesce(strlen("a"::VARCHAR), 0)', "")
    assert (parquet._size('"a"', "BIGINT[]")) == 'coalesce(list_sum(list_transform("a", lambda x: 40 + 40)), 0)'


def test_triples_with_one_head_are_told_once() -> None:
    a, b, c = (Entity(n, n) for n in "abc")
    assert (
        operators._joined([Triple(a, Relation("treats"), b), Triple(a, Relation("treats"), c)])
    ) == "a — treats → b, c"


def test_what_an_illness_shows_is_not_the_illness() -> None:
    named = [Entity("", name) for name in ("Acute appendicitis", "Fever", "阑尾炎")]
    assert ([family._is_finding(Entity("", "Appendicitis"), other) for other in named]) == [False, True, True]


def test_the_name_behind_a_key_of_a_table() -> None:
    reader = tables.RecordReader("mine", {}, {})
    assert ([reader._called(reader.key(text), text) for text in ("gout", "DOID:1", "17")]) == ["gout", "", ""]
