"""What graphs and texts consist of: entities, relations, triples, and the mentions and links that lead to them.

`kgmed.records` hands these on together with the records that travel between stages.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """The meaning of a relation, whatever its name in a graph; named in its canonical direction, head first.

    >>> Role("treats"), Role.AVOID.is_safety
    (<Role.TREATS: 'treats'>, True)
    """

    FINDING = "finding"  # disease -> symptom, sign or phenotype
    EXCLUDES = "excludes"  # disease -> finding that it does not have (HPO's NOT)
    TREATS = "treats"  # drug or procedure -> disease or symptom
    CONTRAINDICATED = "contraindicated"  # drug -> condition or person that must not take it
    ADVERSE = "adverse"  # drug -> effect that it can cause
    INTERACTS = "interacts"  # drug -> drug
    PRECAUTION = "precaution"  # drug -> caution in use
    DOSAGE = "dosage"  # drug -> how it is taken
    INGREDIENT = "ingredient"  # drug -> substance in it
    TESTS = "tests"  # test -> disease that it can show
    CAUSE = "cause"  # disease -> cause
    RISK = "risk"  # disease -> risk factor
    COMPLICATION = "complication"  # disease -> complication
    PREVENTION = "prevention"  # disease -> prevention
    LOCATION = "location"  # disease -> body part
    GENE = "gene"  # disease -> gene
    INHERITANCE = "inheritance"  # disease -> mode of inheritance
    ONSET = "onset"  # disease -> age of onset or course
    CARE = "care"  # disease -> department or speciality
    FOOD = "food"  # disease -> food that is good for it
    AVOID = "avoid"  # disease -> food or habit to avoid
    DIFFERENTIAL = "differential"  # disease -> disease to tell it from
    ASSOCIATED = "associated"  # disease -> disease that goes with it
    IS_A = "is_a"  # narrower -> broader
    SAME_AS = "same_as"  # two names or brands of one thing
    OTHER = "other"

    @property
    def is_safety(self) -> bool:
        """Whether evidence with this role is never dropped by a ranker."""
        return self in (Role.CONTRAINDICATED, Role.EXCLUDES, Role.AVOID)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation as its graph calls it, and what it means.

    Attributes:
        name: The graph's own name of it.
        role: What it means.
        reverse: Whether the graph writes it against the canonical direction of its role, as in
            (pneumonia, related drug, amoxicillin) for `Role.TREATS`.

    >>> str(Relation("related drug", Role.TREATS, reverse=True))
    'related drug'
    """

    name: str
    role: Role = Role.OTHER
    reverse: bool = False

    def __str__(self) -> str:
        """The graph's own name of the relation."""
        return self.name


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing of a graph; the description does not count when two are compared.

    Attributes:
        id: A CURIE such as HP:0001945 or cmekg:肺炎; "" for a literal such as a dosage.
        name: Its preferred name in the graph.
        kind: disease, symptom, drug, test, gene, ...; "" where the graph does not say.
        description: A definition, where the graph has one.

    >>> Entity("HP:0001945", "Fever", "symptom", "A raised temperature.") == Entity("HP:0001945", "Fever", "symptom")
    True
    """

    id: str
    name: str
    kind: str = ""
    description: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Support:
    """One source of a triple.

    Attributes:
        reference: The publication or record: PMID:29067653, OMIM:310200, ...; "" where that is not known.
        qualifiers: Its details, as (name, value): frequency, onset, sex, ...

    >>> dict(Support("PMID:29067653", (("frequency", "3/7"),)).qualifiers)
    {'frequency': '3/7'}
    """

    reference: str = ""
    qualifiers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Triple:
    """One fact, in the direction in which its graph states it.

    Attributes:
        head: The first entity.
        relation: The relation between them.
        tail: The second entity or literal.
        weight: 0 to 1: the frequency or confidence that the graph gives, 1 where it gives none.
        source: The graph and its release.
        support: What each source says of it, in the order of the graph.

    >>> fact = Triple(Entity("a", "flu"), Relation("has_drug", Role.TREATS, reverse=True), Entity("b", "oseltamivir"))
    >>> fact.subject.name, fact.object.name
    ('oseltamivir', 'flu')
    """

    head: Entity
    relation: Relation
    tail: Entity
    weight: float = 1.0
    source: str = ""
    support: tuple[Support, ...] = ()

    def __str__(self) -> str:
        """The fact in the names of its graph."""
        return f"{self.head.name} — {self.relation} → {self.tail.name}"

    @property
    def references(self) -> tuple[str, ...]:
        """The distinct references behind the triple, in the order of the graph.

        >>> Triple(Entity("a", "A"), Relation("r"), Entity("b", "B"), support=(Support("PMID:1"),) * 2).references
        ('PMID:1',)
        """
        return tuple(dict.fromkeys(s.reference for s in self.support if s.reference))

    @property
    def subject(self) -> Entity:
        """The head in the canonical direction of the relation's role."""
        return self.tail if self.relation.reverse else self.head

    @property
    def object(self) -> Entity:
        """The tail in the canonical direction of the relation's role."""
        return self.head if self.relation.reverse else self.tail


class Status(StrEnum):
    """What a text says of a finding besides that it is there or not (`Mention.negated`).

    >>> Status("past"), Status("") is Status.STATED
    (<Status.PAST: 'past'>, True)
    """

    STATED = ""  # the patient's, now
    OTHER = "other person"  # of the family or somebody else
    PAST = "past"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Particular:
    """Something a text tells of a patient that is no entity: an age, a value, a dose.

    Attributes:
        kind: age, sex, population, value, dose or duration.
        text: The words as written in the text.
        start: The offset of the first character.
        end: The offset after the last character.
        number: The number said; None where none is.
        unit: Its unit in small letters: year, mmol/l, mg, 天; "" where none is.
        direction: Of a value: high, low or normal, where the text says so.
        of: Of a value: what was measured, where the text says so.

    >>> Particular("dose", "500 mg", 0, 6, 500, "mg").number
    500
    """

    kind: str
    text: str
    start: int
    end: int
    number: float | None = None
    unit: str = ""
    direction: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text that may name an entity.

    Attributes:
        surface: The words as written in the text.
        name: The form to look up.
        start: The offset of the first character in the text that it was found in; -1 = not from the text.
        end: The offset after the last character; -1 = not from the text.
        negated: Whether the text denies it ("no fever").
        status: Whether it is another person's, past or uncertain.

    >>> Mention("fever", "fever", 3, 8, negated=True).negated
    True
    """

    surface: str
    name: str
    start: int
    end: int
    negated: bool = False
    status: Status = Status.STATED


CHOSEN = "chosen"  # how a link was made that somebody has chosen


@dataclass(frozen=True, slots=True)
class Link:
    """A mention and the entity it stands for, with how that was decided.

    Attributes:
        mention: The stretch of text.
        entity: What it stands for.
        score: 0 to 1; 1 = certain.
        how: exact, normalised, alias, fuzzy, dense, ...
        ties: Others that matched as well.

    >>> Link(Mention("fever", "fever", 0, 5), Entity("HP:0001945", "Fever"), 1.0, "normalised").entity.id
    'HP:0001945'
    """

    mention: Mention
    entity: Entity
    score: float
    how: str
    ties: tuple[Entity, ...] = ()


# Asked of an entity, these mean what it has, never what has it: the symptoms of gout, not what gout is a symptom of.
OF_THE_SUBJECT = frozenset(
    {Role.FINDING, Role.ADVERSE, Role.CAUSE, Role.RISK, Role.COMPLICATION, Role.ONSET, Role.INHERITANCE, Role.LOCATION}
)
