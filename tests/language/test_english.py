"""What Chinese graphs say, in English: what is put together reads as English; what a label says keeps its meaning."""

import pytest

from kgmed import vocabulary
from kgmed.language.relations import TRANSLATIONS, in_english
from kgmed.vocabulary import Predicate


@pytest.mark.parametrize(
    ("name", "english"),
    [
        ("小儿肺炎", "pneumonia in children"),
        ("妊娠合并阑尾炎", "appendicitis in pregnancy"),
        ("小儿布洛芬栓", "ibuprofen suppositories for children"),
        ("注射用头孢曲松", "ceftriaxone for injection"),
        ("新生儿B链球菌感染", "B streptococcal infection in newborns"),
    ],
)
def test_of_whom_an_illness_is_stands_behind_it(name: str, english: str) -> None:
    assert in_english(name) == english


@pytest.mark.parametrize("name", ["儿童、孕妇", "儿童", "小儿或老年人"])
def test_people_who_are_named_by_themselves_or_with_others_stay_where_they_are(name: str) -> None:
    assert in_english(name).startswith("children")


@pytest.mark.parametrize(
    ("name", "english"),
    [
        ("脑脊液细胞分类计数检查", "cerebrospinal fluid cell differential count"),
        ("血清补体C9含量", "serum complement C9 content"),
        ("抗军团菌抗体试验", "anti-Legionella antibody test"),
        ("支气管舒张试验检查", "bronchodilator test"),
        ("40岁以上男性", "men aged 40 or over"),
        ("5～10岁儿童", "children aged 5 to 10"),
        ("Essential (primary) hypertension (原发性高血压)", "Essential (primary) hypertension"),
    ],
)
def test_a_name_is_put_together_of_its_words(name: str, english: str) -> None:
    assert in_english(name) == english


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("孕妇、糖尿病患者禁用", "not in pregnant women or diabetes mellitus"),
        ("高血压，青光眼患者禁用", "not in hypertension, glaucoma"),
        ("孕妇忌服，儿童慎用", "not in pregnancy, with care in children"),
        ("对本品及其他大环内酯类药物过敏者禁用", "not for people allergic to it or other macrolides"),
        ("2.6岁以下儿童禁用", "not in children aged 6 or under"),
        ("儿童应在医师指导下服用", "children only on a doctor's advice"),
    ],
)
def test_what_a_label_forbids_is_said_of_all_whom_it_names(text: str, english: str) -> None:
    assert in_english(text) == english


@pytest.mark.parametrize("text", ["孕妇及清化热痰者禁用", "非慎用", "禁用", "清化热痰，孕妇禁用"])
def test_a_warning_of_which_a_word_is_not_known_stays_as_it_is(text: str) -> None:
    assert in_english(text) == ""


@pytest.mark.parametrize(
    ("name", "english"),
    [
        ("由金黄色葡萄球菌感染引起", "Staphylococcus aureus infection"),
        ("可能与遗传因素有关", "heredity"),
        ("与外伤", "injury"),
        ("既往结核病史", "history of tuberculosis"),
        ("有高血压及动脉硬化者", "people with hypertension or arteriosclerosis"),
        ("年龄大于40岁", "age over 40"),
    ],
)
def test_a_fragment_of_a_sentence_is_said_by_the_name_that_it_is_about(name: str, english: str) -> None:
    assert in_english(name) == english


@pytest.mark.parametrize("name", ["发热或血钙过高", "可能与清化热痰有关", "与", "由引起"])
def test_a_fragment_stays_as_it_is_where_its_name_is_not_known_or_may_be_one_of_a_list(name: str) -> None:
    assert in_english(name) == ""


def test_a_name_of_one_character_is_no_part_of_a_longer_one() -> None:
    assert in_english("牛") == "cattle"
    assert in_english("牛感染") == ""


@pytest.mark.parametrize("kind", TRANSLATIONS)
def test_no_word_stands_twice_in_a_part_of_the_table(kind: Predicate) -> None:
    names = [name for name, _ in vocabulary.pairs("translations", kind)]
    assert len(names) == len(set(names)) > 0


@pytest.mark.parametrize("kind", [Predicate.CLAUSE_MEANS, Predicate.FRAME_MEANS])
def test_a_clause_or_frame_has_one_gap(kind: Predicate) -> None:
    assert all(name.count("{}") == 1 for name, _ in vocabulary.pairs("translations", kind))
