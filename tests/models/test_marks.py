from hypothesis import given
from hypothesis import strategies as st

from kgmed.models.replies import WIDEST, marks, without_marks


def test_marks_in_half_and_full_width_are_read_in_the_order_of_the_text() -> None:
    assert marks("b [2], a【1】, c［３］ and again [2]") == (2, 1, 3)


def test_lists_and_ranges_are_spread_out() -> None:
    assert marks("x [1, 3; 5] y [7-9] z【11、12】 w [14–15]") == (1, 3, 5, 7, 8, 9, 11, 12, 14, 15)


def test_a_range_too_wide_or_backwards_stands_for_its_ends() -> None:
    assert marks("[1-9999] [4-2]") == (1, 9999, 4, 2)
    assert len(marks(f"[1-{WIDEST}]")) == WIDEST


def test_brackets_without_a_number_are_no_mark() -> None:
    assert marks("[ref] [a1] (3) [1a] [12345] []") == ()


def test_taking_marks_out_leaves_the_words() -> None:
    assert without_marks("Rest [2], then fluids [1, 3].") == "Rest, then fluids."


@given(st.text())
def test_text_without_marks_has_none_for_any_single_mark(text: str) -> None:
    bare = text.translate(str.maketrans("", "", "[]【】［］〔〕"))
    assert marks(f"{bare} [7]") == (7,)
    assert marks(without_marks(f"{bare} [7]")) == ()
