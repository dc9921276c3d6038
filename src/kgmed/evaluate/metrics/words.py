"""The words that text metrics compare, by language.

English and other scripts with spaces: lower-cased runs of letters and digits, as in the rouge-score package for ASCII
text, but with letters of every script. Chinese and Japanese: characters, as the papers score them; Latin words and
numbers among them stay whole. Korean: syllables, since its particles are written onto the words.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Protocol

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HANGUL = "\uac00-\ud7a3"
_WORD = re.compile(rf"[{_CJK}{_HANGUL}]|[^\W_{_CJK}{_HANGUL}]+")
_ASCII = re.compile(r"[a-z0-9]+")


def words(text: str, *, stem: bool = False) -> list[str]:
    """The words of a text; `stem` = English words of more than three letters by Porter's algorithm.

    >>> words("Take 2 tablets daily!"), words("服用阿司匹林 100mg"), words("Ugonjwa wa kisukari"), words("두통약")
    (['take', '2', 'tablets', 'daily'], ['服', '用', '阿', '司', '匹', '林', '100mg'], \
['ugonjwa', 'wa', 'kisukari'], ['두', '통', '약'])
    """
    lower = text.lower()
    found = _ASCII.findall(lower) if lower.isascii() else _WORD.findall(unicodedata.normalize("NFKC", lower))
    return [_stem(w) if len(w) > 3 and w.isascii() else w for w in found] if stem else found


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return _porter().stem(word)


@lru_cache(maxsize=1)
def _porter() -> "_Stemmer":
    """NLTK's Porter stemmer, which the rouge-score package uses; raises `Unavailable`."""
    from kgmed.errors import Unavailable

    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        raise Unavailable('stemming needs nltk; pip install "kgmed[eval]"') from None
    stemmer: _Stemmer = PorterStemmer()
    return stemmer


class _Stemmer(Protocol):
    """What is used of a stemmer."""

    def stem(self, word: str, /) -> str:
        """The stem of a word."""
        ...
