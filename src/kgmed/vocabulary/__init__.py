"""The medical words of the package as tables: lay names, abbreviations, brands, translations, prevalence, ...

Each file is tab-separated with a header. A row states one fact: subject, predicate, object, the language of the words
that the row adds, its source and a note. Predicates are those of SKOS where one fits. The order of rows is kept: of
several names of a thing the first is the usual one. docs/vocabulary.md describes the files and the predicates.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import compress
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar, cast
from zlib import crc32

from kgmed.disk import data_folder, keep_bytes, kept_bytes
from kgmed.errors import BadInput, SourceError

__all__ = ["TABLES", "File", "Predicate", "Row", "files", "use"]

# --- The files of the vocabulary: what a row states, what is checked of it, and how a table is read quickly.


class Predicate(StrEnum):
    """What a row states of its subject and its object."""

    ALT_LABEL = "skos:altLabel"  # the object is another name of the subject
    PREF_LABEL = "skos:prefLabel"  # begins another entry of the same name
    MEMBER = "skos:member"  # the object is in the list that is the subject
    EXACT_MATCH = "skos:exactMatch"  # the object translates the subject
    BROAD_MATCH = "skos:broadMatch"  # names that hold the subject are of the class that is the object
    LAY_TERM_FOR = "kgmed:layTermFor"  # who says the subject means the object
    BRAND_OF = "kgmed:brandOf"
    ABBREVIATION_OF = "kgmed:abbreviationOf"
    MEANS_IN_CONTEXT = "kgmed:meansInContext"  # it abbreviates the object beside a word of the object's context
    CONTEXT_OF = "kgmed:contextOf"  # the subject is a word of the object's context
    PREVALENCE = "kgmed:prevalence"  # new cases a year of 100,000 people, as a power of ten
    PART_MEANS = "kgmed:partMeans"  # a part of names, in English
    BEGINNING_MEANS = "kgmed:beginningMeans"  # a beginning of names, in English, which says it behind the rest
    CLAUSE_MEANS = "kgmed:clauseMeans"  # a clause of a label with a gap, in English
    FRAME_MEANS = "kgmed:frameMeans"  # what is said around a name, in English
    SIGN_OF = "kgmed:signOf"  # who says the subject has the signs (kind/sign; ...) that are the object
    SIGNS_NEEDED = "kgmed:signsNeeded"  # how many signs make an emergency of a kind
    FIRST_AID = "kgmed:firstAid"  # what is answered first to an emergency of a kind
    CRITICAL = "kgmed:criticalValue"  # what is measured: least possible, critical below and above, most, units=factors
    MEANS_DISEASE = "kgmed:meansDisease"  # names that hold the object are of what an emergency may be
    TYPED_FOR = "kgmed:typedFor"  # a character that is typed for another
    ENDING_FORM = "kgmed:endingForm"  # two endings of words with one meaning
    IN_NAME = "kgmed:inName"  # names that hold the object are of the subject
    NAMED_BY = "kgmed:namedBy"  # questions that hold the object name the subject
    USED_FOR = "kgmed:usedFor"  # a class of medicines is given for the object by itself
    SECTION_NAMED = "kgmed:sectionNamed"  # graphs call a class of medicines by names that hold the object
    WORSENS = "kgmed:worsens"  # a side effect, and the illness that it makes worse


class Row(NamedTuple):
    """One row of a file."""

    subject: str
    predicate: str
    object: str
    language: str
    source: str
    note: str


class Columns(NamedTuple):
    """The columns of a table that are searched; each predicate is one letter (`CODES`)."""

    subjects: list[str]
    predicates: str
    objects: list[str]


CODES = {p.value: chr(ord("A") + i) for i, p in enumerate(Predicate)}
_LANGUAGE = re.compile("[a-z]{2,3}")
PACKAGED = Path(__file__).parent
KNOWLEDGE = {  # tables that can be left out, and the predicates by which rows of any other file are added to each
    "lay_names": (Predicate.LAY_TERM_FOR,),
    "names": (Predicate.ALT_LABEL, Predicate.PREF_LABEL),
    "medicines": (Predicate.BRAND_OF,),
    "abbreviations": (Predicate.ABBREVIATION_OF, Predicate.MEANS_IN_CONTEXT, Predicate.CONTEXT_OF),
    "classes": (Predicate.BROAD_MATCH, Predicate.NAMED_BY, Predicate.USED_FOR, Predicate.SECTION_NAMED),
    "translations": (
        *(Predicate.EXACT_MATCH, Predicate.PART_MEANS, Predicate.BEGINNING_MEANS, Predicate.CLAUSE_MEANS),
        Predicate.FRAME_MEANS,
    ),
    "glossary": (),
    "prevalence": (Predicate.PREVALENCE,),
    "name_patterns": (Predicate.IN_NAME, Predicate.WORSENS),
}
ALWAYS = {  # tables of language, and of what must not be missed: they can be replaced, and not left out
    "urgent_signs": (
        *(Predicate.SIGN_OF, Predicate.SIGNS_NEEDED, Predicate.FIRST_AID, Predicate.CRITICAL, Predicate.MEANS_DISEASE),
    ),
    "spelling": (Predicate.TYPED_FOR, Predicate.ENDING_FORM),
    "word_lists": (),
}
TABLES = {**KNOWLEDGE, **ALWAYS}
PATTERNS = {Predicate.BROAD_MATCH: "subject"} | dict.fromkeys(  # what of a row is a regular expression
    (Predicate.IN_NAME, Predicate.NAMED_BY, Predicate.SECTION_NAMED, Predicate.MEANS_DISEASE), "object"
)
_NUMBERS = frozenset({Predicate.PREVALENCE, Predicate.SIGNS_NEEDED})
_GAPPED = frozenset({Predicate.CLAUSE_MEANS, Predicate.FRAME_MEANS})
_HEADER = "\t".join(Row._fields)
_WIDTH = len(Row._fields)


def table_of(predicate: str) -> str:
    """The table to which a row is added whose file is not named as one; "" = none.

    >>> table_of("kgmed:brandOf"), table_of("skos:member")
    ('medicines', '')
    """
    return next((name for name, predicates in TABLES.items() if predicate in predicates), "")


# --- A file by its rows, each of them checked.


def read_rows(path: Path) -> list[Row]:
    """The rows of a file; raises `BadInput` where it cannot be read, and names the line that is bad."""
    lines = _text(_bytes(path), path).rstrip("\n").split("\n")
    if lines[0] != _HEADER:
        columns = ", ".join(Row._fields)
        raise SourceError(path, 1, "it does not begin with the header of a vocabulary", f"the columns are {columns}")
    found = []
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if wrong := _wrong(cells, named=path.stem in TABLES):
            raise SourceError(path, number, *wrong)
        found.append(Row._make(cells))
    return found


def _wrong(cells: Sequence[str], *, named: bool) -> tuple[str, str] | None:
    """What is wrong with a row, and how to mend it; `named` = its file takes the place of a table."""
    if len(cells) != _WIDTH:
        return f"it has {len(cells)} columns of {_WIDTH}", "put a tab between two columns, also where one is empty"
    row = Row._make(cells)
    if missing := next((name for name in Row._fields[:5] if not getattr(row, name).strip()), ""):
        return f"the {missing} is empty", "only the note may be"
    if row.predicate not in CODES:
        return f"the predicate {row.predicate} is not known", f"use one of {', '.join(sorted(CODES))}"
    if not _LANGUAGE.fullmatch(row.language):
        return f"the language {row.language} is not known", "use a code of ISO 639, as en, zh or ja"
    if not named and not table_of(row.predicate):
        return f"{row.predicate} is of no one table", f"name the file after its table: {', '.join(sorted(TABLES))}"
    return _wrong_value(row, Predicate(row.predicate))


def _wrong_value(row: Row, predicate: Predicate) -> tuple[str, str] | None:
    """What is wrong with the number or the regular expression of a row."""
    if predicate in _NUMBERS and not re.fullmatch(r"-?\d+(?:\.\d+)?", row.object):
        return f"{row.object} is no number", f"the object of {predicate} is one"
    if predicate == Predicate.SIGN_OF and not re.fullmatch(r"[^/;]+/[^/;]+(?:; [^/;]+/[^/;]+)*", row.object):
        return f"{row.object} is no sign", "the object is kind/sign, several with a semicolon and a space between them"
    if predicate == Predicate.CRITICAL and not re.fullmatch(
        r"(?:[\d.]+ ){4}[^\s=]+=[\w.-]+(?: [^\s=]+=[\w.-]+)*", row.object
    ):
        return f"{row.object} is no critical value", "write four numbers, ascending, and units as mmol/l=1 mg/dl=0.25"
    if predicate in _GAPPED and row.subject.count("{}") != 1:
        return f"{row.subject} has no gap, or several", f"the subject of {predicate} has one {{}}"
    if predicate in PATTERNS:
        given = str(getattr(row, PATTERNS[predicate]))
        try:
            re.compile(given)
        except re.error as e:
            return f"{given} is no regular expression ({e})", "put a backslash before a sign that means itself"
    return None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise BadInput(f"the vocabulary {path} cannot be read: {e.strerror}") from e


def _text(content: bytes, path: Path) -> str:
    """A file's text, its lines ended by one character."""
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as e:
        raise BadInput(f"the vocabulary {path} cannot be read: it is not UTF-8") from e


