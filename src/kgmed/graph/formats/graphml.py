"""GraphML, as kgmed, networkx, igraph, Gephi and Neo4j's APOC write it, Gephi's GEXF and Cytoscape's XGMML.

All three are nodes and edges with attributes; they differ in how an attribute is named and where its value stands.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from xml.parsers import expat

from kgmed.errors import SourceError
from kgmed.graph.base import Source
from kgmed.graph.formats.base import COLUMNS, POLARITY, name_of, need_file, open_bytes, reading
from kgmed.graph.formats.tables import TIED, RecordReader, TableRecord
from kgmed.language.text import one_line
from kgmed.registry import formats

_BLOCK = 1 << 17
_MEND = "export it again"


@formats.register("graphml", suffixes=(".graphml", ".gexf", ".xgmml"), starts=("<graphml", "<gexf", "<graph "))
def read_graphml(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a GraphML, GEXF or XGMML file; raises `SourceError`, for damage when its turn comes."""
    file = need_file(path, "graphml")
    reader = RecordReader(name or name_of(file), {}, {})
    return Source(
        name=reader.name,
        rows=lambda: reader.again().rows([(file, _records(file))]),
        release=release,
        relations=reader.relations,
        inputs=(file,),
    )


def _records(path: Path) -> Iterator[TableRecord]:
    """The nodes and edges, as the file goes by a block at a time."""
    elements = _Elements(path)
    with reading(path), open_bytes(path) as file:
        while block := file.read(_BLOCK):
            yield from elements.of(block, last=False)
        yield from elements.of(b"", last=True)


@dataclass
class _Elements:
    """What an XML parser has met."""

    path: Path
    called: dict[str, str] = field(default_factory=dict)  # id of a key -> the attribute's name
    found: list[TableRecord] = field(default_factory=list)
    open: dict[str, str] | None = None  # the attributes of the node or edge that is open
    said: list[str] | None = None
    key: str = ""
    parser: Any = None

    def of(self, block: bytes, *, last: bool) -> list[TableRecord]:
        """The records that a block ends; raises `SourceError` for what is no XML, and for a document type."""
        if self.parser is None:
            self.parser = expat.ParserCreate(namespace_separator=" ")
            self.parser.buffer_text = True
            self.parser.StartDoctypeDeclHandler = partial(self._refuse)
            self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
            self.parser.CharacterDataHandler = self._text
        try:
            self.parser.Parse(block, last)
        except expat.ExpatError as error:
            raise SourceError(self.path, error.lineno, f"is no XML ({expat.ErrorString(error.code)})", _MEND) from error
        except LookupError as error:  # of the encoding that it declares
            raise SourceError(self.path, 1, f"is no XML ({error})", _MEND) from error
        done, self.found = self.found, []
        return done

    def _refuse(self, *_: object) -> None:
        raise SourceError(self.path, self.parser.CurrentLineNumber, "declares a document type", _MEND)

    def _start(self, element: str, given: dict[str, str]) -> None:
        tag = element.rpartition(" ")[2]
        if tag == "key":
            drawn = "label" if given.get("yfiles.type", "") in ("nodegraphics", "edgegraphics") else given.get("id", "")
            self.called[given.get("id", "")] = given.get("attr.name", drawn).casefold()
        elif tag == "attributes":
            self.key = given.get("class", "")
        elif tag == "attribute":  # GEXF: one list of the nodes', one of the edges' with numbers of its own
            self.called[f"{self.key} {given.get('id', '')}"] = given.get("title", "").casefold()
        elif tag == "node":
            self.open = {"id": given.get("id", ""), "labels": given.get("labels", ""), "label": given.get("label", "")}
        elif tag == "edge":
            ends = {"source": given.get("source", ""), "target": given.get("target", "")}
            self.open = ends | {k: given[k] for k in ("label", "weight") if k in given}
        elif self.open is not None:
            self._attribute(tag, given, self.open)

    def _attribute(self, tag: str, given: dict[str, str], of: dict[str, str]) -> None:
        """What is said of a node or an edge: GraphML's data, GEXF's attvalue, XGMML's att."""
        if tag == "data":
            self.key, self.said = self.called.get(given.get("key", ""), given.get("key", "")), []
        elif tag == "attvalue":
            number = given.get("for", given.get("id", ""))
            called = self.called.get(f"{'edge' if 'source' in of else 'node'} {number}", number)
            of[called] = one_line(given.get("value", ""))
        elif tag == "att" and "value" in given:
            of[given.get("name", "").casefold()] = one_line(given["value"])

    def _text(self, text: str) -> None:
        if self.said is not None:
            self.said.append(text)

    def _end(self, element: str) -> None:
        tag = element.rpartition(" ")[2]
        if tag == "data" and self.open is not None and self.said is not None:
            if text := " ".join("".join(self.said).split()):
                self.open[self.key] = text
            self.said = None
        elif tag in ("node", "edge") and self.open is not None:
            self.found.append(record_of(self.parser.CurrentLineNumber, self.open, is_edge=tag == "edge"))
            self.open = None


def record_of(line: int, given: dict[str, str], *, is_edge: bool) -> TableRecord:
    """A node or an edge by what its attributes say."""
    if is_edge:
        ends = {"head": given.pop("source"), "tail": given.pop("target")}
        return TableRecord(
            line, {"relation": TIED} | ends | _said(given, ("relation", "weight", "references", *POLARITY)), is_edge
        )
    key = {"id": given.pop("id")}
    return TableRecord(line, key | _said(given, ("name", "kind", "description", "synonyms", "xrefs")), is_edge)


def _said(given: dict[str, str], whats: tuple[str, ...]) -> dict[str, str]:
    found = {what: next((given[c] for c in COLUMNS[what] if given.get(c)), "") for what in whats}
    return {what: text.strip(":") for what, text in found.items() if text}
