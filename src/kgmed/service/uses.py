"""What a service can be asked, a function each: every door (REST, OpenAI, MCP, the page) calls these and translates.

A request is a pydantic model, since it comes from outside; a result is one of kgmed's frozen records. Graphs and
methods are named from what is served: no name of a request is ever taken for a path.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kgmed import __version__
from kgmed.config import AUTO, Config
from kgmed.diagnose.engine import DiagnosisEngine
from kgmed.diagnose.findings import Diagnosed, described
from kgmed.diagnose.patient import Patient, onset, parse_findings, years
from kgmed.errors import BadInput, KgmedError, StoreError, Unavailable, UnknownName
from kgmed.evaluate.datasets.cases import packet, phenopacket
from kgmed.facts.tools import Toolbox
from kgmed.frame import Intent
from kgmed.graph import library
from kgmed.graph.base import Match
from kgmed.graph.complete import Completion, Completions
from kgmed.graph.library import GraphSummary, published_graphs
from kgmed.graph.search.paths import FoundPaths, paths_between
from kgmed.graph.store.store import Store
from kgmed.language.text import prompt_language
from kgmed.linking.cascade import Chosen
from kgmed.models.asking import Malformed, Structured, values, without_marks, without_thinking
from kgmed.models.base import LLM
from kgmed.models.named import llm_of
from kgmed.pipeline import Pipeline
from kgmed.prompts import prompt, whole_question
from kgmed.question.understand import Trained
from kgmed.records import Entity, Link, Mention, Query, Question, Relation, Role, Run, Stage, Triple
from kgmed.registry import methods
from kgmed.reward.cases import NamesIn, case_in
from kgmed.reward.graph_reward import JudgedAnswer, KGReward
from kgmed.runs import Kept
from kgmed.service.kept import Fetches, FetchState, Opened, RunsKept, Uploaded, Uploads, runs_at
from kgmed.session import LONGEST_QUESTION, Conversation, Event, Session, open_named, open_session
from kgmed.show_run import LINKS, translated, translated_run
from kgmed.steps.read import FENCE, NO_EVIDENCE, fence_for
from kgmed.steps.retrieve import as_listed
from kgmed.stop import Stop, check_stop, stopping_by
from kgmed.toolkit import RemoteToolkit, Toolkit

LONGEST = LONGEST_QUESTION  # characters of a question
MOST = 200  # nodes or rows of an answer
_COMPARED = 8  # methods
_JUDGED = 1_024  # answers
_SHAPED = 2_000  # tokens of an answer that is put into a schema

# --- What is asked.

Said = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST, pattern=r"\S")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
HpoId = Annotated[str, StringConstraints(pattern=r"^(-|NOT )?HP:[0-9]{7}$")]
_AGE = r"[0-9]{1,3}([.][0-9]{1,4})?( ?[ymwd])?|P[0-9]{1,3}Y([0-9]{1,3}M)?|P[0-9]{1,3}[MWD]"
Age = Annotated[str, StringConstraints(pattern=rf"^({_AGE})?$")]
Onset = Annotated[str, StringConstraints(pattern=rf"^({_AGE}|HP:[0-9]{{7}})?$")]
Language = Annotated[str, StringConstraints(pattern="^([a-z]{2,3})?$")]  # ISO 639; "" = the question tells it
RunId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]


class Request(BaseModel):
    """What comes from outside; a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ChosenEntity(Request):
    """What some words of a question stand for."""

    start: Annotated[int, Field(ge=0, le=LONGEST)]
    end: Annotated[int, Field(ge=1, le=LONGEST)]
    id: Name


class Reading(Request):
    """How a question is to be understood, where that is known: what it asks, and what its words stand for."""

    intents: Annotated[list[Intent], Field(max_length=2)] = Field(default_factory=list)  # [] = as it is read
    entities: Annotated[list[ChosenEntity], Field(max_length=32)] = Field(default_factory=list)


Options = Annotated[dict[Annotated[str, StringConstraints(min_length=1, max_length=8)], Said], Field(max_length=26)]


class AskRequest(Request):
    """A question, with how it is to be answered."""

    question: Said
    options: Options = Field(default_factory=dict)
    graph: Name = AUTO
    method: Name = AUTO
    preset: Annotated[str, StringConstraints(max_length=40)] = ""
    model: Annotated[str, StringConstraints(max_length=200)] = ""  # one of `ServiceAbout.models`; "" = the first
    language: Language = ""
    after: Annotated[list[RunId], Field(max_length=8)] = Field(default_factory=list)  # the turns before, oldest first
    reading: Reading | None = None  # null = the question is read by itself
    translated: bool = False  # entities, texts and relations of the run in the question's language; ids stay
    stream: bool = False


