"""The data sets that can be evaluated on.

Another is a table in `sets.toml`, or in another package `datasets.add(DataSet(...))` of `kgmed.registry`.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kgmed import registry
from kgmed.errors import BadInput, UnknownName
from kgmed.evaluate.items import DataSet, DataSetInfo, Item, Other
from kgmed.reward.cases import Split


def datasets() -> dict[str, DataSet]:
    """Every data set of questions by its name."""
    return {found.name: found for found in registry.datasets.all() if isinstance(found, DataSet)}


def others() -> dict[str, DataSetInfo[Any]]:
    """What holds no questions, by its name: patients, texts with entities marked, names with concepts, graphs."""
    return {found.name: found for found in registry.datasets.all() if not isinstance(found, DataSet)}


ALL = "all"  # every part
TABLES = (".csv", ".tsv", ".xlsx", ".jsonl")  # files of one's own


def dataset(name: str) -> DataSet:
    """The data set of a name, one of the hub (hub/OWNER/NAME), or a file of one's own questions (see `TABLES`).

    `NAME[SUBJECT,SUBJECT]` is what it has of these subjects. Raises `UnknownName`, `BadInput`, and `Unavailable` for
    one of the hub that cannot be had.
    """
    whole, bracket, rest = name.partition("[")
    if not bracket or not name.endswith("]"):
        return _whole(name)
    wanted = tuple(s.strip() for s in rest.removesuffix("]").split(",") if s.strip())
    if not wanted:
        raise BadInput(f"{name!r} is not of the form NAME[SUBJECT,SUBJECT]")
    found = _whole(whole)
    title, said = f"{found.title}: {', '.join(wanted)}", f"{found.name}[{','.join(wanted)}]"
    return replace(found, name=said, title=title, read=partial(_of_subjects, whole=found, wanted=wanted))


def _whole(name: str) -> DataSet:
    """The data set of a name, with all its subjects."""
    if name.startswith("hub/"):
        from kgmed.evaluate.datasets.own import hub_dataset

        return hub_dataset(name)
    if name.endswith(TABLES):
        from kgmed.evaluate.datasets.own import own_dataset

        return own_dataset(Path(name))
    try:
        found = registry.datasets.get(name)
    except UnknownName:
        hint = "or give a file of your own questions (.csv, .tsv, .xlsx, .jsonl), or hub/OWNER/NAME"
        raise UnknownName("data set", name, datasets(), hint) from None
    if not isinstance(found, DataSet):
        asked = f"{name}-questions" if f"{name}-questions" in datasets() else ""
        raise BadInput(
            f"{name} holds no questions, it is for {found.task}; try {found.use}{f', or {asked}' if asked else ''}"
        )
    return found


def _of_subjects(data: Path, *, whole: DataSet, wanted: tuple[str, ...]) -> Iterator[Item]:
    """The items of some subjects, whatever the case of the names; raises `BadInput` for one that is not there."""
    items = list(whole.read(data))
    known = {item.subject.casefold(): item.subject for item in items if item.subject}
    for subject in wanted:
        if subject.casefold() not in known:
            there = ", ".join(known.values())
            raise BadInput(f"{whole.name} has no subject {subject!r}; it has {there or 'no subjects at all'}")
    names = {subject.casefold() for subject in wanted}
    yield from (item for item in items if item.subject.casefold() in names)


def known_other(name: str, task: Other, data: Path) -> DataSetInfo[Any]:
    """What holds no questions, by name and task, its files at hand; raises `UnknownName`, `BadInput`."""
    known = {n: found for n, found in others().items() if found.task == task}
    if name not in known:
        raise UnknownName(f"data set for {task}", name, known)
    _there(known[name], data)
    return known[name]


def patients(name: str, data: Path) -> Split:
    """The split of a set of patients, by its name in small letters or capitals; raises `BadInput`, `SourceError`."""
    made = known_other(name.casefold(), "diagnosis", data).read(data)
    if not isinstance(made, Split):
        raise BadInput(f"{name} is not split into what is trained on and what is told by; DXY, MZ or DDXPlus are")
    return made


def missing(found: DataSetInfo[Any], data: Path) -> list[str]:
    """The files of a data set that are not in the data folder, neither plain nor packed (.xz)."""
    return [f for f in found.files if not (data / f).exists() and not (data / f"{f}.xz").exists()]


def _there(found: DataSetInfo[Any], data: Path) -> None:
    """Nothing, where all files are there; raises `BadInput`."""
    if lacking := missing(found, data):
        raise BadInput(f"{data}: lacks {', '.join(lacking)} of {found.name}; get it from {found.source}")


def checksum(found: DataSetInfo[Any], data: Path) -> str:
    """A hash of the files of a data set as they lie there; one's own file has its own as revision.

    Raises `BadInput` where files are missing and says where they come from.
    """
    _there(found, data)
    whole = hashlib.sha256()
    for file in found.files:
        path = data / file if (data / file).exists() else data / f"{file}.xz"
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest() if found.files else found.revision


def load(name: str, data: Path, *, part: str = "", limit: int = 0, seed: int = 0) -> list[Item]:
    """The items of a data set, of one part ("" or "all" = all); `limit` draws that many by `seed`, in their order.

    Raises `BadInput` where files are missing and says where they come from.
    """
    found = dataset(name)
    _there(found, data)
    every = list(found.read(data))
    if not every:
        raise BadInput(
            f"{data}: {', '.join(found.files) or name} holds no question of {name}; get it from {found.source}"
        )
    items = [item for item in every if part in ("", ALL, item.part)]
    if part and not items:
        parts = dict.fromkeys([*(item.part for item in every), ALL])
        raise BadInput(f"{name} has no part {part!r}; it has {', '.join(parts)}")
    if not limit or limit >= len(items):
        return items
    drawn = sorted(items, key=lambda i: hashlib.sha256(f"{seed}:{i.question.id}".encode()).digest())[:limit]
    kept = {i.question.id for i in drawn}
    return [item for item in items if item.question.id in kept]
