"""Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them."""

from dataclasses import dataclass, replace

from kgmed.errors import BadInput
from kgmed.linking.recognise import ordinary_words
from kgmed.pipeline import Pipeline, Reader, Recognizer
from kgmed.records import Answer, Context, Mention, Query
from kgmed.registry import About, Calls, methods
from kgmed.steps.brief import brief
from kgmed.steps.closed import OfWhatIsTold
from kgmed.steps.diagnosis import OnlyRare
from kgmed.steps.fitting import Fitting
from kgmed.steps.labels import Warned
from kgmed.steps.pairs import is_verdict
from kgmed.steps.phrase import Numbered
from kgmed.steps.respell import Respelled
from kgmed.steps.restated import Restated
from kgmed.steps.retrieve import First
from kgmed.steps.verbs import WithoutVerb
from kgmed.steps.whole import Whole
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

    keep: int = 8  # ours: pieces of evidence
    answer_tokens: int = 256  # ours; a small model here is asked for 64


_SMALL = 64  # tokens of an answer by a model in this process


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
        Once(Whole(Respelled(WithoutVerb(toolkit.recognize), toolkit.graph, ordinary_words()), toolkit.graph)),
    )
    fitting = Fitting(toolkit.graph, toolkit.linked, recognize)
    return Pipeline(
        recognize=recognize,
        link=toolkit.link,
        retrieve=(OfWhatIsTold(toolkit.graph, Restated(toolkit.graph, fitting, toolkit.encoder, fitting.unknown)),),
        rank=(First(s.keep), Warned(toolkit.graph), OnlyRare(toolkit.graph)),
        phrase=Numbered(),
        read=brief,
        name="facts",
        graph=toolkit.graph.label,
    )


@dataclass(frozen=True)
class UnlessDeclined:
    """The reader; where the evidence only says that the graph does not have what is asked for, that is the answer."""

    read: Reader

    def __call__(self, query: Query, context: Context) -> Answer:
        """The answer of the reader, or the one sentence that declines."""
        declined = context.cited and is_verdict(context.cited[0], "unknown", "lacking")
        return brief(query, context) if declined else self.read(query, context)


@methods.register(
    "llm",
    about=About(
        does="a model answers from the evidence of `facts`; what the evidence does not bear out is marked as its own",
        calls=Calls.always(1, "the answer"),
    ),
    presets={"": Grounded()},
)
def grounded(toolkit: Toolkit, *, settings: Grounded | None = None) -> Pipeline:
    """A language model answers from the evidence; sentences that the evidence does not bear out are marked as its own.

    Where the model cannot be reached, or nothing that it writes stands, the facts are read instead, and the run says
    so. Raises `BadInput` without a model in the toolkit.
    """
    if toolkit.llm is None:
        raise BadInput("the method llm needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s = settings or Grounded()
    small = not toolkit.llm.name.startswith(("openai/", "anthropic/"))
    name, most = ("ask/reader", min(_SMALL, s.answer_tokens)) if small else ("ask/detailed", s.answer_tokens)
    from kgmed.steps.check import Checked  # not read in where no model is asked
    from kgmed.steps.read import LLMReader

    reader = LLMReader(toolkit.llm, name=name, max_tokens=most, prompts=toolkit.prompts)
    base = facts(toolkit, settings=Facts(keep=s.keep))
    return replace(base, read=UnlessDeclined(Checked(reader, toolkit.check)), otherwise=brief, name="llm")
