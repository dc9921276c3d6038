"""What every test may ask for."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from kgmed.errors import Unavailable
from kgmed.graph import formats
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store

settings.register_profile("no time limit", deadline=None)  # a busy machine is no failure
settings.load_profile("no time limit")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background: commands under test would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
for name in ("COLUMNS", "LINES"):  # pytest-xdist gives its processes the size of a terminal
    os.environ.pop(name, None)

KNOWN_WRONG = Path(__file__).with_name("known_wrong.txt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the questions of known_wrong.txt as expected to fail; one that is answered right must leave the file."""
    known = set(KNOWN_WRONG.read_text(encoding="utf-8").splitlines())
    wrong = pytest.mark.xfail(reason="a known wrong answer (known_wrong.txt)", strict=True)
    for item in items:
        if f"{item.path.name}::{item.name}".encode("ascii", "backslashreplace").decode() in known:
            item.add_marker(wrong)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets named by KGMED_DATA; the test is skipped where it is not set."""
    folder = os.environ.get("KGMED_DATA")
    if not folder:
        pytest.skip("KGMED_DATA does not name the folder of real data sets")
    return Path(folder).resolve()


def _packaged(name: str, folder: Path) -> Store:
    """A packaged graph built in a folder of its own; the test is skipped where its package is not installed."""
    try:
        build(formats.read(name, None, name=name), folder / name)
    except Unavailable as e:
        pytest.skip(str(e))
    return open_store(folder / name)


@pytest.fixture(scope="session")
def hpo(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The Human Phenotype Ontology of the starter extra, built once."""
    return _packaged("hpo", tmp_path_factory.mktemp("hpo"))


@pytest.fixture(scope="session")
def cmekg(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """CMeKG of the starter extra, built once."""
    return _packaged("cmekg", tmp_path_factory.mktemp("cmekg"))
