"""Readers that ask a model without evidence: the controls that any retrieval has to beat."""

import re
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

    Two calls a level, one for the answer. A level with a single proposal needs no vote.
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
        for _ in range(self.depth):
            path.append(self._next(steps, question, path))
        last = Steps(self.llm, "tot", self.answer_tokens, self.prompts, self.tally)
        said = last.ask("answer", question, partial(usable, question=question), thoughts=_numbered(path))
        return _from_memory(said, question, f"tree of thought {self.llm.name}", "\n".join(path))

    def _next(self, steps: Steps, question: Question, path: list[str]) -> str:
        """The best of the proposed next thoughts."""
        so_far = _numbered(path) or "-"
        key, shape = partial(some, key="thoughts"), strings_schema("thoughts", least=1, most=self.width)
        proposed = steps.ask("propose", question, key, shape, count=str(self.width), thoughts=so_far)
        choices = proposed[: self.width]
        if len(choices) == 1:
            return choices[0]
        vote = partial(number, most=len(choices))
        return choices[steps.ask("vote", question, vote, thoughts=so_far, choices=_numbered(choices)) - 1]


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


def _numbered(lines: list[str]) -> str:
    return "\n".join(f"{i}. {line}" for i, line in enumerate(lines, start=1))


def _from_memory(said: str, question: Question, reader: str, reasoning: str = "") -> Answer:
    """The answer, which cites nothing and says so."""
    return answered(said, question, _NOTHING, shown=0, reader=reader, reasoning=reasoning, limits=(FROM_MEMORY,))
