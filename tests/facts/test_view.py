"""What a reader is shown: ties, what is asked, few of each; on a small graph."""

from dataclasses import replace

import pytest

from kgmed.facts.answer import fitting_warnings
from kgmed.facts.view import AskedTriples, ForPatient, ForReader, OnlyHelpful, TiedThings, TiesFirst, is_apt
from kgmed.frame import Ask, Frame, Intent, Named, Patient
from kgmed.models.fakes import Scripted
from kgmed.prompts import ASSISTED, tasked
from kgmed.records import NOT_FOR, Entity, Evidence, Link, Query, Relation, Role, Triple
from kgmed.steps.rank import Helpful
from role_graph import RoleGraph, query

TREATS, ADVERSE, FINDING = (
    Relation("treats", Role.TREATS),
    Relation("can cause", Role.ADVERSE),
    Relation("shows", Role.FINDING),
)
CONTAINS, FORBIDDEN, INTERACTS = (
    Relation("contains", Role.INGREDIENT),
    Relation("must not be used in", Role.CONTRAINDICATED),
    Relation("interacts with", Role.INTERACTS),
)
EFFECTS = [f"effect {i}" for i in range(30)]
GRAPH = RoleGraph(
    [
        *(("Aspirin Tablets", "can cause", effect) for effect in EFFECTS),
        ("Aspirin Tablets", "contains", "aspirin"),
        ("Warfarin Tablets", "contains", "warfarin"),
        ("Aspirin Tablets", "interacts with", "Warfarin Tablets"),
        ("aspirin", "treats", "fever"),
        ("warfarin", "treats", "thrombosis"),
        *((name, "treats", "thrombosis") for name in ("heparin", "lisinopril", "aspirin")),
        ("heparin", "must not be used in", "gout"),
        ("治疗原则", "treats", "thrombosis"),
        ("influenza", "shows", "fever"),
    ],
    [TREATS, ADVERSE, FINDING, CONTAINS, FORBIDDEN, INTERACTS],
    {
        "drug": ["aspirin", "warfarin", "heparin", "lisinopril", "Aspirin Tablets", "Warfarin Tablets"],
        "disease": ["influenza", "thrombosis", "gout"],
        "symptom": ["fever", *EFFECTS],
    },
    texts=[("Warfarin Tablets", "must not be used in", "people with influenza")],
    descriptions={"influenza": "A viral infection."},
)


def asked(*things: str, intent: Intent | None) -> tuple[Query, list[Link]]:
    """A query that asks for an intent of things, and their links."""
    links = [GRAPH.link(name) for name in things]
    asks = (Ask(intent, tuple(Named((x.entity.name,), x.entity.kind, links=(x,)) for x in links)),) if intent else ()
    return replace(query(" and ".join(things)), frame=Frame(asks, source="given")), links


def nothing(query: Query, links: object) -> list[Evidence]:
    return [Evidence("otherwise", "triple")]


VIEW = AskedTriples(GRAPH, lambda text: [], nothing)


def of_patient(patient: Patient, *things: str) -> tuple[Query, list[Link]]:
    told, links = asked(*things, intent=Intent.TREATMENT)
    return replace(told, frame=replace(told.frame, patient=patient)), links


@pytest.mark.parametrize("keep", [1, 12])
def test_what_is_not_for_the_patient_leaves_the_evidence_and_is_named_however_little_is_kept(keep: int) -> None:
    told, links = of_patient(Patient(groups=("pregnancy",)), "thrombosis")
    kept = ForPatient(GRAPH)(told, TiesFirst(lambda _, rows: list(rows), keep)(told, VIEW(told, links)))
    given = {t.subject.name for e in kept for t in e.triples if t.relation.role is Role.TREATS}
    assert given <= {"aspirin", "heparin"}
    assert {x.name for e in kept if e.id == NOT_FOR for x in e.about} == {"warfarin", "lisinopril"}


def test_what_is_forbidden_in_an_illness_that_the_patient_has_is_named_unasked() -> None:
    gout = Named(("gout",), "disease", links=(GRAPH.link("gout"),))
    found = VIEW(*of_patient(Patient(has=(gout,)), "thrombosis"))
    assert not any(t.relation.role is Role.TREATS and t.subject.name == "heparin" for e in found for t in e.triples)
    assert all("heparin" in e.text for e in found if e.id == NOT_FOR)
    assert any("gout" in e.text for e in found if e.id == NOT_FOR)
    assert any("heparin" in e.text for e in VIEW(*asked("gout", intent=Intent.TREATMENT)) if e.id == NOT_FOR)
    assert not any(e.id == NOT_FOR for e in VIEW(*asked("gout", intent=Intent.SYMPTOMS)))


