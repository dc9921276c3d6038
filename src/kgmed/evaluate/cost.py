"""What an evaluation would take, before it is begun: calls, tokens and money, each with a bound that is held.

Nobody's model is asked for it. Calls are bounded by what a method says of itself, every step asked twice. Tokens are
measured: a stand-in takes the model's place for a few questions on the real graph, once replying in the form that is
asked for, once uselessly, so that every step is asked again; its replies count at their longest.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from kgmed.config import Config
from kgmed.errors import BadInput, KgmedError, SourceError
from kgmed.evaluate import run
from kgmed.evaluate.controls import controlled
from kgmed.evaluate.log import Entry, Job
from kgmed.evaluate.run import Evaluation, NamedMethods, Plan, StoppedEarly, answered_entry, is_gone, session_with
from kgmed.graph import library
from kgmed.models.base import Ledger, Message, Reply, ledger
from kgmed.models.hosted import ANTHROPIC, OFFICIAL
from kgmed.models.limits import FRAME, Price, prices
from kgmed.prompts import of_preset
from kgmed.records import Question, Run, Stage, to_json
from kgmed.registry import methods
from kgmed.servers import host_of
from kgmed.session import Session, open_session
from kgmed.steps.budget import tokens

# --- Every method on the same few questions, end to end: what each stage took, and what failed. No answer is marked.
# The questions are ours: ten in English on HPO, ten in Chinese on CMeKG. A trial is a line of JSON, so that a run that
# was stopped goes on where it was.

Ask = Callable[[Question], Run]
Key = tuple[str, str, str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TrialQuestion:
    """A question and the graph it is asked of."""

    graph: str
    question: Question


@dataclass(frozen=True, slots=True)
class MethodTrial:
    """What came of one question asked by one method; `error` = why there is no answer, "" where there is one."""

    method: str
    question: str  # its id
    graph: str
    llm: str
    seconds: float
    stages: tuple[Stage, ...] = ()
    answer: str = ""
    abstained: bool = False
    failures: tuple[str, ...] = ()  # what the run notes as lost or gone wrong on the way
    error: str = ""
    reader: str = ""  # who wrote the answer

    @property
    def fell_back(self) -> bool:
        """Whether the facts were read, since the method's own reader failed."""
        return bool(self.failures) and self.reader == "facts" != self.method

    @property
    def key(self) -> Key:
        """What makes it the same trial."""
        return self.method, self.question, self.graph, self.llm


def each(ask: Callable[[T], MethodTrial], work: Sequence[T], threads: int) -> Iterator[MethodTrial]:
    """The trial of each piece of work, in their order, so many at a time."""
    if threads < 2:
        yield from map(ask, work)
        return
    with run.threads(threads) as pool:
        yield from pool.map(ask, work)


