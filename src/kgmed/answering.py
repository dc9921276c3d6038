"""Asking: the graph that has an answer, a method, and the run of it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

from kgmed.check.weak import UnlessWeak
from kgmed.errors import BadInput
from kgmed.kg.glossary import Glossary
from kgmed.kg.graph import KnowledgeGraph, LocalGraph
from kgmed.kg.remote.cached import Cached, Hits
from kgmed.kg.text import has_cjk
from kgmed.kit import Kit, RemoteKit, default_encoder
from kgmed.link.carried import Carried
from kgmed.models.ledger import Told
from kgmed.models.pairs import LexicalPairs
from kgmed.models.parts import name_of
from kgmed.phrase.within import Within
from kgmed.pipeline import Pipeline
from kgmed.read.facts import facts
from kgmed.read.likeliest import Likeliest
from kgmed.read.likelihood import LikelihoodReader, likelihood_of
from kgmed.registry import method
from kgmed.settings import presets_of, settings_of
from kgmed.stages import LLM, Encoder, PairScorer, Recognizer
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
    open_graph: Callable[[str], KnowledgeGraph]
    languages: Mapping[str, str] = field(default_factory=dict)  # graph -> language of its names
    method: str = AUTO
    llm: LLM | None = None
    encoder: Encoder = field(default_factory=default_encoder)
    pairs: PairScorer | None = None
    prompts: Path | None = None
    glossary: Glossary | None = None
    preset: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    evidence_tokens: int = 0  # of the context; 0 = any number
    abstain_below: float | None = None  # the best score of the evidence
    tagger: Recognizer | None = None
    choose: str = "letter"  # or "likelihood": how a model chooses among options
    _kits: dict[str, Kit | RemoteKit] = field(default_factory=dict, repr=False)

    def ask(
        self, question: Question | str, *, options: Mapping[str, str] | None = None, after: Run | None = None
    ) -> Run:
        """The run of a question; `options` = letter -> text of a question with a choice. Raises `BadInput`.

        `after` is the run before it in a conversation: a question that names nothing known is about what that one was.
        """
        asked = Question(question) if isinstance(question, str) else question
        asked = replace(asked, options=tuple(options.items())) if options else asked
        if not asked.text.strip():
            raise BadInput('the question is empty; ask for example: kgmed ask "What are the signs of rickets?"')
        first: Run | None = None
        for name in self._order(asked, after):
            run = self._run(self.kit(name), asked, after)
            if not run.answer.abstained:
                return run
            first = run if first is None or (run.links and not first.links) else first
        if first is None:
            raise BadInput("there is no graph to ask; name one")
        tried = f" ({', '.join(self.graphs)})" if len(self.graphs) > 1 and not first.links else ""
        return replace(first, answer=replace(first.answer, text=f"{first.answer.text}{tried}"))

    def pipeline(self, kit: Kit | RemoteKit) -> Pipeline:
        """The method on a graph; `auto` reads with the language model where one is given, else the facts alone.

        The embedded 135M model is not taken unless it is named: on the same evidence it answers fewer questions right
        than the facts do (docs/decisions/004-readers.md). On a graph behind a server, `auto` is kg-rank.
        """
        function, settings = self._method(kit)
        given = {} if settings is None else {"settings": settings}
        made = cast(Callable[..., Pipeline], function)(kit, **given)
        if self.evidence_tokens:
            made = replace(made, phrase=Within(made.phrase, self.evidence_tokens, kit.encoder))
        if self.choose == "likelihood" and kit.llm is not None and made.read is not facts:
            by_text = LikelihoodReader(likelihood_of(kit.llm), prompts=kit.prompts)
            made = replace(made, read=Likeliest(made.read, by_text))
        if self.abstain_below is not None:
            made = replace(made, read=UnlessWeak(made.read, self.abstain_below))
            made = replace(made, otherwise=made.otherwise and UnlessWeak(made.otherwise, self.abstain_below))
        return made

    def kit(self, name: str) -> Kit | RemoteKit:
        """The kit of a graph, opened once."""
        if name not in self._kits:
            graph = self.open_graph(name)
            llm = self.llm if self.llm is None or isinstance(self.llm, Told) else Told(self.llm)
            parts = (llm, self.encoder, self.pairs, self.prompts, self.glossary)
            if isinstance(graph, Cached) or not hasattr(graph, "adjacency"):
                self._kits[name] = RemoteKit(graph, *parts, attributes=graph.name != "umls")
            else:
                self._kits[name] = Kit(cast(LocalGraph, graph), *parts, tagger=self.tagger)
        return self._kits[name]

    def near(self, run: Run) -> dict[str, list[str]]:
        """The names of a run's graph that are spelled much like a term that was not linked, by term; [] is left out."""
        kit = next((kit for kit in self._kits.values() if kit.graph.label == run.graph), None)
        terms = dict.fromkeys(m.name for m in run.missed) if kit else ()
        return {term: names for term in terms if kit and (names := kit.near(term))}

    def close(self) -> None:
        """Keep what caches have counted, and close them; they open again by themselves."""
        for kit in self._kits.values():
            if isinstance(kit.graph, Cached):
                kit.graph.close()

    def _method(self, kit: Kit | RemoteKit) -> tuple[Callable[..., object], Any]:
        """The method's function and its settings; raises `BadInput` for one that the graph does not do for."""
        local = isinstance(kit, Kit)
        auto = ("llm" if self.llm else "facts") if local else "kg-rank"
        name = auto if self.method == AUTO else self.method
        function = method(name)
        if not local and RemoteKit not in get_args(get_type_hints(function).get("kit")):
            raise BadInput(f"the method {name} needs a graph whose files are here; behind a server: kg-rank, mkg-rank")
        return function, settings_of(function, preset=self.preset, given=self.settings)

    def _run(self, kit: Kit | RemoteKit, asked: Question, after: Run | None) -> Run:
        """The run on one graph, with what it was made with."""
        made = self.pipeline(kit)
        if after is not None and after.graph == kit.graph.label:
            made = replace(made, link=Carried(made.link, after.links, asked.text))
        before = _hits(kit.graph)
        run = made(asked)
        function, settings = self._method(kit)
        presets = presets_of(function)
        models = [("llm", name_of(kit.llm))] if kit.llm else []
        models.append(("encoder", kit.encoder.name))
        if "pairs" in inspect.signature(function).parameters:
            models.append(("scorer", name_of(kit.pairs or LexicalPairs(kit.encoder))))
        now = {what: (h, before.get(what, Hits())) for what, h in _hits(kit.graph).items()}
        hits = ((w, h.hits - b.hits, h.hits + h.misses - b.hits - b.misses) for w, (h, b) in now.items())
        return replace(
            run,
            preset=self.preset or next(iter(presets), ""),
            settings=_plain(settings),
            models=tuple(models),
            hits=tuple(hits),
        )

    def _order(self, question: Question, after: Run | None) -> list[str]:
        """The graphs to try: the one of the conversation, then those in the question's language."""
        language = question.language or ("zh" if has_cjk(question.text) else "en")
        label = after.graph if after else ""
        told = {name for name, kit in self._kits.items() if label and kit.graph.label == label}
        return sorted(self.graphs, key=lambda n: (n not in told, self.languages.get(n, language) != language))


def _plain(settings: object) -> tuple[tuple[str, Any], ...]:
    """The settings by name."""
    if not is_dataclass(settings):
        return ()
    return tuple((f.name, getattr(settings, f.name)) for f in fields(settings))


def _hits(graph: KnowledgeGraph) -> dict[str, Hits]:
    """What a remote graph's cache has counted so far."""
    return graph.hits if isinstance(graph, Cached) else {}
