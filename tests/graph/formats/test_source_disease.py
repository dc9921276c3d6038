import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from kgmed.errors import BadInput, SourceError
from kgmed.graph import formats
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, TextRow
from kgmed.graph.formats import diseases
from kgmed.graph.library import build_graph, load
from kgmed.graph.store.build import build
from kgmed.records import Role

HEADER = "idx,disease,Symptom,Medical Tests,Medications,Note\n"
FLAT = {
    "_id": {"$oid": "1"},
    "name": "百咳",
    "desc": "一种咳嗽",
    "category": ["疾病百科"],
    "symptom": ["干咳", ""],
    "check": ["血常规"],
    "common_drug": ["止咳片"],
    "drug_detail": ["某厂止咳片(止咳片)", "无括号"],
    "not_eat": ["蟹"],
    "cure_department": ["内科", "呼吸内科"],
    "cure_way": [["药物治疗"]],
    "cause": "细菌\n感染",
    "get_prob": "0.5%",
}
NESTED = {
    "gaishu_info": {"name": "百咳", "desc": "一种咳嗽", "has_complication": ["肺炎"], "cure_prob": "98%"},
    "symptom_data": {"symptoms": ["干咳"], "symptom_detail": ["甲", "乙"]},
    "inspect_info": ["血常规"],
    "food_info": {"good_food": ["鸡蛋"], "avoid_food": []},
    "nursing_info": "",
}
NESTED_ROWS = [
    NodeRow("百咳", kind="disease", description="一种咳嗽"),
    EdgeRow("百咳", "need_check", "血常规"),
    EdgeRow("百咳", "acompany_with", "肺炎"),
    TextRow("百咳", "cured_prob", "98%"),
    EdgeRow("百咳", "has_symptom", "干咳"),
    TextRow("百咳", "symptom_detail", "甲\n乙"),
    EdgeRow("百咳", "do_eat", "鸡蛋"),
]


def table(path: Path, text: str) -> list[Row]:
    path.write_text(text, "utf-8")
    return list(diseases.read_disease_table(path).rows())


def test_a_wide_table_gives_one_edge_a_name(tmp_path: Path) -> None:
    text = HEADER + """0,Flu,"['Cough', ""Crohn's fit"", 'Sore\\u0020toe']",[],"['A (Xanax)', nan]",two words\n"""
    assert table(tmp_path / "t.csv", text) == [
        NodeRow("Flu", kind="disease"),
        EdgeRow("Flu", "has_symptom", "Cough"),
        EdgeRow("Flu", "has_symptom", "Crohn's fit"),
        EdgeRow("Flu", "has_symptom", "Sore toe"),
        NodeRow("A (Xanax)", aliases=(Alias("A", Scope.EXACT), Alias("Xanax", Scope.BRAND))),
        EdgeRow("Flu", "need_medication", "A (Xanax)"),
        DroppedRow("an empty field", 2),
        TextRow("Flu", "Note", "two words"),
    ]


def test_a_column_of_another_name_is_a_relation_if_its_cells_are_lists(tmp_path: Path) -> None:
    rows = table(tmp_path / "t.csv", 'disease,Risk factors\nFlu,"[""age"", ""cold""]"\n')
    assert rows[1:] == [EdgeRow("Flu", "Risk factors", "age"), EdgeRow("Flu", "Risk factors", "cold")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": is empty"),
        ("a,b\nc,d\n", ":1: has no column disease"),
        (HEADER + "0,Flu\n", ":2: missing last cells"),
        (HEADER + "0,Flu,\"['a', ['b']]\",[],[],x\n", ":2: a cell in brackets that is no list"),
        (HEADER + "0,Flu,[],[],[],x\n1,Flu,\"['a'\",[],[],x\n", ":3: a cell in brackets that is no list"),
        (HEADER + "0,Flu,[__import__('os')],[],[],x\n", ":2: a cell in brackets that is no list"),
        (HEADER + "0,Flu,\"['a'] * 9\",[],[],x\n", ":2: a cell in brackets that is no list"),
        (HEADER + "0,Flu," + "[" * 50_000 + ",[],[],x\n", ":2: a cell in brackets that is no list"),
        (HEADER + "0,Flu,['" + "a" * (1 << 20) + "'],[],[],x\n", ":2: has a cell of more than a million"),
        (HEADER + "0,Flu,['\\ud800'],[],[],x\n", ":2: holds a NUL or half"),
    ],
)
def test_a_damaged_table_names_the_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.csv").write_text(text, "utf-8")
    with pytest.raises(SourceError) as caught:
        build(replace(diseases.read_disease_table(tmp_path / "t.csv"), strict=True), tmp_path / "built")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_cell_in_brackets_that_is_no_list_is_text_and_counted(tmp_path: Path) -> None:
    rows = table(tmp_path / "t.csv", HEADER + "0,Flu,['Cough'],[],[],[more]\n")
    assert TextRow("Flu", "Note", "more") in rows
    assert [row.line for row in rows if isinstance(row, DroppedRow) and row.file] == [2]


