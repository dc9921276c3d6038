"""The UMLS Metathesaurus from its RRF files: concepts, their names, definitions, semantic types and relations.

A folder with MRCONSO.RRF and MRREL.RRF, and MRDEF.RRF and MRSTY.RRF where they are (each may be packed with gzip),
as MetamorphoSys writes it. MRREL says what the second concept is to the first; a triple is read in that order:
(CUI2, RELA, CUI1), with REL where there is no RELA. Left out are suppressed rows, relations of a concept to itself,
those that deny a relation (XR) and those of a concept of which no name is kept.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.disk import read_toml
from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Alias, Batch, Batches, DroppedRow, NodeRow, Scope, Source, TextRow, Told
from kgmed.graph.formats.base import byte_blocks, check_file, published
from kgmed.records import Relation
from kgmed.registry import formats

# --- Rich Release Format, the UMLS's own: fields that each end in '|', one record a line; read a block at a time.
# Only the fields that are asked for become Python objects; a full MRREL has 78 million lines of sixteen fields.

_BAR, _NEWLINE = 124, 10
_SIZE = 1 << 19  # bytes of a block: what is made of it stays in the processor's second cache
MOST = 10_000_000  # concepts that seven digits can number
Mask = NDArray[np.bool_]
Ints = NDArray[Any]
_LETTERS = np.uint64(0x3030303030303043)  # C0000000 as little-endian bytes
_ABOVE_NINE, _NO_DIGIT = np.uint64(0x7676767676767600), np.uint64(0x80808080808080FF)
_PAIRS = ((8, 0x0F0F0F0F0F0F0F0F, 2561), (16, 0x00FF00FF00FF00FF, 6553601), (32, 0x0000FFFF0000FFFF, 42949672960001))


@dataclass(frozen=True, slots=True)
class Block:
    """Records of an RRF file: record i begins at `start[i]` of `raw`, its fields end at `bars[i]`."""

    path: Path
    raw: bytes
    data: NDArray[np.uint8]
    start: Ints  # (n,)
    bars: Ints  # (n, fields)
    line: Ints  # (n,) from 1

    def __len__(self) -> int:
        """The number of records n."""
        return len(self.line)

    def of(self, rows: Ints) -> "Block":
        """Only those records, by number or mask."""
        if rows.dtype == bool and rows.all():
            return self
        return Block(self.path, self.raw, self.data, self.start[rows], self.bars[rows], self.line[rows])

    def begin(self, field: int) -> Ints:
        """Where a field begins (n,)."""
        return self.bars[:, field - 1] + 1 if field else self.start

    def cells(self, field: int, instead: int | None = None) -> list[bytes]:
        """A field of every record, or the field `instead` where it is empty."""
        raw, begin, end = self.raw, self.begin(field), self.bars[:, field]
        if instead is not None and (empty := begin == end).any():
            begin, end = np.where(empty, self.begin(instead), begin), np.where(empty, self.bars[:, instead], end)
        return [raw[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]

    def letters(self, field: int) -> NDArray[np.uint8]:
        """The byte of a field that has exactly one (n,); 0 for the others."""
        begin = self.begin(field)
        return np.where(self.bars[:, field] - begin == 1, self.data[begin], np.uint8(0))

    def equals(self, field: int, text: bytes) -> Mask:
        """Whether a field is that short text (n,)."""
        begin = self.begin(field)
        found: Mask = self.bars[:, field] - begin == len(text)
        for i, byte in enumerate(text):  # the file goes on after a shorter field: its '|' and newline at least
            found &= self.data[np.minimum(begin + i, len(self.data) - 1)] == byte
        return found

    def among(self, field: int, texts: Sequence[bytes]) -> Mask:
        """Whether a field is one of those texts (n,)."""
        known = frozenset(texts)
        return np.fromiter((cell in known for cell in self.cells(field)), bool, len(self))

    def concepts(self, field: int) -> NDArray[np.int32]:
        """The number in each CUI of a field (n,); raises `SourceError` for what is no CUI."""
        begin = self.begin(field)
        every = np.ndarray((max(1, len(self.raw) - 7),), "S8", self.raw.ljust(8), strides=(1,))  # from every byte on
        value = every[np.minimum(begin, len(every) - 1)].view("<u8") ^ _LETTERS
        wrong = ((value + _ABOVE_NINE) | value) & _NO_DIGIT != 0
        wrong |= self.bars[:, field] - begin != 8
        if wrong.any():
            i = int(wrong.argmax())
            problem = f"{self.raw[begin[i] : self.bars[i, field]].decode()[:20]!r} in field {field + 1} is no CUI"
            raise SourceError(self.path, int(self.line[i]), problem, "write C and seven digits, as NLM does")
        for shift, mask, factor in _PAIRS:  # eight digits at once: pairs, then fours, then all
            value = ((value & np.uint64(mask)) * np.uint64(factor)) >> np.uint64(shift)
        return value.astype(np.int32)


def records(path: Path, fields: int) -> Iterator[Block]:
    """The records of an RRF file; raises `SourceError` for a line that has another number of fields."""
    done = 0
    for text in byte_blocks(path, _SIZE):
        block, count = _block(path, text + b"\n", fields, done)
        done += count
        if len(block):
            yield block


def _block(path: Path, raw: bytes, fields: int, done: int) -> tuple[Block, int]:
    """The records in whole lines, of which `done` stand before, and the number of lines; empty ones are no records."""
    data = np.frombuffer(raw, np.uint8)
    bars = np.flatnonzero(data == _BAR).astype(np.int32)
    count = raw.count(b"\n")
    stop = bars[fields - 1 :: fields] + 1
    if len(bars) == count * fields and (data[stop] == _NEWLINE).all():  # one newline after every so many bars
        full = np.ones(count, bool)
    else:
        stop = np.flatnonzero(data == _NEWLINE).astype(np.int32)
        full = _checked(path, data, bars, stop, fields, done)
    start = np.concatenate([[0], stop[:-1] + 1]).astype(np.int32)[full]
    return Block(path, raw, data, start, bars.reshape(-1, fields), np.flatnonzero(full) + done + 1), count


def _checked(path: Path, data: NDArray[np.uint8], bars: Ints, stop: Ints, fields: int, done: int) -> Mask:
    """Which lines are not empty, where every other holds its fields; raises `SourceError`."""
    full = stop > np.concatenate([[0], stop[:-1] + 1])
    wrong = full & ((np.diff(np.searchsorted(bars, stop), prepend=0) != fields) | (data[stop - 1] != _BAR))
    if wrong.any():
        problem = f"does not hold {fields} fields that each end in '|'"
        raise SourceError(path, done + int(wrong.argmax()) + 1, problem, "unpack the file again from the UMLS release")
    return full


# --- What the codes of the UMLS Metathesaurus mean: semantic types, relations, term types, languages.
# Sources: the UMLS Reference Manual (MRREL: REL, RELA; MRCONSO: TTY, LAT), the UMLS Semantic Network (TUI) and its
# semantic groups. Shared by the reader of RRF files and the client of the REST service.

PREFIX = "umls"  # of a concept's id, as in umls:C0004096

_CODES = read_toml(Path(__file__).with_name("sources.toml"))
_KINDS: Mapping[str, str] = _CODES["umls_kinds"]
LANGUAGES: Mapping[str, str] = _CODES["umls_languages"]
_RANK: Mapping[str, tuple[int, str]] = {
    tui: (rank, kind) for rank, (kind, types) in enumerate(_KINDS.items()) for tui in types.split()
}
_NO_RANK = (len(_KINDS), "concept")

RELATIONS: Mapping[str, Relation] = published("umls")["relations"]
UNRELATED = frozenset({"XR", "DEL"})  # REL that denies a relation, or whose concept was deleted

SCOPES: Mapping[str, Scope] = {  # TTY -> how close the name is to the concept
    "AB": Scope.ABBREVIATION, "ACR": Scope.ABBREVIATION, "AA": Scope.ABBREVIATION, "AM": Scope.ABBREVIATION,
    "BN": Scope.BRAND, "BD": Scope.BRAND, "SBD": Scope.BRAND, "FBD": Scope.BRAND,
    "CHN": Scope.LAYPERSON, "CMN": Scope.LAYPERSON,
}  # fmt: skip
LAY_SOURCES = frozenset({"CHV", "MEDLINEPLUS"})
DEFINED_BY = ("MSH", "NCI", "ICF", "CSP", "HPO")  # whose definition comes first

_TRANSLATION = re.compile(rf"[A-Z0-9]{{3,}}?({'|'.join(LANGUAGES)})$")
_LOINC = re.compile(r"LNC-([A-Z]{2})-[A-Z]{2}$")
_NAMED = {"KCD5": "KOR", "TKMT": "KOR", "SCTSPA": "SPA"}


def kind_of(types: Iterable[str]) -> str:
    """The kind of a concept of those semantic types (TUI); "concept" where the table says nothing.

    >>> kind_of(["T109", "T121"]), kind_of(["T047"]), kind_of(["T999"])
    ('drug', 'disease', 'concept')
    """
    return min((_RANK.get(tui, _NO_RANK) for tui in types), default=_NO_RANK)[1]


def language_of(source: str) -> str:
    """The language (LAT) that a source's abbreviation (SAB) tells: translations end in it, all else is English.

    >>> [language_of(s) for s in ("MSHSPA", "MDRJPN", "LNC-DE-AT", "SNOMEDCT_US", "HPO")]
    ['SPA', 'JPN', 'GER', 'ENG', 'ENG']
    """
    if found := _LOINC.match(source):
        return next((lat for lat, iso in LANGUAGES.items() if iso == found.group(1).casefold()), "ENG")
    named = _TRANSLATION.match(source)
    return _NAMED.get(source) or (named.group(1) if named else "ENG")


def definition_rank(source: str) -> int:
    """The place of a source among those whose definition is preferred; the rest share the last."""
    return DEFINED_BY.index(source) if source in DEFINED_BY else len(DEFINED_BY)


_FIELDS = {"MRCONSO": 18, "MRREL": 16, "MRDEF": 8, "MRSTY": 6}
_NEEDED = ("MRCONSO", "MRREL")
_MEND = "name a folder into which MetamorphoSys has written a subset of the UMLS"
_SAYS_NOTHING = UNRELATED | {""}
_EVERY = 1 << 13  # rows of a batch
_new = tuple.__new__  # of a row whose values are all given: a third of the time of calling its class
_RELEASE = re.compile(r"umls\.release\.name=(\w{1,20})")


@formats.register("umls", suffixes=(".rrf",), holds=("MRCONSO.RRF*",))
def read_umls(
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
        language=LANGUAGES[languages[0]],
        prefix=PREFIX,
        inputs=tuple(files.values()),
        **published("umls"),
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
        rows = np.ones(len(block), bool) if self.suppressed else ~np.isin(block.letters(suppress), list(b"OEY"))
        if self.sources:
            rows[rows] = block.of(rows).among(source, self.sources)
        return rows


class _UmlsRelations(dict[bytes, int]):
    """From RELA, or REL where there is none, to the code of the relation."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []  # code -> relation
        self.silent: list[int] = []  # codes of what says nothing

    def __missing__(self, cell: bytes) -> int:
        name = cell.decode().strip()
        code = self[cell] = len(self.names)
        self.names.append(name)
        if name in _SAYS_NOTHING:
            self.silent.append(code)
        return code


