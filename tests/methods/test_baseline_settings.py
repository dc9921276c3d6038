"""Every number of a baseline reaches its pipeline, and in the stage that it belongs to."""

from dataclasses import fields, replace
from typing import Any

import pytest

from kgmed.graph.base import EdgeRow, NodeRow
from kgmed.graph.store.store import Store
from kgmed.models.fakes import Scripted, TrigramEncoder
from kgmed.pipeline import Pipeline
from kgmed.registry import methods
from kgmed.toolkit import Toolkit
from named_graph import small

BASELINES = [method.name for method in methods.all() if method.about.baseline]
STAGES = {
    "keep": {"retrieve", "rank"},
    "relations": {"retrieve"},
    "pool": {"rank"},
    "answer_tokens": {"read"},
    "hops": {"retrieve"},
    "rewrite": {"phrase"},
    "percentile": {"rank"},
    "background_tokens": {"expand"},
    "batch": {"read", "rank"},
    "rounds": {"read", "rank", "retrieve"},
    "candidates": {"read"},
}
CASES = [(name, f.name) for name in BASELINES for f in fields(methods.get(name).presets["paper"])]


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    rows = (NodeRow("scurvy", kind="disease"), EdgeRow("scurvy", "has", "bleeding gums"))
    graph: Store = small(tmp_path_factory.mktemp("settings"), rows)
    return Toolkit(graph, Scripted([]), TrigramEncoder())


def other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    return "out" if isinstance(value, str) else value + 1


def changed(a: Pipeline, b: Pipeline) -> set[str]:
    return {f.name for f in fields(Pipeline) if repr(getattr(a, f.name)) != repr(getattr(b, f.name))}


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_a_changed_number_changes_its_stage_and_no_other(toolkit: Toolkit, name: str, setting: str) -> None:
    method = methods.get(name)
    paper = method.presets["paper"]
    stages = changed(
        method.build(toolkit), method.build(toolkit, replace(paper, **{setting: other(getattr(paper, setting))}))
    )
    assert stages
    assert stages <= STAGES.get(setting, {"expand", "retrieve", "rank", "phrase", "read"})
    assert len(stages) == 1 or setting in ("rounds", "batch")


@pytest.mark.parametrize("name", BASELINES)
def test_the_paper_s_numbers_are_the_default(toolkit: Toolkit, name: str) -> None:
    method = methods.get(name)
    assert changed(method.build(toolkit), method.build(toolkit, method.presets["paper"])) == set()
    assert method.build(toolkit).name == name
