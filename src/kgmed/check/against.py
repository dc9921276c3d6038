"""Does the answer say the opposite of what the graph or the evidence says? Decided by triples, without a model.

A sentence is contradicted

1. where it says that something is used for, given to, or safe in what the graph marks as a contraindication of it or a
   thing to avoid, or that a disease has a finding that the graph marks as excluded (HPO's NOT), and does not deny it;
   an exclusion counts only where nothing says the opposite;
2. where it denies a treatment or a finding that the graph or the evidence states, unless it warns or forbids: a warning
   is never called contradicted.

The two must be named in the sentence. A contraindication that is a text ("active peptic ulcer or bleeding") names what
its words hold, but for what one may be allergic to. Words decide who is said to do what; a sentence that is flagged
wrongly is shown all the same, with the triple that speaks against it, for the reader to judge.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from kgmed.check.terms import denies, sentences
from kgmed.kg.graph import KnowledgeGraph
from kgmed.kg.language import prompt_language
from kgmed.kg.text import fold, has_cjk, one_line
from kgmed.models.marks import without_marks
from kgmed.stages import Checker
from kgmed.types import Answer, Context, Entity, Evidence, Link, Query, Role, Triple, Verdict

_MANY = 1 << 20  # all of them: a contraindication is never left out
_STATED = (Role.TREATS, Role.FINDING)
_USES = re.compile(
    r"\b(?:treat\w*|therap\w*|cur(?:e[sd]?|ing)|drug|medic\w+|use[sd]?|using|given?|giving|take[ns]?|taking|recommend\w*"
    r"|prescrib\w*|safe\w*|suitable|helps?|benefi\w+|eat\w*|drink\w*|effective|choice|indicated)\b"
    r"|治疗|用于|可用|使用|服用|口服|推荐|适用|适合|适宜|安全|建议|首选|可以|有效|缓解|吃|喝|给予",
    re.IGNORECASE,
)
_HAS = re.compile(
    r"\b(?:ha(?:s|ve|ving)|with|shows?|include[sd]?|including|present\w*|featur\w+|sign\w*|symptom\w*|caus\w+|associat\w+"
    r"|characteri\w+|manifest\w*|develop\w*|leads?|results?|phenotyp\w*|findings?|common\w*|typical\w*)\b"
    r"|有|伴|出现|表现|症状|体征|引起|导致|特征|包括",
    re.IGNORECASE,
)
_WARNS = re.compile(
    r"contraindicat|avoid|(?:should|must|may|can)(?: ?n[o'’]t| not| never)|not (?:be )?(?:use|give|take|recommend|safe)"
    r"|\bunless\b|caution|禁|忌|慎|避免|不宜|不得|不要|不应|不可|不能(?!治)|勿",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?:\b(?:does|do|did|is|are|was|were|has|have) (?:not|never)|n['’]t|\bnever|\bno longer|\bnot) "
    r"(?:\w+ ){0,2}?(?:treat\w*|cur\w+|help\w*|effective\w*|caus\w+|ha(?:ve|s|d)|show\w*|includ\w+|present\w*|featur\w+"
    r"|associated|characteri\w+|manifest\w*|develop\w*|lead|led|result\w*|a (?:sign|symptom|feature|finding)|work\w*)\b"
    r"|\bineffective\b|\bno (?:effect|evidence|role)\b|\b(?:no|without)\b"
    r"|不(?:能|会|可以)?(?:治疗|引起|导致|出现|伴有?|包括|表现)|没有|不是|无效|并非|未见|无(?=\S)",
    re.IGNORECASE,
)
_REST = re.compile(  # "..., but not in asthma": says nothing of what stands before it
    r"(?:[,;]\s*|\b(?:but|and|though)\s+)+not\s+(?:in|for|with|during|when|if|against|to|by)\b"
    r"|[，；,;]\s*(?:但是?|而|却)?(?:不|勿|禁|忌)(?:可|能|宜|应|得|要)?(?:用于|用在|适用于|适合|治疗)",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"(?:[,;]|\b(?:but|and))\s*not\s+(?:(?:with|by|for|in|of|a|an|the)\s+)*$|[，；,]\s*(?:而|并)?非$", re.IGNORECASE
)
_WORKS = re.compile(r"\b(?:in)?effect\w*|\bwork\w*|\brole\b|效", re.IGNORECASE)
_TURNS = re.compile(r"\b(?:but|however|although|though|yet)\b|但|却|然而|而是", re.IGNORECASE)
_ALLERGY = re.compile(r"过敏|allerg|hypersensitiv", re.IGNORECASE)
_WARNING = {
    "en": "Warning: {who} contradicts “{sentence}”: {fact}.",
    "zh": "警告：{who}与“{sentence}”相反：{fact}。",
}
_WHO = {"en": {"graph": "the graph", "evidence": "the evidence"}, "zh": {"graph": "知识图谱", "evidence": "证据"}}


def no_links(text: str) -> Sequence[Link]:
    """No entity: only those that the evidence names are looked for."""
    return ()


@dataclass(frozen=True, slots=True)
class Spot:
    """An entity where a sentence names it."""

    entity: Entity
    start: int
    end: int
    negated: bool = False


@dataclass(frozen=True)
class Against:
    """The verdicts of another checker, with those of sentences that the graph or the evidence contradicts.

    A contradicted sentence stays, and a warning with the triple that speaks against it follows the answer. `link` tells
    the entities that a text names; without a graph only the evidence is held against the answer.
    """

    check: Checker
    graph: KnowledgeGraph | None = None
    link: Callable[[str], Sequence[Link]] = no_links

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer with its verdicts and, where any sentence is contradicted, warnings."""
        checked = self.check(query, context, answer)
        if answer.abstained:
            return checked
        said = set(sentences(answer.text))
        verdicts = tuple(self._held(v, context.cited) if v.sentence in said else v for v in checked.verdicts)
        language = prompt_language(query.question)
        return replace(checked, verdicts=verdicts, text=with_warnings(checked.text, verdicts, language))

    def _held(self, verdict: Verdict, cited: Sequence[Evidence]) -> Verdict:
        """The verdict, or that the sentence is contradicted."""
        text = without_marks(verdict.sentence)
        spots = self._spots(text, cited)
        if len(spots) < 1:
            return verdict
        for where, triples in self._known(spots, cited):
            if triple := contradicting(text, spots, triples):
                fact = one_line(f"{triple.head.name} — {triple.relation} → {triple.tail.name}")
                reason = f"the {where} says {fact}"
                return replace(verdict, supported=False, label="contradicted", reason=reason)
        return verdict

    def _spots(self, text: str, cited: Sequence[Evidence]) -> list[Spot]:
        """The entities that a sentence names: by the graph's names, and by the names in the evidence."""
        found = [Spot(x.entity, x.mention.start, x.mention.end, x.mention.negated) for x in self.link(text)]
        known = {spot.entity.id for spot in found}
        named = {
            e.id: e for piece in cited for t in piece.triples for e in (t.head, t.tail) if e.id and e.id not in known
        }
        places = ((e, _place(e.name, text)) for e in named.values())
        return [*found, *(Spot(e, *place) for e, place in places if place)]

    def _known(self, spots: Sequence[Spot], cited: Sequence[Evidence]) -> Iterator[tuple[str, list[Triple]]]:
        """What the evidence says, then what the graph says of the entities."""
        yield "evidence", [t for piece in cited for t in piece.triples]
        if self.graph is not None and self.link is not no_links:
            roles = tuple(role for role in Role if role.is_safety or role in _STATED)
            for entity in dict.fromkeys(spot.entity for spot in spots):
                around = self.graph.neighbours(entity.id, limit=_MANY, roles=roles)
                yield "graph", [*around, *self.graph.attributes(entity.id)]


