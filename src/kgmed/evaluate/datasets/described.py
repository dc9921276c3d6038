"""The data sets of `sets.toml`, and readers of texts with entities marked (BC5CDR, CMeEE, cMedQANER, cEHRNER) and of
names with concepts (XL-BEL).
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module, resources
from pathlib import Path
from typing import Any, get_args

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, text
from kgmed.evaluate.items import DataSet, DataSetInfo, Task
from kgmed.evaluate.linking import Sample
from kgmed.evaluate.linking import read as samples
from kgmed.graph import formats
from kgmed.graph.base import Source
from kgmed.graph.formats.releases import Document, documents
from kgmed.registry import datasets

# --- Data sets as they are described.


_KNOWN = tomllib.loads((resources.files(__package__) / "sets.toml").read_text(encoding="utf-8"))


def _described(name: str) -> DataSetInfo[Any]:
    found = _fields(name)
    listed = {key: tuple(value) for key, value in found.items() if isinstance(value, list)}
    reader, given = found.pop("read"), found.pop("with", {})
    kind: type[DataSetInfo[Any]] = DataSetInfo
    if found["task"] in get_args(Task):
        kind = DataSet
        found.pop("use", "")
    read = partial(_read, reader=reader, files=listed["files"], given=given)
    return kind(**{**found, **listed, "name": name, "read": read})


def _fields(name: str) -> dict[str, Any]:
    """What a table says, and what it lacks of the one that it is like."""
    own = dict(_KNOWN[name])
    other = own.pop("like", "")
    return {**(_fields(other) if other else {}), **own}


def _read(data: Path, *, reader: str, files: tuple[str, ...], given: Mapping[str, Any]) -> Any:
    """What a reader, of a module here or by its whole name, makes of files in the data folder."""
    module, _, function = reader.rpartition(".")
    home = module if "." in module else f"{__package__}.{module}"
    return getattr(import_module(home), function)(*(data / file for file in files), **given)


for _name in _KNOWN:
    datasets.add(_described(_name))


# --- BC5CDR: 1,500 PubMed abstracts with chemicals and diseases marked by their MeSH ids, and what induces what.


BC5CDR = dict(zip(("train", "dev", "test"), _KNOWN["bc5cdr"]["files"], strict=True))  # the file of each part


def read_abstracts(*paths: Path) -> Iterator[Document]:
    """The abstracts of files in turn; raises `SourceError`."""
    for path in paths:
        yield from documents(path)


# --- Chinese texts with their entities marked: CMeEE-V2, and cMedQANER and cEHRNER of ChineseBLUE.


def read_marked(*paths: Path) -> list[Sample]:
    """The texts of files, or of the packed ones beside them, in turn; raises `SourceError`."""
    return [sample for path in paths for sample in samples(_packed(path))]


def read_packed(path: Path, *, format: str, name: str) -> Source:
    """The graph in an archive; raises `SourceError`."""
    return formats.read(format, path, name=name)


def _packed(path: Path) -> Path:
    """The file, or the packed one beside it."""
    packed = path.with_name(path.name + ".xz")
    return packed if packed.exists() and not path.exists() else path


# --- XL-BEL: mentions in Wikipedia of several languages, each with its UMLS concept.


def read_mentions(path: Path) -> Iterator[tuple[str, str]]:
    """Mention and concept (UMLS:C0008301) of each line "CUI||mention"; raises `SourceError`."""
    for number, line in enumerate(text(path).splitlines(), start=1):
        concept, mark, mention = line.partition("||")
        if not (concept.strip() and mark and mention.strip()):
            raise SourceError(path, number, "is not CUI||mention", FETCH)
        yield mention.strip(), f"UMLS:{concept.strip()}"
