"""What a graph needs before it is asked, so that no question waits: indexes of its names, vectors, a map."""

from collections.abc import Callable, Sequence
from pathlib import Path

from kgmed import toolkit
from kgmed.config import Config
from kgmed.derived import places
from kgmed.graph import library
from kgmed.graph.names import Fuzzy
from kgmed.session import Progress, check_models, encoder_named, open_named, run_here
from kgmed.toolkit import default_encoder


def build_graph(
    name: str,
    path: Path | None = None,
    *,
    format: str = "",
    force: bool = False,
    progress: Progress | None = None,
    relations: Path | None = None,
    columns: Path | None = None,
) -> library.Built:
    """`library.build_graph`, and what asking the graph needs, so that no question waits for it.

    `progress` is called with the number of rows read so far. Raises `BadInput`, `SourceError`, `Unavailable`,
    `StoreError`; the graph that was there stays then.
    """
    built = library.build_graph(
        name, path, format=format, force=force, progress=progress, relations=relations, columns=columns
    )
    prepare(name)
    return built


def prepare(name: str, progress: Progress | None = None) -> None:
    """Compute what asking a graph needs (the indexes of its names), so that the first question does not wait for it.

    `progress` is called with the number of parts that are done.
    """
    toolkit.prepare(library.load(name), progress)


def prepare_together(progress: Progress | None = None) -> None:
    """Join all graphs that are here, as a question that names none asks them, and compute what asking the whole needs.

    `progress` is called with the number of rows read so far. A question does it where packaged graphs are not built.
    """
    if len(names := [m.name for m in library.graphs()]) > 1 and library.languages().keys() <= set(names):
        open_named(",".join(names), progress=progress)


def prepared_parts(name: str) -> list[str]:
    """The sorts of what has been computed from a graph and is kept beside it: complete, diagnosis, fuzzy, ..."""
    folder = library.load(name).folder
    return sorted({str(at.relative_to(Path(folder) / "derived")).rpartition("-")[0] for at in places(folder)})


def is_prepared(name: str) -> bool:
    """Whether what asking a graph needs has been computed."""
    return toolkit.is_prepared(library.load(name))


def vectors(name: str, progress: Progress, chosen: Config) -> tuple[int, str]:
    """How many names of a graph have vectors now, and by which encoder, which is the one that is chosen."""
    from kgmed.graph.vectors import compute

    check_models(chosen)
    store, found = library.load(name), encoder_named(chosen.encoder, **run_here(chosen))
    compute(store, found, lambda done, of: progress(done))
    return len(Fuzzy(store)), found.name


def vectors_to(name: str, address: str, progress: Progress, chosen: Config) -> int:
    """How many names of a graph now have vectors beside it in PostgreSQL; they are computed here where they are not."""
    from kgmed.graph.remote.postgres import Address, write
    from kgmed.graph.vectors import compute

    store, found = library.load(name), encoder_named(chosen.encoder, **run_here(chosen))
    to = Address.of(address, graph=name)
    return write(compute(store, found), store.label, to, lambda done, of: progress(done))


def train_map(
    name: str, progress: Callable[[str, int, int], None], *, encoder: str = "", others: Sequence[str] = ()
) -> int:
    """How many names of a graph have vectors through a map trained on them; 0 where they are too few to learn from."""
    from kgmed.linking.align import align

    graphs, known = [library.load(other) for other in others], [library.load(m.name) for m in library.graphs()]
    found = align(library.load(name), encoder_named(encoder), progress, others=graphs, known=known)
    return len(found) if found else 0


def lend_map(progress: Callable[[str, int, int], None], *, encoder: str = "") -> int:
    """How many names of all graphs as one, where they are joined already, have vectors now through a map they lacked.

    Its own map is kept. Graphs that are not joined yet are served by one when the first question joins them.
    """
    from kgmed.linking.align import learnt_by, open_map, serve

    names, found = [m.name for m in library.graphs()], encoder_named(encoder)
    whole = library.standing(names) if len(names) > 1 else None
    if whole is None or (open_map(whole, found) and learnt_by(whole, found) == whole.label):
        return 0
    return serve(whole, library.members(names, whole), found, progress)


def map_of(name: str) -> str:
    """The map of a graph for the embedded encoder, in words; "" where none is trained."""
    from kgmed.linking.align import learnt_by, open_aligned

    graph, encoder = library.load(name), default_encoder()
    found = open_aligned(graph, encoder)
    if not found:
        return ""
    learnt = learnt_by(graph, encoder)
    return f"{len(found):,} names by {found.encoder.name}" + (f", learnt by {learnt}" if learnt != graph.label else "")