def entries(path: Path, text: str) -> list[Row]:
    path.write_text(text, "utf-8")
    return list(diseases.read_disease_json(path).rows())


def test_an_entry_a_line_gives_the_relations_of_disease_kg(tmp_path: Path) -> None:
    assert entries(tmp_path / "m.json", json.dumps(FLAT) + "\n\n") == [
        NodeRow("百咳", kind="disease", description="一种咳嗽"),
        EdgeRow("百咳", "has_symptom", "干咳"),
        DroppedRow("empty name", 1),
        EdgeRow("百咳", "need_check", "血常规"),
        EdgeRow("百咳", "common_drug", "止咳片"),
        EdgeRow("某厂止咳片", "drugs_of", "止咳片"),
        DroppedRow("no drug in brackets", 1),
        EdgeRow("百咳", "no_eat", "蟹"),
        EdgeRow("百咳", "belongs_to", "内科"),
        EdgeRow("百咳", "belongs_to", "呼吸内科"),
        EdgeRow("呼吸内科", "part_of", "内科"),
        EdgeRow("百咳", "cure_way", "药物治疗"),
        TextRow("百咳", "cause", "细菌 感染"),
        TextRow("百咳", "get_prob", "0.5%"),
    ]


def test_numbered_nested_entries_give_the_same_relations(tmp_path: Path) -> None:
    text = json.dumps({"0": NESTED, "1": NESTED}, ensure_ascii=False, indent=1)
    assert entries(tmp_path / "m.json", text) == NESTED_ROWS * 2


@pytest.mark.parametrize("text", ["[{0},\n{0}]", "{0}\n{0}\n", "\ufeff{0}\n\n{0}"])
def test_entries_may_stand_in_a_list_or_one_after_another(tmp_path: Path, text: str) -> None:
    entry = json.dumps(NESTED)
    assert entries(tmp_path / "m.json", text.replace("{0}", entry)) == NESTED_ROWS * 2
    assert entries(tmp_path / "m.json", text.replace("{0}", json.dumps(NESTED, indent=2))) == NESTED_ROWS * 2


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:xz") as file:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    return path


def test_an_archive_of_entries_is_read_as_its_folder(tmp_path: Path) -> None:
    entry = json.dumps({"0": NESTED}).encode()
    path = archive(tmp_path / "m.tar.xz", {"a.json": entry, "../b.json": entry, "note.txt": b"x"})
    assert list(formats.read("", path).rows()) == NESTED_ROWS * 2
    assert list(tmp_path.iterdir()) == [path]


def test_an_archive_of_json_may_hold_any_graph(tmp_path: Path) -> None:
    nodes = [{"id": "a", "name": "gout"}, {"id": "b", "name": "pain"}]
    edges = [{"source": "a", "target": "b", "relation": "has_symptom"}]
    held = {"edges.json": json.dumps(edges).encode(), "nodes.json": json.dumps(nodes).encode()}
    rows = list(formats.read("", archive(tmp_path / "m.tar.gz", held)).rows())
    assert EdgeRow("m:a", "has_symptom", "m:b") in rows


