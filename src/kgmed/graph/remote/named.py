"""Remote graphs by the names that a person types, each behind its persistent cache: one SQLite file.

What a server answered is kept, by graph and question; that it has nothing is kept for a time (`negative`, in hours),
and an answer that failed is never kept; where the file grows too large, the oldest answers go. Safe between threads and
processes. No URL and no key comes near it.

`umls-rest` is UMLS through UTS, `dbpedia` and `wikidata` their public SPARQL endpoints; `+URL` names another server of
the kind. `sparql+URL` is asked in the vocabulary of Wikidata where its host says so, else of DBpedia. A graph that
`kgmed graph load` wrote to PostgreSQL is asked without a cache, a small one on a copy of its files.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import numpy as np
import xxhash

from kgmed.cache import CacheFile, Hits, Layout
from kgmed.disk import as_file_name
from kgmed.errors import BadInput, StoreError, Unavailable, UnknownName
from kgmed.graph.base import (
    Alias,
    Batch,
    Batches,
    KnowledgeGraph,
    Match,
    NodeRow,
    Scope,
    Source,
    TextRow,
    Told,
    unpacked_support,
)
from kgmed.graph.library import DATABASES, in_shards, is_remote, shards
from kgmed.graph.remote.database import COPIED, DatabaseGraph, Progress, copied, pages, source_of
from kgmed.graph.remote.sparql import SparqlDatabase, dbpedia, snapshot, wikidata
from kgmed.graph.remote.umls import AT_LEAST, OFFICIAL, Umls
from kgmed.graph.store.build import builder_of
from kgmed.graph.store.folder import beside, publish
from kgmed.graph.store.store import Store, open_store
from kgmed.records import Entity, Relation, Role, Support, Triple

# --- All of a graph in a database as files of this machine, for what needs all of it: the ranking of its diseases.
#
# It is read by the fixed queries once, page after page, and kept by its label. Nodes, edges and relations have the
# order of the database, so that what is asked of it has the evidence of the graph that was loaded there.

MOST_ROWS = 20_000_000  # entities and triples of a graph that is fetched so (ours): a gigabyte of memory meanwhile
HOURS = 24.0  # that a copy of a graph counts whose label does not tell its content (ours)


class FetchedStore(Store):
    """A graph that was fetched; it bears the label of that in the database."""

    told = ""

    @classmethod
    def of(cls, store: Store, label: str) -> "FetchedStore":
        """A store under another label."""
        made = cls(store.manifest, store.tables, Path(store.folder), speaks=store.speaks)
        made.told = label
        return made

    @property
    def label(self) -> str:
        """The label of the graph in the database."""
        return self.told

    def _sources(self, edges: Iterable[int], relations: list[int]) -> Iterable[str]:
        """The graph and release of each edge: that of its relation."""
        return [self.origins[r] for r in relations]

    def speaking(self, language: str) -> Store:
        """The same graph whose entities and relations are called in a language; see `Store`."""
        found = super().speaking(language)
        return found if found is self else FetchedStore.of(found, self.told)


def whole(graph: DatabaseGraph, folder: Path, *, most: int = MOST_ROWS) -> Store:
    """All of a graph, from `folder` where it is there; its very files where the database keeps them.

    Raises `Unavailable` for a graph that is larger than `most` rows, `StoreError`.
    """
    if 0 < graph.bytes <= COPIED:
        return copied(graph, folder)
    place = folder / f"{as_file_name(graph.name)}-rows-{xxhash.xxh3_64_hexdigest(graph.label.encode())}"
    if not _stands(place, told=graph.nodes > 0):
        try:
            _fetch(graph, place, most)
        except OSError as e:
            raise StoreError(f"{place}: cannot be written ({e.strerror or e}); check the disk") from e
    return FetchedStore.of(open_store(place), graph.label)


def _stands(place: Path, *, told: bool) -> bool:
    """Whether a copy is there that counts; `told` = the label it is kept by tells its content."""
    try:
        written = (place / "CURRENT").stat().st_mtime
        open_store(place)
    except (FileNotFoundError, StoreError):
        return False
    return told or abs(time.time() - written) < HOURS * 3600


def _fetch(graph: DatabaseGraph, place: Path, most: int) -> None:
    origins = {r.name: origin for r, origin in graph.origins}
    relations = {r.name: r for r in graph.relations}
    rows = _Rows(graph, most)
    source = Source(graph.name, lambda: rows.batches, language=graph.language, relations=relations, origins=origins)
    with beside(place) as work, builder_of(source, work) as builder:
        for relation in graph.relations:  # numbered as they are met
            builder.relations[relation.name]
        builder.read(None)
        publish(place, work, builder.finish(graph.name, "").content)


class _Rows:
    """The rows of a graph: first its nodes, in their order, then its edges."""

    def __init__(self, graph: DatabaseGraph, most: int) -> None:
        self.graph, self.most, self.count = graph, most, 0
        self.keys: list[str] = []
        self.number: dict[str, int] = {}
        self.supports: dict[str, int] = {"": 0}
        self.batches = Batches(self._batches(), self._keys, self._relations, self._supports)

    def _keys(self, codes: list[int]) -> list[str]:
        return [self.keys[code] for code in codes]

    def _relations(self, codes: list[int]) -> list[str]:
        return [self.graph.relations[code].name for code in codes]

    def _supports(self, codes: list[int]) -> list[str]:
        texts = list(self.supports)
        return [texts[code] for code in codes]

    def _batches(self) -> Iterator[Batch]:
        yield from (Batch(told) for told in self._nodes())
        for rows in pages(self.graph, "edges"):
            self._counted(len(rows))
            _, head, relation, tail, weight, support = zip(*rows, strict=True)
            said = [self.supports.setdefault(text or "", len(self.supports)) for text in support]
            ends = (np.array([self.number[one] for one in end], np.int64) for end in (head, tail))
            yield Batch(
                (), next(ends), np.array(relation, np.int64), next(ends),
                np.array(weight, np.float32), np.array(said, np.int64) if any(said) else None,
            )  # fmt: skip

    def _nodes(self) -> Iterator[list[Told]]:
        for rows in pages(self.graph, "nodes"):
            self._counted(len(rows))
            nodes = [row[0] for row in rows]
            keys, said = {node: key for node, key, *_ in rows}, dict[int, list[Alias]]()
            for node, text, scope in self.graph.ask("aliases", "nodes", nodes):
                said.setdefault(node, []).append(Alias(text, Scope(scope)))
            for key in keys.values():
                self.number[key] = len(self.keys)
                self.keys.append(key)
            told: list[Told] = [NodeRow(key, called, kind, about or "", tuple(said.get(node, ())))
                               for node, key, called, kind, about in rows]  # fmt: skip
            yield told
            relations = self.graph.relations
            texts: list[Told] = [TextRow(keys[node], relations[number].name, text, unpacked_support(support or ""))
                                for node, number, text, support in self.graph.ask("said", "nodes", nodes)]  # fmt: skip
            yield texts

    def _counted(self, rows: int) -> None:
        self.count += rows
        if self.count > self.most:
            raise Unavailable(
                f"{self.graph.name}: this needs all diseases of the graph, which is larger than {self.most:,} rows; "
                "build it here: kgmed graph build NAME --from ADDRESS"
            )


# A persistent cache in front of a remote graph: MKG-Rank's local base, term -> concept -> triples, in one SQLite file.

T = TypeVar("T")
ANSWERS = Layout(
    "answers of graphs",
    {
        "answer": "graph TEXT NOT NULL, what TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
        "empty INTEGER NOT NULL, asked INTEGER NOT NULL, written REAL NOT NULL, "
        "PRIMARY KEY (graph, what, key)) WITHOUT ROWID",
        "tally": "graph TEXT NOT NULL, what TEXT NOT NULL, hits INTEGER NOT NULL, misses INTEGER NOT NULL, "
        "PRIMARY KEY (graph, what)) WITHOUT ROWID",
    },
    mark=0x6B676D67,  # "kgmg"
    largest=1 << 30,
    oldest="DELETE FROM answer WHERE written <= "
    "(SELECT written FROM answer ORDER BY written LIMIT 1 OFFSET (SELECT count(*) / 10 FROM answer))",
)
_FETCHED = 500  # triples of an entity that are fetched at once, so that a smaller limit finds them


class CachedGraph:
    """A graph whose answers are kept in a file; it is asked only for what is not there or has gone stale."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        path: Path | str,
        *,
        positive: float = math.inf,
        negative: float = 24.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Wrap a graph; answers count for `positive` hours, those that there is nothing for `negative` hours.

        Raises `StoreError` where the file cannot be used.
        """
        if not (positive > 0 and negative >= 0):
            raise BadInput("the hours that an answer counts must be above 0")
        self.graph, self.path = graph, Path(path)
        self._hours, self._clock = (positive, negative), clock
        self._label = graph.label
        self._file = CacheFile(self.path, ANSWERS)

    def __repr__(self) -> str:
        """The graph and the file."""
        return f"Cached({self._label}, {str(self.path)!r})"

    def __enter__(self) -> "CachedGraph":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self.graph.name

    @property
    def label(self) -> str:
        """The label of the graph."""
        return self._label

    @property
    def language(self) -> str:
        """The language of the graph."""
        return self.graph.language

    @property
    def hits(self) -> dict[str, Hits]:
        """By kind of question (lookup, entity, ...): how often this object found an answer."""
        return self._file.hits

    def totals(self) -> dict[str, Hits]:
        """By kind of question: how often all who have closed this file, in any process, found an answer."""
        rows = self._file.rows("SELECT what, hits, misses FROM tally WHERE graph = ?", (self._label,))
        return {what: Hits(hits, misses) for what, hits, misses in rows}

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`, also when it is kept that there is none."""
        entity = self._answer("entity", entity_id, self._entity_or_none, _read_entity)
        if entity is None:
            raise UnknownName(f"entity of {self.name}", entity_id, (), "search by name")
        return entity

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, best first."""
        key = " ".join(name.split())
        return self._answer("lookup", key, self.graph.lookup, lambda rows: [_read_match(row) for row in rows])

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity; `roles` narrows them."""
        wanted, named = max(limit, _FETCHED), sorted({str(role.value) for role in roles})

        def fetch(key: str) -> list[Triple]:
            return self.graph.neighbours(entity_id, limit=wanted, roles=roles)

        key = "\n".join([entity_id, *named])
        return self._answer("neighbours", key, fetch, _read_triples, asked=wanted)[:limit]

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity."""
        return self._answer("attributes", entity_id, self.graph.attributes, _read_triples)

    def close(self) -> None:
        """Add the counts to the file and close it; it opens again by itself when it is needed."""
        self._file.write(
            "INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT (graph, what) DO UPDATE "
            "SET hits = hits + excluded.hits, misses = misses + excluded.misses",
            *((self._label, what, hits.hits, hits.misses) for what, hits in self._file.take_counts().items()),
        )
        self._file.close()

    def _entity_or_none(self, entity_id: str) -> Entity | None:
        """The entity, None where the graph says that it has none of that id."""
        try:
            return self.graph.entity(entity_id)
        except UnknownName:
            return None

    def _answer(self, what: str, key: str, fetch: Callable[[str], T], read: Callable[[Any], T], *, asked: int = 0) -> T:
        """What is kept, or what the graph says, which is then kept."""
        # what is of another version or damaged is asked again
        with suppress(ValueError, TypeError, KeyError, IndexError, RecursionError):
            if (kept := self._kept(what, key, asked)) is not None:
                value = read(json.loads(kept))
                self._file.count(what, hit=True, negative=not value)
                return value
        self._file.count(what, hit=False)
        value = fetch(key)
        text = json.dumps(_packed(value), ensure_ascii=False, separators=(",", ":"))
        row = self._label, what, key, _hash(what, key, str(asked), text) + text, int(not value), asked, self._clock()
        self._file.write("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return value

    def _kept(self, what: str, key: str, asked: int) -> str | None:
        """The text of an answer that still counts, and that was asked for as many triples at least.

        Raises `ValueError`, `TypeError` or `IndexError` where it is not what was written.
        """
        rows = self._file.rows(
            "SELECT value, empty, asked, written FROM answer WHERE graph = ? AND what = ? AND key = ?",
            (self._label, what, key),
        )
        if not rows or rows[0][2] < asked:
            return None
        value, empty, at_most, written = rows[0]
        hours = abs(self._clock() - written) / 3600  # below 0 where the clock has gone back
        return _whole(str(value), what, key, str(at_most)) if hours < self._hours[empty] else None


def _hash(*texts: str) -> str:
    """What finds damage to a question and its answer: 16 hexadecimal digits."""
    return xxhash.xxh3_64_hexdigest("\0".join(texts).encode("utf-8", "surrogatepass"))


def _whole(kept: str, *asked: str) -> str:
    """The text that was kept, without its hash; raises `ValueError` where it is not what was written.

    What was kept before there were hashes begins as JSON does.
    """
    if kept.startswith(("[", "null")):
        return kept
    if kept[:16] != _hash(*asked, kept[16:]):
        raise ValueError
    return kept[16:]


def _packed(value: object) -> Any:
    """Plain data for records: the values of their fields in order, a third of the size of `to_json`'s."""
    if is_dataclass(value):
        return [_packed(getattr(value, f.name)) for f in fields(value)]
    return [_packed(v) for v in value] if isinstance(value, list | tuple) else value


