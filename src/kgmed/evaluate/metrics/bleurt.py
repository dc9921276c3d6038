"""BLEURT (Sellam et al. 2020): the number that a model trained on people's ratings gives reference and answer.

For checkpoints that `transformers` reads as sequence classification with one number. BLEURT-20 and BLEURT-20-D3 need
code of their own, which is not run. A figure says nothing without its checkpoint: another one is another scale.
"""

from collections.abc import Sequence
from pathlib import Path

from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics.states import references, weights_hash
from kgmed.models.from_hub import loaded
from kgmed.models.sentence import CrossEncoder
from kgmed.stages import PairScorer
from kgmed.types import Run


def make(model: str | Path, items: Sequence[Item]) -> tuple[Metric, ...]:
    """`bleurt` by a checkpoint; a failed run counts as an empty answer does on average over the data set."""
    scorer = CrossEncoder(model)
    mark = weights_hash(*loaded("AutoModelForSequenceClassification", model, "cpu"))
    return (of(scorer, items, f"{scorer.name}@{mark}"),)


def of(scorer: PairScorer, items: Sequence[Item], name: str) -> Metric:
    """The metric by a scorer of (reference, answer); of several references the best."""
    known: dict[tuple[str, str], float] = {}

    def ready(runs: Sequence[tuple[Run, Item]]) -> None:
        wanted = dict.fromkeys((text, run.answer.text) for run, item in runs for text in item.gold.texts)
        left = [pair for pair in wanted if pair not in known]
        known.update(zip(left, map(float, scorer(left)), strict=True))

    def score(run: Run, item: Item) -> float | None:
        ready([(run, item)])
        return max((known[text, run.answer.text] for text in item.gold.texts), default=None)

    each = [float(x) for x in scorer([(text, "") for text in references(items)])]
    empty = sum(each) / len(each) if each else None
    source = f"Sellam et al. 2020, BLEURT; {name}, an empty answer scores {empty if empty is None else round(empty, 4)}"
    return Metric("bleurt", "what the model gives (reference, answer)", source, score, ("text",), empty, ready=ready)
