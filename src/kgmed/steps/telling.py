"""How much a finding tells of a disease: what diseases like it show, and few others do."""

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.records import Role

_LIKE = 50  # ours: diseases that are most like one
_SIFTED = 300  # ours: diseases that share most with it, of which those are chosen


def telling(graph: LocalGraph, disease: int, findings: NDArray[np.int64]) -> dict[int, float]:
    """A score for each of a disease's findings (node numbers): higher for what tells more of it.

    The diseases that share rare findings with it (cosine of findings weighted by the logarithm of how few diseases
    have them) vote for what they have too; votes are multiplied by the root of that logarithm. On 400 diseases of
    HPO the order agrees with the stated frequencies, which it does not see, at a mean rank correlation of .23; by the
    number of diseases that have a finding it is .08 (`python bench/telling.py`).
    """
    steps = ByRole(graph, Role.FINDING)
    shared = steps.subjects(findings)
    others, at = np.unique(shared.node, return_inverse=True)
    pairs = np.unique(np.stack([shared.origin, at]), axis=1)  # one a finding and disease, however often it is said
    finding, other = pairs
    breadth = np.bincount(finding, minlength=len(findings))
    rarity = np.log((len(others) + 1) / np.maximum(breadth, 1))
    common = np.bincount(other, rarity[finding] ** 2, minlength=len(others))
    common[others == disease] = 0.0
    sifted = np.argsort(-common, kind="stable")[:_SIFTED]
    has = steps.objects(others[sifted])
    many = np.bincount(has.origin, minlength=len(sifted))
    alike = np.zeros(len(others))
    alike[sifted] = common[sifted] / np.sqrt(np.maximum(many, 1))
    alike[np.argsort(-alike, kind="stable")[_LIKE:]] = 0.0
    votes = np.bincount(finding, alike[other], minlength=len(findings))
    return dict(zip(findings.tolist(), (votes * np.sqrt(rarity)).tolist(), strict=True))
