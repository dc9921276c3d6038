"""JSON and YAML as graphs are written in them, however large the file is."""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from kgmed.disk import read_toml
from kgmed.errors import SourceError, Unavailable
from kgmed.graph.base import DroppedRow
from kgmed.graph.formats.base import COLUMNS, columns_of, first_lines, json_object, lines, open_bytes, reading

# --- JSON and YAML files that are larger than memory: lists and objects are walked, and one element is held at a time.

LONGEST = 1 << 26  # characters of one element that is held; more is no list of entities or edges (ours)
_READ = 1 << 20  # bytes at a time
_SPACE = re.compile(r"[ \t\r\n]*")
_HALF = re.compile(r"[\ud800-\udfff]")


class JsonStream:
    """A place in a JSON file, from which values are taken in the order in which they stand."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        """Begin at the start of an opened file."""
        self.path, self._file = path, file
        self._decode = getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at, self._ended = "", 0, False
        self._line, self._counted = 1, 0  # and how far the lines of the text are counted

    @property
    def line(self) -> int:
        """The number of the line of this place."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def fault(self, problem: str, *, mend: str = "mend that line") -> SourceError:
        """An error at this place."""
        return SourceError(self.path, self.line, problem, mend)

    def _more(self) -> bool:
        """Whether there was more to read; what was taken is let go."""
        if self._ended:
            return False
        self._line, self._counted = self.line, 0
        data = self._file.read(max(_READ, len(self._text) - self._at))
        self._ended = not data
        try:
            self._text, self._at = self._text[self._at :] + self._decode(data, self._ended), 0
        except UnicodeDecodeError:
            raise self.fault("is not UTF-8 text", mend="save it as UTF-8") from None
        return True

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def ahead(self, most: int = 80) -> str:
        """So many of the next characters, of which the first is no space."""
        self.peek()
        return self._text[self._at : self._at + most]

    def take(self, wanted: str) -> None:
        """Go past a character; raises `SourceError` where another stands there."""
        if (found := self.peek()) != wanted:
            raise self.fault(f"is no JSON: {wanted!r} must stand there, not {found!r}" if found else "ends too early")
        self._at += 1

    def value(self) -> Any:
        """The next value, whole; raises `SourceError`."""
        if not self.peek():
            raise self.fault("ends too early")
        decoder = json.JSONDecoder()
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                found, problem = None, f"is no JSON: {error.msg}"
            except (ValueError, RecursionError):
                raise self.fault("is nested too deeply or holds a number too long") from None
            else:
                found, problem = (value, end), ""
            if found and (found[1] < len(self._text) or self._ended):  # a number may go on in what is not read yet
                self._whole(found[1])
                self._at = found[1]
                return found[0]
            if len(self._text) - self._at > LONGEST:
                raise self.fault(problem or "is larger than 64 MB in one piece", mend="check that this is the file")
            if not self._more() and not found:
                raise self.fault(problem)

    def _whole(self, end: int) -> None:
        """Raise `SourceError` for half a character up to a place."""
        said = self._text[self._at : end]
        if "\\ud" in said.lower() and _HALF.search(json.dumps(json.loads(said), ensure_ascii=False)):
            raise self.fault("holds half a character (a lone surrogate)")

    def members(self) -> Iterator[str]:
        """The keys of the object that is next; the value of each must be taken before the following."""
        self.take("{")
        while self.peek() != "}":
            key = self.value()
            if not isinstance(key, str):
                raise self.fault("is no JSON: a key must be a text")
            self.take(":")
            yield key
            if self.peek() != "}":
                self.take(",")
        self.take("}")

    def items(self) -> Iterator[None]:
        """Once for each element of the list that is next; it must be taken before the following."""
        self.take("[")
        while self.peek() != "]":
            yield
            if self.peek() != "]":
                self.take(",")
        self.take("]")

    def skip(self) -> None:
        """Go past the next value; of a list one element is held at a time."""
        if self.peek() != "[":
            self.value()
            return
        for _ in self.items():
            self.value()


