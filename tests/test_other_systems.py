"""What Windows and macOS do differently, simulated: the modules that know the system are told another one."""

import ast
import errno
import io
import os
import unicodedata
from pathlib import Path

import pytest

from kgmed.cli.show import knows_styles, no_room, nobody_reads, say_anything
from kgmed.disk import data_folder, link_or_copy, names_a_device, put_in_place, to_disk
from kgmed.errors import BadInput
from kgmed.graph.library import folder_of


class Busy:
    """A move that another process's open file stands in the way of, so many times."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, new: Path, place: Path) -> None:
        self.left -= 1
        if self.left >= 0:
            raise PermissionError(errno.EACCES, "The process cannot access the file because it is being used")
        new.replace(place)


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def new(tmp_path: Path) -> Path:
    (tmp_path / "place").write_text("old")
    (tmp_path / "new").write_text("new")
    return tmp_path / "new"


def test_on_windows_a_file_takes_its_place_as_soon_as_its_reader_is_done(new: Path) -> None:
    put_in_place(new, new.with_name("place"), system="win32", move=Busy(3))
    assert new.with_name("place").read_text() == "new"


def test_elsewhere_a_refusal_is_no_matter_of_time(new: Path) -> None:
    with pytest.raises(PermissionError):
        put_in_place(new, new.with_name("place"), system="linux", move=Busy(1))
    assert new.with_name("place").read_text() == "old"


def test_windows_is_not_waited_for_for_ever(new: Path) -> None:
    with pytest.raises(PermissionError):
        put_in_place(new, new.with_name("place"), system="win32", move=Busy(1_000_000))


def test_what_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        put_in_place(tmp_path / "none", tmp_path / "place", system="win32")


@pytest.mark.parametrize(
    ("system", "of", "synced"),
    [
        ("linux", ".", [False]),
        ("linux", "f", [False]),
        ("darwin", "f", [True]),
        ("win32", ".", []),
        ("win32", "f", [False]),
    ],
)
def test_the_disk_is_waited_for_as_each_system_can(tmp_path: Path, system: str, of: str, synced: list[bool]) -> None:
    (tmp_path / "f").write_text("x")
    seen: list[bool] = []
    to_disk(tmp_path / of, system=system, sync=lambda descriptor, fully: seen.append(fully))
    assert seen == synced


def test_a_system_that_says_it_is_a_mac_and_cannot_sync_fully_syncs_as_others_do(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    to_disk(tmp_path / "f", system="darwin")


def test_where_links_are_not_allowed_a_file_is_copied(new: Path) -> None:
    def refused(file: Path, to: Path) -> None:
        raise OSError(1314, "A required privilege is not held by the client")

    link_or_copy(new, new.with_name("copy"), link=refused)
    link_or_copy(new, new.with_name("link"))
    assert [(p.read_text(), p.is_symlink()) for p in map(new.with_name, ("copy", "link"))] == [
        ("new", False),
        ("new", True),
    ]


@pytest.mark.parametrize("name", ["nul", "con", "com1", "lpt9"])
def test_a_graph_is_not_named_after_a_device(name: str) -> None:
    assert names_a_device(name)
    with pytest.raises(BadInput, match="device"):
        folder_of(name)


def test_a_closed_pipe_is_known_by_what_each_system_calls_it() -> None:
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert nobody_reads(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert nobody_reads(invalid, system="win32")
    assert not nobody_reads(invalid, system="linux")
    assert no_room(OSError(errno.ENOSPC, "full"))
    assert not no_room(OSError(errno.EPERM, "no"))


def test_a_console_of_windows_is_told_to_draw_styles_and_one_that_cannot_gets_none() -> None:
    assert knows_styles(Screen(), system="win32", environment={}, switch_on=lambda: True)
    assert not knows_styles(Screen(), system="win32", environment={}, switch_on=lambda: False)
    assert knows_styles(Screen(), system="darwin", environment={"TERM": "xterm"})
    assert not knows_styles(Screen(), system="linux", environment={"TERM": "dumb"})
    assert not knows_styles(Screen(), system="linux", environment={"NO_COLOR": ""})
    assert not knows_styles(io.StringIO(), system="linux", environment={})


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "gbk", "ascii"])
def test_a_code_page_that_lacks_a_character_shows_another(encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    say_anything(stream)
    stream.write("痛风 → café ✓")
    stream.flush()
    assert stream.buffer.getvalue()


def test_lines_that_end_as_windows_ends_them_are_questions_all_the_same(tmp_path: Path) -> None:
    from kgmed.config import read_config

    (tmp_path / "kgmed.toml").write_bytes(b'graph = "hpo"\r\nlog = false\r\n')
    assert not read_config(tmp_path / "kgmed.toml").log


def test_nothing_else_asks_which_system_this_is() -> None:
    import kgmed

    root = Path(kgmed.__file__).parent
    known = {Path("disk.py"), Path("cli/show.py")}
    words = ("os.name", "sys.platform", "platform.system", "import fcntl", "import msvcrt", "ctypes")
    asking = {p.relative_to(root) for p in root.rglob("*.py") if any(w in p.read_text("utf-8") for w in words)}
    assert asking == known, os.fspath(root)


def moves(tree: ast.AST) -> list[int]:
    """The lines in which a file is moved over another by `os` or `pathlib`; `str.replace` has two arguments."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return [
        call.lineno
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and (
            (call.func.attr == "replace" and len(call.args) == 1 and not call.keywords)
            or ast.unparse(call.func) in ("os.replace", "os.rename")
        )
    ]


