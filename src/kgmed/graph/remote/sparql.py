"""DBpedia and Wikidata over SPARQL: fixed queries with bound values, none written by a model.

A value is bound as an IRI, a literal or a number, checked or escaped for what it is, all in one pass, so that nothing
in a name can become part of a query. What is asked is in `dialects`; another endpoint with the same vocabulary needs
only its URL.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import Match
from kgmed.graph.formats.base import infer
from kgmed.language.text import fold, normalise, one_line
from kgmed.records import Entity, Relation, Role, Triple
from kgmed.servers import Limits, Server, host_of

# --- The fixed queries that DBpedia and Wikidata are asked with; %marks% are bound by `sparql.bind`.


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one knowledge base is asked. Every query names ?item or ?head, ?relation and ?tail, and their labels."""

    name: str
    endpoint: str
    namespace: str  # of its entities
    lookup: str
    entity: str
    neighbours: str
    attributes: str
    kinds: Mapping[str, str] = field(default_factory=dict)  # class -> kind
    relations: Mapping[str, Relation] = field(default_factory=dict)  # by label; the others are inferred


_PREFIXES = """
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
"""
_DBO = _PREFIXES + "PREFIX dbo: <http://dbpedia.org/ontology/>\n"
DBPEDIA = Dialect(
    name="dbpedia",
    endpoint="https://dbpedia.org/sparql",
    namespace="http://dbpedia.org/resource/",
    lookup=_DBO
    + """SELECT DISTINCT ?item ?label ?name WHERE {
  VALUES ?name { %name% %capital% }
  { ?item rdfs:label ?name . FILTER NOT EXISTS { ?item dbo:wikiPageRedirects ?to } }
  UNION { ?from rdfs:label ?name ; dbo:wikiPageRedirects ?item }
  ?item rdfs:label ?label . FILTER(LANG(?label) = %language%)
  FILTER(STRSTARTS(STR(?item), %namespace%) && !STRSTARTS(STR(?item), %category%))
} ORDER BY ?item LIMIT %limit%""",
    entity=_DBO
    + """SELECT ?label ?description ?type WHERE {
  %item% rdfs:label ?label . FILTER(LANG(?label) = %language%)
  OPTIONAL { %item% rdfs:comment ?description . FILTER(LANG(?description) = %language%) }
  OPTIONAL { %item% a ?type . FILTER(STRSTARTS(STR(?type), "http://dbpedia.org/ontology/")) }
} LIMIT %limit%""",
    neighbours=_DBO
    + """SELECT DISTINCT ?head ?headLabel ?relation ?relationLabel ?tail ?tailLabel WHERE {
  { BIND(%item% AS ?head) ?head ?relation ?tail } UNION { BIND(%item% AS ?tail) ?head ?relation ?tail }
  FILTER(STRSTARTS(STR(?relation), "http://dbpedia.org/ontology/") && !CONTAINS(STR(?relation), "/wikiPage"))
  ?head rdfs:label ?headLabel . FILTER(LANG(?headLabel) = %language%)
  ?tail rdfs:label ?tailLabel . FILTER(LANG(?tailLabel) = %language%)
  ?relation rdfs:label ?relationLabel . FILTER(LANG(?relationLabel) = "en")
} ORDER BY ?relation ?head ?tail LIMIT %limit%""",
    attributes=_DBO
    + """SELECT DISTINCT ?relation ?relationLabel ?value WHERE {
  %item% ?relation ?value . FILTER(ISLITERAL(?value) && LANG(?value) IN ("", %language%))
  FILTER(STRSTARTS(STR(?relation), "http://dbpedia.org/ontology/") && !CONTAINS(STR(?relation), "/wikiPage"))
  ?relation rdfs:label ?relationLabel . FILTER(LANG(?relationLabel) = "en")
} ORDER BY ?relation ?value LIMIT %limit%""",
    kinds={
        "http://dbpedia.org/ontology/Disease": "disease",
        "http://dbpedia.org/ontology/Drug": "drug",
        "http://dbpedia.org/ontology/AnatomicalStructure": "body part",
        "http://dbpedia.org/ontology/Gene": "gene",
        "http://dbpedia.org/ontology/Protein": "protein",
        "http://dbpedia.org/ontology/Person": "person",
        "http://dbpedia.org/ontology/Place": "place",
    },
)
_WIKIDATA_RELATIONS = (
    Relation("drug or therapy used for treatment", Role.TREATS, reverse=True),
    Relation("medical condition treated", Role.TREATS),
    Relation("symptoms and signs", Role.FINDING),
    Relation("has cause", Role.CAUSE),
    Relation("has effect", Role.CAUSE, reverse=True),
    Relation("subclass of", Role.IS_A),
    Relation("instance of", Role.IS_A),
    Relation("significant drug interaction", Role.INTERACTS),
    Relation("genetic association", Role.GENE),
    Relation("different from"),
)
WIKIDATA = Dialect(
    name="wikidata",
    endpoint="https://query.wikidata.org/sparql",
    namespace="http://www.wikidata.org/entity/",
    lookup=_PREFIXES
    + """SELECT DISTINCT ?item ?label ?name WHERE {
  VALUES ?name { %name% %small% %capital% }
  { ?item rdfs:label ?name } UNION { ?item skos:altLabel ?name }
  ?item rdfs:label ?label . FILTER(LANG(?label) = %language%)
  FILTER(STRSTARTS(STR(?item), CONCAT(%namespace%, "Q")))
} ORDER BY ?item LIMIT %limit%""",
    entity=_PREFIXES
    + """PREFIX schema: <http://schema.org/>
SELECT ?label ?description ?type WHERE {
  %item% rdfs:label ?label . FILTER(LANG(?label) = %language%)
  OPTIONAL { %item% schema:description ?description . FILTER(LANG(?description) = %language%) }
  OPTIONAL { %item% <http://www.wikidata.org/prop/direct/P31> ?type }
} LIMIT %limit%""",
    neighbours=_PREFIXES
    + """PREFIX wikibase: <http://wikiba.se/ontology#>
SELECT DISTINCT ?head ?headLabel ?relation ?relationLabel ?tail ?tailLabel WHERE {
  { BIND(%item% AS ?head) ?head ?relation ?tail } UNION { BIND(%item% AS ?tail) ?head ?relation ?tail }
  ?property wikibase:directClaim ?relation ; rdfs:label ?relationLabel . FILTER(LANG(?relationLabel) = %language%)
  ?head rdfs:label ?headLabel . FILTER(LANG(?headLabel) = %language%)
  ?tail rdfs:label ?tailLabel . FILTER(LANG(?tailLabel) = %language%)
} ORDER BY ?relation ?head ?tail LIMIT %limit%""",
    attributes=_PREFIXES
    + """PREFIX wikibase: <http://wikiba.se/ontology#>
SELECT DISTINCT ?relation ?relationLabel ?value WHERE {
  %item% ?relation ?value . FILTER(ISLITERAL(?value) && LANG(?value) IN ("", %language%))
  ?property wikibase:directClaim ?relation ; wikibase:propertyType ?kind ; rdfs:label ?relationLabel .
  FILTER(?kind != wikibase:ExternalId && LANG(?relationLabel) = %language%)
} ORDER BY ?relation ?value LIMIT %limit%""",
    kinds={
        "http://www.wikidata.org/entity/Q12136": "disease",
        "http://www.wikidata.org/entity/Q112193867": "disease",
        "http://www.wikidata.org/entity/Q169872": "symptom",
        "http://www.wikidata.org/entity/Q12140": "drug",
        "http://www.wikidata.org/entity/Q7187": "gene",
        "http://www.wikidata.org/entity/Q8054": "protein",
        "http://www.wikidata.org/entity/Q5": "person",
    },
    relations={relation.name: relation for relation in _WIKIDATA_RELATIONS},
)


