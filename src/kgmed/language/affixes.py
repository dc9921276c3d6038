"""What stands at a name and makes another thing of it: affixes of English and Chinese names, and where a name ends.

"Pseudogout" is no gout, 左旋氯喹 no 氯喹, thrombocytopenia no thrombocytosis. The lists with their reasons are in
spelling.tsv of the vocabulary; a rule here names the list that it reads. Recognition asks `goes_on` whether a found
name is a piece of a longer one, and whoever compares two names (`kgmed.graph.names.contradicts`) asks `changed`.
"""

import re
from collections.abc import Callable

from kgmed import vocabulary
from kgmed.language.text import has_cjk, lazily, normalised
from kgmed.vocabulary import Predicate

_CJK_START = lazily(r"(?![的是有和与中对能会可及或为溶浸水片])[\u4e00-\u9fff]+?(?=[的是有和与中对能会可及或为]|\W|\Z)")
_FORM = lazily(
    r"(?:鼻腔?|眼用?|口腔|阴道|外用|肠溶|缓释|控释|速释|软|硬|分散|咀嚼|泡腾|吸入|注射用?|口服|薄膜衣|活菌|流?浸|清|含|滴|浓|干|胶|贴|乳|药|粉|气|喷雾?|气雾|粉雾)*"
    r"(?:片|胶囊|颗粒|冲|丸|散|膏|凝胶|贴|栓|糖浆|浆|合|酊|溶液|混悬液?|涂膜|灌肠液?|液|喷?雾|喷|乳|针|粉针|粉|洗|搽|滴|制)剂?"
    r"|[钠钾钙镁锌]{1,2}盐?|药物?|药品|饮片|药材|物(?!质)"
)
_SALT_AND_FORM = lazily(f"(?:[钠钾钙镁锌]{{1,2}}盐?)?(?:{_FORM.pattern})?")
_NEAR = 24  # characters beside a name that are looked at
_STEM = 4  # letters that two words must share before their endings are compared
_OPEN, _CLOSED = "（(〔[【", "）)〕]】"
_LOCANT = lazily(r"(?<![A-Za-z0-9])(?:[A-Za-z0-9α-ω,']{1,6}[-‐–—]|[LDN])\Z|[α-ω]\Z")
_LATIN_BEHIND = lazily(
    r"(?: [A-Z]\d{0,2}(?![A-Za-z\d])|[-‐–—]?[A-Zα-ωⅠ-Ⅻ]{1,3}(?![A-Za-z])"
    r"|[-‐–—]?\d++(?![\d.]*\s*(?:[a-zA-Zμ%.、片粒颗支天次日周月年岁个毫克微包袋瓶盒倍]|小时)))"
)
_LIKE = frozenset({"like", "mimic", "mimics"})  # what is like it is not it
_PIECE = 2  # characters
_COUNTS = frozenset("一二三四五六")
_FORMULA = lazily(  # 锁阳补肾胶囊: a formula named after its first herb; 酸枣仁汤: what is made of it
    "(?![的是有和与或能会可吃服用喝治对跟])(?:[汤丹煎](?![的药剂服])|缓冲液"
    "|[^\\W\\d的是有和与或及能会可吃服用喝治对跟还也都吗呢时要多少几不怎什哪后前并配加]{1,5}?"
    "(?:片|胶囊|颗粒|冲剂|丸|散|膏|丹|精(?!神)|汤|饮|酒(?!后|精)|茶|栓|贴|合剂|糖浆|口服液|注射液|缓冲液|[洗搽酊]剂))"
)
_STRENGTH = lazily(r"[\d./:：~%\sA-Za-zⅠ-Ⅻα-ω-]+\Z")
_PREPARED = lazily("[炒制炙盐酒醋蜜麸烫煅焦生熟姜蒸煮炭毛心皮去水油砂土滑石粉甘草]{1,5}")  # of a herb
_HYPHEN = lazily(r"([A-Za-z]+)[-‐–]\Z")
_WORD_BEFORE = lazily(r"([A-Za-z-]+) \Z")
_JOINED = lazily(r"[-‐–/]([A-Za-z0-9]+)")
_JOINED_BEFORE = lazily(r"[A-Za-z0-9]+[-‐–/]\Z")
_BRACKET = lazily(r" ?\(([^()]*)(?:\)|\Z)")
_NUMBERED = lazily(r"[-‐–](?:\d{1,2}|[A-Z]\d{0,2})(?![A-Za-z0-9])")
_BEHIND = lazily(r"[-‐– ]([A-Za-z]+)")