def questions(per_graph: int = 10, graphs: Sequence[str] = ("hpo", "cmekg")) -> list[TrialQuestion]:
    """The first questions of each graph, in the order of the file.

    >>> [a.question.id for a in questions(1)]
    ['en-1', 'zh-1']
    """
    if per_graph < 1:
        raise BadInput(f"ask at least 1 question of each graph, not {per_graph}")
    text = resources.files(__package__).joinpath("questions.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    found = {graph: [_tried(row) for row in rows if row["graph"] == graph][:per_graph] for graph in graphs}
    if lacking := [graph for graph, asked in found.items() if not asked]:
        known = ", ".join(dict.fromkeys(row["graph"] for row in rows))
        raise BadInput(f"there are no questions on the graph {lacking[0]!r}; take {known}")
    return [asked for graph in graphs for asked in found[graph]]


def run_trial(ask: Ask, asked: TrialQuestion, *, method: str, llm: str) -> MethodTrial:
    """The trial of one question; an error of kgmed's own is part of it, as a stage "failed" with all that was asked."""
    begin = perf_counter()
    key = (method, asked.question.id, asked.graph, llm)
    with ledger() as book:
        try:
            run = ask(asked.question)
        except KgmedError as problem:
            why = f"{type(problem).__name__}: {problem}"
            run = None
    seconds = perf_counter() - begin
    if run is None:
        spent = book.spent()
        failed = Stage("failed", seconds, spent.tokens_in + spent.tokens_out, spent.calls)
        return MethodTrial(*key, seconds, (failed,), error=why)
    answer = run.answer
    return MethodTrial(*key, seconds, run.stages, answer.text, answer.abstained, run.failures, "", answer.reader)


@dataclass(frozen=True, slots=True)
class TrialRow:
    """What one stage of a method took over all its questions; stage "all" = the method, with what failed."""

    method: str
    stage: str
    seconds: float
    calls: int
    tokens: int
    questions: int
    abstained: int = 0
    fell_back: int = 0  # runs whose reader failed, and in which the facts were read
    noted: int = 0  # runs that note something lost or gone wrong, those among them
    errors: int = 0  # questions without a run
    why: str = ""  # the first failure


def rows(trials: Iterable[MethodTrial]) -> Iterator[TrialRow]:
    """For each method a row in all, then one for each stage that took a call or a hundredth of its time."""
    by_method: dict[str, list[MethodTrial]] = {}
    for trial in trials:
        by_method.setdefault(trial.method, []).append(trial)
    for method, mine in by_method.items():
        stages: dict[str, list[Stage]] = {}
        for stage in (s for trial in mine for s in trial.stages):
            stages.setdefault(stage.name, []).append(stage)
        whole = _whole(method, mine)
        yield whole
        for name, taken in stages.items():
            seconds, calls = sum(s.seconds for s in taken), sum(s.calls for s in taken)
            if calls or seconds >= whole.seconds / 100:
                yield TrialRow(method, name, seconds, calls, sum(s.tokens for s in taken), len(taken))


def _whole(method: str, mine: Sequence[MethodTrial]) -> TrialRow:
    """The row of a method in all."""
    problems = [p for t in mine for p in (t.error, *t.failures) if p]
    stages = [s for t in mine for s in t.stages]
    return TrialRow(
        method,
        "all",
        sum(t.seconds for t in mine),
        sum(s.calls for s in stages),
        sum(s.tokens for s in stages),
        len(mine),
        sum(t.abstained for t in mine),
        sum(t.fell_back for t in mine),
        sum(bool(t.failures) for t in mine),
        sum(bool(t.error) for t in mine),
        problems[0] if problems else "",
    )


def read_trials(path: Path) -> dict[Key, MethodTrial]:
    """The trials in a file, by key; a last line that was cut off in writing does not count. Raises `SourceError`."""
    if not path.exists():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as problem:
        raise SourceError(path, 0, f"cannot be read ({problem})", "name another file") from None
    found = (_trial(path, i, line) for i, line in enumerate(lines, start=1) if line.endswith("\n"))
    return {trial.key: trial for trial in found}


def append_trial(path: Path, trial: MethodTrial) -> None:
    """Add a trial to a file, on a line of its own."""
    whole = not path.exists() or not path.stat().st_size or path.read_bytes()[-1:] == b"\n"
    if not whole:  # what a killed run left half written
        text = path.read_text(encoding="utf-8", errors="replace")
        path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(to_json(trial), ensure_ascii=False) + "\n")


def _trial(path: Path, line: int, text: str) -> MethodTrial:
    try:
        row = json.loads(text)
        stages = tuple(Stage(**stage) for stage in row["stages"])
        return MethodTrial(**{**row, "stages": stages, "failures": tuple(row["failures"])})
    except (ValueError, TypeError, KeyError):
        raise SourceError(path, line, "is no trial", "name another file, or take the line out") from None


def _tried(row: dict[str, object]) -> TrialQuestion:
    options = row.get("options", {})
    pairs = tuple(options.items()) if isinstance(options, dict) else ()
    return TrialQuestion(str(row["graph"]), Question(str(row["text"]), pairs, id=str(row["id"])))


