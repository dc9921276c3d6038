"""Baselines that differ in how they read: Chain-of-Note, Chain-of-Knowledge, KALMV and SuRe."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import ClassVar

from kgmed.errors import PromptTooLong
from kgmed.language.text import prompt_language
from kgmed.methods.baselines_closed import aided, both, model
from kgmed.models.asking import Malformed, Tally, strings_schema
from kgmed.models.base import LLM
from kgmed.models.replies import nonempty_strings, number, says_yes, short_text
from kgmed.models.scorers import LexicalPairs
from kgmed.pipeline import Pipeline
from kgmed.prompts import ANSWER_TOKENS, task, whole_question
from kgmed.records import Answer, Candidate, Context, Query, Question
from kgmed.registry import About, Calls, methods
from kgmed.steps.expand import Lines
from kgmed.steps.rank import BM25, ByLine, Rerank
from kgmed.steps.read import (
    FENCE,
    Steps,
    cited_answer,
    context_lines,
    fence_for,
    nothing,
    read_or,
    split_conclusion,
    usable_answer,
)
from kgmed.steps.retrieve import Neighbours
from kgmed.toolkit import Toolkit

# --- Reader: notes on each piece of evidence first, then the answer (Chain-of-Note, arXiv 2311.09210).


@dataclass(frozen=True, slots=True)
class NotesReader:
    """One call: a note on what each piece says and whether it bears on the question, then a line "Answer: ...".

    The notes are the reasoning. Without evidence it abstains and the model is not asked; a reply without an answer is
    asked for once more and then raises `Malformed`.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    max_tokens: int = ANSWER_TOKENS
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, with the notes as its reasoning."""
        reader = f"chain-of-note {self.llm.name}"
        if not context.cited:
            return nothing(query.question, context, reader)
        steps = Steps(self.llm, "con", self.max_tokens, self.prompts, self.tally)
        shown, (notes, said) = steps.read("read", query.question, context, partial(_noted, question=query.question))
        return cited_answer(said, query.question, context, shown=shown, reader=reader, reasoning=notes)


def _noted(reply: str, question: Question) -> tuple[str, str]:
    """The notes and the answer after them; as published, a reply that does not part them is the answer."""
    try:
        return split_conclusion(reply, question)
    except Malformed:
        if not task().published:
            raise
        return "", usable_answer(reply, question)


# --- Reader: the sentences of a guess corrected one after the other, then the answer (Chain-of-Knowledge).


@dataclass(frozen=True, slots=True)
class CorrectedReader:
    """A call for each line of the guess, which sees the evidence and the lines corrected before it, and one to answer.

    Without evidence it abstains and the model is not asked.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    correct_tokens: int = 128
    answer_tokens: int = ANSWER_TOKENS
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, with the corrected sentences as its reasoning."""
        reader, question = f"chain-of-knowledge {self.llm.name}", query.question
        if not context.cited:
            return nothing(question, context, reader)
        correct = Steps(self.llm, "cok", self.correct_tokens, self.prompts, self.tally)
        sound: list[str] = []
        for line in query.hypothesis.splitlines():
            before = "\n".join(sound) or "-"
            asked = partial(correct.read, "correct", question, context, short_text, sentence=line, before=before)
            sound.append(read_or(asked, (0, line))[1])
        last = Steps(self.llm, "cok", self.answer_tokens, self.prompts, self.tally)
        whole = partial(usable_answer, question=question)
        shown, said = last.read("answer", question, context, whole, rationale="\n".join(sound) or "-")
        return cited_answer(said, question, context, shown=shown, reader=reader, reasoning="\n".join(sound))


# --- Reader: an answer that is checked, and asked for again with other evidence or other words (KALMV).


ELSEWHERE, UNGROUNDED, RIGHT = 1, 2, 3  # what the check may say, by the numbers of the prompt
_UNVERIFIED = {"en": "I do not know: no answer stood up to the check.", "zh": "我不知道：没有答案通过核查。"}


@dataclass(frozen=True, slots=True)
class VerifiedReader:
    """Answers from `batch` pieces of evidence and has the answer checked, at most `rounds` times (two calls each).

    Evidence that has nothing to do with the question gives way to the next batch; an answer that does not follow from
    its evidence is asked for again, and the model is told which answers were refused. Where none passes it abstains,
    and `limits` say why. A batch that is too long for the model is halved. Without evidence it abstains and the model
    is not asked.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    rounds: int = 3
    batch: int = 10
    answer_tokens: int = ANSWER_TOKENS
    check_tokens: int = 32
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The first answer that passes."""
        question, reader = query.question, f"kalmv {self.llm.name}"
        if not context.cited:
            return nothing(question, context, reader)
        begin, batch, said = 0, self.batch, ""
        refused: list[str] = []
        why: list[str] = []
        while len(why) < self.rounds and begin < len(context.cited):
            end = min(begin + batch, len(context.cited))
            shown = Context(context_lines(context, begin, end), context.cited[begin:end])
            try:
                said = self._drafted(question, shown, refused)
                verdict = self._checked(question, shown, said)
            except PromptTooLong:
                if batch <= 1:
                    raise
                batch //= 2
                continue
            if verdict == RIGHT:
                limits = [f"after {len(why)} refused: {', '.join(why)}"] if why else []
                return cited_answer(said, question, context, shown=end, begin=begin, reader=reader, limits=limits)
            why.append("evidence off the question" if verdict == ELSEWHERE else "answer not in the evidence")
            refused = [*refused, said] if verdict == UNGROUNDED else []
            begin = end if verdict == ELSEWHERE else begin
        unverified = _UNVERIFIED[prompt_language(question)]
        return Answer(unverified, abstained=True, limits=f"refused: {', '.join(why)}", reasoning=said, reader=reader)

    def _drafted(self, question: Question, shown: Context, refused: list[str]) -> str:
        steps = Steps(self.llm, "kalmv", self.answer_tokens, self.prompts, self.tally)
        whole = partial(usable_answer, question=question)
        return steps.ask("answer", question, whole, refused="\n".join(refused) or "-", **_fenced(question, shown))

    def _checked(self, question: Question, shown: Context, said: str) -> int:
        """What the check says of an answer; as published one that cannot be read refuses nothing."""
        steps = Steps(self.llm, "kalmv", self.check_tokens, self.prompts, self.tally)
        parse = partial(number, most=3)
        return read_or(
            partial(steps.ask, "verify", question, parse, answer=said, **_fenced(question, shown, said)), RIGHT
        )


def _fenced(question: Question, shown: Context, said: str = "") -> dict[str, str]:
    fence = fence_for("\n".join([shown.text, whole_question(question), said]))
    return {"fence": FENCE + fence, "evidence": shown.text}


# --- Reader: a summary of the evidence for each candidate answer; the best supported is the answer (SuRe).


@dataclass(frozen=True, slots=True)
class SummarisedReader:
    """`most` candidates; a summary for each, whether it supports its candidate, and every two compared both ways.

    1 + 2k + k(k - 1) calls for k candidates. The score is 1 for a valid summary and 1 for each comparison won; of
    equals the first. Without evidence it abstains and the model is not asked.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    most: int = 2
    candidate_tokens: int = 96
    answer_tokens: int = ANSWER_TOKENS
    check_tokens: int = 32
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The best candidate with its summary, whose marks are the citations."""
        question, reader = query.question, f"sure {self.llm.name}"
        if not context.cited:
            return nothing(question, context, reader)
        key, shape = partial(nonempty_strings, key="answers"), strings_schema("answers", least=1, most=self.most)
        propose = self._steps(self.candidate_tokens)
        asked = partial(propose.read, "candidates", question, context, count=str(self.most))
        shown, said = read_or(partial(asked, key, shape), None) or asked(lambda reply: [usable_answer(reply, question)])
        names = said[: self.most]
        summaries = [self._summary(question, context, name) for name in names]
        scores = self._scores(question, names, summaries)
        best = scores.index(max(scores))
        reasoning = "\n".join(f"{n} ({s:g}): {text}" for n, s, text in zip(names, scores, summaries, strict=True))
        answer = cited_answer(_joined(names[best], summaries[best]), question, context, shown=shown, reader=reader,
                          reasoning=reasoning)  # fmt: skip
        found = (Candidate(name, score) for name, score in zip(names, scores, strict=True))
        return replace(answer, candidates=tuple(sorted(found, key=lambda c: -c.score)))

    def _steps(self, max_tokens: int) -> Steps:
        return Steps(self.llm, "sure", max_tokens, self.prompts, self.tally)

    def _summary(self, question: Question, context: Context, name: str) -> str:
        """What of the evidence speaks for a candidate."""
        steps = self._steps(self.answer_tokens)
        return read_or(partial(steps.read, "summarise", question, context, short_text, answer=name), (0, ""))[1]

    def _scores(self, question: Question, names: Sequence[str], summaries: Sequence[str]) -> list[float]:
        ask = self._steps(self.check_tokens).ask
        rows = zip(names, summaries, strict=True)
        valid = partial(ask, "valid", question, says_yes)
        scores = [float(read_or(partial(valid, answer=name, summary=text), False)) for name, text in rows]  # noqa: FBT003
        better = partial(ask, "compare", question, partial(number, most=2))
        for i, j in permutations(range(len(names)), 2):
            won = read_or(partial(better, first=summaries[i], second=summaries[j]), 0)
            for place in {1: (i,), 2: (j,)}.get(won, ()):
                scores[place] += 1
        return scores


def _joined(name: str, summary: str) -> str:
    """The candidate before its summary, where the summary does not name it."""
    return summary if name.casefold() in summary.casefold() else f"{name}. {summary}"


# --- Chain-of-Note: the model takes notes on each piece of evidence before it answers.


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOfNoteSettings:
    """The numbers of Chain-of-Note."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    keep: int = 10  # HyKGE, topK; 5 passages in the paper
    answer_tokens: int = ANSWER_TOKENS  # ours, notes and answer together


