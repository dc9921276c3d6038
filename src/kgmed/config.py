"""Every option of kgmed in one place: a field of `Config` is a keyword of `load`, a command-line option, a key of a
TOML file, an entry of an evaluation's manifest and a row of the options page (`python -m kgmed.config` prints it).

    graph = "hpo"
    method = "kg-rank"
    llm = "openai/NAME"
    base_url = "http://localhost:8000/v1"
    cache = "replies.sqlite"

    [settings]
    ranking = "mmr"

Paths in a file are taken from its folder. No key is written there: keys come from the environment. The settings of a
method are not fields but a table of their own, read by the types that the method's dataclass gives them (`typed`).
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, make_dataclass, replace
from enum import Enum, StrEnum
from functools import cache, partial, reduce
from operator import or_
from pathlib import Path
from types import GenericAlias, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.registry import Registry

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from kgmed.registry import Method

AUTO = "auto"
_SECRET = ("key", "token", "password", "secret")


class Mode(StrEnum):
    """When a model is asked whose replies are kept."""

    RECORD = "record"  # where there is no reply yet
    REPLAY = "replay"  # never: a missing reply is an error
    REFRESH = "refresh"  # always, and its reply takes the place of the old one


class Shown(NamedTuple):
    """How an option is shown on the command line and in a manifest; it stands in the metadata of its field."""

    description: str
    flags: str = ""  # in place of --name
    least: int | None = None
    model: bool = False  # whether a command that only asks a model has it
    # never = no answer depends on it; set = only where it is not the default: folders from before it stay valid
    manifest: Literal["always", "never", "set"] = "always"


def _option(default: Any, description: str, **more: Any) -> Any:
    """A field of `Config`, shown as given."""
    return field(default=default, metadata={"shown": Shown(description, **more)})


_of_model = partial(_option, model=True, manifest="set")
_of_asking = partial(_option, model=True, manifest="never")


@dataclass(frozen=True, init=False)
class Config:
    """What is chosen; the defaults are those of `kgmed ask` without options.

    Raises `UnknownName` for a name that is no option, `BadInput` for a value that does not fit.

    >>> Config(graph="hpo", evidence_tokens="300").evidence_tokens
    300
    """

    graph: str = _option(
        AUTO,
        "Graphs by name or folder, with commas between them; umls-rest, dbpedia, wikidata, sparql+URL, "
        "postgresql://...#NAME; auto = all that are installed, as one.",
        flags="--graph -g",
    )
    method: str | Callable[..., Any] = _option(
        AUTO,
        "A method by name (kgmed methods lists them); auto = llm where a model is given, else facts.",
        flags="--method -m",
        manifest="never",
    )
    preset: str = _option("", "safe = cited and checked (the default); paper or code = as the authors have it.")
    answer_from: Literal["assisted", "evidence"] = _of_model(
        "assisted",
        "assisted = a model answers from what it knows and cites what the graph supports; evidence = from "
        "the graph alone.",
    )
    llm: str = _option(
        "", "smollm2, gguf/PATH, a .gguf file, hf/FOLDER_OR_NAME, openai/NAME or anthropic/NAME.", model=True
    )
    base_url: str = _of_asking("", "The server behind openai/NAME; its key comes from KGMED_API_KEY.")
    batch: int = _of_model(1, "So many calls at once are generated together; hf/... only.", least=1)
    precision: str = _of_model("", "float32, bfloat16, float16, auto = that of the files; hf/... and local/... only.")
    device: str = _of_model(
        "", "What computes, as torch calls it: cpu, cuda, cuda:1, mps; hf/..., local/... and a tagger only."
    )
    bits: int = _of_model(0, "4 or 8 = weights of so many bits, by bitsandbytes; hf/... only.")
    adapter: str = _of_model("", "A folder or hub name of what LoRA has trained, put on the model; hf/... only.")
    texts: int = _option(
        0, "So many texts or pairs are read at once by an encoder or scorer, 0 = 32; local/... only.", manifest="never"
    )
    reply_tokens: int = _of_model(
        0, "Tokens of a reply, thinking included; 0 = as each method asks, with room to think.", least=1
    )
    temperature: float | None = _of_model(
        None, "0 = the likeliest words; above = drawn, 2 at most; not given = as the preset has it."
    )
    top_p: float | None = _of_model(
        None, "Words are drawn from the likeliest that together have this probability; 1 = from all."
    )
    penalty: float = _of_model(
        1.0, "The repetition penalty; above 1 = what has been said is less likely to be said again."
    )
    seed: int = _option(0, "The seed of what is drawn.", manifest="set")
    choose: Literal["letter", "likelihood"] = _option(
        "letter", "How options are chosen: letter; likelihood = the likeliest text, for small models.", manifest="set"
    )
    encoder: str = _option("", "use, ngrams, local/NAME, local-cls/NAME or server/NAME@URL.")
    scorer: str = _option("", "words, trained/FILE, local/NAME, vllm/NAME@URL, cohere/NAME@URL or jina/NAME@URL.")
    tagger: Path | None = _option(
        None, "A folder that kgmed train ner has made; hykge and its baselines find terms by it."
    )
    cache: Path | None = _of_asking(None, "A file in which the model's replies are kept.")
    cache_mode: Mode = _of_asking(
        Mode.RECORD, "record = ask for what is not there; replay = ask no model at all; refresh = ask for all."
    )
    budget: float | None = _of_asking(None, "The most US dollars that the model may cost.")
    prices: Path | None = _of_asking(None, "A TOML file of prices of models.")
    max_calls: int = _of_asking(0, "The most calls of the model; 0 = any number.", least=1)
    rate: float = _of_asking(0.0, "The most calls of the model a minute; 0 = any number.")
    prompts: Path | None = _option(None, "A folder of your own prompts, as recipe/step.language.txt.", model=True)
    glossary: str = _option("", "A bilingual graph whose names translate terms.")
    evidence_tokens: int = _option(0, "Fit the evidence to so many tokens; 0 = any number.", least=1)
    abstain_below: float | None = _option(None, "Say nothing below this score of the evidence.")
    deadline: float | None = _option(None, "End an ask without an answer after so many seconds.", manifest="never")
    strict: bool = _option(
        False,  # noqa: FBT003
        "Leave out what a language model says and the evidence does not support, instead of marking it.",
        flags="--strict/--no-strict",
        manifest="set",
    )
    log: bool = _option(
        True,  # noqa: FBT003
        "Keep what the command line is asked in the data folder (kgmed log); it is sent nowhere.",
        flags="--log/--no-log",
        manifest="never",
    )
    settings: Mapping[str, Any] = _option(MISSING, "A setting of the method, as NAME=VALUE.", flags="--set")

    def __init__(self, **given: Any) -> None:
        """Read each value by the type of its field; a text is read, plain data is checked."""
        for name, value in {"settings": {}, **_values(type(self), given, "kgmed.load")}.items():
            object.__setattr__(self, name, value)
        _check(self)

    def replace(self, **changes: Any) -> "Config":
        """The same choices but for those changed.

        >>> Config(graph="hpo").replace(method="hykge").graph
        'hpo'
        """
        return type(self)(**{**self.given, **changes})

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another process as its values: the type with the options of packages has no name to be found by."""
        return _rebuilt, (self.given,)

    @property
    def given(self) -> dict[str, Any]:
        """The value of every option by its name."""
        return {name: getattr(self, name) for name in options_of(type(self))}

    def manifest(self) -> dict[str, Any]:
        """The options that answers depend on, as plain data."""
        said = {n: shown(f).manifest for n, f in options_of(type(self)).items()}
        kept = {
            n: v
            for n, v in self.given.items()
            if said[n] == "always" or (said[n] == "set" and v != getattr(type(self), n))
        }
        return {n: str(v) if isinstance(v, Path) else v for n, v in kept.items()}


