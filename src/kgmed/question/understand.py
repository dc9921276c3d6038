"""The stage `understand`: what a question asks, read once from its words and the names that were linked in it.

`Trained` is a classifier (`kgmed.question.model`). It is the only place that reads a question's words to decide what is
wanted, but for a language model's reading of it (`kgmed.linking.by_model`); everything after it reads the frame.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kgmed import vocabulary
from kgmed.frame import OTHER_THAN, Ask, Constraint, Form, Frame, Intent, Named, Patient
from kgmed.graph.base import Match
from kgmed.language.text import has_cjk, language_of, lazily, pattern_of
from kgmed.models.base import Encoder
from kgmed.question.model import (
    FORMS,
    LANGUAGES,
    NO_NAME,
    SLOTS,
    Features,
    Model,
    Span,
    asked_of_encoder,
    asking,
    asking_words,
    beside,
    by_intent,
    features,
    open_model,
    parts,
    slot_features,
)
from kgmed.question.patient import (
    TAKEN,
    allergen,
    end_of,
    in_brackets,
    is_allergy,
    is_of_people,
    patient_of,
    remembered,
    told_of,
    values,
)
from kgmed.records import Entity, Link, Mention, Query
from kgmed.triples import CHOSEN
from kgmed.vocabulary import Predicate

# --- What narrows an ask: a class, a form or a line of treatment and a mode of inheritance, by rows of the vocabulary.

_KINDS = {  # of a constraint -> table and heading of its rows
    "class": ("classes", "classes by purpose"),
    "form": ("classes", "forms of medicines"),
    "line": ("classes", "lines of treatment"),
    "mode": ("classes", "modes of inheritance"),
    "act": ("classes", "what is asked of a medicine"),
    "activity": ("classes", "what is done beside a medicine"),
}

_VALUE_BEHIND = lazily(r"(?<=\w)(?:\s+(?:is|was|of|at))?\s+\d[\d./]*$")


def _is_class(name: str) -> bool:
    """Whether a name is that of a class of medicines, as "penicillins" is."""
    keys = vocabulary.members("classes", "classes by substance")
    return any(vocabulary.compiled("classes", key, Predicate.NAMED_BY).fullmatch(name) for key in keys)


def constraints(text: str, names: Sequence[Span]) -> Iterator[Constraint]:
    """The constraints that the words of a question name outside of the things that it names.

    >>> [c.value for c in constraints("which painkiller for a headache?", [])]
    ['painkillers']
    """
    for kind, (table, heading) in _KINDS.items():
        for key in vocabulary.members(table, heading):
            for m in vocabulary.compiled(table, key, Predicate.NAMED_BY).finditer(text):
                longer = (n for n in names if kind != "mode" or n.kind != "inheritance")  # a mode has names in graphs
                size = m.end() - m.start() + text.startswith("s", m.end())  # of one or of several
                if not any(n.start <= m.start() and m.end() <= n.end and size < n.end - n.start for n in longer):
                    spared = kind in ("class", "form") and _is_spared(text, m.start(), m.end())
                    yield Constraint(OTHER_THAN if spared else kind, key, m.span())
                    break


def _is_spared(text: str, start: int, end: int) -> bool:
    """Whether others than what stands at a place are asked for.

    >>> _is_spared("Are there treatments other than creams", 32, 38), _is_spared("除了布洛芬还能吃什么", 2, 5)
    (True, True)
    """
    before = _pattern("spared_before").search(text[:start])
    return before is not None and (before["sure"] is not None or _pattern("spared_behind").match(text, end) is not None)


def _meant(
    text: str, intent: Intent, form: Form, narrowed: Sequence[Constraint], shares: NDArray[np.float32],
    named: Sequence[Named],
) -> Intent:  # fmt: skip
    """The intent of an ask, by what narrows it: what a value means, and not whether its treatment is so, ..."""
    kinds = {c.kind for c in narrowed}
    if "value" in kinds and shares[_INTENTS.index(Intent.TEST_MEANING)] >= _LIKELY:
        return Intent.TEST_MEANING
    if "act" in kinds and intent in _OF_TAKING:
        return Intent.DOSE_CHANGE
    others = [n for n in named if not is_of_people(n.names[0])]
    ill = [n for n in others if n.links and n.kind in ILL]
    if intent is Intent.DIET and form is Form.YES_NO and ill and any(n.kind == "food" for n in named):
        return Intent.SAFETY
    usual = vocabulary.others("classes", Predicate.USED_FOR)
    told = [c for c in narrowed if c.kind == "class" and (ill or (not others and c.value in usual))]
    of_somebody = len(ill) == len(others) and bool(others or is_of_people(text))  # may a child have cough syrup
    which = any(form is Form.LIST or of_somebody or _WHICH.search(text[: c.span[0]]) for c in told)
    return Intent.TREATMENT if which and intent in (*_OF_TAKING, Intent.DIET) else intent  # medicines are no diet


_ASKED_FOR = ("class", "form", "line", "act")  # narrow an ask where a long message asks, and not where it tells
_STORY, _OF_A_HEADING = 3, 8  # ours: sentences of a message that tells, words of a heading
_OF_TAKING = (Intent.SAFETY, Intent.INTERACTIONS)
_WHICH = lazily(r"(?:\b(?:which|what)(?: kinds? of| types? of)?|哪[些种个类]?|什么)\s*$", re.IGNORECASE)


# --- What turns an ask round: that it asks which things are not so.

_pattern = partial(pattern_of, __name__)
_NOT = lazily(r"(?i)not\b|n['’]t\b|不|非|没")  # one of which stands in what the next finds


def asks_what_is_not(text: str) -> bool:
    """Whether a question asks which things are not so, and not which are.

    >>> asks_what_is_not("Which drugs do not treat gout?"), asks_what_is_not("What helps if I do not sleep?")
    (True, False)
    >>> asks_what_is_not("哪些检查不能诊断糖尿病"), asks_what_is_not("什么原因不能怀孕")
    (True, False)
    """
    return _NOT.search(text) is not None and _pattern("what_is_not").search(text) is not None


# --- Names of which a graph knows a part alone: "Kessler-Bluhm fever" is no fever, 塞林格氏关节病 no joint disease.
#
# What is asked of such a name must not be answered of the part, so the whole name counts as one that was not found.

Place = tuple[int, int]
Known = Callable[[str], bool]  # whether a word is one in which things are described, and no person's name

_PROPER = lazily(r"((?:[A-Z][a-zà-ÿ]+(?:['’]s)?(?:-|[ ]))+)$")
_BEGINS = lazily(r"(?:^|[.!?:;\n]\s*)$")
_SOUNDS = frozenset(  # the signs by which names of other languages are written
    "阿埃艾奥巴贝比伯布查达戴丹德迪蒂杜厄恩尔法菲费弗福盖戈格哈海赫亨霍基吉加杰卡凯科克拉莱兰朗劳勒雷里利林卢鲁罗洛马迈麦曼梅蒙米莫穆纳内尼诺"
    "欧帕佩皮普奇乔琼萨塞桑沙舍史斯苏索塔泰汤特提廷托瓦万威韦维温沃乌西希谢休雅扬耶叶伊因尤约泽扎詹兹"
)
_FAR = 80  # characters before a name that are looked at
_LEAST = 2  # signs of a sound-written part beside a name


def whole_names(text: str, places: Sequence[Place], known: Known) -> Iterator[Place]:
    """The places of longer names that hold one of `places`, the names that were linked.

    >>> said = "What causes Kessler-Bluhm fever? And Severe asthma?"
    >>> [said[a:b] for a, b in whole_names(said, [(26, 31), (44, 50)], lambda word: word == "severe")]
    ['Kessler-Bluhm fever']
    """
    if not has_cjk(text):
        for start, end in places:  # the name of another thing is no part of this one
            if (begin := _begin(text, start, known)) < start and not any(begin < b <= start for _, b in places):
                yield begin, end
        return
    for m in _pattern("after_a_person").finditer(text) if "氏" in text else ():
        skipped = _pattern("before_a_person").match(m[1])
        place = (m.start() + (skipped.end() if skipped else 0), m.end())
        if not any(a <= place[0] and place[1] <= b for a, b in places):
            yield place
    for start, end in places:
        begin = start
        while max(0, start - _FAR) < begin and text[begin - 1] in _SOUNDS:
            begin -= 1
        own = end - start > _LEAST and all(c in _SOUNDS for c in text[start : start + _LEAST])
        if begin < start and (own or start - begin >= _LEAST + 1):
            yield begin, end


def _begin(text: str, start: int, known: Known) -> int:
    """Where a name begins that proper names before it are a part of; its own start where none are."""
    before = _PROPER.search(text, max(0, start - _FAR), start)
    if not before:
        return start
    words = [w for w in before[1].replace("-", " ").split() if w]
    first = bool(_BEGINS.search(text, max(0, before.start() - _FAR), before.start()))
    if first and "-" not in before[1]:  # a sentence begins with a capital
        words = words[1:]
    return before.start() if any(not known(w.removesuffix("'s").casefold()) for w in words) else start


_INTENTS = tuple(Intent)
SURE = 0.9  # ours, chosen on folds: above it the n-grams decide alone and the encoder is not asked
_TWO = 0.5
_PART, _PART_OF_ALL = 0.9, 0.005  # ours, chosen on the marked rows: of what a part asks, by itself and in the whole
_MOST_ASKED = 3  # ours
SECOND = 0.03  # ours, chosen on rows left out: the least probability of the second of two intents
# Ours, chosen on dev: the share from which a name of a graph, a phrase, or a word that nobody uses, is no name.
_NO_NAME_LINKED, _NO_NAME, _NO_NAME_STRANGE = 0.9, 0.4, 0.99
_STRANGE = 6  # ours: letters of a word from which one that no graph uses is a name
UNKNOWN = "unknown"  # the kind of a strange name, or of a longer one, of which a graph knows at most a part
_LIKELY = 0.05  # the least probability of an alternative
MEDICINES = frozenset({"drug", "ingredient", "medicine", "class", "treatment", "substance", "chemical"})
ILL = frozenset({"disease", "phenotype", "symptom", "finding", "complication", "cause", "risk factor"})


@dataclass(frozen=True)
class Trained:
    """The understander without a language model: the shipped classifier.

    `encoder` makes the sentence encoder when it is first needed; None = n-grams alone.
    """

    encoder: Callable[[], Encoder] | None = None
    model: Model = field(default_factory=open_model)
    known: Known | None = None  # whether a word describes things; None = no longer names are looked for
    given: tuple[Intent, ...] = ()  # what a question asks, where somebody says so; () = as it is read
    lookup: Callable[[str], Sequence[Match]] | None = None  # what a graph has by a name; None = an allergy stays whole

    def __call__(self, query: Query, mentions: Sequence[Mention], links: Sequence[Link]) -> Frame:
        """The frame of a question, from all that was recognised in it and what of that was linked."""
        text, language = query.text, language_of(query.question)
        named = self._allergens(text, self._named(text, mentions, links))
        slots = self._slots(text, named)
        takes, _, allergic = told_of(text, named)
        named = [n for n, slot in zip(named, slots, strict=True) if slot != NO_NAME or n in allergic]
        plain = dict(zip(named, self._slots(text, named, plainly=True), strict=True))
        named = _once(text, list(_compounds(text, named, {n for n, slot in plain.items() if slot != NO_NAME}))[::-1])
        narrowed = tuple(constraints(text, [Span(*n.spans[0], n.kind) for n in named if n.links]))
        spared = [n for n in named if n.kind in MEDICINES and n.links and _is_spared(text, *n.spans[0])]
        narrowed += tuple(Constraint(OTHER_THAN, x.entity.name, n.spans[0]) for n in spared for x in n.links[:1])
        modes = [c.span for c in narrowed if c.kind == "mode"]
        named = [n for n in named if not any(a < n.spans[0][1] and n.spans[0][0] < b for a, b in modes)]
        spans = [Span(n.spans[0][0], end_of(text, n), n.kind) for n in named]
        classes, seen, each = self._intents(text, spans, language)
        shares, refusing = by_intent(classes)
        if language not in LANGUAGES:
            shares = _by_kinds(shares, {n.kind for n in named if n.links})
        order = np.argsort(-shares)
        asked = list(self.given) or self._asked(text, spans, seen, shares, each)
        asks_at = list(asking(text, spans, each, asked[0]))
        beside = [c for c in narrowed if c.kind in _ASKED_FOR and not _within(c.span, asks_at)]
        narrowed = tuple(c for c in narrowed if len(each) < _STORY or c not in beside)
        narrowed += tuple(values(text, named))
        form = self._form(seen)
        if not self.given:
            places = [c.span for c in narrowed if c.kind == "class"]
            apart = [n for n in named if not any(n.spans[0][0] < b and a < n.spans[0][1] for a, b in places)]
            said, asked[0] = (
                asked[0],
                _meant(text, asked[0], form, narrowed, shares, [n for n in apart if n not in (*takes, *allergic)]),
            )
            refusing = refusing | {asked[0]: refusing.get(said, False)}
            form = Form.LIST if asked[0] is Intent.TREATMENT and said is not asked[0] else form
        headed = _of_heading(text, named)
        slots = [
            "S" if n in headed and slot == "F" else slot
            for n, slot in zip(named, self._slots(text, named, asked[0]), strict=True)
        ]
        turned = form is not Form.YES_NO and asks_what_is_not(text)
        others = [_INTENTS[i] for i in order[len(asked) : len(asked) + 4] if shares[i] >= _LIKELY and not self.given]
        others = [] if any(c.kind == "value" for c in narrowed) and Intent.TEST_MEANING in asked else others
        named = [n if n.links or not self._is_strange(n.names[0]) else replace(n, kind=UNKNOWN) for n in named]
        asks, alternatives = (
            tuple(
                _ask(
                    intent,
                    named,
                    slots,
                    narrowed,
                    _outright(text, named, list(asking(text, spans, each, intent))),
                    negative=refusing.get(intent, False) or (turned and intent in _TURNED),
                    form=form,
                    sure=float(shares[_INTENTS.index(intent)]),
                )
                for intent in intents
            )
            for intents in (asked, others)
        )
        before = before_of(links)
        told = [n for n, slot in zip(named, slots, strict=True) if slot != "-" or n in allergic]
        findings = tuple(n for n in told if n.kind in ILL) or tuple(n for n in before if n.kind in ILL)
        patient = patient_of(text, told)
        asks, alternatives = (
            tuple(_without(of_what_was_said(a, before), patient.allergic_to) for a in x) for x in (asks, alternatives)
        )
        source, sure = ("given", 1.0) if self.given else ("trained", float(shares[order[0]]))
        return Frame(asks, alternatives, findings, (), patient, language, source, sure, sentences=len(each))

    def names(self, text: str, mentions: Sequence[Mention], links: Sequence[Link]) -> list[Span]:
        """Where names may be in a text, with their kinds, before it is judged which of them are none."""
        return [Span(*n.spans[0], n.kind) for n in self._named(text, mentions, links)]

    def _named(self, text: str, mentions: Sequence[Mention], links: Sequence[Link]) -> list[Named]:
        """What the question names; a name of which a part alone was linked is one that was not found."""
        named = _named(text, mentions, links)
        named = list(_compounds(text, named))[::-1] if has_cjk(text) else named
        named = _with_foods(text, named) if any(n.links and n.kind in (*MEDICINES, *ILL) for n in named) else named
        linked = [n.spans[0] for n in named if n.links]
        wider = dict.fromkeys(whole_names(text, linked, self.known)) if self.known else {}
        inside = [n for n in named if any(a < n.spans[0][1] and n.spans[0][0] < b for a, b in wider)]
        whole = [Named((text[a:b],), UNKNOWN, ((a, b),)) for a, b in wider]
        return sorted([*(n for n in named if n not in inside), *whole], key=lambda n: n.spans)

    def _allergens(self, text: str, named: Sequence[Named]) -> list[Named]:
        """The things, a name of an allergy beside another name cut down to the medicine that it is to."""
        found = list(named)
        for at, one in enumerate(named if self.lookup and len(named) > 1 else ()):
            start, end = allergen(text, *one.spans[0])
            name = text[start:end]
            known = [m for m in self.lookup(name) if m.entity.kind in MEDICINES] if name and self.lookup else []
            links = tuple(Link(Mention(name, name, start, end), m.entity, m.score, m.how) for m in known[:1])
            if links or _is_class(name):
                kind = links[0].entity.kind if links else "class"
                found[at] = Named((name,), kind, ((start, end),), links, one.negated)
        of_one = [n for n, after in pairwise(found) if n.kind != "disease" and is_allergy(after.names[0])]
        said = [after for n, after in pairwise(found) if n in of_one]
        return [n for n in found if n not in said] if len(found) > 2 * len(said) else found

    def _intents(
        self, text: str, spans: Sequence[Span], language: str
    ) -> tuple[NDArray[np.float32], Features, NDArray[np.float32]]:
        """The probability of each class, what the heads of form read, and the scores of each sentence."""
        seen = features(text, spans)
        scores, each = self.model.read(seen)
        at = int(each[:, -1].argmax())
        shares, read = self.model.alone(scores), beside(seen, at)
        if self.encoder is not None and (shares.max() < SURE or language not in LANGUAGES):
            encoder = self.encoder()
            if encoder.name == self.model.encoder:
                shares = self.model.with_vector(scores, encoder([asked_of_encoder(text, spans, at)])[0], language)
        return shares, read, each

    def _asked(
        self, text: str, spans: Sequence[Span], seen: Features, shares: NDArray[np.float32], each: NDArray[np.float32]
    ) -> list[Intent]:
        """What is asked, the likeliest first: also what parts of the sentences that ask do, or a second thing."""
        order = np.argsort(-shares)
        two = self.model.heads["two"](seen)[0] > _TWO and shares[order[1]] >= SECOND
        whole = [_INTENTS[i] for i in order[: 2 if two else 1]]
        found = list(parts(text, spans, asking(text, spans, each, whole[0])))
        said = [by_intent(self.model.alone(self.model.read(features(*part))[0]))[0] for part in found]
        likely = [int(x.argmax()) for x in said if x.max() >= _PART and shares[x.argmax()] >= _PART_OF_ALL]
        several = list(dict.fromkeys(_INTENTS[i] for i in likely)) if len(found) > 1 else []
        return list(dict.fromkeys([*whole, *several] if len(several) > 1 else whole))[:_MOST_ASKED]

    def _slots(self, text: str, named: Sequence[Named], intent: str = "", *, plainly: bool = False) -> list[str]:
        """The part of each name, the likeliest intent known or not.

        What a graph has under a name is seldom no name; a phrase that it has not is one only where that is likely, and
        unless `plainly` a word that nobody uses where it is sure.
        """
        head, none = self.model.heads["slot"], SLOTS.index(NO_NAME)
        spans = [Span(n.spans[0][0], end_of(text, n), n.kind) for n in named]
        found = []
        for one, seen in zip(named, slot_features(text, spans, intent), strict=True):
            shares = head(seen)
            strange = not (one.links or plainly) and self._is_strange(one.names[0])
            sure = one.links or one.kind == UNKNOWN
            strange = strange or (bool(one.links) and one.kind in TAKEN)  # what is taken is never left out lightly
            least = _NO_NAME_STRANGE if strange else _NO_NAME_LINKED if sure else _NO_NAME
            found.append(NO_NAME if shares[none] >= least else SLOTS[int(np.delete(shares, none).argmax())])
        return found

    def _is_strange(self, phrase: str) -> bool:
        """Whether an English phrase has a word that describes nothing and that nobody asks by: a name then."""
        words = [w for w in phrase.casefold().split() if len(w) >= _STRANGE and w.isascii() and w.isalpha()]
        return self.known is not None and any(not self.known(w) and w not in asking_words() for w in words)

    def _form(self, seen: Features) -> Form:
        head = self.model.heads["form"]
        return FORMS.get(head.classes[int(head(seen).argmax())], Form.LIST)


def _with_foods(text: str, named: Sequence[Named]) -> list[Named]:
    """The things, and what is eaten or drunk beside a medicine, by its names in all languages: no graph need have it.

    >>> [n.names for n in _with_foods("Is milk bad with it?", [])]
    [('milk', '牛奶')]
    """
    taken, found = [n.spans[0] for n in named if n.links], list[Named]()
    folded = text.casefold()
    for row in vocabulary.members("word_lists", "foods"):
        names = [name for name in row.split("|") if name in folded]  # to compile what no text holds takes longer
        words = "|".join(name if has_cjk(name) else rf"\b{name}\b" for name in names)
        for m in re.finditer(words, text, re.IGNORECASE) if names else ():
            if not any(a < m.end() and m.start() < b for a, b in [*taken, *(n.spans[0] for n in found)]):
                link = Link(Mention(m[0], m[0], *m.span()), Entity("", m[0], "food"), 1.0, "exact")
                found.append(Named(tuple(dict.fromkeys((m[0], *row.split("|")))), "food", (m.span(),), (link,)))
    over = [n.spans[0] for n in found]
    kept = (n for n in named if n.links or not any(a < n.spans[0][1] and n.spans[0][0] < b for a, b in over))
    return sorted([*kept, *found], key=lambda n: n.spans)


@vocabulary.kept()
def _parts_of_the_body() -> frozenset[str]:
    """Parts of the body and what it makes, which some graphs list among findings."""
    return frozenset(vocabulary.members("word_lists", "everyday parts"))


def _named(text: str, mentions: Sequence[Mention], links: Sequence[Link]) -> list[Named]:
    """What was recognised in the question's own text, linked or not, in its order, none within another."""
    linked: dict[tuple[int, int], list[Link]] = {}
    for link in links:
        linked.setdefault((link.mention.start, link.mention.end), []).append(link)
    found: list[Named] = []
    places = sorted({(m.start, m.end): m for m in mentions if 0 <= m.start < m.end <= len(text)}.items())
    for (start, end), mention in places:
        if found and start < found[-1].spans[0][1]:
            continue
        mine = linked.get((start, end), [])
        if not mine and (value := _VALUE_BEHIND.search(text, start, end)):
            end = value.start()  # "blood pressure is 160": what was measured
        kind = mine[0].entity.kind if mine else ""
        kind = "body part" if kind in ILL and text[start:end] in _parts_of_the_body() else kind
        name = mine[0].entity.name if mine and mine[0].how == CHOSEN else text[start:end]  # the words may mean another
        found.append(Named((name,), kind, ((start, end),), tuple(mine), mention.negated))
    return found