def _read_entity(row: Any) -> Entity | None:
    return None if row is None else Entity(*row)


def _read_match(row: Any) -> Match:
    entity, name, how, score = row
    return Match(Entity(*entity), name, how, score)


def _read_triples(rows: Any) -> list[Triple]:
    return [_read_triple(*row) for row in rows]


def _read_triple(head: Any, relation: Any, tail: Any, weight: float, source: str, support: Any) -> Triple:
    name, role, reverse = relation
    said = tuple(Support(reference, tuple((k, v) for k, v in qualifiers)) for reference, qualifiers in support)
    return Triple(Entity(*head), Relation(name, Role(role), reverse), Entity(*tail), weight, source, said)


FORMS = (
    "umls-rest",
    "umls-rest+URL",
    "umls-rest?at_least=0.7",
    "dbpedia",
    "dbpedia+URL",
    "wikidata",
    "wikidata+URL",
    "sparql+URL",
    "postgresql://...#NAME",
    "bolt://...#NAME",
)
SPARQL = ("sparql+http:", "sparql+https:")
FILE = "remote.sqlite"
COPIES = "copies"  # the folder of what is fetched from PostgreSQL


def open_remote(name: str, folder: Path, environment: Mapping[str, str]) -> KnowledgeGraph:
    """The graph of that name; its answers are kept in `remote.sqlite` of a folder, never its key.

    Of PostgreSQL it is a local graph, whose files are kept in `copies` of the folder, up to `database.COPIED`.

    The key of UMLS comes from UMLS_API_KEY. Raises `UnknownName`, `BadInput`, and `Unavailable` without a key.
    """
    kind, _, url = name.partition("+")
    if not is_remote(name):
        raise UnknownName("remote graph", name, FORMS)
    if in_shards(name):
        return shards(name)
    if name.startswith(DATABASES) or (name.startswith(SPARQL) and "#" in name):
        graph, in_place = open_database(name, environment)
        return _copy_or_place(graph, folder / COPIES, in_place=in_place)
    if kind.partition("?")[0] == "umls-rest":
        return CachedGraph(_umls(name, environment), folder / FILE)
    return CachedGraph(_knowledge_base(kind, url), folder / FILE)


