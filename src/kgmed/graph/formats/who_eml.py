"""The World Health Organization's model list of essential medicines, from `gnuhealth_who_essential_medicines`.

Medicines with the sections of the list that they stand in, their forms and strengths, the remarks of the list, the
ingredients of combinations, a pregnancy category, and names in all languages of the package.

What is said and what is not:

- `listed_for` and `listed_to_prevent` are read from the title of the section, where it names a condition ("12.3
  Antihypertensive medicines"); the list itself gives no indication for each medicine. `uses` in `who_eml.toml` is the
  whole reading. The section and what the list adds ("only ...") stand with the triple, and where the list excludes the
  use that the title names (magnesium sulfate, hydralazine, methyldopa) there is none. A vaccine is listed to prevent
  the disease that its name holds.
- The pregnancy categories are the letters that the FDA used until 2015. GNU Health gives them, not the WHO. X is
  `contraindicated_in` pregnancy; C and D are `caution_in`; A and B, for which the package has no warning, are
  `without_warning_in`, which is no proof of safety; N is `unclassified_in`.
- The package does not name the edition. It holds bisoprolol, which came with the 17th list (2011), and not gliclazide,
  which came with the 18th (2013).
- Mended are two errors of the package: medicines that lower lipids stand in a section titled "Antithrombotic
  medicines", and two medicines (dapsone, retinol) with the product of another; their own names are taken. Two
  misspelled medicines ("choloroquine", "epinefrine") stay as they are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kgmed import toml
from kgmed.errors import SourceError
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.graph.formats.base import published
from kgmed.graph.formats.gnuhealth import Module, Record, Translations, inputs, open_module, tidy
from kgmed.records import Support
from kgmed.registry import formats

MODULE = "health_who_essential_medicines"
RELEASE = "GNU Health 5.0.4"
_READ = toml.read(Path(__file__).with_suffix(".toml"))
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


@formats.register("who-eml", holds=("data/WHO_products.xml", f"{MODULE}/data/WHO_products.xml"))
def read_who_eml(path: Path | None, *, name: str = "who-eml", release: str = "") -> Source:
    """The graph of the list from the package's wheel or the folder of the module; raises `SourceError`."""
    module = open_module(path, MODULE, "who-eml")
    return Source(
        name=name,
        rows=lambda: _rows(module),
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


def _rows(module: Module) -> Iterator[Row]:
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


def _place(identifier: str) -> tuple[str, str]:
    """The number of a category's section, and which list it is of: "core" or "complementary".

    >>> _place("em_18_5c"), _place("em")
    (('18.5', 'complementary'), ('', ''))
    """
    found = _SECTION.fullmatch(_MENDED.get(identifier, identifier))
    return (found[1].strip("_").replace("_", "."), "complementary" if found[2] else "core") if found else ("", "")


def _sections(categories: Mapping[str, Record]) -> Iterator[Section]:
    """The sections; what is called "Complementary" is a list within one, no section."""
    for record in categories.values():
        number, listed = _place(record.id)
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
        alone = above is None or not (shared[section.title] > 1 or _says_little(section.title))
        names = {"": section.title, **said.of(_CLASS, section.record)}
        if above is not None and not alone:
            over = {"": above.title, **said.of(_CLASS, above.record)}
            names = {lang: f"{over[lang]}: {text}" for lang, text in names.items() if lang in over}
        name = names.pop("")
        aliases = tuple(Alias(text, Scope.TRANSLATION, lang) for lang, text in names.items())
        yield NodeRow(section.number, name, "drug class", "", aliases)
        if above is not None:
            yield EdgeRow(section.number, "in_section", above.number)


def _says_little(title: str) -> bool:
    return title in _GENERIC or title.startswith("For ")


# --- Medicines.


def _names(medicines: Sequence[Record], products: Sequence[Record], said: Translations) -> Iterator[Row]:
    """The medicines with their names, and what combinations are made of."""
    texts: dict[str, dict[tuple[str, str], None]] = {}
    for records, what, name in ((medicines, _MEDICINE, "active_component"), (products, _PRODUCT, "name")):
        for record in records:
            texts.setdefault(record[name], {}).update(dict.fromkeys(said.of(what, record.id).items()))
    known = {_without_brackets(name): name for name in texts}
    for name, translations in texts.items():
        own = list(other_names(name))
        aliases = [*own]
        for language, text in translations:
            aliases += [Alias(text, Scope.TRANSLATION, language), *(other_names(text, language) if own else ())]
        yield NodeRow(name, kind="drug", aliases=tuple(dict.fromkeys(aliases)))
        parts = _PARTS.split(name)
        for part in map(_without_brackets, parts) if len(parts) > 1 else ():
            yield NodeRow(known.get(part, part), kind="drug")
            yield EdgeRow(name, "has_ingredient", known.get(part, part))


def other_names(name: str, language: str = "") -> Iterator[Alias]:
    """The names inside and before the brackets at the end of a name, and an inverted one put right.

    >>> [a.text for a in other_names("zidovudine (ZDV or AZT)")], [a.text for a in other_names("charcoal, activated")]
    (['zidovudine', 'ZDV', 'AZT'], ['activated charcoal'])
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
    name, (number, listed) = record["active_component"], _place(record["category"])
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
    if _FOR_USE.search(remark):
        return "listed_use"
    return "restriction" if _RESTRICTS.search(remark) else "remark"


def _entries(text: str) -> Sequence[str]:
    """The lines of a note; one that goes on in the next is put together."""
    entries: list[str] = []
    for line in filter(None, map(tidy, text.splitlines())):
        if line[0].isupper() or line[0] in "*>" or not entries:
            entries.append(line)
        else:
            entries[-1] += f" {line}"
    return entries
