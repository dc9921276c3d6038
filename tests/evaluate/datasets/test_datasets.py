"""Loaders read the published layouts, count what they hold, and name file and line of what they cannot read."""

import json
import lzma
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.evaluate.datasets import checksum, dataset, datasets, known_other, load, missing, others, patients
from kgmed.evaluate.datasets.files import LETTERS, answer_letters, options
from kgmed.graph.base import EdgeRow, Source
from kgmed.reward.cases import Split

Workbook = pytest.importorskip("openpyxl").Workbook
pytest.importorskip("defusedxml")


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(datasets()))
def test_a_data_set_is_whole_and_each_item_can_be_scored(name: str, data: Path) -> None:
    found, items = dataset(name), load(name, data)
    assert len(items) == found.items
    assert len({i.question.id for i in items}) == len(items)
    for item in items:
        letters = [letter for letter, _ in item.question.options]
        assert item.question.text
        assert item.question.text == item.question.text.strip()
        assert {*item.gold.choices} <= {*letters}
        assert all(text.strip() for _, text in item.question.options)
        assert item.gold.choices or item.gold.texts or item.gold.entities
        assert bool(item.gold.choices) == (found.task == "choice")


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(others()))
def test_what_holds_no_questions_is_whole_too(name: str, data: Path) -> None:
    found = others()[name]
    if name.startswith("xlbel-") and missing(found, data):  # any language of the ten may be fetched by itself
        with pytest.raises(BadInput, match=f"lacks xlbel/.* of {name}; get it from https://"):
            checksum(found, data)
        return
    assert not missing(found, data)
    assert len(checksum(found, data)) == 64
    held = found.read(data)
    if isinstance(held, Split):
        assert len(held.train) + len(held.validation) + len(held.test) == found.items
    elif isinstance(held, Source):
        assert sum(isinstance(row, EdgeRow) for row in held.rows()) == found.items
    else:
        assert len(list(held)) == found.items


def test_what_holds_no_questions_says_what_it_is_for(tmp_path: Path) -> None:
    assert not {*others()} & {*datasets()}
    with pytest.raises(BadInput, match="bc5cdr holds no questions, it is for linking; try kgmed eval linking"):
        load("bc5cdr", tmp_path)
    with pytest.raises(UnknownName, match="did you mean bc5cdr"):
        known_other("bc5cd", "linking", tmp_path)
    with pytest.raises(BadInput, match=r"lacks xlbel/v0\.0_zh\.txt of xlbel-zh; get it from https://"):
        known_other("xlbel-zh", "linking", tmp_path)


def test_phenopackets_are_no_split(tmp_path: Path) -> None:
    (tmp_path / "phenopackets_dev").mkdir()
    (tmp_path / "phenopackets_dev/phenopackets_dev.jsonl.xz").write_bytes(lzma.compress(b""))
    with pytest.raises(BadInput, match="phenopackets is not split"):
        patients("phenopackets", tmp_path)


def test_a_line_of_xlbel_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "xlbel").mkdir()
    (tmp_path / "xlbel/v0.0_en.txt").write_text("C1||gout\nbroken\n", "utf-8")
    with pytest.raises(SourceError, match=r"v0\.0_en\.txt:2: is not CUI"):
        list(known_other("xlbel-en", "linking", tmp_path).read(tmp_path))


@pytest.mark.data
def test_mmcu_has_the_questions_with_several_answers_that_the_paper_counts(data: Path) -> None:
    assert sum(len(i.gold.choices) > 1 for i in load("mmcu", data)) == 194


@pytest.mark.data
def test_a_sample_is_the_same_every_time_and_keeps_the_order(data: Path) -> None:
    whole, drawn = load("cmmlu", data, part="test"), load("cmmlu", data, part="test", limit=100, seed=1)
    assert len(whole) == 886
    assert len(drawn) == 100
    assert drawn == load("cmmlu", data, part="test", limit=100, seed=1)
    assert drawn != load("cmmlu", data, part="test", limit=100, seed=2)
    assert [i for i in whole if i in drawn] == drawn


