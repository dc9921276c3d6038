"""`kgmed graph`: what is built, fetched, listed, shown, edited, checked, exported, and written to databases."""

import errno
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgmed import vocabulary
from kgmed.cli import show as screen
from kgmed.cli.options import entity_names, graph_names
from kgmed.config import Config
from kgmed.errors import BadInput, StoreError
from kgmed.graph import library
from kgmed.graph.base import KnowledgeGraph, Source
from kgmed.graph.doctor import Finding, GraphReport, Preview
from kgmed.graph.store.folder import Manifest
from kgmed.records import Entity, Role, Triple

if TYPE_CHECKING:
    from kgmed.graph.store.shards import Shards
    from kgmed.graph.store.store import Store

# --- The doctor's report on the screen.


def print_report(report: GraphReport) -> None:
    """Print what was found, damage first."""
    screen.lines([report.graph, *(f"DAMAGED: {text}" for text in report.damage)])
    screen.lines(_content(report))
    screen.warn(report.notes)
    rows = ((r.name, r.role, "yes" if r.reverse else "", r.triples) for r in report.relations)
    screen.table(("relation", "role", "reverse", "triples"), rows)
    files = (
        (f.file, f.rows, ", ".join(f"{source} ({n:,})" for source, n in f.sources.items())) for f in report.vocabulary
    )
    screen.table((f"vocabulary {vocabulary.VERSION}", "rows", "sources"), files)


def _content(report: GraphReport) -> Iterator[str]:
    from kgmed.graph.doctor import left_out

    yield from (left_out(reason, said["count"], said["lines"]) for reason, said in report.dropped.items())
    yield f"rows that repeated a triple, merged: {report.merged:,}"
    yield from _finding("edges from an entity to itself", report.loops)
    if report.isolated and report.ambiguous:
        yield from _finding("entities without a triple or text", report.isolated)
        yield from _finding("names that several entities share", report.ambiguous)
    for kind, finding in report.contradictions.items():
        yield from _finding(f"treatments that the graph itself speaks against ({kind})", finding)
    yield from _finding("treatments that are headings or fragments of sentences, left out of lists", report.headings)
    yield from _finding("triples that say that nothing is known, left out of lists and no warnings", report.unknown)
    if report.joins:
        records = sum(len(join.ids) for join in report.joins)
        yield f"records of one thing that were joined: {records:,} to {len(report.joins):,}"
        yield from (f"  {' = '.join(join.ids)} ({'; '.join(join.why)})" for join in report.joins[:5])
    if report.reversed_share is not None:
        yield f"edges with an edge back: {report.reversed_share:.1%}"
    for pair in report.inverses:
        yield f"{pair.relation} and {pair.inverse} look inverse; {pair.missing:,} of {pair.triples:,} have no edge back"
        yield from (f"  {text}" for text in pair.examples)


def _finding(what: str, finding: Finding) -> Iterator[str]:
    yield f"{what}: {finding.count:,}"
    yield from (f"  {text}" for text in finding.examples)


# --- `kgmed graph`: build, get, list, info, find, show, neighbours, paths, add, withdraw, edits, doctor, export, load.


app = typer.Typer(no_args_is_help=True)


