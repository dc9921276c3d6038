"""A run for people and for programs: HTML with the evidence drawn as an SVG image, and a graph of networkx.

Every text is escaped and without the characters that XML does not allow; there is no script, and no file is fetched.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

from kgmed.errors import Unavailable
from kgmed.language.relations import in_english, spoken
from kgmed.language.text import has_cjk, language_of
from kgmed.records import Answer, Entity, Evidence, Relation, Role, Run, Triple, Verdict
from kgmed.sentences import catalogue

if TYPE_CHECKING:
    import networkx
    import pandas

MOST_NODES, MOST_ROWS = 20, 50  # drawn, and listed in the table

# --- Where a reference can be read.

LINKS = {
    "PMID": "https://pubmed.ncbi.nlm.nih.gov/{}",
    "OMIM": "https://www.omim.org/entry/{}",
    "ORPHA": "https://www.orpha.net/en/disease/detail/{}",
    "HP": "https://hpo.jax.org/browse/term/HP:{}",
    "DOI": "https://doi.org/{}",
}


def address(reference: str) -> str:
    """The page of an id or a reference; "" where none is known.

    >>> address("PMID:29067653"), address("cmekg:肺炎")
    ('https://pubmed.ncbi.nlm.nih.gov/29067653', '')
    """
    kind, _, number = reference.partition(":")
    return LINKS[kind].format(quote(number, safe="/:;()", errors="replace")) if kind in LINKS and number else ""


# --- Text in XML.

_JOINERS = "\u200c\u200d"  # of Persian words and of emoji


def one_line(text: str) -> str:
    """The text on one line without what XML does not allow, and without what turns the direction of a text.

    >>> one_line("a\\n b\\x00"), one_line("a\\u202eb")
    ('a b', 'ab')
    """
    line = " ".join(text.split())
    return "".join(c for c in line if c in _JOINERS or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Cn", "Co"))


def fit(text: str, columns: int) -> str:
    """As much of the text as so many columns hold; a Chinese character takes two.

    >>> fit("fever", 5), fit("fever", 4), fit("发热", 3)
    ('fever', 'feve…', '发…')
    """
    used = 0
    for i, c in enumerate(text):
        used += 2 if unicodedata.east_asian_width(c) in "WF" else 1
        if used > columns:
            return f"{text[:i]}…"
    return text


def _columns(text: str) -> int:
    """How wide a text is."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _xml(text: str) -> str:
    """The text as it stands in XML, on one line."""
    return escape(one_line(text))


# --- Names in the language of who reads them.

T = TypeVar("T")
_CLAUSES = "[\u3002\uff1b;]"
_DENIED = r"^not (?:in|for) (?!.*\bnot\b)"


def translated_run(run: Run) -> Run:
    """The run with its entities, texts and relations named in the language of its question; see `translated`."""
    return translated(run, language_of(run.question))


def translated(record: T, language: str) -> T:
    """A record with every entity, text and relation in it named in a language, as far as the words are known.

    A Chinese name that has no English one is shown in brackets behind the kind of the entity. The graph's own name is
    then the entity's description; ids stay. What is in Chinese or Japanese stays as it is.

    >>> translated(Entity("", chr(0x76AE) + chr(0x80A4) + chr(0x79D1), "department"), "en").name
    'dermatology'
    """
    return record if catalogue(language).han else _translated(record)


