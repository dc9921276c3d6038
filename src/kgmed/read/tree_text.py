"""A decision tree drawn in characters."""

from collections.abc import Iterator, Sequence

from kgmed.models.steps import Node


def drawn(trees: Sequence[Node]) -> str:
    """The trees, one node a line with the labels of its evidence.

    >>> print(drawn([Node("fever", ("P1",), (Node("flu", (), (Node("PCR", ("N1",)),)), Node("rest")))]))
    fever (P1)
    ├── flu
    │   └── PCR (N1)
    └── rest
    """
    return "\n".join(line for tree in trees for line in _lines(tree))


def _lines(root: Node) -> Iterator[str]:
    """The lines of one tree, without recursion: a reply may nest as deep as it likes."""
    waiting: list[tuple[Node, str, str]] = [(root, "", "")]  # a node, what stands before it, and before its children
    while waiting:
        node, lead, below = waiting.pop()
        yield f"{lead}{caption(node)}"
        for i, child in enumerate(reversed(node.children)):
            mark, bar = ("└── ", "    ") if i == 0 else ("├── ", "│   ")
            waiting.append((child, below + mark, below + bar))


def caption(node: Node) -> str:
    """The text of a node with its labels.

    >>> caption(Node("flu", ("P1", "N2")))
    'flu (P1, N2)'
    """
    return f"{node.text} ({', '.join(node.labels)})" if node.labels else node.text
