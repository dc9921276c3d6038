"""The vectors of a graph's names, computed in blocks and kept beside it: (n, d) float16, one row a distinct name.

A killed run goes on after its last finished block: each block is written to a file of its own and renamed into place,
and the blocks become one memory-mapped matrix when all are there. Kept by encoder name and graph content, so that a
rebuilt graph or another encoder never meets old vectors. Of several processes one computes and the others wait.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import compress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.cache import CacheFile, Layout
from kgmed.derived import check, derived_folder, exclusive, open_array, open_arrays, publish
from kgmed.disk import put_in_place
from kgmed.errors import StoreError, Unavailable
from kgmed.graph.base import LocalGraph
from kgmed.graph.names import Fuzzy, Near
from kgmed.models.base import Encoder, encoded

# --- Nearest rows of a large matrix by an index: HNSW (Malkov and Yashunin 2018, arXiv 1603.09320), package `usearch`.
# It finds candidates; their order is by the rows themselves, so that a score is the same with and without it. What it
# misses stands in bench/vectors.py.

FILE = "near.usearch"
_LINKS, _BUILD, _LOOK = 16, 128, 128  # edges a row, rows looked at when one is added, and when one is searched
_ROWS_AT_ONCE = 4096  # rows added at a time
_MORE = 4  # candidates for each row wanted


class NearRows:
    """An index over the rows of a matrix."""

    def __init__(self, index: Any) -> None:
        """Take an opened index."""
        self._index = index

    def candidates(self, queries: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
        """Some rows near each query (n, k), k at least `limit` where there are as many; no order, no score."""
        count = min(len(self._index), max(_LOOK, _MORE * limit))
        found = self._index.search(np.atleast_2d(queries), count, threads=1)
        return np.asarray(found.keys, np.int64).reshape(len(queries), -1)


def build(folder: Path, matrix: NDArray[np.float16], progress: Callable[[int, int], None], *, threads: int = 0) -> None:
    """Make the index of the unit rows (n, d) and publish it as the folder; `threads` 0 = one a core.

    Raises `Unavailable` without the package. With several threads two builds may differ in what they miss.
    """
    index = _usearch().Index(
        ndim=matrix.shape[1],
        metric="ip",
        dtype="f16",
        connectivity=_LINKS,
        expansion_add=_BUILD,
        expansion_search=_LOOK,
    )
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        rows = np.asarray(matrix[start : start + _ROWS_AT_ONCE])
        index.add(np.arange(start, start + len(rows)), rows, threads=threads)
        progress(start + len(rows), len(matrix))
    publish(folder, lambda new: index.save(new / FILE))


def open_index(folder: Path, shape: tuple[int, ...]) -> NearRows | None:
    """The index kept in the folder for a matrix of that shape; None where there is none that can be used."""
    try:
        check(folder)
        index = _usearch().Index.restore(folder / FILE, view=True)
    except (StoreError, Unavailable, ValueError, RuntimeError, OSError):
        return None
    return NearRows(index) if index is not None and (len(index), index.ndim) == shape else None


def _usearch() -> Any:
    try:
        from usearch import index
    except ImportError as error:
        raise Unavailable('an index of more than a million names needs usearch: pip install "kgmed[index]"') from error
    return index


# --- The vectors of a graph's names.


class Names(Protocol):
    """The names of a graph that are searched by meaning, wherever their vectors are: `Vectors`, or in PostgreSQL."""

    def __len__(self) -> int:
        """The number of names."""
        ...

    def search(self, texts: list[str], *, limit: int = 10) -> list[list[Near]]:
        """For each text the `limit` names of highest cosine, best first, ties by row."""
        ...

    def nearest(self, queries: NDArray[np.float32], *, limit: int = 10) -> list[list[Near]]:
        """The nearest names of a few texts at once, by their unit rows."""
        ...


def open_names(graph: LocalGraph, encoder: Encoder) -> Names | None:
    """The names of a graph by their vectors: beside its files, or in its database; None = nowhere."""
    if (there := getattr(graph, "vectors", None)) is not None:
        found: Names | None = there(encoder)
        return found
    return open_vectors(graph, encoder)


EXACT = 1_000_000  # names; more are searched by an index
_BLOCK = 1024  # names; about half a second of work
_SCAN = 16_384  # rows compared at a time
_QUERIES = 256  # texts compared at a time
_OFTEN = 4  # searches after which a process keeps the rows as float32: most of a search is widening them
_KEPT = 1 << 27  # numbers that it keeps at most, half a gigabyte

Progress = Callable[[int, int], None]


def compute(
    graph: LocalGraph, encoder: Encoder, progress: Progress = lambda done, of: None, *, exact: int = EXACT
) -> "Vectors":
    """The finished vectors of all names of a graph; `progress(done, of)` is called after every block.

    More than `exact` names get an index as well, where its package is installed.
    """
    names = Fuzzy(graph)
    place, near = _folder(graph, encoder), _index_folder(graph, encoder)
    matrix = _matrix(place, names, encoder)
    if matrix is None:
        matrix = _computed(place, names, encoder, progress)
    found = _vectors(graph, names, encoder, matrix, exact)
    if found.near is None and len(found) > exact and find_spec("usearch"):
        with exclusive(near) as writable:
            if writable and open_index(near, matrix.shape) is None:
                build(near, matrix, progress)
        return _vectors(graph, names, encoder, matrix, exact)
    return found


def open_vectors(graph: LocalGraph, encoder: Encoder, *, exact: int = EXACT) -> "Vectors | None":
    """The finished vectors of a graph by this encoder; None where they were never computed or are damaged.

    Without an index, more than `exact` names are searched in blocks as well, which takes longer.
    """
    if not graph.folder:
        return None
    place, names = _folder(graph, encoder), Fuzzy(graph)
    if not place.exists():
        return None
    matrix = _matrix(place, names, encoder)
    if matrix is None:
        import logging

        told = "the vectors in %s are damaged and not used; compute them again: kgmed graph vectors"
        logging.getLogger("kgmed").warning(told, place)
        return None
    return _vectors(graph, names, encoder, matrix, exact)


def _matrix(place: Path, names: Fuzzy, encoder: Encoder) -> NDArray[np.float16] | None:
    """The rows of all names, memory-mapped; None where they are not there or not what was written."""
    found = open_arrays(place, ("all",))
    matrix = found["all"] if found else None
    return matrix if matrix is not None and _fits(matrix, (len(names), encoder.dimensions)) else None


def _fits(rows: NDArray[Any], shape: tuple[int, int]) -> bool:
    """Whether rows are of that shape and of the kind of number that is kept."""
    return rows.shape == shape and rows.dtype == np.dtype(np.float16)


def _vectors(graph: LocalGraph, names: Fuzzy, encoder: Encoder, matrix: NDArray[np.float16], exact: int) -> "Vectors":
    """The vectors with the index of their rows, where there is one and it is needed."""
    near = open_index(_index_folder(graph, encoder), matrix.shape) if len(names) > exact else None
    return Vectors(names, encoder, matrix, near)


class Vectors:
    """All names of a graph as vectors, searched exactly, or, where there is an index, among what that finds."""

    def __init__(
        self, names: Fuzzy, encoder: Encoder, matrix: NDArray[np.float16], near: NearRows | None = None
    ) -> None:
        """The names, their rows (n, d), and an index of the rows."""
        self.names, self.encoder, self.matrix, self.near = names, encoder, matrix, near
        self._searches = 0
        self._wide: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        """The number of names n."""
        return len(self.matrix)

    def search(self, texts: list[str], *, limit: int = 10) -> list[list[Near]]:
        """For each text the `limit` names of highest cosine, best first, ties by row."""
        parts = [texts[i : i + _QUERIES] for i in range(0, len(texts), _QUERIES)]
        return [near for part in parts for near in self.nearest(self.encoder(part), limit=limit)]

    def nearest(self, queries: NDArray[np.float32], *, limit: int = 10) -> list[list[Near]]:
        """The nearest names of a few texts at once, by their unit rows."""
        best = self._best(queries, limit) if self.near is None else self._among(self.near, queries, limit)
        return [[Near(self.names.name(int(r)), float(s), int(r)) for r, s in zip(*b, strict=True)] for b in best]

    def _best(self, queries: NDArray[np.float32], limit: int) -> "list[Best]":
        """The best rows for each query of all there are."""
        best = [(np.zeros(0, np.int64), np.zeros(0, np.float32))] * len(queries)
        matrix = self._rows()
        for start in range(0, len(matrix), _SCAN):
            scores = queries @ matrix[start : start + _SCAN].astype(np.float32, copy=False).T
            best = [_best(old, start, row, limit) for old, row in zip(best, scores, strict=True)]
        return best

    def _rows(self) -> "NDArray[np.float16] | NDArray[np.float32]":
        """The rows, as float32 in a process that searches often."""
        self._searches += 1
        if self._wide is None and self._searches > _OFTEN and self.matrix.size <= _KEPT:
            self._wide = self.matrix.astype(np.float32)
        return self.matrix if self._wide is None else self._wide

    def _among(self, near: NearRows, queries: NDArray[np.float32], limit: int) -> "list[Best]":
        """The best rows for each query of those that the index finds."""
        best = []
        for query, found in zip(queries, near.candidates(queries, limit), strict=True):
            rows = np.sort(found)
            scores = self.matrix[rows].astype(np.float32) @ query
            order = np.lexsort((rows, -scores))[:limit]
            best.append((rows[order], scores[order]))
        return best


Best = tuple[NDArray[np.int64], NDArray[np.float32]]


def _best(old: Best, start: int, scores: NDArray[np.float32], limit: int) -> Best:
    """The best rows of those so far and of a block of scores that begins at row `start`."""
    top = (
        np.argpartition(-scores, min(limit, len(scores) - 1))[:limit] if len(scores) > limit else np.arange(len(scores))
    )
    rows = np.concatenate([old[0], top + start])
    values = np.concatenate([old[1], scores[top]])
    order = np.lexsort((rows, -values))[:limit]
    return rows[order], values[order]


def nearest_by_ngrams(
    names: Fuzzy,
    encoder: Encoder,
    texts: Sequence[str],
    *,
    limit: int = 10,
    among: int = 32,
    fits: Callable[[str, str], bool] = lambda text, name: True,
) -> list[list[Near]]:
    """For each text the names of highest cosine among the `among` that share most n-grams: needs no index of vectors.

    Only of those that may do for the text by `fits` vectors are computed, in one batch.
    """
    rows = [[(r, names.name(r)) for r in names.shortlist(text, limit=among).tolist()] for text in texts]
    near = [[Near(n, 0.0, r) for r, n in some if fits(text, n)] for text, some in zip(texts, rows, strict=True)]
    number = {name: i for i, name in enumerate(dict.fromkeys(n.name for some in near for n in some))}
    if not number:
        return near
    queries, told = encoded(encoder, list(compress(texts, near)), list(number))
    asked = iter(queries)
    for some in filter(None, near):
        scores = told[[number[n.name] for n in some]] @ next(asked)
        some[:] = [n._replace(score=score) for n, score in zip(some, scores.tolist(), strict=True)]
    return [sorted(some, key=lambda n: (-n.score, n.row))[:limit] for some in near]


def _folder(graph: LocalGraph, encoder: Encoder) -> Path:
    """Where the vectors of a graph by an encoder are kept."""
    safe = re.sub(r"[^\w.-]+", "_", encoder.name)
    return derived_folder(graph.folder, f"vectors/{safe}", f"vectors 1 {graph.label} {encoder.name}")


def _index_folder(graph: LocalGraph, encoder: Encoder) -> Path:
    """Where the index of their rows is kept."""
    place = _folder(graph, encoder)
    return place.with_name(f"near-{place.name}")


# --- Computing them, a block at a time.


def _computed(place: Path, names: Fuzzy, encoder: Encoder, progress: Progress) -> NDArray[np.float16]:
    """The rows of all names after one process has computed what is missing; the others wait for it."""
    with exclusive(place) as writable:
        if not writable:
            raise StoreError(f"{place.parent}: vectors cannot be kept there; make the folder writable")
        matrix = _matrix(place, names, encoder)
        if matrix is None:
            parts = place.with_name(f".blocks-{place.name}")
            blocks = _blocks(parts, names, encoder, progress)
            publish(place, lambda new: _join(new / "all.npy", blocks, (len(names), encoder.dimensions)))
            shutil.rmtree(parts, ignore_errors=True)
            matrix = _matrix(place, names, encoder)
    if matrix is None:
        raise StoreError(f"the vectors in {place} cannot be read; remove that folder and compute them again")
    return matrix


def _blocks(parts: Path, names: Fuzzy, encoder: Encoder, progress: Progress) -> list[Path]:
    """The files of all blocks in order, after those that are missing or damaged have been computed."""
    parts.mkdir(exist_ok=True)
    kept, blocks, total = {int(p.name[:9]): p for p in parts.glob("[0-9]*.npy")}, list[Path](), len(names)
    for start in range(0, total, _BLOCK):
        end = min(start + _BLOCK, total)
        path = kept.get(start)
        if path is None or not _is_whole(path, (end - start, encoder.dimensions)):
            path = _save(parts, start, encoder([names.name(i) for i in range(start, end)]).astype(np.float16))
        blocks.append(path)
        progress(end, total)
    return blocks


def _save(parts: Path, start: int, rows: NDArray[np.float16]) -> Path:
    """The file of a block, named by its first row and the hash of its content; written beside it and renamed."""
    path, unfinished = parts / f"{start:09d}-{_digest(rows)}.npy", parts / "unfinished"
    with unfinished.open("wb") as out:
        np.save(out, rows, allow_pickle=False)
    put_in_place(unfinished, path)
    return path


def _is_whole(path: Path, shape: tuple[int, int]) -> bool:
    """Whether a block is the one that was written and of that shape."""
    try:
        rows = open_array(path, mapped=False)
    except (OSError, ValueError, EOFError):
        return False
    return _fits(rows, shape) and path.stem[10:] == _digest(rows)


def _digest(rows: NDArray[np.float16]) -> str:
    """The hash of a block's numbers."""
    return xxhash.xxh3_64_hexdigest(np.ascontiguousarray(rows).data)