TWICE = 2  # times a step is asked: a reply that cannot be used is asked for once more
ADDED = {  # calls that a setting adds at most, in the place of a part that asks no model, or as a step more
    "ranking=expansion": 2,
    "relevance=llm": 2,
    "recognizer=model": 4,  # three drawn, and one more where they name nothing
    "reranker=model": 2,
    "summary=true": 2,
}
AROUND = 2  # calls of every method, where answers cite: to read the question, and to check the sentences
LIKELIHOODS = 2  # calls more where options are chosen by likelihood: with the question, and without (PMI)
MARGIN = 1.5  # on the tokens of the longest question measured; ours
_OFFICIAL = {"openai": OFFICIAL, "anthropic": ANTHROPIC}
_FREE = Price(Decimal(0), Decimal(0), date.min)
NOTHING = "?!"  # a reply that no step can use


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one method would take in all: calls of a model by its description, tokens and cost by a few questions.

    `most` is a bound. So are `tokens_most` and `cost_most`, where a stand-in measured them. What a model refuses as too
    long is asked again with less and counts in none of them; it takes no tokens.
    """

    method: str
    questions: int
    calls: int
    fewest: int
    most: int
    probed: int  # questions that were asked to measure tokens; 0 = tokens are not known
    tokens: int | None = None
    cost: float | None = None  # US dollars; None where no price is known
    failed: int = 0  # of the questions probed
    tokens_most: int | None = None
    cost_most: float | None = None


def calls_at_most(name: str, config: Config, *, graphs: int = 1) -> int:
    """The most calls that one question of a method can take, whatever the model replies.

    Graphs behind servers are asked one after the other until one has an answer.

    >>> calls_at_most("facts", Config()), calls_at_most("hykge", Config()), calls_at_most("hykge@a/b", Config())
    (0, 6, 6)
    >>> calls_at_most("kg-rank[ranking=expansion]", Config()), calls_at_most("hykge", Config(preset="paper"))
    (8, 4)
    """
    parts = controlled(name)
    most = methods.get(parts.method).about.calls.most
    given = {**config.settings, **dict(parts.settings)}
    added = sum(ADDED.get(f"{n}={_YES.get(f'{v}'.lower(), v)}", 0) for n, v in given.items())
    likely = LIKELIHOODS if config.choose == "likelihood" else 0
    around = calls_around(most, config)
    return (TWICE * most + added + likely + around) * max(1, graphs) if most else 0


def calls_around(most: int, config: Config) -> int:
    """The calls of a question beside those of its method, where that asks a model and its preset has answers cite."""
    return AROUND if most and of_preset(config.preset).cites else 0


_YES = dict.fromkeys(("yes", "true", "on", "1"), "true")


def _asked_in_turn(graph: str) -> int:
    """How many graphs are asked one after the other: those whose files are here as one, and each behind a server."""
    remote = [library.is_remote(name) for name in graph.split(",")]
    return sum(remote) + (not all(remote))


# --- By asking a few questions of the model itself.


def estimate(trial: Evaluation, *, probe: int = 0) -> list[Estimate]:
    """What every method would take; `probe` questions are asked of the model for that, else none."""
    plan, making = trial.plan(), NamedMethods(trial.config, trial.servers)
    return [_estimate(name, plan, making, probe) for name in trial.methods]


def _estimate(name: str, plan: Plan, making: NamedMethods, probe: int) -> Estimate:
    """One method; what failed counts with nothing spent, and is told."""
    n, calls = len(plan.items) * len(plan.seeds), methods.get(controlled(name).method).about.calls
    most = calls_at_most(name, making.config, graphs=_asked_in_turn(making.config.graph))
    usual = calls.usual + calls_around(calls.usual, making.config)
    found = Estimate(name, n, n * usual, n * calls.fewest, n * most, 0)
    asked = [answered_entry(making, Job(name, i.question.id, plan.seeds[0]), i) for i in plan.items[:probe]]
    if not asked:
        return found
    spent = [e.run.spent for e in asked if e.run]
    each = [s.tokens_in + s.tokens_out for s in spent]
    costs = [s.cost for s in spent if s.cost is not None]
    return replace(
        found,
        probed=len(asked),
        tokens=round(n * sum(each) / len(asked)),
        cost=n * sum(costs) / len(asked) if len(costs) == len(spent) and costs else None,
        failed=len(asked) - len(spent),
    )


# --- By a stand-in: no model is asked.


@dataclass(slots=True)
class StandIn:
    """A language model that says what fits a schema, or nothing of use; it counts the most tokens that both can have.

    >>> StandIn().as_json([Message("user", "gout and fever")], {"type": "array", "items": {"type": "string"}}).text
    '["gout", "and", "fever"]'
    """

    useful: bool = True
    name: str = field(default="stand-in", init=False)
    read: int = field(default=0, init=False)  # tokens that it was probably asked with, so far

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """Words of what was asked."""
        return self._reply(messages, " ".join(_words(messages[-1].text)[:40]), max_tokens)

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, Any], /, *, max_tokens: int = 256) -> Reply:
        """JSON of that schema, from words of what was asked."""
        value = _filled(schema, _words(messages[-1].text))
        return self._reply(messages, json.dumps(value, ensure_ascii=False), max_tokens)

    def _reply(self, messages: Sequence[Message], text: str, max_tokens: int) -> Reply:
        self.read += sum(tokens(m.text) for m in messages)
        return Reply(text if self.useful else NOTHING, sum(map(at_most, messages)), max_tokens, self.name)


def at_most(message: Message) -> int:
    """The tokens of a message with an unkind tokenizer: three for seven characters of Latin, else five for two."""
    wide = sum(c > "\u036f" for c in message.text)
    return FRAME // 2 + round(2.5 * wide + (len(message.text) - wide) * 3 / 7)


def _words(text: str) -> list[str]:
    """The last words of a text, where the question stands, each once."""
    return list(dict.fromkeys(re.findall(r"[^\W\d_]{3,}|[\u4e00-\u9fff]{2,4}", text)))[-12:] or ["fever"]


def _filled(schema: Mapping[str, Any], words: Sequence[str]) -> Any:
    """A value of a JSON schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: _filled(of, words) for name, of in schema.get("properties", {}).items()}
    if kind == "array":
        count = max(schema.get("minItems", 0), min(schema.get("maxItems", 3), len(words)))
        return [_filled(schema["items"], words[i % len(words) :]) for i in range(count)]
    return 1 if kind in ("integer", "number") else words[0]