def _umls(name: str, environment: Mapping[str, str]) -> KnowledgeGraph:
    """UMLS; behind a `?` the least likeness of names that words or approximate search finds."""
    place, _, query = name.partition("?")
    given, url = parse_qs(query), place.partition("+")[2]
    try:
        (at_least,) = [float(value) for value in given.pop("at_least", [f"{AT_LEAST}"])]
    except ValueError:
        at_least = -1.0
    if given or not 0 <= at_least <= 1:
        raise BadInput(f"{name!r} is not of the form umls-rest?at_least=0.7, a number from 0 to 1")
    return Umls(url or OFFICIAL, at_least=at_least, environment=environment)


def _knowledge_base(kind: str, url: str) -> KnowledgeGraph:
    """DBpedia, Wikidata, or an endpoint that is asked as the one whose name its host bears."""
    named = "wikidata" if "wikidata" in (urlsplit(url).hostname or "") else "dbpedia"
    return (wikidata if (named if kind == "sparql" else kind) == "wikidata" else dbpedia)(url)


def open_database(address: str, environment: Mapping[str, str], *, graph: str = "") -> tuple[DatabaseGraph, bool]:
    """The graph of a database's address, in place, and whether that is how it is to be asked."""
    if address.startswith(("postgresql:", "postgres:")):
        from kgmed.graph.remote.postgres import Address, Postgres

        to = Address.of(address, graph=graph)
        if to.map:
            from kgmed.graph.remote.own_tables import open_own

            return DatabaseGraph(open_own(to)), True
        return DatabaseGraph(Postgres(to)), to.in_place
    if address.startswith(SPARQL):
        where = address.removeprefix("sparql+")
        return DatabaseGraph(SparqlDatabase(where if "#" in where else f"{where}#{graph}")), True
    from kgmed.graph.remote.bolt import BoltAddress, open_bolt

    return DatabaseGraph(open_bolt(BoltAddress.of(address, graph=graph), environment)), True


