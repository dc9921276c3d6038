"""The UMLS Metathesaurus through its REST service (UTS): names, definitions, relations of concepts, page by page.

The key comes from the environment variable UMLS_API_KEY; it is in no message, no `repr` and no cache. UTS allows 20
requests a second and an address. A relation reads from what was asked about to the related one, by RELA or, without
one, REL. The related one is a concept (`umls:C0018681`) or, where UTS tells only a source's own code or an atom, that:
`SNOMEDCT_US:10937721000119106`, `umls:A8345234`. All of them can be asked about in turn.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote

from rapidfuzz import fuzz

from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.graph.base import Match
from kgmed.graph.formats.base import infer
from kgmed.graph.formats.umls import LANGUAGES, PREFIX, RELATIONS, UNRELATED, definition_rank, kind_of, language_of
from kgmed.graph.names import contradicts
from kgmed.language.text import normalise, one_line
from kgmed.records import Entity, Relation, Role, Support, Triple
from kgmed.servers import Key, Limits, Server, host_of

OFFICIAL = "https://uts-ws.nlm.nih.gov/rest"
VARIABLE = "UMLS_API_KEY"
PAGE = 100  # records asked for at a time
PAGES = 200  # of one answer; no concept has more
_FOUND = 10  # concepts of one name
AT_LEAST = 0.85  # likeness of a name that words or approximate search finds; ours: below it a word more may stand there
_NEAR = 0.92  # the score of such a name where all is alike: below that of a normal form
_NAMES = 4096  # of entities, kept in memory so that no request is made for them
_TARGET = re.compile(r"/(?:(?:CUI|AUI)/([CA]\d+)|source/([^/?]+)/([^/?]+))/?$")
_LOCAL = re.compile(r"[CA]\d{1,10}")
_RELEASE = re.compile(r"current|\d{4}A[AB]")


class Umls:
    """The Metathesaurus behind a server."""

    def __init__(
        self,
        base_url: str = OFFICIAL,
        *,
        release: str = "current",
        language: str = "ENG",
        sources: Collection[str] = (),
        at_least: float = AT_LEAST,
        limits: Limits | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Name the release, the language (LAT) of names and the vocabularies (SAB) that count, all if none is named.

        `at_least` is how like a name must be that is found by words or approximately, 0 to 1; 0 = what UTS puts first
        counts, as in KG-Rank's code. Raises `Unavailable` without a key, and `BadInput`.
        """
        from kgmed.http import JsonClient  # heavy

        if language not in LANGUAGES:
            raise BadInput(f"UMLS has no language {language!r}; it has {', '.join(LANGUAGES)}")
        if not _RELEASE.fullmatch(release):
            raise BadInput(f"{release!r} is no release of UMLS; write current, or one such as 2025AB")
        self.release, self._lat, self.sources, self.at_least = release, language, tuple(sources), at_least
        key = Key.find(environment, VARIABLE, parameter="apiKey")
        if key is None:
            raise Unavailable(f"no key: set the environment variable {VARIABLE}")
        self.server = Server(host_of(base_url, like=OFFICIAL, bare=True), key)
        self._client = JsonClient(base_url, self.server, limits=limits, missing=True)
        self._narrow = {"sabs": ",".join(self.sources)} if self.sources else {}
        self._names: dict[str, str] = {}

    def __repr__(self) -> str:
        """The release and the host, never the key."""
        return f"Umls({self.release} at {self.server.host})"

    @property
    def name(self) -> str:
        """The name a person types."""
        return PREFIX

    @property
    def label(self) -> str:
        """Release, host, language, vocabularies, and how like a name must be where that is not the usual."""
        near = [f"likeness {self.at_least}"] if self.at_least != AT_LEAST else []
        return " ".join([f"{PREFIX} {self.release} at {self.server.host}", self._lat, *self.sources, *near])

    @property
    def language(self) -> str:
        """ISO 639-1 of its names."""
        return LANGUAGES[self._lat]

    def search(self, text: str, *, how: str = "words", limit: int = _FOUND) -> list[Entity]:
        """The concepts that UTS finds for a text, best first; `how` is its search type (words, exact, ...)."""
        asked = {"string": one_line(text), "searchType": how, "pageNumber": "1", "pageSize": str(limit)} | self._narrow
        answer = self._client.get(f"/search/{self.release}", asked) if asked["string"] else None
        results = self._dig(answer, "result", "results")
        found = [Entity(f"{PREFIX}:{r['ui']}", _text(r, "name")) for r in results if _LOCAL.fullmatch(_text(r, "ui"))]
        for entity in found:
            self._remember(entity)
        return found[:limit]

    def lookup(self, name: str, /) -> list[Match]:
        """The concepts of that name: as written, by its normal form, by its words, or by nearly its letters.

        The last two count where the concept's own name is like it by `at_least`, and does not contradict it.
        """
        for how, score in (("exact", 1.0), ("normalizedString", 0.93)):
            if found := self.search(name, how=how):
                matches = [_match(entity, name, score, exact=how == "exact") for entity in found]
                return sorted(matches, key=lambda m: -m.score)
        for how, called in (("words", "wording"), ("approximate", "fuzzy")):
            if near := self._near(name, self.search(name, how=how), called):
                return near
        return []

    def _near(self, name: str, found: Sequence[Entity], how: str) -> list[Match]:
        """Those whose name is near enough, the nearest first; with `at_least` 0 the first that was found."""
        if self.at_least <= 0:
            return [Match(entity, entity.name, how, 0.0) for entity in found[:1]]
        rows = [(likeness(name, e.name), e) for e in found if not contradicts(name, e.name)]
        near = sorted((row for row in rows if row[0] >= self.at_least), key=lambda row: -row[0])
        return [Match(entity, entity.name, how, round(_NEAR * like, 4)) for like, entity in near]

    def entity(self, entity_id: str, /) -> Entity:
        """The concept, code or atom of that id with its definition; raises `UnknownName`, `Unavailable`."""
        answer = self._client.get(self._path(entity_id), {})
        result = answer.get("result") if answer else None
        if not isinstance(result, dict):
            raise UnknownName("entity of UMLS", entity_id, (), "search by name")
        types = [t for t in _listed(result.get("semanticTypes")) if isinstance(t, dict)]
        kind = kind_of(_text(t, "uri").rpartition("/")[2] for t in types) if types else ""
        definitions = [] if result.get("definitions") == "NONE" else self._definitions(entity_id)
        description = definitions[0][1] if definitions else ""
        entity = Entity(entity_id, _text(result, "name") or entity_id, kind, description)
        self._remember(entity)
        return entity

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, as UTS orders them, each once; raises `Unavailable`."""
        head = Entity(entity_id, self._name(entity_id))
        found: dict[tuple[str, str], Triple] = {}
        for record in self._pages(f"{self._path(entity_id)}/relations", self._narrow):
            triple = self._triple(head, record)
            if triple is None or (roles and triple.relation.role not in roles):
                continue
            found.setdefault((triple.relation.name, triple.tail.id), triple)
            if len(found) >= limit:
                break
        return list(islice(found.values(), limit))

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The definitions of an entity, that of the preferred source first; the tail of each is a literal."""
        head = Entity(entity_id, self._name(entity_id))
        return [
            Triple(head, Relation("definition"), Entity("", text), source=self.label, support=(_said_by(source),))
            for source, text in self._definitions(entity_id)
        ]

    def _triple(self, head: Entity, record: dict[str, Any]) -> Triple | None:
        """The triple in a record; None for one that is suppressed, foreign or says nothing."""
        source, name = _text(record, "rootSource"), _text(record, "relatedIdName")
        label = _text(record, "additionalRelationLabel") or _text(record, "relationLabel")
        tail = _identity(_text(record, "relatedId"))
        if not (tail and name and label) or label in UNRELATED or tail == head.id:
            return None
        if any(str(record.get(f)).casefold() == "true" for f in ("suppressible", "obsolete")):
            return None
        if language_of(source) != self._lat and self._lat == "ENG":
            return None
        relation = RELATIONS.get(label) or infer(label)
        self._remember(Entity(tail, name))
        return Triple(head, relation, Entity(tail, name), source=self.label, support=(_said_by(source),))

    def _definitions(self, entity_id: str) -> list[tuple[str, str]]:
        """Source and text of each definition in the graph's language, the preferred source first."""
        if not entity_id.startswith(f"{PREFIX}:C"):
            return []
        records = self._pages(f"{self._path(entity_id)}/definitions", self._narrow)
        rows = [(_text(r, "rootSource"), one_line(_text(r, "value"))) for r in records]
        wanted = [row for row in rows if row[1] and language_of(row[0]) == self._lat]
        return sorted(wanted, key=lambda row: definition_rank(row[0]))

    def _pages(self, path: str, parameters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The records of all pages, each fetched when its turn comes; raises `Unavailable` for one that is gone."""
        page, count = 1, 1
        while page <= count:
            answer = self._client.get(path, dict(parameters) | {"pageNumber": str(page), "pageSize": str(PAGE)})
            if answer is None and page > 1:
                raise self.server.unusable(f"{page - 1} of {count} pages and then no more")
            yield from self._dig(answer, "result")
            count = self._count(answer)
            page += 1

    def _count(self, answer: Any) -> int:
        """How many pages there are."""
        count = answer.get("pageCount") if answer else 0
        count = 1 if count is None else count
        if not isinstance(count, int) or not 0 <= count <= PAGES:
            raise self.server.unusable(f"the page count {str(count)[:20]!r}")
        return count

    def _dig(self, answer: Any, *fields: str) -> list[dict[str, Any]]:
        """The list under those fields; empty where the service says that there is nothing."""
        for f in fields:
            answer = answer.get(f) if isinstance(answer, dict) else answer
        if answer is None or answer == "NONE":
            return []
        if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
            raise self.server.unusable("an answer of another shape than UTS has")
        return answer

    def _path(self, entity_id: str) -> str:
        """Where the service tells of an entity; raises `UnknownName` for what is no id."""
        prefix, colon, local = entity_id.partition(":")
        if not colon or not local or not prefix or (prefix == PREFIX and not _LOCAL.fullmatch(local)):
            raise UnknownName("entity of UMLS", entity_id, (), "ids look like umls:C0004096 or SNOMEDCT_US:195967001")
        if prefix != PREFIX:
            return f"/content/{self.release}/source/{quote(prefix, safe='')}/{quote(local, safe='')}"
        return f"/content/{self.release}/{'CUI' if local[0] == 'C' else 'AUI'}/{local}"

    def _name(self, entity_id: str) -> str:
        """The name of an entity, asked for only where it has not been met."""
        return self._names.get(entity_id) or self.entity(entity_id).name

    def _remember(self, entity: Entity) -> None:
        if len(self._names) >= _NAMES:
            self._names.clear()
        self._names[entity.id] = entity.name


def likeness(a: str, b: str) -> float:
    """How like two names are in their letters, whatever the order of words: 0 to 1.

    >>> likeness("arthritis, gouty", "Gouty arthritis"), round(likeness("gout", "gouty arthritis"), 2)
    (1.0, 0.42)
    """
    return float(fuzz.token_sort_ratio(normalise(a), normalise(b)) / 100)


def _match(entity: Entity, name: str, score: float, *, exact: bool) -> Match:
    """How a concept that UTS found goes by that name: by its preferred one, or by another."""
    same = entity.name == name
    if exact and not same:
        near = normalise(entity.name) == normalise(name)
        return Match(entity, entity.name if near else name, "normalised" if near else "alias", 0.99 if near else 0.98)
    return Match(entity, entity.name, "exact" if exact else "folded", score)


def _identity(uri: str) -> str:
    """The id of what a `relatedId` points to; "" where it cannot be told."""
    found = _TARGET.search(uri)
    if not found:
        return ""
    local, source, code = found.groups()
    return f"{PREFIX}:{local}" if local else f"{unquote(source)}:{unquote(code)}"


def _said_by(source: str) -> Support:
    return Support("", (("source", source),))


def _text(record: Mapping[str, Any], field: str) -> str:
    """A text field on one line; "" where there is none."""
    value = record.get(field)
    return one_line(value) if isinstance(value, str) else ""


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
