"""Does each sentence of an answer stand on evidence? Decided by words, without a model.

The rule, for each sentence:

1. Its *terms* are its content words (singular, without function words) or, in Chinese, its pairs of characters. Terms
   that the question brought do not count, unless the sentence has no others.
2. It stands on the cited evidence if at least `threshold` of these terms occur in that evidence (its text and the names
   of its entities and relations). Without a citation the single piece of evidence with the largest share is cited for
   it, if that share reaches the threshold.
3. Whatever the share, it does not stand if it holds a number that is in neither the evidence nor the question, or names
   a medical entity that is in neither (as told by `names`), or claims something (that one treats, or causes, the other)
   that the evidence claims nowhere, or denies what the evidence says, or says what the evidence denies.

Words in common are a necessary sign, not proof: a sentence that picks the wrong disease of two in the evidence passes.
`kgmed.steps.check` decides by triples wherever a sentence names two things.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from kgmed.language.quantities import quantities
from kgmed.language.quantities import strange as strange_quantities
from kgmed.models.replies import marks, without_marks
from kgmed.records import Answer, Context, Evidence, Query, Role, Verdict
from kgmed.steps.claims import cues
from kgmed.steps.sentences import denies, numbers_in, sentences, terms

THRESHOLD = 0.6  # ours: a sentence of five new terms may put two in its own words


def no_names(text: str) -> Collection[str]:
    """No entity at all: the check of names is left out."""
    return ()


@dataclass(frozen=True, slots=True)
class Citations:
    """Holds each sentence of an answer against the words of the evidence; the rule is this module's docstring.

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
        if strange := sorted(numbers_in(bare) - numbers_in(text) - numbers_in(asked)):
            return f"the number {strange[0]} is not in the evidence"
        if odd := [q for q in strange_quantities(quantities(bare), quantities(f"{text}\n{asked}")) if q.unit]:
            return f"{odd[0]} is not in the evidence"
        if strange := sorted({*self.names(bare)} - {*self.names(text)} - {*self.names(asked)}):
            return f"{strange[0]} is not in the evidence"
        if claim := unclaimed(bare, evidence):
            return f"says that something {claim}, which the evidence does not"
        if denies(bare) != any(e.is_safety or denies(e.text) for e in evidence):
            return "denies what the evidence says" if denies(bare) else "says what the evidence denies"
        return ""


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


_KINDS = (("treats", Role.TREATS), ("causes", Role.CAUSE))
_TREATED = frozenset({Role.TREATS, Role.DOSAGE, Role.INGREDIENT, Role.CONTRAINDICATED})
_CAUSED = frozenset({Role.CAUSE, Role.RISK, Role.GENE, Role.ADVERSE, Role.COMPLICATION, Role.CONTRAINDICATED})


def unclaimed(sentence: str, evidence: Sequence[Evidence]) -> str:
    """What the sentence says that something does (treats, causes) and none of the evidence; "" = nothing.

    >>> unclaimed("Metformin causes diabetes.", [Evidence("diabetes | treated by | metformin", "triple")])
    'causes'
    """
    said = {role for _, _, cue in cues(sentence) for role in cue.roles}
    made = [(verb, _TREATED if role is Role.TREATS else _CAUSED) for verb, role in _KINDS if role in said]
    return next((verb for verb, roles in made if not any(_claims(e, roles) for e in evidence)), "")


def _claims(evidence: Evidence, roles: frozenset[Role]) -> bool:
    """Whether a piece of evidence says something of those roles, by its triples or its words."""
    if any(t.relation.role in roles for t in evidence.triples):
        return True
    return any(cue.roles & roles for _, _, cue in cues(evidence.text))
