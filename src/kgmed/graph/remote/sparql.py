"""DBpedia and Wikidata over SPARQL: fixed queries with bound values, none written by a model.

A value is bound as an IRI, a literal or a number, checked or escaped for what it is, all in one pass, so that nothing
in a name can become part of a query. What is asked is in `dialects`; another endpoint with the same vocabulary needs
only its URL.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kgmed.disk import read_toml
from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.graph.base import EdgeRow, Match, NodeRow, Row, Source, TextRow
from kgmed.graph.formats.base import declared, infer
from kgmed.graph.formats.rdf import curie
from kgmed.graph.remote.database import GRAPH_NAME
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


_DIALECTS = Path(__file__).with_name("dialects.toml")


def _dialect(name: str) -> Dialect:
    """What `dialects.toml` says of one."""
    said = read_toml(_DIALECTS)[name]
    return Dialect(name, **{**said, "relations": declared(said.get("relations", {}))["relations"]})


DBPEDIA, WIKIDATA = _dialect("dbpedia"), _dialect("wikidata")


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


# --- A graph of kgmed in a SPARQL server: the tables of `database.COLUMNS`, a resource a row, in a named graph.

_VOCABULARY = "urn:kgmed:"
_VALUES = 500  # values of one query; Virtuoso makes SQL of them, whose length is limited
_ROWS = 100  # rows of one update; Virtuoso makes of it at most 10,000 lines of SQL
_SUSPECT = (10_000, 100_000, 1_000_000)  # rows at which servers cut an answer without a word
# rows of a table that are written once more by a load that goes on: an update may have been cut short
_AGAIN = 2 * _ROWS
_PAGE = 1_000_000_000  # no limit
SECONDS = 60.0  # until a query is given up
_NO_KEY = '"\\u0007"'  # no form of a name; Virtuoso plans a query of two for .1 s and of one for 2 s
_SORTED = 10_000  # rows of a limit that Virtuoso sorts


class SparqlDatabase:
    """A graph that `load_sparql` wrote; implements `Database`."""

    most = _VALUES

    def __init__(self, address: str, *, limits: Limits | None = None) -> None:
        """Name the address, URL#NAME; raises `BadInput`."""
        from kgmed.graph.remote.database import LAYOUT
        from kgmed.http import JsonClient  # heavy

        url, _, self.graph = address.partition("#")
        if not GRAPH_NAME.fullmatch(self.graph):
            raise BadInput("a graph of kgmed in a SPARQL server is named by sparql+https://HOST/PATH#NAME")
        self.server = Server(host_of(url, like="sparql+https://HOST/query#NAME", bare=True))
        self.where, limits = (
            f"{self.server.host}#{self.graph}",
            limits or Limits(timeout=SECONDS, rate=1000.0, retries=1, largest=1 << 28),
        )
        self._client = JsonClient(url, self.server, limits=limits)
        update = f"{url[: -len('/query')]}/update" if url.endswith("/query") else url
        self._updates = JsonClient(update, self.server, limits=limits)
        # Virtuoso takes a search for what a small graph says of itself to last for days, unless told where that stands
        about = " ".join(f"<{_VOCABULARY}{self.graph}:graph:{layout}>" for layout in range(1, LAYOUT + 2))
        place = f"<{_VOCABULARY}graph:{self.graph}>"
        self._queries = {
            what: f"PREFIX k: <{_VOCABULARY}>\n{query}".replace("%graph%", place).replace("%self%", about)
            for what, query in read_toml(_DIALECTS)["kgmed"].items()
        }

    def close(self) -> None:
        """Nothing: connections are kept by the client."""

    def rows(self, what: str, /, **values: Any) -> list[Any]:
        """The rows of what is asked; raises `UnknownName` where the graph was never written."""
        if what == "edges":
            return self._edges(values["after"], values["limit"])
        limit = values.get("limit", _PAGE) if what != "around" or len(values["ids"]) == 1 else _PAGE
        relations = values.get("relations")
        bound = {
            "limit": f"LIMIT {limit}" if limit <= _SORTED else "",
            "after": str(values.get("after", 0)),
            "relations": "" if relations is None else f"FILTER(?relation IN ({', '.join(map(str, relations)) or -1}))",
            "id": str(Literal(values.get("id", ""))),
        }
        for name, table in (("ids", ""), ("keys", ""), ("nodes", "entity"), ("heads", "entity"), ("edges", "edge")):
            bound[name] = " ".join(
                str(Literal(v)) if not table else f"<{_VOCABULARY}{self.graph}:{table}:{int(v)}>"
                for v in (values.get(name, ()) if name != "nodes" or what != "across" else ())
            )
        if len(values.get("keys", ())) == 1:
            bound["keys"] += f" {_NO_KEY}"
        found = self._select(_MARK.sub(lambda mark: bound[mark.group(1)], self._queries[what]), limit)
        if what == "about" and not found:
            hint = f"write it with: kgmed graph load {self.graph}"
            raise UnknownName("graph in the SPARQL server", self.graph, (), hint)
        if what in ("around", "facts"):
            return self._with_ends(found, 3 if what == "around" else 1)
        ends = set(values["nodes"]) if what == "across" else set()
        return [row for row in found if row[3] in ends] if what == "across" else found

    def _with_ends(self, found: list[list[Any]], at: int) -> list[Any]:
        """Rows of edges with id, name and kind of both ends, which are nodes in the columns `at` and two further on.

        Asked for on their own, for Virtuoso plans a query of as many patterns for seconds. Raises `Unavailable`.
        """
        nodes = list(dict.fromkeys(row[i] for row in found for i in (at, at + 2)))
        calls = (nodes[i : i + _VALUES] for i in range(0, len(nodes), _VALUES))
        known = {node: entity for some in calls for node, *entity, _ in self.rows("entities", nodes=some)}
        if len(known) < len(nodes):
            raise Unavailable(f"{self.where} has changed while it was asked; ask again")
        return [[*r[:at], *known[r[at]], r[at + 1], *known[r[at + 2]], *r[at + 3 :]] for r in found]

    def _edges(self, after: int, limit: int) -> list[Any]:
        """The edges of the next nodes that have some."""
        step = min(limit, _VALUES)
        for first in range(after + 1, self.rows("about")[0][5], step):
            nodes = " ".join(f"<{_VOCABULARY}{self.graph}:entity:{n}>" for n in range(first, first + step))
            if found := self._select(self._queries["edges"].replace("%nodes%", nodes), _PAGE):
                return sorted(found, key=lambda row: row[0])
        return []

    def _select(self, query: str, limit: int) -> list[list[Any]]:
        """The rows of a query in the order of its variables, numbers as such; raises `Unavailable`."""
        answer = self._client.post_form({"query": query}, accept=RESULTS)
        head, results = (answer.get(k) for k in ("head", "results"))
        names = head.get("vars") if isinstance(head, dict) else None
        bindings = results.get("bindings") if isinstance(results, dict) else None
        if not isinstance(names, list) or not isinstance(bindings, list):
            raise self.server.unusable("no SPARQL results")
        if len(bindings) in _SUSPECT and len(bindings) != limit:
            raise self.server.unusable(f"just {len(bindings):,} rows, its limit; raise it (Virtuoso: ResultSetMaxRows)")
        return [[_value(row.get(name)) if isinstance(row, dict) else None for name in names] for row in bindings]

    def write(self, name: str, *, force: bool = False, progress: Any = lambda rows: None) -> tuple[str, bool]:
        """The label of a graph that stands there now, and whether it was written now.

        It can be asked when all of it is there: the next load goes on where one was killed.
        """
        from kgmed.graph import library
        from kgmed.graph.remote.database import COLUMNS, LAYOUT, filled, said_of, written

        store, place = library.load(name), f"<{_VOCABULARY}graph:{self.graph}>"
        with suppress(UnknownName):
            if self.rows("about")[0][:3:2] == [LAYOUT, store.label] and not force:
                return store.label, False
        marked = f"<{_VOCABULARY}{self.graph}:loading:1> <{_VOCABULARY}loading_what> {Literal(said_of(store))} ."
        done = {}
        if self._counted(marked) and not force:
            fields = ((table, f"?r <{_VOCABULARY}{table}_{columns[0]}> ?x") for table, columns in COLUMNS.items())
            done = {table: max(0, self._counted(pattern) - _AGAIN) for table, pattern in fields}
        else:
            self._updates.tell({"update": f"CLEAR SILENT GRAPH {place}"})
            self._updates.tell({"update": f"INSERT DATA {{ GRAPH {place} {{ {marked} }} }}"})
        for table, rows in written(store, progress, done):
            told = (_resource(self.graph, table, row[0], filled(store, table, row)) for row in rows)
            while some := "\n".join(islice(told, _ROWS)):
                self._updates.tell({"update": f"INSERT DATA {{ GRAPH {place} {{ {some} }} }}"})
        self._updates.tell({"update": f"DELETE DATA {{ GRAPH {place} {{ {marked} }} }}"})
        return store.label, True

    def _counted(self, pattern: str) -> int:
        """How often a pattern of ours is met in the graph."""
        return int(self._select(self._queries["counted"].replace("%pattern%", pattern), 1)[0][0])


