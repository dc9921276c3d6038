"""MindMap (Wen et al. 2024): paths and neighbours of the question's entities, reasoned over by a model.

The paper, step by step, and the field of the pipeline (`mindmap`) that does it:

- I.1 `recognize`: entities that a model lists after two examples (`Listed`); `link`: the nearest names, all different.
- I.2 `retrieve`: shortest paths from entity to entity (`MindMapPaths`), and neighbours, again of those that matter
  (`Relevant`); five of each are kept.
- II `phrase`: both as sentences with labels P1, N1 (`Rewritten`).
- III `read`: answer, reasoning graph and decision tree, from evidence and own knowledge (`MindMapReader`).
- `check`: ours, whether the steps are what the evidence says (`Reasoning`); as published the text stays as it is.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from random import Random
from typing import ClassVar, Literal, NamedTuple

from kgmed.errors import BadInput
from kgmed.facts.view import OFFERED, PIECES, AskedTriples, ForPatient, InTurn, TiesFirst, is_apt, only_helpful
from kgmed.frame import Intent
from kgmed.graph.base import KnowledgeGraph, LocalGraph
from kgmed.graph.names import Fuzzy
from kgmed.graph.search.paths import Direction, shortest
from kgmed.language.text import one_line, prompt_language
from kgmed.linking.by_model import OrElse, locate_terms
from kgmed.linking.cascade import Candidates, Dense
from kgmed.methods.hykge import WithOptions
from kgmed.models.base import LLM, Sampling
from kgmed.models.replies import Outputs, cited_labels, labels, marks, names, outputs, tree, with_marks
from kgmed.pipeline import Pipeline, Reader, Retriever, note
from kgmed.prompts import ANSWER_TOKENS, of_preset, prompt, task
from kgmed.records import Answer, Context, Entity, Evidence, Link, Mention, Query, Role, Triple
from kgmed.registry import About, Calls, methods
from kgmed.steps.facts import facts
from kgmed.steps.options import chosen_letters
from kgmed.steps.phrase import NumberedChains, Rewritten
from kgmed.steps.rank import (
    Every,
    Fact,
    OfTypes,
    Relevance,
    RelevanceByModel,
    Similar,
    SimilarOrAsked,
    fact,
    served_roles,
)
from kgmed.steps.read import FittedReply, abstains, ask, nothing, of_model, useful
from kgmed.steps.retrieve import Neighbours, PathRetriever, anchors
from kgmed.steps.tree import Reasoning, draw_text
from kgmed.toolkit import Toolkit

# --- Recogniser: the medical entities that a model lists between commas (MindMap, step 1).


@dataclass(frozen=True, slots=True)
class Listed:
    """The entities of question and options, by a prompt with two worked examples; one that lists none is no failure.

    What the model lists and the question does not say has start -1; of a reply that rambles at most `most` are taken.
    """

    llm: LLM
    name: str = "mindmap/extract"
    most: int = 20  # ours: a bound for a model that does not stop
    max_tokens: int = 128
    prompts: Path | None = None

    def __call__(self, query: Query, /) -> list[Mention]:
        """The entities in the order of the text; those that do not stand in it come first."""
        if query.question.blank:
            return []
        asked = prompt(self.name, language=prompt_language(query.question), folder=self.prompts)
        reply = self.llm(asked.messages(question=query.question.with_options), max_tokens=self.max_tokens)
        return locate_terms(query.text, names(reply.text)[: self.most])


# --- Links in which no two mentions stand for one entity, as MindMap links (Wen et al. 2024, 3.1).


@dataclass(frozen=True)
class Unique:
    """Each mention in turn gets the best of its `k` candidates that no mention before it has taken.

    Mentions of one name share its entity: they are one keyword, written twice.
    """

    candidates: Candidates
    k: int = 8

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention; a mention whose candidates are all taken has none."""
        taken: dict[str, str] = {}  # entity -> the name it was linked from
        found: list[Link] = []
        for mention, matches in zip(mentions, self.candidates.topk(mentions, self.k), strict=True):
            for match in matches:
                if taken.setdefault(match.entity.id, mention.name) == mention.name:
                    found.append(Link(mention, match.entity, match.score, match.how))
                    break
        return found


