"""Every TOML file that somebody wrote ends in its table or in one error of ours, in time."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kgmed.config import read_config
from kgmed.errors import SourceError
from kgmed.graph.formats.base import roles_from_toml
from kgmed.graph.formats.tables import read_tables
from kgmed.graph.remote.database import read_toml
from kgmed.models.limits import prices


def columns(path: Path) -> object:
    (path.parent / "a.csv").write_text("head,relation,tail\n", encoding="utf-8")
    return read_tables(path.parent / "a.csv", columns=path)


def mapping(path: Path) -> object:
    return read_toml(path, ("nodes",))


READERS: list[Callable[[Path], object]] = [read_config, roles_from_toml, columns, mapping, prices]
BAD = {
    "a number of 5,000 digits": (b"rate = " + b"9" * 5000, "is no TOML"),
    "lists that are deep": (b"rate = " + b"[" * 100_000, "is no TOML"),
    "a text without an end": (b'\n\nrate = "a\nb"\n', ":3: is no TOML"),
    "not UTF-8": (b'rate = "\xff"', "is not UTF-8 text"),
    "a key of 50,000 parts": (b"\na" + b".a" * 50_000 + b" = 1", ":2: has a key of more than 50 parts"),
    "a table of 50,000 parts": (b"[a" + b' . "a"' * 50_000 + b"]", "has a key of more than 50 parts"),
    "a key within a value": (b"a = { b" + b".'b'" * 50_000 + b" = 1 }", "has a key of more than 50 parts"),
    "a file of 2 MB": (b"#" * (2 << 20), "is longer than 1 MB"),
}


@pytest.mark.parametrize("read", READERS, ids=lambda r: r.__name__)
@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_table_is_told_in_a_line(read: Callable[[Path], object], bad: str, tmp_path: Path) -> None:
    path, (data, said) = tmp_path / "mine.toml", BAD[bad]
    path.write_bytes(data)
    with pytest.raises(SourceError) as error:
        read(path)
    assert said in str(error.value)
    assert "mine.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for read in READERS:
        with pytest.raises(SourceError, match="gone"):
            read(tmp_path / "gone.toml")


def test_dots_in_texts_and_the_mark_of_notepad_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b'\xef\xbb\xbf[a.b.c]\nrole = "' + b"1.2, " * 100 + b"." * 200 + b'"\n')
    assert read_toml(path, ("a",))["a"]["b"]["c"]["role"].endswith("...")
