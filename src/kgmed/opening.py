"""From the names that a person types to an `Asker`: graphs of the data folder, a method, a language model."""

from collections.abc import Callable

from kgmed.answering import AUTO, Asker
from kgmed.errors import Unavailable
from kgmed.folders import data_folder
from kgmed.kg import library, sources
from kgmed.kg.fuzzy import Fuzzy
from kgmed.kg.graph import LocalGraph
from kgmed.kg.vectors import compute
from kgmed.kit import Kit, default_encoder
from kgmed.models.choose import llm_from
from kgmed.models.ngram import NgramEncoder
from kgmed.registry import method as method_named

Progress = Callable[[int], None]


def asker(graph: str, *, method: str, llm: str, base_url: str, progress: Progress | None) -> Asker:
    """See `kgmed.load`."""
    if method != AUTO:
        method_named(method)
    model = llm_from(llm, base_url=base_url, folder=data_folder()) if llm else None
    languages = _languages()
    names = tuple(languages) if graph == AUTO else (graph,)
    if not names:
        raise Unavailable('no graph is here; pip install "kgmed[starter]", or: kgmed graph build NAME FILE')
    return Asker(names, lambda name: _open(name, progress), languages, method, model)


def prepare(name: str) -> None:
    """Compute what asking a graph needs (the indexes of its names), so that the first question does not wait for it."""
    Kit(library.load(name), encoder=NgramEncoder()).prepare()


def vectors(name: str, progress: Progress) -> tuple[int, str]:
    """How many names of a graph have vectors now, and by which encoder."""
    store, encoder = library.load(name), default_encoder()
    compute(store, encoder, lambda done, of: progress(done))
    return len(Fuzzy(store)), encoder.name


def _languages() -> dict[str, str]:
    """The graphs that can be asked, packaged ones first, with the language of their names."""
    built = {m.name: m.language for m in library.graphs()}
    packaged = {name: built.get(name) or _language(name) for name in library.PACKAGED}
    return {name: language for name, language in packaged.items() if language is not None} | built


def _language(name: str) -> str | None:
    """The language of a packaged graph that is not built yet; None where its package is not installed."""
    try:
        return sources.read(library.PACKAGED[name], None, name=name).language
    except Unavailable:
        return None


def _open(name: str, progress: Progress | None) -> LocalGraph:
    """A graph by name or folder; a packaged one is built when it is not there yet."""
    if name in library.PACKAGED and not any(m.name == name for m in library.graphs()):
        library.build_graph(name, progress=progress)
    return library.load(name)
