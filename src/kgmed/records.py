"""The frozen records that travel from a question to an answer.

Every stage reads and returns these; nothing else passes between stages. `to_json` turns any of them into plain data for
`--json`, logs and pages, `from_json` reads them back. Scores and weights have no unit; where a field holds seconds,
tokens or dollars it says so.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from time import time_ns
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from kgmed.frame import EMPTY_FRAME, Frame
from kgmed.triples import Entity as Entity
from kgmed.triples import Link as Link
from kgmed.triples import Mention as Mention
from kgmed.triples import Particular as Particular
from kgmed.triples import Relation as Relation
from kgmed.triples import Role as Role
from kgmed.triples import Status as Status
from kgmed.triples import Support as Support
from kgmed.triples import Triple as Triple

if TYPE_CHECKING:
    import networkx
    import pandas
    from pydantic import TypeAdapter

T = TypeVar("T")
_SHORT = 60  # ours: characters of a question or an answer that stands for a run


def new_id() -> str:
    """A name that no other run has: a UUID of version 7 (RFC 9562), in the order of the milliseconds of their making.

    >>> len({new_id() for _ in range(100)})
    100
    """
    milliseconds, chance = time_ns() // 1_000_000, int.from_bytes(os.urandom(10))
    version, variant = 0x7000 << 64, 0x8000 << 48
    number = (milliseconds << 80 | chance) & ~(0xF000 << 64 | 0xC000 << 48)
    return str(UUID(int=number | version | variant))


CARE = "care in this patient"  # the id of a warning of what a label says of an illness or medicine that is told
NOT_FOR = "not for this patient"  # the id of the warning that names what was taken out of an answer
WITH_CARE = "with care in this patient"  # the id of the warning that names what stays, by what is told of the patient
BY_REASON = (NOT_FOR, WITH_CARE)


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked.

    Attributes:
        text: The question.
        options: The choices as (letter, text); none = an open question.
        language: ISO 639-1, as "en" or "zh"; "" = not known.
        id: Its name in a data set.
        history: Earlier questions and answers of a conversation, a line each, oldest first.

    >>> Question("Which vitamin prevents scurvy?", (("A", "vitamin A"), ("B", "vitamin C"))).options[1]
    ('B', 'vitamin C')
    """

    text: str
    options: tuple[tuple[str, str], ...] = ()
    language: str = ""
    id: str = ""
    history: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        """Whether it says nothing."""
        return not self.text.strip()

    @property
    def words(self) -> str:
        """The question and the texts of its options, a line each."""
        return "\n".join([self.text, *(text for _, text in self.options)])

    @property
    def with_options(self) -> str:
        """The question before its options with their letters, a line each.

        >>> Question("Which?", (("A", "gout"), ("B", "flu"))).with_options
        'Which?\\nA. gout\\nB. flu'
        """
        return "\n".join([self.text, *(f"{letter}. {text}" for letter, text in self.options)])

    @property
    def with_history(self) -> str:
        """The question after its history and before its options, as a model is asked it.

        >>> Question("Which?", (("A", "gout"),), history=("My toe hurts.",)).with_history
        'My toe hurts.\\nWhich?\\nA. gout'
        """
        return "\n".join([*self.history, self.with_options])


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: a question and, if a method makes one, the model's hypothesis.

    Attributes:
        question: What was asked.
        hypothesis: The guess; "" = none.
        frame: What the question was understood to ask; empty before the stage `understand`.

    >>> Query(Question("What treats gout?"), "Colchicine.").expanded
    'What treats gout?\\nColchicine.'
    """

    question: Question
    hypothesis: str = ""
    frame: Frame = EMPTY_FRAME

    @property
    def text(self) -> str:
        """The question as asked."""
        return self.question.text

    @property
    def expanded(self) -> str:
        """The question first, then the guess: what is cut off at a limit is never the question."""
        return f"{self.text}\n{self.hypothesis}" if self.hypothesis else self.text


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of evidence for an answer.

    Attributes:
        text: Its text as shown to a reader.
        kind: triple, path, co_ancestor, co_occurrence, neighbours, candidate, passage, ...
        triples: The facts behind it, a path's in walking order.
        about: The linked entities that brought it in, a path's start first.
        score: The last ranker's, else the retriever's; higher = better, its scale that of the method.
        id: A label of the method's own, such as P1 of MindMap.

    >>> avoid = Relation("not with", Role.CONTRAINDICATED)
    >>> fact = Triple(Entity("a", "aspirin"), avoid, Entity("b", "haemophilia"))
    >>> Evidence("aspirin — not with → haemophilia", "triple", (fact,)).is_safety
    True
    """

    text: str
    kind: str
    triples: tuple[Triple, ...] = ()
    about: tuple[Entity, ...] = ()
    score: float = 0.0
    id: str = ""

    @property
    def is_safety(self) -> bool:
        """Whether it warns (contraindication, exclusion): such evidence is never dropped by a ranker."""
        return any(t.relation.role.is_safety for t in self.triples)

    @property
    def sources(self) -> tuple[str, ...]:
        """The graphs and the references behind it, each once."""
        return tuple(dict.fromkeys(r for t in self.triples for r in (t.source, *t.references) if r))