@methods.register(
    "chain-of-note",
    about=About(
        paper="Chain-of-Note",
        by="Yu et al.",
        year=2023,
        where="arXiv 2311.09210",
        does="notes of each piece of evidence what it says and whether it bears on the question, then answers",
        calls=Calls.always(1, "notes and answer in one reply, as in the paper"),
        ours=("triples of one hop in place of Wikipedia passages; prompted, not fine-tuned",),
        baseline=True,
    ),
    presets=both(ChainOfNoteSettings()),
)
def chain_of_note(toolkit: Toolkit, *, settings: ChainOfNoteSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or ChainOfNoteSettings(), "chain-of-note"
    return aided(
        toolkit,
        name,
        retrieve=(Neighbours(toolkit.graph, limit=s.relations),),
        rank=(BM25(s.pool), Rerank(toolkit.pairs or LexicalPairs(toolkit.encoder), s.keep)),
        read=NotesReader(model(toolkit, name), s.answer_tokens, toolkit.prompts),
    )


# --- Chain-of-Knowledge: a rationale whose sentences are corrected by facts, one after the other.


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOfKnowledgeSettings:
    """The numbers of Chain-of-Knowledge."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    steps: int = 2  # code of HyKGE: reasoning in two steps
    keep: int = 5  # ours: triples for each sentence
    rationale_tokens: int = 256  # ours
    correct_tokens: int = 128  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "chain-of-knowledge",
    about=About(
        paper="Chain-of-Knowledge",
        by="Li et al.",
        year=2023,
        where="ICLR 2024, arXiv 2305.13269",
        does="writes a rationale, corrects each sentence by facts and by those corrected before it, then answers",
        calls=Calls(4, 3, 4, "the rationale, two corrections, the answer; two steps as in HyKGE's code"),
        ours=(
            "always corrects: the paper skips it where sampled answers agree, and models here are greedy",
            "facts are found by linking a sentence and ranking by it; the paper has the model write queries",
        ),
        baseline=True,
    ),
    presets=both(ChainOfKnowledgeSettings()),
)
def chain_of_knowledge(toolkit: Toolkit, *, settings: ChainOfKnowledgeSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or ChainOfKnowledgeSettings(), "chain-of-knowledge"
    llm = model(toolkit, name)
    best = Rerank(toolkit.pairs or LexicalPairs(toolkit.encoder), s.keep)
    return aided(
        toolkit,
        name,
        expand=Lines(llm, "cok/prepare", s.steps, s.rationale_tokens, toolkit.prompts),
        retrieve=(Neighbours(toolkit.graph, limit=s.relations),),
        rank=(BM25(s.pool, over_hypothesis=True), ByLine(best)),
        read=CorrectedReader(llm, s.correct_tokens, s.answer_tokens, toolkit.prompts),
    )


# --- KALMV: an answer is checked, and asked for again with other evidence or in other words.


@dataclass(frozen=True, slots=True, kw_only=True)
class KALMVSettings:
    """The numbers of KALMV."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    rounds: int = 3  # ours: answers tried at most
    batch: int = 10  # HyKGE, topK: triples shown at a time
    answer_tokens: int = ANSWER_TOKENS  # ours
    check_tokens: int = 32  # ours


@methods.register(
    "kalmv",
    about=About(
        paper="Knowledge-Augmented Language Model Verification",
        by="Baek et al.",
        year=2023,
        where="EMNLP 2023, arXiv 2310.12836",
        does="checks whether evidence and answer fit, and takes other evidence or another answer where they do not",
        calls=Calls(2, 2, 6, "an answer and its check, at most three times; the bound is ours"),
        ours=(
            "the model itself checks; the paper trains a small verifier and asks it with several instructions",
            "abstains where no answer passes; other evidence = the next in the ranking",
        ),
        baseline=True,
    ),
    presets=both(KALMVSettings()),
)
def kalmv(toolkit: Toolkit, *, settings: KALMVSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or KALMVSettings(), "kalmv"
    llm = model(toolkit, name)
    best = Rerank(toolkit.pairs or LexicalPairs(toolkit.encoder), s.rounds * s.batch)
    return aided(
        toolkit,
        name,
        retrieve=(Neighbours(toolkit.graph, limit=s.relations),),
        rank=(BM25(s.pool), best),
        read=VerifiedReader(llm, s.rounds, s.batch, s.answer_tokens, s.check_tokens, toolkit.prompts),
    )


# --- SuRe: a summary of the evidence for each possible answer; the best supported one is the answer.


@dataclass(frozen=True, slots=True, kw_only=True)
class SuReSettings:
    """The numbers of SuRe."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    keep: int = 10  # paper: ten passages
    candidates: int = 2  # paper, K
    candidate_tokens: int = 96  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours
    check_tokens: int = 32  # ours


@methods.register(
    "sure",
    about=About(
        paper="SuRe",
        by="Kim et al.",
        year=2024,
        where="ICLR 2024, arXiv 2404.13081",
        does="summarises the evidence for each candidate, judges and compares the summaries, and takes the best",
        calls=Calls(7, 3, 7, "candidates, 2 summaries, 2 judgements, 2 comparisons (both orders); the paper, K = 2"),
        ours=("triples of one hop in place of Wikipedia passages; the answer is the candidate with its summary",),
        baseline=True,
    ),
    presets=both(SuReSettings()),
)
def sure(toolkit: Toolkit, *, settings: SuReSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or SuReSettings(), "sure"
    tokens = (s.candidate_tokens, s.answer_tokens, s.check_tokens)
    return aided(
        toolkit,
        name,
        retrieve=(Neighbours(toolkit.graph, limit=s.relations),),
        rank=(BM25(s.pool), Rerank(toolkit.pairs or LexicalPairs(toolkit.encoder), s.keep)),
        read=SummarisedReader(model(toolkit, name), s.candidates, *tokens, toolkit.prompts),
    )
