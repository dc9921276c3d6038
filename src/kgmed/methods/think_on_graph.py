"""Think-on-Graph (Sun et al. 2024, arXiv 2307.07697): a model searches a graph in a beam, step by step.

The paper, step by step, and the field of the pipeline (`think_on_graph`) that does it:

- `recognize`, `link`: the entities of the question.
- `retrieve` (`Beam`), at most `depth` times: the relations to go on by from the end of each of at most `width` paths,
  among what these lead to the `width` paths to keep, and whether they are enough; the model chooses all three.
- `phrase`: the paths; `read`: the answer from them, or where they never were enough from what the model knows itself.

Where no relation can be read the code gives the path up, here the heaviest are taken, as are the first paths. Silent
are paper and code on a path that leads nowhere (here it stays as it is) and on one that comes back (here none does).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kgmed.errors import ModelFailed
from kgmed.graph.base import LocalGraph
from kgmed.language.text import prompt_language
from kgmed.methods.baselines_closed import aided, both, model, reader
from kgmed.models.asking import Structured, Tally, strings_schema
from kgmed.models.base import LLM
from kgmed.models.replies import known_strings, says_yes
from kgmed.pipeline import Pipeline, note
from kgmed.prompts import ANSWER_TOKENS, prompt, task, whole_question
from kgmed.records import Entity, Evidence, Link, Query, Triple
from kgmed.registry import About, Calls, methods
from kgmed.steps.phrase import NumberedChains
from kgmed.steps.rank import Helpful
from kgmed.steps.read import FENCE, fence_for
from kgmed.steps.retrieve import arrows, triple_evidence
from kgmed.toolkit import Toolkit


class Trail(NamedTuple):
    """A path of the beam: the entities in walking order, and the triples between them."""

    entities: tuple[Entity, ...]
    triples: tuple[Triple, ...] = ()

    @property
    def end(self) -> Entity:
        """Where it goes on."""
        return self.entities[-1]

    def by(self, triple: Triple) -> "Trail":
        """The path with one more step."""
        other = triple.tail if triple.head == self.end else triple.head
        return Trail((*self.entities, other), (*self.triples, triple))

    def evidence(self, score: float) -> Evidence:
        """The path as evidence, kind "path"."""
        along = [t.head == e for t, e in zip(self.triples, self.entities, strict=False)]
        return Evidence(arrows(self.triples, along), "path", self.triples, (self.entities[0], self.end), score)


@dataclass(frozen=True, slots=True)
class Beam:
    """Retriever: the paths that a model kept when it said that they are enough, best first.

    As published there is nothing where it never said so, and the model answers from what it knows; else the paths of
    the last step are shown. A choice that cannot be read keeps the heaviest triples, and a note says so.
    """

    graph: LocalGraph
    llm: LLM
    width: int = 3
    depth: int = 3
    ends: int = 20
    relations: int = 200
    max_tokens: int = 256
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The paths."""
        topics = dict.fromkeys(link.entity for link in links if not link.mention.negated)
        beam = [Trail((entity,)) for entity in topics][: self.width]
        shown: list[Evidence] = []
        for _ in range(self.depth):
            onward = [self._onward(query, trail) for trail in beam]
            if not any(onward):
                break
            stays = ([trail] if trail.triples else [] for trail in beam)  # a path that leads nowhere is kept as it is
            beam = self._kept(query, [way for on, stay in zip(onward, stays, strict=True) for way in on or stay])
            shown = [trail.evidence(1 / place) for place, trail in enumerate(beam, start=1)]
            if self._enough(query, shown):
                return shown if task().published else shown + self._warnings(topics)
        if shown:
            note(f"the model never said that the paths are enough, in {self.depth} steps at most")
        return [] if task().published else shown + self._warnings(topics)

    def _warnings(self, topics: Iterable[Entity]) -> list[Evidence]:
        """What the graph warns of at the entities of the question, whatever the model chose; not as published."""
        around = (t for entity in topics for t in self.graph.neighbours(entity.id, limit=self.relations))
        return [triple_evidence(t, (t.head,)) for t in dict.fromkeys(around) if t.relation.role.is_safety]

    def _onward(self, query: Query, trail: Trail) -> list[Trail]:
        """The path with one more step, by the relations that the model chooses; never back to where it was."""
        around = [trail.by(t) for t in self.graph.neighbours(trail.end.id, limit=self.relations)]
        by_name: dict[str, list[Trail]] = {}
        for way in around:
            if way.end not in trail.entities:
                by_name.setdefault(str(way.triples[-1].relation), []).append(way)
        chosen = self._relations(query, trail.end, list(by_name))
        return [way for name in chosen for way in by_name[name][: self.ends]]

    def _relations(self, query: Query, entity: Entity, names: Sequence[str]) -> Sequence[str]:
        """The relations that the model chooses; all, and no call, where there are no more than it may choose."""
        if len(names) <= self.width:
            return names
        asked = prompt("think_on_graph/relations", language=prompt_language(query.question), folder=self.prompts)
        parse, shape = partial(known_strings, key="relations", known=names), strings_schema("relations", least=1)
        ask = Structured(self.llm, parse, self.max_tokens, tally=self.tally, schema=shape)
        values = {"question": whole_question(query.question), "entity": entity.name, "count": str(self.width)}
        try:
            return ask(asked.messages(**values, relations="\n".join(names)))[: self.width]
        except ModelFailed as problem:
            note(f"the first {self.width} relations of {entity.name} kept: {problem}")
            return names[: self.width]

    def _kept(self, query: Query, ways: Sequence[Trail]) -> list[Trail]:
        """The paths that the model keeps of those that lead on; the first where it names none."""
        if len(ways) <= self.width:
            return list(ways)
        helpful = Helpful(self.llm, self.width, self.max_tokens, self.prompts, self.tally)
        every = [way.evidence(1.0) for way in ways]
        try:
            chosen = helpful(query, every)
        except ModelFailed as problem:
            note(f"the first {self.width} of {len(ways)} paths kept: {problem}")
            chosen = []
        places = {id(piece): place for place, piece in enumerate(every)}
        return [ways[places[id(piece)]] for piece in chosen or every[: self.width]]

    def _enough(self, query: Query, shown: Sequence[Evidence]) -> bool:
        """Whether the model says that the paths are enough; not where its reply cannot be read."""
        asked = prompt("think_on_graph/enough", language=prompt_language(query.question), folder=self.prompts)
        paths, whole = "\n".join(e.text for e in shown), whole_question(query.question)
        fence = FENCE + fence_for(f"{paths}\n{whole}")
        ask = Structured(self.llm, says_yes, self.max_tokens, tally=self.tally)
        try:
            return ask(asked.messages(question=whole, fence=fence, paths=paths))
        except ModelFailed as problem:
            note(f"whether the paths are enough could not be read: {problem}")
            return False


