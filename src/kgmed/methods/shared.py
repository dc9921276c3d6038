"""What the rivals share, so that they differ in their own steps only."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

from kgmed.errors import BadInput
from kgmed.methods.hykge import WithOptions
from kgmed.models.asking import Tally
from kgmed.models.base import LLM
from kgmed.pipeline import Expander, Phraser, Pipeline, Ranker, Reader, Retriever
from kgmed.prompts.task import ANSWER_TOKENS, task
from kgmed.records import Answer, Context, Link, Mention, Query, Question
from kgmed.steps.citations import Citations
from kgmed.steps.facts import facts
from kgmed.steps.phrase import Numbered
from kgmed.steps.read import LLMReader, Steps, cited_answer, usable_answer
from kgmed.toolkit import Toolkit

T = TypeVar("T")
FROM_MEMORY = "from the model's own memory: no evidence was looked up"
NO_EVIDENCE = "from the model's own memory: no evidence was found"
_NOTHING = Context("")
SAME = "the graph, the linker and the reader's prompt are those of every other method here"


def both(settings: T) -> dict[str, T]:
    """The presets of a rival: its numbers are the same, what its model may use is not (`kgmed.prompts.task`)."""
    return {"safe": settings, "paper": settings}


def model(toolkit: Toolkit, method: str) -> LLM:
    """The toolkit's language model; raises `BadInput` without one."""
    if toolkit.llm is None:
        raise BadInput(f"the method {method} needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    return toolkit.llm


def reader(toolkit: Toolkit, llm: LLM, max_tokens: int) -> LLMReader:
    """The one reader of the rivals that only retrieve."""
    return LLMReader(llm, name="baselines/reader", max_tokens=max_tokens, prompts=toolkit.prompts)


@dataclass(frozen=True, slots=True)
class ZeroShot:
    """The model's answer to the question alone. Whatever evidence there is, it is not shown."""

    chooses: ClassVar[str] = "without evidence"
    llm: LLM
    max_tokens: int = ANSWER_TOKENS
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, without a citation."""
        question = query.question
        steps = Steps(self.llm, "zero_shot", self.max_tokens, self.prompts, self.tally)
        said = steps.ask("answer", question, partial(usable_answer, question=question))
        return from_memory(said, question, f"zero-shot {self.llm.name}")


def from_memory(said: str, question: Question, reader: str, reasoning: str = "", limits: Sequence[str] = ()) -> Answer:
    """The answer, which cites nothing and says so."""
    whole = (FROM_MEMORY, *limits)
    return cited_answer(said, question, _NOTHING, shown=0, reader=reader, reasoning=reasoning, limits=whole)


@dataclass(frozen=True, slots=True)
class OrFromMemory:
    """A reader of evidence; where there is none and the model may answer from what it knows, `otherwise` does."""

    read: Reader
    otherwise: Reader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer of one of the two."""
        if context.cited or task().cites:
            return self.read(query, context)
        return replace(self.otherwise(query, context), limits=NO_EVIDENCE)


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
        read=OrFromMemory(read, ZeroShot(model(toolkit, name), prompts=toolkit.prompts)),
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
