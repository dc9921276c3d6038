"""Does an answer stand on its evidence, and does the graph say the opposite? Decided by words and triples, without a
model.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from kgmed.errors import ModelFailed
from kgmed.graph.base import KnowledgeGraph
from kgmed.language.text import fold, has_cjk, normalise, one_line, prompt_language, singular
from kgmed.models.replies import marks, without_marks
from kgmed.pipeline import Checker, Reader
from kgmed.records import Answer, Context, Entity, Evidence, Link, Query, Role, Triple, Verdict
from kgmed.stop import check_stop

# --- What a sentence says of its entities (that one treats another, or causes it), and whether the evidence says it
# too.
# Words in common cannot tell "metformin treats diabetes" from "metformin causes diabetes"; these families can.


@dataclass(frozen=True, slots=True)
class Claim:
    """A kind of statement: how a sentence makes it, and the words and roles by which evidence bears it out."""

    name: str
    said: re.Pattern[str]
    borne_out: re.Pattern[str]
    roles: frozenset[Role]


def _words(pattern: str) -> re.Pattern[str]:
    """A pattern for words of either case."""
    return re.compile(pattern, re.IGNORECASE)


CLAIMS = (
    Claim(
        "that something treats",
        _words(
            r"\b(?:treat\w*|therap\w*|cur(?:e[sd]?|ing|ative)|drugs?|medic(?:ations?|ines?))\b|治疗|治愈|疗法|药物|用药"
        ),
        _words(r"\b(?:treat|therap|cur(?:e|ing|ative)\b|drug|medic(?:ation|ine)|indicat)|疗|治|药|适应"),
        frozenset({Role.TREATS, Role.DOSAGE, Role.INGREDIENT, Role.CONTRAINDICATED}),
    ),
    Claim(
        "that something causes",
        _words(
            r"\b(?:caus(?:e[sd]?|ing|ative)|due to|leads? to|leading to|results? in|induc\w+)\b"
            r"|引起|导致|引发|造成|致病"
        ),
        _words(
            r"\b(?:caus|due to|lead|result|induc|gene\b|risk|complicat|adverse|side effect)"
            r"|因|引起|引发|造成|致|并发|不良|副作用"
        ),
        frozenset({Role.CAUSE, Role.RISK, Role.GENE, Role.ADVERSE, Role.COMPLICATION, Role.CONTRAINDICATED}),
    ),
)


def unsupported_claim(sentence: str, evidence: Sequence[Evidence]) -> str:
    """The first kind of claim that the sentence makes and none of the evidence bears out; "" = none.

    >>> unsupported_claim("Metformin causes diabetes.", [Evidence("diabetes | treated by | metformin", "triple")])
    'that something causes'
    """
    made = (claim for claim in CLAIMS if claim.said.search(sentence))
    return next((c.name for c in made if not any(_bears_out(e, c) for e in evidence)), "")


def without_claims(text: str) -> str:
    """The text without the words that make such claims; what is left is whom they are made of.

    >>> without_claims("Metformin treats diabetes")
    'Metformin   diabetes'
    """
    for claim in CLAIMS:
        text = claim.said.sub(" ", text)
    return text


def _bears_out(evidence: Evidence, claim: Claim) -> bool:
    """Whether a piece of evidence makes the claim, by the role of a relation or by its words."""
    by_role = any(t.relation.role in claim.roles for t in evidence.triples)
    return by_role or claim.borne_out.search(evidence.text) is not None


# --- What a sentence claims, as sets that can be compared: its terms, its numbers, and whether it denies.


_SENTENCE = re.compile(r"[^.!?。！？；\n]+(?:[.!?](?!\s|$)[^.!?。！？；\n]*)*[.!?。！？；]*\n?")
_BULLET = re.compile(r"^[^\S\n]*+(?:\d{1,2}[.)、]|[-*•])\s+", re.MULTILINE)
_LONGEST_ABBREVIATED = 8  # characters, with what stands before it
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|vs|approx|Dr|Mr|Mrs|Prof|cf|etc|spp?|No|Fig)\.$")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
_ENDING = re.compile(r"(?<=\w{4})(?:ations?|ances?|ments?|ing|ed|ly)$")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_DENIES = re.compile(
    r"\b(?:not|never|no|without|neither|nor|avoid\w*|cannot|exclud\w+|contraindicat\w+|unless|except)\b|n['’]t\b"
    r"|不能|不可|不宜|不应|不得|不要|不会|不是|不用|没有|未见|并非|无关|无需|禁用|禁忌|禁止|忌|避免|勿|慎用|排除",
    re.IGNORECASE,
)
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about also am an and answer any are as at be been being but by can could did do does each evidence for from
        given had has have he her his how if in into is it its known like may might more most of on one or other our
        patient people person possible question shall she should so some such than that the their them then there
        these they this those to very was we were what when where which who why will with would you your
        affect answer associated called characterized common commonly condition disease disorder help include including
        make must often take taken type use used usual usually""",
    )
)
_EMPTY_CHARACTERS = re.compile(
    r"可以用?|可能|可用|能用|选用|服用|采用|以及|或者|因为|所以|如果|这个|这种|这些|他们|患者|病人|证据|应该|什么|怎么|如何|根据|通过|进行|使用|用于|[的了是在和与或及有被把对于为而也都就等您你我他她它吗呢吧请]"
)


