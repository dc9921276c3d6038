"""MKG-Rank (Li et al. 2025, arXiv 2503.16131): exams in any language, answered from an English graph, ranked twice.

The paper, step by step, and the field of the pipeline (`mkg_rank`) that does it:

- 2.1 `recognize`: at most three terms of the question and one of each option, translated word by word.
- 2.2 `retrieve`: the triples of each term, `Neighbours`; what a graph over the network said is kept (`CachedGraph`).
- 2.3 `rank`: similarity to the question, then a cross-encoder on question and options (`rankers`).
- 2.4 `phrase`: what is left as sentences, written by the model (`Rewritten`).
- 2.5 `rank`, last: background of the model's own and BM25 over it, where the graph says nothing (`OwnKnowledge`).
- `read`: one letter (`LetterReader`); a reply that hedges or names several chooses none (`letter`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

import numpy as np

from kgmed.errors import BadInput, ModelFailed
from kgmed.facts.view import PIECES, asked_or, few
from kgmed.graph.base import KnowledgeGraph, LocalGraph
from kgmed.graph.names import Glossary
from kgmed.language.text import has_cjk, language_of, one_line, prompt_language
from kgmed.linking.by_model import OrElse, locate_terms, of_question
from kgmed.methods.mindmap import WithNotes
from kgmed.models.asking import Structured, Tally, slots_schema, strings_schema
from kgmed.models.base import LLM, PairScorer, Sampling
from kgmed.models.replies import marks, slots
from kgmed.models.scorers import BM25Index, LexicalPairs
from kgmed.pipeline import Checker, Pipeline, Ranker, Reader, Recognizer, Retriever, as_is
from kgmed.prompts import ANSWER_TOKENS, of_preset, prompt, task
from kgmed.records import Answer, Context, Evidence, Link, Mention, Query, Question
from kgmed.registry import About, Calls, methods
from kgmed.steps.facts import facts
from kgmed.steps.options import letter
from kgmed.steps.phrase import Numbered, Rewritten
from kgmed.steps.rank import Cut, Rerank, Similarity
from kgmed.steps.read import LLMReader, as_asked, ask
from kgmed.steps.retrieve import Neighbours
from kgmed.toolkit import RemoteToolkit, Toolkit

# --- Recogniser: a few terms of an exam question and one of each option, each in the language of the graph.
# MKG-Rank (arXiv 2503.16131): at most three terms from the question and one per option, translated word by word. A term
# that the graph knows as it stands needs no translation; a glossary comes next; what is left a model translates, in one
# call whose reply must have exactly one entry a term.


T = TypeVar("T")
KEY = "medical entities"


_LANGUAGES = {  # as a prompt in English and one in Chinese names them
    "en": ("English", "英文"),
    "zh": ("Chinese", "中文"),
    "ja": ("Japanese", "日文"),
    "ko": ("Korean", "韩文"),
    "sw": ("Swahili", "斯瓦希里文"),
    "de": ("German", "德文"),
    "fr": ("French", "法文"),
    "es": ("Spanish", "西班牙文"),
}


def language_name(code: str, of_prompt: str) -> str:
    """The name of a language in a prompt of another; the code where it has none here.

    >>> language_name("ja", "en"), language_name("ja", "zh"), language_name("xx", "en")
    ('Japanese', '日文', 'xx')
    """
    return _LANGUAGES.get(code, (code, code))[of_prompt == "zh"]


def written_in(graph: LocalGraph, look: int = 64) -> str:
    """The language of a graph's names, by their script where it does not say; "" of an empty graph."""
    names = [graph.at(node).name for node in range(min(len(graph.adjacency[0].indptr) - 1, look))]
    return graph.language or (("zh" if 2 * sum(map(has_cjk, names)) > len(names) else "en") if names else "")


def no_words(term: str) -> Sequence[str]:
    """No translation at all."""
    return ()


