"""Recogniser: the medical entities that a model lists between commas (MindMap, step 1)."""

from dataclasses import dataclass
from pathlib import Path

from kgmed.kg.language import prompt_language
from kgmed.models.listing import names
from kgmed.prompts import prompt
from kgmed.recognize.by_model import located
from kgmed.stages import LLM
from kgmed.types import Mention, Query


@dataclass(frozen=True, slots=True)
class Listed:
    """The entities of the question, by a prompt with two worked examples; a reply that lists none is no failure.

    What the model lists and the question does not say has start -1; of a reply that rambles at most `most` are taken.
    """

    llm: LLM
    name: str = "mindmap/extract"
    most: int = 20  # ours: a bound for a model that does not stop
    max_tokens: int = 128
    prompts: Path | None = None

    def __call__(self, query: Query, /) -> list[Mention]:
        """The entities in the order of the text; those that do not stand in it come first."""
        if not query.text.strip():
            return []
        asked = prompt(self.name, language=prompt_language(query.question), folder=self.prompts)
        reply = self.llm(asked.messages(question=query.text), max_tokens=self.max_tokens)
        return located(query.text, names(reply.text)[: self.most])
