"""What the rivals share, so that they differ in their own steps only."""

from collections.abc import Sequence

from kgmed.errors import BadInput
from kgmed.methods.hykge import WithOptions
from kgmed.models.base import LLM
from kgmed.pipeline import Expander, Phraser, Pipeline, Ranker, Reader, Retriever
from kgmed.records import Link, Mention, Query
from kgmed.steps.citations import Citations
from kgmed.steps.facts import facts
from kgmed.steps.phrase import Numbered
from kgmed.steps.read import LLMReader
from kgmed.toolkit import Toolkit

SAME = "the graph, the linker and the reader's prompt are those of every other method here"


def model(toolkit: Toolkit, method: str) -> LLM:
    """The toolkit's language model; raises `BadInput` without one."""
    if toolkit.llm is None:
        raise BadInput(f"the method {method} needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    return toolkit.llm


def reader(toolkit: Toolkit, llm: LLM, max_tokens: int) -> LLMReader:
    """The one reader of the rivals that only retrieve."""
    return LLMReader(llm, name="baselines/reader", max_tokens=max_tokens, prompts=toolkit.prompts)


def aided(
    toolkit: Toolkit,
    name: str,
    *,
    retrieve: Sequence[Retriever],
    read: Reader,
    rank: Sequence[Ranker] = (),
    expand: Expander = Query,
    phrase: Phraser | None = None,
) -> Pipeline:
    """A method with evidence: names linked as everywhere, facts where the reader fails, citations checked."""
    return Pipeline(
        expand=expand,
        recognize=WithOptions(toolkit.recognize),
        link=toolkit.link,
        retrieve=retrieve,
        rank=rank,
        phrase=phrase or Numbered(),
        read=read,
        check=Citations(names=toolkit.names),
        otherwise=facts,
        name=name,
        graph=toolkit.graph.label,
    )


def unaided(toolkit: Toolkit, name: str, read: Reader) -> Pipeline:
    """A method that looks nothing up; where its reader fails there is nothing to fall back on, and the run fails."""
    return Pipeline(_no_mentions, _no_links, (), (), Numbered(), read, name=name, graph=toolkit.graph.label)


def _no_mentions(query: Query) -> list[Mention]:
    """Nothing is looked for."""
    return []


def _no_links(mentions: Sequence[Mention]) -> list[Link]:
    """Nothing is linked."""
    return []
