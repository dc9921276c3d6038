"""Finding a graph's names by their form: spelled alike, in other words, or in another language."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed import vocabulary
from kgmed.derived import Arrays, cached_arrays
from kgmed.graph.base import LocalGraph, Match, NodeName, Scope, unique_numbers
from kgmed.graph.grown import by_name, kept, owners, texts_of
from kgmed.graph.store.arrays import key_hash
from kgmed.graph.store.store import Store
from kgmed.language.affixes import changed
from kgmed.language.lay import porter2
from kgmed.language.text import FUNCTION_WORDS, fold_word, has_cjk, lazily, normalise, normalised
from kgmed.vocabulary import Predicate

# --- The English words in which a graph describes things: a word of these is no name that the graph lacks.

_WORDS_VERSION = "vocabulary 1"
_WORD = lazily(r"[a-z]{3,}")
_SEEN = 2  # ours: descriptions that a word stands in, so that it is no slip


def is_spoken(graph: LocalGraph, word: str) -> bool:
    """Whether a word, in any of its forms, stands in several descriptions of a graph; never of a graph without any."""
    hashes = _words(graph)["hash"]
    wanted = _hash_of(porter2(word.casefold()))
    at = int(hashes.searchsorted(wanted))
    return at < len(hashes) and bool(hashes[at] == wanted)


@lru_cache(maxsize=4)
def _words(graph: LocalGraph) -> Arrays:
    """The sorted hashes of the stems, kept beside the graph."""
    told: Iterable[str] = getattr(getattr(graph, "tables", None), "description", ())
    return cached_arrays(
        graph.folder, "vocabulary", f"{_WORDS_VERSION} {graph.label}", ("hash",), lambda: _counted(told)
    )


def _counted(told: Iterable[str]) -> Arrays:
    """The stems of the words that stand in several texts, in lower case: names of persons are not among them."""
    seen = Counter(word for text in told for word in {*re.findall(_WORD.pattern, text)})
    stems = {porter2(word) for word, count in seen.items() if count >= _SEEN}
    return {"hash": np.unique(np.array([_hash_of(stem) for stem in stems], np.uint64))}


def _hash_of(stem: str) -> np.uint64:
    return np.uint64(xxhash.xxh3_64_intdigest(stem.encode()))


# --- Names of a graph that look like a given one: character n-grams find them, edit distance ranks them.
# Postings of 2-grams (names with Chinese or Japanese characters) or 3-grams (others), padded at both ends, as .npy
# arrays. The rarest grams of the query are read first; names are shortlisted by Jaccard similarity of their grams and
# ranked by edit similarity: 1 - edits / length, two swapped letters being one edit (optimal string alignment).

_VERSION = "fuzzy 4"
_SCOPES = tuple(s for s in Scope if s is not Scope.XREF)
_COLUMNS = ("text", "ends", "hash", "size", "gram", "start", "row", "word", "often", "nodes", "node", "names", "name")
_SHORTLIST = 64  # names ranked by edit distance
_READ = 400_000  # postings read a query at most, those of the rarest grams first
_LONGEST = 120  # characters; longer names are sentences
_BITS = np.uint64(21)  # of a code point
_AT_ONCE = 1 << 20  # names of grams that are put in order at a time
_ROW = np.uint64(0xFFFFFFFF)  # the bits of the number of a name beside that of a gram


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
        self._best_of = lru_cache(maxsize=256)(self._best)

    def __len__(self) -> int:
        """The number of distinct names."""
        return len(self._arrays()["ends"])

    def name(self, row: int) -> str:
        """The name of that number, as the graph writes it."""
        return _name_of(self._arrays(), row)

    def nodes(self, row: int) -> list[int]:
        """The entities of the name of that number, in the order of trust."""
        arrays = self._arrays()
        found: list[int] = arrays["node"][arrays["nodes"][row] : arrays["nodes"][row + 1]].tolist()
        return found

    def rows(self, node: int) -> list[int]:
        """The numbers of an entity's names."""
        arrays = self._arrays()
        found: list[int] = arrays["name"][arrays["names"][node] : arrays["names"][node + 1]].tolist()
        return found

    def search(self, name: str, *, limit: int = 10, at_least: float = 0.0) -> list[Near]:
        """The names most like `name` by edit distance, best first, ties by name."""
        from rapidfuzz import process  # where a name is not known
        from rapidfuzz.distance import OSA

        key = normalise(name)
        rows = self.shortlist(name, limit=max(_SHORTLIST, limit)).tolist()
        keys = {row: normalised(self.name(row)) for row in rows}
        scored = process.extract(
            key, keys, scorer=OSA.normalized_similarity, processor=None, limit=None, score_cutoff=at_least
        )
        near = [Near(self.name(row), float(score), row) for _, score, row in scored]
        return sorted(near, key=lambda n: (-n.score, n.name))[:limit]

    def knows(self, word: str) -> bool:
        """Whether a folded word stands in some name."""
        return self.often(word) > 0

    def often(self, word: str) -> int:
        """In how many names a folded word stands."""
        words, value = self._arrays()["word"], _word(word)
        place = int(np.searchsorted(words, np.uint64(value)))
        return int(self._arrays()["often"][place]) if place < len(words) and int(words[place]) == value else 0

    def shortlist(self, name: str, *, limit: int) -> NDArray[np.int64]:
        """The numbers of at most `limit` names that share most n-grams with `name`, best first."""
        return self._best_of(name, max(limit, _SHORTLIST))[:limit]  # a name is searched by spelling, then by meaning

    def _best(self, name: str, limit: int) -> NDArray[np.int64]:
        arrays = self._arrays()
        wanted = unique_numbers(_grams([normalise(name)])[0])
        if not len(wanted) or not len(arrays["gram"]):
            return np.zeros(0, np.int64)
        counts = np.bincount(np.concatenate(_postings(arrays, wanted) or [np.zeros(0, np.int32)]))
        rows = (counts > 0).nonzero()[0]  # of booleans: less than half the time
        shared = counts[rows]
        alike = shared / (len(wanted) + arrays["size"][rows] - shared)
        if len(rows) > limit:  # the rest need not be put in order
            best = alike >= np.partition(alike, len(alike) - limit)[len(alike) - limit]
            rows, alike = rows[best], alike[best]
        return rows[np.lexsort((rows, -alike))[:limit]].astype(np.int64)

    def _arrays(self) -> Arrays:
        """What `_build` gives, made once and kept beside the graph."""
        if self._made is None:
            graph, key = self.graph, f"{_VERSION} {self.graph.label}"
            self._made = cached_arrays(graph.folder, "fuzzy", key, _COLUMNS, lambda: _grown(graph) or _build(graph))
        return self._made