def test_a_heading_of_the_source_is_no_treatment() -> None:
    found = VIEW(*asked("thrombosis", intent=Intent.TREATMENT))
    given = {t.subject.name for e in found for t in e.triples if t.relation.role is Role.TREATS}
    assert given == {"warfarin", "heparin", "lisinopril", "aspirin"}


def test_what_ties_two_medicines_through_their_products_is_found() -> None:
    tied = {e.text: {x.name for x in e.about} for e in TiedThings(GRAPH)(*asked("aspirin", "warfarin", intent=None))}
    assert tied == {"Aspirin Tablets — interacts with → Warfarin Tablets": {"aspirin", "warfarin"}}


def test_a_text_of_a_product_that_warns_of_a_named_illness_is_a_tie() -> None:
    found = TiedThings(GRAPH)(*asked("warfarin", "influenza", intent=None))
    assert [e.text for e in found] == ["Warfarin Tablets — must not be used in → people with influenza"]


def test_of_what_is_asked_the_products_answer_and_nothing_else_does() -> None:
    found = VIEW(*asked("aspirin", intent=Intent.SIDE_EFFECTS))
    assert {t.relation.role for e in found for t in e.triples} == {Role.ADVERSE}


def test_where_the_graph_has_nothing_of_it_the_definition_stands() -> None:
    assert [e.text for e in VIEW(*asked("influenza", intent=Intent.PREVENTION))] == ["influenza: A viral infection."]


def test_a_question_that_is_not_understood_is_left_to_the_method() -> None:
    assert [e.text for e in VIEW(*asked("influenza", intent=None))] == ["otherwise"]


def piece(name: str, *about: str, kind: str = "triple", role: Role = Role.TREATS) -> Evidence:
    things = tuple(Entity(a, a) for a in about)
    return Evidence(name, kind, (Triple(things[0], Relation("r", role), Entity(name, name)),), things)


def test_a_thing_of_which_much_is_said_leaves_room_for_another() -> None:
    pieces = [*(piece(f"long name {i}", "a") for i in range(30)), piece("b1", "b"), piece("tie", "a", "b")]
    kept = TiesFirst(lambda _, rows: list(rows), 5)(query("?"), pieces)
    assert [e.text for e in kept] == ["tie", "long name 0", "b1", "long name 1", "long name 2"]


def test_a_warning_is_never_ranked_away() -> None:
    pieces = [*(piece(f"t{i}", "a") for i in range(9)), piece("careful", "a", kind="warning")]
    assert "careful" in [e.text for e in TiesFirst(lambda _, rows: list(rows), 3)(query("?"), pieces)]


@pytest.mark.parametrize(
    ("roles", "apt"), [([Role.ADVERSE], True), ([Role.FINDING, Role.ADVERSE], True), ([Role.FINDING] * 2, False),
                       ([Role.ADVERSE] * 3, False)],
)  # fmt: skip
def test_a_chain_is_apt_that_is_short_and_says_what_is_asked(roles: list[Role], apt: bool) -> None:
    triples = tuple(Triple(Entity(str(i), "x"), Relation("r", r), Entity("y", "y")) for i, r in enumerate(roles))
    assert is_apt(Evidence("", "path", triples), Frame((Ask(Intent.SIDE_EFFECTS),))) is apt


def test_a_reader_gets_the_label_of_what_is_asked_and_those_of_a_list_as_one_piece() -> None:
    asking, _ = asked("fever", intent=Intent.TREATMENT)
    drugs = [GRAPH.link(n).entity for n in ("aspirin", "warfarin")]
    labels = [
        Evidence(f"{d.name}: no", "warning", (Triple(d, FORBIDDEN, Entity("", f"people with {d.name} ulcers")),), (d,))
        for d in drugs
    ]
    kept = ForReader(GRAPH)(asking, labels)
    assert [len(e.triples) for e in kept] == [2]
    own, _ = asked("aspirin", intent=Intent.USES)
    assert [[t.subject.name for t in e.triples] for e in ForReader(GRAPH)(own, labels)] == [["aspirin"], ["warfarin"]]


