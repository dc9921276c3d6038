"""What the readers of files share: lines with true line numbers, delimited records, and what a relation means by its
name.
"""

import csv
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from kgmed.disk import read_toml
from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import MENDED, DroppedRow, EdgeRow
from kgmed.graph.packed import bearable, unpacking
from kgmed.records import Relation, Role

# --- Text files line by line, with true line numbers, and every way in which a file cannot be read as one clear error.

_BLOCK = 1 << 17  # bytes; what is made of a block stays in the processor's cache
_LARGEST = 1 << 30  # bytes of a file that is read as a whole
_LONGEST = 1 << 24  # bytes of one line; a longer one is no line of any of these formats
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


def check_file(path: Path) -> None:
    """Nothing, if the path is a readable regular file; raises `SourceError` if not."""
    with reading(path):
        if path.is_dir():
            raise SourceError(path, 0, "is a folder, not a file", "name the file in it")
        if path.exists() and not path.is_file():
            raise SourceError(path, 0, "is a pipe or a device", "save it as a file, it is read more than once")
        with path.open("rb"):
            pass


def need_file(path: Path | None, what: str) -> Path:
    """The path, checked; raises `BadInput` where none is given."""
    if path is None:
        raise BadInput(f"a graph of the format {what} needs a file; name one")
    check_file(path)
    return path


def name_of(path: Path) -> str:
    """What a graph is called that is read from a file and was given no name.

    >>> name_of(Path("graphs/emckg.train.txt")), name_of(Path(".tsv"))
    ('emckg', 'tsv')
    """
    return path.name.lstrip(".").split(".")[0] or "graph"


