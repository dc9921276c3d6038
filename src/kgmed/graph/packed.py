"""Packed files (gzip, xz, bzip2), unpacked as far as a file of real data goes and no further.

A few hundred kilobytes can unpack to gigabytes. A file may give 200 times its own size, or 64 MB where that is more,
and never above 32 GB; text that people wrote, and graphs as tables, pack to a twentieth at best. An .xlsx is held to
the same. What a packed file asks of memory by its own word (the dictionary of xz) is limited as well.
"""

import bz2
import codecs
import gzip
import io
import lzma
import re
import shutil
import sys
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import KW_ONLY, InitVar, dataclass
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import IO, Any, cast
from weakref import finalize
from zipfile import BadZipFile, ZipFile, is_zipfile

from kgmed.disk import link_or_copy
from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import MENDED, DroppedRow

RATIO = 200  # times its own size that a file may unpack to
FREE = 1 << 26  # bytes that any file may unpack to
MOST = 1 << 35  # bytes that no file may unpack to more than
_XZ_MEMORY = 1 << 28  # bytes that an xz file may ask for; `xz -9` asks for 65 MB
_CHUNK = 1 << 17
_TARS = {".tar", ".tgz", ".txz", ".tbz2"}
_MEND = "it is damaged or made to fill the memory; unpack it yourself if you trust it"
DAMAGED_ZIP = (BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, LookupError, ValueError)
"""What reading a damaged zip ends in, beside I/O errors; `RuntimeError` is that of an encrypted or unknown member."""
_GZIP, _XZ, _BZIP2 = b"\x1f\x8b", b"\xfd7", b"BZh"


def bearable(packed: int) -> int:
    """The bytes that a file of `packed` bytes may unpack to.

    >>> bearable(32) >> 20, bearable(1 << 30) >> 30
    (64, 32)
    """
    return min(MOST, max(FREE, RATIO * packed))


def unpacking(path: Path, file: IO[bytes]) -> IO[bytes]:
    """The bytes of an open file, unpacked where its first bytes (or the suffix .xz) say that it is packed.

    Reading raises `SourceError` beyond what is bearable, and what the compression says of damage.
    """
    start = file.read(3)
    file.seek(0)
    if start[:2] == _GZIP:
        plain: Any = gzip.GzipFile(fileobj=file)
    elif start[:2] == _XZ or path.suffix == ".xz":
        plain = _Members(file, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY))
    elif start == _BZIP2:
        plain = _Members(file, bz2.BZ2Decompressor)
    else:
        return file
    return cast(IO[bytes], io.BufferedReader(_Bearable(path, plain), _CHUNK))


def check_zip(path: Path) -> None:
    """Nothing, if the members of a zip (such as an .xlsx) are bearable together; raises `SourceError` if not.

    A member gives no more than the size that it declares, so that the sizes can be trusted. Raises `BadZipFile`.
    """
    with ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > bearable(path.stat().st_size):
            raise _too_much(path)


