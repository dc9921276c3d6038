"""Readers that ask a model without evidence: the controls that any retrieval has to beat."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from kgmed.models.replies import number, some
from kgmed.models.structured import Malformed, Tally, strings_schema
from kgmed.read.stepwise import Steps, answered, concluded, usable
from kgmed.stages import LLM
from kgmed.types import Answer, Context, Query, Question

FROM_MEMORY = "from the model's own memory: no evidence was looked up"
_NOTHING = Context("")


@dataclass(frozen=True, slots=True)
class ZeroShot:
    """The model's answer to the question alone. Whatever evidence there is, it is not shown."""

    chooses: ClassVar[str] = "without evidence"
    llm: LLM
    max_tokens: int = 256
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, without a citation."""
        question = query.question
        steps = Steps(self.llm, "zero_shot", self.max_tokens, self.prompts, self.tally)
        said = steps.ask("answer", question, partial(usable, question=question))
        return _from_memory(said, question, f"zero-shot {self.llm.name}")


@dataclass(frozen=True, slots=True)
class ChainOfThought:
    """The model thinks step by step and ends in a line "Answer: ..."; what comes before it is the reasoning.

    Where the line is missing, the model is shown its thoughts and asked for the answer alone, the second step of
    Kojima et al. 2022 (arXiv 2205.11916): small models reason without ever coming to that line.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    max_tokens: int = 512
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, without a citation."""
        question = query.question
        steps = Steps(self.llm, "cot", self.max_tokens, self.prompts, self.tally)
        thoughts, said = steps.ask("answer", question, partial(_thought, question=question))
        if not said:
            said = steps.ask("conclude", question, partial(usable, question=question), thoughts=thoughts)
        return _from_memory(said, question, f"chain of thought {self.llm.name}", thoughts)


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
    answer_tokens: int = 256
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
        said = last.ask("answer", question, partial(usable, question=question), thoughts=_numbered(path) or "-")
        return _from_memory(said, question, f"tree of thought {self.llm.name}", "\n".join(path), limits)

    def _proposed(self, steps: Steps, question: Question, path: Sequence[str]) -> list[str]:
        """The next thoughts that the model proposes."""
        key, shape = partial(some, key="thoughts"), strings_schema("thoughts", least=1, most=self.width)
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
        return concluded(reply, question)
    except Malformed:
        if not re.search(r"\w", reply):
            raise
        return reply, ""


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{i}. {line}" for i, line in enumerate(lines, start=1))


def _from_memory(said: str, question: Question, reader: str, reasoning: str = "", limits: Sequence[str] = ()) -> Answer:
    """The answer, which cites nothing and says so."""
    whole = (FROM_MEMORY, *limits)
    return answered(said, question, _NOTHING, shown=0, reader=reader, reasoning=reasoning, limits=whole)
