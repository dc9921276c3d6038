"""MindMap's hallucination score: how like the keywords of an answer are to those of the reference, and its opposite.

Keywords are weighed by tf x idf, idf = log((1 + N) / (1 + n)) + 1 over all references of the data set, whatever part
of it is scored, so that figures of different runs can be compared; a keyword that no reference has is the rarest.
The score is the cosine. The paper reports this likeness, higher = less made up; `hallucination` is 1 minus it. The
paper's keywords come from a model trained for that; here from the words, or from a graph's own names.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log, sqrt
from typing import NamedTuple

from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics.states import references
from kgmed.evaluate.metrics.words import words
from kgmed.kg.graph import LocalGraph
from kgmed.kg.text import normalise
from kgmed.recognize.lexicon import Lexicon
from kgmed.types import Query, Question, Run


class Extractor(NamedTuple):
    """What the keywords of a text are, and what that is called."""

    name: str
    find: Callable[[str], Sequence[str]]


WORDS = Extractor("words", words)


def names_of(graph: LocalGraph) -> Extractor:
    """A graph's own names in a text, as often as they occur, as their normalised forms."""
    lexicon = Lexicon(graph)
    return Extractor(
        f"names of {graph.label}", lambda text: [normalise(m.name) for m in lexicon(Query(Question(text)))]
    )


class Likeness:
    """The cosine of two lists of keywords under frozen rarities.

    >>> like = Likeness([["gout", "toe"], ["gout", "flu"]])  # idf: gout 1, toe and flu 1 + log 3/2, others 1 + log 3
    >>> round(like(["gout"], ["gout", "toe"]), 4)  # 1 / sqrt(1 + 1.4055²)
    0.5797
    >>> round(like(["gout", "made-up"], ["gout", "toe"]), 4)  # / sqrt(1 + 2.0986²)
    0.2494
    """

    def __init__(self, corpus: Iterable[Iterable[str]]) -> None:
        """Count in how many texts each keyword is."""
        texts = [sorted({*text}) for text in corpus]
        counts = Counter(word for text in texts for word in text)
        self._size = len(texts)
        self._rarity = {word: log((1 + self._size) / (1 + n)) + 1 for word, n in counts.items()}
        self.hash = hashlib.sha256(repr(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def __call__(self, said: Iterable[str], wanted: Iterable[str], /) -> float:
        """0 to 1; 0 where either has no keyword."""
        a, b = self._weights(said), self._weights(wanted)
        norm = sqrt(sum(x * x for x in a.values())) * sqrt(sum(x * x for x in b.values()))
        return min(1.0, sum(a[w] * b[w] for w in a.keys() & b.keys()) / norm) if norm else 0.0

    def _weights(self, keywords: Iterable[str]) -> dict[str, float]:
        rarest = log(1 + self._size) + 1
        return {word: n * self._rarity.get(word, rarest) for word, n in Counter(keywords).items()}


def make(items: Sequence[Item], extractor: Extractor = WORDS) -> tuple[Metric, ...]:
    """`hallucination-similarity` and `hallucination` over a whole data set; a failed run has likeness 0.

    A reference without a keyword has no number; of several references the likest counts.
    """
    like = Likeness(extractor.find(text) for text in references(items))

    def similarity(run: Run, item: Item) -> float | None:
        said = extractor.find(run.answer.text)
        wanted = [found for text in item.gold.texts if (found := extractor.find(text))]
        return max((like(said, keywords) for keywords in wanted), default=None)

    def opposite(run: Run, item: Item) -> float | None:
        found = similarity(run, item)
        return None if found is None else 1 - found

    source = f"Wen et al. 2024, MindMap; keywords: {extractor.name}, idf of {like.hash}"
    return (
        Metric("hallucination-similarity", "cosine of tf x idf of keywords", source, similarity, ("text",)),
        Metric("hallucination", "1 - that cosine", source, opposite, ("text",), failed=1.0, higher=False),
    )
