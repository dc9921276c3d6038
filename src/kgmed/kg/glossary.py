"""Words in two languages, taken from the names of a bilingual graph (CMeKG has an English name for many diseases)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kgmed.kg.graph import LocalGraph
from kgmed.kg.rows import Scope
from kgmed.kg.text import normalise


@dataclass(frozen=True)
class Glossary:
    """Translations of whole terms: those given in `words` first, then those that the graph has."""

    graph: LocalGraph | None = None
    words: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, term: str) -> tuple[str, ...]:
        """The translations of a term, () where there is none.

        >>> Glossary(words={"高血压": "hypertension"})("高血压 ")
        ('hypertension',)
        """
        own = self._words.get(normalise(term))
        return (own,) if own else self._of_graph(term)

    def _of_graph(self, term: str) -> tuple[str, ...]:
        """The translations of the entities of that name."""
        if self.graph is None:
            return ()
        nodes = [self.graph.number(match.entity.id) for match in self.graph.lookup(term)]
        return tuple(dict.fromkeys(name for node in nodes for name in self._translations.get(node, ())))

    @cached_property
    def _words(self) -> dict[str, str]:
        """The words given, under their normalised form."""
        return {normalise(term): said for term, said in self.words.items()}

    @cached_property
    def _translations(self) -> dict[int, list[str]]:
        """The names in the other language, by node."""
        found: dict[int, list[str]] = {}
        for name in self.graph.names(scopes=(Scope.TRANSLATION,)) if self.graph else ():
            found.setdefault(name.node, []).append(name.text)
        return found
