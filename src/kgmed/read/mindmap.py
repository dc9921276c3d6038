"""A reader that asks a model for MindMap's three outputs: an answer, a reasoning graph, and a decision tree.

`Answer.text` is the first output, with marks such as [1] for the labels (P1); `Answer.reasoning` holds the other two
under the headings "Output 2:" and "Output 3:", the tree drawn anew. `kgmed.models.steps` reads them again, so that a
checker need not know this reader.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kgmed.errors import ModelFailed
from kgmed.kg.language import language_of, prompt_language
from kgmed.models.labels import labels
from kgmed.models.marks import marks
from kgmed.models.steps import Outputs, cited_labels, outputs, tree, with_marks
from kgmed.read.choice import chosen
from kgmed.read.faults import fault
from kgmed.read.fitting import Said, ask
from kgmed.read.nothing import nothing
from kgmed.read.tree_text import drawn
from kgmed.stages import LLM
from kgmed.types import Answer, Context, Query

_UNSURE = re.compile(
    r"\s*(?:I (?:do not|don['’]t|cannot|can['’]t) (?:know|answer|say)|我?不知道|无法(?:回答|确定))", re.I
)

_HEADING = re.compile(r"^(?:Output|输出)\s*\d\s*[:：]\s*")


@dataclass(frozen=True, slots=True)
class MindMapReader:
    """The model's three outputs; a part that is missing stays empty, and `limits` say so.

    A first output that is of no use raises `ModelFailed`. Without evidence it abstains and the model is not asked.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    name: str = "mindmap/reason"
    max_tokens: int = 700
    prompts: Path | None = None

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer; its citations are the numbers of the evidence that any part names."""
        language = prompt_language(query.question)
        if not context.cited:
            return nothing(query.question, context, f"mindmap {self.llm.name}")
        said = ask(
            self.llm, self.name, query.question, context, max_tokens=self.max_tokens, prompts=self.prompts
        )  # fmt: skip
        parts = outputs(said.text)
        lines = [_HEADING.sub("", line) for line in said.instructions]  # an example that is taken for the answer
        language = language_of(query.question)
        if problem := fault(parts.summary, language=language, instructions=lines, fence=said.fence):
            raise ModelFailed(f"{self.llm.name} {problem}; its reply begins {said.text[:60]!r}")
        return _answer(f"mindmap {self.llm.name}, prompt {said.prompt}", parts, query, context, said)


def _answer(reader: str, parts: Outputs, query: Query, context: Context, said: Said) -> Answer:
    """The parts as an answer, with what is missing or invented in `limits`."""
    number = {label: i for i, label in enumerate(labels(context.cited)[: said.shown], start=1)}
    summary = with_marks(parts.summary, number)
    named = cited_labels("\n".join([parts.summary, parts.inference, parts.tree]))
    marked = (n for n in marks(parts.summary) if 1 <= n <= said.shown)
    cited = tuple(dict.fromkeys([*marked, *(number[label] for label in named if label in number)]))
    abstained = _UNSURE.match(parts.summary) is not None
    there = len(context.cited)
    limits = [
        *([f"the model read the first {said.shown} of {there} pieces of evidence"] if said.shown < there else []),
        *([] if parts.inference or abstained else ["the model wrote no reasoning graph"]),
        *([] if parts.tree or abstained else ["the model wrote no decision tree"]),
        *([] if cited or abstained else ["the model cited no evidence"]),
        *(["the reply was cut off"] if said.cut_off else []),
    ]
    return Answer(
        summary,
        citations=() if abstained else cited,
        choices=chosen(parts.summary, query.question.options),
        abstained=abstained,
        limits="; ".join(limits),
        reasoning=_reasoning(parts),
        reader=reader,
    )


def _reasoning(parts: Outputs) -> str:
    """The second and third output under their headings; a tree that is none is left as it was written."""
    texts = (parts.inference, drawn(tree(parts.tree)) or parts.tree)
    return "\n".join(f"Output {i}:\n{text}" for i, text in enumerate(texts, start=2) if text)
