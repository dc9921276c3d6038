"""Does each sentence of an answer stand on evidence? Decided by words, without a model.

The rule, for each sentence:

1. Its *terms* are its content words (singular, without function words) or, in Chinese, its pairs of characters. Terms
   that the question brought do not count, unless the sentence has no others.
2. It stands on the cited evidence if at least `threshold` of these terms occur in that evidence (its text and the
   names of its entities and relations). Without a citation the single piece of evidence with the largest share is
   cited for it, if that share reaches the threshold.
3. Whatever the share, it does not stand if it holds a number that is in neither the evidence nor the question, or names
   a medical entity that is in neither (as told by `names`), or says that something treats or causes where the evidence
   says neither, or denies what the evidence says, or says what the evidence denies (a contraindication, "not").

Words in common are a necessary sign, not proof: a sentence that mixes up who treats whom can pass, and so can one that
picks the wrong disease of two in the evidence. Evidence in another language shares no terms with a sentence, which then
does not stand.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from kgmed.check.against import with_warnings
from kgmed.check.claims import unborne
from kgmed.check.terms import denies, numbers, sentences, terms
from kgmed.errors import ModelFailed
from kgmed.kg.language import prompt_language
from kgmed.models.marks import marks, without_marks
from kgmed.stages import Checker, Reader
from kgmed.types import Answer, Context, Evidence, Query, Verdict

THRESHOLD = 0.6  # ours: a sentence of five new terms may put two in its own words


def no_names(text: str) -> Collection[str]:
    """No entity at all: the check of names is left out."""
    return ()


@dataclass(frozen=True, slots=True)
class Citations:
    """Holds each sentence of an answer against the evidence; the rule is this module's docstring.

    `names` tells the medical entities that a text names, by any hashable id, such as those that a graph's recogniser
    and linker find.
    """

    threshold: float = THRESHOLD
    names: Callable[[str], Collection[str]] = no_names

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer with a verdict for each sentence and the citations that they stand on or name."""
        if answer.abstained:
            return answer
        asked = "\n".join([query.text, *(text for _, text in query.question.options)])
        verdicts = tuple(self.verdict(s, asked, context.cited) for s in sentences(answer.text))
        named = (n for n in answer.citations if 1 <= n <= len(context.cited))
        stood_on = (n for v in verdicts if v.supported for n in v.citations)
        return replace(answer, verdicts=verdicts, citations=tuple(dict.fromkeys([*named, *stood_on])))

    def verdict(self, sentence: str, asked: str, cited: Sequence[Evidence]) -> Verdict:
        """Whether one sentence stands, on which evidence, and why not."""
        bare = without_marks(sentence)
        wanted = (terms(bare) - terms(asked)) or terms(bare)
        if not wanted:
            return Verdict(sentence, supported=False, reason="says nothing that could be checked")
        said = {n: full_text(cited[n - 1]) for n in marks(sentence) if 1 <= n <= len(cited)}
        found, share = _cited_share(wanted, said) if said else _best_share(wanted, cited)
        problem = self._problem(bare, asked, [cited[n - 1] for n in found], share)
        reason = problem or f"{share:.0%} of its terms are in the evidence"
        return Verdict(sentence, not problem, reason, tuple(found) if said or not problem else ())

    def _problem(self, bare: str, asked: str, evidence: Sequence[Evidence], share: float) -> str:
        """Why the sentence does not stand on the evidence; "" = it does."""
        if share < self.threshold:
            return f"only {share:.0%} of its terms are in the evidence, {self.threshold:.0%} are needed"
        text = "\n".join(map(full_text, evidence))
        if strange := sorted(numbers(bare) - numbers(text) - numbers(asked)):
            return f"the number {strange[0]} is not in the evidence"
        if strange := sorted({*self.names(bare)} - {*self.names(text)} - {*self.names(asked)}):
            return f"{strange[0]} is not in the evidence"
        if claim := unborne(bare, evidence):
            return f"says {claim}, which the evidence does not"
        if denies(bare) != any(e.is_safety or denies(e.text) for e in evidence):
            return "denies what the evidence says" if denies(bare) else "says what the evidence denies"
        return ""


@dataclass(frozen=True, slots=True)
class Checked:
    """A reader whose answer is held against its evidence before anyone sees it.

    Sentences that do not stand are left out of the text, except those that warn or deny, and those that the graph
    contradicts, which are shown with a warning; all of them stay in the verdicts, and `limits` says how many. Where
    none stands, it raises `ModelFailed`, to fall back from.
    """

    read: Reader
    check: Checker

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer with only what stands, each sentence with its marks."""
        answer = self.check(query, context, self.read(query, context))
        if answer.abstained or not answer.verdicts:
            return answer
        standing = sum(v.supported for v in answer.verdicts)
        if not standing:
            first = min(answer.verdicts, key=lambda v: v.label != "contradicted")
            raise ModelFailed(f"{answer.reader} wrote nothing that its evidence supports: {first.reason}")
        kept = [v for v in answer.verdicts if v.supported or denies(v.sentence) or v.label == "contradicted"]
        return replace(
            answer,
            text=with_warnings(" ".join(map(_marked, kept)), kept, prompt_language(query.question)),
            citations=tuple(dict.fromkeys(n for v in kept for n in v.citations)),
            limits="; ".join([*filter(None, [answer.limits]), *_left_out(answer.verdicts, kept)]),
        )


def full_text(evidence: Evidence) -> str:
    """All that a piece of evidence says: its text and the names in its triples."""
    named = [name for t in evidence.triples for name in (t.head.name, t.relation.name, t.tail.name)]
    return "\n".join([evidence.text, *named])


def _cited_share(wanted: Collection[str], said: dict[int, str]) -> tuple[list[int], float]:
    """The numbers cited that hold any of the wanted terms (all of them if none does), and the share they hold."""
    held = {n: terms(text) & set(wanted) for n, text in said.items()}
    useful = [n for n in held if held[n]] or list(held)
    return useful, len(set().union(*held.values())) / len(wanted)


def _best_share(wanted: Collection[str], cited: Sequence[Evidence]) -> tuple[list[int], float]:
    """The number of the evidence that holds most of the wanted terms (the first of equals), and its share."""
    shares = [len(terms(full_text(e)) & set(wanted)) / len(wanted) for e in cited]
    best = max(shares, default=0.0)
    return ([shares.index(best) + 1] if shares else []), best


def _marked(verdict: Verdict) -> str:
    """The sentence with the marks of what it stands on, before its full stop."""
    if marks(verdict.sentence) or not verdict.citations:
        return verdict.sentence
    body, end = re.fullmatch(r"(.*?)([.!?。！？;；]*)", verdict.sentence, re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{body} {''.join(f'[{n}]' for n in verdict.citations)}{end}"


def _left_out(verdicts: Sequence[Verdict], kept: Sequence[Verdict]) -> Iterator[str]:
    """What to say of sentences that do not stand."""
    against = sum(v.label == "contradicted" for v in kept)
    unsupported = sum(not v.supported for v in kept) - against
    if len(verdicts) > len(kept):
        there, left = len(verdicts), len(verdicts) - len(kept)
        yield f"{left} of the model's {there} sentences left out: the evidence does not support them"
    if unsupported:
        yield f"{unsupported} of the sentences shown warn without support in the evidence"
    if against:
        yield f"{against} of the sentences shown are contradicted; see the warnings"
