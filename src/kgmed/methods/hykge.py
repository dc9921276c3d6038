"""HyKGE (Jiang et al. 2025, arXiv 2312.15883): chains between the entities of question and hypothesis, reranked.

The paper, step by step, and the field of the pipeline (`hykge`) that does it:

- Eq. 1 `expand`: a hypothesis of the model, which serves to search and to rank and is never shown to the reader.
- Eq. 2 `recognize`: terms of question and hypothesis (W2NER); `link`: the nearest names, from delta on (`Dense`).
- `retrieve`: chains between every two entities, in three shapes of at most k steps (`ChainRetriever`).
- Eq. 3, 4 `rank`: chunks of question and hypothesis by chains, a reranker's best topK (`Fragments`, `TopChains`).
- Eq. 5 `phrase`: the chains with descriptions of their ends (`Arrows`); `read`: the answer, the second call.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log, sqrt
from pathlib import Path
from typing import Literal, NamedTuple

from kgmed.errors import BadInput, ModelFailed, PromptTooLong
from kgmed.facts.view import OFFERED, asked_or, few
from kgmed.graph.base import LocalGraph
from kgmed.graph.names import Fuzzy
from kgmed.graph.search import chains as search
from kgmed.language.text import one_line, prompt_language
from kgmed.linking.by_model import DrawnEntities, OrElse
from kgmed.linking.cascade import AGREEMENT, Cascade, Dense, Spelled
from kgmed.models.asking import without_thinking
from kgmed.models.base import LLM, PairScorer, Sampling, is_model
from kgmed.models.scorers import LexicalPairs
from kgmed.pipeline import Fact, Phraser, Pipeline, Ranker, Recognizer, Retriever, note
from kgmed.prompts import ANSWER_TOKENS, of_preset, prompt, task
from kgmed.records import Context, Entity, Evidence, Link, Mention, Query, Role, Triple
from kgmed.registry import About, Calls, methods
from kgmed.steps.citations import terms
from kgmed.steps.expand import Guess
from kgmed.steps.facts import facts
from kgmed.steps.family import Family
from kgmed.steps.phrase import Arrows
from kgmed.steps.rank import BM25, Aggregate, Cut, Fragments, Unit
from kgmed.steps.read import LLMReader, ask, context_lines, expected_language, fault, fewer
from kgmed.steps.retrieve import First, Neighbours, anchors, arrows, triple_evidence
from kgmed.stop import check_stop
from kgmed.toolkit import Toolkit

# --- Retriever: HyKGE's chains between every two linked entities.


@dataclass(frozen=True)
class ChainRetriever:
    """The most specific `per_pair` chains of up to `hops` steps between every two entities (HyKGE 3.3).

    Evidence: kind "path", "co_ancestor" or "co_occurrence"; about = both ends, the one linked first in front; triples
    in walking order; score = 1 / product of the inner nodes' degrees, so 1 for a single edge. A question with one
    entity has no chains: set `Neighbours` beside. Where a budget cut the search, a note says so.
    """

    graph: LocalGraph
    hops: int = 3  # HyKGE A.2.3; the authors' code stops at 2
    per_pair: int = 20  # not in the paper, whose reranker sees all; 0 = all
    shapes: tuple[str, ...] = search.SHAPES
    budget: search.SearchBudget | None = None  # None = the search's own

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The chains of each pair in turn, in the order of the links, the most specific first."""
        nodes = anchors(self.graph, links)
        most, shapes = self.per_pair or _ALL, self.shapes
        found = search.chains(
            self.graph.adjacency, nodes, hops=self.hops, per_pair=most, budget=self.budget, shapes=shapes
        )
        place = {node: i for i, node in enumerate(nodes)}
        turned = [place[a] > place[b] for a, b in found.pairs.tolist()]
        turn = [sorted((place[a], place[b])) for a, b in found.pairs.tolist()]
        pair = found.pair.tolist()
        evidence = self._evidence(found, [turned[p] for p in pair])
        order = sorted(range(len(found)), key=lambda i: turn[pair[i]])
        _note_cut(found)
        return [evidence[i] for i in order]

    def _evidence(self, found: search.Chains, turned: Sequence[bool]) -> list[Evidence]:
        """A piece for each row; `turned` rows are read from their higher anchor to their lower one."""
        triple, ends = cache(self.graph.triple), found.pairs.tolist()
        columns = (found.length, found.edges, found.forward, found.pair, found.weight)
        pieces = []
        for i, (n, edges, forward, pair, weight) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            check_stop()
            along, triples, about = forward[:n], tuple(map(triple, edges[:n])), tuple(map(self.graph.at, ends[pair]))
            if turned[i]:
                along, triples, about = [not x for x in along[::-1]], triples[::-1], about[::-1]
            pieces.append(Evidence(arrows(triples, along), found.kind(i), triples, about, 1 / weight))
        return pieces


