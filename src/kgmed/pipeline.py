"""The natural pass from a question to an answer: the fields are the stages, `__call__` is the line through them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

from kgmed.errors import BadInput, Unavailable
from kgmed.models.ledger import Ledger, ledger
from kgmed.rank.noted import Ranked
from kgmed.recognize.noted import Noted
from kgmed.retrieve.found import Found
from kgmed.stages import Checker, Expander, Linker, Phraser, Ranker, Reader, Recognizer, Retriever
from kgmed.types import Answer, Context, Evidence, Query, Question, Run, Stage

T = TypeVar("T")


def as_asked(query: Query, context: Context, answer: Answer) -> Answer:
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
    check: Checker = as_asked
    otherwise: Reader | None = None  # reads where `read` cannot; the run says so
    name: str = ""
    graph: str = ""

    def __call__(self, question: Question | str) -> Run:
        """The run of one question; raises `BadInput` for an empty one and what the stages raise."""
        asked = Question(question) if isinstance(question, str) else question
        if not asked.text.strip():
            raise BadInput("the question is empty; ask for example: kgmed ask 'What are the signs of rickets?'")
        with ledger() as book:
            return self._run(asked, book)

    def _run(self, asked: Question, book: Ledger) -> Run:
        clock = _Clock(book)
        failures: list[str] = []
        query = clock("expand", lambda: self._expanded(asked, failures))
        mentions = clock("recognize", lambda: self.recognize(query))
        links = clock("link", lambda: self.link(mentions))
        found = clock("retrieve", lambda: [retrieve(query, links) for retrieve in self.retrieve])
        failures += [note for part in (mentions, *found) if isinstance(part, Noted | Found) for note in part.notes]
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

    def __init__(self, book: Ledger) -> None:
        self.stages: list[Stage] = []
        self._book = book

    def __call__(self, name: str, stage: Callable[[], T]) -> T:
        begin, before = perf_counter(), len(self._book.calls)
        result = stage()
        calls = self._book.calls[before:]
        tokens = sum(call.tokens_in + call.tokens_out for call in calls)
        self.stages.append(Stage(name, perf_counter() - begin, tokens, len(calls)))
        return result
