"""People's ratings: means, agreement by hand and as published, and files that cannot be read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import SourceError
from kgmed.evaluate.judge import Rating, acj, between_raters, preferences, read, with_judge
from kgmed.evaluate.scores import alpha, kappa

HEAD = "item,method,rater,rating\n"


def file(folder: Path, text: str) -> Path:
    path = folder / "acj.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_mean_is_over_items_of_their_raters_times_100(tmp_path: Path) -> None:
    rows = "q1,a,x,1\nq1,a,y,0\nq2,a,x,-1\nq2,a,y,\nq1,b,x,+1\nq1,b,y,1\nq2,b,x,1\n"
    a, b = acj(read(file(tmp_path, HEAD + rows)))
    assert (a.method, a.mean.n, a.mean.mean, a.ratings, a.missing) == ("a", 2, (50 - 100) / 2, 3, 1)
    assert (b.method, b.mean.mean, b.ratings, b.missing) == ("b", 100, 3, 1)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("q1,a,x,2\n", r"acj.csv:2: has the rating '2'; write 1, 0 or -1"),
        ("q1,a,x,1\nq1,a,x,0\n", r"acj.csv:3: rates what line 2 rates"),
        ("q1,,x,1\n", r"acj.csv:2: lacks the item, the method or the rater"),
        ("q1,a,x\n", r"acj.csv:2: has too few fields"),
        ("", r"acj.csv: holds no rating"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_line(tmp_path: Path, rows: str, told: str) -> None:
    with pytest.raises(SourceError, match=told):
        read(file(tmp_path, HEAD + rows))


def test_a_missing_column_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"acj.csv:1: has no column rater, rating"):
        read(file(tmp_path, "item,method\n"))
    with pytest.raises(SourceError, match="there is no such file"):
        read(tmp_path / "none.csv")


def test_cohens_kappa_of_a_table_by_hand() -> None:
    """20 both yes, 5 only the first, 10 only the second, 15 both no: p_o = .7, p_e = .5 x .6 + .5 x .4 = .5."""
    first, second = "y" * 25 + "n" * 25, "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15
    assert kappa(first, second) == pytest.approx(0.4)
    assert kappa("yn", "yn") == 1
    assert kappa("yn", "ny") == -1
    assert kappa("yy", "yy") is None
    assert kappa("", "") is None
    with pytest.raises(ValueError, match="not pairs"):
        kappa("y", "")


OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def test_krippendorffs_alpha_is_that_of_his_own_example() -> None:
    """Computing Krippendorff's Alpha-Reliability, 2011, C: four observers, twelve units, missing data; nominal .743."""
    units = [[v for v in unit if v != "."] for unit in zip(*OBSERVERS, strict=True)]
    assert alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert alpha(["yy", "y"]) is None
    assert alpha([]) is None


@given(st.lists(st.tuples(st.sampled_from((-1, 0, 1)), st.sampled_from((-1, 0, 1))), max_size=12))
def test_agreement_is_never_above_one_and_is_one_only_where_all_agree(pairs: list[tuple[int, int]]) -> None:
    for value in (kappa([a for a, _ in pairs], [b for _, b in pairs]), alpha(pairs)):
        assert value is None or value <= 1
        assert value is None or (value == 1) == all(a == b for a, b in pairs)


def ratings(*rows: tuple[str, str, str, int | None]) -> list[Rating]:
    return [Rating(*row) for row in rows]


def test_two_raters_are_told_by_kappa_and_three_by_alpha() -> None:
    two = ratings(("q1", "a", "x", 1), ("q1", "a", "y", 1), ("q2", "a", "x", 0), ("q2", "a", "y", 1),
                  ("q3", "a", "x", 0), ("q3", "a", "y", 0), ("q4", "a", "x", 0), ("q4", "a", "y", None))  # fmt: skip
    told = between_raters(two)
    assert told is not None
    assert (told.name, told.n, told.missing) == ("Cohen's kappa", 3, 1)
    assert told.same == pytest.approx(2 / 3)
    assert told.value == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    three = between_raters([*two, Rating("q1", "a", "z", -1)])
    assert three is not None
    assert (three.name, three.n, three.missing) == ("Krippendorff's alpha", 3, 3)
    assert three.value == alpha([[1, 1, -1], [0, 1], [0, 0]])
    assert three.same == pytest.approx((1 + 0 + 1) / 5)
    assert between_raters(two[:1]) is None


def test_a_judge_is_held_against_whose_answer_people_rate_higher() -> None:
    people = ratings(("q1", "a", "x", 1), ("q1", "b", "x", 0), ("q2", "a", "x", -1), ("q2", "b", "x", 1),
                     ("q3", "a", "x", 0), ("q3", "b", "x", 0), ("q4", "a", "x", 1))  # fmt: skip
    assert preferences(people)["q2", "b"] == 1
    told = with_judge(people, {("q1", "a", "b"): 1, ("q2", "a", "b"): 1, ("q3", "a", "b"): 0, ("q4", "a", "b"): 1,
                               ("q5", "a", "b"): None})  # fmt: skip
    assert (told.n, told.missing) == (3, 2)
    assert told.same == pytest.approx(2 / 3)
    assert told.value == pytest.approx((2 / 3 - (2 / 9 + 1 / 9)) / (1 - 3 / 9))
