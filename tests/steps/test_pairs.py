"""What ties two things that a question names: yes, no, a warning, the other way round, something else, nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from kgmed.graph.base import Alias, NodeRow, Scope
from kgmed.language.pair import pairs_asked
from kgmed.records import Entity, Evidence, Link, Mention, Relation, Role, Triple
from kgmed.steps.family import Family, substance
from kgmed.steps.halves import from_outside, mode_asked
from kgmed.steps.pairs import Between
from named_graph import small
from role_graph import RoleGraph, query

RELATIONS = (
    Relation("has symptom", Role.FINDING),
    Relation("lacks", Role.EXCLUDES),
    Relation("treats", Role.TREATS),
    Relation("side effect", Role.ADVERSE),
    Relation("interacts with", Role.INTERACTS),
    Relation("contains", Role.INGREDIENT),
    Relation("must not", Role.CONTRAINDICATED),
    Relation("care with", Role.PRECAUTION),
    Relation("leads to", Role.COMPLICATION),
    Relation("kind of", Role.IS_A),
)
ROWS = [
    ("gout", "has symptom", "toe pain"),
    ("toe pain", "kind of", "pain"),
    ("gout", "lacks", "rash"),
    ("measles", "leads to", "viral pneumonia"),
    ("viral pneumonia", "kind of", "pneumonia"),
    ("colchicine", "treats", "gout"),
    ("colchicine tablets", "contains", "colchicine"),
    ("colchicine tablets", "interacts with", "simvastatin"),
    ("aspirin", "kind of", "salicylates"),
    ("salicylates", "interacts with", "warfarin"),
    ("aspirin", "side effect", "bleeding"),
    ("propranolol", "kind of", "beta blockers"),
    ("esmolol", "kind of", "beta blockers"),
    ("esmolol", "must not", "asthma"),
    ("esmolol", "must not", "colchicine"),
    ("esmolol", "interacts with", "warfarin"),
    ("propranolol", "treats", "measles"),
    ("propranolol", "side effect", "rash"),
    ("amiodarone", "interacts with", "digitalis"),
    ("warfarin", "interacts with", "naproxen"),
    *((f"furosemide {n}", "contains", "furosemide") for n in range(5)),
    *((f"furosemide {n}", "kind of", "diuretic class") for n in range(1, 5)),
    ("furosemide 0", "kind of", "slip"),
    ("laxative", "kind of", "slip"),
    ("laxative", "must not", "gout"),
]
KINDS = {
    "disease": ["gout", "measles", "pneumonia", "viral pneumonia", "asthma"],
    "symptom": ["toe pain", "pain", "rash", "bleeding"],
    "drug": [
        "colchicine",
        "colchicine tablets",
        "simvastatin",
        "aspirin",
        "warfarin",
        "metformin",
        "propranolol",
        "esmolol",
        *("amiodarone", "digitalis", "digoxin", "naproxen", "ibuprofen", "cefalexin", "cefoperazone"),
        *("furosemide", "laxative", *(f"furosemide {n}" for n in range(5))),
    ],
}
TEXTS = [
    ("colchicine tablets", "must not", "Severe renal failure. Not in pregnancy."),
    ("aspirin", "care with", "Use with care in asthma."),
    ("metformin", "care with", "Keep out of the reach of children."),
    ("metformin", "care with", "Never with alcoholic drinks."),
    ("esmolol", "care with", "With care in measles."),
    ("cefoperazone", "must not", "No alcohol for a week."),
]
G = RoleGraph(
    ROWS, RELATIONS, KINDS, texts=TEXTS, isolated=["asthma", "metformin", "digoxin", "ibuprofen", "cefalexin"]
)


def verdicts(question: str, *names: str) -> list[Evidence]:
    links = [G.link(name) for name in names]
    for place, link in enumerate(links):
        object.__setattr__(link.mention, "start", 10 * place)
        object.__setattr__(link.mention, "end", 10 * place + 5)
    between, asked = Between(G), query(question)
    pair = between.fitting(asked, links, pairs_asked(question))
    assert pair is not None
    return between(asked, links, pair)


@pytest.mark.parametrize(
    ("question", "names", "verdict", "said"),
    [
        ("Does gout cause toe pain?", ("gout", "toe pain"), "yes", "Yes: gout can show toe pain."),
        ("Does gout cause pain?", ("gout", "pain"), "yes", "Yes: gout can show toe pain."),
        ("Does gout cause rash?", ("gout", "rash"), "no", "No: the graph says that gout does not show rash."),
        ("Can measles lead to pneumonia?", ("measles", "pneumonia"), "yes", "viral pneumonia is a complication"),
        ("Can pneumonia lead to measles?", ("pneumonia", "measles"), "reverse", "No, the other way round"),
        ("Does colchicine cause gout?", ("colchicine", "gout"), "other", "colchicine is given for gout"),
        ("Does gout cause bleeding?", ("gout", "bleeding"), "none", "The graph has no link between gout and bleeding."),
        ("Can colchicine treat gout?", ("colchicine", "gout"), "yes", "Yes: colchicine is given for gout."),
        ("Is toe pain a symptom of gout?", ("toe pain", "gout"), "yes", "Yes"),
    ],
)
def test_the_triple_between_two_things_answers(question: str, names: tuple[str, ...], verdict: str, said: str) -> None:
    [first] = verdicts(question, *names)
    assert first.id == verdict
    assert said in first.text
    assert bool(first.triples) == (verdict != "none")


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("Can I take colchicine while pregnant?", "No: "),
        ("Is colchicine safe in pregnancy?", "No: "),
        ("Is colchicine contraindicated in pregnancy?", "Yes: "),
        ("Is it dangerous to take colchicine in pregnancy?", "Yes: "),
        ("Should pregnant women avoid colchicine?", "Yes: "),
    ],
)
def test_a_warning_says_yes_to_a_danger_and_no_to_safety(question: str, begins: str) -> None:
    assert verdicts(question, "colchicine")[0].text.startswith(begins)


def test_a_medicine_is_spoken_of_under_its_products_and_its_class_and_both_triples_are_shown() -> None:
    [product] = verdicts("Can I take colchicine with simvastatin?", "colchicine", "simvastatin")
    assert product.id == "interacts"
    assert {t.relation.name for t in product.triples} == {"interacts with", "contains"}
    [by_class] = verdicts("Can I take aspirin with warfarin?", "aspirin", "warfarin")
    assert by_class.id == "interacts"
    assert {t.relation.name for t in by_class.triples} == {"interacts with", "kind of"}


def test_a_text_that_names_the_condition_warns() -> None:
    [care] = verdicts("Is aspirin safe in asthma?", "aspirin", "asthma")
    assert (care.id, care.text) == (
        "caution",
        "Only with caution, not freely: aspirin, care with: Use with care in asthma.",
    )


def test_what_a_medicine_of_the_same_class_is_warned_of_is_said_where_nothing_is_said_of_it_itself() -> None:
    [alike] = verdicts("Can I take propranolol in asthma?", "propranolol", "asthma")
    assert (
        alike.id,
        alike.text.startswith("Caution, better not: of propranolol and asthma the graph says nothing"),
    ) == (
        "class",
        True,
    )
    assert "esmolol" in alike.text
    [alike] = verdicts("Can I take propranolol with colchicine?", "propranolol", "colchicine")
    assert alike.id == "class"


def test_a_class_says_nothing_of_interactions_nor_of_what_a_medicine_is_for() -> None:
    [nothing] = verdicts("Can I take propranolol with warfarin?", "propranolol", "warfarin")
    assert nothing.id == "none"
    [other] = verdicts("Can I take propranolol in measles?", "propranolol", "measles")
    assert other.id == "other"
    assert "no proof" in other.text  # that it is given for measles is no leave to take it


def test_what_a_label_says_of_a_class_holds_for_its_members_by_name() -> None:
    [said] = verdicts("amiodarone digoxin", "amiodarone", "digoxin")
    assert (said.id, said.text) == ("interacts", "Yes: amiodarone interacts with digitalis.")


def test_that_another_of_the_class_interacts_is_told_and_is_no_warning() -> None:
    [said] = verdicts("Can I take ibuprofen with warfarin?", "ibuprofen", "warfarin")
    assert said.id == "none"
    assert said.text.startswith("The graph has no warning about ibuprofen and warfarin, which is no proof")
    assert "of medicines of the same class it says: warfarin interacts with naproxen" in said.text


def test_what_another_of_the_class_must_not_be_drunk_with_is_said() -> None:
    [said] = verdicts("Can I have a beer with cefalexin?", "cefalexin")
    assert (said.id, "cefoperazone" in said.text) == ("class", True)


def test_a_class_that_few_products_of_a_medicine_stand_in_says_nothing_of_it() -> None:
    [said] = verdicts("Can I take furosemide in gout?", "furosemide", "gout")
    assert said.id == "none"


def test_what_else_has_the_same_short_form_is_another_thing() -> None:
    lungs, women = G.link("measles"), G.link("gout")
    short = replace(lungs, mention=Mention("PE", "PE", 0, 2), ties=(women.entity,))
    long = replace(short, mention=Mention("embolism", "embolism", 0, 8))
    assert [{e.name for e in Family(G).twins(link)} for link in (short, long)] == [{"measles"}, {"measles", "gout"}]


def test_two_things_in_a_question_of_no_known_kind_are_told_by_what_ties_them() -> None:
    [said] = verdicts("Might measles go with pneumonia?", "measles", "pneumonia")
    assert said.text.startswith("What the graph says of both: viral pneumonia is a complication of measles")


def test_a_choice_between_modes_of_inheritance_is_no_yes_or_no() -> None:
    mode = Triple(Entity("a", "A"), Relation("mode", Role.INHERITANCE), Entity("r", "Autosomal recessive inheritance"))
    piece = Evidence("", "neighbours", (mode,), (mode.head,))
    assert mode_asked("Is A dominant or recessive?", [piece]) == []
    assert [e.id for e in mode_asked("Is A recessive?", [piece])] == ["yes"]


def test_what_is_drunk_beside_a_medicine_is_found_in_its_texts() -> None:
    [no] = verdicts("Can I have a beer while on metformin?", "metformin")
    assert (no.id, "alcoholic" in no.text) == ("no", True)
    [nothing] = verdicts("Can I drink wine with warfarin?", "warfarin")
    assert (nothing.id, "no proof" in nothing.text) == ("none", True)


def test_what_is_asked_about_comes_before_what_is_only_told() -> None:
    told = "She has a rash and gout. "
    said = told_verdicts(told + "Can she take propranolol with metformin?", "rash", "propranolol", "metformin")
    assert said[0].text.startswith("The graph has no warning about propranolol and metformin")
    assert all(e.id != "harm" for e in said)  # that it can cause the rash of which she tells
    said = told_verdicts("My 8 year old has gout, can I give him metformin?", "gout", "metformin")
    assert "metformin and children" in said[0].text


def told_verdicts(question: str, *names: str) -> list[Evidence]:
    """The verdicts on things that are linked where they stand in the question."""
    links = [G.link(name) for name in names]
    for link, name in zip(links, names, strict=True):
        object.__setattr__(link.mention, "start", question.index(name))
        object.__setattr__(link.mention, "end", question.index(name) + len(name))
    between, asked = Between(G), query(question)
    pair = between.fitting(asked, links, pairs_asked(question))
    assert pair is not None
    return between(asked, links, pair)


def test_people_are_found_in_texts_and_the_place_of_storage_is_no_warning() -> None:
    [no] = verdicts("Can pregnant women take colchicine?", "colchicine")
    assert no.id == "no"
    assert "Not in pregnancy" in no.text
    [nothing] = verdicts("Can children take metformin?", "metformin")
    assert nothing.id == "none"


@pytest.mark.parametrize(
    "text",
    [
        "Is warfarin or colchicine safer in pregnancy?",
        "Can I take warfarin or colchicine while pregnant?",
        "May pregnant women take warfarin or colchicine?",
    ],
)
def test_of_two_medicines_for_one_group_of_people_each_is_told(text: str) -> None:
    said = verdicts(text, "warfarin", "colchicine")
    assert [(e.id, e.about[0].name) for e in said] == [("none", "warfarin"), ("no", "colchicine")]


def test_whether_one_medicine_is_safer_than_another_is_not_whether_they_may_be_taken_together() -> None:
    assert not [row for row in pairs_asked("Is metformin safer than warfarin?") if row.safety]


def test_no_warning_is_no_proof_that_it_may_be_taken() -> None:
    [first] = verdicts("Can I take metformin with simvastatin?", "metformin", "simvastatin")
    assert first.id == "none"
    assert "no proof" in first.text


def test_a_substance_is_the_name_without_form_and_salt() -> None:
    assert {substance(n) for n in ("盐酸二甲双胍片", "盐酸二甲双胍缓释片", "二甲双胍")} == {"二甲双胍"}
    assert substance("Warfarin Sodium Tablets") == "warfarin"
    names = {G.at(node).name for node in Family(G).of(G.link("colchicine"))}
    assert names == {"colchicine", "colchicine tablets"}


def row_of(question: str, *names: str) -> str:
    links = [G.link(name) for name in names]
    for place, link in enumerate(links):
        object.__setattr__(link.mention, "start", 10 * place)
        object.__setattr__(link.mention, "end", 10 * place + 5)
    found = Between(G).fitting(query(question), links, pairs_asked(question))
    return found.name if found else ""


def test_two_names_without_a_verb_are_two_medicines_or_a_medicine_and_what_it_is_for_or_what_forbids_it() -> None:
    assert row_of("aspirin warfarin", "aspirin", "warfarin") == "interaction"
    assert row_of("colchicine in gout", "colchicine", "gout") == "treats"
    assert row_of("aspirin in asthma", "aspirin", "asthma") == "safety"
    assert not row_of("gout and measles", "gout", "measles")


def test_what_one_medicine_does_to_another_is_how_they_interact() -> None:
    assert row_of("Does warfarin affect aspirin?", "warfarin", "aspirin") == "interaction"


def test_whether_a_disease_is_inherited_is_answered_by_its_mode() -> None:
    mode = Relation("mode", Role.INHERITANCE)
    gout, known = Entity("d", "gout"), (Entity("r", "Autosomal recessive inheritance"), Entity("s", "Sporadic"))
    recessive, sporadic = (Evidence("", "neighbours", (Triple(gout, mode, e),), (gout,)) for e in known)
    assert mode_asked("Is gout inherited?", [recessive])[0].text.startswith("Yes: ")
    assert mode_asked("Is gout inherited?", [sporadic])[0].text.startswith("No: ")
    assert mode_asked("痛风会遗传吗", [recessive])[0].text.startswith("会：")
    assert not mode_asked("How is gout inherited?", [recessive])


def test_what_has_causes_from_outside_is_inherited_in_part_only() -> None:
    mode, cause = Relation("mode", Role.INHERITANCE), Relation("caused by", Role.CAUSE)
    lupus, dominant = Entity("d", "lupus"), Entity("r", "Autosomal dominant inheritance")
    piece = Evidence("", "neighbours", (Triple(lupus, mode, dominant),), (lupus,))
    infection, gene = (Triple(lupus, cause, Entity(n, n)) for n in ("infection", "mutation of FBN1"))
    assert (from_outside(infection), from_outside(gene), from_outside(piece.triples[0])) == (True, False, False)
    [said] = mode_asked("Is lupus hereditary?", [piece], [infection])
    assert said.text == (
        "In part: lupus has Autosomal dominant inheritance. Causes from outside are named too: infection."
    )
    assert infection in said.triples
    [said] = mode_asked("Is lupus autosomal dominant?", [piece], [infection])  # asked of the mode itself
    assert said.text.startswith("Yes: ")


def test_a_warning_of_an_illness_that_is_told_comes_before_the_complaint_for_which_a_medicine_is_asked() -> None:
    said = told_verdicts("She has asthma. Can she take propranolol for measles?", "asthma", "propranolol", "measles")
    assert [e.id for e in said] == ["class", "other"]
    assert "esmolol" in said[0].text


def test_a_product_is_told_as_the_substance_that_was_asked_about() -> None:
    said = verdicts("Does colchicine interact with simvastatin?", "colchicine", "simvastatin")
    assert said[0].text == "Yes: colchicine interacts with simvastatin."
    assert said[0].triples[0].head.name == "colchicine tablets"


SHAKY = RoleGraph(
    [
        ("hand tremor", "kind of", "tremor by site"),
        ("tremor by site", "kind of", "tremor"),
        ("salbutamol", "side effect", "tremor"),
        ("ibuprofen", "treats", "belly pain"),
        ("ibuprofen", "side effect", "belly pain"),
        ("esmolol", "must not", "asthma"),
        ("esmolol", "side effect", "asthma"),
    ],
    RELATIONS,
    {"phenotype": ["tremor", "hand tremor", "belly pain"], "drug": ["salbutamol", "ibuprofen", "esmolol"]},
    isolated=["fever"],
)


@pytest.mark.parametrize(
    ("medicine", "finding", "said"),
    [
        ("salbutamol", "hand tremor", "Yes: salbutamol can cause tremor."),
        ("salbutamol", "belly pain", "The graph has no link between salbutamol and belly pain."),
        (
            "ibuprofen",
            "belly pain",
            "What the graph says of both: ibuprofen is given for belly pain; ibuprofen can cause belly pain.",
        ),
        ("esmolol", "asthma", "No: esmolol must not be used in asthma."),
    ],
)
def test_a_medicine_and_a_finding_without_a_verb_ask_for_a_side_effect(medicine: str, finding: str, said: str) -> None:
    links = [SHAKY.link(medicine), SHAKY.link(finding)]
    object.__setattr__(links[1].mention, "start", 20)
    object.__setattr__(links[1].mention, "end", 25)
    between, asked = Between(SHAKY), query(f"{medicine} {finding}")
    pair = between.fitting(asked, links, ())
    assert pair is not None
    assert between(asked, links, pair)[0].text == said


def test_one_name_in_one_of_many_languages_makes_no_product_of_a_medicine(tmp_path: Path) -> None:
    def drug(name: str, *called: str) -> NodeRow:
        return NodeRow(name, name, "drug", "", tuple(Alias(c, Scope.TRANSLATION, "") for c in called))

    rows = (
        drug("doxycycline", "doxiciclina", "Doxycyclin"),
        drug("erythromycin", "doxiciclina", "eritromicina", "Erythromycin", "eritromisin", "érythromycine"),
        drug("doxycycline tablets", "doxiciclina compresse"),
        drug("Vibramycin", "Doxycyclin"),
    )
    graph = small(tmp_path, rows)
    link = Link(Mention("doxycycline", "doxycycline", 0, 11), graph.lookup("doxycycline")[0].entity, 1.0, "exact")
    names = {graph.at(node).name for node in Family(graph).of(link)}
    assert names == {"doxycycline", "doxycycline tablets", "Vibramycin"}


def test_what_treats_an_illness_treats_it_whichever_is_named_first() -> None:
    assert [e.id for e in verdicts("Does colchicine treat gout?", "colchicine", "gout")] == ["yes"]
    assert [e.id for e in verdicts("Can one treat gout with colchicine?", "gout", "colchicine")] == ["yes"]
    assert [e.id for e in verdicts("Does toe pain cause gout?", "toe pain", "gout")] == ["reverse"]
