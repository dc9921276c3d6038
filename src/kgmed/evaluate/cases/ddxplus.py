"""DDXPlus: synthetic patients as CSV, 49 diseases, in English.

A patient's evidences are codes, `E_55_@_V_29` for a value of a question with several. They become the question and
the value in English where `release_evidences.json` knows the code, else they stay codes. Diseases become English by
`release_conditions.json`, whether the patients' file has them in English or in French. Age and sex are left out. All
that is listed is there; nothing is denied.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError
from kgmed.kg.sources.lines import check_file, reading
from kgmed.reward.cases import Case, Split, split

_COLUMNS = {"PATHOLOGY", "EVIDENCES", "INITIAL_EVIDENCE"}
_MEND = "give a release_*_patients.csv of DDXPlus with PATHOLOGY, EVIDENCES and INITIAL_EVIDENCE"
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_LIST = re.compile(r"""\s*\[\s*(?:(?:'[^']*'|"[^"]*")\s*(?:,\s*|(?=\])))*\]\s*""")
Name = Callable[[str], str]


def read(
    train: Path,
    test: Path,
    *,
    validation: Path | None = None,
    conditions: Path | None = None,
    evidences: Path | None = None,
    name: str = "ddxplus",
    seed: int = 0,
) -> Split:
    """The split of the patients' files; raises `SourceError`. Train gives a validation part where there is no file."""
    disease, finding = diseases(conditions), findings(evidences)
    held_out = list(patients(validation, disease, finding)) if validation else []
    parts = (list(patients(path, disease, finding)) for path in (train, test))
    return split(name, *parts, validation=held_out, language="en", seed=seed)


def patients(path: Path, disease: Name, finding: Name) -> Iterator[Case]:
    """The cases of one file, names changed by the two functions; raises `SourceError`."""
    check_file(path)
    with reading(path), path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        try:
            if not set(rows.fieldnames or ()) >= _COLUMNS:
                raise SourceError(path, 1, "lacks columns of DDXPlus", _MEND)
            for number, row in enumerate(rows, start=1):
                yield _patient(path, rows.line_num, f"{path.stem}-{number}", row, disease, finding)
        except (csv.Error, UnicodeError) as error:
            raise SourceError(path, rows.line_num, f"is no CSV in UTF-8 ({error})", _MEND) from error


def _patient(path: Path, line: int, case_id: str, row: dict[str, str | None], disease: Name, finding: Name) -> Case:
    codes, name = _codes(path, line, row["EVIDENCES"]), row["PATHOLOGY"]
    if not name:
        raise SourceError(path, line, "has a case without a disease", _MEND)
    first = tuple(finding(c) for c in [row["INITIAL_EVIDENCE"]] if c)
    return Case(case_id, tuple(dict.fromkeys(map(finding, codes))), disease=disease(name), explicit=first)


def _codes(path: Path, line: int, text: str | None) -> list[str]:
    """The quoted strings of a list literal.

    >>> _codes(Path("a.csv"), 1, "['E_91', 'E_55_@_V_29']")
    ['E_91', 'E_55_@_V_29']
    """
    if not text or not _LIST.fullmatch(text):
        raise SourceError(path, line, "has EVIDENCES that are no list of codes", _MEND)
    return [a or b for a, b in _QUOTED.findall(text)]


def diseases(path: Path | None) -> Name:
    """A function from a disease's English or French name to its English one; without a file it changes nothing."""
    rows = _json(path, "cond-name-eng").values() if path else []
    table = {str(r.get(key)): str(r["cond-name-eng"]) for r in rows for key in ("cond-name-fr", "condition_name")}
    return lambda name: table.get(name, name)


def findings(path: Path | None) -> Name:
    """A function from an evidence's code to its question and value in English; a code it does not know stays."""
    table = _json(path, "question_en") if path else {}

    def name(code: str) -> str:
        question, _, value = code.partition("_@_")
        known = table.get(question)
        if not known:
            return code
        meanings = known.get("value_meaning")
        meaning = meanings.get(value) if isinstance(meanings, dict) else None
        english = meaning.get("en", value) if isinstance(meaning, dict) else value
        return f"{known['question_en']} {english}".strip()

    return name


def _json(path: Path, needed: str) -> dict[str, dict[str, Any]]:
    """The objects of a release file, each with the key `needed`."""
    check_file(path)
    mend = f"give the release_*.json of DDXPlus with {needed}"
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SourceError(path, getattr(error, "lineno", 0), f"is no JSON ({error})", mend) from error
    if not isinstance(rows, dict) or not all(isinstance(r, dict) and needed in r for r in rows.values()):
        raise SourceError(path, 0, "is no such release file of DDXPlus", mend)
    return rows
