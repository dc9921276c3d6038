"""What every final prompt asks for in the same words, so that methods which are compared differ in nothing else.

A prompt for an answer has the hole `$task`; what fills it depends on the question (options or none), on whether the
prompt shows evidence, and on the `AnswerTask` in force: `GROUNDED`, the default, or `OWN_KNOWLEDGE`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from kgmed.language.text import prompt_language
from kgmed.models.base import FilledPrompt
from kgmed.prompts import Prompt, prompt
from kgmed.records import Question

ANSWER_TOKENS = 700  # ours: of every method's answer, with what it writes before or beside it


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """How an answer may be made.

    Attributes:
        own_knowledge: Whether the model may add what it knows; it is then asked without evidence too, and cites none.
    """

    own_knowledge: bool = False

    @property
    def cites(self) -> bool:
        """Whether an answer names the numbers of its evidence."""
        return not self.own_knowledge


GROUNDED = AnswerTask()
OWN_KNOWLEDGE = AnswerTask(own_knowledge=True)


def of_preset(name: str) -> AnswerTask:
    """The task of a method's preset: its authors let the model add what it knows, the preset `safe` does not."""
    return OWN_KNOWLEDGE if name in ("paper", "code") else GROUNDED


_TASK: ContextVar[AnswerTask] = ContextVar("task", default=GROUNDED)


def task() -> AnswerTask:
    """The task in force here and now."""
    return _TASK.get()


@contextmanager
def tasked(how: AnswerTask) -> Iterator[None]:
    """A block in which answers are made that way, in this thread and those with a copy of its context.

    >>> with tasked(OWN_KNOWLEDGE):
    ...     task().cites
    False
    """
    token = _TASK.set(how)
    try:
        yield
    finally:
        _TASK.reset(token)


def task_wording(question: Question, *, evidence: bool, folder: Path | None = None) -> str:
    """The words for the hole `$task`, a line for each part."""
    parts = ["options" if question.options else "answer"]
    if evidence:
        parts.append("own" if task().own_knowledge else "grounded")
    language = prompt_language(question)
    return "\n".join(prompt(f"task/{part}", language=language, folder=folder).messages()[0].text for part in parts)


def filled(asked: Prompt, of: Question, folder: Path | None, /, **values: str) -> FilledPrompt:
    """The messages of a prompt, its hole `$task` filled where it has one; a prompt of a user's own may have none."""
    if "task" not in asked.holes:
        return asked.messages(**values)
    return asked.messages(**values, task=task_wording(of, evidence="evidence" in values, folder=folder))