# --- A table of the package by its columns, and compiled: to split the cells of a large one takes 10 ms, to read three
# columns of it 2 ms. What is compiled is a text, so that a damaged one is noticed and does no harm.


def read_columns(path: Path) -> Columns:
    """The columns of a table of the package that are searched; raises `SourceError` where a row is bad."""
    content = _bytes(path)
    place = data_folder() / "vocabulary" / f"{path.stem}-{crc32(content):08x}.txt"
    found = _compiled(place)
    if found is None:
        found = _split(_text(content, path), path)
        _compile((found.predicates, *found.subjects, *found.objects), place)
    return found


def _split(text: str, path: Path) -> Columns:
    """The columns of a text of rows."""
    header, _, body = text.partition("\n")
    cells = body.rstrip("\n").replace("\n", "\t").split("\t")
    subjects, stated, objects, languages, sources = (cells[i::_WIDTH] for i in range(5))
    sound = header == _HEADER and len(cells) % _WIDTH == 0 and CODES.keys() >= {*stated}
    sound = sound and all(map(_LANGUAGE.fullmatch, {*languages}))
    if not sound or any("" in c for c in (subjects, objects, sources)):
        read_rows(path)  # names the line
    return Columns(subjects, "".join(map(CODES.__getitem__, stated)), objects)