@contextmanager
def reading(path: Path, line: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """A block in which what the file system or the compression says becomes a `SourceError`."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise SourceError(path, line(), f"the compressed data is damaged ({error})", "fetch the file again") from error
    except FileNotFoundError as error:
        raise SourceError(path, 0, "there is no such file", "check the path") from error
    except PermissionError as error:
        raise SourceError(path, 0, "may not be read", "check its permissions") from error
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeError | json.JSONDecodeError):
            raise
        raise SourceError(path, line(), f"cannot be read ({error})", "check the path and the disk") from error


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where it is gzip, xz or bzip2 by its first bytes, as far as is bearable.

    Raises `SourceError` for one that unpacks to far more than a file of its size can be.
    """
    with path.open("rb") as file, unpacking(path, file) as plain:
        yield plain


def whole_text(path: Path) -> str:
    """The text of a whole file, unpacked, without a byte order mark; raises `SourceError`.

    One that is too large is refused before any of it is held.
    """
    with reading(path):
        if bearable(path.stat().st_size) > _LARGEST:
            _check_size(path)
        with open_bytes(path) as file:
            data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(path, 0, f"is not UTF-8 text at byte {error.start}", "save it as UTF-8") from None


def _check_size(path: Path) -> None:
    """Nothing, if a file can be read as a whole: its bytes, unpacked, are counted one piece after the other."""
    size = 0
    with open_bytes(path) as file:
        while piece := file.read(_BLOCK):
            size += len(piece)
            if size > _LARGEST:
                raise SourceError(path, 0, "is larger than 1,024 MB", "split it")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Every line without its end, numbered from 1; one at a time, whatever the size of the file.

    Raises `SourceError` for what is no UTF-8 text, NUL bytes and lines above 16 MB.
    """
    number = 0
    for text in blocks(path):
        for line in text.split("\n"):
            number += 1
            yield number, line


def first_lines(path: Path, most: int) -> list[str]:
    """At most so many first lines; of one that is longer than what is read at once its beginning; raises as `lines`."""
    with reading(path), open_bytes(path) as file:
        data = file.read(_BLOCK).removeprefix(_BOM)
    if len(data) < _BLOCK - len(_BOM) or b"\n" in data:
        return [line for _, line in islice(lines(path), most)]
    return [_decoded(path, data[: len(data) - _part(data)], 0)]


def _part(data: bytes) -> int:
    """How many bytes at the end are a character that is not whole."""
    return next((i for i in range(1, 4) if data[-i] >= 0xC0), 0) if data and data[-1] >= 0x80 else 0


def blocks(path: Path) -> Iterator[str]:
    """Whole lines of the file, many at a time, without the last newline of each block; raises as `lines`."""
    for data, done in _whole_lines(path, _BLOCK):
        yield _decoded(path, data, done).replace("\r\n", "\n").removesuffix("\r")


def byte_blocks(path: Path, size: int) -> Iterator[bytes]:
    """What `blocks` gives, as UTF-8 and in blocks of about `size` bytes."""
    for data, done in _whole_lines(path, size):
        if not data.isascii() or b"\0" in data:
            _decoded(path, data, done)
        yield data.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in data else data


def _whole_lines(path: Path, size: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines without the last newline, and how many lines stand before."""
    done, rest, parts = 0, b"", list[bytes]()  # parts of a line that is longer than a block
    with reading(path, lambda: done + 1), open_bytes(path) as file:
        rest = file.read(size).removeprefix(_BOM)
        while block := file.read(size):
            cut = block.rfind(b"\n")
            if cut < 0:
                parts.append(rest)
                rest = block
                if len(parts) * size > _LONGEST:
                    raise SourceError(path, done + 1, "is longer than 16 MB", "check that this is a text file")
                continue
            whole, rest, parts = b"".join((*parts, rest, block[:cut])), block[cut + 1 :], []
            yield whole, done
            done += whole.count(b"\n") + 1
        if last := b"".join((*parts, rest)):
            yield last.removesuffix(b"\n"), done


def _decoded(path: Path, data: bytes, done: int) -> str:
    """The text of whole lines of which `done` lines stand before."""
    if (at := data.find(b"\0")) >= 0:
        number = done + data.count(b"\n", 0, at) + 1
        if not done and data.startswith(_UTF_16):
            raise SourceError(path, number, "is UTF-16 text", "save the file as UTF-8")
        raise SourceError(path, number, "holds a NUL byte", "check that this is a text file and not damaged")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        number = done + data.count(b"\n", 0, error.start) + 1
        raise SourceError(path, number, "is not UTF-8 text", "save the file as UTF-8") from error


def parse_json(path: Path, number: int, text: str) -> Any:
    """The value of a JSON text that starts in line `number`; raises `SourceError` with the line of the fault."""
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise SourceError(path, number + error.lineno - 1, f"is no JSON: {error.msg}", "mend that line") from error
    except UnicodeEncodeError as error:
        raise SourceError(path, number, "holds half a character (a lone surrogate)", "mend that line") from error
    except (ValueError, RecursionError) as error:
        problem = "is nested too deeply" if isinstance(error, RecursionError) else "holds a number that is too long"
        raise SourceError(path, number, problem, "mend that line") from error
    return value


def json_object(path: Path, number: int, text: str) -> dict[str, Any] | DroppedRow:
    """The JSON object in a line, or why the line is left out."""
    try:
        value = parse_json(path, number, text)
    except SourceError as error:
        return DroppedRow(error.problem, number, path)
    return value if isinstance(value, dict) else DroppedRow("is no JSON object", number, path)


def empty(path: Path) -> SourceError:
    """The error for a file in which there is nothing."""
    return SourceError(path, 0, "is empty", "give a file with at least one record")


# --- Delimited text, record by record: what the separator is, where the columns are, and quoted cells.

_SEPARATORS = ("\t", ",", ";", "|")
_LONGEST_CELL = 1 << 22  # characters in one quoted cell that spans lines; more is a forgotten quote


def separator(line: str, columns: int) -> str:
    """The separator that cuts a line into at least so many cells; "" if none does.

    >>> separator("a b\\tr\\tc, d", 3), separator("a,r,b", 3), separator("a b c", 3)
    ('\\t', ',', '')
    """
    return next((s for s in _SEPARATORS if len(line.split(s)) >= columns), "")


class Mended(list[str]):
    """The cells of a record whose quotes had to be mended."""


def records(path: Path, mark: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of every record that is not blank, with the number of its first line.

    Quotes mean something in all but tab-separated files, in which they are ordinary characters. A quoted cell may
    span lines. Quotes in the wrong place are read as they stand, and the cells are `Mended`.
    """
    numbered = lines(path)
    quoting = mark != "\t"
    while True:
        for number, line in numbered:
            if quoting and '"' in line:
                cells, ahead = _quoted(number, line, numbered, mark)
                yield number, cells
                if ahead:
                    numbered = chain(ahead, numbered)
                    break
            elif line and not line.isspace():
                yield number, line.split(mark)
        else:
            return


Numbered = tuple[int, str]


def _quoted(number: int, line: str, more: Iterator[Numbered], mark: str) -> tuple[list[str], list[Numbered]]:
    """The cells of a record with quotes, taking further lines while a quote is open, and lines taken in vain."""
    taken, size, is_open = [(number, line)], len(line), line.count('"') % 2
    while is_open:
        following = next(more, None)
        if following is None or (size := size + len(following[1])) > _LONGEST_CELL:
            return Mended(cell.replace('"', "") for cell in line.split(mark)), taken[1:]
        taken.append(following)
        is_open ^= following[1].count('"') % 2
    text = "\n".join(line for _, line in taken)
    try:
        return next(csv.reader([text], delimiter=mark, strict=True)), []
    except (csv.Error, StopIteration):
        pass
    try:
        return Mended(next(csv.reader([text.replace("\r", " ")], delimiter=mark))), []
    except (csv.Error, StopIteration):
        return Mended(text.replace('"', "").split(mark)), []


def wanted_cells(
    path: Path, wanted: Sequence[str], mend: str, *, optional: Sequence[str] = ()
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The wanted cells, at least two, of each row of a tab-separated table with a header; lines with a # are remarks.

    Of `optional` columns that are not there they are empty. Raises `SourceError`, for a damaged row in its turn.
    """
    rows = ((number, line.split("\t")) for number, line in lines(path) if line and line[0] != "#")
    number, head = next(rows, (0, []))
    if not head:
        raise empty(path)
    if missing := [name for name in wanted if name not in head]:
        raise SourceError(path, number, f"has no column {', '.join(missing)}", mend)
    pick = itemgetter(*(head.index(name) if name in head else -1 for name in (*wanted, *optional)))
    more = [] if set(optional) <= set(head) else [""]
    for number, cells in rows:
        if len(cells) != len(head):
            raise SourceError(path, number, f"has {len(cells)} columns, not the {len(head)} of the header", mend)
        yield number, pick(cells + more)


_SPANS = 50  # lines that a cell of a tab-separated file may span (ours)
Fitted = tuple[int, list[str], DroppedRow | None]


def fitted(path: Path, rows: Iterable[tuple[int, list[str]]], width: int, need: int) -> Iterator[Fitted]:
    """Records as wide as their header: the line, the cells, and what was mended; without cells where one is dropped.

    Missing last cells, of which the first `need` may not miss, are empty; a tab-separated cell that opens a quote may
    span lines; surplus cells at the end are taken off where nothing stands in them.
    """
    rows = iter(rows)
    while True:
        for number, cells in rows:
            mended = "quotes in the wrong place" if isinstance(cells, Mended) else ""
            held: list[tuple[int, list[str]]] = []
            if len(cells) <= width and cells[-1].startswith('"') and cells[-1].count('"') == 1:
                held, closed = _spanned(rows, cells)
                if closed:
                    cells, mended, held = closed, "a cell that spans lines", []
            if len(cells) > width and not any(map(str.strip, cells[width:])):
                cells, mended = cells[:width], "surplus empty cells"
            if need <= len(cells) < width:
                cells, mended = [*cells, *([""] * (width - len(cells)))], mended or "missing last cells"
            if len(cells) != width:
                yield number, [], DroppedRow(f"has {len(cells)} columns, not {width}", number, path)
            else:
                yield number, cells, DroppedRow(MENDED + mended, number, path) if mended else None
            if held:
                rows = chain(held, rows)
                break
        else:
            return


Records = list[tuple[int, list[str]]]


def _spanned(rows: Iterator[tuple[int, list[str]]], cells: list[str]) -> tuple[Records, list[str]]:
    """The records that were taken to find the end of a cell that opens a quote, and the whole record, if it ends."""
    held = []
    for number, more in islice(rows, _SPANS):
        held.append((number, more))
        cells = [*cells[:-1], f"{cells[-1]} {more[0]}", *more[1:]]
        if more[0].rstrip().endswith('"'):
            return held, [
                cell.strip().strip('"') if i == len(cells) - len(more) else cell for i, cell in enumerate(cells)
            ]
        if len(more) > 1:
            break
    return held, []


def column(header: Sequence[str], names: Sequence[str]) -> int:
    """The place of the first column whose name, in any case, is among `names`; -1 if there is none.

    >>> column(["Head", "Relation", "Tail"], ["relation", "rel"])
    1
    """
    return next((i for i, cell in enumerate(header) if cell.strip().casefold() in names), -1)


# --- What a column says, by what it is called; of several that say the same, the first in this order counts.

_WORDS = read_toml(Path(__file__).with_name("columns.toml"))
COLUMNS: Mapping[str, tuple[str, ...]] = {what: tuple(names) for what, names in _WORDS["columns"].items()}
OF_EDGES = tuple(COLUMNS)[: tuple(COLUMNS).index("id")]
OF_NODES = tuple(COLUMNS)[len(OF_EDGES) :]
NEO4J = re.compile(r":(?P<what>START_ID|END_ID|ID|LABEL|TYPE)(?:\((?P<space>[^()]*)\))?$", re.IGNORECASE)
_TYPED = re.compile(r":[a-z]+(?:\[\])?$", re.IGNORECASE)  # "name:string", "synonyms:string[]"


@lru_cache(maxsize=64)
def said_by(header: tuple[str, ...], own: tuple[tuple[str, str], ...] = ()) -> dict[str, int]:
    """What the columns say -> their places; `own` = (what, column) as the user named them.

    >>> said_by(("uid:ID(Disease)", "name:string", ":LABEL"))
    {'name': 1, 'id': 0, 'kind': 2}
    >>> said_by(("source", "metaedge", "target"))
    {'head': 0, 'tail': 2, 'relation': 1}
    """
    called: dict[str, int] = {}
    places: dict[str, int] = {}
    for place, cell in enumerate(header):
        neo4j = NEO4J.search(cell.strip())
        if neo4j:
            places[NEO4J_SAYS[neo4j["what"].upper()]] = place
        called.setdefault(_TYPED.sub("", cell.strip()).casefold(), place)
    of_edge = {what: p for what in OF_EDGES if (p := _first(called, COLUMNS[what])) >= 0}
    is_edge = {"head", "tail"} <= of_edge.keys() | places.keys()
    words = COLUMNS if "_labels" in called else OF_EDGES if is_edge else OF_NODES
    found = {what: p for what in words if (p := _first(called, COLUMNS[what])) >= 0} | places
    first = {place: what for what, place in reversed(found.items())}
    found = {what: place for what, place in found.items() if first[place] == what}  # of two meanings the first
    return found | {what: called[name.casefold()] for what, name in own if name.casefold() in called}


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a table say by their places, and what is so of all its rows."""

    places: Mapping[str, int]
    fixed: Mapping[str, str]

    @property
    def edges(self) -> bool:
        """Whether a row can be an edge."""
        return {"head", "tail"} <= self.places.keys()

    @property
    def nodes(self) -> bool:
        """Whether a row can be a node."""
        return "head_kind" not in self.fixed and bool({"id", "name"} & self.places.keys())


@lru_cache(maxsize=64)
def columns_of(header: tuple[str, ...], own: tuple[tuple[str, str], ...] = ()) -> Columns:
    """What the columns of a table say: ends by their words, or the names and ids of two kinds of things.

    >>> columns_of(("gene_curie", "gene_symbol", "disease_title", "date")).fixed
    {'head_kind': 'gene', 'tail_kind': 'disease'}
    >>> columns_of(("Drug_A", "Drug_B", "Level")).places, columns_of(("patient", "disease", "name", "drug")).edges
    ({'head': 0, 'head_name': 0, 'tail': 1, 'tail_name': 1}, False)
    """
    said = Columns(said_by(header, own), _ROWS.get(header, {}))
    if own or said.edges:
        return said
    things: dict[tuple[str, str], dict[str, int]] = {}
    for place, cell in enumerate(header):
        kind, which, part = column_thing(cell)
        if kind:
            things.setdefault((kind, which), {}).setdefault(part, place)
    if "name" in said.places and "id" not in said.places and len(things) == 1:  # drug_id, name
        return Columns({**said.places, **{what: at for of in things.values() for what, at in of.items() if what}}, {})
    if len(things) != 2 or "name" in said.places:
        return said
    places: dict[str, int] = {}
    for end, of in zip(("head", "tail"), things.values(), strict=True):
        bare = of.get("")
        name = of.get("name", bare)
        key = of.get("id", bare if bare is not None and name != bare else name)
        places |= {what: at for what, at in ((end, key), (f"{end}_name", name)) if at is not None}
    more = {what: at for what in _OF_TIES if (at := column(header, COLUMNS[what])) >= 0}
    kinds = {f"{end}_kind": kind for end, (kind, _) in zip(("head", "tail"), things, strict=True)}
    return Columns(places | more, kinds)


POLARITY = ("denied", "affirmed", "verdict")
_OF_TIES = ("relation", "weight", *POLARITY, "references")


def column_thing(cell: str) -> tuple[str, str, str]:
    """Kind, letter or number, and part ("id", "name", "" for neither) of the thing that a column is of; "" for others.

    >>> [column_thing(text) for text in ("ncbi_gene_id", "DISEASE LABEL", "Drug_A", "gene_disease_score")]
    [('gene', '', 'id'), ('disease', '', 'name'), ('drug', 'a', ''), ('', '', '')]
    """
    whole = cell.casefold() if " " in cell or "_" in cell else cell  # "MeSH Disease Term" has no camel's humps
    words = [word for word in _kind_words(whole) if _PARTS.get(word) != ""]
    which = words.pop() if len(words) > 1 and (len(words[-1]) == 1 or words[-1].isdecimal()) else ""
    if len(words) == 1 and not words[0].isascii():  # 疾病名称 is one word
        part = next((p for p in _PARTS if p and words[0].endswith(p) and not p.isascii()), "")
        words = [words[0].removesuffix(part), *([part] if part else [])]
    part = _PARTS.get(words.pop(), "?") if len(words) > 1 else ""
    return (_THINGS.get(words[0], ""), which, part) if len(words) == 1 and part != "?" else ("", "", "")


def thing_of(name: str) -> str:
    """The kind of things of which a table is one, by what it is called, or "".

    >>> thing_of("diseases"), thing_of("Drug"), thing_of("disease_drug"), thing_of("users")
    ('disease', 'drug', '', '')
    """
    words = _kind_words(name)
    forms = (words[0], words[0].removesuffix("s")) if len(words) == 1 else ()
    return next((_THINGS[form] for form in forms if form in _THINGS), "")


def remark(cells: Sequence[str]) -> bool:
    """Whether a line of a table is none of its rows: a remark, or a title or a ruler above the names of the columns."""
    said = said_in(cells)
    return not said or cells[0].lstrip('"').startswith(("#", "!")) or (len(said) == 1 and len(cells) > 2)


def said_in(cells: Sequence[str]) -> list[str]:
    """The cells in which there is a letter or a digit."""
    return [cell for cell in cells if any(map(str.isalnum, cell))]


def header_of(path: Path) -> tuple[int, str]:
    """The number and the text of the line that names the columns: the first below the remarks, or the last of these.

    Names of columns that a format leaves out are known by how the file begins, and the number is that of the line
    before its rows; (0, "") where none are there.
    """
    found = (0, "")
    for number, line in enumerate(first_lines(path, 100), start=1):
        if not line.strip():
            continue
        if known := next((one for one in _HEADERS if re.match(one["begins"], line)), None):
            found = (number, "\t".join(known["columns"]))
            if line[0] not in "#!":
                return (number - 1, found[1])  # a row
            continue
        cells = line.split(separator(line, 2) or "\t")
        if line.lstrip().startswith(("{", "[")) or not remark(cells):
            named = columns_of(tuple(cell.strip().strip('"') for cell in cells))
            return found if found[1] and not (named.edges or named.nodes) else (number, line.lstrip())
        plain = line.lstrip("#! ")
        names_columns = columns_of(tuple(plain.split(separator(plain, 3) or "\t"))).edges
        found = (number, plain if names_columns else found[1])
    return found if found[1] else (0, "")


NEO4J_SAYS = {"START_ID": "head", "END_ID": "tail", "ID": "id", "LABEL": "kind", "TYPE": "relation"}


def _first(called: Mapping[str, int], names: Sequence[str]) -> int:
    return next((called[name] for name in names if name in called), -1)


@lru_cache(maxsize=1024)
def _telling(names: tuple[str, ...], whats: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What fields of some names say, each with the names that say it, in their order."""
    found = ((what, tuple(name for name in COLUMNS[what] if name in names)) for what in whats)
    return tuple((what, telling) for what, telling in found if telling)


def told_by(fields: Mapping[str, str], whats: tuple[str, ...]) -> dict[str, str]:
    """The fields, whose names are in small letters, by what they say; of several the first that is not empty.

    >>> told_by({"label": "has_symptom", "weight": ""}, ("relation", "weight"))
    {'relation': 'has_symptom'}
    """
    telling = _telling(tuple(fields), whats)
    return {what: text for what, names in telling if (text := next(filter(None, map(fields.get, names)), ""))}


def weight_of(text: str) -> float:
    """A weight between 0 and 1; what is no such number is a score of the table's own, and counts 1."""
    try:
        weight = float(text or 1)
    except ValueError:
        return 1.0
    return weight if 0 <= weight <= 1 else 1.0


# --- XML, of which elements, attributes and text are read alone.


class _Outermost:
    """The outermost elements of some names that a parser has met, without namespaces, each with its line."""

    def __init__(self, wanted: Collection[str], parser: expat.XMLParserType) -> None:
        self.found: list[tuple[int, Element]] = []
        self._wanted, self._parser, self._tree, self._depth = wanted, parser, TreeBuilder(), 0
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text

    def _start(self, tag: str, given: dict[str, str]) -> None:
        tag = tag.rpartition(" ")[2]
        if self._depth or tag in self._wanted:
            self._depth += 1
            self._tree.start(tag, given)

    def _text(self, said: str) -> None:
        if self._depth:
            self._tree.data(said)

    def _end(self, tag: str) -> None:
        if self._depth:
            self._tree.end(tag.rpartition(" ")[2])
            self._depth -= 1
            if not self._depth:
                self.found.append((self._parser.CurrentLineNumber, self._tree.close()))
                self._tree = TreeBuilder()


def elements(
    path: Path, wanted: Collection[str], *, mend: str = "fetch it again", data: bytes | None = None
) -> Iterator[tuple[int, Element]]:
    """The outermost elements of some names as they end, without namespaces, each with its line; no other is held.

    They are those of the file, or of `data` that is its content. Raises `SourceError` for what is no XML, and for a
    document type, so that there are no entities.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    outermost = _Outermost(wanted, parser)

    def refuse(*_: object) -> None:
        raise SourceError(path, parser.CurrentLineNumber, "declares a document type", mend)

    parser.StartDoctypeDeclHandler = refuse
    with nullcontext(BytesIO(data)) if data is not None else open_bytes(path) as file, reading(path):
        block = None
        while block != b"":
            block = file.read(_BLOCK)
            try:
                parser.Parse(block, not block)
            except expat.ExpatError as error:
                raise SourceError(path, error.lineno, f"is no XML ({expat.ErrorString(error.code)})", mend) from error
            except LookupError as error:  # of the encoding that it declares
                raise SourceError(path, 1, f"is no XML ({error})", mend) from error
            yield from outermost.found
            outermost.found.clear()


def text_at(element: Element, where: str) -> str:
    """The text of the first element there, without surplus blanks; "" where there is none."""
    return " ".join((element.findtext(where) or "").split())


# --- What a relation means, from its name: the only place where names of relations are matched.
# Readers of one certain graph declare their relations; the readers of files that anybody may write (triples, RDF, OBO)
# leave it to `infer`, and a user who knows better says so in a TOML table (`roles_from_toml`).

Kinds = tuple[str, str]  # of the head, of the tail

# of a role in its canonical direction; "" = it does not say
ENDS: Mapping[Role, Kinds] = {Role(role): (head, tail) for role, (head, tail) in _WORDS["ends"].items()}

_NOT = re.compile(r"\b(?:not|neg(?:ated)?|non?|without|absen(?:t|ce)|lacks?)\b|^(?:不(?!良)|无|非|没有|未(?!病))")
_NEGATED = {Role.FINDING: Role.EXCLUDES, Role.FOOD: Role.AVOID, Role.EXCLUDES: Role.EXCLUDES, Role.AVOID: Role.AVOID}


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[Role, bool, re.Pattern[str]], ...]:
    """The rules of `relations.toml`, read when a graph is: an answer, which infers nothing, does not wait for them."""
    rules = read_toml(Path(__file__).with_name("relations.toml"))["rules"]
    return tuple((Role(what.split()[0]), what.endswith("<"), re.compile(pattern)) for what, pattern in rules)


def declared(rows: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Relations and the kinds of their ends, as `Source` takes them, from name -> role ("<" = against it), kinds."""
    roles = {name: (Role(role.removesuffix(" <")), role.endswith("<")) for name, (role, *_) in rows.items()}
    return {
        "relations": {name: Relation(name, *role) for name, role in roles.items()},
        "kinds": {name: (ends[0], ends[1]) for name, (_, *ends) in rows.items() if ends},
    }


def published(graph: str) -> dict[str, Any]:
    """What `sources.toml` says of a graph, as `Source` takes it: licence, citation, language, relations and kinds."""
    said = read_toml(Path(__file__).with_name("sources.toml"))[graph]
    return {**said, **declared(said.get("relations", {}))}


_CODE = re.compile(r"[A-Za-z]{0,3}_?\d+")


@lru_cache(maxsize=4096)
def label_of(code: str, label: str = "") -> str:
    """What the relation of an ontology is called: its label, that of its code, or the word behind the colon.

    >>> label_of("RO:0002200"), label_of("ex.org:treats"), label_of("X:0000012")
    ('has phenotype', 'treats', 'linked by X:0000012')
    """
    local = code.rpartition(":")[2] or code
    known = label or read_toml(Path(__file__).with_name("relations.toml"))["codes"].get(code, "")
    return known or (f"linked by {code}" if _CODE.fullmatch(local) else local)


_LONGEST_RELATION = 200  # characters of a relation's name that are read; longer ones are no names


@lru_cache(maxsize=4096)
def infer(relation_name: str) -> Relation:
    """The relation with the role and direction that its English or Chinese name suggests; `Role.OTHER` if none.

    >>> [(r.role.value, r.reverse) for r in map(infer, ("has_symptom", "possible_disease", "need_medical_test"))]
    [('finding', False), ('finding', True), ('tests', True)]
    >>> infer("not_has_symptom").role.value, infer("药物治疗").reverse
    ('excludes', True)
    """
    words = _words(relation_name[:_LONGEST_RELATION])
    for role, reverse, pattern in _compiled():
        if pattern.search(words):
            if _NOT.search(words):  # a warning stays one; of the rest nothing is known
                stays = role.is_safety or role in (Role.ADVERSE, Role.PRECAUTION)
                role = _NEGATED.get(role, role if stays else Role.OTHER)
            return Relation(relation_name, role, reverse and role is not Role.OTHER)
    return Relation(relation_name)


# also classes of GenCC and ClinGen
_DENIES = frozenset(("not", "negated", "excluded", "negative", "absent", "refuted", "disputed", "否定", "排除", "阴性"))
_YES = frozenset(("true", "1", "yes", "y", "t", "是"))
_NO = frozenset(("false", "0", "no", "n", "f", "否", "无"))
DENIED = "a statement that the file denies"


@lru_cache(maxsize=4096)
def denies(cell: str, *, asked: bool = True) -> bool:
    """Whether what stands in a column of polarity (negated, excluded, qualifier) denies the statement of its row.

    A column that is not `asked` whether the row is denied says so in words only: a class, or the relation itself.

    >>> denies("NOT|involved_in"), denies("True"), denies("false"), denies("No Known Disease Relationship")
    (True, True, False, True)
    >>> denies("1", asked=False), denies("Refuted Evidence", asked=False)
    (False, True)
    """
    words = re.split(r"[\W_]+", cell.casefold())
    return not (_DENIES | _YES if asked else _DENIES).isdisjoint(words) or (words[0] == "no" and len(words) > 1)


def is_denied(said: Mapping[str, str]) -> bool:
    """Whether what the columns of polarity say denies a statement, whichever of `POLARITY` there are.

    >>> is_denied({"denied": "true"}), is_denied({"affirmed": "no"}), is_denied({"verdict": "absent"}), is_denied({})
    (True, True, True, False)
    """
    affirmed = said.get("affirmed", "").casefold()
    refuted = denies(said.get("verdict", ""), asked=False) or affirmed in _NO or denies(affirmed, asked=False)
    return refuted or denies(said.get("denied", ""))


def unnegated(relation: str) -> tuple[str, bool]:
    """A relation without the mark by which GAF and SemMedDB deny it, and whether it had one.

    >>> unnegated("NOT|involved_in"), unnegated("NEG_TREATS"), unnegated("notes")
    (('involved_in', True), ('TREATS', True), ('notes', False))
    """
    bare = relation.removeprefix("NOT|").removeprefix("NEG_")
    return bare, bare != relation


def denied(edge: EdgeRow, known: Relation, line: int) -> EdgeRow | DroppedRow:
    """What is left of an edge that its file denies: a finding is excluded, of all else the opposite is not known.

    >>> denied(EdgeRow("seizure", "symptom of", "gout"), infer("symptom of"), 2)[:3]
    ('gout', 'excludes', 'seizure')
    """
    if known.role is not Role.FINDING:
        return DroppedRow(DENIED, line)
    head, tail = (edge.tail, edge.head) if known.reverse else (edge.head, edge.tail)
    return edge._replace(head=head, relation="excludes", tail=tail, weight=1.0)


def _words(name: str) -> str:
    """The name in lower case with single spaces; camelCase is taken apart, of a path the last part is taken.

    >>> _words("hasSymptom"), _words("may_be_treated_by"), _words("诊断依据_鉴别诊断"), _words("/medicine/symptoms")
    ('has symptom', 'may be treated by', '鉴别诊断', 'symptoms')
    """
    last = re.sub(r"^[^\x00-\x7f]+_|^/.*/", "", name)
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", last)
    return " ".join(re.sub(r"[\W_]+", " ", apart).casefold().split())


def kinds_of(relation: Relation) -> Kinds:
    """The kinds of head and tail that a relation's role and direction imply; "" where they do not say.

    >>> kinds_of(Relation("need_medication", Role.TREATS, reverse=True))
    ('disease', 'drug')
    """
    subject, object_ = ENDS[relation.role]
    return (object_, subject) if relation.reverse else (subject, object_)


# what published graphs call a kind -> what kgmed calls it
KINDS: dict[str, str] = {word: kind for kind, words in _WORDS["kinds"].items() for word in words}
_ANYTHING = frozenset(_WORDS["anything"]["words"])
_THINGS = KINDS | {word: kind for kind, words in _WORDS["things"].items() for word in words}
_PARTS: Mapping[str, str] = {word: part for part, words in _WORDS["parts"].items() for word in words}
_HEADERS: Sequence[Mapping[str, Any]] = tuple(_WORDS["headers"].values())
_ROWS: Mapping[tuple[str, ...], Mapping[str, str]] = {tuple(h["columns"]): h["rows"] for h in _HEADERS if "rows" in h}
METAEDGES: Mapping[str, str] = {edge: verb for verb, edges in _WORDS["metaedges"].items() for edge in edges}


@lru_cache(maxsize=4096)
def kind_of(text: str) -> str:
    """What kgmed calls a kind, or the word itself; of several labels the first that it has a word for.

    >>> kind_of("biolink:NamedThing|biolink:PhenotypicFeature"), kind_of("effect/phenotype"), kind_of(":Side Effect")
    ('symptom', 'symptom', 'symptom')
    >>> kind_of("Cellular Component"), kind_of("__Entity__")
    ('cellular component', '')
    """
    labels = [part.partition("biolink:")[2] or part for part in re.split(r"[|;,]|(?<!biolink):", text) if part.strip()]
    for label in labels:
        words = _kind_words(label)
        if known := next((KINDS[w] for w in (*words, "".join(words)) if w in KINDS), ""):
            return known
    said = (words for words in map(_kind_words, labels) if not _ANYTHING.issuperset(words))
    return " ".join(next(said, ()))


def _kind_words(label: str) -> list[str]:
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)).casefold().split()


