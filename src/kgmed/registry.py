"""The names of methods that a person may type, and where each is; another package adds its own by an entry point.

A new method is one function `(kit) -> Pipeline` with `@described` on it, and one row here, or one row in the entry
points `kgmed.methods` of the package that brings it.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from kgmed.config import presets_of
from kgmed.errors import UnknownName
from kgmed.methods.base import About, Calls, about_of
from kgmed.pipeline import Pipeline
from kgmed.toolkit import Kit

METHODS = {
    "facts": "kgmed.methods.facts:facts",
    "llm": "kgmed.methods.facts:grounded",
    "kg-rank": "kgmed.methods.kg_rank:kg_rank",
    "hykge": "kgmed.methods.hykge:hykge",
    "mindmap": "kgmed.methods.mindmap:mindmap",
    "mkg-rank": "kgmed.methods.mkg_rank:mkg_rank",
    "rlkgf-prompt": "kgmed.methods.rlkgf:rlkgf_prompt",
    "zero-shot": "kgmed.methods.baselines_closed:zero_shot",
    "cot": "kgmed.methods.baselines_closed:cot",
    "tot": "kgmed.methods.baselines_closed:tot",
    "bm25": "kgmed.methods.baselines_retrieval:bm25",
    "embedding": "kgmed.methods.baselines_retrieval:embedding",
    "kg-retriever": "kgmed.methods.baselines_retrieval:kg_retriever",
    "kgrag": "kgmed.methods.baselines_retrieval:kgrag",
    "qe": "kgmed.methods.baselines_retrieval:qe",
    "chain-of-note": "kgmed.methods.baselines_reasoning:chain_of_note",
    "chain-of-knowledge": "kgmed.methods.baselines_reasoning:chain_of_knowledge",
    "kalmv": "kgmed.methods.baselines_reasoning:kalmv",
    "kg-gpt": "kgmed.methods.baselines_retrieval:kg_gpt",
    "sure": "kgmed.methods.baselines_reasoning:sure",
}
GROUP = "kgmed.methods"


def methods() -> dict[str, str]:
    """The place (module:function) of every method by its name, plug-ins included; a plug-in cannot take a name over."""
    return _plugged() | METHODS


@cache
def _plugged() -> dict[str, str]:
    """The methods of installed packages; read once, since every question asks for its method."""
    return {point.name: point.value for point in entry_points(group=GROUP)}


def method(name: str) -> Callable[[Kit], Pipeline]:
    """The function that makes the pipeline of a method; raises `UnknownName`."""
    known = methods()
    if name not in known:
        raise UnknownName("method", name, known)
    module, _, function = known[name].partition(":")
    found: Callable[[Kit], Pipeline] = getattr(import_module(module), function)
    return found


@dataclass(frozen=True, slots=True)
class MethodInfo:
    """A method as a list shows it."""

    name: str
    paper: str
    does: str
    calls: str
    calls_why: str
    needs_model: bool
    deviations: tuple[str, ...]
    presets: dict[str, dict[str, Any]]  # the settings of each, the default first; "" = it has numbers but no presets


def describe_method(name: str) -> MethodInfo:
    """What a method is, and its numbers; of a method that does not say, what its function's docstring does."""
    function = method(name)
    said = about_of(function) or _undescribed(function)
    presets = {n: asdict(s) for n, s in presets_of(function).items() if is_dataclass(s) and not isinstance(s, type)}
    calls = said.calls
    return MethodInfo(name, str(said), said.does, str(calls), calls.why, said.needs_model, said.ours, presets)


def _undescribed(function: Callable[..., object]) -> About:
    """The first line of a docstring as a description."""
    first = (function.__doc__ or "no description").strip().splitlines()[0]
    return About(does=first, calls=Calls(0, 0, 0, "not told"), needs_model=False)
