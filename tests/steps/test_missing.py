"""What a graph does not say of a thing is told as such, with what it does say of it."""

import pytest

from kgmed.language.types import TYPES
from kgmed.records import Relation, Role
from kgmed.steps.fitting import Fitting
from kgmed.steps.missing import Missing, asks_in_general
from role_graph import RoleGraph, query

G = RoleGraph(
    [
        ("gout", "shows", "pain"),
        ("colchicine", "treats", "gout"),
        ("colchicine", "can cause", "diarrhea"),
        ("gout", "mode", "dominant"),
    ],
    (
        Relation("shows", Role.FINDING),
        Relation("treats", Role.TREATS),
        Relation("can cause", Role.ADVERSE),
        Relation("mode", Role.INHERITANCE),
    ),
    {"disease": ["gout"], "drug": ["colchicine"], "body part": ["toe"]},
    isolated=["toe"],
)
GENE = next(row for row in TYPES if row.role is Role.GENE)


def test_what_is_missing_is_named_with_what_there_is() -> None:
    said = Missing(G)(query("which gene causes gout"), [G.link("gout")], GENE)
    assert said.text == "The graph has no genes for gout. What it has of it: findings, treatments, inheritance."
    taken = Missing(G)(query("秋水仙碱的基因"), [G.link("colchicine")], None)
    assert taken.text == "图谱没有记载所问的关于colchicine的内容。图谱有其适应症、不良反应。"


def test_of_several_things_it_is_said_of_the_one_that_is_asked_about_and_of_no_part_of_the_body() -> None:
    things = [G.link("toe"), G.link("gout")]
    assert Missing(G)(query("can my toe gout come back"), things, None).about == (things[1].entity,)


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("gout", True),
        ("Tell me about gout", True),
        ("what does gout do", True),
        ("介绍一下gout", True),
        ("will gout stop me from flying", False),
        ("gout要注意什么", False),
    ],
)
def test_all_that_is_known_is_told_where_that_is_asked_and_nowhere_else(text: str, general: bool) -> None:
    link = G.link("gout")
    object.__setattr__(link.mention, "start", text.index("gout"))
    object.__setattr__(link.mention, "end", text.index("gout") + 4)
    assert asks_in_general(text, [link]) is general
    found = Fitting(G, lambda _: [])(query(text), [link])
    assert (found[0].id == "lacking") is not general


def test_diseases_that_fit_answer_no_question_of_another_kind() -> None:
    links = [G.link("pain"), G.link("diarrhea")]
    found = Fitting(G, lambda _: [])(query("which chromosome do pain and diarrhea sit on"), links)
    assert [e.id for e in found] == ["lacking"]
