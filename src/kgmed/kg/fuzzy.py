"""Names of a graph that look like a given one: character n-grams find them, edit distance ranks them.

Postings of 2-grams (names with Chinese or Japanese characters) or 3-grams (others), padded at both ends, as .npy
arrays. The rarest grams of the query are read first; names are shortlisted by Jaccard similarity of their grams and
ranked by edit similarity: 1 - edits / length, two swapped letters being one edit (optimal string alignment).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from kgmed.kg.beside import Arrays, kept
from kgmed.kg.graph import LocalGraph
from kgmed.kg.rows import Scope
from kgmed.kg.text import fold_word, has_cjk, normalise

_VERSION = "fuzzy 2"
_SCOPES = tuple(s for s in Scope if s is not Scope.XREF)
_SHORTLIST = 64  # names ranked by edit distance
_READ = 400_000  # postings read a query at most, those of the rarest grams first
_LONGEST = 120  # characters; longer names are sentences
_BITS = np.uint64(21)  # of a code point


class Near(NamedTuple):
    """A name of the graph and how alike it is: 1 = the same; `row` = its number in the list of names."""

    name: str
    score: float
    row: int


class Fuzzy:
    """The distinct names of a graph, searched by likeness. Made at the first search and kept beside the graph."""

    def __init__(self, graph: LocalGraph) -> None:
        """Over the names and aliases of a graph (not its cross-references)."""
        self.graph = graph
        self._made: Arrays | None = None

    def __len__(self) -> int:
        """The number of distinct names."""
        return len(self._arrays()["ends"])

    def name(self, row: int) -> str:
        """The name of that number, as the graph writes it."""
        arrays = self._arrays()
        start = int(arrays["ends"][row - 1]) if row else 0
        return bytes(arrays["text"][start : int(arrays["ends"][row])]).decode("utf-8")

    def search(self, name: str, *, limit: int = 10, at_least: float = 0.0) -> list[Near]:
        """The names most like `name` by edit distance, best first, ties by name."""
        key = normalise(name)
        rows = self.shortlist(name, limit=max(_SHORTLIST, limit))
        keys = {int(r): normalise(self.name(int(r))) for r in rows}
        scored = process.extract(
            key, keys, scorer=OSA.normalized_similarity, processor=None, limit=None, score_cutoff=at_least
        )
        near = [Near(self.name(row), float(score), row) for _, score, row in scored]
        return sorted(near, key=lambda n: (-n.score, n.name))[:limit]

    def knows(self, word: str) -> bool:
        """Whether a folded word stands in some name."""
        words, value = self._arrays()["word"], _word(word)
        place = int(np.searchsorted(words, np.uint64(value)))
        return place < len(words) and int(words[place]) == value

    def shortlist(self, name: str, *, limit: int) -> NDArray[np.int64]:
        """The numbers of at most `limit` names that share most n-grams with `name`, best first."""
        arrays = self._arrays()
        wanted = np.unique(_grams([normalise(name)])[0])
        if not len(wanted) or not len(arrays["gram"]):
            return np.zeros(0, np.int64)
        found = np.concatenate(_postings(arrays, wanted) or [np.zeros(0, np.int32)])
        rows, shared = np.unique(found, return_counts=True)
        alike = shared / (len(wanted) + arrays["size"][rows] - shared)
        order = np.lexsort((rows, -alike))[:limit]
        return rows[order].astype(np.int64)

    def _arrays(self) -> Arrays:
        """`text`, `ends`: the names; `size`: grams of each; `gram`, `start`, `row`: the postings; `word`: the words."""
        if self._made is None:
            names = ("text", "ends", "size", "gram", "start", "row", "word")
            key = f"{_VERSION} {self.graph.label}"
            self._made = kept(self.graph.folder, "fuzzy", key, names, lambda: _build(self.graph))
        return self._made


def _postings(arrays: Arrays, wanted: NDArray[np.uint64]) -> list[NDArray[np.int32]]:
    """The names that hold each wanted gram, the rarest gram first, within the budget (one gram at least)."""
    place = np.minimum(np.searchsorted(arrays["gram"], wanted), len(arrays["gram"]) - 1)
    place = place[arrays["gram"][place] == wanted]
    first, last = arrays["start"][place], arrays["start"][place + 1]
    order = np.argsort(last - first, kind="stable")
    enough = int(np.searchsorted(np.cumsum((last - first)[order]), _READ)) + 1
    return [arrays["row"][first[i] : last[i]] for i in order[:enough]]


def _build(graph: LocalGraph) -> Arrays:
    """The arrays of all distinct names."""
    distinct: dict[str, str] = {}
    for named in graph.names(scopes=_SCOPES):
        key = normalise(named.text)
        if key and len(key) <= _LONGEST:
            distinct.setdefault(key, named.text)
    words = {fold_word(w) for key in distinct for w in key.split()}
    encoded = [text.encode("utf-8") for text in distinct.values()]
    grams, of = _grams(list(distinct))
    gram, number = np.unique(grams, return_inverse=True)
    pairs = np.unique((number.astype(np.uint64) << np.uint64(32)) | of.astype(np.uint64))
    row = (pairs & np.uint64(0xFFFFFFFF)).astype(np.int32)
    start = np.searchsorted(pairs >> np.uint64(32), np.arange(len(gram) + 1, dtype=np.uint64))
    return {
        "text": np.frombuffer(b"".join(encoded), np.uint8),
        "ends": np.cumsum([len(e) for e in encoded], dtype=np.int64),
        "size": np.bincount(row, minlength=len(encoded)).astype(np.uint16),
        "gram": gram,
        "start": start.astype(np.int64),
        "row": row,
        "word": np.unique(np.array([_word(w) for w in words], np.uint64)),
    }


def _word(word: str) -> int:
    """64 bits of a word."""
    return xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass"))


def _grams(keys: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """The n-grams of normalised names as numbers, and the name of each; repeated grams are repeated."""
    rows = {2: [i for i, k in enumerate(keys) if has_cjk(k)], 3: [i for i, k in enumerate(keys) if not has_cjk(k)]}
    parts = [_windows([keys[i] for i in of], np.array(of, np.int32), n) for n, of in rows.items() if of]
    if not parts:
        return np.zeros(0, np.uint64), np.zeros(0, np.int32)
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _windows(keys: list[str], rows: NDArray[np.int32], n: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Every run of n code points of "\\x02name\\x03", packed into 21 bits each."""
    padded = [f"\x02{k}\x03" for k in keys]
    lengths = np.array([len(p) for p in padded])
    points = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    of = np.repeat(rows, lengths)
    last = len(points) - n + 1
    value = points[:last].copy()
    for shift in range(1, n):
        value = (value << _BITS) | points[shift : shift + last]
    whole = of[:last] == of[n - 1 :]
    return value[whole], of[:last][whole]