def proposed_mapping(address: str, environment: Mapping[str, str]) -> str:
    """A mapping file for what a database holds that kgmed did not write; raises `BadInput`, `Unavailable`."""
    if address.startswith(("postgresql:", "postgres:")):
        from kgmed.graph.remote import table_mapping
        from kgmed.graph.remote.postgres import Address

        return table_mapping.propose(Address.of(address, graph="mine"))
    from kgmed.graph.remote import bolt

    return bolt.propose(bolt.BoltAddress.of(address, graph="mine"), environment)


def open_whole(name: str, folder: Path, environment: Mapping[str, str]) -> Store:
    """All of a graph in a database, fetched unless it is in `copies` of a folder; see `remote.whole`.

    Raises `BadInput` for a graph behind another server, of which no more than parts can be asked.
    """
    if not name.startswith((*DATABASES, *SPARQL)) or "#" not in name:
        raise BadInput("this needs all of a graph: name one of this machine or postgresql://, bolt://...#NAME")
    graph = open_database(name, environment)[0]
    try:
        return whole(graph, folder / COPIES)
    finally:
        graph.close()


def where_of(address: str, *, graph: str = "") -> str:
    """An address as messages name it; raises `BadInput`, which never repeats it."""
    if address.startswith(SPARQL):
        where = address.removeprefix("sparql+")
        return SparqlDatabase(where if "#" in where else f"{where}#{graph}").where
    if address.startswith(DATABASES) and address.startswith(("bolt", "neo4j")):
        from kgmed.graph.remote.bolt import BoltAddress

        return BoltAddress.of(address, graph=graph).where
    from kgmed.graph.remote.postgres import Address

    return Address.of(address, graph=graph).where