def contradicting(sentence: str, spots: Sequence[Spot], triples: Sequence[Triple]) -> Triple | None:
    """The first triple that speaks against a sentence; None = none does.

    >>> from kgmed.types import Relation
    >>> aspirin, ulcer = Entity("1", "Aspirin"), Entity("2", "ulcer")
    >>> no = Triple(aspirin, Relation("not in", Role.CONTRAINDICATED), ulcer)
    >>> at = [Spot(aspirin, 0, 7), Spot(ulcer, 19, 24)]
    >>> contradicting("Aspirin is safe in ulcer.", at, [no]) == no
    True
    >>> contradicting("Aspirin is not for ulcer.", at, [no]) is None
    True
    """
    pairs = [(t, pair) for t in triples for pair in _pairs(t, spots, sentence)]
    stated = {(t.subject.id, t.object.id) for t, _ in pairs if t.relation.role in _STATED}
    warned = {(t.subject.id, t.object.id) for t, _ in pairs if t.relation.role.is_safety}
    for triple, (subject, thing) in pairs:
        ends = (triple.subject.id, triple.object.id)
        if triple.relation.role.is_safety:
            excluded = triple.relation.role is Role.EXCLUDES
            if not (excluded and ends in stated) and _asserts(sentence, subject, thing, excluded=excluded):
                return triple
        elif triple.relation.role in _STATED and ends not in warned and _refuses(sentence, subject, thing, triple):
            return triple
    return None


