"""Training of the scorer that decides links (`linking/decide.py`) on names whose entity is known.

Each name also serves as one that no entity of the graph has: its right entity is taken out of the candidates. The
scores from which a link is made, and from which a person is asked, are those at which the best candidates of names
left out of training, in five parts, were right as often as stated.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.errors import BadInput, Unavailable
from kgmed.evaluate.linking import LinkingCase
from kgmed.graph.base import Match
from kgmed.linking.decide import FEATURES, TREES, Finder, LinkScorer, may_link

LINK, ASK = 0.95, 0.6  # the precisions that are stated
_PARTS = 5
_FEWEST = 100  # names
_TREES = {
    "learning_rate": 0.04,
    "max_iter": 400,
    "max_leaf_nodes": 16,
    "min_samples_leaf": 20,
    "l2_regularization": 1.0,
}
_ABSENT = 3  # of so many names one is also asked for without its entity

Floats = NDArray[np.float64]


class Judged(NamedTuple):
    """The candidates of one name: what is seen of each, which are right, and which a link may be made to."""

    features: NDArray[np.float32]  # (n, len(FEATURES))
    right: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    name: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """How the scorer did on names left out of its training."""

    names: int
    link: float  # the score from which a link is made
    linked: float  # share of names with a link
    precision: float
    ask: float  # the score from which a person is asked
    asked: float  # share of the names without a link
    asked_precision: float


def judge(find: Finder, cases: Sequence[LinkingCase]) -> Iterable[Judged]:
    """The candidates of each case, and of every third as if its entity were not in the graph."""
    numbers = [frozenset(find.graph.number(r) for r in c.right) for c in cases]
    asked: list[tuple[str, frozenset[int]]] = [(c.text, frozenset()) for c in cases]
    asked += [(c.text, r) for c, r in zip(cases, numbers, strict=True) if r and _draw(c.text) % _ABSENT == 0]
    rights = [*numbers, *(lost for _, lost in asked[len(cases) :])]
    for (name, _), right, found in zip(asked, rights, find.without(asked), strict=True):
        if found:
            matches = [Match(find.graph.at(c.node), c.name, "meaning") for c in found]
            yield Judged(
                np.array([c.features for c in found]),
                np.array([c.node in right for c in found]),
                np.array([may_link(name, m) for m in matches]),
                name,
            )


def fit(judged: Sequence[Judged], *, link: float = LINK, ask: float = ASK) -> tuple[dict[str, NDArray[Any]], Fitted]:
    """The arrays of a scorer, and how it does; raises `BadInput` for too few names, `Unavailable` without a package."""
    if len(judged) < _FEWEST:
        raise BadInput(f"{len(judged)} names are too few to train on; at least {_FEWEST} are needed")
    part = np.array([_draw(j.name) % _PARTS for j in judged])
    best = np.zeros((len(judged), 2))
    for held in range(_PARTS):
        scorer = LinkScorer(_grown([j for j, p in zip(judged, part, strict=True) if p != held]))
        for i in np.flatnonzero(part == held).tolist():
            best[i] = _best(scorer, judged[i])
    sure = precise(best, link)
    rest = best[best[:, 0] < sure]
    likely = precise(rest, ask)
    figures = Fitted(len(judged), *_told(best, sure), *_told(rest, likely))
    return _grown(judged, link=sure, ask=min(likely, sure)), figures


def _best(scorer: LinkScorer, judged: Judged) -> tuple[float, float]:
    """The score of the best candidate, 0 where it may not be linked, and whether it is right."""
    chances = scorer(judged.features)
    first = int(chances.argmax())
    return float(chances[first] * judged.allowed[first]), float(judged.right[first])


def precise(best: Floats, share: float) -> float:
    """The lowest score from which the best candidates (score, right) are right in that share; above 1 if in none.

    >>> precise(np.array([[0.9, 1], [0.8, 1], [0.7, 0], [0.6, 1], [0.5, 0]]), 0.75)
    0.6
    """
    down = best[np.argsort(-best[:, 0], kind="stable")]
    enough = np.flatnonzero(np.cumsum(down[:, 1]) / np.arange(1, len(down) + 1) >= share)
    return float(down[enough[-1], 0]) if len(enough) else 1.1


def _told(best: Floats, at: float) -> tuple[float, float, float]:
    """A score, how many best candidates have it, and how many of those are right."""
    made = best[best[:, 0] >= at]
    return at, len(made) / len(best), float(made[:, 1].mean()) if len(made) else 1.0


def _grown(judged: Sequence[Judged], *, link: float = 1.1, ask: float = 1.1) -> dict[str, NDArray[Any]]:
    """The arrays of trees grown on all candidates."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError as error:
        raise Unavailable('training a scorer of links needs scikit-learn: pip install "kgmed[eval]"') from error
    model = HistGradientBoostingClassifier(**_TREES, early_stopping=False, random_state=0)
    model.fit(np.concatenate([j.features for j in judged]), np.concatenate([j.right for j in judged]))
    return arrays(model) | {"link": np.array(link), "ask": np.array(ask), "features": np.array(FEATURES)}


def arrays(model: Any) -> dict[str, NDArray[Any]]:
    """The trees of a fitted model of scikit-learn as arrays (trees, nodes); a leaf leads to itself."""
    trees = [stage[0].nodes for stage in model._predictors]
    size = max(map(len, trees))
    kinds = (np.int16, np.float32, np.int16, np.int16, np.float32)
    made = {name: np.zeros((len(trees), size), kind) for name, kind in zip(TREES, kinds, strict=True)}
    for i, nodes in enumerate(trees):
        leaf, own = nodes["is_leaf"].astype(bool), np.arange(len(nodes))
        made["feature"][i, : len(nodes)] = np.where(leaf, 0, nodes["feature_idx"])
        made["threshold"][i, : len(nodes)] = np.where(leaf, 0, nodes["num_threshold"])
        for side in ("left", "right"):
            made[side][i, : len(nodes)] = np.where(leaf, own, nodes[side])
        made["value"][i, : len(nodes)] = np.where(leaf, nodes["value"], 0)
    return made | {"first": np.array(model._baseline_prediction.item())}


def save(path: Path, made: dict[str, NDArray[Any]]) -> None:
    """Write a scorer's arrays to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, allow_pickle=False, **made)


def _draw(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