class PipelineOption:
    """An option that another package adds by an entry point of the group `kgmed.options`.

    `apply(pipeline, toolkit, value)` gives the pipeline with the option's effect; it is called where a value is given.
    """

    def __init__(self, name: str, kind: type, help: str, apply: Callable[[Any, Any, Any], Any]) -> None:
        """`name` is the keyword, the TOML key and, with dashes, the command-line option; `kind` is str, int, float."""
        self.name, self.kind, self.help, self.apply = name, kind, help, apply


options: Registry[PipelineOption] = Registry("option", "kgmed.options", "kgmed.config")


@cache
def plugged_options() -> dict[str, PipelineOption]:
    """The options of installed packages by name; none takes the name of one of kgmed's own."""
    return {o.name: o for o in options.all() if o.name not in options_of(Config)}


@cache
def config_type() -> type[Config]:
    """`Config` with the options of installed packages as further fields; theirs are None where nothing is given."""
    added = [(o.name, o.kind | None, _option(None, o.help, manifest="set")) for o in plugged_options().values()]
    return make_dataclass("Config", added, bases=(Config,), frozen=True, init=False) if added else Config


def options_of(kind: type[Config]) -> dict[str, Field[Any]]:
    """The options by name, each a field of the dataclass."""
    return {known.name: known for known in fields(kind)}


