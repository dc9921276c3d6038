"""PubTator: abstracts with their entities and relations marked, as PubTator Central and BC5CDR are published.

    8701013|t|Famotidine-associated delirium.
    8701013|a|Six cases are reported.
    8701013<tab>0<tab>10<tab>Famotidine<tab>Chemical<tab>D015738
    8701013<tab>CID<tab>D015738<tab>D003693

Offsets count characters of title, blank and abstract. A mark whose words are not where it says is left out and named;
a file most of whose marks are such counts otherwise, and is refused. The graph has the marked concepts, by the names
that stand in the texts, and the relations, each with the publication it is from. Texts themselves are not part of it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import empty, lines, name_of, need_file
from kgmed.records import Relation, Role, Support
from kgmed.registry import formats

CID = Relation("chemical_induced_disease", Role.ADVERSE)
_TEXT = re.compile(r"([^|\t]+)\|([ta])\|(.*)")
_TITLE = re.compile(r"[^|\t]+\|t\|")
_MESH = re.compile(r"[CD]\d{6,}")
_PREFIXES = {"Gene": "NCBIGene", "Species": "NCBITaxon"}
_KINDS = {"Chemical": "drug"}
_RELATIONS = {"CID": CID.name}
_SHORT = 6  # capitals of at most this length are an abbreviation
_LEAST, _MOST = 5, 7  # columns of an entity; the ids and the parts of a name may be left out
_RELATES = 4  # columns of a relation; a fifth, in some releases, says whether it is new and is not read
_WORD, _NUMBER = re.compile(r"[A-Za-z_]\w*"), re.compile(r"[0-9]{1,9}")
_MEND = "give PubTator: PMID|t|title, PMID|a|abstract, then a line for each entity and relation, between tabs"


@dataclass(frozen=True, slots=True)
class Marked:
    """A place in a text and the concepts that it names; none where the annotators knew none."""

    start: int
    end: int
    surface: str
    kind: str  # as the file has it, e.g. Chemical
    ids: tuple[str, ...] = ()  # MESH:D015738


class Misplaced(NamedTuple):
    """A mark that was left out: the text has other words where it says."""

    line: int
    said: str
    there: str

    def __str__(self) -> str:
        """What is wrong with it, in words."""
        return f"marks {self.said[:30]!r}, but the text has {self.there[:30]!r} there"


@dataclass(slots=True)
class Document:
    """A title and an abstract, what is marked in them, and the relations (name, id, id, line) that they tell."""

    id: str
    line: int
    text: str = ""
    marked: list[Marked] = field(default_factory=list)
    relations: list[tuple[str, str, str, int]] = field(default_factory=list)
    misplaced: list[Misplaced] = field(default_factory=list)


@formats.register("pubtator", suffixes=(".pubtator",), looks=lambda first: 3 if _TITLE.match(first[0]) else 0)
def read_pubtator(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a PubTator file, also gzip-packed; raises `SourceError`, for a damaged line when its turn comes."""
    file = need_file(path, "pubtator")
    return Source(
        name=name or name_of(file),
        rows=lambda: _rows(file),
        release=release,
        language="en",
        relations={CID.name: CID},
        kinds={CID.name: ("drug", "disease")},
        inputs=(file,),
    )


def documents(path: Path) -> Iterator[Document]:
    """The documents of a file, one at a time; raises `SourceError` that names the line."""
    marked, misplaced = 0, list[Misplaced]()
    for document in _documents(path):
        marked += len(document.marked)
        misplaced += document.misplaced
        yield document
    if len(misplaced) > marked:
        first = misplaced[0]
        raise SourceError(path, first.line, str(first), "offsets count characters of title, blank and abstract")


def _documents(path: Path) -> Iterator[Document]:
    now: Document | None = None
    for number, line in lines(path):
        if not line.strip():
            continue
        told = _TEXT.fullmatch(line)
        if told and (now is None or told[1] != now.id):
            if now is not None:
                yield now
            now = Document(told[1], number)
        if now is None or (not told and line.split("\t", 1)[0] != now.id):
            raise SourceError(path, number, "belongs to no title before it", _MEND)
        if told:
            now.text += told[3] if told[2] == "t" else f" {told[3]}"
        else:
            _annotate(path, number, now, line.split("\t"))
    if now is None:
        raise empty(path)
    yield now


def _annotate(path: Path, number: int, document: Document, cells: list[str]) -> None:
    """One line of an entity or a relation, added to its document."""
    if len(cells) in (_RELATES, _RELATES + 1) and _WORD.fullmatch(cells[1]):
        keys = {raw: key for m in document.marked for key in m.ids for raw in (key, key.split(":", 1)[-1])}
        head, tail = (keys.get(raw.strip()) or _key(raw.strip(), "") for raw in cells[2:_RELATES])
        document.relations.append((_RELATIONS.get(cells[1], cells[1]), head, tail, number))
        return
    if not _LEAST <= len(cells) <= _MOST or not all(map(_NUMBER.fullmatch, cells[1:3])):
        raise SourceError(path, number, "is neither an entity nor a relation", _MEND)
    start, end, surface, kind = int(cells[1]), int(cells[2]), cells[3], cells[4]
    if not surface or document.text[start:end] != surface:
        document.misplaced.append(Misplaced(number, surface, document.text[start:end]))
        return
    raw = cells[5] if len(cells) > _LEAST else ""
    ids = tuple(dict.fromkeys(key for part in re.split(r"[|;]", raw) if (key := _key(part.strip(), kind))))
    document.marked.append(Marked(start, end, surface, kind, ids))


def _key(raw: str, kind: str) -> str:
    """An id as a CURIE; "" where it says that none is known.

    >>> _key("D015738", "Chemical"), _key("672", "Gene"), _key("OMIM:1", "Disease"), _key("-1", "Disease")
    ('MESH:D015738', 'NCBIGene:672', 'OMIM:1', '')
    """
    if raw in ("", "-", "-1"):
        return ""
    if ":" in raw:
        return raw
    return f"MESH:{raw}" if _MESH.fullmatch(raw) else f"{_PREFIXES.get(kind, kind or 'id')}:{raw}"


def _rows(path: Path) -> Iterator[Row]:
    """The edges as they come, then the concepts by all their names."""
    names: dict[str, Counter[str]] = {}
    kinds: dict[str, str] = {}
    for document in documents(path):
        for marked in document.marked:
            for key in marked.ids:
                kinds.setdefault(key, _KINDS.get(marked.kind, marked.kind.casefold()))
                counted = names.setdefault(key, Counter())
                if len(marked.ids) == 1:  # a place that names several concepts is the name of none of them
                    counted[" ".join(marked.surface.split())] += 1
        yield from (DroppedRow("a mark that is not in the text where it says", m.line) for m in document.misplaced)
        support = (Support(f"PMID:{document.id}" if document.id.isdecimal() else document.id),)
        for relation, head, tail, number in document.relations:
            yield EdgeRow(head, relation, tail, 1.0, support) if head and tail else DroppedRow("no id", number)
    yield from (_node(key, counted, kinds[key]) for key, counted in names.items())


def _node(key: str, names: Mapping[str, int], kind: str) -> NodeRow:
    """A concept by the name that its texts use most; abbreviations are names of second choice."""
    ranked = sorted(names, key=lambda n: (_short(n), -names[n], n))
    aliases = tuple(Alias(n, Scope.ABBREVIATION if _short(n) else Scope.EXACT) for n in ranked[1:])
    return NodeRow(key, ranked[0] if ranked else "", kind, aliases=aliases)


def _short(name: str) -> bool:
    return name.isupper() and len(name) <= _SHORT