def _published_names(incomplete: str) -> list[str]:
    from kgmed.graph.library import published_graphs

    return [row.name for row in published_graphs() if row.name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        help="A graph's name (hpo, cmekg, or your own) or its folder.", metavar="NAME", autocompletion=graph_names
    ),
]
RelationText = Annotated[str, typer.Argument(help="A relation's name.", metavar="RELATION")]
Note = Annotated[str, typer.Option(help="A remark.")]
EntityText = Annotated[str, typer.Argument(help="An id or a name.", metavar="ENTITY", autocompletion=entity_names)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_WORTH, _AT_BUILD = 1_000, 250_000  # names that are learnt after a build without being asked to: in three minutes
Limit = Annotated[int, typer.Option(help="How many to show.", min=1)]
Given = Annotated[
    Path | None, typer.Argument(help="Its file, folder or zip, or - for standard input; hpo and cmekg need none.")
]
Columns = Annotated[
    Path | None, typer.Option("--map", help='A TOML table of what the columns of tables say, as in: name = "titel".')
]
Fetched = Annotated[
    str, typer.Option("--from", help="Fetch it from a database: postgresql://, bolt:// or sparql+http://...#NAME.")
]
Snapshot = Annotated[
    Path | None,
    typer.Option(help="With --from sparql+URL: your SELECT of ?head ?relation ?tail; ?headLabel ... and kinds too."),
]


@app.command()
def build(
    name: Annotated[str, typer.Argument(help="The graph's name.")],
    path: Given = None,
    format: Annotated[str, typer.Option(help="hpo, cmekg, triples, obo, rdf, ...; default: detected.")] = "",
    relations: Annotated[Path | None, typer.Option(help="A TOML table of relations and their roles.")] = None,
    columns: Columns = None,
    encoding: Annotated[
        str, typer.Option(help="Its text encoding: gb18030, utf-16, latin-1, ...; default: detected.")
    ] = "",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a file with rows that would be repaired or dropped.")
    ] = False,
    given: Fetched = "",
    query: Snapshot = None,
    look: Annotated[bool, typer.Option("--look", help="Show how the file is read; build nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Build even if it exists.")] = False,
    train: Annotated[
        bool, typer.Option("--train/--no-train", help="Then train the map of its names, in the background.")
    ] = True,
    shards: Annotated[int, typer.Option(help="Number of shards, for a graph larger than memory; 0 = none.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Build a graph from its files, unless it exists."""
    if path is None and Path(name).is_file():
        called = re.sub("[^a-z0-9_-]+", "-", Path(name).stem.lower()).strip("-_") or "mine"
        raise BadInput(f"{name!r} is a file; name the graph first: kgmed graph build {called} {name}")
    if given:
        from kgmed.graph.remote.named import source_from

        source, force = source_from(given, name, os.environ, query=query), True
    else:
        source = library.source_of(
            name, path, format=format, relations=relations, columns=columns, encoding=encoding, strict=strict
        )
    if look:
        _show_preview(source, as_json=as_json)
        return
    if path is not None and not shards and not library.is_built(name, source, format=format):
        _notice_preview(source)
    with screen.progress(f"building {name}", "rows") as progress:
        built = library.build_source(name, source, format=format, force=force, progress=progress, shards=shards)
    if built.fresh and not shards:
        from kgmed.prepare import prepare

        with screen.progress(f"preparing {name}", "parts") as progress:
            prepare(name, progress)
    screen.data({"fresh": built.fresh} | _summary(built.manifest)) if as_json else screen.lines([_done(name, built)])
    library.prune()
    counts = built.manifest.counts
    if train and built.fresh and not shards and _WORTH <= counts["entities"] + counts["aliases"] <= _AT_BUILD:
        _train(name, "", [])


def _done(name: str, built: library.Built) -> str:
    """What became of a graph that was to be built."""
    said = "built" if built.fresh else "is up to date, nothing to do; --force builds it again:"
    return f"{name} {said} {_counts(built.manifest)}"


def _show_preview(source: Source, *, as_json: bool) -> None:
    """Print what the files are understood to say."""
    from kgmed.graph.doctor import preview

    found = preview(source)
    if as_json:
        screen.data(found)
    else:
        screen.lines(_of_preview(source, found) if found else [f"{source.name}: a packaged graph, of known layout"])


def _notice_preview(source: Source) -> None:
    """Say on standard error what the files are understood to say; not on a terminal, what is left out or unsure."""
    from kgmed.graph.doctor import preview

    if found := preview(source):
        unsure = (f"unsure: {text}" for text in found.unsure)
        screen.warn(_of_preview(source, found) if sys.stderr.isatty() else [*found.dropped[:8], *unsure])


def _of_preview(source: Source, found: Preview) -> Iterator[str]:
    """The lines of a preview, one screen at most."""
    files = ", ".join(path.name for path in source.inputs[:3]) + (", ..." if len(source.inputs) > 3 else "")
    yield f"{source.name} from {files}: " + ("all" if found.whole else "the first") + f" {found.read:,} triples"
    yield "kinds: " + ", ".join(f"{kind or 'none'} {n:,}" for kind, n in found.kinds[:8])
    for relation, n in found.relations[:8]:
        backwards = ", read backwards" if relation.reverse else ""
        yield f"  {relation.name} {n:,}: {relation.role.value}{backwards}"
    if len(found.relations) > 8:
        yield f"  and {len(found.relations) - 8} more relations"
    yield from (f"  e.g. {head} -- {relation} --> {tail}" for head, relation, tail in found.triples)
    yield from found.dropped[:8]
    yield from (f"unsure: {text}" for text in found.unsure)


@app.command()
def get(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Which to fetch; none = list them. Or URL#sha256=... of a graph handed out, and its name here.",
            metavar="[NAME]...",
            autocompletion=_published_names,
        ),
    ] = None,
    given: Annotated[
        Path | None, typer.Option("--from", help="Its file, or a folder with its files, that was fetched by hand.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build even if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Fetch public graphs by name, check them and build them; without a name, list what there is."""
    from kgmed.graph.get import get_store, is_store, on_first_use, published
    from kgmed.prepare import prepare_together

    if not names:
        _published(as_json)
        return
    if is_store(names[0]):
        with screen.progress("fetching", "bytes") as fetching:
            manifest = get_store(names[0], name="".join(names[1:2]), fetching=fetching)
        screen.data(_summary(manifest)) if as_json else screen.lines([f"fetched {_counts(manifest)}"])
        return
    rows = [published(name) for name in names]
    built = [_get(row.name, given, force) for row in rows]
    library.prune()
    with screen.progress("joining all graphs, as they are asked", "rows") as progress:
        prepare_together(progress)
    if as_json:
        screen.data([{"fresh": b.fresh} | _summary(b.manifest) for b in built])
        return
    for row, one in zip(rows, built, strict=True):
        obliges = [f"  passing on: {row.passing_on}"] if row.passing_on else []
        screen.lines([_done(row.name, one), f"  licence: {row.licence}", *obliges, f"  cite: {row.citation}"])
        for file, digest in on_first_use(row):
            came = f"{file} was not known before; the one that came has the sha256 {digest}, and is the only one"
            screen.warn([came, "that will be taken from now on; compare it with one from elsewhere if you can"])


def _get(name: str, given: Path | None, force: bool) -> library.Built:
    """A graph, fetched and built, and what asking it needs, with progress."""
    from kgmed.graph.get import get as fetch
    from kgmed.prepare import prepare

    with screen.progress(f"fetching {name}", "bytes") as fetching:
        built = fetch(name, given=given, force=force, fetching=fetching)
    with screen.progress(f"preparing {name}", "parts") as progress:
        prepare(name, progress)
    return built


def _published(as_json: bool) -> None:
    """Print what can be fetched, and what of it is built."""
    from kgmed.graph.library import published_graphs

    there = {m.name for m in library.graphs()}
    if as_json:
        screen.data([{"row": row, "built": row.name in there} for row in published_graphs()])
        return
    rows = ((r.name, r.what, r.release, f"{r.size / 1e6:.1f}" if r.pinned and r.size else "", r.languages, r.licence,
             "yes" if r.name in there else "") for r in published_graphs())  # fmt: skip
    screen.table(("name", "what", "release", "MB", "names in", "licence", "built"), rows)
    screen.warn(
        ["fetch one with: kgmed graph get NAME; where no size is given, the file is known from the first time on"]
    )


@app.command()
def vectors(
    name: Name,
    train: Annotated[
        bool, typer.Option("--train", help="Train a map on the names and compute them through it.")
    ] = False,
    also: Annotated[
        list[str] | None, typer.Option("--with", help="Learn from the names of this graph too; may be repeated.")
    ] = None,
    encoder: Annotated[str, typer.Option(help="As `kgmed ask --encoder`; the embedded one if not given.")] = "",
    device: Annotated[str, typer.Option(help="The device: cpu, cuda, cuda:1, mps; local/... only.")] = "",
    precision: Annotated[str, typer.Option(help="As `kgmed ask --precision`; local/... only.")] = "",
    texts: Annotated[int, typer.Option(help="Batch size, 0 = 32; local/... only.", min=0)] = 0,
    to: Annotated[str, typer.Option(help="postgresql://...#NAME: write them to that database (pgvector).")] = "",
    as_json: Json = False,
) -> None:
    """Compute the vectors of all names, so that names are found by meaning among all of them; goes on where it stopped.

    Without them only the names that share most letters with a phrase are compared. With --train names of one entity
    are pulled together first, which finds more and is what links are decided by; about a minute (docs: linking).
    Vectors of another encoder or precision are kept beside those that are there.
    """
    from kgmed.prepare import vectors as compute

    with _kept(name):
        with screen.progress(f"encoding the names of {name}", "names") as progress:
            count, by = compute(
                name, progress, Config(encoder=encoder, device=device, precision=precision, texts=texts)
            )
        trained = _train(name, encoder, also or []) if train or also else 0
    if to:
        from kgmed.graph.remote.named import where_of
        from kgmed.prepare import vectors_to

        chosen = Config(encoder=encoder, device=device, precision=precision, texts=texts)
        with screen.progress(f"writing {where_of(to, graph=name)}", "names") as progress:
            vectors_to(name, to, progress, chosen)
    if as_json:
        screen.data({"graph": name, "names": count, "encoder": by, "map": trained})
    else:
        screen.lines([f"{name}: {count:,} names by {by}"])
        screen.lines([f"{name}: {trained:,} names through its map"] if trained else [])


@contextmanager
def _kept(name: str) -> Iterator[None]:
    """A block whose files are kept beside a graph; raises `StoreError` where they cannot be."""
    try:
        yield
    except OSError as e:
        if e.errno in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT):
            raise  # a full disk ends every command alike
        raise StoreError(f"the vectors of {name} cannot be kept ({e.strerror or e}); let its folder be written") from e


def _train(name: str, encoder: str, others: list[str]) -> int:
    """How many names have vectors through the map of a graph, which is trained if there is none.

    All graphs as one are served by it at once where they are joined.
    """
    from kgmed.prepare import lend_map, train_map

    with _kept(name), screen.steps(f"learning the names of {name}") as at:
        count = train_map(name, lambda what, done, of: at(f"{what} {done:,}/{of:,}"), encoder=encoder, others=others)
    if not count:
        screen.warn([f"{name} has too few other names to learn from; its names are found without a map"])
    with _kept("all graphs"), screen.steps("applying the map to all graphs") as at:
        lend_map(lambda what, done, of: at(f"{what} {done:,}/{of:,}"), encoder=encoder)
    return count


@app.command()
def load(
    name: Name,
    address: Annotated[
        str, typer.Argument(help="postgresql://, bolt:// or sparql+http://HOST/...[#NAME], without a password.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Write it even if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a graph to a database, unless it is there; ask it with --graph ADDRESS#NAME.

    The password is taken from PGPASSWORD or ~/.pgpass, of Bolt from NEO4J_PASSWORD.
    """
    from kgmed.graph.remote.named import load_into, where_of

    library.refuse_served(name)
    where = where_of(address, graph=name)
    with screen.progress(f"writing {where}", "triples") as progress:
        label, fresh = load_into(address, name, os.environ, force=force, progress=progress)
    said = "written to" if fresh else "stands there already, nothing to do:"
    if as_json:
        screen.data({"graph": label, "to": where, "fresh": fresh})
    else:
        screen.lines([f"{label} {said} {where}"])


@app.command()
def schema(
    address: Annotated[str, typer.Argument(help="bolt:// or postgresql://USER@HOST/DATABASE, without a password.")],
    as_json: Json = False,
) -> None:
    """Propose a mapping file for what a database holds: tables or labels as kinds, types as roles; write with > FILE.

    Correct it and ask with: --graph "ADDRESS?map=FILE#NAME".
    """
    from kgmed.graph.remote.named import proposed_mapping

    mapping = proposed_mapping(address, os.environ)
    screen.data(tomllib.loads(mapping)) if as_json else screen.lines(mapping.splitlines())


@app.command("map")
def map_(file: Annotated[Path, typer.Argument(help="A table.")], as_json: Json = False) -> None:
    """Propose a mapping of a file's columns; correct it, and build with --map. Write it with > FILE."""
    from kgmed.graph.formats.tables import first_map

    first = first_map(file)
    screen.data(tomllib.loads(first)) if as_json else screen.lines(first.splitlines())


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the graphs that have been built."""
    found, damaged = library.survey()
    if as_json:
        screen.data([_summary(m) for m in found])
    elif found:
        screen.table(
            ("name", "release", "entities", "triples", "MB"),
            ((m.name, m.release, m.counts["entities"], m.counts["triples"], f"{m.bytes / 1e6:.1f}") for m in found),
        )
        made = library.combinations()
        if made:
            sizes = {f.name: sum(file.stat().st_size for file in f.rglob("*") if file.is_file()) for f in made}
            screen.table(("joined for questions", "MB"), ((name, f"{n / 1e6:.1f}") for name, n in sizes.items()))
    elif not damaged:
        screen.warn(["no graph has been built yet; begin with: kgmed graph build hpo"])
    screen.warn(str(e) for e in damaged)


@app.command()
def info(name: Name, as_json: Json = False) -> None:
    """Tell where a graph comes from and what is in it."""
    from kgmed.graph.store.store import Store
    from kgmed.prepare import is_prepared, map_of, prepared_parts

    store = _here(name)
    m, folder = store.manifest, store.folder if isinstance(store, Store) else library.version_of(name)
    map_, ready, parts = ("", False, []) if m.shards else (map_of(name), is_prepared(name), prepared_parts(name))
    if as_json:
        told = {"label": store.label, "folder": str(folder), "map": map_, "prepared": ready, "parts": parts}
        screen.data(told | _summary(m))
        return
    told = {
        "graph": store.label, "source": f"{m.source} {m.release}".strip(), "licence": m.licence, "citation": m.citation,
        "language": m.language, "holds": _counts(m), "kinds": ", ".join(k for k in m.kinds if k),
        "on disk": f"{m.bytes / 1e6:.1f} MB in {folder}",
        "shards": m.shards,
        "prepared": not m.shards and ("yes" if ready else "no; the first question of it alone does it"),
        "kept beside it": ", ".join(parts),
        "map": map_ or (not m.shards and f"none; names are found by meaning after: kgmed graph vectors {name} --train"),
    }  # fmt: skip
    screen.table(("what", "value"), ((k, v) for k, v in told.items() if v))


@app.command()
def find(
    name: Name, query: Annotated[str, typer.Argument(help="A name.")], limit: Limit = 10, as_json: Json = False
) -> None:
    """Find entities by name: as written, then nearly so."""
    from kgmed.graph.store.store import Store

    store = _opened(name)
    matches = library.find(store, query, limit=limit) if isinstance(store, Store) else store.lookup(query)[:limit]
    if as_json:
        screen.data(matches)
    elif matches:
        rows = ((m.entity.id, m.entity.name, m.entity.kind, m.name, m.how, f"{m.score:.2f}") for m in matches)
        screen.table(("id", "name", "kind", "found by", "how", "score"), rows)
    else:
        alike = "" if isinstance(store, Store) else "; similar ones are looked for in graphs in one piece here"
        screen.warn([f"{store.name} has no name like {query!r}{alike}"])


@app.command()
def show(name: Name, entity: EntityText, limit: Limit = 20, as_json: Json = False) -> None:
    """Show all about an entity: description, other names, texts, neighbours."""
    graph = _opened(name)
    about = library.about(graph, _resolved(graph, entity).id, limit=limit)
    if as_json:
        screen.data(about)
        return
    e = about.entity
    screen.lines([f"{e.name} ({e.id}{', ' + e.kind if e.kind else ''})"])
    screen.lines(text for text in (e.description,) if text)
    screen.lines(f"also: {text} ({scope})" for text, scope in about.aliases)
    screen.lines(f"{t.relation}: {t.tail.name}" for t in about.attributes)
    _triples(about.neighbours)
    if about.degree > len(about.neighbours):
        screen.warn([f"{about.degree - len(about.neighbours):,} more triples; show more with --limit"])


@app.command()
def neighbours(
    name: Name,
    entity: EntityText,
    role: Annotated[list[Role] | None, typer.Option(help="Only these roles; may be repeated.")] = None,
    limit: Limit = 64,
    as_json: Json = False,
) -> None:
    """List the triples around an entity, as answers list them."""
    from kgmed.graph.store.store import Store
    from kgmed.steps.retrieve import as_listed

    graph, roles = _opened(name), role or ()
    thing = _resolved(graph, entity)
    if isinstance(graph, Store):
        found = graph.triples(as_listed(graph, thing, roles)[0][:limit])
    else:
        found = graph.neighbours(thing.id, limit=limit, roles=roles)
    screen.data(found) if as_json else _triples(found)


@app.command()
def paths(
    name: Name,
    entities: Annotated[list[str], typer.Argument(help="Two or more, by id or name.", metavar="A B ...")],
    hops: Annotated[int, typer.Option(help="Longest path; 0 = 5 between two, 3 between more.", min=0, max=5)] = 0,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Show the shortest paths between two entities, or the chains between several."""
    from kgmed.graph.search.batched import paths_on

    graph = _opened(name)
    found = paths_on(graph, [_resolved(graph, text) for text in entities], hops=hops, limit=limit)
    if as_json:
        screen.data(found)
        return
    screen.lines(str(path) for path in found.paths)
    screen.warn([f"{len(found.paths):,} of {found.total:,} paths"] if found.total else ["no path"])
    screen.warn(f"the search was cut by its budget of {what}; there may be more" for what in found.cut)


@app.command()
def add(
    name: Name,
    head: EntityText,
    relation: RelationText,
    tail: EntityText,
    reference: Annotated[str, typer.Option(help="Its source, such as PMID:29067653.")] = "",
    note: Note = "",
    weight: Annotated[float, typer.Option(help="0..1.")] = 1.0,
    new: Annotated[bool, typer.Option("--new", help="Add an entity for an end that the graph lacks.")] = False,
    as_json: Json = False,
) -> None:
    """Add a triple to a graph without building it again."""
    triple = head, relation, tail
    edit = library.add(name, triple, reference=reference, note=note, weight=weight, new=new)
    screen.data(edit) if as_json else screen.lines([f"added {' | '.join(edit.triple)}"])


@app.command()
def withdraw(
    name: Name, head: EntityText, relation: RelationText, tail: EntityText, note: Note = "", as_json: Json = False
) -> None:
    """Withdraw a triple from a graph without building it again."""
    edit = library.withdraw(name, (head, relation, tail), note=note)
    screen.data(edit) if as_json else screen.lines([f"withdrew {' | '.join(edit.triple)}"])


@app.command()
def edits(name: Name, as_json: Json = False) -> None:
    """List what was added to a graph and withdrawn from it."""
    journal = library.edits(name)
    if as_json:
        screen.data(journal)
        return
    rows = ((e.what, *e.triple, e.reference, e.note) for e in journal.edits)
    screen.table(("edit", "head", "relation", "tail", "reference", "note"), rows)
    screen.warn(journal.notes)


@app.command()
def doctor(name: Name, as_json: Json = False) -> None:
    """Look for damage and for traits that lead to poor answers; exit code 1 only when it is damaged."""
    from kgmed.graph.doctor import examine, examine_shards

    if library.in_shards(name):
        report = examine_shards(library.shards(name))
    else:
        names = library.named(name)
        notes = tuple(note for one in names for note in library.edits(one).notes)
        parts = [library.load(one) for one in names] if len(names) > 1 else []
        report = examine(library.load(name), notes=notes, parts=parts)
    if as_json:
        screen.data(report)
    else:
        print_report(report)
    raise typer.Exit(1 if report.damage else 0)


@app.command()
def export(
    name: Name,
    to: Annotated[
        Path, typer.Option(help="A .tsv, .csv, .jsonl, .nt or .graphml file; or a new folder, to hand it out.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a graph, edits included, to a file; or its files, without edits, to a folder from which it is fetched."""
    from kgmed.graph.export import export as write

    if not to.suffix:
        from kgmed.graph.get import INDEX, hand_out

        digest = hand_out(library.version_of(name), to)
        told = {"folder": str(to), "sha256": digest}
        how = f"serve the folder, and fetch the graph by: kgmed graph get ADDRESS/{INDEX}#sha256={digest}"
        screen.data(told) if as_json else screen.lines([f"{name} is in {to}", how])
        return

    store = _here(name)
    with screen.progress(f"writing {to.name}", "triples") as progress:
        count = write(store, to, overwrite=force, progress=progress)
    said: dict[str, Any] = {"file": str(to), "triples": count}
    screen.data(said) if as_json else screen.lines([f"{count:,} triples written to {to}"])


def _here(name: str) -> "Store | Shards":
    """The graph of a name whose files are here, in one piece or in shards."""
    return library.shards(name) if library.in_shards(name) else library.load(name)


def _opened(name: str) -> KnowledgeGraph:
    """The graph of a name, or behind an address."""
    if not library.is_remote(name):
        return library.load(name)
    from kgmed.session import open_named

    return open_named(name)


def _resolved(graph: KnowledgeGraph, text: str) -> Entity:
    """The entity of that id or name, in a graph behind a server the best of that name."""
    from kgmed.graph.store.shards import Shards
    from kgmed.graph.store.store import Store

    if isinstance(graph, Store | Shards):
        return library.resolve(graph, text)
    found = graph.lookup(text)
    return found[0].entity if found else graph.entity(text)


def _triples(found: Sequence[Triple]) -> None:
    """Print triples by relation, in the order of each relation's first."""
    order = list(dict.fromkeys(t.relation.name for t in found))
    rows = sorted(found, key=lambda t: order.index(t.relation.name))
    screen.table(
        ("head", "relation", "tail", "weight", "references", "source"),
        ((t.head.name, t.relation, t.tail.name, f"{t.weight:g}", " ".join(t.references), t.source) for t in rows),
    )


def _counts(manifest: Manifest) -> str:
    names = "entities", "triples", "relations", "aliases", "texts"
    return ", ".join(f"{manifest.counts.get(n, 0):,} {n}" for n in names)


def _summary(m: Manifest) -> dict[str, Any]:
    """What a manifest says but for its files."""
    names = "name", "source", "release", "licence", "citation", "language", "content", "counts", "dropped"
    relations = zip(m.relations, m.relation_counts, strict=True)
    return {n: getattr(m, n) for n in names} | {
        "bytes": m.bytes,
        "relations": [{"name": r.name, "role": r.role, "reverse": r.reverse, "triples": n} for r, n in relations],
    }
