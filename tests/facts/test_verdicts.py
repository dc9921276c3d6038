"""The operator `between`: verdicts on subject and object of an ask, from ties in small graphs and in the real ones."""

from dataclasses import replace

import pytest

from kgmed.facts.ties import allergens
from kgmed.facts.verdicts import GRAVE, RelationVerdict, rule_of
from kgmed.frame import Ask, Constraint, Form, Frame, Intent, Named, Patient
from kgmed.graph.store.store import Store
from kgmed.records import Evidence, Link, Mention, Relation, Role
from kgmed.sentences import catalogue
from role_graph import RoleGraph

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
    Relation("mode", Role.INHERITANCE),
    Relation("caused by", Role.CAUSE),
    Relation("without_warning_in"),
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
    ("aspirin", "treats", "headache"),
    ("propranolol", "kind of", "beta blockers"),
    ("esmolol", "kind of", "beta blockers"),
    ("esmolol", "must not", "asthma"),
    ("esmolol", "must not", "colchicine"),
    ("esmolol", "interacts with", "warfarin"),
    ("propranolol", "treats", "measles"),
    ("propranolol", "treats", "tremor"),
    ("propranolol", "side effect", "rash"),
    ("amiodarone", "interacts with", "digitalis"),
    ("warfarin", "interacts with", "naproxen"),
    ("amoxicillin", "without_warning_in", "pregnancy"),
    ("ataxia", "mode", "Autosomal recessive inheritance"),
    ("chorea", "mode", "Autosomal dominant inheritance"),
    ("lupus", "mode", "Autosomal dominant inheritance"),
    ("lupus", "caused by", "infection"),
    ("cramps", "mode", "Sporadic"),
    ("palsy 1", "kind of", "palsy"),
    ("palsy 2", "kind of", "palsy"),
    ("palsy 1", "mode", "Autosomal recessive inheritance"),
    ("palsy 2", "mode", "Autosomal dominant inheritance"),
]
KINDS = {
    "disease": [
        *("gout", "measles", "pneumonia", "viral pneumonia", "asthma", "tremor", "ataxia", "chorea", "lupus"),
        *("palsy", "palsy 1", "palsy 2"),
    ],
    "symptom": ["toe pain", "pain", "rash", "bleeding", "headache"],
    "drug": [
        *("colchicine", "colchicine tablets", "simvastatin", "aspirin", "warfarin", "metformin", "propranolol"),
        *("esmolol", "amiodarone", "digitalis", "digoxin", "naproxen", "ibuprofen", "cefalexin", "cefoperazone"),
        *("amoxicillin", "头孢氨苄", "华法林"),
    ],
    "class": ["头孢类", "抗生素"],
    "food": ["牛奶"],
}
TEXTS = [
    ("colchicine tablets", "must not", "Severe renal failure. Not in pregnancy."),
    ("aspirin", "care with", "Use with care in asthma."),
    ("metformin", "care with", "Keep out of the reach of children."),
    ("metformin", "care with", "Never with alcoholic drinks."),
    ("metformin", "care with", "本品可与牛奶同服。"),
    ("esmolol", "care with", "With care in measles."),
    ("cefoperazone", "must not", "No alcohol for a week."),
    ("propranolol", "must not", "Do not use in tremor."),
    ("头孢氨苄", "must not", "对头孢类抗生素过敏者禁用；对华法林过敏者禁用。"),
    ("naproxen", "must not", "Hypersensitivity to aspirin."),
]
ISOLATED = ["metformin", "digoxin", "ibuprofen", "cefalexin", "头孢类", "抗生素", "牛奶", "华法林"]
G = RoleGraph(ROWS, RELATIONS, KINDS, texts=TEXTS, isolated=ISOLATED)


def named(name: str, start: int = -1) -> Named:
    """A thing as the frame has it: linked where the graph has the name."""
    link = next((G.link(m.entity.name) for m in G.lookup(name)), None)
    spans = ((start, start + len(name)),) if start >= 0 else ()
    links = (replace(link, mention=replace(link.mention, surface=name, name=name)),) if link else ()
    return Named((name,), link.entity.kind if link else "", spans, links)