@dataclass(frozen=True, slots=True)
class Translated:
    """The terms as mentions: `surface` as in the question, `name` in the language of the graph.

    A reply that cannot be used is asked for once more; if that fails too, it raises `Malformed`, and `tally` counts it.
    A term that nothing translates keeps its own name, so that the run lists it as missed.
    """

    llm: LLM
    graph: KnowledgeGraph
    glossary: Callable[[str], Sequence[str]] = no_words
    most: int = 3  # the paper: at most three from the question, one per option
    max_tokens: int = 200
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)
    language: str = ""  # of the graph's names, where it does not say itself; "" = English, as in the paper

    def __call__(self, query: Query, /) -> list[Mention]:
        """The terms of the question and the options, each once, in the order of the text; others first."""
        question = query.question
        if question.blank:
            return []
        terms = [*self._of_question(question), *(t for t in self._of_options(question) if t)]
        terms = list(dict.fromkeys(terms))
        names_of = dict(zip(terms, self.translations(question, terms), strict=True))
        return [
            Mention(m.surface, names_of[m.name], m.start, m.end, m.negated) for m in locate_terms(question.text, terms)
        ]

    def _of_question(self, question: Question) -> list[str]:
        """At most `most` terms of the question."""
        asked = prompt("mkg_rank/question_terms", language=prompt_language(question), folder=self.prompts)
        parse = partial(of_question, key=KEY, question=question.text, asked=asked)
        values, schema = {"most": str(self.most), "question": question.text}, strings_schema(KEY, most=self.most)
        return self._ask(parse, schema, "question_terms", question, **values)[: self.most]

    def _of_options(self, question: Question) -> list[str | None]:
        """One term an option, in their order; None for an option without one."""
        if not question.options:
            return []
        count = len(question.options)
        listed = "\n".join(f"{letter}. {text}" for letter, text in question.options)
        return self._ask(
            partial(slots, count=count), slots_schema(count), "option_terms", question, count=str(count), options=listed
        )

    def translations(self, question: Question, terms: Sequence[str]) -> list[str]:
        """The name to look up for each term; its own where nothing translates it.

        As published every term of a question in another language is translated before anything is looked up.
        """
        published, graphs = task().published, self.language or self.graph.language or "en"
        foreign = published and language_of(question) != graphs
        found = {term: ("" if foreign else term) if published else self._known(term) for term in terms}
        left = [term for term, name in found.items() if not name]
        if left:
            parse, schema = partial(slots, count=len(left)), slots_schema(len(left))
            language = language_name(graphs, prompt_language(question))
            values = {"count": str(len(left)), "language": language, "terms": "\n".join(left)}
            said = self._ask(parse, schema, "translate", question, **values)
            found |= {term: name or term for term, name in zip(left, said, strict=True)}
        return [found[term] for term in terms]

    def _known(self, term: str) -> str:
        """The term if the graph knows it, else a translation, one that the graph knows first; "" = none."""
        if self.graph.lookup(term):
            return term
        said = list(self.glossary(term))
        return next((name for name in said if self.graph.lookup(name)), said[0] if said else "")

    def _ask(
        self, parse: Callable[[str], T], schema: Mapping[str, object], step: str, asked_in: Question, /, **values: str
    ) -> T:
        """What the reply to one prompt holds."""
        asked = prompt(f"mkg_rank/{step}", language=prompt_language(asked_in), folder=self.prompts)
        return Structured(self.llm, parse, self.max_tokens, tally=self.tally, schema=schema)(asked.messages(**values))


# --- Retriever: what a model knows itself, for a question that the graph says nothing useful of.
# MKG-Rank (arXiv 2503.16131), self-information mining: the model writes background without answering, and BM25 picks
# the
# fragments that have most to do with the question and its options. Such evidence stands on no triple, and says so.


SOURCE = "the model's own words"
_END = re.compile(r"(?<=[.!?])\s+(?!\d)|(?<=[。！？；])|\n+")
_BULLET = re.compile(r"^\s*(?:#+|\d{1,2}[.)、]|[-*•])\s*")
_LEAST = 8  # characters of a fragment; half as many where each is a word


