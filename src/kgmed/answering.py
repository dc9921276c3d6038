"""Asking: the graph that knows the question's words, a method, and the run of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgmed.errors import BadInput
from kgmed.kg.graph import LocalGraph
from kgmed.kg.text import has_cjk
from kgmed.kit import Kit, default_encoder
from kgmed.pipeline import Pipeline
from kgmed.registry import method
from kgmed.stages import LLM, Encoder
from kgmed.types import Question, Run

AUTO = "auto"


@dataclass(frozen=True)
class Asker:
    """Answers questions from one of some graphs.

    `open_graph` gives the graph of a name. With several graphs those in the question's language are tried first, and
    the first that knows one of its words answers; a graph that is not needed is not opened.
    """

    graphs: Sequence[str]
    open_graph: Callable[[str], LocalGraph]
    languages: Mapping[str, str] = field(default_factory=dict)  # graph -> language of its names
    method: str = AUTO
    llm: LLM | None = None
    encoder: Encoder = field(default_factory=default_encoder)
    _kits: dict[str, Kit] = field(default_factory=dict, repr=False)

    def ask(self, question: Question | str, *, options: Mapping[str, str] | None = None) -> Run:
        """The run of a question; `options` = letter -> text of a question with a choice. Raises `BadInput`."""
        asked = Question(question) if isinstance(question, str) else question
        asked = replace(asked, options=tuple(options.items())) if options else asked
        if not asked.text.strip():
            raise BadInput('the question is empty; ask for example: kgmed ask "What are the signs of rickets?"')
        run = self.pipeline(self._knowing(asked))(asked)
        tried = ", ".join(self._kits)
        if run.answer.abstained and not run.links and len(self._kits) > 1:
            return replace(run, answer=replace(run.answer, text=f"{run.answer.text} ({tried})"))
        return run

    def pipeline(self, kit: Kit) -> Pipeline:
        """The method on a graph; `auto` reads with the language model where one is given, else the facts alone.

        The embedded 135M model is not taken unless it is named: on the same evidence it answers fewer questions right
        than the facts do (docs/decisions/004-readers.md).
        """
        name = self.method if self.method != AUTO else "llm" if self.llm else "facts"
        return method(name)(kit)

    def kit(self, name: str) -> Kit:
        """The kit of a graph, opened once."""
        if name not in self._kits:
            self._kits[name] = Kit(self.open_graph(name), self.llm, self.encoder)
        return self._kits[name]

    def _knowing(self, question: Question) -> Kit:
        """The kit of the first graph that knows a word of the question, in the question's language first."""
        language = question.language or ("zh" if has_cjk(question.text) else "en")
        order = sorted(self.graphs, key=lambda name: self.languages.get(name, language) != language)
        if len(order) == 1:
            return self.kit(order[0])
        kits = (self.kit(name) for name in order)
        return next((kit for kit in kits if kit.understood(question)[1]), self.kit(order[0]))
