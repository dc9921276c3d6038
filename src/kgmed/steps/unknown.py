"""Names that a question asks about and the graph does not have: of these nothing is said, whatever else it names."""

import re
from collections.abc import Iterator, Sequence

from kgmed.language.text import has_cjk
from kgmed.records import Link, Mention

_BEFORE = re.compile(  # what stands before the name of something that is taken, had or asked about
    r"(?:\b(?:take|taking|taken|use|using|uses|with|and|given|give|giving|plus|add|combine|combining|mix|mixing|on|of"
    r"|between|does|do|can|is|are|about|drink|drinking)\s+(?:(?:my|an?|the|some|any|both)\s+)?|[\"“‘'「])$"
    r"|(?:吃|服|服用|用|和|跟|与|同|加|喝|打|得了?|患|“|「|关于)$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^(?:\s+(?:and|with|safe|interact|cause|causes|treat|treats|cure|cures|help|helps|side|lead|tablets?|capsules?|be"
    r"|dose|dosage|syndrome|disease|fever|sign)\b|[\"”’'」])"
    r"|^(?:和|跟|与|同|能|可以|会|是|治|的|有|对|一天|怎么|引起|导致|病|症|综合征|片|胶囊|颗粒)",
    re.IGNORECASE,
)
_LIKE_A_NAME = re.compile(
    r"(?:itis|osis|emia|aemia|oma|pathy|plasia|trophy|mab|nib|pril|sartan|statin|olol|azole|cillin|mycin|cycline|vir"
    r"|tide|gliptin|gliflozin|prazole|parin|caine|dipine|setron|triptan|lukast|zepam|zolam|oxetine|floxacin|profen)\b"
    r"|\b(?:syndrome|disease|disorder|fever)\b"
    r"|(?:病|症|炎|综合征|片|胶囊|颗粒|丸|注射液|口服液|霉素|沙星|西林|他汀|洛尔|普利|沙坦|地平|拉唑|替尼|单抗|鲁肽|列汀|列净)$",
    re.IGNORECASE,
)
_PLAIN = frozenset(
    """
    link relation interaction doctor doctors people person patient patients day days week weeks month months year years
    night morning time times food meal water pain disease diseases condition medicine medication drug drugs pill pills
    tablet tablets treatment dose adult adults child children baby pregnant pregnancy breastfeeding woman women man men
    elderly alcohol safe safely together kids kid mother mom dad father son daughter body risk raise cause
    """.split()  # noqa: SIM905
)


def strangers(text: str, missed: Sequence[Mention], links: Sequence[Link]) -> list[str]:
    """The names that a question asks about and nothing was linked to, as they stand in it.

    >>> strangers("Can I take Zolvenprax with ibuprofen?", [Mention("Zolvenprax", "Zolvenprax", 11, 21)], [])
    ['Zolvenprax']
    """
    found = [name for m in missed if 0 <= m.start < m.end for name in _named(text, m, links)]
    return list(dict.fromkeys(found))


def _named(text: str, mention: Mention, links: Sequence[Link]) -> Iterator[str]:
    """The mention, if it is a name that is asked about."""
    surface = text[mention.start : mention.end]
    if has_cjk(surface):
        beside = any(link.mention.start == mention.end for link in links)
        before, after = _BEFORE.search(text[: mention.start]), _AFTER.match(text[mention.end :])
        between = (before or after) if len(surface) > 2 else (before and after)
        if (len(surface) > 2 and _LIKE_A_NAME.search(surface)) or (between and not beside):
            yield surface
        return
    words = [w for w in re.findall(r"[A-Za-z][\w'’-]*", surface) if w.casefold() not in _PLAIN]
    if not words:
        return
    inner = mention.start > 0 and not re.search(r"[.!?]\s*$", text[: mention.start])
    proper = any(w[0].isupper() and len(w) > 2 for w in (words if inner else words[1:]))
    long = max(map(len, words)) >= 6
    slot = _BEFORE.search(text[: mention.start]) or _AFTER.match(text[mention.end :])
    if proper or (long and slot) or (len(words) == 1 and _LIKE_A_NAME.search(surface)):
        yield surface
