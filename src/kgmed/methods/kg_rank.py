"""KG-Rank (Yang et al. 2024, arXiv 2403.05881): one-hop triples of the question's terms, ranked, read by a model.

The paper, step by step (its Figure 1), and the field of the pipeline (`kg_rank`) that does it:

- 1 `recognize`: three to five terms that a model names (`ByModel`); `link`: their concepts.
- 2 `retrieve`: one-hop triples (`Neighbours`); `expand`: a draft of the answer, for answer expansion alone (`Guess`);
  `rank`: similarity, the same with the draft, or MMR.
- 3 `rank`, second: what similarity leaves, by a cross-encoder (`Rerank`).
- 4 `phrase`: the triples entity by entity (`ByEntity`); `read`: the model's answer from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kgmed.errors import BadInput
from kgmed.facts.view import PIECES, asked_or, few
from kgmed.graph.base import KnowledgeGraph
from kgmed.language.text import one_line
from kgmed.linking.by_model import ByModel
from kgmed.models.base import PairScorer, Sampling
from kgmed.models.scorers import LexicalPairs
from kgmed.pipeline import Pipeline, Ranker, Reader, Recognizer, note, notes
from kgmed.prompts import ANSWER_TOKENS, of_preset, task
from kgmed.records import Answer, Context, Entity, Evidence, Query
from kgmed.registry import About, Calls, methods
from kgmed.steps.expand import Guess
from kgmed.steps.facts import facts
from kgmed.steps.phrase import definitions
from kgmed.steps.rank import MMR, Cut, Rerank, Similarity, alternating, best, generator
from kgmed.steps.read import LLMReader
from kgmed.steps.retrieve import Neighbours
from kgmed.toolkit import RemoteToolkit, Toolkit

# --- KG-Rank's context: for each entity its name, its definition and its triples.


@dataclass(frozen=True, slots=True)
class ByEntity:
    """A block for each entity: a line with its name, then numbered its definition (where `definitions`) and triples.

    A definition is evidence of its own, kind "description". A triple about several entities stands with the first.
    """

    graph: KnowledgeGraph
    definitions: bool = True

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The blocks, and the evidence in the order of its numbers."""
        blocks: dict[Entity | None, list[Evidence]] = {}
        for piece in evidence:
            blocks.setdefault(piece.about[0] if piece.about else None, []).append(piece)
        lines: list[str] = []
        cited: list[Evidence] = []
        for entity, pieces in blocks.items():
            said = definitions(self.graph, query, [entity]) if entity and self.definitions else []
            lines += [f"{one_line(entity.name)}:"] if entity else []
            for piece in (*said, *pieces):
                cited.append(piece)
                lines.append(f"[{len(cited)}] {one_line(piece.text)}")
        return Context("\n".join(lines), tuple(cited))


# --- Ranker: pieces drawn by lot, the control that every ranking has to beat (KG-Rank's code has one).


@dataclass(frozen=True, slots=True)
class Random:
    """`keep` pieces drawn without replacement, and every warning. The draw depends on seed and question alone."""

    keep: int = 20  # KG-Rank's code
    seed: int = 0

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces in the order drawn, with the lot as their score."""
        draw = generator(self.seed, query)
        return best(evidence, draw.permutation(len(evidence)) / max(len(evidence), 1), self.keep)


# --- Ranker: another ranker, entity by entity (KG-Rank's code keeps the best of each entity, not of all).


@dataclass(frozen=True, slots=True)
class PerEntity:
    """A ranker applied to the evidence about each entity in turn."""

    rank: Ranker

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The best of every entity, then the second best of every entity, and so on; each piece once.

        The ranker's notes stand behind the entity's name.
        """
        names = {entity.id: entity.name for piece in evidence for entity in piece.about}
        groups: dict[str, list[Evidence]] = {}
        for piece in evidence:
            for entity_id in dict.fromkeys(entity.id for entity in piece.about) or ("",):
                groups.setdefault(entity_id, []).append(piece)
        return alternating(self._ranked(query, names.get(i, "of no entity"), group) for i, group in groups.items())

    def _ranked(self, query: Query, name: str, group: Sequence[Evidence]) -> list[Evidence]:
        """What the ranker keeps of the evidence about one entity."""
        with notes() as left:
            kept = self.rank(query, group)
        for line in left:
            note(f"{name}: {line}")
        return kept


