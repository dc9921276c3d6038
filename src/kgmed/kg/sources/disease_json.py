"""Encyclopaedia entries of diseases in JSON: Disease-KG's `medical.json` and a later crawl of the same site.

Two schemas: flat, one object a line (name, desc, symptom, check, common_drug, do_eat, not_eat, acompany, ...), and
nested (gaishu_info, symptom_data, inspect_info, food_info, ...), many numbered objects in a file. Both give the
relations of Disease-KG. A path may be one file, a folder of `.json` files, or a tar archive of them, whose members
are read one by one and never unpacked to disk.
"""

import bz2
import gzip
import json
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

from kgmed.errors import BadInput, SourceError
from kgmed.kg.rows import DroppedRow, EdgeRow, NodeRow, Row, Source, TextRow
from kgmed.kg.sources.disease_fields import KINDS, LISTS, RELATIONS, SECTIONS, SKIPPED, TEXTS
from kgmed.kg.sources.lines import check_file, empty, lines, name_of, open_bytes, parse_json, reading

_LARGEST = 1 << 28  # bytes of one JSON document or archive member
_MEMBERS = 10_000
_SPACE = re.compile(r"[\s,]*")
_HALF = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_DRUG_OF_MAKER = re.compile(r"(.+?)[(（](.+)[)）]$")
_MISSING = frozenset({"", "nan", "NaN", "None", "null", "无", "暂无"})


def read(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of disease entries in a file, a folder or a tar archive.

    Raises `SourceError`, for a damaged record when its turn comes.
    """
    if path is None:
        raise BadInput("a graph of the format disease_json needs a file, a folder or a tar archive; name one")
    files = _files(path)
    name = name or name_of(path)
    return Source(
        name=name,
        rows=lambda: _rows(files),
        release=release,
        language="zh",
        prefix=name,
        relations={relation.name: relation for relation in RELATIONS},
        kinds=KINDS,
        inputs=files,
    )


def _files(path: Path) -> tuple[Path, ...]:
    """The files to read, checked."""
    if not path.is_dir():
        check_file(path)
        return (path,)
    with reading(path):
        files = tuple(sorted(path.glob("*.json")))
    if not files:
        raise SourceError(path, 0, "holds no .json file", "name the folder that does")
    for file in files:
        check_file(file)
    return files


def _rows(files: Sequence[Path]) -> Iterator[Row]:
    found = False
    for file in files:
        for where, line, record in _archive(file) if _is_archive(file) else _entries(file):
            found = True
            yield from _disease(where, line, record)
    if not found:
        raise empty(files[0])


def _is_archive(path: Path) -> bool:
    """Whether the name is that of a tar archive."""
    return any(suffix in {".tar", ".tgz", ".txz"} for suffix in path.suffixes)


Entry = tuple[Path, int, Any]  # the file (an archive's member under its archive), the line, the record


def _entries(path: Path) -> Iterator[Entry]:
    """The records of a file of JSON Lines, or of one JSON document."""
    number, first = next(((n, line) for n, line in lines(path) if line.strip()), (0, ""))
    if number and _is_record(first):
        for number, line in lines(path):
            if line.strip():
                yield path, number, parse_json(path, number, line)
        return
    with reading(path), open_bytes(path) as file:
        data = file.read(_LARGEST + 1)
    yield from _document(path, data)


def _is_record(line: str) -> bool:
    """Whether a line is a whole record by itself."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and ("name" in value or "gaishu_info" in value)


def _archive(path: Path) -> Iterator[Entry]:
    """The records of every regular .json file in a tar archive."""
    try:
        with _unpacked(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for count, member in enumerate(archive):
                shown = "".join(c if c.isprintable() else "?" for c in member.name)
                if member.size > _LARGEST or count >= _MEMBERS:
                    raise SourceError(path, 0, f"its member {shown[:80]} is too large or one too many", "split it")
                if member.isreg() and member.name.endswith(".json"):
                    file = archive.extractfile(member)
                    yield from _document(path / shown, file.read(_LARGEST + 1) if file else b"")
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError, OverflowError) as error:
        raise SourceError(path, 0, f"the archive is damaged ({_first_line(error)})", "fetch it again") from error


def _unpacked(path: Path) -> IO[bytes]:
    """The bytes of a tar archive; `tarfile` itself fails on damaged compressed streams with a TypeError."""
    with path.open("rb") as file:
        start = file.read(3)
    openers: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open, b"BZ": bz2.open}
    opener = openers.get(start[:2], Path.open)
    return cast(IO[bytes], opener(path, "rb"))


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _document(path: Path, data: bytes) -> Iterator[Entry]:
    """The records of one JSON document: an object of records, a list of records, or records one after another."""
    if len(data) > _LARGEST:
        raise SourceError(path, 0, "is larger than 256 MB", "split it, or write one record a line")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(path, line, "is not UTF-8 text", "save the file as UTF-8") from error
    if half := _HALF.search(text):
        line = text.count("\n", 0, half.start()) + 1
        raise SourceError(path, line, "holds a NUL or half a character (a lone surrogate)", "mend that line")
    values = list(_values(path, text))
    starts = [0, *(start for start, _ in values)]
    line = 1
    for (before, at), (_, value) in zip(pairwise(starts), values, strict=True):
        line += text.count("\n", before, at)
        yield path, line, value