def _name_of(arrays: Arrays, row: int) -> str:
    """The name of a row."""
    start = int(arrays["ends"][row - 1]) if row else 0
    return bytes(arrays["text"][start : int(arrays["ends"][row])]).decode("utf-8")


def _postings(arrays: Arrays, wanted: NDArray[np.uint64]) -> list[NDArray[np.int32]]:
    """The names that hold each wanted gram, the rarest gram first, within the budget (one gram at least)."""
    place = np.minimum(np.searchsorted(arrays["gram"], wanted), len(arrays["gram"]) - 1)
    place = place[arrays["gram"][place] == wanted]
    first, last = arrays["start"][place], arrays["start"][place + 1]
    order = np.argsort(last - first, kind="stable")
    enough = int(np.searchsorted(np.cumsum((last - first)[order]), _READ)) + 1
    return [arrays["row"][first[i] : last[i]] for i in order[:enough]]


def _build(graph: LocalGraph) -> Arrays:
    """The arrays of all distinct names.

    `hash`: of their keys; `text`, `ends`: the names; `size`: grams of each; `gram`, `start`, `row`: the postings;
    `word`, `often`: the words and in how many names each is; `nodes`, `node`: the entities of each name; `names`,
    `name`: the names of each.
    """
    distinct: dict[str, str] = {}
    owned: dict[tuple[int, int], int] = {}
    numbers: dict[str, int] = {}
    for named in graph.names(scopes=_SCOPES):
        key = normalise(named.text)
        if key and len(key) <= _LONGEST:
            distinct.setdefault(key, named.text)
            pair = numbers.setdefault(key, len(numbers)), named.node
            owned[pair] = min(named.scope, owned.get(pair, named.scope))
    hashes = np.array(list(map(key_hash, distinct)), np.uint64)
    pairs = np.array([(row, node, scope) for (row, node), scope in owned.items()], np.int64).reshape(-1, 3)
    words, (grams, of) = _words_of(distinct), _grams(list(distinct))
    gram, number = np.unique(grams, return_inverse=True)
    return {
        "hash": hashes,
        **_postings_of(gram, [(number.astype(np.uint64) << np.uint64(32)) | of.astype(np.uint64)], len(distinct)),
        **_counts_of(words, np.ones(len(words), np.int32)),
        **_owned(list(distinct.values()), pairs, graph.adjacency.nodes),
    }