VERDICT = "verdict"  # the kind of evidence that says yes, no or that nothing is known, in a sentence


def is_verdict(evidence: Evidence, *which: str) -> bool:
    """Whether a piece of evidence is a verdict, or one of those ids (see `kgmed.facts.verdicts`).

    >>> is_verdict(Evidence("No.", VERDICT, id="no"), "no", "caution"), is_verdict(Evidence("A fact.", "triple"))
    (True, False)
    """
    return evidence.kind == VERDICT and (not which or evidence.id in which)


@dataclass(frozen=True, slots=True)
class Context:
    """The evidence as a reader sees it.

    Attributes:
        text: The text given to the reader; the marker [i] in it means `cited[i - 1]`.
        cited: The evidence in the text.
        notes: What was left out of it, one line each.

    >>> Context("[1] gout hurts", (Evidence("gout hurts", "triple"),)).cited[1 - 1].text
    'gout hurts'
    """

    text: str
    cited: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer.

    Attributes:
        name: A disease, a drug, an option, ...
        score: Higher = better; its scale is that of the reader.
        entity: Its entity in the graph, if known.
        citations: The numbers of the evidence for it in `Context.cited`, from 1.

    >>> Candidate("gout", 0.9, citations=(1, 3)).citations
    (1, 3)
    """

    name: str
    score: float
    entity: Entity | None = None
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """The result of the check for one claim of a sentence: that two things are related, or are not.

    Attributes:
        subject: What it is about, as the sentence names it.
        relation: How they are related: roles, as "treats" or "adverse"; "" = the words do not say.
        object: The other thing, or a text such as a dose.
        denied: Whether the sentence says that it is not so.
        label: supported, contradicted or unsupported (nothing is known of it).
        triple: What supports or contradicts it; None = nothing does.
        where: The source of the triple: evidence or graph; "" = none.

    >>> str(Claim("Colchicine", "treats", "gout", denied=True))
    'Colchicine — not treats → gout'
    """

    subject: str
    relation: str
    object: str
    denied: bool = False
    label: str = "unsupported"
    triple: Triple | None = None
    where: str = ""

    def __str__(self) -> str:
        """The claim on one line."""
        relation = " ".join(filter(None, ["not" if self.denied else "", self.relation]))
        return f"{self.subject} — {relation} → {self.object}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the check for one sentence of the answer.

    Attributes:
        sentence: The sentence of the answer, or a step of its reasoning.
        supported: Whether the evidence supports it.
        reason: Why, in words.
        citations: The numbers of the evidence it was compared with, from 1.
        label: supported, unsupported or contradicted; by `supported` where it is not given.
        claims: The claims of the sentence, each with its own label; none if it does not name two things.
        offers: False where a model says that the sentence only warns of the medicines that are not for the patient.

    >>> Verdict("Gout hurts.", True, "it is in [1]").label
    'supported'
    """

    sentence: str
    supported: bool
    reason: str
    citations: tuple[int, ...] = ()
    label: str = ""
    claims: tuple[Claim, ...] = ()
    offers: bool = True

    def __post_init__(self) -> None:
        """Name what `supported` says."""
        if not self.label:
            object.__setattr__(self, "label", "supported" if self.supported else "unsupported")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer and the evidence it rests on. Abstaining is a result, not an error.

    Attributes:
        text: The answer, with marks such as [1] for `Context.cited[0]`.
        citations: The numbers of the evidence that it cites, from 1.
        candidates: Alternative answers, best first, if the reader ranks.
        choices: The letters of the options chosen.
        abstained: Whether there is no answer; `text` then says why.
        limits: The disclaimer and what the answer does not cover.
        reasoning: The model's reasoning, if the method keeps it.
        verdicts: The result of the check for each sentence.
        reader: Which reader wrote it: "facts", or a model's name.

    >>> Answer("Gout is treated with colchicine [1].", (1,), reader="facts").abstained
    False
    """

    text: str
    citations: tuple[int, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    choices: tuple[str, ...] = ()
    abstained: bool = False
    limits: str = ""
    reasoning: str = ""
    verdicts: tuple[Verdict, ...] = ()
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """The cost of one stage.

    Attributes:
        name: expand, recognize, link, retrieve, rank, phrase, read or check.
        seconds: Wall-clock time.
        tokens: Of prompts and replies together, as the models count them.
        calls: Number of calls of a language model.

    >>> sum(stage.seconds for stage in (Stage("link", 0.25), Stage("read", 1.0, tokens=812, calls=1)))
    1.25
    """

    name: str
    seconds: float
    tokens: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run asked of language models; tokens and cost are those of replies that no cache had.

    Attributes:
        calls: All of them.
        cached: Of the calls, those that a cache answered.
        failed: Of the calls, those that failed; their tokens are not known.
        tokens_in: Tokens of prompts.
        tokens_out: Tokens of replies.
        cost: US dollars; None where no price is known.

    >>> Spent(calls=2, cached=1, tokens_in=700, tokens_out=80).cost is None
    True
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Everything about answering one question; metrics, pages and logs read nothing else.

    Attributes:
        query: The question, and the guess that was searched with.
        mentions: What was recognised, in the order of the text.
        links: What of it was found in the graph.
        missed: The mentions that no entity was found for.
        evidence: What the rankers kept, best first.
        context: The evidence shown to the reader.
        answer: The checked answer.
        stages: Seconds, calls and tokens of each stage, in order.
        method: The name of the method.
        graph: Name, release and content hash.
        failures: Errors that did not end the run, one line each.
        notes: What was left out on the way, and by which rule, one line each.
        preset: Which of the method's presets, "" where it has none.
        settings: Those of the method, as (name, value).
        models: As (llm, encoder or scorer; name).
        prompts: Name, language and hash of each prompt that was asked with.
        spent: What was asked of language models.
        particulars: What the question tells of a patient besides names: age, values, doses, ...
        hits: Of a remote graph's cache: (question, found there, asked for).
        id: A name that no other run has, sorting by the time of its making; two runs that differ in it alone are equal.

    In a notebook a run shows its answer with the evidence drawn.

    >>> run = Run(Query(Question("Gout?")), (), (), (), (), Context(""), Answer("A disease."))
    >>> run.to_json()["answer"]["text"], Run.from_json(run.to_json()) == run
    ('A disease.', True)
    >>> run  # doctest: +ELLIPSIS
    <Run 'Gout?' → 'A disease.', evidence: 0, ...>
    """

    query: Query
    mentions: tuple[Mention, ...]
    links: tuple[Link, ...]
    missed: tuple[Mention, ...]
    evidence: tuple[Evidence, ...]
    context: Context
    answer: Answer
    stages: tuple[Stage, ...] = ()
    method: str = ""
    graph: str = ""
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    preset: str = ""
    settings: tuple[tuple[str, Any], ...] = ()
    models: tuple[tuple[str, str], ...] = ()
    prompts: tuple[str, ...] = ()
    spent: Spent = Spent()
    hits: tuple[tuple[str, int, int], ...] = ()
    particulars: tuple[Particular, ...] = ()
    id: str = field(default_factory=new_id, compare=False)

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.query.question

    def to_json(self) -> dict[str, Any]:
        """The run as plain data (dict, list, str, numbers), keys in the order of the fields; see `json_schema`."""
        data: dict[str, Any] = _adapter(Run).dump_python(self, mode="json", warnings=False, fallback=_plain)
        return data

    def to_bytes(self) -> bytes:
        """The run as JSON text, what `to_json` gives; many times as fast. Raises `TypeError`, `ValueError`."""
        made: bytes = _adapter(Run).dump_json(self, warnings=False, fallback=_plain)
        return made

    @classmethod
    def from_json(cls, data: object) -> "Run":
        """The run that `to_json` made the data of; see `from_json`. Raises `BadInput`."""
        return from_json(cls, data)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON schema (draft 2020-12) of what `to_json` makes.

        >>> Run.json_schema()["properties"]["method"]["type"]
        'string'
        """
        schema = _adapter(cls).json_schema(mode="serialization")
        for record in (schema, *schema["$defs"].values()):
            record["description"] = record["description"].partition(">>>")[0].strip()  # without the example
        return schema

    def evidence_graph(self, *, cited: bool = True) -> "networkx.MultiDiGraph":
        """The triples of the evidence that the reader was shown (`cited=False`: of all that was ranked), for networkx.

        A node is an entity's id, or the text of a literal, with `name`, `kind`, `description` and `asked` (whether the
        question names it); an edge goes from head to tail under the relation's name, with `relation`, `role`,
        `reverse`, `weight`, `source`, `references` (a list) and `citations` (numbers in `Context.cited`, from 1).
        Raises `Unavailable` without networkx: pip install "kgmed[graphs]".
        """
        return self._shown("to_networkx", cited=cited)

    def table(self) -> "pandas.DataFrame":
        """The triples that the reader was shown, a row each, with the number that the answer cites them by.

        Raises `Unavailable` without pandas: pip install "kgmed[graphs]".
        """
        return self._shown("to_pandas")

    def __repr__(self) -> str:
        """One line: the question, the answer's beginning, how much evidence there is, and where it is from."""
        question, answer = (" ".join(one.text.split()) for one in (self.question, self.answer))
        question, answer = (t if len(t) <= _SHORT else f"{t[: _SHORT - 1].rstrip()}…" for t in (question, answer))
        pieces = len(self.context.cited or self.evidence)
        return f"<Run {question!r} → {answer!r}, evidence: {pieces}, {self.method}, {self.graph}, {self.id}>"

    def _repr_markdown_(self) -> str:
        """Where a page shows Markdown: the answer, then the numbered evidence."""
        return str(self._shown("to_markdown"))

    def _repr_html_(self) -> str:
        """What a notebook shows: question and answer with its marks, and the evidence drawn by role."""
        return str(self._shown("to_html"))

    def _shown(self, function: str, **options: Any) -> Any:
        """What a function of `kgmed.show_run` makes of the run; it stands above the records, so it is known by name."""
        return getattr(import_module("kgmed.show_run"), function)(self, **options)


