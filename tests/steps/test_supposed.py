"""An illness that is supposed is weighed against what is told before others are named."""

from dataclasses import replace

import pytest

from kgmed.records import Link, Mention, Relation, Role
from kgmed.steps.supposed import Supposed, supposed
from role_graph import RoleGraph, query

ROWS = [("gout", "shows", "fever"), ("gout", "shows", "pain"), ("flu", "shows", "fever"), ("flu", "shows", "cough")]
G = RoleGraph(
    [*ROWS, ("tea", "treats", "gout")],
    (Relation("shows", Role.FINDING), Relation("treats", Role.TREATS)),
    {"disease": ["gout", "flu"], "symptom": ["fever", "cough", "pain"], "drug": ["tea"]},
)


def links(text: str, *names: str) -> list[Link]:
    placed = [Mention(name, name, text.index(name), text.index(name) + len(name)) for name in names]
    return [replace(G.link(m.name), mention=m) for m in placed]


@pytest.mark.parametrize(
    "text",
    [
        "I have a fever and I think it might be gout",
        "fever, my doctor suspects gout",
        "fever. Could this be gout?",
        "fever: do I have gout?",
        "发热 fever，会不会是 gout",
        "fever，是 gout 吗",
    ],
)
def test_what_is_supposed_is_found(text: str) -> None:
    assert [x.entity.name for x in supposed(G, text, links(text, "fever", "gout"))] == ["gout"]


@pytest.mark.parametrize(
    "text",
    [
        "I have gout and now a fever",
        "does gout cause fever?",
        "I am afraid of the fever. What treats gout?",
        "I think a lot, and gout gives me fever",
    ],
)
def test_what_is_known_or_asked_of_is_not_supposed(text: str) -> None:
    assert supposed(G, text, links(text, "fever", "gout")) == []


def test_it_is_said_which_of_the_findings_the_graph_has_of_it() -> None:
    text = "fever and a cough, might be gout"
    told = links(text, "fever", "cough", "gout")
    (piece,) = Supposed(G)(query(text), told, told[2:])
    assert [t.object.name for t in piece.triples] == ["fever"]
    assert "fever" in piece.text
    assert "not list" in piece.text


def test_that_it_has_none_of_them_is_said() -> None:
    text = "a cough, might be gout"
    told = links(text, "cough", "gout")
    (piece,) = Supposed(G)(query(text), told, told[1:])
    assert piece.triples == ()
    assert "none" in piece.text


def test_of_an_illness_alone_nothing_is_weighed() -> None:
    text = "might be gout"
    told = links(text, "gout")
    assert Supposed(G)(query(text), told, told) == []