def _translated(value: Any) -> Any:
    """A record, or what one holds, with English names."""
    if isinstance(value, Entity):
        return replace(value, name=name_of(value), description=value.name) if has_cjk(value.name) else value
    if isinstance(value, Relation):
        if not has_cjk(value.name) or value.role not in (Role.OTHER, Role.SAME_AS):
            return spoken(value, "en")
        return replace(value, name=in_english(value.name) or f"{value.role} ({value.name})")
    if isinstance(value, tuple):
        made = tuple(map(_translated, value))
        return value if all(a is b for a, b in zip(value, made, strict=True)) else made
    if not is_dataclass(value) or isinstance(value, type):
        return value
    found = {f.name: _translated(held) for f in fields(value) if not isinstance(held := getattr(value, f.name), str)}
    changed = {name: held for name, held in found.items() if held is not getattr(value, name)}
    if isinstance(value, Triple) and value.relation.role is Role.CONTRAINDICATED and "tail" in changed:
        text = re.sub(_DENIED, "", changed["tail"].name)  # "must not be used in" says it already
        changed["tail"] = replace(changed["tail"], name=text)
    if isinstance(value, Evidence) and has_cjk(value.text):
        changed["text"] = named_in(value.text, entities_of([value]), name_of)
    if isinstance(value, Run) and value.answer.reader == "facts" and has_cjk(value.answer.text):  # names of the graph
        text = named_in(value.answer.text, entities_of(value.context.cited), name_of)
        changed["answer"] = replace(changed.get("answer", value.answer), text=text)
    return replace(value, **changed) if changed else value


def name_of(entity: Entity) -> str:
    """A Chinese name or text in English, clause by clause; what is not known in brackets, behind its kind."""
    clauses = [c.strip() for c in re.split(_CLAUSES, " ".join(entity.name.split())) if c.strip()]
    known = [in_english(c) if has_cjk(c) else c for c in clauses]
    if entity.id and not all(known):
        return bracketed(entity)
    said = (english or bracketed(replace(entity, name=c)) for c, english in zip(clauses, known, strict=True))
    return "; ".join(dict.fromkeys(said))


def bracketed(entity: Entity) -> str:
    """The kind of an entity with its name in brackets."""
    return f"{entity.kind} ({entity.name})".lstrip()


def entities_of(evidence: Iterable[Evidence]) -> list[Entity]:
    """The entities and texts that some evidence names."""
    return [e for one in evidence for e in (*one.about, *(e for t in one.triples for e in (t.head, t.tail)))]


def named_in(text: str, entities: Iterable[Entity], name: Callable[[Entity], str]) -> str:
    """A text with the Chinese names of some entities written as `name` has them, but for those in brackets."""
    held = {e.name: e for e in entities if has_cjk(e.name) and e.name in text}
    found = "|".join(map(re.escape, sorted(held, key=len, reverse=True)))
    return re.sub(rf"(?<!\()(?:{found})", lambda m: name(held[m[0]]), text) if held else text


# --- The evidence as an image: entities in columns by their distance from the question's first one, relations between.


WIDTH, HEIGHT, ROW, GAP, EDGE = 190, 28, 42, 190, 16  # of a box; from row to row; between columns; around; in pixels
_NAME, _LABEL = 26, 27  # columns of text in a box, and on a relation
_FILLS = ("#dbe9f9", "#fde7cf", "#dff2df", "#f3e0f3", "#fbe0e0", "#e3f1f1", "#f4f0d5", "#ececec")  # of kinds
_STROKES = ("#1f5fa8", "#8a5a00", "#2e6b32", "#7b3fa0", "#00696f", "#5a5a5a", "#8c3b66")  # of roles
_DANGER = "#b42318"  # of roles of safety


class _Arrow(NamedTuple):
    """All that is said of one head and one tail by one role."""

    head: Entity
    tail: Entity
    role: Role
    names: tuple[str, ...]  # of the relations


class _Picture(NamedTuple):
    """What is drawn, and where: the column and the height of each entity."""

    places: dict[Entity, tuple[int, int]]
    arrows: tuple[_Arrow, ...]
    asked: frozenset[Entity]
    kinds: tuple[str, ...]
    roles: tuple[Role, ...]
    width: int
    height: int
    left_out: int  # entities