@dataclass(frozen=True, slots=True)
class OwnKnowledge:
    """At most `keep` fragments of the background a model writes, kind "passage", best first.

    The score is that of BM25; a fragment that shares no word with the question or its options is left out, but not as
    published, where the fragments also stand as the model wrote them.
    """

    llm: LLM
    keep: int = 3  # ours; the paper is silent
    bm25: BM25Index = field(default_factory=BM25Index)  # BM25Okapi's usual k1 and b; the paper names only the package
    max_tokens: int = 400
    prompts: Path | None = None

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The fragments; raises what the model raises."""
        about = tuple(dict.fromkeys(link.entity for link in links if not link.mention.negated))
        asked = prompt("mkg_rank/background", language=prompt_language(query.question), folder=self.prompts)
        options = "\n".join(f"{letter}. {text}" for letter, text in query.question.options)
        messages = asked.messages(question=query.text, options=options)
        texts = fragments(self.llm(messages, max_tokens=self.max_tokens).text)
        wanted = query.question.words
        scores = self.bm25.scores(wanted, texts)
        published = task().published
        best = np.argsort(-scores, kind="stable")[: self.keep].tolist() if published else ()
        return [
            Evidence(texts[i] + f" ({SOURCE})" * (not published), "passage", about=about, score=float(scores[i]))
            for i in best or self.bm25.best(wanted, texts, self.keep)
        ]


def fragments(background: str) -> list[str]:
    """The sentences of a background text, each once, without bullets and headings.

    >>> fragments("# Flu\\n- Fever of 38.5 is common. Rest helps.\\n流感会引起发热。多休息。")
    ['Fever of 38.5 is common.', 'Rest helps.', '流感会引起发热。', '多休息。']
    """
    pieces = (
        _BULLET.sub("", piece)
        for piece in _END.split(background.replace("**", ""))
        if not piece.lstrip().startswith("#")
    )
    texts = (one_line(piece) for piece in pieces)
    return list(dict.fromkeys(t for t in texts if len(t) >= (_LEAST if t.isascii() else _LEAST // 2)))


@dataclass(frozen=True, slots=True)
class LetterReader:
    """A model that chooses one option (MKG-Rank's reader); it may think aloud, and is asked without evidence too.

    `Answer.choices` is () where the reply chooses nothing, and `limits` say so: that counts as wrong, and apart from a
    wrong letter. A question without options raises `ModelFailed`, for another reader to take over.
    """

    chooses: ClassVar[str] = "without evidence"
    llm: LLM
    name: str = "mkg_rank/reader"
    max_tokens: int = 400
    prompts: Path | None = None

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer with its letter."""
        question = query.question
        if not question.options:
            raise ModelFailed("a letter can be chosen only where the question has options")
        most, own = self.max_tokens, self.prompts
        said = ask(self.llm, self.name, question, context, max_tokens=most, prompts=own, part=str.strip)
        if not said.text:
            raise ModelFailed(f"{self.llm.name} said nothing")
        found = letter(said.text, question.options)
        there = len(context.cited)
        limits = [
            *([f"the model read the first {said.shown} of {there} pieces of evidence"] if said.shown < there else []),
            *([] if found else ["the reply chooses no single option"]),
            *(["the reply was cut off"] if said.cut_off else []),
        ]
        return Answer(
            as_asked(said.text),
            citations=tuple(n for n in marks(said.text) if 1 <= n <= said.shown),
            choices=(found,) if found else (),
            limits="; ".join(limits),
            reader=f"letter {self.llm.name}, prompt {said.prompt}",
        )


MKGRankPreset = Literal["safe", "paper", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MKGRankSettings:
    """The numbers of MKG-Rank: the paper gives the counts of terms alone, and there is no public code."""

    terms: int = 3  # paper: at most three from the question; one per option
    relations: int = 500  # ours: as KG-Rank's code
    pool: int = 200  # ours: KG-Rank's, over all entities together
    keep: int = 20  # ours: KG-Rank's, over all entities together
    pseudo_query: bool = False  # the preset safe: an encoder of one language is asked with the linked entities' names
    declarative: bool = True  # paper; it hurts some models (Figure 4), hence a switch
    english: bool = True  # paper, Figure 7: sentences in English whatever the question's language; safe: in its own
    min_score: float = 0.0  # paper: no rule when evidence is ineffective; 0 = where there is none; safe: below .1
    fragments: int = 3  # ours: of the model's own background
    warnings: bool = False  # ours, of the preset safe: they stand beyond `keep`
    asked: int = 0  # ours, of the preset safe: pieces in all, of what the frame asks for (kgmed.facts.view); 0 = all
    helpful: bool = False  # ours: the model leaves out the pieces that do not help
    extract_tokens: int = 200  # ours
    rewrite_tokens: int = 800  # ours
    background_tokens: int = 400  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours
    temperature: float = 0.0  # ours: the paper names none


PAPER = MKGRankSettings()
SAFE = replace(PAPER, pseudo_query=True, min_score=0.1, english=False, warnings=True, asked=PIECES, helpful=True)
PRESETS: dict[MKGRankPreset, MKGRankSettings] = {"safe": SAFE, "paper": PAPER, "code": PAPER}  # no code was published


@methods.register(
    "mkg-rank",
    about=About(
        paper="MKG-Rank",
        by="Li et al.",
        year=2025,
        where="arXiv 2503.16131",
        does="terms translated word by word, triples ranked twice, put into sentences, read for a letter",
        calls=Calls(3, 2, 6, "terms, sentences, answer; options, translation and own background one each; the paper's"),
        ours=(
            "evidence is ineffective where there is none, by preset safe also where it scores low",
            "by preset safe the ranking is asked with the linked entities' names, since an encoder reads one language",
        ),
        needs=frozenset({"model", "pairs"}),
        encoder="GanjinZero/UMLSBert_ENG",
        scorer="ncbi/MedCPT-Cross-Encoder",
    ),
    presets=PRESETS,
)
def mkg_rank(
    toolkit: Toolkit | RemoteToolkit,
    *,
    preset: MKGRankPreset = "safe",
    settings: MKGRankSettings | None = None,
    pairs: PairScorer | None = None,
    glossary: Glossary | None = None,
) -> Pipeline:
    """The method on a graph; `pairs` = the cross-encoder (else `LexicalPairs`), `glossary` = translations known.

    A question without options is answered in sentences. Where the model cannot be used, the facts are read, and the run
    says so. Raises `BadInput` without a model.
    """
    if toolkit.llm is None:
        raise BadInput("the method mkg-rank needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s, llm, own = settings or PRESETS[preset], toolkit.llm, toolkit.prompts
    scorer = pairs or toolkit.pairs or LexicalPairs(toolkit.fact_encoder)
    around = Neighbours(toolkit.graph, limit=s.relations, attributes=isinstance(toolkit, Toolkit) or toolkit.attributes)
    recall = OwnKnowledge(llm, keep=s.fragments, max_tokens=s.background_tokens, prompts=own)
    return Pipeline(
        recognize=_recognizer(toolkit, llm, glossary, s),
        link=toolkit.link,
        understand=toolkit.understand,
        retrieve=(asked_or(toolkit, around, s.asked),),
        rank=(*rankers(toolkit, s, scorer), WhenIneffective(recall, s.min_score, warnings=s.warnings)),
        phrase=Rewritten(llm, "declarative", s.rewrite_tokens, own, "en" if s.english else "")
        if s.declarative
        else Numbered(),
        read=WithNotes(
            ByForm(
                LetterReader(llm, max_tokens=s.answer_tokens, prompts=own),
                LLMReader(llm, name="baselines/reader", max_tokens=s.answer_tokens, prompts=own),
            )
        ),
        check=OpenOnly(toolkit.check),
        otherwise=WithNotes(facts),
        name="mkg-rank",
        graph=toolkit.graph.label,
        task=of_preset(preset),
        sampling=Sampling(s.temperature),
    )


def _recognizer(
    toolkit: Toolkit | RemoteToolkit, llm: LLM, glossary: Glossary | None, settings: MKGRankSettings
) -> Recognizer:
    """The model's terms, translated; where it names none, the graph's own names, if these can be listed."""
    words = glossary or toolkit.glossary or Glossary(toolkit.graph if isinstance(toolkit, Toolkit) else None)
    terms = Translated(
        llm, toolkit.graph, words, most=settings.terms, max_tokens=settings.extract_tokens, prompts=toolkit.prompts,
        language=written_in(toolkit.graph) if isinstance(toolkit, Toolkit) else "",
    )  # fmt: skip
    return OrElse(terms, toolkit.recognize if isinstance(toolkit, Toolkit) else None)


def rankers(toolkit: Toolkit | RemoteToolkit, settings: MKGRankSettings, pairs: PairScorer) -> Sequence[Ranker]:
    """Similarity to the question over all triples, then a pair scorer that sees the options too."""
    first: Ranker = Similarity(toolkit.fact_encoder, settings.pool)
    second: Ranker = Rerank(pairs, settings.keep)
    if not settings.warnings:
        first, second = Cut(first, settings.pool), Cut(second, settings.keep)
    names = settings.pseudo_query
    return few(
        (AskedBy(first, names=names, options=False), AskedBy(second, names=names, options=True)),
        settings.asked,
        toolkit,
        helpful=settings.helpful,
    )


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
    """What the model knows itself, in place of evidence that is of no use; `warnings` stay.

    Evidence is of no use where there is none (no entity was linked, or none has a triple), or where its best score is
    below `min_score`, if any. A `recall` that finds nothing leaves the evidence as it is, and so does a model that
    answers from what it knows anyway: its own words are no evidence for it.
    """

    recall: Retriever
    min_score: float = 0.1
    warnings: bool = True

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        """The evidence, or the model's own words."""
        useful = evidence and (not self.min_score or max(e.score for e in evidence) >= self.min_score)
        if useful or (task().own_knowledge and task().cites):
            return list(evidence)
        recalled = self.recall(query, ())
        stay = [e for e in evidence if e.is_safety and self.warnings]
        return [*stay, *recalled] if recalled else list(evidence)


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
        return as_is(query, context, answer) if query.question.options else self.check(query, context, answer)
