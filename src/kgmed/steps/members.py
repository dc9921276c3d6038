"""What stands under a class that a question names: diseases of a mode of inheritance, medicines of a list."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgmed.graph.base import LocalGraph
from kgmed.language.pair import is_yes_no
from kgmed.language.question import asking_part, compares, types_asked
from kgmed.language.text import has_cjk, lazily
from kgmed.language.types import CULPRIT
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.steps.classes import sections_named
from kgmed.steps.family import MEDICINES, Family
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import affirmed, named
from kgmed.steps.retrieve import told
from kgmed.steps.things import are_two

_MODE = "inheritance"  # the kind of its entries
_SECTION = "drug class"  # of a list of medicines
_LISTED, _PIECES = 12, 3  # names in a piece, as of treatments
_ANTIDOTES = "Antidotes and other substances"
_WHICH_ANTIDOTE = "Which antidote is for which poison the graph does not say; those of the WHO list"


@dataclass(frozen=True)
class Members:
    """The members of a mode of inheritance or of a section of a list."""

    graph: LocalGraph

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The pieces; [] where no such thing is asked."""
        if has_cjk(query.text) or is_yes_no(query.text) or compares(query.text) or CULPRIT in types_asked(query.text):
            return []
        return self._of_modes(query, links) or self._of_a_list(query)

    def _of_modes(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The diseases of a mode of inheritance: "Which diseases have mitochondrial inheritance?"."""
        modes = [x for x in links if x.entity.kind == _MODE and not x.mention.negated]
        others = [x for x in links if all(are_two(x, mode) for mode in modes)]
        if not modes or others or not _DISEASES.search(query.text):
            return []
        best = max(modes, key=lambda x: x.mention.end - x.mention.start).entity
        return list(self._pieces(best, Family(self.graph).ordered(best, Role.INHERITANCE, own=False)))

    def _of_a_list(self, query: Query) -> list[Evidence]:
        """The medicines of a class on the list of essential medicines; the antidotes, which it ties to no poison."""
        antidotes = bool(_ANTIDOTE.search(query.text))
        patterns = [_ANTIDOTES] if antidotes else sections_named(asking_part(query.text))
        if not patterns or not (antidotes or _ON_THE_LIST.search(query.text)):
            return []
        sections = [self.graph.at(int(n)) for n in self.graph.of_kind(_SECTION)]
        held = [s for s in sections if any(re.search(one, s.name, re.IGNORECASE) for one in patterns)]
        rows = {s: Family(self.graph).ordered(s, Role.IS_A, own=False) for s in held}
        rows = {s: [t for t in found if t.subject.kind in MEDICINES] for s, found in rows.items()}
        if not antidotes:
            return [e for section, mine in rows.items() for e in self._pieces(section, mine)]
        triples = tuple(t for mine in rows.values() for t in mine)
        said = affirmed(_WHICH_ANTIDOTE, 0, ["; ".join(dict.fromkeys(named(t.subject, 0) for t in triples))])
        return [Evidence(said, VERDICT, triples, tuple(held), 1.0, "other")] if triples else []

    def _pieces(self, about: Entity, rows: Sequence[Triple]) -> Iterator[Evidence]:
        """A dozen to a piece, the last with how many more there are."""
        most = _LISTED * _PIECES
        for begin in range(0, min(len(rows), most), _LISTED):
            shown = tuple(rows[begin : begin + _LISTED])
            more = len(rows) - most if begin + _LISTED >= most else 0
            text = f"{about.name} {told(about, shown)}" + (f", … (+{more})" if more > 0 else "")
            yield Evidence(text, "neighbours", shown, (about,), 1.0)


_DISEASES = lazily(r"\b(?:diseases?|disorders?|conditions?|syndromes?|illness(?:es)?)\b", re.IGNORECASE)
_ON_THE_LIST = lazily(r"\b(?:WHO|essential)\b.*\b(?:list|medicines?|eml)\b|\bEML\b", re.IGNORECASE)
_ANTIDOTE = lazily(r"\bantidotes?\b", re.IGNORECASE)