def goes_on(text: str, start: int, end: int, *, substance: bool) -> bool:
    """Whether the name text[start:end] is a piece of another thing's name; a substance is held more strictly.

    >>> asked = ("左旋氯喹", "氯喹那多", "服用氯喹可以吗")
    >>> [goes_on(t, t.index("氯喹"), t.index("氯喹") + 2, substance=True) for t in asked]
    [True, True, False]
    >>> [goes_on(t, t.index("gout"), t.index("gout") + 4, substance=False) for t in ("pseudo-gout", "a gout attack")]
    [True, False]
    """
    return beyond(text, start, end, substance=substance) != (0, 0)


def beyond(text: str, start: int, end: int, *, substance: bool) -> tuple[int, int]:
    """How many characters before and behind the name text[start:end] belong to the longer name that it is a piece of.

    >>> beyond("左旋氯喹的用量", 2, 4, substance=True), beyond("gout-like pain", 0, 4, substance=False)
    ((2, 0), (0, 5))
    """
    before, name, behind = text[max(0, start - _NEAR) : start], text[start:end], text[end : end + _NEAR]
    if has_cjk(name):
        salt = substance and name in _words("chinese salts") and _CJK_START.match(behind)
        right = len(salt.group()) if salt else _behind_cjk(behind, substance=substance)
        left = _within_word(before, name) or _before_cjk(before, substance=substance)
        if substance and before.endswith("食用") and name.endswith(_tuple("chinese edible")):
            left = 2
        if substance and before.endswith("小儿") and ends_with_form(name):
            left = 2  # 小儿止泻灵颗粒
        if substance and before.endswith("像"):
            left = 1  # 舌头像草莓: what something looks like is not what was taken
        return left, 0 if name in _words("chinese behind") else right
    numbered = _NUMBERED.match(behind) if name.isupper() else None  # PD-1 is of no Parkinson disease
    right = len(numbered[0]) if numbered else _behind_english(behind, substance=substance)
    return _before_english(before, substance=substance), right


def _within_word(before: str, name: str) -> int:
    """How many characters before a name belong to the word in which it begins; 0 = it begins with a word.

    >>> _within_word("吃天", "门冬氨酸"), _within_word("每天", "阿司匹林")
    (1, 0)
    """
    cuts = ((i, w) for w in _words("chinese whole words") for i in range(1, len(w)))
    return max((i for i, w in cuts if before.endswith(w[:i]) and name.startswith(w[i:])), default=0)


def _before_english(before: str, *, substance: bool) -> int:
    apart = _HYPHEN.search(before) or _WORD_BEFORE.search(before)
    of_a_word = apart and before[: apart.start()].endswith(("'", "’"))  # the s of "it's gout" is no S-warfarin's
    if apart and not of_a_word and apart[1].lower() in _words("english apart"):
        return len(apart.group())
    joined = _JOINED_BEFORE.search(before) if substance else None
    return len(joined.group()) if joined else 0


def _behind_english(behind: str, *, substance: bool) -> int:
    """Behind a substance a name goes on by a hyphen, a bracket with a type in it, or a word of a drug's ending."""
    following = _BEHIND.match(behind)
    if following and following[1].lower() in _words("english behind"):
        return len(following.group())
    if not substance:
        return 0
    if following and following[1].lower().endswith(_tuple("english drug endings")):
        return len(following.group())
    joined, bracket = _JOINED.match(behind), _BRACKET.match(behind)
    if joined and joined[1].lower() not in _words("english joined") | _words("english forms"):
        return len(joined.group())
    return len(bracket.group()) if bracket and (_is_type(bracket[1]) or bracket[1] in _words("english apart")) else 0


def _before_cjk(before: str, *, substance: bool) -> int:
    affix = _longest(before, "chinese before", str.endswith)
    affix = affix or (_longest(before, "chinese before substances", str.endswith) if substance else "")
    if affix and not before.endswith(_tuple("chinese before but")):
        return len(affix)
    if not substance or before.endswith(_tuple("chinese salts")):
        return 0
    if before[-1:] and before[-1] in _CLOSED:
        return _bracket_before(before)
    if locant := _LOCANT.search(before):
        return len(locant.group())
    herb = _longest(before, "chinese before herbs", str.endswith)
    if herb and not before.endswith(_tuple("chinese before herbs but")):
        return len(herb)
    return len(before) - len(before.rstrip("".join(_characters()))) if _beside(before[-2:], "before") else 0


def _bracket_before(before: str) -> int:
    """The bracket that ends before a drug's name, where it tells a strength or a type of one."""
    opened = max(before.rfind(c) for c in _OPEN)
    return len(before) - max(opened, 0) if opened < 0 or _STRENGTH.match(before[opened + 1 : -1]) else 0


