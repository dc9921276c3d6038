"""What MindMap's model draws: its tree in characters and as an SVG image, and its reasoning graph checked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from xml.sax.saxutils import escape, quoteattr

from kgmed.graph.base import KnowledgeGraph
from kgmed.language.text import fold
from kgmed.models.replies import Node, Step, bracketed_labels, cited_labels, labels, outputs, reasoning_graph
from kgmed.pipeline import Checker
from kgmed.records import Answer, Context, Evidence, Query, Triple, Verdict
from kgmed.show_run import fit, one_line
from kgmed.steps.citations import Citations

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


# --- Is each step of a reasoning graph what its evidence says? Decided by the triples, without a model.
# A step (label, start, relation, end) stands if the evidence of that label has a triple with those ends, in that
# direction, and that relation (names compared without case, punctuation and plural). Where the evidence does not have
# it, the graph is asked, and the verdict says which of the two bears the step out; a label of no evidence is invented.


@dataclass(frozen=True)
class Reasoning:
    """Verdicts of the sentences by `sentences`, then one for each step, then one for each label that does not exist.

    `lookup` is how many namesakes of an entity are tried in the graph, `limit` how many triples of each.
    """

    graph: KnowledgeGraph
    sentences: Checker = field(default_factory=Citations)
    lookup: int = 3
    limit: int = 500

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer with the verdicts; its text and its citations are those that `sentences` leaves."""
        checked = self.sentences(query, context, answer)
        if answer.abstained:
            return checked
        numbers = {label: i for i, label in enumerate(labels(context.cited), start=1)}
        parts = outputs(answer.reasoning)
        graph = reasoning_graph(parts.inference or answer.reasoning)
        steps = [self.verdict(step, numbers, context.cited) for step in graph.steps]
        return replace(checked, verdicts=(*checked.verdicts, *steps, *_invented(answer.text, parts.tree, numbers)))

    def verdict(self, step: Step, numbers: dict[str, int], cited: Sequence[Evidence]) -> Verdict:
        """Whether one step stands, and on what."""
        said = f"{step.label}: {step.start} -> {step.relation or '?'} -> {step.end}"
        number = numbers.get(step.label)
        if number is None:
            return Verdict(said, supported=False, reason=f"cites evidence {step.label} that does not exist")
        problem = _problem(step, cited[number - 1].triples, f"evidence {step.label}")
        if not problem:
            return Verdict(said, supported=True, reason=f"evidence {step.label} says so", citations=(number,))
        known = self._between(step)
        if known and not _problem(step, known, "the graph"):
            return Verdict(said, supported=True, reason=f"the graph says so, but evidence {step.label} does not")
        return Verdict(said, supported=False, reason=problem, citations=(number,))

    def _between(self, step: Step) -> list[Triple]:
        """The triples of the graph around the entities of the step's first name."""
        entities = [match.entity for match in self.graph.lookup(step.start)[: self.lookup]]
        return [t for e in entities for t in self.graph.neighbours(e.id, limit=self.limit)]


def _problem(step: Step, triples: Sequence[Triple], where: str) -> str:
    """Why triples do not bear a step out; "" = they do."""
    start, end, relation = fold(step.start), fold(step.end), fold(step.relation)
    forward = [t for t in triples if _ends(t) == (start, end)]
    if any(relation in ("", fold(t.relation.name), fold(str(t.relation))) for t in forward):
        return ""
    if forward:
        return f"{where} says {forward[0].relation}, not {step.relation}"
    if any(_ends(t) == (end, start) for t in triples):
        return f"{where} says it the other way round"
    return f"{where} does not join {step.start} and {step.end}"


def _ends(triple: Triple) -> tuple[str, str]:
    return fold(triple.head.name), fold(triple.tail.name)


def _invented(text: str, tree: str, numbers: dict[str, int]) -> Iterator[Verdict]:
    """A verdict for each label in the answer or its tree that no evidence has."""
    for where, named in (("answer", bracketed_labels(text)), ("tree", cited_labels(tree))):
        for label in named:
            if label not in numbers:
                reason = f"cites evidence {label} that does not exist"
                yield Verdict(f"{where}: {label}", supported=False, reason=reason)