def _compiled(place: Path) -> Columns | None:
    """The columns that are kept in a file; None where it is missing or damaged."""
    body = kept_bytes(place, _FORMAT)
    if body is None:
        return None
    predicates, *cells = body.decode("utf-8").split("\n")
    return Columns(cells[: len(predicates)], predicates, cells[len(predicates) :])


def _compile(lines: Iterable[str], place: Path) -> bytes:
    """Keep lines in a file, beside the graphs."""
    body = "\n".join(lines).encode()
    keep_bytes(place, _FORMAT, body)
    return body


_FORMAT = f"{len(CODES)} {crc32(' '.join(CODES).encode()):08x}"  # other columns are those of another version of this


VERSION = 1  # goes up when the meaning of a column or a predicate changes
BRAND = "®"  # ends the name of a brand in what `entries` gives; the files leave it out
_HEAD_IS_OBJECT = frozenset({Predicate.BRAND_OF, Predicate.ABBREVIATION_OF, Predicate.MEANS_IN_CONTEXT})


# --- Which files are in use, and what is built from them.


class File(NamedTuple):
    """A file of the vocabulary: the tables to which it gives rows, how many, and how many of each source."""

    file: str
    tables: tuple[str, ...]
    rows: int
    sources: dict[str, int]


_P = ParamSpec("_P")
_T = TypeVar("_T")
_given: dict[Path, frozenset[str]] = {}  # files of the user, and the tables to which each gives rows
_packaged = True  # whether the knowledge of the package is read
_forget: list[Callable[[], None]] = []


