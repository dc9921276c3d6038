"""Names and words of texts: two keys for a name, words with their places, slips, and the language of a question."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple, cast

from kgmed import vocabulary
from kgmed.disk import packaged_toml
from kgmed.records import Question
from kgmed.vocabulary import Predicate

# --- Patterns of which a question needs few: to compile all that the package has takes longer than most answers.


class LazyPattern:
    """A regular expression that is compiled when it is first used; what one has it has too."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        """As `re.compile`."""
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """What the compiled expression has; the ways to search are at hand from then on."""
        if name == "_given":
            raise AttributeError(name)  # asked for by what copies, before there is any
        compiled = re.compile(*self._given)
        for way in ("search", "match", "fullmatch", "finditer", "findall", "sub", "split"):
            setattr(self, way, getattr(compiled, way))
        return getattr(compiled, name)


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The regular expression, compiled when it is first used.

    >>> lazily("GOUT", re.IGNORECASE).search("gout").span()
    (0, 4)
    """
    return cast(re.Pattern[str], LazyPattern(pattern, flags))


@lru_cache(maxsize=1 << 10)
def pattern_of(module: str, *keys: str) -> re.Pattern[str]:
    """A regular expression of the TOML file beside a module, its lines joined; the case of letters does not matter.

    `(?&name)` in it stands for the one of that name in the same table.

    >>> pattern_of("kgmed.language.labels", "predicates", "severe").search("Severely ") is not None
    True
    """
    table = packaged_toml(module)
    for key in keys[:-1]:
        table = table[key]
    return re.compile(_written(table, keys[-1]), re.IGNORECASE)


def _written(table: Mapping[str, str], key: str) -> str:
    return re.sub(r"\(\?&(\w+)\)", lambda other: _written(table, other[1]), table[key].replace("\n", ""))


# --- Two keys for a name: what is the same name, and what is nearly the same.
# `normalise` undoes how a name is written (width, case, punctuation, spaces); `fold` also undoes inflection and word
# order in scripts with spaces. A graph is indexed by both.