_IRIS = {("edge", "head"), ("edge", "tail")}


def _value(cell: object) -> Any:
    """A text, a number, True, or the number at the end of an IRI of ours; None where there is none."""
    if not isinstance(cell, dict) or not isinstance(text := cell.get("value"), str):
        return None
    if cell.get("type") == "uri" and text.startswith(_VOCABULARY):
        return int(text.rpartition(":")[2])
    kind = str(cell.get("datatype", "")).rpartition("#")[2]
    if kind in ("integer", "int", "long"):
        return int(text)
    return float(text) if kind in ("double", "decimal", "float") else text


def _resource(graph: str, table: str, number: int, found: dict[str, Any]) -> str:
    """A row of a table, by its fields, as Turtle."""
    said = []
    for field_, value in found.items():
        if (table, field_) in _IRIS:
            said.append(f"<{_VOCABULARY}{table}_{field_}> <{_VOCABULARY}{graph}:entity:{value}>")
        elif value is not None:
            plain = int(value) if isinstance(value, bool) else value
            text = (
                str(Literal(plain))
                if isinstance(plain, str)
                else f"{plain!r}e0"
                if isinstance(plain, float)
                else str(plain)
            )
            said.append(f"<{_VOCABULARY}{table}_{field_}> {text}")
    return f"<{_VOCABULARY}{graph}:{table}:{number}> {' ; '.join(said)} ."


