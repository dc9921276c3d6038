"""What a text denies and whose a finding is: denied, another person's, past or supposed, by trigger words.

A trigger before denies what follows it, one after denies what precedes it, to the end of the clause or to a word that
begins a new statement. A trigger inside a found name ("No tears", 无尿) is part of the name and denies nothing.

The triggers of whose it is reach to the end of their clause too. Another person's finding is no
evidence about the patient ("her mother had breast cancer"), but where a question names nothing else it is about that.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import accumulate

from kgmed.language.text import lazily, pattern_of
from kgmed.records import Link, Mention, Status
from kgmed.stop import check_stop

# Which stretches of a text are denied there, by trigger words and their reach (after NegEx, Chapman et al. 2001).

_SENTENCE = lazily(r"[^.!?;。！？；\n]+(?:\.(?=\d)[^.!?;。！？；\n]+)*|.", re.DOTALL)
_pattern = partial(pattern_of, __name__)


def negated(text: str, places: Sequence[tuple[int, int]]) -> list[bool]:
    """For each place (start, end) of a found name whether the text denies it.

    >>> text = "No fever or cough, but a rash; pneumonia was ruled out."
    >>> [negated(text, [(text.index(w), text.index(w) + len(w))])[0] for w in ("fever", "cough", "rash", "pneumonia")]
    [True, True, False, True]
    """
    taken = Spans(places)
    denied = Spans([reach for m in _SENTENCE.finditer(text) for reach in _reaches(m, taken)])
    return [denied.hold(start, end) or _is_not(text, start) for start, end in places]


def _is_not(text: str, start: int) -> bool:
    """Whether what begins at a place is denied right before it, and not asked for as "fever or not"."""
    return text[max(start - 1, 0) : start] == "不" and text[max(start - 2, 0) : start - 1] != text[start : start + 1]


class Spans:
    """Stretches (start, end) of a text, asked of others whether they meet or lie within one of them."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        """Sort them, with the furthest end so far of each."""
        ordered = sorted(spans)
        self._starts = [a for a, _ in ordered]
        self._furthest = list(accumulate((b for _, b in ordered), max))

    def meet(self, start: int, end: int) -> bool:
        """Whether one overlaps the stretch.

        >>> Spans([(2, 4)]).meet(3, 9), Spans([(2, 4)]).meet(4, 9)
        (True, False)
        """
        before = bisect_left(self._starts, end)
        return before > 0 and self._furthest[before - 1] > start

    def hold(self, start: int, end: int) -> bool:
        """Whether one holds the whole stretch.

        >>> Spans([(2, 9), (3, 4)]).hold(4, 9), Spans([(2, 4)]).hold(3, 5)
        (True, False)
        """
        before = bisect_right(self._starts, start)
        return before > 0 and self._furthest[before - 1] >= end


def _reaches(sentence: re.Match[str], taken: Spans) -> Iterator[tuple[int, int]]:
    """The denied stretches of a sentence, as places in the whole text."""
    check_stop()
    text, offset = sentence.group(), sentence.start()
    for reach, triggers in zip((_forward, _backward), _triggers(text), strict=True):
        acts = [m for m in triggers if not taken.meet(m.start() + offset, m.end() + offset)]
        yield from ((a + offset, b + offset) for a, b in reach(text, acts)) if acts else ()


@lru_cache(maxsize=256)
def _triggers(text: str) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """What in a sentence denies what stands behind it, and what stands before it; one that is repeated is read once."""
    behind, before = ([*_pattern(name).finditer(text)] for name in ("denies_behind", "denies_before"))
    pseudo = Spans([m.span() for m in _pattern("pseudo").finditer(text)] if behind or before else [])
    return (
        [m for m in behind if not pseudo.meet(*m.span())],
        [m for m in before if not (m["idle"] or pseudo.meet(*m.span()))],
    )


def _forward(text: str, triggers: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """What each trigger denies behind it: all up to a new statement, or a Chinese comma, or the sentence's end."""
    ends = [m.start() for m in _pattern("new_from").finditer(text)]
    for m in triggers:
        place = bisect_left(ends, m.end())
        yield m.end(), ends[place] if place < len(ends) else len(text)


def _backward(text: str, triggers: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """What each trigger denies before it.

    Of one thing ("X was ruled out") it is what follows the last comma or "and"; of several ("X, Y and Z were
    absent") all since the last new statement.
    """
    new = [0, *(m.end() for m in _pattern("ended").finditer(text))]
    parted = [0, *(m.end() for m in _pattern("parted").finditer(text))]
    for m in triggers:
        starts = new[bisect_right(new, m.start()) - 1], parted[bisect_right(parted, m.start()) - 1]
        yield starts[0] if m["many"] else max(starts), m.start()


# Whose a finding is and when it was: the patient's, another person's, past, or only supposed, by trigger words.


def marked(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions with what the text says of each: another person's, uncertain or past, in this order.

    >>> from kgmed.records import Mention
    >>> text = "Her mother had gout. She has a history of asthma and possible flu."
    >>> found = [Mention(w, w, text.index(w), text.index(w) + len(w)) for w in ("gout", "asthma", "flu")]
    >>> [m.status.value for m in marked(text, found)]
    ['other person', 'past', 'uncertain']
    """
    if not mentions:
        return []
    ends, parts = (
        [m.start() for m in _pattern("ends").finditer(text)],
        [0, *(m.end() for m in _pattern("parts").finditer(text))],
    )
    other = [_pattern("other"), _pattern("other_beside_me")] if _pattern("self").search(text) else [_pattern("other")]
    reaches = {
        Status.OTHER: [*_behind(text, other, ends), *_before(text, _pattern("other_before"), parts)],
        Status.UNCERTAIN: [*_behind(text, [_pattern("uncertain")], ends)],
        Status.PAST: [*_behind(text, [_pattern("past")], ends), *_before(text, _pattern("past_before"), parts)],
    }
    said = {status: Spans(spans) for status, spans in reaches.items()}
    return [
        replace(m, status=next((s for s, at in said.items() if at.hold(m.start, m.end)), m.status)) for m in mentions
    ]


def of_patient(links: Sequence[Link]) -> list[Link]:
    """The links without other people's findings; all of them where nothing else is named: then they are asked about."""
    return [link for link in links if link.mention.status is not Status.OTHER] or list(links)


def _behind(text: str, triggers: Sequence[re.Pattern[str]], ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From each trigger to the end of its clause."""
    for m in (m for trigger in triggers for m in trigger.finditer(text)):
        place = bisect_left(ends, m.end())
        yield m.end(), ends[place] if place < len(ends) else len(text)


def _before(text: str, trigger: re.Pattern[str], parts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From the comma or "and" before each trigger up to it."""
    yield from ((parts[bisect_right(parts, m.start()) - 1], m.start()) for m in trigger.finditer(text))
