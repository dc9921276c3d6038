"""HyKGE's background: chains as arrows, then what the things at their ends are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgmed.kg.graph import KnowledgeGraph
from kgmed.kg.text import has_cjk, one_line
from kgmed.stages import Encoder
from kgmed.types import Context, Entity, Evidence, Query

_IS = {"en": "{} is defined as: {}", "zh": "{}是：{}"}


@dataclass(frozen=True, slots=True)
class Arrows:
    """A numbered line a chain, then a numbered line a description of the entities at the chains' ends, each once.

    A description is evidence of its own, kind "description", so that it can be cited. With an encoder, one whose
    cosine with the question is below `at_least` is left out. An entity without a description has no line.
    """

    graph: KnowledgeGraph
    descriptions: bool = True
    encoder: Encoder | None = None
    at_least: float = 0.2  # HyKGE's code; the paper shows all

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        ends = (entity for e in evidence for entity in e.about) if self.descriptions else ()
        said = self._fitting(query, described(self.graph, query, ends))
        cited = (*evidence, *said)
        return Context("\n".join(f"[{i}] {one_line(e.text)}" for i, e in enumerate(cited, start=1)), cited)

    def _fitting(self, query: Query, said: list[Evidence]) -> list[Evidence]:
        """The descriptions that have to do with the question."""
        if self.encoder is None or not said:
            return said
        rows = self.encoder([query.text, *(e.text for e in said)])
        cosines = (rows[1:] @ rows[0]).tolist()
        return [e for e, cosine in zip(said, cosines, strict=True) if cosine >= self.at_least]


def described(graph: KnowledgeGraph, query: Query, entities: Iterable[Entity]) -> list[Evidence]:
    """What the graph says each of the entities is, each once, in the language of the question."""
    whole = [graph.entity(entity.id) for entity in dict.fromkeys(entities) if entity.id]
    form = _IS["zh" if has_cjk(query.text) else "en"]
    return [_description(entity, form) for entity in whole if entity.description.strip()]


def _description(entity: Entity, form: str) -> Evidence:
    return Evidence(form.format(entity.name, one_line(entity.description)), "description", (), (entity,))
