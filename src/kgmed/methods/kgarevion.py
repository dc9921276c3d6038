"""KGARevion (Su et al. 2025, arXiv 2410.04660) without its fine-tuning: a model writes triples, a graph reviews them.

The paper, step by step, and the field of the pipeline (`kgarevion`) that does it:

- `retrieve` (`Reviewed`), generate: the medical terms of the question, then one to three triples for each option, their
  relations chosen from the graph's;
- the same, review: what the graph says of each, where it knows both entities, while a triple of an entity that it does
  not know is kept (its "soft constraint"); revise: the model puts right what it refuses, which is reviewed once more.
- `read`: the answer from the triples that are left and from what the model knows itself.

The paper reviews with a LoRA of the language model that has TransE vectors of PrimeKG before its prompt, and so may
accept a triple that the graph lacks. Without it the graph itself reviews: a triple holds where an edge joins its
entities, in either direction (the paper's triples have none), by its relation or one of the same role.
Silent are the paper and its code on what becomes of a reply without a triple (here asked for once more, then none), of
questions without options (one request, as the code does for yes and no) and of the number of rounds that was reported
(1 in the code).
"""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from kgmed.errors import ModelFailed
from kgmed.graph.base import LocalGraph
from kgmed.language.text import prompt_language
from kgmed.linking.by_model import AGAIN, KEY, of_question
from kgmed.methods.baselines_closed import aided, both, model, reader
from kgmed.models.asking import Malformed, Structured, Tally, strings_schema, values
from kgmed.models.base import LLM, Encoder
from kgmed.models.replies import bare_name
from kgmed.pipeline import Fact, Linker, Pipeline, note
from kgmed.prompts import ANSWER_TOKENS, prompt, task, whole_question
from kgmed.records import Entity, Evidence, Link, Mention, Query, Question, Role, Triple
from kgmed.registry import About, Calls, methods
from kgmed.steps.rank import Similarity
from kgmed.steps.retrieve import Neighbours, triple_evidence
from kgmed.toolkit import Toolkit

T = TypeVar("T")

# --- What a model writes.


class Said(NamedTuple):
    """A triple in a model's words."""

    head: str
    relation: str
    tail: str


def triples_in(reply: str, most: int = 0) -> list[Said]:
    """The triples of a reply, each once, at most so many; there may be none. Raises `Malformed`.

    >>> triples_in('{"triples": [["gout", "treated by", "colchicine"]]}')
    [Said(head='gout', relation='treated by', tail='colchicine')]
    """
    lists = (list(v.values()) if isinstance(v, dict) else [v] for v in values(reply))
    found = next((one for some in lists for one in some if isinstance(one, list)), None)
    if found is None:
        raise Malformed("it must be a JSON object with a list of triples")
    said = [Said(*(part.strip() for part in row)) for row in found if _is_triple(row)]
    if found and not said:
        raise Malformed("each triple must be a list of three names: head, relation, tail")
    return list(dict.fromkeys(said))[: most or None]


def _is_triple(row: object) -> bool:
    return isinstance(row, list) and len(row) == 3 and all(isinstance(part, str) and part.strip() for part in row)


_ROW = {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"triples": {"type": "array", "items": _ROW}},
    "required": ["triples"],
    "additionalProperties": False,
}


def _stem(question: Question) -> str:
    """The question, after its history and without its options."""
    return whole_question(replace(question, options=()))


# --- What the graph says of it.


@dataclass(frozen=True)
class Review:
    """The verdict of a graph on a triple in a model's words.

    Evidence of kind "triple" with the graph's own triples where it supports the triple; of kind "model" and without a
    triple where it does not know both entities; None where it knows both and refuses.
    """

    graph: LocalGraph
    link: Linker
    encoder: Encoder
    shown: int = 40

    @cached_property
    def relations(self) -> list[str]:
        """The graph's most frequent relations, the most frequent first."""
        counts = np.bincount(self.graph.adjacency.out.relation, minlength=len(self.graph.relations))
        order = np.argsort(-counts, kind="stable")[: self.shown].tolist()
        return list(dict.fromkeys(str(self.graph.relations[i]) for i in order if counts[i]))

    def __call__(self, said: Said) -> Evidence | None:
        """The verdict."""
        head, tail = self._entity(said.head), self._entity(said.tail)
        if head is None or tail is None:
            return Evidence(f"{said.head} — {said.relation} → {said.tail}", "model")
        meant = self._meant(said.relation)
        roles = {r.role for r in self.graph.relations if str(r) == meant} - {Role.OTHER}
        edges = (*self._edges(head, tail), *self._edges(tail, head))
        fits = [t for t in edges if str(t.relation) == meant or t.relation.role in roles]
        return triple_evidence(fits[0], (head, tail)) if fits else None

    def _entity(self, name: str) -> Entity | None:
        links = self.link([Mention(name, name, -1, -1)])
        return links[0].entity if links else None

    def _edges(self, head: Entity, tail: Entity) -> list[Triple]:
        start, end, out = self.graph.number(head.id), self.graph.number(tail.id), self.graph.adjacency.out
        first = int(out.indptr[start])
        places = first + np.searchsorted(out.neighbour[first : out.indptr[start + 1]], [end, end + 1])
        return [self.graph.triple(i) for i in range(*places.tolist())]

    def _meant(self, name: str) -> str:
        """The graph's relation that a model's is: that of its name, else the one whose name is nearest by vector."""
        by_name = {bare_name(one): one for one in self.relations}
        if bare_name(name) in by_name or not self.relations:
            return by_name.get(bare_name(name), "")
        vectors = self.encoder([name, *self.relations])
        return self.relations[int(np.argmax(vectors[1:] @ vectors[0]))]


