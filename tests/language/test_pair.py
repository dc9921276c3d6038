"""What ties two things that a question names would answer it, and what no graph holds."""

import pytest

from kgmed.language.pair import PAIRS, is_yes_no, pairs_asked
from kgmed.language.particulars import PEOPLE, clauses_about, people_of
from kgmed.language.question import compares, roles_asked, texts_asked, types_asked
from kgmed.language.types import TEXTS, TYPES
from kgmed.records import Role


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Can I take ibuprofen with warfarin?", "safety"),
        ("Is metformin safe in kidney failure?", "safety"),
        ("布洛芬和华法林能一起吃吗？", "safety"),
        ("有青光眼，能不能用阿托品？", "safety"),
        ("Does digoxin interact with quinidine?", "interaction"),
        ("Can measles lead to pneumonia?", "causes"),
        ("肺炎会引起麻疹吗", "causes"),
        ("Is fever a symptom of malaria?", "is a symptom"),
        ("咳嗽是肺炎的症状吗", "is a symptom"),
        ("Can gout be treated with colchicine?", "is treated"),
        ("痛风可以用秋水仙碱治疗吗？", "is treated"),
        ("秋水仙碱能治痛风吗", "treats"),
        ("Does vitamin C cure a cold?", "cures"),
        ("Does smoking raise the risk of stroke?", "is a risk"),
        ("Is stroke caused by smoking?", "is caused"),
        ("Is there a link between gout and fever?", "link"),
        ("Can metformin be used to treat gout?", "treats"),
        ("could amitriptyline be used for migraine?", "treats"),
        ("Can recombinant insulin treat gout?", "treats"),
        ("sildenafil and nitroglycerin together?", "interaction"),
        ("My son has a fever, can I give him aspirin?", "safety"),
        ("does furosemide lower your potassium", "causes"),
        ("can hepatitis end in cancer?", "causes"),
    ],
)
def test_the_words_tell_which_tie_is_asked_for(text: str, name: str) -> None:
    assert pairs_asked(text)[0].name == name


@pytest.mark.parametrize("text", ["What treats gout?", "痛风吃什么药？", "symptoms of gout", "哪些药会引起咳嗽？"])
def test_a_question_for_a_list_asks_for_no_tie(text: str) -> None:
    assert not is_yes_no(text)
    assert pairs_asked(text) == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("How much does metformin cost?", "price"),
        ("阿司匹林多少钱一盒？", "price"),
        ("What year was insulin discovered?", "history"),
        ("胰岛素是哪年发现的？", "history"),
        ("What is the five-year survival of lung cancer?", "survival"),
        ("肺癌能活多久", "survival"),
        ("How many people have gout?", "frequency"),
        ("Is a potassium of 5.9 too high?", "value"),
        ("血糖7.8说明什么？", "value"),
        ("paracetamol dose for a 12 kg child", "dose by weight"),
        ("Which hospital is best for a hip replacement?", "provider"),
        ("What is the half-life of digoxin?", "pharmacokinetics"),
        ("手足口病传染吗", "contagion"),
    ],
)
def test_what_no_role_stands_for_is_a_text_of_its_own(text: str, name: str) -> None:
    assert texts_asked(text)[0].name == name


@pytest.mark.parametrize("text", ["What treats gout?", "symptoms of gout", "痛风有什么症状", "Can gout cause fever?"])
def test_what_roles_answer_is_no_such_text(text: str) -> None:
    assert texts_asked(text) == ()


def test_every_type_says_in_both_languages_what_it_asks_for_and_has_a_name_of_its_own() -> None:
    assert all(all(row.says) for row in (*TYPES, *TEXTS))
    assert all(all(row.yes) for row in PAIRS)
    for table in (TYPES, TEXTS, PAIRS):
        names = [row.name for row in table]
        assert len(set(names)) == len(names)


def test_the_treating_doctor_is_no_treatment() -> None:
    assert roles_asked("Which doctor treats gout?") == (Role.CARE,)


def test_words_between_the_asking_words_stay_names() -> None:
    assert [row.name for row in types_asked("Can I take aspirin together with ibuprofen?")] == ["interaction"]
    assert compares("hemophilia A vs hemophilia B, which genes?")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Is it OK to take warfarin while pregnant?", ["pregnancy"]),
        ("Should a 5-year-old be given doxycycline?", ["children"]),
        ("Can a 70-year-old take it?", ["older people"]),
        ("哺乳期能吃布洛芬吗", ["breastfeeding"]),
        ("Can I take it with milk?", []),
    ],
)
def test_the_people_a_question_is_about_are_found(text: str, names: list[str]) -> None:
    assert [group.name[0] for group in people_of(text)] == names


def test_where_a_medicine_is_kept_is_no_warning_about_children() -> None:
    children = next(group for group in PEOPLE if group.name[0] == "children")
    assert clauses_about("请放在儿童不能接触的地方。儿童慎用。", children.in_text) == "儿童慎用"


@pytest.mark.parametrize(
    ("text", "yes_no"),
    [
        ("Is loratadine safe when breastfeeding", True),
        ("Can someone who has asthma take ibuprofen?", True),
        ("I'm breastfeeding, is codeine all right for my back?", True),
        ("Can you tell me which drugs treat gout?", False),
        ("Is it gout, and which doctor treats it?", False),
    ],
)
def test_a_condition_within_a_question_leaves_it_a_yes_or_no(text: str, yes_no: bool) -> None:
    assert is_yes_no(text) is yes_no
