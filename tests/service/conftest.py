"""A data folder with two small graphs, and a service on it; nothing here is asked where a service is not installed."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
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