def _behind_cjk(behind: str, *, substance: bool) -> int:
    affix = _longest(behind, "chinese behind", str.startswith)
    if affix and not behind.startswith(_tuple("chinese behind but")):
        return len(affix)
    if not substance:
        return 0
    if behind[:1] and behind[0] in _OPEN:
        return _bracket_behind(behind)
    form = _FORM.match(behind)
    rest = behind[form.end() :] if form else behind
    part = _longest(rest, "chinese plant parts", str.startswith)
    if part and not rest.startswith(_tuple("chinese plant parts but")):
        return len(behind) - len(rest) + len(part)
    counted = rest[1:] if rest[:1] in _COUNTS else rest  # 果糖二磷酸钠
    if _beside(counted[:2], "behind"):
        return len(behind) - len(counted.lstrip("".join(_characters())))
    if not form and (longer := _FORMULA.match(behind)):
        return len(longer.group())
    latin = _LATIN_BEHIND.match(rest)
    return len(behind) - len(rest) + len(latin.group()) if latin else 0


def _bracket_behind(behind: str) -> int:
    """The bracket behind a drug's name, where it tells a strength or a type, or more of the name follows it."""
    closed = min((at for c in _CLOSED if (at := behind.find(c)) > 0), default=-1)
    if closed < 0:
        return len(behind) if _STRENGTH.match(behind[1:]) else 0
    return closed + 1 if _beside(behind[closed + 1 : closed + 3], "behind") or _is_type(behind[1:closed]) else 0


def _longest(near: str, heading: str, begins: Callable[[str, str], bool]) -> str:
    """The longest of a list that ends or begins what stands beside a name; "" = none."""
    return max((a for a in _tuple(heading) if begins(near, a)), key=len, default="")


def _beside(near: str, side: str) -> bool:
    """Whether the characters beside a drug's name are of the kind that drug names are written with, and no word."""
    char = near[-1:] if side == "before" else near[:1]
    words = _tuple(f"chinese drug characters but {side}")
    word = near.endswith(words) if side == "before" else near.startswith(words)
    return char in _characters() and bool(char) and not word


def _is_type(inside: str) -> bool:
    """Whether what stands in a bracket makes another drug of the one before it.

    >>> [_is_type(t) for t in ("200/0.5", "重组", "芬必得", "Ⅱ", "aspirin", "诺瓦型")]
    [True, True, False, True, False, True]
    """
    short = len(re.findall(r"[A-Za-z]{4,}", inside)) == 0
    return (
        (bool(inside) and short and bool(_STRENGTH.match(inside)))
        or inside.endswith(_tuple("chinese types"))
        or bool(_PREPARED.fullmatch(inside))
        or inside in _words("chinese before substances")
    )


def changed(a: str, b: str) -> bool:
    """Whether two names differ by an affix that makes another thing of one word of theirs.

    >>> pairs = (("thrombocytopenic", "Thrombocytosis"), ("gout", "pseudogout"), ("非酒精性肝病", "酒精性肝病"))
    >>> [changed(*pair) for pair in pairs]
    [True, True, True]
    >>> changed("polyps", "polyp"), changed("tuberculous", "tuberculosis")
    (False, False)
    """
    if has_cjk(a) or has_cjk(b):
        return has_cjk(a) and has_cjk(b) and _changed_cjk(normalised(a), normalised(b))
    one, other = set(normalised(a).split()), set(normalised(b).split())
    only, rest = one - other, other - one
    if bool(only) != bool(rest):
        return bool((only | rest) & (_words("english apart") | _LIKE))
    return any(_changed_word(x, y) for x in only for y in rest)


def _changed_word(a: str, b: str) -> bool:
    if a[:_STEM] != b[:_STEM] and a[-_STEM:] != b[-_STEM:]:
        return False
    short, long = sorted((a, b), key=len)
    if len(short) >= _STEM and long.endswith(short) and long[: -len(short)] in _words("english before"):
        return True
    return _other_ending(a, b) or _other_beginning(a, b)


def _other_ending(a: str, b: str) -> bool:
    """Whether two words of one stem end in different things that may be the matter."""
    mine, yours = _ending(a), _ending(b)
    if mine is None or yours is None or mine[0] == yours[0]:
        return False
    stem, other = a[: -mine[1]].rstrip("aeio"), b[: -yours[1]].rstrip("aeio")
    return len(min(stem, other, key=len)) >= _STEM and (stem.startswith(other) or other.startswith(stem))


def _other_beginning(a: str, b: str) -> bool:
    """Whether two words are one word behind different beginnings (intracranial, extracranial)."""
    length = 0
    while length < min(len(a), len(b)) and a[-1 - length] == b[-1 - length]:
        length += 1
    mine, yours = a[: len(a) - length], b[: len(b) - length]
    listed = _words("english before")
    return any(mine + b[len(yours) : len(yours) + i] in listed and yours + b[len(yours) : len(yours) + i] in listed
               for i in range(min(length - _STEM, 4) + 1)) if length >= _STEM else False  # fmt: skip


