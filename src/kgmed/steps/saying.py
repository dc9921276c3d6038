"""Facts of a graph in short sentences, English and Chinese: one row of a table for each role."""

import re
from collections.abc import Sequence

from kgmed.language.text import has_cjk, one_line
from kgmed.records import Entity, Role, Triple

Language = int  # 0 = English, 1 = Chinese: the place in each pair of texts
_SENTENCES: dict[Role, tuple[str, str]] = {  # {0} = the subject of the role, {1} = its object
    Role.FINDING: ("{0} can show {1}", "{0}可有{1}"),
    Role.EXCLUDES: ("{0} does not show {1}", "{0}没有{1}"),
    Role.TREATS: ("{0} is given for {1}", "{0}用于{1}"),
    Role.CONTRAINDICATED: ("{0} must not be used in {1}", "{0}禁用于{1}"),
    Role.ADVERSE: ("{0} can cause {1}", "{0}可引起{1}"),
    Role.INTERACTS: ("{0} interacts with {1}", "{0}与{1}有相互作用"),
    Role.PRECAUTION: ("{0} needs care with {1}", "{0}慎用于{1}"),
    Role.INGREDIENT: ("{0} contains {1}", "{0}含{1}"),
    Role.TESTS: ("{0} is a test for {1}", "{0}可用于检查{1}"),
    Role.CAUSE: ("{1} is a cause of {0}", "{1}是{0}的病因"),
    Role.RISK: ("{1} is a risk factor for {0}", "{1}是{0}的危险因素"),
    Role.COMPLICATION: ("{1} is a complication of {0}", "{1}是{0}的并发症"),
    Role.PREVENTION: ("{1} helps to prevent {0}", "{1}有助于预防{0}"),
    Role.LOCATION: ("{0} affects {1}", "{0}可累及{1}"),
    Role.GENE: ("{0} is tied to the gene {1}", "{0}与基因{1}有关"),
    Role.INHERITANCE: ("{0} has {1}", "{0}为{1}"),
    Role.ONSET: ("{0} begins: {1}", "{0}起病：{1}"),
    Role.CARE: ("{0} is seen by {1}", "{0}就诊于{1}"),
    Role.FOOD: ("{1} is good food in {0}", "{0}宜食{1}"),
    Role.AVOID: ("{1} is to be avoided in {0}", "{0}忌{1}"),
    Role.DIFFERENTIAL: ("{0} is to be told apart from {1}", "{0}应与{1}鉴别"),
    Role.ASSOCIATED: ("{0} goes with {1}", "{0}与{1}有关"),
    Role.IS_A: ("{0} is a kind of {1}", "{0}属于{1}"),
    Role.SAME_AS: ("{0} is also called {1}", "{0}又名{1}"),
}
_TEXT = ("{0}, {2}: {1}", "{0}（{2}）：{1}")  # of a text about an entity; {2} = its relation
_LONGEST = (160, 70)  # characters of a text that is quoted


def language_of(text: str) -> Language:
    """The place of the language of a text in pairs of texts: 1 where it holds a Chinese character, else 0."""
    return int(has_cjk(text))


def named(entity: Entity, language: Language) -> str:
    """The name of an entity in a language, as far as the graph has it."""
    return one_line(entity.name)


def clipped(text: str, longest: int) -> str:
    """A text of at most so many characters, cut between words or clauses, with "…" where it was cut.

    >>> clipped("Do not use; severe harm", 14), clipped("Short", 14)
    ('Do not use…', 'Short')
    """
    flat = one_line(text)
    if len(flat) <= longest:
        return flat
    cut = flat[:longest]
    ends = [cut.rfind(mark) for mark in "。；;，,、 "]
    best = max(ends)
    return (cut[:best] if best > longest // 2 else cut).rstrip("。；;，,、 ") + "…"


def frequency(triple: Triple) -> str:
    """How often the graph says that it is so; "" where it does not.

    >>> from kgmed.records import Relation, Support
    >>> seen = (Support("PMID:1", (("frequency", "3/7"),)),)
    >>> frequency(Triple(Entity("a", "A"), Relation("has"), Entity("b", "B"), support=seen))
    '3/7'
    """
    said = [one_line(v) for s in triple.support for k, v in s.qualifiers if k == "frequency"]
    shares = _SHARE.search(said[0]) if said else None
    return shares[1] if shares else "".join(said[:1])


_SHARE = re.compile(r"\(([\d.–-]+ ?%)\)")


def sentence(triple: Triple, language: Language, said: str = "") -> str:
    """A triple in words, with how often it is so; `said` = the part of its text that matters.

    >>> from kgmed.records import Relation
    >>> fact = Triple(Entity("a", "Measles"), Relation("leads to", Role.COMPLICATION), Entity("b", "Pneumonia"))
    >>> sentence(fact, 0), sentence(fact, 1)
    ('Pneumonia is a complication of Measles', 'Pneumonia是Measles的并发症')
    """
    subject, other = named(triple.subject, language), named(triple.object, language)
    if not triple.tail.id:
        text = clipped(said or triple.tail.name, _LONGEST[language])
        return _TEXT[language].format(
            named(triple.head, language), text, one_line(str(triple.relation)).replace("_", " ")
        )
    form = _SENTENCES.get(triple.relation.role)
    if form is None:
        return f"{named(triple.head, language)} — {one_line(str(triple.relation))} → {named(triple.tail, language)}"
    often = frequency(triple)
    return form[language].format(subject, other) + ((f" ({often})", f"（{often}）")[language] if often else "")


def joined(names: Sequence[str], language: Language) -> str:
    """Names between commas."""
    return ("、" if language else ", ").join(names)


# --- Verdicts on two things: how the first sentence begins; {0} = the facts, {1} and {2} = the two things.

_VERDICTS: dict[str, tuple[str, str]] = {
    "no": ("No: {0}.", "不能：{0}。"),
    "denied": ("No: the graph says that {0}.", "没有：图谱记载{0}。"),
    "caution": ("Only with caution, not freely: {0}.", "慎用：{0}。"),
    "harm": ("Caution: {0}.", "慎用：{0}。"),
    "interacts": ("They interact: {0}.", "有相互作用：{0}。"),
    "reverse": ("No, the other way round: {0}.", "不是，方向相反：{0}。"),
    "other": ("The graph does not say so; what it says is: {0}.", "图谱未如此记载；图谱记载的是：{0}。"),
    "none": ("The graph has no link between {1} and {2}.", "图谱中没有{1}与{2}之间的联系。"),
    "no warning": (
        "The graph has no warning about {1} and {2}, which is no proof that it may be taken.",
        "图谱中没有{1}与{2}的禁忌或相互作用，但不能据此认为可以使用。",
    ),
    "unknown": ("“{1}” is not in the graph, so nothing is said about it.", "图谱中没有“{1}”，无法回答。"),
    "lacking": ("The graph has no {2} for {1}.", "图谱中没有{1}的{2}。"),
}


def verdict(which: str, language: Language, facts: Sequence[str] = (), one: str = "", other: str = "") -> str:
    """The first sentence of a verdict.

    >>> verdict("none", 0, (), "gout", "fever")
    'The graph has no link between gout and fever.'
    """
    said = ("；" if language else "; ").join(dict.fromkeys(facts))
    return _VERDICTS[which][language].format(said, one_line(one), one_line(other))


def affirmed(yes: str, language: Language, facts: Sequence[str]) -> str:
    """A yes with its facts, in the word with which the question is affirmed."""
    said = ("；" if language else "; ").join(dict.fromkeys(facts))
    return f"{yes}：{said}。" if language else f"{yes}: {said}."
