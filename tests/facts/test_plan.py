"""The table of plans: an ask is executed on the graph by its row, and no word of the question is read."""

from dataclasses import replace
from pathlib import Path

import pytest

from kgmed.facts.plan import FromFrame, links_of, operator_named, plan
from kgmed.frame import OTHER_THAN, Ask, Constraint, Form, Frame, Intent, Named
from kgmed.graph.base import Alias, NodeRow, Scope
from kgmed.records import Entity, Evidence, Link, Mention, Query, Question, Relation, Role
from named_graph import small
from role_graph import RoleGraph

RELATIONS = (
    Relation("has", Role.FINDING),
    Relation("caused by", Role.CAUSE),
    Relation("treats", Role.TREATS),
    Relation("must not", Role.CONTRAINDICATED),
)
ROWS = [
    ("gout", "has", "pain"),
    ("acne", "has", "pain"),
    ("pain", "caused by", "strain"),
    ("flu", "caused by", "virus"),
    ("colchicine", "treats", "gout"),
    ("lead", "must not", "gout"),
]
KINDS = {"disease": ["gout", "acne", "flu", "高血压"], "symptom": ["pain"], "drug": ["colchicine", "lead", "药"]}
G = RoleGraph(ROWS, RELATIONS, KINDS)


def named(graph: RoleGraph, *names: str) -> tuple[Named, ...]:
    """Things of a graph as a frame names them."""
    return tuple(Named((name,), graph.link(name).entity.kind, (), (graph.link(name),)) for name in names)


def answered(frame: Frame, graph: RoleGraph = G) -> list[Evidence]:
    """What the plan finds for a frame."""
    return FromFrame(graph, lambda _: [])(Query(Question("?"), frame=frame), [])


def names_in(found: list[Evidence]) -> set[str]:
    return {x.name for e in found for t in e.triples for x in (t.head, t.tail)}


def test_every_intent_has_a_row_whose_operators_exist() -> None:
    assert plan().keys() == set(Intent)
    for intent, row in plan().items():
        if not intent.out_of_scope:
            assert all(callable(operator_named(n)) for n in (row.operator, row.negative[0], row.also, row.two) if n)


def test_a_thing_that_the_vocabulary_alone_knows_has_no_link() -> None:
    dairy = Link(Mention("dairy", "dairy", 0, 5), Entity("", "dairy", "food"), 1.0, "exact")
    known = named(G, "gout")
    assert links_of((Named(("dairy",), links=(dairy,)), *known)) == [known[0].links[0]]


def test_what_a_medicine_is_for_answers_no_question_of_an_overdose() -> None:
    drug = named(G, "colchicine")
    uses = Ask(Intent.USES, drug, probability=0.3)
    other = answered(Frame((Ask(Intent.STORAGE, drug),), (uses,)))
    assert "gout" in names_in(other)
    assert not names_in(answered(Frame((Ask(Intent.OVERDOSE, drug),), (uses,))))


def test_a_yes_or_no_of_two_things_is_not_told_of_one() -> None:
    two = named(G, "gout", "flu")
    told = RoleGraph([*ROWS, ("flu", "传染性", "virus")], (*RELATIONS, Relation("传染性")), KINDS)
    asked = Ask(Intent.RELATION, two[:1], two[1:], form=Form.YES_NO)
    other = Ask(Intent.CONTAGION, two, probability=0.3, form=Form.YES_NO)
    assert not names_in(answered(Frame((asked,), (other,)), told))


def test_a_refusing_ask_is_answered_with_what_to_avoid() -> None:
    wanted, refused = (answered(Frame((Ask(Intent.TREATMENT, named(G, "gout"), negative=n),))) for n in (False, True))
    assert "colchicine" in names_in(wanted)
    assert names_in(refused) & {"colchicine", "lead"} == {"lead"}


def test_what_a_medicine_is_given_for_is_no_treatment_of_it() -> None:
    assert answered(Frame((Ask(Intent.TREATMENT, named(G, "colchicine")),)))[0].id == "lacking"
    both = answered(Frame((Ask(Intent.TREATMENT, named(G, "colchicine", "gout")),)))
    assert [e.about[0].name for e in both if e.triples] == ["gout"]


