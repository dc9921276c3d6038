"""A real Ray cluster of two nodes on this machine gives what one thread gives."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from eval_makers import Echo, items
from kgmed.errors import Unavailable
from kgmed.evaluate.log import Entry, Job, Log, digest, entries
from kgmed.evaluate.run import Plan, RayExecutor, ThreadExecutor, compare

pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
PLAN = Plan(("one", "two"), items(8))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster with two nodes of one processor each, on the loopback address."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    path = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent.parent), path])
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield str(cluster.address)
    cluster.shutdown()
    os.environ["PYTHONPATH"] = path


def finished(folder: Path, make: Echo, crew: RayExecutor | ThreadExecutor) -> dict[Job, Entry]:
    with Log(folder, {}) as log:
        compare(PLAN, make, log, crew)
    return entries(folder)


@pytest.mark.slow
def test_two_nodes_give_what_one_thread_gives(tmp_path: Path, address: str) -> None:
    import ray

    there = finished(tmp_path / "ray", Echo(broken="q3"), RayExecutor(address))
    assert digest(there) == digest(finished(tmp_path / "here", Echo(broken="q3"), ThreadExecutor()))
    assert not ray.is_initialized(), "the connection is given back"


@pytest.mark.slow
def test_a_worker_that_dies_loses_nothing(tmp_path: Path, address: str) -> None:
    there = finished(tmp_path / "ray", Echo(deadly="q5", mark=str(tmp_path / "mark")), RayExecutor(address))
    assert (tmp_path / "mark").exists()
    assert digest(there) == digest(finished(tmp_path / "here", Echo(), ThreadExecutor()))


def test_a_cluster_that_is_not_there_is_named() -> None:
    with pytest.raises(Unavailable, match=r"no Ray cluster at 127\.0\.0\.1:1 "):
        list(RayExecutor("127.0.0.1:1")(Echo(), []))
