"""What a text denies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.language import negation
from kgmed.language.negation import negated


def denied(text: str, *found: str) -> list[str]:
    """Those of the found stretches that the text denies."""
    places = [(text.index(f), text.index(f) + len(f)) for f in found]
    return [f for f, no in zip(found, negated(text, places), strict=True) if no]


@pytest.mark.parametrize(
    ("text", "no"),
    [
        ("no fever", ["fever"]),
        ("He denies chest pain or cough.", ["chest pain", "cough"]),
        ("without rash, fever and cough", ["rash", "fever", "cough"]),
        ("cough but no fever", ["fever"]),
        ("a cough, it is there but not fever", ["fever"]),
        ("she is not a patient of rash", ["rash"]),
        ("no fever, but cough", ["fever"]),
        ("no fever; cough", ["fever"]),
        ("No fever. Cough.", ["fever"]),
        ("no fever, he has cough", ["fever"]),
        ("pneumonia was ruled out", ["pneumonia"]),
        ("cough, and pneumonia was ruled out", ["pneumonia"]),
        ("fever, cough and rash were absent", ["fever", "cough", "rash"]),
        ("negative for fever", ["fever"]),
        ("who shouldn't have fever medicine", []),
        ("He doesn't have fever", ["fever"]),
        ("does not have fever", ["fever"]),
        ("doesn't have any fever", ["fever"]),
        ("never had fever", ["fever"]),
        ("neither fever nor cough", ["fever", "cough"]),
        ("lack of fever", ["fever"]),
        ("no increase in fever", []),
        ("not only fever", []),
        ("fever without improvement", []),
        ("cannot rule out pneumonia", []),
        ("pneumonia has not been ruled out", []),
        ("Why does the fever not go away?", []),
        ("fever", []),
    ],
)
def test_english_denials_reach_to_the_end_of_their_clause(text: str, no: list[str]) -> None:
    words = ["fever", "cough", "rash", "chest pain", "pneumonia"]
    assert sorted(denied(text.lower(), *(w for w in words if w in text.lower()))) == sorted(no)


@pytest.mark.parametrize(
    ("text", "no"),
    [
        ("无发热、咳嗽，有头痛", ["发热", "咳嗽"]),
        ("没有发热", ["发热"]),
        ("否认发热及咳嗽。头痛", ["发热", "咳嗽"]),
        ("不伴头痛", ["头痛"]),
        ("未见发热，咳嗽", ["发热"]),
        ("无发热但咳嗽", ["发热"]),
        ("无发热伴头痛", ["发热"]),
        ("咳嗽已排除", ["咳嗽"]),
        ("有没有发热", []),
        ("不仅发热", []),
        ("无法发热", []),
        ("发热", []),
    ],
)
def test_chinese_denials_reach_over_enumerations(text: str, no: list[str]) -> None:
    assert sorted(denied(text, *(w for w in ["发热", "咳嗽", "头痛"] if w in text))) == sorted(no)


def test_what_stands_right_behind_a_chinese_not_is_denied_but_not_what_is_asked() -> None:
    assert negated("不咳嗽，发不发烧", [(1, 3), (6, 8)]) == [True, False]


def test_a_trigger_inside_a_name_denies_nothing() -> None:
    assert denied("无尿、头痛", "无尿", "头痛") == []
    assert denied("No tears, fever", "No tears", "fever") == []


@given(st.text(st.sampled_from("no but.;,无但，。 fever"), max_size=40))
def test_any_text_is_answered_for_every_place(text: str) -> None:
    places = [(i, i + 1) for i in range(len(text))]
    assert len(negated(text, places)) == len(places)


def test_a_sentence_that_is_repeated_is_searched_once() -> None:
    negation._triggers.cache_clear()
    text = "No gout? " * 500
    assert all(negated(text, [(m * 9 + 3, m * 9 + 7) for m in range(500)]))
    assert negation._triggers.cache_info().misses <= 4
