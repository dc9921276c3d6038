"""The scorer of RLKGF: R = mu R_s + (1 - mu) R_p, semantic relevance and link criticality in the patient's subgraph."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kgmed.errors import BadInput, UnknownName
from kgmed.reward import loglinear
from kgmed.reward.cases import Case, Cases, CauseGraph, Fit, Floats, Scorer, Weights, softmax
from kgmed.reward.criticality import Aggregate, Criticality, Gaussian, WalkReason
from kgmed.reward.networks import Recipe, train


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
        values = np.full((len(cases), len(self.diseases)), np.nan)
        for row, case in zip(values, cases, strict=True):
            inside = list(self.graph.around(case.positive))
            if inside:
                row[inside] = self.similarity[self.graph.places(case.positive)].mean(axis=0)[inside]
        return softmax(values, self.temperature)


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
    aggregate: Aggregate = "mean"  # not in the paper
    weights: Weights = "count"  # the authors' files hold counts
    at_least: int = 1
    walk_temperature: float = 1.0  # the authors' code
    network_temperature: float = 1.0  # the authors' code
    mu: float | None = 0.1  # the authors' code for MZ and DXY; None = learnt on the validation cases' labels
    denied: float = 0.0
    recipe: Recipe | None = _EQUATION_5  # None = the walk alone


PRESETS: dict[str, RLKGFSettings] = {
    "paper": RLKGFSettings(),
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


def scorer_fit(name: str) -> Fit[Explaining]:
    """The fit of the scorer "best" (ours), "walk" (RLKGF's R_p alone) or a preset; raises `UnknownName`."""
    known: dict[str, Fit[Explaining]] = {"best": loglinear.fit, "walk": fit_with(RLKGFSettings(recipe=None))}
    known |= {preset: fit_with(settings) for preset, settings in PRESETS.items()}
    if name not in known:
        raise UnknownName("scorer of diseases", name, known)
    return known[name]


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
    criticality = Criticality(
        graph,
        c=settings.c,
        weights=settings.weights,
        aggregate=settings.aggregate,
        temperature=settings.walk_temperature,
        gaussian=settings.gaussian,
        denied=settings.denied,
    )
    if settings.recipe is None or settings.mu is None:
        return criticality
    learnt = train(graph, settings.recipe, cases, seed=seed)
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
