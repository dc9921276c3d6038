"""A pair scorer learnt from a graph: its synonyms and its relations are right, their nearest neighbours are wrong.

Two kinds of groups, each a query, what it asks for, and near misses:
- a synonym of an entity, its preferred name, and the names of other entities that are spelled most like the synonym;
- a synonym of an entity with a relation, a triple of the entity with that relation, and as misses a triple of the
  entity with another relation and a triple with that relation of an entity that is spelled alike.
An entity is held out by the hash of its id, with all of its groups; nothing is chosen on what is held out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.graph.base import LocalGraph, Scope
from kgmed.graph.names import Fuzzy
from kgmed.models.base import Encoder, PairScorer
from kgmed.models.scorers import TrainedPairs, features
from kgmed.records import Entity

_SCOPES = (Scope.EXACT, Scope.LAYPERSON)
_MISSES = 6  # near misses of a synonym
_PART = 5  # one entity of so many is held out
_STEPS = 50  # of Newton's method, at most
_RIDGE = 1e-3  # on standardised features, so that separable groups have an optimum
_LEAST = 20  # groups, below which nothing is learnt


@dataclass(frozen=True, slots=True)
class Group:
    """A query, the text that it asks for, and texts that only look like it."""

    query: str
    right: str
    wrong: tuple[str, ...]
    kind: str  # synonym, relation
    entity: str  # id

    @property
    def held_out(self) -> bool:
        """Whether the group is for testing only."""
        return xxhash.xxh3_64_intdigest(self.entity.encode()) % _PART == 0

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The query with each text, the right one first."""
        return [(self.query, text) for text in (self.right, *self.wrong)]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a scorer is worth on n groups: mean reciprocal rank of the right text, area under the ROC curve in groups.

    Ties count against the scorer in the first, half in the second.
    """

    n: int
    mrr: float
    auc: float


def groups(graph: LocalGraph, *, most: int = 4000, seed: int = 0) -> list[Group]:
    """At most `most` groups of a graph, of entities drawn by lot; fewer where it has fewer synonyms."""
    names, entities = Fuzzy(graph), _Entities(graph)
    found: list[Group] = []
    for number in np.random.default_rng(seed).permutation(len(entities.synonyms)).tolist():
        node, text = entities.synonyms[number]
        found += _of(graph, names, entities, node, text)
        if len(found) >= most:
            break
    return found[:most]


class _Entities:
    """Synonyms, and the entities of each name."""

    def __init__(self, graph: LocalGraph) -> None:
        self.of_name: dict[str, set[int]] = {}
        self.synonyms: list[tuple[int, str]] = []
        for name in graph.names():
            if name.scope < Scope.XREF:
                self.of_name.setdefault(name.text, set()).add(name.node)
            if name.scope in _SCOPES and name.text != graph.at(name.node).name:
                self.synonyms.append((name.node, name.text))


def _of(graph: LocalGraph, names: Fuzzy, entities: _Entities, node: int, synonym: str) -> Iterator[Group]:
    """The groups of one synonym."""
    entity = graph.at(node)
    near = _near(graph, names, entities, node, synonym)
    wrong = tuple(dict.fromkeys(e.name for e in near if e.name != entity.name))
    if not wrong:
        return
    yield Group(synonym, entity.name, wrong, "synonym", entity.id)
    triples = graph.neighbours(entity.id, limit=64)
    own = [t for t in triples if entity.id == t.head.id]
    if not own:
        return
    asked = own[0].relation.name
    others = [t for t in triples if t.relation.name != asked][:2]
    alike = [t for e in near[:3] for t in graph.neighbours(e.id, limit=64) if t.relation.name == asked]
    misses = tuple(dict.fromkeys(text for t in (*others, *alike[:3]) if (text := str(t)) != str(own[0])))
    if misses:
        yield Group(f"{synonym} {asked.replace('_', ' ')}", str(own[0]), misses, "relation", entity.id)


def _near(graph: LocalGraph, names: Fuzzy, entities: _Entities, node: int, synonym: str) -> list[Entity]:
    """Other entities with names spelled like the synonym, the most alike first."""
    found = (near.name for near in names.search(synonym, limit=4 * _MISSES))
    nodes = (other for name in found if node not in entities.of_name[name] for other in sorted(entities.of_name[name]))
    return [graph.at(other) for other in islice(dict.fromkeys(nodes), _MISSES)]


def train(graph: LocalGraph, found: Sequence[Group], encoder: Encoder | None) -> TrainedPairs:
    """The scorer that fits the groups that are not held out; raises `BadInput` where they are too few."""
    learnt = [g for g in found if not g.held_out]
    if len(learnt) < _LEAST:
        raise BadInput(f"{graph.label} has {len(learnt)} groups to learn from, fewer than {_LEAST}: too few synonyms")
    rows = features([pair for g in learnt for pair in g.pairs], encoder)
    weights, bias = logistic(rows, np.array([float(i == 0) for g in learnt for i in range(len(g.pairs))]))
    return TrainedPairs(tuple(weights.tolist()), bias, graph.label, encoder)


def logistic(rows: NDArray[np.float64], right: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Weights (d,) and bias of the ridge-penalised logistic model, by Newton's method.

    The penalty is on standardised features; the weights are of the features as they are.

    >>> weights, bias = logistic(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> bool(weights[0] > 0), round(float(weights[0] * 1.5 + bias), 6) == 0
    (True, True)
    """
    mean, scale = rows.mean(0), np.where(rows.std(0) > 1e-12, rows.std(0), 1.0)
    design = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
    ridge = _RIDGE * len(rows) * np.diag([*([1.0] * rows.shape[1]), 0.0])
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -60, 60)))
        slope = design.T @ (chance - right) + ridge @ weights
        bend = (design * (chance * (1 - chance))[:, None]).T @ design + ridge
        step = np.linalg.solve(bend + 1e-9 * np.eye(len(bend)), slope)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    plain = weights[:-1] / scale
    return plain, float(weights[-1] - plain @ mean)


def figures(scorer: PairScorer, found: Sequence[Group]) -> Figures:
    """What a scorer is worth on those groups."""
    if not found:
        return Figures(0, 0.0, 0.0)
    scores = np.asarray(scorer([pair for g in found for pair in g.pairs]), np.float64)
    parts = np.split(scores, np.cumsum([len(g.pairs) for g in found])[:-1])
    mrr = [1 / (1 + (part[1:] >= part[0]).sum()) for part in parts]
    auc = [(part[1:] < part[0]).mean() + 0.5 * (part[1:] == part[0]).mean() for part in parts]
    return Figures(len(found), float(np.mean(mrr)), float(np.mean(auc)))


def compare_scorers(
    scorers: dict[str, PairScorer], found: Sequence[Group], progress: Callable[[str], None] = lambda name: None
) -> dict[str, dict[str, Figures]]:
    """By scorer and kind of group ("all" among them), the figures on the groups held out."""
    held = [g for g in found if g.held_out]
    kinds = ["all", *sorted({g.kind for g in held})]
    table = {}
    for name, scorer in scorers.items():
        progress(name)
        table[name] = {kind: figures(scorer, [g for g in held if kind in ("all", g.kind)]) for kind in kinds}
    return table