def kept(maxsize: int | None = 1) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """As `lru_cache`, for what is built from the tables: forgotten when other files are used."""

    def decorate(build: Callable[_P, _T]) -> Callable[_P, _T]:
        cached = lru_cache(maxsize)(build)
        _forget.append(cached.cache_clear)
        return cast(Callable[_P, _T], cached)

    return decorate


def use(paths: Iterable[Path | str], *, packaged: bool = True) -> None:
    """Read other files from now on; to be called before a graph is opened. `use(())` is the state at the start.

    A file that is named as a table of the package (`prevalence.tsv`) takes its place; rows of any other file are added
    to the table of their predicate. `packaged=False` leaves out the package's own medical knowledge, but for its tables
    of language and of emergencies. Raises `BadInput` for a file that cannot be read or has a bad row.
    """
    global _given, _packaged
    _given = {path: frozenset(_tables(path)) for path in map(Path, paths)}
    _packaged = packaged
    for forget in _forget:
        forget()


def files() -> tuple[File, ...]:
    """The files in use, in the order of the tables.

    >>> [file.rows > 100 for file in files() if "prevalence" in file.tables]
    [True]
    """
    tables: dict[Path, list[str]] = {}
    for name in TABLES:
        for path in _paths(name):
            tables.setdefault(path, []).append(name)
    return tuple(_file(path, names) for path, names in tables.items())


def _file(path: Path, tables: Iterable[str]) -> File:
    found = read_rows(path)
    sources = Counter(row.source for row in found)
    shown = f"kgmed/vocabulary/{path.name}" if path.parent == PACKAGED else str(path)
    return File(shown, tuple(tables), len(found), dict(sources))


def _tables(path: Path) -> Iterator[str]:
    """The tables to which a file gives rows."""
    for row in read_rows(path):
        yield path.stem if path.stem in TABLES else table_of(row.predicate)


def changed(*tables: str) -> str:
    """What is added to the key of a file that is made with some tables: "" while they are the package's own.

    >>> changed("spelling")
    ''
    """
    own = all(_paths(name) == [PACKAGED / f"{name}.tsv"] for name in tables)
    return "" if own else f" {digest(*tables)}"


def digest(*tables: str) -> int:
    """A number that changes with the content of some tables."""
    found = 0
    for path in (path for name in tables for path in _paths(name)):
        found = crc32(path.read_bytes(), found)
    return found


def _paths(table: str) -> list[Path]:
    """The files that a table is read from."""
    given = [path for path, tables in _given.items() if table in tables or path.stem == table]
    instead = any(path.stem == table for path in given)
    own = [PACKAGED / f"{table}.tsv"] if not instead and (_packaged or table in ALWAYS) else []
    return [*own, *given]


# --- What the modules that use it ask for.


Cells = list[list[str]]
_BETWEEN = "\x1f"  # words of a cell


def index(name: str, table: str, make: Callable[[], Mapping[str, Cells]]) -> Callable[[str], Cells]:
    """What is made of a table, by a key; kept beside the graphs, and taken apart only where it is asked for."""
    place = data_folder() / "vocabulary" / f"{name}-{digest(table):08x}.txt"
    body = kept_bytes(place, _FORMAT)
    if body is None:
        body = _compile(("\t".join((key, *map(_BETWEEN.join, cells))) for key, cells in make().items()), place)
    held = dict(line.partition(b"\t")[::2] for line in body.split(b"\n"))

    def cells(key: str) -> Cells:
        line = held.get(key.encode(errors="surrogatepass"))
        return [cell.split(_BETWEEN) for cell in line.decode().split("\t")] if line else []

    return cells


