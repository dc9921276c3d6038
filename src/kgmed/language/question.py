"""What a question asks for, by its words: a diagnosis, a drug, a test, ... (English and Chinese)."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from kgmed.records import Role

# In this order; every rule that matches counts. `FINDING <` = the subject is asked for: which disease has this?
_RULES: tuple[tuple[Role, bool, str], ...] = (
    (
        Role.FINDING,
        True,
        r"what (?:could|can|might|is|may) (?:it|this|that|be wrong|be the (?:problem|cause|diagnosis))\b"
        r"|diagnos(?!tic test)"
        r"|which (?:disease|disorder|syndrome|condition)|what (?:disease|disorder|syndrome|condition|illness)"
        r"|what('s| is) wrong|do i have|does (?:he|she|my \w+) have"
        r"|what could be (?:the )?(?:problem|cause|wrong|causing)"
        r"|是什么病|什么疾病|什么病|哪种病|怎么回事|怎么了|诊断|咋回事|得了什么",
    ),
    (
        Role.TREATS,
        False,
        r"\btreat|medic(?:ine|ation)|\bdrugs?\b|\bcure|\btherap|remed|what (?:can|should) (?:i|we|he|she) take|prescri"
        r"|什么药|哪些药|用药|吃药|药物|治疗|怎么治|如何治|怎么办|疗法|怎样治",
    ),
    (
        Role.TESTS,
        False,
        r"\btests?\b|examin|\bscan|\bx-?ray|investigat|how .{0,200}diagnosed|检查|化验|检验|怎么查|筛查",
    ),
    (Role.FINDING, False, r"symptom|\bsigns?\b|\bfeatures?\b|phenotyp|manifest|present with|症状|表现|体征|征兆"),
    (Role.ADVERSE, False, r"side.?effect|adverse|\bharm|副作用|不良反应|副反应|危害"),
    (
        Role.CONTRAINDICATED,
        False,
        r"contraindicat|(?:should|must|can)(?: ?n[o']t| not) (?:take|use)|who should(?: not|n't)"
        r"|safe to (?:take|use)|avoid"
        r"|禁忌|禁用|不能吃(?!什么)|不能用|慎用|(?:可以|能)(?:吃|用|服用?)(?=.{0,12}吗)",
    ),
    (Role.INTERACTS, False, r"interact|taken? together|combin(?:e|ation) with|相互作用|一起吃|同时吃|同服"),
    (Role.DOSAGE, False, r"\bdos(?:e|age|ing)|how (?:much|often)|用法|用量|剂量|怎么吃|怎么用|吃几"),
    (Role.CAUSE, False, r"\bcauses? of|what causes|why (?:do|does|is)|etiolog|aetiolog|病因|原因|为什么|引起的|导致的"),
    (Role.RISK, False, r"\brisk|predispos|高危|危险因素|易感"),
    (Role.COMPLICATION, False, r"complicat|sequela|lead to|并发症|后遗症|会引起什么"),
    (Role.PREVENTION, False, r"prevent|prophyla|vaccin|预防|避免得"),
    (Role.GENE, False, r"\bgenes?\b|mutation|基因|突变"),
    (Role.INHERITANCE, False, r"inherit|heredit|遗传"),
    (Role.ONSET, False, r"\bonset\b|what age|发病年龄|几岁"),
    (Role.LOCATION, False, r"\bwhere in the body|affected (?:organ|part)|发病部位|哪个部位|什么部位"),
    (Role.CARE, False, r"which (?:doctor|department|specialist)|科室|挂什么号|挂哪|什么科|哪个科"),
    (Role.FOOD, False, r"\b(?:eat|foods?|diet)\b|饮食|(?<!不能)(?<!不宜)(?<!不要)(?<!忌)吃什么(?!药)|宜吃|食物"),
    (Role.AVOID, False, r"\bavoid|not eat|忌口|忌吃|不宜吃|少吃|不(?:能|要|宜)吃(?:什么|哪些)"),
    (Role.DIFFERENTIAL, False, r"different(?:ial| from)|distinguish|鉴别|区别"),
)
# Asked of an entity, these mean what it has, never what has it: the symptoms of gout, not what gout is a symptom of.
OF_THE_SUBJECT = frozenset(
    {Role.FINDING, Role.ADVERSE, Role.CAUSE, Role.RISK, Role.COMPLICATION, Role.ONSET, Role.INHERITANCE, Role.LOCATION}
)
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:\.(?=\d)[^.!?。！？\n]*)*[.!?。！？\n]?")
_ENDS_ASKING = re.compile(r"[?？]\W*$")
_ASKING = re.compile(
    r"^\W*(?:what|which|who|why|when|where|how|can|could|should|is|are|do|does|tell|list|name|give|describe|explain|show)\b"
    r"|(?<!没)(?<!没有)什么(?!都)|哪|怎|吗|如何|为何|是否|多少|几(?=[岁次片粒颗种])|能不能|可不可以|有没有",
    re.IGNORECASE,
)
_ASKS_HERE = re.compile(
    _ASKING.pattern
    + r"|\b(?:what|which|who|why|when|where|how)\b"
    + r"|\b(?:can|could|should|may|do|does|is|are) (?:i|we|you|he|she|it|they|there|this|that|these|my|the)\b",
    re.IGNORECASE,
)
_COMMA = re.compile(r"[,，;；]")
_SHORT = 40  # characters; a text this short is a query even where it asks nothing: "symptoms of gout"
_SHORT_CJK = 20
_COMPILED = tuple((role, subject, re.compile(pattern, re.IGNORECASE)) for role, subject, pattern in _RULES)


@lru_cache(maxsize=1024)
def roles_asked(text: str) -> tuple[Role, ...]:
    """The roles whose other end a question asks for, most telling first; () = none that its words tell.

    A diagnosis is not among them: see `asks_diagnosis`.

    >>> roles_asked("饭后胃反酸，应该吃什么药？"), roles_asked("What are the symptoms of gout?")
    ((<Role.TREATS: 'treats'>,), (<Role.FINDING: 'finding'>,))
    """
    said = asking_part(text)
    return tuple(dict.fromkeys(role for role, subject, pattern in _COMPILED if not subject and pattern.search(said)))


@lru_cache(maxsize=1024)
def asks_diagnosis(text: str) -> bool:
    """Whether the question describes a patient and asks which disease it is.

    >>> asks_diagnosis("He has a fever. What could it be?"), asks_diagnosis("What treats gout?")
    (True, False)
    """
    said = asking_part(text)
    return any(subject and pattern.search(said) for _, subject, pattern in _COMPILED)


@lru_cache(maxsize=1024)
def words_that_ask(text: str) -> tuple[tuple[int, int], ...]:
    """Where the words stand (start, end) by which a question asks for something; they name no entity.

    >>> [("Which gene causes gout?")[a:b] for a, b in words_that_ask("Which gene causes gout?")]
    ['gene']
    """
    said = [
        stretch
        for begin, end in _stretches(text)
        for _, _, pattern in _COMPILED
        for stretch in _to_word_ends(
            text, [(begin + m.start(), begin + m.end()) for m in pattern.finditer(text[begin:end])]
        )
    ]
    return tuple(sorted(said))


def asking_part(text: str) -> str:
    """The part of a text that asks; what a patient tells on the way ("difficult to eat") asks for nothing.

    >>> asking_part("It is difficult to eat. After the medicine I feel sick, what tests do I need?").strip()
    'what tests do I need?'
    """
    return "".join(text[begin:end] for begin, end in _stretches(text))


def _stretches(text: str) -> list[tuple[int, int]]:
    """Where it asks (start, end): of each sentence that asks, what follows the last comma before its first asking word.

    A short text without commas is a query even where nothing in it asks.
    """
    sentences = [m.span() for m in _SENTENCE.finditer(text) if m.group().strip()]
    found = [(_first_clause(text, *span), span[1]) for span in sentences if _asks(text[slice(*span)])]
    short = len(text) <= (_SHORT if text.isascii() else _SHORT_CJK)
    return found or ([(0, len(text))] if short and not _COMMA.search(text) else [])


def _asks(sentence: str) -> bool:
    return bool(_ENDS_ASKING.search(sentence) or _ASKING.search(sentence))


def _first_clause(text: str, begin: int, end: int) -> int:
    """Where the clause of a sentence's first asking word begins; its beginning where no word asks."""
    asks_here = _ASKS_HERE.search(text[begin:end])
    commas = [m.end() for m in _COMMA.finditer(text, begin, begin + asks_here.start())] if asks_here else []
    return commas[-1] if commas else begin


def _to_word_ends(text: str, stretches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches, in order, each to the end of the English word that it stops in; a word is read once."""
    stopped, word_end = -1, -1
    for start, end in stretches:
        if not stopped <= end <= word_end:
            stopped, word_end = end, _word_end(text, end)
        yield start, word_end


def _word_end(text: str, end: int) -> int:
    """The end of the English word that holds the place."""
    while end < len(text) and text[end - 1].isascii() and text[end].isascii() and text[end].isalpha():
        end += 1
    return end
