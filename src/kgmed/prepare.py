"""What a graph needs before it is asked, so that no question waits: indexes of its names, vectors, a map."""

from collections.abc import Callable, Sequence

from kgmed.config import Config
from kgmed.graph import library
from kgmed.graph.complete import Completions
from kgmed.graph.names import Fuzzy
from kgmed.graph.store.store import Store
from kgmed.models.encoders import NgramEncoder
from kgmed.session import Progress, check_models, encoder_named, run_here
from kgmed.toolkit import Toolkit, default_encoder


def prepare(name: str) -> None:
    """Compute what asking a graph needs (the indexes of its names), so that the first question does not wait for it."""
    store = library.load(name)
    Toolkit(store, encoder=NgramEncoder()).prepare()
    Completions(store)


def prepare_together(progress: Progress | None = None) -> None:
    """Make one graph of all that are built, as `auto` asks it, with its indexes, so that no question waits for it.

    Where a packaged graph is not built yet, the first question builds it and joins all: nothing is made before.
    """
    if joined_later():
        return
    graph = _whole(progress)
    if graph is None:
        return
    Completions(graph)
    for language in ("en", "zh"):
        Toolkit(graph.speaking(language), encoder=NgramEncoder()).prepare()


def joined_later() -> bool:
    """Whether the first question joins graphs anew, since a packaged one that it asks is not built yet."""
    return not library.languages().keys() <= {m.name for m in library.graphs()}


def _whole(progress: Progress | None = None) -> Store | None:
    """All graphs that are built as one; None where there are not several."""
    names = [m.name for m in library.graphs()]
    names = sorted(names, key=list(library.languages()).index)
    return library.together(names, progress=progress) if len(names) > 1 else None


def vectors(name: str, progress: Progress, chosen: Config) -> tuple[int, str]:
    """How many names of a graph have vectors now, and by which encoder, which is the one that is chosen."""
    from kgmed.graph.vectors import compute

    check_models(chosen)
    store, found = library.load(name), encoder_named(chosen.encoder, **run_here(chosen))
    compute(store, found, lambda done, of: progress(done))
    return len(Fuzzy(store)), found.name


def vectors_to(name: str, address: str, progress: Progress, chosen: Config) -> int:
    """How many names of a graph now have vectors beside it in PostgreSQL; they are computed here where they are not."""
    from kgmed.graph.remote.pgvector import write
    from kgmed.graph.remote.postgres import Address
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


def lend_map(progress: Callable[[str, int, int], None], *, encoder: str = "", asked: bool = False) -> int:
    """How many names of all graphs as one have vectors through a map now; 0 where no graph of them has one.

    The map is its own, else that of the graph, or of the graphs as one, that has learnt most names. Where the first
    question joins graphs anew, those that are built are joined before only if `asked` to be.
    """
    if joined_later() and not asked:
        return 0
    from kgmed.linking.align import learnt_by, lend, open_map

    whole, parts, found = _whole(), [library.load(m.name) for m in library.graphs()], encoder_named(encoder)
    if whole is None or (open_map(whole, found) and learnt_by(whole, found) == whole.label):
        return 0
    able = [g for g in (*parts, *library.joined(whole.manifest.parts)) if g.label != whole.label and open_map(g, found)]
    lender = max(able, key=lambda g: (len(Fuzzy(g)), g.label), default=None)
    if lender is None or (open_map(whole, found) and learnt_by(whole, found) == learnt_by(lender, found)):
        return 0
    made = lend(lender, whole, found, progress, known=parts)
    return len(made) if made else 0


def map_of(name: str) -> str:
    """The map of a graph for the embedded encoder, in words; "" where none is trained."""
    from kgmed.linking.align import learnt_by, open_aligned

    graph, encoder = library.load(name), default_encoder()
    found = open_aligned(graph, encoder)
    if not found:
        return ""
    learnt = learnt_by(graph, encoder)
    return f"{len(found):,} names by {found.encoder.name}" + (f", learnt by {learnt}" if learnt != graph.label else "")