class CompareRequest(Request):
    """A question for several methods."""

    question: Said
    options: Options = Field(default_factory=dict)
    methods: Annotated[list[Name], Field(min_length=1, max_length=_COMPARED)]
    graph: Name = AUTO
    language: Language = ""
    translated: bool = False  # as of `AskRequest`


class PathsRequest(Request):
    """Two or more entities, by id or name."""

    entities: Annotated[list[Name], Field(min_length=2, max_length=6)]
    hops: Annotated[int, Field(ge=0, le=5)] = 0
    limit: Annotated[int, Field(ge=1, le=50)] = 20


class BuildRequest(Request):
    """What the columns of a file that was handed in say, and whether the graph is to be built now."""

    columns: Annotated[str, StringConstraints(max_length=20_000)] = ""  # TOML; "" = as they seem
    build: bool = False


class DiagnoseRequest(Request):
    """A patient: findings by id, a description, a GA4GH phenopacket, or some of these together."""

    findings: Annotated[list[HpoId], Field(max_length=200)] = Field(default_factory=list)
    text: Annotated[str, StringConstraints(max_length=LONGEST)] = ""
    phenopacket: dict[str, Any] | None = None
    sex: Literal["", "female", "male"] = ""
    age: Age = ""
    onset: Onset = ""
    keep: Annotated[int, Field(ge=1, le=100)] = 10
    database: Literal["OMIM", "ORPHA", "DECIPHER", "all"] = "OMIM"
    graph: Name = "hpo"
    language: Language = ""


class RewardRequest(Request):
    """Answers to questions, a question each."""

    questions: Annotated[list[Said], Field(min_length=1, max_length=_JUDGED)]
    answers: Annotated[list[Annotated[str, StringConstraints(max_length=LONGEST)]], Field(max_length=_JUDGED)]

    def plain(self) -> "RewardRequest":
        """The same; a trainer's form gives it in its own way."""
        return self


class OpenRLHFRewards(Request):
    """Answers as OpenRLHF's trainer posts them to `--remote_rm_url`: each query is its prompt and the answer to it."""

    query: Annotated[list[Said], Field(min_length=1, max_length=_JUDGED)]
    prompts: Annotated[list[Said], Field(min_length=1, max_length=_JUDGED)]
    labels: list[Any] | None = None  # not looked at: the graph rewards

    def plain(self) -> RewardRequest:
        """Questions and answers; raises `BadInput` for a query that does not begin with its prompt."""
        if len(self.query) != len(self.prompts):
            raise BadInput(f"{len(self.query)} queries for {len(self.prompts)} prompts; give one each")
        if strange := [n for n, (q, p) in enumerate(zip(self.query, self.prompts, strict=True)) if not q.startswith(p)]:
            raise BadInput(f"query {strange[0]} does not begin with its prompt")
        answers = [without_thinking(q[len(p) :]) for q, p in zip(self.query, self.prompts, strict=True)]
        return RewardRequest(questions=list(map(without_marks, self.prompts)), answers=answers)


class VerlRewards(Request):
    """Answers in the words of veRL's `compute_score` for a batch; `extra_infos` hold the question of each."""

    solution_strs: Annotated[list[Annotated[str, StringConstraints(max_length=LONGEST)]], Field(max_length=_JUDGED)]
    extra_infos: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=_JUDGED)]
    data_sources: list[Any] | None = None  # not looked at, as the truths
    ground_truths: list[Any] | None = None

    def plain(self) -> RewardRequest:
        """Questions and answers; raises `BadInput` where there is no question."""
        asked = [info.get("question") for info in self.extra_infos]
        if strange := [n for n, text in enumerate(asked) if not isinstance(text, str) or not 0 < len(text) <= LONGEST]:
            raise BadInput(f"extra_infos[{strange[0]}] has no question; put the prompt's text there")
        return RewardRequest(questions=[str(text) for text in asked], answers=self.solution_strs)


# --- What is answered, besides the records of the library.


@dataclass(frozen=True, slots=True)
class ServedGraph:
    """A graph that can be asked, with what is in it."""

    name: str
    label: str
    source: str
    release: str
    licence: str
    citation: str
    language: str
    entities: int
    triples: int
    bytes: int
    kinds: tuple[str, ...]
    relations: tuple[Relation, ...]
    parts: tuple[str, ...]  # labels of the graphs that it is made of


