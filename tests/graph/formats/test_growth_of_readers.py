"""Four times the cell takes about four times the time: of every reader, for files into which a long run was put.

Measured as `language/test_growth.py` does, by the least seconds of this thread where the longer run takes long at all.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from damaged import SEEDS
from graph.formats.test_layouts import GOUT, LAYOUTS
from kgmed.errors import BadInput
from kgmed.graph import formats
from kgmed.graph.doctor import preview
from language.test_growth import RATIO, TIMES, TRIES, seconds

LENGTH = 12_000  # characters of the shorter run
SHORT = 0.05  # seconds of the longer run, below which nothing is compared
SURELY_NOT = 6.0  # a ratio at the first try below which no more are made
UNITS = ("1", "12 ", "A_", "甲", " ", "\t", "\n", ",", ";", "|", ":", "{", '"', "'", "\\", "(", "[", "<", "&", "nan,")
Take = Callable[[str], object]


def taking(path: Path, format: str, whole: Path) -> Take:
    """What takes in every row of a graph one of whose files has a text."""

    def take(text: str) -> object:
        path.write_text(text, encoding="utf-8", newline="")
        with suppress(BadInput):
            source = formats.read(format, whole)
            rows = list(source.rows())
            return preview(replace(source, rows=lambda: rows))
        return None

    return take


def grows(take: Take, text: str, at: int, unit: str) -> bool:
    """Whether a run of a unit takes more than in proportion, put into a text at that place."""

    def made(length: int) -> str:
        return text[:at] + (unit * (length // len(unit) + 1))[:length] + text[at:]

    once = seconds(take, made(TIMES * LENGTH), 1)
    if once < SHORT or once < SURELY_NOT * seconds(take, made(LENGTH), 1):
        return False
    tries = (seconds(take, made(TIMES * LENGTH), 3) / seconds(take, made(LENGTH), 5) for _ in range(TRIES))
    return all(ratio > RATIO for ratio in tries)


def hurting(path: Path, format: str, whole: Path) -> list[tuple[str, int, str]]:
    """The runs that do, by file, place and unit: in the first line, in a name, in the middle and at the end."""
    text, take = path.read_text(encoding="utf-8"), taking(path, format, whole)
    places = {text.find("\n") // 2, text.rfind(GOUT) + 1, len(text) // 2, len(text)}
    slow = [(path.name, at, unit) for at in sorted(places) for unit in UNITS if grows(take, text, at, unit)]
    path.write_text(text, encoding="utf-8")
    return slow


def test_a_reader_that_looks_at_all_that_follows_each_character_is_told(tmp_path: Path) -> None:
    def take(text: str) -> object:
        return [text.count("z", at) for at in range(0, len(text), 4)]

    assert grows(take, "a,b", 1, "1")


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "zip" not in name])
def test_a_long_cell_takes_time_in_proportion_in_each_layout(layout: str, tmp_path: Path) -> None:
    if layout.startswith(("OWL", "Turtle")):
        pytest.importorskip("pyoxigraph")
    whole = LAYOUTS[layout][0](tmp_path)
    files = [whole] if whole.is_file() else sorted(whole.iterdir())
    assert [slow for path in files for slow in hurting(path, "", whole)] == []


@pytest.mark.parametrize("seed", [name for name in SEEDS if not SEEDS[name][1].endswith((".gz", ".whl", ".pkl"))])
def test_a_long_cell_takes_time_in_proportion_in_each_format(seed: str, tmp_path: Path) -> None:
    format, name, data = SEEDS[seed]
    path = tmp_path / name
    path.write_bytes(data)
    assert hurting(path, format, path) == []
