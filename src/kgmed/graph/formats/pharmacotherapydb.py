"""PharmacotherapyDB: pairs of drug and disease that physicians judged, from its table `indications.tsv`.

Each pair is disease modifying (`modifies`), symptomatic (`relieves`) or no indication (`not_indicated_for`, which is no
contraindication). How many curators and resources stand behind it is kept with the triple.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.graph.base import EdgeRow, NodeRow, Row, Source
from kgmed.graph.formats.base import name_of, need_file, records
from kgmed.records import Relation, Role, Support
from kgmed.registry import formats

COLUMNS = ("doid_id", "drugbank_id", "disease", "drug", "category")
_OF = {"DM": "modifies", "SYM": "relieves", "NOT": "not_indicated_for"}
_RELATIONS = (
    Relation("modifies", Role.TREATS),
    Relation("relieves", Role.TREATS),
    Relation("not_indicated_for"),
)
_COUNTS = {"n_curators": "curators", "n_resources": "resources"}
_MEND = "fetch the table again"


@formats.register(
    "pharmacotherapydb", looks=lambda first: 3 if set(COLUMNS) <= set(first[0].rstrip().split("\t")) else 0
)
def read_pharmacotherapydb(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a table of indications; raises `SourceError`, for a damaged row when its turn comes."""
    file = need_file(path, "pharmacotherapydb")
    return Source(
        name=name or name_of(file),
        rows=lambda: _rows(file),
        release=release,
        language="en",
        relations={relation.name: relation for relation in _RELATIONS},
        kinds={relation.name: ("drug", "disease") for relation in _RELATIONS},
        inputs=(file,),
    )


def _rows(path: Path) -> Iterator[Row]:
    table = records(path, "\t")
    number, head = next(table, (0, []))
    head = [cell.strip() for cell in head]
    if missing := [column for column in COLUMNS if column not in head]:
        raise SourceError(path, number, f"has no column {', '.join(missing)}", _MEND)
    met: set[str] = set()
    for number, cells in table:
        if len(cells) != len(head):
            raise SourceError(path, number, f"has {len(cells)} columns, not the {len(head)} of the header", _MEND)
        yield from _pair(path, number, dict(zip(head, map(str.strip, cells), strict=True)), met)


def _pair(path: Path, number: int, row: dict[str, str], met: set[str]) -> Iterator[Row]:
    """A pair, after its ends where they are met for the first time."""
    relation = _OF.get(row["category"])
    ends: Sequence[tuple[str, str, str]] = (
        (f"DRUGBANK:{row['drugbank_id']}", row["drug"], "drug"),
        (row["doid_id"], row["disease"], "disease"),
    )
    if relation is None or not all(key.rpartition(":")[2] and name for key, name, _ in ends):
        problem = f"has the category {row['category'][:9]!r}, or lacks a name or an id"
        raise SourceError(path, number, problem, f"write one of {', '.join(_OF)}, and both ids and names")
    for key, name, kind in ends:
        if key not in met:
            met.add(key)
            yield NodeRow(key, name, kind)
    counted = tuple((said, row[column]) for column, said in _COUNTS.items() if row.get(column))
    yield EdgeRow(ends[0][0], relation, ends[1][0], 1.0, (Support("", counted),))
