"""Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them."""

from dataclasses import replace

from kgmed.check.citations import Checked, Citations
from kgmed.errors import BadInput
from kgmed.kit import Kit
from kgmed.phrase.numbered import Numbered
from kgmed.pipeline import Pipeline
from kgmed.rank.first import First
from kgmed.rank.warnings import Warned
from kgmed.read.facts import facts as read_facts
from kgmed.read.llm import LLMReader
from kgmed.recipes.fitting import Fitting


def facts(kit: Kit, *, keep: int = 12) -> Pipeline:
    """The evidence is the answer; no model is asked."""
    return Pipeline(
        recognize=kit.recognize,
        link=kit.link,
        retrieve=(Fitting(kit.graph, kit.linked),),
        rank=(First(keep), Warned(kit.graph)),
        phrase=Numbered(),
        read=read_facts,
        name="facts",
        graph=kit.graph.label,
    )


def grounded(kit: Kit, *, keep: int = 8, max_tokens: int = 256) -> Pipeline:
    """A language model answers from the evidence; sentences that the evidence does not bear out are left out.

    Where the model cannot be reached, or nothing that it writes stands, the facts are read instead, and the run says
    so. Raises `BadInput` without a model in the kit.
    """
    if kit.llm is None:
        raise BadInput("the method llm needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    small = not kit.llm.name.startswith("openai/")
    reader = LLMReader(kit.llm, name="ask/reader" if small else "ask/detailed", max_tokens=64 if small else max_tokens)
    check = Citations(names=lambda text: {link.entity.name for link in kit.linked(text)})
    base = facts(kit, keep=keep)
    return replace(base, read=Checked(reader, check), otherwise=read_facts, name="llm")
