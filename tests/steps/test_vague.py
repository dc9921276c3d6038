"""Of a story of which too little is known no list of diseases is made."""

from kgmed.records import Evidence, Mention, Relation, Role
from kgmed.steps.vague import Vague
from role_graph import RoleGraph, query

ROWS = [("flu", "shows", "fever"), ("flu", "shows", "cough"), ("gout", "shows", "pain"), ("pox", "shows", "rash")]
MANY = [(f"d{i}", "shows", "fever") for i in range(160)]
G = RoleGraph(
    [*ROWS, *MANY],
    (Relation("shows", Role.FINDING),),
    {"disease": ["flu", "gout", "pox", *(f"d{i}" for i in range(160))], "symptom": ["fever", "cough", "pain", "rash"]},
)
MISSED = [Mention(w, w, i, i + 1) for i, w in enumerate(("one", "two", "three"))]


def card(disease: str, *findings: str) -> Evidence:
    return Evidence(disease, "candidate", (), tuple(G.link(n).entity for n in (disease, *findings)), 1.0)


def test_the_best_disease_explains_one_finding_of_several() -> None:
    links = [G.link(n) for n in ("cough", "pain", "rash")]
    said = Vague(G)(query("cough, pain and a rash"), links, [card("flu", "cough"), card("gout", "pain")], [])
    assert said is not None
    assert (said.id, "cough, pain" in said.text) == ("lacking", True)
    assert Vague(G)(query("x"), links, [card("flu", "cough", "pain")], []) is None


def test_one_finding_that_many_diseases_show_is_too_little_where_the_rest_was_not_understood() -> None:
    links = [G.link("fever")]
    said = Vague(G)(query("发热"), links, [card("flu", "fever")], MISSED)
    assert said is not None
    assert "one" in said.text
    assert Vague(G)(query("fever"), links, [card("flu", "fever")], MISSED[:1]) is None
    assert Vague(G)(query("cough"), [G.link("cough")], [card("flu", "cough")], MISSED) is None
