"""docs/papers.md: every place that it names is there, every number is the code's, every verdict is one it knows."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from kgmed.evaluate.controls import controlled
from kgmed.evaluate.datasets import datasets
from kgmed.evaluate.metrics import made_metrics, metrics
from kgmed.registry import methods

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kgmed"
PAGE = (ROOT / "docs" / "papers.md").read_text("utf-8")
VERDICTS = ("exact", "deviates", "not available", "missing", "ours")
PLACE = re.compile(r"`([\w/]+\.py)(?::([\w.]+))?(?: = ([^`]+))?`")
PROMPT = re.compile(r"`(prompts/\w+/\w+)`")
NAMED = re.compile(r"`--(set|metric|method) ([^`=]+)`")


def rows() -> list[list[str]]:
    """The cells of every row of the page's tables."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| element |")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@cache
def tree(file: str) -> ast.Module:
    return ast.parse((SOURCE / file).read_text("utf-8"))


def body(node: ast.AST, name: str) -> ast.AST | None:
    """The class, function, field or assignment of a name in a module or a class, or an argument of what is assigned."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and child.name == name:
            return child
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name) and child.target.id == name:
            return child
        if isinstance(child, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in child.targets):
            return child
        if isinstance(child, ast.keyword) and child.arg == name:
            return child
    value = getattr(node, "value", None)
    return body(value, name) if isinstance(value, ast.Call) else None


def found(file: str, name: str) -> ast.AST | None:
    """What a dotted name stands for in a file."""
    node: ast.AST | None = tree(file)
    for part in name.split("."):
        node = body(node, part) if node is not None else None
    return node


def places() -> list[tuple[str, str, str]]:
    """File, name and number of each place, "" where it has none."""
    return list(dict.fromkeys((m[1], m[2] or "", m[3] or "") for m in PLACE.finditer(PAGE)))


@pytest.mark.parametrize(("file", "name", "number"), places(), ids=lambda text: text or "-")
def test_a_place_that_the_page_names_is_there_and_a_number_is_the_default(file: str, name: str, number: str) -> None:
    path = ROOT / file if file.startswith(("tests/", "bench/")) else SOURCE / file
    assert path.exists(), f"{file} is not there"
    node = found(file, name) if name else path
    assert node is not None, f"{file} has no {name}"
    if number:
        value = getattr(node, "value", None)
        assert isinstance(value, ast.expr), f"{name} has no default"
        assert ast.literal_eval(value) == ast.literal_eval(number), f"{name} is {ast.unparse(value)}, not {number}"


def test_prompts_data_sets_metrics_and_methods_that_the_page_names_are_there() -> None:
    for prompt in PROMPT.findall(PAGE):
        assert (SOURCE / f"{prompt}.en.txt").exists(), prompt
    known = {"set": {*datasets()}, "metric": {*metrics(), *made_metrics()}, "method": {*methods.names()}}
    for kind, name in NAMED.findall(PAGE):
        plain = controlled(name).method if kind == "method" and "+" in name else name
        assert plain in known[kind], f"--{kind} {name}"


def test_every_row_says_how_exact_it_is_and_deviations_say_how() -> None:
    for cells in rows():
        assert len(cells) == 3, cells
        _, where, verdict = cells
        if not where.startswith("---"):
            assert verdict.startswith(VERDICTS), cells
            assert verdict.startswith(("exact", "ours", "missing")) or ":" in verdict, cells


def test_a_name_that_is_not_there_and_a_wrong_number_are_noticed() -> None:
    assert found("steps/rank.py", "NoSuchRanker") is None
    assert found("methods/kg_rank.py", "KGRankSettings.nothing") is None
    assert ast.literal_eval(getattr(found("train/ppo.py", "PAPER.gamma"), "value")) == 0.99  # noqa: B009 - of ast
