"""Baselines that differ in how they search the graph: HippoRAG 2, MedRAG and Think-on-Graph."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kgmed.errors import ModelFailed
from kgmed.graph.base import ByRole, LocalGraph
from kgmed.graph.search.scan import subgraph
from kgmed.graph.search.walk import Transition, walk
from kgmed.language.text import prompt_language
from kgmed.methods.baselines_closed import aided, both, model, reader
from kgmed.models.asking import Structured, Tally, strings_schema
from kgmed.models.base import LLM, Encoder
from kgmed.models.replies import known_strings, says_yes
from kgmed.pipeline import Fact, Pipeline, note
from kgmed.prompts import ANSWER_TOKENS, prompt, task, whole_question
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.registry import methods
from kgmed.steps.phrase import NumberedChains
from kgmed.steps.rank import Helpful, Similarity
from kgmed.steps.read import FENCE, LLMReader, fence_for
from kgmed.steps.retrieve import Neighbours, arrows, told, triple_evidence
from kgmed.toolkit import Toolkit

# --- HippoRAG 2 (Gutiérrez et al. 2025, arXiv 2502.14802) on a graph that is there: triples like the question, those
# that a model recognises as relevant, and a personalised PageRank from their entities.
#
# Its steps: the triples most similar to the question; a model leaves out those that do not help (recognition memory);
# the entities of the rest are where the walk restarts, each by the mean similarity of its triples, and passages a
# little by their own; personalised PageRank; the passages that it reaches most are read. Where the model leaves no
# triple, the most similar passages are read.
#
# A medical graph has no passages: here each triple is its own. The walk passes along a triple with the probability w(h)
# / d(h) + w(t) / d(t), w being the PageRank of its ends and d their edges, as a passage between them would get it.

# --- Retriever: the triples along which a personalised PageRank passes most.


@dataclass(frozen=True, slots=True)
class PageRanked:
    """The `keep` triples that the walk from the recognised ones passes along most; all warnings, unless as published.

    Evidence: kind "triple", score = the probability that a step of the walk goes along it.
    """

    graph: LocalGraph
    encoder: Encoder
    helpful: Helpful
    keep: int = 20
    triples: int = 5
    damping: float = 0.5
    passage: float = 0.05
    relations: int = 500
    size: int = 2000

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The triples, best first."""
        near = Neighbours(self.graph, limit=self.relations, attributes=False)(query, links)
        if not near:
            return []
        alike = Similarity(self.encoder, len(near))(query, near)
        nearest = alike[: self.triples]
        try:
            kept = self.helpful(query, nearest)
        except ModelFailed as problem:
            note(f"all {len(nearest)} triples kept: {problem}")
            kept = nearest
        if not kept:
            note("no triple was recognised as relevant: the most similar ones are read")
            return self._with_warnings(alike[: self.keep], alike)
        return self._with_warnings(self._walked(alike, kept), alike)

    def _with_warnings(self, found: list[Evidence], near: Sequence[Evidence]) -> list[Evidence]:
        """What was found and, unless as published, what the graph warns of at the entities of the question."""
        said = {e.text for e in found}
        return [*found, *(e for e in near if e.is_safety and e.text not in said and not task().published)]

    def _walked(self, near: Sequence[Evidence], kept: Sequence[Evidence]) -> list[Evidence]:
        """The triples around, by the walk; `near` have their similarity as score."""
        seeds: dict[int, list[float]] = {}
        for piece in kept:
            for node in self._ends(piece):
                seeds.setdefault(node, []).append(max(piece.score, 1e-6))
        weight = {node: sum(own) / len(own) for node, own in seeds.items()}
        for piece in near:  # each triple is a passage between its ends
            for node in self._ends(piece):
                weight[node] = weight.get(node, 0.0) + self.passage * max(piece.score, 0.0) / 2
        cut = subgraph(self.graph.adjacency, list(weight), size=self.size)
        restart = np.zeros((1, cut.adjacency.nodes))
        restart[0, cut.local(list(weight))] = list(weight.values())
        transition = Transition.of(cut.adjacency)
        rank = walk(transition, restart / restart.sum(), c=self.damping).scores[0]
        share = rank / np.maximum(transition.weight, 1)
        head = np.repeat(np.arange(cut.adjacency.nodes), np.diff(cut.adjacency.out.indptr))
        passed = share[head] + share[cut.adjacency.out.neighbour]
        found: dict[str, Evidence] = {}  # by their words: databases may say the same
        for i in np.argsort(-passed, kind="stable").tolist():
            if len(found) == self.keep:
                break
            triple = self.graph.triple(int(cut.edges[i]))
            piece = triple_evidence(triple, (triple.head,), float(passed[i]))
            found.setdefault(piece.text, piece)
        return list(found.values())

    def _ends(self, piece: Evidence) -> list[int]:
        """The nodes of a triple."""
        return [self.graph.number(e.id) for t in piece.triples for e in (t.head, t.tail)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HippoRAGSettings:
    """The numbers of HippoRAG 2."""

    triples: int = 5  # paper: triples that are linked to a question
    damping: float = 0.5  # paper and code, of PageRank
    passage: float = 0.05  # paper: how much less a passage's own similarity weighs
    keep: int = 20  # ours: triples read; the paper reads 5 passages
    relations: int = 500  # ours: triples of one entity that are compared
    size: int = 2000  # ours: nodes around the seeds that are walked on
    recognise_tokens: int = 96  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register("hippo-rag", presets=both(HippoRAGSettings()))
def hippo_rag(toolkit: Toolkit, *, settings: HippoRAGSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or HippoRAGSettings(), "hippo-rag"
    llm = model(toolkit, name)
    helpful = Helpful(llm, s.triples, s.recognise_tokens, toolkit.prompts)
    ranked = PageRanked(
        toolkit.graph, toolkit.encoder, helpful, s.keep, s.triples, s.damping, s.passage, s.relations, s.size
    )
    return aided(toolkit, name, retrieve=(ranked,), read=reader(toolkit, llm, s.answer_tokens))


# --- MedRAG (Zhao et al. 2025, arXiv 2502.04413): a model diagnoses by what tells similar diseases apart in a graph.
#
# Its steps: a diagnostic graph of four tiers (categories, subcategories, diseases, their features); the patient's
# findings matched to its features, each of which votes upward for the categories of the diseases that have it; the
# differences of the diseases of the category with most votes; records of similar patients; a model that reasons with
# both, diagnoses, and names what to ask next.
#
# The graph asked here is the tiers: features by the role of a finding, categories by is-a. A graph without categories
# over its diseases, as one that is counted from patients, votes for the diseases themselves. A graph holds no records
# of patients; of a counted one they are the weights. Silent are the paper and its code on ties of the vote, on how many
# features of a disease are told (the code tells all, those that every disease of the category has too), and on a
# patient of whom no feature is found.

# --- Retriever: the differences of the diseases that the patient's findings vote for.


@dataclass(frozen=True, slots=True)
class Differences:
    """What tells the diseases apart that the findings of the question vote for, one piece a disease, most votes first.

    Evidence: kind "neighbours", triples of findings that not every one of these diseases has, those of the patient
    first, then those that the fewest have; score = votes. Unless as published, the graph's warnings stand behind.
    """

    graph: LocalGraph
    categories: int = 1
    diseases: int = 10
    features: int = 10

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The pieces."""
        named = [self.graph.number(link.entity.id) for link in links if not link.mention.negated]
        votes = self._votes(list(dict.fromkeys(named)))
        if not votes:
            note("no finding of the question is one of a disease of the graph")
        chosen = self._candidates(votes)
        found = self._told(chosen, votes, set(named))
        if task().published:
            return found
        near = Neighbours(self.graph, attributes=False)(query, links)
        return [*found, *(e for e in near if e.is_safety or not found)]

    def _votes(self, features: Sequence[int]) -> Counter[int]:
        """For each disease how many of the findings it has."""
        hops = ByRole(self.graph, Role.FINDING).subjects(features)
        return Counter(
            disease for _, disease in dict.fromkeys(zip(hops.origin.tolist(), hops.node.tolist(), strict=True))
        )

    def _candidates(self, votes: Counter[int]) -> list[int]:
        """The diseases of the categories with most votes; those with most votes themselves where no category has two.

        A disease for which nothing votes is none of them. Of equal ones the first of the graph.
        """
        order = sorted(votes, key=lambda disease: (-votes[disease], disease))
        up = ByRole(self.graph, Role.IS_A).objects(order)
        below: dict[int, list[int]] = {}
        for place, category in dict.fromkeys(zip(up.origin.tolist(), up.node.tolist(), strict=True)):
            below.setdefault(category, []).append(order[place])
        polls = {c: sum(votes[d] for d in of) for c, of in below.items() if len(of) > 1}
        best = sorted(polls, key=lambda category: (-polls[category], category))[: self.categories]
        if not best:
            return order[: self.diseases]
        note(Fact(f"categories: {', '.join(f'{self.graph.at(c).name} ({polls[c]} votes)' for c in best)}"))
        return [d for d in order if any(d in below[c] for c in best)][: self.diseases]

    def _told(self, diseases: Sequence[int], votes: Counter[int], own: set[int]) -> list[Evidence]:
        """The findings that not all of the diseases have, disease by disease."""
        hops = ByRole(self.graph, Role.FINDING).objects(diseases)
        edges = {(o, n): e for o, n, e in zip(*(column.tolist() for column in hops), strict=True)}
        shared = Counter(feature for _, feature in edges)
        found = []
        for place, disease in enumerate(diseases):
            apart = [f for of, f in edges if of == place and (shared[f] < len(diseases) or len(diseases) == 1)]
            first = sorted(apart, key=lambda f: (f not in own, shared[f], f))[: self.features]
            if not first:
                continue
            entity, triples = self.graph.at(disease), tuple(self.graph.triple(edges[place, f]) for f in first)
            text = f"{entity.name} {told(entity, triples)}"
            found.append(Evidence(text, "neighbours", triples, (entity,), float(votes[disease])))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MedRAGSettings:
    """The numbers of MedRAG."""

    categories: int = 1  # code, top_n: categories whose diseases are told apart
    diseases: int = 10  # ours: of one category, those with most votes; the code takes all, of its graph at most 9
    features: int = 10  # ours: of one disease; the code tells all
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register("medrag", presets=both(MedRAGSettings()))
def medrag(toolkit: Toolkit, *, settings: MedRAGSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or MedRAGSettings(), "medrag"
    read = LLMReader(model(toolkit, name), name="medrag/reader", max_tokens=s.answer_tokens, prompts=toolkit.prompts)
    return aided(toolkit, name, retrieve=(Differences(toolkit.graph, s.categories, s.diseases, s.features),), read=read)


# --- Think-on-Graph (Sun et al. 2024, arXiv 2307.07697): a model searches a graph in a beam, step by step.
#
# Its steps: the entities of the question; then, at most `depth` times, from the end of each of at most `width` paths
# the model chooses the relations to go on by, among what these lead to it chooses the `width` paths to keep, and it
# says whether they are enough. Where they are, it answers from them; where they never are, from what it knows itself.


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
            ways = [way for on, stay in zip(onward, stays, strict=True) for way in on or stay]
            beam = self._kept(query, ways)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkOnGraphSettings:
    """The numbers of Think-on-Graph."""

    width: int = 3  # paper, N
    depth: int = 3  # paper, D_max
    ends: int = 20  # code: entities that one relation leads to, at most
    relations: int = 200  # ours: triples looked at around one entity
    choose_tokens: int = 256  # paper
    answer_tokens: int = ANSWER_TOKENS  # ours; 256 in the paper


@methods.register("think-on-graph", presets=both(ThinkOnGraphSettings()))
def think_on_graph(toolkit: Toolkit, *, settings: ThinkOnGraphSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or ThinkOnGraphSettings(), "think-on-graph"
    llm = model(toolkit, name)
    beam = Beam(toolkit.graph, llm, s.width, s.depth, s.ends, s.relations, s.choose_tokens, toolkit.prompts)
    return aided(toolkit, name, retrieve=(beam,), phrase=NumberedChains(), read=reader(toolkit, llm, s.answer_tokens))
