"""The parts of the pages that are made from the code, and the figures that benchmarks measured.

`python tests/generated_pages.py` renews them. A figure is marked by the script of `bench` and the name that it has in
bench/figures.json, as in .957<!--intent.strangers_dev-->; `bench/_figures.py` says how it comes there.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import kgmed
from kgmed.config import options_page

ROOT = Path(__file__).resolve().parents[1]
API_HEAD = (
    "# API reference\n\nMade from the docstrings of `kgmed`. [The guide](python.md) shows how its parts work together."
)


def layers() -> list[str]:
    """The layers of the package that tests/test_architecture.py holds, lowest first."""
    text = (ROOT / "tests" / "test_architecture.py").read_text("utf-8")
    found = re.search(r"^LAYERS = \[\n(.*?)^\]", text, re.M | re.S)
    return re.findall(r'"([^"]+)"', found[1]) if found else []


def contributing() -> str:
    """CONTRIBUTING.md with the list of layers as the test has it."""
    rows = "\n".join(f"{i}. {', '.join(f'`{n}`' for n in names.split())}" for i, names in enumerate(layers(), start=1))
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return re.sub(r"(<!-- layers -->\n).*?(<!-- /layers -->)", rf"\1\n{rows}\n\n\2", text, flags=re.S)


def api() -> str:
    """The API reference: every name that `kgmed` exports, by the place where it is defined."""
    groups: dict[str, list[str]] = {"Asking": [], "Records": [], "Errors": []}
    for name in kgmed.__all__:
        place = _place(name)
        if place:
            groups[_group(name, place)].append(f"::: {place}")
    parts = [f"## {title}\n\n" + "\n".join(rows) for title, rows in groups.items() if rows]
    return "\n\n".join([API_HEAD, *parts]) + "\n"


def _place(name: str) -> str:
    """Where an exported name is defined, as a dotted name; "" for a module or a value without a place of its own."""
    thing = getattr(kgmed, name)
    module, named = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    return f"{module}.{named}" if module and named else f"kgmed.{name}" if not inspect.ismodule(thing) else ""


def _group(name: str, place: str) -> str:
    """The heading that a name stands under."""
    thing = getattr(kgmed, name)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return "Errors"
    return "Records" if place.startswith("kgmed.records.") else "Asking"


def with_figures(text: str, figures: Mapping[str, Mapping[str, float]]) -> str:
    """The text with each marked figure as it was measured, to as many places as stand there.

    >>> with_figures("right: .95<!--a.b--> of 940<!--a.n-->", {"a": {"b": 0.964, "n": 1080}})
    'right: .96<!--a.b--> of 1,080<!--a.n-->'
    """

    def told(found: re.Match[str]) -> str:
        shown, script, name = found.groups()
        figure = f"{figures[script][name]:,.{len(shown.partition('.')[2])}f}"
        return figure.removeprefix("0") if re.fullmatch(r"\.\d+|1\.0+", shown) else figure

    return FIGURE.sub(told, text)


def _measured(page: Path) -> str:
    figures = json.loads((ROOT / "bench" / "figures.json").read_text("utf-8"))
    return with_figures(page.read_text("utf-8"), figures)


FIGURE = re.compile(r"([\d,]*\.?\d+)(?=<!--(\w+)\.(\w+)-->)")
PAGES: dict[str, Callable[[], str]] = {
    **{
        str(page.relative_to(ROOT)): partial(_measured, page)
        for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    },
    "CONTRIBUTING.md": contributing,
    "docs/api.md": api,
    "docs/options.md": options_page,
}


def stale() -> Iterator[str]:
    """The pages that are not as the code has them."""
    for name, made in PAGES.items():
        if (ROOT / name).read_text("utf-8") != made():
            yield name


if __name__ == "__main__":
    for page in [*stale()]:
        (ROOT / page).write_text(PAGES[page](), "utf-8")
