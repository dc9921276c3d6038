"""Names in other words: "very high creatine kinase" for "Increased creatine kinase", by a short list of equal words.

English only. Each name becomes the set of its words after folding, each word replaced by the head of its group
(wording.txt) and words that add nothing ("very", "serum level") left out; equal sets are the same name. It never
equates opposites, as a vector may: "high" and "low" are in different groups.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources

import numpy as np
import xxhash

from kgmed.kg.beside import Arrays, kept
from kgmed.kg.graph import LocalGraph, Match
from kgmed.kg.rows import Scope
from kgmed.kg.text import FUNCTION_WORDS, fold_word, has_cjk, normalise

_VERSION = "wording 1"
SCORE = 0.9  # below the score of every spelling of the name itself
_SCOPES = (Scope.PREFERRED, Scope.EXACT, Scope.LAYPERSON, Scope.TRANSLATION, Scope.NARROW, Scope.RELATED)
_PAIRS = (({"increase", "size"}, "enlarge"), ({"decrease", "size"}, "small"))
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\b(?:i{1,3}|iv|vi{0,3}|ix|x)\b")
_OPPOSITES = (
    ("hyper", "hypo"),
    ("tachy", "brady"),
    ("macro", "micro"),
    ("poly", "oligo"),
    ("increase", "decrease"),
    ("enlarge", "small"),
    ("enlarge", "decrease"),
    ("increase", "small"),
    ("left", "right"),
    ("upper", "lower"),
    ("long", "short"),
    ("acute", "chronic"),
    ("proximal", "distal"),
    ("anterior", "posterior"),
    ("male", "female"),
    ("dominant", "recessive"),
    ("malignant", "benign"),
    ("early", "late"),
    ("hard", "soft"),
    ("fast", "slow"),
)
_OPPOSITES_CJK = (
    "高低",
    "左右",
    "上下",
    "急慢",
    "增减",
    "多少",
    "升降",
    "前后",
    "内外",
    "男女",
    "硬软",
    "长短",
    "大小",
)


class Wording:
    """The names of a graph by their words, whatever the wording."""

    def __init__(self, graph: LocalGraph) -> None:
        """Over the names of a graph; the index is made at the first search and kept beside it."""
        self.graph = graph
        self._made: Arrays | None = None

    def search(self, name: str) -> list[Match]:
        """The entities that have a name of the same words, best scope first; each with `how="wording"`."""
        key = canonical(name)
        if not key:
            return []
        index = self._index()
        hashed = np.uint64(_hash(key))
        first, last = (int(np.searchsorted(index["hash"], hashed, side)) for side in ("left", "right"))
        entities = [self.graph.at(int(n)) for n in index["node"][first:last]]
        return [Match(e, e.name, "wording", SCORE) for e in dict.fromkeys(entities)]

    def _index(self) -> Arrays:
        """`hash` (sorted uint64) and `node` (int32), by hash and then scope."""
        if self._made is None:
            key = f"{_VERSION} {self.graph.label}"
            self._made = kept(self.graph.folder, "wording", key, ("hash", "node"), lambda: _build(self.graph))
        return self._made


def _build(graph: LocalGraph) -> Arrays:
    """The index of all names."""
    rows = np.array(list(_rows(graph)), np.uint64).reshape(-1, 3)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    return {"hash": np.ascontiguousarray(rows[:, 0]), "node": rows[:, 2].astype(np.int32)}


def _rows(graph: LocalGraph) -> Iterator[tuple[int, int, int]]:
    """Hash, scope and node of every name that has more than one word."""
    for name in graph.names(scopes=_SCOPES):
        key = canonical(name.text)
        if key:
            yield _hash(key), name.scope, name.node


def _hash(key: tuple[str, ...]) -> int:
    """64 bits of a set of words."""
    return xxhash.xxh3_64_intdigest(" ".join(key).encode())


def canonical(name: str) -> tuple[str, ...]:
    """The sorted words of an English name with each replaced by the head of its group; () where that says too little.

    >>> canonical("very high creatine kinase") == canonical("Increased creatine kinase")
    True
    >>> canonical("enlarged calves"), canonical("Calf hypertrophy"), canonical("Reduced creatine kinase")
    (('calf', 'enlarge'), ('calf', 'enlarge'), ('creatine', 'decrease', 'kinase'))
    """
    if has_cjk(name):
        return ()
    words = canonical_words(name)
    if len(words) > 1 or words & _groups()[2]:
        return tuple(sorted(words))
    return ()


def canonical_words(name: str) -> frozenset[str]:
    """The words of `canonical` as a set, however few."""
    head, empty, _ = _groups()
    folded = [fold_word(w) for w in normalise(name).split() if w not in FUNCTION_WORDS]
    words = {head.get(w, w) for w in folded if w not in empty}
    for pair, one in _PAIRS:
        if pair <= words:
            words = words - pair | {one}
    if "enlarge" in words and len(words) > 2:  # "enlarged calf muscles" are enlarged calves
        words -= {"muscle"}
    return frozenset(words)


def contradicts(a: str, b: str) -> bool:
    """Whether two like names cannot mean the same: another number or type, or opposite words.

    >>> contradicts("Hypokalemia", "Hyperkalemia"), contradicts("type 1 diabetes", "type 2 diabetes")
    (True, True)
    >>> contradicts("血压高", "血压低"), contradicts("high CK", "elevated CK")
    (True, False)
    """
    if sorted(_NUMBER.findall(normalise(a))) != sorted(_NUMBER.findall(normalise(b))):
        return True
    if has_cjk(a) and has_cjk(b):
        only = set(a) ^ set(b)
        return any(only.issuperset(pair) for pair in _OPPOSITES_CJK) or (("无" in a) != ("无" in b))
    left, right = canonical_words(a), canonical_words(b)
    one, other = left - right, right - left
    return any(_opposed(one, other, x, y) or _opposed(other, one, x, y) for x, y in _OPPOSITES)


def _opposed(one: frozenset[str], other: frozenset[str], x: str, y: str) -> bool:
    """Whether a word of the one begins with x and a word of the other with y."""
    return any(w.startswith(x) for w in one) and any(w.startswith(y) for w in other)


@lru_cache(maxsize=1)
def _groups() -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    """Of wording.txt: the head of each word, the words that say nothing, the heads that may stand alone."""
    text = resources.files("kgmed.kg").joinpath("wording.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    empty = frozenset(w for head, *rest in lines if head == "-" for w in rest)
    head = {fold_word(w): h.rstrip("*") for h, *rest in lines if h != "-" for w in (h.rstrip("*"), *rest)}
    return head, empty, frozenset(h.rstrip("*") for h, *_ in lines if h.endswith("*"))