@dataclass(frozen=True, slots=True)
class RoleTable:
    """What a user says of the relations of a graph."""

    relations: Mapping[str, Relation]
    kinds: Mapping[str, Kinds]


def roles_from_toml(path: Path) -> RoleTable:
    """The user's own table: one `[relation-name]` each, with `role`, `reverse`, `head`, `tail` (kinds).

    All fields are optional; one that is not there keeps what its name suggests. Raises `SourceError`.
    """
    check_file(path)
    read = {name: _relation(path, name, entry) for name, entry in read_toml(path).items()}
    return RoleTable({n: r for n, (r, _) in read.items()}, {n: k for n, (_, k) in read.items()})


def _relation(path: Path, name: str, entry: Any) -> tuple[Relation, Kinds]:
    """One entry of the table, checked."""
    mend = f'write [{name!r}] with role = "...", reverse = true or false, head = "...", tail = "..."'
    if not isinstance(entry, dict):
        raise SourceError(path, 0, f"{name!r} is not a table", mend)
    guess = infer(name)
    role = entry.get("role", guess.role.value)
    reverse = entry.get("reverse", guess.reverse and "role" not in entry)
    unknown = set(entry) - {"role", "reverse", "head", "tail"}
    if unknown:
        raise SourceError(path, 0, f"{name!r} has the unknown field {min(unknown)!r}", mend)
    if role not in list(Role):
        raise SourceError(path, 0, f"{name!r} has the unknown role {role!r}", f"choose from {', '.join(Role)}")
    if not isinstance(reverse, bool):
        raise SourceError(path, 0, f"reverse of {name!r} is not true or false", mend)
    relation = Relation(name, Role(role), reverse)
    head, tail = kinds_of(relation)
    kinds = entry.get("head", head), entry.get("tail", tail)
    if not all(isinstance(kind, str) for kind in kinds):
        raise SourceError(path, 0, f"a kind of {name!r} is not text", mend)
    return relation, kinds
