"""The retriever that fits the question: what it asks for decides which evidence is looked for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.pair import WHICH_OF_TWO, WITH_A_DRINK, PairType, asks_what, claim_of, is_yes_no, pairs_asked
from kgmed.language.particulars import (
    drinks_of,
    is_measured,
    is_of_an_animal,
    of_relatives,
    people_of,
)
from kgmed.language.question import (
    asking_part,
    asks_at,
    asks_diagnosis,
    compares,
    defines,
    roles_asked,
    tells_only,
    texts_asked,
    types_asked,
)
from kgmed.language.relations import in_english
from kgmed.language.text import has_cjk, lazily
from kgmed.language.types import CULPRIT, TYPES, QuestionType
from kgmed.pipeline import Recognizer
from kgmed.records import Entity, Evidence, Link, Query, Role
from kgmed.steps import halves
from kgmed.steps.asked import PATIENT, AskedFor
from kgmed.steps.brief import ITSELF
from kgmed.steps.classes import Wanted, asked_of, asks_who_may, none_of_class, wanted
from kgmed.steps.diagnosis import TAKEN, Consult, first, several_findings
from kgmed.steps.family import MEDICINES, Family, is_genus, names_of
from kgmed.steps.food import Diet
from kgmed.steps.halves import lacks, stated
from kgmed.steps.labels import WarnedOf
from kgmed.steps.members import Members
from kgmed.steps.missing import Missing, asks_in_general
from kgmed.steps.naming import CONDITIONS, is_an_illness, with_its_findings
from kgmed.steps.pairs import VERDICT, Between, is_verdict
from kgmed.steps.phrase import language_of
from kgmed.steps.posterior import CARE, posterior
from kgmed.steps.relatives import OfRelatives
from kgmed.steps.retrieve import Overview
from kgmed.steps.shares import Share
from kgmed.steps.story import asks, asks_of, defines_one, describes_a_patient, told_by_diseases
from kgmed.steps.strangers import NO_THING, Strangers
from kgmed.steps.supposed import Supposed, asks_what_it_is, supposed
from kgmed.steps.things import (
    A_DISEASE,
    asks_of_a_named,
    blames,
    defined,
    is_called_ill,
    named_only,
    named_twice,
    names_people,
    not_set_aside,
)
from kgmed.steps.ties import Linked, OptionPaths
from kgmed.steps.vague import Vague


@dataclass(frozen=True)
class Fitting:
    """The retriever that fits the question.

    A question with options gets the ties to each. Of two things that a question names, what ties them comes first; of a
    name that the graph does not have, nothing is said. A question that asks for drugs, tests, causes, ... gets those;
    one that describes a patient the diseases that fit; one that asks for what no role stands for (a price, a year) that
    text or the word that there is none; any other what the graph says of the things that it names.
    """

    graph: LocalGraph
    link: Linked
    recognize: Recognizer | None = None  # as the pipeline's; None = names that were not linked are not looked at

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The evidence, verdicts first."""
        things = [link for link in _of_the_patient(links, query.text) if not NO_THING.match(link.entity.name)]
        things = things or Between(self.graph).classes(query.text, ())
        told = _of_people([self._whose(link, query.text) for link in things], query.text)
        links = asked_of(told, query.text)
        links = defined(query.text, links) or named_twice(query.text, not_set_aside(query.text, links))
        links = self._asked_of(query, links)
        if query.question.options and not is_of_an_animal(query.text):
            return OptionPaths(self.graph, self.link)(query, links)
        if said := Share(self.graph)(query, told) or self._at_once(query, links) or self._longer(query, told):
            return said
        ill = supposed(self.graph, query.text, links)
        if found := self._supposed(query, links, ill):
            return found
        of_it = bool(ill) and not {*roles_asked(query.text)}.isdisjoint(CARE)
        patient = not of_it and self._is_of_a_patient(query, links)
        row = next((r for r in texts_asked(query.text) if not r.of_medicines or _takes(links)), None)
        number = row is not None and row.name == "value" and len(stated(links)) == 1
        diagnoses = not (of_it or number) and (asks_diagnosis(query.text) or blames(query.text))
        if diagnoses and (found := self._explained(query, links, patient=patient)):
            return found
        pair, verdicts = self._verdicts(query, links)
        if said := self._decided(query, links, verdicts):
            return said
        texts = self._texts(query, links, row) if row and not verdicts else []
        if texts and is_verdict(texts[0], "lacking"):
            return self._beside(query, links, texts) or texts
        if names := self.unknown(query, told):
            return [lacks("unknown", query, names[0])]
        if verdicts:
            return [*verdicts, *self._instead(query, links, pair)]
        if texts and not (roles_asked(query.text) and asks_what(query.text)):
            return texts
        return list(dict.fromkeys([*texts, *self._of_types(query, links, pair, patient=patient)]))

    def _decided(self, query: Query, links: Sequence[Link], verdicts: list[Evidence]) -> list[Evidence]:
        """The verdicts and what is asked beside them; [] where all that they say is that the graph has no link."""
        if any(is_verdict(e, "lacking") for e in verdicts):
            return verdicts
        decided = any(not is_verdict(e, "none") for e in verdicts)
        return [*verdicts, *self._asked(query, links, patient=False)] if decided else []

    def _is_of_a_patient(self, query: Query, links: Sequence[Link]) -> bool:
        """Whether what is told of someone is to be explained."""
        told = describes_a_patient(query.text, links) and not defines_one(query.text, links)
        told = told and not (self._names_an_illness(query, links) or asks_of_a_named(query.text, links))
        return (told or self._asks_of_several(query, links)) and not self._blamed(query, links)

    def _supposed(self, query: Query, links: Sequence[Link], ill: Sequence[Link]) -> list[Evidence]:
        """Whether an illness that is supposed fits what is told, and the others that do; [] where more is asked."""
        more = {*roles_asked(query.text)} - {Role.CAUSE, Role.FINDING}
        if (more and not asks_what_it_is(query.text)) or compares(query.text) or blames(query.text):
            return []
        found = Supposed(self.graph)(query, links, ill) if ill else []
        about = {e for one in ill for e in Family(self.graph).twins(one)} | {e for f in found for e in f.about}
        others = self._cards(query, [x for x in links if x not in ill]) if found else []
        others = [e for e in others if not is_verdict(e) and e.about[0] not in about]
        return [*(e if e.triples or others else replace(e, id="none") for e in found), *others]

    def _asked_of(self, query: Query, links: Sequence[Link]) -> Sequence[Link]:
        """The links; of an illness that is told with its findings, and of which something is asked, that alone."""
        ill = supposed(self.graph, query.text, links) if {*roles_asked(query.text)} & {*CARE} else []
        if ill and not asks_what_it_is(query.text):
            return [x for x in links if x in ill or x.entity.kind not in CONDITIONS]
        roles = {*roles_asked(_without_names(query.text, links))} - {Role.CAUSE, Role.FINDING}  # why it makes one thin
        asks = roles and not (asks_diagnosis(query.text) or compares(query.text) or is_yes_no(query.text))
        return with_its_findings(self.graph, links) if asks else links

    def _longer(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """That a name of which a part was linked is in no graph."""
        names = self._unlinked.longer(query.text, links) if self.recognize else []
        return [lacks("unknown", query, name) for name in names[:1]]

    def unknown(self, query: Query, links: Sequence[Link]) -> list[str]:
        """The names that are asked about and that no graph has."""
        silent = not asks(query.text) and not asks_of(query.text) and any(e.kind not in TAKEN for e in stated(links))
        return self._unlinked.asked(query, links, patient=describes_a_patient(query.text, links), silent=silent)

    @property
    def _unlinked(self) -> Strangers:
        """The names that were not linked."""
        return Strangers(self.graph, self.recognize)

    def _beside(self, query: Query, links: Sequence[Link], texts: Sequence[Evidence]) -> list[Evidence]:
        """What is asked beside a text that the graph lacks: how leprosy spreads, and what causes it.

        How serious something is is told by the diseases that fit, or of an illness that is named by what comes of it.
        """
        row = texts_asked(query.text)[0]
        spreads = row.name == "contagion" and not any(is_called_ill(x) for x in links) and len(stated(links)) > 1
        if spreads or (row.name in ("prognosis", "value") and _HOW_BAD.search(query.text)):
            said = (_NOT_HOW_IT_SPREADS if spreads else _NOT_HOW_BAD)[language_of(query.text)]
            return self._after_a_head(said, query, [x for x in links if not is_measured(x.entity.name)])
        return self._asked(query, links, patient=False) if row.name in _BESIDE and roles_asked(query.text) else []

    def _after_a_head(self, said: str, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """That the graph does not say what is asked, and which diseases it may be or what comes of it."""
        alone = len(stated(links)) == 1 and not several_findings(self.graph, links)
        named = [x for x in links if not x.mention.negated and (alone or is_called_ill(x))]
        if named:
            found = AskedFor(self.graph, pieces=1).of(named[0], Role.COMPLICATION)
        else:
            found = self._cards(query, links) if links else []
        if not found or is_verdict(found[0]):
            return found
        return [Evidence(said, VERDICT, (), tuple(stated(links)[:1]), 1.0, "heads"), *found]

    def _explained(self, query: Query, links: Sequence[Link], *, patient: bool) -> list[Evidence]:
        """What explains what is told: that a medicine taken can cause it, else the diseases that fit a patient."""
        if taken := Between(self.graph).why(query, links):
            return taken
        cards = self._cards(query, links) if patient else []
        asked = self._asked(query, links, patient=True) if cards and not is_verdict(cards[0]) else []
        return [*cards, *asked]

    def _blamed(self, query: Query, links: Sequence[Link]) -> bool:
        """Whether it is asked of a medicine that is named if what is told comes of it, and not which illness it is."""
        return _takes(links) and blames(query.text) and not asks_diagnosis(query.text)

    def _at_once(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """What is all that is said: nothing of animals, a code, that two names are of one thing, what to eat."""
        said = halves.at_once(self.graph, query, links) or Diet(self.graph).verdict(query, links)
        return said or Members(self.graph)(query, links) or self._comes_of(query, links)

    def _comes_of(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """That what is told after a medicine can come of it, where nothing is asked; not what it is taken for."""
        taken = next((x.mention.end for x in links if x.entity.kind in MEDICINES and not x.mention.negated), 0)
        after = [x for x in links if x.mention.start > taken]
        given = any(_FOR.search(query.text[taken : x.mention.start]) for x in after)
        if not (taken and after) or given or not tells_only(query.text):
            return []
        return Between(self.graph).why(query, links)

    def _verdicts(self, query: Query, links: Sequence[Link]) -> tuple[PairType | None, list[Evidence]]:
        """Which question of two things is asked, and what is said first to it or to another of yes or no."""
        between = Between(self.graph)
        pair = between.fitting(query, links, pairs_asked(_without_names(query.text, links)))
        tied = _claimed(query.text, links)
        verdicts = (
            OfRelatives(self.graph)(query, links)
            or self._modes(query, links)
            or halves.vaccines(self.graph, query, links)
        )
        if len(stated(links)) > _PAIR and WHICH_OF_TWO.pattern.search(asking_part(query.text)):
            verdicts = [e for e in between(query, links, WHICH_OF_TWO) if is_verdict(e, "yes")]
        verdicts = verdicts or (between(query, tied, pair) if pair else [])
        if pair is WITH_A_DRINK and verdicts:  # "may one drink beer and eat seafood": both are told
            ill = next((x for x in links if x.entity.kind == "disease" and not x.mention.negated), None)
            verdicts = [*verdicts, *(Diet(self.graph).foods(query.text, ill) if ill else [])]
        verdicts = [e for e in verdicts if not _is_how_it_goes(query.text) or _says_how(e, pair)]
        return pair, verdicts or halves.half_known(self.graph, query, links, pair)

    def _of_types(self, query: Query, links: Sequence[Link], pair: PairType | None, *, patient: bool) -> list[Evidence]:
        """What answers the types of question asked; else the diseases that fit, or what is said of what it names."""
        if first := self._by_its_form(query, links, pair):
            return first
        patient = patient and CULPRIT not in types_asked(query.text)
        half = is_yes_no(query.text) and len(stated(links)) < 2  # the other thing is not known: no list says yes or no
        pair = None if half and pair and not (pair.safety and not _DOES.search(query.text)) else pair
        found = self._asked(query, links, patient=patient) or self._instead(query, links, pair)
        if patient and (untold := self._untold(query, links, found)):
            return untold
        if (
            patient
            and told_by_diseases(query.text)
            and (not found or (self._is_a_case(query, links) and not _names_the_disease(self.graph, links, found)))
        ):
            first = self._against_each(query, links, found)
            found = [*first, *self._cards(query, links), *(e for e in found if e not in first)]
        if seen := [] if patient else self._seen_in(query, links, found):
            return [*seen, *found]
        habit = Role.COMPLICATION in roles_asked(query.text) and all(e.kind == "cause" for e in stated(links))
        told = patient and told_by_diseases(query.text)
        if not found and roles_asked(query.text) and not told and not habit:
            return self._nothing(query, links)
        if not found and is_yes_no(query.text) and not defines(query.text) and len(stated(links)) == 1:
            return self._unsaid(query, links)  # a list that says neither yes nor no is no answer
        if not found and CULPRIT in types_asked(query.text):
            return [Missing(self.graph)(query, links, CULPRIT)] if stated(links) else []
        return [*halves.mode_asked(query.text, found), *found] or self._unsaid(query, links)

    def _by_its_form(self, query: Query, links: Sequence[Link], pair: PairType | None) -> list[Evidence]:
        """What answers a question of another form than those for one thing: two compared, which medicines warn, ..."""
        if compares(query.text) and (two := _two(stated(links))):
            return self._compared(query, [link for link in links if link.entity in two])
        if self._is_sign(query, links) and Role.DIFFERENTIAL in roles_asked(query.text):
            return self._often(query, links)
        if Role.CONTRAINDICATED in roles_asked(query.text) and (warned := WarnedOf(self.graph).of(query, links)):
            return warned
        taken = any(p.safety for p in pairs_asked(query.text))
        if taken and not pair and is_yes_no(query.text) and people_of(query.text):
            return self._nothing(query, links)  # what is to be taken is no medicine that is known
        return [Missing(self.graph)(query, links, None)] if stated(links) and asks_who_may(query.text, links) else []

    def _is_sign(self, query: Query, links: Sequence[Link]) -> bool:
        """Whether all that is named is a sign that diseases show, and no illness."""
        things = stated(links)
        one = next((x for x in links if x.entity in things), None)
        return len(things) == 1 and one is not None and not is_an_illness(self.graph, one)

    def _unsaid(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """What is said of the things named, if that is asked; else that the graph does not say what is."""
        things = stated(links)
        if not things or asks_in_general(query.text, links):
            return self._overview(query, links)
        silent = not asks(query.text) and not asks_of(query.text)
        if all(e.kind == "gene" for e in things):
            return self._overview(query, links)
        if all(e.kind == "body part" for e in things) or (silent and all(e.kind in TAKEN for e in things)):
            return [Missing(self.graph)(query, links, None)]
        if silent:  # told and not asked
            named = self._names_an_illness(query, links)
            return ([] if named else self._often(query, links)) or self._overview(query, links)
        return self._kinds(query, links) or [Missing(self.graph)(query, links, None)]

    def _kinds(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The kinds of what is named, where these are asked for."""
        found = self._overview(query, links) if _KINDS.search(query.text) else []
        return [e for e in found if e.triples and all(t.relation.role is Role.IS_A for t in e.triples) and not _own(e)]

    def _untold(self, query: Query, links: Sequence[Link], found: Sequence[Evidence]) -> list[Evidence]:
        """That nothing is said of the illness of which treatments or tests are asked: no other is told in its place."""
        row = next((row for row in types_asked(query.text) if row.role in CARE), None)
        if not row or asks_diagnosis(query.text) or not {*roles_asked(query.text)} <= {*CARE}:
            return []
        shown, about = ByRole(self.graph, Role.FINDING), {entity for e in found for entity in e.about}
        ill = [
            link
            for link in links  # what no disease shows is no finding of another
            if link.entity.kind == "disease" and asks_at(query.text, link.mention.start) and not link.mention.negated
            if not len(shown.subjects([self.graph.number(link.entity.id)]).node)
        ]
        told = len(ill) == 1 and about.isdisjoint(Family(self.graph).twins(ill[0]))
        return [Missing(self.graph)(query, ill, row)] if told else []

    def _against_each(self, query: Query, links: Sequence[Link], found: Sequence[Evidence]) -> list[Evidence]:
        """What is taken against each finding, where nothing else is asked: that much can be done at once."""
        if roles_asked(query.text) != (Role.TREATS,) or asks_diagnosis(query.text):
            return []
        pieces = {t.object: e for e in reversed(found) for t in e.triples[:1] if t.relation.role is Role.TREATS}
        return [pieces[entity] for entity in stated(links) if entity in pieces]

    def _modes(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Whether a thing has the mode of inheritance asked for; [] where none is asked for."""
        if Role.INHERITANCE not in roles_asked(_without_names(query.text, links)):
            return []
        pieces = AskedFor(self.graph, through=False)(query, links)
        twins = [e for link in links if not link.mention.negated for e in Family(self.graph).twins(link)]
        about = (t for e in twins for t in self.graph.neighbours(e.id, limit=_MANY, roles=(Role.CAUSE, Role.RISK)))
        return halves.mode_asked(query.text, pieces, [t for t in about if t.subject in twins])

    def _of_type(self, link: Link, text: str) -> Link | None:
        """The link to the type of an illness that is written otherwise than in the graph: 二型糖尿病."""
        found = _TYPE.search(text[max(0, link.mention.start - _TYPE_LONGEST) : max(0, link.mention.start)])
        digit = _DIGITS.get(found[1].upper(), found[1]) if found else ""
        names = [f"{written}型{link.entity.name}" for written in dict.fromkeys((*_ROMAN.get(digit, ()), digit))]
        match = next((m for name in names if digit for m in self.graph.lookup(name)[:1]), None)
        if match is None:
            return None
        return replace(link, entity=match.entity, mention=replace(link.mention, name=match.entity.name))

    def _whose(self, link: Link, text: str) -> Link:
        """The link, to what people have where it is to the people who have it: 高血压 for 高血压患者."""
        if link.entity.kind in MEDICINES:  # what another graph has as an illness is none: 囊性纤维化
            ill = (e for e in Family(self.graph).twins(link) if e.kind == "disease" and e.name == link.entity.name)
            link = next((replace(link, entity=e) for e in ill), link)
        bare = _WHO_HAVE.sub("", link.entity.name)
        if link.entity.kind == "disease" and (typed := self._of_type(link, text)):
            return typed
        if link.entity.kind in _NOTED and A_DISEASE.search(link.entity.name) and has_cjk(link.entity.name):
            return replace(link, entity=self._as_a_disease(link.entity))
        if bare == link.entity.name:
            return link
        return next((replace(link, entity=m.entity) for m in self.graph.lookup(bare)[:1]), link)

    def _as_a_disease(self, noted: Entity) -> Entity:
        """The disease of that name where a graph has it but as a risk or a cause: 肠癌 is 大肠癌, by English."""
        ill = [m.entity for m in self.graph.lookup(in_english(noted.name)) if m.entity.kind == "disease"]
        names = (name for e in ill for name, _ in names_of(self.graph, self.graph.number(e.id)))
        ill += [m.entity for name in names for m in self.graph.lookup(name) if m.entity.kind == "disease"]
        shows = ByRole(self.graph, Role.FINDING)
        return max(ill, key=lambda e: len(shows.objects([self.graph.number(e.id)]).node), default=noted)

    def _seen_in(self, query: Query, links: Sequence[Link], found: Sequence[Evidence]) -> list[Evidence]:
        """The diseases that show a symptom of which the cause is asked, where the graph names few causes of its own.

        What a sign alone may mean (流鼻血是怎么回事, 白细胞高说明什么) is asked of its cause too.
        """
        things = stated(links)
        if asks_diagnosis(query.text) and self._names_an_illness(query, links):
            return []
        means = asks_diagnosis(query.text) and not defines(query.text)
        means = means and {*roles_asked(query.text)} <= {Role.FINDING, Role.CAUSE}  # "how is it diagnosed" is of tests
        if not (means or Role.CAUSE in roles_asked(query.text)) or len(things) != 1 or _GETS.search(query.text):
            return []
        symptom = Family(self.graph).is_symptom(things[0]) or things[0].kind in ("symptom", "phenotype")
        several = several_findings(self.graph, links)
        own: set[object] = {
            t.object for e in found for t in e.triples if t.relation.role is Role.CAUSE and t.subject in e.about
        }
        if means:
            own = set(ByRole(self.graph, Role.CAUSE).objects([self.graph.number(things[0].id)]).node.tolist())
        few = len(own) < _FEW_CAUSES or _WHICH_DISEASE.search(query.text)
        if not several and is_measured(things[0].name) and (means or few):
            return self._measured(query, links)
        if several:
            return self._cards(query, links)
        return self._often(query, links) if symptom and few else []

    def _measured(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """What a value out of the ordinary is, and the diseases that show it, those that are seen often first."""
        whole = [e for e in self._overview(query, links) if e.triples and _own(e)]
        itself = [replace(e, id=ITSELF) for e in whole if e.triples[0].relation.role in _OF_ITSELF]
        return [*itself, *self._often(query, links)[:_MEASURED]]

    def _often(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The diseases that show the one finding that is told, those that are seen often first.

        One finding alone says little of which disease it is, so that how common each is counts twice.
        """
        model, cards = posterior(self.graph), self._cards(query, links)
        shown = [e for e in cards if e.kind == "candidate" and e.score > 0 and not is_genus(e.about[0].name)]
        return sorted(shown, key=lambda e: -(np.log(e.score) + model.prior[self.graph.number(e.about[0].id)]))

    def _is_a_case(self, query: Query, links: Sequence[Link]) -> bool:
        """Whether several findings are told of, and what their disease is treated or tested with, if anything."""
        return (
            not asks_of_a_named(query.text, links)
            and several_findings(self.graph, links)
            and all(role in (*CARE, Role.CAUSE) for role in roles_asked(query.text))
        )

    def _names_an_illness(self, query: Query, links: Sequence[Link]) -> bool:
        """Whether all that is told of someone is an illness that has a name: no other that shows it is looked for."""
        things = stated(links)
        if len(things) != 1 or things[0].kind != "disease":
            return False
        node, ties = [self.graph.number(things[0].id)], ByRole(self.graph, Role.FINDING)
        own, seen = len(ties.objects(node).node), len(ties.subjects(node).node)
        told = any(link.mention.name.casefold() != link.mention.surface.casefold() for link in links)  # and not named
        treated = (
            len(ByRole(self.graph, Role.TREATS).subjects(node).node) > seen if told and own >= _DESCRIBED else False
        )
        return treated or (own > seen and not asks_diagnosis(query.text))

    def _asks_of_several(self, query: Query, links: Sequence[Link]) -> bool:
        """Whether the disease is asked for of one name that is made of several findings: 尿频尿急尿痛是什么病."""
        return asks_diagnosis(query.text) and len(stated(links)) == 1 and several_findings(self.graph, links)

    def _asked(self, query: Query, links: Sequence[Link], *, patient: bool) -> list[Evidence]:
        """What answers the roles asked for; the cards of a patient's diseases tell of their tests and treatments."""
        asked = roles_asked(query.text)
        through = not patient or any(role in PATIENT and role not in CARE for role in asked)
        links = named_only(query.text, links)
        asks = asked or CULPRIT in types_asked(query.text)
        found = self._wanted(query, links, AskedFor(self.graph, through=through)) if asks else []
        eats = not found and not {Role.FOOD, Role.AVOID}.isdisjoint(asked)
        eats = eats and (Role.FOOD in asked or Role.CONTRAINDICATED not in asked)
        if eats:
            return Diet(self.graph).of([link for link in links if not link.mention.negated])
        return _as_asked(found, stated(links))

    def _wanted(self, query: Query, links: Sequence[Link], asked: AskedFor) -> list[Evidence]:
        """What answers; of treatments those of the class or form asked for, else all and that none is known as one."""
        which = wanted(query.text, links) if Role.TREATS in roles_asked(query.text) else Wanted()
        found = replace(asked, wanted=which)(query, links)
        if not which.narrows or any(t.relation.role is Role.TREATS for e in found for t in e.triples):
            return found
        rest = replace(asked, wanted=replace(which, only="", sections=""))(query, links)
        return [none_of_class(query, rest[0].about), *rest] if rest else found

    def _cards(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The diseases that fit, with what is done about them; that too little is known of what is told to say so."""
        cards = Consult(self.graph, care=first(roles_asked(query.text)))(query, links)
        missed = self._unlinked.missed(query, links)
        vague = Vague(self.graph)(query, links, cards, missed) if cards else None
        return [vague] if vague else cards

    def _nothing(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """That the graph has nothing of what is asked for, and what it says of the things named."""
        asked = types_asked(_without_names(query.text, links, every=True)) or types_asked(query.text)
        rows = (row for row in asked if row.role and not row.of_what)
        row = next(rows, next(row for row in TYPES if row.role is Role.CONTRAINDICATED))
        things = stated(links)
        return [Missing(self.graph)(query, links, row), *self._overview(query, links)] if things else []

    def _instead(self, query: Query, links: Sequence[Link], pair: PairType | None) -> list[Evidence]:
        """Of what a pair was asked and has no tie, what the thing named first has in the first role that it has."""
        asked, roles = AskedFor(self.graph, pieces=1), pair.roles if pair else ()
        named = [link for link in links if not link.mention.negated]
        drinks = drinks_of(query.text) if pair and (pair.safety or pair.name == "interaction") else ()
        named = [link for link in named if not names_people(link, drinks)] or named
        if pair and pair.safety and len(named) > 1 and all(map(Between(self.graph).is_medicine, named)):
            roles = ((Role.INTERACTS, "*"), *roles)
        elif pair and pair.safety and people_of(query.text):  # of people no other medicine tells
            roles = tuple(r for r in roles if r[0] is not Role.INTERACTS)
        leading = roles[:1] if roles and roles[0][0] is Role.INTERACTS else ()
        tried = [(link, r) for r in leading for link in named] + [(link, r) for link in named for r in roles]
        for link, (role, way) in tried:
            own = way != "-"
            pieces = [e for e in asked.of(link, role) if len(named) == 1 or (e.triples[0].subject in e.about) is own]
            if pieces:
                return _as_asked(pieces, [link.entity])
        return []

    def _overview(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """What the graph says of each thing under the name of which it says most."""
        family = Family(self.graph)
        fullest = [replace(link, entity=family.fullest(link)) for link in links]
        pieces = Overview(self.graph)(query, fullest)
        diseases = [link for link in fullest if link.entity.kind == "disease"]
        for role in _ORDERED:  # what tells it from others and what is usual come first
            told = (e for link in diseases for e in AskedFor(self.graph, listed=24, pieces=1).of(link, role))
            told = (e for e in told if _is_of(e, role))
            best = {e.about: e for e in reversed(list(told))}
            pieces = list(dict.fromkeys(best.get(p.about, p) if _is_of(p, role) else p for p in pieces))
        return pieces

    def _texts(self, query: Query, links: Sequence[Link], row: QuestionType) -> list[Evidence]:
        """The texts that answer a question no role stands for; the word that there is none."""
        found = [
            Evidence(f"{t.head.name} — {t.relation} → {t.tail.name}", "text", (t,), (t.head,), 1.0)
            for link in links
            for entity in dict.fromkeys([link.entity, *Family(self.graph).twins(link)])
            for t in self.graph.attributes(entity.id)
            if row.named.search(t.relation.name)
        ]
        things = stated(links)
        if not found and row.name == "contagion" and Role.CAUSE in roles_asked(query.text):
            found = self._asked(query, links, patient=False)  # "how do you catch it": what causes it is how
        found = halves.by_the_way_named(found, query) if row.name == "contagion" else found
        if row.name == "service":
            return [replace(lacks("service", query, ""), id="lacking")]
        return found or ([Missing(self.graph)(query, links, row)] if things else [lacks("lacking", query, "", row)])

    def _compared(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Of each of two things what the other does not have, in the roles asked for or those that tell diseases."""
        roles = tuple(role for role in roles_asked(query.text) if role is not Role.DIFFERENTIAL) or _TELLING
        asked = AskedFor(self.graph, listed=24, pieces=1, forms=1)
        things = list({link.entity: link for link in links if not link.mention.negated}.values())
        told = [] if len(roles) < len(_TELLING) else [e for link in things for e in self._definition(query, link)]
        own = {link.entity: Family(self.graph).twins(link) for link in things}  # what is said of both is no difference
        return told + [
            piece
            for role in roles
            for link in things
            for piece in asked.of(link, role)
            if link.entity.kind in MEDICINES or piece.about[0] in own[link.entity] or len(roles) < len(_TELLING)
        ]

    def _definition(self, query: Query, link: Link) -> list[Evidence]:
        """What a thing is, in the language of the question; [] where the graph does not say."""
        told = (e for twin in Family(self.graph).twins(link) for e in Overview(self.graph).definition(twin))
        read = (e for e in told if has_cjk(e.triples[0].tail.name) == bool(language_of(query.text)))
        return list(islice(read, 1))


def _without_names(text: str, links: Sequence[Link], *, every: bool = False) -> str:
    """A text with the names of diseases, or `every` name, blotted out: no mode is asked by "Hereditary angioedema"."""
    for m in (link.mention for link in links if every or link.entity.kind == "disease"):
        if 0 <= m.start < m.end and text[m.start : m.end] == m.surface:
            blot = ("某" if has_cjk(m.surface) else "x") * (m.end - m.start)
            text = f"{text[: m.start]}{blot}{text[m.end :]}"
    return text


_NOTED = ("risk factor", "cause")  # kinds of what a graph has but as told of others
_MANY = 1 << 20  # all of them
_OF_ITSELF = (Role.IS_A, Role.CAUSE, Role.FINDING, Role.COMPLICATION)
_MEASURED = 8  # diseases that are told of a value of the laboratory


def _own(e: Evidence) -> bool:
    """Whether what a piece is about is the subject of its triples."""
    return all(t.subject in e.about for t in e.triples)


def _takes(links: Sequence[Link]) -> bool:
    """Whether a medicine is named."""
    return any(link.entity.kind in MEDICINES for link in links if not link.mention.negated)


def _claimed(text: str, links: Sequence[Link]) -> Sequence[Link]:
    """The links of what a question takes for granted, where it does so of two things; else all."""
    claim = claim_of(text).removesuffix("吗")
    at = text.find(claim) if claim else -1
    mine = [link for link in links if at <= link.mention.start < at + len(claim)] if at >= 0 else []
    return mine if claim and at >= 0 else links


_DOES = lazily(
    r"\bcan (?:i|he|she|we|you) (?!take|have|use|give|get|eat|drink|mix|be)\w+|\bdriv(?:e|ing)\b"
    r"|能(?:开车|运动|锻炼|洗澡|游泳|上班|献血)"
)
_KINDS = lazily(r"\b(?:kinds?|types?|forms?|sorts?) of\b|[几哪][几些]?[种类型]|分类|分型|有哪些\W*$", re.IGNORECASE)
_TYPE = lazily(r"([1-4一二三四ⅠⅡⅢⅣ]|I{1,3}|IV)型(?:的)?$", re.IGNORECASE)
_TYPE_LONGEST = 5  # characters of 三型的
_ROMAN = {"1": ("I", "Ⅰ"), "2": ("II", "Ⅱ"), "3": ("III", "Ⅲ"), "4": ("IV", "Ⅳ")}
_DIGITS = {
    written: digit
    for digit, (chinese, roman, sign) in {
        "1": ("一", "I", "Ⅰ"), "2": ("二", "II", "Ⅱ"), "3": ("三", "III", "Ⅲ"), "4": ("四", "IV", "Ⅳ"),
    }.items()
    for written in (chinese, roman, sign)
}  # fmt: skip
_WHO_HAVE = lazily(r"(?<=[一-鿿])(?:患者|病人|的人)$")
_WHICH_DISEASE = lazily(
    r"(?:which|what) (?:\w+ )?(?:diseases?|conditions?|disorders?|illness(?:es)?)\b"
    r"|(?:什么|哪些|啥)(?:样的)?(?:病(?![因史情程变菌毒原])|疾病)",
    re.IGNORECASE,
)


def _of_the_patient(links: Sequence[Link], text: str) -> list[Link]:
    """The links without those to what the patient's relatives have, where something else is told."""
    theirs = of_relatives(text)
    mine = [link for link in links if not theirs.hold(link.mention.start, link.mention.end)]
    return mine or list(links)


def _of_people(links: list[Link], text: str) -> list[Link]:
    """The links without those to the people for whom a treatment is asked: 孕妇 in 孕妇感冒了吃什么药."""
    groups = people_of(text) if Role.TREATS in roles_asked(text) else ()
    rest = [link for link in links if not names_people(link, groups)] if groups else []
    return rest or links


_GETS = lazily(
    r"[会易么啥何][得患](?!到)|诱发|加重|机[制理]|\bworse|\btrigger|\bpathogenesis|\bmechanism"
)  # what one gets is a disease, and no sign of others
_PAIR = 2
_FOR = lazily(r"\b(?:for|against|because of|to treat)\b(?! (?:\w+ )?(?:days?|weeks?|months?|years?)\b)", re.IGNORECASE)
_NOT_HOW_BAD = (
    "How serious it is the graph does not say; a doctor can. What it has:",
    "是否严重，图谱没有说明，请由医生判断；图谱所载如下：",
)
_NOT_HOW_IT_SPREADS = (
    "Whether it spreads depends on which illness it is; a doctor can say. What fits:",
    "是否传染，取决于是哪种病，请由医生判断；图谱所载如下：",
)
_HOW_BAD = lazily(r"严重|要紧|危险|\b(?:serious|dangerous|bad)\b", re.IGNORECASE)


def _says_how(verdict: Evidence, pair: PairType | None) -> bool:
    """Whether a verdict is of how an illness is passed on, or of no tie of two things."""
    tied = pair is not None and (verdict.id == "none" or pair.name in ("causes", "has"))
    return not tied or any(re.search("传播|传染", t.relation.name) for t in verdict.triples)


def _is_how_it_goes(text: str) -> bool:
    """Whether it is asked how an illness is passed on or how it goes: no tie of two things says that."""
    return any(row.name in ("contagion", "prognosis", "survival", "service") for row in texts_asked(text))


_BESIDE = ("contagion", "duration", "prognosis")  # texts that are asked for in a breath with what has a role
_DESCRIBED = 40  # ours: findings of an illness; a symptom has fewer of its own: a tight chest uphill is angina
_FEW_CAUSES = 3  # ours: where a symptom has fewer, the diseases that show it are told too
_TELLING = (Role.FINDING, Role.CAUSE, Role.RISK, Role.TREATS, Role.INHERITANCE, Role.GENE)


def _as_asked(pieces: Sequence[Evidence], things: Sequence[Entity]) -> list[Evidence]:
    """The pieces; those on a product of the one medicine that is asked about are about that too."""
    taken = [thing for thing in things if thing.kind in MEDICINES]
    if len(taken) != 1:
        return list(pieces)
    own = taken[0]
    alone = (len(e.about) == 1 and e.about[0].kind in MEDICINES and e.about[0].id != own.id for e in pieces)
    return [replace(e, about=(*e.about, own)) if a else e for e, a in zip(pieces, alone, strict=True)]


_ORDERED = (Role.FINDING, Role.TREATS)


def _is_of(e: Evidence, role: Role) -> bool:
    """Whether a piece lists what a disease has in a role."""
    own = role is Role.FINDING
    return bool(e.triples) and all(t.relation.role is role and (t.subject in e.about) is own for t in e.triples)


def _two(things: Sequence[Entity]) -> list[Entity]:
    """The two things that are compared: all there are, or of three and more the two that are of one kind; else []."""
    if len(things) == 2:
        return list(things)
    kinds = ["drug" if t.kind == "ingredient" else t.kind for t in things]
    alike = [[t for t, k in zip(things, kinds, strict=True) if k == kind] for kind in dict.fromkeys(kinds)]
    return next((group for group in alike if len(group) == 2), [])


def _names_the_disease(graph: LocalGraph, links: Sequence[Link], found: Sequence[Evidence]) -> bool:
    """Whether a patient's findings are told with the one disease that has them: what is asked is asked of that."""
    family = Family(graph)
    named = [e for e in stated(links) if A_DISEASE.search(e.name) or (e.kind == "disease" and not family.is_symptom(e))]
    if len(named) > 1:  # 瘙痒症 beside 湿疹 is what it shows
        named = [entity for entity in named if not family.is_symptom(entity)]
    return len(named) == 1 and any(named[0] in e.about for e in found)
