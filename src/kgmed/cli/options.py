"""The options that every command that asks has in common, made of the fields of `Config`, and what they choose."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from kgmed.config import Config, assignments, config_type, configure, flag, options_of, shown

Data = Annotated[Path, typer.Option("--data", help="The folder that holds the data sets.", envvar="KGMED_DATA")]
Evidence = Annotated[
    bool, typer.Option("--evidence", "-e", help="Also show the numbered evidence, with sources and links.")
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Also show how each word was linked, all triples, the scores and settings.")
]
PANELS = {  # of help, in this order; what is in none stands first
    "Graph and method": ("graph", "method", "preset", "settings", "config"),
    "Language model": (
        *("llm", "base_url", "answer_from", "strict", "choose", "temperature", "top_p", "penalty", "seed"),
        *("reply_tokens", "prompts"),
    ),
    "Models in this process": ("device", "precision", "bits", "adapter", "batch", "texts"),
    "Cost of the model": ("cache", "cache_mode", "budget", "prices", "max_calls", "rate"),
    "Other models": ("encoder", "scorer", "tagger", "glossary"),
    "Limits and log": ("evidence_tokens", "abstain_below", "deadline", "log"),
}
SHORT = ("graph", "method", "config", "llm", "base_url")  # shown by --help


def graph_names(incomplete: str) -> list[str]:
    """The graphs that are here or packaged whose names go on from what is typed, the last of several with commas."""
    from kgmed.graph import library

    before, comma, begun = incomplete.rpartition(",")
    names = dict.fromkeys((*(m.name for m in library.graphs()), *library.PACKAGED))
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]


def entity_names(context: typer.Context, incomplete: str) -> list[str]:
    """Names of entities of the graph that is named before, which go on from what is typed, as it is typed."""
    from kgmed.graph import library
    from kgmed.graph.complete import Completions

    names = [m.name for m in library.graphs()]
    graph = context.params.get("name", "")
    found = Completions(library.load(graph))(incomplete) if graph in names and incomplete else ()
    begun = [c.name for c in found if c.name.casefold().startswith(incomplete.casefold())]
    return list(dict.fromkeys(incomplete + name[len(incomplete) :] for name in begun))  # shells compare by case


def _method_names(incomplete: str) -> list[str]:
    from kgmed.config import AUTO
    from kgmed.registry import methods

    return [name for name in (AUTO, *methods.names()) if name.startswith(incomplete)]


def _model_names(incomplete: str) -> list[str]:
    return [name for name in ("smollm2", "openai/", "anthropic/", "hf/", "gguf/") if name.startswith(incomplete)]


_COMPLETIONS: dict[str, Callable[[str], list[str]]] = {
    "graph": graph_names, "glossary": graph_names, "method": _method_names, "llm": _model_names,
}  # fmt: skip


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for option in context.command.params:
            option.hidden = False  # type: ignore[attr-defined]
        typer.echo(context.command.get_help(context))
        raise typer.Exit


_HELP_ALL = Annotated[
    bool, typer.Option("--help-all", callback=_show_all, is_eager=True, help="Show every option and exit.")
]
_FILE = Annotated[
    Path | None, typer.Option("--config", help="A TOML file of these options.", rich_help_panel="Graph and method")
]
_KINDS = (bool, int, float, Path)  # an option of any other type is a text


def _option(name: str, field: Any) -> Any:
    """The command-line option of a field: not given = None."""
    panel = panel_of(name)
    if name == "settings":
        return Annotated[
            list[str] | None, typer.Option(flag(name, field), help=shown(field).description, rich_help_panel=panel)
        ]
    kinds = get_args(field.type) or (field.type,)
    kind: Any = next((k for k in _KINDS if k in kinds), str)
    rule = shown(field)
    flags = rule.flags.split() or [flag(name, field)]
    found = typer.Option(
        *flags, help=shown(field).description, min=rule.least, rich_help_panel=panel, hidden=name not in SHORT,
        autocompletion=_COMPLETIONS.get(name),
    )  # fmt: skip
    return Annotated[kind | None, found]


def panel_of(name: str) -> str | None:
    """The group of an option in help; those of other packages have one of their own."""
    ours = name in options_of(Config) or name == "config"
    return next((panel for panel, names in PANELS.items() if name in names), None if ours else "Of other packages")


OPTIONS: dict[str, Any] = {name: _option(name, field) for name, field in options_of(config_type()).items()} | {
    "config": _FILE
}
MODEL = (*(name for name, field in options_of(config_type()).items() if shown(field).model), "config")


def with_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function that takes a `Config` first: its own parameters, then the options of those names.

    The function is called with what they choose, laid over their configuration file; that raises `BadInput`.
    """

    def put(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        _, *own = [p.replace(annotation=hints[p.name]) for p in signature(function).parameters.values()]
        shared = [Parameter(n, Parameter.KEYWORD_ONLY, default=None, annotation=OPTIONS[n]) for n in names]
        given = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in own]
        given.append(Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=_HELP_ALL))

        def command(**values: Any) -> None:
            del values["help_all"]
            taken = {name: values.pop(name) for name in names}
            function(chosen_config(taken), **values)

        command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
        command.__signature__ = Signature([*given, *shared])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in (*given, *shared)}
        return command

    return put


def chosen_config(given: Mapping[str, Any]) -> Config:
    """The choices among those options, laid over their configuration file; raises `BadInput`."""
    options = {name: value for name, value in given.items() if name != "config"}
    return configure(given["config"], {**options, "settings": assignments(given.get("settings") or [])})