# --- DBpedia and Wikidata over SPARQL: fixed queries with bound values, none written by a model.
# A value is bound as an IRI, a literal or a number, checked or escaped for what it is, all in one pass, so that nothing
# in a name can become part of a query. What is asked is in `dialects`; another endpoint with the same vocabulary needs
# only its URL.


RESULTS = "application/sparql-results+json"
_MOST = 1000  # rows of one answer
_FOUND = 10  # entities of one name
_MARK = re.compile(r"%(\w+)%")
_NO_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`\x7f]")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\0": ""}
_SCORES = {"exact": 1.0, "normalised": 0.99, "alias": 0.98, "folded": 0.93}


@dataclass(frozen=True, slots=True)
class Iri:
    """A value that is bound as an IRI; raises `BadInput` for what cannot be one."""

    text: str

    def __post_init__(self) -> None:
        """Refuse whatever could end the IRI."""
        if _NO_IRI.search(self.text) or ":" not in self.text:
            raise BadInput(f"{self.text[:60]!r} is no IRI")

    def __str__(self) -> str:
        """As SPARQL writes it."""
        return f"<{self.text}>"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is bound as a text, in a language if one is named.

    >>> str(Literal('say "ah"\\n', "en"))
    '"say \\\\"ah\\\\"\\\\n"@en'
    """

    text: str
    language: str = ""

    def __str__(self) -> str:
        """As SPARQL writes it."""
        escaped = "".join(_ESCAPES.get(c, c) for c in self.text)
        return f'"{escaped}"' + (f"@{self.language}" if self.language else "")


def bind(query: str, **values: Iri | Literal | int) -> str:
    """The query with each %mark% replaced once by its value; a mark inside a value stays text.

    >>> bind("SELECT * { ?s ?p %x% } LIMIT %n%", x=Literal('%n% " } #'), n=3)
    'SELECT * { ?s ?p "%n% \\\\" } #" } LIMIT 3'
    """
    return _MARK.sub(lambda mark: str(values[mark.group(1)]), query)


class Sparql:
    """A knowledge base behind a SPARQL endpoint."""

    def __init__(
        self, dialect: Dialect, endpoint: str = "", *, language: str = "en", limits: Limits | None = None
    ) -> None:
        """Name the dialect, its endpoint if it is not the public one, and the language (ISO 639-1) of names."""
        from kgmed.http import JsonClient  # heavy

        if not _LANGUAGE.fullmatch(language):
            raise BadInput(f"{language!r} is no language; write en, zh, ...")
        self.dialect, self._language = dialect, language
        url = endpoint or dialect.endpoint
        self.server = Server(host_of(url, like=DBPEDIA.endpoint, bare=True))
        self._client = JsonClient(url, self.server, limits=limits or Limits(timeout=30.0, rate=5.0), missing=True)

    def __repr__(self) -> str:
        """The dialect and the host."""
        return f"Sparql({self.name} at {self.server.host})"

    @property
    def name(self) -> str:
        """The name a person types."""
        return self.dialect.name

    @property
    def label(self) -> str:
        """Name, host and language."""
        return f"{self.name} at {self.server.host} {self._language}"

    @property
    def language(self) -> str:
        """ISO 639-1 of its names."""
        return self._language

    def select(self, query: str, **values: Iri | Literal | int) -> list[dict[str, str]]:
        """The rows of a SELECT with its values bound: variable -> value, without those unbound.

        Raises `Unavailable`.
        """
        answer = self._client.post_form({"query": bind(query, **values)}, accept=RESULTS)
        if answer is None:
            raise self.server.unusable("the error 404")
        results = answer.get("results")
        bindings = results.get("bindings") if isinstance(results, dict) else None
        if not isinstance(bindings, list):
            raise self.server.unusable("no SPARQL results")
        return [self._row(binding) for binding in bindings]

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name or alias, best first."""
        text = one_line(name)
        if not text:
            return []
        forms = {"name": text, "small": text.casefold(), "capital": text[:1].upper() + text[1:]}
        rows = self._ask(
            self.dialect.lookup,
            _FOUND,
            namespace=Literal(self.dialect.namespace),
            category=Literal(f"{self.dialect.namespace}Category:"),
            **{form: Literal(value, self._language) for form, value in forms.items()},
        )
        best: dict[str, Match] = {}
        for match in (_match(self._entity(r, "item", "label"), r.get("name", ""), text) for r in rows):
            kept = best.get(match.entity.id)
            if match.entity.id and (kept is None or match.score > kept.score):
                best[match.entity.id] = match
        return sorted(best.values(), key=lambda m: (-m.score, len(m.entity.id), m.entity.id))

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`, `Unavailable`."""
        rows = self._ask(self.dialect.entity, _MOST, item=self._iri(entity_id))
        if not rows:
            raise UnknownName(f"entity of {self.name}", entity_id, (), "search by name")
        types = {row.get("type", "") for row in rows}
        kind = next((kind for type_, kind in self.dialect.kinds.items() if type_ in types), "")
        name, description = (one_line(rows[0].get(v, "")) for v in ("label", "description"))
        return Entity(entity_id, name or entity_id, kind, description)

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, by relation; `roles` are told by the relations' names.

        Raises `UnknownName`, `Unavailable`.
        """
        rows = self._ask(self.dialect.neighbours, _MOST if roles else min(limit, _MOST), item=self._iri(entity_id))
        found = []
        for row in rows:
            head, tail = self._entity(row, "head", "headLabel"), self._entity(row, "tail", "tailLabel")
            relation = self._relation(row)
            if head.id and tail.id and head.id != tail.id and (not roles or relation.role in roles):
                found.append(Triple(head, relation, tail, source=self.label))
        return found[:limit]

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts and numbers about an entity; the tail of each is a literal."""
        rows = self._ask(self.dialect.attributes, _MOST, item=self._iri(entity_id))
        if not rows:
            return []
        head = self.entity(entity_id)
        texts = ((self._relation(row), one_line(row.get("value", ""))) for row in rows)
        return [Triple(head, relation, Entity("", text), source=self.label) for relation, text in texts if text]

    def _ask(self, query: str, limit: int, **values: Iri | Literal) -> list[dict[str, str]]:
        return self.select(query, limit=max(0, limit), language=Literal(self._language), **values)

    def _row(self, binding: object) -> dict[str, str]:
        """One row; raises `Unavailable` for what is none."""
        cells = binding if isinstance(binding, dict) else {"": None}
        row = {variable: cell.get("value") for variable, cell in cells.items() if isinstance(cell, dict)}
        texts = {variable: value for variable, value in row.items() if isinstance(value, str)}
        if len(texts) != len(cells):
            raise self.server.unusable("a row that is no SPARQL result")
        return texts

    def _iri(self, entity_id: str) -> Iri:
        """The IRI of an id; raises `UnknownName`."""
        local = entity_id.removeprefix(f"{self.name}:")
        if local == entity_id or not local or _NO_IRI.search(local):
            raise UnknownName(f"entity of {self.name}", entity_id, (), f"ids begin with {self.name}:")
        return Iri(self.dialect.namespace + local)

    def _entity(self, row: Mapping[str, str], item: str, label: str) -> Entity:
        """The entity in a row; without id where it is none of this knowledge base."""
        iri = row.get(item, "")
        local = iri.removeprefix(self.dialect.namespace)
        inside = local != iri and local and not _NO_IRI.search(local)
        return Entity(f"{self.name}:{local}" if inside else "", one_line(row.get(label, "")) or local)

    def _relation(self, row: Mapping[str, str]) -> Relation:
        """The relation in a row, by its label."""
        name = one_line(row.get("relationLabel", "")) or re.split(r"[/#]", row.get("relation", ""))[-1]
        return self.dialect.relations.get(name) or infer(name)


def dbpedia(endpoint: str = "", **options: Any) -> Sparql:
    """DBpedia, at its public endpoint unless another is named; options as for `Sparql`."""
    return Sparql(DBPEDIA, endpoint, **options)


def wikidata(endpoint: str = "", **options: Any) -> Sparql:
    """Wikidata, at its public endpoint unless another is named; options as for `Sparql`."""
    return Sparql(WIKIDATA, endpoint, **options)


def _match(entity: Entity, found: str, asked: str) -> Match:
    """How an entity that was found by one of its names goes by the name that was asked for."""
    if normalise(entity.name) == normalise(asked):
        how = "exact" if entity.name == asked else "normalised"
    else:
        how = "alias" if normalise(found) == normalise(asked) or fold(found) != fold(asked) else "folded"
    return Match(entity, entity.name if how in ("exact", "normalised") else found or asked, how, _SCORES[how])
