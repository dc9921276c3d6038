"""Is each claim of an answer what the evidence says, or the opposite? Decided by triples, without a model.

A sentence is read as claims (`kgmed.steps.claims`), and each is held against the triples of the cited evidence, then
against those of the graph, whose ends the two places of the claim may name. A claim is

- *supported* by a triple of the evidence whose relation is of the role that the words claim, the right way
  round, or, denied, by one that says the opposite (HPO's NOT, a contraindication);
- *contradicted* where the evidence or the graph says the opposite: it is denied and a triple states it; it says that
  something treats or is safe in what it is contraindicated in; it says that a disease has a finding that is marked as
  excluded; it gives another number, or another unit, than the text or the frequency of what it is about;
- else *not in the evidence* (unsupported): to know nothing of it is not to know better. A warning is never called
  contradicted.

A sentence is contradicted if one of its claims is, and supported if all are, with no other name in its lists and hardly
another word that is not in the evidence. One that names no two things is left to another checker, by words.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from kgmed import vocabulary
from kgmed.errors import UnknownName
from kgmed.graph.base import LocalGraph
from kgmed.language.quantities import Quantity, quantities, strange, without_quantities
from kgmed.language.text import fold, has_cjk, normalise, one_line
from kgmed.models.replies import marks, without_marks
from kgmed.pipeline import Checker
from kgmed.records import Answer, Claim, Context, Entity, Evidence, Link, Query, Role, Triple, Verdict
from kgmed.steps.citations import THRESHOLD, claimed, denies, full_text, sentences, terms
from kgmed.steps.claims import HAD, WARNED, ClaimedPair, Reading, Spot, cues, is_bare, read, words_around

_BACKWARDS = frozenset({Role.CAUSE, Role.RISK, Role.GENE})  # who acts is the object
_WHOLE = 0.8  # ours: share of the words of a dose or another text that a sentence must take from it
_PARTS, _CLAUSES = re.compile(r"[;；。]"), re.compile(r"[,，;；。]|\bbut\b|但")
_LABEL = re.compile(r"^\s*[A-Z]\d{1,3}\s*[:：]")  # of a line of evidence
_ALONE = "the evidence says nothing of it together with what it answers"
_LEADS = re.compile(r"[?？:：][\s*]*$")  # asks, or announces a list
_INNER = re.compile(r"[性型样状期及级]?(?<![和与或])")


def no_links(text: str) -> Sequence[Link]:
    """No entity: only those that the evidence names are looked for."""
    return ()


def keys(entity: Entity) -> frozenset[str]:
    """By what an entity is the same as another: its id, and its name however it is written."""
    return frozenset(filter(None, [entity.id, f"={fold(entity.name)}"]))


# --- What is known: the triples of the evidence, and of the graph.


class Known:
    """The triples of cited evidence by their ends."""

    def __init__(self, cited: Sequence[Evidence]) -> None:
        """Index them."""
        self.cited = cited
        self._at: dict[str, dict[int, Triple]] = {}
        self._numbers: dict[int, int] = {}
        for number, piece in enumerate(cited, start=1):
            made_of = [t for t in piece.triples if t.relation.role is Role.INGREDIENT]
            for t in piece.triples:
                self._numbers.setdefault(id(t), number)
                inside = [i.object for i in made_of if i.subject in (t.head, t.tail)]  # what a product does, these do
                for key in frozenset().union(*map(keys, (t.head, t.tail, *inside))):
                    self._at.setdefault(key, {})[id(t)] = t

    def around(self, spot: Spot) -> dict[int, Triple]:
        """The triples with an end that a place may name."""
        found: dict[int, Triple] = {}
        for key in {key for entity in spot.entities for key in keys(entity)}:
            found |= self._at.get(key, {})
        return found

    def between(self, a: Spot, b: Spot) -> list[Triple]:
        """Those that join two places."""
        there = self.around(b)
        return [t for i, t in self.around(a).items() if i in there and t.head != t.tail]

    def number(self, triple: Triple) -> int:
        """The first piece of evidence that has a triple, from 1; 0 = none."""
        return self._numbers.get(id(triple), 0)

    @cached_property
    def entities(self) -> dict[str, Entity]:
        """What the triples join, by name."""
        ends = (e for piece in self.cited for t in piece.triples for e in (t.head, t.tail))
        return {e.name: e for e in ends if e.name.strip()}

    @cached_property
    def relations(self) -> frozenset[str]:
        """The names of the relations."""
        return frozenset(t.relation.name for piece in self.cited for t in piece.triples)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The content words of all the evidence."""
        return frozenset().union(*(terms(full_text(e)) for e in self.cited))

    @cached_property
    def texts(self) -> frozenset[str]:
        """The evidence, clause by clause, as it is written."""
        from kgmed.steps.phrase import chain

        written = (w for e in self.cited for text in (e.text, chain(e)) for w in (text, *_PARTS.split(text)))
        return frozenset(filter(None, map(normalise, written)))

    def numbered(self, text: str) -> tuple[int, ...]:
        """The first piece of evidence that is written as a text."""
        plain = normalise(text)
        held = (n for n, e in enumerate(self.cited, start=1) if plain in normalise(e.text))
        return tuple(n for n in (next(held, 0),) if n)