def _compounds(text: str, named: Sequence[Named], names: Collection[Named] = ()) -> Iterator[Named]:
    """The things; an illness behind words of quality, or `names` that no graph has, is one with them: facial tumour.

    Where almost anything may be called by the linked word (poisoning, 囊肿), the whole is a name that was not found.
    """
    rest = list(named)
    while rest:
        whole, qualified = rest.pop(), False
        while rest and whole.links:
            before, end = rest[-1], whole.spans[0][1]
            between = text[before.spans[0][1] : whole.spans[0][0]]
            quality = between in _QUALITY or (not between and before.names[0].endswith(_QUALITY))
            other = before in names and not (before.links or before.kind) and before.negated is whole.negated
            if other and between in ("", " ") and whole.kind in ILL:
                quality, general = True, vocabulary.listed("illnesses of many kinds").fullmatch(whole.names[-1])
                whole = replace(whole, kind=UNKNOWN, links=()) if general else whole
            if not quality and (between or not qualified or before.kind == "disease"):
                break
            qualified, start = True, rest.pop().spans[0][0]
            whole = replace(whole, names=(text[start:end], *whole.names), spans=((start, end),))
        yield whole


def _without(ask: Ask, told: Sequence[Named]) -> Ask:
    """An ask without what is told only, where something is left to ask of; no ask for what treats an allergen."""
    subject, objects = (tuple(n for n in part if n not in told) for part in (ask.subject, ask.object))
    objects = tuple(n for n in objects if n not in subject)
    if not (subject or objects or ask.intent is Intent.TREATMENT):
        return ask
    return replace(ask, subject=subject or objects, object=objects if subject else ())


