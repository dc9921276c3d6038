import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, TextRow
from kgmed.graph.formats.cmekg import read_cmekg, tidy
from kgmed.records import Role

Graph = dict[str, dict[str, list[str]]]
Pickle = Callable[[object], Path]


@pytest.fixture
def pickled(tmp_path: Path) -> Pickle:
    def to(value: object) -> Path:
        path = tmp_path / "graph.pkl"
        path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol=0))
        return path

    return to


def rows_of(path: Path) -> list[Row]:
    return list(read_cmekg(path).rows())


def test_a_drug_has_its_names_its_relations_and_its_texts(pickled: Pickle) -> None:
    graph: Graph = {
        "甲药片": {
            "英文名": ["Drug A"],
            "别称": ["甲药"],
            "ATC编码": ["A01BC01"],
            "适应症": ["胃病", "咳嗽等"],
            "不良反应": ["恶心"],
            "禁忌": ["孕妇禁用"],
            "商品名": ["甲宝"],
            "从未见过": ["x"],
        }
    }
    names = (Alias("Drug A", Scope.TRANSLATION), Alias("甲药", Scope.EXACT), Alias("ATC:A01BC01", Scope.XREF))
    assert rows_of(pickled(graph)) == [
        EdgeRow("甲药片", "适应症", "胃病"),
        EdgeRow("甲药片", "适应症", "咳嗽"),
        EdgeRow("甲药片", "不良反应", "恶心"),
        EdgeRow("甲药片", "商品名", "甲宝"),
        NodeRow("甲药片", kind="drug", aliases=names),
        TextRow("甲药片", "禁忌", "孕妇禁用"),
        TextRow("甲药片", "从未见过", "x"),
    ]


def test_relations_are_declared_with_role_direction_and_kinds(pickled: Pickle) -> None:
    source = read_cmekg(pickled({"a": {"b": ["c"]}}))
    role = {name: (r.role, r.reverse) for name, r in source.relations.items()}
    assert role["相关药物"] == (Role.TREATS, True)
    assert role["实验室检查"] == (Role.TESTS, True)
    assert role["相关疾病"] == (Role.TESTS, False)
    assert role["下位关系"] == (Role.IS_A, True)
    assert role["禁忌"] == (Role.CONTRAINDICATED, False)
    assert source.kinds["相关药物"] == ("disease", "drug")
    assert (source.prefix, source.language, source.name) == ("cmekg", "zh", "cmekg")


def test_the_same_relation_means_another_thing_at_a_disease(pickled: Pickle) -> None:
    graph: Graph = {
        "尿检": {"相关疾病": ["肾炎"], "所属分类": ["尿"]},
        "肾炎": {"相关疾病": ["水肿"], "常见症状": ["发热"]},
    }
    rows = rows_of(pickled(graph))
    assert [r.kind for r in rows if isinstance(r, NodeRow)] == ["test", "disease"]
    assert EdgeRow("尿检", "相关疾病", "肾炎") in rows
    assert EdgeRow("肾炎", "相关疾病（疾病）", "水肿") in rows


@pytest.mark.parametrize("nothing", ["尚不明确", "无", "III", "12%"])
def test_a_value_that_names_nothing_is_a_text(pickled: Pickle, nothing: str) -> None:
    assert rows_of(pickled({"甲": {"不良反应": [nothing]}}))[1:] == [TextRow("甲", "不良反应", nothing)]


def test_an_empty_value_is_dropped_with_the_number_of_its_triple(pickled: Pickle) -> None:
    rows = rows_of(pickled({"甲": {"别称": ["乙", " "], "适应症": ["丙", "\xa0", "丁"]}}))
    assert [r for r in rows if isinstance(r, DroppedRow)] == [DroppedRow("empty name", 2), DroppedRow("empty name", 4)]
    assert len([r for r in rows if isinstance(r, EdgeRow)]) == 2


def test_brackets_that_mean_also_called_give_other_names(pickled: Pickle) -> None:
    rows = rows_of(
        pickled({"甲": {"适应症": ["睡眠障碍［失眠症］", "聚合酶反应（PCR）", "尿检（必要时）", "片（II）"]}})
    )
    assert [r for r in rows if isinstance(r, NodeRow)][1:] == [
        NodeRow("睡眠障碍［失眠症］", aliases=(Alias("睡眠障碍", Scope.RELATED), Alias("失眠症", Scope.RELATED))),
        NodeRow("聚合酶反应（PCR）", aliases=(Alias("聚合酶反应", Scope.RELATED), Alias("PCR", Scope.RELATED))),
    ]


def test_a_name_is_tidied_at_its_ends_only() -> None:
    assert tidy(" ，咳嗽、气喘等。") == "咳嗽、气喘"
    assert tidy("高等") == "高等"


def test_nothing_is_run_when_a_pickle_names_a_class(pickled: Pickle, tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "harm"),)

    for protocol in range(6):
        path = pickled(pickle.dumps({"a": {"b": [Harm()]}}, protocol=protocol))
        with pytest.raises(SourceError, match="holds more than dicts, lists and strings"):
            rows_of(path)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"(dp0\n", "holds more than"),
        (b"(dp0\ns.", "damaged pickle"),
        (b"(dp0\ng7\n.", "damaged pickle"),
        (b"(lp0\n.", "is not dict"),
        (b"(dp0\nVa\np1\n(lp2\nVb\nas.", "is not dict"),
        (b"(dp0\nVa\np1\n(dp2\nVr\n(lp3\ng0\nass.", "is not dict"),
        (b"(dp0\n(lp1\nVb\ns.", "damaged pickle"),
        (b"(dp0\nVa\\ud800\np1\n(dp2\ns.", ":2: holds a NUL or half a character"),
        (b"cos\nsystem\n(Vid\ntR.", ":1: holds more than"),
        (b"(dp0\nVa\np1\ncos\nsystem\ns.", ":4: holds more than"),
        (b"(dp99999999999\n.", ":1: holds more than"),
        (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", ":1: holds more than"),
        (b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.", ":1: holds more than"),
        (b"(dp0\nr\xff\xff\xff\x7f.", ":2: holds more than"),
        (b"P0\n.", ":1: holds more than"),
    ],
)
def test_a_damaged_or_hostile_pickle_is_one_line_of_error(pickled: Pickle, data: bytes, said: str) -> None:
    path = pickled(data)
    with pytest.raises(SourceError) as caught:
        rows_of(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_comes_after_a_treatment_is_no_treatment() -> None:
    from kgmed.graph.formats.cmekg import RELATIONS
    from kgmed.records import Role

    assert RELATIONS["药物治疗"].role is Role.TREATS
    assert RELATIONS["药物治疗后症状"].role is Role.COMPLICATION
    assert RELATIONS["诊断依据_血培养及药敏试验"].role is Role.OTHER


def test_what_a_label_says_that_a_medicine_is_for_has_its_bare_name_where_others_say_it(pickled: Pickle) -> None:
    graph: Graph = {"甲丸": {"功能主治": ["用于胃痛", "用于胃寒所致"]}, "乙丸": {"适应症": ["胃痛"]}}
    tails = [r.tail for r in rows_of(pickled(graph)) if isinstance(r, EdgeRow)]
    assert tails == ["胃痛", "用于胃寒所致", "胃痛"]
