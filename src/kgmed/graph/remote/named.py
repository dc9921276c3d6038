"""Remote graphs by the names that a person types, each behind its persistent cache.

`umls-rest` is UMLS through UTS, `dbpedia` and `wikidata` their public SPARQL endpoints; `+URL` names another server of
the kind. `sparql+URL` is asked in the vocabulary of Wikidata where its host says so, else of DBpedia.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from kgmed.errors import UnknownName
from kgmed.graph.base import KnowledgeGraph
from kgmed.graph.library import is_remote
from kgmed.graph.remote.cache import CachedGraph
from kgmed.graph.remote.sparql import DBPEDIA, WIKIDATA, Sparql
from kgmed.graph.remote.umls import OFFICIAL, Umls

FORMS = ("umls-rest", "umls-rest+URL", "dbpedia", "dbpedia+URL", "wikidata", "wikidata+URL", "sparql+URL")
FILE = "remote.sqlite"


def open_remote(name: str, folder: Path, environment: Mapping[str, str]) -> CachedGraph:
    """The graph of that name; its answers are kept in `remote.sqlite` of a folder, never its key.

    The key of UMLS comes from UMLS_API_KEY. Raises `UnknownName`, `BadInput`, and `Unavailable` without a key.
    """
    kind, _, url = name.partition("+")
    if not is_remote(name):
        raise UnknownName("remote graph", name, FORMS)
    return CachedGraph(_KINDS[kind](url, environment), folder / FILE)


def _umls(url: str, environment: Mapping[str, str]) -> KnowledgeGraph:
    return Umls(url or OFFICIAL, environment=environment)


def _dbpedia(url: str, environment: Mapping[str, str]) -> KnowledgeGraph:
    return Sparql(DBPEDIA, url)


def _wikidata(url: str, environment: Mapping[str, str]) -> KnowledgeGraph:
    return Sparql(WIKIDATA, url)


def _sparql(url: str, environment: Mapping[str, str]) -> KnowledgeGraph:
    return Sparql(WIKIDATA if "wikidata" in (urlsplit(url).hostname or "") else DBPEDIA, url)


_KINDS: dict[str, Callable[[str, Mapping[str, str]], KnowledgeGraph]] = {
    "umls-rest": _umls,
    "dbpedia": _dbpedia,
    "wikidata": _wikidata,
    "sparql": _sparql,
}
