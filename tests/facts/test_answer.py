"""The reader of the model-free answer: it reads the frame and the evidence, and takes its words from the catalogue."""

import re
from dataclasses import replace

import pytest

from kgmed.diagnose.retrieve import EMERGENCY
from kgmed.facts.answer import LINES, answer
from kgmed.frame import Ask, Constraint, Form, Frame, Intent, Named, Patient
from kgmed.records import (
    VERDICT,
    Answer,
    Context,
    Entity,
    Evidence,
    Link,
    Mention,
    Query,
    Question,
    Relation,
    Role,
    Triple,
)
from kgmed.sentences import catalogue

NOBODY = Patient()
GOUT, ACNE = Entity("d", "gout", "disease"), Entity("d2", "acne", "disease")
DRUG = Entity("m", "colchicine", "drug")
TREATS, NOT_IN = Relation("treats", Role.TREATS), Relation("not in", Role.CONTRAINDICATED)


def named(thing: Entity) -> Named:
    return Named((thing.name,), thing.kind, (), (Link(Mention(thing.name, thing.name, 0, 1), thing, 1.0, "exact"),))


def ask(intent: Intent, thing: Entity = GOUT, *, negative: bool = False, form: Form = Form.LIST) -> Ask:
    return Ask(intent, (named(thing),), negative=negative, form=form)


def frame(*asks: Ask, language: str = "en", patient: Patient = NOBODY) -> Frame:
    return Frame(asks, language=language, patient=patient)


def read(asked: Frame, *evidence: Evidence) -> Answer:
    """The answer to a question of which not a word is read."""
    return answer(Query(Question("?"), frame=asked), Context("", evidence))


def of(
    role: Role, *names: str, thing: Entity = GOUT, more: int = 0, which: str = "", kind: str = "symptom"
) -> Evidence:
    """A list of what a thing has in a role."""
    triples = tuple(Triple(thing, Relation(role.value, role), Entity(n, n, kind)) for n in names)
    return Evidence("x" + (f", … (+{more})" if more else ""), "neighbours", triples, (thing,), 1.0, which)


def given(*names: str, thing: Entity = GOUT, which: str = "") -> Evidence:
    """A list of treatments of a thing."""
    triples = tuple(Triple(Entity(n, n, "drug"), TREATS, thing) for n in names)
    return Evidence("x", "neighbours", triples, (thing,), 1.0, which)


def written(relation: str, text: str, role: Role = Role.OTHER, thing: Entity = GOUT) -> Evidence:
    return Evidence("x", "text", (Triple(thing, Relation(relation, role), Entity("", text)),), (thing,))


def verdict(which: str, text: str, *triples: Triple, about: tuple[Entity, ...] = ()) -> Evidence:
    return Evidence(text, VERDICT, triples, about, 1.0, which)


def case(name: str, *findings: str, text: str = "", which: str = "") -> Evidence:
    """A disease that fits."""
    thing = Entity(name, name, "disease")
    shown = [Entity(f, f, "symptom") for f in findings]
    triples = tuple(Triple(thing, Relation("has", Role.FINDING), f) for f in shown)
    return Evidence(text or f"{name}: {'; '.join(findings)}", "candidate", triples, (thing, *shown), 1.0, which)


def warning(thing: Entity, *names: str, role: Role = Role.CONTRAINDICATED) -> Evidence:
    triples = tuple(Triple(thing, Relation("not in", role), Entity(n, n, "condition")) for n in names)
    return Evidence("x", "warning", triples, (thing,))


# --- Grouping, clipping, citations.


def test_pieces_of_one_role_are_one_list_each_name_once_and_what_is_left_out_is_counted() -> None:
    said = read(
        frame(ask(Intent.SYMPTOMS)), of(Role.FINDING, "pain", "redness"), of(Role.FINDING, "redness", "fever", more=7)
    )
    assert said.text == "Findings of gout: pain, redness, fever and 7 more [1][2]"
    assert said.citations == (1, 2)


def test_a_list_is_of_a_thing_or_with_it() -> None:
    assert read(frame(ask(Intent.TREATMENT)), given("colchicine")).text == "Treatments of gout: colchicine [1]"
    uses = Evidence("x", "neighbours", (Triple(DRUG, TREATS, GOUT),), (DRUG,))
    assert read(frame(ask(Intent.USES, DRUG)), uses).text == "What colchicine is given for: gout [1]"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_long_answer_is_clipped_and_counted(language: str) -> None:
    lists = [of(role, *(f"thing {role} {i}" for i in range(200))) for role in Role if role is not Role.TREATS]
    said = read(frame(ask(Intent.OVERVIEW), ask(Intent.SYMPTOMS), language=language), *lists)
    assert len(said.text) <= int(catalogue(language)("size.answer"))
    assert said.text.count("\n") < LINES
    assert catalogue(language)("list.many_more") in said.text


