"""Which options a reply chooses, where that is beyond doubt."""

import re
import unicodedata
from collections.abc import Sequence

from kgmed.kg.text import normalise

_JOIN = r"[\s,、和及与/&]|and"
_LETTERS = rf"[(\[\"']?\s*([A-Z](?:(?:{_JOIN})*[A-Z])*)(?![A-Za-z])"
_END = r"\s*(?=[.,;:)\]\"'。、]|because|since|因为|$)"
_STATED = re.compile(
    rf"(?:answers?|options?|choices?|答案|选项|正确的?是|应?选择?)\s*(?:(?:is|are|应?为|应?是)\s*)?:?\s*{_LETTERS}{_END}",
    re.IGNORECASE | re.MULTILINE,
)
_BARE = re.compile(rf"{_LETTERS}\s*[.)\]\"'。]*")
_HEADED = re.compile(r"[(\[]?([A-Z])[.)\]:、。]+\s*(.+)")


def chosen(reply: str, options: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The letters of the options that the reply chooses, in the options' order; () where it is not beyond doubt.

    Understood: a statement ("answer: A", "答案：ＡＣ"; several must agree), a reply of letters alone, an option written
    out ("B. asthma"; letter and text must agree), an option's text alone.

    >>> abc = (("A", "asthma"), ("B", "gout"), ("C", "measles"))
    >>> chosen("答案：Ａ、Ｃ。", abc), chosen("B. gout, since the toe is red", abc), chosen("A. gout", abc)
    (('A', 'C'), ('B',), ())
    """
    text = unicodedata.normalize("NFKC", reply).replace("*", "").strip()
    found = _stated(text) or _bare(text) or _written_out(text, options)
    letters = [letter.upper() for letter, _ in options]
    known = found is not None and found <= set(letters)
    return tuple(x for x in letters if x in found) if known and found else ()


def _stated(text: str) -> set[str] | None:
    """The letters of "the answer is ..."; the empty set where two statements differ, None where there is none."""
    found = [m[1] for m in _STATED.finditer(text) if m[1].replace("and", "") == m[1].replace("and", "").upper()]
    sets = [_letters(letters) for letters in found]
    return (sets[0] if all(s == sets[0] for s in sets) else set()) if sets else None


def _bare(text: str) -> set[str] | None:
    """The letters of a reply that is nothing else."""
    match = _BARE.fullmatch(text)
    return _letters(match[1]) if match else None


def _written_out(text: str, options: Sequence[tuple[str, str]]) -> set[str] | None:
    """The option whose text the first line is, or begins with after its own letter."""
    first = text.partition("\n")[0]
    if match := _HEADED.match(first):
        said = normalise(match[2])
        fits = {letter.upper() for letter, option in options if _begins(said, normalise(option))}
        return fits & {match[1]} if len(fits) == 1 else None
    fits = {letter.upper() for letter, option in options if normalise(option) == normalise(first)}
    return fits if len(fits) == 1 else None


def _begins(said: str, option: str) -> bool:
    """Whether what was said is the option, or goes on after it."""
    return bool(option) and (
        said == option or said.startswith(option + " ") or (not option.isascii() and said.startswith(option))
    )


def _letters(text: str) -> set[str]:
    """The single letters of a list such as `A, C and D`."""
    return set(re.findall(r"[A-Z]", text.replace("and", " ")))
