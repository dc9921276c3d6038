"""Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them."""

from dataclasses import dataclass, replace

from kgmed.errors import BadInput
from kgmed.facts.answer import answer
from kgmed.facts.plan import FromFrame, OnlyRare, PatientGate
from kgmed.linking.merge import MentionMerger, SpellingCorrector, WithoutVerb
from kgmed.linking.recognise import ordinary_words
from kgmed.models.base import is_small
from kgmed.pipeline import Pipeline, Reader, Recognizer
from kgmed.prompts import ANSWER_TOKENS, task
from kgmed.records import Answer, Context, Mention, Query, is_verdict
from kgmed.registry import About, Calls, methods
from kgmed.steps.phrase import Numbered
from kgmed.steps.retrieve import First
from kgmed.toolkit import Toolkit


class Once:
    """A recogniser that remembers its last question: what is recognised is needed by the linker and the retriever."""

    def __init__(self, recognize: Recognizer) -> None:
        """`recognize` finds the mentions."""
        self._recognize = recognize
        self._last: tuple[Query, list[Mention]] | None = None

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions of the question."""
        last = self._last
        if last is None or last[0] != query:
            last = self._last = (query, self._recognize(query))
        return last[1]


# --- Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The numbers of `facts`."""

    keep: int = 12  # ours: pieces of evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounded:
    """The numbers of `grounded`."""

    keep: int = 12  # ours: pieces of evidence (kgmed.facts.view.PIECES)
    helpful: bool = True  # ours: the model leaves out the pieces that do not help
    answer_tokens: int = ANSWER_TOKENS  # ours; a small model is asked for 64


_POOL = 40  # ours: pieces that are chosen from for a model
_SMALL = 64  # tokens of an answer by a small model


@methods.register(
    "facts",
    about=About(
        does="the evidence that fits the question, grouped and cited; no model is asked",
        calls=Calls.always(0, "no step asks a model"),
        needs=frozenset({"local_graph"}),
    ),
    presets={"": Facts()},
)
def facts(toolkit: Toolkit, *, settings: Facts | None = None) -> Pipeline:
    """The evidence is the answer; no model is asked."""
    s, recognize = (
        settings or Facts(),
        Once(
            MentionMerger(
                SpellingCorrector(WithoutVerb(toolkit.recognize, toolkit.graph), toolkit.graph, ordinary_words()),
                toolkit.graph,
            )
        ),
    )
    return Pipeline(
        recognize=recognize,
        link=toolkit.link,
        understand=toolkit.understand,
        retrieve=(FromFrame(toolkit.graph, toolkit.linked, clear=True),),
        rank=(First(s.keep), PatientGate(toolkit.graph), OnlyRare(toolkit.graph)),
        phrase=Numbered(),
        read=answer,
        name="facts",
        graph=toolkit.graph.label,
    )


@dataclass(frozen=True)
class UnlessDeclined:
    """The reader; where evidence is all that may be said and only says that the graph lacks what is asked for, that."""

    read: Reader

    def __call__(self, query: Query, context: Context) -> Answer:
        """The answer of the reader, or the one sentence that declines."""
        declined = context.cited and is_verdict(context.cited[0], "unknown", "lacking")
        return answer(query, context) if declined and not task().own_knowledge else self.read(query, context)


@methods.register(
    "llm",
    about=About(
        does="a model answers from what it knows and the evidence of `facts`, which each sentence is held against",
        calls=Calls.always(1, "the answer"),
    ),
    presets={"": Grounded()},
)
def grounded(toolkit: Toolkit, *, settings: Grounded | None = None) -> Pipeline:
    """A language model answers beside the evidence of `facts`; a sentence that this does not bear out is marked so.

    A small model is given a shorter prompt. Where the model cannot be reached, the
    facts are read, and the answer begins by saying so. Raises `BadInput` without a model in the toolkit.
    """
    if toolkit.llm is None:
        raise BadInput("the method llm needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    from kgmed.facts.view import ForReader, TiedThings, only_helpful  # not read in where no model is asked
    from kgmed.steps.label import Labelled
    from kgmed.steps.read import LLMReader

    s, small = settings or Grounded(), is_small(toolkit.llm)
    name, most = ("ask/reader", min(_SMALL, s.answer_tokens)) if small else ("ask/detailed", s.answer_tokens)
    reader = LLMReader(toolkit.llm, name=name, max_tokens=most, prompts=toolkit.prompts)
    base = facts(toolkit, settings=Facts(keep=_POOL))
    chooses = only_helpful(toolkit, s.keep) if s.helpful else ()
    return replace(
        base,
        retrieve=(*base.retrieve, TiedThings(toolkit.graph)),
        rank=(*base.rank, ForReader(toolkit.graph, s.keep, chooses)),
        read=UnlessDeclined(reader),
        check=Labelled(toolkit.check),
        otherwise=answer,
        name="llm",
    )