@vocabulary.kept(1 << 14)
def _ending(word: str) -> tuple[int, int] | None:
    """The row of the longest listed ending of a word, and its letters."""
    found = [(len(end), row) for end, row in _endings().items() if word.endswith(end) and len(word) > len(end) + 1]
    return (max(found)[1], max(found)[0]) if found else None


def _changed_cjk(a: str, b: str) -> bool:
    """Whether one has an affix that the other lacks, or each another organ, substance or kind of disease."""
    only, rest = set(a) - set(b), set(b) - set(a)
    if only & _telling() and rest & _telling():
        return True
    short, long = sorted((a, b), key=len)
    before, _, behind = long.partition(short) if short in long else ("", "", "")
    return before in _words("chinese before") or behind in _words("chinese behind")


def ends_with_form(name: str) -> bool:
    """Whether a Chinese drug's name ends with its form, and so is whole.

    >>> ends_with_form("甲钴胺片"), ends_with_form("甲钴胺")
    (True, False)
    """
    return name.endswith(_tuple("chinese forms"))


def may_stand_before_a_drug(text: str) -> bool:
    """Whether what ends a text may stand before the name of a drug without being a piece of it.

    >>> may_stand_before_a_drug("可以吃"), may_stand_before_a_drug("盐酸"), may_stand_before_a_drug("复方")
    (True, True, False)
    """
    if text.endswith((*_tuple("chinese salts"), *_tuple("chinese words before drugs"))):
        return True
    return text[-1:] in _words("chinese before drugs") and not text.endswith(_tuple("chinese before drugs but"))


def ends_a_noun(text: str) -> bool:
    """Whether a text ends with what is a word before a drug only as the end of a noun (消炎药, 病人).

    >>> ends_a_noun("药"), ends_a_noun("吃"), ends_a_noun("中药")
    (True, False, False)
    """
    listed = text.endswith((*_tuple("chinese salts"), *_tuple("chinese words before drugs")))
    return not listed and text[-1:] in _words("chinese nouns before drugs")


def may_stand_behind_a_drug(text: str) -> bool:
    """Whether what begins a text may stand behind the name of a drug without being a piece of it.

    >>> may_stand_behind_a_drug("有什么作用"), may_stand_behind_a_drug("缓释片"), may_stand_behind_a_drug("龙")
    (True, True, False)
    >>> may_stand_behind_a_drug("肝损害吗"), may_stand_behind_a_drug("肝素钠")
    (True, False)
    """
    form = _SALT_AND_FORM.match(text)
    rest = text[form.end() :] if form else text
    if rest != text or text.startswith(_tuple("chinese words behind drugs")):
        return True
    return text[:1] in _words("chinese behind drugs") and not text.startswith(_tuple("chinese behind drugs but"))


def is_piece(name: str) -> bool:
    """Whether a Chinese drug's name is so short before its form that a name before it belongs to it (明目上清片).

    >>> is_piece("上清片"), is_piece("甲钴胺片"), is_piece("上清")
    (True, False, False)
    """
    form = _longest(name, "chinese forms", str.endswith)
    return bool(form) and len(name) - len(form) <= _PIECE


def is_telling(characters: str) -> bool:
    """Whether one of the characters says which organ, substance or kind of disease a Chinese name means."""
    return not _telling().isdisjoint(characters)


def is_turning(characters: str) -> bool:
    """Whether one of the characters says how much, which way or that it is not: no slip of the pen (增轻, 增多)."""
    return not _words("chinese turning").isdisjoint(characters)


def is_form(rest: str) -> bool:
    """Whether what a drug's name has more than another's is only a salt or a form.

    >>> is_form("缓释片"), is_form("盐酸"), is_form("那多"), is_form(" sodium")
    (True, True, False, True)
    """
    listed = _words("chinese salts") | _words("english forms")
    return all(word.strip(".") in listed or _SALT_AND_FORM.fullmatch(word) for word in rest.lower().split())


@vocabulary.kept(64)
def _words(heading: str) -> frozenset[str]:
    """The words, or the characters, of a list."""
    return frozenset(vocabulary.members("spelling", heading))


@vocabulary.kept(64)
def _tuple(heading: str) -> tuple[str, ...]:
    return tuple(_words(heading))


def _characters() -> frozenset[str]:
    return _words("chinese drug characters")


def _telling() -> frozenset[str]:
    return _words("chinese telling")


@vocabulary.kept()
def _endings() -> dict[str, int]:
    """The row in which each ending stands with those of one meaning."""
    rows = enumerate(vocabulary.entries("spelling", Predicate.ENDING_FORM))
    return {end: row for row, forms in rows for end in forms}
