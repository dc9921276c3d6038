"""Which of a closed list of names a text holds, in any language: whole words, the longest first, any width or case."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kgmed.errors import BadInput
from kgmed.kg.text import fold_word
from kgmed.kg.tokens import tokens
from kgmed.recognize.negation import negated
from kgmed.reward.cases import Case
from kgmed.types import Question

_NOT = re.compile(
    r"(?:\bnot|n['’]t|\bneither|\bnor|\brather than|\binstead of)(?: (?:be|a|an|the|likely|due to|caused by))*\s*$"
    r"|(?:不是|不像|不似|并非|不考虑|不符合|不支持|而非)\s*$",
    re.IGNORECASE,
)
_REACH = 40  # characters before a name in which it may be denied


class Found(NamedTuple):
    """A place in a text and what is meant there: one name, or several that are spelled the same."""

    names: frozenset[str]
    start: int
    end: int
    denied: bool


@dataclass(frozen=True, eq=False)
class NamesIn:
    """Finds names and their aliases. A Chinese name may stand in a longer word, an English one only as whole words."""

    aliases: Mapping[str, Sequence[str]]  # name -> its other names
    _index: dict[tuple[str, ...], set[str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Index the names by their words; raises `BadInput` for one without any."""
        for name, others in self.aliases.items():
            for text in (name, *others):
                key = tuple(fold_word(t.text) for t in tokens(text))
                if not key:
                    raise BadInput(f"the name {text!r} holds no word that could be found in a text")
                self._index.setdefault(key, set()).add(name)

    def __call__(self, text: str) -> list[Found]:
        """The names in the text, in order, none inside another.

        >>> both = NamesIn({"肺炎": ["pneumonia"], "支气管肺炎": ["bronchial pneumonia"]})
        >>> [sorted(f.names) for f in both("Bronchial Pneumonia，不是肺炎。")]
        [['支气管肺炎'], ['肺炎']]
        """
        words = tokens(text)
        keys = [fold_word(t.text) for t in words]
        longest = max(map(len, self._index), default=0)
        spans: list[tuple[int, int]] = []
        at = 0
        while at < len(words):
            ends = range(min(at + longest, len(words)), at, -1)
            end = next((e for e in ends if tuple(keys[at:e]) in self._index), at)
            spans += [(at, end)] if end > at else []
            at = max(end, at + 1)
        places = [(words[a].start, words[b - 1].end) for a, b in spans]
        denied = [no or _is_denied(text, a) for no, (a, _) in zip(negated(text, places), places, strict=True)]
        names = [frozenset(self._index[tuple(keys[a:b])]) for a, b in spans]
        return [Found(n, a, b, no) for n, (a, b), no in zip(names, places, denied, strict=True)]


def _is_denied(text: str, start: int) -> bool:
    """Whether the words right before a name say that it is not what is meant ("it is not flu").

    >>> [_is_denied(t, t.index("flu")) for t in ("not a flu", "not only a flu", "It isn't flu", "notable flu")]
    [True, False, True, False]
    """
    return _NOT.search(text, max(start - _REACH, 0), start) is not None


CaseOf = Callable[[str], Case | None]


def case_in(symptoms: NamesIn) -> CaseOf:
    """A function from a question to the case of the symptoms named and denied in it; None where there is none.

    A symptom both named and denied is unsure. Give prompts that also name other things (lists of diseases) to a
    function of your own, such as the `get` of a dict from prompt to case.
    """

    def case_of(text: str) -> Case | None:
        found = [(name, f.denied) for f in symptoms(text) for name in sorted(f.names)]
        there, denied = ({name for name, no in found if no is sign} for sign in (False, True))
        order = dict.fromkeys(name for name, _ in found)
        positive, negative = tuple(n for n in order if n not in denied), tuple(n for n in order if n not in there)
        unsure = tuple(n for n in order if n in there and n in denied)
        return Case("", positive, negative, unsure) if found else None

    return case_of


def text_of(question: Question | str) -> str:
    """The text of a question."""
    return question if isinstance(question, str) else question.text
