"""The scorer of RLKGF: R = mu R_s + (1 - mu) R_p, semantic relevance and link criticality in the patient's subgraph."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np

from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.reward import loglinear
from kgmed.reward.cases import Case, Cases, CauseGraph, Fit, Floats, Scorer, Weights, softmax
from kgmed.reward.criticality import Aggregate, Criticality, Gaussian, Normalization, WalkReason

# --- The networks behind R_s: two layers of a GCN or a GAT over the graph of causes, in plain PyTorch (extra "local").
# GCN, RLKGF Eq. 5: Z = softmax(A^ ReLU(A^ X W0) W1) with A^ = D~^-1/2 (A + I) D~^-1/2. X is learnt, since the paper
# names no features of a node. The softmax over the features makes all rows of Z alike, so that no cosine of symptom
# and disease tells anything: `z_activation="none"` leaves it out. How the network is trained is not in the paper:
# - on "links" (default): for each symptom, which diseases it is linked to, weighted as the edges are. No label of a
#   case is used beyond the counts of the graph.
# - on "cases": the disease of each train case from its symptoms. This uses labels.
# Relevance is the cosine of a symptom's and a disease's row of Z. A GAT's can be its attention instead, as the paper
# has it: how much of the last layer's attention of the symptom goes to the disease, a mean over the heads. A head of a
# GAT ranks the same neighbours alike for every node (Brody et al. 2022, arXiv 2105.14491), so that its attention cannot
# tell one symptom's diseases from another's; that of their GATv2 ("gatv2"; ours here) can.


Tensor = Any  # torch.Tensor
Network = Literal["gcn", "gat", "gatv2"]
Activation = Literal["none", "softmax"]
Target = Literal["links", "cases"]
Relevance = Literal["cosine", "attention"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is built and trained; what names no source is ours."""

    network: Network = "gcn"
    z_activation: Activation = "none"  # RLKGF, Eq. 5: softmax
    target: Target = "links"
    relevance: Relevance = "cosine"  # RLKGF: attention for the GAT
    features: int = 100  # RLKGF, Table 7: F, of X and of Z
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
        words |= {"activation of Z": (self.z_activation, Activation), "relevance": (self.relevance, Relevance)}
        for what, (word, known) in words.items():
            if word not in get_args(known):
                raise UnknownName(what, word, get_args(known))
        if self.relevance == "attention" and self.network == "gcn":
            raise BadInput(f"a {self.network} has no attention; take its cosine, or a gat")


@dataclass(frozen=True, slots=True)
class Trained:
    """The relevance of each disease to each symptom (n, m), and the loss of each epoch."""

    similarity: Floats
    losses: tuple[float, ...]


