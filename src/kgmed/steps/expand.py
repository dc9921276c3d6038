"""Expanders: what a language model adds to a question before it is searched with. No reader is shown it."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from kgmed.errors import ModelFailed
from kgmed.language.text import LETTER, has_cjk, one_line, prompt_language
from kgmed.models.asking import Structured, Tally, strings_schema, without_thinking
from kgmed.models.base import LLM
from kgmed.models.replies import nonempty_strings, without_example
from kgmed.prompts import Prompt, prompt
from kgmed.records import Query, Question

# --- Expander: a language model's first guess, to search and to rank with; no reader is shown it.
# HyKGE's hypothesis output (3.1) and KG-Rank's answer expansion (2.3) are this with different prompts.


_LONG, _LONG_CJK = 20, 8  # letters from which a sentence of the prompt is known again


@dataclass(frozen=True, slots=True)
class Guess:
    """Asks for a guess in the question's language; an empty or broken one raises `ModelFailed`, and so does an echo."""

    llm: LLM
    name: str = "hykge/hypothesis"
    max_tokens: int = 500  # HyKGE 4.1.4, and its code
    prompts: Path | None = None  # the user's own, in place of kgmed's

    def __call__(self, question: Question, /) -> Query:
        """The question with the guess; a model's thoughts aloud are no part of it."""
        if question.blank:
            return Query(question)
        asked = prompt(self.name, language=prompt_language(question), folder=self.prompts)
        said = self.llm(asked.messages(question=question.with_history), max_tokens=self.max_tokens).text
        guess = without_echo(without_thinking(said), asked)
        if not LETTER.search(guess) or "\ufffd" in guess:
            raise ModelFailed(f"{self.llm.name} made no guess to search with ({asked}); it said {said[:60]!r}")
        return Query(question, guess)


def without_echo(reply: str, asked: Prompt) -> str:
    """The reply without the sentences of the prompt that a small model repeats, so that they are not searched for.

    >>> without_echo("Name the drugs you know. Colchicine.", Prompt("a/b", "en", "# user\\nName the drugs you know."))
    'Colchicine.'
    """
    text = "\n".join(m.text for m in asked.messages(**dict.fromkeys(asked.holes, "\n")))
    for sentence in re.split(r"(?<=[.:;。：；])\s*|\n", text):
        if len(sentence.strip()) >= (_LONG_CJK if has_cjk(sentence) else _LONG):
            reply = reply.replace(sentence.strip(), "")
    return reply.strip()


# --- Expander: sentences that a model makes of a question, one a line of the guess.
# Chain-of-Knowledge's rationales (arXiv 2305.13269) and KG-GPT's sub-sentences (arXiv 2310.11220) are this with
# different
# prompts.


KEY = "sentences"


@dataclass(frozen=True, slots=True)
class Lines:
    """At most `most` sentences; a reply that holds none is asked for once more and then raises `Malformed`."""

    llm: LLM
    name: str
    most: int = 3
    max_tokens: int = 256
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, question: Question, /) -> Query:
        """The question with the sentences as its hypothesis."""
        if question.blank:
            return Query(question)
        asked = prompt(self.name, language=prompt_language(question), folder=self.prompts)
        shape = strings_schema(KEY, least=1, most=self.most)

        def parse(reply: str) -> list[str]:
            return without_example(nonempty_strings(reply, key=KEY), example=asked.example, given=question.text)

        ask = Structured(self.llm, parse, self.max_tokens, tally=self.tally, schema=shape)
        said = ask(asked.messages(question=question.with_history, count=str(self.most)))
        return Query(question, "\n".join(map(one_line, said[: self.most])))
