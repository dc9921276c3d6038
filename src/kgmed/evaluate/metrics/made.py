"""Metrics that are made before they can score: from a model, or from all references of the data set.

What a figure depends on (model and its hash, layer, idf, rescaling, corpus) stands in the metric's `source`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgmed.errors import BadInput, UnknownName
from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric


@dataclass(frozen=True, slots=True)
class Choices:
    """What metrics are made from; a model by the name of its metric, or under "" for all."""

    models: Mapping[str, str] = field(default_factory=dict)
    layer: int = -1  # of BERTScore and MoverScore; -1 = the last
    idf: bool = False  # BERTScore weighs tokens by their rarity
    baseline: Path | None = None  # BERTScore is rescaled by this file
    graph: str = ""  # whose names are the keywords of `hallucination`; "" = words

    def model(self, name: str) -> str:
        """The model of a metric; raises `BadInput`."""
        found = self.models.get(name) or self.models.get("")
        if not found:
            raise BadInput(f"{name} needs a model; name its folder: --metric-model DIR or --metric-model {name}=DIR")
        return found


def _bertscore(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    from kgmed.evaluate.metrics import bertscore

    return bertscore.make(
        chosen.model("bertscore"), items, layer=chosen.layer, idf=chosen.idf, baseline=chosen.baseline
    )


def _moverscore(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    from kgmed.evaluate.metrics import moverscore

    return moverscore.make(chosen.model("moverscore"), items, layer=chosen.layer)


def _moverscore_2(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    from kgmed.evaluate.metrics import moverscore

    return moverscore.make(chosen.model("moverscore-2"), items, layer=chosen.layer, n=2)


def _bleurt(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    from kgmed.evaluate.metrics import bleurt

    return bleurt.make(chosen.model("bleurt"), items)


def _perplexity(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    from kgmed.evaluate.metrics import perplexity

    return perplexity.make(chosen.model("perplexity"))


def _hallucination(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    from kgmed.evaluate.metrics import hallucination
    from kgmed.kg import library

    if not chosen.graph:
        return hallucination.make(items)
    return hallucination.make(items, hallucination.names_of(library.load(chosen.graph)))


MADE: Mapping[str, Callable[[Choices, Sequence[Item]], tuple[Metric, ...]]] = {
    "bertscore": _bertscore,
    "moverscore": _moverscore,
    "moverscore-2": _moverscore_2,
    "bleurt": _bleurt,
    "perplexity": _perplexity,
    "hallucination": _hallucination,
}
NEEDS = dict.fromkeys(MADE, "a model") | {"hallucination": "the references of the data set"}


def make(name: str, chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    """The metrics of that name, made on all items of a data set; raises `UnknownName`, `BadInput`, `Unavailable`."""
    if name not in MADE:
        raise UnknownName("metric that is made", name, MADE)
    return MADE[name](chosen, items)


def models(given: Sequence[str]) -> dict[str, str]:
    """The models by the metrics that they are for, "" = for all; raises `BadInput`.

    >>> models(["models/minilm", "perplexity=models/lm"])
    {'': 'models/minilm', 'perplexity': 'models/lm'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, _, rest = text.partition("=")
        key, model = (name, rest) if name in MADE else ("", text)
        if key in found:
            raise BadInput(f"--metric-model names two models{f' for {key}' if key else ''}; name one")
        found[key] = model
    return found