def _rebuilt(given: dict[str, Any]) -> Config:
    """The choices of another process."""
    return config_type()(**given)


def shown(field: Any) -> Shown:
    """How a field is shown."""
    made: Shown = field.metadata["shown"]
    return made


def configure(file: Path | str | None, given: Mapping[str, Any]) -> Config:
    """The choices: those given, where they are, else those of the file, else the defaults; settings one by one.

    None and "" are not given.

    >>> configure(None, {"graph": "hpo", "method": None, "settings": {"keep": 5}}).settings
    {'keep': 5}
    """
    found = read_config(Path(file)) if file else config_type()()
    chosen = {name: value for name, value in given.items() if value is not None and value != ""}
    settings = {**found.settings, **_table(chosen.pop("settings", {}))}
    return found.replace(**chosen, settings=settings)


def read_config(path: Path) -> Config:
    """The choices in a TOML file; raises `SourceError`."""
    from kgmed.disk import read_toml  # where there is such a file

    table = read_toml(path)
    kind = config_type()
    if secret := [n for n in table if n not in options_of(kind) and any(word in n.lower() for word in _SECRET)]:
        raise SourceError(path, 0, f"holds {secret[0]}", "keys are not kept in files; set the environment variable")
    try:
        values = _values(kind, table, path.name)
        return kind(**values | {n: path.parent / v for n, v in values.items() if isinstance(v, Path)})
    except BadInput as error:
        raise SourceError(path, 0, str(error), "see docs/options.md") from None


def _values(kind: type[Config], given: Mapping[str, Any], of: str) -> dict[str, Any]:
    """The values by name, each of its type; raises `UnknownName`, `BadInput`."""
    known = options_of(kind)
    if strange := [name for name in given if name not in known]:
        raise UnknownName(f"option of {of}", strange[0], [n for n in known if n != "settings"])
    return {
        n: v if v is known[n].default else _table(v) if n == "settings" else _value(n, known[n].type, v)
        for n, v in given.items()
    }


def _table(value: object) -> Mapping[str, object]:
    """The settings by name."""
    if not isinstance(value, Mapping):
        raise BadInput("settings must be a table of names and values")
    return dict(value)


def _check(made: Config) -> None:
    """Refuse choices that do not go together."""
    if made.prompts is not None and not made.prompts.is_dir():
        raise BadInput(f"{made.prompts}: is no folder of prompts; give one with files such as ask/reader.en.txt")
    if made.cache_mode is not Mode.RECORD and made.cache is None:
        raise BadInput(f"to {made.cache_mode.value} replies, name their file: --cache FILE")
    if made.budget is not None and made.budget < 0:
        raise BadInput("a budget must be 0 US dollars or more")
    if made.batch < 1:
        raise BadInput("a batch must hold 1 call or more")
    if made.deadline is not None and not made.deadline > 0:
        raise BadInput("a deadline must be above 0 seconds")
    if made.rate < 0:
        raise BadInput("a rate must be above 0 calls a minute")


# --- The settings of a method as a person types them: by preset, then by name, each of the type its dataclass gives it.


