"""Asking a model in several steps: each is a prompt, a parser and one more try; none goes on without a reply."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from kgmed.errors import PromptTooLong
from kgmed.kg.language import prompt_language
from kgmed.models.marks import marks, without_marks
from kgmed.models.replies import final, fresh
from kgmed.models.structured import Malformed, Structured, Tally
from kgmed.prompts import prompt
from kgmed.read.choice import chosen
from kgmed.read.faults import before_loop, fault, loops
from kgmed.read.fitting import whole_question
from kgmed.read.llm import FENCE, abstains, fence_for, fewer, first
from kgmed.stages import LLM
from kgmed.types import Answer, Context, Question

T = TypeVar("T")
Shape = Mapping[str, object] | None
AGAIN = {
    "en": "That reply cannot be used: $reason. Reply once more, in the form that was asked for and nothing else.",
    "zh": "这个回答无法使用：$reason。请再答一次，只按要求的格式作答。",
}
LEFT_OUT = "[…]"  # stands for what a reply said over and over
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Steps:
    """Asks the prompts `folder`/STEP in the question's language; a reply that twice cannot be read raises `Malformed`.

    `tally` counts such replies.
    """

    llm: LLM
    folder: str
    max_tokens: int = 256
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def ask(self, step: str, question: Question, parse: Callable[[str], T], shape: Shape = None, /, **values: str) -> T:
        """What the reply to a prompt with the holes question and those given holds; `shape` = its JSON schema."""
        return self._asked(step, question, parse, shape, {"question": whole_question(question), **values})

    def read(
        self,
        step: str,
        question: Question,
        context: Context,
        parse: Callable[[str], T],
        shape: Shape = None,
        /,
        **values: str,
    ) -> tuple[int, T]:
        """How many pieces of evidence the model saw, and what its reply holds; drops the last until the rest fits."""
        shown = len(context.cited)
        whole = whole_question(question)
        fence = FENCE + fence_for("\n".join([context.text, whole, *values.values()]))
        while True:
            evidence = first(context, shown) if context.cited else context.text
            filled = {"question": whole, "fence": fence, "evidence": evidence, **values}
            try:
                return shown, self._asked(step, question, parse, shape, filled)
            except PromptTooLong as error:
                if shown <= 1:
                    raise
                shown = fewer(shown, error)

    def _asked(
        self, step: str, question: Question, parse: Callable[[str], T], shape: Shape, values: dict[str, str]
    ) -> T:
        language = prompt_language(question)
        asked = prompt(f"{self.folder}/{step}", language=language, folder=self.prompts)

        def parsed(said: str) -> T:
            found = parse(_THINKING.sub("\n", said).strip())
            if isinstance(found, list) and all(isinstance(one, str) for one in found):
                return cast(T, fresh(found, example=asked.example, given="\n".join(values.values())))
            return found

        ask = Structured(self.llm, parsed, self.max_tokens, AGAIN[language], self.tally, shape)
        return ask(asked.messages(**values))


def usable(said: str, question: Question) -> str:
    """The text of an answer; raises `Malformed` for one that is empty or in another language, or only loops.

    One that ends in a loop, as those of small models do, is cut where it begins, and ends in `LEFT_OUT`.

    >>> usable("Gout.", Question("What is it?")), usable("It is gout. " * 3, Question("What is it?"))
    ('Gout.', 'It is gout. […]')
    """
    language, text = prompt_language(question), said.strip()
    if loops(without_marks(text)):
        text = f"{before_loop(text)} {LEFT_OUT}"
    if problem := fault(text, language=language):
        raise Malformed(f"the model {problem}")
    return text


def concluded(reply: str, question: Question) -> tuple[str, str]:
    """What comes before the last line "Answer: ...", and that answer, which must be usable.

    >>> concluded("It hurts.\\nAnswer: gout", Question("What is it?"))
    ('It hurts.', 'gout')
    """
    before, said = final(reply)
    return before, usable(said, question)


def answered(
    said: str,
    question: Question,
    context: Context,
    *,
    shown: int,
    begin: int = 0,
    reader: str,
    reasoning: str = "",
    limits: Sequence[str] = (),
) -> Answer:
    """The answer in a text with marks such as [1], held against the pieces of evidence after `begin` up to `shown`."""
    numbers = marks(said)
    real = tuple(dict.fromkeys(n for n in numbers if begin < n <= shown))
    abstained = abstains(said, real)
    there = len(context.cited)
    notes = [
        *limits,
        *(["the model repeated itself, which is left out"] if said.endswith(LEFT_OUT) else []),
        *([f"the model read {shown - begin} of {there} pieces of evidence"] if shown - begin < there else []),
        *(f"cites evidence {n} that does not exist" for n in numbers if not 1 <= n <= there),
        *(["the model cited no evidence"] if context.cited and not real and not abstained else []),
    ]
    return Answer(
        said,
        citations=() if abstained else real,
        choices=chosen(without_marks(said), question.options),
        abstained=abstained,
        limits="; ".join(notes),
        reasoning=reasoning,
        reader=reader,
    )


def part(context: Context, begin: int, end: int) -> str:
    """The lines of a context that stand for the pieces of evidence after `begin` up to `end`.

    >>> part(Context("[1] a\\n[2] b\\n[3] c"), 1, 2)
    '[2] b'
    """
    return first(context, end)[len(first(context, begin)) :].strip() if begin else first(context, end)
