"""What a question asks, as a record: written once by the stage `understand`, read by everything after it."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from kgmed.disk import packaged_toml
from kgmed.triples import Link, Role


class Intent(StrEnum):
    """What a question wants to know, a closed list.

    >>> Intent("treatment").out_of_scope, Intent.PRICE.out_of_scope
    (False, True)
    """

    TREATMENT = "treatment"  # what helps against an illness or a finding; negative: what must not be taken with it
    USES = "uses"  # what a medicine, a test or an operation is for
    SYMPTOMS = "symptoms"  # the findings of a named illness
    CAUSES = "causes"
    RISK_FACTORS = "risk_factors"
    COMPLICATIONS = "complications"
    PREVENTION = "prevention"
    TESTS = "tests"  # which tests show an illness
    DIAGNOSIS = "diagnosis"  # which illness explains the findings
    GENES = "genes"
    INHERITANCE = "inheritance"
    DEPARTMENT = "department"  # which doctor to see
    DIET = "diet"  # what to eat; negative: what not to eat
    SIDE_EFFECTS = "side_effects"
    DRUG_CAUSES = "drug_causes"  # which medicines can cause a finding
    CONTRAINDICATIONS = "contraindications"  # who must not take a medicine
    INTERACTIONS = "interactions"  # of one medicine, or of two things taken
    SAFETY = "safety"  # whether a person may take or do something
    DOSAGE = "dosage"
    DOSE_CHANGE = "dose_change"  # missed doses, stopping, switching
    OVERDOSE = "overdose"  # too much taken, something swallowed by mistake
    DRUG_CLASS = "drug_class"
    OVERVIEW = "overview"  # what a thing is
    COMPARISON = "comparison"
    HELPS = "helps"  # whether one thing treats another
    RELATION = "relation"  # whether two things are tied in another way
    TEST_PREPARATION = "test_preparation"
    TEST_MEANING = "test_meaning"  # what a value means
    PROGNOSIS = "prognosis"
    DURATION = "duration"
    FREQUENCY = "frequency"
    CONTAGION = "contagion"
    ONSET = "onset"
    LOCATION = "location"
    TYPES = "types"
    MECHANISM = "mechanism"
    INGREDIENTS = "ingredients"
    STORAGE = "storage"
    SELF_CARE = "self_care"
    NAMES = "names"  # other names, codes
    PRICE = "price"
    PROVIDER = "provider"  # which hospital, where to buy
    OTHER = "other"

    @property
    def out_of_scope(self) -> bool:
        """Whether no medical graph answers it."""
        return self in (Intent.PRICE, Intent.PROVIDER, Intent.OTHER)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles whose edges answer it, the best first; () = none does, or any may."""
        return _roles()[self]


@lru_cache(maxsize=1)
def _roles() -> dict[str, tuple[Role, ...]]:
    """The roles of each intent, by the table of the plan."""
    return {
        name: tuple(map(Role, row.get("roles", "").split())) for name, row in packaged_toml("kgmed.facts.plan").items()
    }


class Form(StrEnum):
    """The form of the answer that a question wants."""

    LIST = "list"  # a list or an explanation
    YES_NO = "yes/no"
    CHOICE = "choice"  # which of the things named
    AMOUNT = "amount"


@dataclass(frozen=True, slots=True)
class Named:
    """A thing that a question names, with the words that it rests on.

    Attributes:
        names: What it is called, as written first.
        kind: disease, finding, drug, test, gene, food, person, ...; "" where that is not known.
        spans: Where in the question, as (start, end); () = not from the question.
        links: The entities that it stands for, best first.
        negated: Whether it is denied, past or another person's.
    """

    names: tuple[str, ...]
    kind: str = ""
    spans: tuple[tuple[int, int], ...] = ()
    links: tuple[Link, ...] = ()
    negated: bool = False


OTHER_THAN = "other than"  # the kind of a constraint: the class, the form or the medicine that is not wanted


