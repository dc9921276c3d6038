"""A question whose words no pattern knows is asked in plain words, and only where it is sure what it asks."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.language import restate
from kgmed.records import Evidence, Link, Query, Relation, Role
from kgmed.steps.pairs import VERDICT
from kgmed.steps.restated import Restated
from role_graph import RoleGraph, query

G = RoleGraph(
    [("colchicine", "treats", "gout")],
    (Relation("treats", Role.TREATS),),
    {"disease": ["gout", "flu"], "drug": ["colchicine"]},
    isolated=["flu"],
)
MODEL = restate._model()


class Sure:
    """An encoder of the trained name whose vector means one type."""

    dimensions = 512

    def __init__(self, asked: str, *, name: str = str(MODEL["encoder"]), certain: bool = True) -> None:
        self.name, column = name, MODEL["types"].tolist().index(asked)
        vector = MODEL["weights"][0][:, column].astype(np.float32)
        self.vector = vector / np.linalg.norm(vector) if certain else np.zeros(512, np.float32)

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return np.stack([self.vector for _ in texts])


def linked(name: str, text: str) -> Link:
    link = G.link(name)
    object.__setattr__(link.mention, "start", text.index(name))
    object.__setattr__(link.mention, "end", text.index(name) + len(name))
    return link


def asked(text: str, encoder: Sure, *names: str, unknown: Sequence[str] = (), lacks: bool = False) -> list[str]:
    """The texts of the questions that the retriever behind it was asked."""
    seen: list[str] = []

    def retrieve(q: Query, links: Sequence[Link]) -> list[Evidence]:
        seen.append(q.text)
        assert [q.text[x.mention.start : x.mention.end] for x in links] == [x.mention.surface for x in links]
        return [Evidence("x", VERDICT if lacks else "text", (), (links[0].entity,), 1.0, "lacking")]

    links = [linked(name, text) for name in names]
    Restated(G, retrieve, encoder, lambda q, x: list(unknown))(query(text), links)
    return seen


def test_it_is_asked_in_plain_words_with_its_own_names() -> None:
    assert asked("what shifts gout", Sure("treatment"), "gout") == ["How is gout treated?"]


@pytest.mark.parametrize(
    ("text", "encoder", "unknown"),
    [
        ("what shifts gout", Sure("treatment", certain=False), ()),
        ("what shifts gout", Sure("treatment", name="another"), ()),
        ("what shifts gout with zorbital", Sure("treatment"), ("zorbital",)),
        ("what are the symptoms of gout", Sure("treatment"), ()),
        ("what shifts gout, " + "and so on " * 30, Sure("treatment"), ()),
        ("what shifts gout", Sure("other"), ()),
    ],
)
def test_it_stands_as_it_is_where_nothing_is_sure_or_a_pattern_knows_it(
    text: str, encoder: Sure, unknown: Sequence[str]
) -> None:
    assert asked(text, encoder, "gout", unknown=unknown) == [text]


def test_what_the_graph_lacks_of_one_reading_is_looked_for_by_the_likelier() -> None:
    text = "what are the symptoms of gout"
    assert asked(text, Sure("treatment"), "gout", lacks=True) == [text, "How is gout treated?"]
    assert asked("how much does gout cost", Sure("treatment"), "gout", lacks=True) == ["how much does gout cost"]


def test_findings_that_are_told_and_bare_names_ask_nothing() -> None:
    assert asked("gout and flu", Sure("causes it"), "gout", "flu") == ["gout and flu"]


def test_names_stand_in_for_those_of_the_question() -> None:
    said = restate.standing_in("can colchicine do for gout", [(4, 14, "M"), (22, 26, "X")], chinese=False)
    assert said == "can aspirin do for gout"