def test_a_medicine_that_makes_an_illness_worse_is_a_caution_unless_more_of_it_is_given_for_it() -> None:
    rows = [
        ("labetalol", "treats", "asthma"),
        ("labetalol", "side effect", "asthma"),
        ("salbutamol", "treats", "asthma"),
        ("salbutamol syrup", "treats", "asthma"),
        ("salbutamol syrup", "contains", "salbutamol"),
        ("salbutamol", "side effect", "bronchospasm"),
    ]
    drugs = ["labetalol", "salbutamol", "salbutamol syrup"]
    graph = RoleGraph(rows, RELATIONS, {"drug": drugs, "disease": ["asthma"], "symptom": ["bronchospasm"]})
    for drug, verdict, begins in (
        ("labetalol", "harm", "Caution: labetalol can cause"),
        ("salbutamol", "other", "The"),
    ):
        things = [Named((name,), graph.link(name).entity.kind, (), (graph.link(name),)) for name in (drug, "asthma")]
        ask = Ask(Intent.SAFETY, (things[0],), (things[1],), form=Form.YES_NO)
        [said] = RelationVerdict(graph)(ask, Frame((ask,), source="given"))
        assert (said.id, said.text.startswith(begins)) == (verdict, True)


def judged(
    intent: Intent, subject: str, other: str = "", *, frame: Frame | None = None, negative: bool = False
) -> list[Evidence]:
    """The verdicts on things named, "/" between those of one side."""
    sides = [
        tuple(named(n, 50 * (i + 10 * s)) for i, n in enumerate(filter(None, side.split("/"))))
        for s, side in enumerate((subject, other))
    ]
    ask = Ask(intent, sides[0], sides[1], negative, Form.YES_NO)
    return RelationVerdict(G)(ask, replace(frame or Frame(), asks=(ask,), source="given"))


@pytest.mark.parametrize(
    ("intent", "subject", "other", "verdict", "said"),
    [
        (Intent.SYMPTOMS, "gout", "toe pain", "yes", "Yes: gout can show toe pain."),
        (Intent.SYMPTOMS, "gout", "pain", "yes", "Yes: gout can show toe pain."),
        (Intent.SYMPTOMS, "gout", "rash", "no", "No: the graph says that gout does not show rash."),
        (Intent.COMPLICATIONS, "measles", "pneumonia", "yes", "viral pneumonia is a complication"),
        (Intent.COMPLICATIONS, "gout", "bleeding", "none", "The graph has no link between gout and bleeding."),
        (Intent.SIDE_EFFECTS, "colchicine", "gout", "other", "colchicine is given for gout"),
        (Intent.SIDE_EFFECTS, "aspirin", "bleeding", "yes", "Yes: aspirin can cause bleeding."),
        (Intent.DRUG_CAUSES, "bleeding", "aspirin", "yes", "Yes: aspirin can cause bleeding."),
        (Intent.HELPS, "colchicine", "gout", "yes", "Yes: colchicine is given for gout."),
        (Intent.HELPS, "gout", "colchicine", "yes", "Yes: colchicine is given for gout."),
        (Intent.RELATION, "measles", "pneumonia", "yes", "Yes: viral pneumonia is a complication"),
        (Intent.CAUSES, "lupus", "infection", "yes", "Yes: infection is a cause of lupus."),
    ],
)
def test_the_tie_of_two_things_answers(intent: Intent, subject: str, other: str, verdict: str, said: str) -> None:
    [first] = judged(intent, subject, other)
    assert (first.kind, first.id) == ("verdict", verdict)
    assert said in first.text
    assert bool(first.triples) == (verdict != "none")
    assert [e.name for e in first.about] == [subject, other]


def test_a_missing_edge_is_never_a_no() -> None:
    for intent in Intent:
        if rule_of(intent):
            assert {e.id for e in judged(intent, "metformin", "gout")} <= {"none"}
    [said] = judged(Intent.SAFETY, "metformin", "gout")
    assert "no proof that it may be taken" in said.text


def test_a_medicine_is_spoken_of_under_its_products_and_its_class_and_both_triples_are_shown() -> None:
    [product] = judged(Intent.INTERACTIONS, "colchicine", "simvastatin")
    assert (product.id, product.text) == ("interacts", "They interact: colchicine interacts with simvastatin.")
    assert {t.relation.name for t in product.triples} == {"interacts with", "contains"}
    [by_class] = judged(Intent.SAFETY, "aspirin", "warfarin")
    assert by_class.id == "interacts"
    assert {t.relation.name for t in by_class.triples} == {"interacts with", "kind of"}
    [by_name] = judged(Intent.INTERACTIONS, "amiodarone", "digoxin")
    assert (by_name.id, by_name.text) == ("interacts", "They interact: amiodarone interacts with digitalis.")


