"""The pickle of MZ, DXY and GMD: {"train": [...], "test": [...]} of {explicit_inform_slots, implicit_inform_slots, disease_tag}.

The slots may stand one deeper, under "goal", and "validate" may be a third part. Nothing but plain data is
unpickled: no class can be named.
"""  # noqa: E501 - the layout on one line

from collections.abc import Iterator, Mapping
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.cases.row import case
from kgmed.kg.plain_pickle import DAMAGE, Plain
from kgmed.kg.sources.lines import check_file, reading
from kgmed.reward.cases import Case, Split, split

_LARGEST = 1 << 28  # bytes
_MEND = "give the pickle with train and test of explicit_inform_slots, implicit_inform_slots and disease_tag"


def read(path: Path, *, name: str = "", language: str = "zh", seed: int = 0) -> Split:
    """The split of the file; train gives a validation part where the file has none. Raises `SourceError`."""
    parts = _parts(path)
    cases = {part: list(_cases(path, part, parts.get(part, []))) for part in ("train", "test", "validate")}
    if not cases["train"]:
        raise SourceError(path, 0, "has no train cases", _MEND)
    made = {"validation": cases["validate"], "language": language, "seed": seed}
    return split(name or path.stem, cases["train"], cases["test"], **made)  # type: ignore[arg-type]


def _parts(path: Path) -> Mapping[str, object]:
    check_file(path)
    if path.stat().st_size > _LARGEST:
        raise SourceError(path, 0, "is larger than 256 MB", _MEND)
    try:
        with path.open("rb") as file:
            parts = Plain(file).load()
    except DAMAGE as error:
        raise SourceError(path, 0, f"is no pickle of plain data ({error})", _MEND) from error
    except OSError:
        with reading(path):
            raise
    if not isinstance(parts, dict) or not {"train", "test"} <= parts.keys():
        raise SourceError(path, 0, "has no parts train and test", _MEND)
    return parts


def _cases(path: Path, part: str, rows: object) -> Iterator[Case]:
    if not isinstance(rows, list):
        raise SourceError(path, 0, f"has a part {part} that is no list", _MEND)
    for i, row in enumerate(rows, start=1):
        goal = row.get("goal", row) if isinstance(row, dict) else None
        if not isinstance(goal, dict) or not {"explicit_inform_slots", "implicit_inform_slots"} <= goal.keys():
            raise SourceError(path, i, f"is no case (record {i} of {part})", _MEND)
        row_id = str(row.get("consult_id", f"{part}-{i}"))
        disease = row.get("disease_tag", goal.get("disease_tag"))
        yield case(path, i, row_id, disease, goal["explicit_inform_slots"], goal["implicit_inform_slots"])