def sentences(text: str) -> list[str]:
    """The sentences of a text; marks after a full stop belong to the sentence before them; bullets are left out.

    >>> sentences("Give 2.5 mg, e.g. at night. [1] Rest!\\n多休息。【2】多喝水。")
    ['Give 2.5 mg, e.g. at night. [1]', 'Rest!', '多休息。【2】', '多喝水。']
    """
    found: list[list[str]] = []  # sentences by their pieces, joined once
    cjk = False
    for piece in (m[0].strip() for m in _SENTENCE.finditer(_BULLET.sub("", text))):
        check_stop()
        lead = _leading_marks(piece) if found else ""
        if lead:
            cjk = cjk or has_cjk(found[-1][-1])
            found[-1] += ["" if cjk else " ", lead]
        rest = piece[len(lead) :].strip()
        if found and not lead and _is_abbreviated(found[-1][-1]):
            cjk = cjk or has_cjk(found[-1][-1])
            found[-1] += [" ", rest]
        elif rest:
            found.append([rest])
            cjk = False
    return [s for s in map("".join, found) if re.search(r"\w", without_marks(s))]


def _is_abbreviated(piece: str) -> bool:
    """Whether it ends in an abbreviation, and not in a full stop."""
    return _ABBREVIATED.search(piece, max(len(piece) - _LONGEST_ABBREVIATED, 0)) is not None


