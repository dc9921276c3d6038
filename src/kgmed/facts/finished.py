"""What is done to a run before anybody sees it: the call for help first, its numbers in the order of appearance."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from kgmed.frame import Frame, Intent
from kgmed.language.text import language_of, lazily
from kgmed.question.emergency import ALONE, NO_MEDICINES, emergency, helped
from kgmed.records import NOT_FOR, Role, Run
from kgmed.sentences import catalogue
from kgmed.steps.phrase import Numbered

if TYPE_CHECKING:
    from kgmed.toolkit import RemoteToolkit, Toolkit

_MARK = lazily(r"\[(\d+)\]")
_END = ".!?;。！？； "


def finished(run: Run, toolkit: "Toolkit | RemoteToolkit | None" = None) -> Run:
    """The run with the call for help where the question tells an emergency, marks in order, and its limits.

    Below what a model wrote stands which of the medicines in its text are not for who is asked about, by the graph of
    `toolkit` or by the vocabulary alone; not of sentences that only warn of them.
    """
    return _with_limits(_help_first(_not_for_patient(_in_order(run), toolkit)))


def _not_for_patient(run: Run, toolkit: "Toolkit | RemoteToolkit | None") -> Run:
    """The run, below a model's text the medicines that are not for the patient."""
    answer, frame = run.answer, run.query.frame
    gated = frame != Frame() and not run.failures  # else facts that are read because a model failed
    gated = answer.reader == "facts" and (gated or any(e.id == NOT_FOR for e in run.context.cited))
    if gated or answer.reader == "none" or run.question.options or not answer.text:
        return run
    from kgmed.facts.safety import NamedAgainst  # these are read in where a model tells of medicines
    from kgmed.models.replies import without_marks
    from kgmed.question.understand import read_outright
    from kgmed.toolkit import Toolkit

    against = NamedAgainst(toolkit.graph, toolkit.linked) if isinstance(toolkit, Toolkit) else NamedAgainst()
    if toolkit is not None and frame == Frame():  # of a method that does not read whom a question is about
        frame = read_outright(toolkit.understand, run.query, against.link)
    text = answer.text
    for verdict in (v for v in answer.verdicts if not v.offers):
        text = without_marks(text).replace(without_marks(verdict.sentence).strip().rstrip(_END), " ")
    held = {e for piece in run.context.cited for t in piece.triples for e in (t.head, t.tail)}
    below = against(frame, text, *sorted(held, key=lambda e: e.name))
    return replace(run, answer=replace(answer, text=f"{answer.text}\n{below}")) if below else run


def _with_limits(run: Run) -> Run:
    """The run, what an answer of a model is among its limits."""
    answer = run.answer
    if answer.reader in ("", "none", "facts"):  # the reader of facts says it itself
        return run
    said = catalogue(language_of(run.question))("label.limits")
    return replace(run, answer=replace(answer, limits="; ".join(filter(None, [answer.limits, said]))))


def _in_order(run: Run) -> Run:
    """The run, what its text cites moved to the front of its context and numbered as it stands in the text.

    Only of an answer that is made of the facts, whose context is a line for each piece of evidence.
    """
    answer, context = run.answer, run.context
    plain = Numbered()(run.query, context.cited)
    if answer.reader != "facts" or context.text != plain.text:
        return run
    shown = [n for n in dict.fromkeys(int(n) for n in _MARK.findall(answer.text)) if 0 < n <= len(context.cited)]
    order = list(dict.fromkeys([*shown, *answer.citations, *range(1, len(context.cited) + 1)]))
    place = {number: i for i, number in enumerate(order, start=1)}

    def renumbered(mark: re.Match[str]) -> str:
        return f"[{place.get(int(mark[1]), int(mark[1]))}]"

    cited = Numbered()(run.query, [context.cited[n - 1] for n in order])
    mine = tuple(replace(c, citations=tuple(sorted(place[n] for n in c.citations))) for c in answer.candidates)
    answer = replace(
        answer,
        text=_MARK.sub(renumbered, answer.text),
        citations=tuple(sorted(place[n] for n in answer.citations)),
        candidates=mine,
    )
    return replace(run, answer=answer, context=replace(cited, notes=context.notes))


def _help_first(run: Run) -> Run:
    """The run, its text beginning with the call for help where the question tells an emergency.

    What a graph lists takes the call back: of a wish to die, of what was swallowed, of no breath and of a weak side it
    is left out of the text, and of a bite or a blocked bowel, unless diseases were asked for, what is given for it and
    that nothing is known; it stays in the evidence.
    """
    answer, text = run.answer, run.question.text
    said = emergency(text)
    if said is None or run.question.options or answer.reader == "none":
        return run
    first = helped(text)
    asked = run.query.frame
    alone = said.kind in ALONE or (
        said.kind in NO_MEDICINES
        and (answer.abstained or Role.TREATS in asked.roles)
        and Intent.DIAGNOSIS not in asked.intents
    )
    if alone and answer.reader == "facts":
        return replace(run, answer=replace(answer, text=first, citations=(), abstained=False))
    return replace(run, answer=replace(answer, text=f"{first}\n{answer.text}"))