def _grown(graph: LocalGraph) -> Arrays | None:
    """The same arrays from those of an earlier union: its names are told by the hash of their keys."""
    known = kept(graph, "fuzzy", lambda label: f"{_VERSION} {label}", _COLUMNS)
    if known is None or not isinstance(graph, Store):
        return None
    old, t = known[1], graph.tables
    node, scope = owners(graph)
    hash_of = np.empty(len(node), np.uint64)
    hash_of[t.normalised.numbers] = t.normalised.hashes
    named = np.flatnonzero(scope != Scope.XREF)
    hashes, first, of = np.unique(hash_of[named], return_index=True, return_inverse=True)
    order = np.argsort(old["hash"])
    at = np.minimum(old["hash"][order].searchsorted(hashes), len(order) - 1)
    before = np.where(old["hash"][order][at] == hashes, order[at], -1)  # the row there
    keys = {i: normalise(graph.name_row(int(named[first[i]])).text) for i in np.flatnonzero(before < 0).tolist()}
    left_out = [i for i, key in keys.items() if not key or len(key) > _LONGEST]
    first[left_out] = len(named)
    order = np.argsort(first)[: len(first) - len(left_out)]
    row = np.full(len(first), -1)  # of each hash
    row[order] = np.arange(len(order))
    moved = np.full(len(old["hash"]), -1)
    moved[before[before >= 0]] = row[before >= 0]
    gone = [normalise(_name_of(old, i)) for i in np.flatnonzero(moved < 0).tolist()]
    fresh = {int(row[i]): key for i, key in keys.items() if row[i] >= 0}
    grams, rows = _grams(list(fresh.values()))
    gram = unique_numbers(np.concatenate([old["gram"], grams]))
    new = np.sort(np.array(list(fresh), np.uint64)[rows] | gram.searchsorted(grams).astype(np.uint64) << np.uint64(32))
    come, less = _words_of(fresh.values()), _words_of(gone)
    pairs = np.stack([row[of], node[named], scope[named]], axis=1).astype(np.int64)
    pairs = pairs[pairs[:, 0] >= 0]
    pairs = pairs[np.lexsort((pairs[:, 2], pairs[:, 1], pairs[:, 0]))]  # of a name and an entity the closest scope
    pairs = pairs[np.append(True, (np.diff(pairs[:, :2], axis=0) != 0).any(axis=1))[: len(pairs)]]
    texts = texts_of(graph, named[first[order]])
    return {
        "hash": hashes[order],
        **_postings_of(gram, _moved(old, moved, gram, new), len(order)),
        **_counts_of(
            np.concatenate([old["word"], come, less]),
            np.concatenate([old["often"], np.ones(len(come), np.int32), np.full(len(less), -1, np.int32)]),
        ),
        **_owned(texts, pairs, len(graph)),
    }


