"""Numbers with units are the same however they are written, and others are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.language.quantities import Quantity, quantities, strange, without_quantities


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.5 g", "500mg"),
        ("一次2片，一日3次", "每次２片，每日三次"),
        ("15—30g", "15g～30克"),
        ("500 mg twice daily", "0.5 g, 2 times a day"),
        ("3/4", "75 %"),
        ("十五天", "15 days"),
        ("一日1—2次", "每天1至2次"),
    ],
)
def test_the_same_quantity_is_known_in_other_words(one: str, other: str) -> None:
    assert quantities(one) == quantities(other) != []


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("一次3片", "一次2片，一日3次"),
        ("一次2粒", "一次2片"),
        ("一日2片", "一次2片"),
        ("50 mg", "50 g"),
        ("15-45 g", "15-30 g"),
        ("50%", "5%或10%"),
    ],
)
def test_another_number_unit_or_time_is_another_quantity(said: str, known: str) -> None:
    assert strange(quantities(said), quantities(known))


def test_a_number_within_a_range_is_said_by_it() -> None:
    assert not strange(quantities("20 g"), quantities("15-30 g"))
    assert strange(quantities("31 g"), quantities("15-30 g"))


@pytest.mark.parametrize("text", ["vitamin B12", "one of them", "CD4 cells", "IgG2a", "a day in bed"[:0]])
def test_a_number_within_a_word_is_none(text: str) -> None:
    assert quantities(text) == []
    assert without_quantities(text) == text


@given(st.text(max_size=60))
def test_any_text_has_quantities_and_is_less_without_them(text: str) -> None:
    assert all(isinstance(q, Quantity) for q in quantities(text))
    assert quantities(text) == quantities(text)
