"""What is done to a run before anybody sees it: the call for help first, its numbers in the order of appearance."""

import re
from dataclasses import replace

from kgmed.language.lay import NO_MEDICINES, SELF_HARM, emergency, helped
from kgmed.language.question import asks_diagnosis, roles_asked
from kgmed.language.text import lazily
from kgmed.records import Role, Run
from kgmed.steps.phrase import Numbered

_MARK = lazily(r"\[(\d+)\]")


def finished(run: Run) -> Run:
    """The run with the call for help where the question tells an emergency, and its marks [1], [2], ... in order."""
    return _help_first(_in_order(run))


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

    Of a wish to die the facts that a graph lists (its definition, rare diseases, medicines) are left out of the text,
    unless diseases were asked for, and of a bite or a blocked bowel what is given for it and that nothing is known;
    they stay in the evidence.
    """
    answer, said = run.answer, emergency(run.question.text)
    if said is None or run.question.options or answer.reader == "none":
        return run
    first = helped(run.question.text)
    alone = said.kind == SELF_HARM or (
        said.kind in NO_MEDICINES and (answer.abstained or Role.TREATS in roles_asked(run.question.text))
    )
    if alone and answer.reader == "facts" and not asks_diagnosis(run.question.text):
        return replace(run, answer=replace(answer, text=first, citations=(), abstained=False))
    return replace(run, answer=replace(answer, text=f"{first}\n{answer.text}"))
