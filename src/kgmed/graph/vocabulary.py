"""The English words in which a graph describes things: a word of these is no name that the graph lacks."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import xxhash

from kgmed.graph.base import LocalGraph
from kgmed.graph.derived import Arrays, cached_arrays
from kgmed.language.lay import porter2
from kgmed.language.text import lazily

_VERSION = "vocabulary 1"
_WORD = lazily(r"[a-z]{3,}")
_SEEN = 2  # ours: descriptions that a word stands in, so that it is no slip


def is_spoken(graph: LocalGraph, word: str) -> bool:
    """Whether a word, in any of its forms, stands in several descriptions of a graph; never of a graph without any."""
    hashes = _words(graph)["hash"]
    wanted = _hash(porter2(word.casefold()))
    at = int(hashes.searchsorted(wanted))
    return at < len(hashes) and bool(hashes[at] == wanted)


@lru_cache(maxsize=4)
def _words(graph: LocalGraph) -> Arrays:
    """The sorted hashes of the stems, kept beside the graph."""
    told: Iterable[str] = getattr(getattr(graph, "tables", None), "description", ())
    return cached_arrays(graph.folder, "vocabulary", f"{_VERSION} {graph.label}", ("hash",), lambda: _counted(told))


def _counted(told: Iterable[str]) -> Arrays:
    """The stems of the words that stand in several texts, in lower case: names of persons are not among them."""
    seen = Counter(word for text in told for word in {*re.findall(_WORD.pattern, text)})
    stems = {porter2(word) for word, count in seen.items() if count >= _SEEN}
    return {"hash": np.unique(np.array([_hash(stem) for stem in stems], np.uint64))}


def _hash(stem: str) -> np.uint64:
    return np.uint64(xxhash.xxh3_64_intdigest(stem.encode()))
