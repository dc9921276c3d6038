"""A text as sentences, and a sentence as terms, numbers and denials that can be compared with those of another text."""

import re
import unicodedata

from kgmed.language.text import has_cjk, normalise, singular
from kgmed.models.replies import marks, without_marks
from kgmed.stop import check_stop

_SENTENCE = re.compile(r"[^.!?。！？；\n]+(?:[.!?](?!\s|$)[^.!?。！？；\n]*)*[.!?。！？；]*\n?")
_BULLET = re.compile(r"^[^\S\n]*+(?:\d{1,2}[.)、]|[-*•])\s+", re.MULTILINE)
_LONGEST_ABBREVIATED = 8  # characters, with what stands before it
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|vs|approx|Dr|Mr|Mrs|Prof|cf|etc|spp?|No|Fig)\.$")
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d+(?:\.\d+)?")
_ENDING = re.compile(r"(?<=\w{4})(?:ations?|ances?|ments?|ing|ed|ly)$")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_DENIES = re.compile(
    r"\b(?:not|never|no|without|neither|nor|avoid\w*|cannot|exclud\w+|contraindicat\w+|unless|except)\b|n['’]t\b"
    r"|不能|不可|不宜|不应|不得|不要|不会|不是|不用|没有|未见|并非|无关|无需|禁用|禁忌|禁止|忌|避免|勿|慎用|排除",
    re.IGNORECASE,
)
_CLAIMING = re.compile(
    r"\b(?:treat\w*|therap\w*|cur(?:e[sd]?|ing|ative)|drugs?|medic(?:ations?|ines?)"
    r"|caus(?:e[sd]?|ing|ative)|due to|leads? to|leading to|results? in|induc\w+)\b"
    r"|治疗|治愈|疗法|药物|用药|引起|导致|引发|造成|致病",
    re.IGNORECASE,
)
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about also am an and answer any are as at be been being but by can could did do does each evidence for from
        given had has have he her his how if in into is it its known like may might more most of on one or other our
        patient people person possible question shall she should so some such than that the their them then there
        these they this those to very was we were what when where which who why will with would you your
        affect answer associated called characterized common commonly condition disease disorder help include including
        make must often take taken type use used usual usually""",
    )
)
_EMPTY_CHARACTERS = re.compile(
    r"可以用?|可能|可用|能用|选用|服用|采用|以及|或者|因为|所以|如果|这个|这种|这些|他们|患者|病人|证据|应该|什么|怎么|如何|根据|通过|进行|使用|用于|[的了是在和与或及有被把对于为而也都就等您你我他她它吗呢吧请]"
)


def sentences(text: str) -> list[str]:
    """The sentences of a text; marks after a full stop belong to the sentence before them; bullets are left out.

    >>> sentences("Give 2.5 mg, e.g. at night. [1] Rest!\\n多休息。【2】多喝水。")
    ['Give 2.5 mg, e.g. at night. [1]', 'Rest!', '多休息。【2】', '多喝水。']
    """
    found: list[list[str]] = []  # sentences by their pieces, joined once
    cjk = False
    for piece in (m[0].strip() for m in _SENTENCE.finditer(_BULLET.sub("", text))):
        check_stop()
        lead = _leading_marks(piece) if found else ""
        if lead:
            cjk = cjk or has_cjk(found[-1][-1])
            found[-1] += ["" if cjk else " ", lead]
        rest = piece[len(lead) :].strip()
        if found and not lead and _is_abbreviated(found[-1][-1]):
            cjk = cjk or has_cjk(found[-1][-1])
            found[-1] += [" ", rest]
        elif rest:
            found.append([rest])
            cjk = False
    return [s for s in map("".join, found) if re.search(r"\w", without_marks(s))]


def _is_abbreviated(piece: str) -> bool:
    """Whether it ends in an abbreviation, and not in a full stop."""
    return _ABBREVIATED.search(piece, max(len(piece) - _LONGEST_ABBREVIATED, 0)) is not None


def _leading_marks(piece: str) -> str:
    """The marks that a piece begins with."""
    match = re.match(r"(?:\s*[\[【［〔][^\]】］〕]*[\]】］〕])+", piece)
    return match[0] if match and marks(match[0]) and not re.search(r"\w", without_marks(match[0])) else ""


def terms(text: str) -> frozenset[str]:
    """The content words of a text, without endings, and the pairs of characters of its Chinese parts.

    Words that say what is claimed of them (treats, causes, not) are no terms.

    >>> sorted(terms("The patients may have Seizures of 38.5 °C")), sorted(terms("可以用奥美拉唑"))
    (['38.5', 'c', 'seizure'], ['奥美', '拉唑', '美拉'])
    """
    plain = normalise(_CLAIMING.sub(" ", _DENIES.sub(" ", text)))
    words = {_ENDING.sub("", singular(w)) for w in _CJK_RUN.sub(" ", plain).split() if w not in _EMPTY_WORDS}
    runs = _CJK_RUN.findall(_EMPTY_CHARACTERS.sub(" ", plain))
    pairs = {run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))}
    return frozenset((words - _EMPTY_WORDS) | pairs)


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text, as written, apart from those inside a word.

    >>> sorted(numbers_in("0.5 mg of vitamin B12, 一次3片"))
    ['0.5', '3']
    """
    return frozenset(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


def denies(text: str) -> bool:
    """Whether the text says "not", warns, or forbids.

    >>> denies("Not in pregnancy"), denies("孕妇禁用"), denies("消化不良"), denies("Normal knot")
    (True, True, False, False)
    """
    return _DENIES.search(text) is not None
