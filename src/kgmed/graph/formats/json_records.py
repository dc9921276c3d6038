"""JSON as graphs are written in it: an object a line, a list of objects, or an object with lists of nodes and edges.

The last is what networkx ("nodes", "links"), KGX ("nodes", "edges"), APOC ("nodes", "rels") and Cytoscape ("elements",
with every object in a "data") write. Files may be larger than memory.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError
from kgmed.graph.formats.base import first_lines, lines, parse_json
from kgmed.graph.formats.json_stream import JsonStream, streamed

_LISTS = frozenset({"nodes", "links", "edges", "rels", "relationships"})
_LOOKED_AT = 20  # lines by which a document is told from objects a line
Entries = Iterator[tuple[int, Mapping[str, Any]]]  # the line, the object


def is_document(text: str) -> bool:
    """Whether the beginning of a JSON file is that of a list, or of an object with a list of nodes.

    >>> is_document('[{"head": "a"'), is_document('{"directed": true, "nodes": ['), is_document('{"head": "a"}')
    (True, True, False)
    """
    return text.startswith("[") or (text.startswith("{") and '"nodes"' in text and '"graphs"' not in text)


def objects(path: Path) -> Entries:
    """Every object of a file; raises `SourceError`."""
    if not is_document("".join(first_lines(path, _LOOKED_AT)).lstrip()):
        yield from _by_line(path)
        return
    with streamed(path) as document:
        yield from _list(document) if document.peek() == "[" else _members(document)
        if document.peek():
            raise document.fault("goes on after its end")


def _by_line(path: Path) -> Entries:
    for number, line in lines(path):
        if line.strip():
            entry = parse_json(path, number, line)
            if not isinstance(entry, dict):
                raise SourceError(path, number, "is no JSON object", "write one object a line")
            yield number, entry


def _members(document: JsonStream) -> Entries:
    """The objects of the lists of nodes and edges of the object that is next."""
    for key in document.members():
        if key in _LISTS:
            yield from _list(document)
        elif key == "elements" and document.peek() == "{":
            yield from _members(document)
        else:
            document.skip()


def _list(document: JsonStream) -> Entries:
    if document.peek() != "[":
        raise document.fault("is no list of objects", mend="write a list of nodes and a list of edges")
    for _ in document.items():
        line, entry = document.line, document.value()
        if not isinstance(entry, dict):
            raise document.fault("is no JSON object", mend="write objects with head, relation and tail")
        inner = entry.get("data")
        yield line, inner if isinstance(inner, dict) else entry
