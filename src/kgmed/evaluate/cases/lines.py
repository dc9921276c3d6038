"""Cases as JSON Lines, our own format: one object a line.

    {"id": "7", "disease": "flu", "positive": ["fever"], "negative": ["rash"], "unsure": [], "explicit": ["fever"],
     "split": "train"}

`positive` and `disease` must be there. `explicit` names those of any sign that the patient told first; without it,
all of them. `split` is train (default), validation or test.
"""

import json
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.kg.sources.lines import lines
from kgmed.reward.cases import Case, Split, split

_SIGNS = ("positive", "negative", "unsure")
_PARTS = ("train", "validation", "test")
_MEND = 'write {"disease": "flu", "positive": ["fever"], "negative": [], "split": "train"}'


def read(path: Path, *, name: str = "", language: str = "", seed: int = 0) -> Split:
    """The split of the file; raises `SourceError`."""
    parts: dict[str, list[Case]] = {part: [] for part in _PARTS}
    for number, text in lines(path):
        if text.strip():
            part, found = _case(path, number, text)
            parts[part].append(found)
    if not parts["train"]:
        raise SourceError(path, 0, "has no train cases", _MEND)
    made = {"validation": parts["validation"], "language": language, "seed": seed}
    return split(name or path.stem, parts["train"], parts["test"], **made)  # type: ignore[arg-type]


def _case(path: Path, number: int, text: str) -> tuple[str, Case]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(path, number, f"is no JSON ({error})", _MEND) from error
    if not isinstance(row, dict) or not row.get("disease") or not isinstance(row["disease"], str):
        raise SourceError(path, number, "is no case with a disease", _MEND)
    part = row.get("split", "train")
    if part not in _PARTS:
        raise SourceError(path, number, f"has the split {part!r}", f"use one of {', '.join(_PARTS)}")
    positive, negative, unsure = (_names(path, number, row, sign) for sign in _SIGNS)
    every = (*positive, *negative, *unsure)
    if len(set(every)) < len(every):
        raise SourceError(path, number, "names a symptom twice", "give each symptom one sign")
    explicit = _names(path, number, row, "explicit") if "explicit" in row else every
    return part, Case(str(row.get("id", number)), positive, negative, unsure, row["disease"], explicit)


def _names(path: Path, number: int, row: dict[str, object], key: str) -> tuple[str, ...]:
    names = row.get(key, [])
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
        raise SourceError(path, number, f"has a {key!r} that is no list of names", _MEND)
    return tuple(names)