def test_a_folder_of_entries_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"0": {"name": name}}), "utf-8")
    source = diseases.read_disease_json(tmp_path)
    assert [row.key for row in source.rows() if isinstance(row, NodeRow)] == ["a", "b"]
    assert [path.name for path in source.inputs] == ["a.json", "b.json"]


def test_roles_of_entries_are_declared(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}", "utf-8")
    relations = diseases.read_disease_json(tmp_path).relations
    assert relations["no_eat"].role is Role.AVOID
    assert (relations["common_drug"].role, relations["common_drug"].reverse) == (Role.TREATS, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": is empty"),
        ('{"name": "a"}\n{"name": \n', ":2: is no JSON"),
        ('{"name": "a"}\n3\n', ":2: is no JSON object"),
        ('{"name": ["a"]}', ":1: 'name' or 'desc' is no text"),
        ('{"name": "a"}\n{"name": "a", "symptom": [{}]}', ":2: 'symptom' is no list of names"),
        ('{\n"0": {"name": "a"},\n"1": {"name": "b", "check": [{}]}}', ":3: 'check' is no list"),
        ('{\n"0": {"name": "a"},\n"1": {"gaishu_info": []}}', ":3: 'gaishu_info' is no JSON object"),
        ('{\n"0": {"name": "a"},\n"1" {}}', ":3: is no JSON"),
        ('{"0": {"name": "a"},\n', ":2: ends too early"),
        ('[{"name": "a"},\n', ":2: ends too early"),
        ('[{"name": "a"},\n{"name"', ":2: is no JSON"),
        ('{\n"0": ' + "[" * 100_000, ":2: is nested too deeply"),
        ('{\n"0": {"name": "\\ud800"}}', ":2: holds half a character"),
    ],
)
def test_a_damaged_entry_names_the_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        entries(tmp_path / "m.json", text)
    assert said in str(caught.value)


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path / "m.tar.xz", {"a.json": json.dumps({"0": NESTED}).encode() * 50})
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(SourceError, match="is no archive that can be read"):
        list(formats.read("", path).rows())


def test_a_member_names_itself_in_the_error(tmp_path: Path) -> None:
    path = archive(tmp_path / "m.tar.xz", {"inner.json": b'{\n"0": 3}', "other.json": b"{}"})
    with pytest.raises(SourceError, match=r"m\.tar\.xz/inner\.json:2: is no JSON object"):
        list(formats.read("", path).rows())


def test_a_folder_without_entries_and_no_path_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"holds no \.json file"):
        diseases.read_disease_json(tmp_path)
    with pytest.raises(BadInput, match="needs a file"):
        diseases.read_disease_json(None)


def test_a_chinese_table_of_diseases_is_told_by_its_columns_whatever_its_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path / "home"))
    rows = "name,alias,department,checklist,symptom,drug,rate\n"
    rows += "肺泡蛋白质沉积症,无,内科 呼吸内科,胸部CT检查,紫绀 胸痛 [详细],,40%\n"
    rows += "百日咳,无,儿科,血常规,[详细],琥乙红霉素片、红霉素片,98%\n"
    (tmp_path / "disease.csv").write_bytes(rows.encode("gb18030"))
    build_graph("mine", tmp_path / "disease.csv")
    store = load("mine")
    (disease,) = {match.entity for match in store.lookup("肺泡蛋白质沉积症")}
    found = {(t.relation.role, t.tail.name) for t in store.neighbours(disease.id)}
    assert {
        (Role.FINDING, "紫绀"),
        (Role.FINDING, "胸痛"),
        (Role.CARE, "呼吸内科"),
        (Role.TESTS, "胸部CT检查"),
    } <= found
    drugs = {t.tail.name for t in store.neighbours("mine:百日咳") if t.relation.role is Role.TREATS}
    assert drugs == {"琥乙红霉素片", "红霉素片"}
    assert not store.lookup("详细")