class YamlStream(JsonStream):
    """A place in a YAML file, from which values are taken as from a JSON file; what is written as text stays text."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        """Begin at the start of an opened file; raises `Unavailable`."""
        try:
            import yaml
        except ImportError:
            raise Unavailable('YAML is read by PyYAML, which is not installed; pip install "kgmed[yaml]"') from None
        self.path, self._error = path, yaml.YAMLError
        self._events: Iterator[Any] = yaml.parse(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._next: Any = None
        self._line = 1

    @property
    def line(self) -> int:
        """The number of the line of this place."""
        return self._line

    def ahead(self, most: int = 80) -> str:
        """Nothing: what is next has been parsed already."""
        return ""

    def _event(self) -> tuple[str, Any]:
        """What is next, and its sort; "" at the end."""
        while self._next is None:
            try:
                self._next = next(self._events, False)
            except (self._error, ValueError) as error:
                self._line = getattr(getattr(error, "problem_mark", None), "line", self._line - 1) + 1
                said = getattr(error, "problem", None) or str(error).splitlines()[0]
                raise self.fault(f"is no YAML: {said}") from None
            if self._next and type(self._next).__name__.startswith(("Stream", "Document")):
                self._next = None
        if not self._next:
            return "", None
        self._line = self._next.start_mark.line + 1
        sort = type(self._next).__name__.removesuffix("Event")
        if sort == "Alias":
            raise self.fault("holds an alias (*name)", mend="write out what it stands for")
        return sort, self._next

    def _took(self) -> Any:
        event, self._next = self._next, None
        return event

    def peek(self) -> str:
        """How the next value begins as in JSON; "" at the end."""
        return {"": "", "SequenceStart": "[", "MappingStart": "{"}.get(self._event()[0], '"')

    def value(self) -> Any:
        """The next value, whole; raises `SourceError`."""
        sort, event = self._event()
        if sort == "SequenceStart":
            return [self.value() for _ in self.items()]
        if sort == "MappingStart":
            return {key: self.value() for key in self.members()}
        self._took()
        return None if event.style is None and event.value in ("", "~", "null", "Null", "NULL") else event.value

    def members(self) -> Iterator[str]:
        """The keys of the object that is next; the value of each must be taken before the following."""
        self.peek()
        self._took()
        while self._event()[0] != "MappingEnd":
            if self._event()[0] != "Scalar":
                raise self.fault("is no table: a key must be a text")
            yield str(self._took().value)
        self._took()

    def items(self) -> Iterator[None]:
        """Once for each element of the list that is next; it must be taken before the following."""
        self.peek()
        self._took()
        while self._event()[0] != "SequenceEnd":
            yield
        self._took()


def is_yaml(path: Path) -> bool:
    """Whether a file is YAML by its name, packed or not.

    >>> is_yaml(Path("x.yaml.gz")), is_yaml(Path("x.json"))
    (True, False)
    """
    return not {".yaml", ".yml"}.isdisjoint(map(str.casefold, path.suffixes))


@contextmanager
def streamed(path: Path) -> Iterator[JsonStream]:
    """A JSON or YAML file, unpacked where it is packed, in a block that closes it; raises `SourceError` if too deep."""
    with reading(path), open_bytes(path) as file:
        document = YamlStream(path, file) if is_yaml(path) else JsonStream(path, file)
        try:
            yield document
        except RecursionError:
            raise document.fault("is nested too deeply") from None


# --- JSON as graphs are written in it: an object a line, or a document with its nodes and edges wherever they stand.
#
# A document is walked for lists of objects, and for objects that hold objects by their id: what has two ends is an
# edge, what has an id and a name a node, whatever the lists are called. So networkx ("nodes", "links"), KGX, APOC
# ("rels"), Cytoscape and CX (aspects), TRAPI ("knowledge_graph", by id) and JSON Graph are read alike. Files may be
# larger than memory.

Entry = Mapping[str, Any]
Entries = Iterator[tuple[int, Entry | DroppedRow]]  # the line, the object, or why it is left out
_INSIDE = ("data", "attributes", "properties", "metadata", "v")  # an object's own fields may stand one deeper
_BY_ID = ("nodes", "edges", "vertices", "links", "relationships", "rels")  # may be an object of objects by their id
_NOT_READ = frozenset({"query_graph", "auxiliary_graphs", "workflow"})  # of TRAPI: about an answer, as its "results"
_ENTRY = ("name", "gaishu_info")  # by which an entry of a disease is told, beside what it says of it
DISEASES = read_toml(Path(__file__).with_name("diseases.toml"))
# fields and columns that name a disease
NAMES = ("disease", "disease name", "disease_name", "name", "疾病", "疾病名称")
RELATIONS: Mapping[str, str] = DISEASES["columns"]
_NAMES = 1000  # in one list of an entry; a longer list is none of names (ours)


def flattened(entry: Entry) -> Entry:
    """An object with the fields that stand one deeper, its own first.

    >>> flattened({"id": "a", "data": {"label": "gout"}})
    {'label': 'gout', 'id': 'a'}
    """
    deeper = {k: v for key in _INSIDE if isinstance(more := entry.get(key), dict) for k, v in more.items()}
    stated = entry.get("attributes")  # TRAPI: a list of {attribute_type_id, value}
    for one in stated if isinstance(stated, list) else ():
        if isinstance(one, dict) and isinstance(one.get("attribute_type_id"), str):
            deeper[one["attribute_type_id"].rpartition(":")[2]] = one.get("value")
    return deeper | {k: v for k, v in entry.items() if k not in _INSIDE} if deeper else entry


def what_it_is(entry: Entry) -> str:
    """ "edge", "node" or "" for an object of a document.

    >>> what_it_is({"source": 1, "target": 2}), what_it_is({"id": 1, "name": "gout"}), what_it_is({"name": "gout"})
    ('edge', 'node', '')
    """
    if entry.get("type") in ("node", "relationship"):
        return "node" if entry["type"] == "node" else "edge"
    known = columns_of(tuple(map(str, flattened(entry))))
    said = known.places.keys()
    return "edge" if known.edges else "node" if {"id", "name"} <= said or {"id", "kind"} <= said else ""


def by_disease(entry: Entry, name: str = "") -> list[Entry]:
    """The edges that an entry of a disease states in lists of names; `name` is the disease where no field names it.

    One that is called by a field "name", or by nothing in the entry, is told by two such lists. What does not begin
    with a disease, as a patient's record, is none.

    >>> by_disease({"disease": "gout", "symptoms": ["joint pain"], "icd": "M10"})
    [{'head': 'gout', 'head_kind': 'disease', 'relation': 'has_symptom', 'tail': 'joint pain'}]
    >>> by_disease({"patient": "A", "disease": "gout", "symptoms": ["cough"]}), by_disease({"drugs": ["x"]}, "Boston")
    ([], [])
    """
    fields = {str(key).casefold(): value for key, value in entry.items()}
    first = next((key for key in fields if key not in COLUMNS["id"]), "")
    called = name or (fields[first] if first in NAMES else "")
    lists = [(RELATIONS[key], value) for key, value in fields.items() if key in RELATIONS and isinstance(value, list)]
    if not isinstance(called, str) or not called or len(lists) < (2 if name or first == "name" else 1):
        return []
    known = {"head": called, "head_kind": "disease"}
    return [{**known, "relation": tie, "tail": one} for tie, of in lists for one in of if isinstance(one, str) and one]


def _by_name(document: JsonStream) -> bool:
    """Whether a document is an object of entries of diseases under their names, by its first two."""
    if document.peek() != "{":
        return False
    for number, name in enumerate(document.members()):
        fields: dict[str, Any] = {}
        for key in document.members() if document.peek() == "{" else ():
            if key in _BY_ID or document.peek() == "{":
                return False
            listed = document.peek() == "["
            fields[key] = [] if listed else document.value()
            for _ in document.items() if listed else ():
                if document.peek() in "[{" or len(fields[key]) > _NAMES:
                    return False
                fields[key].append(document.value())
        if not by_disease(fields, name):
            return False
        if number:
            return True
    return False


def format_of(path: Path, told: frozenset[str]) -> str:
    """The format of a JSON file by its content; "" where it is no graph. `told` are the fields of a disease's entry."""
    if not is_document(path):
        entry = json_object(path, 1, next((line for line in first_lines(path, 20) if line.strip()), ""))
        return "" if isinstance(entry, DroppedRow) else _of_entry(entry, told)
    with streamed(path) as document:
        if _by_name(document):
            return "tables"
    with streamed(path) as document:
        if document.peek() == "[":
            for _ in document.items():
                entry = _entry(document.value())
                if not isinstance(entry, dict):
                    return ""
                if found := "tables" if what_it_is(entry) or _aspect(entry) else _of_entry(entry, told):
                    return found
            return ""
        return _of_members(document, told)