@dataclass(frozen=True)
class _StoodIn(NamedMethods):
    """The methods with a stand-in for their models."""

    useful: bool = True

    @cached_property
    def _session(self) -> Session:
        return open_session(self.config.replace(method="auto", llm="", cache=None, base_url=""))

    @cached_property
    def stand_in(self) -> StandIn:
        """In place of every model."""
        return StandIn(self.useful)

    @cached_property
    def _with_it(self) -> Session:
        return session_with(self._session, self.config, self.stand_in)

    def session(self, model: str = "") -> Session:
        return self._with_it


def bounds(trial: Evaluation, *, probe: int = 5) -> list[Estimate]:
    """What every method would take, with bounds; `probe` questions are asked of a stand-in on the real graph.

    Raises `BadInput` where a method cannot be asked at all, such as on a graph behind a server that is not there.
    """
    plan = trial.plan()
    useful = _StoodIn(trial.config, trial.servers)
    useless = _StoodIn(trial.config, trial.servers, useful=False)
    useless.__dict__["_session"] = useful._session  # graph and encoder are opened once
    plain = {name: controlled(name)._replace(model="") for name in trial.methods}
    measured = {one: _measured(name, plan, (useful, useless), probe) for name, one in plain.items()}
    longest = tuple(max(of) for of in zip(*(worst for _, worst in measured.values()), strict=True))
    return [_bounds(name, trial, plan, *measured[plain[name]], longest) for name in trial.methods]


Taken = tuple[float, float]  # tokens of a question, read and written