def with_warnings(text: str, verdicts: Sequence[Verdict], language: str) -> str:
    """The text and a warning for each contradicted sentence, on lines of their own below it.

    >>> print(with_warnings("Eat.", [Verdict("Eat.", False, "the graph says no", label="contradicted")], "en"))
    Eat.
    <BLANKLINE>
    Warning: the graph contradicts “Eat.”: no.
    """
    lines = [_warning(v, language) for v in verdicts if v.label == "contradicted"]
    return "\n\n".join([text, "\n".join(lines)]) if lines else text


def _warning(verdict: Verdict, language: str) -> str:
    """The warning about one sentence."""
    where, _, fact = verdict.reason.removeprefix("the ").partition(" says ")
    return _WARNING[language].format(who=_WHO[language].get(where, where), sentence=verdict.sentence, fact=fact)


def _pairs(triple: Triple, spots: Sequence[Spot], sentence: str) -> Iterator[tuple[Spot, Spot]]:
    """The places of a triple's subject and object in a sentence, where it names both."""
    subjects = [spot for spot in spots if spot.entity.id == triple.subject.id]
    things = [s for s in spots if triple.object.id and s.entity.id == triple.object.id]
    if subjects and not triple.object.id and not _ALLERGY.search(triple.object.name):
        things = [s for s in spots if s not in subjects and _within(sentence[s.start : s.end], triple.object.name)]
        things = things or _literal(triple.object.name, sentence)
    yield from ((a, b) for a in subjects for b in things)


def _literal(text: str, sentence: str) -> list[Spot]:
    """Where a sentence holds a whole text without an id, such as 孕妇."""
    place = _place(text, sentence)
    return [Spot(Entity("", text), *place)] if place else []


def _within(name: str, text: str) -> bool:
    """Whether a text holds a name, which is no single letter."""
    shortest = 2 if has_cjk(name) else 4
    return len(name) >= shortest and _place(name, text) is not None


def _asserts(sentence: str, subject: Spot, thing: Spot, *, excluded: bool) -> bool:
    """Whether a sentence says of the pair what may not be said."""
    rest = _REST.search(sentence, max(subject.end, thing.end))
    if denies(sentence[: rest.start()] if rest else sentence) or subject.negated or thing.negated:
        return False
    return (_HAS if excluded else _USES).search(sentence) is not None


def _refuses(sentence: str, subject: Spot, thing: Spot, stated: Triple) -> bool:
    """Whether a sentence denies what is stated of the pair.

    By a word of denial before the later of the two, in the same clause, or by "not" right before the later
    ("colchicine, not allopurinol"). That aspirin does not cause fever denies no treatment.
    """
    if _WARNS.search(sentence) or not _of_its_kind(sentence, stated.relation.role):
        return False
    if thing.negated and not subject.negated:
        return True
    first, last = sorted((subject.start, thing.start))
    if _LEADS.search(sentence[first:last]):
        return True
    for found in _NOT.finditer(sentence):
        if found.start() >= first and found.end() <= last and not _TURNS.search(sentence, found.end(), last):
            return True
    return False


def _of_its_kind(sentence: str, role: Role) -> bool:
    """Whether a sentence speaks of treatment, for a treatment, and not of treatment alone, for a finding."""
    uses = _USES.search(sentence) is not None
    if role is Role.TREATS:
        return uses or _WORKS.search(sentence) is not None
    return not uses or _HAS.search(sentence) is not None


def _place(name: str, text: str) -> tuple[int, int] | None:
    """Where a text names that: as whole words whatever their case, or anywhere in Chinese; None = nowhere."""
    plain = name.replace("_", " ").strip()
    if not fold(plain):
        return None
    border = ("", "") if has_cjk(plain) else (r"(?<!\w)", r"(?!\w)")
    body = r"[\s_]+".join(map(re.escape, plain.split()))
    found = re.search(f"{border[0]}{body}{border[1]}", text, re.IGNORECASE)
    return found.span() if found else None
