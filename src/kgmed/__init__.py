"""kgmed answers medical questions from a knowledge graph and shows what each answer stands on.

import kgmed

run = kgmed.load(graph="hpo").ask("What are the signs of Marfan syndrome?")
print(run.answer.text)
for i, evidence in enumerate(run.context.cited, start=1):
    print(i, evidence.text, [t.references for t in evidence.triples])
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kgmed.types import (
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
    from kgmed.answering import Asker

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
    graph: str = "auto",
    *,
    method: str = "auto",
    llm: str = "",
    base_url: str = "",
    progress: Callable[[int], None] | None = None,
) -> "Asker":
    """What answers questions from a graph: `.ask(question) -> Run`.

    `graph` is a graph's name or folder, or "auto" for whichever knows the question's words; the packaged graphs (hpo,
    cmekg) are built when they are first needed, with `progress(rows)`. `method` is "facts", "llm", the name of a
    plug-in, or "auto": "llm" where a language model is given as `llm` ("smollm2", "gguf/PATH", "openai/NAME" with
    `base_url`), else "facts". Raises `UnknownName` for a name that nothing has, `Unavailable` for what is not
    installed.
    """
    from kgmed.opening import asker

    return asker(graph, method=method, llm=llm, base_url=base_url, progress=progress)
