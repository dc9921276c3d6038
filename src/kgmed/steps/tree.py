"""A decision tree drawn: in characters, and as an SVG image without any package."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from kgmed.models.replies import Node
from kgmed.show_run import fit, one_line

# --- A decision tree drawn in characters.


def draw_text(trees: Sequence[Node]) -> str:
    """The trees, one node a line with the labels of its evidence.

    >>> print(draw_text([Node("fever", ("P1",), (Node("flu", (), (Node("PCR", ("N1",)),)), Node("rest")))]))
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


# --- A decision tree drawn as an SVG image, without any package; every text is escaped and cut to its box.


WIDTH, HEIGHT, GAP, STEP = 240, 30, 12, 280  # of a box, between rows, and between levels, in pixels
_WIDEST = 30  # columns of text in a box; a Chinese character takes two
_STYLE = (
    "text{font:13px sans-serif;fill:#1a1a1a}rect{fill:#eef3fb;stroke:#4a6fa5}.bare{fill:#f6f6f6;stroke:#999;"
    "stroke-dasharray:4 3}path{fill:none;stroke:#4a6fa5}"
)


@dataclass(frozen=True, slots=True)
class _Box:
    """A node with its place: level from the left, row from the top, and the place of its parent in the list."""

    node: Node
    level: int
    row: int
    parent: int


def draw_svg(trees: Sequence[Node], *, title: str = "") -> str:
    """The image, roots at the left; nodes that name no evidence have a dashed border.

    >>> '<title>A &lt; B</title>' in draw_svg([Node("x")], title="A < B")
    True
    """
    boxes = _placed(trees)
    width = 2 * GAP + STEP * max((b.level for b in boxes), default=0) + WIDTH
    height = 2 * GAP + (HEIGHT + GAP) * max(1, len(boxes)) - GAP
    body = [part for box in boxes for part in _drawn(box, boxes)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label={quoteattr(one_line(title) or "decision tree")}>'
    )
    return "\n".join([head, f"<title>{escape(one_line(title))}</title><style>{_STYLE}</style>", *body, "</svg>"])


def _placed(trees: Sequence[Node]) -> list[_Box]:
    """Every node in the order of the text, a row each."""
    boxes: list[_Box] = []
    waiting = [(tree, 0, -1) for tree in reversed(trees)]
    while waiting:
        node, level, parent = waiting.pop()
        boxes.append(_Box(node, level, len(boxes), parent))
        here = len(boxes) - 1
        waiting.extend((child, level + 1, here) for child in reversed(node.children))
    return boxes


def _drawn(box: _Box, boxes: Sequence[_Box]) -> list[str]:
    """The line from the parent, the box and its text."""
    x, y = GAP + STEP * box.level, GAP + (HEIGHT + GAP) * box.row
    full = one_line(caption(box.node))
    bare = "" if box.node.labels else ' class="bare"'
    parts = [
        f'<g><title>{escape(full)}</title><rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"{bare}/>'
        f'<text x="{x + 8}" y="{y + 20}">{escape(fit(full, _WIDEST))}</text></g>'
    ]
    if box.parent >= 0:
        above = boxes[box.parent]
        px, py = GAP + STEP * above.level + 16, GAP + (HEIGHT + GAP) * above.row + HEIGHT
        parts.append(f'<path d="M{px} {py}V{y + HEIGHT // 2}H{x}"/>')
    return parts