# --- Retriever: MindMap's neighbour evidence, what stands around the linked entities and around their relevant
# neighbours.
# Wen et al. 2024, 3.2: all triples of an entity are candidates; a neighbour that has to do with the question brings in
# its own triples as well. Candidates are ranked first and capped afterwards, and nothing outlives a question.


_Found = tuple[Triple, Entity, tuple[Entity, ...]]  # a triple, where it stands, and from where it was reached


class _Scored(NamedTuple):
    """A triple at an entity, how relevant it is, and the linked entities that it was reached from."""

    triple: Triple
    at: Entity
    score: float
    about: tuple[Entity, ...]


@dataclass(frozen=True)
class Relevant:
    """At most `keep` rows, labelled N1, N2, ...: an entity, a relation, and the entities at its other end.

    Evidence: kind "neighbours"; score = that of its most relevant triple; about = the linked entity, and after it the
    neighbour that the row is of. A row that warns is kept beyond `keep` where `warnings` are. Notes say what is not
    shown.
    """

    graph: KnowledgeGraph
    relevance: Relevance = field(default_factory=Every)
    keep: int = 5  # the authors' code
    listed: int = 8  # ours: names in a row
    expand: int = 5  # ours: relevant neighbours that bring in their own triples
    limit: int = 500  # ours: triples looked at around one entity
    through: tuple[str, ...] = ()  # kinds of neighbours that are expanded; () = any (the authors' code: diseases)
    skip: tuple[Role, ...] = ()  # roles left out around a neighbour (the authors' code: has_symptom)
    warnings: bool = True  # whether triples that warn are relevant whatever is asked
    ranked: bool = True  # False = the paper's: all of a linked entity in the graph's order, then of relevant neighbours

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The rows, most relevant first."""
        entities = list(dict.fromkeys(link.entity for link in links if not link.mention.negated))
        near = self._scored(query, _distinct((t, e, (e,)) for e in entities for t in self._around(e)))
        rows = list(self._rows(near))
        rows += self._rows(self._beyond(query, near, entities)) if self.ranked or len(rows) < self.keep else ()
        if self.ranked:
            rows.sort(key=lambda e: -e.score)  # stable: of equals what is at a linked entity first
            rows = list(_new(rows))
        kept = [e for i, e in enumerate(rows) if i < self.keep or (e.is_safety and self.warnings)]
        if len(kept) < len(rows):
            note(f"neighbours: {len(kept)} of {len(rows)} rows shown")
        for hub in (e for e in entities if len(self._around(e)) >= self.limit):
            note(f"neighbours: only {self.limit} triples of {hub.name} were looked at")
        return [replace(e, id=f"N{i}") for i, e in enumerate(kept, start=1)]

    def _around(self, entity: Entity) -> list[Triple]:
        return self.graph.neighbours(entity.id, limit=self.limit)

    def _scored(self, query: Query, found: Sequence[_Found]) -> list[_Scored]:
        """The relevant triples, and those that warn."""
        scores = self.relevance(query, [t for t, _, _ in found]).tolist()
        every = [_Scored(t, at, score, about) for (t, at, about), score in zip(found, scores, strict=True)]
        return [
            s for s in every if s.score > 0 or not self.ranked or (s.triple.relation.role.is_safety and self.warnings)
        ]

    def _beyond(self, query: Query, near: Sequence[_Scored], entities: Sequence[Entity]) -> list[_Scored]:
        """The relevant triples around the most relevant neighbours that are not linked themselves."""
        best: dict[Entity, _Scored] = {}
        for s in sorted(near, key=lambda s: -s.score):
            other = _other(s)
            if s.triple.relation.role in self.leaves(query):
                continue
            if s.score > 0 and other.id and other not in entities and (not self.through or other.kind in self.through):
                best.setdefault(other, s)
        chosen = list(best.items())[: self.expand if self.ranked else self.keep]
        known = {fact(s.triple) for s in near}
        found = _distinct((t, n, (*s.about, n)) for n, s in chosen for t in self._around(n))
        new = [f for f in found if f[0].relation.role not in self.skip and fact(f[0]) not in known]
        if not self.ranked:
            return [_Scored(t, at, 1.0, about) for t, at, about in new]
        return [s for s in self._scored(query, new) if s.score > 0]

    def leaves(self, query: Query) -> tuple[Role, ...]:
        """The roles at whose other end an answer stands, which no search goes on from."""
        return served_roles(query.frame) if isinstance(self.relevance, SimilarOrAsked) else ()

    def _rows(self, scored: Iterable[_Scored]) -> Iterator[Evidence]:
        """The triples grouped by entity, relation and direction."""
        groups: dict[tuple[str, str, bool], list[_Scored]] = {}
        for s in scored:
            groups.setdefault((s.at.id, s.triple.relation.name, s.triple.head == s.at), []).append(s)
        for group in groups.values():
            if self.ranked:
                group.sort(key=lambda s: -s.score)
            yield _row(group[: self.listed] if self.ranked else group, len(group))


def _distinct(found: Iterable[_Found]) -> list[_Found]:
    """The triples around each entity, of those that say the same the first."""
    once: dict[tuple[str, Fact], _Found] = {}
    for row in found:
        once.setdefault((row[1].id, fact(row[0])), row)
    return list(once.values())


def _new(rows: Iterable[Evidence]) -> Iterator[Evidence]:
    """The rows, without those whose every fact a row before has told: the same from its other end."""
    told: set[Fact] = set()
    for row in rows:
        facts = {fact(t) for t in row.triples}
        if not facts <= told:
            yield row
        told |= facts


@dataclass(frozen=True)
class AskedRows:
    """At most `keep` rows of what the frame asks for, labelled N1, N2, ...: ties first, then in turn of each entity.

    Evidence as `Relevant` has it; a warning is kept beyond `keep`.
    """

    view: Retriever
    keep: int = 5
    listed: int = 8  # ours: names in a row

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The rows."""
        found = self.view(query, links)
        ends = Counter(key for e in found for key in _ends_of(e))
        groups: dict[tuple[object, ...], list[Evidence]] = {}
        for e in found:
            groups.setdefault(max(_ends_of(e), key=ends.__getitem__), []).append(e)
        ranked = TiesFirst(InTurn(), self.keep)(query, [self._row(rows) for rows in groups.values()])
        return [e if e.id else replace(e, id=f"N{i}") for i, e in enumerate(ranked, start=1)]

    def _row(self, pieces: Sequence[Evidence]) -> Evidence:
        """The triples of one entity and relation as a row; any other piece as it is."""
        first = pieces[0]
        if first.kind != "triple" or not first.triples:
            return first
        t = first.triples[0]
        at = t.head if len({e.triples[0].head for e in pieces}) == 1 else t.tail
        return _row([_Scored(e.triples[0], at, e.score, e.about) for e in pieces[: self.listed]], len(pieces))


