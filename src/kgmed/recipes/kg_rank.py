"""KG-Rank (Yang et al. 2024, arXiv 2403.05881): one-hop triples of the question's terms, ranked, read by a model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kgmed.errors import BadInput
from kgmed.expand.guess import Guess
from kgmed.kit import Kit, RemoteKit
from kgmed.models.pairs import LexicalPairs
from kgmed.phrase.entities import ByEntity
from kgmed.pipeline import Pipeline
from kgmed.rank.chance import Random
from kgmed.rank.dense import MMR, Similarity
from kgmed.rank.grouped import PerEntity
from kgmed.rank.pairs import CrossEncoder
from kgmed.read.facts import facts
from kgmed.read.llm import LLMReader
from kgmed.recipes.about import About, Calls, described
from kgmed.recognize.by_model import ByModel
from kgmed.retrieve.neighbours import Neighbours
from kgmed.stages import PairScorer, Ranker, Recognizer

Preset = Literal["paper", "code"]
Ranking = Literal["similarity", "expansion", "mmr", "rerank", "random"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
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
    answer_tokens: int = 512  # ours; 4096 in the code for Llama 2


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER, "code": replace(PAPER, definitions=True, answer_tokens=4096)}


@described(
    About(
        paper="KG-Rank",
        by="Yang et al.",
        year=2024,
        where="arXiv 2403.05881",
        does="one-hop triples of the question's terms, ranked, read by a model",
        calls=Calls.always(2, "the terms and the answer; 3 with answer expansion, 1 draft more; the paper's steps"),
        ours=(
            "definitions in the context by preset code only; warnings are kept beyond the number of triples",
            "without a model the graph's own names stand for the terms, and the ranked facts are the answer",
        ),
        needs_model=False,
    )
)
def kg_rank(
    kit: Kit | RemoteKit,
    *,
    preset: Preset = "paper",
    settings: Settings | None = None,
    pairs: PairScorer | None = None,
) -> Pipeline:
    """The method on a graph; `settings` in place of the preset's, `pairs` = the cross-encoder.

    Without one, `LexicalPairs` stands in. Without a language model the terms are those that the graph's own names
    show, and the ranked facts are the answer; "expansion" and a graph behind a server cannot do without: they raise
    `BadInput`.
    """
    s = settings or PRESETS[preset]
    base = Pipeline(
        recognize=_recognizer(kit, s),
        link=kit.link,
        retrieve=(Neighbours(kit.graph, limit=s.relations, attributes=isinstance(kit, Kit) or kit.attributes),),
        rank=rankers(kit, s, pairs or kit.pairs or LexicalPairs(kit.encoder)),
        phrase=ByEntity(kit.graph, definitions=s.definitions),
        read=facts,
        name=f"kg-rank ({s.ranking})",
        graph=kit.graph.label,
    )
    if kit.llm is None:
        return base
    prompt = "kg_rank/short" if s.short else "kg_rank/reader"
    asked = replace(
        base,
        read=LLMReader(kit.llm, name=prompt, max_tokens=s.answer_tokens, prompts=kit.prompts),
        check=kit.check,
        otherwise=facts,
    )
    draft = Guess(kit.llm, name="kg_rank/draft", max_tokens=s.draft_tokens, prompts=kit.prompts)
    return replace(asked, expand=draft) if s.ranking == "expansion" else asked


def _recognizer(kit: Kit | RemoteKit, settings: Settings) -> Recognizer:
    """The model's terms where there is a model, else the graph's own names, where these can be listed."""
    known = kit.recognize if isinstance(kit, Kit) else None
    if kit.llm is not None:
        return ByModel(kit.llm, most=settings.terms, otherwise=known, prompts=kit.prompts)
    if known is None or settings.ranking == "expansion":
        what = "answer expansion" if known else "kg-rank on a graph behind a server"
        raise BadInput(f"{what} needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    return known


def rankers(kit: Kit | RemoteKit, settings: Settings, pairs: PairScorer) -> Sequence[Ranker]:
    """The rankers in turn: by entity or over all, as the settings say."""
    s = settings
    ways: dict[Ranking, tuple[Ranker, ...]] = {
        "similarity": (Similarity(kit.encoder, s.keep),),
        "expansion": (Similarity(kit.encoder, s.keep, over_hypothesis=True),),
        "mmr": (MMR(kit.encoder, s.keep, s.base, s.step, s.penalty),),
        "rerank": (Similarity(kit.encoder, s.pool), CrossEncoder(pairs, s.keep)),
        "random": (Random(s.keep, s.seed),),
    }
    if s.ranking not in ways:
        raise BadInput(f"KG-Rank has no ranking {s.ranking!r}; take {', '.join(ways)}")
    return tuple(map(PerEntity, ways[s.ranking])) if s.scope == "entity" else ways[s.ranking]
