"""What strangers wrote is shown as text, whatever it looks like."""

import csv
import io
import re
from html.parser import HTMLParser
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.evaluate.report.page import environment, html_text
from kgmed.evaluate.report.text import Signed, Table, as_csv, as_markdown
from kgmed.language.text import visible

HOSTILE = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='x", "</td></table><b>", "&lt;b&gt;",
    "\u202egnp.exe", "\u2066a\u2069", "a\x00b\x1b[31m", "half \ud800 pair", "| a | b |\n|---|",
    "[x](javascript:alert(1))",
    "![x](http://evil.example/x.png)", "`</pre>`", "=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "-2+3",
    "\t=1", " =1", "＝1",
]  # fmt: skip
CELL = st.sampled_from(HOSTILE) | st.text(st.characters(), max_size=12)


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.skipif(find_spec("jinja2") is None, reason="HTML needs jinja2")
@given(CELL, CELL)
def test_a_table_of_html_has_its_own_tags_and_no_other(one: str, two: str) -> None:
    table = environment(html_text).get_template("parts.html").module.table  # type: ignore[attr-defined]  # a macro
    page = str(table(Table("t", two, (one, "b"), ((two, one), (one, None)), two)))
    parser = Tags()
    parser.feed(page)
    assert set(parser.tags) <= {"div", "table", "thead", "tbody", "tr", "th", "td", "bdi", "p"}
    assert parser.tags.count("td") == 2
    assert parser.attributes <= {"class", "scope", "dir"}
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", page)
    page.encode("utf-8")


@given(CELL, CELL)
def test_a_table_of_markdown_keeps_its_shape_and_has_no_live_mark(one: str, two: str) -> None:
    lines = as_markdown(Table("t", "t", ("a", "b"), ((one, two),))).splitlines()
    assert len(lines) == 3
    assert len(re.findall(r"(?<!\\)\|", lines[2].replace("\\\\", ""))) == 3
    assert not re.search(r"(?<!\\)[<>\[\]`]", lines[2].replace("\\\\", ""))
    assert "://" not in lines[2]


@given(CELL)
def test_no_cell_of_csv_is_taken_for_a_formula(cell: str) -> None:
    written = as_csv([("x", Table("t", "t", ("a", "b"), ((cell, 0.5),)))])
    row = list(csv.reader(io.StringIO(written, newline="")))[1]
    assert row[2] == "0.5"
    first = row[1].lstrip()[:1]
    assert first not in set("=@＝＋－＠")
    assert first not in set("+-") or re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", row[1])


def test_numbers_of_csv_are_whole_and_negative_ones_stay_numbers() -> None:
    rows = (("a", 1 / 3, Signed(-0.25), None, float("nan"), 7),)
    written = as_csv([("x", Table("t", "t", ("m", "a", "b", "c", "d", "e"), rows))])
    assert written.splitlines()[1] == "x,a,0.3333333333333333,-0.25,,,7"


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\x1b", "\ud800", "\u200f", "\x00"])
def test_what_cannot_be_seen_is_shown_by_its_number(mark: str) -> None:
    assert visible(f"a{mark}b") == f"a⟨U+{ord(mark):04X}⟩b"