def terms(text: str) -> frozenset[str]:
    """The content words of a text, without endings, and the pairs of characters of its Chinese parts.

    Words that say what is claimed of them (treats, causes, not) are no terms; see `claims` and `denies`.

    >>> sorted(terms("The patients may have Seizures of 38.5 °C")), sorted(terms("可以用奥美拉唑"))
    (['38.5', 'c', 'seizure'], ['奥美', '拉唑', '美拉'])
    """
    plain = normalise(without_claims(_DENIES.sub(" ", text)))
    words = {_ENDING.sub("", singular(w)) for w in _CJK_RUN.sub(" ", plain).split() if w not in _EMPTY_WORDS}
    runs = _CJK_RUN.findall(_EMPTY_CHARACTERS.sub(" ", plain))
    pairs = {run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))}
    return frozenset((words - _EMPTY_WORDS) | pairs)


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text, as written, apart from those inside a word.

    >>> sorted(numbers_in("0.5 mg of vitamin B12, 3 times"))
    ['0.5', '3']
    """
    return frozenset(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


def denies(text: str) -> bool:
    """Whether the text says "not", warns, or forbids.

    >>> denies("Not in pregnancy"), denies("孕妇禁用"), denies("消化不良"), denies("Normal knot")
    (True, True, False, False)
    """
    return _DENIES.search(text) is not None


def _leading_marks(piece: str) -> str:
    """The marks that a piece begins with."""
    match = re.match(r"(?:\s*[\[【［〔][^\]】］〕]*[\]】］〕])+", piece)
    return match[0] if match and marks(match[0]) and not re.search(r"\w", without_marks(match[0])) else ""


# --- Does the answer say the opposite of what the graph or the evidence says? Decided by triples, without a model.
# A sentence is contradicted
#
# 1. where it says that something is used for, given to, or safe in what the graph marks as a contraindication of it
# or a
#    thing to avoid, or that a disease has a finding that the graph marks as excluded (HPO's NOT), and does not deny it;
#    an exclusion counts only where nothing says the opposite;
# 2. where it denies a treatment or a finding that the graph or the evidence states, unless it warns or forbids: a
# warning
#    is never called contradicted.
#
# The two must be named in the sentence. A contraindication that is a text ("active peptic ulcer or bleeding") names
# what
# its words hold, but for what one may be allergic to. Words decide who is said to do what; a sentence that is flagged
# wrongly is shown all the same, with the triple that speaks against it, for the reader to judge.


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
    r"(?:[,;]\s*+|\b(?:but|and|though)\s++){1,8}not\s+(?:in|for|with|during|when|if|against|to|by)\b"
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
class Contradictions:
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

    >>> from kgmed.records import Relation
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


# --- Does each sentence of an answer stand on evidence? Decided by words, without a model.
# The rule, for each sentence:
#
# 1. Its *terms* are its content words (singular, without function words) or, in Chinese, its pairs of characters. Terms
#    that the question brought do not count, unless the sentence has no others.
# 2. It stands on the cited evidence if at least `threshold` of these terms occur in that evidence (its text and the
#    names of its entities and relations). Without a citation the single piece of evidence with the largest share is
#    cited for it, if that share reaches the threshold.
# 3. Whatever the share, it does not stand if it holds a number that is in neither the evidence nor the question, or
# names
# a medical entity that is in neither (as told by `names`), or says that something treats or causes where the evidence
#    says neither, or denies what the evidence says, or says what the evidence denies (a contraindication, "not").
#
# Words in common are a necessary sign, not proof: a sentence that mixes up who treats whom can pass, and so can one
# that
# picks the wrong disease of two in the evidence. Evidence in another language shares no terms with a sentence, which
# then
# does not stand.


THRESHOLD = 0.6  # ours: a sentence of five new terms may put two in its own words


def no_names(text: str) -> Collection[str]:
    """No entity at all: the check of names is left out."""
    return ()


@dataclass(frozen=True, slots=True)
class Citations:
    """Holds each sentence of an answer against the evidence; the rule is this module's docstring.

    `names` tells the medical entities that a text names, by any hashable id, such as those that a graph's recogniser
    and linker find.
    """

    threshold: float = THRESHOLD
    names: Callable[[str], Collection[str]] = no_names

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer with a verdict for each sentence and the citations that they stand on or name."""
        if answer.abstained:
            return answer
        asked = "\n".join([query.text, *(text for _, text in query.question.options)])
        verdicts = tuple(self.verdict(s, asked, context.cited) for s in sentences(answer.text))
        named = (n for n in answer.citations if 1 <= n <= len(context.cited))
        stood_on = (n for v in verdicts if v.supported for n in v.citations)
        return replace(answer, verdicts=verdicts, citations=tuple(dict.fromkeys([*named, *stood_on])))

    def verdict(self, sentence: str, asked: str, cited: Sequence[Evidence]) -> Verdict:
        """Whether one sentence stands, on which evidence, and why not."""
        bare = without_marks(sentence)
        wanted = (terms(bare) - terms(asked)) or terms(bare)
        if not wanted:
            return Verdict(sentence, supported=False, reason="says nothing that could be checked")
        said = {n: full_text(cited[n - 1]) for n in marks(sentence) if 1 <= n <= len(cited)}
        found, share = _cited_share(wanted, said) if said else _best_share(wanted, cited)
        problem = self._problem(bare, asked, [cited[n - 1] for n in found], share)
        reason = problem or f"{share:.0%} of its terms are in the evidence"
        return Verdict(sentence, not problem, reason, tuple(found) if said or not problem else ())

    def _problem(self, bare: str, asked: str, evidence: Sequence[Evidence], share: float) -> str:
        """Why the sentence does not stand on the evidence; "" = it does."""
        if share < self.threshold:
            return f"only {share:.0%} of its terms are in the evidence, {self.threshold:.0%} are needed"
        text = "\n".join(map(full_text, evidence))
        if strange := sorted(numbers_in(bare) - numbers_in(text) - numbers_in(asked)):
            return f"the number {strange[0]} is not in the evidence"
        if strange := sorted({*self.names(bare)} - {*self.names(text)} - {*self.names(asked)}):
            return f"{strange[0]} is not in the evidence"
        if claim := unsupported_claim(bare, evidence):
            return f"says {claim}, which the evidence does not"
        if denies(bare) != any(e.is_safety or denies(e.text) for e in evidence):
            return "denies what the evidence says" if denies(bare) else "says what the evidence denies"
        return ""


