"""JSON and YAML files that are larger than memory: lists and objects are walked, and one element is held at a time."""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kgmed.errors import SourceError, Unavailable
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
        self._text, self._at, self._ended = "", 0, False
        self._line, self._counted = 1, 0  # and how far the lines of the text are counted

    @property
    def line(self) -> int:
        """The number of the line of this place."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def fault(self, problem: str, *, mend: str = "mend that line") -> SourceError:
        """An error at this place."""
        return SourceError(self.path, self.line, problem, mend)

    def _more(self) -> bool:
        """Whether there was more to read; what was taken is let go."""
        if self._ended:
            return False
        self._line, self._counted = self.line, 0
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


class YamlStream(JsonStream):
    """A place in a YAML file, from which values are taken as from a JSON file; what is written as text stays text."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        """Begin at the start of an opened file; raises `Unavailable`."""
        try:
            import yaml
        except ImportError:
            raise Unavailable('YAML is read by PyYAML, which is not installed; pip install "kgmed[yaml]"') from None
        self.path, self._error = path, yaml.YAMLError
        self._events: Iterator[Any] = yaml.parse(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._next: Any = None
        self._line = 1

    @property
    def line(self) -> int:
        """The number of the line of this place."""
        return self._line

    def _event(self) -> tuple[str, Any]:
        """What is next, and its sort; "" at the end."""
        while self._next is None:
            try:
                self._next = next(self._events, False)
            except (self._error, ValueError) as error:
                self._line = getattr(getattr(error, "problem_mark", None), "line", self._line - 1) + 1
                said = getattr(error, "problem", None) or str(error).splitlines()[0]
                raise self.fault(f"is no YAML: {said}") from None
            if self._next and type(self._next).__name__.startswith(("Stream", "Document")):
                self._next = None
        if not self._next:
            return "", None
        self._line = self._next.start_mark.line + 1
        sort = type(self._next).__name__.removesuffix("Event")
        if sort == "Alias":
            raise self.fault("holds an alias (*name)", mend="write out what it stands for")
        return sort, self._next

    def _took(self) -> Any:
        event, self._next = self._next, None
        return event

    def peek(self) -> str:
        """How the next value begins as in JSON; "" at the end."""
        return {"": "", "SequenceStart": "[", "MappingStart": "{"}.get(self._event()[0], '"')

    def value(self) -> Any:
        """The next value, whole; raises `SourceError`."""
        sort, event = self._event()
        if sort == "SequenceStart":
            return [self.value() for _ in self.items()]
        if sort == "MappingStart":
            return {key: self.value() for key in self.members()}
        self._took()
        return None if event.style is None and event.value in ("", "~", "null", "Null", "NULL") else event.value

    def members(self) -> Iterator[str]:
        """The keys of the object that is next; the value of each must be taken before the following."""
        self._took()
        while self._event()[0] != "MappingEnd":
            if self._event()[0] != "Scalar":
                raise self.fault("is no table: a key must be a text")
            yield str(self._took().value)
        self._took()

    def items(self) -> Iterator[None]:
        """Once for each element of the list that is next; it must be taken before the following."""
        self._took()
        while self._event()[0] != "SequenceEnd":
            yield
        self._took()


def is_yaml(path: Path) -> bool:
    """Whether a file is YAML by its name, packed or not.

    >>> is_yaml(Path("x.yaml.gz")), is_yaml(Path("x.json"))
    (True, False)
    """
    return not {".yaml", ".yml"}.isdisjoint(map(str.casefold, path.suffixes))


@contextmanager
def streamed(path: Path) -> Iterator[JsonStream]:
    """A JSON or YAML file, unpacked where it is packed, in a block that closes it; raises `SourceError` if too deep."""
    with reading(path), open_bytes(path) as file:
        document = YamlStream(path, file) if is_yaml(path) else JsonStream(path, file)
        try:
            yield document
        except RecursionError:
            raise document.fault("is nested too deeply") from None
