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
        if not set(rows.fieldnames or ()) >= _COLUMNS:
            raise SourceError(path, 1, "lacks columns of DDXPlus", _MEND)
        for number, row in enumerate(rows, start=1):
            codes = _codes(path, rows.line_num, row["EVIDENCES"])
            if not row["PATHOLOGY"]:
                raise SourceError(path, rows.line_num, "has a case without a disease", _MEND)
            first = tuple(finding(c) for c in [row["INITIAL_EVIDENCE"]] if c)
            positive = tuple(dict.fromkeys(map(finding, codes)))
            yield Case(f"{path.stem}-{number}", positive, disease=disease(row["PATHOLOGY"]), explicit=first)


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
    rows = _json(path).values() if path else []
    table = {str(r.get(key)): str(r["cond-name-eng"]) for r in rows for key in ("cond-name-fr", "condition_name")}
    return lambda name: table.get(name, name)


def findings(path: Path | None) -> Name:
    """A function from an evidence's code to its question and value in English; a code it does not know stays."""
    table = _json(path) if path else {}

    def name(code: str) -> str:
        question, _, value = code.partition("_@_")
        known = table.get(question)
        if not known:
            return code
        meaning = known.get("value_meaning", {}).get(value, {}).get("en", value)
        return f"{known['question_en']} {meaning}".strip()

    return name


def _json(path: Path) -> dict[str, dict[str, Any]]:
    check_file(path)
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        mend = "give the release_*.json of DDXPlus"
        raise SourceError(path, getattr(error, "lineno", 0), f"is no JSON ({error})", mend) from error
    needed = {"question_en"}, {"cond-name-eng"}
    if not isinstance(rows, dict) or not all(
        isinstance(r, dict) and any(n <= r.keys() for n in needed) for r in rows.values()
    ):
        raise SourceError(
            path, 0, "is no release file of DDXPlus", "give release_conditions.json or release_evidences.json"
        )
    return rows
