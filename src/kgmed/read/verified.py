"""Reader: an answer that is checked, and asked for again with other evidence or other words (KALMV)."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from kgmed.errors import PromptTooLong
from kgmed.kg.language import prompt_language
from kgmed.models.replies import number
from kgmed.models.structured import Tally
from kgmed.read.fitting import whole_question
from kgmed.read.llm import FENCE, fence_for
from kgmed.read.nothing import nothing
from kgmed.read.stepwise import Steps, answered, part, usable
from kgmed.stages import LLM
from kgmed.types import Answer, Context, Query, Question

ELSEWHERE, UNGROUNDED, RIGHT = 1, 2, 3  # what the check may say, by the numbers of the prompt
_UNVERIFIED = {
    "en": "I do not know: no answer stood up to the check.",
    "zh": "我不知道：没有答案通过核查。",
}


@dataclass(frozen=True, slots=True)
class VerifiedReader:
    """Answers from `batch` pieces of evidence and has the answer checked, at most `rounds` times (two calls each).

    Evidence that has nothing to do with the question gives way to the next batch; an answer that does not follow from
    its evidence is asked for again, and the model is told which answers were refused. Where none passes it abstains,
    and `limits` say why. A batch that is too long for the model is halved. Without evidence it abstains and the model
    is not asked.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    rounds: int = 3
    batch: int = 10
    answer_tokens: int = 256
    check_tokens: int = 32
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The first answer that passes."""
        question, reader = query.question, f"kalmv {self.llm.name}"
        if not context.cited:
            return nothing(question, context, reader)
        begin, batch, said = 0, self.batch, ""
        refused: list[str] = []
        why: list[str] = []
        while len(why) < self.rounds and begin < len(context.cited):
            end = min(begin + batch, len(context.cited))
            shown = Context(part(context, begin, end), context.cited[begin:end])
            try:
                said = self._drafted(question, shown, refused)
                verdict = self._checked(question, shown, said)
            except PromptTooLong:
                if batch <= 1:
                    raise
                batch //= 2
                continue
            if verdict == RIGHT:
                limits = [f"after {len(why)} refused: {', '.join(why)}"] if why else []
                return answered(said, question, context, shown=end, begin=begin, reader=reader, limits=limits)
            why.append("evidence off the question" if verdict == ELSEWHERE else "answer not in the evidence")
            refused = [*refused, said] if verdict == UNGROUNDED else []
            begin = end if verdict == ELSEWHERE else begin
        unverified = _UNVERIFIED[prompt_language(question)]
        return Answer(unverified, abstained=True, limits=f"refused: {', '.join(why)}", reasoning=said, reader=reader)

    def _drafted(self, question: Question, shown: Context, refused: list[str]) -> str:
        """An answer from the evidence shown."""
        steps = Steps(self.llm, "kalmv", self.answer_tokens, self.prompts, self.tally)
        whole = partial(usable, question=question)
        return steps.ask("answer", question, whole, refused="\n".join(refused) or "-", **_fenced(question, shown))

    def _checked(self, question: Question, shown: Context, said: str) -> int:
        """What the check says of an answer."""
        steps = Steps(self.llm, "kalmv", self.check_tokens, self.prompts, self.tally)
        return steps.ask("verify", question, partial(number, most=3), answer=said, **_fenced(question, shown, said))


def _fenced(question: Question, shown: Context, said: str = "") -> dict[str, str]:
    """The holes for the evidence shown."""
    fence = fence_for("\n".join([shown.text, whole_question(question), said]))
    return {"fence": FENCE + fence, "evidence": shown.text}
