"""Data of Tryton modules (GNU Health's): records in XML and their names in other languages in gettext files.

A module comes as a wheel, which is read without unpacking it, or as the folder of the installed module. Of XML only
elements, attributes and text are read: a document type, and with it every entity, is refused.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile

from kgmed.errors import BadInput, SourceError
from kgmed.graph.formats.base import check_file, reading
from kgmed.graph.packed import check_zip

_MEND = "fetch the package again"
_BROKEN = (
    UnicodeError,
    BadZipFile,
    NotImplementedError,
    RuntimeError,
    KeyError,
)  # what a damaged zip ends in, beside I/O errors
_LOCALE = re.compile(r"locale/([a-z]{2,3})(?:_[A-Z]{2})?\.po$")
_PO = re.compile(
    r'^(?P<fuzzy>#,[^\n]*\bfuzzy\b[^\n]*\n)?msgctxt "(?P<context>[^"\n]*)"\n'
    r'msgid (?P<text>(?:".*"\n?)+)msgstr (?P<said>(?:".*"\n?)+)',
    re.MULTILINE,
)
_NOTHING = frozenset({"", "nan"})  # what stands for no translation
_QUOTED = re.compile(r'^"(.*)"$', re.MULTILINE)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": " ", "t": " "}
_TYPED = str.maketrans({"\u2010": "-", "\u2011": "-", "\0": " "})  # hyphens that nobody types


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a module: its model, its id, and its fields by name; of a reference, the id that it names."""

    model: str
    id: str
    fields: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """A field's text on one line; "" where it has none."""
        return tidy(self.fields.get(name, ""))


@dataclass(frozen=True)
class Module:
    """The files of a module by their path within it, each opened when it is asked for."""

    path: Path
    files: Mapping[str, Callable[[], bytes]]

    def records(self, file: str) -> Iterator[Record]:
        """The records of one XML file; raises `SourceError`."""
        where = self.path / file
        if file not in self.files:
            raise SourceError(where, 0, "there is no such file", _MEND)
        return iter(_Records(where).of(self._read(file)))

    def translations(self, *fields: str) -> "Translations":
        """The names of some fields ("model,field") in every language that the module has."""
        found: Translations = Translations()
        for file in sorted(self.files):
            if named := _LOCALE.search(file):
                for key, said in self._translated(file, frozenset(fields)):
                    found.add(key, named[1], said)
        return found

    def _translated(self, file: str, fields: frozenset[str]) -> Iterator[tuple[tuple[str, str], str]]:
        """Field and record of every text that a person has translated; what is marked fuzzy nobody has checked."""
        for entry in _PO.finditer(self._text(file)):
            what, _, record = entry["context"].removeprefix("model:").rpartition(":")
            if what in fields and not entry["fuzzy"]:
                text, said = _unquoted(entry["text"]), _unquoted(entry["said"])
                if said != text and said.casefold() not in _NOTHING:
                    yield (what, record), said

    def _text(self, file: str) -> str:
        try:
            return self._read(file).decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise SourceError(self.path / file, 0, f"is not UTF-8 text at byte {error.start}", _MEND) from None

    def _read(self, file: str) -> bytes:
        with reading(self.path / file):
            try:
                return self.files[file]()
            except _BROKEN as error:
                raise SourceError(self.path / file, 0, f"is damaged ({tidy(str(error))[:80]})", _MEND) from error


class Translations:
    """Names of records in other languages."""

    def __init__(self) -> None:
        """Begin with none."""
        self._said: dict[tuple[str, str], dict[str, str]] = {}

    def add(self, key: tuple[str, str], language: str, text: str) -> None:
        """Keep the name of (field, record) in a language."""
        self._said.setdefault(key, {})[language] = text

    def of(self, what: str, record: str) -> Mapping[str, str]:
        """The names of a record's field by language."""
        return self._said.get((what, record), {})


