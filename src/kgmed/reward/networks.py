"""The networks behind R_s: two layers of a GCN or a GAT over the graph of causes, in plain PyTorch (extra "local").

GCN, RLKGF Eq. 5: Z = softmax(A^ ReLU(A^ X W0) W1) with A^ = D~^-1/2 (A + I) D~^-1/2. X is learnt, since the paper
names no features of a node. The softmax over the features makes all rows of Z alike, so that no cosine of symptom
and disease tells anything: `z_activation="none"` leaves it out. How the network is trained is not in the paper:

- on "links" (default): for each symptom, which diseases it is linked to, weighted as the edges are. No label of a
  case is used beyond the counts of the graph.
- on "cases": the disease of each train case from its symptoms. This uses labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from kgmed.errors import Unavailable, UnknownName
from kgmed.reward.cases import Case, CauseGraph, Floats, Weights

Tensor = Any  # torch.Tensor
Network = Literal["gcn", "gat"]
Activation = Literal["none", "softmax"]
Target = Literal["links", "cases"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is built and trained; what names no source is ours."""

    network: Network = "gcn"
    z_activation: Activation = "none"  # RLKGF, Eq. 5: softmax
    target: Target = "links"
    features: int = 100  # RLKGF, Table 7: F
    hidden: int = 128  # RLKGF, Table 7
    heads: int = 2  # RLKGF, of the GAT
    weights: Weights = "count"
    epochs: int = 150
    rate: float = 0.01
    dropout: float = 0.5
    sharpness: float = 10.0  # what the cosine is multiplied by in training

    def __post_init__(self) -> None:
        """Check the words."""
        words: dict[str, tuple[str, Any]] = {"network": (self.network, Network), "target": (self.target, Target)}
        words["activation of Z"] = (self.z_activation, Activation)
        for what, (word, known) in words.items():
            if word not in get_args(known):
                raise UnknownName(what, word, get_args(known))

    @property
    def uses_labels(self) -> bool:
        """Whether cases' labels are used beyond the counts of the graph."""
        return self.target == "cases"


@dataclass(frozen=True, slots=True)
class Trained:
    """The cosine of each symptom and disease (n, m), and the loss of each epoch."""

    similarity: Floats
    losses: tuple[float, ...]


def train(graph: CauseGraph, recipe: Recipe, cases: Sequence[Case] = (), *, seed: int = 0) -> Trained:
    """What a network of that recipe learns; the same for the same seed. Raises `Unavailable` without PyTorch.

    `cases` are those learnt from where the recipe's target is "cases".
    """
    torch = _torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        m = len(graph.diseases)
        model = _Network(graph, recipe)
        share, wanted = (_tensor(x) for x in _targets(graph, recipe, cases))
        optimizer = torch.optim.Adam(model.parameters, lr=recipe.rate)
        losses = []
        for _ in range(recipe.epochs):
            optimizer.zero_grad()
            logits = recipe.sharpness * share @ _cosine(model(training=True), m)
            loss = -(wanted * logits.log_softmax(1)).sum() / wanted.sum().clamp(min=1e-12)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        with torch.no_grad():
            similarity = _cosine(model(training=False), m).numpy().astype(np.float64)
    return Trained(similarity, tuple(losses))


def _targets(graph: CauseGraph, recipe: Recipe, cases: Sequence[Case]) -> tuple[Floats, Floats]:
    """What is averaged over the symptoms (b, n), and how much each disease is wanted of it (b, m)."""
    n, m = len(graph.symptoms), len(graph.diseases)
    if recipe.target == "links":
        weight = graph.weight(recipe.weights).T
        return np.eye(n), weight / max(weight.sum(), 1e-12)
    known = [(places, c.disease) for c in cases if (places := graph.places(c.positive)) and c.disease in graph.diseases]
    share, wanted = np.zeros((len(known), n)), np.zeros((len(known), m))
    for i, (places, disease) in enumerate(known):
        share[i, places] = 1 / len(places)
        wanted[i, graph.diseases.index(disease)] = 1.0
    return share, wanted


def normalised(weight: Floats) -> Floats:
    """A^ of diseases (m) and symptoms (n) from the weights of the edges (m, n), each node with a loop of weight 1.

    >>> normalised(np.array([[1.0, 1, 0], [0, 1, 1]])).round(4)[0].tolist()
    [0.3333, 0.0, 0.4082, 0.3333, 0.0]
    """
    m, n = weight.shape
    joined = np.eye(m + n)
    joined[:m, m:] += weight
    joined[m:, :m] += weight.T
    root = 1 / np.sqrt(joined.sum(axis=1))
    return np.asarray(root[:, None] * joined * root, np.float64)


class _Network:
    """Two layers over learnt features of the nodes, diseases first."""

    def __init__(self, graph: CauseGraph, recipe: Recipe) -> None:
        torch = _torch()
        self.recipe = recipe
        weight = graph.weight(recipe.weights)
        self.mixing = _tensor(normalised(weight / max(weight.max(initial=0.0), 1e-12)))
        nodes, hidden, heads = len(self.mixing), recipe.hidden, recipe.heads
        shapes: list[tuple[int, ...]] = [(nodes, recipe.features), (recipe.features, hidden), (hidden, hidden)]
        if recipe.network == "gat":
            shapes += [(2, heads, hidden // heads)] * 2
        self.parameters = [torch.nn.init.xavier_normal_(torch.empty(s)).requires_grad_() for s in shapes]

    def __call__(self, *, training: bool) -> Tensor:
        """Z (m + n, hidden)."""
        torch = _torch()
        x, w0, w1, *attention = self.parameters

        def drop(t: Tensor) -> Tensor:
            return torch.nn.functional.dropout(t, self.recipe.dropout, training)

        if attention:
            inner = torch.nn.functional.elu(self._attended(drop(x) @ w0, attention[0]))
            z = self._attended(drop(inner) @ w1, attention[1])
        else:
            z = self.mixing @ (drop(torch.relu(self.mixing @ (drop(x) @ w0))) @ w1)
        return z.softmax(1) if self.recipe.z_activation == "softmax" else z

    def _attended(self, values: Tensor, attention: Tensor) -> Tensor:
        """One layer of attention (Velickovic et al. 2018) over the edges and loops, heads side by side."""
        torch = _torch()
        by_head = values.reshape(len(values), self.recipe.heads, -1)  # (N, h, d)
        to, source = (by_head * attention[0]).sum(-1), (by_head * attention[1]).sum(-1)  # (N, h)
        score = torch.nn.functional.leaky_relu(to[:, None] + source[None], 0.2)  # (N, N, h)
        score = score.masked_fill((self.mixing == 0)[:, :, None], -torch.inf).softmax(1)
        return torch.einsum("ijh,jhd->ihd", score, by_head).reshape(len(values), -1)


def _cosine(z: Tensor, m: int) -> Tensor:
    """The cosine of every symptom's row with every disease's (n, m)."""
    unit = _torch().nn.functional.normalize(z, dim=1)
    return unit[m:] @ unit[:m].T


def _tensor(values: Floats) -> Tensor:
    return _torch().tensor(values, dtype=_torch().float32)


def _torch() -> Any:
    """PyTorch; raises `Unavailable`."""
    try:
        import torch
    except ImportError as error:
        raise Unavailable('training a graph network needs PyTorch: pip install "kgmed[local]"') from error
    return torch