def train_network(graph: CauseGraph, recipe: Recipe, cases: Sequence[Case] = (), *, seed: int = 0) -> Trained:
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
            logits = recipe.sharpness * share @ model.relevance(m, training=True)
            loss = -(wanted * logits.log_softmax(1)).sum() / wanted.sum().clamp(min=1e-12)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        with torch.no_grad():
            similarity = model.relevance(m, training=False).numpy().astype(np.float64)
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
        f = recipe.features
        shapes: list[tuple[int, ...]] = [(nodes, f), (f, hidden), (hidden, f)]
        if recipe.network != "gcn":
            shapes += [(2, heads, hidden // heads), (2, heads, f // heads)]
        self.parameters = [torch.nn.init.xavier_normal_(torch.empty(s)).requires_grad_() for s in shapes]

    def relevance(self, m: int, *, training: bool) -> Tensor:
        """The relevance of the m diseases to each symptom (n, m)."""
        if self.recipe.relevance == "attention":
            return self._attention(self._values(training=training), self.parameters[4])[m:, :m].mean(-1)
        return _cosine(self(training=training), m)

    def __call__(self, *, training: bool) -> Tensor:
        """Z (m + n, F)."""
        values = self._values(training=training)
        gcn = self.recipe.network == "gcn"
        z = self.mixing @ values if gcn else self._attended(values, self.parameters[4])
        return z.softmax(1) if self.recipe.z_activation == "softmax" else z

    def _values(self, *, training: bool) -> Tensor:
        """What the second layer mixes between neighbours (m + n, F)."""
        torch = _torch()
        x, w0, w1, *attention = self.parameters

        def drop(t: Tensor) -> Tensor:
            return torch.nn.functional.dropout(t, self.recipe.dropout, training)

        if attention:
            return drop(torch.nn.functional.elu(self._attended(drop(x) @ w0, attention[0]))) @ w1
        return drop(torch.relu(self.mixing @ (drop(x) @ w0))) @ w1

    def _attended(self, values: Tensor, attention: Tensor) -> Tensor:
        """One layer of attention (Velickovic et al. 2018) over the edges and loops, heads side by side."""
        by_head = self._by_head(values)
        score = self._attention(values, attention)
        return _torch().einsum("ijh,jhd->ihd", score, by_head).reshape(len(values), -1)

    def _attention(self, values: Tensor, attention: Tensor) -> Tensor:
        """How much of each node's attention goes to each of its neighbours, by head (N, N, h)."""
        torch, by_head = _torch(), self._by_head(values)
        leaky = torch.nn.functional.leaky_relu
        to, source = (by_head * attention[0]).sum(-1), (by_head * attention[1]).sum(-1)  # (N, h)
        score = leaky(to[:, None] + source[None], 0.2)  # (N, N, h)
        if self.recipe.network == "gatv2":
            score = (leaky(by_head[:, None] + by_head[None], 0.2) * attention[0]).sum(-1)
        return score.masked_fill((self.mixing == 0)[:, :, None], -torch.inf).softmax(1)

    def _by_head(self, values: Tensor) -> Tensor:
        return values.reshape(len(values), self.recipe.heads, -1)  # (N, h, d)


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


# --- R_s of patients, and R of both halves.


@dataclass(frozen=True, eq=False)
class Semantic:
    """The scorer R_s: the mean similarity (n, m) of the patient's symptoms to each disease of the subgraph."""

    graph: CauseGraph
    similarity: Floats
    temperature: float = 1.0  # the authors' code

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of the graph."""
        return self.graph.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """R_s (b, m); NaN outside the patient's subgraph, everywhere where no symptom is known."""
        placed = self.graph.placed(c.positive for c in cases)
        mean = placed.total(self.similarity[placed.places]) / np.maximum(placed.many, 1)[:, None]
        return softmax(np.where(self.graph.inside(placed), mean, np.nan), self.temperature)


@dataclass(frozen=True, eq=False)
class Mixed:
    """The scorer R."""

    criticality: Criticality
    semantic: Semantic
    mu: float = 0.1  # the authors' code for MZ and DXY; the paper calls it learnable

    def __post_init__(self) -> None:
        """Check mu."""
        if not 0 <= self.mu <= 1:
            raise BadInput(f"mu must be between 0 and 1, not {self.mu}")

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of the graph."""
        return self.criticality.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """R (b, m); NaN outside the patient's subgraph."""
        return self.mu * self.semantic(cases) + (1 - self.mu) * self.criticality(cases)

    def reasons(self, case: Case, disease: str) -> tuple[WalkReason, ...]:
        """What carried the disease, by the walk; the network's half names no edges."""
        return self.criticality.reasons(case, disease)


_EQUATION_5 = Recipe(z_activation="softmax")


@dataclass(frozen=True, slots=True)
class RLKGFSettings:
    """The numbers of RLKGF."""

    c: float = 0.7  # Table 7; called "restart probability" there, but Eq. 2 restarts with 1 - c
    gaussian: Gaussian = "init"  # without effect; see `Criticality`
    normalization: Normalization = "column"  # Eq. 2
    aggregate: Aggregate = "mean"  # not in the paper
    weights: Weights = "count"  # the authors' files hold counts
    at_least: int = 1
    walk_temperature: float = 1.0  # the authors' code
    network_temperature: float = 1.0  # the authors' code
    mu: float | None = 0.1  # the authors' code for MZ and DXY; None = learnt on the validation cases' labels
    denied: float = 0.0
    recipe: Recipe | None = _EQUATION_5  # None = the walk alone

    def __post_init__(self) -> None:
        """Check the walk's settings."""
        self.walk(CauseGraph.of({}))

    def walk(self, graph: CauseGraph) -> Criticality:
        """The walk with these settings."""
        return Criticality(
            graph,
            c=self.c,
            weights=self.weights,
            aggregate=self.aggregate,
            normalization=self.normalization,
            temperature=self.walk_temperature,
            gaussian=self.gaussian,
            denied=self.denied,
        )


_GAT = Recipe(network="gat", relevance="attention")
PRESETS: dict[str, RLKGFSettings] = {
    "rlkgf": RLKGFSettings(),
    "walk": RLKGFSettings(recipe=None),  # without the network: the paper's "w/o GCN"
    "gcn": RLKGFSettings(mu=1.0),  # without the walk: the paper's "w/o RWR"
    "gat": RLKGFSettings(mu=1.0, recipe=_GAT),
    "rlkgf-gat": RLKGFSettings(recipe=_GAT),  # Table 4
    "gatv2": RLKGFSettings(mu=1.0, recipe=Recipe(network="gatv2", relevance="attention")),  # ours
    "code": RLKGFSettings(
        recipe=Recipe(z_activation="softmax", target="cases")
    ),  # its checkpoints' names are accuracies
    "code-gmd": RLKGFSettings(mu=0.01, at_least=3, recipe=Recipe(z_activation="softmax", target="cases")),
}


def preset(name: str) -> RLKGFSettings:
    """The settings of that name; raises `UnknownName`."""
    if name not in PRESETS:
        raise UnknownName("preset of RLKGF", name, PRESETS)
    return PRESETS[name]


class Explaining(Scorer, Protocol):
    """A scorer that says what carried a disease."""

    def reasons(self, case: Case, disease: str) -> tuple[WalkReason, ...]:
        """What carried the disease, the weightiest first."""
        ...


READINGS = [(n, a) for n in get_args(Normalization) for a in get_args(Aggregate)]  # what the paper leaves open
BEST = "best"  # ours, `loglinear`
LEARN = "learn"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerChoice:
    """A scorer by name, and what of its settings is given in place of its own: one object for ranking and training.

    >>> ScorerChoice(name="rlkgf", mu="0.3", restart=0.4).settings.c
    0.6
    """

    name: str = BEST
    mu: str = ""  # a number, "learn", or "" for the name's own
    restart: float | None = None  # 1 - c
    normalization: str | None = None
    aggregate: str | None = None
    temperature: float | None = None  # of both halves
    seed: int = 0  # of the network

    @property
    def given(self) -> dict[str, object]:
        """What is given, by the name of its option."""
        options = {"mu": self.mu or None, "restart": self.restart, "normalize": self.normalization}
        options |= {"aggregate": self.aggregate, "temperature": self.temperature}
        return {name: value for name, value in options.items() if value is not None}

    @property
    def settings(self) -> RLKGFSettings:
        """The settings of RLKGF; raises `UnknownName`, and `BadInput` for what the scorer has no use for."""
        own = preset(self.name)
        heat = self.temperature
        numbers: dict[str, Any] = {"walk_temperature": heat, "network_temperature": heat, "aggregate": self.aggregate}
        numbers |= {
            "normalization": self.normalization,
            "c": None if self.restart is None else round(1 - self.restart, 9),
        }
        made = replace(own, **{name: value for name, value in numbers.items() if value is not None})
        made = replace(made, mu=_mu(self.mu)) if self.mu else made
        if self.mu and not own.recipe:
            raise BadInput(f"the scorer {self.name} has no network that mu could weigh; leave out --mu, or take rlkgf")
        if made.recipe and made.mu == 1 and (unused := self.given.keys() & {"restart", "normalize", "aggregate"}):
            raise BadInput(f"the scorer {self.name} does not walk; leave out --{min(unused)}, or take rlkgf")
        return made

    @property
    def fit(self) -> Fit[Explaining]:
        """The fit (train, validation) -> scorer; raises `UnknownName`, `BadInput`."""
        if self.name == BEST:
            if self.given:
                raise BadInput(f"--{min(self.given)} is for RLKGF's scorers; leave it out, or take --scorer rlkgf")
            return loglinear.fit
        if self.name not in PRESETS:
            raise UnknownName("scorer of diseases", self.name, (BEST, *PRESETS))
        return fit_with(self.settings, seed=self.seed)

    def told(self) -> str:
        """The choice in one line."""
        return " ".join([self.name, *(f"{name}={value}" for name, value in self.given.items())])


def _mu(text: str) -> float | None:
    """The number in the text; None for "learn"."""
    try:
        mu = None if text == LEARN else float(text)
    except ValueError:
        mu = -1.0
    if mu is not None and not 0 <= mu <= 1:
        raise BadInput(f"mu must be a number between 0 and 1, or {LEARN}, not {text!r}")
    return mu


def fit_with(settings: RLKGFSettings, *, seed: int = 0) -> Callable[[Cases, Cases], Mixed | Criticality]:
    """The fit of these settings: (train, validation) -> scorer on the counts of both.

    mu, where learnt, is learnt on validation with a scorer made of train alone.
    """

    def fit(training: Cases, validation: Cases) -> Mixed | Criticality:
        mu = settings.mu
        if settings.recipe and mu is None:
            trial = _made(replace(settings, mu=0.5), training, seed)
            mu = learn_mu(trial, validation) if isinstance(trial, Mixed) else 0.5
        return _made(replace(settings, mu=mu), training + validation, seed)

    return fit


def _made(settings: RLKGFSettings, cases: Cases, seed: int) -> Mixed | Criticality:
    """The scorer of these settings on the counts of the cases."""
    graph = CauseGraph.counted(cases, at_least=settings.at_least)
    criticality = settings.walk(graph)
    if settings.recipe is None or settings.mu is None:
        return criticality
    learnt = train_network(graph, settings.recipe, cases, seed=seed)
    return Mixed(criticality, Semantic(graph, learnt.similarity, settings.network_temperature), settings.mu)


def learn_mu(mixed: Mixed, cases: Sequence[Case]) -> float:
    """The mu in 0..1 under which the labelled cases are likeliest.

    The log-likelihood is concave in mu, so its slope is halved in on. Cases that either part cannot judge, or whose
    disease is outside the subgraph, do not count; without any, the mu given.
    """
    judged = [c for c in cases if c.disease in mixed.diseases]
    at = (np.arange(len(judged)), [mixed.diseases.index(c.disease) for c in judged])
    s, p = (scorer(judged)[at] if judged else np.zeros(0) for scorer in (mixed.semantic, mixed.criticality))
    seen = ~np.isnan(s + p)
    s, p = s[seen], p[seen]
    if not len(s):
        return mixed.mu
    low, high = 0.0, 1.0
    for _ in range(40):
        mu = (low + high) / 2
        slope = float(((s - p) / (mu * s + (1 - mu) * p)).sum())
        low, high = (mu, high) if slope > 0 else (low, mu)
    return (low + high) / 2