def test_of_several_things_all_pairs_are_judged_and_the_gravest_is_said_first() -> None:
    plain = judged(Intent.SAFETY, "aspirin", "warfarin")
    for subject, other in (
        ("aspirin/warfarin", "headache"),
        ("aspirin", "warfarin/headache"),
        ("headache/warfarin/aspirin", ""),
    ):
        said = judged(Intent.SAFETY, subject, other)
        assert said[0].id == "interacts"
        assert set(said[0].triples) == set(plain[0].triples)
    said = judged(Intent.SAFETY, "colchicine/simvastatin/esmolol")
    assert [e.id for e in said][:2] == ["no", "interacts"]
    assert said[0].text == "They are not to be taken together: esmolol must not be used with colchicine."


@pytest.mark.parametrize("intent", [Intent.SAFETY, Intent.INTERACTIONS, Intent.HELPS])
def test_what_is_told_of_the_patient_adds_warnings_and_removes_none(intent: Intent) -> None:
    other = {Intent.HELPS: "gout"}.get(intent, "simvastatin")
    plain = judged(intent, "colchicine", other)
    told = (
        Frame(patient=Patient(groups=("pregnancy",))),
        Frame(patient=Patient(takes=(named("esmolol"),))),
        Frame(findings=(named("asthma"), named("headache"))),
        Frame(patient=Patient(groups=("pregnancy",), has=(named("rash"),), takes=(named("esmolol"),), age=70)),
    )
    for frame in told:
        said = judged(intent, "colchicine", other, frame=frame)
        assert {e.text for e in plain} <= {e.text for e in said}
    assert judged(intent, "colchicine", other, frame=told[0])[0].id == "no"
    assert any(e.about[1].name == "esmolol" for e in judged(intent, "colchicine", other, frame=told[1]))


def test_a_warning_says_yes_to_a_danger_and_no_to_safety() -> None:
    pregnant = Frame(patient=Patient(groups=("pregnancy",)))
    assert judged(Intent.SAFETY, "colchicine", frame=pregnant)[0].text.startswith(
        "It must not be used: colchicine, must not: Not in pregnancy"
    )
    assert judged(Intent.SAFETY, "colchicine", frame=pregnant, negative=True)[0].text.startswith("Yes: ")
    [first] = judged(Intent.CONTRAINDICATIONS, "colchicine", frame=pregnant)
    assert (first.id, first.text.startswith("Yes: ")) == ("no", True)


def test_people_are_found_in_texts_and_the_place_of_storage_is_no_warning() -> None:
    [nothing] = judged(Intent.SAFETY, "metformin", frame=Frame(patient=Patient(age=4)))
    assert (nothing.id, "metformin and children" in nothing.text) == ("none", True)


def test_a_list_without_a_warning_is_told_and_is_no_proof() -> None:
    [said] = judged(Intent.SAFETY, "amoxicillin", frame=Frame(patient=Patient(groups=("pregnancy",))))
    assert said.id == "other"
    assert "no proof that it may be taken" in said.text
    assert "without a warning for pregnancy" in said.text
    assert len(said.triples) == 1


def test_what_is_drunk_beside_a_medicine_is_found_in_its_texts_and_in_those_of_its_class() -> None:
    [no] = judged(Intent.SAFETY, "metformin", "beer")
    assert (no.id, "alcoholic" in no.text) == ("no", True)
    [alike] = judged(Intent.SAFETY, "cefalexin", "beer")
    assert (alike.id, "cefoperazone" in alike.text) == ("class", True)


def test_a_text_that_says_that_a_medicine_may_be_taken_with_something_is_no_warning() -> None:
    assert [e.id for e in judged(Intent.SAFETY, "metformin", "牛奶")] == ["none"]


def test_others_of_the_class_are_a_caution_and_their_interactions_none() -> None:
    [alike] = judged(Intent.SAFETY, "propranolol", "asthma")
    assert alike.id == "class"
    assert alike.text.startswith("Caution, better not: of propranolol and asthma the graph says nothing")
    assert "esmolol" in alike.text
    [told] = judged(Intent.SAFETY, "ibuprofen", "warfarin")
    assert told.id == "none"
    assert "of medicines of the same class it says: warfarin interacts with naproxen" in told.text


def test_a_contraindication_is_said_before_what_a_medicine_is_given_for() -> None:
    said = judged(Intent.HELPS, "propranolol", "tremor")
    assert [e.id for e in said] == ["no", "yes"]
    assert "Do not use in tremor" in said[0].text


def test_what_is_asked_about_and_is_not_in_the_graph_is_named() -> None:
    said = judged(Intent.SAFETY, "metformin", "zelbraxine")
    assert [(e.id, e.text) for e in said] == [
        ("unknown", "“zelbraxine” is not in the graph, so nothing is said about it.")
    ]
    said = judged(Intent.INTERACTIONS, "aspirin/zelbraxine", "warfarin")
    assert [e.id for e in said] == ["interacts", "unknown"]


