"""What the codes of the UMLS Metathesaurus mean: semantic types, relations, term types, languages.

Sources: the UMLS Reference Manual (MRREL: REL, RELA; MRCONSO: TTY, LAT), the UMLS Semantic Network (TUI) and its
semantic groups. Shared by the reader of RRF files and the client of the REST service.
"""

import re
from collections.abc import Iterable, Mapping

from kgmed.kg.rows import Scope
from kgmed.types import Relation, Role

PREFIX = "umls"  # of a concept's id, as in umls:C0004096

# kind -> its semantic types; of two types of one concept the kind that stands first here decides
_KINDS: Mapping[str, str] = {
    "disease": "T047 T048 T191 T019 T020 T037 T046 T190 T049 T050",
    "symptom": "T184",
    "finding": "T033 T034",
    "drug": "T200 T195 T121",
    "test": "T059 T060",
    "procedure": "T061 T058 T063 T065 T062",
    "gene": "T028",
    "protein": "T116 T126 T192",
    "body part": "T023 T017 T018 T021 T022 T024 T025 T026 T029 T030 T031",
    "ingredient": "T109 T123 T125 T127 T129 T130 T131 T103 T104 T114 T120 T122 T196 T197 T087 T088",
    "device": "T074 T075 T203",
    "organism": "T001 T002 T004 T005 T007 T008 T010 T011 T012 T013 T014 T015 T016 T194 T204",
    "food": "T168",
    "phenomenon": "T032 T038 T039 T040 T041 T042 T043 T044 T045 T067 T068 T069 T070 T201 T085 T086",
}
_RANK: Mapping[str, tuple[int, str]] = {
    tui: (rank, kind) for rank, (kind, types) in enumerate(_KINDS.items()) for tui in types.split()
}
_NO_RANK = (len(_KINDS), "concept")

# REL, read from the second concept of MRREL (or the first of the REST service) to the other: "Cats CHD Felis"
RELATIONS: Mapping[str, Relation] = {
    relation.name: relation
    for relation in (
        Relation("CHD", Role.IS_A),
        Relation("PAR", Role.IS_A, reverse=True),
        Relation("RN", Role.IS_A),
        Relation("RB", Role.IS_A, reverse=True),
        Relation("SY", Role.SAME_AS),
        Relation("semantic_type"),
        Relation("definition"),
        Relation("sib_in_isa"),
        Relation("has_associated_morphology"),
        Relation("has_dose_form"),
        Relation("dose_form_of"),
        Relation("gene_product_of"),
        Relation("inheritance_type_of", Role.INHERITANCE, reverse=True),
    )
}
UNRELATED = frozenset({"XR", "DEL"})  # REL that denies a relation, or whose concept was deleted

SCOPES: Mapping[str, Scope] = {  # TTY -> how close the name is to the concept
    "AB": Scope.ABBREVIATION, "ACR": Scope.ABBREVIATION, "AA": Scope.ABBREVIATION, "AM": Scope.ABBREVIATION,
    "BN": Scope.BRAND, "BD": Scope.BRAND, "SBD": Scope.BRAND, "FBD": Scope.BRAND,
    "CHN": Scope.LAYPERSON, "CMN": Scope.LAYPERSON,
}  # fmt: skip
LAY_SOURCES = frozenset({"CHV", "MEDLINEPLUS"})
DEFINED_BY = ("MSH", "NCI", "ICF", "CSP", "HPO")  # whose definition comes first

LANGUAGES: Mapping[str, str] = {  # LAT -> ISO 639-1
    "ENG": "en", "ARA": "ar", "BAQ": "eu", "CHI": "zh", "CZE": "cs", "DAN": "da", "DUT": "nl", "EST": "et",
    "FIN": "fi", "FRE": "fr", "GER": "de", "GRE": "el", "HEB": "he", "HUN": "hu", "ITA": "it", "JPN": "ja",
    "KOR": "ko", "LAV": "lv", "NOR": "no", "POL": "pl", "POR": "pt", "RUS": "ru", "SCR": "hr", "SPA": "es",
    "SWE": "sv", "TUR": "tr", "UKR": "uk",
}  # fmt: skip
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
