"""Every method's choice among options by the likelihood of their texts, for models too small to write a letter."""

from dataclasses import dataclass, replace
from typing import Literal

from kgmed.errors import ModelFailed
from kgmed.read.likelihood import LikelihoodReader
from kgmed.stages import Reader
from kgmed.types import Answer, Context, Query

Chooses = Literal["from evidence", "without evidence", "after thinking"]
THOUGHTS = 1200  # characters of what a reader thought that stand after the question


@dataclass(frozen=True, slots=True)
class Likeliest:
    """Questions with options are answered by `choose`, on the method's own evidence; all others by `read`.

    What stays of a method's reader is told by its class, in `chooses`. "after thinking" (chain of thought, MindMap,
    Chain-of-Note, ...): it is asked, and its thoughts stand after the question. "without evidence" (zero-shot,
    MKG-Rank): not asked, the model chooses even where nothing was found. "from evidence", all others: not asked, and
    where nothing was found the reader says so. Where a model's thoughts cannot be read it chooses without them, and the
    answer's limits say why.
    """

    read: Reader
    choose: LikelihoodReader

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer; what a reader thought is its reasoning."""
        question, how = query.question, chooses(self.read)
        if not question.options or (how == "from evidence" and not context.cited):
            return self.read(query, context)
        if how != "after thinking":
            return self.choose(query, context)
        try:
            thought = self.read(query, context)
        except ModelFailed as problem:
            found = self.choose(query, context)
            return replace(found, limits="; ".join(filter(None, [found.limits, f"chosen without thoughts: {problem}"])))
        if thought.abstained:
            return thought
        said = "\n".join(filter(None, [thought.reasoning, thought.text]))[-THOUGHTS:]
        found = self.choose(replace(query, question=replace(question, text=f"{question.text}\n{said}")), context)
        limits = "; ".join(filter(None, [found.limits, thought.limits]))
        return replace(found, reasoning=said, limits=limits, reader=f"{thought.reader}; {found.reader}")


def chooses(read: Reader) -> Chooses:
    """How the reader, or the one that it stands before, comes to a choice."""
    while (inner := getattr(read, "with_options", None) or getattr(read, "read", None)) is not None:
        read = inner
    found: Chooses = getattr(read, "chooses", "from evidence")
    return found
