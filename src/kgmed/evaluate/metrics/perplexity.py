"""How surprised a named model is by an answer, given its question: 2 ^ (-mean of log2 p) over the answer's tokens.

The papers do not say whose surprise they report. Figures of two models cannot be compared, since their tokens differ.
"""

from pathlib import Path

from kgmed.errors import PromptTooLong
from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.models.likelihood import Likelihood
from kgmed.types import Run

BETWEEN = "\n"  # stands between question and answer, and belongs to the question


def make(model: str | Path) -> tuple[Metric, ...]:
    """`perplexity` by a causal model from a folder, a name on the model hub or a GGUF file."""
    from kgmed.models.transformers_lm import TransformersLM  # heavy where it is made

    return (of(llm := TransformersLM(model), f"weights {llm.settings['weights']}"),)


def of(model: Likelihood, mark: str = "") -> Metric:
    """The metric under a model; None for a failed run, an empty answer and one longer than the model can read."""

    def score(run: Run, item: Item) -> float | None:
        if not run.answer.text.strip():
            return None
        try:
            found = model.logprobs(item.question.text + BETWEEN, [run.answer.text])
        except PromptTooLong:
            return None
        return float(found.perplexities[0]) if len(found.tokens[0]) else None

    source = f"Jiang et al. 2025, HyKGE, 4.1.3; {', '.join(filter(None, (model.name, mark)))}"
    formula = "2 ^ (-mean log2 p) of the answer's tokens after the question"
    return Metric("perplexity", formula, source, score, failed=None, higher=False)
