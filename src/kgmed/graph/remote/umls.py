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

from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.graph.base import Match
from kgmed.graph.formats.base import infer
from kgmed.graph.formats.umls import LANGUAGES, PREFIX, RELATIONS, UNRELATED, definition_rank, kind_of, language_of
from kgmed.language.text import normalise, one_line
from kgmed.records import Entity, Relation, Role, Support, Triple
from kgmed.servers import Key, Limits, Server, host_of

OFFICIAL = "https://uts-ws.nlm.nih.gov/rest"
VARIABLE = "UMLS_API_KEY"
PAGE = 100  # records asked for at a time
PAGES = 200  # of one answer; no concept has more
_FOUND = 10  # concepts of one name
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
        limits: Limits | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Name the release, the language (LAT) of names and the vocabularies (SAB) that count, all if none is named.

        Raises `Unavailable` without a key, and `BadInput`.
        """
        from kgmed.http import JsonClient  # heavy

        if language not in LANGUAGES:
            raise BadInput(f"UMLS has no language {language!r}; it has {', '.join(LANGUAGES)}")
        if not _RELEASE.fullmatch(release):
            raise BadInput(f"{release!r} is no release of UMLS; write current, or one such as 2025AB")
        self.release, self._lat, self.sources = release, language, tuple(sources)
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
        """Release, host, language and vocabularies."""
        return " ".join([f"{PREFIX} {self.release} at {self.server.host}", self._lat, *self.sources])

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
        """The concepts of that name: by one of their names as written, else by UMLS's own normal form of it."""
        for how, score in (("exact", 1.0), ("normalizedString", 0.93)):
            if found := self.search(name, how=how):
                matches = [_match(entity, name, score, exact=how == "exact") for entity in found]
                return sorted(matches, key=lambda m: -m.score)
        return []

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
            asked = dict(parameters) | {"pageNumber": str(page), "pageSize": str(PAGE)}
            answer = self._client.get(path, asked)
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


def _match(entity: Entity, name: str, score: float, *, exact: bool) -> Match:
    """How a concept that UTS found goes by that name: by its preferred one, or by another."""
    same = entity.name == name
    if exact and not same:
        near = normalise(entity.name) == normalise(name)
        return Match(entity, entity.name if near else name, "normalised" if near else "alias", 0.99 if near else 0.98)
    return Match(entity, entity.name, "exact" if exact else "folded", score)


def _identity(uri: str) -> str:
    """The id of what a `relatedId` points to; "" where it cannot be told.

    >>> _identity("https://uts-ws.nlm.nih.gov/rest/content/2022AA/source/MDR/20000178")
    'MDR:20000178'
    >>> _identity("https://uts-ws.nlm.nih.gov/rest/content/2022AA/CUI/C0018681"), _identity("NONE")
    ('umls:C0018681', '')
    """
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
