"""RLKGF's prompt with knowledge (Figure 7): a model chooses one of the diseases that the graph ties to the patient.

The trained policies of the paper are in `kgmed.train`; its scorer, which needs cases to count, in `kgmed.reward`.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from kgmed.errors import BadInput, ModelFailed
from kgmed.models.replies import marks, without_marks
from kgmed.pipeline import Pipeline, Reader
from kgmed.records import Answer, Candidate, Context, Query
from kgmed.registry import About, Calls, methods
from kgmed.reward.cases import NamesIn
from kgmed.steps.diagnosis import Diagnosis
from kgmed.steps.facts import facts
from kgmed.steps.phrase import Numbered
from kgmed.steps.read import LLMReader
from kgmed.toolkit import Toolkit

RLKGFPromptPreset = Literal["paper"]
_UNKNOWN = re.compile(r"\W*(?:unknow\w*|none of (?:them|these)|未知|不知道|都不符合)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RLKGFPromptSettings:
    """The numbers of the prompt."""

    diseases: int = 20  # ours: the paper's lists have 4 to 20
    answer_tokens: int = 32  # ours


PAPER = RLKGFPromptSettings()
PRESETS: dict[RLKGFPromptPreset, RLKGFPromptSettings] = {"paper": PAPER}


@methods.register(
    "rlkgf-prompt",
    about=About(
        paper="RLKGF",
        by="Yan et al.",
        year=2025,
        where="Findings of ACL 2025",
        does="shows a model the diseases tied to the findings, with their triples; it names one or none",
        calls=Calls.always(1, "the choice; ours and the paper's"),
        ours=(
            "the list is of the diseases that the graph ties to the findings, best first, not of a data set",
            "a reply counts by the name or the number in it; one that names none or several falls back on the facts",
        ),
    ),
    presets=PRESETS,
)
def rlkgf_prompt(toolkit: Toolkit, *, settings: RLKGFPromptSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s = settings or PAPER
    if toolkit.llm is None:
        raise BadInput("the method rlkgf-prompt needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    read = LLMReader(toolkit.llm, name="rlkgf/diagnose", max_tokens=s.answer_tokens, prompts=toolkit.prompts)
    return Pipeline(
        recognize=toolkit.recognize,
        link=toolkit.link,
        retrieve=(Diagnosis(toolkit.graph, keep=s.diseases),),
        rank=(),
        phrase=Numbered(),
        read=DiseaseReader(read),
        otherwise=facts,
        name="rlkgf-prompt",
        graph=toolkit.graph.label,
    )


@dataclass(frozen=True, slots=True)
class DiseaseReader:
    """A reader that takes from a reply the one listed disease it names, by name or else by number."""

    read: Reader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The disease; an abstention for UNKNOWN; raises `ModelFailed` where none or several are named."""
        said = self.read(query, context)
        if not context.cited:
            return said
        if said.abstained or _UNKNOWN.match(said.text):
            return replace(said, text=f"No listed disease: {said.text}", citations=(), abstained=True)
        number = self._number(said, context)
        disease = context.cited[number - 1].about[0]
        found = (Candidate(disease.name, context.cited[number - 1].score, disease, (number,)),)
        limits = f"one of {len(context.cited)} diseases that the graph ties to the findings, chosen by a model"
        text = f"{disease.name} [{number}]"
        return replace(said, text=text, citations=(number,), candidates=found, limits=limits)

    def _number(self, said: Answer, context: Context) -> int:
        """The number of the disease that a reply names."""
        listed = {e.about[0].name: i for i, e in enumerate(context.cited, start=1)}
        found = NamesIn(dict.fromkeys(listed, ()))(without_marks(said.text))
        named = {listed[name] for f in found if not f.denied for name in f.names}
        numbers = named or {n for n in marks(said.text) if 1 <= n <= len(context.cited)}
        if len(numbers) != 1:
            raise ModelFailed(f"the model named {'no' if not numbers else 'more than one'} disease of the list")
        return numbers.pop()