def test_another_product_with_the_same_effects_is_told_once() -> None:
    asking, _ = asked("aspirin", intent=Intent.SIDE_EFFECTS)
    product = GRAPH.link("Aspirin Tablets").entity
    same = [
        Evidence(f"{n}", "neighbours", tuple(Triple(p, ADVERSE, Entity(e, e)) for e in EFFECTS[:5]), (p,))
        for n, p in (("tablets", product), ("substance", GRAPH.link("aspirin").entity))
    ]
    (told,) = ForReader(GRAPH)(asking, same)
    assert told.text == f"Aspirin Tablets — can cause → {', '.join(EFFECTS[:5])}"
    assert len(told.triples) == 5


def test_what_ties_two_things_that_are_told_beside_the_subject_is_left_out() -> None:
    subject, (drug,) = asked("warfarin", intent=Intent.SAFETY)
    beside = [GRAPH.link(n) for n in ("influenza", "fever")]
    assert {x.name for e in TiedThings(GRAPH)(subject, [drug, *beside]) for x in e.about} == {"warfarin", "influenza"}
    assert TiedThings(GRAPH)(subject, beside), "the tie of the two is there where nothing ties the subject"


def test_what_labels_say_of_several_medicines_in_one_piece_stays_with_each() -> None:
    aspirin, warfarin = (GRAPH.link(name).entity for name in ("aspirin", "warfarin"))
    texts = [Triple(aspirin, FORBIDDEN, Entity("", "ulcer")), Triple(warfarin, FORBIDDEN, Entity("", "bleeding"))]
    one = Evidence("of both", "warning", tuple(texts), (aspirin, warfarin))
    (told,) = fitting_warnings(Frame(language="en"), [one])
    assert told.text == "aspirin — must not be used in → ulcer; warfarin — must not be used in → bleeding"


def test_only_what_the_question_names_brings_its_warnings_along() -> None:
    asking, links = asked("fever", intent=Intent.CAUSES)
    links = [*links, GRAPH.link("Warfarin Tablets")]
    told = [
        [e.kind for e in VIEW(replace(asking, hypothesis=guess), links)].count("warning") for guess in ("", "Warfarin!")
    ]
    assert told[0] > told[1] == 0


def chosen(evidence: list[Evidence], *numbers: int, things: tuple[str, ...], intent: Intent) -> list[str]:
    """The texts that stay where a model names some of what it is offered."""
    reply = f'{{"facts": {list(numbers)}}}'
    with tasked(ASSISTED):
        rank = OnlyHelpful(GRAPH, Helpful(Scripted([reply], every=True), 12))
        return [e.text for e in rank(asked(*things, intent=intent)[0], evidence)]


def test_a_warning_stays_of_a_medicine_that_is_named_or_kept_and_that_of_an_illness_where_it_helps() -> None:
    gout, heparin, aspirin = (GRAPH.link(n).entity for n in ("gout", "heparin", "aspirin"))
    forbids = Triple(heparin, FORBIDDEN, gout)
    own = Evidence("heparin must not be used in gout", "warning", (forbids,), (heparin,))
    listed = Evidence("not in gout: heparin", "warning", (forbids,), (gout,), id=NOT_FOR)
    treats = Evidence("aspirin treats fever", "triple", (Triple(aspirin, TREATS, GRAPH.link("fever").entity),))
    rest = [treats, own, listed]
    assert chosen(rest, things=("heparin",), intent=Intent.USES) == [own.text, listed.text]
    assert chosen(rest, 1, things=("gout",), intent=Intent.TREATMENT) == [treats.text]
    assert chosen(rest, 2, things=("gout",), intent=Intent.TREATMENT) == [own.text, listed.text]
    assert chosen(rest, things=("gout",), intent=Intent.CONTRAINDICATIONS) == [own.text, listed.text]


def test_what_is_not_for_the_patient_is_named_of_the_medicines_that_matter() -> None:
    lisinopril, aspirin = (GRAPH.link(n).entity for n in ("lisinopril", "aspirin"))
    forbid = tuple(Triple(x, FORBIDDEN, GRAPH.link("gout").entity) for x in (lisinopril, aspirin))
    both = Evidence("not for the patient: lisinopril, aspirin", "warning", forbid, (lisinopril, aspirin), id=NOT_FOR)
    query_, _ = asked("lisinopril", intent=Intent.SAFETY)
    query_ = replace(query_, frame=replace(query_.frame, patient=Patient(groups=("pregnancy",))))
    with tasked(ASSISTED):
        (kept,) = OnlyHelpful(GRAPH, Helpful(Scripted([], every=True), 12))(query_, [both])
    assert "lisinopril" in kept.text
    assert "aspirin" not in kept.text