@pytest.mark.data
def test_a_checksum_changes_with_the_files(data: Path, tmp_path: Path) -> None:
    (tmp_path / "cmcqa").mkdir()
    copy = tmp_path / "cmcqa/Chinese_doctor_qa_ner.json"
    copy.write_bytes((data / "cmcqa/Chinese_doctor_qa_ner.json").read_bytes())
    assert checksum(dataset("cmcqa"), tmp_path) == checksum(dataset("cmcqa"), data)
    copy.write_bytes(copy.read_bytes() + b"\n")
    assert checksum(dataset("cmcqa"), tmp_path) != checksum(dataset("cmcqa"), data)


def test_a_missing_file_is_named_with_where_it_comes_from(tmp_path: Path) -> None:
    assert missing(dataset("liveqa"), tmp_path) == ["liveqa_medical/TREC-2017-LiveQA-Medical-Test.xml"]
    with pytest.raises(BadInput, match=r"lacks liveqa_medical/.* get it from https://"):
        load("liveqa", tmp_path)
    with pytest.raises(BadInput, match=r"lacks liveqa_medical/.* get it from https://"):
        checksum(dataset("liveqa"), tmp_path)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="mmcu"):
        dataset("mmcuu")


BROKEN = {
    "mmcu": ("mmcu_medical/MMCU-Medical.xlsx", b"PK no book", "is no Excel file"),
    "cmb": (
        "cmb_exam/apollo_xmedbench_zh.json",
        b'[{"source": "cmb-single", "question": "?"}]',
        "item 0 has no options",
    ),
    "mirage": ("mirage/benchmark.json", b'{"medqa": {"1": {"question": "?"}}}', "medqa 1 is no question"),
    "liveqa": ("liveqa_medical/TREC-2017-LiveQA-Medical-Test.xml", b"<a><b></a>", ":1: is not XML"),
    "cmcqa": ("cmcqa/Chinese_doctor_qa_ner.json", b'{"question": "a", "answer": "b"}\n{"question": 1}\n', ":2: has no"),
    "genmedgpt": ("genmedgpt5k/NER_chatgpt_first4000.json", b"{}\n", ":1: is not a row"),
}
# found by bench/attack.py
FUZZED = {
    "genmedgpt": ("genmedgpt5k/NER_chatgpt_first4000.json", b'{"qustion_output": "\xcb"}', "UTF-8"),
    "mirage": ("mirage/benchmark.json", b"0.5", "is no JSON object"),
    "medqa": ("mirage/benchmark.json", b'{"medqa": []}', "medqa is no object"),
    "explaincpe": ("explaincpe/train.json", b"NaN", "is no JSON list"),
    "mintaka": ("mintaka/mintaka_dev.json", b"7", "is no JSON list"),
    "cmb": ("cmb_exam/apollo_xmedbench_zh.json", b"[7]", "item 0 is no object"),
}


