"""Lists of an answer: triples grouped by role and direction, clipped to a length and cited, in the asker's language."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kgmed import vocabulary
from kgmed.language import lay
from kgmed.language.labels import says_unknown
from kgmed.language.particulars import forbids
from kgmed.language.text import fold, has_cjk, lazily, one_line
from kgmed.records import Entity, Evidence, Role, Triple
from kgmed.sentences import Catalogue, catalogue
from kgmed.steps.facts import cited, clauses_in, clipped, frequency, worded
from kgmed.steps.family import MEDICINES, WARNS, is_itself, is_vague, same_test, substance

MARKS = 4  # ours: citations of one line
LISTED = 12  # ours: names in a list of medicines or tests
_COUNTED = 50  # ours: of more it helps nobody to know how many
_SHORTEST = 6  # ours: characters in brackets from which they name what is in a product
_WIDE = 40  # ours: characters; a longer name is a sentence
_OF_A_PRODUCT = (*WARNS, Role.ADVERSE, Role.INTERACTS, Role.DOSAGE, Role.INGREDIENT, Role.IS_A)
_OF_MEDICINES = (Role.TREATS, Role.INTERACTS, Role.ADVERSE)
_OF_FINDINGS = (Role.FINDING, Role.ADVERSE, Role.COMPLICATION)
_CONTAGIOUS = "传染性"  # a graph's relation whose values are yes and no
_LEFT_OUT = lazily(r"… \(\+(\d+)\)")
_TOGETHER = lazily(r"\s*(?:[、，,/]|\band\b|及|和|伴)\s*")
_FORM = lazily(  # how a medicine is made up, at the end of its name
    r"(?i)(?:[\s,—-]*\b(?:enteric|coated|sustained|extended|prolonged|modified|slow|release|dispersible|chewable|for"
    r"|oral|injection|tablets?|capsules?|granules|suspension|solution|syrup)\b)+\W*$"
)


Numbered = tuple[int, Evidence]


class Line(NamedTuple):
    """A line of an answer, its marks within, and the numbers of the evidence that it cites."""

    text: str
    numbers: tuple[int, ...] = ()
    total: int = 0  # of a line that counts what the items above it leave out: how many there are in all


def line(text: str, numbers: Iterable[int] = ()) -> Line:
    """A line that ends in the marks of its evidence.

    >>> line("Gout is seen by a doctor.", [2, 1])
    Line(text='Gout is seen by a doctor [2][1].', numbers=(2, 1), total=0)
    """
    marks = tuple(dict.fromkeys(numbers))
    return Line(cited(text, marks), marks)


def in_language(text: str, language: str) -> str:
    """A name or a text of a graph in the asker's language; as it stands where no words of that language are known.

    >>> in_language("皮肤科", "en"), in_language("皮肤科", "zh"), in_language("Rash, unspecified", "en")
    ('dermatology', '皮肤科', 'Rash')
    """
    han = catalogue(language).han
    return clauses_in(text, han=han) if has_cjk(text) else worded(text, han=han)


@dataclass(frozen=True)
class Speech:
    """How names and sentences are written for one asker: the language asked for and the catalogue that speaks it."""

    language: str
    say: Catalogue
    written: Mapping[Entity, str] = field(default_factory=dict)  # what the asker calls a thing

    def name(self, thing: Entity | str) -> str:
        """The name of a thing in the asker's language."""
        return in_language(thing if isinstance(thing, str) else thing.name, self.language)

    def foreign(self, text: str) -> bool:
        """Whether a text is in another script than that of the language; a value that has a word is in none."""
        return has_cjk(text) != self.say.han and not self.value(text)

    def unreadable(self, text: str) -> bool:
        """Whether a text is in a script that the asker does not read; everybody reads the Latin names of genes."""
        return has_cjk(text) and self.foreign(text)

    def value(self, text: str) -> str:
        """The word for yes or no that a graph writes as a value; "" where the text is none."""
        return self.say(f"value.{text}") if f"value.{text}" in self.say else ""

    def size(self, which: str) -> int:
        """A number of characters: of an answer, of its lists, of one text."""
        return int(self.say(f"size.{which}"))

    def headed(self, head: str, text: str) -> str:
        """A heading and what it heads."""
        return f"{head}{self.say('marks.colon')}{text}"

    def aside(self, text: str) -> str:
        """A text in brackets; "" of none."""
        return f"{self.say('marks.open')}{text}{self.say('marks.close')}" if text else ""

    def more(self, count: int) -> str:
        """How many more there are, where it is few enough to matter."""
        if count <= 0:
            return ""
        return self.say("list.more", count=count) if count <= _COUNTED else self.say("list.many_more")


