"""The pickle that CMeKG comes in: dict[subject, dict[relation, list[value]]] in pickle protocol 0, and nothing else.

It is read without letting it name a class: its bytes must be text opcodes for dicts, lists and strings.
"""

import re
from io import BufferedReader, BytesIO
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.kg.plain_pickle import DAMAGE, Plain
from kgmed.kg.sources.lines import empty, open_bytes, reading

Graph = dict[str, dict[str, list[str]]]

_LARGEST = 1 << 29  # bytes; the file has 46 MB
_MEND = "install PyCMeKG again, or save dict[str, dict[str, list[str]]] with pickle protocol 0"
# The only opcodes allowed, each with its line: mark, dict, list, string, memo, set item, append; then stop.
_OPCODES = re.compile(
    rb"(?:V[^\n\0]*+\np\d{1,7}\n[asu]*+|[(]?[dl]?p\d{1,7}\n|[asu]*+(?:V[^\n\0]*+\n|g\d{1,7}\n|[(]?[dl])|[asu]++)*+"
    rb"[asu]*+\.\s*"
)
_MAY_BE_HALF = (rb"\ud", rb"\u0000")  # as pickle writes them; otherwise written ones are refused by the store
_HALF = re.compile(rb"\\(?:u|U0000)(?:[dD][89a-fA-F]|0000)")  # half a character, or NUL


def load(path: Path) -> Graph:
    """The pickled graph, checked in size, opcodes and structure; raises `SourceError`."""
    data = _bytes(path)
    allowed = _OPCODES.match(data)
    if not allowed or allowed.end() != len(data):
        raise SourceError(path, _bad_line(data), "holds more than dicts, lists and strings", _MEND)
    if any(mark in data for mark in _MAY_BE_HALF) and (half := _HALF.search(data)):
        line = data.count(b"\n", 0, half.start()) + 1
        raise SourceError(path, line, "holds a NUL or half a character (a lone surrogate)", _MEND)
    try:
        graph = Plain(BufferedReader(BytesIO(data), 1 << 17)).load()  # with a buffer, a third faster
    except DAMAGE as error:
        raise SourceError(path, 0, f"is a damaged pickle ({error})", _MEND) from error
    if not _is_graph(graph):
        raise SourceError(path, 0, "is not dict[str, dict[str, list[str]]]", _MEND)
    return graph  # type: ignore[no-any-return]


def _bytes(path: Path) -> bytes:
    """All bytes of a file of a bearable size."""
    with reading(path), open_bytes(path) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise SourceError(path, 0, "is larger than 512 MB", _MEND)
    if not data:
        raise empty(path)
    return data


def _bad_line(data: bytes) -> int:
    """The first line that holds an opcode that is not allowed."""
    prefix = re.compile(_OPCODES.pattern.rpartition(rb"[asu]*+\.")[0]).match(data)
    return data.count(b"\n", 0, prefix.end() if prefix else 0) + 1


def _is_graph(graph: object) -> bool:
    """Whether the value is dict[str, dict[str, list[str]]]."""
    if type(graph) is not dict or not all(type(s) is str and type(r) is dict for s, r in graph.items()):
        return False
    only_text = {str}
    for relations in graph.values():
        for relation, values in relations.items():
            if type(relation) is not str or type(values) is not list or not only_text.issuperset(map(type, values)):
                return False
    return True
