"""Text files line by line, with true line numbers, and every way in which a file cannot be read as one clear error."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from kgmed.errors import BadInput, SourceError

_BLOCK = 1 << 17  # bytes; what is made of a block stays in the processor's cache
_LONGEST = 1 << 26  # bytes of one line; a longer one is no line of any of these formats
_BOM = b"\xef\xbb\xbf"


def check_file(path: Path) -> None:
    """Nothing, if the path is a readable regular file; raises `SourceError` if not."""
    with reading(path):
        if path.is_dir():
            raise SourceError(path, 0, "is a folder, not a file", "name the file in it")
        if path.exists() and not path.is_file():
            raise SourceError(path, 0, "is a pipe or a device", "save it as a file, it is read more than once")
        with path.open("rb"):
            pass


def need_file(path: Path | None, what: str) -> Path:
    """The path, checked; raises `BadInput` where none is given."""
    if path is None:
        raise BadInput(f"a graph of the format {what} needs a file; name one")
    check_file(path)
    return path


def name_of(path: Path) -> str:
    """What a graph is called that is read from a file and was given no name.

    >>> name_of(Path("graphs/emckg.train.txt")), name_of(Path(".tsv"))
    ('emckg', 'tsv')
    """
    return path.name.lstrip(".").split(".")[0] or "graph"


@contextmanager
def reading(path: Path, line: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """A block in which what the file system or the compression says becomes a `SourceError`."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SourceError(path, line(), f"the compressed data is damaged ({error})", "fetch the file again") from error
    except FileNotFoundError as error:
        raise SourceError(path, 0, "there is no such file", "check the path") from error
    except PermissionError as error:
        raise SourceError(path, 0, "may not be read", "check its permissions") from error
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeError | json.JSONDecodeError):
            raise
        raise SourceError(path, line(), f"cannot be read ({error})", "check the path and the disk") from error


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where it is gzip (by its first bytes, whatever its suffix)."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not packed:
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield cast(IO[bytes], unpacked)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Every line without its end, numbered from 1; one at a time, whatever the size of the file.

    Raises `SourceError` for what is no UTF-8 text, NUL bytes and lines above 64 MB.
    """
    number = 0
    for text in blocks(path):
        for line in text.split("\n"):
            number += 1
            yield number, line


def blocks(path: Path) -> Iterator[str]:
    """Whole lines of the file, many at a time, without the last newline of each block; raises as `lines`."""
    for data, done in _whole_lines(path, _BLOCK):
        yield _decoded(path, data, done).replace("\r\n", "\n").removesuffix("\r")


def byte_blocks(path: Path, size: int) -> Iterator[bytes]:
    """What `blocks` gives, as UTF-8 and in blocks of about `size` bytes."""
    for data, done in _whole_lines(path, size):
        if not data.isascii() or b"\0" in data:
            _decoded(path, data, done)
        yield data.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in data else data


def _whole_lines(path: Path, size: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines without the last newline, and how many lines stand before."""
    done = 0
    with reading(path, lambda: done + 1), open_bytes(path) as file:
        rest = file.read(size).removeprefix(_BOM)
        while block := file.read(size):
            cut = block.rfind(b"\n")
            if cut < 0:
                rest += block
                if len(rest) > _LONGEST:
                    raise SourceError(path, done + 1, "is longer than 64 MB", "check that this is a text file")
                continue
            whole, rest = rest + block[:cut], block[cut + 1 :]
            yield whole, done
            done += whole.count(b"\n") + 1
        if rest:
            yield rest.removesuffix(b"\n"), done


def _decoded(path: Path, data: bytes, done: int) -> str:
    """The text of whole lines of which `done` lines stand before."""
    if (at := data.find(b"\0")) >= 0:
        number = done + data.count(b"\n", 0, at) + 1
        raise SourceError(path, number, "holds a NUL byte", "check that this is a text file and not damaged")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        number = done + data.count(b"\n", 0, error.start) + 1
        raise SourceError(path, number, "is not UTF-8 text", "save the file as UTF-8") from error


def parse_json(path: Path, number: int, text: str) -> Any:
    """The value of a JSON text that starts in line `number`; raises `SourceError` with the line of the fault."""
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise SourceError(path, number + error.lineno - 1, f"is no JSON: {error.msg}", "mend that line") from error
    except UnicodeEncodeError as error:
        raise SourceError(path, number, "holds half a character (a lone surrogate)", "mend that line") from error
    except (ValueError, RecursionError) as error:
        problem = "is nested too deeply" if isinstance(error, RecursionError) else "holds a number that is too long"
        raise SourceError(path, number, problem, "mend that line") from error
    return value


def empty(path: Path) -> SourceError:
    """The error for a file in which there is nothing."""
    return SourceError(path, 0, "is empty", "give a file with at least one record")