_ALL = 1 << 30  # chains of a pair, or a window that holds any text


def _note_cut(found: search.Chains) -> None:
    """Notes of how many chains there are, and where the search was cut."""
    if len(found.pairs):
        note(Fact(f"chains: {int(found.total.sum()):,} between {len(found.pairs)} pairs, {len(found):,} looked at"))
    if found.truncated:
        cut, seen = ", ".join(found.cut), int(found.total.sum())
        note(f"chains: the search stopped at its budget ({cut}); at least {seen} chains, more unseen")


ENCODER = "damo/nlp_gte_sentence-embedding"  # A.2.3; `similar` is a similarity of its vectors
HyKGEPreset = Literal["safe", "paper", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HyKGESettings:
    """The numbers of HyKGE. Those of the paper stand in 4.1.4 and A.2.3."""

    hypothesis: bool = True  # Table 2: without = "w/o HO"
    hypothesis_tokens: int = 500  # paper and code
    similar: float = 0.7  # paper, delta of linking; 0.6 in the code
    # of the words that differ: none is asked for in the paper; the preset safe: linking/cascade.py
    agreement: float = 0.0
    chains: bool = True  # Table 2: without = "w/o chains"; ours: the triples of each entity in their place
    hops: int = 3  # paper, k; the code reads 3 and goes 2
    per_pair: int = 50  # ours: the most specific of a pair; 0 = all, as the paper, which takes 19 GB on CMeKG
    shapes: tuple[str, ...] = search.SHAPES  # A.8: each alone
    alone: Literal["never", "alone", "always"] = "never"  # triples of an entity that no chain joins; code: always
    relations: int = 100  # ours: such triples of one entity at most
    asked: int = 0  # ours, of the preset safe: pieces in all, of what the frame asks for (kgmed.facts.view); 0 = all
    helpful: bool = False  # ours, of the preset safe: the model leaves out the pieces that do not help
    rerank: bool = True  # Table 2: without = "w/o reranker", the first `keep` in the order found
    pool: int = 0  # paper: the pair scorer sees all; the preset safe: 200 that BM25 leaves
    fragments: bool = True  # Table 2: without = "w/o fragment", the question and the hypothesis as a whole
    window: int = 10  # paper, lc in words; 35 characters in the code
    overlap: int = 4  # paper, oc in words; 15 characters in the code
    window_cjk: int = 35  # code: characters, where words are not told apart
    overlap_cjk: int = 15  # code
    unit: Unit = "segmented"  # ours: words, of Chinese by jieba, as its code drops stop words; the paper names none
    aggregate: Aggregate = "max"  # what the code means to do
    keep: int = 10  # paper, topK; 11 in the code
    same_pattern: int = 0  # paper: any; the preset safe: 3 of one pattern (ends, relations, directions) at most
    same_pair: int = 0  # paper: any; the preset safe: 3 between the same two entities at most
    warnings: int = 0  # ours, of the preset safe: contraindications of what is asked about, beside the chains
    descriptions: bool = True  # Table 2: without = "w/o description"
    described_from: float = 0.0  # paper: all; 0.2 in the code
    recognizer: Literal["tagger", "model"] = "tagger"  # Table 4: "model" = the language model finds the terms
    reranker: Literal["pairs", "model"] = "pairs"  # Table 4: "model" = the language model chooses the chains
    summary: bool = False  # Table 4: the language model sums the chains up before they are read
    listed: int = 50  # ours: chains that the model chooses among
    extra_tokens: int = 400  # ours: of a list of terms, a choice, a summary
    answer_tokens: int = 500  # paper, A.2.3, of every method there; the preset safe: that of all methods
    temperature: float = 0.6  # paper, A.2.3, of every method there; 1 in the code, by its client's default; safe: 0


PAPER = HyKGESettings()
PRESETS: dict[HyKGEPreset, HyKGESettings] = {
    "safe": replace(
        PAPER, temperature=0.0, agreement=AGREEMENT, hops=2, alone="always", unit="script", pool=200, same_pattern=3,
        same_pair=3, warnings=3, answer_tokens=ANSWER_TOKENS, asked=10, helpful=True, descriptions=False,
    ),
    "paper": PAPER,
    "code": replace(
        PAPER, similar=0.6, hops=2, alone="always", window=35, overlap=15, unit="char", keep=11, described_from=0.2,
        temperature=1.0,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WithOptions:
    """A recogniser over question, options and hypothesis, in this order, none of them cut.

    As published nothing is denied: the papers look for the terms of a text, whatever it says of them.
    """

    recognize: Recognizer

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions; those in the question keep their places."""
        asked = query.question
        found = self.recognize(Query(replace(asked, text=asked.words), query.hypothesis))
        return [replace(m, negated=False) for m in found] if task().published else found


@dataclass(frozen=True, slots=True)
class WithSingles:
    """The chains and, for linked entities that none joins to another, what `around` finds.

    The paper leaves these without evidence, and so every question with one entity.
    """

    chains: ChainRetriever
    around: Retriever

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The chains first."""
        chains = self.chains(query, links)
        joined = {entity for e in chains for entity in e.about}
        return [*chains, *self.around(query, [link for link in links if link.entity not in joined])]


class OptionFact(NamedTuple):
    """What the graph says of an option: the triple, the option, the words that its other end shares with a question."""

    triple: Triple
    about: Entity
    shared: frozenset[str]
    words: int

    def weight(self, worth: Mapping[str, float]) -> float:
        """How much it has to do with the question."""
        return sum(worth[word] for word in self.shared) / sqrt(self.words) if self.shared else 0.0


@dataclass(frozen=True)
class OptionFacts:
    """Retriever for exam questions: what the graph says of each option in words of the question; ours, for `safe`.

    A fact weighs by the words (pairs of Chinese characters) that its other end shares with question and hypothesis,
    those of few options most, by the root of its length. An option is supported by its three best facts, by the
    logarithm of how many it has; one with less support has fewer pieces. Departments and foods are left out
    unless asked for. For other questions, or where no fact of an option fits, `otherwise`.
    """

    graph: LocalGraph
    link: Callable[[str], Sequence[Link]]
    otherwise: Sequence[Retriever]
    keep: int = 10
    each: int = 4
    entries: int = 16
    looked: int = 400

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The pieces, those of the option with the best support first; score = how well it is."""
        of = {letter: self._facts(query, text) for letter, text in query.question.options}
        many = Counter(word for facts in of.values() for word in frozenset[str]().union(*(f.shared for f in facts)))
        worth = {word: log((len(of) + 1) / options) for word, options in many.items()}
        ranked = {letter: sorted(facts, key=lambda f: -f.weight(worth)) for letter, facts in of.items()}
        fits = {letter: [f for f in facts if f.shared] for letter, facts in ranked.items()}
        borne = {letter: sum(f.weight(worth) for f in fits[letter][:3]) / log(5 + len(of[letter])) for letter in of}
        found: list[Evidence] = []
        most = self.each
        for letter in sorted((one for one in of if fits[one]), key=lambda one: -borne[one]):
            shown = fits[letter][:most]
            found += [triple_evidence(f.triple, (f.about,), borne[letter]) for f in shown]
            most = len(shown) - 1
        return found[: self.keep] or [e for retrieve in self.otherwise for e in retrieve(query, links)]

    def _facts(self, query: Query, option: str) -> list[OptionFact]:
        """What the graph says of an option under any of its entries."""
        graph, family = self.graph, Family(self.graph)
        links = self.link(option)
        nodes = dict.fromkeys(graph.number(m.entity.id) for m in graph.lookup(option)[:3])
        nodes |= dict.fromkeys(node for link in links for node in list(family.of(link, narrower=False))[: self.entries])
        stem = replace(query.question, options=()).with_options
        asked, own = terms(f"{stem}\n{query.hypothesis}"), terms(option)
        found: dict[tuple[str, str], OptionFact] = {}
        for entity in map(graph.at, nodes):
            for t in (*graph.neighbours(entity.id, limit=self.looked), *graph.attributes(entity.id)):
                if t.relation.role not in (Role.CARE, Role.FOOD) or t.relation.role in query.frame.roles:
                    other = t.tail if t.head == entity else t.head
                    words = terms(other.name)
                    fact = OptionFact(t, entity, asked & (words - own), len(words))
                    found.setdefault((str(t.relation), other.name), fact)
        return list(found.values())


@methods.register(
    "hykge",
    about=About(
        paper="HyKGE",
        by="Jiang et al.",
        year=2025,
        where="ACL 2025, arXiv 2312.15883",
        does="chains between the entities of question and hypothesis, reranked by fragments, read by a model",
        calls=Calls.always(2, "the hypothesis and the answer; the paper's"),
        ours=(
            "without a trained tagger names and phrases of the graph stand in, without a reranker words and vectors",
            "by preset safe 50 chains of a pair are looked at, 200 ranked, 3 of a pattern or of a pair kept",
            "by preset safe chains have two steps, beside them is what is asked of each entity; linked words agree",
            "by preset safe an exam question has facts of its options in the question's words in place of chains",
            "the similarity of linking is the paper's for its own encoder, and calibrated on the graph for another",
        ),
        needs=frozenset({"local_graph", "pairs", "tagger"}),
        encoder=ENCODER,
        scorer="BAAI/bge-reranker-large",
        tagger="W2NER",
        unused=lambda s: [
            *(["scorer"] if not s.rerank or s.reranker == "model" else []),
            *(["tagger"] if s.recognizer == "model" else []),
        ],
    ),
    presets=PRESETS,
)
def hykge(
    toolkit: Toolkit,
    *,
    preset: HyKGEPreset = "safe",
    settings: HyKGESettings | None = None,
    pairs: PairScorer | None = None,
) -> Pipeline:
    """The method on a graph; `settings` in place of the preset's, `pairs` = the reranker.

    Without one, `LexicalPairs` stands in. Without a language model there is no hypothesis, and the ranked chains are
    the answer.
    """
    s = settings or PRESETS[preset]
    if toolkit.llm is None and (s.recognizer == "model" or s.reranker == "model" or s.summary):
        raise BadInput("recognizer=model, reranker=model and summary=yes need a language model: --llm NAME")
    base = Pipeline(
        recognize=WithOptions(_recognizer(toolkit, s)),
        link=_linker(toolkit, s),
        understand=toolkit.understand,
        retrieve=_retrievers(toolkit, s),
        rank=_rankers(toolkit, s, pairs or toolkit.pairs or LexicalPairs(toolkit.fact_encoder)),
        phrase=_phraser(toolkit, s),
        read=facts,
        name="hykge" if toolkit.llm and s.hypothesis else "hykge without hypothesis",
        graph=toolkit.graph.label,
        task=of_preset(preset),
        sampling=Sampling(s.temperature),
    )
    if toolkit.llm is None:
        return base
    reader = "ask/detailed" if s.helpful else "hykge/reader"  # which first writes an analysis of the background
    asked = replace(
        base,
        read=LLMReader(toolkit.llm, name=reader, max_tokens=s.answer_tokens, prompts=toolkit.prompts),
        check=toolkit.check,
        otherwise=facts,
    )
    guess = Guess(toolkit.llm, name="hykge/hypothesis", max_tokens=s.hypothesis_tokens, prompts=toolkit.prompts)
    return replace(asked, expand=guess) if s.hypothesis else asked


def _recognizer(toolkit: Toolkit, s: HyKGESettings) -> Recognizer:
    """What finds the terms; where a model lists none, the tagger or the graph's own names do."""
    known = toolkit.tagger or toolkit.recognize
    if toolkit.llm is None or s.recognizer == "tagger":
        return known
    return OrElse(DrawnEntities(toolkit.llm, max_tokens=s.extra_tokens, prompts=toolkit.prompts), known)


def _phraser(toolkit: Toolkit, s: HyKGESettings) -> Phraser:
    """Chains as arrows with descriptions, summed up where the settings say so."""
    encoder = toolkit.encoder if s.described_from > 0 else None
    shown = Arrows(toolkit.graph, s.descriptions, encoder, s.described_from)
    if toolkit.llm is None or not s.summary:
        return shown
    return SummedUp(shown, toolkit.llm, s.extra_tokens, toolkit.prompts)


def _linker(toolkit: Toolkit, s: HyKGESettings) -> Cascade:
    """By name, else by the nearest vector."""
    cjk = 1.0 if s.agreement else 0.0
    near = Dense(toolkit.graph, toolkit.fact_encoder, Fuzzy(toolkit.graph), s.similar, s.agreement, cjk)
    if not s.agreement and not is_model(toolkit.encoder.name, ENCODER):
        least = max(s.similar, toolkit.unlike)
        why = f"linking: cosine {least:.2f}, calibrated for {toolkit.encoder.name}; {s.similar:g} is for {ENCODER}"
        near = replace(near, at_least=least, why=why)
    return Cascade((Spelled(toolkit.graph), near))


def _retrievers(toolkit: Toolkit, s: HyKGESettings) -> tuple[Retriever, ...]:
    """Chains and, as the settings say, triples of single entities."""
    chains = ChainRetriever(toolkit.graph, hops=s.hops, per_pair=s.per_pair, shapes=s.shapes)
    around = asked_or(toolkit, Neighbours(toolkit.graph, limit=s.relations), s.asked)
    ways: dict[str, tuple[Retriever, ...]] = {
        "never": (chains,),
        "alone": (WithSingles(chains, around),),
        "always": (chains, around),
    }
    chosen = ways[s.alone] if s.chains else (around,)
    return (OptionFacts(toolkit.graph, toolkit.linked, chosen, s.asked),) if s.asked else chosen


def _rankers(toolkit: Toolkit, s: HyKGESettings, pairs: PairScorer) -> Sequence[Ranker]:
    """A first choice by words, where there are many chains, then the fragment matrix, then the limit."""
    numbers = (s.window, s.overlap, s.window_cjk, s.overlap_cjk) if s.fragments else (_ALL, 0, _ALL, 0)
    ways: list[Ranker] = []
    pool = s.listed if s.reranker == "model" else s.pool
    if s.rerank and pool:
        ways.append(Cut(BM25(pool, over_hypothesis=True), pool))
    if s.rerank and s.reranker == "model" and toolkit.llm is not None:
        ways.append(ChosenByModel(toolkit.llm, s.keep, s.extra_tokens, toolkit.prompts))
    else:
        ways.append(Fragments(pairs, _ALL, *numbers, unit=s.unit, aggregate=s.aggregate) if s.rerank else First(_ALL))
    keep = OFFERED if s.asked and s.helpful and toolkit.llm is not None else s.keep
    top = TopChains(tuple(ways), toolkit.linked, keep, s.same_pattern, s.same_pair, s.warnings)
    return few((top,), s.asked, toolkit, helpful=s.helpful)


# --- Table 4: the language model in the place of the reranker, and between the chains and the reader.


@dataclass(frozen=True, slots=True)
class ChosenByModel:
    """At most `keep` pieces that a model names by number, in its order; those that came first where it names none.

    The last pieces are left out until the rest fits into the prompt.
    """

    llm: LLM
    keep: int = 10
    max_tokens: int = 400
    prompts: Path | None = None

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces; a note says where the model chose none."""
        rows = list(evidence)
        if len(rows) <= self.keep:
            return rows
        try:
            chosen = self._chosen(query, rows)
        except ModelFailed as problem:
            note(f"chains as they came: {problem}")
            return rows[: self.keep]
        return [rows[i - 1] for i in chosen[: self.keep]]

    def _chosen(self, query: Query, rows: Sequence[Evidence]) -> list[int]:
        """The numbers that the model names, each once."""
        asked = prompt("hykge/choose", language=prompt_language(query.question), folder=self.prompts)
        facts = "\n".join(f"{i}. {one_line(e.text)}" for i, e in enumerate(rows, start=1))
        values = {"question": query.question.with_history, "facts": facts, "count": str(self.keep)}
        try:
            reply = self.llm(asked.messages(**values), max_tokens=self.max_tokens).text
        except PromptTooLong as error:
            if len(rows) <= self.keep:
                raise
            return self._chosen(query, rows[: max(self.keep, fewer(len(rows), error))])
        known = (int(n) for n in re.findall(r"(?<![\w.])\d{1,4}(?!\w|\.\d)", without_thinking(reply)))
        if found := list(dict.fromkeys(n for n in known if 1 <= n <= len(rows))):
            return found
        raise ModelFailed(f"{self.llm.name} chose none of them; its reply begins {reply[:60]!r}")


@dataclass(frozen=True, slots=True)
class SummedUp:
    """What a phraser writes, in a model's own few sentences; a warning that they do not name stands behind them."""

    phrase: Phraser
    llm: LLM
    max_tokens: int = 400
    prompts: Path | None = None

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The summary; what the phraser wrote where the model writes none, with a note."""
        whole = self.phrase(query, evidence)
        if not whole.cited:
            return whole
        most, own = self.max_tokens, self.prompts
        try:
            said = ask(self.llm, "hykge/summary", query.question, whole, max_tokens=most, prompts=own)
        except ModelFailed as problem:
            note(f"chains not summed up: {problem}")
            return whole
        if fault(said.text, language=expected_language(query.question, said.text), fence=said.fence):
            note(f"chains not summed up: {self.llm.name} wrote no summary; its reply begins {said.text[:60]!r}")
            return whole
        numbers = [i for i, e in enumerate(whole.cited, start=1) if e.is_safety and f"[{i}]" not in said.text]
        return replace(whole, text="\n".join([said.text, *(context_lines(whole, i - 1, i) for i in numbers)]))


@dataclass(frozen=True, slots=True)
class TopChains:
    """The `keep` best by some rankers in turn (topK of the paper, a limit), and a few warnings beside them.

    At most `same_pattern` chains of the same ends, relations and directions are among them, and `same_pair` of the same
    ends, while others are left: of 52,253 chains of one question 9 of the 10 best differed in one inner node. A chain
    through a warning is a chain like others; what is contraindicated for an entity of the question itself stands
    behind, at most `warnings` pieces of kind "warning".
    """

    ways: Sequence[Ranker]
    linked: Callable[[str], Sequence[Link]]  # the entities that a text names
    keep: int = 10
    same_pattern: int = 3
    same_pair: int = 3
    warnings: int = 3

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The chains, best first, then the warnings; a note tells the number before and after each cut."""
        counts, ranked = [len(evidence)], list(evidence)
        for rank in self.ways:
            ranked = list(rank(query, ranked))
            counts.append(len(ranked))
        kept = self._various(ranked)
        if counts[0]:
            note(f"chains kept: {' -> '.join(f'{n:,}' for n in dict.fromkeys((*counts, len(kept))))}")
        return [*kept, *self._warned(query, evidence, kept)]

    def _various(self, ranked: Sequence[Evidence]) -> list[Evidence]:
        """The best, not too many of one pattern or one pair while others are left."""
        seen: Counter[tuple[object, ...]] = Counter()
        first: list[Evidence] = []
        rest: list[Evidence] = []
        for piece in ranked:
            alike, ends = pattern(piece), tuple(sorted({entity.id for entity in piece.about}))
            limits = [(alike, self.same_pattern)] * (len(piece.triples) > 1)
            limits += [(ends, self.same_pair)] * (len(ends) > 1)
            if all(not most or seen[what] < most for what, most in limits):
                seen.update(what for what, _ in limits)
                first.append(piece)
            else:
                rest.append(piece)
        return [*first, *rest][: self.keep]

    def _warned(self, query: Query, evidence: Sequence[Evidence], kept: Sequence[Evidence]) -> list[Evidence]:
        """What the found chains warn of about the entities of the question."""
        named = {link.entity for link in self.linked(query.text)}
        asked = {Role.CONTRAINDICATED, *(role for role in query.frame.roles if role is Role.AVOID)}
        said = {t for e in kept for t in e.triples}
        found = dict.fromkeys(t for e in evidence for t in e.triples if t.relation.role in asked and t not in said)
        about = [t for t in found if t.subject in named or t.object in named]
        if len(about) > self.warnings:
            note(f"warnings: {self.warnings} of {len(about)} shown")
        return [Evidence(arrows((t,), (True,)), "warning", (t,), (t.subject,)) for t in about[: self.warnings]]


def pattern(chain: Evidence) -> tuple[object, ...]:
    """Where a chain begins and ends, and its relations with their directions: all but its inner entities."""
    ends = tuple(entity.id for entity in chain.about)
    at, along = chain.about[0] if chain.about else None, []
    for t in chain.triples:
        forward = t.head == at
        along.append((t.relation.name, forward))
        at = t.tail if forward else t.head
    return (*ends, *along)
