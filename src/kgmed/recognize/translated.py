"""Recogniser: a few terms of an exam question and one of each option, each in the language of the graph.

MKG-Rank (arXiv 2503.16131): at most three terms from the question and one per option, translated word by word. A term
that the graph knows as it stands needs no translation; a glossary comes next; what is left a model translates, in one
call whose reply must have exactly one entry a term.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from kgmed.kg.graph import KnowledgeGraph
from kgmed.kg.language import prompt_language
from kgmed.models.listing import slots
from kgmed.models.structured import Structured, Tally, slots_schema, strings_schema
from kgmed.prompts import prompt
from kgmed.recognize.by_model import located, of_question
from kgmed.stages import LLM
from kgmed.types import Mention, Query, Question

T = TypeVar("T")
KEY = "medical entities"


def no_words(term: str) -> Sequence[str]:
    """No translation at all."""
    return ()


@dataclass(frozen=True, slots=True)
class Translated:
    """The terms as mentions: `surface` as in the question, `name` in the language of the graph.

    A reply that cannot be used is asked for once more; if that fails too, it raises `Malformed`, and `tally` counts it.
    A term that nothing translates keeps its own name, so that the run lists it as missed.
    """

    llm: LLM
    graph: KnowledgeGraph
    glossary: Callable[[str], Sequence[str]] = no_words
    most: int = 3  # the paper: at most three from the question, one per option
    max_tokens: int = 200
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, /) -> list[Mention]:
        """The terms of the question and the options, each once, in the order of the text; others first."""
        question = query.question
        if not question.text.strip():
            return []
        terms = [*self._of_question(question), *(t for t in self._of_options(question) if t)]
        terms = list(dict.fromkeys(terms))
        names_of = dict(zip(terms, self.translations(question, terms), strict=True))
        return [Mention(m.surface, names_of[m.name], m.start, m.end, m.negated) for m in located(question.text, terms)]

    def _of_question(self, question: Question) -> list[str]:
        """At most `most` terms of the question."""
        asked = prompt("mkg_rank/question_terms", language=prompt_language(question), folder=self.prompts)
        parse = partial(of_question, key=KEY, question=question.text, asked=asked)
        values, schema = {"most": str(self.most), "question": question.text}, strings_schema(KEY, most=self.most)
        return self._ask(parse, schema, "question_terms", question, **values)[: self.most]

    def _of_options(self, question: Question) -> list[str | None]:
        """One term an option, in their order; None for an option without one."""
        if not question.options:
            return []
        count = len(question.options)
        listed = "\n".join(f"{letter}. {text}" for letter, text in question.options)
        return self._ask(
            partial(slots, count=count), slots_schema(count), "option_terms", question, count=str(count), options=listed
        )

    def translations(self, question: Question, terms: Sequence[str]) -> list[str]:
        """The name to look up for each term; its own where nothing translates it."""
        found = {term: self._known(term) for term in terms}
        left = [term for term, name in found.items() if not name]
        if left:
            parse, schema = partial(slots, count=len(left)), slots_schema(len(left))
            values = {"count": str(len(left)), "language": self.graph.language, "terms": "\n".join(left)}
            said = self._ask(parse, schema, "translate", question, **values)
            found |= {term: name or term for term, name in zip(left, said, strict=True)}
        return [found[term] for term in terms]

    def _known(self, term: str) -> str:
        """The term if the graph knows it, else a translation, one that the graph knows first; "" = none."""
        if self.graph.lookup(term):
            return term
        said = list(self.glossary(term))
        return next((name for name in said if self.graph.lookup(name)), said[0] if said else "")

    def _ask(
        self, parse: Callable[[str], T], schema: Mapping[str, object], step: str, asked_in: Question, /, **values: str
    ) -> T:
        """What the reply to one prompt holds."""
        asked = prompt(f"mkg_rank/{step}", language=prompt_language(asked_in), folder=self.prompts)
        return Structured(self.llm, parse, self.max_tokens, tally=self.tally, schema=schema)(asked.messages(**values))
