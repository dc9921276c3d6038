from kgmed.records import Link, Mention, Query, Question, Role
from kgmed.steps.retrieve import Neighbours
from memory_graph import MemoryGraph

QUERY = Query(Question("?"))
GRAPH = MemoryGraph(
    [("Flu", "symptom", "Fever"), ("Flu", "drug", "Oseltamivir"), ("Cold", "symptom", "Fever")],
    roles={"symptom": Role.FINDING, "drug": Role.TREATS},
    weights={("Flu", "symptom", "Fever"): 0.9, ("Flu", "drug", "Oseltamivir"): 0.95},
    texts=[("Flu", "advice", "Rest.")],
)


def links(*names: str, negated: tuple[str, ...] = ()) -> list[Link]:
    return [
        Link(Mention(name, name, -1, -1, name in negated), GRAPH.entity(name.lower()), 1.0, "exact") for name in names
    ]


def test_the_triples_of_an_entity_come_heaviest_first_and_then_its_texts() -> None:
    found = Neighbours(GRAPH)(QUERY, links("Flu"))
    assert [e.text for e in found] == ["Flu — drug → Oseltamivir", "Flu — symptom → Fever", "Flu — advice → Rest."]
    assert {e.kind for e in found} == {"triple"}
    assert [e.score for e in found] == [0.95, 0.9, 1.0]


def test_a_triple_between_two_linked_entities_stands_once_for_both() -> None:
    found = Neighbours(GRAPH, attributes=False)(QUERY, links("Flu", "Fever"))
    assert [e.text for e in found].count("Flu — symptom → Fever") == 1
    shared = next(e for e in found if e.text == "Flu — symptom → Fever")
    assert [entity.name for entity in shared.about] == ["Flu", "Fever"]


def test_roles_and_the_limit_narrow_the_triples() -> None:
    found = Neighbours(GRAPH, roles=(Role.FINDING,))(QUERY, links("Flu"))
    assert [e.text for e in found] == ["Flu — symptom → Fever"]
    assert len(Neighbours(GRAPH, limit=1, attributes=False)(QUERY, links("Flu"))) == 1


def test_a_negated_mention_brings_in_nothing_unless_asked_for() -> None:
    denied = links("Fever", negated=("Fever",))
    assert Neighbours(GRAPH)(QUERY, denied) == []
    assert len(Neighbours(GRAPH, negated=True)(QUERY, denied)) == 2


def test_no_link_brings_no_evidence() -> None:
    assert Neighbours(GRAPH)(QUERY, []) == []
