"""The natural pass from a question to an answer: the protocols of its stages, and the frozen record whose fields are
the
stages and whose `__call__` is the line.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol, TypeVar

from kgmed.errors import BadInput, Unavailable
from kgmed.models.limits import Ledger, ledger
from kgmed.records import Answer, Context, Evidence, Link, Mention, Query, Question, Run, Stage
from kgmed.stop import check_stop

# --- One protocol per stage; anything callable with the signature is a stage, there are no base classes.
# Retrievers add up, rankers run in turn. A `Linker` returns at most one link a mention; a mention without a link
# was not found. A `Reward` of None means that it cannot judge.


class Expander(Protocol):
    """Adds to a question what helps to search, such as a first guess."""

    def __call__(self, question: Question, /) -> Query:
        """The query to search with."""
        ...


class Recognizer(Protocol):
    """Finds the stretches of text that name entities."""

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        ...


class Linker(Protocol):
    """Finds the entity that a mention stands for."""

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention, in the order of the mentions."""
        ...


class Retriever(Protocol):
    """Finds evidence around the linked entities."""

    def __call__(self, query: Query, links: Sequence[Link], /) -> list[Evidence]:
        """The evidence, in a deterministic order."""
        ...


class Ranker(Protocol):
    """Orders and prunes evidence."""

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        """The evidence kept, best first, with its score; safety evidence is never dropped."""
        ...


class Phraser(Protocol):
    """Writes the evidence as the text that a reader sees."""

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The text and the evidence that its markers point to."""
        ...


class Reader(Protocol):
    """Answers from the context."""

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, with the numbers of the evidence it stands on."""
        ...


class Checker(Protocol):
    """Holds an answer against its evidence."""

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The same answer with verdicts."""
        ...


class Reward(Protocol):
    """Judges answers to questions, as a reward for training or a check of what a model said."""

    def __call__(self, questions: Sequence[Question | str], answers: Sequence[str], /) -> list[float | None]:
        """One number an answer, higher = better; None where it cannot judge. Question i goes with answer i."""
        ...


# --- What was recognised, with what must be said about it.


class Noted(list[Mention]):
    """A list of mentions whose `notes` say, one line each, what went wrong; they belong into the run's record.

    >>> Noted([], notes=("no terms",)).notes
    ('no terms',)
    """

    def __init__(self, mentions: Iterable[Mention] = (), *, notes: tuple[str, ...] = ()) -> None:
        """Keep the mentions in their order."""
        super().__init__(mentions)
        self.notes = notes


# --- What a ranker kept, with what is to be said about it.


class Ranked(list[Evidence]):
    """A list of evidence whose `notes`, one line each, belong into the run's record.

    >>> Ranked([Evidence("gout", "triple")], notes=("kept 1 of 2",)).notes
    ('kept 1 of 2',)
    """

    def __init__(self, evidence: Iterable[Evidence] = (), *, notes: tuple[str, ...] = ()) -> None:
        """Keep the evidence in its order."""
        super().__init__(evidence)
        self.notes = notes


# --- What a retriever found, with what must be said about it.


class Retrieved(list[Evidence]):
    """A list of evidence whose `notes` say, one line each, where the search was cut; they belong into the run's record.

    >>> Retrieved([Evidence("A — r → B", "triple")], notes=("cut",)).notes
    ('cut',)
    """

    def __init__(self, evidence: Iterable[Evidence] = (), *, notes: tuple[str, ...] = ()) -> None:
        """Keep the evidence in its order."""
        super().__init__(evidence)
        self.notes = notes


# --- The natural pass from a question to an answer: the fields are the stages, `__call__` is the line through them.


T = TypeVar("T")
Observer = Callable[[Stage, object], object]  # hears of each stage that has ended, and what came out of it


def as_is(query: Query, context: Context, answer: Answer) -> Answer:
    """Checker: the answer as it is."""
    return answer


@dataclass(frozen=True)
class Pipeline:
    """A method: retrievers add up, rankers run in turn. An ablation is `dataclasses.replace` of a field."""

    recognize: Recognizer
    link: Linker
    retrieve: Sequence[Retriever]
    rank: Sequence[Ranker]
    phrase: Phraser
    read: Reader
    expand: Expander = Query
    check: Checker = as_is
    otherwise: Reader | None = None  # reads where `read` cannot; the run says so
    name: str = ""
    graph: str = ""

    def __call__(self, question: Question | str, *, observe: Observer | None = None) -> Run:
        """The run of one question; raises `BadInput` for an empty one and what the stages raise.

        `observe` hears of each stage that has ended; between stages a stop token is looked at (`kgmed.stop`).
        """
        asked = Question(question) if isinstance(question, str) else question
        if not asked.text.strip():
            raise BadInput("the question is empty; ask for example: kgmed ask 'What are the signs of rickets?'")
        with ledger() as book:
            return self._run(asked, _Clock(book, observe))

    def _run(self, asked: Question, clock: "_Clock") -> Run:
        book = clock.book
        failures: list[str] = []
        query = clock("expand", lambda: self._expanded(asked, failures))
        mentions = clock("recognize", lambda: self.recognize(query))
        links = clock("link", lambda: self.link(mentions))
        found = clock("retrieve", lambda: [retrieve(query, links) for retrieve in self.retrieve])
        failures += [note for part in (mentions, *found) if isinstance(part, Noted | Retrieved) for note in part.notes]
        notes: list[str] = []
        evidence = clock("rank", lambda: self._ranked(query, [e for part in found for e in part], notes))
        context = clock("phrase", lambda: self.phrase(query, evidence))
        answer = clock("read", lambda: self._read(query, context, failures))
        answer = clock("check", lambda: self.check(query, context, answer))
        linked = {link.mention for link in links}
        missed = tuple(m for m in mentions if m not in linked)
        return Run(
            query, tuple(mentions), tuple(links), missed, tuple(evidence), context, answer, tuple(clock.stages),
            self.name, self.graph, tuple(failures), (*notes, *context.notes), prompts=book.prompts, spent=book.spent(),
        )  # fmt: skip

    def _expanded(self, asked: Question, failures: list[str]) -> Query:
        """The query; the question alone where nothing could be added to it, which the run says."""
        try:
            return self.expand(asked)
        except Unavailable as e:
            failures.append(f"searched with the question alone: {e}")
            return Query(asked)

    def _ranked(self, query: Query, evidence: list[Evidence], notes: list[str]) -> list[Evidence]:
        for rank in self.rank:
            evidence = rank(query, evidence)
            notes += evidence.notes if isinstance(evidence, Ranked) else ()
        return evidence

    def _read(self, query: Query, context: Context, failures: list[str]) -> Answer:
        try:
            return self.read(query, context)
        except Unavailable as e:
            if self.otherwise is None:
                raise
            failures.append(str(e))
            return self.otherwise(query, context)


class _Clock:
    """The seconds of each stage, and its calls of a model."""

    def __init__(self, book: Ledger, observe: Observer | None) -> None:
        self.stages: list[Stage] = []
        self.book = book
        self._observe = observe

    def __call__(self, name: str, stage: Callable[[], T]) -> T:
        check_stop()
        begin, before = perf_counter(), len(self.book.calls)
        result = stage()
        calls = self.book.calls[before:]
        tokens = sum(call.tokens_in + call.tokens_out for call in calls)
        self.stages.append(Stage(name, perf_counter() - begin, tokens, len(calls)))
        if self._observe is not None:
            self._observe(self.stages[-1], result)
        return result
