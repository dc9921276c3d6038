"""Numbers with their units: doses, durations, frequencies and shares, so that 0.5 g is 500 mg and 2 片 is not 2 粒.

A quantity is a range (a single number is one of no width) in a base unit, with what it is counted over ("一次" or
"一日": a dose or a day). Numbers inside a word (B12) and a list's own numbers are none.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kgmed.disk import packaged_toml
from kgmed.language.particulars import NUMBERS, number_of
from kgmed.language.text import lazily

_UNITS: dict[str, tuple[str, float]] = {
    unit: (row["base"], row["worth"]) for row in packaged_toml(__name__)["units"] for unit in row["written"]
}
_LATIN = sorted((u for u in _UNITS if (u.isascii() and u.isalpha()) or " " in u), key=len, reverse=True)
_OTHER = sorted((u for u in _UNITS if u not in _LATIN), key=len, reverse=True)
_COUNTED = "|".join(map(re.escape, _OTHER))
_UNIT = rf"(?:(?:{'|'.join(_LATIN)})(?![a-z])|{'|'.join(map(re.escape, _OTHER))})"
_PER = r"(?:/(?:kg|日|天|d|day|次|h))*+"
_FIGURE = r"\d+(?:\.\d+)?"
_CHINESE = r"(?:[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九半])"
_TO = r"\s*(?:[-~～—–－−]{1,2}|至|到|to)\s*"
_ONE = lazily(r"(?<![A-Za-z])l(?=\d)")  # a one, as scanned leaflets have it: l0mg
_FOUND = lazily(
    rf"(?<![a-z\d.])(?P<of>{_FIGURE}(?:/| (?:out )?of (?:every )?)\d+)(?![\d.]*\s*{_UNIT})(?![\d/])"
    rf"|(?<![a-z\d.])(?P<low>{_FIGURE})(?:\s*(?:{_UNIT})?{_TO}(?P<high>{_FIGURE}))?(?:\s*(?P<unit>{_UNIT}{_PER}))?(?![a-z\d])"
    rf"|(?P<han>每|{_CHINESE})(?:{_TO}(?P<han_high>{_CHINESE}))?(?P<han_unit>个?半?(?:{_COUNTED}))"
    rf"|\b(?P<often>once|twice|thrice)\b|\b(?P<word>{'|'.join(NUMBERS)})\s+(?P<word_unit>{'|'.join(_LATIN)})(?![a-z])"
    rf"|\b(?P<each>daily|a day|per day|every day|each day|nightly)\b",
    re.IGNORECASE,
)
_SLOTS = {("times", 1.0): "dose", ("day", 1.0): "day"}  # 一次, 一日: what the next number is counted over


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or a range of numbers in a base unit; `per` = what it is counted over: dose, day or nothing said.

    >>> Quantity(0.5, 0.5, "g") == Quantity(0.5, 0.5, "g"), Quantity(15, 30, "g").holds(Quantity(20, 20, "g"))
    (True, True)
    """

    low: float
    high: float
    unit: str = ""
    per: str = ""

    def __str__(self) -> str:
        """The quantity in its base unit."""
        span = f"{self.low:g}" if self.low == self.high else f"{self.low:g}-{self.high:g}"
        return f"{span} {self.unit}".strip()

    def holds(self, other: "Quantity") -> bool:
        """Whether the other is said by this one: the same, or a single number within this range."""
        if self.unit != other.unit or (self.per and other.per and self.per != other.per):
            return False
        if _near(self.low, other.low) and _near(self.high, other.high):
            return True
        return other.low == other.high and self.low < other.low < self.high


def quantities(text: str) -> list[Quantity]:
    """The quantities of a text in their order; "一次" and "每日" are what the next is counted over, no quantities.

    >>> quantities("一次2片，一日3次") == quantities("每次 2 片，每日 3 次")
    True
    >>> [(q.low, q.high, q.unit, q.per) for q in quantities("0.5-1 g, 15％ of 3/7, vitamin B12")]
    [(0.5, 1.0, 'g', ''), (15.0, 15.0, '%', ''), (42.857143, 42.857143, '%', '')]
    """
    found: list[Quantity] = []
    per = ""
    for match in _FOUND.finditer(_ONE.sub("1", unicodedata.normalize("NFKC", text)).lower()):
        if match["each"]:
            found[-1:] = [replace(q, per="day") for q in found[-1:]]
            continue
        quantity = _quantity(match, per)
        slot = _SLOTS.get((quantity.unit, quantity.low)) if match["han"] or match["low"] == "1" else None
        if slot and quantity.low == quantity.high and (match["han"] in ("每", "一") or slot == "day"):
            per = slot
            continue
        found.append(quantity)
    return found


def without_quantities(text: str) -> str:
    """The text without its quantities.

    >>> without_quantities("口服，一次2片，一日3次")
    '口服,,'
    """
    return _FOUND.sub("", unicodedata.normalize("NFKC", text))


def _quantity(match: re.Match[str], per: str) -> Quantity:
    """The quantity that a match holds."""
    if match["of"]:
        part, whole = map(float, re.split(r"[^\d.]+", match["of"]))
        share = round(100 * part / whole, 6) if whole else 0.0
        return Quantity(share, share, "%", per)
    if match["han"]:
        low, high, unit = match["han"], match["han_high"] or match["han"], match["han_unit"].lstrip("个半") or "月"
        return _of(number_of(low), number_of(high), unit, per)
    if word := match["often"] or match["word"]:
        return _of(NUMBERS[word], NUMBERS[word], match["word_unit"] or "times", per)
    low, high = float(match["low"]), float(match["high"] or match["low"])
    return _of(low, high, match["unit"] or "", per)


def _of(low: float, high: float, unit: str, per: str) -> Quantity:
    """A quantity in its base unit."""
    name, *over = unit.split("/")
    base, factor = _UNITS.get(name, ("", 1.0))
    return Quantity(round(low * factor, 9), round(high * factor, 9), "/".join([base, *over]), per)


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-9)


def strange(said: Iterable[Quantity], known: Iterable[Quantity]) -> list[Quantity]:
    """The quantities that none of the known ones says.

    >>> strange(quantities("一次3片"), quantities("一次2片，一日3次"))
    [Quantity(low=3.0, high=3.0, unit='tablet', per='dose')]
    """
    there = list(known)
    return [q for q in said if not any(k.holds(q) for k in there)]
