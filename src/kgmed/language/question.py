"""What a question asks for, by its words: the rows of the table of question types that match its asking part."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from kgmed.language.text import Unslipped, has_cjk, lazily, spelled
from kgmed.language.types import CULPRIT, TEXTS, TYPES, QuestionType
from kgmed.records import Role

_FOOD = lazily(r"\bfoods?\b|\beat(?:ing)?\b|\bdiet|\bdrinks?\b", re.IGNORECASE)
_TREATED = lazily(r"\btreat|\bcure|\btherap|治", re.IGNORECASE)
# Asked of an entity, these mean what it has, never what has it: the symptoms of gout, not what gout is a symptom of.
OF_THE_SUBJECT = frozenset(
    {Role.FINDING, Role.ADVERSE, Role.CAUSE, Role.RISK, Role.COMPLICATION, Role.ONSET, Role.INHERITANCE, Role.LOCATION}
)
_OF_A_MEDICINE = frozenset({Role.INTERACTS, Role.CONTRAINDICATED, Role.ADVERSE, Role.DOSAGE})
_TREATS = lazily(r"treat|cure|therap|remed|\bhelps?\b|治|怎么办|咋办|缓解|疗法", re.IGNORECASE)
_UNTREATED = lazily(
    r"\b(?:not|never) (?:be |get |being |been )?treat|\buntreated|n't (?:be |get )?treat|不治(?:疗)?会", re.IGNORECASE
)
_SENTENCE = lazily(r"[^.!?。！？\n]*(?:\.(?=\d)[^.!?。！？\n]*)*[.!?。！？\n]?")
_ENDS_ASKING = lazily(r"[?？]\W*$")
_ASKING = lazily(
    r"^\W*(?:what|which|who|why|when|where|how|can|could|should|is|are|do|does|tell|list|name|give|describe"
    r"|explain|show)\b"
    r"|^\W*(?:tests?|treatments?|symptoms|signs|causes|genes?|inheritance|medic(?:ine|ation)s?|meds|drugs|side effects"
    r"|complications|therapy|management|dos(?:e|age)|risk factors|contraindications|interactions|prevention)"
    r"(?: (?:options|choices|list))? (?:to|for|of|in|with)\b"
    r"|是[^，。]{1,8}还是|多大(?!\d)|(?<!没)(?<!没有)(?:什么|啥)(?!都)|哪|怎|咋|吗|(?:么|嘛)\W*$|如何|为何|为啥|是否|多少|几(?=[岁次片粒颗种])"
    r"|能不能|可不可以|能否|可否|有没有|有无|会不会|是不是|要不要|该不该|行不行|好不好"
    r"|(?:[吃用喝服打能]|可以)不\W*$",
    re.IGNORECASE,
)
_ASKS_LATER = lazily(  # "my mum has gout, what can she take": no mark, and the question stands behind what is told
    r"[,;]\s*(?:and |but |so )?(?:what|which|who|why|how)\b(?! (?:i|he|she|we|they|it) )"
    r"|[,;\s](?:can|could|should|may|must|do|does|is|are) (?:i|we|he|she|they|it|there|this|that|you)\b"
    r"|[,;\s](?:can|could|should|may|must|do|does) (?:my|his|her|our|their) \w+"
    r"|[,;] *(?:is|are|can|could|may|does|do|will)(?: \w+){1,3} (?:ok|okay|safe|allowed|dangerous|help|work|cause)\b"
    r"|^\W*(?:if|when|since|because|after|before|for)\b.*\b(?:what|which|who|how)(?:'s)?"
    r" (?:is|are|do|does|can|should|will)\b",
    re.IGNORECASE,
)
_ASKS_HERE = lazily(
    _ASKING.pattern
    + r"|\b(?:what|which|who|why|when|where|how)\b"
    + r"|\b(?:can|could|should|may|do|does|is|are) (?:i|we|you|he|she|it|they|there|this|that|these|my|the)\b",
    re.IGNORECASE,
)
_TELLS = lazily(  # of whom something is told before it is asked
    r"\b(?:i|i['’]?m|i['’]?ve|my|me|he|she|his|her|we|our|they|patients?|pt|girl|boy|man|woman|baby|child|infant|since)\b"
    r"|\b(?:year|yr|month|week|day)s?[ -]old\b|[我他她]|孩子|患者|宝宝|[岁男女]|老[人公婆]|既然",
    re.IGNORECASE,
)
_COMMA = lazily(r"[,，;；]")
_SETTING = lazily(  # where it happens, which names no disease: ED is also a short form of one
    r"\b(?:in|at|from|to) (?:the |an? )?(?:ED|ER|ICU|A&E|GP|OPD|clinic|hospital|ward|emergency (?:department|room))\b"
)
_SHORT = 60  # characters; a text this short is a query even where it asks nothing: "symptoms of gout"
_SHORT_CJK = 20


@lru_cache(maxsize=1024)
def roles_asked(text: str) -> tuple[Role, ...]:
    """The roles whose other end a question asks for, most telling first; () = none that its words tell.

    A diagnosis is not among them: see `asks_diagnosis`.

    >>> roles_asked("饭后胃反酸，应该吃什么药？"), roles_asked("What are the symptoms of gout?")
    ((<Role.TREATS: 'treats'>,), (<Role.FINDING: 'finding'>,))
    """
    return tuple(dict.fromkeys(row.role for row in types_asked(text) if row.role and not row.of_what))


@lru_cache(maxsize=1024)
def types_asked(text: str) -> tuple[QuestionType, ...]:
    """The rows of `TYPES` whose words are in the asking part of a text.

    >>> [row.name for row in types_asked("What tests and drugs are there for gout?")]
    ['treatment', 'test']
    """
    said = spelled("".join(text[begin:end] for begin, end in _asking_stretches(text)))
    rows = tuple(row for row in TYPES if row.pattern.search(said))
    if _FOOD.search(said) and any(
        row.role is Role.AVOID for row in rows
    ):  # what not to eat: no medicine, nor what to eat
        return tuple(row for row in rows if row.role not in (Role.FOOD, Role.CONTRAINDICATED))
    if any(row is CULPRIT for row in rows) and not _TREATED.search(said):
        return (CULPRIT,)
    if _UNTREATED.search(said) or (any(row.role in _OF_A_MEDICINE for row in rows) and not _TREATS.search(said)):
        rows = tuple(row for row in rows if row.role is not Role.TREATS)  # "which drugs interact with it?"
    return rows


@lru_cache(maxsize=1024)
def texts_asked(text: str) -> tuple[QuestionType, ...]:
    """The rows of `TEXTS` whose words are in the asking part of a text: what few graphs hold.

    >>> [row.name for row in texts_asked("How much does metformin cost?")], texts_asked("What treats gout?")
    (['price'], ())
    """
    said = spelled(asking_part(text))
    rows = tuple(sorted((r for r in TEXTS if r.pattern.search(said)), key=lambda r: r.name != "value"))
    value = _A_VALUE_ZH if has_cjk(text) else _A_VALUE
    if all(row.name == "prognosis" for row in rows) and _OF_A_VALUE.search(said) and value.search(text):
        return (next(row for row in TEXTS if row.name == "value"),)
    if not rows and _BY_WEIGHT.search(text) and any(row.role is Role.DOSAGE for row in types_asked(text)):
        return (next(row for row in TEXTS if row.name == "dose by weight"),)
    return rows


_BY_WEIGHT = lazily(
    r"\b\d{1,3} ?(?:kg|kilo\w*|pounds?|lbs?)\b|\d{1,3} ?(?:公斤|千克|kg|斤)(?![一-鿿]{0,2}以)", re.IGNORECASE
)
_OF_A_VALUE = lazily(  # "my TSH is 9, is that bad?": the number stands in what is told
    r"^\W*(?:(?:is|are) (?:that|this|it|these|they)(?: \w+)? (?:bad|high|low|normal|ok|okay|good|dangerous|serious"
    r"|a (?:problem|concern)|worrying|anything to worry about)|should i (?:be )?worr(?:y|ied)"
    r"|what does (?:that|this|it) mean|do i need to worry)\b[^,.;]*$"
    r"|^\W*(?:这个?|这样|算|是不是|是)*(?:偏?[高低]|正常|严重|要紧|危险|有事|有问题|什么意思|说明什么|怎么回事|咋回事|什么情况|怎么了)(?:了)?(?:吗|么|不|嘛|呢|啊)?\W*$"
    r"|^\W*(?:我)?(?:要不要|需不需要|用不用|该不该|需要|要)(?:开始)?(?:吃|用|服)药(?:吗|么|啊|呢)?\W*$",
    re.IGNORECASE,
)
_A_VALUE_ZH = lazily(
    r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9-]{1,8}\s?(?:值|水平)?(?:是|为|到了?|才|只有)?\s?\d[\d.]*(?![\d.]|岁|年|天|个|周|月)"
    r"|(?:血[钾钠钙磷镁糖脂压氧]|尿酸|肌酐|转氨酶|血红蛋白|血小板|白细胞|胆红素|胆固醇|甘油三酯|尿素氮|血沉|甲胎蛋白|糖化)"
    r"(?:值|水平)?(?:是|为|到了?|才|只有)?\s?\d",
)
_A_VALUE = lazily(
    r"\b[a-z]\w+ (?:(?:is|are|was|were|of|at|as|level|count|came|back|result|reading) ){0,3}\d[\d.,/]*"
    r"(?! ?(?:years?|yrs?|yo|months?|weeks?|days?|hours?|times|y/o|old)\b)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def asks_diagnosis(text: str) -> bool:
    """Whether the question describes a patient and asks which disease it is.

    >>> asks_diagnosis("He has a fever. What could it be?"), asks_diagnosis("What treats gout?")
    (True, False)
    """
    return any(row.of_what and row is not CULPRIT for row in types_asked(text))


@lru_cache(maxsize=1024)
def words_that_ask(text: str) -> tuple[tuple[int, int], ...]:
    """Where the words stand (start, end) by which a question asks for something; they name no entity.

    >>> [("Which gene causes gout?")[a:b] for a, b in words_that_ask("Which gene causes gout?")]
    ['gene']
    """
    read = Unslipped(text)
    finders: list[Callable[[str], Iterator[re.Match[str]]]] = [row.pattern.finditer for row in TYPES]
    finders.append(_SETTING.finditer)
    said = [
        stretch
        for begin, end in _asking_stretches(read.text)
        for find in finders
        for stretch in _to_word_ends(
            read.text, [(begin + m.start(), begin + m.end()) for m in find(read.text[begin:end])]
        )
    ]
    return tuple(sorted((read.places[start], read.places[end]) for start, end in said))


def compares(text: str) -> bool:
    """Whether a question asks how two things differ.

    >>> compares("What is the difference between gout and pseudogout?"), compares("What treats gout?")
    (True, False)
    """
    return bool(next(row for row in TYPES if row.role is Role.DIFFERENTIAL).pattern.search(spelled(text)))


_DEFINES = lazily(
    r"\bwhat(?:'s|’s| is| are) (?!.*\b(?:of|for|in(?! (?:plain|simple|easy|lay|everyday|short|brief|a nutshell"
    r"|one\b))|the)\b)"
    r"|\bwhat does .{0,80}\bmean\b|\bdefin(?:e|ition)\b"
    r"|\bmeant by\b|\bmeaning of\b|\bmeaning\W*$|\bmeans\W*$|\bdef\W*$|\bin plain (?:words|english|terms)\b"
    r"|什么是|[什啥]么?叫(?!我)|是(?:一?个|一种|指)?(?:什么|啥)(?:病|疾病|意思|东西|药|症状)?[呀啊呢哦]?\W*$|什么意思|定义",
    re.IGNORECASE,
)


def defines(text: str) -> bool:
    """Whether a question asks what a thing is.

    >>> defines("What is gout?"), defines("什么是黄疸"), defines("What is the cause of gout?")
    (True, True, False)
    """
    return bool(_DEFINES.search(asking_part(text)))


def asking_part(text: str) -> str:
    """The part of a text that asks; what a patient tells on the way ("difficult to eat") asks for nothing.

    >>> asking_part("It is difficult to eat. After the medicine I feel sick, what tests do I need?").strip()
    'what tests do I need?'
    """
    return "".join(text[begin:end] for begin, end in _stretches(text))


def asks_at(text: str, place: int) -> bool:
    """Whether a place in a text is in its asking part.

    >>> asks_at("I have gout. Can I take aspirin?", 7), asks_at("I have gout. Can I take aspirin?", 24)
    (False, True)
    """
    return any(begin <= place < end for begin, end in _stretches(text))


@lru_cache(maxsize=8)  # asked of each name that stands in a text
def _stretches(text: str) -> tuple[tuple[int, int], ...]:
    """Where it asks (start, end): of each sentence that asks, what follows the last comma before its first asking word.

    A short text without commas is a query even where nothing in it asks.
    """
    sentences = [m.span() for m in _SENTENCE.finditer(text) if any(c.isalnum() for c in m.group())]
    found = [(_first_clause(text, *span), span[1]) for span in sentences if _asks(text[slice(*span)])]
    if found and len(found) < len(sentences):
        found += [span for span in sentences if not _asks(text[slice(*span)]) and _only_names(text[slice(*span)])]
    short = len(text) <= (_SHORT if text.isascii() else _SHORT_CJK)
    return tuple(found) or (((0, len(text)),) if short and not _COMMA.search(text) else ())


def _asking_stretches(text: str) -> tuple[tuple[int, int], ...]:
    """`_stretches`, or where they ask for nothing the whole sentences: "dose of X, and how many days for Y?"."""
    found = _stretches(text)
    said = spelled("".join(text[begin:end] for begin, end in found))
    if has_cjk(text) or any(row.pattern.search(said) for row in (*TYPES, *TEXTS)):
        return found  # of a Chinese sentence the clauses before the asking one are told
    return tuple(m.span() for m in _SENTENCE.finditer(text) if _asks(m[0]) and not _TELLS.search(m[0]))


def _only_names(sentence: str) -> bool:
    """Whether a sentence is but the name of what is asked for: "Do I have gout? Symptoms and treatment"."""
    if len(sentence) > _SHORT:
        return False
    said = spelled(sentence)
    spans = [m.span() for row in TYPES for m in row.pattern.finditer(said)]
    named = {i for start, end in _to_word_ends(said, sorted(spans)) for i in range(start, end)}
    left = "".join(" " if i in named else c for i, c in enumerate(said))
    return bool(named) and not re.sub(
        r"\b(?:and|or|the|its|of|please)\b|[和与及、]|[\W_]", "", left, flags=re.IGNORECASE
    )


def tells_only(text: str) -> bool:
    """Whether an English text tells of someone and asks nothing.

    >>> tells_only("My baby has yellow skin."), tells_only("baby jaundice, is it bad?"), tells_only("gout pills")
    (True, False, False)
    """
    return bool(text.isascii() and _TELLS.search(text)) and not any(_asks(m[0]) for m in _SENTENCE.finditer(text))


def _asks(sentence: str) -> bool:
    return bool(_ENDS_ASKING.search(sentence) or _ASKING.search(sentence) or _ASKS_LATER.search(sentence))


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
