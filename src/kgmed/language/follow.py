"""A question that says only what is new in it: "what about gout?" after "what treats migraine?"."""

import re

from kgmed.language.text import lazily

_WORDS = "what|which|who|why|when|where|how|can|could|should|is|are|do|does|did|will|would|may|if|not|then"
_CJK = "怎|什么|哪|如何|为什么|为何|多少|是否|有没有|能不能|可以|应该"  # a question of its own
_ABOUT = lazily(
    r"^\W*(?:and |but |so |ok,? |then )*(?:what|how) about (?P<en>.+?)\W*$"
    rf"|^\W*and (?!(?:{_WORDS})\b)(?:for |with |in )?(?P<and>(?:\w[\w'-]*\s*){1, 4}?)\s*\?\s*$"
    rf"|^\W*(?:那么?|那要是|如果是|换成)(?P<zh>(?:(?!{_CJK})[^，。？?吗呢]){{1,20}}?)(?:呢|的话|怎么样|又如何|如何)\W*$"
    rf"|^\W*(?P<short>(?:(?!{_CJK})[^，。？?吗呢那\s]){{1,20}}?)呢\W*$",
    re.IGNORECASE,
)
_IT = lazily(r"\b(?:it|this|that|they|them|these|those)\b|它们?|这个?病|该病|这种药|该药", re.IGNORECASE)


def asked_about(text: str) -> str:
    """What a question names that asks about one more thing; "" where it is a question of its own.

    >>> asked_about("And what about acute gout?"), asked_about("那痛风呢？"), asked_about("And what treats it?")
    ('acute gout', '痛风', '')
    """
    found = _ABOUT.match(text.strip())
    return next((part.strip() for part in found.groups() if part), "") if found else ""


def put_in(question: str, old: str, new: str) -> str:
    """The question with another thing in the place of the one that it names, or of "it"; "" where it has neither.

    >>> put_in("What treats migraine?", "migraine", "gout"), put_in("Which drug treats it?", "migraine", "gout")
    ('What treats gout?', 'Which drug treats gout?')
    """
    at = question.casefold().find(old.casefold()) if old else -1
    if at >= 0:
        return question[:at] + new + question[at + len(old) :]
    back = _IT.search(question)
    return question[: back.start()] + new + question[back.end() :] if back else ""
