"""MindMap (Wen et al. 2024): paths and neighbours of the question's entities, reasoned over by a model."""

from dataclasses import dataclass, replace
from typing import Literal

from kgmed.check.reasoning import Reasoning
from kgmed.errors import BadInput, ModelFailed
from kgmed.kg.fuzzy import Fuzzy
from kgmed.kg.search.shortest import Direction
from kgmed.kit import Kit
from kgmed.link.cascade import Candidates
from kgmed.link.dense import Dense
from kgmed.link.unique import Unique
from kgmed.phrase.evidence_chains import Chains
from kgmed.phrase.rewritten import Rewritten
from kgmed.pipeline import Pipeline
from kgmed.read.facts import facts
from kgmed.read.mindmap import MindMapReader
from kgmed.recipes.about import About, Calls, described
from kgmed.recognize.listed import Listed
from kgmed.recognize.noted import Noted
from kgmed.retrieve.mindmap_paths import MindMapPaths, Order
from kgmed.retrieve.relevance import Every, Judged, OfTypes, Relevance, Similar
from kgmed.retrieve.relevant import Relevant
from kgmed.stages import LLM, Reader, Recognizer
from kgmed.types import Answer, Context, Mention, Query, Role

Preset = Literal["paper", "code"]
Strategy = Literal["all", "types", "cosine", "llm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of MindMap; where the paper gives none, the default is its code's or ours, as said."""

    hops: int = 5  # code; the paper is silent
    paths: int = 5  # code
    neighbours: int = 5  # code
    direction: Direction = "both"  # ours: a graph need not state inverse relations; code: "out"
    order: Order = "given"  # code: as extracted
    sample: bool = True  # paper: drawn at random within the paths of one start; code: the first
    relevance: Strategy = "cosine"  # ours: the paper's test of a neighbour is unnamed; code: by relation
    at_least: float = 0.3  # ours, of the cosine
    through: tuple[str, ...] = ()  # paper: any relevant neighbour; code: diseases
    skip: tuple[Role, ...] = ()  # code: the symptoms of such a disease are left out
    link: Literal["cosine", "names"] = "cosine"  # paper: the nearest name, no threshold; "names" = the kit's own stages
    link_at_least: float = 0.0  # paper and code: none
    rewrite: bool = True  # paper and code: a model puts the evidence into sentences
    extract_tokens: int = 128  # ours
    rewrite_tokens: int = 600  # ours
    answer_tokens: int = 700  # ours


PAPER = Settings()
CODE = replace(PAPER, direction="out", sample=False, relevance="types", through=("disease",), skip=(Role.FINDING,))
PRESETS: dict[Preset, Settings] = {"paper": PAPER, "code": CODE}


@described(
    About(
        paper="MindMap",
        by="Wen et al.",
        year=2024,
        where="ACL 2024, arXiv 2308.09729",
        does="paths and neighbours of the question's entities, put into sentences and reasoned over in three parts",
        calls=Calls(4, 2, 4, "entities, sentences for paths and for neighbours, the answer; paper and code"),
        ours=(
            "searches go both ways, since a graph need not state inverse relations",
            "a sentence that lost its triple is replaced by the chain; neighbours are capped after they are ranked",
        ),
    )
)
def mindmap(kit: Kit, *, preset: Preset = "paper", settings: Settings | None = None) -> Pipeline:
    """The method on a graph; `settings` in place of the preset's. Four calls of the model, two without `rewrite`.

    Where the model lists no entity, the graph's own names are looked for. Where it writes nothing usable, the facts are
    read, and the run says so. Raises `BadInput` without a model.
    """
    if kit.llm is None:
        raise BadInput("the method mindmap needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s, llm = settings or PRESETS[preset], kit.llm
    return Pipeline(
        recognize=OrElse(Listed(llm, max_tokens=s.extract_tokens, prompts=kit.prompts), kit.recognize),
        link=Unique(_candidates(kit, s)),
        retrieve=(
            MindMapPaths(kit.graph, hops=s.hops, keep=s.paths, direction=s.direction, order=s.order, sample=s.sample),
            Relevant(kit.graph, relevance(kit, llm, s), keep=s.neighbours, through=s.through, skip=s.skip),
        ),
        rank=(),
        phrase=Rewritten(llm, max_tokens=s.rewrite_tokens, prompts=kit.prompts) if s.rewrite else Chains(),
        read=WithNotes(MindMapReader(llm, max_tokens=s.answer_tokens, prompts=kit.prompts)),
        check=Reasoning(kit.graph, kit.check),
        otherwise=WithNotes(facts),
        name=f"mindmap ({s.relevance})",
        graph=kit.graph.label,
    )


def relevance(kit: Kit, llm: LLM, settings: Settings) -> Relevance:
    """The test of a neighbour that the settings name; raises `BadInput` for one there is not."""
    ways: dict[str, Relevance] = {
        "all": Every(),
        "types": OfTypes(),
        "cosine": Similar(kit.encoder, settings.at_least),
        "llm": Judged(llm, prompts=kit.prompts),
    }
    if settings.relevance not in ways:
        raise BadInput(f"MindMap has no relevance {settings.relevance!r}; take {', '.join(ways)}")
    return ways[settings.relevance]


def _candidates(kit: Kit, settings: Settings) -> Candidates:
    """What mentions may be linked to."""
    if settings.link == "names":
        return kit.link
    return Dense(kit.graph, kit.encoder, Fuzzy(kit.graph), settings.link_at_least, agreement=0.0, agreement_cjk=0.0)


@dataclass(frozen=True, slots=True)
class OrElse:
    """The mentions of the first recogniser; those of the second where it finds none, or where its model is of no use.

    The latter is noted for the run's record. A model that cannot be reached ends the run.
    """

    first: Recognizer
    second: Recognizer

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions of one of the two."""
        try:
            return self.first(query) or self.second(query)
        except ModelFailed as problem:
            return Noted(self.second(query), notes=(f"terms by the graph's names: {problem}",))


@dataclass(frozen=True, slots=True)
class WithNotes:
    """A reader whose answer says what was lost or left out when its evidence was rewritten."""

    read: Reader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer with the notes among its limits."""
        answer = self.read(query, context)
        return replace(answer, limits="; ".join([*filter(None, [answer.limits]), *context.notes]))
