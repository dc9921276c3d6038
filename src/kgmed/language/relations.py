"""What relations and things are called in the language of the question, where their graph names them in another."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgmed import vocabulary
from kgmed.disk import packaged_toml
from kgmed.language.text import has_cjk, lazily
from kgmed.records import Relation
from kgmed.vocabulary import Predicate


@dataclass(frozen=True, slots=True)
class Spoken(Relation):
    """A relation that is written in a language; its name stays that of its graph."""

    words: str = ""

    def __str__(self) -> str:
        """The words for it."""
        return self.words or self.name


def spoken(relation: Relation, language: str) -> Relation:
    """The relation, with words for its role where its name is not in the language.

    >>> from kgmed.records import Role
    >>> relation = spoken(Relation("药物治疗", Role.TREATS, reverse=True), "en")
    >>> str(relation), relation.name, str(spoken(Relation("has_phenotype", Role.FINDING), "en"))
    ('treated with', '药物治疗', 'has_phenotype')
    """
    words = packaged_toml(__name__).get(relation.role)
    if not words or language not in ("en", "zh") or has_cjk(relation.name) == (language == "zh"):
        return relation
    return Spoken(relation.name, relation.role, relation.reverse, words[2 * (language == "zh") + relation.reverse])


# --- What things are called in English where their graph names them in Chinese alone


_LONGEST = 6  # ours: parts of a name that is put together; longer ones are sentences, whose order differs
_LATIN = lazily(r"[A-Za-z0-9α-ωΑ-Ω%+.\-—–_]+")
_NUMBERS = dict(zip("一二三四五六", "123456", strict=True))
_COUNT = r"([一二三四五六]|\d+(?:[-～~—–]\d+)?)"
# how often and how much, which English says the other way round
_TIMES = (
    (lazily(rf"(?:一[日天]|每[日天]){_COUNT}次"), " {}_times_a_day "),
    (lazily(rf"(?:一次|每次){_COUNT}(?=[片粒袋丸])"), " {} "),
)
_AGED = lazily(
    r"(?:年龄 ?)?(\d+) ?(?:[-～~—–] ?(\d+) ?周?岁|周?岁(以[上下内]))的?"
    r"(患者|人群|中年人|中?老年人|老人|成年?人|青壮年|者|儿童|小儿|患儿|婴幼儿|幼儿|男性|女性|妇女)?"
)
_WHO = {**dict.fromkeys("儿小婴幼", "children"), "男": "men", "女": "women", "妇": "women"}  # by the first character
_OR = {"以上": "over", "以下": "under", "以内": "under"}
_ROUND = lazily(r"[（(]([^（）()]*)[）)]$")
_JOINING = ("and", "or", ",", "(", ")")
_SALTS = ("hydrochloride", "sulfate", "phosphate", "acetate", "maleate", "mesylate", "lactate", "aspartate")
_TESTED = (  # how a test ends that needs no "test" behind it
    *("scan", "imaging", "ultrasound", "scopy", "graphy", "gram", "culture", "biopsy", "count", "CT", "MRI", "X-ray"),
    *("radiograph", "test", "tests", "screening", "examination", "catheterisation"),
)
_FORMS = ("tablets", "granules", "syrup", "suppositories", "suspension", "capsules", "solution", "injection", "drops")
_WIDEST = 14  # characters of the longest word of the table that is a part
_LIST = lazily(r"[、，,；;或和及与]")
_NUMBERED = lazily(r"\d{1,2}[.．、]\s*")


def _known() -> dict[str, str]:
    """Chinese to English by the names of things in both, the first that there is."""
    found: dict[str, str] = {}
    for english, *others in vocabulary.entries("names", Predicate.ALT_LABEL):
        for name in others:
            if not name.isascii():
                found.setdefault(name, english)
    return found


_Gaps = Mapping[tuple[str, str], str]  # what stands before and behind a gap, to English with the gap


TRANSLATIONS = (  # of names, of their parts and beginnings, of clauses and of frames
    *(Predicate.EXACT_MATCH, Predicate.PART_MEANS, Predicate.BEGINNING_MEANS),
    *(Predicate.CLAUSE_MEANS, Predicate.FRAME_MEANS),
)


@vocabulary.kept()
def _english() -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str], _Gaps, _Gaps]:
    """What names, the parts of names, the beginnings that English says behind the rest, clauses and frames mean.

    They are from the translations and the names of the vocabulary.
    """
    whole, parts, behind, clauses, frames = (dict(vocabulary.pairs("translations", kind)) for kind in TRANSLATIONS)
    names = {**_known(), **whole}
    longer = {name: said for name, said in names.items() if len(name) > 1}  # one character is within too many words
    parts = {**behind, **longer, **parts, "/": "and", "的": "", "等": ""}
    return names, parts, behind, _gaps(clauses), _gaps(frames)


def _gaps(rows: Mapping[str, str]) -> _Gaps:
    """The rows by what stands before and behind their gap, the longest first."""
    longest = sorted(rows, key=len, reverse=True)
    return {(begin, end): rows[row] for row in longest for begin, end in [row.split("{}")]}


@vocabulary.kept(4096)
def in_english(name: str) -> str:
    """A Chinese name in English, by the words that it is or is made of; "" where one of them is not known.

    >>> in_english("肝肾功能"), in_english("腹部CT检查"), in_english("小儿肺炎"), in_english("清化热痰")
    ('liver and kidney function', 'abdominal CT', 'pneumonia in children', '')
    >>> in_english("由金黄色葡萄球菌感染引起"), in_english("年龄大于40岁")
    ('Staphylococcus aureus infection', 'age over 40')
    """
    names, parts, behind, _, frames = _english()
    plain = _turned(name.strip()).strip()
    if known := names.get(name.strip()) or names.get(plain):
        return known
    short = _ROUND.sub("", plain).strip()
    if short != plain and short and (english := in_english(short) if has_cjk(short) else short.replace("_", " ")):
        return english
    if clause := _clause(plain):
        return clause
    if vocabulary.listed("what is not to be done").search(plain):
        return ""
    pieces = _pieces(plain, parts)
    long = sum(parts.get(piece) not in _JOINING for piece in pieces)  # a list keeps its order
    too_long = long > (_LONGEST if not any(c.isdigit() for c in plain) else 3 * _LONGEST)
    if not pieces or too_long or parts.get(pieces[0]) in ("and", "or"):
        return _framed(plain, frames)
    first, *rest = pieces
    if not rest or first not in behind or parts.get(rest[0], rest[0]) in _JOINING:
        return _put_together(pieces, parts)
    said = _put_together(rest, parts)
    return f"{said} {behind[first].replace('in ', 'for ') if said.endswith(_FORMS) else behind[first]}"


def _turned(name: str) -> str:
    """A name with how often, how much and how old in it as English words, whose order differs."""
    for pattern, english in _TIMES:
        name = pattern.sub(lambda m, form=english: form.format(_NUMBERS.get(m[1], m[1])), name)  # type: ignore[misc]
    return _AGED.sub(_aged, name)


def _aged(found: re.Match[str]) -> str:
    """Of what age people are."""
    who = _WHO.get((found[4] or "")[:1], "people")
    return f" {who}_aged_{found[1]}_" + (f"to_{found[2]} " if found[2] else f"or_{_OR[found[3]]} ")


def _clause(text: str) -> str:
    """What a text of a label says of whom it names, clause by clause; "" where it is not one or not known.

    >>> _clause("孕妇及青光眼患者禁用"), _clause("孕妇禁用，儿童慎用"), _clause("孕妇")
    ('not in pregnant women or glaucoma', 'not in pregnancy, with care in children', '')
    """
    names, _, _, clauses, _ = _english()
    if not vocabulary.listed("what labels tell").search(text):
        return ""
    if number := _NUMBERED.match(text):
        text = text[number.end() :]
    if "，" in text:
        said = [
            names.get(part, "") if vocabulary.listed("what labels tell").search(part) else ""
            for part in text.split("，")
        ]
        said = [known or _clause(part) for known, part in zip(said, text.split("，"), strict=True)]
        if all(said):
            return ", ".join(said)
    for english, inner in _filled(text, clauses):
        if not vocabulary.listed("what labels tell").search(inner) and (whom := in_english(inner)):
            return english.format(whom.replace(" and ", " or "))
    return ""


def _framed(text: str, frames: _Gaps) -> str:
    """What a frame says around what is left of a text; "" where that is not known.

    Words that Chinese says behind a list and English in front of it may be said of its last alone.
    """
    for english, inner in _filled(text, frames):
        crossing = text.startswith(inner) and not english.startswith("{}")
        if not (crossing and _LIST.search(inner)) and (said := in_english(inner)):
            return english.format(said if english == "{}" else said.replace(" and ", " or "))
    return ""


def _filled(text: str, gaps: _Gaps) -> Iterator[tuple[str, str]]:
    """The English of each row whose gap the text can fill, and what fills it."""
    for (begin, end), english in gaps.items():
        if text.startswith(begin) and text.endswith(end) and len(text) > len(begin) + len(end):
            yield english, text[len(begin) : len(text) - len(end)]


def _pieces(name: str, parts: Mapping[str, str]) -> list[str]:
    """The fewest known words that a name is made of, the longest first where two ways are as short; [] where none."""
    best: list[list[str] | None] = [None] * len(name) + [[]]
    for begin in range(len(name) - 1, -1, -1):
        latin = _LATIN.match(name, begin)
        ends = [latin.end()] if latin else []
        ends += [end for end in range(begin + 1, min(len(name), begin + _WIDEST) + 1) if name[begin:end] in parts]
        if name[begin] == " ":
            ends.append(begin + 1)
        for end in sorted(set(ends), reverse=True):
            rest = best[end]
            if rest is not None and (best[begin] is None or len(rest) + 1 < len(best[begin] or ())):
                best[begin] = [name[begin:end], *rest]
    return [piece for piece in best[0] or [] if piece.strip()]


def _put_together(pieces: Sequence[str], parts: Mapping[str, str]) -> str:
    """The words in English, a salt behind its substance; "test" is not said of what is one by its name."""
    said: list[str] = []
    salt = ""
    for piece in pieces:
        word = parts.get(piece, piece)
        if word in _SALTS and piece is not pieces[-1]:
            salt = word
            continue
        if word == "test" and said and said[-1].endswith(_TESTED):
            continue
        if word:
            said += [word, salt] if salt else [word]
            salt = ""
    return re.sub(r" ([,)])|([(-]) -?", r"\1\2", " ".join(said).replace("_", " "))
