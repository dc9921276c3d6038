"""Asking: the graph that has an answer, a method, and the run of it."""

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
    the first that has an answer gives it; a graph that is not needed is not opened. Where all abstain, the first that
    knows a word of the question does.
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
        first: Run | None = None
        for name in self._order(asked):
            run = self.pipeline(self.kit(name))(asked)
            if not run.answer.abstained:
                return run
            first = run if first is None or (run.links and not first.links) else first
        if first is None:
            raise BadInput("there is no graph to ask; name one")
        tried = f" ({', '.join(self.graphs)})" if len(self.graphs) > 1 and not first.links else ""
        return replace(first, answer=replace(first.answer, text=f"{first.answer.text}{tried}"))

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

    def _order(self, question: Question) -> list[str]:
        """The graphs to try, those in the question's language first."""
        language = question.language or ("zh" if has_cjk(question.text) else "en")
        return sorted(self.graphs, key=lambda name: self.languages.get(name, language) != language)
