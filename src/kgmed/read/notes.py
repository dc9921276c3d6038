"""Reader: notes on each piece of evidence first, then the answer (Chain-of-Note, arXiv 2311.09210)."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from kgmed.models.structured import Tally
from kgmed.read.nothing import nothing
from kgmed.read.stepwise import Steps, answered, concluded
from kgmed.stages import LLM
from kgmed.types import Answer, Context, Query


@dataclass(frozen=True, slots=True)
class NotesReader:
    """One call: a note on what each piece says and whether it bears on the question, then a line "Answer: ...".

    The notes are the reasoning. Without evidence it abstains and the model is not asked; a reply without an answer is
    asked for once more and then raises `Malformed`.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    max_tokens: int = 700
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, with the notes as its reasoning."""
        reader = f"chain-of-note {self.llm.name}"
        if not context.cited:
            return nothing(query.question, context, reader)
        steps = Steps(self.llm, "con", self.max_tokens, self.prompts, self.tally)
        shown, (notes, said) = steps.read("read", query.question, context, partial(concluded, question=query.question))
        return answered(said, query.question, context, shown=shown, reader=reader, reasoning=notes)
