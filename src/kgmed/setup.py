"""Everything that can be chosen about asking, in one record, from a TOML file and from what is typed over it.

    graph = "hpo"
    method = "kg-rank"
    llm = "openai/NAME"
    base_url = "http://localhost:8000/v1"
    cache = "replies.sqlite"

    [settings]
    ranking = "mmr"

Paths in the file are taken from its folder. No key is written there: keys come from the environment.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypedDict

from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.models.cached import Mode
from kgmed.settings import typed

AUTO = "auto"
_SECRET = ("key", "token", "password", "secret")


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
