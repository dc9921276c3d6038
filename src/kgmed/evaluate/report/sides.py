"""A question with what each method answered, and the evidence it stood on, side by side."""

from kgmed.evaluate import scores
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import Entry, Job
from kgmed.evaluate.report.study import Study
from kgmed.evaluate.report.table import shown
from kgmed.evaluate.report.text import bidi, html
from kgmed.types import Evidence, Run

MOST, PIECES, LETTERS = 20, 8, 700  # questions, pieces of evidence of each, characters of a text


def divided(study: Study, *, most: int = MOST) -> str:
    """The questions that methods disagree on most, each folded; of several seeds the first."""
    items = {item.question.id: item for item in study.plan.items}
    found = scores.disagreements(study.found, study.plan, study.main)
    if not found:
        return '<p class="note">All methods are scored alike on every question.</p>\n'
    n = len(study.plan.items)
    seeds = f" Of several seeds the answer of the first ({study.plan.seeds[0]})." if len(study.plan.seeds) > 1 else ""
    begin = f'<p class="note">{len(found)} of {n} questions are not scored alike by {html(study.main.name)}; '
    shown_here = f"the {min(most, len(found))} most divided are here, all in the tables.{seeds}</p>\n"
    return begin + shown_here + "".join(_question(study, items[name], told) for name, told in found[:most])


def _question(study: Study, item: Item, told: dict[str, float]) -> str:
    """One question, folded."""
    best = max(told.values()) if study.main.higher else min(told.values())
    good = sum(score == best for score in told.values())
    head = f"{_short(item.question.text, 110)} <span class='note'>{good} of {len(told)} best</span>"
    sides = "".join(_side(study, method, item, told.get(method), best) for method in study.plan.methods)
    return f"<details><summary>{head}</summary>\n{_asked(item)}<div class='sides'>\n{sides}</div></details>\n"


def _asked(item: Item) -> str:
    """The question in full, its options and what is right."""
    right = set(item.gold.choices)
    options = "".join(
        f'<li value="{i}" class="{"right" if letter in right else ""}">{html(letter)}: {bidi(text)}</li>'
        for i, (letter, text) in enumerate(item.question.options, start=1)
    )
    listed = f'<ul style="list-style:none;padding-left:1rem">{options}</ul>' if options else ""
    texts = [f"<p><strong>Reference:</strong> {_short(t, LETTERS)}</p>" for t in item.gold.texts[:1]]
    names = "; ".join(bidi(name) for name in item.gold.entities[:20])
    texts += [f"<p><strong>Names that are right:</strong> {names}</p>"] if names else []
    about = f'<p class="note">{bidi(item.question.id)}</p>'
    return f'{about}<p class="question">{_short(item.question.text, 3 * LETTERS)}</p>{listed}{"".join(texts)}\n'


def _side(study: Study, method: str, item: Item, score: float | None, best: float) -> str:
    """What one method made of it."""
    entry = study.found.get(Job(method, item.question.id, study.plan.seeds[0]), Entry(Job(method, ""), error="not run"))
    kind = "best" if score == best else "worst"
    head = f'<h4>{html(method)} <span class="{kind}">{html(shown(score))}</span></h4>'
    body = _run(entry.run) if entry.run else f'<p class="failed">failed: {_short(entry.error, LETTERS)}</p>'
    return f'<section class="side">{head}{body}</section>\n'


def _run(run: Run) -> str:
    """The answer, then the evidence."""
    chosen = f"<p><strong>{html(', '.join(run.answer.choices))}</strong></p>" if run.answer.choices else ""
    said = f"<p>{_short(run.answer.text, LETTERS) or '(nothing)'}</p>"
    pieces = run.context.cited
    listed = "".join(f"<li>{_piece(piece)}</li>" for piece in pieces[:PIECES])
    more = f'<p class="note">and {len(pieces) - PIECES} more</p>' if len(pieces) > PIECES else ""
    return f"{chosen}{said}<p class='note'>evidence: {len(pieces)}</p><ol>{listed}</ol>{more}"


def _piece(piece: Evidence) -> str:
    """A piece of evidence with its sources."""
    found = dict.fromkeys(s for t in piece.triples for s in (t.source, *t.references) if s)
    sources = f" <span class='note'>{bidi(', '.join(list(found)[:4]))}</span>" if found else ""
    return f"{_short(piece.text, 240)}{sources}"


def _short(text: str, most: int) -> str:
    """The text for the page, cut where it is long."""
    return bidi(text if len(text) <= most else f"{text[:most]}…")