@dataclass(frozen=True)
class Around:
    """The triples of a graph by their ends."""

    graph: LocalGraph

    def between(self, a: Spot, b: Spot) -> list[Triple]:
        """Those that join two places."""
        pairs = [(x, y) for x in self._nodes(a) for y in self._nodes(b) if x != y]
        return [t for x, y in pairs for t in (*self._edges(x, y), *self._edges(y, x))]

    def texts(self, spot: Spot) -> list[Triple]:
        """Those that end in a text."""
        return [t for texts in (self._texts(entity) for entity in spot.entities if entity.id) for t in texts]

    def _texts(self, entity: Entity) -> list[Triple]:
        try:
            return self.graph.attributes(entity.id)
        except UnknownName:
            return []

    def _nodes(self, spot: Spot) -> list[int]:
        found = []
        for entity in spot.entities:
            if entity.id:
                try:
                    found.append(self.graph.number(entity.id))
                except UnknownName:
                    continue  # of other evidence
        return found

    def _edges(self, head: int, tail: int) -> Iterator[Triple]:
        import numpy as np

        out = self.graph.adjacency.out
        begin, end = int(out.indptr[head]), int(out.indptr[head + 1])
        low, high = np.searchsorted(out.neighbour[begin:end], [tail, tail + 1]).tolist()
        edges = range(begin + low, begin + high)
        yield from (self.graph.triple(i if out.edge is None else int(out.edge[i])) for i in edges)


# --- The places that a sentence names.


def spots_of(text: str, known: Known, links: Sequence[Link]) -> list[Spot]:
    """The places of a sentence that name an entity, longest first where they overlap; those of the evidence by its
    own names too.
    """
    places: dict[tuple[int, int], dict[str, Entity]] = {}
    for name, entity in known.entities.items():
        for place in _places(name, text):
            places.setdefault(place, {})[entity.id or name] = entity
    claiming, own = [(a, b) for a, b, _ in cues(text)], sorted(places)
    claiming += [place for name in known.relations for place in _places(name, text)]
    for link in (link for link in links if link.mention.name == link.mention.surface):  # not scattered over the text
        place = (link.mention.start, link.mention.end)
        if place in places or not (_is_cue(text, place, claiming, own) or not without_quantities(text[slice(*place)])):
            named = places.setdefault(place, {})
            named |= {e.id: e for e in (link.entity, *link.ties) if e.id not in named}
    taken = bytearray(len(text))
    kept: list[Spot] = []
    for (start, end), named in sorted(places.items(), key=lambda row: (row[0][0] - row[0][1], row[0][0])):
        if end > start and not any(taken[start:end]):
            taken[start:end] = b"\x01" * (end - start)
            kept.append(Spot(start, end, tuple(named.values())))
    return list(_compounds(text, sorted(kept, key=lambda spot: spot.start), frozenset(known.entities)))


Place = tuple[int, int]


