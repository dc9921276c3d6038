"""The frozen records that travel from a question to an answer.

Every stage reads and returns these; nothing else passes between stages. `to_json` turns any of them into
plain data for `--json`, logs and pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum, StrEnum
from typing import Any


class Role(StrEnum):
    """What a relation means, whatever a graph calls it. Each is named in its canonical direction, head first."""

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
        """Whether evidence of this role may never be ranked away."""
        return self in (Role.CONTRAINDICATED, Role.EXCLUDES, Role.AVOID)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation as its graph calls it, and what it means.

    `reverse` says that the graph writes it against the canonical direction of its role, as in
    (pneumonia, related drug, amoxicillin) for `Role.TREATS`.
    """

    name: str
    role: Role = Role.OTHER
    reverse: bool = False

    def __str__(self) -> str:
        """The graph's own name of the relation."""
        return self.name


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing of a graph. Two with the same id are the same; the description does not count."""

    id: str  # a CURIE such as HP:0001945 or cmekg:肺炎; "" for a literal such as a dosage
    name: str
    kind: str = ""  # disease, symptom, drug, test, gene, ...
    description: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Support:
    """One source's word for a triple: where it says so, and what it adds (frequency, onset, sex, ...)."""

    reference: str = ""  # PMID:29067653, OMIM:310200, ...
    qualifiers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Triple:
    """One fact, in the direction in which its graph states it."""

    head: Entity
    relation: Relation
    tail: Entity
    weight: float = 1.0  # 0..1 where the graph gives a frequency or a confidence
    source: str = ""  # graph and release
    support: tuple[Support, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked. No options = an open question."""

    text: str
    options: tuple[tuple[str, str], ...] = ()  # (letter, text)
    language: str = ""  # ISO 639-1; "" = not known
    id: str = ""
    history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A question and, where a method makes one, the model's first guess."""

    question: Question
    hypothesis: str = ""

    @property
    def text(self) -> str:
        """The question as asked."""
        return self.question.text

    @property
    def expanded(self) -> str:
        """The question first, then the guess: what is cut off at a limit is never the question."""
        return f"{self.text}\n{self.hypothesis}" if self.hypothesis else self.text


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text that may name an entity; `name` is the form to look up."""

    surface: str
    name: str
    start: int  # offset into the text it was found in; -1 = not from the text
    end: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A mention and the entity it stands for, with how that was decided."""

    mention: Mention
    entity: Entity
    score: float  # 1 = certain
    how: str  # exact, normalised, alias, fuzzy, dense, ...
    ties: tuple[Entity, ...] = ()  # others that matched as well


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something the answer may stand on; `about` = the linked entities that brought it in, a path's start first."""

    text: str
    kind: str  # triple, path, co_ancestor, co_occurrence, neighbours, candidate, passage
    triples: tuple[Triple, ...] = ()
    about: tuple[Entity, ...] = ()
    score: float = 0.0
    id: str = ""

    @property
    def is_safety(self) -> bool:
        """Whether it warns (contraindication, exclusion): such evidence is never ranked away."""
        return any(t.relation.role.is_safety for t in self.triples)


@dataclass(frozen=True, slots=True)
class Context:
    """The evidence as a reader sees it: the marker [i] in `text` means `cited[i - 1]`."""

    text: str
    cited: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()  # what was lost or left out when it was written, one line each


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer (a disease, a drug, an option) with the numbers of the evidence for it."""

    name: str
    score: float
    entity: Entity | None = None
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says of one sentence of the answer.

    >>> Verdict("Gout hurts.", True, "it is in [1]").label
    'supported'
    """

    sentence: str
    supported: bool
    reason: str
    citations: tuple[int, ...] = ()
    label: str = ""  # supported, unsupported or contradicted; told by `supported` where it is not given

    def __post_init__(self) -> None:
        """Name what `supported` says."""
        if not self.label:
            object.__setattr__(self, "label", "supported" if self.supported else "unsupported")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said, and what it stands on. Abstaining is a result, not an error."""

    text: str
    citations: tuple[int, ...] = ()  # numbers into Context.cited, from 1
    candidates: tuple[Candidate, ...] = ()
    choices: tuple[str, ...] = ()  # letters of the options chosen
    abstained: bool = False
    limits: str = ""  # what the answer does not know or must not be taken for
    reasoning: str = ""
    verdicts: tuple[Verdict, ...] = ()
    reader: str = ""  # which reader wrote it


@dataclass(frozen=True, slots=True)
class Stage:
    """The time one stage took, the tokens it used, and how often it asked a language model."""

    name: str
    seconds: float
    tokens: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run asked of language models; tokens and cost are those of replies that no cache had.

    A call that failed is counted, its tokens are not known.
    """

    calls: int = 0
    cached: int = 0  # of the calls, those that a cache answered
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None  # US dollars; None where no price is known


@dataclass(frozen=True, slots=True)
class Run:
    """All of one pass from question to answer; the only thing that metrics, pages and logs read."""

    query: Query
    mentions: tuple[Mention, ...]
    links: tuple[Link, ...]
    missed: tuple[Mention, ...]  # mentions that no entity was found for
    evidence: tuple[Evidence, ...]
    context: Context
    answer: Answer
    stages: tuple[Stage, ...] = ()
    method: str = ""
    graph: str = ""  # name, release and content hash
    failures: tuple[str, ...] = ()  # what went wrong on the way without ending the run
    notes: tuple[str, ...] = ()  # what was left out on the way, and by which rule
    preset: str = ""
    settings: tuple[tuple[str, Any], ...] = ()  # of the method, by name
    models: tuple[tuple[str, str], ...] = ()  # (llm, encoder or scorer; name)
    prompts: tuple[str, ...] = ()  # name, language and hash of each prompt that was asked with
    spent: Spent = Spent()
    hits: tuple[tuple[str, int, int], ...] = ()  # of a remote graph's cache: (question, found there, asked for)

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.query.question

    def _repr_markdown_(self) -> str:
        """What a notebook shows: the answer, then the numbered evidence."""
        rows = [f"| {i} | {_cell(e.text)} | {_cell(_sources(e))} |" for i, e in enumerate(self.context.cited, start=1)]
        table = ["| # | evidence | source |", "|---|---|---|", *rows] if rows else []
        return "\n".join([_plain(self.answer.text), "", *table, "", f"*{_plain(self.answer.limits)}*"])


def _sources(evidence: Evidence) -> str:
    """Graph and references of a piece of evidence, each once."""
    found = [r for t in evidence.triples for r in (t.source, *t.references) if r]
    return ", ".join(dict.fromkeys(found))


def _plain(text: str) -> str:
    """The text without the beginnings of HTML."""
    return text.replace("<", "&lt;")


def _cell(text: str) -> str:
    """The text as one cell of a Markdown table."""
    return _plain(" ".join(text.split())).replace("|", "\\|")


def to_json(value: object) -> Any:
    """Plain data (dict, list, str, numbers) for any record of this module.

    >>> to_json(Relation("treats", Role.TREATS))
    {'name': 'treats', 'role': 'treats', 'reverse': False}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    return value
