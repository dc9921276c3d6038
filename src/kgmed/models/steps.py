"""Reasoning in what a model wrote: MindMap's three outputs, the steps that cite evidence, and the tree.

The grammar is that of MindMap (Wen et al. 2024): `P1('fever'->'possible disease'->'flu')->N2('flu'->'test'->'PCR')
->result 1('flu')`; "Path-based Evidence 1" and 路径证据1 mean P1, "Neighbor-based Evidence 2" and 邻居证据2 mean N2.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_MARKER = re.compile(
    r"^[#*_>\-\[【( \t]*(?:output|输出)[ \t]*([123一二三])[ \t]*[*_\])】]*[ \t]*[:：.、\-]?[ \t]*[*_]*",
    re.IGNORECASE | re.MULTILINE,
)
_NUMERAL = {"一": "1", "二": "2", "三": "3"}
_LABEL = (
    r"(?:path[- ]?based\s+evidence|路径证据|基于路径的证据)\s*(?P<path>\d{1,3})"
    r"|(?:neighbou?r[- ]?based\s+evidence|邻居证据|基于邻居的证据)\s*(?P<near>\d{1,3})"
    r"|(?<![A-Za-z0-9])(?P<kind>[PNE])\s?(?P<number>\d{1,3})(?![A-Za-z0-9])"
)
_CITED = re.compile(_LABEL, re.IGNORECASE)
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _LABEL)
_BRACKETED = re.compile(rf"[(（\[【［]\s*(?:(?:{_UNNAMED})[\s,;、，；]*)+[)）\]】］]", re.IGNORECASE)
_GROUP = r"\s*\((?P<inside>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
_STEP = re.compile(rf"(?:{_LABEL}|(?P<result>(?:result|结果)\s*\d*)){_GROUP}", re.IGNORECASE)
_ARROW = re.compile(r"\s*(<-+|<=+|←|-+>|=+>|→|—>)\s*")
_DRAWN = re.compile(r"^(?P<lead>[\s│|┃├└┌─━┣┗+`\\\-—>*•]*)(?P<text>.*)$")
_QUOTES = "'\"`‘’“”「」* "


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a reasoning chain: what is said to lead from where to where, by which evidence."""

    label: str  # P1, N2, E3; "" = none cited
    start: str
    relation: str  # "" = not said
    end: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a decision tree, with the labels of the evidence it names."""

    text: str
    labels: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()


@dataclass(frozen=True, slots=True)
class Outputs:
    """The three parts of a reply, "" where one is missing."""

    summary: str
    inference: str = ""
    tree: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningGraph:
    """The steps in the order of the text, and the results that they end in."""

    steps: tuple[Step, ...] = ()
    results: tuple[str, ...] = ()


def outputs(reply: str) -> Outputs:
    """The parts of a reply by their headings, in any order; without any heading all of it is the summary.

    >>> outputs("Output 1: It is flu.\\n**Output 3**：\\nflu"), outputs("输出1：流感。").summary
    (Outputs(summary='It is flu.', inference='', tree='flu'), '流感。')
    """
    pieces = _MARKER.split(reply)
    found: dict[str, str] = {}
    for number, text in zip(pieces[1::2], pieces[2::2], strict=True):
        found.setdefault(_NUMERAL.get(number, number), text.strip("\n").rstrip().strip("`"))
    lead = pieces[0].strip()
    summary = found.get("1", "").strip() or ("" if found and not lead else lead)
    return Outputs(summary, found.get("2", "").strip(), found.get("3", "").strip("\n"))


def cited_labels(text: str) -> tuple[str, ...]:
    """The labels that a text names, each once, in order.

    >>> cited_labels("fever (Path-based Evidence 1)(N2), 邻居证据 3; P1 again, vitamin B12")
    ('P1', 'N2', 'N3')
    """
    return tuple(dict.fromkeys(_label(m) for m in _CITED.finditer(unicodedata.normalize("NFKC", text))))


def with_marks(text: str, number: Mapping[str, int]) -> str:
    """The text with marks [1] in place of bracketed labels; those without a number stay as they are.

    >>> with_marks("Flu (P1, N2). 发热（路径证据1）。 Gout (P9).", {"P1": 1, "N2": 4})
    'Flu [1][4]. 发热[1]。 Gout (P9).'
    """

    def mark(match: re.Match[str]) -> str:
        named = cited_labels(match[0])
        known = all(label in number for label in named)
        return "".join(f"[{number[label]}]" for label in named) if known else match[0]

    return _BRACKETED.sub(mark, text)


def bracketed_labels(text: str) -> tuple[str, ...]:
    """The labels that stand in brackets: outside them P2 may be a heart sound and N95 a mask.

    >>> bracketed_labels("A loud P2 (N3).")
    ('N3',)
    """
    return tuple(dict.fromkeys(label for m in _BRACKETED.finditer(text) for label in cited_labels(m[0])))


def reasoning_graph(text: str) -> ReasoningGraph:
    """The steps of a chain; a group of entities and relations in turn gives a step for each relation.

    A left arrow turns its step around: what it points at is the end.

    >>> reasoning_graph("P1('fever'->'sign of'->'flu')->result 1('flu')").steps
    (Step(label='P1', start='fever', relation='sign of', end='flu'),)
    """
    found = list(_STEP.finditer(unicodedata.normalize("NFKC", text)))
    steps = [step for m in found if not m["result"] for step in _steps(_label(m), m["inside"])]
    results = [_name(m["inside"]) for m in found if m["result"]]
    return ReasoningGraph(tuple(steps), tuple(dict.fromkeys(r for r in results if r)))


def tree(text: str) -> tuple[Node, ...]:
    """The trees drawn in a text by indentation, bars or bullets; a deeper line hangs under the one before it.

    >>> tree("flu (P1)\\n├── fever\\n│   └── cough (N2)\\n└── rest")[0].children[0].children
    (Node(text='cough', labels=('N2',), children=()),)
    """
    rows = [(len(m["lead"].expandtabs(4)), m["text"].strip()) for m in map(_DRAWN.match, text.splitlines()) if m]
    return _nested([row for row in rows if re.search(r"\w", row[1])])


def _nested(rows: Sequence[tuple[int, str]]) -> tuple[Node, ...]:
    """The trees of rows (depth, text); built from the last row, so that no depth of nesting is too much."""
    waiting: list[tuple[int, Node]] = []  # trees that no row above has taken yet, the nearest row last
    for depth, text in reversed(rows):
        children: list[Node] = []
        while waiting and waiting[-1][0] > depth:
            children.append(waiting.pop()[1])
        waiting.append((depth, Node(_without_labels(text), cited_labels(text), tuple(children))))
    return tuple(node for _, node in reversed(waiting))


def _without_labels(text: str) -> str:
    """The text of a node without the labels in brackets, without arrows and quotes around it."""
    bare = _BRACKETED.sub("", unicodedata.normalize("NFKC", text))
    return bare.strip("-> ").strip(_QUOTES) or text.strip()


def _label(match: re.Match[str]) -> str:
    """P, N or E with the number."""
    if match["path"] or match["near"]:
        return f"P{int(match['path'])}" if match["path"] else f"N{int(match['near'])}"
    return f"{match['kind'].upper()}{int(match['number'])}"


def _steps(label: str, inside: str) -> Iterator[Step]:
    """The steps of one group; two names without a relation between them are a step too."""
    parts = _ARROW.split(inside)
    said, turned = [_name(p) for p in parts[::2]], [p[0] in "<←" for p in parts[1::2]]
    if len(said) == 2:
        yield _step(label, said[0], "", said[1], turned=turned[0])
    for i in range(0, len(said) - 2, 2):
        yield _step(label, said[i], said[i + 1], said[i + 2], turned=turned[i] or turned[i + 1])


def _step(label: str, start: str, relation: str, end: str, *, turned: bool) -> Step:
    return Step(label, end, relation, start) if turned else Step(label, start, relation, end)


def _name(text: str) -> str:
    return text.strip().strip(_QUOTES).replace("_", " ").strip()
