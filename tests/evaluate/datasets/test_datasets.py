"""Loaders read the published layouts, count what they hold, and name file and line of what they cannot read."""

import json
import lzma
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.evaluate.datasets import checksum, dataset, datasets, known_other, load, missing, others, patients
from kgmed.evaluate.datasets.files import LETTERS, answer_letters, options
from kgmed.evaluate.reproduce import doable, table
from kgmed.graph.base import EdgeRow, Source
from kgmed.reward.cases import Split

Workbook = pytest.importorskip("openpyxl").Workbook
pytest.importorskip("defusedxml")


NOT_AT_HAND = (
    "mddial-questions",
    "cmb-clin",
    "cmb-exam",
    "cmb-several",
    "gmd-questions",
    "jmmlu",
    "mmlu-ko",
    "mmlu-sw",
)  # read from files of their layout below


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(datasets()))
def test_a_data_set_is_whole_and_each_item_can_be_scored(name: str, data: Path) -> None:
    if name in NOT_AT_HAND and missing(dataset(name), data):
        with pytest.raises(BadInput, match=f"lacks .* of {name}; get it from https://"):
            load(name, data)
        return
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
    if name.startswith(("xlbel-", "gmd", "mddial")) and missing(
        found, data
    ):  # any language of the ten may be fetched by itself
        with pytest.raises(BadInput, match=f"lacks .* of {name}; get it from https://"):
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
def test_the_questions_that_mindmap_asked_are_those_of_its_record(data: Path) -> None:
    items = load("explaincpe-400", data)
    assert {len(i.question.options) for i in items} == {5}
    assert all(i.gold.texts and "\nA" not in i.question.text for i in items)
    of = table("mindmap/table6")
    assert (*of.datasets,) == ("explaincpe-400",)
    asked = doable(of, data)
    assert "explaincpe-400" in asked.datasets


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
        "item 0 lacks options, answer",
    ),
    "mirage": ("mirage/benchmark.json", b'{"medqa": {"1": {"question": "?"}}}', "medqa 1 lacks answer"),
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
    "cmb": ("cmb_exam/apollo_xmedbench_zh.json", b"[7]", "item 0 lacks question, options"),
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


@pytest.mark.parametrize("damage", ["stream", "version", "length", "encrypted"])
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
    elif damage == "version":
        data[data.index(b"PK\x01\x02") + 6] = 119  # the version that is needed to unpack it
    else:
        entry = data.rindex(b"PK\x01\x02", 0, data.index(member.filename.encode(), member.header_offset + 50))
        if damage == "length":  # stored, and longer than the file
            data[member.header_offset + 8] = data[entry + 10] = 0
            data[entry + 22] = data[entry + 26] = 1
        else:
            data[entry + 8] |= 1
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


def test_a_patient_of_cmb_clin_is_as_many_questions_as_are_asked_about_him(tmp_path: Path) -> None:
    pairs = [{"question": "诊断？", "solution": "腹外疝"}, {"question": "治疗？", "answer": "手术"}]
    rows = [{"id": 3, "title": "腹外疝", "description": "男，49岁。", "QA_pairs": pairs}]
    file = tmp_path / dataset("cmb-clin").files[0]
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(rows), encoding="utf-8")
    items = load("cmb-clin", tmp_path)
    assert [(i.question.id, i.question.text, i.gold.texts) for i in items] == [
        ("3:0", "男，49岁。\n\n诊断？", ("腹外疝",)),
        ("3:1", "男，49岁。\n\n治疗？", ("手术",)),
    ]
    file.write_text(json.dumps([{**rows[0], "QA_pairs": [{"question": "诊断？", "solution": " "}]}]), encoding="utf-8")
    with pytest.raises(SourceError, match="item 0 has no description, or a question or solution is empty"):
        load("cmb-clin", tmp_path)