def open_module(path: Path | None, name: str, format: str) -> Module:
    """The module `name` in a wheel or in a folder; raises `BadInput` and `SourceError`."""
    if path is None:
        raise BadInput(f"a graph of the format {format} needs a wheel or a folder; fetch it with: kgmed graph get")
    files = _of_folder(path, name) if path.is_dir() else _of_wheel(path, name)
    if not files:
        raise SourceError(path, 0, f"holds no module {name}", "name the wheel of the package, or the module's folder")
    return Module(path, files)


def _of_wheel(path: Path, name: str) -> dict[str, Callable[[], bytes]]:
    """The data of a module in a wheel; nothing is unpacked to disk, so no name in it can lead anywhere."""
    check_file(path)
    inside = re.compile(rf"(?:.*/)?{re.escape(name)}/((?:data|locale)/\w+\.(?:xml|po))")
    with reading(path):
        try:
            check_zip(path)
            with ZipFile(path) as archive:
                held = [(found[1], member) for member in archive.namelist() if (found := inside.fullmatch(member))]
        except _BROKEN as error:
            raise SourceError(path, 0, f"is no wheel ({tidy(str(error))[:80]})", _MEND) from error
    return {file: partial(_member, path, member) for file, member in held}


def _member(path: Path, member: str) -> bytes:
    with ZipFile(path) as archive:
        return archive.read(member)


def _of_folder(path: Path, name: str) -> dict[str, Callable[[], bytes]]:
    """The data of a module in its folder, or in the folder of all modules."""
    home = path / name if (path / name).is_dir() else path
    found = [*home.glob("data/*.xml"), *home.glob("locale/*.po")]
    return {file.relative_to(home).as_posix(): file.read_bytes for file in found}


def inputs(path: Path) -> tuple[Path, ...]:
    """The files that a module is read from."""
    return (path,) if path.is_file() else tuple(sorted([*path.rglob("data/*.xml"), *path.rglob("locale/*.po")]))


def tidy(text: str) -> str:
    """A text on one line, with the hyphens that people type.

    >>> tidy(" ethinylestradiol +   levonorgestrel"), tidy("anti\u2010D")
    ('ethinylestradiol + levonorgestrel', 'anti-D')
    """
    return " ".join(text.translate(_TYPED).split())


def _unquoted(quoted: str) -> str:
    """The text of a gettext string, which may go over several lines."""
    text = "".join(_QUOTED.findall(quoted))
    return tidy(_ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), text) if "\\" in text else text)


@dataclass
class _Records:
    """The records of one XML file, as its elements go by."""

    path: Path
    found: list[Record] = field(default_factory=list)
    fields: dict[str, str] | None = None  # of the record that is open
    said: list[str] | None = None  # of the field that is open
    head: tuple[str, str] = ("", "")
    name: str = ""

    def of(self, data: bytes) -> list[Record]:
        """All records; raises `SourceError` for what is no XML, and for a document type."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = partial(self._refuse, parser)
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        try:
            parser.Parse(data, True)  # noqa: FBT003
        except expat.ExpatError as error:
            raise SourceError(self.path, error.lineno, f"is no XML ({expat.ErrorString(error.code)})", _MEND) from error
        except LookupError as error:  # of the encoding that it declares
            raise SourceError(self.path, 1, f"is no XML ({error})", _MEND) from error
        return self.found

    def _refuse(self, parser: Any, *_: object) -> None:
        raise SourceError(self.path, parser.CurrentLineNumber, "declares a document type", _MEND)

    def _start(self, element: str, given: dict[str, str]) -> None:
        if element == "record":
            self.head, self.fields = (given.get("model", ""), given.get("id", "")), {}
        elif element == "field" and self.fields is not None:
            self.name, self.said = given.get("name", ""), []
            self.fields[self.name] = given.get("ref", given.get("eval", ""))

    def _text(self, text: str) -> None:
        if self.said is not None:
            self.said.append(text)

    def _end(self, element: str) -> None:
        if element == "field" and self.fields is not None and self.said is not None:
            text = "".join(self.said).strip()
            if text:
                self.fields[self.name] = text
            self.said = None
        elif element == "record" and self.fields is not None:
            self.found.append(Record(*self.head, self.fields))
            self.fields = None
