"""Rewards of many answers at once, beside the same walk by networkx in the same run.

    KGMED_DATA=DIR python bench/reward.py [--set MZ-10] [--answers 100000] [--sample 200] [--scorer walk]

The questions are the findings of the set's train cases, the answers each name one of its diseases; a case is asked
again, with another answer, until there are enough. networkx walks (its pagerank, a walk a symptom in the patient's
subgraph) for the first `--sample` cases alone and gives the same reward object its scores, so that reading the answers
costs both the same. The ratio is that of answers a second; the rewards of the sample must be equal.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice, product
from time import process_time

import networkx as nx
import numpy as np
from _data import data
from _figures import keep

from kgmed.evaluate.datasets import patients
from kgmed.reward.cases import Case, CauseGraph, Floats, NamesIn, Scorer, softmax
from kgmed.reward.graph_reward import KGReward
from kgmed.reward.rlkgf import ScorerChoice


@dataclass(frozen=True, eq=False)
class NetworkxWalk:
    """The paper's walk as one writes it with networkx: a subgraph a patient, a pagerank a symptom."""

    graph: CauseGraph

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of the graph."""
        return self.graph.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """R_p (b, m)."""
        whole = nx.Graph()
        for d, s in np.argwhere(self.graph.count).tolist():
            names = ("d", self.graph.diseases[d]), ("s", self.graph.symptoms[s])
            whole.add_edge(*names, weight=self.graph.count[d, s])
        return softmax(np.array([self._values(whole, case) for case in cases]), 1.0)

    def _values(self, whole: nx.Graph, case: Case) -> Floats:
        values = np.full(len(self.diseases), np.nan)
        there = [("s", s) for s in dict.fromkeys(case.positive) if ("s", s) in whole]
        if not there:
            return values
        diseases = {d for s in there for d in whole[s]}
        around = whole.subgraph(diseases | {s for d in diseases for s in whole[d]})
        walks = [nx.pagerank(around, alpha=0.7, personalization={s: 1}, tol=1e-10, max_iter=1000) for s in there]
        for d in diseases:
            values[self.diseases.index(d[1])] = np.mean([walk[d] for walk in walks])
        return values


def timed(scorer: Scorer, cases: dict[str, Case], asked: Sequence[tuple[str, str]]) -> tuple[list[float | None], float]:
    """The rewards, and the answers a second of processor time."""
    reward = KGReward(scorer, NamesIn({d: [] for d in scorer.diseases}), cases.get)
    questions, answers = [q for q, _ in asked], [a for _, a in asked]
    begin = process_time()
    found = reward(questions, answers)
    return found, len(asked) / (process_time() - begin)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="MZ-10")
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=200, help="cases that networkx walks for")
    parser.add_argument("--scorer", default="walk", help="what is measured; rewards are compared for walk alone")
    asked = parser.parse_args()
    split = patients(asked.set, data())
    scorer = split.fitted(ScorerChoice(name=asked.scorer).fit)
    every = split.train + split.validation
    cases = {f"{c.id}: {'，'.join(c.positive)}": c for c in every}
    pairs = list(islice(cycle(product(scorer.diseases, cases)), asked.answers))
    batch = [(question, f"考虑{disease}。") for disease, question in pairs]
    first = set(list(cases)[: asked.sample])
    some = [pair for pair in batch if pair[0] in first]
    found, rate = timed(scorer, cases, batch)
    print(f"{asked.set}: {len(batch)} answers to {len(cases)} patients, {len(scorer.diseases)} diseases")
    print(
        f"{asked.scorer:10}{rate:12,.0f} answers a second of processor time, {sum(r is None for r in found)} unjudged"
    )
    keep("reward", {f"{asked.set} {asked.scorer}": rate, f"{asked.set} patients": len(cases)})
    told, other = timed(NetworkxWalk(CauseGraph.counted(every)), cases, some)
    print(f"{'networkx':10}{other:12,.0f} answers a second, measured on {len(some)} answers to {len(first)} patients")
    print(f"{'ratio':10}{rate / other:12,.0f}")
    keep("reward", {f"{asked.set} networkx": other})
    if asked.scorer != "walk":
        return
    ours = [r for r, pair in zip(found, batch, strict=True) if pair[0] in first]
    apart = max((abs(a - b) for a, b in zip(ours, told, strict=True) if a is not None and b is not None), default=0.0)
    print(f"rewards of the sample differ by at most {apart:.1e}")
    if apart > 1e-6 or [a is None for a in ours] != [b is None for b in told]:
        sys.exit("the two walks do not agree")


if __name__ == "__main__":
    main()
