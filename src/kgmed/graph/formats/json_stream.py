"""JSON files that are larger than memory: their lists and objects are walked, and one element is held at a time."""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kgmed.errors import SourceError
from kgmed.graph.formats.base import open_bytes, reading

LONGEST = 1 << 26  # characters of one element that is held; more is no list of entities or edges (ours)
_READ = 1 << 20  # bytes at a time
_SPACE = re.compile(r"[ \t\r\n]*")
_HALF = re.compile(r"[\ud800-\udfff]")


class JsonStream:
    """A place in a JSON file, from which values are taken in the order in which they stand."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        """Begin at the start of an opened file."""
        self.path, self._file = path, file
        self._decode = getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at, self._lines, self._ended = "", 0, 1, False

    @property
    def line(self) -> int:
        """The number of the line of this place."""
        return self._lines + self._text.count("\n", 0, self._at)

    def fault(self, problem: str, *, mend: str = "mend that line") -> SourceError:
        """An error at this place."""
        return SourceError(self.path, self.line, problem, mend)

    def _more(self) -> bool:
        """Whether there was more to read; what was taken is let go."""
        if self._ended:
            return False
        self._lines += self._text.count("\n", 0, self._at)
        data = self._file.read(max(_READ, len(self._text) - self._at))
        self._ended = not data
        try:
            self._text, self._at = self._text[self._at :] + self._decode(data, self._ended), 0
        except UnicodeDecodeError:
            raise self.fault("is not UTF-8 text", mend="save it as UTF-8") from None
        return True

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, wanted: str) -> None:
        """Go past a character; raises `SourceError` where another stands there."""
        if (found := self.peek()) != wanted:
            raise self.fault(f"is no JSON: {wanted!r} must stand there, not {found!r}" if found else "ends too early")
        self._at += 1

    def value(self) -> Any:
        """The next value, whole; raises `SourceError`."""
        self.peek()
        decoder = json.JSONDecoder()
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                found, problem = None, f"is no JSON: {error.msg}"
            except (ValueError, RecursionError):
                raise self.fault("is nested too deeply or holds a number too long") from None
            else:
                found, problem = (value, end), ""
            if found and (found[1] < len(self._text) or self._ended):  # a number may go on in what is not read yet
                self._whole(found[1])
                self._at = found[1]
                return found[0]
            if len(self._text) - self._at > LONGEST:
                raise self.fault(problem or "is larger than 64 MB in one piece", mend="check that this is the file")
            if not self._more() and not found:
                raise self.fault(problem)

    def _whole(self, end: int) -> None:
        """Raise `SourceError` for half a character up to a place."""
        said = self._text[self._at : end]
        if "\\ud" in said.lower() and _HALF.search(json.dumps(json.loads(said), ensure_ascii=False)):
            raise self.fault("holds half a character (a lone surrogate)")

    def members(self) -> Iterator[str]:
        """The keys of the object that is next; the value of each must be taken before the following."""
        self.take("{")
        while self.peek() != "}":
            key = self.value()
            if not isinstance(key, str):
                raise self.fault("is no JSON: a key must be a text")
            self.take(":")
            yield key
            if self.peek() != "}":
                self.take(",")
        self.take("}")

    def items(self) -> Iterator[None]:
        """Once for each element of the list that is next; it must be taken before the following."""
        self.take("[")
        while self.peek() != "]":
            yield
            if self.peek() != "]":
                self.take(",")
        self.take("]")

    def skip(self) -> None:
        """Go past the next value; of a list one element is held at a time."""
        if self.peek() != "[":
            self.value()
            return
        for _ in self.items():
            self.value()


@contextmanager
def streamed(path: Path) -> Iterator[JsonStream]:
    """A JSON file, unpacked where it is packed, in a block that closes it."""
    with reading(path), open_bytes(path) as file:
        yield JsonStream(path, file)
