"""Cases as JSON Lines, our own format: one object a line.

    {"id": "7", "disease": "flu", "positive": ["fever"], "negative": ["rash"], "unsure": [], "explicit": ["fever"],
     "split": "train"}

`positive` and `disease` must be there. `explicit` names those of any sign that the patient told first; without it,
all of them. `split` is train (default), validation or test. `patients` reads the same lines where nobody has told the
disease, `answers` lines of a question (or the findings) and what was answered:

    {"question": "fever, no rash", "answer": "flu"}
    {"positive": ["fever"], "negative": ["rash"], "answer": "flu"}
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError
from kgmed.kg.sources.lines import empty, lines, parse_json
from kgmed.reward.cases import Case, Split, split

_SIGNS = ("positive", "negative", "unsure")
_PARTS = ("train", "validation", "test")
_MEND = 'write {"disease": "flu", "positive": ["fever"], "negative": [], "split": "train"}'


def read(path: Path, *, name: str = "", language: str = "", seed: int = 0) -> Split:
    """The split of the file; raises `SourceError`."""
    parts: dict[str, list[Case]] = {part: [] for part in _PARTS}
    for number, row in _rows(path):
        part, found = _case(path, number, row)
        parts[part].append(found)
    if not parts["train"]:
        raise SourceError(path, 0, "has no train cases", _MEND)
    made = {"validation": parts["validation"], "language": language, "seed": seed}
    return split(name or path.stem, parts["train"], parts["test"], **made)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer to judge; where the patient was given as findings, `question` is their line."""

    question: str
    answer: str
    case: Case | None = None


def patients(path: Path) -> Iterator[Case]:
    """The cases of the file, whatever their split; a disease may be missing. Raises `SourceError`."""
    for number, row in _rows(path):
        yield _findings(path, number, {"disease": "", **row})


def answers(path: Path) -> Iterator[Asked]:
    """The answers of the file; raises `SourceError`."""
    mend = 'write {"question": "fever, no rash", "answer": "flu"}, or positive and negative in place of question'
    for number, row in _rows(path):
        question, answer = row.get("question", ""), row.get("answer")
        if not isinstance(question, str) or not isinstance(answer, str) or bool(question) == ("positive" in row):
            raise SourceError(path, number, "is no answer to a question or to findings", mend)
        case = None if question else _findings(path, number, {**row, "disease": ""})
        yield Asked(question or f"line {number}", answer, case)


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of the file and their lines; raises `SourceError` where there are none."""
    found = 0
    for number, text in lines(path):
        if text.strip():
            row = parse_json(path, number, text)
            if not isinstance(row, dict):
                raise SourceError(path, number, "is no JSON object", _MEND)
            found += 1
            yield number, row
    if not found:
        raise empty(path)


def _case(path: Path, number: int, row: Mapping[str, Any]) -> tuple[str, Case]:
    if not row.get("disease"):
        raise SourceError(path, number, "is no case with a disease", _MEND)
    part = row.get("split", "train")
    if part not in _PARTS:
        raise SourceError(path, number, f"has the split {part!r}", f"use one of {', '.join(_PARTS)}")
    return part, _findings(path, number, row)


def _findings(path: Path, number: int, row: Mapping[str, Any]) -> Case:
    if not isinstance(row["disease"], str):
        raise SourceError(path, number, "is no case with a disease", _MEND)
    positive, negative, unsure = (_names(path, number, row, sign) for sign in _SIGNS)
    every = (*positive, *negative, *unsure)
    if len(set(every)) < len(every):
        raise SourceError(path, number, "names a symptom twice", "give each symptom one sign")
    explicit = _names(path, number, row, "explicit") if "explicit" in row else every
    return Case(str(row.get("id", number)), positive, negative, unsure, row["disease"], explicit)


def _names(path: Path, number: int, row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = row.get(key, [])
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
        raise SourceError(path, number, f"has a {key!r} that is no list of names", _MEND)
    return tuple(names)