GIVEN = [
    ("aspirin", "treats", "pain"),
    ("ibuprofen", "treats", "pain"),
    ("ibuprofen", "treats", "gout"),
    ("colchicine", "treats", "gout"),
    ("zinc", "treats", "acne"),
    *((f"ibuprofen {form}", "treats", "flu") for form in ("tablets", "capsules", "granules")),
    *((f"ibuprofen {form}", "contains", "ibuprofen") for form in ("tablets", "capsules", "granules")),
]
MEDICINES = RoleGraph(
    GIVEN,
    (*RELATIONS, Relation("contains", Role.INGREDIENT)),
    KINDS | {"drug": list(dict.fromkeys(row[0] for row in GIVEN))},
)


def test_what_others_are_asked_for_than_is_left_out() -> None:
    other = (Constraint(OTHER_THAN, "colchicine"),)
    found = answered(Frame((Ask(Intent.TREATMENT, named(MEDICINES, "gout"), constraints=other),)), MEDICINES)
    assert names_in(found) == {"gout", "ibuprofen"}


def test_a_substance_is_stored_as_its_products_are() -> None:
    rows = [*GIVEN, ("ibuprofen tablets", "storage", "keep dry")]
    graph = RoleGraph(rows, (*RELATIONS, Relation("contains", Role.INGREDIENT), Relation("storage")), KINDS | {
        "drug": list(dict.fromkeys(row[0] for row in GIVEN))})  # fmt: skip
    found = answered(Frame((Ask(Intent.STORAGE, named(graph, "ibuprofen")),)), graph)
    assert [t.tail.name for e in found for t in e.triples[:1]] == ["keep dry"]
    assert not names_in(answered(Frame((Ask(Intent.STORAGE, named(graph, "zinc")),)), graph)) & {"keep dry"}


@pytest.mark.parametrize("ill", [("acne",), ()])
def test_a_class_that_nothing_of_is_given_for_an_illness_is_given_for_what_it_is_usual_for(ill: tuple[str]) -> None:
    of_class = (Constraint("class", "painkillers"),)
    found = answered(Frame((Ask(Intent.TREATMENT, named(MEDICINES, *ill), constraints=of_class),)), MEDICINES)
    assert {"aspirin", "ibuprofen"} <= names_in(found)
    assert "zinc" not in names_in(found)


def test_labels_say_what_a_medicine_is_given_for_before_its_own_entry() -> None:
    found = answered(Frame((Ask(Intent.USES, named(MEDICINES, "ibuprofen")),)), MEDICINES)
    assert {t.object.name for e in found for t in e.triples} == {"flu"}
    assert all(e.about[1].name == "ibuprofen" for e in found)


def test_that_a_sure_reading_has_no_facts_is_said_beside_what_another_has() -> None:
    other = (Ask(Intent.TREATMENT, named(G, "gout"), probability=0.2),)
    for sure, said in ((0.9, ["absent"]), (0.4, [])):
        found = answered(Frame((Ask(Intent.CAUSES, named(G, "gout"), probability=sure),), other))
        assert [e.id for e in found if e.kind == "verdict"] == said
        assert "colchicine" in names_in(found)


@pytest.mark.parametrize(
    ("sentences", "source", "asked", "unclear"),
    [(3, "trained", 1, True), (2, "trained", 1, False), (9, "", 1, False), (3, "trained", 2, False)],
)
def test_a_message_of_which_it_is_unclear_what_it_asks_is_not_answered(
    sentences: int, source: str, asked: int, unclear: bool
) -> None:
    asks = tuple(Ask(i, named(G, "gout"), probability=0.5) for i in (Intent.TREATMENT, Intent.SYMPTOMS)[:asked])
    frame = Frame(asks, source=source, sentences=sentences)
    found = FromFrame(G, lambda _: [], clear=True)(Query(Question("?"), frame=frame), [])
    assert ("not clear" in found[0].text) is unclear
    assert "colchicine" in names_in(answered(frame))  # what a language model reads


def test_findings_without_an_illness_are_explained_where_it_is_unsure_that_a_treatment_is_asked() -> None:
    graph = RoleGraph([("flu", "has", f) for f in ("pain", "fever", "cough")], RELATIONS, KINDS)
    things = named(graph, "pain", "fever", "cough")
    kinds = []
    for sure in (0.4, 0.9):
        ask = Ask(Intent.TREATMENT, things, probability=sure)
        kinds.append({e.kind for e in answered(Frame((ask,), findings=things), graph)})
    assert "candidate" in kinds[0]
    assert "candidate" not in kinds[1]