_NOT_WORD = lazily(r"[^\w+%<>=≥≤.]+|_+", re.UNICODE)  # keeps 5%, <3, vitamin b.12 apart from its letters
_LOOSE_DOT = lazily(r"\.(?:(?!\d)|(?<!\d\.))")  # no digit after it, or none before it
_POSSESSIVE = lazily(r"['’`´]s?(?=\s|$|[^\w])")
_ASCII_SPACES = {i: " " for i in range(128) if not (chr(i).isalnum() or chr(i) in "+%<>=.")}
_ASCII_BYTES = bytes(ord(_ASCII_SPACES.get(i, chr(i))) if chr(i) != "\n" else 10 for i in range(128)).ljust(256)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAS_CJK = lazily(f"[{_CJK}]")
_BRACKETS = str.maketrans("[]【】［］〔〕⟦⟧", "()" * 5)
_CONTROL = lazily(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
FUNCTION_WORDS = frozenset({"a", "an", "and", "at", "by", "in", "nos", "of", "on", "or", "the", "to", "with"})
_BRITISH = "aemia>emia colour>color rrhoea>rrhea foetal>fetal haem>hem leuk>leuc oedema>edema oesoph>esoph paed>ped"
_SPELLING = tuple(tuple(pair.split(">")) for pair in f"{_BRITISH} tumour>tumor".split())


def has_cjk(text: str) -> bool:
    """Whether the text holds a Chinese or Japanese character.

    >>> has_cjk("肺炎 NOS"), has_cjk("pneumonia")
    (True, False)
    """
    return not text.isascii() and _HAS_CJK.search(text) is not None


def normalise(text: str) -> str:
    """The text in one width, one case, without punctuation, with single spaces, none beside CJK characters.

    >>> normalise("  Hirschsprung’s_Disease (HSCR) "), normalise("Ⅱ型 糖尿病。")
    ('hirschsprung disease hscr', 'ii型糖尿病')
    """
    plain = unicodedata.normalize("NFKC", text.casefold()) if text.isalnum() else ""
    if plain.isalnum() and plain.casefold() == plain:  # letters of formulas are capitals only now
        return plain  # most names of a Chinese graph, four times as fast
    if text.isascii():
        return _normalise_ascii(text.lower())
    text = unicodedata.normalize("NFKC", text).casefold().replace("_", " ")
    if not text.isascii() and unicodedata.combining(text[-1:] or " "):  # casefold may leave İ decomposed
        text = unicodedata.normalize("NFKC", text)
    text = _POSSESSIVE.sub(" ", text)
    text = _LOOSE_DOT.sub(" ", _NOT_WORD.sub(" ", text))
    words = text.split()
    gaps = ("" if has_cjk(before[-1] + behind[0]) else " " for before, behind in pairwise(words))
    return "".join(part for pair in zip_longest(words, gaps, fillvalue="") for part in pair)


normalised = lru_cache(maxsize=1 << 14)(normalise)  # of names, which are compared with one another again and again


def _normalise_ascii(text: str) -> str:
    """`normalise` of ASCII in small letters, many times as fast because most patterns cannot match."""
    if "'" in text or "`" in text:
        text = _POSSESSIVE.sub(" ", text.replace("_", " "))
    text = text.translate(_ASCII_SPACES)
    if "." in text:
        text = _LOOSE_DOT.sub(" ", text)
    return " ".join(text.split())


def length_of(text: str) -> int:
    """The characters of a text as it is read: signs that stand for several are written out.

    >>> length_of("½ a day"), length_of("ﷺ")
    (9, 18)
    """
    return len(text) if text.isascii() else max(len(text), len(unicodedata.normalize("NFKC", text)))


def normalise_all(texts: Sequence[str]) -> list[str]:
    """`normalise` of each text; those in ASCII all at once, several times as fast.

    >>> normalise_all(["Crohn's_disease", "肺炎 ", "B. No. 12.5"])
    ['crohn disease', '肺炎', 'b no 12.5']
    """
    plain = [text for text in texts if text.isascii() and "\n" not in text]
    if len(plain) == len(texts):
        return _normalise_lines(plain)
    keys = iter(_normalise_lines(plain))
    return [next(keys) if text.isascii() and "\n" not in text else normalise(text) for text in texts]


def _normalise_lines(texts: Sequence[str]) -> list[str]:
    """`normalise` of texts in ASCII, joined to lines and split again."""
    lines = "\n".join(texts).lower()
    if "'" in lines or "`" in lines:
        lines = _POSSESSIVE.sub(" ", lines.replace("_", " "))
    lines = lines.encode("ascii").translate(_ASCII_BYTES).decode("ascii")
    if "." in lines:
        lines = _LOOSE_DOT.sub(" ", lines)
    while "  " in lines:
        lines = lines.replace("  ", " ")
    return lines.replace(" \n", "\n").replace("\n ", "\n").strip(" ").split("\n") if texts else []


def singular(word: str) -> str:
    """An English word without its plural ending, by rule.

    >>> [singular(w) for w in ("seizures", "calves", "biopsies", "diabetes", "pelvis", "rashes", "cats")]
    ['seizure', 'calf', 'biopsy', 'diabetes', 'pelvis', 'rash', 'cat']
    """
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "betes")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word
    if word.endswith(("alves", "elves", "olves")):
        return word[:-3] + "f"
    if word.endswith("aches"):  # headaches
        return word[:-1]
    return word[:-2] if word.endswith(("shes", "ches", "xes", "sses")) else word[:-1]


@lru_cache(maxsize=1 << 16)
def fold_word(word: str) -> str:
    """A normalised word in the singular and in American spelling, as `fold` has it.

    >>> fold_word("tumours"), fold_word("oedema")
    ('tumor', 'edema')
    """
    word = singular(word)
    for british, american in _SPELLING:
        word = word.replace(british, american)
    return word


def fold(text: str) -> str:
    """The normalised text with its words singular, in American spelling, sorted, without function words.

    Where a text has no spaces (Chinese, Japanese) this is `normalise`.

    >>> fold("Weakness of the muscles"), fold("muscle weakness")
    ('muscle weakness', 'muscle weakness')
    """
    return fold_normalised(normalise(text))


def fold_normalised(key: str) -> str:
    """What `fold` gives, from the normalised text."""
    words = key.split()
    if len(words) < 2 and not (words and words[0].isascii()):
        return "".join(words)
    return " ".join(sorted({fold_word(w) for w in words if w not in FUNCTION_WORDS} or {fold_word(w) for w in words}))