def test_the_marks_of_a_line_point_to_the_evidence_that_names_what_it_says() -> None:
    evidence = (warning(DRUG, "pregnancy"), of(Role.CAUSE, "uric acid"), given("colchicine", "rest"))
    said = read(frame(ask(Intent.CAUSES), ask(Intent.TREATMENT)), *evidence)
    for line in said.text.splitlines():
        for name, number in (("uric acid", 2), ("colchicine, rest", 3), ("not in pregnancy", 1)):
            assert (name in line) is (f"[{number}]" in line)
    assert sorted(said.citations) == sorted({int(n) for n in re.findall(r"\[(\d+)\]", said.text)})


def test_lists_stand_in_the_order_of_the_asks() -> None:
    asked = frame(ask(Intent.TREATMENT), ask(Intent.CAUSES))
    by_role = read(asked, of(Role.CAUSE, "uric acid"), given("colchicine"))
    assert [line[:6] for line in by_role.text.splitlines()] == ["Treatm", "Causes"]
    by_id = read(asked, of(Role.RISK, "beer", which="ask:1"), of(Role.PREVENTION, "water", which="ask:0"))
    assert [line[:6] for line in by_id.text.splitlines()] == ["Preven", "Risk f"]


def test_the_definition_stands_first_of_an_overview() -> None:
    said = read(frame(ask(Intent.OVERVIEW)), of(Role.FINDING, "pain"), written("definition", "Crystals in a joint."))
    assert said.text.splitlines()[0] == "gout, definition: Crystals in a joint [2]."


def test_a_comparison_shows_what_differs() -> None:
    asked = frame(Ask(Intent.COMPARISON, (named(GOUT),), (named(ACNE),), form=Form.CHOICE))
    said = read(asked, of(Role.FINDING, "pain", "redness"), of(Role.FINDING, "redness", "spots", thing=ACNE))
    assert said.text.splitlines() == [
        catalogue("en")("note.not_weighed"), "Findings of gout: pain [1]", "Findings of acne: spots [2]",
    ]  # fmt: skip


# --- Verdicts.


def test_the_verdict_stands_first_and_cites_what_it_rests_on() -> None:
    fact = Triple(DRUG, NOT_IN, Entity("p", "pregnancy"))
    said = read(frame(ask(Intent.SAFETY, DRUG)), given("colchicine"), verdict("no", "No: not in pregnancy.", fact))
    assert said.text == "No: not in pregnancy [2]."
    assert not said.abstained


def test_a_verdict_on_one_ask_leaves_the_lists_of_the_other() -> None:
    fact = Triple(DRUG, NOT_IN, Entity("p", "pregnancy"))
    asked = frame(ask(Intent.SAFETY, DRUG), ask(Intent.SIDE_EFFECTS, DRUG))
    said = read(asked, verdict("no", "No: so.", fact), of(Role.ADVERSE, "nausea", thing=DRUG))
    assert said.text.splitlines() == ["No: so [1].", "Side effects of colchicine: nausea [2]"]


def test_beside_a_verdict_only_its_things_are_warned_of() -> None:
    fact, other = Triple(DRUG, TREATS, GOUT), Entity("o", "lead", "drug")
    evidence = (verdict("yes", "Yes: so.", fact, about=(DRUG, GOUT)), warning(other, "fits"), warning(DRUG, "fever"))
    assert read(frame(ask(Intent.HELPS, DRUG)), *evidence).text.splitlines() == [
        "Yes: so [1].", "Warnings: colchicine: not in fever [3]",
    ]  # fmt: skip


# --- Negative asks.


@pytest.mark.parametrize("intent", [Intent.TREATMENT, Intent.DIET])
@pytest.mark.parametrize("which", ["", "ask:0"])
def test_what_to_take_never_answers_what_to_avoid(intent: Intent, which: str) -> None:
    asked = frame(ask(intent, negative=True))
    evidence = (given("colchicine", which=which), of(Role.FOOD, "cherries", which=which), case("gout", "pain"))
    said = read(asked, *evidence[:2])
    assert said.abstained
    assert said.text == f"The graph has no {catalogue('en')(f'avoided.{intent}')} for gout."
    said = read(asked, *evidence, of(Role.AVOID, "beer", which=which))
    assert "colchicine" not in said.text
    assert "cherries" not in said.text
    assert "beer" in said.text