FINDINGS_ALONE = RoleGraph([r for r in ROWS if r[1] == "has"] + [("gout", "has", "cough")], RELATIONS[:1], KINDS)
LISTED = [i for i, row in plan().items() if row.operator in ("objects", "subjects") and row.roles and not row.relations]


@pytest.mark.parametrize("things", [("gout",), ("pain",), ("pain", "cough")], ids=" and ".join)
@pytest.mark.parametrize("negative", [False, True], ids=["", "not"])
@pytest.mark.parametrize("intent", [i for i in LISTED if i not in (Intent.SYMPTOMS, Intent.CAUSES)])
def test_a_graph_that_has_nothing_of_what_is_asked_says_so(
    intent: Intent, negative: bool, things: tuple[str, ...]
) -> None:
    of = named(FINDINGS_ALONE, *things)
    other = (Ask(Intent.DIAGNOSIS, of, probability=0.4),)
    frame = Frame((Ask(intent, of, negative=negative),), other, of)
    found = answered(frame, FINDINGS_ALONE)
    if intent in (Intent.GENES, Intent.INHERITANCE) and len(things) > 1:
        return  # of findings these ask which illness it is
    assert [e.id for e in found] == ["lacking"]
    assert negative or "holds" in found[0].text or "What it has" in found[0].text


@pytest.mark.parametrize("intent", [Intent.SYMPTOMS, Intent.CAUSES])
def test_what_is_not_so_is_never_answered_with_what_is(intent: Intent) -> None:
    things = named(G, "gout" if intent is Intent.SYMPTOMS else "flu")
    assert names_in(answered(Frame((Ask(intent, things),))))
    found = answered(Frame((Ask(intent, things, negative=True),)))
    assert [(e.id, e.triples) for e in found] == [("lacking", ())]


def test_of_several_things_the_first_that_has_nothing_is_named_and_so_is_an_illness() -> None:
    for things, lacking in ((("pain", "gout"), "pain"), (("gout", "pain"), ""), (("gout", "flu"), "flu")):
        found = answered(Frame((Ask(Intent.TREATMENT, named(G, *things)),)))
        assert "colchicine" in names_in(found)
        assert [e.text for e in found if e.id == "absent"] == [f"The graph has no treatments for {lacking}."] * bool(
            lacking
        )


def test_an_illness_that_lacks_what_is_asked_is_named_beside_another_that_has_it_but_not_a_finding() -> None:
    for things, lacking in ((("gout", "flu"), ["gout"]), (("pain", "flu"), []), (("flu", "lead"), [])):
        found = answered(Frame((Ask(Intent.CAUSES, named(G, *things)),)))
        assert [e.text for e in found if e.id == "absent"] == [f"The graph has no causes for {x}." for x in lacking]


def test_each_list_names_the_ask_that_it_answers() -> None:
    asks = (Ask(Intent.SYMPTOMS, named(G, "gout")), Ask(Intent.TREATMENT, named(G, "gout")))
    found = answered(Frame(asks))
    assert [(e.id, e.triples[0].relation.role) for e in found] == [("ask:0", Role.FINDING), ("ask:1", Role.TREATS)]


def test_another_likely_reading_is_tried_where_the_first_has_no_facts() -> None:
    first = Ask(Intent.GENES, named(G, "gout"))
    for probability, roles in ((0.2, {Role.FINDING}), (0.05, set())):
        other = Ask(Intent.SYMPTOMS, named(G, "gout"), probability=probability)
        found = answered(Frame((first,), (other,)))
        assert {t.relation.role for e in found for t in e.triples} == roles


def test_two_things_tied_otherwise_are_read_as_another_reading_affirms_them() -> None:
    safety, relation = (
        Ask(intent, named(G, "gout"), named(G, "pain"), form=Form.YES_NO, probability=0.4)
        for intent in (Intent.SAFETY, Intent.RELATION)
    )
    assert [e.id for e in answered(Frame((safety,)))] == ["other"]
    assert [e.id for e in answered(Frame((safety,), (relation,)))] == ["yes"]