class _Words(dict[str, str]):
    """The folded form of each word that has been met; "" for function words."""

    def __missing__(self, word: str) -> str:
        if len(self) >= 1 << 18:
            self.clear()
        self[word] = folded = "" if word in FUNCTION_WORDS else word if word.isdigit() else fold_word(word)
        return folded


_WORDS = _Words()


def fold_all(keys: Iterable[str]) -> list[str]:
    """`fold_normalised` of each key, several times as fast.

    >>> fold_all(["weakness of the muscles", "肺炎", "of the", "calves"])
    ['muscle weakness', '肺炎', 'of the', 'calf']
    """
    return [_fold(key) if " " in key else fold_word(key) if key.isascii() else key for key in keys]


def _fold(key: str) -> str:
    """`fold_normalised` of several words."""
    words = set(map(_WORDS.__getitem__, key.split()))
    words.discard("")
    return " ".join(sorted(words)) if words else fold_normalised(key)


def one_line(text: str) -> str:
    """The text on one line, without control characters and with round brackets for square ones.

    So a name in a graph can neither begin a line of its own nor look like the mark of other evidence.

    >>> one_line("asthma\\n[2] take【3】 \\u202eantimony")
    'asthma (2) take(3) antimony'
    """
    return " ".join(_CONTROL.sub(" ", unicodedata.normalize("NFC", text)).translate(_BRACKETS).split())


class _Shown(dict[int, int | str]):
    """What stands for each character: itself, or its number where nobody could see it."""

    def __missing__(self, code: int) -> int | str:
        """Decide by the character's category, once."""
        hidden = unicodedata.category(chr(code)) in _UNSEEN or code in _BLANK
        self[code] = f"⟨U+{code:04X}⟩" if hidden and code not in _KEPT else code
        return self[code]


_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls (C0, C1), formats (direction, tags), half characters, separators
_BLANK = {0xFEFF, *range(0xE0000, 0xE0080)}
_KEPT = {0x09, 0x0A, 0x200C, 0x200D}  # tab, line end; the joiners, without which Persian and emoji fall apart
_SHOWN = _Shown()