@dataclass(frozen=True)
class Unpacked:
    """A folder that is deleted when nobody holds this any more."""

    content: Path  # the file or the folder that is the graph
    called: str
    _: KW_ONLY
    mended: tuple[DroppedRow, ...] = ()
    folder: InitVar[Path]

    def __post_init__(self, folder: Path) -> None:
        """See to it that the folder goes with the last who holds this."""
        finalize(self, shutil.rmtree, folder, ignore_errors=True)


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or a tar by its name."""
    return path.suffix.casefold() == ".zip" or (bool(set(path.suffixes) & _TARS) and path.is_file())


def unpacked(path: Path) -> Unpacked:
    """What an archive holds, or what comes on standard input ("-"), on disk; raises `SourceError`."""
    folder = Path(mkdtemp(prefix="kgmed-"))
    packed, called = path, path.name.lstrip(".").split(".")[0] or "graph"
    try:
        if str(path) == "-":
            packed, called = folder / "graph", "graph"
            with packed.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file, _CHUNK)
            if not is_zipfile(packed):
                return Unpacked(packed, called, folder=folder)
        place = folder / "unpacked"
        place.mkdir()
        _extract(packed, place)
    except FileNotFoundError:
        shutil.rmtree(folder, ignore_errors=True)
        raise SourceError(path, 0, "there is no such file", "check the path") from None
    except (OSError, SourceError, tarfile.TarError, *DAMAGED_ZIP) as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, SourceError):
            raise
        kind = "zip" if path.suffix.casefold() == ".zip" else "archive"
        raise SourceError(path, 0, f"is no {kind} that can be read ({str(error)[:80]})", "fetch it again") from error
    inside = [one for one in place.iterdir() if one.name != "__MACOSX"]
    while len(inside) == 1 and inside[0].is_dir():
        place = inside[0]
        inside = list(place.iterdir())
    return Unpacked(inside[0] if len(inside) == 1 else place, called, folder=folder)


# --- Text in other encodings, as a copy in UTF-8.

_SAMPLE = 1 << 20  # bytes of lines that are no UTF-8 by which their encoding is told
_MARKS = {codecs.BOM_UTF8: "", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LISTED = 1000  # lines in another encoding than the rest that are told one by one


def recoded(path: Path, encoding: str = "") -> Unpacked | None:
    """A copy in UTF-8 of a file, or of a folder's files, whose text is in another encoding; None where none is.

    Which one is told by the first bytes (UTF-16), by how bytes above 127 stand (two and two in GB18030, alone in
    Latin-1), or by `encoding`. In a file of UTF-8 single lines may be in another. Raises `SourceError`, `BadInput`.
    """
    if encoding:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise BadInput(f"{encoding!r} is no encoding that is known; write gb18030, utf-16, latin-1, ...") from None
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    found = {file: told for file in files if (told := (encoding, True) if encoding else _encoding(file))[0]}
    if not found:
        return None
    folder, mended = Path(mkdtemp(prefix="kgmed-")), list[DroppedRow]()
    copy = folder / path.name
    try:
        for file in files:
            to = copy if file == path else copy / file.relative_to(path)
            to.parent.mkdir(parents=True, exist_ok=True)
            if file in found:
                mended += _recode(file, to, found[file][0], whole=found[file][1], given=bool(encoding))
            else:
                link_or_copy(file, to)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Unpacked(copy, path.name.lstrip(".").split(".")[0] or "graph", mended=tuple(mended), folder=folder)


def _encoding(path: Path) -> tuple[str, bool]:
    """The encoding of a file that is no UTF-8, and whether it is that of all of it; "" for UTF-8 and for no text."""
    try:
        with path.open("rb") as file, unpacking(path, file) as plain:
            first = plain.peek(4)[:4] if hasattr(plain, "peek") else b""
            if marked := next((name for mark, name in _MARKS.items() if first.startswith(mark)), None):
                return marked, True
            decoder, lines, right = codecs.getincrementaldecoder("utf-8")(), bytearray(), False
            while block := plain.read(_CHUNK):
                if b"\0" in block or first.startswith(b"<"):  # no text, or XML, which says its encoding
                    return "", True
                try:
                    decoder.decode(block)
                    continue
                except UnicodeDecodeError:
                    decoder.reset()
                for line in (block + plain.readline()).splitlines():
                    if not line.isascii():
                        is_utf8 = line.decode("utf-8", "ignore").encode() == line
                        right = right or is_utf8
                        if not is_utf8 and len(lines) < _SAMPLE:
                            lines += line + b"\n"
    except (OSError, SourceError, EOFError, *DAMAGED_ZIP):
        return "", True  # who reads it tells what is wrong
    return (_guess(bytes(lines)), not right) if lines else ("", True)


def _guess(lines: bytes) -> str:
    """The encoding of lines that are no UTF-8.

    >>> _guess("\\u75db\\u98ce\\n".encode("gb18030")), _guess("Ménière\\n".encode("latin-1"))
    ('gb18030', 'cp1252')
    """
    high = re.findall(rb"[\x80-\xff]+", lines)
    for encoding in (("gb18030",) if 2 * sum(len(run) > 1 for run in high) > len(high) else ()) + ("cp1252",):
        try:
            lines.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _recode(path: Path, to: Path, encoding: str, *, whole: bool, given: bool) -> list[DroppedRow]:
    """Write a file in UTF-8; what is to be said of it."""
    mended: list[DroppedRow] = []
    with path.open("rb") as file, unpacking(path, file) as plain, to.open("w", encoding="utf-8", newline="") as out:
        if whole:
            reader = codecs.getreader(encoding)(plain)
            try:
                while text := reader.read(_CHUNK):
                    out.write(text.removeprefix("\ufeff"))
            except UnicodeError as error:
                raise SourceError(path, 0, f"is no {encoding} text ({error.reason})", "name its encoding") from error  # type: ignore[attr-defined]
            return [] if given else [DroppedRow(f"{MENDED}read as {encoding}, not as UTF-8", 0, path)]
        for number, line in enumerate(plain, start=1):
            try:
                out.write(line.decode())
            except UnicodeDecodeError:
                out.write(line.decode(encoding, "replace"))
                if len(mended) < _LISTED:
                    mended.append(DroppedRow(f"{MENDED}read as {encoding}, not as UTF-8", number, path))
    return mended


def _extract(path: Path, place: Path) -> None:
    """Write the files of an archive, none of them anywhere else; raises what reading a damaged one ends in."""
    if not set(path.suffixes) & _TARS:
        check_zip(path)
        with ZipFile(path) as zipped:
            zipped.extractall(place)  # noqa: S202 - zipfile takes the dots out of a member's name: it leads nowhere else
        return
    left = bearable(path.stat().st_size)
    with tarfile.open(path, mode="r:*") as members:
        for member in members:
            left -= member.size
            if left < 0:
                raise _too_much(path)
            content = members.extractfile(member) if member.isreg() else None  # no link, no device
            if content is not None:
                inside = place.joinpath(*(part for part in PurePosixPath(member.name).parts if part not in ("/", "..")))
                inside.parent.mkdir(parents=True, exist_ok=True)
                with content, inside.open("wb") as file:
                    shutil.copyfileobj(content, file, _CHUNK)


def _too_much(path: Path) -> SourceError:
    limit = bearable(path.stat().st_size) >> 20
    return SourceError(path, 0, f"unpacks to more than {limit:,} MB, too much for its size", _MEND)


class _Bearable(io.RawIOBase):
    """What is unpacked, until it is too much."""

    def __init__(self, path: Path, plain: IO[bytes]) -> None:
        self._path, self._plain = path, plain
        self._left = bearable(path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._plain.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise _too_much(self._path)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._plain.close()
        super().close()


class _Members:
    """The members of an xz or bzip2 file, one after the other; what stands after the last is passed over."""

    def __init__(self, file: IO[bytes], new: Callable[[], Any]) -> None:
        self._file, self._new, self._decoder = file, new, new()

    def read(self, most: int) -> bytes:
        """At most so many bytes; none at the end."""
        while not self._decoder.eof or self._next_member():
            packed = self._file.read(_CHUNK) if self._decoder.needs_input else b""
            if not packed and self._decoder.needs_input:
                raise EOFError("it ends in the middle")
            if data := self._decoder.decompress(packed, most):
                return cast(bytes, data)
        return b""

    def close(self) -> None:
        """The file below is closed by whoever opened it."""

    def _next_member(self) -> bool:
        """Whether another member follows, begun with its first bytes."""
        rest = (self._decoder.unused_data or self._file.read(_CHUNK)).lstrip(b"\0")
        if not rest:
            return False
        decoder = self._new()
        try:
            decoder.decompress(rest, 0)
        except (lzma.LZMAError, OSError):
            return False
        self._decoder = decoder
        return True