def settings_of(method: "Method", *, preset: str, given: Mapping[str, object]) -> Any:
    """The settings that a method is to be called with; None where it has none and none are asked for.

    `preset` "" = the method's own first one. Raises `BadInput` for what does not fit, `UnknownName` for a name that the
    method does not have.
    """
    presets = method.presets
    if not presets and not (preset or given):
        return None
    if not presets or (preset and "" in presets):
        raise BadInput(f"the method {method.name} has no {'presets' if preset else 'settings'}; leave them out")
    if preset and preset not in presets:
        raise UnknownName(f"preset of {method.name}", preset, presets)
    made = presets[preset or next(iter(presets))]
    return replace(made, **typed(type(made), given, of=method.name))


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


def _value(name: str, hint: Any, value: Any) -> Any:
    """One value of that type; raises `BadInput`."""
    kinds = _kinds(hint)
    if type(None) in kinds and value in ("none", None):
        return None
    if tuple in kinds and isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if type(value) in (str, bool) and type(value) in kinds and str(value).isprintable():
        return value  # as most are: to check one of another type is to read in pydantic
    from pydantic import ValidationError

    try:
        # True would pass as the number 1, which nobody means
        made = _adapter(hint).validate_python("" if isinstance(value, bool) and bool not in kinds else value)
    except ValidationError:
        raise BadInput(f"the setting {name} is {str(value)[:40]!r}; it must be {_wanted(hint, value)}") from None
    return made.expanduser() if isinstance(made, Path) else made


@cache
def _adapter(hint: Any) -> "TypeAdapter[Any]":
    """What reads values of a type."""
    from pydantic import TypeAdapter

    return TypeAdapter(_bounded(hint))


def _bounded(hint: Any) -> Any:
    """The type with whole numbers of 0 or more, and numbers that are finite."""
    from pydantic import Field

    if hint is int:
        return Annotated[int, Field(ge=0)]
    if hint is float:
        return Annotated[float, Field(allow_inf_nan=False)]
    if get_origin(hint) is tuple:
        return GenericAlias(tuple, (_bounded(get_args(hint)[0]), ...))
    return reduce(or_, map(_bounded, get_args(hint))) if get_origin(hint) in (Union, UnionType) else hint


def _kinds(hint: Any) -> list[Any]:
    """The types that a hint stands for, without their parameters."""
    if get_origin(hint) in (Union, UnionType):
        return [kind for part in get_args(hint) for kind in _kinds(part)]
    return [get_origin(hint) or hint]


def _wanted(hint: Any, value: object) -> str:
    """What a value of the type must be."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is tuple:
        return _wanted(get_args(hint)[0], "") if isinstance(value, list | tuple) else "a list"
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, get_args(hint)))}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"one of {', '.join(str(member.value) for member in hint)}"
    plain = {bool: "true or false", int: "a whole number of 0 or more", float: "a number"}
    return plain.get(hint, "a text")


# --- The options page.


def options_page() -> str:
    """The options as a page of Markdown: keyword and TOML key, command-line option, default, meaning."""
    rows = [
        f"| `{name}` | `{flag(name, field)}` | {_default(field)} | {shown(field).description} |"
        for name, field in options_of(Config).items()
    ]
    head = "# Options\n\nEach option is a keyword of `kgmed.load`, a key of a TOML file and a command-line option."
    return "\n".join(
        [head, "", "| keyword, TOML key | command line | default | meaning |", "|---|---|---|---|", *rows, ""]
    )


def flag(name: str, field: Any) -> str:
    """The option of a field on the command line.

    >>> [flag(name, options_of(Config)[name]) for name in ("base_url", "settings")]
    ['--base-url', '--set']
    """
    return next(iter(shown(field).flags.split()), f"--{name.replace('_', '-')}")


def _default(field: Any) -> str:
    """The default of a field as the page shows it."""
    value = field.default
    return f"`{value.value if isinstance(value, Enum) else value}`" if value not in ("", None, MISSING, 0) else ""


if __name__ == "__main__":
    sys.stdout.write(options_page())