def test_questions_of_cmb_exam_have_every_letter_of_its_key(tmp_path: Path) -> None:
    one = {
        "id": 1,
        "question": "哪个？",
        "option": {"A": "肺", "B": "肝", "E": ""},
        "exam_class": "护士",
        "question_type": "单项选择题",
    }
    several = {**one, "id": 2, "exam_class": "医师", "question_type": "多项选择题"}
    questions, key = (tmp_path / file for file in dataset("cmb-exam").files)
    questions.parent.mkdir(parents=True)
    questions.write_text(json.dumps([one, several]), encoding="utf-8")
    key.write_text(json.dumps([{"id": 1, "answer": "B"}, {"id": 2, "answer": "AB"}]), encoding="utf-8")
    assert [i.gold.choices for i in load("cmb-exam", tmp_path)] == [("B",), ("A", "B")]
    assert [i.question.id for i in load("cmb-several", tmp_path)] == ["2"]
    assert [i.question.id for i in load("cmb-exam[护士]", tmp_path)] == ["1"]
    key.write_text(json.dumps([{"id": 1, "answer": "E"}]), encoding="utf-8")
    with pytest.raises(SourceError, match="item 0 has the answer 'E' and the options AB"):
        load("cmb-exam", tmp_path)
    key.write_text(json.dumps([{"id": 3, "answer": "A"}]), encoding="utf-8")
    with pytest.raises(SourceError, match=r"item 0 has the id 1, which CMB-test-choice-answer.json lacks"):
        load("cmb-exam", tmp_path)
    key.write_text(json.dumps([{"id": 3, "key": "A"}]), encoding="utf-8")
    with pytest.raises(SourceError, match=r"CMB-test-choice-answer.json.*item 0 lacks answer"):
        load("cmb-exam", tmp_path)
    questions.write_text(json.dumps([{**one, "options": one["option"], "option": None}]), encoding="utf-8")
    key.write_text(json.dumps([{"id": 1, "answer": "B"}]), encoding="utf-8")
    with pytest.raises(SourceError, match=r"question-merge.json: item 0 lacks option;"):
        load("cmb-exam", tmp_path)