@dataclass(frozen=True, slots=True)
class Constraint:
    """What narrows an ask: a population, a class of medicine, a route, a form, a severity, a line of treatment.

    Attributes:
        kind: population, class, route, form, severity, line, ...
        value: As the vocabulary calls it.
        span: The words that it rests on.
    """

    kind: str
    value: str
    span: tuple[int, int] = (-1, -1)


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing that a question wants to know.

    Attributes:
        intent: What kind of thing.
        subject: What it is asked of.
        object: The other side of a relation, safety, interaction or comparison question.
        negative: Whether what must *not* be taken, eaten or done is asked for, or what is *not* so.
        form: The form of the answer.
        constraints: What narrows it.
        probability: How sure the understander is of the intent, 0 to 1.

    >>> Ask(Intent.TREATMENT, (Named(("gout",), "disease"),)).negative
    False
    """

    intent: Intent
    subject: tuple[Named, ...] = ()
    object: tuple[Named, ...] = ()
    negative: bool = False
    form: Form = Form.LIST
    constraints: tuple[Constraint, ...] = ()
    probability: float = 1.0

    @property
    def things(self) -> tuple[Named, ...]:
        """Subject and object, in that order."""
        return self.subject + self.object

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles whose edges answer it; of a refusing one what is to be avoided, or what is not so."""
        if not self.negative:
            return self.intent.roles
        told = Role.FINDING in self.intent.roles
        return (Role.EXCLUDES,) if told else (Role.AVOID, Role.CONTRAINDICATED, Role.PRECAUTION)


@dataclass(frozen=True, slots=True)
class Patient:
    """Who is asked about.

    Attributes:
        age: In years; None = not said.
        sex: "female", "male" or "".
        groups: Populations that labels speak of: pregnancy, breastfeeding, children, older people.
        takes: Medicines that are taken.
        has: Illnesses that are said to be there.
        allergic_to: What an allergy to is told.
        traits: What else is told of the patient and of when it began: child, adult, old, sudden, long, exposed, ...
    """

    age: float | None = None
    sex: str = ""
    groups: tuple[str, ...] = ()
    takes: tuple[Named, ...] = ()
    has: tuple[Named, ...] = ()
    allergic_to: tuple[Named, ...] = ()
    traits: tuple[str, ...] = ()


_MESSAGE, _CLEAR = 3, 0.7  # ours, chosen on rows 1-250 of MeQSum: sentences of a message, and its least probability


@dataclass(frozen=True, slots=True)
class Frame:
    """What a question was understood to ask.

    Attributes:
        asks: What is to be answered, in the order asked; () = not understood.
        alternatives: Other readings of the first ask, likeliest first.
        findings: What the patient has and is to be explained, one finding a `Named`.
        likely: Diseases that a language model thinks of, where a diagnosis is asked for; the question names none.
        patient: Who is asked about.
        language: Of the answer, ISO 639-1.
        source: Who read the question: "trained", "model" or "given".
        confidence: Of the first ask, 0 to 1.
        premise: What the question takes for granted that a language model holds to be wrong; "" = nothing.
        sentences: How many the question has that say something.

    >>> EMPTY_FRAME.asks, EMPTY_FRAME.intents
    ((), ())
    """

    asks: tuple[Ask, ...] = ()
    alternatives: tuple[Ask, ...] = ()
    findings: tuple[Named, ...] = ()
    likely: tuple[Named, ...] = ()
    patient: Patient = Patient()
    language: str = "en"
    source: str = ""
    confidence: float = 0.0
    premise: str = ""
    sentences: int = 1

    @property
    def intents(self) -> tuple[Intent, ...]:
        """The intents of the asks."""
        return tuple(ask.intent for ask in self.asks)

    @property
    def is_unclear(self) -> bool:
        """Whether it is too unsure what a message asks that tells much besides, if not what illness it may be."""
        sure = sum(ask.probability for ask in self.asks) >= _CLEAR or Intent.DIAGNOSIS in self.intents[:1]
        return self.sentences >= _MESSAGE and self.source == "trained" and bool(self.asks) and not sure

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles whose edges answer the asks; of a refusing one what is to be avoided."""
        return tuple(dict.fromkeys(role for ask in self.asks for role in ask.roles))


EMPTY_FRAME = Frame()