def visible(text: str) -> str:
    """The text with every character that cannot be seen shown by its number; line ends and tabs stay.

    So nothing of a graph, a model or a server moves a cursor, names a window or turns the direction of a text.

    >>> visible("a\\u202eb\\r\\x1b[2J")
    'a⟨U+202E⟩b⟨U+000D⟩⟨U+001B⟩[2J'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


# --- Words of a text with their places in it: a word in scripts with spaces, a character in Chinese and Japanese.
# The words are those of `text.normalise`, so that a name and its mention in a text give the same words.


_PIECE = lazily(rf"[{_CJK}]|(?:[^\W_{_CJK}]|[+%<>=≥≤]|(?<=\d)\.(?=\d))+")
_ASCII_PIECE = lazily(r"(?:[a-zA-Z0-9+%<>=]|(?<=\d)\.(?=\d))+")
_ENGLISH_POSSESSIVE = lazily(r"['’`]s?(?=\s|$|[^\w])", re.IGNORECASE)


class Token(NamedTuple):
    """A normalised word and where it stands: text[start:end]."""

    text: str
    start: int
    end: int

    @property
    def is_cjk(self) -> bool:
        """Whether it is a Chinese or Japanese character."""
        return (
            not self.text.isascii() and "\u3040" <= self.text[0] <= "\ufaff" and not "\ua000" <= self.text[0] < "\uf900"
        )


def tokens(text: str) -> list[Token]:
    """The words of a text, in order.

    >>> [t.text for t in tokens("Crohn's disease: 38.5% of II型 cases")]
    ['crohn', 'disease', '38.5%', 'of', 'ii', '型', 'cases']
    >>> [text for text, _, _ in tokens("胃　ＡＢＣ")], tokens("胃　ＡＢＣ")[1][1:]
    (['胃', 'abc'], (2, 5))
    """
    if text and min(text) >= "\u4e00" and max(text) <= "\u9fff":  # all Chinese, as most names of a Chinese graph
        return [Token(char, i, i + 1) for i, char in enumerate(text)]
    shadow = text if text.isascii() else "".join(map(_shadow, text))
    if "'" in shadow or "`" in shadow:
        shadow = _ENGLISH_POSSESSIVE.sub(lambda m: " " * len(m.group()), shadow)
    if text.isascii():
        return [Token(m.group().lower(), m.start(), m.end()) for m in _ASCII_PIECE.finditer(shadow)]
    return [t for m in _PIECE.finditer(shadow) for t in _pieces(text, m.start(), m.end())]


def _pieces(text: str, start: int, end: int) -> list[Token]:
    """The words of one unbroken piece of text; nearly always one."""
    piece = text[start:end]
    if piece.isascii():
        return [Token(piece.lower(), start, end)]
    return [Token(word, start, end) for word in _words(piece)]


@lru_cache(maxsize=1 << 16)
def _words(piece: str) -> tuple[str, ...]:
    """The normalised words of a piece that is not plain ASCII."""
    return tuple(_PIECE.findall(normalise(piece)))


@lru_cache(maxsize=1 << 16)
def _shadow(char: str) -> str:
    """One character of the same class that the pattern knows: what NFKC would make of it."""
    if char.isascii() or re.match(f"[{_CJK}]", char):
        return char
    if char in "’´":
        return "'"
    form = unicodedata.normalize("NFKC", char)
    if len(form) == 1 and (form.isascii() or re.match(f"[{_CJK}]", form)):
        return form
    if unicodedata.category(char).startswith("M"):
        return "x"
    if any(c.isalnum() for c in form):
        return "0" if form[-1].isdigit() else "x"
    return char if char in "≥≤" else " "


# --- The language of a question, as far as its script and its own word tell.


CJK_LANGUAGES = ("zh", "ja")  # written in Han characters
_ENGLISH = "en"
_FUNCTION = "function words "  # lists of word_lists.tsv, each with the code of its language
_TELLING = 2  # ours: function words by which a language other than English is told
LETTER = lazily(r"[^\W\d_]")
_LETTERS = lazily(f"{LETTER.pattern}+")
_KANA = lazily(r"[\u3040-\u30ff]")
_HANGUL = lazily(r"[\u1100-\u11ff\uac00-\ud7af]")


def language_of(question: Question) -> str:
    """The language that the question says it is in, else the one that is detected; nothing else decides it.

    >>> [language_of(Question(t)) for t in ("胃が痛い", "胃痛", "두통", "homa")]
    ['ja', 'zh', 'ko', 'en']
    >>> language_of(Question("homa", language="sw"))
    'sw'
    """
    return question.language or detected(question.text)


def detected(text: str) -> str:
    """The language of a question by its script; in Latin letters by function words, English where these do not tell.

    >>> detected("Welche Symptome hat das Marfan-Syndrom?"), detected("What are the symptoms of gout?")
    ('de', 'en')
    """
    if (script := script_language(text)) != _ENGLISH or text.isspace():
        return script
    words = frozenset(_LETTERS.findall(text.casefold()))
    counts = {language: len(words & known) for language, known in _function_words().items()}
    best = max(counts, key=lambda language: (counts[language], language == _ENGLISH), default=_ENGLISH)
    return best if counts[best] >= _TELLING else _ENGLISH


def script_language(text: str) -> str:
    """The language that the script of a name or text stands for where nothing else tells its language.

    >>> [script_language(name) for name in ("くも指", "蜘蛛样指", "Arachnodactyly")]
    ['ja', 'zh', 'en']
    """
    if text.isascii():
        return _ENGLISH
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    return "zh" if has_cjk(text) else _ENGLISH


@vocabulary.kept()
def _function_words() -> dict[str, frozenset[str]]:
    """The function words of each language in Latin letters."""
    lists = vocabulary.others("word_lists", Predicate.MEMBER)
    named = ((name.removeprefix(_FUNCTION), words) for name, words in lists.items() if name.startswith(_FUNCTION))
    return {language: frozenset(words) for language, words in named}


def prompt_language(question: Question) -> str:
    """The language of kgmed's prompts to use: Chinese for a Chinese question, else English.

    >>> prompt_language(Question("胃が痛い")), prompt_language(Question("胃痛"))
    ('en', 'zh')
    """
    return "zh" if language_of(question) == "zh" else "en"


# Words of asking as they are meant: those spelled with one slip ("symtoms", "treatmnet"), and how they are spoken (咋).

_ASKING = frozenset(
    """
    symptom symptoms treatment treatments treated treating effects diagnosis diagnosed diagnose medicine medicines
    medication medications complication complications contraindication contraindications contraindicated inheritance
    inherited hereditary interaction interactions interact interacts dosage dosages prevention prevent therapy therapies
    remedy remedies causes difference differences pregnancy pregnant disease diseases syndrome breastfeeding
    definition prognosis examination investigations antibiotics manifestations department specialist mutation mutations
    """.split()  # noqa: SIM905
)
_OTHERS = frozenset(
    {"caused", "present", "presents", "prevents", "diagnoses", "diseased", "interacted", "therapist", "cases"}
)
_SHORTEST = 5  # letters of a word that is looked at; words of asking have six or more
_SPOKEN = {  # how Chinese is spoken, and how its words of asking are mistyped: the signs that sound alike
    "咋": "怎么", "啥": "什么", "甚么": "什么", "神马": "什么", "肿么": "怎么", "冶疗": "治疗", "医治": "治疗",
    "副做用": "副作用", "付作用": "副作用", "负作用": "副作用", "症壮": "症状", "征状": "症状", "并发证": "并发症",
    "禁记": "禁忌", "禁急": "禁忌", "忌讳": "禁忌", "检察": "检查", "预访": "预防", "遗转": "遗传", "症侯": "症状",
}  # fmt: skip
_WORD = lazily("[A-Za-z]+|" + "|".join(_SPOKEN))


class Unslipped:
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

    >>> spelled("asprin side efects and symtoms at present"), spelled("痛风咋冶疗")
    ('asprin side effects and symptoms at present', '痛风怎么治疗')
    """
    return Unslipped(text).text


