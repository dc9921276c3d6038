"""One case out of the plain data of a file, checked."""

from collections.abc import Mapping
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.reward.cases import Case

_SIGNS: dict[object, str] = {True: "positive", False: "negative", "1": "positive", "0": "negative", "2": "unsure"}
_SIGNS |= {"True": "positive", "False": "negative", "UNK": "unsure", "dont_know": "unsure"}


def case(path: Path, line: int, row_id: str, disease: object, explicit: object, implicit: object) -> Case:
    """The case of two maps symptom -> sign (true/1, false/0, 2 = unsure); raises `SourceError` with the place.

    A symptom in both maps has the sign of the first. `line` is the number of the record where there are no lines.
    """
    if not isinstance(disease, str) or not disease:
        raise SourceError(path, line, "has a case without a disease", "give each case the name of its disease")
    first, asked = _slots(path, line, explicit), _slots(path, line, implicit)
    signs = asked | first
    order = [*first, *(s for s in asked if s not in first)]
    positive, negative, unsure = (tuple(s for s in order if signs[s] == k) for k in ("positive", "negative", "unsure"))
    return Case(row_id, positive, negative, unsure, disease, tuple(first))


def _slots(path: Path, line: int, slots: object) -> dict[str, str]:
    """Symptom -> sign as a word."""
    if not isinstance(slots, Mapping) or not all(isinstance(s, str) for s in slots):
        raise SourceError(path, line, "has symptoms that are no map from name to sign", 'write {"fever": true, ...}')
    for symptom, sign in slots.items():
        if not isinstance(sign, bool | str) or sign not in _SIGNS:
            mend = 'use true, false, "1", "0", or "2" for unsure'
            raise SourceError(path, line, f"has the sign {sign!r} for {symptom!r}", mend)
    return {symptom: _SIGNS[sign] for symptom, sign in slots.items()}