def test_nothing_else_moves_a_file_over_one_that_windows_may_hold_open() -> None:
    import kgmed

    root = Path(kgmed.__file__).parent
    trees = {path: ast.parse(path.read_text("utf-8")) for path in root.rglob("*.py") if path.name != "disk.py"}
    assert not [f"{path}:{line}" for path, tree in trees.items() for line in moves(tree)]
    assert moves(ast.parse("a.replace(b)\nos.replace(a, b)\nx.replace('a', 'b')")) == [1, 2]


def test_nothing_reads_or_writes_text_in_the_code_page_of_a_console() -> None:
    import kgmed

    def plain(call: ast.Call) -> bool:
        words = [*call.args[:2], *(k.value for k in call.keywords if k.arg == "encoding")]
        texts = [w.value for w in words if isinstance(w, ast.Constant) and isinstance(w.value, str)]
        return not {"utf-8", "utf-8-sig", "ascii", "latin-1"} & set(texts)

    root, found = Path(kgmed.__file__).parent, list[str]()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name.endswith((".read_text", ".write_text")) and plain(node):
                found.append(f"{path.relative_to(root)}:{node.lineno}")
    assert not found


def test_a_name_that_macos_took_apart_finds_what_is_written_whole(tmp_path: Path) -> None:
    from kgmed.graph import formats
    from kgmed.graph.store.build import build
    from kgmed.graph.store.store import open_store

    (tmp_path / "t.csv").write_text("head,relation,tail\nSjögren syndrome,has symptom,dry eyes\n", encoding="utf-8")
    build(formats.read("", tmp_path / "t.csv", name="made"), tmp_path / "graph")
    graph = open_store(tmp_path / "graph")
    asked = [unicodedata.normalize(form, "Sjögren syndrome") for form in ("NFC", "NFD")]
    assert [[m.entity.name for m in graph.lookup(name)] for name in asked] == [["Sjögren syndrome"]] * 2


@pytest.mark.parametrize(("made", "said"), [("file", "is no folder"), ("link", "leads nowhere")])
def test_a_home_that_can_be_no_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, said: str
) -> None:
    home = tmp_path / "home"
    if made == "file":
        home.touch()
    else:
        home.symlink_to(tmp_path / "nothing")
    monkeypatch.setenv("KGMED_HOME", str(home))
    with pytest.raises(BadInput, match=said):
        data_folder()
