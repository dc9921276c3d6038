"""One of several processes that open a graph, while another looks at their memory from outside."""

import sys
from pathlib import Path

import numpy  # noqa: F401 - the memory before anything of kgmed is loaded


def main() -> None:
    """Say how far it is and wait for a line: nothing but numpy loaded, the graph opened, all questions asked."""
    _wait("empty")
    from kgmed.graph.store.store import open_store

    store = open_store(Path(sys.argv[1]))
    _wait("open")
    from _measure import queries

    from kgmed.graph.search.chains import chains

    asked = queries(store.adjacency, quick=sys.argv[2:] == ["--quick"])
    for node in asked.around:
        store.incident(node)
        store.lookup(store.at(node).name)
    chains(store.adjacency, asked.sets[0])
    _wait("asked")


def _wait(stage: str) -> None:
    sys.stdout.write(f"{stage}\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    main()
