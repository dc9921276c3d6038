"""kgmed answers medical questions from a knowledge graph and shows what each answer stands on.

import kgmed

run = kgmed.load(graph="hpo").ask("What are the signs of Marfan syndrome?")
print(run.answer.text)
for i, evidence in enumerate(run.context.cited, start=1):
    print(i, evidence.text, [t.references for t in evidence.triples])

The names in `__all__` are the public interface; what else can be imported is internal and may move between releases.
Each is read in when first used, so that `import kgmed` takes less than 0.1 s.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kgmed import registry
    from kgmed.config import Config, PipelineOption
    from kgmed.errors import (
        BadInput,
        KgmedError,
        ModelFailed,
        SourceError,
        Stopped,
        StoreError,
        Unavailable,
        UnknownName,
    )
    from kgmed.evaluate.scores import compare_methods
    from kgmed.graph.library import open_graph
    from kgmed.pipeline import Pipeline
    from kgmed.prepare import build_graph
    from kgmed.records import (
        Answer,
        Candidate,
        Claim,
        Context,
        Entity,
        Evidence,
        Link,
        Mention,
        Query,
        Question,
        Relation,
        Role,
        Run,
        Stage,
        Support,
        Triple,
        Verdict,
        to_json,
    )
    from kgmed.reward.graph_reward import reward_function
    from kgmed.session import Conversation, Event, Session
    from kgmed.stop import Stop
    from kgmed.toolkit import Toolkit

__version__ = "0.1.0"

_PLACES = {  # public name -> the module that defines it
    "kgmed.config": "Config PipelineOption",
    "kgmed.errors": "BadInput KgmedError ModelFailed SourceError Stopped StoreError Unavailable UnknownName",
    "kgmed.evaluate.scores": "compare_methods",
    "kgmed.graph.library": "open_graph",
    "kgmed.pipeline": "Pipeline",
    "kgmed.prepare": "build_graph",
    "kgmed.records": "Answer Candidate Claim Context Entity Evidence Link Mention Query Question Relation Role Run "
    "Stage Support Triple Verdict to_json",
    "kgmed.reward.graph_reward": "reward_function",
    "kgmed.session": "Conversation Event Session",
    "kgmed.stop": "Stop",
    "kgmed.toolkit": "Toolkit",
}
_OF = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "Answer",
    "BadInput",
    "Candidate",
    "Claim",
    "Config",
    "Context",
    "Conversation",
    "Entity",
    "Event",
    "Evidence",
    "KgmedError",
    "Link",
    "Mention",
    "ModelFailed",
    "Pipeline",
    "PipelineOption",
    "Query",
    "Question",
    "Relation",
    "Role",
    "Run",
    "Session",
    "SourceError",
    "Stage",
    "Stop",
    "Stopped",
    "StoreError",
    "Support",
    "Toolkit",
    "Triple",
    "Unavailable",
    "UnknownName",
    "Verdict",
    "build_graph",
    "compare_methods",
    "load",
    "open_graph",
    "registry",
    "reward_function",
    "to_json",
]


def __getattr__(name: str) -> Any:
    """A public name, read in from its module."""
    if name == "registry":
        return import_module("kgmed.registry")
    if name not in _OF:
        raise AttributeError(f"module 'kgmed' has no attribute {name!r}")
    return getattr(import_module(_OF[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return __all__


def load(
    graph: str = "",
    *,
    config: "Path | str | None" = None,
    progress: "Callable[[int], None] | None" = None,
    **options: Any,
) -> "Session":
    """A session, which answers questions from a graph: `.ask(question) -> Run`.

    `graph` is a graph's name or folder, one behind a server (umls-rest, dbpedia, wikidata, sparql+URL), or "auto" for
    whichever knows the question's words; the packaged graphs (hpo, cmekg) are built when they are first needed, with
    `progress(rows)`. `options` are the fields of `kgmed.Config`: `method` (a name, or a function of your own;
    "auto" = "llm" where a language model is given, else "facts"), `preset` and `settings` of the method, `llm`
    ("smollm2", "gguf/PATH", "openai/NAME" with `base_url`), `encoder`, `scorer`, `cache`, `budget`, ...; `config` names
    a TOML file of them, over which those given here are laid. Raises `UnknownName` for a name that nothing has,
    `BadInput` for a value that does not fit, `Unavailable` for what is not installed.
    """
    from kgmed.config import configure
    from kgmed.session import open_session

    return open_session(configure(config, {"graph": graph, **options}), progress=progress)
