"""SNOMED CT as it is released (RF2, the Snapshot folder): concepts, their descriptions and relationships.

Field numbers and ids are those of the SNOMED CT Release File Specifications. What is inactive is left out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import kind_of, lines, name_of
from kgmed.records import Relation, Role
from kgmed.registry import formats

_FSN = "900000000000003001"  # the fully specified name, as in "Gout (disorder)"
_IS_A = "116680003"
_TAG = re.compile(r"^(?P<name>.+) \((?P<tag>[^()]+)\)$")
_RELEASE = re.compile(r"_(\d{8})\.txt$")
_NEEDED = {
    "Concept": ("id", "active"),
    "Description": ("active", "conceptId", "languageCode", "typeId", "term"),
    "Relationship": ("active", "sourceId", "destinationId", "typeId"),
}
_MEND = "name the folder of an RF2 release that holds its Snapshot files"


@dataclass(frozen=True, slots=True)
class Release:
    """The files of a release by what they hold."""

    concepts: tuple[Path, ...]
    descriptions: tuple[Path, ...]
    relationships: tuple[Path, ...]


@formats.register("rf2", holds=("sct2_Concept_*.txt", "**/sct2_Concept_Snapshot*.txt"))
def read_rf2(path: Path | None, *, name: str = "", release: str = "", language: str = "en") -> Source:
    """The graph of a release folder, its names in a language; raises `BadInput` and `SourceError`."""
    if path is None or not path.is_dir():
        raise BadInput(f"a graph of the format rf2 needs a folder; {_MEND}")
    files = Release(_files(path, "Concept"), _files(path, "Description"), _files(path, "Relationship"))
    dated = _RELEASE.search(files.concepts[0].name)
    return Source(
        name=name or name_of(path),
        rows=lambda: _rows(files, language),
        release=release or (dated[1] if dated else ""),
        language=language,
        relations={"is a": Relation("is a", Role.IS_A)},
        inputs=(*files.concepts, *files.descriptions, *files.relationships),
    )


def _files(path: Path, what: str) -> tuple[Path, ...]:
    """The snapshot files of one kind."""
    found = sorted(file for file in path.rglob(f"sct2_{what}_*.txt") if "Full" not in file.name)
    found = [file for file in found if "Delta" not in file.name]
    if not found:
        raise SourceError(path, 0, f"holds no snapshot of SNOMED's {what.lower()} file", _MEND)
    return tuple(found)


def _rows(files: Release, language: str) -> Iterator[Row]:
    active = {cells[0] for file in files.concepts for cells in _table(file, "Concept")}
    named: dict[str, str] = {}
    for file in files.descriptions:
        for concept, spoken, kind, term in (cells for cells in _table(file, "Description")):
            if concept in active and spoken.partition("-")[0] == language:
                yield from _described(concept, kind, term, named)
    for file in files.relationships:
        for source, target, kind in _table(file, "Relationship"):
            if source in active and target in active:
                relation = "is a" if kind == _IS_A else named.get(kind, kind)
                yield EdgeRow(f"SNOMEDCT:{source}", relation, f"SNOMEDCT:{target}")


def _described(concept: str, kind: str, term: str, named: dict[str, str]) -> Iterator[NodeRow]:
    """The concept with one of its names; its kind is the tag at the end of its fully specified name."""
    key = f"SNOMEDCT:{concept}"
    tagged = _TAG.match(term) if kind == _FSN else None
    if kind == _FSN:
        name = tagged["name"] if tagged else term
        named[concept] = name.removesuffix(" (attribute)")
        yield NodeRow(key, name, kind_of(tagged["tag"]) if tagged else "")
    else:
        yield NodeRow(key, aliases=(Alias(term, Scope.EXACT),))


def _table(path: Path, what: str) -> Iterator[Sequence[str]]:
    """The wanted cells of every active row; raises `SourceError`."""
    rows = lines(path)
    header = next(rows, (0, ""))[1].split("\t")
    wanted = _NEEDED[what]
    if missing := [column for column in wanted if column not in header]:
        raise SourceError(path, 1, f"has no column {', '.join(missing)}", _MEND)
    places, active = [header.index(column) for column in wanted if column != "active"], header.index("active")
    for number, line in rows:
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) != len(header):
            raise SourceError(path, number, f"has {len(cells)} columns, not {len(header)}", "fetch the release again")
        if cells[active] == "1":
            yield [cells[place] for place in places]