def source_from(address: str, name: str, environment: Mapping[str, str], *, query: Path | None = None) -> Source:
    """A graph in a database, or what a query of the user's selects from a SPARQL endpoint, to be built here.

    Raises `BadInput`, `Unavailable`, `UnknownName`.
    """
    if query is not None:
        if not address.startswith(SPARQL):
            raise BadInput("--query needs --from sparql+https://HOST/PATH")
        return snapshot(address.removeprefix("sparql+"), name, query)
    if not address.startswith((*DATABASES, *SPARQL)):
        raise BadInput(
            "--from needs postgresql://, bolt:// or sparql+https://...#NAME, see docs/servers.md; "
            "a file is given without it: kgmed graph build NAME FILE"
        )
    return source_of(open_database(address, environment, graph=name)[0], name)


def load_into(
    address: str,
    name: str,
    environment: Mapping[str, str],
    *,
    force: bool = False,
    progress: Progress = lambda rows: None,
) -> tuple[str, bool]:
    """The label of a graph of this machine that stands in a database now, and whether it was written now.

    Raises `BadInput` for an address of no database.
    """
    if address.startswith(SPARQL):
        where = address.removeprefix("sparql+")
        return SparqlDatabase(where if "#" in where else f"{where}#{name}").write(name, force=force, progress=progress)
    if address.startswith(("bolt", "neo4j")):
        from kgmed.graph.remote.bolt import BoltAddress, load

        return load(name, BoltAddress.of(address, graph=name), environment, force=force, progress=progress)
    from kgmed.graph.remote.postgres import Address
    from kgmed.graph.remote.postgres import load as write

    return write(name, Address.of(address, graph=name), force=force, progress=progress)


def _copy_or_place(graph: DatabaseGraph, copies: Path, *, in_place: bool) -> KnowledgeGraph:
    """A graph in a database as files of this machine where it keeps them and they are not large, else in place."""
    if in_place or not 0 < graph.bytes <= COPIED:
        return graph
    try:
        return copied(graph, copies)
    finally:
        graph.close()