def _rows(files: dict[str, Path], wanted: _Filter) -> Batches:
    """All rows; the code of a concept is the number in its CUI."""
    relations = _UmlsRelations()
    return Batches(
        _batches(files, wanted, relations),
        lambda codes: list(map(_cui, codes)),
        lambda codes: [relations.names[code] for code in codes],
    )


def _cui(number: int) -> str:
    return f"C{number:07d}"


def _batches(files: dict[str, Path], wanted: _Filter, relations: _UmlsRelations) -> Iterator[Batch]:
    """All rows, names first: they decide which concepts there are."""
    yield from _told(_names(files["MRCONSO"], wanted))
    if not wanted.kept.any():
        mend = "look at the languages and sources that were asked for"
        raise SourceError(files["MRCONSO"], 0, "holds no name that is wanted", mend)
    if "MRSTY" in files:
        yield from _told(_types(files["MRSTY"], wanted))
    if "MRDEF" in files:
        yield from _told(_definitions(files["MRDEF"], wanted))
    yield from (_joined(block, wanted, relations) for block in records(files["MRREL"], _FIELDS["MRREL"]))


def _told(rows: Iterator[Told]) -> Iterator[Batch]:
    """The rows in batches."""
    while block := list(islice(rows, _EVERY)):
        yield Batch(block)