@dataclass
class Group:
    """The facts of one role and direction of one or a few things, gathered from several pieces of evidence."""

    ask: int  # the number of the ask that they answer
    role: Role
    own: bool  # whether the thing is the subject of the triples
    relation: str  # the graph's own name of it where no role says it
    subjects: dict[str, None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # what the thing has -> how often
    texts: dict[str, None] = field(default_factory=dict)
    numbers: dict[int, None] = field(default_factory=dict)  # of the evidence, from 1
    more: int = 0  # how many the evidence leaves out


def grouped(
    rows: Sequence[Numbered],
    speech: Speech,
    ask_of: Callable[[Evidence], int] = lambda e: 0,
    *,
    apart: bool = False,
    skip: Callable[[Evidence, Triple], bool] = lambda e, t: False,
) -> list[Group]:
    """The facts by ask, role and direction, `apart` also by what they are about, in the order of the evidence."""
    groups: dict[tuple[int, Role, bool, str], Group] = {}
    for number, e in rows:
        main = [t for t in e.triples if t.relation.role is e.triples[0].relation.role and not skip(e, t)]
        things = e.about[1:] if e.kind == "candidate" else e.about[:1]  # what a candidate is tied to
        for t in main:
            role, own = t.relation.role, t.subject in things
            side = own or role is Role.INTERACTS  # which of the two is the subject tells nothing
            relation = one_line(str(t.relation)) if role in (Role.OTHER, Role.SAME_AS) else ""
            key = f"{_thing_of(e)} {relation}" if apart else relation
            group = groups.setdefault((ask_of(e), role, side, key), Group(ask_of(e), role, side, relation))
            _add(group, t, number, speech, own=own, called=_substance_of(e) if own else None)
        if main and (left := _LEFT_OUT.search(e.text)):
            group.more = max(group.more, int(left[1]))
    return sorted(groups.values(), key=lambda g: g.ask)


def _substance_of(e: Evidence) -> Entity | None:
    """What the product that a piece is about was asked for as."""
    return e.about[1] if e.kind != "candidate" and len(e.about) > 1 and e.about[1].kind in MEDICINES else None


def _thing_of(e: Evidence) -> str:
    """What a piece is about, the products of one substance as one."""
    thing = _substance_of(e) or e.about[0]
    return substance(thing.name) if thing.kind in MEDICINES else thing.id


def _add(group: Group, t: Triple, number: int, speech: Speech, *, own: bool, called: Entity | None) -> None:
    """One more fact: the other end of its triple, or its text; the thing under the name that can be read."""
    thing, other = (t.subject, t.object) if own else (t.object, t.subject)
    asked = None if group.role is Role.INGREDIENT else called
    group.subjects.setdefault(speech.written.get(asked, speech.name(asked)) if asked else speech.name(thing))
    group.numbers.setdefault(number)
    if t.tail.id:
        group.names.setdefault(speech.name(other), frequency(t))
    else:
        group.texts.setdefault(speech.name(t.tail))


# --- A group as a line.


def listed(group: Group, speech: Speech, room: int, marks: int = MARKS) -> Line:
    """A heading and its facts on one line, with how many are not shown and the first numbers of its evidence."""
    head, numbers = heading(group, speech), list(group.numbers)[:marks]
    if value := next(filter(None, map(speech.value, group.texts)), ""):
        return line(_stated(group, value, head, speech), numbers)
    if group.texts and not group.names:
        return line(_quoted(group, head, speech, room), numbers)
    kept = _kept(group, speech)
    names = [name + speech.aside(often) for name, often in kept.items()]
    shown = _fitting(names, speech, room)[: LISTED if group.role in (*_OF_MEDICINES, Role.TESTS) else None]
    head += speech.say("list.original") if shown and all(map(speech.unreadable, shown)) else ""
    end = speech.more(len(kept) - len(shown) + group.more) + _labels(group, speech, room // 2)
    return line(speech.headed(head, speech.say.join(shown) + end), numbers)


def heading(group: Group, speech: Speech) -> str:
    """What a list is headed by: its role and the things that it is about."""
    subjects = list(group.subjects)
    if group.role in _OF_A_PRODUCT and len(subjects) > 1:
        said, count = Counter(map(substance, subjects)).most_common(1)[0]
        if 2 * count >= len(subjects):  # products are named by their substance
            subjects = [next((s for s in subjects if s.casefold() == said), said)]
    thing = speech.say.join(subjects[:2]) + (speech.say("list.etc") if len(subjects) > 2 else "")
    key = f"{'of' if group.own else 'with'}.{group.role}"
    if key in speech.say:
        return speech.say(key, thing=thing)
    key, name = f"written_as.{group.relation}", group.relation.replace("_", " ")
    return speech.say("of.relation", thing=thing, relation=speech.say(key) if key in speech.say else name)


def _stated(group: Group, value: str, head: str, speech: Speech) -> str:
    """A fact whose value is yes or no."""
    if group.relation.endswith(_CONTAGIOUS):
        key = "contagious.yes" if value == speech.say("value.yes") else "contagious.no"
        return speech.say(key, thing=speech.say.join(list(group.subjects)[:2]))
    return speech.headed(value, head)


def all_foreign(group: Group, speech: Speech) -> bool:
    """Whether the texts of a group are in another language alone."""
    return all(map(speech.foreign, group.texts))


def _quoted(group: Group, head: str, speech: Speech, room: int) -> str:
    """Texts of a group, clipped; Latin letters are half as wide as those that the answer is written in."""
    foreign = all_foreign(group, speech)
    wide = 2 if foreign and speech.say.han else 1
    head += speech.say("list.original") if foreign else ""
    return speech.headed(head, clipped(speech.say.list(list(group.texts)), wide * room))


def _labels(group: Group, speech: Speech, room: int) -> str:
    """What labels warn of in their own words, behind the names of what is warned of: what forbids first."""
    said = [t for t in group.texts if not speech.foreign(t)] if group.role in WARNS else []
    whole = speech.say.list(sorted(said, key=lambda text: not forbids(text)))
    return speech.say("marks.semicolon") + clipped(whole, room) if whole else ""


# --- Which names of a group are shown.


def _kept(group: Group, speech: Speech) -> dict[str, str]:
    """The names of a group, each thing once, without fragments of sentences and, of treatments, without the disease."""
    names = group.names
    if group.role in _OF_MEDICINES:
        names = {same[0]: names[same[0]] for same in _alike(names, substance)}
    if group.role is Role.TESTS:  # those written in more ways first, each by its shortest name
        names = {
            min(s, key=len): names[min(s, key=len)] for s in sorted(_alike(names, same_test), key=lambda s: -len(s))
        }
    if group.role is Role.TREATS and not group.own:
        names = {n: often for n, often in names.items() if _is_done(n, group.subjects)} or names
    names = {n: names[n] for n in readable(names)}
    if group.role is Role.TREATS or (group.role is Role.ADVERSE and not group.own):
        names = {without_form(n): often for n, often in names.items()}
    return varied(names) if group.role in _OF_FINDINGS and group.own else names


def _alike(names: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    """Names in the sets that a key makes one."""
    sets: dict[str, list[str]] = {}
    for name in names:
        sets.setdefault(key(name), []).append(name)
    return list(sets.values())


def readable(names: Iterable[str]) -> list[str]:
    """Names without fragments of sentences, headings and what says that nothing is known; all where there is no other.

    >>> readable(["发热", "亦可发生", "病因不明"]), readable(["亦可发生"])
    (['发热'], ['亦可发生'])
    """
    cut = vocabulary.listed("fragments of sentences")
    kept = [name for name in names if not (cut.search(name) or is_vague(name) or says_unknown(name))]
    return kept or list(names)


def _is_done(name: str, illnesses: Collection[str]) -> bool:
    """Whether the name of a treatment is not that of an illness, the one treated or a kind of it."""
    done, ill = (vocabulary.listed(kind).search(name) for kind in ("treatments by name", "illnesses as asked"))
    return bool(done or not ill) and not is_itself(name, illnesses)


def without_form(name: str) -> str:
    """A medicine by what is in it, not by how it is made up or what its maker calls it.

    >>> without_form("Oxaprozin Enteric—coated Tablets"), without_form("gold"), without_form("Oral solution")
    ('Oxaprozin', 'gold', 'Oral solution')
    >>> without_form("Clopixol（Zuclopenthixol Decanoate Tablets）")
    'Zuclopenthixol Decanoate'
    """
    brand, _, inside = name.partition("（")
    bare = inside.rstrip("）") if inside and brand.isascii() and len(inside) > _SHORTEST else name
    return _FORM.sub("", bare) or bare


def varied(names: dict[str, str]) -> dict[str, str]:
    """Findings, each once however it is spelled or called, and none that is made of others in the list.

    A Chinese one that ends in another before it (面色苍白, 苍白) stands behind the others.

    >>> list(varied({"苍白": "", "面色苍白": "", "乏力": "", "pallor": "", "Pallor": "", "苍白、乏力": ""}))
    ['苍白', '乏力', '面色苍白']
    """
    first, later, seen = dict[str, str](), dict[str, str](), set[str]()
    for name, often in names.items():
        parts = [fold(part) for part in _TOGETHER.split(name)]
        if {fold(name), *map(fold, lay.others(name))} & seen or seen.issuperset(parts):
            continue
        seen |= {fold(name), *parts}
        again = not often and has_cjk(name) and any(name.endswith(n) for n in first)
        (later if again else first)[name] = often
    return first | later


def _fitting(names: Sequence[str], speech: Speech, room: int) -> list[str]:
    """The first names that fit: those that can be read, then Chinese ones in Latin letters, others only alone."""
    romanised = {n: not speech.say.han and bool(vocabulary.listed("romanised preparations").search(n)) for n in names}
    readable = sorted((n for n in names if not speech.unreadable(n)), key=romanised.__getitem__)
    return _first(readable, room) or _first(names, room)


def _first(names: Sequence[str], room: int) -> list[str]:
    """The first names that have together at most so many characters; at least the beginning of one."""
    kept: list[str] = []
    for name in names:
        if sum(map(len, kept)) + len(name) <= room:
            kept.append(name)
        elif len(name) <= _WIDE:  # a sentence among names is left out, and the names behind it are not
            break
    return kept or [clipped(name, room) for name in names[:1] if room > 20]


def without_shared(groups: Sequence[Group]) -> Iterator[Group]:
    """The groups of two things without what both have; a gene or mode of inheritance in common stays."""
    for group in groups:
        others = [g for g in groups if g.role is group.role and g is not group]
        shared = {n for g in others for n in g.names} if group.role not in (Role.GENE, Role.INHERITANCE) else set()
        names = {n: often for n, often in group.names.items() if n not in shared}
        if names or group.texts:
            yield replace(group, names=names)