def test_how_often_a_finding_is_seen_in_a_disease_is_a_tie_of_the_two() -> None:
    (found,) = answered(Frame((Ask(Intent.FREQUENCY, named(G, "gout", "pain"), form=Form.AMOUNT),)))
    assert (found.id, names_in([found])) == ("yes", {"gout", "pain"})


def test_the_diseases_of_a_mode_of_inheritance_are_listed() -> None:
    rows = [("ataxia", "by", "X-linked inheritance"), ("gout", "by", "dominant inheritance")]
    kinds = {"disease": ["ataxia", "gout"], "inheritance": ["X-linked inheritance", "dominant inheritance"]}
    graph = RoleGraph(rows, (Relation("by", Role.INHERITANCE),), kinds)
    by_name = Ask(Intent.INHERITANCE, named(graph, "X-linked inheritance"))
    by_constraint = Ask(Intent.INHERITANCE, constraints=(Constraint("mode", "X-linked"),))
    for ask in (by_name, by_constraint):
        assert names_in(answered(Frame((ask,)), graph)) == {"ataxia", "X-linked inheritance"}


def test_what_the_graph_does_not_have_is_said_and_what_it_has_instead() -> None:
    [said] = answered(Frame((Ask(Intent.GENES, named(G, "gout")),)))
    assert (said.id, said.triples) == ("lacking", ())
    assert "The graph has no genes for gout." in said.text
    assert "findings" in said.text


def test_of_a_name_that_the_graph_does_not_have_nothing_is_answered() -> None:
    [said] = answered(Frame((Ask(Intent.TREATMENT, (Named(("zelbraxine",)),)),)))
    assert (said.id, "zelbraxine" in said.text) == ("unknown", True)
    asked = Ask(Intent.HELPS, (Named(("zelbraxine",)),), named(G, "gout"), form=Form.YES_NO)
    assert [e.id for e in answered(Frame((asked,)))] == ["unknown"]


@pytest.mark.parametrize("intent", [i for i in Intent if i.out_of_scope])
def test_what_no_medical_graph_answers_is_declined(intent: Intent) -> None:
    [said] = answered(Frame((Ask(intent, named(G, "gout")),)))
    assert (said.id, said.triples) == ("lacking", ())


def test_of_a_symptom_with_few_causes_of_its_own_the_diseases_that_show_it_are_told() -> None:
    def told(name: str) -> list[str]:
        asked = named(G, name)
        found = answered(Frame((Ask(Intent.CAUSES, asked),), findings=asked))
        return sorted(e.about[0].name for e in found if e.kind == "candidate")

    assert told("pain") == ["acne", "gout"]
    assert told("flu") == []


def test_people_who_have_a_disease_are_asked_about_as_it() -> None:
    kinds = {"drug": ["药"], "disease": ["高血压"], "population": ["高血压患者"]}
    g = RoleGraph([("药", "must not", "高血压")], RELATIONS, kinds, isolated=["高血压患者"])
    asked = Ask(Intent.SAFETY, named(g, "药"), named(g, "高血压患者"), form=Form.YES_NO)
    [said, *_] = answered(Frame((asked,), language="zh"), g)
    assert said.id == "no"


def test_what_is_denied_is_not_answered() -> None:
    link = Link(Mention("gout", "gout", 0, 4, negated=True), G.entity("gout"), 1.0, "exact")
    denied = Named(("gout",), "disease", (), (link,), negated=True)
    assert not any(e.triples for e in answered(Frame((Ask(Intent.TREATMENT, (denied,)),))))


def test_a_thing_of_which_its_first_entry_has_nothing_is_answered_by_its_next() -> None:
    links = (G.link("acne"), G.link("gout"))
    thing = Named(("acne", "gout"), "disease", (), links)
    assert "colchicine" in names_in(answered(Frame((Ask(Intent.TREATMENT, (thing,)),))))


