"""Is each step of a reasoning graph what its evidence says? Decided by the triples, without a model.

A step (label, start, relation, end) stands if the evidence of that label has a triple with those ends, in that
direction, and that relation (names compared without case, punctuation and plural). Where the evidence does not have it,
the graph is asked, and the verdict says which of the two bears the step out. A label that no evidence has is invented.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from kgmed.check.citations import Citations
from kgmed.kg.graph import KnowledgeGraph
from kgmed.kg.text import fold
from kgmed.models.labels import labels
from kgmed.models.steps import Step, bracketed_labels, cited_labels, outputs, reasoning_graph
from kgmed.stages import Checker
from kgmed.types import Answer, Context, Evidence, Query, Triple, Verdict


@dataclass(frozen=True)
class Reasoning:
    """Verdicts of the sentences by `sentences`, then one for each step, then one for each label that does not exist.

    `lookup` is how many namesakes of an entity are tried in the graph, `limit` how many triples of each.
    """

    graph: KnowledgeGraph
    sentences: Checker = field(default_factory=Citations)
    lookup: int = 3
    limit: int = 500

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The answer with the verdicts; its text and its citations are those that `sentences` leaves."""
        checked = self.sentences(query, context, answer)
        if answer.abstained:
            return checked
        numbers = {label: i for i, label in enumerate(labels(context.cited), start=1)}
        parts = outputs(answer.reasoning)
        graph = reasoning_graph(parts.inference or answer.reasoning)
        steps = [self.verdict(step, numbers, context.cited) for step in graph.steps]
        invented = _invented(answer.text, parts.tree, numbers)
        return replace(checked, verdicts=(*checked.verdicts, *steps, *invented))

    def verdict(self, step: Step, numbers: dict[str, int], cited: Sequence[Evidence]) -> Verdict:
        """Whether one step stands, and on what."""
        said = f"{step.label}: {step.start} -> {step.relation or '?'} -> {step.end}"
        number = numbers.get(step.label)
        if number is None:
            return Verdict(said, supported=False, reason=f"cites evidence {step.label} that does not exist")
        problem = _problem(step, cited[number - 1].triples, f"evidence {step.label}")
        if not problem:
            return Verdict(said, supported=True, reason=f"evidence {step.label} says so", citations=(number,))
        known = self._between(step)
        if known and not _problem(step, known, "the graph"):
            reason = f"the graph says so, but evidence {step.label} does not"
            return Verdict(said, supported=True, reason=reason)
        return Verdict(said, supported=False, reason=problem, citations=(number,))

    def _between(self, step: Step) -> list[Triple]:
        """The triples of the graph around the entities of the step's first name."""
        entities = [match.entity for match in self.graph.lookup(step.start)[: self.lookup]]
        return [t for e in entities for t in self.graph.neighbours(e.id, limit=self.limit)]


def _problem(step: Step, triples: Sequence[Triple], where: str) -> str:
    """Why triples do not bear a step out; "" = they do."""
    start, end, relation = fold(step.start), fold(step.end), fold(step.relation)
    forward = [t for t in triples if _ends(t) == (start, end)]
    if any(not relation or fold(t.relation.name) == relation for t in forward):
        return ""
    if forward:
        return f"{where} says {forward[0].relation.name}, not {step.relation}"
    if any(_ends(t) == (end, start) for t in triples):
        return f"{where} says it the other way round"
    return f"{where} does not join {step.start} and {step.end}"


def _ends(triple: Triple) -> tuple[str, str]:
    return fold(triple.head.name), fold(triple.tail.name)


def _invented(text: str, tree: str, numbers: dict[str, int]) -> Iterator[Verdict]:
    """A verdict for each label in the answer or its tree that no evidence has."""
    for where, named in (("answer", bracketed_labels(text)), ("tree", cited_labels(tree))):
        for label in named:
            if label not in numbers:
                reason = f"cites evidence {label} that does not exist"
                yield Verdict(f"{where}: {label}", supported=False, reason=reason)
