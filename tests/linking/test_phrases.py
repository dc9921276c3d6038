"""What no name covers but may mean an entity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.linking.recognise import WithPhrases, phrases
from kgmed.records import Mention, Query, Question


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A 4-year-old boy has enlarged calves and a very high creatine kinase. What could it be?",
         ["enlarged calves", "high creatine kinase"]),
        ("His muscles are weak.", ["muscles are weak"]),
        ("What is the boiling point of tungsten?", ["boiling point", "tungsten"]),
        ("Can't climb stairs", ["climb stairs"]),
        ("饭后胃反酸，应该吃什么药？", ["胃反酸"]),
        ("孩子三岁，应该怎么办？", []),
        ("What should I do?", []),
        ("12.5 mg", []),
        ("very severe", []),
        ("", []),
    ],
)  # fmt: skip
def test_phrases_are_runs_of_content_words(text: str, found: list[str]) -> None:
    assert [p.surface for p in phrases(text, [])] == found


def test_found_names_are_left_out_and_cut() -> None:
    text = "odd gait fever blue toes"
    fever = Mention("fever", "fever", 9, 14)
    assert [p.surface for p in phrases(text, [fever])] == ["odd gait", "blue toes"]


def test_a_denied_phrase_is_marked() -> None:
    assert [(p.surface, p.negated) for p in phrases("no blue toes", [])] == [("blue toes", True)]


def test_names_and_phrases_come_in_the_order_of_the_text() -> None:
    def find(text: str) -> list[Mention]:
        at = text.index("fever")
        return [Mention("fever", "fever", at, at + 5)]

    found = WithPhrases(find)(Query(Question("blue toes, fever, odd gait")))
    assert [m.surface for m in found] == ["blue toes", "fever", "odd gait"]


@given(st.text(st.sampled_from("ab is 无有肺炎 ,.，?4-"), max_size=40) | st.text(max_size=40))
def test_phrases_are_exact_places(text: str) -> None:
    assert all(text[p.start : p.end] == p.surface for p in phrases(text, []))
