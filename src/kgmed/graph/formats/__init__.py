"""One reader a graph format; each is a function that returns a `Source`.

A new format is one file with a function `read(path, *, name, release) -> Source` and one row in `FORMATS`.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.graph.base import Source

FORMATS: Mapping[str, str] = {
    "hpo": "kgmed.graph.formats.obo:read_hpo",
    "cmekg": "kgmed.graph.formats.cmekg:read_cmekg",
    "triples": "kgmed.graph.formats.triples:read_triples",
    "disease_table": "kgmed.graph.formats.diseases:read_disease_table",
    "disease_json": "kgmed.graph.formats.diseases:read_disease_json",
    "rdf": "kgmed.graph.formats.rdf:read_rdf",
    "obo": "kgmed.graph.formats.obo:read_obo",
    "umls": "kgmed.graph.formats.umls:read_umls",
    "pubtator": "kgmed.graph.formats.pubtator:read_pubtator",
}
_SUFFIXES: Mapping[str, str] = {
    ".obo": "obo",
    ".rrf": "umls",
    ".nt": "rdf",
    ".ttl": "rdf",
    ".pkl": "cmekg",
    ".pubtator": "pubtator",
    ".tar": "disease_json",
    ".tgz": "disease_json",
    ".txz": "disease_json",
}
_STARTS: tuple[tuple[str, str], ...] = (  # how the first line of a format begins
    ("format-version:", "obo"),
    ("[Term]", "obo"),
    ("@prefix ", "rdf"),
    ("@base ", "rdf"),
    ("PREFIX ", "rdf"),
    ("<http", "rdf"),
    ("(dp", "cmekg"),
    ("[", "disease_json"),
)
_TITLE = re.compile(r"[^|\t]+\|t\|")  # of PubTator


def read(format: str, path: Path | None = None, /, **options: Any) -> Source:
    """The graph in a file of a format; "" = found out by `detect`. Packaged graphs (hpo, cmekg) need no path.

    Raises `UnknownName` for the format, `BadInput` for an option that its reader does not have, and what the reader
    raises: `SourceError`, `Unavailable`.
    """
    if not format:
        if path is None:
            raise BadInput(f"neither a format nor a file was named; formats: {', '.join(FORMATS)}")
        format = detect(path)
    reader = reader_of(format)
    known = [p.name for p in inspect.signature(reader).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise BadInput(f"the format {format} has no option {option!r}; it has {', '.join(known)}")
    return reader(path, **options)


def reader_of(format: str, /) -> Callable[..., Source]:
    """The reader of a format; raises `UnknownName`."""
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    module, _, function = FORMATS[format].partition(":")
    reader: Callable[..., Source] = getattr(import_module(module), function)
    return reader


def detect(path: Path) -> str:
    """The format of a file or a folder, by suffix and first lines; raises `SourceError` where they do not tell."""
    if path.is_dir():
        return _detect_folder(path)
    from kgmed.graph.formats.base import check_file, empty, lines

    check_file(path)
    for suffix in path.suffixes:
        if suffix.casefold() in _SUFFIXES:
            return _SUFFIXES[suffix.casefold()]
    first = [line for line in islice((text for _, text in lines(path)), 20) if line.strip()][:2]
    if not first:
        raise empty(path)
    found = next((name for start, name in _STARTS if first[0].startswith(start)), "") or _detect_text(first)
    if not found:
        raise _unsure(path)
    return found


def _detect_folder(path: Path) -> str:
    """The format of a folder."""
    if (path / "hp.obo").exists():
        return "hpo"
    if any(path.glob("MRCONSO.RRF*")):
        return "umls"
    if any(path.glob("*.json")):
        return "disease_json"
    raise _unsure(path)


def _detect_text(first: list[str]) -> str:
    """The format of a text by its first two lines; "" if they do not tell."""
    from kgmed.graph.formats.base import separator

    head, second = first[0], first[-1]
    if _TITLE.match(head):
        return "pubtator"
    if head.lstrip().startswith("{"):
        return "triples" if '"head"' in head or '"subject"' in head else "disease_json"
    if separator(head, 3) and "[" in second and len(first) == 2 and "disease" in head.casefold() + head:
        return "disease_table"
    mark = separator(head, 3)
    if not mark:
        return ""
    names_relation = any(word in head.casefold() for word in ("relation", "predicate", "关系"))
    return "triples" if names_relation or len(head.split(mark)) == 3 else ""


def _unsure(path: Path) -> SourceError:
    return SourceError(path, 0, "is of no format that can be told by looking", f"name it: {', '.join(FORMATS)}")
