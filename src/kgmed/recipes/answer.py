"""Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them."""

from dataclasses import dataclass, replace

from kgmed.check.citations import Checked
from kgmed.errors import BadInput
from kgmed.kit import Kit
from kgmed.phrase.numbered import Numbered
from kgmed.pipeline import Pipeline
from kgmed.rank.first import First
from kgmed.rank.warnings import Warned
from kgmed.read.facts import facts as read_facts
from kgmed.read.llm import LLMReader
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.fitting import Fitting


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The numbers of `facts`."""

    keep: int = 12  # ours: pieces of evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounded:
    """The numbers of `grounded`."""

    keep: int = 8  # ours: pieces of evidence
    answer_tokens: int = 256  # ours; a small model here is asked for 64


_SMALL = 64  # tokens of an answer by a model in this process


@described(
    About(
        does="the evidence that fits the question, grouped and cited; no model is asked",
        calls=Calls.always(0, "no step asks a model"),
        needs_model=False,
    )
)
def facts(kit: Kit, *, settings: Facts | None = None) -> Pipeline:
    """The evidence is the answer; no model is asked."""
    s = settings or Facts()
    return Pipeline(
        recognize=kit.recognize,
        link=kit.link,
        retrieve=(Fitting(kit.graph, kit.linked),),
        rank=(First(s.keep), Warned(kit.graph)),
        phrase=Numbered(),
        read=read_facts,
        name="facts",
        graph=kit.graph.label,
    )


@described(
    About(
        does="a model answers from the evidence of `facts`; what the evidence does not bear out is left out",
        calls=Calls.always(1, "the answer"),
    )
)
def grounded(kit: Kit, *, settings: Grounded | None = None) -> Pipeline:
    """A language model answers from the evidence; sentences that the evidence does not bear out are left out.

    Where the model cannot be reached, or nothing that it writes stands, the facts are read instead, and the run says
    so. Raises `BadInput` without a model in the kit.
    """
    if kit.llm is None:
        raise BadInput("the method llm needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s = settings or Grounded()
    small = not kit.llm.name.startswith(("openai/", "anthropic/"))
    name, most = ("ask/reader", min(_SMALL, s.answer_tokens)) if small else ("ask/detailed", s.answer_tokens)
    reader = LLMReader(kit.llm, name=name, max_tokens=most, prompts=kit.prompts)
    base = facts(kit, settings=Facts(keep=s.keep))
    return replace(base, read=Checked(reader, kit.check), otherwise=read_facts, name="llm")