def test_mmlu_in_other_languages_is_read_as_it_is_published_and_its_medical_subjects_alone(tmp_path: Path) -> None:
    for file in (*dataset("jmmlu").files, *dataset("mmlu-sw").files):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        if file.startswith("jmmlu"):
            path.write_text("どれ？,甲,乙,丙,丁,C\n", encoding="utf-8")
        else:
            head = "sample_id,subject,subject_category,question,option_a,option_b,option_c,option_d,answer,culture"
            rows = "a,virology,x,No?,a,b,c,d,A,[]\nb,college_medicine,x,Gani?,moyo,ini,figo,ngozi,B,[]\n"
            path.write_text(f"{head}\n{rows}", encoding="utf-8")
    japanese, swahili = load("jmmlu", tmp_path), load("mmlu-sw", tmp_path, part="all")
    assert [(i.subject, i.gold.choices, i.question.language) for i in japanese[:1]] == [
        ("clinical_knowledge", ("C",), "ja")
    ]
    assert len(japanese) == 3
    assert [(i.part, i.question.options[1], i.gold.choices) for i in swahili] == [
        ("dev", ("B", "ini"), ("B",)),
        ("test", ("B", "ini"), ("B",)),
    ]
    (tmp_path / "jmmlu/college_medicine.csv").write_text("どれ？,甲,乙,丙,C\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"college_medicine.csv:1: is not question, four options and a letter"):
        load("jmmlu", tmp_path)
    (tmp_path / "jmmlu/college_medicine.csv").write_text("\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"college_medicine\.csv: holds no row; get"):
        load("jmmlu", tmp_path)
    for wrong, told in {
        "subject,question,A,B,C,D,answer\n": r"sw_dev.csv:1: has no column option_a, option_b, option_c, option_d",
        "subject,question,option_a,option_b,option_c,option_d,answer\ncollege_medicine,Gani?,a,b,c,d,2\n": (
            r"sw_dev.csv:2: the row has the answer '2' and the options ABCD"
        ),
    }.items():
        (tmp_path / "global_mmlu/sw_dev.csv").write_text(wrong, encoding="utf-8")
        with pytest.raises(SourceError, match=told):
            load("mmlu-sw", tmp_path)


@pytest.mark.data
def test_the_whole_key_of_cmb_fits_questions_laid_out_as_published(data: Path, tmp_path: Path) -> None:
    questions, key = dataset("cmb-exam").files
    rows = json.loads((data / key).read_text("utf-8"))
    made = [{**row, "question": "哪个？", "option": dict.fromkeys("ABCDEF", "肺") | {"G": ""}} for row in rows]
    for file, told in ((questions, made), (key, rows)):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(json.dumps(told), encoding="utf-8")
    items = load("cmb-exam", tmp_path)
    assert (len(items), len({item.subject for item in items})) == (11200, 28)
    assert sum(len(item.gold.choices) > 1 for item in items) == 1165
    assert len(load("cmb-several", tmp_path)) == 1190


@pytest.mark.data
def test_a_row_of_mmcu_whose_options_slipped_is_put_right(data: Path) -> None:
    (item,) = (i for i in load("mmcu", data) if i.question.id == "传染病学339题:306")
    assert dict(item.question.options)[item.gold.choices[0]] == "经门静脉入肝"


@pytest.mark.data
def test_patients_are_asked_about_by_their_symptoms_with_every_disease_as_an_option(data: Path) -> None:
    whole, own = load("mz-questions", data, part="test"), load("mz-questions[explicit]", data, part="test")
    assert (len(whole), len(own)) == (142, 130)
    assert len(load("dxy-questions[explicit]", data, part="test")) == 103
    item = whole[0]
    assert item.question.text == "患者有：发热、中等度热、退热。最可能是下列哪种疾病？"
    assert len(item.question.options) == 4
    assert dict(item.question.options)[item.gold.choices[0]] == item.gold.entities[0] == "上呼吸道感染"


@pytest.mark.data
def test_all_parts_and_some_subjects_can_be_asked_for_and_what_is_not_there_is_told(data: Path) -> None:
    assert len(load("expertqa-med", data, part="all")) == 497
    assert [len(load(f"expertqa-{f}", data, part="all")) for f in ("law", "business", "music", "history")] == [
        100, 96, 52, 61,
    ]  # fmt: skip
    assert load("expertqa[law,MUSIC]", data) == [i for i in load("expertqa", data) if i.subject in ("Law", "Music")]
    assert {i.subject for i in load("cmmlu[college_medicine]", data)} == {"college_medicine"}
    with pytest.raises(BadInput, match=r"cmmlu has no subject 'virology'; it has clinical_knowledge, "):
        load("cmmlu[virology]", data)
    with pytest.raises(BadInput, match=r"liveqa has no subject 'x'; it has no subjects at all"):
        load("liveqa[x]", data)
    with pytest.raises(BadInput, match=r"cmmlu has no part 'val'; it has dev, test, all"):
        load("cmmlu", data, part="val")


def test_patients_of_whom_nothing_is_asked_say_what_they_are_called_as_questions(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"mz holds no questions, .*, or mz-questions"):
        load("mz", tmp_path)


TABLES = {
    "comma.csv": 'id,Question,option_a,option_b,answer,subject,_note\n7,Which?,gout,"flu, cold",B,joints,mine\n',
    "tab.tsv": "question\tA\tB\tanswer\nWhich?\tgout\tflu, cold\tflu, cold\n",
    "semicolon.csv": "题目;选项A;选项B;答案\nWhich?;gout;flu, cold;B\n",
    "mmlu.csv": 'Which?,gout,"flu, cold",x,y,B\n',
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_ones_own_is_read_by_its_header(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("\ufeff" * name.startswith("c") + TABLES[name], encoding="utf-8")
    (item,) = load(str(tmp_path / name), tmp_path)
    assert (item.question.text, item.question.options[:2]) == ("Which?", (("A", "gout"), ("B", "flu, cold")))
    assert item.gold.choices == ("B",)
    if name == "comma.csv":
        assert (item.question.id, item.subject) == ("7", "joints")
        said = dataset(str(tmp_path / name)).columns
        assert said.startswith("question = Question, options = option_a to option_b, answer = answer, id = id, ")
        assert said.endswith("subject = subject, _note left out")


def test_a_sheet_of_excel_is_read_as_a_table_is(tmp_path: Path) -> None:
    book = Workbook()
    for row in [["question", "answer", "entities"], ["What helps?", "Rest.", "rest; sleep"], [None, None, None]]:
        book.active.append(row)
    book.save(tmp_path / "mine.xlsx")
    (item,) = load(str(tmp_path / "mine.xlsx"), tmp_path)
    assert (item.gold.texts, item.gold.entities) == (("Rest.",), ("rest", "sleep"))


REFUSED = [
    ("question,colour\nWhich?,red\n", ":1: has the column 'colour', which is not understood; call it question"),
    ("name,answer\ngout,B\n", ":1: has no column with the question among name, answer; call it"),
    ("", ": is empty; write a question a line"),
    ("question,answer\n", ": holds no question; write a question a line"),
    ("question,first,answer\n?,gout,A\n", ":1: has the column 'first'"),
    (
        "question,answer\nWhich?,A\n",
        ":2: is not understood: its answer is 'A', and none of the columns question, answer",
    ),
    ("question,A,B,answer\nWhich?,gout,flu,C\n", ":2: is not understood: its answer 'C' is none of its options; write"),
    ("question,A,B,answer\nWhich?,gout,flu,1\n", ":2: is not understood: its answer '1' is none"),
    ("question,answer\nWhy?,so,and,so\n", ":2: has 4 cells under 2 columns; put a cell"),
    ("question,answer\n,so\n", ":2: has no question; give it a question"),
    ('question,answer\n"Why?,so\n', ": is no row of a table"),
    ("question,id\nWhy?,1\nWho?,1\n", ":3: has the id '1' of line 2"),
    ("question,answer,answer\nWhy?,a,b\n", ":1: has the column 'answer' twice"),
]


@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_what_a_table_says_that_is_not_understood_is_refused_with_file_line_and_mend(
    text: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        load(str(file), tmp_path)
    assert f"mine.csv{told}" in str(caught.value) or told in str(caught.value)
    assert "\n" not in str(caught.value)


CELLS = st.sampled_from(
    ["question", "option_a", "B", "A", "answer", "id", "", ",", "\t", ";", '"', "\n", "\r", "\x00", "gout", "_x"]
)


@given(cells=st.lists(CELLS, max_size=30), suffix=st.sampled_from([".csv", ".tsv", ".jsonl"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_table_is_read_or_refused_in_one_line(cells: list[str], suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"any{suffix}"
    file.write_text("".join(cells), encoding="utf-8", newline="")
    told = ""
    try:
        items = load(str(file), tmp_path)
    except BadInput as error:
        items, told = [], str(error)
    assert "\n" not in told
    assert all(item.question.text.strip() for item in items)


def test_a_file_of_ones_own_is_named_without_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("question,subject\nWhy?,Joints\nWho?,Lungs\n", encoding="utf-8")
    found = dataset(f"{file}[joints]")
    assert (found.name, found.title) == ("mine[joints]", "mine.csv: joints")
    assert [i.question.text for i in load(f"{file}[joints]", tmp_path)] == ["Why?"]


OWN = [
    ({"question": "Which?", "option_a": "x", "answer": "A"}, "has the field 'option_a', which is not understood"),
    ({"question": "Which?", "options": {"A": "x", "B": "y"}, "answer": "B", "id": "q"}, ""),
    ({"question": "Why?", "texts": ["so"]}, ""),
    ({"question": "Why?", "answer": "so"}, ""),  # as in a table
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
        with pytest.raises(SourceError, match=rf"mine.jsonl:2: .*{told}.*; (write a question a line|the fields are)"):
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