def _of_members(document: JsonStream, told: frozenset[str]) -> str:
    """The format of the object that is next, by the first of its members that tells."""
    keys: set[str] = set()
    for key in document.members():
        keys.add(key)
        if key == "graphs":
            return "obographs"
        if key.isdecimal() and document.peek() == "{":  # entries of diseases by number
            entry = document.value()
            return _of_entry(entry, told)
        if key in _BY_ID and document.peek() in "[{":
            return "tables"
        if document.peek() == "[":
            for _ in document.items():
                entry = _entry(document.value())
                if isinstance(entry, dict) and what_it_is(entry) == "edge" and key != "results":
                    return "tables"
        elif document.peek() == "{" and key not in _NOT_READ:
            if found := _of_members(document, told):
                return found
        else:
            document.skip()
    return "disease_json" if keys & set(_ENTRY) and keys & told else ""


def _of_entry(entry: Entry, told: frozenset[str]) -> str:
    """The format of objects like this one, one after the other."""
    if what_it_is(entry) == "edge":
        is_table = entry.get("type") == "relationship" or columns_of(tuple(map(str, entry))).fixed
        return "tables" if is_table else "triples"
    if entry.keys() & set(_ENTRY) and entry.keys() & told:
        return "disease_json"
    return "tables" if what_it_is(entry) or _told_in(entry) != [entry] else ""