@dataclass(frozen=True, slots=True)
class Remembering:
    """Another understander, its patient with what was told of the same one before."""

    understand: Callable[[Query, Sequence[Mention], Sequence[Link]], Frame]
    before: Patient

    def __call__(self, query: Query, mentions: Sequence[Mention], links: Sequence[Link]) -> Frame:
        """The frame."""
        frame = self.understand(query, mentions, links)
        return replace(frame, patient=remembered(self.before, frame.patient))


def read_outright(read: Trained, query: Query, link: Callable[[str], Sequence[Link]]) -> Frame:
    """The frame of a question of which nothing was recognised, by what it names outright."""
    links = [*link(query.text)]
    return read(query, [x.mention for x in links], links)


def before_of(links: Sequence[Link]) -> tuple[Named, ...]:
    """What a question refers back to: the things of an earlier one, whose links have no place in this one."""
    carried = [x for x in links if x.mention.start < 0]
    return tuple(Named((x.mention.surface,), x.entity.kind, (), (x,), x.mention.negated) for x in carried)


def of_what_was_said(ask: Ask, before: tuple[Named, ...]) -> Ask:
    """An ask that names nothing which was found, of what was spoken of before."""
    mine = tuple(n for n in before if not n.negated)
    return ask if any(n.links for n in ask.things) else replace(ask, subject=mine + ask.subject)


