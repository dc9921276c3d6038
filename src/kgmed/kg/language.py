"""The language of a question, as far as its script and its own word tell."""

import re

from kgmed.kg.text import has_cjk
from kgmed.types import Question

_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")


def language_of(question: Question) -> str:
    """The language the question says it is in, else by script: ja with kana, ko with Hangul, zh with Han, else en.

    >>> [language_of(Question(t)) for t in ("胃が痛い", "胃痛", "두통", "homa")]
    ['ja', 'zh', 'ko', 'en']
    >>> language_of(Question("homa", language="sw"))
    'sw'
    """
    if question.language:
        return question.language
    if _KANA.search(question.text):
        return "ja"
    if _HANGUL.search(question.text):
        return "ko"
    return "zh" if has_cjk(question.text) else "en"


def prompt_language(question: Question) -> str:
    """The language of kgmed's prompts to use: Chinese for a Chinese question, else English.

    >>> prompt_language(Question("胃が痛い")), prompt_language(Question("胃痛"))
    ('en', 'zh')
    """
    return "zh" if language_of(question) == "zh" else "en"
