"""KG-Rank's context: for each entity its name, its definition and its triples."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.kg.graph import KnowledgeGraph
from kgmed.kg.text import one_line
from kgmed.phrase.arrows import described
from kgmed.types import Context, Entity, Evidence, Query


@dataclass(frozen=True, slots=True)
class ByEntity:
    """A block for each entity: a line with its name, then numbered its definition (where `definitions`) and triples.

    A definition is evidence of its own, kind "description". A triple about several entities stands with the first.
    """

    graph: KnowledgeGraph
    definitions: bool = True

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The blocks, and the evidence in the order of its numbers."""
        blocks: dict[Entity | None, list[Evidence]] = {}
        for piece in evidence:
            blocks.setdefault(piece.about[0] if piece.about else None, []).append(piece)
        lines: list[str] = []
        cited: list[Evidence] = []
        for entity, pieces in blocks.items():
            said = described(self.graph, query, [entity]) if entity and self.definitions else []
            lines += [f"{one_line(entity.name)}:"] if entity else []
            for piece in (*said, *pieces):
                cited.append(piece)
                lines.append(f"[{len(cited)}] {one_line(piece.text)}")
        return Context("\n".join(lines), tuple(cited))
