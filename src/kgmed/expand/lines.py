"""Expander: sentences that a model makes of a question, one a line of the guess.

Chain-of-Knowledge's rationales (arXiv 2305.13269) and KG-GPT's sub-sentences (arXiv 2310.11220) are this with different
prompts.
"""

from dataclasses import dataclass, field
from pathlib import Path

from kgmed.expand.guess import whole
from kgmed.kg.language import prompt_language
from kgmed.kg.text import one_line
from kgmed.models.replies import fresh, some
from kgmed.models.structured import Structured, Tally, strings_schema
from kgmed.prompts import prompt
from kgmed.stages import LLM
from kgmed.types import Query, Question

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
        if not question.text.strip():
            return Query(question)
        asked = prompt(self.name, language=prompt_language(question), folder=self.prompts)
        shape = strings_schema(KEY, least=1, most=self.most)

        def parse(reply: str) -> list[str]:
            return fresh(some(reply, key=KEY), example=asked.example, given=question.text)

        ask = Structured(self.llm, parse, self.max_tokens, tally=self.tally, schema=shape)
        said = ask(asked.messages(question=whole(question), count=str(self.most)))
        return Query(question, "\n".join(map(one_line, said[: self.most])))