def rows(table: str) -> Iterator[Row]:
    """The rows of a table.

    >>> next(row for row in rows("prevalence") if row.subject == "influenza")[:4]
    ('influenza', 'kgmed:prevalence', '4.3', 'en')
    """
    for path in _paths(table):
        yield from (r for r in read_rows(path) if table in (path.stem, table_of(r.predicate)))


@kept(None)
def columns(table: str) -> Columns:
    """The columns of a table that are searched."""
    paths = _paths(table)
    if paths == [PACKAGED / f"{table}.tsv"]:
        return read_columns(paths[0])
    found = list(rows(table))
    return Columns([r.subject for r in found], "".join(CODES[r.predicate] for r in found), [r.object for r in found])


def pairs(table: str, predicate: Predicate) -> Iterator[tuple[str, str]]:
    """The subject and the object of each row with a predicate.

    >>> next(pairs("prevalence", Predicate.PREVALENCE))
    ('common cold', '5')
    """
    subjects, predicates, objects = columns(table)
    return compress(zip(subjects, objects, strict=True), map(CODES[predicate].__eq__, predicates))


@kept(None)
def others(table: str, predicate: Predicate, *, of_object: bool = False) -> dict[str, tuple[str, ...]]:
    """The objects that a predicate states of each subject; `of_object` = the subjects that it states of each object.

    >>> others("name_patterns", Predicate.WORSENS, of_object=True)["asthma"][0]
    '支气管痉挛'
    """
    found: dict[str, list[str]] = {}
    for subject, obj in pairs(table, predicate):
        head, other = (obj, subject) if of_object else (subject, obj)
        found.setdefault(head, []).append(other)
    return {head: tuple(names) for head, names in found.items()}


def members(table: str, name: str) -> tuple[str, ...]:
    """The words of a list of a table; () where it has no such list.

    >>> members("classes", "forms of medicines")
    ('creams and ointments', 'eye drops', 'sprays and inhalers')
    """
    return others(table, Predicate.MEMBER).get(name, ())


def entries(table: str, *predicates: Predicate) -> list[list[str]]:
    """The names of each thing, its usual one first: rows about one thing that stand together, the others left out.

    >>> next(names for names in entries("medicines", Predicate.ALT_LABEL, Predicate.BRAND_OF) if "Coreg®" in names)
    ['carvedilol', '卡维地洛', 'Coreg®']
    """
    found: list[list[str]] = []
    head, begins, brand = "", CODES[Predicate.PREF_LABEL], CODES[Predicate.BRAND_OF]
    chosen, turned = {begins, *map(CODES.get, predicates)}, {*map(CODES.get, _HEAD_IS_OBJECT)}
    for subject, stated, obj in zip(*columns(table), strict=True):
        if stated not in chosen:
            continue
        of, name = (obj, subject) if stated in turned else (subject, obj)
        if of != head or stated == begins:
            head = of
            found.append([of])
        if stated != begins:
            found[-1].append(name + BRAND if stated == brand else name)
    return found


@kept(None)
def pattern(table: str, of: str, predicate: Predicate = Predicate.IN_NAME, *, none: str = "(?!)") -> str:
    """The regular expression that a table has for something; `none`, which matches nothing, where it has none.

    >>> pattern("classes", "gliptins", Predicate.BROAD_MATCH), pattern("classes", "gliptins", Predicate.SECTION_NAMED)
    ('列汀|gliptin', '(?!)')
    """
    return "|".join(others(table, predicate, of_object=PATTERNS[predicate] == "subject").get(of, (none,)))


@kept(None)
def compiled(table: str, of: str, predicate: Predicate = Predicate.IN_NAME) -> re.Pattern[str]:
    """`pattern`, compiled; letters match in either case.

    >>> compiled("urgent_signs", "emergency").search("Acute appendicitis").group()
    'appendicitis'
    """
    return re.compile(pattern(table, of, predicate), re.IGNORECASE)


def listed(words: str) -> re.Pattern[str]:
    """What holds one of the words of a list of `word_lists`.

    >>> bool(listed("treatments by name").search("gene therapy"))
    True
    """
    return compiled("word_lists", words)