def _once(text: str, named: Sequence[Named]) -> list[Named]:
    """The things, each once: "NF1 (neurofibromatosis type 1)" is one by two names, as "Imuran (azathioprine)"."""
    found: dict[object, Named] = {}
    keys: dict[tuple[int, int], object] = {}
    for before, one in zip([None, *named], named, strict=False):
        key: object = (one.links[0].entity, one.negated) if one.links else one.spans
        if before and {before.kind, one.kind} <= TAKEN and in_brackets(text, before.spans[0][1], *one.spans[0]):
            key = keys[before.spans[0]]
        keys[one.spans[0]] = key
        first = found.get(key)
        both = one if first is None else replace(first, names=first.names + one.names, spans=first.spans + one.spans)
        found[key] = both
    return list(found.values())


_DIRECTIONS = (  # of questions that name such things alone: intents that they cannot have, and the one that is meant
    (ILL - {"disease"}, (Intent.SYMPTOMS, Intent.RELATION), Intent.DIAGNOSIS),
    (frozenset({"disease"}), (Intent.DIAGNOSIS,), Intent.OVERVIEW),
)


def _by_kinds(shares: NDArray[np.float32], kinds: set[str]) -> NDArray[np.float32]:
    """The probabilities where the vector decides alone, which tells badly what is asked of what."""
    moved = shares.copy()
    for of, wrong, right in _DIRECTIONS:
        if kinds and kinds <= of:
            for at in map(_INTENTS.index, wrong):
                moved[_INTENTS.index(right)] += moved[at]
                moved[at] = 0
    return moved