def test_a_disease_that_a_model_thinks_of_comes_first_with_the_findings_that_it_explains() -> None:
    ask = Ask(Intent.DIAGNOSIS, named(G, "pain"))
    frame = Frame((ask,), (), named(G, "pain"), likely=named(G, "gout"), source="model")
    plain = [e.about[0].name for e in answered(frame) if e.kind == "candidate"]
    other = [e.about[0].name for e in answered(replace(frame, likely=named(G, "acne"))) if e.kind == "candidate"]
    assert plain[0] == "gout"
    assert other[0] == "acne"
    assert {*plain} == {*other} == {"gout", "acne"}
    assert "colchicine" not in names_in(answered(frame))  # treatments are not asked for
    assert answered(replace(frame, likely=named(G, "flu")))[0].about[0].name != "flu"  # explains no finding


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Gout is also known as: podagra. Codes of Gout: D:1, ICD10:M10. In other languages: 痛风, Gicht."),
        ("zh", "Gout又称：痛风。 Gout的编码：D:1、ICD10:M10。 其他语言：podagra、Gicht。"),
    ],
)
def test_names_are_told_by_language_and_apart_from_codes(language: str, said: str, tmp_path: Path) -> None:
    aliases = (
        Alias("podagra"),
        Alias("痛风", Scope.TRANSLATION),
        Alias("Gicht", Scope.TRANSLATION, "de"),
        Alias("ICD10:M10", Scope.XREF),
        Alias("zh:痛风", Scope.XREF),
    )
    graph = small(tmp_path, (NodeRow("D:1", "Gout", "disease", aliases=aliases),), "coded")
    link = Link(Mention("gout", "gout", 0, 4), graph.entity("D:1"), 1.0, "exact")
    frame = Frame((Ask(Intent.NAMES, (Named(("gout",), "disease", (), (link,)),)),), language=language)
    found = FromFrame(graph, lambda _: [])(Query(Question("?"), frame=frame), [])
    assert [e.text for e in found] == [said]


CHINESE = RoleGraph(
    [(f"药{n}片", "适应症", ill) for n in range(12) for ill in ("关节痛", "高血压")]
    + [("黄草", "主治", "高血压"), ("西布曲明片", "适应症", "高血压")],
    (Relation("适应症", Role.TREATS), Relation("主治", Role.TREATS)),
    {"disease": ["关节痛", "高血压"], "symptom": ["膝关节痛", "过敏性关节痛"]},
    isolated=["膝关节痛", "过敏性关节痛"],
    language="zh",
)


@pytest.mark.parametrize(("name", "answer"), [("膝关节痛", "关节痛"), ("过敏性关节痛", "")])
def test_a_complaint_somewhere_is_treated_as_the_complaint_and_one_of_another_kind_is_not(
    name: str, answer: str
) -> None:
    found = answered(Frame((Ask(Intent.TREATMENT, named(CHINESE, name)),), language="zh"), CHINESE)
    assert ([e.about[0].name for e in found if e.triples][:1] or [""]) == [answer]
    assert any(answer and answer in e.text for e in found) or not answer


def test_beside_products_neither_raw_herbs_nor_what_was_withdrawn_are_listed() -> None:
    found = answered(Frame((Ask(Intent.TREATMENT, named(CHINESE, "高血压")),), language="zh"), CHINESE)
    assert "药1片" in names_in(found)
    assert not names_in(found) & {"黄草", "西布曲明片"}


def test_that_herbs_alone_are_known_is_said() -> None:
    rows = [("黄草", "主治", "臭汗症"), ("药1片", "适应症", "高血压")]
    graph = RoleGraph(rows, CHINESE.relations, {"disease": ["臭汗症", "高血压"]}, language="zh")
    said = answered(Frame((Ask(Intent.TREATMENT, named(graph, "臭汗症")),), language="zh"), graph)
    assert "草药" in said[0].text
    assert "黄草" in names_in(said)


def test_who_asks_what_to_eat_is_told_what_is_taken_where_no_food_is_known_and_that_none_is() -> None:
    asked = Ask(Intent.DIET, named(CHINESE, "高血压"))
    lacking, *found = answered(Frame((asked,), language="zh"), CHINESE)
    assert lacking.text.startswith("图谱中没有高血压的饮食。")
    assert "药1片" in names_in(found)
    assert not names_in(answered(Frame((replace(asked, negative=True),), language="zh"), CHINESE))


SEEN = RoleGraph(
    [("散光", "就诊科室", "眼科"), ("散光", "症状", "视物模糊")],
    (Relation("就诊科室", Role.CARE), Relation("症状", Role.FINDING)),
    {"disease": ["散光"], "symptom": ["视物模糊"], "department": ["眼科"]},
    language="zh",
)