# --- The method.


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkOnGraphSettings:
    """The numbers of Think-on-Graph."""

    width: int = 3  # paper, N
    depth: int = 3  # paper, D_max
    ends: int = 20  # ours: entities that one relation leads to, the heaviest; of 20 or more the code draws five
    relations: int = 200  # ours: triples looked at around one entity
    choose_tokens: int = 256  # paper
    answer_tokens: int = ANSWER_TOKENS  # ours; 256 in the paper


@methods.register(
    "think-on-graph",
    about=About(
        paper="Think-on-Graph",
        by="Sun et al.",
        year=2024,
        where="ICLR 2024, arXiv 2307.07697",
        does="searches the graph in a beam: a model chooses relations and entities until they are enough",
        calls=Calls(4, 1, 16, "for each of three steps three choices of relations, one of paths and whether these are "
                    "enough; then the answer; the paper chooses entities relation by relation, 22 at most"),
        ours=(
            "entities are found by the graph's names, not by a model; the first three begin the beam",
            "one choice among all new paths of a step, by numbers and not by scores",
            "of many entities that a relation leads to the heaviest are looked at, not a random sample",
            "the temperature is the table's, where the paper has .4 for the search and 0 for the answer",
        ),
        needs=frozenset({"model", "local_graph"}),
        baseline=True,
    ),
    presets=both(ThinkOnGraphSettings()),
)  # fmt: skip
def think_on_graph(toolkit: Toolkit, *, settings: ThinkOnGraphSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or ThinkOnGraphSettings(), "think-on-graph"
    llm = model(toolkit, name)
    beam = Beam(toolkit.graph, llm, s.width, s.depth, s.ends, s.relations, s.choose_tokens, toolkit.prompts)
    return aided(toolkit, name, retrieve=(beam,), phrase=NumberedChains(), read=reader(toolkit, llm, s.answer_tokens))
