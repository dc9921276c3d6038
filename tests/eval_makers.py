"""Methods for tests of evaluations, importable by other processes."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from kgmed.errors import Unavailable
from kgmed.evaluate.items import Gold, Item
from kgmed.evaluate.run import Ask
from kgmed.records import (
    Answer,
    Context,
    Entity,
    Evidence,
    Link,
    Mention,
    Query,
    Question,
    Relation,
    Role,
    Run,
    Stage,
    Triple,
)


def run(question: Question, said: str) -> Run:
    """A run with a little of everything."""
    flu, fever = Entity("x:1", "flu", "disease"), Entity("x:2", "fever", "symptom")
    piece = Evidence("flu — has → fever", "triple", (Triple(flu, Relation("has", Role.FINDING), fever),), (flu,), 0.5)
    mention = Mention("flu", "flu", 0, 3)
    return Run(
        Query(question), (mention,), (Link(mention, flu, 1.0, "exact"),), (), (piece,), Context("1 flu", (piece,)),
        Answer(said, (1,), choices=("A",)), (Stage("read", time.perf_counter()),), "echo", "toy",
    )  # fmt: skip


def items(n: int) -> list[Item]:
    """n questions."""
    return [Item(Question(f"Question {i}?", (("A", "yes"), ("B", "no")), id=f"q{i}"), Gold(("A",))) for i in range(n)]


@dataclass(frozen=True)
class Echo:
    """Answers with the question; fails on `broken`, kills its process on `deadly` (once, where `mark` names a file)."""

    broken: str = ""
    deadly: str = ""
    mark: str = ""
    seconds: float = 0.0

    def __call__(self, method: str, seed: int, item: Item, /) -> Ask:
        """The method."""
        return lambda question: self._answer(question, f"{method} {seed}: {question.text}")

    def _answer(self, question: Question, said: str) -> Run:
        time.sleep(self.seconds)
        if question.id == self.broken:
            raise Unavailable("the server\nis away")
        if question.id == self.deadly and not (self.mark and Path(self.mark).exists()):
            if self.mark:
                Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return run(question, said)


@dataclass(frozen=True)
class Environment:
    """Answers with what its process may take for numerical libraries."""

    def __call__(self, method: str, seed: int, item: Item, /) -> Ask:
        """The method."""
        return lambda question: run(question, os.environ.get("OMP_NUM_THREADS", "all"))