def test_of_two_asks_the_one_that_is_not_negative_keeps_its_list() -> None:
    asked = frame(ask(Intent.DIET), ask(Intent.DIET, negative=True))
    said = read(asked, of(Role.FOOD, "cherries"), of(Role.AVOID, "beer"))
    assert said.text.splitlines() == ["Food for gout: cherries [1]", "To avoid in gout: beer [2]"]


# --- What the graph does not have.


def test_an_intent_without_evidence_is_named() -> None:
    asked = frame(ask(Intent.TREATMENT), ask(Intent.PROGNOSIS), ask(Intent.CONTAGION))
    said = read(asked, given("colchicine"))
    assert said.text.splitlines() == [
        "Treatments of gout: colchicine [1]", "The graph has no prognosis, ways of infection for gout.",
    ]  # fmt: skip
    assert not said.abstained


def test_an_intent_of_which_a_verdict_says_that_it_is_lacking_is_not_named_again() -> None:
    asked = frame(ask(Intent.TREATMENT), ask(Intent.PROGNOSIS))
    said = read(asked, verdict("lacking", "The graph has no prognosis for gout."), given("colchicine", which="ask:0"))
    assert said.text.splitlines() == ["The graph has no prognosis for gout.", "Treatments of gout: colchicine [2]"]
    assert not said.abstained


def test_without_evidence_it_abstains() -> None:
    assert read(frame()).text == catalogue("en")("note.nothing")
    assert read(frame(ask(Intent.TESTS))).text == "The graph has no tests for gout."
    assert read(frame(Ask(Intent.PRICE))).text == catalogue("en")("verdict.service")
    assert all(read(f).abstained for f in (frame(), frame(ask(Intent.TESTS)), frame(Ask(Intent.PRICE))))


@pytest.mark.parametrize("which", ["none", "unknown", "lacking"])
def test_where_the_verdict_says_that_there_is_nothing_it_abstains(which: str) -> None:
    said = read(frame(ask(Intent.HELPS)), verdict(which, "Nothing."), case("gout", "pain"))
    assert said.abstained
    assert said.text == "Nothing."
    assert said.candidates == ()


def test_notes_say_what_lists_do_not() -> None:
    say = catalogue("en")
    first = replace(ask(Intent.TREATMENT), constraints=(Constraint("line", "first"),))
    for asked, evidence, key in (
        (first, given("colchicine"), "note.not_ranked"),
        (ask(Intent.TREATMENT, form=Form.YES_NO), given("colchicine"), "note.no_cure"),
        (ask(Intent.CONTRAINDICATIONS, DRUG), of(Role.PRECAUTION, "fever", thing=DRUG), "note.none_named"),
    ):
        assert read(frame(asked), evidence).text.splitlines()[0] == say(key)


# --- Diseases that fit.


def test_what_is_counted_as_more_is_what_is_not_shown_though_a_line_had_no_room() -> None:
    long = [
        case(f"{'very ' * 20}long name {i}", *(f"{'a finding of many words ' * 4}{i}{j}" for j in range(2)))
        for i in range(8)
    ]
    said = read(frame(ask(Intent.DIAGNOSIS)), *long)
    *_, last = said.text.splitlines()
    assert last == f"and {8 - said.text.count('- very')} more"
    assert said.text.count("- very") < 5


def test_diseases_that_fit_are_listed_with_what_speaks_for_them_and_what_is_missing() -> None:
    first = case("gout", "pain", text="gout: pain; not listed: fever; to ask for: tophus, stones")
    said = read(frame(Ask(Intent.DIAGNOSIS)), first, case("sepsis", "fever", which=EMERGENCY))
    assert said.text.splitlines() == [
        catalogue("en")("note.may_be", names="sepsis"),
        "Diseases that fit the findings, best first:",
        "- gout: pain; not known for: fever [1]",
        "- sepsis: fever [2]",
        "To tell them apart, ask about: tophus, stones (gout)",
    ]
    assert [c.name for c in said.candidates] == ["gout", "sepsis"]


