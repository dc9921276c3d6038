"""The option whose text a language model finds most likely, for models too small to answer with a letter."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, ModelFailed, PromptTooLong
from kgmed.language.text import prompt_language
from kgmed.models.asking import Likelihood, Start, gives_likelihoods
from kgmed.pipeline import Reader
from kgmed.prompts import Prompt, prompt
from kgmed.records import Answer, Candidate, Context, Query, Question
from kgmed.steps.read import FENCE, fence_for, fewer, text_before

# --- The option whose text a language model finds most likely, for models too small to answer with a letter.
# Small models pick letters by their position; the likelihood of an option's text knows no letters. Common texts are
# likely after anything, hence the pointwise mutual information: the log-probability after the question less that
# without it (Holtzman et al. 2021, arXiv 2104.08315).


@dataclass(frozen=True, slots=True)
class LikelihoodReader:
    """Chooses one option by the likelihood of its text; no letter is written, and the order of options cannot matter.

    `pmi` = less what the text is worth without the question. `per_token` = the mean a token in place of the sum, for
    options of very different length (without `pmi` the sum prefers short ones). `evidence` = the model reads it;
    evidence that names every option can hurt. The candidates carry the share of each option, exp(score) over their
    sum. Two options alike choose nothing. A question without options raises `ModelFailed`, for another reader.
    """

    llm: Likelihood
    pmi: bool = True
    per_token: bool = False
    evidence: bool = True
    prompts: Path | None = None

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer: the option's text, its letter, and how the options share."""
        question = query.question
        if not question.options:
            raise ModelFailed("an option can be chosen only where the question has options")
        scores, shown, asked = self._scores(question, context)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        order = sorted(range(len(scores)), key=lambda i: (-scores[i], question.options[i][1]))
        candidates = tuple(Candidate(question.options[i][1], float(shares[i])) for i in order)
        one = len(order) == 1 or scores[order[0]] > scores[order[1]]
        letter, text = question.options[order[0]]
        return Answer(
            f"{letter}. {text}" if one else "The options are alike to the model.",
            candidates=candidates,
            choices=(letter,) if one else (),
            limits=self._limits(shown, len(context.cited), one=one),
            reader=f"likelihood {self.llm.name}{', PMI' if self.pmi else ''}, prompt {asked} {asked.hash}",
        )

    def _limits(self, shown: int, there: int, *, one: bool) -> str:
        """What is to be known of the answer."""
        limits = ["chosen by the likelihood of its text: the model gave no reasons and cited nothing"]
        if self.evidence and shown < there:
            limits.append(f"the model read the first {shown} of {there} pieces of evidence")
        return "; ".join(limits if one else [*limits, "two options are equally likely, so none is chosen"])

    def _scores(self, question: Question, context: Context) -> tuple[NDArray[np.float64], int, Prompt]:
        """The score of each option (n,), how many pieces of evidence the model saw, and its prompt."""
        whole = Question("\n".join([*question.history, question.text]), language=question.language)
        shown = len(context.cited) if self.evidence else 0
        while True:
            asked, text = self._asked(whole, context, shown)
            try:
                scores = self._likely(text, question)
            except PromptTooLong as error:
                if not shown:
                    raise
                shown = fewer(shown, error) if shown > 1 else 0
            else:
                break
        if self.pmi:
            blank = prompt("likelihood/blank", language=prompt_language(question), folder=self.prompts)
            scores = scores - self._likely(_plain(blank), question)
        return scores, shown, asked

    def _asked(self, question: Question, context: Context, shown: int) -> tuple[Prompt, str]:
        """The prompt with so many pieces of evidence, and its text."""
        name = "background" if shown else "question"
        asked = prompt(f"likelihood/{name}", language=prompt_language(question), folder=self.prompts)
        if not shown:
            return asked, _plain(asked, question=question.text)
        fence, evidence = FENCE + fence_for(f"{context.text}\n{question.text}"), text_before(context, shown)
        return asked, _plain(asked, fence=fence, evidence=evidence, question=question.text)

    def _likely(self, text: str, question: Question) -> NDArray[np.float64]:
        """How likely each option's text is after that text (n,)."""
        space = " " if text[-1:].isascii() else ""
        found = self.llm.logprobs(text, [f"{space}{option}" for _, option in question.options])
        return found.means if self.per_token else found.totals


def likelihood_of(llm: object) -> Likelihood:
    """The model, if it gives likelihoods at the end of what stands before it; raises `BadInput` where it does not.

    What stands before it (meter, cache, ledger) counts, keeps and writes down these calls like any other.
    """
    if gives_likelihoods(llm):
        found: Likelihood = llm  # type: ignore[assignment]
        return found
    name = getattr(llm, "name", type(llm).__name__)
    raise BadInput(
        f"{name} gives no likelihoods of texts; take --llm smollm2, gguf/PATH or hf/FOLDER, or let it write a letter"
    )


def _plain(asked: Prompt, **values: str) -> str:
    """The text of a prompt, as it is, without roles; it knows its prompt."""
    messages = asked.messages(**values)
    return Start.of("\n".join(m.text for m in messages), messages.prompt)


# --- Every method's choice among options by the likelihood of their texts, for models too small to write a letter.


Chooses = Literal["from evidence", "without evidence", "after thinking"]
THOUGHTS = 1200  # characters of what a reader thought that stand after the question


@dataclass(frozen=True, slots=True)
class Likeliest:
    """Questions with options are answered by `choose`, on the method's own evidence; all others by `read`.

    What stays of a method's reader is told by its class, in `chooses`. "after thinking" (chain of thought, MindMap,
    Chain-of-Note, ...): it is asked, and its thoughts stand after the question. "without evidence" (zero-shot,
    MKG-Rank): not asked, the model chooses even where nothing was found. "from evidence", all others: not asked, and
    where nothing was found the reader says so. Where a model's thoughts cannot be read it chooses without them, and the
    answer's limits say why.
    """

    read: Reader
    choose: LikelihoodReader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer; what a reader thought is its reasoning."""
        question, how = query.question, chooses(self.read)
        if not question.options or (how == "from evidence" and not context.cited):
            return self.read(query, context)
        if how != "after thinking":
            return self.choose(query, context)
        try:
            thought = self.read(query, context)
        except ModelFailed as problem:
            found = self.choose(query, context)
            return replace(found, limits="; ".join(filter(None, [found.limits, f"chosen without thoughts: {problem}"])))
        if thought.abstained:
            return thought
        said = "\n".join(filter(None, [thought.reasoning, thought.text]))[-THOUGHTS:]
        found = self.choose(replace(query, question=replace(question, text=f"{question.text}\n{said}")), context)
        limits = "; ".join(filter(None, [found.limits, thought.limits]))
        return replace(found, reasoning=said, limits=limits, reader=f"{thought.reader}; {found.reader}")


def chooses(read: Reader) -> Chooses:
    """How the reader, or the one that it stands before, comes to a choice."""
    while (inner := getattr(read, "with_options", None) or getattr(read, "read", None)) is not None:
        read = inner
    found: Chooses = getattr(read, "chooses", "from evidence")
    return found
