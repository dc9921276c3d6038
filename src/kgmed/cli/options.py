"""The options that every command that asks has in common, and what they choose."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from kgmed.config import Setup, assignments, setup

Graph = Annotated[
    str | None,
    typer.Option(
        "--graph",
        "-g",
        help="A graph's name or folder; umls-rest, dbpedia, wikidata, sparql+URL; auto = the one that knows.",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="facts, llm, kg-rank, mkg-rank, mindmap, hykge; auto = llm where --llm is given, else facts.",
    ),
]
Preset = Annotated[str | None, typer.Option(help="The method's numbers: paper or code.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="A setting of the method, as NAME=VALUE.")]
Llm = Annotated[
    str | None, typer.Option(help="smollm2, gguf/PATH, a .gguf file, hf/FOLDER_OR_NAME, openai/NAME or anthropic/NAME.")
]
BaseUrl = Annotated[str | None, typer.Option(help="The server behind openai/NAME; its key comes from KGMED_API_KEY.")]
Batch = Annotated[int | None, typer.Option(help="So many calls at once are generated together; hf/... only.", min=1)]
Precision = Annotated[
    str | None, typer.Option(help="float32, bfloat16, float16, auto = that of the files; hf/... only.")
]
ReplyTokens = Annotated[int | None, typer.Option(help="No reply of the model may be longer, for a quick look.", min=1)]
Choose = Annotated[
    str | None, typer.Option(help="How options are chosen: letter; likelihood = the likeliest text, for small models.")
]
Encoder = Annotated[str | None, typer.Option(help="use, ngrams, local/NAME, local-cls/NAME or server/NAME@URL.")]
Scorer = Annotated[
    str | None,
    typer.Option(help="words, trained/FILE, local/NAME, vllm/NAME@URL, cohere/NAME@URL or jina/NAME@URL."),
]
Tagger = Annotated[
    Path | None, typer.Option(help="The folder of a tagger that kgmed train ner has made; hykge finds terms by it.")
]
Cache = Annotated[Path | None, typer.Option(help="A file in which the model's replies are kept.")]
CacheMode = Annotated[
    str | None,
    typer.Option(help="record = ask for what is not there; replay = ask no model at all; refresh = ask for all."),
]
Budget = Annotated[float | None, typer.Option(help="The most US dollars that the model may cost.")]
Prices = Annotated[Path | None, typer.Option(help="A TOML file of prices of models.")]
MaxCalls = Annotated[int | None, typer.Option(help="The most calls of the model.", min=1)]
Rate = Annotated[float | None, typer.Option(help="The most calls of the model a minute.")]
Prompts = Annotated[Path | None, typer.Option(help="A folder of your own prompts, as recipe/step.language.txt.")]
Glossary = Annotated[str | None, typer.Option(help="A bilingual graph whose names translate terms.")]
Tokens = Annotated[int | None, typer.Option("--evidence-tokens", help="Fit the evidence to so many tokens.", min=1)]
Below = Annotated[float | None, typer.Option("--abstain-below", help="Say nothing below this score of the evidence.")]
Data = Annotated[Path, typer.Option("--data", help="The folder that holds the data sets.", envvar="KGMED_DATA")]
Config = Annotated[Path | None, typer.Option(help="A TOML file of these options.")]
Explain = Annotated[bool, typer.Option("--explain", help="Also show how each word was linked, and the scores.")]


OPTIONS: dict[str, Any] = {
    "graph": Graph,
    "method": Method,
    "preset": Preset,
    "assign": Set,
    "llm": Llm,
    "base_url": BaseUrl,
    "batch": Batch,
    "precision": Precision,
    "reply_tokens": ReplyTokens,
    "choose": Choose,
    "encoder": Encoder,
    "scorer": Scorer,
    "tagger": Tagger,
    "cache": Cache,
    "cache_mode": CacheMode,
    "budget": Budget,
    "prices": Prices,
    "max_calls": MaxCalls,
    "rate": Rate,
    "prompts": Prompts,
    "glossary": Glossary,
    "evidence_tokens": Tokens,
    "abstain_below": Below,
    "config": Config,
}
MODEL = (
    *("llm", "base_url", "batch", "precision", "reply_tokens", "cache", "cache_mode", "budget", "prices"),
    *("max_calls", "rate", "prompts", "config"),
)


def with_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function that takes a `Setup` first: its own parameters, then the options of those names.

    The function is called with what they choose, laid over their configuration file; that raises `BadInput`.
    """

    def put(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        _, *own = [p.replace(annotation=hints[p.name]) for p in signature(function).parameters.values()]
        shared = [Parameter(n, Parameter.KEYWORD_ONLY, default=None, annotation=OPTIONS[n]) for n in names]
        given = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in own]

        def command(**values: Any) -> None:
            taken = {name: values.pop(name) for name in names}
            function(chosen_setup(taken), **values)

        command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
        command.__signature__ = Signature([*given, *shared])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in (*given, *shared)}
        return command

    return put


def chosen_setup(given: Mapping[str, Any]) -> Setup:
    """The choices among those options, laid over their configuration file; raises `BadInput`."""
    options = {name: value for name, value in given.items() if name not in ("config", "assign")}
    return setup(given["config"], {**options, "settings": assignments(given.get("assign") or [])})