def touching(*names: str) -> tuple[Named, ...]:
    """Names that stand one behind the other."""
    starts = [sum(map(len, names[:i])) for i in range(len(names))]
    return tuple(map(named, names, starts))


def test_two_names_that_touch_and_form_one_name_are_one_thing() -> None:
    ask = Ask(Intent.INTERACTIONS, touching("头孢类", "抗生素"), (named("牛奶", 20),), form=Form.YES_NO)
    said = RelationVerdict(G)(ask, Frame((ask,), language="zh"))
    assert [(e.id, [x.name for x in e.about]) for e in said] == [("none", ["头孢类", "牛奶"])]


def test_an_allergy_clause_is_a_verdict_only_where_an_allergy_is_told() -> None:
    pair = Ask(Intent.SAFETY, (named("头孢氨苄", 0),), (named("华法林", 10),), form=Form.YES_NO)
    assert [e.id for e in RelationVerdict(G)(pair, Frame((pair,), language="zh"))] == ["none"]
    one = replace(pair, object=())
    told = Frame((one,), patient=Patient(allergic_to=(named("华法林"),)), language="zh")
    [said] = RelationVerdict(G)(one, told)
    assert (said.id, "对华法林过敏者禁用" in said.text) == ("no", True)
    [said] = judged(Intent.SAFETY, "naproxen", frame=Frame(patient=Patient(allergic_to=(named("aspirin"),))))
    assert said.id in GRAVE
    [said] = judged(Intent.SAFETY, "aspirin", frame=Frame(patient=Patient(allergic_to=(named("aspirin"),))))
    assert (said.id, said.text) == (
        "no",
        "It must not be used: aspirin is, or has in it, what the allergy is to (aspirin).",
    )


def test_what_warns_is_told_of_a_medicine_that_is_asked_to_help() -> None:
    said = judged(Intent.HELPS, "propranolol", "asthma")
    assert [e.id for e in said] == ["class", "none"]
    assert "esmolol" in said[0].text


def test_a_relation_of_things_on_one_side_is_told_too() -> None:
    said = judged(Intent.RELATION, "aspirin/bleeding", "measles")
    assert ("yes", "Yes: aspirin can cause bleeding.") in [(e.id, e.text) for e in said]
    said = judged(Intent.RELATION, "aspirin", "gout/warfarin/rash")
    assert said[0].id == "interacts"


def test_an_allergy_to_what_the_graph_does_not_have_is_looked_for_in_labels() -> None:
    [said] = judged(Intent.SAFETY, "simvastatin", frame=Frame(patient=Patient(allergic_to=(named("peanuts"),))))
    assert (said.id, "no proof" in said.text) == ("none", True)


def test_allergens_of_labels() -> None:
    assert allergens(["对磺胺类药物过敏者禁用", "对本品过敏者禁用"]) == {"磺胺"}


@pytest.mark.parametrize(
    ("disease", "condition", "verdict", "said"),
    [
        ("chorea", "", "yes", "Yes: chorea has Autosomal dominant inheritance."),
        ("ataxia", "", "yes", "Yes, recessively"),
        ("ataxia", "one parent", "other", "both parents"),
        (
            "lupus",
            "",
            "yes",
            "In part: lupus has Autosomal dominant inheritance. Causes from outside are named too: infection.",
        ),
        ("cramps", "", "other", "no inheritance by one gene"),
        ("palsy", "", "other", "Of some of its forms the graph says so, of the illness as a whole it does not: palsy"),
        ("gout", "", "none", "The graph has no inheritance for gout."),
    ],
)
def test_whether_a_disease_is_inherited_is_told_by_its_modes(
    disease: str, condition: str, verdict: str, said: str
) -> None:
    constraints = (Constraint("condition", condition),) if condition else ()
    ask = Ask(Intent.INHERITANCE, (named(disease),), form=Form.YES_NO, constraints=constraints)
    [first] = RelationVerdict(G)(ask, Frame((ask,)))
    assert first.id == verdict
    assert said in first.text


def test_a_list_is_no_question_of_two_things() -> None:
    ask = Ask(Intent.SIDE_EFFECTS, (named("aspirin", 0), named("bleeding", 20)))
    assert RelationVerdict(G)(ask, Frame((ask,))) == []
    assert RelationVerdict(G)(replace(ask, intent=Intent.DOSAGE), Frame((ask,))) == []


