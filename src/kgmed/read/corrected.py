"""Reader: the sentences of a guess corrected one after the other, then the answer (Chain-of-Knowledge)."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from kgmed.models.replies import short_text
from kgmed.models.structured import Tally
from kgmed.read.nothing import nothing
from kgmed.read.stepwise import Steps, answered, usable
from kgmed.stages import LLM
from kgmed.types import Answer, Context, Query


@dataclass(frozen=True, slots=True)
class CorrectedReader:
    """A call for each line of the guess, which sees the evidence and the lines corrected before it, and one to answer.

    Without evidence it abstains and the model is not asked.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    correct_tokens: int = 128
    answer_tokens: int = 256
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, with the corrected sentences as its reasoning."""
        reader, question = f"chain-of-knowledge {self.llm.name}", query.question
        if not context.cited:
            return nothing(question, context, reader)
        correct = Steps(self.llm, "cok", self.correct_tokens, self.prompts, self.tally)
        sound: list[str] = []
        for line in query.hypothesis.splitlines():
            before = "\n".join(sound) or "-"
            sound.append(correct.read("correct", question, context, short_text, sentence=line, before=before)[1])
        last = Steps(self.llm, "cok", self.answer_tokens, self.prompts, self.tally)
        whole = partial(usable, question=question)
        shown, said = last.read("answer", question, context, whole, rationale="\n".join(sound) or "-")
        return answered(said, question, context, shown=shown, reader=reader, reasoning="\n".join(sound))
