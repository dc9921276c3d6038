"""A data folder with two small graphs, and a service on it; nothing here is asked where a service is not installed."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from browser import Visit
    from kgmed.service.client import ServiceClient
    from served import Running

if not all(map(find_spec, ("fastapi", "uvicorn", "prometheus_client", "mcp", "openai"))):
    collect_ignore_glob = ["test_*"]


@pytest.fixture(scope="session")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder, built once."""
    import served

    home = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGMED_HOME", str(home))
        served.build(home)
    yield home
    served.HTTP.close()


@pytest.fixture(autouse=True, scope="module")
def home(graphs: Path) -> Iterator[Path]:
    """The data folder, as long as the tests of a file run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGMED_HOME", str(graphs))
        yield graphs


@pytest.fixture(scope="module")
def service(home: Path) -> "Iterator[Running]":
    """A service without a model."""
    import served

    with served.running(served.cases_of()) as made:
        yield made


@pytest.fixture(scope="module")
def client(service: "Running") -> "Iterator[ServiceClient]":
    """A client of the service."""
    from kgmed.service.client import ServiceClient

    with ServiceClient(service.url) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser."""
    from browser import chromium

    with chromium() as made:
        yield made


@pytest.fixture
def visit(browser: Any, service: "Running") -> "Iterator[Visit]":
    """A visitor with an English browser on a desk, of the service of the file."""
    from browser import visiting

    with visiting(browser, service.url) as made:
        yield made
