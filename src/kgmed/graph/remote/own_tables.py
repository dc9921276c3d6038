"""A user's own tables in PostgreSQL as a graph, asked by fixed queries over what a mapping file names.

What the file (`table_mapping`) names is quoted as an identifier and looked up in the catalogue first; values are bound.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from kgmed.errors import BadInput
from kgmed.graph.base import Scope
from kgmed.graph.remote.database import LAYOUT
from kgmed.graph.remote.postgres import Address, Postgres
from kgmed.graph.remote.table_mapping import TableMapping, Triples, read_tables
from kgmed.graph.store.arrays import pack_support
from kgmed.language.text import fold, normalise
from kgmed.records import Support

if TYPE_CHECKING:
    from psycopg import sql

_MARK = "\x1f"  # between the values of a list that the server joins
_INTEGERS = {"int2": 15, "int4": 31, "int8": 63}
_TEXTS = ("text", "varchar")


Node = tuple[int, str]  # the place of its kind, and its id there


def open_own(address: Address) -> "OwnTables":
    """The graph of an address with ?map=FILE; raises `BadInput`, `Unavailable`."""
    path = Path(address.map)
    return OwnTables(Postgres(address), read_tables(path), xxhash.xxh3_64_hexdigest(path.read_bytes())[:8])


class OwnTables:
    """A user's own tables; implements `Database`.

    A node has the number in which it was met, which stays while this is open; an edge that of a hash of its ends and
    relation. Rows that say the same are one triple: the largest weight, all references.
    """

    most = 10_000

    def __init__(self, server: Postgres, tables: TableMapping, version: str = "") -> None:
        """Name them; they are looked for in the catalogue when they are first asked."""
        self.server, self.tables, self.where, self._version = server, tables, server.where, version
        self._numbers: dict[Node, int] = {}
        self._nodes: list[Node] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connection; it opens again by itself when it is needed."""
        self.server.close()

    def rows(self, what: str, /, **values: Any) -> list[Any]:
        """The rows of what is asked."""
        found: list[Any] = getattr(self, f"_rows_{what}")(**values)
        return found

    def _run(self, query: "sql.Composable", **values: Any) -> list[Any]:
        return self.server.run(query, values)

    # --- names of the schema

    @cached_property
    def _types(self) -> dict[tuple[str, str], str]:
        """The type of each column that the file names; one of a list ends with []."""
        from psycopg import sql

        found: dict[tuple[str, str], str] = {}
        for table in dict.fromkeys(t for t, _ in self.tables.columns()):
            rows = self.server.run(
                "SELECT a.attname, CASE WHEN t.typcategory = 'A' THEN '[]' ELSE t.typname END FROM pg_attribute a "
                "JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = to_regclass(%(table)s) AND a.attnum > 0",
                {"table": sql.Identifier(*table.split(".", 1)).as_string(None)},
            )
            if not rows:
                raise BadInput(f"{self.tables.file}: {self.where} has no table {table!r} that may be read")
            found |= {(table, column): kind for column, kind in rows}
        if missing := [pair for pair in self.tables.columns() if pair not in found]:
            raise BadInput(f"{self.tables.file}: the table {missing[0][0]!r} has no column {missing[0][1]!r}")
        return found

    def _text(self, alias: str, table: str, column: str) -> "sql.Composable":
        """A column as a text, such that an index of it can be used where it is one."""
        cast = "" if self._types[table, column] in _TEXTS else "::text"
        return _made("{}.{}" + cast, _name(alias), _name(column))

    def _id(self, alias: str, place: int) -> "sql.Composable":
        kind = self.tables.kinds[place]
        whole = self._types[kind.table, kind.id] in _INTEGERS
        return _made("{}.{}", _name(alias), _name(kind.id)) if whole else self._text(alias, kind.table, kind.id)

    def _array(self, place: int, parameter: str) -> "sql.Composable":
        """The ids of a kind as an array of the type of its column."""
        kind = self.tables.kinds[place]
        whole = self._types[kind.table, kind.id] in _INTEGERS
        return _made("%({})s::" + ("bigint[]" if whole else "text[]"), _raw(parameter))

    def _bound(self, place: int, own: Iterable[str]) -> list[Any]:
        """Ids as the column has them; those that it cannot have are left out."""
        kind = self.tables.kinds[place]
        bits = _INTEGERS.get(self._types[kind.table, kind.id])
        if bits is None:
            return [one for one in own if "\0" not in one]
        whole = [int(one) for one in own if one.removeprefix("-").isdecimal() and one.isascii() and len(one) < 20]
        return [n for n in whole if -(1 << bits) <= n < 1 << bits]

    # --- nodes by number

    def _number(self, node: Node) -> int:
        with self._lock:
            if node not in self._numbers:
                self._numbers[node] = len(self._nodes)
                self._nodes.append(node)
            return self._numbers[node]

    def _full(self, node: Node) -> str:
        return self.tables.kinds[node[0]].prefix + node[1]

    def _of_ids(self, ids: Iterable[str]) -> dict[int, list[str]]:
        """The ids that each kind may have, by its place."""
        kinds, found = self.tables.kinds, dict[int, list[str]]()
        for one in ids:
            for place, kind in enumerate(kinds):
                if one.startswith(kind.prefix):
                    found.setdefault(place, []).append(one.removeprefix(kind.prefix))
        return found

    def _of_numbers(self, nodes: Iterable[int]) -> dict[int, list[str]]:
        """The ids of node numbers by the place of their kind."""
        found: dict[int, list[str]] = {}
        for number in nodes:
            place, own = self._nodes[number]
            found.setdefault(place, []).append(own)
        return found

    def _order(self, node: Node) -> tuple[int, int, str]:
        """What sorts nodes as a graph that is built from the tables numbers them."""
        place, own = node
        kind = self.tables.kinds[place]
        return place, int(own) if self._types[kind.table, kind.id] in _INTEGERS else 0, own

    # --- entities

    def _columns(self, place: int) -> "sql.Composable":
        """Id, name and kind of the row `k`."""
        kind = self.tables.kinds[place]
        called = self._text("k", kind.table, kind.name)
        sort = self._text("k", kind.table, kind.kind_column) if kind.kind_column else _literal(kind.kind)
        own = _made("{}::text", self._id("k", place))
        return _made("{}, coalesce(nullif({}, ''), {}), coalesce({}, {})", own, called, own, sort, _literal(kind.kind))

    def _selected(self, by_place: Mapping[int, Sequence[str]], more: str = "") -> Iterator[tuple[Node, list[Any]]]:
        """The entities of some ids: node, then id, name, kind and the description where `more` says so."""
        for place, own in by_place.items():
            kind = self.tables.kinds[place]
            told = self._text("k", kind.table, kind.description) if more and kind.description else _literal("")
            query = _made(
                "SELECT {}, coalesce({}, '') FROM {} k WHERE {} = ANY({})",
                self._columns(place), told, _table(kind.table), self._id("k", place), self._array(place, "own"),
            )  # fmt: skip
            for one, *row in self._run(query, own=self._bound(place, own)):
                yield (place, one), [kind.prefix + one, *row]

    def _rows_about(self) -> list[Any]:
        tables, graph = self.tables, self.server.address.graph
        counts = [
            self._run(_made("SELECT count(*) FROM {}", _table(k.table)))[0][0] for k in tables.kinds if self._types
        ]
        label = f"{graph} in PostgreSQL, {sum(counts)} entities by mapping {self._version}"
        return [(LAYOUT, graph, label, tables.language, 0, 0)]

    def _rows_relations(self) -> list[Any]:
        return [(r.name, r.role.value, r.reverse, self.server.address.graph) for r in self.tables.relations]

    def _rows_entity(self, id: str) -> list[Any]:
        return [row for _, row in self._selected(self._of_ids([id]), "description")]

    def _rows_numbers(self, ids: Sequence[str]) -> list[Any]:
        return [(row[0], self._number(node)) for node, row in self._selected(self._of_ids(ids))]

    def _rows_entities(self, nodes: Sequence[int]) -> list[Any]:
        by_place = self._of_numbers(nodes)
        degrees = self._degrees(by_place)
        return [(self._number(n), *row[:3], degrees.get(n, 0)) for n, row in self._selected(by_place)]

    def _degrees(self, by_place: Mapping[int, Sequence[str]]) -> dict[Node, int]:
        """How many triples each node has, a loop twice."""
        found: dict[Node, int] = {}
        for t, kind in enumerate(self.tables.triples):
            for side, (place, _) in enumerate((kind.head, kind.tail)):
                if place in by_place:
                    inner = self._inner(t, [self._on(place, side, "own")])
                    of = _raw("tail" if side else "head")
                    query = _made("SELECT {}, count(*) FROM ({}) q GROUP BY {}", of, inner, of)
                    own = self._bound(place, by_place[place])
                    for one, count in self._run(query, own=own, types=list(kind.relations)):
                        found[place, one] = found.get((place, one), 0) + count
        return found

    def _rows_texts(self, id: str) -> list[Any]:
        heads = dict(self._selected(self._of_ids([id])))
        said = self._said(self._of_ids([id]))
        return [(*heads[node][:3], number, text, None, None) for node, number, text in said if node in heads]

    def _said(self, by_place: Mapping[int, Sequence[str]]) -> Iterator[tuple[Node, int, str]]:
        """The texts about some entities with their relation numbers."""
        for place, own in by_place.items():
            kind = self.tables.kinds[place]
            for column, number in kind.texts.items():
                query = _made(
                    "SELECT {}::text, to_jsonb(k.{}) FROM {} k WHERE {} = ANY({}) AND k.{} IS NOT NULL",
                    self._id("k", place), _name(column), _table(kind.table), self._id("k", place),
                    self._array(place, "own"), _name(column),
                )  # fmt: skip
                for one, value in self._run(query, own=self._bound(place, own)):
                    for text in value if isinstance(value, list) else [value]:
                        if text not in (None, ""):
                            yield (place, one), number, str(text)

    # --- names

    def _called(self, place: int, where: str) -> Iterator[tuple["sql.Composable", int]]:
        """The queries for the other names of a kind, id, name and kind before them; `where` restricts `{id}`, `{said}`.

        The first is for the name itself.
        """
        kind, base = self.tables.kinds[place], "SELECT {}, {}, {} FROM {} k "
        own, columns, table = self._id("k", place), self._columns(place), _table(kind.table)
        plain = [(kind.name, int(Scope.PREFERRED))] + [(a, int(Scope.EXACT)) for a in kind.aliases]
        for column, scope in plain:
            listed = self._types[kind.table, column] == "[]"
            said = _raw("u.said") if listed else self._text("k", kind.table, column)
            source = base + ("CROSS JOIN LATERAL unnest(k.{}::text[]) AS u(said) " if listed else "")
            parts = [columns, said, _literal(scope), table, *([_name(column)] if listed else [])]
            yield _made(source + where, *parts, own=own, said=said, ids=self._array(place, "own")), scope
        for other in self.tables.names:
            if other.of == place:
                said = self._text("a", other.table, other.name)
                source = base + "JOIN {} a ON k.{} = a.{} "
                parts = [columns, said, _literal(other.scope), table, _table(other.table), _name(kind.id),
                         _name(other.entity)]  # fmt: skip
                yield _made(source + where, *parts, own=own, said=said, ids=self._array(place, "own")), other.scope

    def _rows_names(self, keys: Sequence[str], texts: Sequence[str]) -> list[Any]:
        """Names as they are written, in small letters; an index of lower(name) is used where there is one."""
        forms = sorted({form for text in texts for form in (text.lower(), normalise(text), fold(text)) if form})
        wanted, found = {*keys}, list[tuple[Node, list[Any]]]()
        for place, kind in enumerate(self.tables.kinds):
            for query, _ in self._called(place, "WHERE lower({said}) = ANY(%(forms)s::text[])"):
                for one, name, sort, text, scope in self._run(query, forms=forms):
                    normal, folded = normalise(text), fold(text)
                    if wanted & {normal, folded}:
                        row = [kind.prefix + one, name, sort, text, scope, normal, folded]
                        found.append(((place, one), row))
        by_place: dict[int, list[str]] = {}
        for place, one in dict.fromkeys(node for node, _ in found):
            by_place.setdefault(place, []).append(one)
        degrees, rank = (
            self._degrees(by_place),
            {n: i for i, n in enumerate(sorted({n for n, _ in found}, key=self._order))},
        )
        return [[*row, degrees.get(node, 0), rank[node]] for node, row in found]

    _rows_folded = _rows_names

    # --- edges

    def _on(self, place: int, side: int, parameter: str) -> "sql.Composable":
        """That one end of a triple is among some ids."""
        return _made("{} = ANY({})", self._id("ht"[side], place), self._array(place, parameter))

    def _relation(self, t: int) -> "sql.Composable":
        """The value that tells a row's relation."""
        kind = self.tables.triples[t]
        return self._text("e", kind.table, kind.column) if kind.column else _made("''::text")

    def _inner(self, t: int, where: Sequence["sql.Composable"]) -> "sql.Composable":
        """The triples of a table: head, tail, relation, weight, said; rows that say the same are one."""
        from psycopg import sql

        kind, kinds = self.tables.triples[t], self.tables.kinds
        (head, of_head), (tail, of_tail) = kind.head, kind.tail
        weight = _made("max(coalesce(e.{}, 1))::float8", _name(kind.weight)) if kind.weight else _made("1.0::float8")
        named = [_made("{} = ANY(%(types)s::text[])", self._relation(t))] if kind.column else []
        return _made(
            "SELECT {}::text AS head, {}::text AS tail, {} AS relation, {} AS weight, {} AS said FROM {} e "
            "JOIN {} h ON h.{} = e.{} JOIN {} t ON t.{} = e.{} WHERE {} GROUP BY {}, {}, 3",
            self._id("h", head), self._id("t", tail), self._relation(t), weight, self._support(t), _table(kind.table),
            _table(kinds[head].table), _name(kinds[head].id), _name(of_head),
            _table(kinds[tail].table), _name(kinds[tail].id), _name(of_tail),
            sql.SQL(" AND ").join([*where, *named]), self._id("h", head), self._id("t", tail),
        )  # fmt: skip

    def _support(self, t: int) -> "sql.Composable":
        """The references and qualifiers of the rows of a triple, as JSON."""
        from psycopg import sql

        kind = self.tables.triples[t]
        if not kind.references and not kind.qualifiers:
            return _made("NULL::jsonb")
        columns = [
            _made("array_to_string(e.{}, chr(31))", _name(c)) if self._types[kind.table, c] == "[]" else
            _made("e.{}::text", _name(c)) for c in (*kind.references, *kind.qualifiers)
        ]  # fmt: skip
        return _made("jsonb_agg(DISTINCT jsonb_build_array({}))", sql.SQL(", ").join(columns))

    def _packed(self, t: int, said: Any) -> str | None:
        """The support of a triple as `pack_support` has it."""
        kind, found = self.tables.triples[t], dict[Support, None]()
        for row in said or ():
            refs, more = row[: len(kind.references)], row[len(kind.references) :]
            qualified = tuple((q, v) for q, v in zip(kind.qualifiers, more, strict=True) if v is not None)
            given = [one for ref in refs if ref for one in ref.split(_MARK) if one]
            if given or qualified:
                found |= dict.fromkeys(Support(one, qualified) for one in given or [""])
        return pack_support(tuple(found)) if found else None

    def _asked(self, relations: Sequence[int] | None) -> Iterator[tuple[int, Triples, list[str]]]:
        """Each table of triples with the values of its relations that are asked for."""
        for t, kind in enumerate(self.tables.triples):
            if types := [v for v, n in kind.relations.items() if relations is None or n in relations]:
                yield t, kind, types

    def _numbered(self, t: int, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[int, int, int, int, float]]:
        """Rows (edge, head, tail, relation, weight, said) as `level` has them."""
        kind = self.tables.triples[t]
        for edge, head, tail, relation, weight, _ in rows:
            ends = self._number((kind.head[0], head)), self._number((kind.tail[0], tail))
            yield edge, ends[0], kind.relations[relation], ends[1], weight

    def _with_edge(self, t: int, where: Sequence["sql.Composable"], more: str = "") -> "sql.Composable":
        """The triples of a table, the number of each before them."""
        number = _made("SELECT hashtextextended(concat_ws(chr(31), {}, head, relation, tail), 0)", _literal(str(t)))
        return _made("SELECT * FROM ({} AS edge, q.* FROM ({}) q) n {}", number, self._inner(t, where), _raw(more))

    def _rows_level(self, nodes: Sequence[int], limit: int, relations: Sequence[int] | None) -> list[Any]:
        by_place, found = self._of_numbers(nodes), list[Any]()
        for t, kind, types in self._asked(relations):
            for side, (place, _) in enumerate((kind.head, kind.tail)):
                if place in by_place:
                    query = self._with_edge(t, [self._on(place, side, "own")], "LIMIT %(limit)s")
                    own = self._bound(place, by_place[place])
                    found += self._numbered(t, self._run(query, own=own, types=types, limit=limit))
        return found

    def _rows_across(self, heads: Sequence[int], nodes: Sequence[int], limit: int) -> list[Any]:
        from_place, to_place, found = self._of_numbers(heads), self._of_numbers(nodes), list[Any]()
        for t, kind, types in self._asked(None):
            (head, _), (tail, _) = kind.head, kind.tail
            if head in from_place and tail in to_place:
                both = [self._on(head, 0, "heads"), self._on(tail, 1, "tails")]
                own = {"heads": self._bound(head, from_place[head]), "tails": self._bound(tail, to_place[tail])}
                query = self._with_edge(t, both, "LIMIT %(limit)s")
                found += self._numbered(t, self._run(query, types=types, limit=limit, **own))
        return found

    def _rows_facts(self, edges: Sequence[int], heads: Sequence[int]) -> list[Any]:
        by_place, found = self._of_numbers(heads), list[tuple[int, Any]]()
        for t, kind, types in self._asked(None):
            if (place := kind.head[0]) in by_place:
                query = self._with_edge(t, [self._on(place, 0, "own")], "WHERE edge = ANY(%(edges)s::bigint[])")
                rows = self._run(query, own=self._bound(place, by_place[place]), types=types, edges=list(edges))
                found += [(t, row) for row in rows]
        return self._told(found)

    def _told(self, found: Sequence[tuple[int, Any]]) -> list[Any]:
        """Edges as `facts` has them: edge, head (id, name, kind), relation, tail, weight, source, support."""
        ends: dict[int, dict[str, None]] = {}
        for t, (_, head, tail, *_) in found:
            kind = self.tables.triples[t]
            ends.setdefault(kind.head[0], {})[head] = None
            ends.setdefault(kind.tail[0], {})[tail] = None
        known_as = {n: row[:3] for n, row in self._selected({place: list(own) for place, own in ends.items()})}
        rows = []
        for t, (edge, head, tail, relation, weight, said) in found:
            kind = self.tables.triples[t]
            one, other = known_as.get((kind.head[0], head)), known_as.get((kind.tail[0], tail))
            if one and other:  # else it is gone meanwhile
                rows.append([edge, *one, kind.relations[relation], *other, weight, None, self._packed(t, said)])
        return rows

    def _rows_around(self, ids: Sequence[str], limit: int, relations: Sequence[int] | None) -> list[Any]:
        by_place, found = self._of_ids(ids), list[tuple[str, int, int, Any]]()
        for t, kind, types in self._asked(relations):
            for side, (place, _) in enumerate((kind.head, kind.tail)):
                if place in by_place:
                    query = self._heaviest(t, side, place)
                    rows = self._run(query, own=self._bound(place, by_place[place]), types=types, limit=limit)
                    found += [(self._full((place, str(one))), side, t, row) for one, *row in rows]
        found.sort(key=lambda one: self._rank(one[2], one[3]))
        told = self._told([(t, [i, *row[1:]]) for i, (_, _, t, row) in enumerate(found)])
        return [[found[edge][0], found[edge][1], edge, *row] for edge, *row in told]

    def _rank(self, t: int, row: Sequence[Any]) -> Any:
        """What sorts triples as a graph that is built from the tables numbers them."""
        kind, (_, head, tail, relation, *_) = self.tables.triples[t], row
        ends = self._order((kind.head[0], head)), self._order((kind.tail[0], tail))
        return *ends, kind.relations[relation]

    def _heaviest(self, t: int, side: int, place: int) -> "sql.Composable":
        """The heaviest triples at each of some ids; a loop counts at its head."""
        kind = self.tables.triples[t]
        (head, _), (tail, _) = kind.head, kind.tail
        one = [_made("{} = a.own", self._id("ht"[side], place))]
        if side and head == tail:
            one.append(_made("{} <> {}", self._id("h", head), self._id("t", tail)))
        order = _made(
            " ORDER BY 4 DESC, {}, {}, array_position(%(types)s::text[], {}) LIMIT %(limit)s",
            self._id("h", head), self._id("t", tail), self._relation(t) if kind.column else _made("''"),
        )  # fmt: skip
        return _made(
            "SELECT a.own, 0, q.* FROM unnest({}) AS a(own) CROSS JOIN LATERAL ({}{}) q",
            self._array(place, "own"), self._inner(t, one), order,
        )  # fmt: skip

    # --- all of it, page after page

    def _page(self, place: int, after: str | None, limit: int) -> list[str]:
        """The ids that follow one in a kind."""
        own = self._id("k", place)
        beyond = _made("WHERE {} > ({})[1]", own, self._array(place, "own")) if after is not None else _made("")
        query = _made("SELECT DISTINCT {} FROM {} k {} ORDER BY 1 LIMIT %(limit)s", own,
                      _table(self.tables.kinds[place].table), beyond)  # fmt: skip
        bound = self._bound(place, [after]) if after is not None else []
        return [str(row[0]) for row in self._run(query, own=bound, limit=limit) if row[0] is not None]

    def _rows_nodes(self, after: int, limit: int) -> list[Any]:
        place, own = self._nodes[after] if after >= 0 else (0, None)
        while place < len(self.tables.kinds):
            if page := self._page(place, own, limit):
                rows = dict(self._selected({place: page}, "description"))
                return [[self._number(node), *rows[node]] for node in ((place, one) for one in page) if node in rows]
            place, own = place + 1, None
        return []

    def _rows_aliases(self, nodes: Sequence[int]) -> list[Any]:
        found = []
        for place, own in self._of_numbers(nodes).items():
            for query, scope in self._called(place, "WHERE {own} = ANY({ids}) ORDER BY {said}"):
                if scope != Scope.PREFERRED:
                    rows = self._run(query, own=self._bound(place, own))
                    found += [(self._number((place, row[0])), row[3], scope) for row in rows if row[3]]
        return found

    def _rows_said(self, nodes: Sequence[int]) -> list[Any]:
        return [(self._number(node), number, text, None) for node, number, text in self._said(self._of_numbers(nodes))]

    def _rows_edges(self, after: int, limit: int) -> list[Any]:
        """The edges of the next heads of a table of triples; the number is that of the table and the last head."""
        t, own = self._nodes[after] if after >= 0 else (-1, None)
        t = -1 - t
        while t < len(self.tables.triples):
            kind = self.tables.triples[t]
            while page := self._page(kind.head[0], own, limit):
                own, bound = page[-1], self._bound(kind.head[0], page)
                query = self._with_edge(t, [self._on(kind.head[0], 0, "own")], "ORDER BY head, tail, relation")
                if rows := self._run(query, own=bound, types=list(kind.relations)):
                    mark = self._number((-1 - t, own))
                    return [
                        (mark, self._full((kind.head[0], head)), kind.relations[relation],
                         self._full((kind.tail[0], tail)), weight, self._packed(t, said))
                        for _, head, tail, relation, weight, said in rows
                    ]  # fmt: skip
            t, own = t + 1, None
        return []


def _made(text: str, *parts: Any, **named: Any) -> "sql.Composed":
    """A query of its pieces; only text of this file is SQL."""
    from psycopg import sql

    return sql.SQL(text).format(*parts, **named)


def _name(name: str) -> "sql.Composable":
    """A name of the file as an identifier; a percent sign is doubled, since values are bound by such signs."""
    from psycopg import sql

    return sql.Identifier(name.replace("%", "%%"))


def _table(name: str) -> "sql.Composable":
    """A table with its schema, where the name has a dot."""
    from psycopg import sql

    return sql.Identifier(*name.replace("%", "%%").split(".", 1))


def _literal(value: str | int) -> "sql.Composable":
    from psycopg import sql

    return _made("{}::text", sql.Literal(value.replace("%", "%%"))) if isinstance(value, str) else sql.Literal(value)


def _raw(text: str) -> "sql.Composable":
    """A name of this file's own."""
    from psycopg import sql

    return sql.SQL(text)