# --- A snapshot: what the user's own fixed query selects from any endpoint, as rows of a graph.

_LIMIT = re.compile(r"\blimit\b", re.IGNORECASE)
_PAGED = 10_000  # rows of a page (ours)


def snapshot(url: str, name: str, query: Path) -> Source:
    """The graph that a SELECT of ?head ?relation ?tail gives, with ?headLabel, ?headKind and so on where it has them.

    It is asked page after page by LIMIT and OFFSET, unless it has a LIMIT of its own; an ORDER BY makes pages sure.
    """
    from kgmed.http import JsonClient  # heavy

    try:
        text = query.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise BadInput(f"{query}: cannot be read ({type(e).__name__}); it should hold a SPARQL query") from None
    server = Server(host_of(url, like=DBPEDIA.endpoint, bare=True))
    client = JsonClient(url, server, limits=Limits(timeout=300.0, rate=5.0, largest=1 << 28))

    def rows() -> Iterator[Row]:
        for offset in count(0, _PAGED):
            page = text if _LIMIT.search(text) else f"{text}\nLIMIT {_PAGED} OFFSET {offset}"
            results = client.post_form({"query": page}, accept=RESULTS).get("results")
            bindings = results.get("bindings") if isinstance(results, dict) else None
            if not isinstance(bindings, list):
                raise server.unusable("no SPARQL results")
            for binding in bindings:
                yield from _selected(query, binding)
            if page is text or len(bindings) < _PAGED:
                return

    return Source(name, rows, release=f"snapshot of {server.host}")


def _selected(query: Path, binding: Any) -> Iterator[Row]:
    """The rows of one row of an answer; a tail that is a literal is a text."""
    said = {k: v for k, v in binding.items() if isinstance(v, dict) and isinstance(v.get("value"), str)}
    if missing := [k for k in ("head", "relation", "tail") if k not in said]:
        raise BadInput(f"{query}: its answer has no ?{missing[0]}; select ?head ?relation ?tail")

    def text(variable: str) -> str:
        return one_line(said.get(variable, {}).get("value", ""))

    relation = text("relationLabel") or curie(text("relation")).rpartition(":")[2]
    ends = {end: curie(text(end)) if said[end].get("type") == "uri" else text(end) for end in ("head", "tail")}
    literal = said["tail"].get("type") != "uri" and "tailLabel" not in said
    for end in ("head",) if literal else ("head", "tail"):
        name = text(f"{end}Label") or unquote(ends[end].rpartition(":")[2]).replace("_", " ")
        yield NodeRow(ends[end], name, text(f"{end}Kind"))
    if literal:
        yield TextRow(ends["head"], relation, text("tail"))
    else:
        yield EdgeRow(ends["head"], relation, ends["tail"])
