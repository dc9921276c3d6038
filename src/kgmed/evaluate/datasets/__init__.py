"""The data sets that can be evaluated on; another is one file here and one row in `_PLACES`."""

import hashlib
from importlib import import_module
from pathlib import Path

from kgmed.errors import BadInput, UnknownName
from kgmed.evaluate.items import DataSet, Item

_PLACES = """
    mmcu:DATASET apollo:CMB apollo:MCMLE apollo:CMEXAM cmmlu:CMMLU cmmlu:ALL mirage:MIRAGE mirage:MEDQA mirage:MEDMCQA
    mirage:PUBMEDQA mirage:BIOASQ explaincpe:DATASET liveqa:DATASET medicationqa:DATASET genmedgpt:DATASET cmcqa:DATASET
    expertqa:MEDICINE expertqa:BIOLOGY expertqa:ALL mintaka:DATASET
""".split()  # noqa: SIM905


def datasets() -> dict[str, DataSet]:
    """Every data set by its name."""
    found = (place.split(":") for place in _PLACES)
    sets: list[DataSet] = [getattr(import_module(f"{__name__}.{module}"), name) for module, name in found]
    return {s.name: s for s in sets}


def dataset(name: str) -> DataSet:
    """The data set of a name, or a file of one's own questions (.jsonl); raises `UnknownName`."""
    if name.endswith(".jsonl"):
        from kgmed.evaluate.datasets import own

        return own.dataset(Path(name))
    known = datasets()
    if name not in known:
        raise UnknownName("data set", name, known, "or give a .jsonl file of your own questions")
    return known[name]


def missing(found: DataSet, data: Path) -> list[str]:
    """The files of a data set that are not in the data folder, neither plain nor packed (.xz)."""
    return [f for f in found.files if not (data / f).exists() and not (data / f"{f}.xz").exists()]


def _there(found: DataSet, data: Path) -> None:
    """Nothing, where all files are there; raises `BadInput`."""
    if lacking := missing(found, data):
        raise BadInput(f"{data}: lacks {', '.join(lacking)} of {found.name}; get it from {found.source}")


def checksum(found: DataSet, data: Path) -> str:
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
    """The items of a data set, of one part ("" = all); `limit` draws that many by `seed`, in their order.

    Raises `BadInput` where files are missing and says where they come from.
    """
    found = dataset(name)
    _there(found, data)
    items = [item for item in found.read(data) if not part or item.part == part]
    if part and not items:
        raise BadInput(f"{name} has no part {part!r}")
    if not limit or limit >= len(items):
        return items
    drawn = sorted(items, key=lambda i: hashlib.sha256(f"{seed}:{i.question.id}".encode()).digest())[:limit]
    kept = {i.question.id for i in drawn}
    return [item for item in items if item.question.id in kept]
