"""Every method on the same few questions, end to end: what each stage took, and what failed. No answer is marked.

The questions are ours: ten in English on HPO, ten in Chinese on CMeKG. A trial is a line of JSON, so that a run that
was stopped goes on where it was.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from kgmed.errors import BadInput, KgmedError, SourceError
from kgmed.evaluate import run
from kgmed.models.limits import ledger
from kgmed.records import Question, Run, Stage, to_json

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
    rows = [json.loads(line) for line in _text().splitlines()]
    found = {graph: [_asked(row) for row in rows if row["graph"] == graph][:per_graph] for graph in graphs}
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


def _asked(row: dict[str, object]) -> TrialQuestion:
    options = row.get("options", {})
    pairs = tuple(options.items()) if isinstance(options, dict) else ()
    return TrialQuestion(str(row["graph"]), Question(str(row["text"]), pairs, id=str(row["id"])))


def _text() -> str:
    return resources.files(__package__).joinpath("questions.jsonl").read_text(encoding="utf-8")
