"""What the rivals share, so that they differ in their own steps only."""

from collections.abc import Sequence

from kgmed.errors import BadInput
from kgmed.methods.hykge import WithOptions
from kgmed.models.base import LLM
from kgmed.pipeline import Expander, Phraser, Pipeline, Ranker, Reader, Retriever
from kgmed.records import Link, Mention, Query
from kgmed.steps.check import Citations
from kgmed.steps.facts import facts
from kgmed.steps.phrase import Numbered
from kgmed.steps.read import LLMReader
from kgmed.toolkit import Kit

SAME = "the graph, the linker and the reader's prompt are those of every other method here"


def model(kit: Kit, method: str) -> LLM:
    """The kit's language model; raises `BadInput` without one."""
    if kit.llm is None:
        raise BadInput(f"the method {method} needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    return kit.llm


def reader(kit: Kit, llm: LLM, max_tokens: int) -> LLMReader:
    """The one reader of the rivals that only retrieve."""
    return LLMReader(llm, name="baselines/reader", max_tokens=max_tokens, prompts=kit.prompts)


def aided(
    kit: Kit,
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
        recognize=WithOptions(kit.recognize),
        link=kit.link,
        retrieve=retrieve,
        rank=rank,
        phrase=phrase or Numbered(),
        read=read,
        check=Citations(names=kit.names),
        otherwise=facts,
        name=name,
        graph=kit.graph.label,
    )


def unaided(kit: Kit, name: str, read: Reader) -> Pipeline:
    """A method that looks nothing up; where its reader fails there is nothing to fall back on, and the run fails."""
    return Pipeline(_no_mentions, _no_links, (), (), Numbered(), read, name=name, graph=kit.graph.label)


def _no_mentions(query: Query) -> list[Mention]:
    """Nothing is looked for."""
    return []


def _no_links(mentions: Sequence[Mention]) -> list[Link]:
    """Nothing is linked."""
    return []
