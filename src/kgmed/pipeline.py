"""The natural pass from a question to an answer: the protocols of its stages, the notes that they leave, and the frozen
record whose fields are the stages and whose `__call__` is the line.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol, TypeVar

from kgmed.errors import BadInput, Unavailable
from kgmed.frame import Frame
from kgmed.language.negation import of_patient
from kgmed.language.particulars import particulars
from kgmed.language.text import language_of, one_line
from kgmed.models.base import GREEDY, Ledger, Sampling, ledger, sampled
from kgmed.prompts import GROUNDED, AnswerTask, tasked
from kgmed.records import Answer, Context, Evidence, Link, Mention, Query, Question, Run, Stage
from kgmed.sentences import catalogue
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


class Understander(Protocol):
    """Reads what a question asks, once; everything after it reads `query.frame`."""

    def __call__(self, query: Query, mentions: Sequence[Mention], links: Sequence[Link], /) -> Frame:
        """The frame, from all mentions and the links of those that were found."""
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


# --- Notes: what a stage has to say besides what it returns. They go by a context variable, so that no stage hands them
# on and none can lose them; each run has its own, in whatever thread it is.


_LEFT: ContextVar[list[str] | None] = ContextVar("notes", default=None)


class Fact(str):
    """A note that tells what was found, not what went wrong."""


def note(line: str) -> None:
    """Leave a note in the run of the question being asked: what was cut, left out or went wrong, in one line.

    Any stage may call it, however deep inside; outside of a run nothing is kept. A note of the rankers or the phraser
    stands in `Run.notes`, as does a `Fact` of any stage; one of any other stage in `Run.failures`. A stage that starts
    threads runs them in `contextvars.copy_context()`, as for the ledger of model calls.
    """
    if (left := _LEFT.get()) is not None:
        left.append(line)


@contextmanager
def notes() -> Iterator[list[str]]:
    """The notes left while the block runs, in their order. They go no further: a wrapper passes on what it wants.

    >>> with notes() as left:
    ...     note("paths: 5 of 9 shown")
    >>> left
    ['paths: 5 of 9 shown']
    """
    left: list[str] = []
    token = _LEFT.set(left)
    try:
        yield left
    finally:
        _LEFT.reset(token)


# --- The natural pass from a question to an answer: the fields are the stages, `__call__` is the line through them.


T = TypeVar("T")
Observer = Callable[[Stage, object], object]  # hears of each stage that has ended, and what came out of it


def unread(query: Query, mentions: Sequence[Mention], links: Sequence[Link]) -> Frame:
    """Understander: the frame that the query came with; the published methods read the question themselves."""
    return query.frame


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
    understand: Understander = unread
    otherwise: Reader | None = None  # reads where `read` cannot, and the run says so; not as published
    name: str = ""
    graph: str = ""
    sampling: Sampling = GREEDY  # how the model's words are drawn
    task: AnswerTask = GROUNDED  # whether the model may add what it knows

    def __call__(self, question: Question | str, *, observe: Observer | None = None) -> Run:
        """The run of one question; raises `BadInput` for an empty one and what the stages raise.

        `observe` hears of each stage that has ended; between stages a stop token is looked at (`kgmed.stop`).
        """
        asked = Question(question) if isinstance(question, str) else question
        if not asked.text.strip():
            raise BadInput("the question is empty; ask for example: kgmed ask 'What are the signs of rickets?'")
        with ledger() as book, sampled(self.sampling), tasked(self.task):
            return self._run(asked, _Clock(book, observe))

    def _run(self, asked: Question, clock: "_Clock") -> Run:
        query = clock("expand", lambda: self._expanded(asked))
        mentions = clock("recognize", lambda: self.recognize(query))
        links = clock("link", lambda: self.link(mentions))
        if self.understand is not unread:
            query = replace(query, frame=clock("understand", lambda: self.understand(query, mentions, links)))
        own = links if self.task.published else of_patient(links)
        found = clock("retrieve", lambda: [e for retrieve in self.retrieve for e in retrieve(query, own)])
        evidence = clock("rank", lambda: self._ranked(query, found))
        context = clock("phrase", lambda: self.phrase(query, evidence))
        answer = clock("read", lambda: self._read(query, context))
        said = answer
        answer = clock("check", lambda: self.check(query, context, said))
        answer = replace(answer, text=said.text) if self.task.published else answer
        linked = {link.mention for link in links}
        missed = tuple(m for m in mentions if m not in linked)
        return Run(
            query, tuple(mentions), tuple(links), missed, tuple(evidence), context, answer, tuple(clock.stages),
            self.name, self.graph, tuple(clock.failures), (*clock.notes, *context.notes),
            prompts=clock.book.prompts, spent=clock.book.spent(), particulars=particulars(asked.text),
        )  # fmt: skip

    def _expanded(self, asked: Question) -> Query:
        """The query; the question alone where nothing could be added to it, which the run says."""
        try:
            return self.expand(asked)
        except Unavailable as e:
            note(f"searched with the question alone: {e}")
            return Query(asked)

    def _ranked(self, query: Query, evidence: list[Evidence]) -> list[Evidence]:
        for rank in self.rank:
            evidence = rank(query, evidence)
        return evidence

    def _read(self, query: Query, context: Context) -> Answer:
        try:
            return self.read(query, context)
        except Unavailable as e:
            if self.otherwise is None or self.task.published:
                raise
            note(str(e))
            answer = self.otherwise(query, context)
            failed = catalogue(language_of(query.question))("label.failed", reason=one_line(str(e)))
            return replace(answer, text=f"{failed}\n{answer.text}")


class _Clock:
    """The seconds of each stage, its calls of a model, and its notes."""

    def __init__(self, book: Ledger, observe: Observer | None) -> None:
        self.stages: list[Stage] = []
        self.failures: list[str] = []
        self.notes: list[str] = []
        self.book = book
        self._observe = observe

    def __call__(self, name: str, stage: Callable[[], T]) -> T:
        check_stop()
        begin, before = perf_counter(), len(self.book.calls)
        with notes() as left:
            result = stage()
        plain = name in ("rank", "phrase")
        for line in left:
            (self.notes if plain or isinstance(line, Fact) else self.failures).append(str(line))
        calls = self.book.calls[before:]
        tokens = sum(call.tokens_in + call.tokens_out for call in calls)
        self.stages.append(Stage(name, perf_counter() - begin, tokens, len(calls)))
        if self._observe is not None:
            self._observe(self.stages[-1], result)
        return result
