"""The log of a training run: one JSON object a line, a line a step."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Add a line, whole and on the disk before this returns."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a log; a last line that was cut short by a stop is left out, any other raises `SourceError`."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = text.split("\n")
    return list(_rows(path, lines[:-1]))


def _rows(path: Path, lines: list[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise SourceError(path, number, "no JSON object", "remove the line") from error
        if not isinstance(row, dict):
            raise SourceError(path, number, "no JSON object", "remove the line")
        yield row


def keep_to(path: Path, step: int) -> None:
    """Drop the rows after a step: what was done after the last checkpoint is done again."""
    rows = [row for row in read(path) if row.get("step", 0) <= step]
    beside = path.with_suffix(".new")
    beside.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    beside.replace(path)
