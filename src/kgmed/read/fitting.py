"""Asking a model with as much of the evidence as it can read."""

import re
from dataclasses import dataclass
from pathlib import Path

from kgmed.errors import PromptTooLong
from kgmed.kg.language import prompt_language
from kgmed.models.streaming import aloud
from kgmed.prompts import prompt
from kgmed.read.llm import FENCE, fence_for, fewer, first, instructions
from kgmed.stages import LLM
from kgmed.types import Context, Question

_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """A reply without what the model thought aloud, and what it was asked with."""

    text: str
    shown: int  # pieces of evidence that the model saw
    prompt: str  # name, language and hash
    fence: str
    cut_off: bool  # whether the reply used all its tokens
    instructions: tuple[str, ...] = ()  # the sentences of the prompt, which an answer does not repeat


def ask(llm: LLM, name: str, question: Question, context: Context, *, max_tokens: int, prompts: Path | None) -> Said:
    """The reply to a prompt with the holes fence, evidence and question; the last evidence is dropped until it fits."""
    asked = prompt(name, language=prompt_language(question), folder=prompts)
    whole = whole_question(question)
    fence = FENCE + fence_for(f"{context.text}\n{whole}")
    shown = len(context.cited)
    while True:
        evidence = first(context, shown) if context.cited else context.text
        try:
            messages = asked.messages(fence=fence, evidence=evidence, question=whole)
            reply = aloud(llm, messages, max_tokens=max_tokens)
        except PromptTooLong as error:
            if shown <= 1:
                raise
            shown = fewer(shown, error)
        else:
            text = _THINKING.sub("\n", reply.text).strip()
            cut = reply.tokens_out >= max_tokens
            return Said(text, shown, f"{asked} {asked.hash}", fence, cut, tuple(instructions(asked)))


def whole_question(question: Question) -> str:
    """The question after its history and before its options.

    >>> whole_question(Question("Why?", (("A", "x"),), history=("Hi",)))
    'Hi\\nWhy?\\nA. x'
    """
    options = [f"{letter}. {text}" for letter, text in question.options]
    return "\n".join([*question.history, question.text, *options])
