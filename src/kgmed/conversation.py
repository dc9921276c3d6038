"""Questions one after the other, each understood in the light of those before it.

Every question is asked with the turns before it as its history, the oldest left out first where they are too many: the
question itself is never cut. A question that names nothing known ("What treats it?") is about what the last one that
did was about; the run shows those links as carried over.
"""

from dataclasses import dataclass, field, replace

from kgmed.answering import Asker
from kgmed.kg.language import prompt_language
from kgmed.types import Question, Run

TURNS = 6  # ours: that a model is told of
LONGEST = 600  # ours: characters of an answer that a model is told of
_SAID = {"en": ("Question", "Answer"), "zh": ("问题", "回答")}


@dataclass
class Conversation:
    """A talk with an asker; `runs` are its turns so far."""

    asker: Asker
    turns: int = TURNS
    runs: list[Run] = field(default_factory=list)

    def ask(self, question: Question | str) -> Run:
        """The run of the next question; one that raises is no turn. Raises what the asker raises."""
        asked = Question(question) if isinstance(question, str) else question
        last = next((run for run in reversed(self.runs) if run.links), None)
        recent = self.runs[-self.turns :] if self.turns else []
        history = tuple(line for run in recent for line in told(run))
        run = self.asker.ask(replace(asked, history=(*asked.history, *history)), after=last)
        self.runs.append(run)
        return run


def told(run: Run) -> tuple[str, str]:
    """A turn as a model is told of it: what was asked, and the beginning of the answer, on a line each.

    >>> from kgmed.types import Answer, Context, Query
    >>> told(Run(Query(Question("Gout?")), (), (), (), (), Context(""), Answer("A disease.\\nIt hurts.")))
    ('Question: Gout?', 'Answer: A disease. It hurts.')
    """
    question, answer = _SAID[prompt_language(run.question)]
    text = " ".join(run.answer.text.split())
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return f"{question}: {run.question.text}", f"{answer}: {short}"