KGRankPreset = Literal["safe", "paper", "code"]
Ranking = Literal["similarity", "expansion", "mmr", "rerank", "random"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KGRankSettings:
    """The numbers of KG-Rank; where the paper gives none, the default is that of its code."""

    ranking: Ranking = "rerank"  # the paper's best (Table 2, "RR")
    scope: Literal["entity", "global"] = "entity"  # code; the paper says "the triplets" and leaves it open
    terms: int = 5  # 2.1: three to five terminologies
    relations: int = 500  # code: 20 pages of 25 an entity
    pool: int = 200  # code: what similarity leaves for the cross-encoder; not in the paper
    keep: int = 20  # code: top_n, an entity; "top-p" without a number in the paper
    base: float = 0.1  # 2.3, w_base of MMR
    step: float = 0.01  # 2.3, delta of MMR
    penalty: Literal["mean", "max"] = "mean"  # 2.3 and code; "max" = the classic form
    definitions: bool = False  # code only: the paper never mentions definitions
    seed: int = 0  # ours, of the random control
    draft_tokens: int = 256  # ours: neither says how long the draft answer is
    short: bool = False  # the form of Mintaka's answers: a name, year, number, yes or no
    warnings: bool = False  # ours, of the preset safe: they stand beyond `keep`
    asked: int = 0  # ours, of the preset safe: pieces in all, of what the frame asks for (kgmed.facts.view); 0 = all
    helpful: bool = False  # ours, of the preset safe: the model leaves out the pieces that do not help
    answer_tokens: int = ANSWER_TOKENS  # ours; 4096 in the code for Llama 2
    temperature: float = 0.0  # paper, of GPT-4


PAPER = KGRankSettings()
PRESETS: dict[KGRankPreset, KGRankSettings] = {
    "safe": replace(PAPER, warnings=True, asked=PIECES, helpful=True),
    "paper": PAPER,
    "code": replace(PAPER, definitions=True, answer_tokens=4096),
}


@methods.register(
    "kg-rank",
    about=About(
        paper="KG-Rank",
        by="Yang et al.",
        year=2024,
        where="arXiv 2403.05881",
        does="one-hop triples of the question's terms, ranked, read by a model",
        calls=Calls.always(2, "the terms and the answer; 3 with answer expansion, 1 draft more; the paper's steps"),
        ours=(
            "definitions in the context by preset code only; warnings beyond the number of triples by preset safe only",
            "by preset safe a term that the question denies brings in nothing",
            "without a model the graph's own names stand for the terms, and the ranked facts are the answer",
        ),
        needs=frozenset({"pairs"}),
        encoder="GanjinZero/UMLSBert_ENG",
        scorer="ncbi/MedCPT-Cross-Encoder",
        unused=lambda s: {"rerank": (), "random": ("encoder", "scorer")}.get(s.ranking, ("scorer",)),
    ),
    presets=PRESETS,
)
def kg_rank(
    toolkit: Toolkit | RemoteToolkit,
    *,
    preset: KGRankPreset = "safe",
    settings: KGRankSettings | None = None,
    pairs: PairScorer | None = None,
) -> Pipeline:
    """The method on a graph; `settings` in place of the preset's, `pairs` = the cross-encoder.

    Without one, `LexicalPairs` stands in. Without a language model the terms are those that the graph's own names
    show, and the ranked facts are the answer; "expansion" and a graph behind a server cannot do without: they raise
    `BadInput`.
    """
    s = settings or PRESETS[preset]
    around = Neighbours(toolkit.graph, limit=s.relations, attributes=isinstance(toolkit, Toolkit) or toolkit.attributes)
    base = Pipeline(
        recognize=_recognizer(toolkit, s),
        link=toolkit.link,
        understand=toolkit.understand,
        retrieve=(asked_or(toolkit, around, s.asked),),
        rank=rankers(toolkit, s, pairs or toolkit.pairs or LexicalPairs(toolkit.fact_encoder)),
        phrase=ByEntity(toolkit.graph, definitions=s.definitions),
        read=facts,
        name=f"kg-rank ({s.ranking})",
        graph=toolkit.graph.label,
        task=of_preset(preset),
        sampling=Sampling(s.temperature),
    )
    if toolkit.llm is None:
        return base
    read = LLMReader(toolkit.llm, name="kg_rank/reader", max_tokens=s.answer_tokens, prompts=toolkit.prompts)
    short = ByTask(replace(read, name="kg_rank/short"), replace(read, name="kg_rank/short_own"))
    asked = replace(base, read=short if s.short else read, check=toolkit.check, otherwise=facts)
    draft = Guess(toolkit.llm, name="kg_rank/draft", max_tokens=s.draft_tokens, prompts=toolkit.prompts)
    return replace(asked, expand=draft) if s.ranking == "expansion" else asked


@dataclass(frozen=True, slots=True)
class ByTask:
    """One reader where answers stand on evidence alone, another where the model may add what it knows."""

    grounded: Reader
    own: Reader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer of the one that fits."""
        return (self.grounded if task().cites else self.own)(query, context)


def _recognizer(toolkit: Toolkit | RemoteToolkit, settings: KGRankSettings) -> Recognizer:
    """The model's terms where there is a model, else the graph's own names, where these can be listed."""
    known = toolkit.recognize if isinstance(toolkit, Toolkit) else None
    if toolkit.llm is not None:
        return ByModel(toolkit.llm, most=settings.terms, otherwise=known, prompts=toolkit.prompts)
    if known is None or settings.ranking == "expansion":
        what = "answer expansion" if known else "kg-rank on a graph behind a server"
        raise BadInput(f"{what} needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    return known


def rankers(toolkit: Toolkit | RemoteToolkit, settings: KGRankSettings, pairs: PairScorer) -> Sequence[Ranker]:
    """The rankers in turn: by entity or over all, as the settings say."""
    s = settings
    ways: dict[Ranking, tuple[Similarity | MMR | Rerank | Random, ...]] = {
        "similarity": (Similarity(toolkit.fact_encoder, s.keep),),
        "expansion": (Similarity(toolkit.fact_encoder, s.keep, over_hypothesis=True),),
        "mmr": (MMR(toolkit.fact_encoder, s.keep, s.base, s.step, s.penalty),),
        "rerank": (Similarity(toolkit.fact_encoder, s.pool), Rerank(pairs, s.keep)),
        "random": (Random(s.keep, s.seed),),
    }
    if s.ranking not in ways:
        raise BadInput(f"KG-Rank has no ranking {s.ranking!r}; take {', '.join(ways)}")
    each: list[Ranker] = [rank if s.warnings else Cut(rank, rank.keep) for rank in ways[s.ranking]]
    return few(tuple(map(PerEntity, each)) if s.scope == "entity" else tuple(each), s.asked, toolkit, helpful=s.helpful)
