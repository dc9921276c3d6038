"""Treatments that a graph itself speaks against are found, and are never first in a list."""

from kgmed.graph.contradictions import contradictions, counts, warnings_of
from kgmed.records import Relation, Role
from kgmed.steps.family import Family
from role_graph import RoleGraph

RELATIONS = (
    Relation("treats", Role.TREATS),
    Relation("causes", Role.ADVERSE),
    Relation("must not", Role.CONTRAINDICATED),
    Relation("shows", Role.FINDING),
    Relation("comes of", Role.CAUSE),
)
ROWS = [
    ("lincomycin", "treats", "colitis"),
    ("vancomycin", "treats", "colitis"),
    ("metronidazole", "treats", "colitis"),
    *((f"{name}", "causes", "colitis") for name in ("lincomycin", "lincomycin tablets", "clindamycin", "cefaclor")),
    *((f"{name}", "causes", "colitis") for name in ("cefixime", "ampicillin", "amoxicillin")),
    ("curare", "treats", "重症肌无力"),
    ("neostigmine", "treats", "重症肌无力"),
    ("cefixime", "treats", "流感"),
    ("cefixime", "treats", "流感嗜血杆菌"),
    ("oseltamivir", "treats", "流感"),
    ("流感", "comes of", "流感病毒"),
    ("ampicillin", "treats", "流感"),
    ("ampicillin", "treats", "葡萄球菌"),
    ("tonic", "must not", "gout"),
    ("tonic", "treats", "gout"),
    ("ibuprofen", "treats", "headache"),
    *((f"ibuprofen {n}", "treats", "headache") for n in range(3)),
    ("ibuprofen", "causes", "headache"),
    ("methylene blue tablets", "treats", "gout"),
    ("favism", "shows", "methylene blue"),
    ("favism", "shows", "headache"),
]
DRUGS = sorted({head for head, relation, _ in ROWS if relation not in ("shows", "comes of")})
ILL = ["favism", "colitis", "重症肌无力", "流感", "流感嗜血杆菌", "葡萄球菌", "gout", "headache"]
TEXTS = [
    ("curare", "must not", "禁用于重症肌无力"),
    ("neostigmine", "must not", "对本品过敏者禁用"),
    ("oseltamivir", "must not", "尚不明确"),
    ("cefixime", "must not", "Not yet known."),
]
G = RoleGraph(ROWS, RELATIONS, {"drug": DRUGS, "disease": ILL}, texts=TEXTS)


def pairs(kind: str) -> set[tuple[str, str]]:
    return {(t.subject.name, t.object.name) for t in map(G.triple, counts(G)[kind])}


def test_a_medicine_whose_own_label_or_edge_forbids_the_illness_is_found() -> None:
    assert pairs("own label") == {("curare", "重症肌无力"), ("tonic", "gout")}
    assert contradictions(G).pairs == {("curare", "重症肌无力"), ("tonic", "gout")}


def test_an_indication_that_is_a_side_effect_is_found_unless_many_labels_say_it() -> None:
    assert pairs("side effect") == {("lincomycin", "colitis")}


def test_the_beginning_of_another_indication_is_found() -> None:
    assert pairs("prefix") == {("cefixime", "流感"), ("ampicillin", "流感")}  # of what bacteria are treated by, too


def test_a_side_effect_that_is_what_a_medicine_is_given_for_is_found() -> None:
    assert pairs("indication") == {("ibuprofen", "headache")}


def test_a_finding_that_is_a_medicine_is_found_and_last() -> None:
    assert pairs("medicine") == {("favism", "methylene blue")}
    shown = [t.object.name for t in Family(G).ordered(G.entity("favism"), Role.FINDING, own=True)]
    assert shown == ["headache", "methylene blue"]


def test_it_is_last_in_the_list_of_treatments_and_of_indications() -> None:
    of = [t.subject.name for t in Family(G).ordered(G.entity("colitis"), Role.TREATS, own=False)]
    assert (sorted(of[:2]), of[2]) == (["metronidazole", "vancomycin"], "lincomycin")
    assert [t.object.name for t in Family(G).ordered(G.entity("cefixime"), Role.TREATS, own=True)][-1] == "流感"


def test_that_no_contraindication_is_known_is_none() -> None:
    told = {name: warnings_of(G).of(G.number(G.entity(name).id)) for name in ("curare", "oseltamivir", "cefixime")}
    assert [name for name, said in told.items() if said] == ["curare"]
