"""What evidence fits a question: the verdict on what is asked before any list."""

from dataclasses import replace

from kgmed.records import Entity, Evidence, Mention, Relation, Role, Triple
from kgmed.steps.fitting import Fitting
from kgmed.steps.halves import by_the_way_named
from role_graph import RoleGraph, query

RELATIONS = (
    Relation("caused by", Role.CAUSE),
    Relation("treats", Role.TREATS),
    Relation("prevented by", Role.PREVENTION),
    Relation("gene", Role.GENE),
    Relation("mode", Role.INHERITANCE),
    Relation("shows", Role.FINDING),
)
G = RoleGraph(
    [
        ("gout", "caused by", "uric acid"),
        ("colchicine", "treats", "gout"),
        ("measles", "prevented by", "measles vaccine"),
        ("dystrophy", "gene", "DMD"),
        ("dystrophy", "mode", "X-linked recessive inheritance"),
    ],
    RELATIONS,
    {"disease": ["gout", "measles", "dystrophy"], "drug": ["colchicine"]},
)


def asked(text: str, name: str) -> list[Evidence]:
    link = G.link(name)
    object.__setattr__(link.mention, "start", text.index(name))
    object.__setattr__(link.mention, "end", text.index(name) + len(name))
    return Fitting(G, lambda _: [])(query(text), [link])


def test_what_no_graph_names_is_told_of_with_the_thing_it_is_asked_of() -> None:
    first, *rest = asked("is gout caused by eating too much sugar", "gout")
    assert first.text == "The graph has no link between gout and eating too much sugar."
    assert [e.triples[0].object.name for e in rest] == ["uric acid"]
    [said] = asked("does standing in the rain cause measles", "measles")
    assert said.text == "The graph has no link between standing in the rain and measles."


def test_whether_there_is_a_vaccine_is_answered_of_vaccines_and_of_nothing_else() -> None:
    assert asked("is there a vaccine for measles", "measles")[0].text.startswith("Yes: measles vaccine helps to")
    assert [e.text for e in asked("is there a vaccine for gout", "gout")] == [
        "The graph has no word of a vaccine for gout."
    ]


def test_both_halves_of_a_question_are_answered() -> None:
    said = asked("which gene is mutated in dystrophy and is it x linked", "dystrophy")
    assert [t.object.name for e in said for t in e.triples] == ["DMD", "X-linked recessive inheritance"]


def test_the_animals_of_a_question_are_declined() -> None:
    assert "advice for animals" in asked("can dogs get measles", "measles")[0].text


STORY = RoleGraph(
    [("stroke", "shows", "weak arm"), ("gout", "shows", "toe pain"), ("flu", "shows", "toe pain")],
    RELATIONS,
    {"disease": ["stroke", "gout", "flu"], "phenotype": ["toe pain", "weak arm"]},
)


def test_what_a_relative_has_is_no_finding_of_the_patient() -> None:
    text = "My dad had a stroke. I have toe pain. What might it be?"
    links = [STORY.link(name) for name in ("stroke", "toe pain")]
    for link in links:
        object.__setattr__(link.mention, "start", text.index(link.mention.surface))
        object.__setattr__(link.mention, "end", text.index(link.mention.surface) + len(link.mention.surface))
    said = Fitting(STORY, lambda _: [])(query(text), links)
    assert {e.about[0].name for e in said} == {"gout", "flu"}
    assert all("stroke" not in e.text for e in said)


def test_two_things_are_compared_by_what_they_are_first() -> None:
    graph = RoleGraph(
        [("gout", "shows", "tophus"), ("flu", "shows", "cough")],
        RELATIONS,
        {"disease": ["gout", "flu"]},
        descriptions={"gout": "Crystals in a joint.", "flu": "A virus of the airways."},
    )
    links = [graph.link(name) for name in ("gout", "flu")]
    said = Fitting(graph, lambda _: [])(query("difference between gout and flu"), links)
    assert [e.triples[0].tail.name for e in said] == [
        "Crystals in a joint.",
        "A virus of the airways.",
        "tophus",
        "cough",
    ]


def test_how_one_catches_a_disease_is_told_by_its_causes_where_no_way_of_infection_is() -> None:
    assert [e.triples[0].object.name for e in asked("how do you catch gout", "gout")] == ["uric acid"]
    assert "way of infection" in asked("is gout contagious", "gout")[0].text


def test_two_names_of_one_thing_are_told_to_be_the_same() -> None:
    links = [
        replace(G.link("gout"), mention=Mention(name, name, at, at + len(name)))
        for name, at in (("gout", 3), ("podagra", 20))
    ]
    [said] = Fitting(G, lambda _: [])(query("is gout the same as podagra"), links)
    assert said.text == "Yes: gout and podagra are names of gout."
    assert [t.tail.name for t in said.triples] == ["gout"]  # what the graph itself calls it


def test_a_way_of_infection_that_is_asked_about_is_no_plain_yes() -> None:
    spreads = Relation("传播途径"), Relation("传染性")
    ill = G.entity("measles")
    pieces = [
        Evidence("x", "text", (Triple(ill, relation, Entity("", said)),), (ill,))
        for relation, said in zip(spreads, ("血液", "有"), strict=True)
    ]
    [said] = by_the_way_named(pieces, query("麻疹一起吃饭会传染吗"))
    assert said.text == "图谱所载传播途径：血液。是否也经所问的途径传播，图谱未说明。"
    assert [t.tail.name for t in said.triples] == ["血液"]
    assert by_the_way_named(pieces, query("麻疹会传染吗")) == pieces
    [bare] = by_the_way_named(pieces[1:], query("麻疹握手会传染吗"))
    assert "未说明是否经所问的途径" in bare.text
