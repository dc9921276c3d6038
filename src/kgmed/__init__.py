"""kgmed answers medical questions from a knowledge graph and shows what each answer stands on.

import kgmed

run = kgmed.load(graph="hpo").ask("What are the signs of Marfan syndrome?")
print(run.answer.text)
for i, evidence in enumerate(run.context.cited, start=1):
    print(i, evidence.text, [t.references for t in evidence.triples])
"""

from typing import TYPE_CHECKING, Any

from kgmed.records import (
    Answer,
    Candidate,
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
    Support,
    Triple,
    Verdict,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kgmed.session import Session

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Candidate",
    "Context",
    "Entity",
    "Evidence",
    "Link",
    "Mention",
    "Query",
    "Question",
    "Relation",
    "Role",
    "Run",
    "Support",
    "Triple",
    "Verdict",
    "load",
    "to_json",
]


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
