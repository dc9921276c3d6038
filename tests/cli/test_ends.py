"""How a command ends that nobody reads on, or whose disk is full: one line or none, and no traceback."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgmed.cli.show import may_not, nobody_reads

COMMAND = [sys.executable, "-c", "from kgmed.cli import main; main()", "methods", "--json"]


def test_a_reader_that_has_gone_away_ends_a_command_without_a_word() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(COMMAND, stdout=writes, stderr=subprocess.PIPE, check=False)
    os.close(writes)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(COMMAND, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "kgmed: No space left on device; make room and run the command again\n"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no rights of this kind")
def test_a_folder_that_may_not_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "graphs" / "flu").mkdir(parents=True)
    (tmp_path / "graphs").chmod(0)
    words = [sys.executable, "-c", "from kgmed.cli import main; main()", "graph", "find", "flu", "fever"]
    if os.getuid() == 0:
        if not (bound := shutil.which("setpriv")):
            pytest.skip("no rights bind this user")
        words = [bound, "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", *words]
    home = {**os.environ, "KGMED_HOME": str(tmp_path)}
    done = subprocess.run(words, env=home, capture_output=True, text=True, check=False)
    (tmp_path / "graphs").chmod(0o755)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "Permission denied; check the name and whose it is" in done.stderr


def test_a_name_longer_than_any_file_may_have_is_one_line(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from kgmed.cli import main; main()", "graph", "info", "f" * 5000]
    home = {**os.environ, "KGMED_HOME": str(tmp_path)}
    done = subprocess.run(words, env=home, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1
    assert len(done.stderr) < 1100


@pytest.mark.parametrize("words", [["train", "rlkgf", "{cases}", "--policy", "tiny", "--out", "{file}/run"],
                                   ["serve", "keys", "list"], ["serve", "keys", "add", "ann"], ["log"],
                                   ["graph", "build", "x", "{table}"], ["ask", "What is gout?"]])  # fmt: skip
def test_a_file_where_a_folder_is_meant_is_one_line_at_most(tmp_path: Path, words: list[str]) -> None:
    file, cases, table = (tmp_path / name for name in ("file", "cases.jsonl", "table.csv"))
    file.write_text("x", encoding="utf-8")
    case = '{"disease": "%s", "positive": ["fever"], "negative": ["rash"], "split": "%s"}\n'
    cases.write_text("".join(case % (d, part) for d in ("flu", "gout") for part in ("train", "test")), encoding="utf-8")
    table.write_text("head,relation,tail\ngout,treated by,rest\n", encoding="utf-8")
    words = [word.format(file=file, cases=cases, table=table) for word in words]
    home = {**os.environ, "KGMED_HOME": str(file)}
    done = subprocess.run([*COMMAND[:-2], *words], env=home, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2)
    assert len(done.stderr.splitlines()) <= 1
    assert file.read_text(encoding="utf-8") == "x"


def test_a_name_that_windows_cannot_have_is_no_reader_that_has_gone() -> None:
    assert nobody_reads(OSError(errno.EINVAL, "Invalid argument"), system="win32")
    assert not nobody_reads(OSError(errno.EINVAL, "Invalid argument", "a<b.txt"), system="win32")
    assert may_not(OSError(errno.EINVAL, "Invalid argument", "a<b.txt"))
