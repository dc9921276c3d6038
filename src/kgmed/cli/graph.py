"""`kgmed graph`: build, get, list, info, find, show, neighbours, paths, add, withdraw, edits, doctor, export."""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from kgmed.cli import show as screen
from kgmed.errors import StoreError
from kgmed.graph import library
from kgmed.graph.doctor import Finding, GraphReport
from kgmed.graph.store.folder import Manifest
from kgmed.records import Role, Triple

# --- The doctor's report on the screen.


def print_report(report: GraphReport) -> None:
    """Print what was found, damage first."""
    screen.lines([report.graph, *(f"DAMAGED: {text}" for text in report.damage)])
    screen.lines(_content(report))
    screen.warn(report.notes)
    rows = ((r.name, r.role, "yes" if r.reverse else "", r.triples) for r in report.relations)
    screen.table(("relation", "role", "reverse", "triples"), rows)


def _content(report: GraphReport) -> Iterator[str]:
    for reason, said in report.dropped.items():
        yield f"rows dropped ({reason}): {said['count']:,}, first in line {', '.join(map(str, said['lines']))}"
    yield f"rows that repeated a triple, merged: {report.merged:,}"
    yield from _finding("edges from an entity to itself", report.loops)
    yield from _finding("entities without a triple or text", report.isolated)
    yield from _finding("names that several entities share", report.ambiguous)
    if report.joins:
        records = sum(len(join.ids) for join in report.joins)
        yield f"records of one thing that were joined: {records:,} to {len(report.joins):,}"
        yield from (f"  {' = '.join(join.ids)} ({'; '.join(join.why)})" for join in report.joins[:5])
    yield f"edges with an edge back: {report.reversed_share:.1%}"
    for pair in report.inverses:
        yield f"{pair.relation} and {pair.inverse} look inverse; {pair.missing:,} of {pair.triples:,} have no edge back"
        yield from (f"  {text}" for text in pair.examples)


def _finding(what: str, finding: Finding) -> Iterator[str]:
    yield f"{what}: {finding.count:,}"
    yield from (f"  {text}" for text in finding.examples)


# --- `kgmed graph`: build, get, list, info, find, show, neighbours, paths, add, withdraw, edits, doctor, export.


app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A graph's name (hpo, cmekg, or your own) or its folder.", metavar="NAME")]
EntityText = Annotated[str, typer.Argument(help="An id or a name.", metavar="ENTITY")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_WORTH, _AT_BUILD = 1_000, 250_000  # names that are learnt after a build without being asked to: in three minutes
Limit = Annotated[int, typer.Option(help="How many to show.", min=1)]


@app.command()
def build(
    name: Annotated[str, typer.Argument(help="What the graph is to be called.")],
    path: Annotated[Path | None, typer.Argument(help="Its file or folder; hpo and cmekg need none.")] = None,
    format: Annotated[str, typer.Option(help="hpo, cmekg, triples, obo, rdf, ...; found out if not given.")] = "",
    relations: Annotated[Path | None, typer.Option(help="A TOML table of what the relations mean.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Build although it stands there already.")] = False,
    train: Annotated[
        bool,
        typer.Option("--train/--no-train", help="Then learn its names, about a minute; it can be asked meanwhile."),
    ] = True,
    as_json: Json = False,
) -> None:
    """Build a graph from its files, unless it stands there already."""
    with screen.progress(f"building {name}", "rows") as progress:
        built = library.build_graph(name, path, format=format, force=force, progress=progress, relations=relations)
        if built.fresh:
            from kgmed.session import prepare

            prepare(name)
    if built.fresh:
        together()
    if as_json:
        screen.data({"fresh": built.fresh} | _summary(built.manifest))
    else:
        said = "built" if built.fresh else "is up to date, nothing to do; --force builds it again:"
        screen.lines([f"{name} {said} {_counts(built.manifest)}"])
    names = built.manifest.counts["entities"] + built.manifest.counts["aliases"]
    if built.fresh and train and _WORTH <= names <= _AT_BUILD:
        _train(name, "", [])


def together() -> None:
    """Make one graph of all that are built, where there are several."""
    from kgmed.session import prepare_together

    with screen.progress("joining the graphs", "rows") as progress:
        prepare_together(progress)


@app.command()
def get(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which to fetch; none = list them.", metavar="[NAME]...")
    ] = None,
    given: Annotated[
        Path | None, typer.Option("--from", help="Its file, or a folder with its files, that was fetched by hand.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build although it stands there already.")] = False,
    as_json: Json = False,
) -> None:
    """Fetch public graphs by name, check them and build them; without a name, list what there is."""
    from kgmed.graph.get import published

    if not names:
        _published(as_json)
        return
    rows = [published(name) for name in names]
    built = [_get(row.name, given, force) for row in rows]
    if any(one.fresh for one in built):
        together()
    if as_json:
        screen.data([{"fresh": b.fresh} | _summary(b.manifest) for b in built])
        return
    for row, one in zip(rows, built, strict=True):
        said = "built" if one.fresh else "is up to date, nothing to do; --force builds it again:"
        screen.lines([f"{row.name} {said} {_counts(one.manifest)}", f"  licence: {row.licence}"])
        screen.lines([f"  cite: {row.citation}"])


