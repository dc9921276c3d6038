"""The reader of the model-free answer: verdicts, diseases that fit, lists and warnings, in sentences of the catalogue.

It reads the frame and the evidence, never the question's words. A piece of evidence belongs to the ask that its id
names, "ask:N" for `frame.asks[N]`, else to the first ask that its triples answer. At the end stands what is done to a
run of any reader before anybody sees it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from kgmed.facts.lists import (
    Group,
    Line,
    Numbered,
    Speech,
    all_foreign,
    grouped,
    line,
    listed,
    readable,
    without_shared,
)
from kgmed.facts.plan import plan
from kgmed.frame import Ask, Form, Frame, Intent
from kgmed.graph.contradictions import WARNS
from kgmed.language.labels import says_unknown
from kgmed.language.particulars import PEOPLE, clauses_about, forbids, populations
from kgmed.language.text import has_cjk, language_of, lazily
from kgmed.question.emergency import ALONE, NO_MEDICINES, emergency, helped, is_emergency, is_malignant
from kgmed.records import BY_REASON, CARE, NOT_FOR, Answer, Context, Evidence, Query, Role, Run, Triple, is_verdict
from kgmed.sentences import catalogue
from kgmed.show_run import bracketed, entities_of, named_in
from kgmed.steps import phrase
from kgmed.steps.facts import called, candidates, clipped, facts, frequency, is_diagnosis
from kgmed.steps.family import substance

if TYPE_CHECKING:
    from kgmed.toolkit import RemoteToolkit, Toolkit

_ITEM = "- "  # begins the line of a disease
LINES = 9  # ours: a dozen on a screen of 80 columns, wrapped
_LISTS = 6  # ours: lists of one answer
_OVERVIEW = 3  # ours: lists where it is asked what a thing is
_DISEASES = (5, 3)  # ours: diseases shown, alone and beside what is done about them
_WARNINGS = 2  # ours
_ONE = 2  # a disease and one finding
_REFUSED = (Role.TREATS, Role.FOOD)  # what never answers a negative ask
_AVOIDED = (*WARNS, Role.AVOID, Role.INTERACTS)
_OF_TWO = (Intent.SAFETY, Intent.HELPS, Intent.RELATION, Intent.INTERACTIONS)
_NOTHING = ("none", "unknown", "lacking", "unclear", "general")
_HEADS = ("heads", "absent")  # verdicts that say by what is answered, and what is not
_USEFUL = (  # of a thing of which nothing in particular is asked
    *(Role.FINDING, Role.CAUSE, Role.TREATS, Role.TESTS, Role.GENE, Role.INHERITANCE, Role.COMPLICATION, Role.ADVERSE),
    *(Role.CONTRAINDICATED, Role.CARE, Role.IS_A),
)
_PARTS = {  # of what a thing is in one sentence: how many names of each role
    Role.IS_A: 3, Role.CARE: 2, Role.CAUSE: 5, Role.FINDING: 10, Role.INHERITANCE: 2, Role.COMPLICATION: 5,
}  # fmt: skip
_LABEL = lazily(  # what warns of nothing; what stands on every label; that an allergy to a medicine forbids it
    r"(?i)(?P<nothing>^无毒\W*$)"
    r"|(?P<itself>^[^。；;，,]*对(?:本[品药]|该药|其|药物|任何|此药|活性)[^。；;，,]{0,24}(?:过敏|超敏)[^。；;，,]*。?$"
    r"|\b(?:hypersensitiv\w+|allerg\w+) to (?:it|this|the (?:drug|medicine|product)|any)\b)"
    r"|(?P<allergy>^对[^，,；;]*过敏(?:者|的患者|患者)?(?:禁用|忌用)?。?$|^(?:not for people )?allergic to [^;,]*$)"
    r"|(?P<every>正在使用其他药品|监护下使用|接触的地方|触及|性状发生改变|咨询医师|按照用法用量|触摸|吞服|症状无缓解|应去医院就诊|立即就医)"
)


def answer(query: Query, context: Context) -> Answer:
    """The ranked evidence as an answer that fits a screen; all of it stays in the context.

    It abstains without evidence, and where the evidence says only that the graph has nothing of what is asked.
    """
    if query.question.options:
        return facts(query, context)
    frame = query.frame
    written = {x.entity: thing.names[0] for ask in frame.asks for thing in ask.things for x in thing.links}
    speech = Speech(frame.language, catalogue(frame.language), written)
    reading = Reading(frame, tuple(enumerate(context.cited, start=1)), speech)
    lines = reading.lines()
    diagnoses = [row for row in reading.rows if row[1].kind == "candidate"]
    return Answer(
        "\n".join(_apart(row.text, context.cited, speech) for row in lines),
        citations=tuple(dict.fromkeys(n for row in lines for n in row.numbers)),
        candidates=() if reading.abstains else tuple(candidates(diagnoses)),
        abstained=reading.abstains,
        limits=speech.say("note.limits"),
        reader="facts",
    )


def _apart(text: str, evidence: Sequence[Evidence], speech: Speech) -> str:
    """A line with each name that the asker cannot read in brackets behind its kind, unless its heading says so."""
    if not speech.unreadable(text) or speech.say("list.original") in text:
        return text
    return named_in(text, entities_of(evidence), bracketed)


def fitting_warnings(frame: Frame, evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """The warnings with what of them fits the patient; those of which nothing does are left out."""
    reading = Reading(frame, tuple(enumerate(evidence, start=1)), Speech(frame.language, catalogue(frame.language)))
    for e in (e for e in evidence if e.kind == "warning"):
        if mine := reading.fitting_warnings(e):
            of = {t: e.about[0] if len(e.about) == 1 else t.subject for t in mine}  # it may be of several
            told = [(owner, [t for t in mine if of[t] == owner]) for owner in dict.fromkeys(of.values())]
            yield replace(e, text="; ".join(_warning(owner.name, said) for owner, said in told), triples=tuple(mine))


def _warning(name: str, said: Sequence[Triple]) -> str:
    """What labels say of one medicine."""
    return f"{name} — {said[0].relation} → {'; '.join(dict.fromkeys(t.object.name for t in said))}"


@dataclass(frozen=True)
class Reading:
    """What one answer is made of: the frame, the numbered evidence and how the asker's language is written."""

    frame: Frame
    rows: tuple[Numbered, ...]
    speech: Speech

    # --- The evidence by what it is.

    @cached_property
    def verdicts(self) -> list[Numbered]:
        """The verdicts, which come first."""
        return [row for row in self.rows if is_verdict(row[1])]

    @cached_property
    def diagnoses(self) -> list[Numbered]:
        """The diseases that fit the findings, those with a name that the asker can read first."""
        fitting = [row for row in self.rows if is_diagnosis(row[1])]
        return sorted(fitting, key=lambda row: self.speech.unreadable(self.speech.name(row[1].about[0])))

    @cached_property
    def facts(self) -> list[Numbered]:
        """The evidence for lists: all but verdicts, diagnoses and warnings."""
        others = {id(e) for _, e in (*self.verdicts, *self.diagnoses)}
        return [row for row in self.rows if row[1].kind != "warning" and id(row[1]) not in others]

    @cached_property
    def groups(self) -> list[Group]:
        """The lists by ask."""
        several = any(sum(bool(n.links) for n in ask.things) > 1 for ask in self.frame.asks)
        return self._grouped(self.facts, apart=several or Intent.COMPARISON in self.frame.intents)

    @property
    def decided(self) -> bool:
        """Whether a verdict answers, and not only heads what follows."""
        return any(not is_verdict(e, *_HEADS) for _, e in self.verdicts)

    @property
    def abstains(self) -> bool:
        """Whether the evidence says nothing, or only that the graph does not have what is asked."""
        if self.verdicts and all(is_verdict(e, *_NOTHING) for _, e in self.verdicts):
            return not any(e.id.startswith("ask:") for _, e in self.facts)
        return not (self.verdicts or self.diagnoses or self.groups)

    def _grouped(self, rows: Sequence[Numbered], *, apart: bool = False) -> list[Group]:
        return grouped(rows, self.speech, self._ask_of, apart=apart, skip=self._is_refused)

    def _ask_of(self, e: Evidence) -> int:
        """The number of the ask that a piece belongs to; one more than the last where it answers none."""
        if e.id.startswith("ask:"):
            return int(e.id.removeprefix("ask:"))
        if e.id == "known":
            return len(self.frame.asks)
        if len(self.frame.asks) < 2:
            return 0
        asks = sorted(enumerate(self.frame.asks), key=lambda row: not _roles(row[1]))  # the particular before the rest
        return next((n for n, ask in asks if _answers(ask, e)), len(self.frame.asks))

    def _is_refused(self, e: Evidence, triple: Triple) -> bool:
        """Whether a triple would answer an ask for what to avoid with what to take, or warns of nothing."""
        role, asks, n = triple.relation.role, self.frame.asks, self._ask_of(e)
        if role in WARNS and not triple.tail.id and _is_label(triple, "nothing"):
            return True
        return role in _REFUSED and (asks[n].negative if n < len(asks) else any(ask.negative for ask in asks))

    # --- The lines.

    def lines(self) -> list[Line]:
        """Verdicts, what answers, what the graph does not have, warnings: as many as fit."""
        silent = (*_NOTHING, *_HEADS)  # what rests on no fact
        lines = [line(e.text, [i] if e.triples or not is_verdict(e, *silent) else []) for i, e in self.verdicts]
        if self.abstains and not self.groups:
            return [*lines, *self.missing()] or [line(self._nothing())]
        kept = [*self._not_for(), *self.missing()]  # for these, and for what is not known to suit, there is always room
        shown = self._fitting(self.body(), [*lines, *kept], first=not lines)
        return [*lines, *shown, *kept, *self._fitting(self._warnings(), [*lines, *shown, *kept]), *self._unsuited()]

    def _nothing(self) -> str:
        """That there is no answer."""
        out = any(ask.intent.out_of_scope for ask in self.frame.asks)
        return self.speech.say("verdict.service" if out else "note.nothing")

    def _fitting(self, lines: Iterable[Line], before: Sequence[Line], *, first: bool = False) -> list[Line]:
        """The lines for which there is room; the first one `first`, or of an answer, in any case."""
        kept: list[Line] = []
        left, most = self.speech.size("answer") - sum(len(row.text) for row in before), LINES - len(before)
        for row in lines:
            if row.total:
                shown = sum(k.text.startswith(_ITEM) for k in kept)
                row = line(self.speech.say("note.and_more", count=row.total - shown))
            if (len(row.text) <= left and len(kept) < most) or not (kept or (before and not first)):
                kept.append(row)
                left -= len(row.text)
        return kept

    def missing(self) -> Iterator[Line]:
        """The intents of which the graph has nothing, by the thing that they are asked of, unless a verdict says so."""
        lacking: dict[str, list[str]] = {}
        for n, ask in enumerate(self.frame.asks):
            thing = next((x for x in ask.things if x.links), None)
            if thing and not self._answered(n) and not any(self._says(e, ask) for _, e in self.verdicts):
                lacking.setdefault(self.speech.name(thing.links[0].entity), []).append(called(self.speech.say, ask))
        for name, wanted in lacking.items():
            yield line(self.speech.say("verdict.lacking", one=name, other=self.speech.say.join(wanted)))

    def _answered(self, n: int) -> bool:
        """Whether an ask has evidence of its own; all is that of the only ask, whichever reading of it was answered."""
        told = [e for _, e in (*self.facts, *self.diagnoses) if not all(self._is_refused(e, t) for t in e.triples)]
        return any(self._ask_of(e) == n for e in told)

    def _says(self, e: Evidence, ask: Ask) -> bool:
        """Whether a verdict is about an ask."""
        if len(self.frame.asks) < 2 or is_verdict(e, *_HEADS):
            return not is_verdict(e, *_HEADS)
        if is_verdict(e, "unclear"):
            return True
        if is_verdict(e, "unknown"):
            return not any(thing.links for thing in ask.things)
        if is_verdict(e, "lacking"):
            return ask.intent.out_of_scope or called(self.speech.say, ask) in e.text
        return not e.triples or ask.intent in _OF_TWO or any(t.relation.role in _roles(ask) for t in e.triples)

    def body(self) -> Iterator[Line]:
        """The diseases that fit, then the lists of each ask."""
        care = [] if self.decided else self._care()  # a verdict is on another disease than the first that fits
        if self.diagnoses:
            yield from self._diseases(care=bool(care))
        elif self.frame.intents == (Intent.OVERVIEW,) and not self.decided and (whole := self._what_it_is()):
            yield whole
            return
        if self.abstains and not any(e.about for _, e in self.verdicts):
            yield line(self.speech.say("note.known", name=next(iter(self.groups[0].subjects))))
        yield from self._lists([*care, *self._chosen()])

    def _chosen(self) -> list[Group]:
        """The lists that are shown, in the order of the asks; with a verdict those of the other asks."""
        chosen: list[Group] = []
        for n, ask in enumerate(self.frame.asks or (Ask(Intent.OVERVIEW),)):
            mine = [g for g in self.groups if g.ask == n]
            if not any(self._says(e, ask) for _, e in self.verdicts):
                chosen += self._of_ask(ask, mine)
        rest = [g for g in self.groups if g.ask >= len(self.frame.asks)]
        return rest if self.abstains else chosen or ([] if self.decided or self.diagnoses else self._usual(rest))

    def _of_ask(self, ask: Ask, groups: list[Group]) -> list[Group]:
        """The lists of an ask: those of the roles that it wants; of two things what differs; else what is useful."""
        if ask.intent is Intent.COMPARISON:
            return list(without_shared(groups))
        roles = _roles(ask)
        wanted = (
            (*roles, Role.OTHER) if roles and plan()[ask.intent].relations else roles
        )  # how it looks, what it is in
        mine = (g for g in groups if g.role in wanted)
        shown = sorted(mine, key=lambda g: (wanted is not roles and not g.own, wanted.index(g.role)))
        if ask.intent is Intent.USES:  # what is given against a medicine is no use of it
            shown = [g for g in shown if g.own or g.role is not Role.TREATS] or shown
        if not shown and not self.diagnoses:
            shown = self._usual(groups)[: _OVERVIEW if ask.intent is Intent.OVERVIEW else None]
        if ask.form is Form.YES_NO:
            shown.sort(key=lambda g: not any(map(self.speech.value, g.texts)))
        return shown

    def _lists(self, groups: Sequence[Group]) -> Iterator[Line]:
        """The lists, each with its share of the room; what they do not say stands above them."""
        compared = Intent.COMPARISON in self.frame.intents
        room = self.speech.size("lists") // max(min(len(groups), 4), 1)
        room = room * 3 // 4 if compared else room  # what is said of one must leave room for the other
        for key in dict.fromkeys(self._unsaid(groups)):  # of two asks one note may be the same
            yield line(self.speech.say(f"note.{key}"))
        for group in groups[:_LISTS]:
            wide = 2 if compared and group.role is Role.FINDING else 1  # what tells two illnesses apart
            yield listed(group, self.speech, wide * room)
        if len(groups) > 1 and any(a.intent is Intent.CONTAGION and a.form is Form.YES_NO for a in self.frame.asks):
            yield line(self.speech.say("note.other_routes"))

    def _unsaid(self, groups: Sequence[Group]) -> Iterator[str]:
        """The keys of the notes on what is asked and not said by some lists."""
        treats = any(g.role is Role.TREATS and not g.own for g in groups)
        mild = groups and all(g.role is Role.PRECAUTION and not any(map(forbids, g.texts)) for g in groups)
        for ask in self.frame.asks:
            if treats and any(c.kind == "line" for c in ask.constraints):
                yield "not_ranked"
            elif treats and ask.form is Form.YES_NO and ask.intent in (Intent.TREATMENT, Intent.PROGNOSIS):
                yield "no_cure"
            elif mild and ask.intent is Intent.CONTRAINDICATIONS:
                yield "none_named"
            elif groups and ask.intent is Intent.COMPARISON and ask.form is Form.CHOICE:
                yield "not_weighed"

    def _usual(self, groups: list[Group]) -> list[Group]:
        """What says most of a thing: a definition that can be read, then the useful roles, then the rest.

        Of a medicine what it is and what it is given for come before warnings, and forms and strengths last.
        """
        medicine = any(g.own and g.role is Role.TREATS for g in groups)
        mine = [g for g in groups if not medicine or g.own or g.role not in (Role.CAUSE, Role.ADVERSE, Role.TREATS)]
        told = [g for g in mine if not g.texts or not all_foreign(g, self.speech)]
        if not any(f"written_as.{g.relation}" in self.speech.say for g in told):
            told += [g for g in mine if f"written_as.{g.relation}" in self.speech.say]
        return sorted(
            told or mine,
            key=lambda g: (
                g.relation != "definition",
                medicine and not (g.own and g.role in (Role.IS_A, Role.TREATS)),
                medicine and g.role is Role.DOSAGE,
                all(map(self.speech.value, g.texts)),
                _USEFUL.index(g.role) if g.role in _USEFUL else len(_USEFUL),
            ),
        )

    def _what_it_is(self) -> Line | None:
        """What a thing is, in one sentence from its kind, causes and findings; None where a definition says it."""
        say, speech = self.speech.say, self.speech
        if any(g.relation == "definition" and not all_foreign(g, speech) for g in self.groups):
            return None
        own = {g.role: g for g in reversed(self.groups) if g.own and g.names and f"about.{g.role}" in say}
        said, numbers = [], dict[int, None]()
        for role in (role for role in _PARTS if role in own):
            if names := [n for n in readable(own[role].names) if not speech.foreign(n)][: _PARTS[role]]:
                said.append(say(f"about.{role}", names=say.join(names)))
                numbers |= own[role].numbers
        if len(said) < 2:
            return None
        thing = next(iter(next(g for g in self.groups if g.role in own).subjects))
        return line(speech.headed(thing, say.list(said) + say("marks.stop")), list(numbers)[:4])

    # --- Diseases that fit.

    def _care(self) -> list[Group]:
        """What the card of the first disease has of its tests and treatments."""
        return self._grouped([
            (i, replace(e, text="", kind="neighbours", triples=mine, about=e.about[:1]))
            for i, e in self.diagnoses[:1]
            for role in self.frame.roles
            if (mine := tuple(t for t in e.triples if t.relation.role is role is not Role.FINDING))
        ])  # fmt: skip

    def _diseases(self, *, care: bool) -> Iterator[Line]:
        """A line for each of the best diseases with what speaks for it; an emergency above, or below a later one."""
        rows, most, say = self.diagnoses, _DISEASES[care], self.speech.say
        told = any(trait.startswith("urgent ") for trait in self.frame.patient.traits)  # a verdict says so already
        above = [] if told else list(self._urgent(rows[:2]))
        yield from above
        alone = len(rows) == 1 and len(rows[0][1].about) <= _ONE
        yield line(say("note.others" if self.decided else "note.one_alone" if alone else "note.fitting"))
        for i, e in rows[:most]:
            yield line(_ITEM + self.speech.headed(self.speech.name(e.about[0]), self._why(e)), [i])
        if len(rows) > most:
            yield Line("", total=len(rows))
        soon = any(is_malignant(e.about[0].name) for _, e in rows[:3]) or "newborn" in self.frame.patient.traits
        if not above and not told:
            yield from list(self._urgent(rows[:5], among=True)) or ([line(say("note.soon"))] if soon else [])
        from kgmed.diagnose.retrieve import told_of  # read in where findings are told

        asks = [(e, said) for _, e in rows[: 0 if care else 2] if (said := told_of(e, "ask"))]
        parts = [say.join(said.split(", ")) + self.speech.aside(self.speech.name(e.about[0])) for e, said in asks]
        if parts:
            yield line(self.speech.headed(say("note.apart"), say.list(parts)))

    def _urgent(self, rows: Sequence[Numbered], *, among: bool = False) -> Iterator[Line]:
        """That an emergency is among some diseases, and to call for help now where it began suddenly."""
        sudden = "abrupt" in self.frame.patient.traits
        from kgmed.diagnose.retrieve import EMERGENCY  # read in where findings are told

        urgent = [e.about[0] for _, e in rows if e.id == EMERGENCY]
        if not urgent and sudden and not among:  # a tearing pain is named as what tears
            urgent = [thing for _, e in rows[:1] for thing in e.about[1:] if is_emergency(thing.name)]
        if names := [self.speech.name(thing) for thing in urgent[:2]]:
            key = "among" if among else "now" if sudden else "may_be"
            yield line(self.speech.say(f"note.{key}", names=self.speech.say.join(names)))

    def _why(self, e: Evidence) -> str:
        """What speaks for a disease, what of the findings it is not known for, and what speaks against it."""
        say, size = self.speech.say, self.speech.size("answer")
        mine = [t for t in e.triples if t.relation.role in (Role.FINDING, Role.EXCLUDES) and t.subject == e.about[0]]
        from kgmed.diagnose.retrieve import is_denied, told_of  # read in where findings are told

        said = {denied: [self._finding(t) for t in mine if is_denied(e, t) is denied] for denied in (False, True)}
        why, against = (say.join(list(dict.fromkeys(said[denied]))) for denied in (False, True))
        lacks = say.join([self.speech.name(name) for name in told_of(e, "lacks").split(", ") if name])
        parts = [clipped(why, size // 7)]
        parts += [clipped(say("note.lacks", names=lacks), size // 13)] if lacks else []
        parts += [say("note.against", names=clipped(against, size // 16))] if against else []
        return say.list(parts)

    def _finding(self, t: Triple) -> str:
        """A finding of a disease, with how often it is seen."""
        name = self.speech.name(t.object)
        excluded = t.relation.role is Role.EXCLUDES
        return self.speech.say("note.not", name=name) if excluded else name + self.speech.aside(frequency(t))

    # --- Warnings.

    def _unsuited(self) -> Iterator[Line]:
        """That the graph does not say which treatments suit the patient."""
        given = any(g.role is Role.TREATS and not g.own for g in self.groups)
        names = self._for_whom() if given and not self.decided else []
        if names and Intent.COMPARISON not in self.frame.intents:
            yield line(self.speech.say("note.not_said", names=self.speech.say.join(names)))

    def _for_whom(self) -> list[str]:
        """Of whom it is not said which treatments suit them: a group of people, an illness beside the one treated."""
        patient, asked = self.frame.patient, [n for ask in self.frame.asks for n in ask.subject]
        named = {n.links[0].entity: n for n in (*asked, *patient.has) if n.links and not n.negated}
        treated = {name.casefold() for g in self.groups if g.role is Role.TREATS and not g.own for name in g.subjects}
        beside = [
            n
            for n in list(named.values())[1:]
            if n.kind == "disease" and treated.isdisjoint(x.casefold() for x in (*n.names, n.links[0].entity.name))
        ]
        return [*(self.speech.say(f"people.{g}") for g in patient.groups[:1]), *(n.names[0] for n in beside[:2])]

    def _not_for(self) -> Iterator[Line]:
        """What was taken out because it is forbidden for this patient, what stays with care alone, and why."""
        forbidden = [(i, e) for i, e in self.rows if e.kind == "warning" and e.id in BY_REASON]
        yield from (line(clipped(e.text, self.speech.size("answer") // 3), [i]) for i, e in forbidden)

    def _warnings(self) -> Iterator[Line]:
        """The first warnings that fit the patient, and how many more there are; all stay in the evidence."""
        speech, say = self.speech, self.speech.say
        warned = [(i, e) for i, e in self.rows if e.kind == "warning" and e.id not in BY_REASON]
        told = [(i, e, mine) for i, e in warned if (mine := self.fitting_warnings(e))]
        said = [(i, e, text) for i, e, mine in told if (text := self._warned(mine))]
        said.sort(key=lambda row: (not self._of_people(row[1]), speech.foreign(speech.name(row[1].about[0]))))
        parts = [
            line(speech.headed(speech.name(e.about[0]), clipped(text, speech.size("warning"))), [i])
            for i, e, text in said[:_WARNINGS]
        ]
        if parts:
            more = say("note.warnings_more", names=len(told) - _WARNINGS) if len(told) > _WARNINGS else ""
            whole = speech.headed(say("note.warnings"), say.list([part.text for part in parts]) + more)
            yield Line(whole, tuple(n for part in parts for n in part.numbers))
        elif forbidden := [i for i, _, mine in told if any(t.relation.role is Role.CONTRAINDICATED for t in mine)]:
            yield line(say("note.warnings_elsewhere"), forbidden[:3])

    def _of_people(self, e: Evidence) -> bool:
        """Whether a warning speaks of the patient: of an illness, a medicine or the population that is told."""
        return e.id == CARE or any(
            clauses_about(t.object.name, p.in_text) for t in e.triples for p in populations(self.frame.patient.groups)
        )

    def fitting_warnings(self, e: Evidence) -> list[Triple]:
        """What of a warning fits: what forbids, care with the patient's population; beside a verdict, of its things."""
        about = {x for _, v in self.verdicts for x in (*v.about, *(t.subject for t in v.triples))}
        if self.decided and not about & {*e.about}:
            return []
        forbidden = any(t.relation.role is Role.CONTRAINDICATED for t in e.triples)
        drop = ["nothing", *([] if self.frame.patient.allergic_to else ["itself"]), *([] if forbidden else ["every"])]
        said = [t for t in e.triples if not _is_label(t, *drop)]
        return [t for t in said if (t.relation.role is Role.CONTRAINDICATED and t.tail.id) or not self._of_others(t)]

    def _of_others(self, t: Triple) -> bool:
        """Whether a text or a caution is about populations, all others than the patient's."""
        about = [group.name[0] for group in PEOPLE if group.in_text.search(t.object.name)]
        mild = t.relation.role is Role.PRECAUTION or not has_cjk(t.object.name)
        return bool(about) and mild and not {*about} & {*self.frame.patient.groups}

    def _warned(self, said: Sequence[Triple]) -> str:
        """What some warnings say, as far as it can be read."""
        say, names = self.speech.say, [(t, self.speech.name(t.object)) for t in said]
        key = {t: f"warned.{t.relation.role}" for t in said if t.tail.id and t.relation.role in WARNS}
        told = [say(key[t], thing=name) if t in key else name for t, name in names if not self.speech.foreign(name)]
        latin = [name for _, name in names if name.isascii()]  # read by whoever writes in another script
        return say.join(told or latin)


def _roles(ask: Ask) -> tuple[Role, ...]:
    """The roles whose lists answer an ask; of a negative one what warns."""
    return _AVOIDED if ask.negative and Role.EXCLUDES not in ask.roles else ask.roles


def _answers(ask: Ask, e: Evidence) -> bool:
    """Whether a piece that names no ask answers one; an intent without roles is answered by texts."""
    if ask.intent in (Intent.DIAGNOSIS, Intent.OVERVIEW, Intent.COMPARISON):
        return ask.intent is not Intent.DIAGNOSIS or is_diagnosis(e)
    roles = _roles(ask)
    return any(t.relation.role in roles for t in e.triples) if roles else e.kind == "text"


def _is_label(t: Triple, *kinds: str) -> bool:
    """Whether the text of a warning is of a kind that tells nothing of the medicine."""
    if says_unknown(t.object.name):
        return "nothing" in kinds
    found: re.Match[str] | None = _LABEL.search(t.object.name.strip())
    if found and found.lastgroup == "allergy":  # to another medicine tells much
        return "itself" in kinds and substance(t.subject.name) in t.object.name.casefold()
    return found is not None and found.lastgroup in kinds


# --- What is done to a run before anybody sees it: the call for help first, its numbers in the order of appearance.

_MARK = lazily(r"\[(\d+)\]")
_END = ".!?;。！？； "


def finished(run: Run, toolkit: "Toolkit | RemoteToolkit | None" = None) -> Run:
    """The run with the call for help where the question tells an emergency, marks in order, and its limits.

    Below what a model wrote stands which of the medicines in its text are not for who is asked about, by the graph of
    `toolkit` or by the vocabulary alone; not of sentences that only warn of them.
    """
    return _with_limits(_help_first(_not_for_patient(_in_order(run), toolkit)))


def _not_for_patient(run: Run, toolkit: "Toolkit | RemoteToolkit | None") -> Run:
    """The run, below a model's text the medicines that are not for the patient."""
    answer, frame = run.answer, run.query.frame
    gated = frame != Frame() and not run.failures  # else facts that are read because a model failed
    gated = answer.reader == "facts" and (gated or any(e.id == NOT_FOR for e in run.context.cited))
    if gated or answer.reader == "none" or run.question.options or not answer.text:
        return run
    from kgmed.facts.safety import NamedAgainst  # these are read in where a model tells of medicines
    from kgmed.models.replies import without_marks
    from kgmed.question.understand import read_outright
    from kgmed.toolkit import Toolkit

    against = NamedAgainst(toolkit.graph, toolkit.linked) if isinstance(toolkit, Toolkit) else NamedAgainst()
    if toolkit is not None and frame == Frame():  # of a method that does not read whom a question is about
        frame = read_outright(toolkit.understand, run.query, against.link)
    text = answer.text
    for verdict in (v for v in answer.verdicts if not v.offers):
        text = without_marks(text).replace(without_marks(verdict.sentence).strip().rstrip(_END), " ")
    held = {e for piece in run.context.cited for t in piece.triples for e in (t.head, t.tail)}
    below = against(frame, text, *sorted(held, key=lambda e: e.name))
    return replace(run, answer=replace(answer, text=f"{answer.text}\n{below}")) if below else run


def _with_limits(run: Run) -> Run:
    """The run, what an answer of a model is among its limits."""
    answer = run.answer
    if answer.reader in ("", "none", "facts"):  # the reader of facts says it itself
        return run
    said = catalogue(language_of(run.question))("label.limits")
    return replace(run, answer=replace(answer, limits="; ".join(filter(None, [answer.limits, said]))))


def _in_order(run: Run) -> Run:
    """The run, what its text cites moved to the front of its context and numbered as it stands in the text.

    Only of an answer that is made of the facts, whose context is a line for each piece of evidence.
    """
    answer, context = run.answer, run.context
    if answer.reader != "facts" or context.text != phrase.Numbered()(run.query, context.cited).text:
        return run
    shown = [n for n in dict.fromkeys(int(n) for n in _MARK.findall(answer.text)) if 0 < n <= len(context.cited)]
    order = list(dict.fromkeys([*shown, *answer.citations, *range(1, len(context.cited) + 1)]))
    place = {number: i for i, number in enumerate(order, start=1)}

    def renumbered(mark: re.Match[str]) -> str:
        return f"[{place.get(int(mark[1]), int(mark[1]))}]"

    cited = phrase.Numbered()(run.query, [context.cited[n - 1] for n in order])
    mine = tuple(replace(c, citations=tuple(sorted(place[n] for n in c.citations))) for c in answer.candidates)
    answer = replace(
        answer,
        text=_MARK.sub(renumbered, answer.text),
        citations=tuple(sorted(place[n] for n in answer.citations)),
        candidates=mine,
    )
    return replace(run, answer=answer, context=replace(cited, notes=context.notes))


def _help_first(run: Run) -> Run:
    """The run, its text beginning with the call for help where the question tells an emergency.

    What a graph lists takes the call back: of a wish to die, of what was swallowed, of no breath and of a weak side it
    is left out of the text, and of a bite or a blocked bowel, unless diseases were asked for, what is given for it and
    that nothing is known; it stays in the evidence.
    """
    answer, text = run.answer, run.question.text
    said = emergency(text)
    if said is None or run.question.options or answer.reader == "none":
        return run
    first = helped(text)
    asked = run.query.frame
    alone = said.kind in ALONE or (
        said.kind in NO_MEDICINES
        and (answer.abstained or Role.TREATS in asked.roles)
        and Intent.DIAGNOSIS not in asked.intents
    )
    if alone and answer.reader == "facts":
        return replace(run, answer=replace(answer, text=first, citations=(), abstained=False))
    return replace(run, answer=replace(answer, text=f"{first}\n{answer.text}"))
