"""How much a triple has to do with a question: five ways to tell, one of which asks a model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import ModelFailed
from kgmed.language.question import asks_diagnosis, roles_asked
from kgmed.language.text import one_line, prompt_language
from kgmed.models.base import LLM, Encoder
from kgmed.prompts import prompt
from kgmed.records import Query, Role, Triple

# --- What a triple says, whichever way its graph writes it: graphs such as EMCKG state each fact in both directions.


Fact = tuple[str, str, str]


def fact(triple: Triple) -> Fact:
    """Subject, role and object; the relation's own name where its role is not known.

    >>> from kgmed.records import Entity, Relation
    >>> flu, fever = Entity("1", "flu"), Entity("2", "fever")
    >>> there = Triple(flu, Relation("has_symptom", Role.FINDING), fever)
    >>> back = Triple(fever, Relation("possible_disease", Role.FINDING, reverse=True), flu)
    >>> fact(there) == fact(back)
    True
    """
    relation = triple.relation
    if relation.role is Role.OTHER:
        return triple.head.id, relation.name, triple.tail.id or triple.tail.name
    ends = (triple.subject, triple.object)
    return ends[0].id or ends[0].name, relation.role.value, ends[1].id or ends[1].name


# --- How much a triple has to do with a question: five ways to tell, one of which asks a model.


WANTED = (Role.TREATS, Role.TESTS, Role.FINDING, Role.CONTRAINDICATED)  # what MindMap's questions ask for


class Relevance(Protocol):
    """Scores triples for a question; what scores 0 or less is not relevant."""

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """One score a triple (n,), higher = more relevant."""
        ...


def sentence_of(triple: Triple) -> str:
    """A triple as a short sentence, for encoders and models.

    >>> from kgmed.records import Entity, Relation
    >>> sentence_of(Triple(Entity("a", "flu"), Relation("has_symptom"), Entity("b", "fever")))
    'flu has symptom fever'
    """
    return one_line(f"{triple.head.name} {triple.relation.name.replace('_', ' ')} {triple.tail.name}")


@dataclass(frozen=True, slots=True)
class Every:
    """Every triple is relevant, as much as it weighs in its graph."""

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """The weights; a weight of 0 still counts."""
        return np.array([max(t.weight, 1e-6) for t in triples], np.float64)


@dataclass(frozen=True, slots=True)
class OfTypes:
    """The relations of some roles, whatever the question (the authors' code goes by the relations' names)."""

    roles: tuple[Role, ...] = WANTED

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """1 for a triple of the roles, else 0."""
        return np.array([float(t.relation.role in self.roles) for t in triples], np.float64)


@dataclass(frozen=True)
class Similar:
    """The cosine of question and triple, where it reaches `at_least`."""

    encoder: Encoder
    at_least: float = 0.3  # ours; the paper names no test

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """The cosines, 0 below the threshold."""
        if not triples:
            return np.zeros(0)
        texts = list(dict.fromkeys(map(sentence_of, triples)))
        rows = self.encoder([query.text, *texts])
        cosine = dict(zip(texts, (rows[1:] @ rows[0]).astype(np.float64).tolist(), strict=True))
        scores = np.array([cosine[sentence_of(t)] for t in triples])
        return np.where(scores >= self.at_least, scores, 0.0)


@dataclass(frozen=True)
class SimilarOrAsked:
    """As `Similar`, and 1 more for a triple of a role that the question asks for: it serves the answer by itself.

    A question that describes a patient asks for tests and treatments (`CARE`), as MindMap's does.
    """

    encoder: Encoder
    at_least: float = 0.3  # ours, as there

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """The cosines, 0 below the threshold; 1 plus the cosine where the role is asked for."""
        cosines = Similar(self.encoder, -1.0)(query, triples)
        served = np.array([t.relation.role in served_roles(query.text) for t in triples], bool)
        return np.where(served, 1 + cosines, np.where(cosines >= self.at_least, cosines, 0.0))


CARE = (Role.TESTS, Role.TREATS)


def served_roles(text: str) -> tuple[Role, ...]:
    """The roles whose triples answer a question; of a patient's story those of care.

    >>> served_roles("I am tired and my belly is swollen. What could it be?")
    (<Role.TESTS: 'tests'>, <Role.TREATS: 'treats'>)
    """
    asked = roles_asked(text)
    return asked if asked and not asks_diagnosis(text) else tuple(dict.fromkeys((*asked, *CARE)))


@dataclass(frozen=True, slots=True)
class RelevanceByModel:
    """A model says which of the numbered triples matter, `batch` at a time."""

    llm: LLM
    batch: int = 50
    max_tokens: int = 200
    prompts: Path | None = None

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """1 for those the model names, else 0; raises `ModelFailed` where it names no number and does not say none."""
        parts = [self._judged(query, triples[i : i + self.batch]) for i in range(0, len(triples), self.batch)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _judged(self, query: Query, triples: Sequence[Triple]) -> NDArray[np.float64]:
        """One batch."""
        asked = prompt("mindmap/relevant", language=prompt_language(query.question), folder=self.prompts)
        facts = "\n".join(f"{i}. {sentence_of(t)}" for i, t in enumerate(triples, start=1))
        reply = self.llm(asked.messages(question=query.text, facts=facts), max_tokens=self.max_tokens)
        named = numbers_named(reply.text)
        if named is None:
            raise ModelFailed(f"{self.llm.name} did not say which facts matter; its reply begins {reply.text[:60]!r}")
        return np.array([float(i in named) for i in range(1, len(triples) + 1)])


def numbers_named(reply: str) -> frozenset[int] | None:
    """The numbers in a reply, ranges included; empty where it says none; None where it says neither.

    >>> sorted(numbers_named("1, 3-5 and 【7】") or ()), numbers_named("都不相关"), numbers_named("Hi")
    ([1, 3, 4, 5, 7], frozenset(), None)
    """
    found: set[int] = set()
    for first, last in re.findall(r"(?<![A-Za-z\d.])(\d{1,4})(?:\s*[-–~]\s*(\d{1,4}))?(?![A-Za-z\d])", reply):
        found |= set(range(int(first), min(int(last or first), int(first) + 500) + 1))
    if found:
        return frozenset(found)
    return frozenset() if re.search(r"\bnone\b|\bno\b|\[\s*\]|无|没有|都不", reply, re.IGNORECASE) else None