_WANTS: dict[Intent, frozenset[str]] = {  # the kinds of subject that an intent has
    **dict.fromkeys((Intent.SIDE_EFFECTS, Intent.CONTRAINDICATIONS, Intent.DOSAGE, Intent.DRUG_CLASS), MEDICINES),
    **dict.fromkeys((Intent.TREATMENT, Intent.SYMPTOMS, Intent.TESTS, Intent.DIET, Intent.DRUG_CAUSES), ILL),
    Intent.USES: MEDICINES | {"test", "procedure"},
    Intent.DOSE_CHANGE: TAKEN,
    Intent.INTERACTIONS: MEDICINES | {"food"},
    Intent.SAFETY: MEDICINES | {"food", "test", "procedure"},
}
_NEVER_ILL = frozenset({"population", "body part"})  # what helps a teenager or a neck is asked of what they have
_NO_THINGS = frozenset(  # kinds of entries of a classification that nothing is asked of beside others
    {"past medical history", "health service contact", "external cause", "course", "clinical modifier"}
)
_TURNED = frozenset(  # of which it may be asked what is not so
    {Intent.TREATMENT, Intent.HELPS, Intent.USES, Intent.SYMPTOMS, Intent.CAUSES, Intent.RISK_FACTORS, Intent.TESTS}
    | {Intent.COMPLICATIONS, Intent.PREVENTION, Intent.GENES, Intent.INHERITANCE, Intent.DEPARTMENT, Intent.DIET}
    | {Intent.SIDE_EFFECTS, Intent.DRUG_CAUSES, Intent.TYPES}
)
_QUALITY = ("性", "型")
_TWO_SIDED = frozenset({Intent.INTERACTIONS, Intent.SAFETY, Intent.HELPS, Intent.RELATION, Intent.COMPARISON})


