"""Rankers against the plain loops of the released codes' complexity: seconds, ratio, and whether the results agree.

    python bench/rankers.py

The loops are our own, of the order that the papers' released codes have; none of their code is in here.
- triple ranking (KG-Rank): one cosine a triple; ours one product. What encoding takes is in neither.
- MMR (KG-Rank): a cosine of every candidate with every pick at every pick, n = 500, 20 picks; ours one product a pick.
- dense linking (MindMap): for each mention an (N, N) table of which one row is used; ours one product in blocks. The
  table is made for a part of the names that fits into memory.
- fragment matrix (HyKGE): fragments x chains pairs scored one by one, equal texts again; ours each pair of distinct
  texts once, in one batch.
"""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from _figures import keep
from numpy.typing import NDArray

from kgmed.graph.names import Near
from kgmed.graph.vectors import Vectors
from kgmed.models.base import Encoder
from kgmed.models.encoders import NgramEncoder
from kgmed.models.scorers import LexicalPairs
from kgmed.records import Evidence, Query, Question
from kgmed.steps.rank import Fragments, Similarity, mmr

Rows = NDArray[np.float32]
RANDOM = np.random.default_rng(4)
WORDS = [
    f"{a}{b}"
    for a in ("cardi", "nephr", "derm", "gastr", "neur", "oste")
    for b in ("itis", "osis", "opathy", "al", "oma")
]


def text(words: int) -> str:
    return " ".join(WORDS[i] for i in RANDOM.integers(0, len(WORDS), words))


def unit(n: int, d: int) -> Rows:
    rows = RANDOM.normal(size=(n, d)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def cosine(a: Rows, b: Rows) -> float:
    return float((a @ b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def plain_mmr(question: Rows, rows: Rows, keep: int) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < keep:
        weight = 0.1 + 0.01 * len(chosen)
        scores = {}
        for i in range(len(rows)):
            if i not in chosen:
                said = [cosine(rows[i], rows[s]) for s in chosen]
                scores[i] = cosine(question, rows[i]) - (weight * sum(said) / len(said) if said else 0.0)
        chosen.append(max(scores, key=lambda i: scores[i]))
    return chosen


def plain_ranking(encoder: Encoder, query: Query, evidence: Sequence[Evidence], keep: int) -> list[str]:
    asked = encoder([query.text])[0]
    scores = [cosine(encoder([e.text])[0], asked) for e in evidence]
    order = sorted(range(len(evidence)), key=lambda i: -scores[i])
    return [evidence[i].text for i in order[:keep]]


def plain_linking(queries: Rows, names: Rows) -> list[int]:
    found = []
    for query in queries:
        norms = np.linalg.norm(names, axis=1)
        table = (names @ query) / (norms * np.linalg.norm(query))[:, None]  # (N, N): every row divided by every norm
        found.append(int(table[0].argmax()))
    return found


def plain_fragments(scorer: LexicalPairs, rows: Sequence[str], evidence: Sequence[Evidence], keep: int) -> list[str]:
    best = [max(float(scorer([(row, e.text)])[0]) for row in rows) for e in evidence]
    order = sorted(range(len(evidence)), key=lambda i: -best[i])
    return list(dict.fromkeys(evidence[i].text for i in order))[:keep]


class Known:
    """An encoder that has the vectors at hand, so that only the search is timed."""

    name, dimensions = "known", 512

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __call__(self, texts: Sequence[str], /) -> Rows:
        return self._rows[[int(t) for t in texts]]


class Table(Known):
    """The same by text."""

    def __init__(self, texts: Sequence[str], rows: Rows) -> None:
        super().__init__(rows)
        self._number = {text: i for i, text in enumerate(texts)}

    def __call__(self, texts: Sequence[str], /) -> Rows:
        return self._rows[[self._number[t] for t in texts]]


class Numbers:
    """Names that are numbers."""

    def name(self, row: int) -> str:
        return str(row)


def firsts(found: list[list[Near]]) -> list[int]:
    return [near[0].row for near in found]


def cases() -> list[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """What is measured: its size, the plain loop, and ours; both give the same thing to compare."""
    question, rows = unit(1, 768)[0], unit(500, 768)
    query = Query(Question(text(12)))
    evidence = [Evidence(f"{text(2)} {i} may treat {text(3)}", "triple") for i in range(500)]
    encoder = Table([query.text, *(e.text for e in evidence)], unit(501, 768))
    names, asked = unit(4000, 512), unit(16, 512)
    vectors = Vectors(Numbers(), Known(asked), names.astype(np.float16))  # type: ignore[arg-type]
    half = names.astype(np.float16).astype(np.float32)
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    chains = [Evidence(f"{text(2)} -> {text(2)}", "chain") for _ in range(100)]
    chains = [chains[i % 100] if i < 100 else Evidence(chains[i % 100].text, "chain", id=str(i)) for i in range(125)]
    scorer, long = LexicalPairs(NgramEncoder()), Query(Question(text(20)), text(100))
    ours = Fragments(scorer, keep=10)
    parts = ours.rows(long)
    return [
        ("triple ranking, 500 triples, 20 kept", partial(plain_ranking, encoder, query, evidence, 20),
         lambda: [e.text for e in Similarity(encoder, 20)(query, evidence)]),
        ("MMR, 500 candidates, 20 picks, d 768", partial(plain_mmr, question, rows, 20),
         lambda: mmr(question, rows, 20)),
        ("linking, 16 mentions, 4,000 names, d 512", partial(plain_linking, asked, half),
         lambda: firsts(vectors.search([str(i) for i in range(16)], limit=1))),
        (f"fragments, {len(parts)} x 125 chains", partial(plain_fragments, scorer, parts, chains, 10),
         lambda: list(dict.fromkeys(e.text for e in ours(long, chains)))),
    ]  # fmt: skip


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds of the faster of two times."""
    spent = []
    for _ in range(2):
        begin = perf_counter()
        found = work()
        spent.append(perf_counter() - begin)
    return found, min(spent)


def main() -> None:
    """Measure and print."""
    print(f"{'':44}{'plain ms':>10}{'ours ms':>10}{'ratio':>9}   results")
    for what, plain, ours in cases():
        (wanted, slow), (found, fast) = timed(plain), timed(ours)
        same = "equal" if wanted[: len(found)] == found[: len(wanted)] else "DIFFERENT"
        print(f"{what:44}{1000 * slow:>10.1f}{1000 * fast:>10.2f}{slow / fast:>9.0f}   {same}")
        name = what.split(",")[0]
        keep("rankers", {f"{name} plain ms": 1000 * slow, f"{name} ms": 1000 * fast, f"{name} ratio": slow / fast})


if __name__ == "__main__":
    main()
