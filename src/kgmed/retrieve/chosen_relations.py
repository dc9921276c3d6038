"""Retriever: the triples of the relations that a model chooses for each part of a question (KG-GPT, step 2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kgmed.errors import ModelFailed
from kgmed.kg.graph import KnowledgeGraph
from kgmed.kg.language import prompt_language
from kgmed.models.replies import among
from kgmed.models.structured import Structured, Tally, strings_schema
from kgmed.prompts import prompt
from kgmed.retrieve.found import Found
from kgmed.stages import LLM
from kgmed.types import Entity, Evidence, Link, Query, Triple

KEY = "relations"


@dataclass(frozen=True, slots=True)
class ChosenRelations:
    """For each line of the guess the triples of at most `keep` relations around the entities that it names.

    A line that names no entity is asked about all linked ones. There is nothing to choose, and no call, where there are
    `keep` relations or fewer. Where no choice can be read, all relations are kept, and `notes` say so.
    """

    graph: KnowledgeGraph
    llm: LLM
    link: Callable[[str], Sequence[Link]]
    keep: int = 3
    limit: int = 200  # triples looked at around one entity
    max_tokens: int = 96
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, links: Sequence[Link]) -> Found:
        """The triples, those of the first line first, each once."""
        every = [link.entity for link in links if not link.mention.negated]
        found: dict[Triple, Entity] = {}
        notes: list[str] = []
        for line in query.hypothesis.splitlines() or [query.text]:
            named = [link.entity for link in self.link(line) if not link.mention.negated and link.entity in every]
            around = {t: e for e in dict.fromkeys(named or every) for t in self._around(e)}
            wanted = self._chosen(query, line, around, notes)
            found |= {t: e for t, e in around.items() if t.relation.name in wanted and t not in found}
        return Found((_evidence(t, entity) for t, entity in found.items()), notes=tuple(notes))

    def _around(self, entity: Entity) -> list[Triple]:
        return [*self.graph.neighbours(entity.id, limit=self.limit), *self.graph.attributes(entity.id)]

    def _chosen(self, query: Query, line: str, around: dict[Triple, Entity], notes: list[str]) -> Sequence[str]:
        """The names of the relations chosen for a line."""
        names = list(dict.fromkeys(t.relation.name for t in around))
        if len(names) <= self.keep:
            return names
        asked = prompt("kg_gpt/relations", language=prompt_language(query.question), folder=self.prompts)
        parse, shape = partial(among, key=KEY, known=names), strings_schema(KEY, least=1, most=self.keep)
        ask = Structured(self.llm, parse, self.max_tokens, tally=self.tally, schema=shape)
        try:
            return ask(asked.messages(sentence=line, count=str(self.keep), relations="\n".join(names)))[: self.keep]
        except ModelFailed as problem:
            notes.append(f"all {len(names)} relations kept for {line[:40]!r}: {problem}")
            return names


def _evidence(triple: Triple, entity: Entity) -> Evidence:
    text = f"{triple.head.name} — {triple.relation} → {triple.tail.name}"
    return Evidence(text, "triple", (triple,), (entity,), triple.weight)