def _is_cue(text: str, place: Place, claiming: Sequence[Place], own: Sequence[Place]) -> bool:
    """Whether a place lies within words that claim something, begins in them (适用于活动: no 于活动), or is made of
    them and little else, or of a name of the evidence (`own`).
    """
    start, end = place
    inner = [(a, b) for a, b in claiming if start <= a and b <= end]
    if inner and not vocabulary.listed("words of any claim").sub(
        "", _plain()[1].sub("", text[start : inner[0][0]] + text[inner[-1][1] : end])
    ):
        return True  # the mode of inheritance
    mine = [(a, b) for a, b in own if start <= a and b <= end]
    if mine and (
        (inner and has_cjk(text))
        or not vocabulary.listed("words of any claim").sub(
            "", vocabulary.listed("links of a claim").sub("", text[start : mine[0][0]] + text[mine[-1][1] : end])
        )
    ):
        return True
    return any((a <= start and end <= b) or a < start < b or (a < end < b and b - a > 1) for a, b in claiming)


def _compounds(text: str, spots: Sequence[Spot], named: frozenset[str]) -> Iterator[Spot]:
    """The places, those that are parts of a longer Chinese name (消化|性|溃疡) as one place that names that name."""
    run: list[Spot] = []
    for spot in [*spots, None]:
        gap = text[run[-1].end : spot.start] if run and spot else ""
        if run and spot and not {run[-1].name, spot.name} & named and _INNER.fullmatch(gap) and not cues(gap):
            run.append(spot)
            continue
        if len(run) > 1:
            whole = text[run[0].start : run[-1].end]
            yield Spot(run[0].start, run[-1].end, (Entity("", whole),))
        else:
            yield from run
        run = [spot] if spot else []


_BEFORE, _BEHIND = r"(?<![^\W\u3040-\u9fff])", r"(?![^\W\u3040-\u9fff])"  # a Chinese character ends a word


def _places(name: str, text: str) -> list[tuple[int, int]]:
    """Where a text names that: as whole words whatever their case, or anywhere in Chinese."""
    plain = name.replace("_", " ").strip()
    words = plain.split()
    if not words or words[0].casefold() not in text.casefold() or not fold(plain):
        return []
    digits = (r"(?<![\d.])" if plain[0].isdigit() else "", r"(?!\.?\d)" if plain[-1].isdigit() else "")
    border = digits if has_cjk(plain) else (_BEFORE, _BEHIND)
    body = r"[\s_]+".join(map(re.escape, words))
    return [m.span() for m in re.finditer(f"{border[0]}{body}{border[1]}", text, re.IGNORECASE)]


# --- The checker.


