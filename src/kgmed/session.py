"""A session: graphs, a method and models by name, asked one question after the other, from any number of threads."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from queue import Queue
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, cast

from kgmed.config import AUTO, Config, plugged_options, settings_of
from kgmed.disk import data_folder
from kgmed.errors import BadInput, ModelFailed, NeedsAll, Unavailable
from kgmed.frame import Frame
from kgmed.graph import library
from kgmed.graph.base import KnowledgeGraph, LocalGraph
from kgmed.graph.names import Glossary
from kgmed.graph.store.store import Store
from kgmed.language.text import asked_about, language_of, length_of, prompt_language, put_in
from kgmed.models.base import GREEDY, LLM, Encoder, PairScorer, Sampling, is_model, is_small, ledger
from kgmed.models.encoders import NgramEncoder
from kgmed.pipeline import Observer, Pipeline, Recognizer, as_is, unread
from kgmed.prompts import of_preset
from kgmed.records import Answer, Context, Link, Mention, Query, Question, Run, Stage
from kgmed.registry import About, Method, methods
from kgmed.stop import Stop, stopping_by
from kgmed.toolkit import LANGUAGES, InPlace, RemoteToolkit, Toolkit, default_encoder, is_prepared, prepare

if TYPE_CHECKING:
    from concurrent.futures import Future

OnStage = Callable[[Stage], object]
Progress = Callable[[int], None]
Wrap = Callable[[Pipeline, Toolkit | RemoteToolkit], Pipeline]  # what is done to a method's pipeline before it is asked

_TOOLKITS = 8  # ours: kept at once, of graphs, languages and models: a program may ask a new model with each question
LONGEST_QUESTION = 50_000  # characters with its options, as `length_of` has them: twenty pages of a patient's story


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens while a question is answered; see `Session.stream`.

    "stage" = a stage has ended (`stage`); "found" = what the question names was linked (`links`) or not (`missed`);
    "token" = words of the model (`text`); "restart" = it is asked again, and the words so far do not count; "run" = the
    end (`run`).
    """

    kind: Literal["stage", "found", "token", "restart", "run"]
    stage: Stage | None = None
    links: tuple[Link, ...] = ()
    missed: tuple[Mention, ...] = ()
    text: str = ""
    run: Run | None = None


