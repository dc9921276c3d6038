from hypothesis import given
from hypothesis import strategies as st

from kgmed.records import Entity, Evidence, Relation, Role, Triple
from kgmed.steps.citations import denies, numbers_in, sentences, terms, unclaimed


def test_sentences_end_at_stops_of_either_script_and_at_lines() -> None:
    assert sentences("One. Two! 三。四？\nFive") == ["One.", "Two!", "三。", "四？", "Five"]


def test_a_decimal_point_and_an_abbreviation_end_no_sentence() -> None:
    assert sentences("Give 2.5 mg, e.g. at night. Then rest.") == ["Give 2.5 mg, e.g. at night.", "Then rest."]


def test_marks_after_a_stop_belong_to_the_sentence_before() -> None:
    assert sentences("Rest. [1][2] Drink.【3】") == ["Rest. [1][2]", "Drink.【3】"]


def test_bullets_and_numbers_of_a_list_are_no_part_of_a_sentence() -> None:
    assert sentences("1. Metformin\n2) Insulin\n- Rest") == ["Metformin", "Insulin", "Rest"]


def test_marks_alone_are_no_sentence() -> None:
    assert sentences("[1] [2]") == []


@given(st.text())
def test_no_word_of_a_text_without_bullets_is_lost(text: str) -> None:
    text = text.replace("-", "").replace("*", "").replace("•", "")
    words = "".join(c for c in text if c.isalpha())
    assert "".join(c for s in sentences(text) for c in s if c.isalpha()) == words


def test_inflection_and_function_words_make_no_difference() -> None:
    assert terms("The inherited seizures") == terms("seizure of inheritance") != terms("seizure of inheritors")


def test_the_numbers_are_those_that_stand_alone_in_either_width() -> None:
    assert numbers_in("B12 in ５００ mg, 0.5 ml") == {"500", "0.5"}


def test_a_syllable_of_denial_within_a_word_denies_nothing() -> None:
    assert not any(map(denies, ("消化不良", "Nothing else", "notable", "Norwegian")))
    assert all(map(denies, ("don't", "AVOID it", "不宜使用", "contraindicated")))


def test_a_role_bears_out_a_claim_that_the_words_do_not() -> None:
    triple = Triple(Entity("a", "a"), Relation("r", Role.TREATS), Entity("b", "b"))
    assert unclaimed("A treats B.", [Evidence("a r b", "triple")]) == "treats"
    assert unclaimed("A treats B.", [Evidence("a r b", "triple", (triple,))]) == ""
