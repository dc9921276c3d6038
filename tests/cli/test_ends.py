"""How a command ends that nobody reads on, or whose disk is full: one line or none, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