def _measured(name: str, plan: Plan, makers: Sequence[_StoodIn], probe: int) -> tuple[Taken, Taken]:
    """What a question of a method takes, on the mean by the first of the makers, and at most by any."""
    asked = plan.items[:probe]
    if not asked or not methods.get(controlled(name).method).about.calls.most:
        return (0, 0), (0, 0)
    before = makers[0].stand_in.read
    ends = [[_asked(make, name, plan.seeds[0], item) for item in asked] for make in makers]
    failed = [why for _, why in ends[0]]
    none = not any(book.calls for of_maker in ends for book, _ in of_maker)
    if all(failed) and (none or all(is_gone(why) for why in failed)):  # what is read after that step is not known
        raise BadInput(f"{name} cannot be asked: {failed[0].partition(': ')[2] or failed[0]}")
    books = [[book for book, _ in of_maker] for of_maker in ends]
    read, said = zip(*(_tokens(book) for of_maker in books for book in of_maker), strict=True)
    usual = makers[0].stand_in.read - before, sum(s for _, s in map(_tokens, books[0]))
    return (usual[0] / len(asked), usual[1] / len(asked)), (max(read), max(said))


def _bounds(name: str, trial: Evaluation, plan: Plan, mean: Taken, most: Taken, longest: Taken) -> Estimate:
    """One method, with a margin; of one that had no evidence to read, what the longest of the others took."""
    found = _estimate(name, plan, NamedMethods(trial.config), 0)
    if not found.most:
        return replace(found, tokens=0, tokens_most=0, cost=0.0, cost_most=0.0)
    n, price = found.questions, _price(name, trial)
    read, said = (MARGIN * x for x in (most if sum(most) else longest))
    mean_read, mean_said = mean
    return replace(
        found,
        tokens=round(n * (mean_read + mean_said)),
        cost=None if price is None else n * float(price.of(round(mean_read), round(mean_said))),
        tokens_most=round(n * (read + said)),
        cost_most=None if price is None else n * float(price.of(round(read), round(said))),
    )


def _asked(make: NamedMethods, name: str, seed: int, item: Any) -> tuple[Ledger, str]:
    """The calls that one question takes, and why there is no answer where there is none."""
    with ledger() as book:
        entry = answered_entry(make, Job(name, item.question.id, seed), item)
    return book, entry.error


def _tokens(book: Ledger) -> Taken:
    """What was read and what may be written."""
    return sum(c.tokens_in for c in book.calls), sum(c.tokens_out for c in book.calls)


def _price(name: str, trial: Evaluation) -> Price | None:
    model = controlled(name).model or trial.config.llm
    url = dict(trial.servers).get(model) or trial.config.base_url
    return price_of(model, trial.config.replace(base_url=url))


def price_of(model: str, config: Config) -> Price | None:
    """What a model costs; nothing where it runs here and stands in no table, None where that is not known."""
    table = prices(config.prices)
    kind, _, rest = model.partition("/")
    if kind not in _OFFICIAL:
        return table.get(model, _FREE)
    return table.get(f"{kind}/{rest} at {host_of(config.base_url or _OFFICIAL[kind])}")


# --- Bounds that are held.


@dataclass
class Held:
    """Hears of every answer, and ends an evaluation that takes more than was said before it began."""

    calls: int
    tokens: int
    taken_calls: int = 0
    taken_tokens: int = 0

    def __call__(self, entry: Entry) -> None:
        """Count one; raises `StoppedEarly`."""
        if entry.run is None:
            return
        spent = entry.run.spent
        self.taken_calls += spent.calls - spent.cached - spent.failed
        self.taken_tokens += spent.tokens_in + spent.tokens_out
        if self.taken_calls > self.calls or self.taken_tokens > self.tokens:
            raise StoppedEarly(
                f"stopped early: {self.taken_calls} of {self.calls} calls and {self.taken_tokens} of {self.tokens} "
                "tokens are taken, the most that was said before; give the same command to go on with a new bound"
            )
