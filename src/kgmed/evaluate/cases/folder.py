"""The data sets of a folder that has one folder for each, by name."""

from collections.abc import Callable
from pathlib import Path

from kgmed.errors import UnknownName
from kgmed.evaluate.cases import ddxplus, dxformer, goals
from kgmed.reward.cases import Split


def _mz(data: Path, number: str) -> Split:
    stem = data / "muzhi10_dxformer"
    return dxformer.read(stem / f"mz{number}_train_set.json", stem / f"mz{number}_test_set.json", name=f"MZ-{number}")


def _dxy(data: Path) -> Split:
    return dxformer.read(data / "dxy/dxformer_train_set.json", data / "dxy/dxformer_test_set.json", name="DXY")


def _ddxplus(data: Path) -> Split:
    """The subset without train patients: those of the validation file are fitted on."""
    stem = data / "ddxplus"
    return ddxplus.read(
        stem / "subset_release_validate_patients.csv",
        stem / "subset_release_test_patients.csv",
        conditions=stem / "release_conditions.json",
        evidences=stem / "release_evidences.json",
        name="DDXPlus",
    )


SETS: dict[str, Callable[[Path], Split]] = {
    "DXY": _dxy,
    "MZ": lambda data: goals.read(data / "mz/acl2018-mds.p", name="MZ"),
    "MZ-4": lambda data: _mz(data, "4"),
    "MZ-10": lambda data: _mz(data, "10"),
    "DDXPlus": _ddxplus,
}


def read(name: str, data: Path) -> Split:
    """The split of that name in the folder; raises `UnknownName` or `SourceError`."""
    if name not in SETS:
        raise UnknownName("set of cases", name, SETS)
    return SETS[name](data)
