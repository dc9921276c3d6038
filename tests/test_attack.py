"""The suite that attacks notices what it is there to notice: foreign errors, lost work, wrong bytes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Event
from types import ModuleType

import pytest

pytest.importorskip("resource")  # it needs signals and limits of memory

from kgmed.errors import BadInput

BENCH = str(Path(__file__).resolve().parents[1] / "bench")


@pytest.fixture
def suite() -> Iterator[Callable[[str], ModuleType]]:
    """The modules of bench/, which is no package."""
    from importlib import import_module

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCH)
        yield import_module


def raises(error: BaseException) -> Callable[[bytes, Path], object]:
    def read(data: bytes, folder: Path) -> object:
        raise error

    return read


def test_only_our_own_errors_in_one_line_are_held(suite: Callable[[str], ModuleType], tmp_path: Path) -> None:
    fuzz, target = suite("_fuzz"), suite("_targets").Target

    def ended(read: Callable[[bytes, Path], object]) -> str:
        how: str = fuzz.one(target("area", "name", (b"",), read), b"", tmp_path)[0]
        return how

    assert ended(lambda data, folder: None) == "read"
    assert ended(raises(BadInput("no"))) == "refused"
    for error in (KeyError("x"), RecursionError(), MemoryError(), UnicodeDecodeError("utf-8", b"x", 0, 1, "no")):
        assert ended(raises(error)) == "lost"


def test_an_input_is_made_from_its_number_and_the_seed_alone(suite: Callable[[str], ModuleType]) -> None:
    fuzz, target = suite("_fuzz"), suite("_targets").Target
    every = [target("area", str(i), (b"whole input of some length" * 9,), raises(KeyError())) for i in range(9)]
    drawn = [fuzz.chosen(every, 1, number) for number in range(50)]
    assert drawn == [fuzz.chosen(every, 1, number) for number in range(50)]
    assert drawn != [fuzz.chosen(every, 2, number) for number in range(50)]
    assert len({data for _, data in drawn}) > 40


def test_a_kill_that_loses_what_was_told_or_changes_the_result_is_noticed(
    suite: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    kills = suite("_kills")

    def at_work(folder: Path) -> bool:
        """Wait to be killed, once; whether it was. What is done undisturbed is done in the folder `whole`."""
        if not (killed := (folder / "killed").exists()) and folder.name != "whole":
            Event().wait()
        return killed

    def careless(folder: Path, done: object) -> None:
        (folder / "result").write_text("wrong" if at_work(folder) else "right", encoding="utf-8")

    def careful(folder: Path, done: object) -> None:
        at_work(folder)
        (folder / "result").write_text("right", encoding="utf-8")

    def killed(folder: Path, done: int) -> str:
        (folder / "killed").touch()
        return ""

    def read(folder: Path) -> str:
        return (folder / "result").read_text(encoding="utf-8")

    for name, do, lost in (("careless", careless, 3), ("careful", careful, 0)):
        (tmp_path / name).mkdir()
        found = kills._killed(kills.Operation(name, do, read, lacks=killed), 3, Random(1), tmp_path / name)
        assert (found.kills, len(found.lost)) == (3, lost)


def test_a_turned_bit_that_is_read_as_if_it_were_right_is_noticed(
    suite: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    damage, path = suite("_damage"), tmp_path / "kept"
    path.write_bytes(b"12345678")

    def checked() -> bytes:
        if path.read_bytes() != b"12345678":
            raise BadInput("damaged")
        return b"12345678"

    assert "another answer" in damage._flipped(path, path.read_bytes, Random(1))
    assert damage._flipped(path, checked, Random(1)) == ""
    assert path.read_bytes() == b"12345678"


def test_the_table_goes_into_the_page_and_nothing_else_is_touched(
    suite: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- attack -->\nold\n<!-- /attack -->\nafter\n", encoding="utf-8")
    rows = [{"what": "kill -9", "tried": 20, "lost": ["x"], "how": ""}]
    suite("attack").write(page, [{"rows": rows, "seconds": 120, "command": "python", "made with": {"kgmed": "1"}}])
    text = page.read_text(encoding="utf-8")
    assert "| kill -9 | 20 | 19 | 1 |" in text
    assert "`python`, 2 minutes; kgmed 1." in text
    assert text.startswith("before\n<!-- attack -->")
    assert text.endswith("<!-- /attack -->\nafter\n")
    assert "old" not in text
