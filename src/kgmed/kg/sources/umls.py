"""The UMLS Metathesaurus from its RRF files: concepts, their names, definitions, semantic types and relations.

A folder with MRCONSO.RRF and MRREL.RRF, and MRDEF.RRF and MRSTY.RRF where they are (each may be packed with gzip),
as MetamorphoSys writes it. MRREL says what the second concept is to the first; a triple is read in that order:
(CUI2, RELA, CUI1), with REL where there is no RELA. Left out are suppressed rows, relations of a concept to itself,
those that deny a relation (XR) and those of a concept of which no name is kept.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import groupby, repeat
from operator import itemgetter
from pathlib import Path

import numpy as np

from kgmed.errors import BadInput, SourceError
from kgmed.kg.rows import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.kg.sources.lines import check_file
from kgmed.kg.sources.rrf import MOST, Block, Mask, records
from kgmed.kg.sources.umls_table import (
    LANGUAGES,
    LAY_SOURCES,
    PREFIX,
    RELATIONS,
    SCOPES,
    UNRELATED,
    definition_rank,
    kind_of,
    language_of,
)

_FIELDS = {"MRCONSO": 18, "MRREL": 16, "MRDEF": 8, "MRSTY": 6}
_NEEDED = ("MRCONSO", "MRREL")
_MEND = "name a folder into which MetamorphoSys has written a subset of the UMLS"
_SAYS_NOTHING = UNRELATED | {""}
_RELEASE = re.compile(r"umls\.release\.name=(\w{1,20})")


def read(
    path: Path | None,
    *,
    name: str = "umls",
    release: str = "",
    languages: Collection[str] = ("ENG",),
    sources: Collection[str] = (),
    suppressed: bool = False,
) -> Source:
    """The Metathesaurus in a folder, or beside a named file of it.

    `languages` are those of the names (LAT), the first that of the graph; `sources` the vocabularies (SAB) of names,
    relations and definitions, all if none is named; `suppressed` keeps what UMLS marks as obsolete or suppressed.
    Raises `BadInput` for an unknown language, and `SourceError`.
    """
    if path is None:
        raise BadInput(f"a graph of the format umls needs a folder; {_MEND}")
    folder = path if path.is_dir() else path.parent
    languages, sources = _listed(languages), _listed(sources)
    if unknown := [lat for lat in languages if lat not in LANGUAGES] or ([""] if not languages else []):
        raise BadInput(f"UMLS has no language {unknown[0]!r}; it has {', '.join(LANGUAGES)}")
    files = {file: found for file in _FIELDS if (found := _file(folder, file))}
    codes = tuple(s.encode("utf-8", "replace") for s in sources)
    return Source(
        name=name,
        rows=lambda: _rows(files, _Filter(tuple(languages), codes, suppressed)),
        release=release or _release(folder),
        licence="UMLS Metathesaurus License (free on registration; not to be passed on)",
        citation="Bodenreider O. The Unified Medical Language System (UMLS). Nucleic Acids Res 2004;32:D267-D270. "
        "doi:10.1093/nar/gkh061",
        language=LANGUAGES[languages[0]],
        prefix=PREFIX,
        relations=RELATIONS,
        inputs=tuple(files.values()),
    )


def _listed(codes: Collection[str]) -> list[str]:
    """Codes, each once, also where they were written as "ENG,SPA"."""
    parts = codes.split(",") if isinstance(codes, str) else codes
    return list(dict.fromkeys(part.strip().upper() for part in parts if part.strip()))


def _file(folder: Path, name: str) -> Path | None:
    """One file of the release, checked; None where an optional one is not there."""
    places = [folder / f"{name}.RRF", folder / f"{name}.RRF.gz"]
    found = next((place for place in places if place.exists()), None)
    if found:
        check_file(found)
    elif name in _NEEDED:
        raise SourceError(places[0], 0, "there is no such file", _MEND)
    return found


def _release(folder: Path) -> str:
    """The release that the folder names; "" where it does not."""
    try:
        found = _RELEASE.search((folder / "release.dat").read_text("ascii", "replace")[:10_000])
    except OSError:
        return ""
    return found.group(1) if found else ""


@dataclass(frozen=True)
class _Filter:
    """What is wanted, and which concepts have a name that is kept, by their number."""

    languages: tuple[str, ...]
    sources: tuple[bytes, ...]
    suppressed: bool
    kept: Mask = field(default_factory=lambda: np.zeros(MOST, bool))

    def __call__(self, block: Block, source: int, suppress: int) -> Mask:
        """Whether source and suppression of each record are wanted (n,)."""
        rows = np.ones(len(block), bool) if self.suppressed else ~_suppressed(block, suppress)
        if self.sources:
            rows[rows] = block.of(rows).among(source, self.sources)
        return rows


def _suppressed(block: Block, suppress: int) -> Mask:
    return block.equals(suppress, b"O") | block.equals(suppress, b"E") | block.equals(suppress, b"Y")


def _rows(files: dict[str, Path], wanted: _Filter) -> Iterator[Row]:
    """All rows, names first: they decide which concepts there are."""
    yield from _names(files["MRCONSO"], wanted)
    if not wanted.kept.any():
        mend = "look at the languages and sources that were asked for"
        raise SourceError(files["MRCONSO"], 0, "holds no name that is wanted", mend)
    if "MRSTY" in files:
        yield from _types(files["MRSTY"], wanted)
    if "MRDEF" in files:
        yield from _definitions(files["MRDEF"], wanted)
    yield from _relations(files["MRREL"], wanted)


def _names(path: Path, wanted: _Filter) -> Iterator[Row]:
    """A node for each run of names of one concept; runs do not end with a block."""
    named = filter(None, (row for block in records(path, _FIELDS["MRCONSO"]) for row in _named(block, wanted)))
    for concept, group in groupby(named, itemgetter(0)):
        rows = list(group)
        number = int(concept[1:])
        yield from (DroppedRow("no name", row[-1]) for row in rows if not row[2])
        names = [row for row in rows if row[2]]
        if names:
            yield _node(concept, names, known=bool(wanted.kept[number]))
            wanted.kept[number] = True


_Name = tuple[str, int, str, Scope, int]  # concept, order of preference, text, scope, line


def _named(block: Block, wanted: _Filter) -> Iterator[_Name]:
    """The names in a block that are wanted."""
    language = np.full(len(block), len(wanted.languages))
    for i, lat in enumerate(wanted.languages):
        language[block.equals(1, lat.encode())] = i
    rows = (language < len(wanted.languages)) & wanted(block, 11, 16)
    block, language = block.of(rows), language[rows]
    preferred = block.equals(2, b"P") * 4 + block.equals(4, b"PF") * 2 + block.equals(6, b"Y")
    order = language * 8 + 7 - preferred
    scopes = map(_scope, language.tolist(), block.cells(11), block.cells(12))
    texts = (cell.decode().strip() for cell in block.cells(14))
    yield from zip(block.concepts(0)[1].tolist(), order.tolist(), texts, scopes, block.line.tolist(), strict=True)


def _scope(language: int, source: bytes, kind: bytes) -> Scope:
    """How close a name is to its concept, by language, source (SAB) and term type (TTY)."""
    if language:
        return Scope.TRANSLATION
    return SCOPES.get(kind.decode()) or (Scope.LAYPERSON if source.decode() in LAY_SOURCES else Scope.EXACT)


def _node(concept: str, names: list[_Name], *, known: bool) -> NodeRow:
    """The concept with its preferred name and its other names, each once; one `known` already keeps its name."""
    best = "" if known else min(names, key=itemgetter(1))[2]
    scopes: dict[str, Scope] = {}
    for _, _, text, scope, _ in names:
        scopes[text] = min(scope, scopes.get(text, scope))
    scopes.pop(best, None)
    return NodeRow(concept, best, aliases=tuple(Alias(text, scope) for text, scope in scopes.items()))


def _types(path: Path, wanted: _Filter) -> Iterator[Row]:
    """The kind of each concept, and its semantic types in words."""
    found = (row for block in records(path, _FIELDS["MRSTY"]) for row in _kept(block, wanted, 1, 3))
    for concept, group in groupby(found, itemgetter(0)):
        rows = list(group)
        yield NodeRow(concept, kind=kind_of(tui for _, tui, _ in rows))
        yield from (TextRow(concept, "semantic_type", text) for _, _, text in rows if text)


def _definitions(path: Path, wanted: _Filter) -> Iterator[Row]:
    """The definition of the best source as description, the others as texts; only in a language that is wanted."""
    found = (
        row
        for block in records(path, _FIELDS["MRDEF"])
        for row in _kept(block.of(wanted(block, 4, 6)), wanted, 4, 5)
        if row[2] and language_of(row[1]) in wanted.languages
    )
    for concept, group in groupby(found, itemgetter(0)):
        first, *others = sorted(group, key=lambda row: definition_rank(row[1]))
        yield NodeRow(concept, description=first[2])
        yield from (TextRow(concept, "definition", text) for _, _, text in others)


def _kept(block: Block, wanted: _Filter, *fields: int) -> Iterator[tuple[str, ...]]:
    """The concept and those fields of the records of concepts that are kept."""
    rows = wanted.kept[block.concepts(0)[0]]
    block = block.of(rows)
    texts = ([cell.decode().strip() for cell in block.cells(f)] for f in fields)
    yield from zip(block.concepts(0)[1].tolist(), *texts, strict=True)


def _relations(path: Path, wanted: _Filter) -> Iterator[Row]:
    """The triples, each from the second concept to the first."""
    names: dict[bytes, str] = {}
    for block in records(path, _FIELDS["MRREL"]):
        (first, tails), (second, heads) = block.concepts(0), block.concepts(4)
        rows = wanted(block, 10, 14) & (first != second) & wanted.kept[first] & wanted.kept[second]
        cells = _relation_cells(block.of(rows))
        distinct = set(cells)
        names |= {cell: cell.decode().strip() for cell in distinct.difference(names)}
        relations = [names[cell] for cell in cells]
        edges = zip(heads[rows].tolist(), relations, tails[rows].tolist(), repeat(1.0), repeat(()))
        if _SAYS_NOTHING.isdisjoint(map(names.__getitem__, distinct)):
            yield from map(tuple.__new__, repeat(EdgeRow), edges)  # three times as fast as EdgeRow(*edge)
        else:
            yield from _some(edges, block.of(rows))


def _relation_cells(block: Block) -> list[bytes]:
    """RELA of each record, or REL where there is none."""
    cells = block.cells(7)
    without = np.flatnonzero(block.begin[:, 7] == block.end[:, 7])
    for i, cell in zip(without.tolist(), block.of(without).cells(3), strict=True):
        cells[i] = cell
    return cells


def _some(edges: Iterator[tuple[str, str, str, float, tuple[()]]], block: Block) -> Iterator[Row]:
    """The edges that have a relation; the others are dropped."""
    for edge, line in zip(edges, block.line.tolist(), strict=True):
        if not edge[1]:
            yield DroppedRow("no relation", line)
        elif edge[1] in UNRELATED:
            yield DroppedRow("not related", line)
        else:
            yield EdgeRow(*edge)
