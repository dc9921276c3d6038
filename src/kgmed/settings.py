"""The settings of a method as a person types them: by preset, then by name, each of the type its dataclass gives it."""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from inspect import signature
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kgmed.errors import BadInput, UnknownName

_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


def settings_of(function: Callable[..., object], *, preset: str, given: Mapping[str, object]) -> Any:
    """The settings that a method is to be called with; None where it has none and none are asked for.

    `preset` "" = the method's own first one. Raises `BadInput` for what does not fit, `UnknownName` for a name that the
    method does not have.
    """
    presets = presets_of(function)
    if not presets and not (preset or given):
        return None
    if not presets or (preset and "" in presets):
        raise BadInput(f"the method {_name(function)} has no {'presets' if preset else 'settings'}; leave them out")
    if preset and preset not in presets:
        raise UnknownName(f"preset of {_name(function)}", preset, presets)
    made = presets[preset or next(iter(presets))]
    return replace(made, **typed(type(made), given, of=_name(function)))


def presets_of(function: Callable[..., object]) -> dict[str, Any]:
    """The settings of each preset of a method, the default first; {} where it takes no `settings`.

    They are the `PRESETS` of its module that are of its dataclass; without any, that dataclass as it is, under "".
    """
    if "settings" not in signature(function).parameters:
        return {}
    hint = get_type_hints(function)["settings"]
    wanted: list[type[Any]] = [t for t in (hint, *get_args(hint)) if isinstance(t, type) and is_dataclass(t)]
    known: Mapping[str, Any] = getattr(sys.modules[function.__module__], "PRESETS", {})
    found = {name: made for name, made in known.items() if type(made) in wanted}
    return found or ({"": wanted[0]()} if wanted else {})


def typed(kind: type, given: Mapping[str, object], *, of: str) -> dict[str, Any]:
    """The values by name, each of the type that the dataclass `kind` gives it; texts are read, plain data is checked.

    >>> from dataclasses import make_dataclass
    >>> typed(make_dataclass("S", [("keep", int), ("on", bool)]), {"keep": "3", "on": "yes"}, of="x")
    {'keep': 3, 'on': True}
    """
    hints = get_type_hints(kind)
    known = [f.name for f in fields(kind)]
    for name in given:
        if name not in known:
            raise UnknownName(f"setting of {of}", name, known, f"settings: {', '.join(known)}")
    return {name: _value(name, hints[name], value) for name, value in given.items()}


def assignments(texts: list[str]) -> dict[str, str]:
    """The values by name of texts of the form NAME=VALUE; raises `BadInput`.

    >>> assignments(["keep=5", "ranking=mmr"])
    {'keep': '5', 'ranking': 'mmr'}
    """
    parts = [text.partition("=") for text in texts]
    for text, (name, equals, _) in zip(texts, parts, strict=True):
        if not (equals and name.strip()):
            raise BadInput(f"the setting {text!r} is not of the form NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in parts}


def _value(name: str, hint: Any, value: object) -> Any:
    """One value of that type; raises `BadInput`."""
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [o for o in options if o is not type(None)]
        return None if value in ("none", None) and len(kinds) < len(options) else _value(name, kinds[0], value)
    if origin is Literal:
        return _one_of(name, options, value)
    if origin is tuple:
        parts = [p.strip() for p in value.split(",") if p.strip()] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            raise _unfit(name, value, "a list")
        return tuple(_value(name, options[0], part) for part in parts)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(_one_of(name, tuple(member.value for member in hint), value))
    return _plain(name, hint, value)


def _plain(name: str, hint: Any, value: object) -> Any:
    """A truth value, number or text."""
    if hint is bool:
        said = value if isinstance(value, bool) else str(value).lower()
        if said is True or said in _TRUE:
            return True
        if said is False or said in _FALSE:
            return False
        raise _unfit(name, value, "true or false")
    if hint in (int, float):
        return _number(name, hint, value)
    if hint is Path and isinstance(value, str):
        return Path(value).expanduser()
    if not isinstance(value, str):
        raise _unfit(name, value, "a text")
    return value


def _number(name: str, hint: type[int] | type[float], value: object) -> int | float:
    """A number; a whole one is 0 or more."""
    kinds = (str, int) if hint is int else (str, int, float)
    try:
        number = hint(value) if isinstance(value, kinds) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not math.isfinite(number) or (hint is int and number < 0):
        raise _unfit(name, value, "a whole number of 0 or more" if hint is int else "a number")
    return number


def _one_of(name: str, options: tuple[Any, ...], value: object) -> Any:
    """The option that a value is."""
    if value not in options:
        raise _unfit(name, value, f"one of {', '.join(map(str, options))}")
    return value


def _unfit(name: str, value: object, wanted: str) -> BadInput:
    """What is wrong with a value."""
    return BadInput(f"the setting {name} is {str(value)[:40]!r}; it must be {wanted}")


def _name(function: Callable[..., object]) -> str:
    """The method as a person types it."""
    return function.__name__.replace("_", "-")
