"""How much a finding tells of a disease, and a side effect of a medicine: what those like it have, and few others."""

import re
from collections.abc import Sequence
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.text import lazily
from kgmed.records import Role

_LIKE = 50  # ours: diseases that are most like one
_SIFTED = 300  # ours: diseases that share most with it, of which those are chosen
_MARKS = 2  # ours: side effects that mark a medicine, to each that most of its labels share with all others
Floats = NDArray[np.float64]
_ILL = lazily(
    r"(?:[病炎癌瘤疾痔]|(?<!瘙痒)症|感染|中毒|溃疡|综合征)$"
    r"|(?:itis|osis|oma)\b|\b(?:disease|disorder|syndrome|neoplasm|infections?|mellitus|insipidus|cancer|tumou?r"
    r"|poisoning|sepsis|pneumonia|anemia|failure)\b",
    re.IGNORECASE,
)


def is_illness(name: str) -> bool:
    """Whether a name that stands among findings is by its words that of an illness: nobody is asked for that.

    >>> [is_illness(name) for name in ("Pharyngitis", "Cyanosis", "Hematemesis", "肺炎", "反跳痛")]
    [True, False, False, True, False]
    """
    return bool(_ILL.search(name)) and not _SIGN.search(name)


_SIGN = lazily(r"\b(?:cyanosis|diaphoresis|ptosis|acidosis|alkalosis|kyphosis|scoliosis|xerosis)\b", re.IGNORECASE)


def telling(graph: LocalGraph, disease: int, findings: NDArray[np.int64]) -> dict[int, float]:
    """A score for each of a disease's findings (node numbers): higher for what tells more of it.

    The diseases that share rare findings with it (cosine of findings weighted by the logarithm of how few diseases
    have them) vote for what they have too; votes are multiplied by the root of that logarithm. On 400 diseases of
    HPO the order agrees with the stated frequencies, which it does not see, at a mean rank correlation of .23; by the
    number of diseases that have a finding it is .08 (`python bench/telling.py`).
    """
    votes, rarity = _voted(ByRole(graph, Role.FINDING), [disease], findings)
    return dict(zip(findings.tolist(), (votes * np.sqrt(rarity)).tolist(), strict=True))


def marking(graph: LocalGraph, products: Sequence[int]) -> dict[int, int]:
    """The places of the side effects of a medicine, of which there are several products: what marks it and is usual.

    Most labels name nausea and a rash. The share of its products that name an effect and the votes of the products
    most like it (see `telling`) make what is usual with it; that times how few others have it, what marks it. Of
    these two orders the first two are taken of what marks it, then one of what is usual, and so on.
    """
    effects, usual, marks = _usual_and_marks(graph, products, Role.ADVERSE)
    by_turns = zip_longest(*(_best(effects, marks)[i::_MARKS] for i in range(_MARKS)), _best(effects, usual))
    order = dict.fromkeys(n for n in chain.from_iterable(by_turns) if n is not None)
    return {node: place for place, node in enumerate(order)}


def specific(graph: LocalGraph, diseases: Sequence[int]) -> dict[int, int]:
    """The places of the complications of a disease: those that mark it first, those that many diseases have last."""
    complications, _, marks = _usual_and_marks(graph, diseases, Role.COMPLICATION)
    return {node: place for place, node in enumerate(_best(complications, marks))}


def _best(ends: NDArray[np.int64], scores: Floats) -> list[int]:
    return list(map(int, ends[np.argsort(-scores, kind="stable")].tolist()))


def _usual_and_marks(graph: LocalGraph, own: Sequence[int], role: Role) -> tuple[NDArray[np.int64], Floats, Floats]:
    """What some entries of one thing have in a role, how usual each is with it, and how much it marks it."""
    steps = ByRole(graph, role)
    hops = steps.objects(sorted({*own}))
    pairs = np.unique(np.stack([hops.node, hops.origin]), axis=1)
    ends, said = np.unique(pairs[0], return_counts=True)
    if not len(ends):
        return ends, np.empty(0), np.empty(0)
    votes, rarity = _voted(steps, sorted({*own}), ends)
    usual = said / len(np.unique(pairs[1])) + votes / max(float(votes.max()), 1e-9)
    return ends, usual, usual * np.sqrt(rarity)


def _voted(steps: ByRole, own: Sequence[int], findings: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """For each of the findings of some entries the votes of the entries most like them, and how few have it."""
    shared = steps.subjects(findings)
    others, at = np.unique(shared.node, return_inverse=True)
    pairs = np.unique(np.stack([shared.origin, at]), axis=1)  # one a finding and disease, however often it is said
    finding, other = pairs
    breadth = np.bincount(finding, minlength=len(findings))
    rarity = np.log((len(others) + 1) / np.maximum(breadth, 1))
    common = np.bincount(other, rarity[finding] ** 2, minlength=len(others))
    common[np.isin(others, own)] = 0.0
    sifted = np.argsort(-common, kind="stable")[:_SIFTED]
    has = steps.objects(others[sifted])
    many = np.bincount(has.origin, minlength=len(sifted))
    alike = np.zeros(len(others))
    alike[sifted] = common[sifted] / np.sqrt(np.maximum(many, 1))
    alike[np.argsort(-alike, kind="stable")[_LIKE:]] = 0.0
    votes = np.bincount(finding, alike[other], minlength=len(findings))
    return votes.astype(np.float64), rarity.astype(np.float64)
