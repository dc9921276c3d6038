"""The JSON of DXY, MZ-4 and MZ-10 as DxFormer publishes them: a list of {pid, exp_sxs, imp_sxs, label} a part.

The signs are "1", "0" and "2" (unsure).
"""

import json
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.cases.row import case
from kgmed.kg.sources.lines import check_file
from kgmed.reward.cases import Case, Split, split

_MEND = "give a JSON list of objects with pid, exp_sxs, imp_sxs and label"


def read(
    train: Path, test: Path, *, validation: Path | None = None, name: str = "", language: str = "zh", seed: int = 0
) -> Split:
    """The split of the files; train gives a validation part where there is no file of it. Raises `SourceError`."""
    held_out = part(validation) if validation else []
    return split(name or train.stem, part(train), part(test), validation=held_out, language=language, seed=seed)


def part(path: Path) -> list[Case]:
    """The cases of one file; raises `SourceError`."""
    check_file(path)
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SourceError(path, getattr(error, "lineno", 0), f"is no JSON ({error})", _MEND) from error
    if not isinstance(rows, list) or not rows:
        raise SourceError(path, 0, "is no list of cases", _MEND)
    return [_case(path, i, row) for i, row in enumerate(rows, start=1)]


def _case(path: Path, number: int, row: object) -> Case:
    if not isinstance(row, dict) or not {"exp_sxs", "imp_sxs", "label"} <= row.keys():
        raise SourceError(path, number, f"is no case (record {number} of the list)", _MEND)
    return case(path, number, str(row.get("pid", number)), row["label"], row["exp_sxs"], row["imp_sxs"])