@pytest.mark.parametrize(("name", "row"), [*BROKEN.items(), *FUZZED.items()])
def test_a_damaged_file_is_one_line_that_names_it(name: str, row: tuple[str, bytes, str], tmp_path: Path) -> None:
    file, content, told = row
    for needed in dataset(name).files:
        (tmp_path / needed).parent.mkdir(exist_ok=True)
        (tmp_path / needed).write_bytes(b"[]")
    (tmp_path / file).write_bytes(content)
    with pytest.raises(SourceError, match=told) as caught:
        load(name, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", ["stream", "version"])
def test_a_workbook_with_a_damaged_member_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "mmcu_medical/MMCU-Medical.xlsx"
    path.parent.mkdir()
    book = Workbook()
    book.active.append(["q", "A"] * 50)
    book.save(path)
    with ZipFile(path) as archive:
        member = archive.getinfo("xl/worksheets/sheet1.xml")
    data = bytearray(path.read_bytes())
    if damage == "stream":
        begin = member.header_offset + 30 + len(member.filename)
        data[begin : begin + 40] = b"\xff" * 40
    else:
        data[data.index(b"PK\x01\x02") + 6] = 119  # the version that is needed to unpack it
    path.write_bytes(data)
    with pytest.raises(SourceError, match="is no Excel file"):
        load("mmcu", tmp_path)


def test_xml_that_declares_entities_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "liveqa_medical/TREC-2017-LiveQA-Medical-Test.xml"
    path.parent.mkdir()
    path.write_text('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', encoding="utf-8")
    with pytest.raises(SourceError, match="declares entities"):
        load("liveqa", tmp_path)


def test_a_packed_file_is_read_as_the_plain_one(tmp_path: Path) -> None:
    (tmp_path / "mirage").mkdir()
    row = {"question": "Is it so?", "options": {"A": "yes", "B": "no"}, "answer": "B"}
    packed = lzma.compress(json.dumps({"bioasq": {"7": row}}).encode())
    (tmp_path / "mirage/benchmark.json.xz").write_bytes(packed)
    (item,) = load("bioasq", tmp_path)
    assert item.gold.choices == ("B",)
    (tmp_path / "mirage/benchmark.json.xz").write_bytes(packed[:-9])
    with pytest.raises(SourceError, match="is damaged"):
        load("bioasq", tmp_path)


OWN = [
    ({"question": "Which?", "options": {"A": "x", "B": "y"}, "answer": "B", "id": "q"}, ""),
    ({"question": "Why?", "texts": ["so"]}, ""),
    ({"question": " "}, "has no question"),
    ({"question": "Which?", "options": {"A": "x"}, "answer": "B"}, "no letter of its options"),
    ({"question": "Which?", "options": ["x"]}, "no object of letter and text"),
    ({"question": "Which?", "texts": "so"}, "no list of texts"),
]


@pytest.mark.parametrize(("row", "told"), OWN)
def test_a_row_of_ones_own_is_read_or_told_why_not(row: dict[str, object], told: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text("\n" + json.dumps(row) + "\n", encoding="utf-8")
    if told:
        with pytest.raises(SourceError, match=rf"mine.jsonl:2: .*{told}.*; write a question a line"):
            load(str(file), tmp_path)
    else:
        (item,) = load(str(file), tmp_path)
        assert item.question.id == row.get("id", "2")


def test_a_line_of_ones_own_that_is_no_json_is_told_how_to_mend(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": 1\n', encoding="utf-8")
    with pytest.raises(SourceError, match=r"mine.jsonl:1: is not JSON; write a question a line"):
        load(str(file), tmp_path)


def test_an_id_that_comes_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "a", "question": "x"}\n' * 2, encoding="utf-8")
    with pytest.raises(SourceError, match="has the id 'a' of line 1"):
        load(str(file), tmp_path)


@given(st.sets(st.sampled_from(LETTERS), min_size=1), st.sampled_from(["{}", " {} ", "({})", "{}."]))
def test_the_letters_of_a_key_are_read_however_it_is_dressed(letters: set[str], dress: str) -> None:
    assert answer_letters(dress.format("、".join(sorted(letters, reverse=True)))) == tuple(sorted(letters))


@given(st.lists(st.text("肺肝心肾脾", min_size=1, max_size=4), min_size=1, max_size=5))
def test_an_options_letter_is_taken_off_and_its_text_left_alone(texts: list[str]) -> None:
    wanted = tuple(zip(LETTERS, texts, strict=False))
    assert options(texts) == wanted
    assert options([f"{letter}．{text}" for letter, text in wanted]) == wanted
    assert options([f"{letter.lower()}、 {text}" for letter, text in wanted]) == wanted