# --- Retriever: generate, review, revise.


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The triples that a model wrote for each option and the graph did not refuse, in the order of the options.

    As published those of entities that the graph does not know are among them. Else they are left out, for nothing
    supports them; beside stands what the graph warns of, or its `similar` most similar triples where none is left.
    """

    llm: LLM
    review: Review
    each: int = 3
    options: int = 8
    rounds: int = 1
    similar: int = 20
    entity_tokens: int = 128
    triple_tokens: int = 256
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The triples."""
        question = query.question
        said = self._generated(question)
        kept: dict[str, Evidence] = {}
        for last in [False] * self.rounds + [True]:
            verdicts = [(one, self.review(one)) for one in said]
            kept |= {e.text: e for _, e in verdicts if e is not None and (e.triples or task().published)}
            said = [one for one, verdict in verdicts if verdict is None]
            if said:
                note(Fact(f"{len(said)} triples of the model refused: the graph knows their ends and no such edge"))
            if last or not said:
                break
            listed = "\n".join(json.dumps(one, ensure_ascii=False) for one in said)
            said = self._triples("revise", question, question=whole_question(question), triples=listed)
        return [*kept.values(), *self._beside(query, links, kept)]

    def _beside(self, query: Query, links: Sequence[Link], kept: Collection[str]) -> list[Evidence]:
        """What stands beside the triples, not as published: warnings, or where there are none the most similar."""
        if task().published:
            return []
        near = Neighbours(self.review.graph, attributes=False)(query, links)
        if kept or not near:
            return [e for e in near if e.is_safety and e.text not in kept]
        note(f"no triple of the model is in the graph: the {self.similar} most similar ones are read")
        return Similarity(self.review.encoder, self.similar)(query, near)

    def _generated(self, question: Question) -> list[Said]:
        """The triples of every option, or of the question where it has none, or too many to be asked one by one."""
        terms = ", ".join(self._terms(question)) or "-"
        single = 0 < len(question.options) <= self.options
        stem, whole = _stem(question), whole_question(question)
        asked = [(stem, text) for _, text in question.options] if single else [(whole, "-")]
        told = [
            self._triples("triples", question, question=stem, option=option, terms=terms, count=str(self.each))
            for stem, option in asked
        ]
        return list(dict.fromkeys(one for some in told for one in some[: self.each]))

    def _terms(self, question: Question) -> list[str]:
        """The medical terms of the question without its options; none where the reply cannot be read."""
        language, stem = prompt_language(question), _stem(question)
        asked = prompt("hykge/entities", language=language, folder=self.prompts)
        parse = partial(of_question, key=KEY[language], question=stem, asked=asked)
        shape, again = strings_schema(KEY[language]), AGAIN[language]
        ask = Structured(self.llm, parse, self.entity_tokens, again, self.tally, shape)
        return self._read(lambda: ask(asked.messages(text=stem)), "terms")

    def _triples(self, step: str, question: Question, /, **given: str) -> list[Said]:
        """The triples of a reply; none where it cannot be read."""
        language = prompt_language(question)
        asked = prompt(f"kgarevion/{step}", language=language, folder=self.prompts)
        ask = Structured(self.llm, triples_in, self.triple_tokens, AGAIN[language], self.tally, _SCHEMA)
        messages = asked.messages(**given, relations="\n".join(self.review.relations))
        return self._read(lambda: ask(messages), "triples")

    def _read(self, ask: Callable[[], list[T]], what: str) -> list[T]:
        """What a request gives; an empty list and a note where the reply is of no use."""
        try:
            return ask()
        except ModelFailed as problem:
            note(f"no {what}: {problem}")
            return []


# --- The method.


@dataclass(frozen=True, slots=True, kw_only=True)
class KGARevionSettings:
    """The numbers of KGARevion."""

    each: int = 3  # code: one to three triples an option
    options: int = 8  # ours: with more options one request for all; the paper's questions have four
    rounds: int = 1  # code, of revision
    similar: int = 20  # ours: by preset safe, triples of the graph where none of the model's is in it
    relations: int = 40  # ours: of the graph that the model chooses from; PrimeKG has 18, CMeKG 452
    entity_tokens: int = 128  # code
    triple_tokens: int = 256  # code
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "kgarevion",
    about=About(
        paper="KGARevion",
        by="Su et al.",
        year=2025,
        where="ICLR 2025, arXiv 2410.04660",
        does="a model writes triples for each option; what the graph refuses it revises, and answers from the rest",
        calls=Calls(4, 3, 11, "the terms, triples for each option (once without options), a revision, the answer"),
        ours=(
            "the graph itself reviews, not a fine-tuned model with TransE vectors: what it lacks it refuses",
            "entities are linked as everywhere here, not by UMLS codes; relations by name, else by vector",
            "the model chooses from the graph's 40 most frequent relations; more than 8 options are asked about once",
            "by preset safe triples of entities that the graph does not know are left out; the paper keeps them",
        ),
        needs=frozenset({"model", "local_graph"}),
        baseline=True,
        encoder="GanjinZero/UMLSBert_ENG",
    ),
    presets=both(KGARevionSettings()),
)
def kgarevion(toolkit: Toolkit, *, settings: KGARevionSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or KGARevionSettings(), "kgarevion"
    llm = model(toolkit, name)
    review = Review(toolkit.graph, toolkit.link, toolkit.encoder, s.relations)
    tokens = s.entity_tokens, s.triple_tokens
    found = Reviewed(llm, review, s.each, s.options, s.rounds, s.similar, *tokens, toolkit.prompts)
    return aided(toolkit, name, retrieve=(found,), read=reader(toolkit, llm, s.answer_tokens))
