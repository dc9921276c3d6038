"""Words of asking that are spelled with one slip ("symtoms", "treatmnet"), read as they are meant."""

import re
from functools import lru_cache

_ASKING = frozenset(
    """
    symptom symptoms treatment treatments treated treating effects diagnosis diagnosed diagnose medicine medicines
    medication medications complication complications contraindication contraindications contraindicated inheritance
    inherited hereditary interaction interactions interact interacts dosage dosages prevention prevent therapy therapies
    remedy remedies causes difference differences pregnancy pregnant disease diseases syndrome breastfeeding
    definition prognosis examination investigations antibiotics manifestations department specialist mutation mutations
    """.split()  # noqa: SIM905
)
_OTHERS = frozenset({"caused", "present", "presents", "prevents", "diagnoses", "diseased", "interacted", "therapist"})
_SHORTEST = 5  # letters of a word that is looked at; words of asking have six or more
_WORD = re.compile(r"[A-Za-z]+")


class Spelled:
    """A text with its words of asking as they are meant.

    Attributes:
        text: The text.
        places: Where each character of `text`, and its end, stands in the text as it was written.
    """

    def __init__(self, written: str) -> None:
        """Read what is written."""
        parts, self.places, at = [], list[int](), 0
        for found in _WORD.finditer(written):
            meant = _meant(found[0])
            if meant == found[0]:
                continue
            parts += [written[at : found.start()], meant]
            self.places += range(at, found.start())
            self.places += (min(found.start() + i, found.end() - 1) for i in range(len(meant)))
            at = found.end()
        self.places += range(at, len(written) + 1)
        self.text = "".join([*parts, written[at:]])


@lru_cache(maxsize=1024)
def spelled(text: str) -> str:
    """A text with its words of asking as they are meant.

    >>> spelled("asprin side efects and symtoms at present")
    'asprin side effects and symptoms at present'
    """
    return Spelled(text).text


@lru_cache(maxsize=4096)
def _meant(word: str) -> str:
    """The word of asking that a word is one slip from, with the same first letter; else the word."""
    plain = word.lower()
    if len(plain) < _SHORTEST or plain in _ASKING or plain in _OTHERS:
        return word
    return next((w for w in sorted(_ASKING) if w[0] == plain[0] and _one_slip(plain, w)), word)


def _one_slip(one: str, other: str) -> bool:
    """Whether one letter was left out, added, changed or changed places with the next.

    >>> _one_slip("treatmnet", "treatment"), _one_slip("efects", "effects"), _one_slip("fx", "effects")
    (True, True, False)
    """
    if abs(len(one) - len(other)) > 1:
        return False
    short = min(len(one), len(other))
    begin = next((i for i in range(short) if one[i] != other[i]), short)
    left = short - begin
    end = next((i for i in range(left) if one[-1 - i] != other[-1 - i]), left)
    a, b = one[begin : len(one) - end], other[begin : len(other) - end]
    return max(len(a), len(b)) <= 1 or (len(a) == len(b) == 2 and a == b[::-1])