def _get(name: str, given: Path | None, force: bool) -> library.Built:
    """A graph, fetched and built, with progress for both."""
    from kgmed.graph.get import get as fetch
    from kgmed.session import prepare

    with screen.progress(f"fetching {name}", "bytes") as fetching:
        built = fetch(name, given=given, force=force, fetching=fetching)
    if built.fresh:
        with screen.progress(f"preparing {name}", "names"):
            prepare(name)
    return built


def _published(as_json: bool) -> None:
    """Print what can be fetched, and what of it is built."""
    from kgmed.graph.get import TABLE

    there = {m.name for m in library.graphs()}
    if as_json:
        screen.data([{"row": row, "built": row.name in there} for row in TABLE])
        return
    screen.table(
        ("name", "what", "release", "MB", "names in", "licence", "built"),
        (
            (r.name, r.what, r.release, f"{r.size / 1e6:.1f}", r.languages, r.licence, "yes" if r.name in there else "")
            for r in TABLE
        ),
    )
    screen.warn(["fetch one with: kgmed graph get NAME"])


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
    as_json: Json = False,
) -> None:
    """Compute the vectors of all names, so that names are found by meaning among all of them; goes on where it stopped.

    Without them only the names that share most letters with a phrase are compared. With --train names of one entity
    are pulled together first, which finds more and is what links are decided by; about a minute (docs: linking).
    """
    from kgmed.session import vectors as compute

    with _kept(name):
        with screen.progress(f"encoding the names of {name}", "names") as progress:
            count, by = compute(name, progress, encoder=encoder)
        trained = _train(name, encoder, also or []) if train or also else 0
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
    """How many names have vectors through the map of a graph, which is trained if there is none."""
    from kgmed.session import train_map

    with _kept(name), screen.steps(f"learning the names of {name}") as at:
        count = train_map(name, lambda what, done, of: at(f"{what} {done:,}/{of:,}"), encoder=encoder, others=others)
    if not count:
        screen.warn([f"{name} has too few other names to learn from; its names are found without a map"])
    return count


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
    elif not damaged:
        screen.warn(["no graph has been built yet; begin with: kgmed graph build hpo"])
    screen.warn(str(e) for e in damaged)