def _moved(
    old: Arrays, moved: NDArray[np.int64], gram: NDArray[np.uint64], new: NDArray[np.uint64]
) -> Iterator[NDArray[np.uint64]]:
    """The pairs of `_postings_of`: those of an index whose names have other numbers now (-1 = none), and new ones."""
    place, start = gram.searchsorted(old["gram"]).astype(np.uint64) << np.uint64(32), np.asarray(old["start"])
    first = 0
    while first < len(place) or len(new):  # so many grams at a time that their names take little room
        last = max(first + 1, int(start.searchsorted(start[min(first, len(place))] + _AT_ONCE, "right")) - 1)
        held = moved[old["row"][start[first] : start[last]]] if first < len(place) else np.empty(0, np.int64)
        of = np.repeat(place[first:last], np.diff(start[first : last + 1]))[held >= 0]
        ready = int(new.searchsorted(place[last])) if last < len(place) else len(new)
        yield np.concatenate([of | held[held >= 0].astype(np.uint64), new[:ready]])
        first, new = last, new[ready:]


def _postings_of(gram: NDArray[np.uint64], pairs: Iterable[NDArray[np.uint64]], names: int) -> Arrays:
    """The names of each gram, and how many grams each name has, from pairs of the number of a gram and a name.

    They may come in several lots, all of a gram in one, and the grams of each behind those of the last.
    """
    rows, often, size = [np.empty(0, np.int32)], np.zeros(len(gram), np.int64), np.zeros(names, np.int64)
    for some in pairs:
        some.sort(kind="stable")  # fast where most is in order
        some = some[np.append(True, some[1:] != some[:-1])[: len(some)]]
        rows.append((some & _ROW).astype(np.int32))
        often += np.bincount((some >> np.uint64(32)).astype(np.int64), minlength=len(gram))
        size += np.bincount(rows[-1], minlength=names)
    used, start = np.flatnonzero(often), np.append(0, np.cumsum(often))  # a gram of no name that is left is none
    return {
        "size": size.astype(np.uint16), "gram": gram[used], "start": np.append(start[used], start[-1]),
        "row": np.concatenate(rows),
    }  # fmt: skip


def _words_of(keys: Iterable[str]) -> NDArray[np.uint64]:
    """The words of each name, once for each name."""
    return np.array([_word(w) for key in keys for w in {fold_word(w) for w in key.split()}], np.uint64)


def _counts_of(words: NDArray[np.uint64], counts: NDArray[np.int32]) -> Arrays:
    """The words, and in how many names each is."""
    word, of = np.unique(words, return_inverse=True)
    often = np.bincount(of, counts, len(word)).astype(np.int32)
    return {"word": word[often > 0], "often": often[often > 0]}


