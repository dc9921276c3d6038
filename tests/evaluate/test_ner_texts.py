"""Reading CMeEE's format, and splitting it."""

import json
import lzma
import random
from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.evaluate.linking import Sample, fingerprint, read, split
from kgmed.models.w2ner import FoundEntity

GOOD = {"text": "细胞减少", "entities": [{"start_idx": 0, "end_idx": 3, "type": "sym", "entity": "细胞减少"},
                                        {"start_idx": 0, "end_idx": 1, "type": "bod", "entity": "细胞"}]}  # fmt: skip
SPLIT = {"text": "手和脚痛", "entities": [{"start_idx": [0, 3], "end_idx": [0, 3], "type": "sym", "entity": "手痛"}]}


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_list_lines_and_a_packed_file_say_the_same(tmp_path: Path) -> None:
    listed = written(tmp_path / "a.json", json.dumps([GOOD, SPLIT], ensure_ascii=False, indent=2))
    lines = written(tmp_path / "a.jsonl", "\n".join(json.dumps(r) for r in (GOOD, SPLIT)) + "\n")
    packed = tmp_path / "a.json.xz"
    packed.write_bytes(lzma.compress(listed.read_bytes()))
    wanted = [
        Sample("细胞减少", (FoundEntity("sym", ((0, 4),)), FoundEntity("bod", ((0, 2),)))),
        Sample("手和脚痛", (FoundEntity("sym", ((0, 1), (3, 4))),)),
    ]
    assert [read(path) for path in (listed, lines, packed)] == [wanted] * 3


def test_chineseblues_layout_says_the_same_with_type_or_label(tmp_path: Path) -> None:
    rows = [
        {"text": "查hiv", "mention_data": [{"mention": "HIV", "offset": "1", "type": "test", "guid": "None"}]},
        {"text": "细胞减少", "mention_data": [{"mention": "细胞", "offset": 0, "label": "body"}]},
    ]
    path = written(tmp_path / "a.json", "\n".join(map(json.dumps, rows)))
    assert read(path) == [
        Sample("查hiv", (FoundEntity("test", ((1, 4),)),)),
        Sample("细胞减少", (FoundEntity("body", ((0, 2),)),)),
    ]


def mention(**change: object) -> str:
    return json.dumps({"text": "细胞减少", "mention_data": [{"mention": "细胞", "offset": "0", "type": "x"} | change]})


def entity(**change: object) -> str:
    return json.dumps([GOOD, {"text": "细胞减少", "entities": [{"start_idx": 0, "end_idx": 1, "type": "x"} | change]}],
                      indent=1, ensure_ascii=False)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 0, "is empty"),
        ("nonsense", 1, "not JSON"),
        (json.dumps([GOOD])[:-1], 1, "does not end"),
        (json.dumps([GOOD]) + "x", 1, "does not end"),
        ("[1]", 1, "record 1 has no text"),
        ('{"text": "a"}\n{"text": 5}', 1, "record 1 has no list of entities"),
        ('{"text": "a", "entities": []}\n\n{"text": 5}', 3, "record 2 has no text"),
        (entity(type=""), 19, "record 2, entity 1 has no type"),
        (entity(end_idx=4), 19, "record 2, entity 1 has no places"),
        (entity(start_idx=2), 19, "has no places"),
        (entity(start_idx=-1), 19, "has no places"),
        (entity(start_idx=True), 19, "has no places"),
        (entity(start_idx="0"), 19, "has no places"),
        (entity(start_idx=[0, 1], end_idx=[1]), 19, "has no places"),
        (entity(start_idx=[1, 0], end_idx=[1, 0]), 19, "has no places"),
        (mention(offset="2"), 1, "is called '细胞', but the text has '减少'"),
        (mention(offset="9" * 5000), 1, "has no places"),
        (mention(offset=None), 1, "has no places"),
        (mention(mention=5), 1, "has no places"),
        (mention(type=None), 1, "has no type"),
        (json.dumps({"text": "a", "mention_data": [5]}), 1, "has no type"),
        (entity(entity="减少"), 19, "is called '减少', but the text has '细胞'"),
        ('[{"text": "a\\ud800", "entities": []}]', 1, "record 1 holds half a character"),
        ("[" * 100_000, 1, "not JSON"),
    ],
)
def test_a_damaged_file_is_refused_with_line_and_record(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = written(tmp_path / "bad.json", text)
    with pytest.raises(SourceError) as refused:
        read(path)
    assert says in str(refused.value)
    assert refused.value.line == line
    assert "\n" not in str(refused.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    half = tmp_path / "half.json.xz"
    half.write_bytes(lzma.compress(b"[]")[:-9])
    latin = tmp_path / "latin.json"
    latin.write_bytes("[é]".encode("latin-1"))
    for path, says in (
        (tmp_path / "none.json", "no such file"),
        (half, "compressed data is damaged"),
        (latin, "UTF-8 text at byte 1"),
    ):
        with pytest.raises(SourceError, match=says):
            read(path)


def test_the_parts_are_apart_whole_and_the_same_whatever_the_order_of_the_file() -> None:
    samples = [Sample(f"text {i}", ()) for i in range(2000)]
    parts = split(samples)
    mixed = split(random.Random(1).sample(samples, len(samples)))
    assert sorted([*parts.train, *parts.dev, *parts.test]) == sorted(samples)
    assert [set(p) for p in (parts.train, parts.dev, parts.test)] == [
        set(p) for p in (mixed.train, mixed.dev, mixed.test)
    ]
    assert 1500 < parts.counts["train"] < 1700
    assert 140 < parts.counts["dev"] < 260
    assert set(split(samples, seed=1).test) != set(parts.test)


def test_equal_texts_are_never_in_two_parts() -> None:
    parts = split([Sample("胃痛", ()), Sample("胃痛", (FoundEntity("sym", ((0, 2),)),))] * 5)
    assert sorted(parts.counts.values()) == [0, 0, 10]


def test_the_fingerprint_changes_with_text_and_entity() -> None:
    one = [Sample("胃痛", ())]
    assert (
        len({fingerprint(s) for s in (one, [Sample("胃痛", (FoundEntity("a", ((0, 1),)),))], [Sample("胃疼", ())], [])})
        == 4
    )


@pytest.mark.data
def test_cmeee_is_read_whole(data: Path) -> None:
    samples = read(data / "cmeee" / "CMeEE-V2_dev.json.xz")
    assert (len(samples), sum(len(s.entities) for s in samples)) == (5000, 26081)
    assert split(samples).counts == {"train": 4006, "dev": 501, "test": 493}
