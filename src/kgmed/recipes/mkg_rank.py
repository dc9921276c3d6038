"""MKG-Rank (arXiv 2503.16131): exams in any language, answered from an English graph, ranked twice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kgmed.errors import BadInput
from kgmed.kg.glossary import Glossary
from kgmed.kit import Kit, RemoteKit
from kgmed.models.pairs import LexicalPairs
from kgmed.phrase.numbered import Numbered
from kgmed.phrase.rewritten import Rewritten
from kgmed.pipeline import Pipeline, as_asked
from kgmed.rank.dense import Similarity
from kgmed.rank.pairs import CrossEncoder
from kgmed.read.facts import facts
from kgmed.read.letter import LetterReader
from kgmed.read.llm import LLMReader
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.mindmap import OrElse, WithNotes
from kgmed.recognize.translated import Translated
from kgmed.retrieve.neighbours import Neighbours
from kgmed.retrieve.own_knowledge import OwnKnowledge
from kgmed.stages import LLM, Checker, PairScorer, Ranker, Reader, Recognizer, Retriever
from kgmed.types import Answer, Context, Evidence, Query, Question

Preset = Literal["paper", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of MKG-Rank: the paper gives the counts of terms alone, and there is no public code."""

    terms: int = 3  # paper: at most three from the question; one per option
    relations: int = 500  # ours: as KG-Rank's code
    pool: int = 200  # ours: KG-Rank's, over all entities together
    keep: int = 20  # ours: KG-Rank's, over all entities together
    pseudo_query: bool = True  # ours: an encoder of one language is asked with the linked entities' names
    declarative: bool = True  # paper; it hurts some models (Figure 4), hence a switch
    min_score: float = 0.1  # ours: below it evidence is ineffective; the paper has no rule
    fragments: int = 3  # ours: of the model's own background
    extract_tokens: int = 200  # ours
    rewrite_tokens: int = 800  # ours
    background_tokens: int = 400  # ours
    answer_tokens: int = 400  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER, "code": PAPER}  # no code was published


@described(
    About(
        paper="MKG-Rank",
        by="Li et al.",
        year=2025,
        where="arXiv 2503.16131",
        does="terms translated word by word, triples ranked twice, put into sentences, read for a letter",
        calls=Calls(3, 2, 6, "terms, sentences, answer; options, translation and own background one each; the paper's"),
        ours=(
            "evidence is ineffective where there is none or its best score is below a threshold: the paper has no rule",
            "the ranking is asked with the linked entities' names, since an encoder reads one language",
        ),
    )
)
def mkg_rank(
    kit: Kit | RemoteKit,
    *,
    preset: Preset = "paper",
    settings: Settings | None = None,
    pairs: PairScorer | None = None,
    glossary: Glossary | None = None,
) -> Pipeline:
    """The method on a graph; `pairs` = the cross-encoder (else `LexicalPairs`), `glossary` = translations known.

    A question without options is answered in sentences. Where the model cannot be used, the facts are read, and the run
    says so. Raises `BadInput` without a model.
    """
    if kit.llm is None:
        raise BadInput("the method mkg-rank needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s, llm, own = settings or PRESETS[preset], kit.llm, kit.prompts
    recall = OwnKnowledge(llm, keep=s.fragments, max_tokens=s.background_tokens, prompts=own)
    return Pipeline(
        recognize=_recognizer(kit, llm, glossary, s),
        link=kit.link,
        retrieve=(Neighbours(kit.graph, limit=s.relations, attributes=isinstance(kit, Kit) or kit.attributes),),
        rank=(
            *rankers(kit, s, pairs or kit.pairs or LexicalPairs(kit.encoder)),
            WhenIneffective(recall, s.min_score),
        ),
        phrase=Rewritten(llm, "declarative", s.rewrite_tokens, own) if s.declarative else Numbered(),
        read=WithNotes(
            ByForm(
                LetterReader(llm, max_tokens=s.answer_tokens, prompts=own),
                LLMReader(llm, name="ask/detailed", prompts=own),
            )
        ),
        check=OpenOnly(kit.check),
        otherwise=WithNotes(facts),
        name="mkg-rank",
        graph=kit.graph.label,
    )


def _recognizer(kit: Kit | RemoteKit, llm: LLM, glossary: Glossary | None, settings: Settings) -> Recognizer:
    """The model's terms, translated; where it names none, the graph's own names, if these can be listed."""
    words = glossary or kit.glossary or Glossary(kit.graph if isinstance(kit, Kit) else None)
    terms = Translated(
        llm, kit.graph, words, most=settings.terms, max_tokens=settings.extract_tokens, prompts=kit.prompts
    )
    return OrElse(terms, kit.recognize) if isinstance(kit, Kit) else terms


def rankers(kit: Kit | RemoteKit, settings: Settings, pairs: PairScorer) -> Sequence[Ranker]:
    """Similarity to the question over all triples, then a pair scorer that sees the options too."""
    first, second = Similarity(kit.encoder, settings.pool), CrossEncoder(pairs, settings.keep)
    names = settings.pseudo_query
    return (AskedBy(first, names=names, options=False), AskedBy(second, names=names, options=True))


@dataclass(frozen=True, slots=True)
class AskedBy:
    """A ranker that is asked with the names of the entities the evidence is about, or with the question as it is.

    `options` adds the options' texts; under `names` they are there by their entities.
    """

    rank: Ranker
    names: bool = True
    options: bool = False

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        """What the ranker keeps."""
        named = list(dict.fromkeys(entity.name for e in evidence for entity in e.about))
        texts = [text for _, text in query.question.options] if self.options else []
        asked = ", ".join(named) if self.names and named else "\n".join([query.text, *texts])
        return self.rank(replace(query, question=Question(asked, id=query.question.id)), evidence)


@dataclass(frozen=True, slots=True)
class WhenIneffective:
    """What the model knows itself, in place of evidence that is of no use; warnings stay.

    Evidence is of no use where there is none (no entity was linked, or none has a triple), or where its best score is
    below `min_score`. A `recall` that finds nothing leaves the evidence as it is.
    """

    recall: Retriever
    min_score: float = 0.1

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        """The evidence, or the model's own words."""
        if evidence and max(e.score for e in evidence) >= self.min_score:
            return list(evidence)
        recalled = self.recall(query, ())
        return [*(e for e in evidence if e.is_safety), *recalled] if recalled else list(evidence)


@dataclass(frozen=True, slots=True)
class ByForm:
    """One reader for questions with options, another for those without."""

    with_options: Reader
    open: Reader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer of the one that fits."""
        return (self.with_options if query.question.options else self.open)(query, context)


@dataclass(frozen=True, slots=True)
class OpenOnly:
    """A checker of open answers; a letter, and the thinking before it, is left as it is."""

    check: Checker

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer, with verdicts where it is one in sentences."""
        return as_asked(query, context, answer) if query.question.options else self.check(query, context, answer)