def _names(path: Path, wanted: _Filter) -> Iterator[Told]:
    """A node for each run of names of one concept; runs do not end with a block."""
    named = (row for block in records(path, _FIELDS["MRCONSO"]) for row in _named(block, wanted))
    for concept, group in groupby(named, itemgetter(0)):
        rows = list(group)
        names = [row for row in rows if row[2]]
        if len(names) < len(rows):
            yield from (DroppedRow("no name", row[-1]) for row in rows if not row[2])
        if names:
            yield _node(concept, names, known=wanted.kept.item(concept))
            wanted.kept[concept] = True


_Name = tuple[int, int, str, Scope, int]  # concept, order of preference, text, scope, line


def _named(block: Block, wanted: _Filter) -> Iterator[_Name]:
    """The names in a block that are wanted."""
    language = np.full(len(block), len(wanted.languages))
    for i, lat in enumerate(wanted.languages):
        language[block.equals(1, lat.encode())] = i
    rows = (language < len(wanted.languages)) & wanted(block, 11, 16)
    block, language = block.of(rows), language[rows]
    preferred = (block.letters(2) == ord("P")) * 4 + block.equals(4, b"PF") * 2 + (block.letters(6) == ord("Y"))
    order = language * 8 + 7 - preferred
    scopes = map(_scope, language.tolist(), block.cells(11), block.cells(12))
    texts = [cell.decode().strip() for cell in block.cells(14)]
    return zip(block.concepts(0).tolist(), order.tolist(), texts, scopes, block.line.tolist(), strict=True)