@app.command()
def info(name: Name, as_json: Json = False) -> None:
    """Tell where a graph comes from and what is in it."""
    from kgmed.session import map_of

    store = library.load(name)
    m = store.manifest
    if as_json:
        screen.data({"label": store.label, "folder": store.folder, "map": map_of(name)} | _summary(m))
        return
    told = {
        "graph": store.label, "source": f"{m.source} {m.release}".strip(), "licence": m.licence, "citation": m.citation,
        "language": m.language, "holds": _counts(m), "kinds": ", ".join(k for k in m.kinds if k),
        "on disk": f"{m.bytes / 1e6:.1f} MB in {store.folder}",
        "map": map_of(name) or f"none; names are found by meaning after: kgmed graph vectors {name} --train",
    }  # fmt: skip
    screen.table(("what", "value"), ((k, v) for k, v in told.items() if v))


@app.command()
def find(
    name: Name, query: Annotated[str, typer.Argument(help="A name.")], limit: Limit = 10, as_json: Json = False
) -> None:
    """Find entities by name: as written, then nearly so."""
    store = library.load(name)
    matches = library.find(store, query, limit=limit)
    if as_json:
        screen.data(matches)
    elif matches:
        rows = ((m.entity.id, m.entity.name, m.entity.kind, m.name, m.how, f"{m.score:.2f}") for m in matches)
        screen.table(("id", "name", "kind", "found by", "how", "score"), rows)
    else:
        screen.warn([f"{store.name} has no name like {query!r}"])


@app.command()
def show(name: Name, entity: EntityText, limit: Limit = 20, as_json: Json = False) -> None:
    """Show all about an entity: description, other names, texts, neighbours."""
    store = library.load(name)
    about = library.about(store, entity, limit=limit)
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
    """List the triples around an entity, heaviest first."""
    store = library.load(name)
    found = store.neighbours(library.resolve(store, entity).id, limit=limit, roles=role or ())
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
    from kgmed.graph.search.paths import paths_between as between

    store = library.load(name)
    found = between(store, [library.resolve(store, text) for text in entities], hops=hops, limit=limit)
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
    relation: Annotated[str, typer.Argument()],
    tail: EntityText,
    reference: Annotated[str, typer.Option(help="Where it is said, such as PMID:29067653.")] = "",
    note: Annotated[str, typer.Option(help="A remark.")] = "",
    weight: Annotated[float, typer.Option(help="0..1.")] = 1.0,
    new: Annotated[bool, typer.Option("--new", help="An end that is not in the graph becomes an entity.")] = False,
    as_json: Json = False,
) -> None:
    """Add a triple to a graph without building it again."""
    triple = head, relation, tail
    edit = library.add(name, triple, reference=reference, note=note, weight=weight, new=new)
    screen.data(edit) if as_json else screen.lines([f"added {' | '.join(edit.triple)}"])


@app.command()
def withdraw(
    name: Name,
    head: EntityText,
    relation: Annotated[str, typer.Argument()],
    tail: EntityText,
    note: Annotated[str, typer.Option(help="A remark.")] = "",
    as_json: Json = False,
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
    from kgmed.graph.doctor import examine

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
    to: Annotated[Path, typer.Option(help="A .tsv, .csv, .jsonl, .nt or .graphml file.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a graph, edits included, to a file."""
    from kgmed.graph.export import export as write

    store = library.load(name)
    with screen.progress(f"writing {to.name}", "triples") as progress:
        count = write(store, to, overwrite=force, progress=progress)
    told: dict[str, Any] = {"file": str(to), "triples": count}
    screen.data(told) if as_json else screen.lines([f"{count:,} triples written to {to}"])


def _triples(found: Sequence[Triple]) -> None:
    """Print triples by relation, in the order of each relation's first."""
    order = list(dict.fromkeys(t.relation.name for t in found))
    rows = sorted(found, key=lambda t: order.index(t.relation.name))
    screen.table(
        ("head", "relation", "tail", "weight", "references", "source"),
        ((t.head.name, t.relation, t.tail.name, f"{t.weight:g}", " ".join(t.references), t.source) for t in rows),
    )


def _counts(manifest: Manifest) -> str:
    """The main counts of a graph on one line."""
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