def _within(span: Place, places: Sequence[Place]) -> bool:
    return any(a <= span[0] and span[1] <= b for a, b in places)


def _of_heading(text: str, named: Sequence[Named]) -> list[Named]:
    """What is linked in the heading of a message, which names what it is about: a short first line above others."""
    first, _, rest = text.partition("\n")
    short = bool(rest.strip()) and len(first.split()) <= _OF_A_HEADING and not has_cjk(first)
    return [n for n in named if short and n.links and n.spans[0][0] < len(first)]


def _outright(text: str, named: Sequence[Named], places: Sequence[Place]) -> list[Named]:
    """What stands in some places of a text; nothing where it may refer back: "bladder cancer ... that tumour"."""
    headed = _of_heading(text, named)
    inside = [n for n in named if n in headed or any(a <= at < b for a, b in places for at, _ in n.spans)]
    told = [n.names[0].casefold() for n in named if n not in inside]
    back = {m.end() + gap for m in vocabulary.listed("what refers back").finditer(text) for gap in (0, 1)}
    refers = (back & {at for at, _ in n.spans} or any(t.endswith(n.names[0].casefold()) for t in told) for n in inside)
    return [] if any(refers) else inside


def _ask(
    intent: Intent,
    named: Sequence[Named],
    slots: Sequence[str],
    narrowed: tuple[Constraint, ...],
    outright: Sequence[Named],
    *,
    negative: bool,
    form: Form,
    sure: float,
) -> Ask:
    """The ask of an intent: its subject and object by their slots, of the kinds that the intent has.

    Where some of those stand in a sentence that asks, `outright`, what is told outside is no subject. Nor is
    another medicine where one of a name that no graph knows is asked about, or told first.
    """
    there = [(n, slot) for n, slot in zip(named, slots, strict=True) if slot not in ("-", "C") and not n.negated]
    there = [(n, slot) for n, slot in there if n.kind not in _NO_THINGS] or there
    kinds = _WANTS.get(intent, frozenset())
    if kinds is ILL:
        of_ill = [(n, slot) for n, slot in there if n.kind not in _NEVER_ILL]
        measured = {c.span[0] for c in narrowed if c.kind == "value"}  # a sign of what is treated
        there = [(n, slot) for n, slot in of_ill if measured.isdisjoint((n.spans[0][1], n.spans[0][1] + 1))] or of_ill
    if intent in _TWO_SIDED:  # what has to do with an illness, not where it is
        there = [(n, slot) for n, slot in there if n.kind != "body part"] or there
        near = [(n, slot) for n, slot in there if n in outright]
        there = near if sum(bool(n.links) for n, _ in near) > 1 else there
    subject = [n for n, slot in there if slot == "S"]
    objects = [n for n, slot in there if slot == "O"]
    one_sided = intent not in _TWO_SIDED and not negative  # what must not be taken is asked of all that is told
    lead = [n for n in subject if n in outright]
    if one_sided and any(n.links and n.kind in kinds for n in lead):
        subject = lead
    elif kinds == MEDICINES and any(n.kind == UNKNOWN for n in lead or subject[:1]):
        subject = lead or subject[:1]
    if kinds and not any(n.kind in kinds or not n.links for n in subject):
        subject = [n for n, _ in there if n.kind in kinds] or subject
    if kinds and kinds is not ILL and intent not in _TWO_SIDED:  # what is taken, not what it is taken for
        subject = [n for n in subject if n.kind in kinds or not n.links] or subject
    if not subject:
        subject = [n for n, _ in there if n not in objects] or objects
        objects = [n for n in objects if n not in subject]
    if intent in _TWO_SIDED:
        subject, objects = _two_sides([n for n, _ in there], subject, objects)
    return Ask(intent, tuple(subject), tuple(objects), negative, form, narrowed, sure)


def _two_sides(
    there: Sequence[Named], subject: Sequence[Named], objects: Sequence[Named]
) -> tuple[list[Named], list[Named]]:
    """What is held against what: medicines against the rest, and nothing against itself (acute constipation)."""
    taken = [n for n in subject if n.kind in MEDICINES]
    if taken:
        objects = list(dict.fromkeys([*(n for n in subject if n not in taken), *objects]))
        subject = taken
    if not objects:
        rest = [n for n in there if n not in subject]
        subject, objects = (subject, rest) if rest else (subject[:1], subject[1:])
    names = [n.names[0].casefold() for n in subject]
    apart = [n for n in objects if not any(n.names[0].casefold() in name for name in names)]
    return list(subject), apart or list(objects)