def fields_of_document(path: Path) -> list[str]:
    """The fields of the first object of a JSON or YAML file that no format reads; [] where it has none."""
    with suppress(SourceError), streamed(path) as document:
        value = document.value()
        return list(next((one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)), []))
    return []


def _aspect(entry: Entry) -> bool:
    """Whether an object is an aspect of CX, which holds a list of objects."""
    lists = [value for value in entry.values() if isinstance(value, list)]
    return any(isinstance(one, dict) for of in lists for one in of) and not entry.keys() & set(_ENTRY)


def is_document(path: Path) -> bool:
    """Whether a file is one JSON value, not an object a line; raises `SourceError`."""
    first = [line for line in first_lines(path, 20) if line.strip()]
    if is_yaml(path) or not first or first[0].lstrip()[:1] != "{":
        return True
    if len(first) == 1 or not first[1].lstrip().startswith("{"):
        entry = json_object(path, 1, first[0])
        if isinstance(entry, DroppedRow):
            return True
        holds = any(isinstance(value, list | dict) for value in entry.values())
        return len(first) == 1 and holds and not what_it_is(entry) and not entry.keys() & set(_ENTRY)
    return first[0].rstrip()[-1] != "}" and isinstance(json_object(path, 1, first[0]), DroppedRow)


def objects(path: Path) -> Entries:
    """Every object of a file; of a document first the nodes; the edges wait in a file that is gone afterwards."""
    if not is_document(path):
        for number, line in lines(path):
            if line.strip():
                told = json_object(path, number, line)
                yield from ((number, one) for one in ([told] if isinstance(told, DroppedRow) else _told_in(told)))
        return
    number = 0
    with streamed(path) as document:
        named = _by_name(document)
    with TemporaryFile("w+", encoding="ascii") as later, streamed(path) as document:
        for name in document.members() if named else ():
            number, entry = document.line, document.value()
            yield from ((number, one) for one in by_disease(entry if isinstance(entry, dict) else {}, name))
        for number, entry in () if named else _walk(document, top=True):
            row = number, entry if entry.get("type") in ("node", "relationship") else flattened(entry)
            if (what := what_it_is(entry)) == "node":
                yield row
            elif what == "edge":
                later.write(json.dumps(row) + "\n")
        if document.peek():
            raise document.fault("goes on after its end")
        later.seek(0)
        yield from map(json.loads, later)
    if not number:
        raise SourceError(path, 0, "holds no list of objects", "write a list of nodes and a list of edges")


def _walk(document: JsonStream, *, top: bool = False, key: str = "") -> Iterator[tuple[int, Entry]]:
    """The objects of every list, and of every object that holds objects by id, in the value that is next."""
    if document.peek() == "[":
        yield from _listed(document, named=top or key in _BY_ID)
    elif document.peek() == "{":
        for name in document.members():
            if name in _NOT_READ or (name == "results" and document.peek() == "["):
                document.skip()
            elif key in _BY_ID and document.peek() == "{":
                line, entry = document.line, document.value()
                yield line, {"id": name} | entry
            else:
                yield from _walk(document, key=name)
    elif key in _BY_ID:
        raise document.fault("is no list of objects", mend="write a list of nodes and a list of edges")
    else:
        document.skip()


def _entry(value: Any) -> Any:
    """The value; a list of three texts as the triple that it is."""
    is_triple = isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) for part in value)
    return dict(zip(("head", "relation", "tail"), value, strict=True)) if is_triple else value


def _told_in(entry: Entry) -> list[Entry]:
    """What an object holds that is neither node nor edge: both by name, as in a record of Neo4j, or a list of edges."""
    values = () if what_it_is(entry) else entry.values()
    named: list[Entry] = [one for one in values if isinstance(one, dict) and what_it_is(one)]
    held = [value for value in values if isinstance(value, list)]
    ties: list[Entry] = [one for of in held for one in of if isinstance(one, dict) and what_it_is(one) == "edge"]
    return named or ties or by_disease(entry) or [entry]


def _listed(document: JsonStream, *, named: bool) -> Iterator[tuple[int, Entry]]:
    """The objects of the list that is next, or of the lists that they hold; a list `named` as one has no others."""
    for _ in document.items():
        line, entry = document.line, _entry(document.value())
        if isinstance(entry, dict):
            aspect = "" if what_it_is(entry) else next((k for k, v in entry.items() if isinstance(v, list)), "")
            held = by_disease(entry) or (entry[aspect] if aspect else _told_in(entry))
            yield from ((line, one) for one in held if isinstance(one, dict))
        elif named:
            raise SourceError(document.path, line, "is no JSON object", "write objects with head, relation and tail")