def to_svg(run: Run) -> str:
    """The evidence that the reader was shown as an SVG image; "" where none of it is made of triples.

    Boxes are entities coloured by kind, those of the question with a thick border; arrows are relations coloured by
    role, those that warn in red. At most 20 entities are shown, in the order of the evidence.
    """
    run = translated_run(run)
    triples = _triples(run.context.cited or run.evidence)
    if not triples:
        return ""
    picture = _picture(triples, dict.fromkeys(link.entity for link in run.links))
    marker = f"kgmed-arrow-{_xml(run.id)}"
    legend, height = _legend(picture)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{picture.width}" height="{height}" role="img" '
        f'viewBox="0 0 {picture.width} {height}" aria-label="the evidence as a graph" '
        'font-family="sans-serif" font-size="13">'
    )
    arrowhead = (
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker></defs>'
    )
    body = [*_drawn_arrows(picture, marker), *(_box(picture, entity) for entity in picture.places), *legend]
    background = f'<rect width="{picture.width}" height="{height}" fill="#fff"/>'
    return "\n".join([head, arrowhead, background, *body, "</svg>"])


def _triples(evidence: Iterable[Evidence]) -> list[Triple]:
    """The triples of the evidence, of those that say the same the first."""
    once = {(t.head, t.relation.name, t.tail): t for e in reversed([*evidence]) for t in reversed(e.triples)}
    return list(once.values())[::-1]