@dataclass(frozen=True, slots=True)
class ServedMethod:
    """A method, with what it needs; `available` = it can be asked here."""

    name: str
    does: str
    paper: str
    calls: str
    needs_model: bool
    baseline: bool
    presets: tuple[str, ...]
    available: bool


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The triples around an entity: some of them, how many there are, and what `after` gives the next."""

    entity: Entity
    triples: tuple[Triple, ...]
    total: int
    next: int | None
    roles: dict[Role, int]  # how many triples of each there are in all


@dataclass(frozen=True, slots=True)
class Compared:
    """What a method made of the question: its run, or why it has none."""

    method: str
    run: Run | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class RewardedAnswers:
    """The reward of each answer, null where it cannot be judged, and what each names."""

    rewards: tuple[float | None, ...]  # in a trainer's form 0 where it cannot be judged
    judged: tuple[JudgedAnswer, ...]
    scores: tuple[float, ...]  # the rewards, 0 where an answer cannot be judged


@dataclass(frozen=True, slots=True)
class Opening:
    """What is being done before questions are answered: a step of some, and how many rows it has done."""

    doing: Literal["joining", "reading"]
    rows: int = 0


@dataclass(frozen=True, slots=True)
class ServiceAbout:
    """What a page has to know of the service."""

    version: str
    graphs: tuple[str, ...]
    model: str  # "" = none
    models: tuple[str, ...]  # that can be chosen, the usual one first
    demo: bool
    keyed: bool  # whether a key is needed
    longest: int  # characters of a question
    links: dict[str, str]  # prefix of a reference -> address with {} for the rest
    opening: Opening | None  # null = questions are answered
    fetches: bool  # whether graphs can be fetched by it
    rewards: bool  # whether answers can be rewarded
    lists: bool  # whether what was asked of it is listed


@dataclass(frozen=True, slots=True)
class AvailableGraph:
    """A graph that can be had, whether it is here or not: what it is, and the command that gets it."""

    name: str
    what: str
    release: str
    languages: str  # ISO 639-1, with spaces between
    licence: str
    size: int  # bytes to fetch; 0 = it comes with a package
    command: str
    here: bool
    fetching: FetchState | None  # null = it has not been asked for since the service began


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report of an evaluation, as `kgmed eval report --out` has written it."""

    id: str
    name: str
    written: str  # when


@dataclass(frozen=True, slots=True)
class StageTold:
    """A stage has ended."""

    stage: Stage


