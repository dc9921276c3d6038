"""Settings as they are typed: read by the type that the method's dataclass gives them."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import pytest

from kgmed.config import assignments, settings_of, typed
from kgmed.errors import BadInput, UnknownName
from kgmed.pipeline import Pipeline
from kgmed.records import Role
from kgmed.registry import methods
from kgmed.toolkit import Toolkit


@dataclass(frozen=True)
class Sample:
    keep: int = 1
    share: float = 0.5
    on: bool = False
    way: Literal["a", "b"] = "a"
    many: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    text: str = ""
    maybe: int | None = None


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("keep", "7", 7),
        ("keep", 7, 7),
        ("share", "0.25", 0.25),
        ("share", 2, 2.0),
        ("share", "-1", -1.0),
        ("on", "true", True),
        ("on", "No", False),
        ("on", True, True),
        ("way", "b", "b"),
        ("many", "x, y", ("x", "y")),
        ("many", ["x", "y"], ("x", "y")),
        ("many", "", ()),
        ("roles", "finding", (Role.FINDING,)),
        ("text", "a=b", "a=b"),
        ("maybe", "none", None),
        ("maybe", "3", 3),
    ],
)
def test_a_value_is_read_by_its_type(name: str, value: object, found: Any) -> None:
    (read,) = typed(Sample, {name: value}, of="sample").values()
    assert read == found
    assert type(read) is type(found)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("keep", "many", "whole number"),
        ("keep", "-1", "whole number"),
        ("keep", 1.5, "whole number"),
        ("keep", True, "whole number"),
        ("share", "nan", "a number"),
        ("share", "inf", "a number"),
        ("on", "perhaps", "true or false"),
        ("way", "c", "one of a, b"),
        ("many", 3, "a list"),
        ("roles", "nonsense", "one of finding"),
        ("text", 3, "a text"),
    ],
)
def test_a_value_that_does_not_fit_is_one_line_that_says_what_would(name: str, value: object, said: str) -> None:
    with pytest.raises(BadInput, match=said) as problem:
        typed(Sample, {name: value}, of="sample")
    assert "\n" not in str(problem.value)
    assert name in str(problem.value)


def test_an_unknown_setting_lists_those_there_are() -> None:
    with pytest.raises(UnknownName, match=r"did you mean keep.*settings: keep, share, on"):
        typed(Sample, {"kepe": "3"}, of="sample")


def test_a_setting_without_a_value_is_refused() -> None:
    assert assignments(["a=1=2", "b="]) == {"a": "1=2", "b": ""}
    for text in ("a", "=1"):
        with pytest.raises(BadInput, match="NAME=VALUE"):
            assignments([text])


@pytest.mark.parametrize("name", methods.names())
def test_every_setting_of_every_method_can_be_given_as_a_text(name: str) -> None:
    method = methods.get(name)
    for preset, made in method.presets.items():
        values = {f.name: getattr(made, f.name) for f in fields(made)}
        given = {n: ",".join(v) if isinstance(v, tuple) else str(v) for n, v in values.items()}
        assert settings_of(method, preset=preset, given=given) == made


def test_the_first_preset_is_the_default_and_an_unknown_one_is_named() -> None:
    method = methods.get("hykge")
    assert settings_of(method, preset="", given={}) == method.presets["safe"]
    assert settings_of(method, preset="code", given={"hops": 1}).hops == 1
    with pytest.raises(UnknownName, match=r"no preset of hykge is called 'papre'; did you mean paper"):
        settings_of(method, preset="papre", given={})


def test_a_method_without_presets_or_settings_says_so() -> None:
    def bare(toolkit: Toolkit) -> Pipeline:
        raise NotImplementedError

    assert settings_of(methods.of(bare), preset="", given={}) is None
    with pytest.raises(BadInput, match="has no settings"):
        settings_of(methods.of(bare), preset="", given={"keep": "1"})
    with pytest.raises(BadInput, match="the method facts has no presets"):
        settings_of(methods.get("facts"), preset="paper", given={})
