"""The table of how often diseases are seen."""

from kgmed.language.commonness import seen_often


def test_every_name_stands_once_and_is_in_small_letters_or_chinese() -> None:
    from importlib import resources

    text = resources.files("kgmed.language").joinpath("common.txt").read_text(encoding="utf-8")
    names = [
        n.strip() for line in text.splitlines() if "=" in line and line[0] != "#" for n in line.split("=")[1].split(";")
    ]
    assert len(names) == len(set(names))
    assert all(names)


def test_powers_are_those_of_cases_among_100_000_people() -> None:
    assert all(-3 <= power <= 5 for power in seen_often()[0].values())