@dataclass(frozen=True, eq=False)
class _Shared:
    """What sessions that are made of one another share: each thing once, however many threads ask first.

    A thing is known by its name and by the objects that it is made of, which are kept with it: a session with another
    model, encoder or folder of prompts finds none of what was made with the old ones. Of more than `most` things (0 =
    any number) the one that was asked for longest ago is let go, to be made again where it is asked for again.
    """

    most: int = 0
    made: dict[Any, Any] = field(default_factory=dict)
    _of: dict[Any, tuple[Any, ...]] = field(default_factory=dict)
    _locks: dict[Any, RLock] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    def get(self, name: str, of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """The thing of that name, made of those objects."""
        key = (name, *map(id, of))
        with self._locks.setdefault(key, RLock()):
            found = self.made.get(key, _NOTHING)  # another thread may let it go at any moment
            found = make() if found is _NOTHING else found
            with self._lock:
                if self.most:
                    self.made.pop(key, None)  # to the end: asked for last
                self._of[key], self.made[key] = of, found
                while self.most and len(self.made) > self.most:
                    oldest = next(iter(self.made))
                    del self.made[oldest], self._of[oldest]
                    self._locks.pop(oldest, None)
            return found


@dataclass(frozen=True)
class Session:
    """Answers questions from one of some graphs; `kgmed.load` makes it from names.

    `open_graph` gives the graph of a name. Graphs whose files are here are asked as one (`graph.union`), under one name
    with commas; others, behind servers, one after the other: those in the question's language first, and the first that
    has an answer gives it. Where all abstain, the first that knows a word of the question does. Safe to share between
    threads from the first question on.
    """

    graphs: Sequence[str]
    open_graph: Callable[[str], KnowledgeGraph]
    languages: Mapping[str, str] = field(default_factory=dict)  # graph -> language of its names
    config: Config = field(default_factory=Config)
    llm: LLM | None = None
    encoder: Encoder = field(default_factory=default_encoder)
    pairs: PairScorer | None = None
    glossary: Glossary | None = None
    tagger: Recognizer | None = None
    wraps: tuple[Wrap, ...] = ()
    helps: bool = True  # whether the call for help stands before an answer to an emergency; not in a paper's experiment
    falls_back: bool = True  # whether the facts answer where a model fails; in an evaluation that is a failed answer
    _toolkits: _Shared = field(default_factory=lambda: _Shared(_TOOLKITS), repr=False)
    _graphs: _Shared = field(default_factory=_Shared, repr=False)

    def __repr__(self) -> str:
        """Graphs, method and model by name.

        >>> Session(("hpo",), lambda name: ...)
        Session(graph='hpo', method='auto', llm=None)
        """
        llm = self.llm.name if self.llm else None
        return f"Session(graph={','.join(self.graphs)!r}, method={self.config.method!r}, llm={llm!r})"

    # --- asking

    def ask(
        self,
        question: Question | str,
        *,
        options: Mapping[str, str] | None = None,
        after: Run | None = None,
        stop: Stop | None = None,
        on_stage: OnStage | None = None,
    ) -> Run:
        """The run of a question.

        `options` = letter -> text of a question with a choice. `after` is the run before it in a conversation: a
        question that names nothing known is about what that one was. `stop` ends the run from another thread or after
        its seconds, `on_stage` is called after each stage with its seconds and tokens. Raises `BadInput` for a question
        that is empty or longer than `LONGEST_QUESTION`, `Stopped`, and `Unavailable` where something that is needed is
        not there.

        >>> import kgmed
        >>> kgmed.load(graph="hpo").ask("What are the signs of Marfan syndrome?").answer.citations[:2]  # doctest: +SKIP
        (1, 2)
        """
        observe: Observer | None = None if on_stage is None else lambda stage, _: on_stage(stage)
        return self._asked(question, options, after, stop, observe)

    def retrieve(
        self, question: Question | str, *, options: Mapping[str, str] | None = None, stop: Stop | None = None
    ) -> Run:
        """The run of a question up to its evidence: ranked, phrased as a reader would see it, and read by none."""
        return replace(self, wraps=(*self.wraps, _unread))._asked(question, options, None, stop, None)

    def stream(
        self,
        question: Question | str,
        *,
        options: Mapping[str, str] | None = None,
        after: Run | None = None,
        stop: Stop | None = None,
    ) -> Iterator[Event]:
        """What happens while a question is answered, the last event with the whole run.

        Raises what `ask` raises. A reader of the stream that leaves early stops the run.
        """
        from concurrent.futures import ThreadPoolExecutor

        from kgmed.models.asking import listening
        from kgmed.question.emergency import helped

        events: Queue[Event | Future[Run]] = Queue()
        ending = stop or Stop()

        def work() -> Run:
            words = listening(
                lambda piece: events.put(Event("token", text=piece)), lambda: events.put(Event("restart"))
            )
            text = question if isinstance(question, str) else question.text
            if first := "" if options else helped(text):
                events.put(Event("token", text=f"{first}\n"))
            with words:
                return self._asked(question, options, after, ending, _StageEvents(events.put))

        with ThreadPoolExecutor(1) as pool:
            pool.submit(copy_context().run, work).add_done_callback(events.put)
            try:
                while isinstance(event := events.get(), Event):
                    yield event
            finally:
                ending.set()
        yield Event("run", run=event.result())

    async def aask(
        self,
        question: Question | str,
        *,
        options: Mapping[str, str] | None = None,
        after: Run | None = None,
        stop: Stop | None = None,
        on_stage: OnStage | None = None,
    ) -> Run:
        """`ask` in a thread of its own; a task that is cancelled stops the run."""
        import asyncio

        ending = stop or Stop()
        try:
            return await asyncio.to_thread(
                self.ask, question, options=options, after=after, stop=ending, on_stage=on_stage
            )
        except asyncio.CancelledError:
            ending.set()
            raise

    async def aretrieve(
        self, question: Question | str, *, options: Mapping[str, str] | None = None, stop: Stop | None = None
    ) -> Run:
        """`retrieve` in a thread of its own."""
        import asyncio

        return await asyncio.to_thread(self.retrieve, question, options=options, stop=stop)

    async def astream(
        self,
        question: Question | str,
        *,
        options: Mapping[str, str] | None = None,
        after: Run | None = None,
        stop: Stop | None = None,
    ) -> AsyncIterator[Event]:
        """`stream`, each event awaited in a thread."""
        import asyncio

        ending = stop or Stop()
        events = self.stream(question, options=options, after=after, stop=ending)
        try:
            while (event := await asyncio.to_thread(next, events, None)) is not None:
                yield event
        finally:
            ending.set()

    # --- what is opened

    def prepare(self) -> "Session":
        """This session, its graphs open and what the first question of each needs computed."""
        for name, language in product(self.graphs, LANGUAGES):
            toolkit = self.toolkit(name, language)
            if isinstance(toolkit, Toolkit):
                toolkit.prepare()
        return self

    def toolkit(self, name: str, language: str = "") -> Toolkit | RemoteToolkit:
        """The toolkit of a graph, opened once; its entities bear their names in a language where one is given."""
        graph = self._graphs.get(name, (self.open_graph,), lambda: self.open_graph(name))
        return self._toolkit(self._spoken(name, graph, language))

    def close(self) -> None:
        """Keep what the caches of remote graphs have counted, and close them; they open again by themselves."""
        for graph in list(self._graphs.made.values()):
            if (close := getattr(graph, "close", None)) is not None:
                close()

    def __enter__(self) -> "Session":
        """This session, closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def under(self, *wraps: Wrap, **changes: Any) -> "Session":
        """A session that shares graphs and models with this one; `changes` are options, `wraps` change the pipeline.

        A model, encoder, scorer, glossary or tagger whose options change is made anew. Raises `BadInput` for other
        graphs, which take a session of their own.
        """
        config = self.config.replace(**changes)
        changed = {name for name in changes if getattr(config, name) != getattr(self.config, name)}
        if "graph" in changed:
            raise BadInput("a session keeps its graphs; open another one for others: kgmed.load(graph=...)")
        made: dict[str, Any] = {}
        for part, (names, options, make) in _MADE_OF.items():
            named = changed & names or any(getattr(config, name) for name in names)  # else an object of the caller's
            if (named and changed & (names | options)) or (part == "pairs" and config.scorer and "encoder" in made):
                made[part] = make(config, made.get("encoder", self.encoder))
        return replace(self, config=config, wraps=(*self.wraps, *wraps), **made)

    def near(self, run: Run) -> dict[str, list[str]]:
        """The names of a run's graph that are spelled much like a term that was not linked, by term; [] is left out."""
        toolkit = next(
            (toolkit for toolkit in list(self._toolkits.made.values()) if toolkit.graph.label == run.graph), None
        )
        terms = dict.fromkeys(m.name for m in run.missed) if toolkit else ()
        return {term: names for term in terms if toolkit and (names := toolkit.near(term))}

    def pipeline(self, toolkit: Toolkit | RemoteToolkit) -> Pipeline:
        """The method on a graph, as the options change it.

        `auto` reads with the language model where one is given, else the facts alone: the embedded 135M model is not
        taken unless it is named, since on the same evidence it answers fewer questions right than the facts do
        (docs/decisions/004-readers.md). On a graph behind a server, `auto` is kg-rank.
        """
        method, settings = self._method(toolkit)
        made: Pipeline = method.build(toolkit, settings)
        made = replace(made, sampling=_drawn(made.sampling, self.config))
        if toolkit.llm is not None:
            made = self._with_model(made, method, toolkit, toolkit.llm)
        for name, change in (*_CHANGES.items(), *((o.name, o.apply) for o in plugged_options().values())):
            value = getattr(self.config, name, None)
            if value is not None and value != getattr(Config, name, _NOTHING):
                made = change(made, toolkit, value)
        for wrap in self.wraps:
            made = wrap(made, toolkit)
        return made

    def _with_model(self, made: Pipeline, method: Method, toolkit: Toolkit | RemoteToolkit, llm: LLM) -> Pipeline:
        """A pipeline that asks a model: what reads the question, what is answered from, how sentences are checked.

        A small model answers from the evidence alone, and neither reads the question nor judges. What a preset has from
        its authors stays.
        """
        from kgmed.facts.answer import answer
        from kgmed.facts.safety import NamedAgainst
        from kgmed.steps.label import Labelled, ModelJudge

        small = is_small(llm)
        task = of_preset(
            self.config.preset or next(iter(method.presets), ""), "evidence" if small else self.config.answer_from
        )
        if not small and task.cites and made.understand is not unread and made.read is not answer:
            made = replace(made, understand=toolkit.understand_by_model)
        check = made.check if isinstance(made.check, Labelled) else Labelled(made.check)
        judge = None if small else ModelJudge(llm, prompts=self.config.prompts)
        against = NamedAgainst(toolkit.graph, toolkit.linked) if isinstance(toolkit, Toolkit) else NamedAgainst()
        return replace(made, task=task, check=replace(check, judge=judge, strict=self.config.strict, against=against))

    def understand(self, question: Question | str) -> Frame:
        """What a question is understood to ask on the first graph that is tried; nothing is retrieved."""
        asked = Question(question) if isinstance(question, str) else question
        pipeline = self.pipeline(self.toolkit(self.order(asked, None)[0], language_of(asked)))
        query = Query(asked)
        mentions = pipeline.recognize(query)
        return pipeline.understand(query, mentions, pipeline.link(mentions))

    # --- the way of a question

    def _asked(
        self,
        question: Question | str,
        options: Mapping[str, str] | None,
        after: Run | None,
        stop: Stop | None,
        observe: Observer | None,
    ) -> Run:
        """The run of the first graph that has an answer."""
        asked = Question(question) if isinstance(question, str) else question
        asked = replace(asked, options=tuple(options.items())) if options else asked
        if not asked.text.strip():
            raise BadInput('the question is empty; ask for example: kgmed ask "What are the signs of rickets?"')
        if (length := sum(map(length_of, (asked.text, *(text for _, text in asked.options))))) > LONGEST_QUESTION:
            raise BadInput(
                f"the question has {length:,} characters with its options; {LONGEST_QUESTION:,} are the most"
            )
        from kgmed.facts.answer import finished

        first: Run | None = None
        deadline = self.config.deadline
        with stopping_by(stop if deadline is None else Stop(deadline, also=stop)):
            for name in self.order(asked, after):
                toolkit = self.toolkit(name, language_of(asked))
                run = self._run(toolkit, asked, after, observe)
                if not run.answer.abstained:
                    return finished(run, toolkit) if self.helps else run
                first = run if first is None or (run.links and not first.links) else first
        if first is None:
            raise BadInput("there is no graph to ask; name one")
        if not self.helps:
            return first
        tried = f" ({', '.join(self.graphs)})" if len(self.graphs) > 1 and not first.links else ""
        return finished(replace(first, answer=replace(first.answer, text=f"{first.answer.text}{tried}")))

    def _run(
        self, toolkit: Toolkit | RemoteToolkit, asked: Question, after: Run | None, observe: Observer | None
    ) -> Run:
        """The run on one graph, with what it was made with."""
        if (excerpt := getattr(toolkit.graph, "excerpt", None)) is not None:
            method, settings = self._method(toolkit)
            text = "\n".join((asked.text, *(text for _, text in asked.options)))
            reach = {"hops": getattr(settings, "hops", 3), "shortest": method.name == "mindmap"}
            once = observe and _Untold(observe)
            try:
                return self._run(self._opened(excerpt(text, **reach)), asked, after, once)
            except NeedsAll:
                once = once and _Untold(once.tell, once.told)
                return self._run(self._fetched(toolkit.graph, language_of(asked)), asked, after, once)
        made = self.pipeline(toolkit)
        if after is not None and after.graph == toolkit.graph.label:
            from kgmed.linking.cascade import CarriedOver
            from kgmed.question.understand import Remembering

            told = after.query.frame.patient
            read = made.understand if made.understand is unread else Remembering(made.understand, told)
            made = replace(made, link=CarriedOver(made.link, after.links, asked.text), understand=read)
        made = _with_values(made, toolkit, asked)
        before = _hits(toolkit.graph)
        run = self._made(made, toolkit, asked, observe)
        method, settings = self._method(toolkit)
        hits = ((what, h - before.get(what, (0, 0))[0], n - before.get(what, (0, 0))[1]) for what, (h, n) in
                _hits(toolkit.graph).items())  # fmt: skip
        return replace(
            run,
            notes=(*run.notes, *(stand_ins(method.about, toolkit, settings) if made.task.published else ())),
            preset=self.config.preset or next(iter(method.presets), ""),
            settings=(*_plain(settings), *(made.sampling.settings.items() if made.sampling != GREEDY else ())),
            models=toolkit.models(scorer="pairs" in method.about.needs),
            hits=tuple(hits),
        )

    def _made(
        self, pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit, asked: Question, observe: Observer | None
    ) -> Run:
        """The run of a pipeline; where its model fails, what the facts give without it, which the run says.

        What a method cannot do without, other than its model, is raised, and so is every failure of one that is asked
        for by a preset as its authors have it.
        """
        once = observe and _Untold(observe)
        pipeline = pipeline if self.falls_back else replace(pipeline, otherwise=None)
        with ledger() as book:
            try:
                return pipeline(asked, observe=once)
            except Unavailable as error:
                asked_it = isinstance(error, ModelFailed) or any(call.failed for call in book.calls)
                as_published = bool(self.config.preset) and not pipeline.task.cites
                if not self.falls_back or not asked_it or as_published or not isinstance(toolkit, Toolkit):
                    raise
                why = str(error)
            facts = replace(self, config=self.config.replace(method="facts", preset="", settings={})).pipeline(toolkit)
            run = facts(asked, observe=once and _Untold(once.tell, once.told))
            return replace(run, method=pipeline.name, failures=(why, *run.failures), spent=book.spent())

    def _fetched(self, graph: Any, language: str) -> Toolkit | RemoteToolkit:
        """The toolkit of all of a graph in a database, fetched once; see `graph.remote.whole`."""
        from kgmed.graph.remote.named import COPIES, whole

        name = f"{graph.label} fetched"
        made = self._graphs.get(name, (graph,), lambda: whole(graph, data_folder() / COPIES))
        return self._toolkit(self._spoken(name, made, language))

    def _method(self, toolkit: Toolkit | RemoteToolkit) -> tuple[Method, Any]:
        """The method and its settings; raises `BadInput` for one that the graph does not do for."""
        local = isinstance(toolkit, Toolkit) or hasattr(toolkit.graph, "excerpt")
        auto = ("llm" if self.llm else "facts") if local else "kg-rank"
        method = methods.of(auto if self.config.method == AUTO else self.config.method)
        if not local and "local_graph" in method.about.needs:
            remote = ", ".join(m.name for m in methods.all() if "local_graph" not in m.about.needs)
            raise BadInput(f"the method {method.name} needs a graph whose files are here; behind a server: {remote}")
        return method, settings_of(method, preset=self.config.preset, given=self.config.settings)

    def _spoken(self, name: str, graph: KnowledgeGraph, language: str) -> KnowledgeGraph:
        """The graph of that name with its entities' names in a language, where one is given and it has them."""
        if not language or not isinstance(graph, Store):
            return graph
        spoken: KnowledgeGraph = self._graphs.get(f"{name} {language}", (graph,), lambda: graph.speaking(language))
        return spoken

    def _toolkit(self, graph: KnowledgeGraph) -> Toolkit | RemoteToolkit:
        """What methods are made of on this graph, made once for the session's models, prompts and glossary."""
        of = (graph, self.llm, self.encoder, self.pairs, self.config.prompts, self.glossary, self.tagger)
        made: Toolkit | RemoteToolkit = self._toolkits.get(graph.name, of, lambda: self._opened(graph))
        return made

    def _opened(self, graph: KnowledgeGraph) -> Toolkit | RemoteToolkit:
        """What methods are made of on this graph."""
        llm = self.llm
        if llm is not None:
            from kgmed.models.limits import RecordedLLM, ThinkingRoom

            llm = llm if isinstance(llm, RecordedLLM) else RecordedLLM(ThinkingRoom(llm))
        parts = (llm, self.encoder, self.pairs, self.config.prompts, self.glossary)
        if hasattr(graph, "adjacency"):
            kind = InPlace if hasattr(graph, "read") else Toolkit
            return kind(cast(LocalGraph, graph), *parts, tagger=self.tagger)
        return RemoteToolkit(graph, *parts, attributes=graph.name != "umls")

    def order(self, question: Question, after: Run | None) -> list[str]:
        """The graphs to try: the one of the conversation, then those in the question's language."""
        language = language_of(question)
        label = after.graph if after else ""
        opened = ((key[0], graph) for key, graph in list(self._graphs.made.items()))
        before = {name for name, graph in opened if label and graph.label == label}
        before |= {name for name in self.graphs if label.split(" ")[0] == name}  # a talk of another process goes on
        return sorted(self.graphs, key=lambda n: (n not in before, self.languages.get(n, language) != language))


class _Untold:
    """Tells of the stages of a question that were not told of before it was begun again on all of the graph."""

    def __init__(self, tell: Observer, before: Sequence[str] = ()) -> None:
        self.tell, self.told, self._before = tell, list[str](), list(before)

    def __call__(self, stage: Stage, made: Any) -> None:
        self.told.append(stage.name)
        if stage.name in self._before:
            self._before.remove(stage.name)
        else:
            self.tell(stage, made)


class _StageEvents:
    """Puts an event for each stage that has ended, and after linking one with what was found."""

    def __init__(self, put: Callable[[Event], None]) -> None:
        self._put = put
        self._mentions: Sequence[Mention] = ()

    def __call__(self, stage: Stage, made: Any) -> None:
        self._put(Event("stage", stage=stage))
        if stage.name == "recognize":
            self._mentions = made
        if stage.name == "link":
            linked = {link.mention for link in made}
            missed = tuple(m for m in self._mentions if m not in linked)
            self._put(Event("found", links=tuple(made), missed=missed))


STANDS_IN = " in place of "


def stand_ins(about: About, toolkit: Toolkit | RemoteToolkit, settings: object) -> tuple[str, ...]:
    """A line for each model of a paper whose place another takes: "scorer: words and vectors for bge-reranker"."""
    here = {"tagger": "the graph's names", **dict(toolkit.models(scorer=bool(about.scorer)))}
    theirs = {"encoder": about.encoder, "scorer": about.scorer, "tagger": about.tagger}
    unused = {*about.unused(settings), *(["tagger"] if getattr(toolkit, "tagger", None) else [])}
    return tuple(
        f"{part}: {here[part]}{STANDS_IN}{name}"
        for part, name in theirs.items() if name and part not in unused and not is_model(here[part], name)
    )  # fmt: skip


def _plain(settings: object) -> tuple[tuple[str, Any], ...]:
    """The settings by name."""
    return () if not is_dataclass(settings) else tuple((f.name, getattr(settings, f.name)) for f in fields(settings))


def _hits(graph: KnowledgeGraph) -> dict[str, tuple[int, int]]:
    """What a remote graph's cache has counted so far: how often it had an answer, and how often it was asked."""
    return {what: (h.hits, h.hits + h.misses) for what, h in getattr(graph, "hits", {}).items()}


# --- What options and callers do to a method's pipeline.


def _drawn(preset: Sampling, config: Config) -> Sampling:
    """How the model's words are drawn: as the options say, else as the method's preset."""
    warm = preset.temperature if config.temperature is None else config.temperature
    return Sampling(warm, preset.top_p if config.top_p is None else config.top_p, config.seed, config.penalty)


class _Nothing:
    """The default of an option that is no field of `Config`."""

    default = None


_NOTHING = _Nothing()


def _unread(pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit) -> Pipeline:
    """A pipeline whose evidence no reader is shown, nor a model that would choose from it."""
    task = replace(pipeline.task, own_knowledge=pipeline.task.published)
    return replace(pipeline, read=_no_reader, check=as_is, otherwise=None, task=task)


def _no_reader(query: Query, context: Context) -> Answer:
    """No answer: the evidence alone was asked for."""
    return Answer("", limits="evidence only: no reader was asked", reader="none")


def _with_values(pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit, asked: Question) -> Pipeline:
    """A pipeline that links the measured values of a question to the findings that they stand for.

    As `kgmed diagnose` does; a method that is asked as its authors have it (no citations) reads the question itself.
    """
    if not any(map(str.isdigit, asked.text)):
        return pipeline
    from kgmed.diagnose.findings import measured  # needed for a value alone

    values = measured(toolkit.graph, asked.text) if isinstance(toolkit, Toolkit) and pipeline.task.cites else []
    if not values:
        return pipeline
    from kgmed.linking.cascade import Chosen

    places = [range(link.mention.start, link.mention.end) for link in values]

    def recognize(query: Query, /) -> list[Mention]:
        others = (m for m in pipeline.recognize(query) if m.start < 0 or not any(m.start in at for at in places))
        return sorted((*others, *(link.mention for link in values)), key=lambda m: m.start)

    chosen = {(link.mention.start, link.mention.end): link.entity for link in values}
    return replace(pipeline, recognize=recognize, link=Chosen(pipeline.link, chosen, "value"))


def _within(pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit, tokens: int) -> Pipeline:
    """Evidence fitted to a number of tokens."""
    from kgmed.steps.budget import Within

    return replace(pipeline, phrase=Within(pipeline.phrase, tokens, toolkit.encoder))


def _by_likelihood(pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit, choose: str) -> Pipeline:
    """Options chosen by the likelihood of their texts; a reader that asks no model stays."""
    from kgmed.facts.answer import answer
    from kgmed.steps.facts import facts
    from kgmed.steps.likelihood import Likeliest, LikelihoodReader, likelihood_of

    if toolkit.llm is None or pipeline.read in (answer, facts):
        return pipeline
    by_text = LikelihoodReader(likelihood_of(toolkit.llm), prompts=toolkit.prompts)
    return replace(pipeline, read=Likeliest(pipeline.read, by_text))


def _unless_weak(pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit, at_least: float) -> Pipeline:
    """Nothing is said below a score of the evidence."""
    from kgmed.steps.budget import UnlessWeak

    otherwise = pipeline.otherwise and UnlessWeak(pipeline.otherwise, at_least)
    return replace(pipeline, read=UnlessWeak(pipeline.read, at_least), otherwise=otherwise)


_CHANGES: Mapping[str, Callable[[Pipeline, Toolkit | RemoteToolkit, Any], Pipeline]] = {  # in this order
    "evidence_tokens": _within,
    "choose": _by_likelihood,
    "abstain_below": _unless_weak,
}


_HERE = {"device", "precision", "texts"}
_MADE_OF: Mapping[str, tuple[set[str], set[str], Callable[[Config, Encoder], Any]]] = {
    # part of a session -> the options that name it, those that change it, what makes it
    "llm": (
        {"llm", "cache"},
        {"base_url", "cache_mode", "budget", "prices", "max_calls", "rate", "reply_tokens", "batch", "precision",
         "device", "bits", "adapter"},
        lambda config, _: _llm(config),
    ),
    "encoder": ({"encoder"}, _HERE, lambda config, _: _encoder(config)),
    "pairs": ({"scorer"}, _HERE, lambda config, encoder: _scorer(config, encoder)),
    "glossary": ({"glossary"}, set(), lambda config, _: _glossary(config)),
    "tagger": ({"tagger"}, {"device"}, lambda config, _: _tagger(config)),
}  # fmt: skip


# --- Questions one after the other, each understood in the light of those before it.
# Every question is asked with the turns before it as its history, the oldest left out first where they are too many:
# the question itself is never cut. A question that names nothing known ("What treats it?") is about what the last one
# that did was about; the run shows those links as carried over.


TURNS = 6  # ours: that a model is told of
LONGEST = 600  # ours: characters of an answer that a model is told of
_TURN = {"en": ("Question", "Answer"), "zh": ("问题", "回答")}


@dataclass
class Conversation:
    """A talk with a session; `runs` are its turns so far."""

    session: Session
    turns: int = TURNS
    runs: list[Run] = field(default_factory=list)

    def ask(self, question: Question | str, *, options: Mapping[str, str] | None = None) -> Run:
        """The run of the next question; one that raises is no turn. Raises what the session raises.

        "What about gout?" is the last question with gout in place of what that one was about; "And in pregnancy?" is
        the last question, narrowed to those people. The run says so.
        """
        asked, last = self.turn(question, options=options)
        run = self.session.ask(asked, options=options, after=last)
        self.runs.append(run)
        return run

    def turn(
        self, question: Question | str, *, options: Mapping[str, str] | None = None
    ) -> tuple[Question, Run | None]:
        """The next question as the session is to be asked it, and the run that it comes after."""
        asked = Question(question) if isinstance(question, str) else question
        last = next((run for run in reversed(self.runs) if run.links), None)
        if last is not None and not (asked.options or options) and (text := self._again(asked, last)):
            asked = replace(asked, text=text)
        recent = self.runs[-self.turns :] if self.turns else []
        history = tuple(line for run in recent for line in turn_lines(run))
        return replace(asked, history=(*asked.history, *history)), self._told(last)

    def _told(self, last: Run | None) -> Run | None:
        """The run that a question comes after, its patient all that the turns told of somebody."""
        from kgmed.question.patient import patient_so_far

        after = last or next(reversed(self.runs), None)
        if after is None:
            return None
        frame = replace(after.query.frame, patient=patient_so_far([run.query for run in self.runs]))
        return replace(after, query=replace(after.query, frame=frame))

    def _again(self, asked: Question, last: Run) -> str:
        """The last question with the thing that this one names in the place of one of its kind, or narrowed to the
        people that it names; "" = it is no such.
        """
        from kgmed.language.particulars import people_of  # needed for a follow-up alone

        new, before = asked_about(asked.text), last.question.text
        if not new:
            return ""
        if people_of(new):
            return f"{before.rstrip()} {asked.text.strip()}"
        toolkits = [self.session.toolkit(name) for name in self.session.order(asked, last)[:1]]
        kinds = {x.entity.kind for toolkit in toolkits if isinstance(toolkit, Toolkit) for x in toolkit.linked(new)}
        stated = [x for x in last.links if not x.mention.negated] or list(last.links)
        old = next((x for x in stated if x.entity.kind in kinds), stated[0])
        return put_in(before, old.mention.surface, new)


def turn_lines(run: Run) -> tuple[str, str]:
    """A turn as a model is told of it: what was asked, and the beginning of the answer, on a line each.

    >>> from kgmed.records import Answer, Context, Query
    >>> turn_lines(Run(Query(Question("Gout?")), (), (), (), (), Context(""), Answer("A disease.\\nIt hurts.")))
    ('Question: Gout?', 'Answer: A disease. It hurts.')
    """
    question, answer = _TURN[prompt_language(run.question)]
    text = " ".join(run.answer.text.split())
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return f"{question}: {run.question.text}", f"{answer}: {short}"


# --- From the names that a person types to a session: graphs of the data folder or behind a server, a method, models.


def open_session(
    config: Config, *, progress: Progress | None = None, environment: Mapping[str, str] = os.environ
) -> Session:
    """The session that a configuration names; see `kgmed.load`. A remote graph's key is looked for in `environment`.

    Raises `UnknownName` for a name that nothing has, `Unavailable` for what is not installed.
    """
    if not callable(config.method) and config.method != AUTO:
        methods.get(config.method)
    names = _as_one(list(library.languages()) if config.graph == AUTO else library.named(config.graph))
    if not names:
        raise Unavailable('no graph is here; pip install "kgmed[starter]", or: kgmed graph build NAME FILE')
    for name in library.named(",".join(names)) if AUTO not in names else ():
        library.check_known(name)
    check_models(config)
    encoder = _encoder(config)

    def open_graph(name: str) -> KnowledgeGraph:
        return open_named(name, progress=progress, environment=environment)

    return Session(
        names,
        open_graph,
        {},
        config,
        _llm(config),
        encoder,
        pairs=_scorer(config, encoder),
        glossary=_glossary(config, progress),
        tagger=_tagger(config),
    )


def _as_one(names: Sequence[str | Path]) -> tuple[str, ...]:
    """The graphs to ask: those whose files are here as one, then those behind servers."""
    remote = [str(name) for name in names if library.is_remote(str(name))]
    local = ",".join(str(name) for name in names if str(name) not in remote)
    return (local, *remote) if local else tuple(remote)


def open_named(
    name: str, *, progress: Progress | None = None, environment: Mapping[str, str] = os.environ
) -> KnowledgeGraph:
    """A graph by name or folder, built first where it is a packaged one, or one behind a server."""
    if library.is_remote(name):
        from kgmed.graph.remote.named import open_remote

        return open_remote(name, data_folder(), environment)
    graph, names = library.open_graph(name, progress=progress), library.named(name)
    if is_prepared(graph):
        return graph
    if len(names) > 1:  # it was joined just now: with the map of one of its parts, which later ones lend by themselves
        from kgmed.linking.align import open_map, serve

        if not open_map(graph, encoder := default_encoder()):
            serve(graph, library.members(names, graph), encoder)
    prepare(graph)  # it was built or joined just now, or by another version
    return graph


def _encoder(config: Config) -> Encoder:
    """The encoder that is named, else the embedded one; it remembers what it has encoded, unless that costs nothing."""
    from kgmed.models.encoders import Remembered

    encoder = encoder_named(config.encoder, **run_here(config))
    return encoder if isinstance(encoder, NgramEncoder) else Remembered(encoder)


def _llm(config: Config) -> LLM | None:
    """The language model that is named, if any."""
    if not (config.llm or config.cache):
        return None
    from kgmed.models.named import llm_of

    return llm_of(config)


def _glossary(config: Config, progress: Progress | None = None) -> Glossary | None:
    """The bilingual graph that is named, if any."""
    return Glossary(library.open_graph(config.glossary, progress=progress)) if config.glossary else None


def _scorer(config: Config, encoder: Encoder) -> PairScorer | None:
    """The pair scorer that is named, if any."""
    if not config.scorer:
        return None
    from kgmed.models.named import scorer_from

    return scorer_from(config.scorer, encoder, **run_here(config))


def run_here(config: Config) -> dict[str, Any]:
    """How an encoder or a scorer runs in this process."""
    return {"device": config.device, "precision": config.precision, "texts": config.texts}


def check_models(config: Config) -> None:
    """Raises `BadInput` where a choice is made that no model that is named takes."""
    if any(run_here(config).values()):
        from kgmed.models.named import check_choices

        check_choices(config)


def _tagger(config: Config) -> Recognizer | None:
    """The trained tagger that is named, if any."""
    if config.tagger is None:
        return None
    from kgmed.linking.by_model import open_tagger

    return open_tagger(config.tagger, device=config.device)


def encoder_named(text: str, **here: Any) -> Encoder:
    """The encoder of that name; "" = the embedded one."""
    if not text:
        return default_encoder()
    from kgmed.models.named import encoder_from

    return encoder_from(text, **here)
