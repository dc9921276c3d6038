"""Baselines without evidence (zero-shot, chain of thought, tree of thought), and what all baselines share.

Any retrieval has to beat them; the baselines differ in their own steps only.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

from kgmed.errors import BadInput
from kgmed.methods.hykge import WithOptions
from kgmed.models.asking import Malformed, Tally, strings_schema
from kgmed.models.base import LLM
from kgmed.models.replies import nonempty_strings, number
from kgmed.pipeline import Expander, Phraser, Pipeline, Ranker, Reader, Retriever
from kgmed.prompts import ANSWER_TOKENS, task
from kgmed.records import Answer, Context, Link, Mention, Query, Question
from kgmed.registry import About, Calls, Need, methods
from kgmed.steps.citations import Citations
from kgmed.steps.facts import facts
from kgmed.steps.phrase import Numbered
from kgmed.steps.read import LLMReader, Steps, cited_answer, split_conclusion, usable_answer
from kgmed.toolkit import RemoteToolkit, Toolkit

# What the baselines share, so that they differ in their own steps only.

T = TypeVar("T")
FROM_MEMORY = "from the model's own memory: no evidence was looked up"
NO_EVIDENCE = "from the model's own memory: no evidence was found"
_NOTHING = Context("")
_NEEDS: Collection[Need] = frozenset({"model"})  # nothing is looked up, so that a graph behind a server does as well


def both(settings: T) -> dict[str, T]:
    """The presets of a baseline: its numbers are the same, what its model may use is not (`kgmed.prompts.task`)."""
    return {"safe": settings, "paper": settings}


def model(toolkit: Toolkit | RemoteToolkit, method: str) -> LLM:
    """The toolkit's language model; raises `BadInput` without one."""
    if toolkit.llm is None:
        raise BadInput(f"the method {method} needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    return toolkit.llm


def reader(toolkit: Toolkit, llm: LLM, max_tokens: int) -> LLMReader:
    """The one reader of the baselines that only retrieve."""
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
        if context.cited or not task().own_knowledge:
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
    """A method with evidence: terms found and linked as everywhere, facts where the reader fails, citations checked."""
    tokens = next(getattr(read, name) for name in ("answer_tokens", "max_tokens") if hasattr(read, name))
    return Pipeline(
        expand=expand,
        recognize=WithOptions(toolkit.tagger or toolkit.recognize),
        link=toolkit.link,
        understand=toolkit.understand,
        retrieve=retrieve,
        rank=rank,
        phrase=phrase or Numbered(),
        read=OrFromMemory(read, ZeroShot(model(toolkit, name), tokens, toolkit.prompts)),
        check=Citations(names=toolkit.names),
        otherwise=facts,
        name=name,
        graph=toolkit.graph.label,
    )


def unaided(toolkit: Toolkit | RemoteToolkit, name: str, read: Reader) -> Pipeline:
    """A method that looks nothing up; where its reader fails there is nothing to fall back on, and the run fails."""
    return Pipeline(_no_mentions, _no_links, (), (), Numbered(), read, name=name, graph=toolkit.graph.label)


def _no_mentions(query: Query) -> list[Mention]:
    return []


def _no_links(mentions: Sequence[Mention]) -> list[Link]:
    return []


# Baselines without evidence: zero-shot, chain of thought and tree of thought. Any retrieval has to beat them.

# --- Readers that ask a model without evidence: the controls that any retrieval has to beat.


@dataclass(frozen=True, slots=True)
class ChainOfThought:
    """The model thinks step by step and ends in a line "Answer: ..."; what comes before it is the reasoning.

    Where the line is missing, the model is shown its thoughts and asked for the answer alone, the second step of
    Kojima et al. 2022 (arXiv 2205.11916): small models reason without ever coming to that line.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    max_tokens: int = ANSWER_TOKENS
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, without a citation."""
        question = query.question
        steps = Steps(self.llm, "cot", self.max_tokens, self.prompts, self.tally)
        thoughts, said = steps.ask("answer", question, partial(_thought, question=question))
        if not said:
            said = steps.ask("conclude", question, partial(usable_answer, question=question), thoughts=thoughts)
        return from_memory(said, question, f"chain of thought {self.llm.name}", thoughts)


@dataclass(frozen=True, slots=True)
class TreeOfThought:
    """A search in breadth: `depth` times the model proposes `width` next thoughts and votes for one; then it answers.

    Two calls a level, one for the answer. A level with a single proposal needs no vote. Of a vote that cannot be read
    the first thought is taken, and where no thought can be read the search ends; the answer's limits say so.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    depth: int = 2
    width: int = 3
    thought_tokens: int = 300
    answer_tokens: int = ANSWER_TOKENS
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, with the thoughts chosen as its reasoning."""
        question = query.question
        steps = Steps(self.llm, "tot", self.thought_tokens, self.prompts, self.tally)
        path: list[str] = []
        limits: list[str] = []
        for level in range(1, self.depth + 1):
            try:
                proposed = self._proposed(steps, question, path)
            except Malformed:
                limits.append(f"the model proposed no thought that could be read at level {level} of {self.depth}")
                break
            try:
                path.append(self._best(steps, question, path, proposed))
            except Malformed:
                limits.append(f"the model's vote at level {level} could not be read: its first thought was taken")
                path.append(proposed[0])
        last = Steps(self.llm, "tot", self.answer_tokens, self.prompts, self.tally)
        said = last.ask("answer", question, partial(usable_answer, question=question), thoughts=_numbered(path) or "-")
        return from_memory(said, question, f"tree of thought {self.llm.name}", "\n".join(path), limits)

    def _proposed(self, steps: Steps, question: Question, path: Sequence[str]) -> list[str]:
        key, shape = partial(nonempty_strings, key="thoughts"), strings_schema("thoughts", least=1, most=self.width)
        so_far = _numbered(path) or "-"
        return steps.ask("propose", question, key, shape, count=str(self.width), thoughts=so_far)[: self.width]

    def _best(self, steps: Steps, question: Question, path: Sequence[str], proposed: Sequence[str]) -> str:
        """The one of them that it votes for."""
        if len(proposed) == 1:
            return proposed[0]
        vote, so_far = partial(number, most=len(proposed)), _numbered(path) or "-"
        return proposed[steps.ask("vote", question, vote, thoughts=so_far, choices=_numbered(proposed)) - 1]


def _thought(reply: str, question: Question) -> tuple[str, str]:
    """What comes before the line "Answer: ...", and that answer; "" where the thoughts come to none.

    >>> _thought("The toe hurts, it is red.", Question("What is it?"))
    ('The toe hurts, it is red.', '')
    """
    try:
        return split_conclusion(reply, question)
    except Malformed:
        if not re.search(r"\w", reply):
            raise
        return reply, ""


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{i}. {line}" for i, line in enumerate(lines, start=1))


# --- Zero-shot: the question alone, the control that every retrieval has to beat.


@dataclass(frozen=True, slots=True, kw_only=True)
class OneCallSettings:
    """The number of zero-shot and of chain of thought."""

    answer_tokens: int = ANSWER_TOKENS  # ours, thoughts and answer together


@methods.register(
    "zero-shot",
    about=About(
        paper="Language Models are Few-Shot Learners",
        by="Brown et al.",
        year=2020,
        where="arXiv 2005.14165",
        does="asks the model the question alone",
        calls=Calls.always(1, "the answer; HyKGE's and KG-Rank's base row"),
        ours=("the prompt is ours: the papers do not print theirs",),
        needs=_NEEDS,
        baseline=True,
    ),
    presets=both(OneCallSettings()),
)
def zero_shot(toolkit: Toolkit | RemoteToolkit, *, settings: OneCallSettings | None = None) -> Pipeline:
    """The method; nothing of the graph is looked up. Raises `BadInput` without a model."""
    s, name = settings or OneCallSettings(), "zero-shot"
    return unaided(toolkit, name, ZeroShot(model(toolkit, name), s.answer_tokens, toolkit.prompts))


# --- Chain of thought: the model reasons step by step before it answers, without evidence.


@methods.register(
    "cot",
    about=About(
        paper="Chain-of-Thought Prompting Elicits Reasoning in Large Language Models",
        by="Wei et al.",
        year=2022,
        where="arXiv 2201.11903",
        does="asks the model to think step by step and then to answer",
        calls=Calls(1, 1, 2, "thoughts and answer in one reply, as in the paper; asked for the answer if it has none"),
        ours=(
            "an instruction in place of worked examples, as in Kojima et al. 2022 (arXiv 2205.11916)",
            "thoughts that come to no answer are followed by a question for it, as in Kojima et al.",
        ),
        needs=_NEEDS,
        baseline=True,
    ),
    presets=both(OneCallSettings()),
)
def cot(toolkit: Toolkit | RemoteToolkit, *, settings: OneCallSettings | None = None) -> Pipeline:
    """The method; nothing of the graph is looked up. Raises `BadInput` without a model."""
    s, name = settings or OneCallSettings(), "cot"
    return unaided(toolkit, name, ChainOfThought(model(toolkit, name), s.answer_tokens, toolkit.prompts))


# --- Tree of thought: a search over thoughts that the model proposes and judges, without evidence.


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOfThoughtSettings:
    """The numbers of tree of thought."""

    depth: int = 2  # paper, of its open-ended task (creative writing): a plan, then the text
    width: int = 3  # ours: thoughts proposed at a time; 5 in the paper's open-ended task
    thought_tokens: int = 300  # ours, for all thoughts of a level
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "tot",
    about=About(
        paper="Tree of Thoughts: Deliberate Problem Solving with Large Language Models",
        by="Yao et al.",
        year=2023,
        where="arXiv 2305.10601",
        does="searches in breadth: thoughts are proposed and voted on level by level, then the question is answered",
        calls=Calls(5, 3, 5, "two levels of a proposal and a vote, and the answer; one vote is ours, the paper has 5"),
        ours=(
            "thoughts are proposed together, since a greedy model would repeat a sampled one",
            "one vote a level, one state kept (b = 1); MindMap gives no settings for its row",
        ),
        needs=_NEEDS,
        baseline=True,
    ),
    presets=both(TreeOfThoughtSettings()),
)
def tot(toolkit: Toolkit | RemoteToolkit, *, settings: TreeOfThoughtSettings | None = None) -> Pipeline:
    """The method; nothing of the graph is looked up. Raises `BadInput` without a model."""
    s, name = settings or TreeOfThoughtSettings(), "tot"
    read = TreeOfThought(model(toolkit, name), s.depth, s.width, s.thought_tokens, s.answer_tokens, toolkit.prompts)
    return unaided(toolkit, name, read)
