"""What a question asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.language.question import (
    asking_part,
    asks_diagnosis,
    defines,
    roles_asked,
    texts_asked,
    types_asked,
    words_that_ask,
)
from kgmed.records import Role


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("What are the side effects of aspirin?", (Role.ADVERSE,)),
        ("Which gene is associated with Duchenne muscular dystrophy?", (Role.GENE,)),
        ("How is Huntington disease inherited?", (Role.INHERITANCE,)),
        ("symptoms of gout", (Role.FINDING,)),
        ("阿司匹林有什么副作用？", (Role.ADVERSE,)),
        ("孕妇可以吃布洛芬吗？", (Role.CONTRAINDICATED,)),
        ("痛风不能吃什么？", (Role.AVOID,)),
        ("which is better for pain, paracetamol or ibuprofen?", (Role.DIFFERENTIAL,)),
        ("高血压应该吃什么药？", (Role.TREATS,)),
        ("感冒挂什么科？", (Role.CARE,)),
        ("I have a cough. What tests and what treatment do I need?", (Role.TREATS, Role.TESTS)),
        ("Which drugs interact with phenytoin?", (Role.INTERACTS,)),
        ("克拉霉素不能和哪些药同用", (Role.INTERACTS,)),
        ("What treats gout, and which drugs interact with it?", (Role.TREATS, Role.INTERACTS)),
        ("who do I see about a kidney stone?", (Role.CARE,)),
        ("How many tablets of metformin can I take?", (Role.DOSAGE,)),
        ("Is it passed on in families?", (Role.INHERITANCE,)),
        ("Do I have appendicitis? Symptoms", (Role.FINDING,)),
        ("my mum has gout, what medicines are there", (Role.TREATS,)),  # no question mark, told and then asked
        ("if both parents carry it what is the inheritance", (Role.INHERITANCE,)),
        ("tx for gout", (Role.TREATS,)),
        ("my husband has psoriasis, will creams help with side effects", (Role.ADVERSE,)),
        ("What is allopurinol for", (Role.TREATS,)),
        ("who can't take aspirin", (Role.CONTRAINDICATED,)),
        ("When should metformin not be used?", (Role.CONTRAINDICATED,)),
        ("what happens if gout is not treated", (Role.COMPLICATION,)),
        ("side affects of aspirin", (Role.ADVERSE,)),
        ("What kind of drug is omeprazole?", (Role.IS_A, Role.TREATS)),
        ("how many cases of gout are there?", ()),  # cases are no causes
        ("孩子烧到39度怎么办", (Role.TREATS,)),
        ("心梗前兆有哪些", (Role.FINDING,)),
        ("糖尿病时间长了会得什么病", (Role.COMPLICATION,)),
        ("阿莫西林一次吃多少", (Role.DOSAGE,)),
        ("复方丹参滴丸治什么病", (Role.TREATS,)),
        ("asthma management", (Role.TREATS,)),
        ("my son has croup, what will the hospital give him?", (Role.TREATS,)),
        ("tablets for gout", (Role.TREATS,)),
        ("how do u get rid of worms", (Role.TREATS,)),
        ("how do you get gout", (Role.CAUSE,)),
        ("What is behind gout?", (Role.CAUSE,)),
        ("how would they check me for gout", (Role.TESTS,)),
        ("How do doctors diagnose gout?", (Role.TESTS,)),
        ("What does gout look like?", (Role.FINDING,)),
        ("long term effects of gout", (Role.COMPLICATION,)),
        ("My brother has gout, could my kids get it too?", (Role.INHERITANCE,)),
        ("Where do I go with gout?", (Role.CARE,)),
        ("gout or pseudogout - how can I tell", (Role.DIFFERENTIAL,)),
        ("How do gout and pseudogout differ?", (Role.DIFFERENTIAL,)),
        ("how is gout handled", (Role.TREATS,)),
        ("my wife has gout, what cream", (Role.TREATS,)),
        ("What should I look out for on aspirin?", (Role.ADVERSE,)),
        ("what would a GP order if they suspect gout", (Role.TESTS,)),
        ("how will I know it's gout", (Role.FINDING,)),
        ("how come people develop gout", (Role.CAUSE,)),
        ("who should look at my son's gout", (Role.CARE,)),
        ("", ()),
    ],
)
def test_the_words_tell_the_roles(text: str, roles: tuple[Role, ...]) -> None:
    assert roles_asked(text) == roles


@pytest.mark.parametrize(
    "text",
    [
        "He takes medicine for gout, it is difficult to eat and his mother was worried about a gene.",
        "Since the treatment began I have had symptoms of a cold, and my doctor did an X-ray of my chest.",
        "我妈妈几天前吃药后出现了不良反应，医生给她做了检查，现在还没什么胃口，一直在家里休息。",
    ],
)
def test_what_is_only_told_asks_for_nothing(text: str) -> None:
    assert roles_asked(text) == ()
    assert not asks_diagnosis(text)


@pytest.mark.parametrize(
    "text",
    [
        "I take medication and noticed side effects like cough, what could it be?",
        "妈妈高血压吃药后咳嗽，是什么病？",
    ],
)
def test_what_is_told_before_the_question_asks_for_nothing(text: str) -> None:
    assert roles_asked(text) == ()
    assert asks_diagnosis(text)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("AMH低说明什么", True),
        ("CA125偏高严重吗", True),
        ("血糖15怎么办", True),
        ("烧到39.5度怎么办", False),
        ("CKD怎么办", False),
    ],
)
def test_a_body_temperature_is_no_value_whose_meaning_is_asked(text: str, asked: bool) -> None:
    assert [row.name for row in texts_asked(text)] == (["value"] if asked else [])


def test_a_number_with_a_point_does_not_end_a_sentence() -> None:
    assert asking_part("With 38.5 degrees what should I do?") == "With 38.5 degrees what should I do?"


@given(st.text(alphabet="what gene? 吃什么药，副作用.,!\nfever", max_size=80))
def test_words_that_ask_lie_in_the_text(text: str) -> None:
    assert all(0 <= a < b <= len(text) for a, b in words_that_ask(text))
    assert bool(roles_asked(text)) <= bool(words_that_ask(text))


def test_a_sentence_that_says_more_than_a_name_of_what_is_asked_asks_nothing() -> None:
    assert asking_part("Is it gout? The treatment made it worse.").strip() == "Is it gout?"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("What does a stroke look like?", "stroke"),
        ("what specialist treats gout", "gout"),
        ("How does gout present?", "gout"),
    ],
)
def test_the_thing_asked_about_is_none_of_the_words_that_ask(text: str, name: str) -> None:
    at = text.index(name)
    assert not any(start < at + len(name) and at < end for start, end in words_that_ask(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("how many americans have diabetes", "frequency"),
        ("percentage of smokers who get lung cancer", "frequency"),
        ("how do I bandage a sprained ankle", "instructions"),
        ("can my dog have ibuprofen", "animals"),
        ("Is paracetamol safe for cats?", "animals"),
        ("my eGFR came back at 38", "value"),
        ("how many kids get leukaemia each year", "frequency"),
        ("will I die from lupus", "prognosis"),
        ("Hb 6.2 - bad?", "value"),
        ("how do you catch hepatitis A", "contagion"),
    ],
)
def test_what_few_graphs_hold_is_known_by_its_words(text: str, name: str) -> None:
    assert name in [row.name for row in texts_asked(text)]


@pytest.mark.parametrize("text", ["I sneeze when I am near cats. What helps?", "Is a dog bite dangerous?"])
def test_an_animal_that_is_no_patient_is_not_asked_about(text: str) -> None:
    assert texts_asked(text) == ()


def test_where_somebody_is_names_no_disease() -> None:
    text = "Treatment options for hyperkalemia in the ED"
    assert "in the ED" in [text[a:b] for a, b in words_that_ask(text)]


@pytest.mark.parametrize("text", ["高血压不能吃什么药", "痛风患者不能吃哪些药？", "哮喘不要用什么药"])
def test_what_must_not_be_taken_asks_for_contraindications_first(text: str) -> None:
    roles = roles_asked(text)
    assert Role.CONTRAINDICATED in roles
    assert Role.AVOID not in roles


def test_findings_are_asked_for_where_they_end_the_question_and_not_where_they_are_told() -> None:
    assert roles_asked("Marfan syndrome findings") == (Role.FINDING,)
    assert roles_asked("findings of gout") == (Role.FINDING,)
    assert Role.FINDING not in roles_asked("Which drug caused these findings in my son?")


def test_what_a_disease_is_asks_for_its_definition_with_a_measure_word_too() -> None:
    assert all(defines(text) for text in ("脂肪肝是什么病", "脂肪肝是个什么病", "脂肪肝是一种什么病"))
    assert not defines("脂肪肝吃什么药")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("any way to stop kidney stones coming back?", "prevention"),
        ("will the kidney stones come back", "prognosis"),
        ("is impetigo catching", "contagion"),
        ("What sort of trouble does sarcoidosis give people?", "symptom"),
        ("does ethambutol mess with your eyesight?", "side effect"),
        ("pancreatitis causes other than drinking", "cause"),
        ("What conditions come from faults in LMNA?", "gene"),
        ("多囊肾会传给下一代吗", "inheritance"),
        ("老公有血友病，生女儿会不会有事", "inheritance"),
        ("和乙肝的人一起吃饭会不会被传上", "contagion"),
        ("湿疹跟荨麻疹怎么分", "differential"),
        ("长期用强的松会怎样", "side effect"),
        ("最近猴痘疫情通报了几例", "frequency"),
    ],
)
def test_other_ways_of_asking_ask_for_the_same(text: str, name: str) -> None:
    assert name in [asked.name for asked in (*types_asked(text), *texts_asked(text))]


def test_how_something_forms_asks_for_its_cause() -> None:
    assert [asked.name for asked in types_asked("肾结石是怎么形成的")] == ["cause"]


@pytest.mark.parametrize("word", ["禁忌症", "禁忌证", "适应症", "并发症", "副作用"])
def test_a_word_that_asks_is_whole(word: str) -> None:
    text = f"它的{word}有哪些"
    assert word in [text[a:b] for a, b in words_that_ask(text)] or any(
        a <= text.index(word) and text.index(word) + len(word) <= b for a, b in words_that_ask(text)
    )


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("高血压怎么诊断", Role.TESTS),
        ("阿司匹林有什么注意事项", Role.CONTRAINDICATED),
        ("ibuprofen warnings", Role.CONTRAINDICATED),
        ("阿司匹林属于什么类药物", Role.IS_A),
        ("阿司匹林饭前吃还是饭后吃", Role.DOSAGE),
        ("阿司匹林药物相互作用", Role.INTERACTS),
        ("高血压的鉴别诊断", Role.DIFFERENTIAL),
        ("what to take for a sore throat", Role.TREATS),
    ],
)
def test_plain_forms_ask_for_their_role(text: str, role: Role) -> None:
    assert role in roles_asked(text)


def test_when_it_hurts_is_no_question_of_when_to_take_it() -> None:
    assert Role.DOSAGE not in roles_asked("饭后胃反酸，应该吃什么药？")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("which drugs cause gynaecomastia", ["culprit"]),
        ("what medicines can raise potassium", ["culprit"]),
        ("哪些药物可导致便秘", ["culprit"]),
        ("which drugs treat constipation caused by opioids", ["treatment"]),
        ("what foods should I avoid with gout", ["to avoid"]),
        ("what drugs should I avoid with gout", ["contraindication", "to avoid"]),
    ],
)
def test_drugs_that_cause_a_thing_are_not_those_that_treat_it(text: str, names: list[str]) -> None:
    assert [row.name for row in types_asked(text)] == names


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("my tsh is 9, is that bad?", True),
        ("My cholesterol is 6.2. Is that high?", True),
        ("my hemoglobin came back at 10.2, what does that mean?", True),
        ("creatinine 1.8 should i worry", True),
        ("my son is 9 years old and has a rash, is that serious?", False),
        ("i have had a cough for 3 weeks, should i worry?", False),
    ],
)
def test_what_a_value_means_may_be_asked_behind_the_value(text: str, value: bool) -> None:
    assert ("value" in [row.name for row in texts_asked(text)]) is value


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("what color is phenytoin", "appearance"),
        ("what shape is the amlodipine pill", "appearance"),
        ("what do tramadol tablets look like", "appearance"),
        ("which strengths does enalapril come in", "strength"),
        ("how is cefalexin supplied", "strength"),
        ("what size doses of metformin are available", "strength"),
        ("what is in montelukast", "contents"),
        ("is losartan gluten free", "contents"),
        ("what are the ingredients of methimazole", "contents"),
        ("brand name of acetaminophen", "brand"),
        ("who makes nitrofurantoin", "brand"),
        ("age limits for bupropion", "age limit"),
        ("how do you pronounce prednisolone", "pronunciation"),
        ("how to stop taking amlodipine", "change of dose"),
        ("how to wean off carbamazepine", "change of dose"),
        ("results of stopping terazosin", "change of dose"),
        ("what schedule drug is tramadol", "prescription"),
        ("how fast does losartan work", "duration"),
        ("how long on metoprolol after surgery", "duration"),
    ],
)
def test_what_is_asked_of_a_medicine_and_few_graphs_hold_has_its_name(text: str, name: str) -> None:
    assert name in [row.name for row in texts_asked(text)]


@pytest.mark.parametrize(
    "text",
    [
        "how much levothyroxine is needed",
        "how much is 5 ml of cough syrup",
        "what makes gout worse",
        "how do I stop a nosebleed",
        "I have no strength in my arms, what tests do I need?",
    ],
)
def test_what_only_sounds_so_is_not_taken_for_it(text: str) -> None:
    assert texts_asked(text) == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("what drug will cause frequent urination", "culprit"),
        ("which medicines contribute to fatty liver", "culprit"),
        ("what medications make gout worse", "culprit"),
        ("what medication not to take with lithium", "interaction"),
        ("what should not be taken with warfarin", "interaction"),
        ("what can't I mix with clozapine", "interaction"),
        ("how will I feel on memantine", "side effect"),
        ("how to inject insulin", "dose"),
        ("how do I give diazepam rectal gel", "dose"),
    ],
)
def test_what_is_asked_of_medicines_has_its_type(text: str, name: str) -> None:
    assert name in [row.name for row in types_asked(text)]