def test_the_sentences_stand_in_every_catalogue() -> None:
    english, chinese = catalogue("en").said, catalogue("zh").said
    assert english.keys() == chinese.keys()


# --- the real graphs


def on(graph: Store, ask: Ask, **patient: tuple[str, ...]) -> list[Evidence]:
    """The verdicts on an ask whose names are looked up in a graph."""
    frame = Frame((ask,), patient=Patient(groups=patient.get("groups", ())), language=graph.language, source="given")
    return RelationVerdict(graph)(ask, frame)


def looked_up(graph: Store, *names: str, start: int = 0) -> tuple[Named, ...]:
    found = []
    for place, name in enumerate(names):
        at = start + 20 * place
        match = next(iter(graph.lookup(name)), None)
        links = (Link(Mention(name, name, at, at + len(name)), match.entity, 1.0, match.how),) if match else ()
        found.append(Named((name,), match.entity.kind if match else "", ((at, at + len(name)),), links))
    return tuple(found)


@pytest.mark.starter
@pytest.mark.parametrize(
    ("intent", "subject", "other", "groups", "verdict", "said"),
    [
        (Intent.INTERACTIONS, ("克拉霉素",), ("辛伐他汀",), (), ("no", "interacts"), "辛伐他汀"),
        (Intent.SAFETY, ("布洛芬",), (), ("pregnancy",), ("no", "caution"), "孕"),
        (Intent.SAFETY, ("异烟肼",), ("癫痫", "肺结核"), (), ("no", "caution"), "癫痫"),
        (Intent.SAFETY, ("头孢", "酒"), (), (), ("no",), "酒"),
        (Intent.INTERACTIONS, ("头孢类抗生素",), ("牛奶",), (), ("none", "caution"), "牛奶"),
        (Intent.SAFETY, ("头孢氨苄",), ("青霉素过敏",), (), ("no", "caution", "class"), "青霉素"),
        (Intent.HELPS, ("二甲双胍",), ("糖尿病",), (), ("yes",), "二甲双胍"),
        (Intent.SIDE_EFFECTS, ("阿司匹林",), ("胃溃疡",), (), ("yes",), "胃溃疡"),
        (Intent.SAFETY, ("螺内酯片",), ("高钾血症",), (), ("no",), "高钾血症"),
    ],
)
def test_verdicts_on_medicines_of_cmekg(
    cmekg: Store,
    intent: Intent,
    subject: tuple[str, ...],
    other: tuple[str, ...],
    groups: tuple[str, ...],
    verdict: tuple[str, ...],
    said: str,
) -> None:
    ask = Ask(intent, looked_up(cmekg, *subject), looked_up(cmekg, *other, start=100), form=Form.YES_NO)
    found = on(cmekg, ask, groups=groups)
    assert found[0].id in verdict
    assert any(said in e.text for e in found)
    assert all(e.triples for e in found if e.id not in ("none", "unknown"))


@pytest.mark.starter
def test_adding_a_complaint_removes_no_warning_of_two_medicines_of_cmekg(cmekg: Store) -> None:
    medicines = looked_up(cmekg, "阿司匹林", "华法林")
    plain = on(cmekg, Ask(Intent.SAFETY, medicines, form=Form.YES_NO))
    assert plain[0].id in GRAVE
    for complaint in ("头痛", "发热", "咳嗽"):
        more = on(cmekg, Ask(Intent.SAFETY, medicines, looked_up(cmekg, complaint, start=90), form=Form.YES_NO))
        assert {e.text for e in plain if e.id in GRAVE} <= {e.text for e in more}


@pytest.mark.starter
@pytest.mark.parametrize(
    ("disease", "said"),
    [
        ("Huntington disease", "Yes: "),
        ("Cystic fibrosis", "Yes, recessively"),
        ("Friedreich ataxia", "recessive"),
    ],
)
def test_inheritance_of_hpo(hpo: Store, disease: str, said: str) -> None:
    [found] = on(hpo, Ask(Intent.INHERITANCE, looked_up(hpo, disease), form=Form.YES_NO))
    assert found.id == "yes"
    assert said in found.text


def test_what_a_medicine_is_is_no_question_of_taking_it() -> None:
    of_class, of_another = (judged(Intent.DRUG_CLASS, "aspirin", c) for c in ("salicylates", "beta blockers"))
    assert of_class[0].id == "yes"
    assert of_another[0].text == catalogue("en")("verdict.none", one="aspirin", other="beta blockers")
    held = judged(Intent.INGREDIENTS, "colchicine tablets", "colchicine")
    assert held[0].text == "Yes: colchicine tablets contains colchicine."