def test_what_began_at_once_and_may_be_an_emergency_cannot_wait() -> None:
    asked = frame(Ask(Intent.DIAGNOSIS), patient=Patient(traits=("abrupt",)))
    said = read(asked, case("sepsis", "fever", which=EMERGENCY))
    assert said.text.splitlines()[0] == catalogue("en")("note.now", names="sepsis")


def test_what_is_given_for_a_finding_stands_below_the_diseases_that_fit() -> None:
    fever = Entity("f", "fever", "symptom")
    said = read(frame(ask(Intent.TREATMENT, fever)), given("aspirin", thing=fever), case("flu", "fever"))
    assert said.text.splitlines() == [
        "One disease alone is noted to show this, which does not mean that it is this one:",
        "- flu: fever [2]", "Treatments of fever: aspirin [1]",
    ]  # fmt: skip


def test_of_two_things_asked_of_each_has_a_list() -> None:
    asked = frame(Ask(Intent.GENES, (named(GOUT), named(ACNE))))
    said = read(asked, of(Role.GENE, "A1"), of(Role.GENE, "B2", thing=ACNE))
    assert said.text.splitlines() == ["Genes associated with gout: A1 [1]", "Genes associated with acne: B2 [2]"]


# --- Populations.


def test_warnings_for_the_patients_population_come_first_and_suitability_is_left_to_a_doctor() -> None:
    drugs = [Entity(n, n, "drug") for n in ("aspirin", "lead", "zinc")]
    asked = frame(ask(Intent.TREATMENT), patient=Patient(groups=("pregnancy",)))
    warnings = [warning(d, n) for d, n in zip(drugs, ("fits", "gangrene", "pregnancy"), strict=True)]
    lines = read(asked, given("aspirin", "lead", "zinc"), *warnings).text.splitlines()
    assert lines[1] == "Warnings: zinc: not in pregnancy [4]; aspirin: not in fits [2]; 1 more"
    assert lines[2] == catalogue("en")("note.not_said", names="pregnancy")


# --- Languages.


def test_names_and_sentences_are_in_the_askers_language() -> None:
    skin = of(Role.CARE, "皮肤科", thing=Entity("x", "痤疮", "disease"))
    assert "dermatology" in read(frame(ask(Intent.DEPARTMENT)), skin).text
    assert read(frame(ask(Intent.DEPARTMENT), language="zh"), skin).text == "痤疮的就诊科室：皮肤科 [1]"


def test_a_language_without_a_catalogue_is_answered_in_english_with_the_words_known_for_its_names() -> None:
    said = read(frame(ask(Intent.DEPARTMENT), language="fi"), of(Role.CARE, "皮肤科"))
    assert said.text == "Who treats gout: dermatology [1]"


def test_names_that_cannot_be_read_are_left_out_where_others_can() -> None:
    asked = ask(Intent.TREATMENT)
    assert read(frame(asked), given("玄丸", "colchicine")).text == "Treatments of gout: colchicine and 1 more [1]"
    assert "玄丸" in read(frame(asked, language="zh"), given("玄丸", "colchicine")).text


def test_a_value_is_said_as_yes_or_no() -> None:
    assert read(frame(ask(Intent.CONTAGION)), written("传染性", "无")).text == "No: gout is not contagious [1]"


def test_the_products_of_one_of_two_medicines_stand_on_one_line() -> None:
    two = (Entity("a", "Amlodipine Besylate Tablets", "drug"), Entity("b", "Amlodipine Mesylate Tablets", "drug"))
    other = Entity("c", "metoprolol", "drug")
    asked = Ask(Intent.SIDE_EFFECTS, (named(two[0]), named(other)))
    told = read(frame(asked), *(of(Role.ADVERSE, f"sign {x.id}", thing=x, which="ask:0") for x in (*two, other)))
    assert told.text.splitlines() == [
        "Side effects of amlodipine: sign a, sign b [1][2]",
        "Side effects of metoprolol: sign c [3]",
    ]


def test_how_a_medicine_looks_is_told_beside_what_is_in_it() -> None:
    text = Evidence("x", "text", (Triple(DRUG, Relation("appearance"), Entity("", "white")),), (DRUG,), 1.0, "ask:0")
    told = read(frame(ask(Intent.INGREDIENTS, DRUG)), of(Role.INGREDIENT, "starch", thing=DRUG, which="ask:0"), text)
    assert told.text.splitlines() == ["Ingredients of colchicine: starch [1]", "colchicine, appearance: white [2]"]
