"""Chinese names that a recogniser cut in two, ran together, or took with the verb of the question."""

import pytest

from kgmed.linking.merge import MentionMerger, WithoutVerb
from kgmed.records import Mention
from role_graph import RoleGraph, query

G = RoleGraph(
    [],
    (),
    {"disease": ["胆囊结石病", "心梗", "骨质疏松症"], "body part": ["胆囊"], "symptom": ["结石"], "drug": ["甲硝唑"],
     "treatment": ["溶栓"]},
    isolated=["胆囊结石病", "心梗", "骨质疏松症", "胆囊", "结石", "甲硝唑", "溶栓"],
    language="zh",
)  # fmt: skip


def mentions(text: str, *names: str) -> list[tuple[str, str]]:
    found = [Mention(n, n, text.index(n), text.index(n) + len(n)) for n in names]
    return [(m.surface, m.name) for m in MentionMerger(lambda _: found, G)(query(text))]


@pytest.mark.parametrize(
    ("text", "names", "whole"),
    [
        ("胆囊结石要开刀吗", ("胆囊", "结石"), [("胆囊结石", "胆囊结石病")]),
        ("胆囊里有结石", ("胆囊", "结石"), [("胆囊", "胆囊"), ("结石", "结石")]),
        ("心梗溶栓有哪些禁忌", ("心梗溶栓",), [("心梗", "心梗"), ("溶栓", "溶栓")]),
        ("怎样预防骨质疏松", ("预防骨质疏松",), [("骨质疏松", "骨质疏松症")]),
        ("康维洛韦能用吗", ("康维洛韦",), [("康维洛韦", "康维洛韦")]),
    ],
)
def test_a_name_is_read_whole_and_alone(text: str, names: tuple[str, ...], whole: list[tuple[str, str]]) -> None:
    assert mentions(text, *names) == whole


def test_the_sign_that_a_name_shares_with_words_that_ask_stays_with_it() -> None:
    graph = RoleGraph([], (), {"disease": ["高血压"]}, isolated=["高血压", "血压"], language="zh")
    whole = Mention("高血压", "高血压", 3, 6)
    assert WithoutVerb(lambda _: [whole], graph)(query("引起的高血压怎么治")) == [whole]
