"""A patient by HPO ids: findings present, findings looked for and absent, sex, age and age of onset."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgmed.disk import read_toml
from kgmed.errors import BadInput

SEXES = ("", "female", "male")
HPO_ID = re.compile(r"HP:\d{7}")
ONSETS: dict[str, tuple[float, float]] = {  # HPO's terms of onset: from and up to which age, in years
    term: (first, last) for term, (first, last) in read_toml(Path(__file__).with_name("onsets.toml")).items()
}
_ISO = re.compile(r"P(?:(\d{1,3})Y)?(?:(\d{1,4})M)?(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T[\dHMS.]*)?")
_PLAIN = re.compile(r"(\d{1,3}(?:\.\d{1,4})?) ?(y|m|w|d|years?|months?|weeks?|days?)?")
_UNITS = (1, 1 / 12, 7 / 365.25, 1 / 365.25)  # years, months, weeks, days


@dataclass(frozen=True, slots=True)
class Patient:
    """What is known of a patient. Findings are HPO ids; ages are in years, None = not known."""

    present: tuple[str, ...]
    absent: tuple[str, ...] = ()
    sex: str = ""  # female, male or "" = not known
    age: float | None = None  # now, or when last seen
    onset: tuple[float, float] | None = None  # the illness began at an age from .. to
    id: str = ""

    def __post_init__(self) -> None:
        """Refuse a sex that is none of `SEXES`."""
        if self.sex not in SEXES:
            raise BadInput(f"the sex {self.sex!r} is not known; write female or male, or leave it out")


def years(text: str) -> float:
    """An age in years from ISO 8601 (P4Y6M) or in words (4, 4.5y, 6 months); raises `BadInput`.

    >>> years("P1Y6M"), years("18 months"), years("40")
    (1.5, 1.5, 40.0)
    """
    said = text.strip()
    if said.startswith("P") and (iso := _ISO.fullmatch(said)) and len(said) > 1:
        return sum(int(n or 0) * unit for n, unit in zip(iso.groups(), _UNITS, strict=True))
    if plain := _PLAIN.fullmatch(said.casefold()):
        return float(plain[1]) * _UNITS["ymwd".index((plain[2] or "y")[0])]
    raise BadInput(f"the age {text[:30]!r} cannot be read; write 4, 4y, 18m or P4Y6M")


def onset(text: str) -> tuple[float, float]:
    """From and up to which age an illness began: an HPO id of onset, or an age; raises `BadInput`.

    >>> onset("HP:0011463"), onset("3y")
    ((1, 5), (3.0, 3.0))
    """
    if HPO_ID.fullmatch(text.strip()):
        if text.strip() not in ONSETS:
            raise BadInput(f"{text} is no age of onset; give one such as HP:0011463 (childhood), or an age")
        return ONSETS[text.strip()]
    age = years(text)
    return age, age


def parse_findings(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Ids as typed: those present, and those with a leading - or NOT, which are absent; each once; raises `BadInput`.

    >>> parse_findings(["HP:0001250", "-HP:0000365", "NOT HP:0000252"])
    (['HP:0001250'], ['HP:0000365', 'HP:0000252'])
    """
    found: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for text in texts:
        sign = re.fullmatch(r"\s*(-|NOT\b)?\s*(HP:\d{7})\s*", text)
        if sign is None:
            raise BadInput(f"{text[:40]!r} is no HPO id; write HP:0001250, or -HP:0001250 for one that is absent")
        found[sign[1] is not None][sign[2]] = None
    both = [identifier for identifier in found[0] if identifier in found[1]]
    if both:
        raise BadInput(f"{both[0]} is given as present and as absent; leave one out")
    return list(found[0]), list(found[1])