@cache
def _scope(language: int, source: bytes, kind: bytes) -> Scope:
    """How close a name is to its concept, by language, source (SAB) and term type (TTY)."""
    if language:
        return Scope.TRANSLATION
    return SCOPES.get(kind.decode()) or (Scope.LAYPERSON if source.decode() in LAY_SOURCES else Scope.EXACT)


def _node(concept: int, names: list[_Name], *, known: bool) -> NodeRow:
    """The concept with its preferred name and its other names, each once; one `known` already keeps its name."""
    best = "" if known else min(names, key=itemgetter(1))[2]
    scopes: dict[str, Scope] = {}
    for _, _, text, scope, _ in names:
        if text not in scopes or scope < scopes[text]:
            scopes[text] = scope
    scopes.pop(best, None)
    return NodeRow(_cui(concept), best, aliases=tuple([_new(Alias, (*alias, "")) for alias in scopes.items()]))


def _types(path: Path, wanted: _Filter) -> Iterator[Told]:
    """The kind of each concept, and its semantic types in words."""
    found = (row for block in records(path, _FIELDS["MRSTY"]) for row in _kept(block, wanted, 1, 3))
    kinds: dict[tuple[str, ...], str] = {}
    for concept, group in groupby(found, itemgetter(0)):
        rows, cui = list(group), _cui(concept)
        types = tuple([tui for _, tui, _ in rows])
        yield NodeRow(cui, kind=kinds.get(types) or kinds.setdefault(types, kind_of(types)))
        yield from [TextRow(cui, "semantic_type", text) for _, _, text in rows if text]


def _definitions(path: Path, wanted: _Filter) -> Iterator[Told]:
    """The definition of the best source as description, the others as texts; only in a language that is wanted."""
    found = (
        row
        for block in records(path, _FIELDS["MRDEF"])
        for row in _kept(block.of(wanted(block, 4, 6)), wanted, 4, 5)
        if row[2] and language_of(row[1]) in wanted.languages
    )
    for concept, group in groupby(found, itemgetter(0)):
        first, *others = sorted(group, key=lambda row: definition_rank(row[1]))
        yield NodeRow(_cui(concept), description=first[2])
        yield from (TextRow(_cui(concept), "definition", text) for _, _, text in others)


def _kept(block: Block, wanted: _Filter, first: int, second: int) -> Iterator[tuple[int, str, str]]:
    """The concept and two fields of the records of concepts that are kept."""
    concepts = block.concepts(0)
    rows = wanted.kept[concepts]
    block = block.of(rows)
    one, two = ([cell.decode().strip() for cell in block.cells(f)] for f in (first, second))
    return zip(concepts[rows].tolist(), one, two, strict=True)


def _joined(block: Block, wanted: _Filter, relations: _UmlsRelations) -> Batch:
    """The triples in a block, each from the second concept to the first; those that say nothing are dropped."""
    tail, head = block.concepts(0), block.concepts(4)
    rows = wanted(block, 10, 14) & (tail != head) & wanted.kept[tail] & wanted.kept[head]
    block, head, tail = block.of(rows), head[rows], tail[rows]
    relation = np.fromiter(map(relations.__getitem__, block.cells(7, instead=3)), np.int32, len(block))
    silent = np.isin(relation, relations.silent) if relations.silent else np.zeros(0, bool)
    if not silent.any():
        return Batch([], head, relation, tail)
    names = (relations.names[code] for code in relation[silent].tolist())
    reasons = ("not related" if name else "no relation" for name in names)
    dropped = list(map(DroppedRow, reasons, block.line[silent].tolist()))
    return Batch(dropped, head[~silent], relation[~silent], tail[~silent])
