"""Short answers: whether the answer is a reference word for word, or holds one.

Words are those of `words.py`, English articles left out, as SQuAD leaves out articles and punctuation.
"""

from collections.abc import Sequence

from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics.words import words
from kgmed.types import Run

_ARTICLES = frozenset({"a", "an", "the"})


def plain(text: str) -> list[str]:
    """The words that count.

    >>> plain("The Marfan syndrome."), plain("痛风。")
    (['marfan', 'syndrome'], ['痛', '风'])
    """
    return [word for word in words(text) if word not in _ARTICLES]


def holds(said: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the words that are wanted stand in what is said, together and in their order; never where none is wanted.

    >>> holds(["it", "is", "gout", "attack"], ["gout"]), holds(["gout", "of", "foot"], ["gout", "foot"])
    (True, False)
    """
    n = len(wanted)
    return n > 0 and any(list(said[i : i + n]) == list(wanted) for i in range(len(said) - n + 1))


def exact(run: Run, item: Item) -> float | None:
    """1 where the answer is one of the reference texts; None where there is none."""
    said = plain(run.answer.text)
    return max((float(said == plain(text)) for text in item.gold.texts), default=None)


def held(run: Run, item: Item) -> float | None:
    """1 where the answer holds one of the reference texts; None where there is none."""
    said = plain(run.answer.text)
    return max((float(holds(said, plain(text))) for text in item.gold.texts), default=None)


METRICS = (
    Metric("exact", "the words of the answer = those of a reference", "Rajpurkar et al. 2016, SQuAD (EM)", exact),
    Metric("held", "a reference stands in the answer", "Mallen et al. 2023, When Not to Trust Language Models", held),
)
