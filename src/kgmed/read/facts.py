"""Reader without a model: the answer is the evidence itself, grouped and cited."""

from collections.abc import Iterable, Sequence

from kgmed.asks import OF_THE_SUBJECT, asks
from kgmed.read.words import Words, words_for
from kgmed.types import Answer, Candidate, Context, Evidence, Query, Role

Numbered = tuple[int, Evidence]


def facts(query: Query, context: Context) -> Answer:
    """The ranked evidence as an answer: candidates first, then what else the graph says, then warnings.

    Every line ends in its marker [i]. Without evidence, or with nothing but warnings, it abstains.
    """
    words = words_for(query.text)
    rows = list(enumerate(context.cited, start=1))
    said = [row for row in rows if row[1].kind != "warning"]
    if not said:
        return Answer(words["nothing"], abstained=True, limits=words["limits"], reader="facts")
    options = [row for row in said if row[1].kind == "option"]
    candidates = [row for row in said if row[1].kind == "candidate"]
    choices, verdict = _choose(options, query, words) if query.question.options else ((), [])
    rest = [row for row in said if row[1].kind not in ("candidate", "option")]
    blocks = [
        verdict,
        *(_block(heading, group) for heading, group in _by_role(candidates, query, words)),
        _block(words["neighbours"], rest),
        _block(words["warning"], [row for row in rows if row[1].kind == "warning"]),
        _nothing_on(query, said, words),
    ]
    return Answer(
        "\n\n".join("\n".join(lines) for lines in blocks if lines),
        citations=tuple(i for i, _ in rows),
        candidates=tuple(_candidates(candidates or options)),
        choices=choices,
        abstained=bool(query.question.options) and not choices,
        limits=words["limits"],
        reader="facts",
    )


def _nothing_on(query: Query, rows: Sequence[Numbered], words: Words) -> list[str]:
    """A line for what the question asks for and no evidence speaks of."""
    if query.question.options or any(e.kind == "candidate" for _, e in rows):
        return []
    lacking = [words[role] for role in asks(query.text) if not any(_speaks_of(e, role) for _, e in rows)]
    return [f"{words['unknown']}: {', '.join(lacking)}"] if lacking else []


def _speaks_of(e: Evidence, role: Role) -> bool:
    """Whether a piece of evidence holds a triple of a role, the right way round where that matters."""
    return any(t.relation.role is role and (role not in OF_THE_SUBJECT or t.subject in e.about) for t in e.triples)


def _by_role(rows: Sequence[Numbered], query: Query, words: Words) -> Iterable[tuple[str, list[Numbered]]]:
    """The candidates under a heading for each role that the question asks for; the rest are diagnoses."""
    groups: dict[str, list[Numbered]] = {}
    asked = asks(query.text)
    for i, e in rows:
        roles = {t.relation.role for t in e.triples if e.about and e.about[0] in (t.head, t.tail)}
        named = [role for role in asked if role in roles]
        diagnosis = roles & {Role.FINDING, Role.EXCLUDES} and e.about[0].kind == "disease"
        heading = words["diagnosis"] if diagnosis else words[named[0]] if named else words["candidates"]
        groups.setdefault(heading, []).append((i, e))
    return groups.items()


def _block(heading: str, rows: Sequence[Numbered]) -> list[str]:
    """A heading and a line for each piece of evidence, with its marker."""
    colon = "：" if heading[:1] > "\u2e80" else ":"
    return [heading + colon, *(f"- {e.text} [{i}]" for i, e in rows)] if rows else []


def _choose(rows: Sequence[Numbered], query: Query, words: Words) -> tuple[tuple[str, ...], list[str]]:
    """The letter whose ties weigh most, with its ties; none where two weigh the same."""
    weight: dict[str, float] = {}
    for _, e in rows:
        weight[e.id] = weight.get(e.id, 0.0) + e.score
    top = [letter for letter, w in weight.items() if w == max(weight.values())]
    if len(top) != 1:
        return (), [words["tie"] if top else words["nothing"], *_block(words["neighbours"], rows)]
    text = dict(query.question.options)[top[0]]
    mine = [row for row in rows if row[1].id == top[0]]
    others = [row for row in rows if row[1].id != top[0]]
    lines = _block(f"{words['option']} {top[0]} ({text})", mine)
    return (top[0],), [*lines, *_block(words["neighbours"], others)]


def _candidates(rows: Sequence[Numbered]) -> Iterable[Candidate]:
    """One candidate an entity or option, with the numbers of its evidence, in the order of the evidence."""
    numbers: dict[str, list[int]] = {}
    first: dict[str, Evidence] = {}
    for i, e in rows:
        name = e.id if e.kind == "option" else e.about[0].name
        numbers.setdefault(name, []).append(i)
        first.setdefault(name, e)
    for name, e in first.items():
        entity = None if e.kind == "option" else e.about[0]
        yield Candidate(name, e.score, entity, tuple(numbers[name]))
