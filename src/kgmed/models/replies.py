"""What a reply to a prompt with a small contract holds: a final line, one number, yes or no, one sentence.

Each raises `Malformed` with a reason that is fit to be told to the model.
"""

import re
from collections.abc import Sequence

from kgmed.models.marks import without_marks
from kgmed.models.structured import Malformed, strings

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FINAL = re.compile(r"^[\s#*>\-]*(?:(?:final |the )?answer|答案|回答)[ \t]*\**[ \t]*[:：]\**[ \t]*", re.I | re.M)
_NUMBER = re.compile(r"(?<![\d.,\w])(\d{1,3})(?![\d\w])(?!\.\d)")
_YES_NO = re.compile(
    r"\b(?P<no>no|not|false|invalid|does not|doesn't)\b|(?P<zh_no>不是|不能|不对|不正确|否|错|没有)"
    r"|\b(?P<yes>yes|true|valid|does)\b|(?P<zh_yes>是|能|对|正确)",
    re.IGNORECASE,
)
_HEADED = re.compile(r"^[\s#*>\-]*(?:sentence|summary|句子|总结|摘要)\s*\d*\s*[:：]\s*", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]+)"')
LONGEST = 2000  # characters of a text that is to be short


def final(reply: str) -> tuple[str, str]:
    """What comes before the last line that begins with "Answer:" (答案：), and the answer after it.

    >>> final("The toe hurts.\\nAnswer: gout"), final("脚趾痛。\\n**答案**：痛风")
    (('The toe hurts.', 'gout'), ('脚趾痛。', '痛风'))
    """
    text = _without_thinking(reply)
    found = list(_FINAL.finditer(text))
    if not found:
        raise Malformed('it has no line that begins with "Answer:"')
    answer = text[found[-1].end() :].strip()
    if not re.search(r"\w", answer):
        raise Malformed('nothing follows "Answer:"')
    return text[: found[-1].start()].strip(), answer


def number(reply: str, most: int) -> int:
    """The one number from 1 to `most` that a reply names; of a longer reply that of its last line that has one.

    >>> number("Thought 2 is best, it fits.", 3), number("1 is weak.\\nBest: 3", 3)
    (2, 3)
    """
    for line in reversed(without_marks(_without_thinking(reply)).splitlines()):
        named = {int(n) for n in _NUMBER.findall(line)}
        if len(named) > 1:
            raise Malformed(f"it names several numbers ({', '.join(map(str, sorted(named)))}); one is wanted")
        if named and not named <= set(range(1, most + 1)):
            raise Malformed(f"there is no number {named.pop()}; the numbers go from 1 to {most}")
        if named:
            return named.pop()
    raise Malformed(f"it names no number from 1 to {most}")


def yes(reply: str) -> bool:
    """Whether a reply says yes; its first word of yes or no in the last line that has one counts.

    >>> yes("Yes."), yes("I looked at it.\\nNo, it does not."), yes("是"), yes("不是")
    (True, False, True, False)
    """
    for line in reversed(_without_thinking(reply).splitlines()):
        if found := _YES_NO.search(line):
            return found.lastgroup in ("yes", "zh_yes")
    raise Malformed("it says neither yes nor no")


def short_text(reply: str) -> str:
    """A sentence or a few, on one line, without a heading.

    >>> short_text("Sentence: Gout hurts\\nat night.")
    'Gout hurts at night.'
    """
    text = " ".join(_HEADED.sub("", _without_thinking(reply)).split())
    if not re.search(r"[^\W\d_]", text) or "\ufffd" in text:
        raise Malformed("it holds no sentence")
    if len(text) > LONGEST:
        raise Malformed(f"it is longer than {LONGEST} characters; one sentence is wanted")
    return text


def some(reply: str, key: str) -> list[str]:
    """The strings under a key, at least one (see `structured.strings`).

    >>> some('{"thoughts": ["a"]}', "thoughts")
    ['a']
    """
    found = strings(reply, key)
    if not found:
        raise Malformed(f'the list under "{key}" is empty')
    return found


def among(reply: str, key: str, known: Sequence[str]) -> list[str]:
    """Those of the strings under a key that are known, by their known spelling, in the order of the reply.

    >>> among('["Has symptom", "cures"]', "relations", ["has_symptom", "treats"])
    ['has_symptom']
    """
    by_key = {_bare(name): name for name in known}
    found = [by_key[_bare(text)] for text in strings(reply, key) if _bare(text) in by_key]
    if not found:
        raise Malformed(f"it names none of: {', '.join(known)}")
    return list(dict.fromkeys(found))


def fresh(found: list[str], *, example: str, given: str) -> list[str]:
    """What a reply lists, without what the prompt's example lists too and what it was `given` does not say.

    Small models repeat the example. Raises `Malformed` where nothing else is left.

    >>> fresh(["Gout", "flu"], example='["gout", "cough"]', given="Is it flu?")
    ['flu']
    """
    own, there = set(map(_bare, _QUOTED.findall(example))), _bare(given)
    kept = [one for one in found if _bare(one) not in own or _bare(one) in there]
    if found and not kept:
        raise Malformed("it repeats the example and says nothing of what was asked")
    return kept


def _bare(text: str) -> str:
    return " ".join(text.replace("_", " ").casefold().split())


def _without_thinking(reply: str) -> str:
    return _THINKING.sub("", reply).strip()
