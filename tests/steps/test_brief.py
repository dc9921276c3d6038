"""The answer that fits a screen."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kgmed.records import Answer, Entity, Evidence, Relation, Role, Triple
from kgmed.steps.brief import CHARACTERS, brief
from kgmed.steps.diagnosis import EMERGENCY
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import Numbered
from role_graph import query

GOUT, PAIN = Entity("d", "gout", "disease"), Entity("s", "pain", "symptom")
HAS = Relation("has", Role.FINDING)
TREATS = Relation("treats", Role.TREATS)
NOT_IN = Relation("not in", Role.CONTRAINDICATED)


def answer(text: str, *evidence: Evidence) -> Answer:
    asked = query(text)
    return brief(asked, Numbered()(asked, evidence))


def findings(*names: str, more: int = 0, thing: Entity = GOUT) -> Evidence:
    triples = tuple(Triple(thing, HAS, Entity(n, n, "symptom")) for n in names)
    text = f"{thing.name} — has → {', '.join(names)}" + (f", … (+{more})" if more else "")
    return Evidence(text, "neighbours", triples, (thing,))


def test_a_list_says_what_it_is_of_each_name_once_and_how_many_are_not_shown() -> None:
    said = answer("What are the symptoms of gout?", findings("pain", "redness"), findings("redness", "fever", more=7))
    assert said.text == "Findings of gout: pain, redness, fever and 7 more [1][2]"
    assert said.citations == (1, 2)


def test_a_long_list_is_cut_and_counted() -> None:
    said = answer("What are the symptoms of gout?", findings(*(f"finding number {i}" for i in range(200))))
    shown = said.text.count("finding number")
    assert len(said.text) <= CHARACTERS[0]
    assert shown < 200
    assert "and many more" in said.text


def test_treatments_are_said_of_the_disease_and_uses_of_the_medicine() -> None:
    drug = Entity("m", "colchicine", "drug")
    triple = Triple(drug, TREATS, GOUT)
    assert answer("What drugs treat gout?", Evidence("x", "neighbours", (triple,), (GOUT,))).text.startswith(
        "Treatments of gout: colchicine"
    )
    assert answer("What does colchicine treat?", Evidence("x", "neighbours", (triple,), (drug,))).text.startswith(
        "What colchicine is given for: gout"
    )


def test_what_is_taken_against_each_finding_stands_before_the_diseases_that_fit() -> None:
    fever, cough = Entity("f", "fever", "symptom"), Entity("c", "cough", "symptom")
    taken = [
        Evidence("x", "neighbours", (Triple(Entity(name, name, "drug"), TREATS, thing),), (thing,))
        for name, thing in (("paracetamol", fever), ("codeine", cough))
    ]
    fits = Evidence("gout: fever", "candidate", (Triple(GOUT, HAS, fever),), (GOUT, fever), 1.0, EMERGENCY)
    codeine = Entity("m", "codeine", "drug")
    warned = Evidence("y", "warning", (Triple(codeine, NOT_IN, Entity("k", "asthma")),), (codeine,))
    said = answer("I have a fever and a cough, what can I take?", *taken, fits, warned).text.split("\n")
    assert said[0].startswith("It may be an emergency (gout)")
    assert said[1:3] == ["Treatments of fever: paracetamol [1]", "Treatments of cough: codeine [2]"]
    assert said[3] == "Diseases that fit the findings: gout [3]"
    assert said[4].startswith("Warning")


def test_two_things_are_compared_by_what_the_other_does_not_have() -> None:
    other = Entity("e", "pseudogout", "disease")
    said = answer(
        "What is the difference between gout and pseudogout?",
        findings("pain", "tophus"),
        findings("pain", "crystals", thing=other),
    )
    assert said.text.splitlines() == ["Findings of gout: tophus [1]", "Findings of pseudogout: crystals [2]"]


def test_a_verdict_is_the_first_sentence_and_its_mark_stands_before_the_full_stop() -> None:
    yes = Evidence("Yes: gout can show pain.", VERDICT, (Triple(GOUT, HAS, PAIN),), (GOUT, PAIN), 1.0, "yes")
    said = answer("Does gout cause pain?", yes, findings("pain"))
    assert said.text == "Yes: gout can show pain [1]."
    assert not said.abstained


def test_that_there_is_nothing_is_said_in_one_sentence_and_is_no_answer() -> None:
    lacking = Evidence("The graph has no price for gout.", VERDICT, (), (), 1.0, "lacking")
    said = answer("What does gout cost?", lacking, findings("pain"))
    assert (said.text, said.abstained, said.citations) == ("The graph has no price for gout.", True, ())


def test_no_tie_is_followed_by_what_the_graph_has_in_one_line() -> None:
    none = Evidence("The graph has no link between gout and rash.", VERDICT, (), (), 0.0, "none")
    lines = answer("Does gout cause rash?", none, findings("pain")).text.splitlines()
    assert lines == ["The graph has no link between gout and rash.", "Findings of gout: pain [2]"]


def test_an_english_reader_sees_first_what_can_be_read() -> None:
    said = answer("What are the symptoms of gout?", findings("疼痛", "pain", "redness", "fever", "swelling"))
    assert said.text.startswith("Findings of gout: pain, redness, fever, swelling")


def test_it_speaks_chinese_to_a_chinese_question() -> None:
    assert answer("痛风有什么症状？", findings("疼痛", "红肿")).text == "gout的症状与体征：疼痛、红肿 [1]"


NASTY = st.sampled_from(["\n", "\r", "[2]", "【3】", "\u2028", "\x1b[31m", "- ", "Warnings:", "a", "药", " "])


@given(names=st.lists(st.lists(NASTY, min_size=1).map("".join), min_size=1, max_size=5))
def test_no_name_can_forge_a_line_or_a_mark(names: list[str]) -> None:
    said = answer("What are the symptoms of gout?", findings(*(f"{n}{i}" for i, n in enumerate(names))))
    assert len(said.text.splitlines()) == 1
    assert re.findall(r"\[\d+\]", said.text) == ["[1]"]


def checks(*names: str) -> Evidence:
    tested = Relation("test", Role.TESTS, reverse=True)
    triples = tuple(Triple(GOUT, tested, Entity(n, n, "test")) for n in names)
    return Evidence(", ".join(names), "neighbours", triples, (GOUT,))


def test_a_test_that_is_written_in_several_ways_is_said_once_and_first() -> None:
    said = answer("痛风要做什么检查", checks("血常规", "胸片", "胸部 X 线检查（CXR）", "胸部x光"))
    assert said.text == "gout的检查：胸片、血常规 [1]"


def test_a_name_in_chinese_alone_is_said_in_english_where_its_words_are_known() -> None:
    assert answer("Which tests are there for gout?", checks("腹部CT检查")).text == "Tests for gout: abdominal CT [1]"


def test_what_cannot_be_read_is_only_counted_where_enough_can() -> None:
    said = answer("What are the symptoms of gout?", findings("pain", "清化热痰", "redness", "fever"))
    assert said.text == "Findings of gout: pain, redness, fever and 1 more [1]"


def test_who_it_is_for_is_said_or_that_the_graph_does_not_say_it() -> None:
    syrup, tablets = Entity("m", "儿童糖浆", "drug"), Entity("n", "片剂", "drug")
    given = Evidence("", "neighbours", tuple(Triple(m, TREATS, GOUT) for m in (tablets, syrup)), (GOUT,))
    careful = Triple(tablets, Relation("care", Role.PRECAUTION), Entity("", "孕妇慎用；儿童慎用"))
    asked = "小孩痛风吃什么药"
    assert answer(asked, given).text.splitlines() == [
        "gout的治疗：儿童糖浆、片剂 [1]",
        "其中哪些适合儿童、用量多少，图谱没有说明，请询问医生。",
    ]
    warned = answer(asked, given, Evidence("", "warning", (careful,), (tablets,)))
    assert "请询问医生" in warned.text  # a warning of one of them says nothing of the others
    assert "儿童慎用" in warned.text


def test_products_of_one_substance_are_told_by_its_name() -> None:
    harms, nausea = Relation("harms", Role.ADVERSE), Entity("n", "nausea", "symptom")
    products = [Entity(n, n, "drug") for n in ("Metformin hydrochloride tablets", "Metformin capsules", "Brandname")]
    pieces = [Evidence(p.name, "neighbours", (Triple(p, harms, nausea),), (p,)) for p in products]
    assert answer("side effects of metformin", *pieces).text.startswith("Side effects of metformin: nausea")


def test_a_treatment_is_named_by_what_is_in_it_and_not_by_its_form() -> None:
    drugs = ("Oxaprozin Enteric—coated Tablets", "Oxaprozin Tablets", "gold")
    triples = tuple(Triple(Entity(n, n, "drug"), TREATS, GOUT) for n in drugs)
    assert answer("drugs for gout", Evidence("x", "neighbours", triples, (GOUT,))).text == (
        "Treatments of gout: Oxaprozin, gold [1]"
    )


def test_whether_it_is_contagious_is_said_as_a_sentence() -> None:
    told = [Triple(GOUT, Relation("传染性"), Entity("", said)) for said in ("无", "有")]
    no, yes = (answer("Is gout contagious?", Evidence("x", "text", (t,), (GOUT,))).text for t in told)
    assert (no, yes) == ("No: gout is not contagious [1]", "Yes: gout is contagious [1]")


def test_what_labels_forbid_in_their_own_words_stands_behind_the_names_of_what_is_warned_of() -> None:
    drug, warns = Entity("aspirin", "阿司匹林", "drug"), Relation("注意", role=Role.PRECAUTION)
    names = Triple(drug, warns, Entity("pregnancy", "妊娠", "condition"))
    texts = (Triple(drug, warns, Entity("", said, "text")) for said in ("发热的患儿慎用", "对本品过敏者禁用"))
    said = answer("阿司匹林有哪些注意事项", *(Evidence(str(t), "neighbours", (t,), (drug,)) for t in (names, *texts)))
    assert said.text == "阿司匹林的注意事项：妊娠；对本品过敏者禁用；发热的患儿慎用 [1][2][3]"


def test_whether_it_is_contagious_is_not_the_first_that_is_told_of_a_disease() -> None:
    text = Triple(GOUT, Relation("传染性"), Entity("", "无", "text"))
    said = answer("痛风是什么病", Evidence("痛风 — 传染性 → 无", "neighbours", (text,), (GOUT,)), findings("pain"))
    assert said.text.splitlines()[0].endswith("pain [2]")


def test_names_that_an_asker_cannot_read_are_counted_behind_those_that_can_be_read() -> None:
    said = answer("What are the symptoms of gout?", findings("pain", "顽固难愈", "持续时间长久"))
    assert said.text == "Findings of gout: pain and 2 more [1]"
    only = answer("What are the symptoms of gout?", findings("顽固难愈"))
    assert only.text == "Findings of gout (in Chinese): 顽固难愈 [1]"


def test_two_things_are_told_apart_by_what_they_are_and_what_one_of_them_shows() -> None:
    other = Entity("e", "pseudogout", "disease")
    what = [
        Evidence("x", "text", (Triple(d, Relation("definition"), Entity("", f"{d.name} of crystals")),), (d,))
        for d in (GOUT, other)
    ]
    said = answer("gout vs pseudogout", *what, findings("pain", "tophi"), findings("pain", "chalk", thing=other))
    assert said.text.splitlines() == [
        "gout, definition: gout of crystals [1]",
        "pseudogout, definition: pseudogout of crystals [2]",
        "Findings of gout: tophi [3]",
        "Findings of pseudogout: chalk [4]",
    ]


def test_a_product_in_a_heading_is_told_as_the_substance_that_was_asked_for() -> None:
    product, substance = Entity("p", "Ibiptofen Capsules", "drug"), Entity("i", "ibuprofen", "drug")
    triple = Triple(product, Relation("interacts", Role.INTERACTS), Entity("w", "warfarin", "drug"))
    said = answer("interactions of ibuprofen", Evidence("x", "neighbours", (triple,), (product, substance)))
    assert said.text == "Interactions of ibuprofen: warfarin [1]"


def test_what_a_list_does_not_say_of_what_is_asked_is_told_before_it() -> None:
    drug = Entity("m", "allopurinol", "drug")
    care = Evidence(
        "", "neighbours", (Triple(drug, Relation("care", Role.PRECAUTION), Entity("p", "pregnancy")),), (drug,)
    )
    said = answer("allopurinol contraindications", care)
    assert said.text.startswith(
        "The graph names no contraindications, only what care is needed with:\nPrecautions with"
    )
    given = Evidence("x", "neighbours", (Triple(drug, TREATS, GOUT),), (GOUT,))
    assert answer("is there a cure for gout", given).text.startswith("The graph names treatments, and does not say")
    assert answer("what is the cure for gout", given).text.startswith("Treatments of gout: allopurinol")


def test_findings_and_causes_with_names_in_chinese_alone_are_said_in_english() -> None:
    case = Evidence(
        "gout: pain; not listed: 鼻痒, 搏动性头痛", "candidate", (Triple(GOUT, HAS, PAIN),), (GOUT, PAIN), 1.0
    )
    said = answer("I have pain and an itchy nose. What is it?", case).text
    assert "not known for: itchy nose, throbbing headache" in said
    causes = tuple(Triple(GOUT, Relation("by", Role.CAUSE), Entity(c, c, "cause")) for c in ("肾排钾减少", "禁食"))
    told = answer("what causes gout", Evidence("x", "neighbours", causes, (GOUT,)))
    assert told.text == "Causes of gout: too little potassium passed by the kidneys, fasting [1]"


def test_a_label_that_says_nothing_of_what_it_forbids_is_not_told() -> None:
    drug = Entity("m", "paracetamol", "drug")
    texts = [Triple(drug, NOT_IN, Entity("", said)) for said in ("尚不明确", "孕妇禁用")]
    said = answer("对乙酰氨基酚的禁忌", *(Evidence("x", "text", (t,), (drug,)) for t in texts))
    assert said.text == "paracetamol的禁忌：孕妇禁用 [2]"


def test_of_a_medicine_it_is_told_first_what_it_is_given_for_and_never_what_causes_it() -> None:
    drug = Entity("m", "colchicine", "drug")
    rows = [
        Triple(drug, NOT_IN, Entity("k", "kidney failure", "disease")),
        Triple(Entity("o", "other tablet", "drug"), Relation("side effect", Role.ADVERSE), drug),
        Triple(drug, TREATS, GOUT),
    ]
    said = answer("What is colchicine?", *(Evidence("x", "neighbours", (t,), (drug,)) for t in rows)).text.splitlines()
    assert said == ["What colchicine is given for: gout [3]", "Contraindications of colchicine: kidney failure [1]"]
