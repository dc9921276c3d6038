"""MedRAG (Zhao et al. 2025, arXiv 2502.04413): a model diagnoses by what tells similar diseases apart in a graph.

The paper, step by step, and the field of the pipeline (`medrag`) that does it:

- before: a diagnostic graph of four tiers (categories, subcategories, diseases, their features).
- `recognize`, `link`: the patient's findings, matched to its features.
- `retrieve` (`Differences`): each finding votes upward for the categories of the diseases that have it; what tells the
  diseases of the category with most votes apart; and records of similar patients, which are missing here.
- `read`: the model reasons with both, diagnoses, and names what to ask next.

The graph asked here is the tiers: features by the role of a finding, categories by is-a. A graph without categories
over its diseases, as one that is counted from patients, votes for the diseases themselves. A graph holds no records of
patients; of a counted one they are the weights.
Silent are the paper and its code on ties of the vote, on how many features of a disease are told (the code tells all,
those that every disease of the category has too), and on a patient of whom no feature is found.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.methods.baselines_closed import aided, both, model
from kgmed.pipeline import Fact, Pipeline, note
from kgmed.prompts import ANSWER_TOKENS, task
from kgmed.records import Evidence, Link, Query, Role
from kgmed.registry import About, Calls, methods
from kgmed.steps.read import LLMReader
from kgmed.steps.retrieve import Neighbours, told
from kgmed.toolkit import Toolkit

# --- Retriever: the differences of the diseases that the patient's findings vote for.


@dataclass(frozen=True, slots=True)
class Differences:
    """What tells the diseases apart that the findings of the question vote for, one piece a disease, most votes first.

    Evidence: kind "neighbours", triples of findings that not every one of these diseases has, those of the patient
    first, then those that the fewest have; score = votes. Unless as published, the graph's warnings stand behind.
    """

    graph: LocalGraph
    categories: int = 1
    diseases: int = 10
    features: int = 10

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The pieces."""
        named = [self.graph.number(link.entity.id) for link in links if not link.mention.negated]
        votes = self._votes(list(dict.fromkeys(named)))
        if not votes:
            note("no finding of the question is one of a disease of the graph")
        found = self._told(self._candidates(votes), votes, set(named))
        if task().published:
            return found
        near = Neighbours(self.graph, attributes=False)(query, links)
        return [*found, *(e for e in near if e.is_safety or not found)]

    def _votes(self, features: Sequence[int]) -> Counter[int]:
        """For each disease how many of the findings it has."""
        hops = ByRole(self.graph, Role.FINDING).subjects(features)
        return Counter(
            disease for _, disease in dict.fromkeys(zip(hops.origin.tolist(), hops.node.tolist(), strict=True))
        )

    def _candidates(self, votes: Counter[int]) -> list[int]:
        """The diseases of the categories with most votes; those with most votes themselves where no category has two.

        A disease for which nothing votes is none of them. Of equal ones the first of the graph.
        """
        order = sorted(votes, key=lambda disease: (-votes[disease], disease))
        up = ByRole(self.graph, Role.IS_A).objects(order)
        below: dict[int, list[int]] = {}
        for place, category in dict.fromkeys(zip(up.origin.tolist(), up.node.tolist(), strict=True)):
            below.setdefault(category, []).append(order[place])
        polls = {c: sum(votes[d] for d in of) for c, of in below.items() if len(of) > 1}
        best = sorted(polls, key=lambda category: (-polls[category], category))[: self.categories]
        if not best:
            return order[: self.diseases]
        note(Fact(f"categories: {', '.join(f'{self.graph.at(c).name} ({polls[c]} votes)' for c in best)}"))
        return [d for d in order if any(d in below[c] for c in best)][: self.diseases]

    def _told(self, diseases: Sequence[int], votes: Counter[int], own: set[int]) -> list[Evidence]:
        """The findings that not all of the diseases have, disease by disease."""
        hops = ByRole(self.graph, Role.FINDING).objects(diseases)
        edges = {(o, n): e for o, n, e in zip(*(column.tolist() for column in hops), strict=True)}
        shared = Counter(feature for _, feature in edges)
        found = []
        for place, disease in enumerate(diseases):
            apart = [f for of, f in edges if of == place and (shared[f] < len(diseases) or len(diseases) == 1)]
            first = sorted(apart, key=lambda f: (f not in own, shared[f], f))[: self.features]
            if not first:
                continue
            entity, triples = self.graph.at(disease), tuple(self.graph.triple(edges[place, f]) for f in first)
            text = f"{entity.name} {told(entity, triples)}"
            found.append(Evidence(text, "neighbours", triples, (entity,), float(votes[disease])))
        return found


# --- The method.


@dataclass(frozen=True, slots=True, kw_only=True)
class MedRAGSettings:
    """The numbers of MedRAG."""

    categories: int = 1  # code, top_n: categories whose diseases are told apart
    diseases: int = 10  # ours: of one category, those with most votes; the code takes all, of its graph at most 9
    features: int = 10  # ours: of one disease; the code tells all
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "medrag",
    about=About(
        paper="MedRAG",
        by="Zhao et al.",
        year=2025,
        where="WWW 2025, arXiv 2502.04413",
        does="findings vote for a category; what tells its diseases apart is read by a model that diagnoses",
        calls=Calls.always(1, "the diagnosis; the paper's"),
        ours=(
            "the graph is the one that is asked, not made of records by a model; there are no records of patients",
            "a finding is linked as everywhere here to one node, not to the five nearest with a cosine above .5",
            "findings that all diseases of the category have are left out; ten of a disease are told, the rarest first",
            "diseases for which nothing votes are left out; the code tells them too",
            "where no category has two diseases the ten diseases with most votes are told apart",
        ),
        needs=frozenset({"model", "local_graph"}),
        baseline=True,
    ),
    presets=both(MedRAGSettings()),
)
def medrag(toolkit: Toolkit, *, settings: MedRAGSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or MedRAGSettings(), "medrag"
    read = LLMReader(model(toolkit, name), name="medrag/reader", max_tokens=s.answer_tokens, prompts=toolkit.prompts)
    return aided(toolkit, name, retrieve=(Differences(toolkit.graph, s.categories, s.diseases, s.features),), read=read)
