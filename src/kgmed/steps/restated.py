"""Questions whose words no pattern knows, asked again in plain words where a classifier is sure what they ask for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kgmed.graph.base import LocalGraph
from kgmed.language import restate
from kgmed.language.question import defines, tells_only, texts_asked
from kgmed.language.text import has_cjk
from kgmed.models.base import Encoder
from kgmed.records import Evidence, Link, Query
from kgmed.steps.classes import asks_for_class
from kgmed.steps.family import MEDICINES
from kgmed.steps.naming import with_its_findings
from kgmed.steps.pairs import is_verdict
from kgmed.steps.story import asks, asks_of
from kgmed.steps.supposed import supposed
from kgmed.steps.things import blames, things_of

_LONGEST = (200, 70)  # characters of a question, English and Chinese; longer ones tell a story
_OWN = (12, 5)  # characters of a question beside the names in it
_MOST = 3  # things that a question names
_OF_A_MEDICINE = frozenset(
    {"side effect", "contraindication", "interaction", "dose", "use", "price", "storage", "change of dose"}
    | {"dose by weight", "pharmacokinetics"}
)
_MEDICINE_FIRST = frozenset({"safety", "treats it"})
_PEOPLE = "population"


def _lacks(found: Sequence[Evidence]) -> bool:
    """Whether all that is found is that the graph lacks what is asked."""
    return bool(found) and all(is_verdict(e, "lacking") for e in found)


@dataclass(frozen=True)
class Restated:
    """A retriever that is asked in plain words where no pattern knows those of the question."""

    graph: LocalGraph
    retrieve: Callable[[Query, Sequence[Link]], list[Evidence]]
    encoder: Encoder
    unknown: Callable[[Query, Sequence[Link]], list[str]]  # the names that a question asks about and no graph has

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """What is found for the plain question, else for the question as it stands; that it lacks is said last."""
        text = query.text
        known = asks_of(text) or defines(text) or blames(text) or supposed(self.graph, text, links)
        plain = None if known else self._plain(query, links, restate.CERTAIN)
        found = (self.retrieve(*plain) if plain else []) or self.retrieve(query, links)
        if texts_asked(text) or not _lacks(found) or asks_for_class(text):
            return found
        plain = self._plain(query, links, restate.LIKELY)
        about = {entity.id for e in found for entity in e.about}
        if plain is None or len(plain[1]) > 1 or plain[1][0].entity.id not in about:
            return found
        other = self.retrieve(*plain)
        return found if _lacks(other) else other or found

    def _plain(self, query: Query, links: Sequence[Link], least: float) -> tuple[Query, list[Link]] | None:
        """The question in plain words with the links of its names; None where it stands as it is."""
        text, things = query.text, [x for x in things_of(links) if x.mention.start >= 0 and x.entity.kind != _PEOPLE]
        if query.question.options or not 0 < len(things) <= _MOST or len(text) > _LONGEST[has_cjk(text)]:
            return None
        if len(things) > 1 and not (asks(text) and self._says_more(text, things)):
            return None  # findings that are told, or bare names
        if tells_only(text):
            return None
        if not restate.fits(self.encoder.name):
            return None
        names, chinese = [(x.mention.start, x.mention.end, self._kind(x)) for x in things], has_cjk(text)
        said = restate.standing_in(text, names, chinese=chinese)
        guess = restate.guess(self.encoder([said])[0], chinese=chinese)
        form = restate.ASKED.get(guess.type)
        if form is None or guess.share < least or self.unknown(query, links):
            return None
        chosen = self._chosen(things, guess.type, two="{1}" in form[0])
        return in_plain_words(form[has_cjk(text)], chosen, query) if chosen else None

    def _says_more(self, text: str, things: Sequence[Link]) -> bool:
        """Whether a question has words of its own beside the names."""
        named = sum(x.mention.end - x.mention.start for x in things)
        return len(text) - named > _OWN[has_cjk(text)]

    def _kind(self, link: Link) -> str:
        """By which names one is stood in for."""
        kind = link.entity.kind
        return "M" if kind in MEDICINES else "G" if kind == "gene" else "X"

    def _chosen(self, things: Sequence[Link], asked: str, *, two: bool) -> list[Link]:
        """The one or two things that are asked about; [] where there are too few."""
        medicines = [x for x in things if x.entity.kind in MEDICINES]
        if two:
            rest = [x for x in things if x not in medicines]
            order = [*medicines, *rest] if asked in _MEDICINE_FIRST else list(things)
            return order[:2] if len(order) > 1 else []
        fitting = medicines if asked in _OF_A_MEDICINE else [x for x in things if x not in medicines] or medicines
        return list(with_its_findings(self.graph, fitting))[:1]


def in_plain_words(form: str, chosen: Sequence[Link], query: Query) -> tuple[Query, list[Link]]:
    """The question put as a form with the names of what is chosen, and the links at their new places."""
    text = form.format(*(x.mention.surface for x in chosen))
    placed, at = [], 0
    for x in chosen:
        at = text.find(x.mention.surface, at)
        placed.append(replace(x, mention=replace(x.mention, start=at, end=at + len(x.mention.surface))))
        at += len(x.mention.surface)
    return Query(replace(query.question, text=text)), placed