# --- Records as plain data and back, by pydantic over the same dataclasses; it is loaded when first needed.


_ADAPTERS: "dict[Any, TypeAdapter[Any]]" = {}


def _adapter(kind: Any) -> "TypeAdapter[Any]":
    """What reads and writes a type, made once."""
    if kind not in _ADAPTERS:
        from pydantic import TypeAdapter

        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def _plain(value: object) -> object:
    """A mapping, or a number of numpy, as what JSON has for it; raises `TypeError` for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def to_json(value: object) -> Any:
    """Plain data (dict, list, str, numbers) for any record, or for lists and dicts of them.

    Raises `TypeError` for what has no form in JSON.

    >>> to_json(Relation("treats", Role.TREATS))
    {'name': 'treats', 'role': 'treats', 'reverse': False}
    """
    if isinstance(value, Run):
        return value.to_json()
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=_plain, bytes_mode="hex")


def from_json(kind: type[T], data: object) -> T:
    """A record from what `to_json` made of it; fields it lacks take their defaults, others are not looked at.

    Raises `BadInput` naming the first field that does not fit.

    >>> from_json(Relation, {"name": "treats", "role": "treats"})
    Relation(name='treats', role=<Role.TREATS: 'treats'>, reverse=False)
    """
    from pydantic import ValidationError

    from kgmed.errors import BadInput

    try:
        made: T = _adapter(kind).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "all of it"
        raise BadInput(f"no JSON of a {kind.__name__}: {where}: {first['msg']}; give what to_json made") from None
    return made