def _picture(triples: Sequence[Triple], asked: Iterable[Entity]) -> _Picture:
    """Which entities and arrows are shown, and where."""
    named = dict.fromkeys(e for t in triples for e in (t.head, t.tail))
    roots = [e for e in asked if e in named]
    shown = list(dict.fromkeys([*roots, *named]))[:MOST_NODES]
    there = [t for t in triples if t.head in shown and t.tail in shown]
    columns = _by_distance(shown, there)
    rows = max(map(len, columns))
    places = {
        entity: (i, EDGE + (rows - len(column)) * ROW // 2 + row * ROW)
        for i, column in enumerate(columns)
        for row, entity in enumerate(column)
    }
    said: dict[tuple[Entity, Entity, Role], dict[str, None]] = {}
    for t in there:
        said.setdefault((t.head, t.tail, t.relation.role), {})[str(t.relation)] = None
    return _Picture(
        places,
        tuple(_Arrow(*ends, tuple(names)) for ends, names in said.items()),
        frozenset(roots),
        tuple(dict.fromkeys(e.kind for e in shown)),
        tuple(dict.fromkeys(t.relation.role for t in there)),
        2 * EDGE + len(columns) * (WIDTH + GAP) - GAP // 2,
        2 * EDGE + rows * ROW,
        len(named) - len(shown),
    )


def _by_distance(shown: Sequence[Entity], triples: Sequence[Triple]) -> list[list[Entity]]:
    """The entities by their steps from the first of them, neighbours of one role together; then those not reached."""
    around: dict[Entity, dict[Entity, Role]] = {entity: {} for entity in shown}
    for t in triples:
        around[t.head].setdefault(t.tail, t.relation.role)
        around[t.tail].setdefault(t.head, t.relation.role)
    columns: list[list[Entity]] = [[]]
    seen: set[Entity] = set()
    for root in shown:
        level, waiting = 0, [] if root in seen else [root]
        while waiting:
            seen.update(waiting)
            columns[level : level + 1] = [[*(columns[level] if level < len(columns) else ()), *waiting]]
            near = [pair for entity in waiting for pair in sorted(around[entity].items(), key=lambda pair: pair[1])]
            waiting, level = list(dict.fromkeys(entity for entity, _ in near if entity not in seen)), level + 1
    return columns


def _box(picture: _Picture, entity: Entity) -> str:
    """An entity."""
    column, y = picture.places[entity]
    x, name = EDGE + column * (WIDTH + GAP), one_line(entity.name)
    fill = _FILLS[picture.kinds.index(entity.kind) % len(_FILLS)]
    thick, bold = ("2.5", ' font-weight="bold"') if entity in picture.asked else ("1", "")
    about = " · ".join(filter(None, [name, one_line(entity.id), one_line(entity.kind)]))
    return (
        f'<g><title>{escape(about)}</title><rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5" '
        f'fill="{fill}" stroke="#333" stroke-width="{thick}"/>'
        f'<text x="{x + 8}" y="{y + 19}" fill="#1a1a1a"{bold}>{escape(fit(name, _NAME - 2 * bool(bold)))}</text></g>'
    )


def _drawn_arrows(picture: _Picture, marker: str) -> Iterator[str]:
    """The arrows, then their labels over them; each label stands at the end where fewer arrows meet."""
    sides = [side for arrow in picture.arrows for side in _sides(picture, arrow)]
    labels: dict[tuple[Entity, bool], int] = {}
    texts = []
    for arrow in picture.arrows:
        left, right = _sides(picture, arrow)
        colour = _colour(picture, arrow.role)
        names = ", ".join(map(one_line, arrow.names))
        title = f"{one_line(arrow.head.name)} — {names} → {one_line(arrow.tail.name)} ({arrow.role})"
        line = _curve(picture, arrow)
        yield (
            f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="1.4" marker-end="url(#{marker})">'
            f"<title>{escape(title)}</title></path>"
        )
        side = left if sides.count(left) < sides.count(right) else right
        labels[side] = labels.get(side, 0) + 1
        texts.append(_label(picture, side, labels[side], f'fill="{colour}">{escape(fit(names, _LABEL))}'))
    yield from texts


def _sides(picture: _Picture, arrow: _Arrow) -> tuple[tuple[Entity, bool], tuple[Entity, bool]]:
    """Where an arrow meets its boxes, the left one first: (entity, whether at its right side)."""
    first, second = sorted((arrow.head, arrow.tail), key=lambda e: picture.places[e][0])
    return (first, True), (second, picture.places[first][0] == picture.places[second][0])


def _point(picture: _Picture, entity: Entity, *, right: bool) -> tuple[int, int]:
    """The middle of a side of a box."""
    column, y = picture.places[entity]
    return EDGE + column * (WIDTH + GAP) + WIDTH * right, y + HEIGHT // 2


def _curve(picture: _Picture, arrow: _Arrow) -> str:
    """The line from the head to the tail; between boxes of one column it swings out to the right."""
    right = dict(_sides(picture, arrow))
    (x1, y1), (x2, y2) = (_point(picture, e, right=right[e]) for e in (arrow.head, arrow.tail))
    bend1, bend2 = (70 if right[e] else -70 for e in (arrow.head, arrow.tail))
    if arrow.head == arrow.tail:
        return f"M{x1} {y1 - 8}C{x1 + 50} {y1 - 30} {x1 + 50} {y1 + 30} {x1} {y1 + 8}"
    return f"M{x1} {y1}C{x1 + bend1} {y1} {x2 + bend2} {y2} {x2} {y2}"


def _label(picture: _Picture, side: tuple[Entity, bool], nth: int, text: str) -> str:
    """The name of a relation at a side of a box, the next below the last."""
    entity, right = side
    x, y = _point(picture, entity, right=right)
    anchor, x = ("start", x + 10) if right else ("end", x - 12)
    y = y - 4 if nth == 1 else y + 13 * (nth - 1)  # the first above its arrow, the others below
    return (
        f'<text x="{x}" y="{y}" font-size="11" text-anchor="{anchor}" paint-order="stroke" stroke="#fff" '
        f'stroke-width="3" {text}</text>'
    )


def _colour(picture: _Picture, role: Role) -> str:
    """The colour of a role."""
    return _DANGER if role.is_safety else _STROKES[picture.roles.index(role) % len(_STROKES)]


def _legend(picture: _Picture) -> tuple[list[str], int]:
    """What the colours mean, line by line below the picture, and the height of all."""
    kinds = [(f'<rect width="12" height="12" y="-10" fill="{_FILLS[i % len(_FILLS)]}" stroke="#333"/>', kind or "-")
             for i, kind in enumerate(picture.kinds)]  # fmt: skip
    lines = [
        (f'<path d="M0 -4H12" stroke="{_colour(picture, role)}" stroke-width="2"/>', str(role))
        for role in picture.roles
    ]
    rest = [("", f"and {picture.left_out} more entities")] if picture.left_out else []
    x, y, parts = EDGE, picture.height + 14, []
    for mark, name in [*kinds, *lines, *rest]:
        wide = 30 + 7 * min(_columns(name), _LABEL)
        if x > EDGE and x + wide > picture.width:
            x, y = EDGE, y + 18
        text = f'<text x="17" font-size="11" fill="#1a1a1a">{escape(fit(one_line(name), _LABEL))}</text>'
        parts.append(f'<g transform="translate({x} {y})">{mark}{text}</g>')
        x += wide
    return parts, y + EDGE


# --- A run as HTML, for notebooks.


_STYLE = "font-family:sans-serif;font-size:14px;color:#1a1a1a;background:#fff;padding:8px 12px;max-width:70em"
MARK = re.compile(r"\[(\d{1,4})\]")


def to_html(run: Run) -> str:
    """The run as a piece of HTML: question, answer with its marks and doubts, evidence drawn and listed, limits."""
    run = translated_run(run)
    answer, name = run.answer, f"kgmed-{_xml(run.id)}"
    title = '<b style="color:#b42318">No answer</b><br/>' if answer.abstained else ""
    picture = to_svg(run)
    parts = [
        f'<div class="kgmed-run" style="{_STYLE}">',
        f'<p style="color:#555">{_lines(run.question.text)}</p>',
        _list([f"{letter}: {text}" for letter, text in run.question.options], "none"),
        f'<p style="font-size:15px">{title}{_doubts(answer, name, len(run.context.cited))}</p>',
        _list([f"{v.label}: {v.sentence} ({v.reason})" for v in answer.verdicts if _is_apart(v.sentence, answer)]),
        f'<div style="overflow-x:auto">{picture}</div>' if picture else "",
        _table(run.context.cited, name),
        _list([f"Failed on the way: {line}" for line in run.failures] + [f"Note: {line}" for line in run.notes]),
        f"<p><i>{_lines(answer.limits)}</i></p>" if answer.limits else "",
        f'<p style="color:#555;font-size:12px">{_xml(", ".join(filter(None, [run.method, run.graph])))}</p></div>',
    ]
    return "\n".join(filter(None, parts))


def _lines(text: str) -> str:
    """The text with its line breaks."""
    return "<br/>".join(map(_xml, text.splitlines()))


def _is_apart(sentence: str, answer: Answer) -> bool:
    """Whether a verdict is of a doubt about something that the text of the answer does not hold."""
    doubted = any(v.sentence == sentence and not v.supported for v in answer.verdicts)
    return doubted and (not sentence or sentence not in answer.text)


def _doubts(answer: Answer, name: str, cited: int) -> str:
    """The answer, its marks as links, each sentence that is not supported underlined and labelled."""
    doubts: dict[int, Verdict] = {}
    for v in answer.verdicts:
        at = answer.text.find(v.sentence) if v.sentence and not v.supported else -1
        doubts |= dict.fromkeys(range(at, at + len(v.sentence)), v) if at >= 0 else {}
    parts = []
    for doubt, places in groupby(range(len(answer.text)), doubts.get):
        text = _marked("".join(answer.text[i] for i in places), name, cited)
        if doubt is not None:
            colour = _DANGER if doubt.label == "contradicted" else "#8a5a00"
            text = (
                f'<span title="{_xml(doubt.reason)}" style="text-decoration:underline wavy {colour}">{text}</span>'
                f'<sub style="color:{colour}"> {_xml(doubt.label)}</sub>'
            )
        parts.append(text)
    return "".join(parts)


def _marked(text: str, name: str, cited: int) -> str:
    """A part of a text, its marks of evidence as links to their rows; line breaks and spaces at its ends stay."""

    def link(mark: re.Match[str]) -> str:
        return f'<a href="#{name}-{int(mark[1])}">{mark[0]}</a>' if 1 <= int(mark[1]) <= cited else mark[0]

    lines = (
        f"{' ' * line[:1].isspace()}{_xml(line)}{' ' * (line[-1:].isspace() and bool(line.strip()))}"
        for line in re.split(r"\r\n|[\n\r]", text)
    )
    return MARK.sub(link, "<br/>".join(lines))


def _list(lines: Sequence[str], style: str = "disc") -> str:
    """A list of lines; "" where there are none."""
    items = "".join(f"<li>{_lines(line)}</li>" for line in lines)
    return f'<ul style="list-style:{style};margin:4px 0">{items}</ul>' if items else ""


def _table(cited: Sequence[Evidence], name: str) -> str:
    """The evidence, numbered as the marks are."""
    rows = [
        f'<tr id="{name}-{i}"><td>{i}</td><td style="text-align:left">{_xml(e.text)}</td>'
        f"<td>{_xml(', '.join(dict.fromkeys(t.relation.role for t in e.triples)))}</td>"
        f'<td style="text-align:left">{_xml(", ".join(e.sources))}</td></tr>'
        for i, e in enumerate(cited[:MOST_ROWS], start=1)
    ]
    more = len(cited) - len(rows)
    rows += [f"<tr><td></td><td>and {more} more</td><td></td><td></td></tr>"] if more else []
    head = "<tr><th>#</th><th>evidence</th><th>role</th><th>source</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>" if rows else ""


# --- A run as Markdown, for pages that show no HTML.


def to_markdown(run: Run) -> str:
    """The answer, then the numbered evidence as a table."""
    run = translated_run(run)
    rows = [
        f"| {i} | {_cell(e.text)} | {_cell(', '.join(e.sources))} |" for i, e in enumerate(run.context.cited, start=1)
    ]
    table = ["| # | evidence | source |", "|---|---|---|", *rows] if rows else []
    return "\n".join([_unmarked(run.answer.text), "", *table, "", f"*{_unmarked(run.answer.limits)}*"])


def _unmarked(text: str) -> str:
    """The text without the beginnings of HTML."""
    return text.replace("<", "&lt;")


def _cell(text: str) -> str:
    """The text as one cell of a Markdown table."""
    return _unmarked(" ".join(text.split())).replace("|", "\\|")


# --- A run's evidence for pandas and networkx.


def to_pandas(run: Run) -> pandas.DataFrame:
    """See `Run.table`."""
    rows = [
        {"number": i, "head": t.head.name, "head_id": t.head.id, "relation": t.relation.name,
         "role": t.relation.role.value, "tail": t.tail.name, "tail_id": t.tail.id, "weight": t.weight,
         "source": t.source, "references": "; ".join(t.references), "cited": i in run.answer.citations}
        for i, evidence in enumerate(run.context.cited, start=1) for t in evidence.triples
    ]  # fmt: skip
    return table(rows)


def table(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    """Rows as a table of pandas; raises `Unavailable` without it."""
    try:
        import pandas
    except ImportError:
        raise Unavailable('a table needs pandas: pip install "kgmed[graphs]"') from None
    return pandas.DataFrame(list(rows))


def to_networkx(run: Run, *, cited: bool = True) -> networkx.MultiDiGraph:
    """See `Run.evidence_graph`."""
    try:
        import networkx
    except ImportError:
        raise Unavailable('the graph of a run\'s evidence needs networkx: pip install "kgmed[graphs]"') from None
    numbers: dict[Triple, list[int]] = {}
    for i, evidence in enumerate(run.context.cited, start=1):
        for t in evidence.triples:
            numbers.setdefault(t, []).append(i)
    triples = list(numbers) if cited else [*numbers, *(t for e in run.evidence for t in e.triples if t not in numbers)]
    asked = {link.entity for link in run.links}
    graph = networkx.MultiDiGraph(question=run.question.text, run=run.id, graph=run.graph)
    for t in dict.fromkeys(triples):
        for e in (t.head, t.tail):
            graph.add_node(e.id or e.name, name=e.name, kind=e.kind, description=e.description, asked=e in asked)
        graph.add_edge(
            t.head.id or t.head.name, t.tail.id or t.tail.name, relation=t.relation.name, role=t.relation.role.value,
            reverse=t.relation.reverse, weight=t.weight, source=t.source, references=[*t.references],
            citations=numbers.get(t, []),
        )  # fmt: skip
    return graph