OWN = {"en": "[the model's own]", "zh": "[模型自述]"}  # after a sentence that no evidence bears out


@dataclass(frozen=True, slots=True)
class Checked:
    """A reader whose answer is held against its evidence before anyone sees it.

    Sentences that do not stand are marked as the model's own (`OWN`); `strict` leaves them out, except those that warn
    or deny. Those that the graph contradicts are shown with a warning; all of them stay in the verdicts, and `limits`
    says how many. Where none stands, it raises `ModelFailed`, to fall back from.
    """

    read: Reader
    check: Checker
    strict: bool = False

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, each sentence with its marks, or marked as the model's own."""
        answer = self.check(query, context, self.read(query, context))
        if answer.abstained or not answer.verdicts:
            return answer
        standing = sum(v.supported for v in answer.verdicts)
        if not standing:
            first = min(answer.verdicts, key=lambda v: v.label != "contradicted")
            raise ModelFailed(f"{answer.reader} wrote nothing that its evidence supports: {first.reason}")
        kept = [v for v in answer.verdicts if not (self.strict and _is_own(v) and not denies(v.sentence))]
        language = prompt_language(query.question)
        said = (f"{v.sentence} {OWN[language]}" if _is_own(v) else _marked(v) for v in kept)
        return replace(
            answer,
            text=with_warnings(" ".join(said), kept, language),
            citations=tuple(dict.fromkeys(n for v in kept if not _is_own(v) for n in v.citations)),
            limits="; ".join([*filter(None, [answer.limits]), *_left_out(answer.verdicts, kept)]),
        )


def _is_own(verdict: Verdict) -> bool:
    """Whether a sentence is the model's own: nothing bears it out, and nothing says the opposite, which is told."""
    return not verdict.supported and verdict.label != "contradicted"


def full_text(evidence: Evidence) -> str:
    """All that a piece of evidence says: its text and the names in its triples."""
    named = [name for t in evidence.triples for name in (t.head.name, t.relation.name, t.tail.name)]
    return "\n".join([evidence.text, *named])


def _cited_share(wanted: Collection[str], said: dict[int, str]) -> tuple[list[int], float]:
    """The numbers cited that hold any of the wanted terms (all of them if none does), and the share they hold."""
    held = {n: terms(text) & set(wanted) for n, text in said.items()}
    useful = [n for n in held if held[n]] or list(held)
    return useful, len(set().union(*held.values())) / len(wanted)


def _best_share(wanted: Collection[str], cited: Sequence[Evidence]) -> tuple[list[int], float]:
    """The number of the evidence that holds most of the wanted terms (the first of equals), and its share."""
    shares = [len(terms(full_text(e)) & set(wanted)) / len(wanted) for e in cited]
    best = max(shares, default=0.0)
    return ([shares.index(best) + 1] if shares else []), best


def _marked(verdict: Verdict) -> str:
    """The sentence with the marks of what it stands on, before its full stop."""
    if marks(verdict.sentence) or not verdict.citations:
        return verdict.sentence
    body = verdict.sentence.rstrip(".!?。！？;；")
    return f"{body} {''.join(f'[{n}]' for n in verdict.citations)}{verdict.sentence[len(body) :]}"


def _left_out(verdicts: Sequence[Verdict], kept: Sequence[Verdict]) -> Iterator[str]:
    """What to say of sentences that do not stand."""
    against = sum(v.label == "contradicted" for v in kept)
    own = sum(map(_is_own, kept))
    if len(verdicts) > len(kept):
        there, left = len(verdicts), len(verdicts) - len(kept)
        yield f"{left} of the model's {there} sentences left out: the evidence does not support them"
    if own:
        yield f"{own} of the sentences shown are the model's own: the evidence does not bear them out"
    if against:
        yield f"{against} of the sentences shown are contradicted; see the warnings"
