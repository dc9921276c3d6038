"""Lists in what a model wrote: names between commas or one a line, and JSON lists of a given length."""

import re
from collections.abc import Iterator

from kgmed.models.structured import Malformed, values

_FENCE = re.compile(r"```(?:\w*)\n?(.*?)(?:```|$)", re.DOTALL)
_LEAD = re.compile(
    r"^.*?(?:entities|terms|medical terms|实体|术语|词)\s*(?:are|is|为|是|有|如下|包括|in the text)?\s*[:：]?\s*", re.I
)
_BULLET = re.compile(r"^\s*(?:\d{1,2}\s*[.)、:：]|[-*•])\s*")
_TAIL = re.compile(r"<EOS>.*|<END>.*|<SEP>", re.DOTALL)
_NONE = frozenset({"none", "null", "n/a", "na", "-", "无", "没有", "...", "…", ""})
_NAMES = re.compile(r"[^\W_]")
_LONGEST = 80  # characters; a longer "name" is a sentence


def slots(reply: str, count: int) -> list[str | None]:
    """The JSON list of exactly `count` strings in a reply, null and "none" as None; raises `Malformed`.

    >>> slots('Sure: {"terms": ["fever", null]}', 2), slots("［“发热”，“咳嗽”］", 2)
    (['fever', None], ['发热', '咳嗽'])
    """
    found = next((v for v in map(_list, values(reply)) if v is not None), None)
    if found is None:
        raise Malformed("it must be a JSON list")
    if strange := [v for v in found if v is not None and not isinstance(v, str)]:
        raise Malformed(f"the list must hold strings or null only, not {str(strange[0])[:40]}")
    if len(found) != count:
        raise Malformed(f"the list has {len(found)} entries where {count} are needed")
    return [_told(v) for v in found]


def _list(value: object) -> list[object] | None:
    """The list that a value is, or that is the only value of an object."""
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return value if isinstance(value, list) else None


def names(reply: str) -> list[str]:
    """The names that a reply lists, each once: between commas, or one a line.

    A name may hold "; " and brackets: only commas part names, and not those in brackets. What holds no letter or digit,
    or a broken character, is none.

    >>> names("The entities are cough, Alprazolam (Xanax, oral), cough<EOS> more"), names("1. fever\\n2. gout")
    (['cough', 'Alprazolam (Xanax, oral)'], ['fever', 'gout'])
    """
    return list(
        dict.fromkeys(
            name
            for name in _plain(_TAIL.sub("", _unfenced(reply)).strip())
            if name and _NAMES.search(name) and "\ufffd" not in name
        )
    )


def _plain(text: str) -> Iterator[str | None]:
    """The names of a list without JSON."""
    lines = [line for line in text.splitlines() if line.strip()]
    if sum(bool(_BULLET.match(line)) for line in lines) < 2:
        lines = [_LEAD.sub("", line, count=1) for line in lines]
    else:
        lines = [line for line in lines if _BULLET.match(line)]
    for line in lines:
        for part in re.split(r"[,，、](?![^(（]*[)）])", _BULLET.sub("", line)):
            yield _told(part)


def _told(value: object) -> str | None:
    """A name without quotes and full stops; None where it says that there is none, or is a whole sentence."""
    text = str("" if value is None else value).strip().strip("'\"‘’“”.。;；*`[]{}【】 ").strip()
    return None if text.lower() in _NONE or len(text) > _LONGEST else text


def _unfenced(reply: str) -> str:
    """What stands in the code fence, if there is one."""
    match = _FENCE.search(reply)
    return match[1] if match else reply
