"""Ties to the options of a question."""

from kgmed.facts.plan import OptionPaths
from kgmed.records import Relation, Role
from role_graph import RoleGraph, query

G = RoleGraph(
    [("fabry", "has", "pain"), ("gout", "has", "swelling"), ("swelling", "near", "hub"), ("pain", "near", "hub")],
    (Relation("has", Role.FINDING),),
    {},
    isolated=["other"],
)
ABC = {"A": "fabry", "B": "gout", "C": "other"}


def options(*stem: str) -> list[tuple[str, str]]:
    found = OptionPaths(G, lambda text: [G.link(text)])(query("Which?", ABC), [G.link(s) for s in stem])
    return [(e.id, e.text) for e in found]


def test_a_direct_tie_is_found_and_outweighs_one_through_something_else() -> None:
    found = options("pain")
    assert found[0] == ("A", "A: fabry — has → pain")
    assert all(letter != "C" for letter, _ in found)


def test_a_tie_of_two_edges_shows_both() -> None:
    assert options("hub") == [
        ("A", "A: pain — near → hub; fabry — has → pain"),
        ("B", "B: swelling — near → hub; gout — has → swelling"),
    ]


def test_nothing_named_gives_nothing() -> None:
    assert options() == []