def _values(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """The records with the place at which each begins."""
    decoder = json.JSONDecoder()
    at = _skip(text, 0)
    opened = text[at : at + 1]
    inner = _skip(text, at + 1)
    keyed = opened == "{" and re.match(r'"\d+"', text[inner : inner + 12]) is not None
    at = inner if keyed or opened == "[" else at
    while at < len(text) and text[at] not in "]}":
        try:
            if keyed:
                _, at = decoder.raw_decode(text, at)
                at = _skip(text, at)
                if text[at : at + 1] != ":":
                    raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
                at = _skip(text, at + 1)
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise SourceError(path, error.lineno, f"is no JSON: {error.msg}", "mend that line") from error
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, at) + 1
            raise SourceError(path, line, "is nested too deeply or holds a number too long", "mend it") from error
        yield at, value
        at = _skip(text, end)
    if (keyed or opened == "[") and at >= len(text):
        raise SourceError(path, text.count("\n") + 1, "ends too early", "fetch the file again")


def _skip(text: str, at: int) -> int:
    """The place of the next character that is neither space nor comma."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _disease(path: Path, line: int, record: Any) -> Iterator[Row]:
    """The rows of one record."""
    if not isinstance(record, dict):
        raise SourceError(path, line, "is no JSON object", "write one object a disease")
    fields: dict[str, Any] = {key: value for key, value in record.items() if key not in SECTIONS}
    for section in SECTIONS:
        part = record.get(section, {})
        if not isinstance(part, dict):
            raise SourceError(path, line, f"{section!r} is no JSON object", "write it as the other records do")
        fields |= part
    disease, described = _text(fields.get("name")), _text(fields.get("desc"))
    if disease is None or described is None:
        raise SourceError(path, line, "'name' or 'desc' is no text", "write it as text")
    if disease in _MISSING:
        yield DroppedRow("no disease", line)
        return
    yield NodeRow(disease, kind="disease", description=described)
    for key, value in fields.items():
        yield from _field(path, line, disease, key, value)


def _field(path: Path, line: int, disease: str, key: str, value: Any) -> Iterator[Row]:
    """The edges of a list, the text of another field."""
    if key in LISTS:
        names = _names(path, line, key, value)
        yield from _edges(disease, LISTS[key], names, line)
        if LISTS[key] == "belongs_to":
            yield from (EdgeRow(narrow, "part_of", broad) for broad, narrow in pairwise(filter(None, names)))
    elif key == "drug_detail":
        for text in _names(path, line, key, value):
            if pair := _DRUG_OF_MAKER.match(text):
                yield EdgeRow(pair[1].strip(), "drugs_of", pair[2].strip())
            else:
                yield DroppedRow("no drug in brackets", line)
    elif key not in SKIPPED:
        parts = value if isinstance(value, list) else [value]
        text = "\n".join(t for t in map(_text, parts) if t)
        if text not in _MISSING:
            yield TextRow(disease, TEXTS.get(key, key), text)


def _edges(disease: str, relation: str, names: Sequence[str], line: int) -> Iterator[Row]:
    """One edge a name."""
    for name in names:
        yield DroppedRow("empty name", line) if name in _MISSING else EdgeRow(disease, relation, name)


def _names(path: Path, line: int, key: str, value: Any) -> list[str]:
    """The names in a field: a list, a list that holds lists, or one text."""
    items = value if isinstance(value, list) else [value]
    flat = [part for item in items for part in (item if isinstance(item, list) else [item])]
    names = [_text(item) for item in flat]
    if None in names:
        raise SourceError(path, line, f"{key!r} is no list of names", "write it as a list of texts")
    return [name for name in names if name is not None]


def _text(value: Any) -> str | None:
    """A text or a number without surplus space; "" for null, None for anything else."""
    if value is None:
        return ""
    return " ".join(str(value).replace("\0", " ").split()) if isinstance(value, str | int | float) else None