def _join(path: Path, blocks: list[Path], shape: tuple[int, int]) -> None:
    """Make one file of all blocks, row by row."""
    whole = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
    done = 0
    for block in blocks:
        part = open_array(block, mapped=False)
        whole[done : done + len(part)] = part
        done += len(part)
    whole.flush()


# --- The vectors of what a graph says, kept as they are asked for: methods rank hundreds of triples a question.

_TEXTS = Layout(
    "vectors of texts",
    {"vector": "text INTEGER PRIMARY KEY, row BLOB NOT NULL)"},  # the hash of the text, and d float32
    mark=0x6B67_7678,
    largest=1 << 29,  # ours: a hundred thousand texts
    oldest="DELETE FROM vector WHERE text IN (SELECT text FROM vector LIMIT 10000)",  # by hash: any of them
    wait=1.0,
)
_ROWS = 1 << 12  # written or read by one statement


class FactVectors:
    """An encoder that keeps the vectors of a graph's own texts in a file beside it; what is asked is never kept."""

    def __init__(self, graph: LocalGraph, encoder: Encoder) -> None:
        """`encoder` computes what is not there yet."""
        self.encoder, self._place = encoder, _folder(graph, encoder).parent / "facts.sqlite"
        self._file: CacheFile | None = None

    @property
    def name(self) -> str:
        """That of the encoder: vectors are the same."""
        return self.encoder.name

    @property
    def dimensions(self) -> int:
        """The length d of a vector."""
        return self.encoder.dimensions

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d) by the encoder."""
        return self.encoder(texts)

    def facts(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d) of texts of the graph; where the file cannot be used they are computed."""
        number = dict.fromkeys(texts)
        keys = [xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) - (1 << 63) for text in number]
        try:
            self._file = self._file or CacheFile(self._place, _TEXTS)
            known = self._read(self._file, keys)
        except StoreError:
            return self.encoder(texts)
        new = [(key, text) for key, text in zip(keys, number, strict=True) if key not in known]
        if new:
            rows = self.encoder([text for _, text in new])
            known |= dict(zip((key for key, _ in new), rows, strict=True))
            self._write(self._file, [key for key, _ in new], rows)
        found = dict(zip(number, (known[key] for key in keys), strict=True))
        return np.array([found[text] for text in texts], np.float32).reshape(len(texts), self.dimensions)

    def _read(self, file: CacheFile, keys: list[int]) -> dict[int, NDArray[np.float32]]:
        size, known = 4 * self.dimensions, dict[int, NDArray[np.float32]]()
        for some in (keys[i : i + _ROWS] for i in range(0, len(keys), _ROWS)):
            marks = ",".join("?" * len(some))
            rows = file.rows(f"SELECT text, row FROM vector WHERE text IN ({marks})", some)  # noqa: S608 - marks alone
            known |= {text: np.frombuffer(row, np.float32) for text, row in rows if len(row) == size}
        return known

    def _write(self, file: CacheFile, keys: list[int], rows: NDArray[np.float32]) -> None:
        """Keep rows; where that cannot be they are computed again."""
        with suppress(StoreError):
            for i in range(0, len(keys), _ROWS):
                pairs = zip(keys[i : i + _ROWS], map(bytes, rows[i : i + _ROWS]), strict=True)
                some = [value for pair in pairs for value in pair]
                marks = ",".join(["(?,?)"] * (len(some) // 2))
                file.write(f"INSERT OR REPLACE INTO vector VALUES {marks}", some)  # noqa: S608 - marks alone