@dataclass(frozen=True, slots=True)
class FoundTold:
    """What the question names was linked, or not; `near` = names of the graph that are spelled alike, by term."""

    links: tuple[Link, ...]
    missed: tuple[Mention, ...]
    near: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class TokenTold:
    """Words of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class RestartTold:
    """It is asked again; the words so far do not count."""


Told = StageTold | FoundTold | TokenTold | RestartTold | Run


# --- The use cases.


def _nothing(run: Run) -> None:
    """Nobody listens."""


@dataclass(eq=False)
class UseCases:
    """What can be asked of some graphs; safe to share between threads. A graph that is built here joins them."""

    session: Session  # on all the graphs together
    graphs: tuple[str, ...]
    runs: RunsKept = field(default_factory=RunsKept)
    on_run: Callable[[Run], object] = field(default=_nothing, repr=False)  # hears of each run
    demo: bool = False
    keyed: bool = False
    reports: Path | None = None  # a folder of reports, a folder each
    judge: KGReward | None = None  # rewards answers
    fetches: Fetches | None = None  # fetches graphs, where that is allowed
    lists: bool = False  # whether whoever reaches it may see and delete what was asked of it
    models: Mapping[str, LLM] = field(default_factory=dict)  # that can be chosen beside the session's
    _once: Opened = field(default_factory=Opened, repr=False)
    _opening: list[Opening] = field(default_factory=list, repr=False)  # the newest last

    # what there is

    def about(self) -> ServiceAbout:
        """What a page has to know."""
        model = self.session.llm.name if self.session.llm else ""
        models = tuple(dict.fromkeys([model, *self.models])) if model else ()
        opening = self._opening[-1] if self._opening else None
        return ServiceAbout(
            __version__, self.graphs, model, models, self.demo, self.keyed, LONGEST, dict(LINKS), opening,
            self.fetches is not None, self.judge is not None, self.lists,
        )  # fmt: skip

    def list_graphs(self) -> list[ServedGraph]:
        """The graphs that can be asked, the one of all first where there are several."""
        names = [AUTO, *self.graphs] if len(self.graphs) > 1 else list(self.graphs)
        return [_served(name, self.store(name)) for name in names]

    def list_methods(self) -> list[ServedMethod]:
        """Every method, those that others are compared with last."""
        found = sorted(methods.all(), key=lambda method: method.about.baseline)
        return [
            ServedMethod(
                m.name, m.about.does, str(m.about), str(m.about.calls), m.about.needs_model, m.about.baseline,
                tuple(m.presets), self.session.llm is not None or not m.about.needs_model,
            )
            for m in found
        ]  # fmt: skip

    def list_available(self) -> list[AvailableGraph]:
        """The graphs that can be had: those of the packages, then the published ones."""

        here = {manifest.name for manifest in library.graphs()}
        states = self.fetches.states if self.fetches else {}
        packaged = [
            AvailableGraph(n, "", "", "", "", 0, f"kgmed graph build {n}", n in here, states.get(n))
            for n in library.PACKAGED
        ]
        return packaged + [
            AvailableGraph(
                p.name, p.what, p.release, p.languages, p.licence, p.size, f"kgmed graph get {p.name}", p.name in here,
                states.get(p.name),
            )
            for p in published_graphs()
        ] + [
            AvailableGraph(n, "", "", "", "", 0, f"kgmed graph build {n} FILE", n in here, state)
            for n, state in states.items() if n not in {*library.PACKAGED, *(p.name for p in published_graphs())}
        ]  # fmt: skip

    def fetch(self, name: str) -> list[AvailableGraph]:
        """The graphs that can be had; the one of that name is being fetched now. Raises `UnknownName`."""
        if self.fetches is None:
            raise UnknownName("graph that this service fetches", name, (), "where it runs: kgmed graph get NAME")
        self.fetches.begin(name, then=self.serve_also)
        return self.list_available()

    def serve_also(self, name: str) -> None:
        """Join a graph that is here now with the others, and ask it too from then on, where all graphs are asked."""
        if self.session.config.graph != AUTO or name in self.graphs:
            return
        local = tuple(n for n in library.languages() if n in (*self.graphs, name))
        joined = replace(self.session, graphs=(",".join(local), *self.session.graphs[1:]))
        joined.prepare()
        self.session, self.graphs = joined, local

    def upload(self, name: str, file: str, data: bytes) -> Uploaded:
        """What a file says that is to be a graph of that name; raises `UnknownName`, `BadInput`, `SourceError`."""
        return self._uploads(name)[1].put(name, file, data)

    def build_upload(self, name: str, asked: BuildRequest) -> Uploaded:
        """The same of the file that was handed in, looked at anew; with `build` the graph is being built now."""
        fetches, uploads = self._uploads(name)
        found = uploads.look(name, asked.columns)
        if asked.build and not found.problem:
            build = lambda name, _, building: uploads.build(name, asked.columns, building)  # noqa: E731
            fetches.begin(name, build, then=self.serve_also)
        return found

    def _uploads(self, name: str) -> tuple[Fetches, Uploads]:
        if self.fetches is None:
            raise UnknownName("graph that this service builds", name, (), "where it runs: kgmed graph build NAME FILE")
        return self.fetches, Uploads()

    def list_reports(self) -> list[ReportFile]:
        """The reports of evaluations, the newest first."""
        found = sorted(self._reports().items(), key=lambda item: -item[1].stat().st_mtime)
        return [
            ReportFile(name, name, datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds"))
            for name, path in found
        ]

    def report(self, name: str) -> str:
        """The page of a report; raises `UnknownName`. The name is looked for in the list, never in the disk."""
        found = self._reports()
        if name not in found:
            raise UnknownName("report", name, found)
        return found[name].read_text(encoding="utf-8")

    def _reports(self) -> dict[str, Path]:
        if self.reports is None:
            return {}
        from kgmed.evaluate.report.page import PAGE  # heavy

        return {path.parent.name: path for path in self.reports.glob(f"*/{PAGE}")}

    # a graph

    def complete(
        self, graph: str, typed: str, *, limit: int = 8, kinds: Sequence[str] = (), language: str = ""
    ) -> list[Completion]:
        """Entities with a name that goes on from what was typed; records of one thing are one."""
        store = self.store(graph, language)
        found = self._completions(graph, language)(typed, limit=limit, kinds=tuple(kinds), language=language)
        described = (store.description(store.number(c.entity.id)) for c in found)
        return [replace(c, entity=replace(c.entity, description=d)) for c, d in zip(found, described, strict=True)]

    def find(self, graph: str, name: str, *, limit: int = 10, language: str = "") -> list[Match]:
        """The entities of a name, else those with the most similar names."""
        return library.find(self.store(graph, language), name, limit=limit)

    def entity(self, graph: str, name: str, *, limit: int = 20, language: str = "") -> GraphSummary:
        """All that a graph says of the entity of that id or name."""
        store = self.store(graph, language)
        found = library.about(store, _resolved(store, name).id, limit=limit)
        return translated(found, language) if language else found

    def neighbours(
        self, graph: str, name: str, *, roles: Sequence[Role] = (), limit: int = 64, after: int = 0, language: str = ""
    ) -> Neighbourhood:
        """The triples around the entity of that id or name, as answers list them, from the one behind `after` on."""
        store = self.store(graph, language)
        entity = store.entity(_resolved(store, name).id)
        ordered, counts = as_listed(store, entity, roles)
        total, edges = len(ordered), ordered[after : after + limit]
        more = after + len(edges)
        found = Neighbourhood(entity, tuple(store.triples(edges)), total, more if more < total else None, counts)
        return translated(found, language) if language else found

    def tools(self, graph: str, language: str) -> Toolbox:
        """The tools of an agent on a graph; what is named and said is in a language, as far as the graph has it."""
        return Toolbox(_local(self.session.toolkit(self._key(graph), language)), language)

    def paths(self, graph: str, asked: PathsRequest, *, language: str = "", stop: Stop | None = None) -> FoundPaths:
        """The shortest paths between two entities, or the chains between more."""
        store = self.store(graph, language)
        with stopping_by(stop):
            entities = [_resolved(store, name) for name in asked.entities]
            found = paths_between(store, entities, hops=asked.hops, limit=asked.limit)
            return translated(found, language) if language else found

    # a question

    def ask(self, asked: AskRequest, stop: Stop | None = None, *, before: Sequence[str] = ()) -> Run:
        """The run of a question; `before` = what was asked before it, where only the words are known."""
        session, question, after = self._turn(asked, before, stop)
        run = self._kept(session.ask(question, options=asked.options or None, after=after, stop=stop))
        return translated_run(run) if asked.translated else run

    def stream(self, asked: AskRequest, stop: Stop | None = None, *, before: Sequence[str] = ()) -> Iterator[Told]:
        """What happens while a question is answered; the last is the run."""
        session, question, after = self._turn(asked, before, stop)
        for event in session.stream(question, options=asked.options or None, after=after, stop=stop):
            told = self._told(event, session)
            told = self._kept(told) if isinstance(told, Run) else told
            yield translated_run(told) if asked.translated and isinstance(told, Run) else told

    def shaped(self, run: Run, schema: Mapping[str, object], stop: Stop | None = None) -> str:
        """The answer of a run as JSON of a schema, by the language model; raises `ModelFailed`, `Unavailable`."""
        llm = self.session.toolkit(self.session.graphs[0]).llm
        if llm is None:
            raise Unavailable(
                "an answer is put into a schema by a language model, and the service has none: --llm NAME"
            )
        asked = prompt("serve/shape", language=prompt_language(run.question), folder=self.session.config.prompts)
        told = json.dumps(schema, ensure_ascii=False)
        evidence = "\n".join(f"[{n}] {one.text}" for n, one in enumerate(run.context.cited, start=1))
        question = whole_question(run.question)
        fence = FENCE + fence_for(f"{evidence}\n{run.answer.text}\n{question}")
        given = {"question": question, "answer": run.answer.text, "evidence": evidence or NO_EVIDENCE}
        messages = asked.messages(fence=fence, schema=told, **given)
        with stopping_by(stop):
            made = Structured(llm, json_object, max_tokens=_SHAPED, schema=schema)(messages)
        return json.dumps(made, ensure_ascii=False)

    def embed(self, texts: Sequence[str]) -> tuple[str, list[list[float]]]:
        """The name of the encoder, and the unit vector of each text."""
        encoder = self.session.encoder
        return encoder.name, encoder(texts).tolist()

    def compare(self, asked: CompareRequest, stop: Stop | None = None) -> list[Compared]:
        """What each of some methods makes of a question; one that fails says why."""
        return [self._compared(name, asked, stop) for name in dict.fromkeys(asked.methods)]

    def run(self, id: str) -> Run:
        """The run of that id."""
        return self.runs.get(id)

    def list_runs(self, sought: str, limit: int) -> list[Kept]:
        """What was asked, the newest first, with the words that are sought; raises `UnknownName` where none may."""
        self._check_lists()
        return self.runs.list(limit, sought)

    def forget(self, id: str) -> list[Kept]:
        """What was asked, without the run of that id, which is deleted; raises `UnknownName` where none may."""
        self._check_lists()
        self.runs.remove(id)
        return self.runs.list(MOST)

    def _check_lists(self) -> None:
        if not self.lists:
            raise UnknownName("list of this service", "runs", (), "where it runs: kgmed log")

    def reward(self, asked: RewardRequest | OpenRLHFRewards | VerlRewards) -> RewardedAnswers:
        """The reward of answers by the scorer of the service; raises `BadInput`, `UnknownName`."""
        if self.judge is None:
            raise UnknownName("scorer of this service", "reward", (), "begin it with: kgmed serve --reward CASES")
        plain = asked.plain()
        judged = tuple(self.judge.judge(plain.questions, plain.answers))
        scores = tuple(j.reward or 0.0 for j in judged)
        return RewardedAnswers(tuple(j.reward for j in judged) if plain is asked else scores, judged, scores)

    # a patient

    def diagnose(self, asked: DiagnoseRequest, stop: Stop | None = None) -> Diagnosed:
        """The diseases that fit a patient, with what speaks for and against each.

        In a language where one is asked for, entities are called as in all graphs as one, which have more names.
        """
        with stopping_by(stop):
            model, patient, links = self._patient(asked)
            wanted = "" if asked.database == "all" else asked.database
            found = Diagnosed(links, (model.diagnose(patient, keep=asked.keep, database=wanted),))
            return found.called(self._caller(asked.language)) if asked.language else found

    def phenopacket(self, asked: DiagnoseRequest) -> dict[str, Any]:
        """The patient as a GA4GH phenopacket."""
        model, patient, _ = self._patient(asked)
        return phenopacket(model.known(patient)[0], model.graph)

    # what is opened

    def prepare(
        self, ready: Callable[[Literal["looking", "asking"]], object] = lambda _: None, stop: Stop | None = None
    ) -> None:
        """Open everything, so that the first question waits for nothing; `ready` is told what can be asked already."""
        with stopping_by(stop):
            self._prepare(ready)

    def _prepare(self, ready: Callable[[Literal["looking", "asking"]], object]) -> None:
        try:
            self._opening.append(Opening("joining"))
            if all(name in self.graphs for name in library.named(self.session.graphs[0])):
                open_named(self.session.graphs[0], progress=self._rows_joined)
            for name in (AUTO, *self.graphs):
                self.store(name)
            ready("looking")
            self._opening.append(Opening("reading"))
            self.session.prepare()
        finally:
            self._opening.clear()
        ready("asking")
        check_stop()
        for name in (AUTO, *self.graphs):
            self._completions(name, "")("a")
        self.list_methods()  # reads their files
        if len(store := self.store(AUTO)):
            self.session.ask(store.at(0).name).to_bytes()  # makes what writes a run: a quarter of a second
        if "hpo" in self.graphs:
            self._phenotypes("hpo")

    def _rows_joined(self, rows: int) -> None:
        check_stop()
        self._opening[-1] = Opening("joining", rows)

    def close(self) -> None:
        """Close what is open."""
        self.session.close()
        self.runs.close()

    def store(self, graph: str, language: str = "") -> Store:
        """The graph of a name that is served; raises `UnknownName`."""
        found = self.session.toolkit(self._key(graph), language).graph
        if not isinstance(found, Store):
            raise UnknownName("graph whose names are here", graph, self.graphs)
        return found

    def _caller(self, language: str) -> Callable[[Entity], Entity]:
        """What calls an entity by its name in a language in all graphs as one, where it has one there."""
        store = self.store(AUTO, language)

        def called(entity: Entity) -> Entity:
            try:
                return replace(entity, name=store.at(store.number(entity.id)).name)
            except UnknownName:
                return entity

        return called

    def _key(self, graph: str) -> str:
        """The name under which the session keeps a graph."""
        if graph == AUTO or (graph,) == self.graphs:
            return self.session.graphs[0]
        if graph not in self.graphs:
            raise UnknownName("graph", graph, [AUTO, *self.graphs])
        return graph

    def _completions(self, graph: str, language: str) -> Completions:
        key = self._key(graph)
        made: Completions = self._once(("complete", key, language), lambda: Completions(self.store(graph, language)))
        return made

    def _asker(self, graph: str, method: str, preset: str, model: str = "") -> Session:
        """The session that asks a graph by a method with a model; raises `UnknownName`."""
        key, first = self._key(graph), self.session.llm.name if self.session.llm else ""
        if model and model != first and model not in self.models:
            raise UnknownName("model that can be asked here", model, self.about().models)
        known = [m.name for m in self.list_methods() if m.available]
        if method not in (AUTO, *known):
            raise UnknownName("method that can be asked here", method, [AUTO, *known])
        if preset and (method == AUTO or preset not in methods.get(method).presets):
            raise UnknownName("preset of the method", preset, () if method == AUTO else methods.get(method).presets)
        llm = self.models.get(model, self.session.llm)
        on = replace(self.session, llm=llm, graphs=(key, *self.session.graphs[1:]) if graph == AUTO else (key,))
        changes = {"preset": preset} if preset else {}
        made: Session = self._once(
            ("ask", key, method, preset, model),
            lambda: on if method == AUTO and not preset else on.under(**changes, method=method),
        )
        return made

    def _turn(
        self, asked: AskRequest, before: Sequence[str], stop: Stop | None
    ) -> tuple[Session, Question, Run | None]:
        """The session, the question in the light of the turns before it, and the run that it comes after.

        Of turns of which only the question is known the entities are found anew, without asking a model.
        """
        session = self._asker(asked.graph, asked.method, asked.preset, asked.model)
        if asked.reading is not None:
            session = session.under(partial(_as_given, reading=asked.reading))
        question = Question(asked.question, language=asked.language)
        talk = Conversation(session, runs=[self.runs.get(id) for id in asked.after])
        if before:
            facts = self._asker(asked.graph, "facts", "")
            for text in before:
                earlier, last = talk.turn(text)
                talk.runs.append(facts.ask(replace(earlier, history=()), after=last, stop=stop))
        return session, *talk.turn(question, options=asked.options or None)

    def _kept(self, run: Run) -> Run:
        """The same run, kept, and told to whoever listens."""
        self.on_run(run)
        return self.runs.put(run)

    def _told(self, event: Event, session: Session) -> Told:
        """An event as it is sent."""
        if event.run is not None:
            return event.run
        if event.stage is not None:
            return StageTold(event.stage)
        if event.kind == "found":
            toolkit = session.toolkit(session.graphs[0])
            near = {m.name: names for m in event.missed[:6] if (names := toolkit.near(m.name))}
            return FoundTold(event.links, event.missed, near)
        return TokenTold(event.text) if event.kind == "token" else RestartTold()

    def _compared(self, method: str, asked: CompareRequest, stop: Stop | None) -> Compared:
        session = self._asker(asked.graph, method, "")
        question = Question(asked.question, language=asked.language)
        try:
            run = self._kept(session.ask(question, options=asked.options or None, stop=stop))
            return Compared(method, translated_run(run) if asked.translated else run)
        except StoreError:
            raise
        except KgmedError as error:
            if stop is not None and stop.is_set:
                raise
            return Compared(method, None, str(error))

    def _phenotypes(self, graph: str) -> DiagnosisEngine:
        made: DiagnosisEngine = self._once(("diagnose", self._key(graph)), lambda: DiagnosisEngine(self.store(graph)))
        return made

    def _patient(self, asked: DiagnoseRequest) -> tuple[DiagnosisEngine, Patient, tuple[Link, ...]]:
        """The model, the patient, and how a description was understood."""
        model = self._phenotypes(asked.graph)
        given = packet(asked.phenopacket).patient if asked.phenopacket is not None else Patient(())
        present, absent = parse_findings(asked.findings)
        if len(given.present) + len(given.absent) > MOST:
            raise BadInput(f"phenopacket: {MOST} findings are the most")
        patient = replace(
            given,
            present=tuple(dict.fromkeys((*given.present, *present))),
            absent=tuple(dict.fromkeys((*given.absent, *absent))),
            sex=asked.sex or given.sex,
            age=years(asked.age) if asked.age else given.age,
            onset=onset(asked.onset) if asked.onset else given.onset,
        )
        if not asked.text.strip():
            return model, patient, ()
        toolkit = self.session.toolkit(self._key(asked.graph))
        return model, *described(model, _local(toolkit).linked, patient, asked.text)


def json_object(reply: str) -> dict[str, Any]:
    """The first JSON object of a reply; raises `Malformed`.

    >>> json_object('Here: {"signs": ["long fingers"]}')
    {'signs': ['long fingers']}
    """
    found = next((value for value in values(reply) if isinstance(value, dict)), None)
    if found is None:
        raise Malformed("it must be a JSON object")
    return found


def _resolved(store: Store, name: str) -> Entity:
    """The entity of that id or name; raises `Ambiguous`, and `UnknownName` with names that are spelled alike."""
    try:
        return library.resolve(store, name)
    except UnknownName:
        near = [match.name for match in library.find(store, name, limit=5)]
        raise UnknownName(f"entity of {store.name}", name, near) from None


def _as_given(pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit, reading: Reading) -> Pipeline:
    """The pipeline that understands a question as it is told to; raises `UnknownName` for an id of no entity."""
    chosen = {(c.start, c.end): toolkit.graph.entity(c.id) for c in reading.entities}

    def recognize(query: Query, /) -> list[Mention]:
        named = ((m, chosen.get((m.start, m.end))) for m in pipeline.recognize(query))
        return [m if entity is None else replace(m, name=entity.name) for m, entity in named]

    understand = pipeline.understand
    if reading.intents and isinstance(understand, Trained):
        understand = replace(understand, given=tuple(reading.intents))
    return replace(pipeline, recognize=recognize, link=Chosen(pipeline.link, chosen), understand=understand)


def _local(toolkit: object) -> Toolkit:
    """The toolkit, of a graph whose names are here."""
    if not isinstance(toolkit, Toolkit):
        raise UnknownName("graph whose names are here", str(toolkit), ())
    return toolkit


def _served(name: str, store: Store) -> ServedGraph:
    """What a graph says of itself."""
    m = store.manifest
    return ServedGraph(
        name, store.label, m.source, m.release, m.licence, m.citation, m.language, m.counts["entities"],
        m.counts["triples"], m.bytes, tuple(k for k in m.kinds if k), tuple(m.relations), tuple(m.parts),
    )  # fmt: skip


def open_cases(
    config: Config,
    *,
    keep: bool = True,
    runs: str = "",
    reports: str = "",
    judge: KGReward | None = None,
    models: Sequence[str] = (),
) -> UseCases:
    """The use cases on the graphs that a configuration names; with `keep` runs are kept, in the data folder or at an
    address of PostgreSQL. `models` can be chosen beside that of the configuration; `openai/NAME@URL` says where.

    Raises what `open_session` raises, and `BadInput` where none of the graphs' files are here.
    """
    names = list(library.languages()) if config.graph == AUTO else [str(n) for n in library.named(config.graph)]
    local = tuple(name for name in names if not library.is_remote(name))
    session = open_session(config)
    if not local:
        raise BadInput("a service needs a graph whose files are here; name one: kgmed serve --graph hpo")
    store = runs_at(runs) if keep and config.log else None
    others = _other_models(config, models)
    return UseCases(
        session, local, RunsKept(store), reports=Path(reports) if reports else None, judge=judge, models=others
    )


def _other_models(config: Config, names: Sequence[str]) -> dict[str, LLM]:
    """The models by name, each within the limits of the configuration; raises `BadInput`, `UnknownName`."""
    if names and not config.llm:
        raise BadInput("--other-llm names models beside that of --llm; name the first with --llm")
    made: dict[str, LLM] = {}
    for name, at, rest in (given.partition("@http") for given in names):
        llm = llm_of(config.replace(llm=name, base_url=f"http{rest}" if at else config.base_url))
        if llm is not None:
            made[llm.name] = llm
    return made


def open_judge(cases: str, data: Path | None, scorer: str) -> KGReward:
    """What rewards answers: a scorer by name on labelled cases, of a .jsonl file or of a set of the data folder."""
    from kgmed.evaluate.datasets import patients
    from kgmed.evaluate.datasets.cases import read_case_lines
    from kgmed.reward.rlkgf import ScorerChoice

    if Path(cases).suffix or Path(cases).is_file():
        split = read_case_lines(Path(cases))
    elif data is None:
        raise BadInput("name the folder of data sets: --data DIR, or KGMED_DATA")
    else:
        split = patients(cases, data)
    fitted = split.fitted(ScorerChoice(name=scorer).fit)
    return KGReward(
        fitted, NamesIn({d: [] for d in fitted.diseases}), case_in(NamesIn({s: [] for s in split.symptoms}))
    )