def _ends_of(piece: Evidence) -> list[tuple[object, ...]]:
    """The rows that a piece may stand in: of its relation at its head, and at its tail."""
    if not piece.triples:  # a warning in words alone
        return [(piece.kind, piece.text)]
    t, kind = piece.triples[0], piece.kind
    return [(kind, piece.about, t.relation.name, end.id or end.name, i) for i, end in enumerate((t.head, t.tail))]


@dataclass(frozen=True)
class AptPaths:
    """The paths of a retriever that are short and have a step that is asked for, labelled anew."""

    paths: Retriever

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The paths kept."""
        kept = [e for e in self.paths(query, links) if is_apt(e, query.frame)]
        return [replace(e, id=f"P{i}") for i, e in enumerate(kept, start=1)]


def _other(scored: _Scored) -> Entity:
    return scored.triple.tail if scored.triple.head == scored.at else scored.triple.head


def _row(shown: Sequence[_Scored], there: int) -> Evidence:
    """One row as evidence; it says how many names it leaves out."""
    first = shown[0]
    names = ", ".join(one_line(_other(s).name) for s in shown)
    more = f" (+{there - len(shown)})" if there > len(shown) else ""
    relation, at = first.triple.relation, one_line(first.at.name)
    text = f"{at} — {relation} → {names}" if first.triple.head == first.at else f"{names} — {relation} → {at}"
    return Evidence(text + more, "neighbours", tuple(s.triple for s in shown), first.about, first.score)


# --- Retriever: MindMap's path evidence, pruned so that every start of a path has its share.
# Paths are grouped by their first entity. Of one group the first `keep` stay; of `keep` groups or more one path each;
# in
# between `keep` // groups of each, and what is left over goes to the last (Wen et al. 2024, 3.2; the paper samples
# within
# a group, the authors' code takes the first).


Order = Literal["given", "closest"]


@dataclass(frozen=True)
class MindMapPaths:
    """At most `keep` paths through the linked entities, labelled P1, P2, ... (evidence as `Paths` describes it).

    `order="closest"` starts at the closest pair and goes on to the nearest entity left, instead of in the order of the
    question. `sample` draws all but the best of a group, the same for the same question. Paths that say the same in
    other directions count once. Notes tell of all that is not shown.
    """

    graph: LocalGraph
    hops: int = 5  # the authors' code; the paper is silent
    keep: int = 5  # the authors' code
    direction: Direction = "both"  # the authors' code: "out", on a graph that states every relation in both directions
    order: Order = "given"
    sample: bool = False
    pool: int = 50  # ours: paths that are pruned

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The paths kept, those of one start together."""
        ordered = self._nearest(links) if self.order == "closest" else links
        every = PathRetriever(self.graph, hops=self.hops, keep=max(self.pool, self.keep), direction=self.direction)(
            query, ordered
        )
        once: dict[tuple[Fact, ...], Evidence] = {}
        for path in every:
            once.setdefault(tuple(map(fact, path.triples)), path)
        found = list(once.values())
        seed = int.from_bytes(blake2b(query.text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        kept = pruned(found, self.keep, random=Random(seed) if self.sample else None)  # noqa: S311
        if len(kept) < len(found):
            note(f"paths: {len(kept)} of {len(found)} kept, spread over their starts")
        if self.order == "closest":
            note("paths: entities taken closest first")
        return [replace(e, id=f"P{i}") for i, e in enumerate(kept, start=1)]

    def _nearest(self, links: Sequence[Link]) -> list[Link]:
        """The links of stated entities: the closest pair, then always the nearest to the last; ties as given."""
        nodes = anchors(self.graph, links)
        steps = {frozenset(pair): self._steps(*pair) for pair in combinations(nodes, 2)}
        if not steps:
            return list(links)
        pair = min(steps, key=steps.__getitem__)
        route = [n for n in nodes if n in pair]
        while left := [n for n in nodes if n not in route]:
            route.append(min(left, key=lambda n: steps[frozenset((route[-1], n))]))
        by_node = {self.graph.number(link.entity.id): link for link in reversed(links) if not link.mention.negated}
        return [by_node[n] for n in route]

    def _steps(self, a: int, b: int) -> int:
        """The length of the shortest path between two nodes; more than any where there is none."""
        distance = shortest(self.graph.adjacency, a, b, hops=self.hops, direction=self.direction).distance
        return distance if distance >= 0 else self.hops + 1


def pruned(paths: Sequence[Evidence], keep: int, *, random: Random | None = None) -> list[Evidence]:
    """At most `keep` of the paths, grouped by the entity they start from; `random` draws all but the best of each.

    >>> from kgmed.records import Entity
    >>> starts = [Evidence(t, "path", about=(Entity(t[0], t[0]),)) for t in ("a1", "a2", "a3", "a4", "b1", "b2", "b3")]
    >>> [e.text for e in pruned(starts, 5)]
    ['a1', 'a2', 'b1', 'b2', 'b3']
    """
    groups: dict[str, list[Evidence]] = {}
    for path in paths:
        groups.setdefault(path.about[0].id, []).append(path)
    rows = list(groups.values())
    if random is not None:
        rows = [[row[0], *random.sample(row[1:], len(row) - 1)] for row in rows]
    if len(rows) >= keep:
        return [row[0] for row in rows[:keep]]
    shares = [min(len(row), keep // len(rows)) for row in rows]
    for i in range(len(rows) - 1, -1, -1):  # the last group has what is left over, then those before it
        shares[i] += min(len(rows[i]) - shares[i], keep - sum(shares))
    return [path for row, share in zip(rows, shares, strict=True) for path in row[:share]]


# --- A reader that asks a model for MindMap's three outputs: an answer, a reasoning graph, and a decision tree.
# `Answer.text` is the first output, with marks such as [1] for the labels (P1); `Answer.reasoning` holds the other two
# under the headings "Output 2:" and "Output 3:", the tree drawn anew. `kgmed.models.replies` reads them again, so
# that a
# checker need not know this reader.


Job = Literal["auto", "diagnosis", "options", "food", "open"]  # what the prompt asks for; auto = by the question
_HEADING = re.compile(r"^(?:Output|输出)\s*\d\s*[:：]\s*")


@dataclass(frozen=True, slots=True)
class MindMapReader:
    """The model's three outputs; a part that is missing stays empty, and `limits` say so.

    A first output that is of no use raises `ModelFailed`. Without evidence it abstains and the model is not asked,
    unless it may add what it knows: then the evidence stands in a turn of its own, as in the paper.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    job: Job = "auto"
    max_tokens: int = ANSWER_TOKENS
    prompts: Path | None = None
    instruction: bool = True  # to combine evidence and own knowledge, where the task lets it

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer; its citations are the numbers of the evidence that any part names."""
        if not context.cited and not task().own_knowledge:
            return nothing(query.question, context, f"mindmap {self.llm.name}")
        name, values = (
            ("mindmap/reason" if task().cites else "mindmap/infer"),
            {"job": self._part(self._job(query), query)},
        )
        if not task().cites:
            values["combine"] = self._part("combine", query) if self.instruction else ""
        most, own = self.max_tokens, self.prompts
        said = ask(
            self.llm, name, query.question, context, max_tokens=most, prompts=own,
            part=lambda reply: outputs(reply).summary, **values,
        )  # fmt: skip
        parts = outputs(said.text)
        lines = [_HEADING.sub("", line) for line in said.instructions]  # an example that is taken for the answer
        useful(parts.summary, query.question, model=self.llm.name, instructions=lines, fence=said.fence)
        return _answer(f"mindmap {self.llm.name}, prompt {said.prompt}", parts, query, context, said)

    def _job(self, query: Query) -> str:
        if self.job != "auto":
            return self.job
        if query.question.options:
            return "options"
        frame = query.frame
        if Intent.DIET in frame.intents:
            return "food"
        return "diagnosis" if Intent.DIAGNOSIS in frame.intents[:1] else "open"

    def _part(self, step: str, query: Query) -> str:
        """The words of one part of the prompt."""
        asked = prompt(f"mindmap/{step}", language=prompt_language(query.question), folder=self.prompts)
        return asked.messages()[0].text


def _answer(reader: str, parts: Outputs, query: Query, context: Context, said: FittedReply) -> Answer:
    """The parts as an answer, with what is missing or invented in `limits`."""
    number = {label: i for i, label in enumerate(labels(context.cited)[: said.shown], start=1)}
    summary = with_marks(parts.summary, number)
    named = cited_labels("\n".join([parts.summary, parts.inference, parts.tree]))
    marked = (n for n in marks(parts.summary) if 1 <= n <= said.shown)
    cited = tuple(dict.fromkeys([*marked, *(number[label] for label in named if label in number)]))
    chosen = chosen_letters(parts.summary, query.question.options)
    abstained = abstains(parts.summary, chosen)
    there = len(context.cited)
    limits = [
        *([f"the model read the first {said.shown} of {there} pieces of evidence"] if said.shown < there else []),
        *([] if parts.inference or abstained else ["the model wrote no reasoning graph"]),
        *([] if parts.tree or abstained else ["the model wrote no decision tree"]),
        *([] if cited or abstained or not task().cites else ["the model cited no evidence"]),
        *(["the reply was cut off"] if said.cut_off else []),
    ]
    return of_model(summary, cited, chosen, limits, _reasoning(parts), abstained=abstained, reader=reader)


def _reasoning(parts: Outputs) -> str:
    """The second and third output under their headings; a tree that is none is left as it was written."""
    texts = (parts.inference, draw_text(tree(parts.tree)) or parts.tree)
    return "\n".join(f"Output {i}:\n{text}" for i, text in enumerate(texts, start=2) if text)


MindMapPreset = Literal["safe", "paper", "code"]
Strategy = Literal["asked", "all", "types", "cosine", "llm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MindMapSettings:
    """The numbers of MindMap; where the paper gives none, the default is its code's or ours, as said."""

    hops: int = 5  # code; the paper is silent
    paths: int = 5  # code
    neighbours: int = 5  # code
    direction: Direction = "both"  # ours: a graph need not state inverse relations; code: "out"
    order: Order = "given"  # code: as extracted
    sample: bool = True  # paper: drawn at random within the paths of one start; code: the first
    relevance: Strategy = "cosine"  # paper: "semantically related", by no named test; code: by relation; safe: "asked"
    at_least: float = 0.3  # ours, of the cosine
    ranked: bool = False  # ours, of the preset safe: rows are those of relevant triples, ranked, none told twice
    through: tuple[str, ...] = ()  # paper: any relevant neighbour; code: diseases
    skip: tuple[Role, ...] = ()  # code: the symptoms of such a disease are left out
    # paper: the nearest name, no threshold; "names" = the toolkit's own stages
    link: Literal["cosine", "names"] = "cosine"
    link_at_least: float = 0.0  # paper and code: none
    rewrite: bool = True  # paper and code: a model puts the evidence into sentences
    warnings: bool = False  # ours, of the preset safe: rows that warn stand beyond `neighbours`
    asked: bool = False  # ours, of the preset safe: short paths, and rows of what the frame asks for (kgmed.facts.view)
    helpful: bool = False  # ours, of the preset safe: the model leaves out the pieces that do not help
    extract_tokens: int = 128  # ours
    rewrite_tokens: int = 600  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours
    temperature: float = 0.7  # code (the default of its client); the paper names none; the preset safe: 0
    job: Job = "auto"  # what is asked for: told from the question
    instruction: bool = True  # Table 6: without = "w/o p1", the instruction to combine evidence and own knowledge


PAPER = MindMapSettings()
CODE = replace(PAPER, direction="out", sample=False, relevance="types", through=("disease",), skip=(Role.FINDING,))
PRESETS: dict[MindMapPreset, MindMapSettings] = {
    "safe": replace(
        PAPER, temperature=0.0, warnings=True, relevance="asked", ranked=True, link="names",
        neighbours=PIECES - PAPER.paths, asked=True, helpful=True,
    ),
    "paper": PAPER,
    "code": CODE,
}  # fmt: skip


@methods.register(
    "mindmap",
    about=About(
        paper="MindMap",
        by="Wen et al.",
        year=2024,
        where="ACL 2024, arXiv 2308.09729",
        does="paths and neighbours of the question's entities, put into sentences and reasoned over in three parts",
        calls=Calls(4, 2, 4, "entities, sentences for paths and for neighbours, the answer; paper and code"),
        ours=(
            "searches go both ways, since a graph need not state inverse relations",
            "by preset safe a sentence that lost its triple is replaced by the chain, and neighbours are ranked first",
        ),
        encoder="sentence-transformers/all-mpnet-base-v2",
    ),
    presets=PRESETS,
)
def mindmap(toolkit: Toolkit, *, preset: MindMapPreset = "safe", settings: MindMapSettings | None = None) -> Pipeline:
    """The method on a graph; `settings` in place of the preset's. Four calls of the model, two without `rewrite`.

    By preset safe the graph's own names are looked for where the model lists no entity, and the facts are read where it
    writes nothing usable, which the run says. Raises `BadInput` without a model.
    """
    if toolkit.llm is None:
        raise BadInput("the method mindmap needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s, llm = settings or PRESETS[preset], toolkit.llm
    nearest = Dense(toolkit.graph, toolkit.fact_encoder, Fuzzy(toolkit.graph), s.link_at_least, 0.0, 0.0)
    return Pipeline(
        recognize=OrElse(
            Listed(llm, max_tokens=s.extract_tokens, prompts=toolkit.prompts), WithOptions(toolkit.recognize)
        ),
        link=Unique(toolkit.link if s.link == "names" else nearest),
        understand=toolkit.understand,
        retrieve=_retrievers(toolkit, llm, s),
        rank=(*(only_helpful(toolkit, PIECES) if s.helpful else ()), ForPatient(toolkit.graph)) if s.asked else (),
        phrase=Rewritten(llm, max_tokens=s.rewrite_tokens, prompts=toolkit.prompts) if s.rewrite else NumberedChains(),
        read=WithNotes(MindMapReader(llm, s.job, s.answer_tokens, toolkit.prompts, instruction=s.instruction)),
        check=Reasoning(toolkit.graph, toolkit.check),
        otherwise=WithNotes(facts),
        name=f"mindmap ({s.relevance})",
        graph=toolkit.graph.label,
        task=of_preset(preset),
        sampling=Sampling(s.temperature),
    )


def _retrievers(toolkit: Toolkit, llm: LLM, s: MindMapSettings) -> tuple[Retriever, Retriever]:
    """Paths and rows; of what is asked, short paths alone and rows of the view in place of those around neighbours."""
    paths = MindMapPaths(
        toolkit.graph, hops=s.hops, keep=s.paths, direction=s.direction, order=s.order, sample=s.sample
    )
    around = Relevant(
        toolkit.graph,
        relevance(toolkit, llm, s),
        keep=s.neighbours,
        through=s.through,
        skip=s.skip,
        warnings=s.warnings,
        ranked=s.ranked,
    )
    if not s.asked:
        return paths, around
    view = AskedTriples(toolkit.graph, toolkit.linked, Neighbours(toolkit.graph, limit=around.limit))
    return AptPaths(paths), AskedRows(view, OFFERED if s.helpful else s.neighbours)


def relevance(toolkit: Toolkit, llm: LLM, settings: MindMapSettings) -> Relevance:
    """The test of a neighbour that the settings name; raises `BadInput` for one there is not."""
    ways: dict[str, Relevance] = {
        "asked": SimilarOrAsked(toolkit.fact_encoder, settings.at_least),
        "all": Every(),
        "types": OfTypes(),
        "cosine": Similar(toolkit.fact_encoder, settings.at_least),
        "llm": RelevanceByModel(llm, prompts=toolkit.prompts),
    }
    if settings.relevance not in ways:
        raise BadInput(f"MindMap has no relevance {settings.relevance!r}; take {', '.join(ways)}")
    return ways[settings.relevance]


@dataclass(frozen=True, slots=True)
class WithNotes:
    """A reader whose answer says what was lost or left out when its evidence was rewritten."""

    read: Reader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer with the notes among its limits."""
        answer = self.read(query, context)
        return replace(answer, limits="; ".join([*filter(None, [answer.limits]), *context.notes]))
