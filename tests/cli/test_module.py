"""The command as a module of an interpreter."""

import subprocess
import sys

import kgmed


def test_python_m_kgmed_is_the_command() -> None:
    said = subprocess.run([sys.executable, "-m", "kgmed", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == f"kgmed {kgmed.__version__}"