@dataclass(frozen=True)
class ByTriples:
    """The verdicts of another checker, and those of the triples wherever a sentence names what they join.

    `link` tells the entities that a text names; without a graph only the evidence is held against the answer. A
    contradicted sentence stays; `kgmed.steps.label` warns of it.
    """

    check: Checker
    graph: LocalGraph | None = None
    link: Callable[[str], Sequence[Link]] = no_links

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer with its verdicts."""
        checked = self.check(query, context, answer)
        if answer.abstained:
            return checked
        known = Known(context.cited)
        verdicts = self._verdicts(checked.verdicts, set(sentences(answer.text)), known, query.question.words)
        named = [n for n in answer.citations if 1 <= n <= len(context.cited)]
        stood_on = [n for v in verdicts if v.supported for n in v.citations]
        return replace(checked, verdicts=tuple(verdicts), citations=tuple(dict.fromkeys([*named, *stood_on])))

    def _verdicts(self, given: Sequence[Verdict], said: Container[str], known: Known, asked: str) -> list[Verdict]:
        """The verdicts on sentences; what a question or a heading leads to is read together with it.

        "Is cough a sign of measles? No." claims what neither sentence says alone, "Signs of measles:" is said again of
        each line below it. They themselves stand where all that they lead to does.
        """
        verdicts: list[Verdict] = []
        subject: list[Spot] = []  # of the sentence before, for one that names nothing: "; children 5 mg"
        lead, led = "", dict[int, list[Verdict]]()
        bare: list[int] = []  # where it says no more than yes or no
        for v in given:
            if v.sentence not in said or v.label == "neutral":
                verdicts.append(v)
                continue
            text = claimed(without_marks(v.sentence))
            spots = spots_of(text, known, self.link(text))
            bare += [len(verdicts)] if not terms(text) and not spots else []
            if _LEADS.search(text):
                lead = text
                led[len(verdicts)] = []
            elif lead and not read(text, spots).claims:
                text = f"{lead} {text}"
                spots = spots_of(text, known, self.link(text))
            elif not (lead and not led[max(led)]):
                lead = ""
            made = self.verdict(v, text, known, asked, spots, subject)
            if lead and not _LEADS.search(v.sentence):
                about = made.supported and not made.claims and text != without_marks(v.sentence)
                made = replace(made, supported=False, label="unsupported", reason=_ALONE) if about else made
                led[max(led)].append(made)
            verdicts.append(made)
            subject = spots[:1] or subject
        led |= {at: verdicts[at + 1 : at + 2] for at in bare}
        for at, answers in led.items():
            if answers:
                stands = all(v.supported for v in answers)
                label, reason = "supported" if stands else "unsupported", "it stands or falls with what follows it"
                verdicts[at] = replace(verdicts[at], supported=stands, label=label, reason=reason, claims=())
        return verdicts

    def verdict(
        self, verdict: Verdict, text: str, known: Known, asked: str, spots: Sequence[Spot], subject: Sequence[Spot]
    ) -> Verdict:
        """The verdict on a sentence, read as a text, by its claims, or the one given where it makes none."""
        if normalise(_LABEL.sub("", text)) in known.texts:
            reason = "the evidence says it in these words"
            return replace(verdict, supported=True, label="supported", reason=reason,
                           citations=verdict.citations or known.numbered(text))  # fmt: skip
        graph = Around(self.graph) if self.graph is not None and self.link is not no_links else None
        judge = _Judge(text, known, graph, asked)
        reading = read(text, spots)
        judged = [(said, judge.of(said)) for said in reading.claims]
        claims = [claim for said, claim in judged if claim.triple or not _is_list(said)]
        if not claims or any(claim.label != "supported" for claim in claims):
            claims = judge.of_texts(spots or subject, own=bool(spots), far=not claims) or claims
        claims += judge.of_numbers(reading, claims)
        return judge.summed(verdict, reading, claims) if claims else judge.by_words(verdict, reading)


@dataclass(frozen=True)
class _Judge:
    """Holds the claims of one sentence against what is known."""

    text: str
    known: Known
    graph: Around | None
    asked: str

    def of(self, said: ClaimedPair) -> Claim:
        near = [*self.known.between(said.left, said.right), *self._texts_about(said)]
        far = self._graph(said) if self.graph else []
        made = Claim(said.left.name, "/".join(sorted(said.roles)), said.right.name, said.denied)
        stated = any(t.relation.role is Role.FINDING for t in (*near, *far))
        opposed = {
            w: [t for t in rows if _opposes(said, t, stated=stated)] for w, rows in (("evidence", near), ("graph", far))
        }
        borne = next((t for t in near if _bears_out(said, t)), None)
        for where, against in opposed.items():
            for triple in against:
                if borne is None or triple.relation.role.is_safety:
                    return replace(made, label="contradicted", triple=triple, where=where)
        if borne is not None:
            return replace(made, label="supported", triple=borne, where="evidence")
        known = next((t for t in far if _bears_out(said, t)), None)
        return replace(made, triple=known, where="graph") if known else made

    def _texts_about(self, said: ClaimedPair) -> list[Triple]:
        """The texts of the evidence about one place that name the other."""
        return [t for a, b in _both(said) for t in self.known.around(a).values() if _names(t, self._word(b))]

    def _graph(self, said: ClaimedPair) -> list[Triple]:
        if self.graph is None:
            return []
        texts = (t for a, b in _both(said) for t in self.graph.texts(a) if _names(t, self._word(b)))
        return [*self.graph.between(said.left, said.right), *texts]

    def _word(self, spot: Spot) -> str:
        return self.text[spot.start : spot.end]

    def of_texts(self, spots: Sequence[Spot], *, own: bool, far: bool) -> list[Claim]:
        """The claim that a text of what the sentence is about (a dose, a precaution) is what the rest of it says.

        `own` = whether the places are of this sentence; `far` = whether the graph is asked too.
        """
        if not spots or any(e.name in self.known.entities for spot in spots for e in spot.entities if not e.id):
            return []  # the whole text is named
        subject = spots[0]
        rest = f"{self.text[: subject.start]}, {self.text[subject.end :]}" if own else self.text
        roles = frozenset[Role]().union(*(cue.roles for _, _, cue in cues(rest)))
        near = [t for t in self.known.around(subject).values() if not t.tail.id]
        for where, triples in (("evidence", near), ("graph", self.graph.texts(subject) if self.graph and far else [])):
            numbered = bool(quantities(rest))
            fitting = [t for t in triples if not roles or _of_role(t, roles, rest) or (numbered and _is_dose(t))]
            if claim := self._by_text(subject, rest, fitting):
                outside = where == "graph" and claim.label == "supported"  # what only the graph supports
                return [replace(claim, where=where, label="unsupported" if outside else claim.label)]
        return []

    def _by_text(self, subject: Spot, rest: str, triples: Sequence[Triple]) -> Claim | None:
        """The claim by the text that shares most of its words; None = it is about none of them."""
        said, wanted = quantities(rest), _content(rest)
        if not (said or wanted):
            return None
        doses = [t for t in triples if _is_dose(t)] if said else []
        shares = [(_share(wanted - terms(t.relation.name), t), t) for t in triples]
        best = max(
            shares, key=lambda row: (row[0], -len(strange(said, quantities(row[1].tail.name)))), default=(0.0, None)
        )
        made = Claim(subject.name, "text", one_line(rest.strip(" 。.:：，,的")), denied=denies(rest))
        if best[1] is not None and best[0] >= _WHOLE:
            found = best[1]
            odd = strange(said, [*quantities(found.tail.name), *quantities(self.asked)])
            label = "contradicted" if odd and quantities(found.tail.name) else "unsupported" if odd else "supported"
            opposite = _denied(rest, found.tail.name) and found.relation.role not in WARNED
            return replace(made, triple=found, label="contradicted" if opposite else label)
        odd = [q for q in said if doses and all(strange([q], quantities(t.tail.name)) for t in doses)]
        against = next((t for q in odd for t in doses if _other_number(q, quantities(t.tail.name))), None)
        return replace(made, triple=against, label="contradicted") if against else None

    def of_numbers(self, reading: Reading, claims: Sequence[Claim]) -> list[Claim]:
        """The claims whose numbers are in no evidence of what they are about."""
        if not claims or any(c.relation == "text" for c in claims):
            return []
        said = quantities(reading.rest)
        triples = [c.triple for c in claims if c.triple]
        frequencies = [q for t in triples for q in _told(t)]
        pieces = [self.known.cited[n - 1] for t in triples if (n := self.known.number(t))]
        beside = (q for e in pieces for q in quantities(e.text) if not (frequencies and q.unit == "%"))  # of another
        odd = strange(said, [*frequencies, *quantities(self.asked), *beside])
        if not odd:
            return []
        against = next((t for t in triples if _other_number(odd[0], _told(t))), None)
        label = "contradicted" if against else "unsupported"
        first = claims[0]
        return [Claim(first.subject, "number", str(odd[0]), label=label, triple=against,
                      where=first.where if against else "")]  # fmt: skip

    def summed(self, verdict: Verdict, reading: Reading, claims: Sequence[Claim]) -> Verdict:
        """The verdict of a sentence by its claims."""
        done = tuple(claims)
        if against := next((c for c in done if c.label == "contradicted"), None):
            reason = f"the {against.where} says {_fact(against.triple)}"
            return replace(verdict, supported=False, label="contradicted", reason=reason, claims=done)
        missing = next((c for c in done if c.label != "supported"), None)
        problem = f"not in the evidence: {one_line(str(missing))}" if missing else self._strange_words(reading, done)
        if missing and missing.where == "graph":
            problem = f"the graph says so, but not the evidence: {_fact(missing.triple)}"
        if problem:
            return replace(verdict, supported=False, label="unsupported", reason=problem, claims=done)
        cited = {self.known.number(c.triple) for c in done if c.triple} - {0}
        named = [n for n in marks(verdict.sentence) if n in cited]
        reason = "the evidence says " + "; ".join(dict.fromkeys(_fact(c.triple) for c in done))
        return replace(verdict, supported=True, label="supported", reason=reason, claims=done,
                       citations=tuple(named or sorted(cited)))  # fmt: skip

    def by_words(self, verdict: Verdict, reading: Reading) -> Verdict:
        """The verdict of a sentence without claims: that of its words, unless it lists what is in no evidence."""
        if verdict.supported and (strange := self._strange_item(reading)):
            return replace(verdict, supported=False, label="unsupported", reason=f"not in the evidence: {strange}")
        return verdict

    def _strange_item(self, reading: Reading) -> str:
        """The first item of its lists of which no word is in the evidence; "" = none."""
        there = self.known.terms | terms(self.asked)
        for item in reading.unknown:
            words = {w for w in _content(item) if len(w) > 1}
            if words and not words & there:
                return one_line(item.strip(" .。"))
        return ""

    def _strange_words(self, reading: Reading, claims: Sequence[Claim]) -> str:
        """What else the sentence says that is not in the evidence; "" = hardly anything."""
        if item := self._strange_item(reading):
            return f"not in the evidence: {item}"
        there = self.known.terms | terms(self.asked)
        if any(c.triple and not c.triple.tail.id for c in claims):
            return ""
        words = _content(reading.rest)
        odd = words - there
        if len(odd) > (1 - THRESHOLD) * (len(words) + 2 * len(claims)):
            return f"not in the evidence: {', '.join(sorted(odd)[:3])}"
        return ""


@lru_cache(maxsize=1)
def _plain() -> tuple[frozenset[str], re.Pattern[str]]:
    """The terms of the English words around a claim, and the Chinese ones (claims.txt)."""
    told = words_around()
    longest = sorted(" ".join(told["chinese"]).split(), key=len, reverse=True)
    single = "[的了是在和与或及有被把对于为而也都就等吗呢吧]"
    return terms(" ".join(told["english"])), re.compile("|".join([*map(re.escape, longest), single]))


def _both(said: ClaimedPair) -> tuple[tuple[Spot, Spot], tuple[Spot, Spot]]:
    return (said.left, said.right), (said.right, said.left)


def _names(triple: Triple, word: str) -> bool:
    """Whether a triple ends in a text that names something, and not as what one may be allergic to."""
    if (
        triple.tail.id
        or len(word) < (2 if has_cjk(word) else 4)
        or vocabulary.listed("allergies").search(triple.tail.name)
    ):
        return False
    return bool(_places(word, triple.tail.name)) and fold(word) != fold(triple.tail.name)


def _of_role(triple: Triple, roles: Iterable[Role], words: str) -> bool:
    """Whether the words claim the relation of a triple: by its role, or by its own name."""
    names = {normalise(triple.relation.name), normalise(str(triple.relation))}  # of its graph, and as it is shown
    return triple.relation.role in roles or any(terms(name) and name in normalise(words) for name in names)


def _fits(said: ClaimedPair, triple: Triple) -> bool:
    """Whether a claim is of the relation of a triple, the right way round."""
    role = triple.relation.role
    if not said.roles and not _of_role(triple, (), said.words):
        if role.is_safety or (triple.tail.id and _content(said.words)):
            return False  # other words may say anything
        return role in HAD or not triple.tail.id or is_bare(said.words)
    if not _of_role(triple, said.roles, said.words):
        return False
    if not said.agent or role not in said.roles:
        return True
    whole = said.agent == "whole"
    turned = role is Role.IS_A if whole else role in _BACKWARDS
    agent = triple.object if turned else triple.subject
    acting = said.right if said.agent == "last" else said.left
    ends = [keys(triple.head) | keys(triple.tail)]
    mine = frozenset().union(*(keys(e) for e in acting.entities))
    return bool(mine & keys(agent)) or not any(mine & end for end in ends)


def _is_list(said: ClaimedPair) -> bool:
    """Whether both are tests, or drugs, of which none is said to be for the other: "we need A as well as B"."""
    left, right = ({e.kind for e in spot.entities} for spot in (said.left, said.right))
    return left == right and left in ({"test"}, {"drug"}) and said.roles <= {Role.TREATS, Role.DOSAGE, Role.TESTS}


def _finds(said: ClaimedPair) -> bool:
    return not said.roles or Role.FINDING in said.roles


def _bears_out(said: ClaimedPair, triple: Triple) -> bool:
    """Whether a triple says what a claim says."""
    role = triple.relation.role
    if said.warns:
        return not said.denied and _of_role(triple, said.roles, said.words)
    if said.denied:
        return (role is Role.EXCLUDES and _finds(said)) or (
            role in (Role.CONTRAINDICATED, Role.AVOID) and bool({Role.TREATS, Role.FOOD} & said.roles)
        )
    return role is not Role.EXCLUDES and _fits(said, triple)


def _opposes(said: ClaimedPair, triple: Triple, *, stated: bool) -> bool:
    """Whether a triple says the opposite of a claim; `stated` = another says that the disease has the finding."""
    role = triple.relation.role
    if said.warns:
        return said.denied and role in WARNED
    if said.denied:
        return not role.is_safety and role not in WARNED and _fits(said, triple)
    if role is Role.EXCLUDES:
        return _finds(said) and not stated
    return role in (Role.CONTRAINDICATED, Role.AVOID) and bool({Role.TREATS, Role.FOOD} & said.roles)


def _share(wanted: frozenset[str], triple: Triple) -> float:
    """The share of words that a text holds; 0 where it is about nothing but numbers that the text has none of."""
    held = terms(triple.tail.name) | _content(triple.tail.name) | terms(triple.head.name)
    return len(wanted & held) / len(wanted) if wanted else float(bool(quantities(triple.tail.name)))


def _other_number(said: Quantity, known: Sequence[Quantity]) -> bool:
    """Whether the same is told with another number, or the same number with another unit."""
    return any(
        k.unit == said.unit or (k.low, k.high) == (said.low, said.high) or (said.per and k.per == said.per)
        for k in known
    )


def _without_cues(text: str) -> str:
    for start, end, _ in reversed(cues(text)):
        text = f"{text[:start]}, {text[end:]}"
    return vocabulary.listed("links of a claim").sub(",", text)


def _denied(said: str, known: str) -> bool:
    """Whether of the clauses of two texts that have most words in common one denies and the other does not."""
    pairs = [(len(terms(a) & terms(b)), a, b) for a in _CLAUSES.split(said) for b in _CLAUSES.split(known)]
    most = max(shared for shared, _, _ in pairs)
    return all(denies(a) != denies(b) for shared, a, b in pairs if shared == most)


def _is_dose(triple: Triple) -> bool:
    return triple.relation.role is Role.DOSAGE and bool(quantities(triple.tail.name))


def _content(text: str) -> frozenset[str]:
    """The content words of a text clause by clause, without those that claim something and without quantities."""
    english, chinese = _plain()
    pieces = re.split(r"[^\w\s-]+", chinese.sub(",", _without_cues(without_quantities(text))))
    return frozenset().union(*map(terms, pieces)) - english


def _told(triple: Triple) -> list[Quantity]:
    """The quantities that a triple tells: in its text, or how often it holds."""
    return _frequencies(triple) if triple.tail.id else quantities(triple.tail.name)


def _frequencies(triple: Triple) -> list[Quantity]:
    """How often a triple holds, as its sources say or by its weight; none where it says nothing."""
    told = [q for s in triple.support for name, value in s.qualifiers if name == "frequency" for q in quantities(value)]
    percent = round(triple.weight * 100)
    return [*told, *([Quantity(percent, percent, "%")] if triple.weight < 1 else [])]


def _fact(triple: Triple | None) -> str:
    return one_line(str(triple)) if triple else ""
