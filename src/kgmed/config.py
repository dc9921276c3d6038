"""What can be chosen: the data folder, the options of asking, and the settings of a method."""

import math
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum, StrEnum
from inspect import signature
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints

import platformdirs

from kgmed.errors import BadInput, SourceError, UnknownName

# --- Where graphs and model files are kept: one data folder, the platform's own unless KGMED_HOME names another.


def data_folder() -> Path:
    """The folder of everything that kgmed keeps; it need not exist yet."""
    chosen = os.environ.get("KGMED_HOME")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_data_dir("kgmed", appauthor=False))


def graphs_folder() -> Path:
    """The folder with one folder a graph."""
    return data_folder() / "graphs"


# --- The settings of a method as a person types them: by preset, then by name, each of the type its dataclass gives it.


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
    tables = [t for n, t in vars(sys.modules[function.__module__]).items() if n.endswith("PRESETS")]
    found = {name: made for known in tables for name, made in known.items() if type(made) in wanted}
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


# --- Everything that can be chosen about asking, in one record, from a TOML file and from what is typed over it.
#     graph = "hpo"
#     method = "kg-rank"
#     llm = "openai/NAME"
#     base_url = "http://localhost:8000/v1"
#     cache = "replies.sqlite"
#
#     [settings]
#     ranking = "mmr"
#
# Paths in the file are taken from its folder. No key is written there: keys come from the environment.


AUTO = "auto"
_SECRET = ("key", "token", "password", "secret")


class Mode(StrEnum):
    """When a model is asked."""

    RECORD = "record"  # where there is no reply yet
    REPLAY = "replay"  # never: a missing reply is an error
    REFRESH = "refresh"  # always, and its reply takes the place of the old one


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is chosen; the defaults are those of `kgmed ask` without options."""

    graph: str = AUTO
    method: str = AUTO
    preset: str = ""  # "" = the method's own first one
    llm: str = ""
    base_url: str = ""
    batch: int = 1  # calls that a model of hf/... answers together, where threads ask at once
    precision: str = ""  # of the numbers of a model of hf/...; "" = that of its files
    reply_tokens: int = 0  # no reply may be longer; 0 = as long as each method asks for
    choose: Literal["letter", "likelihood"] = "letter"  # how the model chooses among options
    encoder: str = ""  # "" = the embedded one where it is installed, else ngrams
    scorer: str = ""  # "" = words
    tagger: Path | None = None  # the folder of a trained one, for hykge
    cache: Path | None = None  # the file of recorded replies
    cache_mode: Mode = Mode.RECORD
    budget: float | None = None  # US dollars
    prices: Path | None = None
    max_calls: int = 0  # of the model; 0 = any number
    rate: float = 0.0  # calls a minute; 0 = any number
    prompts: Path | None = None  # the folder of the user's own prompts
    glossary: str = ""  # a bilingual graph whose names translate terms
    evidence_tokens: int = 0  # of the context that the reader is shown; 0 = any number
    abstain_below: float | None = None  # the best score of the evidence; None = never for weakness
    settings: Mapping[str, object] = field(default_factory=dict)  # of the method


class Options(TypedDict, total=False):
    """What may be given in place of the file's; see `Setup`."""

    method: str
    preset: str
    llm: str
    base_url: str
    batch: int
    precision: str
    reply_tokens: int
    choose: str
    encoder: str
    scorer: str
    tagger: Path | str
    cache: Path | str
    cache_mode: str
    budget: float
    prices: Path | str
    max_calls: int
    rate: float
    prompts: Path | str
    glossary: str
    evidence_tokens: int
    abstain_below: float
    settings: Mapping[str, object]


def setup(config: Path | str | None, given: Mapping[str, object]) -> Setup:
    """The choices of a file, and those given in place of them; a None or "" that is given stands for nothing given.

    Settings are laid over the file's one by one. Raises `BadInput`, `SourceError`.

    >>> setup(None, {"method": "kg-rank", "settings": {"keep": 5}}).settings
    {'keep': 5}
    """
    found = read(Path(config)) if config else Setup()
    told = {name: value for name, value in given.items() if value is not None and value != ""}
    settings = {**found.settings, **_table(told.pop("settings", {}))}
    made = replace(found, **_values(told, "kgmed.load"), settings=settings)
    return _checked(made)


def read(path: Path) -> Setup:
    """The choices in a TOML file; raises `SourceError`."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(path, 0, f"cannot be read ({error.strerror})", "name a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SourceError(path, 0, f"is not TOML in UTF-8 ({error})", "mend that place") from None
    if secret := [name for name in table if name not in _names() and any(word in name.lower() for word in _SECRET)]:
        raise SourceError(path, 0, f"holds {secret[0]}", "keys are not kept in files; set the environment variable")
    try:
        settings = _table(table.pop("settings", {}))
        values = _values(table, path.name)
    except BadInput as error:
        raise SourceError(path, 0, str(error), "see docs/asking.md") from None
    beside = {name: path.parent / value for name, value in values.items() if isinstance(value, Path)}
    return Setup(**values | beside, settings=settings)


def _values(given: Mapping[str, object], of: str) -> dict[str, Any]:
    """The values by name, each of its type."""
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}
    if strange := [name for name in plain if name not in _names()]:
        raise UnknownName(f"option of {of}", strange[0], _names())
    return typed(Setup, plain, of=of)


def _names() -> list[str]:
    """The names of the choices, without the table of settings."""
    return [f.name for f in fields(Setup) if f.name != "settings"]


def _table(value: object) -> Mapping[str, object]:
    """The settings by name."""
    if not isinstance(value, Mapping):
        raise BadInput("settings must be a table of names and values")
    return value


def _checked(made: Setup) -> Setup:
    """The choices, if they go together."""
    if made.prompts is not None and not made.prompts.is_dir():
        raise BadInput(f"{made.prompts}: is no folder of prompts; give one with files such as ask/reader.en.txt")
    if made.cache_mode is not Mode.RECORD and made.cache is None:
        raise BadInput(f"to {made.cache_mode.value} replies, name their file: --cache FILE")
    if made.budget is not None and made.budget < 0:
        raise BadInput("a budget must be 0 US dollars or more")
    if made.batch < 1:
        raise BadInput("a batch must hold 1 call or more")
    if made.rate < 0:
        raise BadInput("a rate must be above 0 calls a minute")
    return made
