"""What every test may ask for."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets named by KGMED_DATA; the test is skipped where it is not set."""
    folder = os.environ.get("KGMED_DATA")
    if not folder:
        pytest.skip("KGMED_DATA does not name the folder of real data sets")
    return Path(folder).resolve()