def test_of_an_illness_without_a_treatment_it_is_said_who_sees_it() -> None:
    lacking, *found = answered(Frame((Ask(Intent.TREATMENT, named(SEEN, "散光")),), language="zh"), SEEN)
    assert lacking.text.startswith("图谱中没有散光的治疗。")
    assert names_in(found) == {"散光", "眼科"}


def test_of_an_illness_of_which_headings_stand_among_its_treatments_no_treatment_is_told() -> None:
    heads = ("婴儿脐疝", "疗效标准", "腹壁肿瘤", "西医治疗", "腹部结节")
    rows = [(head, "治疗", "脐疝") for head in heads] + [("脐疝", "就诊科室", "外科"), ("疝修补术", "治疗", "腹股沟疝")]
    kinds = {"disease": ["脐疝", "腹股沟疝"], "treatment": [*heads, "疝修补术"], "department": ["外科"]}
    graph = RoleGraph(rows, (Relation("治疗", Role.TREATS), Relation("就诊科室", Role.CARE)), kinds, language="zh")
    lacking, *found = answered(Frame((Ask(Intent.TREATMENT, named(graph, "脐疝")),), language="zh"), graph)
    assert lacking.text == "图谱中没有脐疝的治疗。图谱有其就诊科室。"
    assert names_in(found) == {"脐疝", "外科"}
    assert "疝修补术" in names_in(answered(Frame((Ask(Intent.TREATMENT, named(graph, "腹股沟疝")),)), graph))


def test_whether_something_may_be_done_with_two_illnesses_is_not_whether_one_may_cause_the_other() -> None:
    risk = (Relation("危险因素", Role.RISK),)
    graph = RoleGraph([("脑梗死", "危险因素", "高血压")], risk, {"disease": ["脑梗死", "高血压"]}, language="zh")
    one, other = named(graph, "脑梗死", "高血压")
    asked = Ask(Intent.SAFETY, (one,), (other,), form=Form.YES_NO)
    assert not names_in(answered(Frame((asked,), language="zh"), graph))


def test_who_sees_two_illnesses_is_not_who_sees_an_illness_that_shows_them() -> None:
    rows = [("硬化症", "症状", "肝囊肿"), ("硬化症", "症状", "肾囊肿"), ("硬化症", "就诊科室", "神经科")]
    kinds = {"disease": ["硬化症", "肝囊肿", "肾囊肿"], "department": ["神经科"]}
    graph = RoleGraph(rows, (Relation("症状", Role.FINDING), Relation("就诊科室", Role.CARE)), kinds, language="zh")
    ill = named(graph, "肝囊肿", "肾囊肿")
    said = answered(Frame((Ask(Intent.DEPARTMENT, ill),), findings=ill, language="zh"), graph)
    assert "神经科" not in names_in(said)


def test_the_tests_of_the_one_illness_that_shows_a_finding_are_not_those_of_the_finding() -> None:
    rows = [("克罗恩病", "症状", "缺钙"), ("克罗恩病", "检查", "肠道造影")]
    kinds = {"disease": ["克罗恩病"], "symptom": ["缺钙"], "test": ["肠道造影"]}
    graph = RoleGraph(rows, (Relation("症状", Role.FINDING), Relation("检查", Role.TESTS)), kinds, language="zh")
    ill = named(graph, "缺钙")
    said = answered(Frame((Ask(Intent.TESTS, ill),), findings=ill, language="zh"), graph)
    assert "肠道造影" not in names_in(said)


@pytest.mark.parametrize("intent", [Intent.OTHER, Intent.PROVIDER])
def test_what_is_outside_of_the_graph_leaves_room_for_another_reading_of_a_thing_that_it_has(intent: Intent) -> None:
    ill = named(CHINESE, "高血压")
    other = Ask(Intent.TREATMENT, ill, probability=0.3)
    frame = Frame((Ask(intent, ill, probability=0.6),), (other,), language="zh")
    assert "药1片" in names_in(answered(frame, CHINESE))
    assert not names_in(answered(replace(frame, asks=(Ask(intent),)), CHINESE))  # nothing is named


def test_pregnancy_is_not_treated() -> None:
    graph = RoleGraph([("药1片", "适应症", "早期妊娠")], CHINESE.relations, {"disease": ["早期妊娠"]}, language="zh")
    found = answered(Frame((Ask(Intent.TREATMENT, named(graph, "早期妊娠")),), language="zh"), graph)
    assert not names_in(found)