@lru_cache(maxsize=4096)
def _meant(word: str) -> str:
    """The word of asking that a word is one slip from, with the same first letter; else the word."""
    if word in _SPOKEN:
        return _SPOKEN[word]
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


# --- A question that says only what is new in it: "what about gout?" after "what treats migraine?".


_ASKS = "what|which|who|why|when|where|how|can|could|should|is|are|do|does|did|will|would|may|if|not|then"
_ASKS_CJK = "怎|什么|哪|如何|为什么|为何|多少|是否|有没有|能不能|可以|应该"  # a question of its own
_ONE_MORE = lazily(
    r"^\W*(?:and |but |so |ok,? |then )*(?:what|how) about (?P<en>.+?)\W*$"
    rf"|^\W*and (?!(?:{_ASKS})\b)(?:for |with |in )?(?P<and>(?:\w[\w'-]*\s*){{1,4}}?)\s*\?\s*$"
    rf"|^\W*(?:那么?|那要是|如果是|换成)(?P<zh>(?:(?!{_ASKS_CJK})[^，。？?吗呢]){{1,20}}?)(?:呢|的话|怎么样|又如何|如何)\W*$"
    rf"|^\W*(?P<short>(?:(?!{_ASKS_CJK})[^，。？?吗呢那\s]){{1,20}}?)呢\W*$",
    re.IGNORECASE,
)
_BACK = lazily(r"\b(?:it|this|that|they|them|these|those)\b|它们?|这个?病|该病|这种药|该药", re.IGNORECASE)


def asked_about(text: str) -> str:
    """What a question names that asks about one more thing; "" where it is a question of its own.

    >>> asked_about("And what about acute gout?"), asked_about("那痛风呢？"), asked_about("And what treats it?")
    ('acute gout', '痛风', '')
    """
    found = _ONE_MORE.match(text.strip())
    return next((part.strip() for part in found.groups() if part), "") if found else ""


def put_in(question: str, old: str, new: str) -> str:
    """The question with another thing in the place of the one that it names, or of "it"; "" where it has neither.

    >>> put_in("What treats migraine?", "migraine", "gout"), put_in("Which drug treats it?", "migraine", "gout")
    ('What treats gout?', 'Which drug treats gout?')
    """
    at = question.casefold().find(old.casefold()) if old else -1
    if at >= 0:
        return question[:at] + new + question[at + len(old) :]
    back = _BACK.search(question)
    return question[: back.start()] + new + question[back.end() :] if back else ""