def _owned(texts: Sequence[str], pairs: NDArray[np.int64], nodes: int) -> Arrays:
    """The names, the entities of each, those it is closest to first, and the names of each entity."""
    encoded, names = [text.encode("utf-8") for text in texts], len(texts)
    by_name = pairs[np.lexsort((pairs[:, 1], pairs[:, 2], pairs[:, 0]))]
    by_node = pairs[np.lexsort((pairs[:, 0], pairs[:, 2], pairs[:, 1]))]
    return {
        "text": np.frombuffer(b"".join(encoded), np.uint8),
        "ends": np.cumsum([len(e) for e in encoded], dtype=np.int64),
        "nodes": np.searchsorted(by_name[:, 0], np.arange(names + 1)),
        "node": by_name[:, 1].astype(np.int32),
        "names": np.searchsorted(by_node[:, 1], np.arange(nodes + 1)),
        "name": by_node[:, 0].astype(np.int32),
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


# --- Names in other words: "very high creatine kinase" for "Increased creatine kinase", by a short list of equal words.
# English only. Each name becomes the set of its words after folding, each word replaced by the head of its group
# (spelling.tsv of the vocabulary) and words that add nothing ("very", "serum level") left out; equal sets are the same
# name. It never equates opposites, as a vector may: "high" and "low" are in different groups.

_REWORDINGS_VERSION = "wording 2"
SCORE = 0.9  # below the score of every spelling of the name itself
_REWORDED_SCOPES = (Scope.PREFERRED, Scope.EXACT, Scope.LAYPERSON, Scope.TRANSLATION, Scope.NARROW, Scope.RELATED)
_PAIRS = (
    ({"increase", "size"}, "enlarge"),
    ({"decrease", "size"}, "small"),
    *(({word, "function"}, "dysfunction") for word in ("impair", "impaired", "impairment", "abnormal")),
)
_ACRONYM = re.compile(r"(?<![A-Za-z])[A-Z][A-Z0-9]{1,5}(?![A-Za-z])")
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\b(?:i{1,3}|iv|vi{0,3}|ix|x)\b")
NAME_WORDS = tomllib.loads(Path(__file__).with_name("name_words.toml").read_text(encoding="utf-8"))
OPPOSITES: tuple[tuple[str, str], ...] = tuple((one, other) for one, other in NAME_WORDS["opposites"])
_OPPOSED = tuple({word for pair in OPPOSITES for word in pair})
OPPOSITES_CJK: tuple[str, ...] = tuple(NAME_WORDS["opposites_cjk"])
# between a name's words these make another
TURNING = frozenset(word for pair in OPPOSITES for word in pair) - frozenset(NAME_WORDS["sides"])


class Rewordings:
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
            key = f"{_REWORDINGS_VERSION} {self.graph.label}{vocabulary.changed('spelling')}"
            self._made = cached_arrays(
                self.graph.folder, "wording", key, ("hash", "node"), lambda: _build_rewordings(self.graph)
            )
        return self._made


def _build_rewordings(graph: LocalGraph) -> Arrays:
    """The index of all names."""
    key = vocabulary.changed("spelling")
    rows = by_name(graph, "wording-names", lambda label: f"{_REWORDINGS_VERSION} {label}{key}", ("hash",), _worded)
    node, scope = (column[rows["of"]] for column in owners(graph))
    order = np.lexsort((node, scope, rows["hash"]))
    return {"hash": rows["hash"][order], "node": node[order].astype(np.int32)}


def _worded(names: Iterable[tuple[int, NodeName]]) -> Arrays:
    """The number and the hash of every name that has more than one word."""
    keys = ((i, canonical(name.text)) for i, name in names if name.scope in _REWORDED_SCOPES)
    rows = np.array([(i, _hash(key)) for i, key in keys if key], np.uint64).reshape(-1, 2)
    return {"of": rows[:, 0].astype(np.int32), "hash": rows[:, 1].copy()}


def _hash(key: tuple[str, ...]) -> int:
    """64 bits of a set of words."""
    return xxhash.xxh3_64_intdigest(" ".join(key).encode("utf-8", "surrogatepass"))


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
    return tuple(sorted(words)) if len(words) > 1 or words & _groups()[2] else ()


@vocabulary.kept(1 << 14)
def canonical_words(name: str) -> frozenset[str]:
    """The words of `canonical` as a set, however few."""
    head, empty, _ = _groups()
    folded = [fold_word(w) for w in normalised(name).split() if w not in FUNCTION_WORDS]
    words = {head.get(w, w) for w in folded if w not in empty}
    for pair, one in _PAIRS:
        if pair <= words:
            words = words - pair | {one}
    if "enlarge" in words and len(words) > 2:  # "enlarged calf muscles" are enlarged calves
        words -= {"muscle"}
    return frozenset(words)


def contradicts(a: str, b: str) -> bool:
    """Whether two like names cannot mean the same: another number or type, opposite words, affix or abbreviation.

    >>> contradicts("Hypokalemia", "Hyperkalemia"), contradicts("type 1 diabetes", "type 2 diabetes")
    (True, True)
    >>> contradicts("血压高", "血压低"), contradicts("high CK", "elevated CK")
    (True, False)
    >>> contradicts("thrombocytopenic", "Thrombocytosis"), contradicts("VLCAD deficiency", "LCAT deficiency")
    (True, True)
    >>> contradicts("amino-nucleoside", "aminonucleoside"), contradicts("impaired renal function", "renal dysfunction")
    (False, False)
    """
    one, other = canonical_words(a), canonical_words(b)
    key_a, key_b = normalised(a), normalised(b)
    if key_a.replace(" ", "") == key_b.replace(" ", "") or (one == other and "dysfunction" in one):
        return False
    if changed(a, b) or _other_acronym(a, b) or sorted(_NUMBER.findall(key_a)) != sorted(_NUMBER.findall(key_b)):
        return True
    if has_cjk(a) and has_cjk(b):
        only = set(a) ^ set(b)
        return any(only.issuperset(pair) for pair in OPPOSITES_CJK) or (("无" in a) != ("无" in b))
    one, other = (frozenset(w for w in words if w.startswith(_OPPOSED)) for words in (one - other, other - one))
    pairs = [*OPPOSITES, *((y, x) for x, y in OPPOSITES)] if one and other else []
    return any(any(w.startswith(x) for w in one) and any(w.startswith(y) for w in other) for x, y in pairs)


def _other_acronym(a: str, b: str) -> bool:
    """Whether each name has an abbreviation in capitals that the other lacks: these are never misspelled."""
    one, other = frozenset(_ACRONYM.findall(a)), frozenset(_ACRONYM.findall(b))
    shouted = any(name.isupper() and " " in name for name in (a, b))
    return not shouted and bool(one - other) and bool(other - one)


@vocabulary.kept()
def _groups() -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    """The head of each word of a group, the words that say nothing, the heads that may stand alone."""
    groups = vocabulary.entries("spelling", Predicate.ALT_LABEL)
    head = {fold_word(word): words[0] for words in groups for word in words}
    empty = frozenset(vocabulary.members("spelling", "words that add nothing"))
    return head, empty, frozenset(vocabulary.members("spelling", "words that are names"))


# --- Words in two languages, taken from the names of a bilingual graph (CMeKG has an English name for many diseases).


@dataclass(frozen=True)
class Glossary:
    """Translations of whole terms: those given in `words` first, then those that the graph has."""

    graph: LocalGraph | None = None
    words: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, term: str) -> tuple[str, ...]:
        """The translations of a term, () where there is none.

        >>> Glossary(words={"高血压": "hypertension"})("高血压 ")
        ('hypertension',)
        """
        own = self._words.get(normalise(term))
        return (own,) if own else self._of_graph(term)

    def _of_graph(self, term: str) -> tuple[str, ...]:
        """The translations of the entities of that name."""
        if self.graph is None:
            return ()
        nodes = [self.graph.number(match.entity.id) for match in self.graph.lookup(term)]
        return tuple(dict.fromkeys(name for node in nodes for name in self._translations.get(node, ())))

    @cached_property
    def _words(self) -> dict[str, str]:
        """The words given, under their normalised form."""
        return {normalise(term): said for term, said in self.words.items()}

    @cached_property
    def _translations(self) -> dict[int, list[str]]:
        """The names in the other language, by node."""
        found: dict[int, list[str]] = {}
        for name in self.graph.names(scopes=(Scope.TRANSLATION,)) if self.graph else ():
            found.setdefault(name.node, []).append(name.text)
        return found
