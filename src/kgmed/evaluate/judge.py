"""Answers compared by a language model and by people, and what their verdicts mean."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.evaluate.datasets.files import csv_rows
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import MANIFEST, Entry, Job, Log, digest, entries, read_manifest
from kgmed.evaluate.run import Ask, Plan, ThreadExecutor, compare
from kgmed.evaluate.scores import Mean, alpha, kappa, mean
from kgmed.language.text import prompt_language
from kgmed.models.asking import Malformed, ask_with_schema, values
from kgmed.models.base import LLM, FilledPrompt, ledger
from kgmed.prompts import prompt
from kgmed.records import Answer, Context, Query, Question, Run, Stage
from kgmed.steps.read import fence_for

# --- A language model as judge of answers that an evaluation has logged: of two, or of all in order.
# Every contest is judged in both orders; which comes first is drawn by a seed. A judgement is a `Run` whose answer is
# the judge's reply as it came, kept in a log of the same kind as the evaluation's own: it goes on where it was stopped,
# and what the replies mean is read from the log (`Verdicts`). A missing answer loses without a call.


ORDERS = (0, 1)  # as drawn, and the other way round
BETWEEN = " | "  # the methods of a contest
MODEL, RULE = "judge", "rule"  # who judged


@dataclass(frozen=True, slots=True)
class Kind:
    """A way of judging; without criteria the answers are put in order."""

    name: str
    prompt: str
    criteria: tuple[str, ...]
    source: str
    reference: bool = True  # whether the judge is shown what is right


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "pair",
            "judge/pair",
            ("factuality", "completeness", "readability", "relevance"),
            "the four criteria of KG-Rank's physicians, Yang et al. 2024",
            reference=False,
        ),
        Kind(
            "mindmap",
            "judge/mindmap",
            ("disease", "drug", "diversity", "total"),
            "the four criteria of MindMap's table of win rates, Wen et al. 2024",
        ),
        Kind("rank", "judge/rank", (), "MindMap's ranking, Wen et al. 2024"),
    )
}


def kind_of(name: str) -> Kind:
    """The kind of a name; raises `UnknownName`."""
    if name not in KINDS:
        raise UnknownName("kind of judging", name, KINDS)
    return KINDS[name]


@dataclass(frozen=True)
class Judging:
    """What is judged, by whom and how; makes a judgement of each contest, item and order (a `MethodFactory`)."""

    kind: Kind
    methods: tuple[str, ...]
    items: Sequence[Item]
    found: Mapping[Job, Entry]  # of the evaluation
    llm: LLM
    seed: int = 0  # of the runs that are judged
    positions: int = 0  # draws which answer comes first
    max_tokens: int = 128
    prompts: Path | None = None
    against: tuple[str, ...] = ()  # of two methods one must be of these; () = every two are judged

    def __post_init__(self) -> None:
        """Refuse what cannot be judged."""
        if len({*self.methods}) < 2 or len({*self.methods}) < len(self.methods):
            raise BadInput("name at least two methods to judge between, each once")
        if self.kind.reference and (lacking := [i for i in self.items if not reference(i)]):
            raise BadInput(
                f"{self.kind.name} judges by a reference, and question {lacking[0].question.id} has none"
                f" ({len(lacking)} of {len(self.items)}); judge by --kind pair"
            )

    @property
    def contests(self) -> dict[str, tuple[str, ...]]:
        """The methods of each contest, by its name: every two, or for a ranking all."""
        several = _pairs(self.methods, self.against) if self.kind.criteria else [self.methods]
        return {BETWEEN.join(some): some for some in several}

    def plan(self) -> Plan:
        """Every item of every contest in both orders."""
        return Plan(tuple(self.contests), self.items, ORDERS)

    def manifest(self) -> dict[str, Any]:
        """What the judgements depend on."""
        jobs = [Job(m, i.question.id, self.seed) for i in self.items for m in self.methods]
        asked = [prompt(self.kind.prompt, language=x, folder=self.prompts) for x in ("en", "zh")]
        return {
            "judging": self.kind.name,
            "methods": list(self.methods),
            "items": [i.question.id for i in self.items],
            "judged": digest({job: self.found[job] for job in jobs if job in self.found}),
            "seed": self.seed,
            "positions": self.positions,
            "judge": self.llm.name,
            "settings": json.loads(json.dumps(dict(getattr(self.llm, "settings", {})), default=str)),
            "prompts": [f"{p} {p.hash}" for p in asked],
            "max_tokens": self.max_tokens,
            **({"against": list(self.against)} if self.against else {}),
        }

    def __call__(self, method: str, seed: int, item: Item, /) -> Ask:
        """The judgement of one contest (`method`) in one order (`seed`)."""
        return lambda question: self._judgement(self.contests[method], seed, item, question)

    def _judgement(self, contest: tuple[str, ...], order: int, item: Item, question: Question) -> Run:
        answers = {m: text for m in contest if (text := self._answer(m, item))}
        shown = [m for m in presentation_order(contest, item.question.id, self.positions, order) if m in answers]
        settings = (("shown", shown), ("silent", [m for m in contest if m not in answers]))
        if len(shown) < 2:
            verdict = Answer(self._verdict_without_call(contest, shown))
            return Run(Query(question), (), (), (), (), Context(""), verdict, method=RULE, settings=settings)
        began = time.perf_counter()
        messages = self.messages(item, [answers[m] for m in shown])
        with ledger() as book:
            reply = ask_with_schema(self.llm, messages, schema(self.kind, len(shown)), max_tokens=self.max_tokens)
        return Run(
            Query(question), (), (), (), (), Context(""), Answer(reply.text),
            (Stage("judge", time.perf_counter() - began),), MODEL, settings=settings, models=(("llm", self.llm.name),),
            prompts=(messages.prompt,), spent=book.spent(),
        )  # fmt: skip

    def _answer(self, method: str, item: Item) -> str:
        """The answer of a method; "" where it failed or says nothing."""
        entry = self.found.get(Job(method, item.question.id, self.seed))
        return entry.run.answer.text.strip() if entry and entry.run else ""

    def _verdict_without_call(self, contest: tuple[str, ...], shown: list[str]) -> str:
        """The verdict where fewer than two answered: who did wins."""
        if not self.kind.criteria:
            return json.dumps({"order": list(range(1, len(shown) + 1))})
        return json.dumps(dict.fromkeys(self.kind.criteria, len(shown)))

    def messages(self, item: Item, answers: Sequence[str]) -> FilledPrompt:
        """What the judge is asked; nothing in an answer can end the lines that it stands between."""
        fence = f"=== {fence_for(chr(10).join((*answers, reference(item))))}"
        values = {"question": item.question.with_options, "fence": fence}
        if self.kind.reference:
            values["reference"] = reference(item)
        if self.kind.criteria:
            values |= {"first": answers[0], "second": answers[1]}
        else:
            values["answers"] = "\n\n".join(f"{i}.\n{fence}\n{a}\n{fence}" for i, a in enumerate(answers, start=1))
            values["count"] = str(len(answers))
        chosen = prompt(self.kind.prompt, language=prompt_language(item.question), folder=self.prompts)
        return chosen.messages(**values)


def _pairs(methods: Sequence[str], against: Sequence[str]) -> list[tuple[str, ...]]:
    """Every two methods, of which one is of `against` where there are any; those come first.

    >>> _pairs("abc", ()), _pairs("abc", "c")
    ([('a', 'b'), ('a', 'c'), ('b', 'c')], [('c', 'a'), ('c', 'b')])
    """
    ranked = sorted(methods, key=lambda m: m not in against)
    return [pair for pair in combinations(ranked, 2) if not against or pair[0] in against]


def presentation_order(contest: Sequence[str], item: str, positions: int, order: int) -> list[str]:
    """The methods of a contest in the order in which an item's judge sees them; the second order is the first reversed.

    >>> presentation_order("abc", "q1", 0, 0) == presentation_order("abc", "q1", 0, 1)[::-1]
    True
    """
    key = f"{positions}:{item}:{BETWEEN.join(contest)}"
    found = sorted(contest, key=lambda m: hashlib.sha256(f"{key}:{m}".encode()).digest())
    return found[::-1] if order else found


def reference(item: Item) -> str:
    """What is right: the first reference answer, else the right options, else the names of the gold; "" = not known."""
    if item.gold.texts:
        return item.gold.texts[0].strip()
    right = [f"{letter}. {text}" for letter, text in item.question.options if letter in item.gold.choices]
    return "\n".join(right) or ", ".join(item.gold.entities)


def schema(kind: Kind, count: int) -> dict[str, object]:
    """The JSON schema of a reply.

    >>> schema(KINDS["rank"], 3)["required"], schema(KINDS["mindmap"], 2)["required"]
    (['order'], ['disease', 'drug', 'diversity', 'total'])
    """
    if not kind.criteria:
        number = {"type": "integer", "minimum": 1, "maximum": count}
        properties: dict[str, object] = {
            "order": {"type": "array", "items": number, "minItems": count, "maxItems": count}
        }
    else:
        properties = {c: {"type": "integer", "enum": [0, 1, 2]} for c in kind.criteria}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def judge(
    judging: Judging, out: Path, *, threads: int = 1, again: bool = False, each: Callable[[Entry], None] | None = None
) -> None:
    """Judge what the folder's log does not have yet; `again` = also what failed for want of the model."""
    with Log(out, judging.manifest()) as log:
        compare(judging.plan(), judging, log, ThreadExecutor(threads), again=again, each=each)


# --- What a judge's replies mean, read from its log: who wins how often, with which interval, and the position bias.
# A winner is who wins in both orders. Where the orders name different winners the verdict flipped: a tie, and counted.
# A reply that cannot be read and a call that failed make a failed judgement: nobody wins it, and it stays in n.


TIE, FLIPPED, FAILED = "", "flipped", "failed"
_NEITHER = ("0", "tie", "equal", "neither", "none", "both", "平", "平手", "相同")


def criterion_scores(reply: str, criteria: Sequence[str]) -> dict[str, int]:
    """The better answer by each criterion, 1 or 2, 0 = neither; a criterion that is not answered so is left out.

    Raises `Malformed` where none is.

    >>> criterion_scores('{"Disease": "2", "drug": "tie", "total": 3}', ["disease", "drug", "total"])
    {'disease': 2, 'drug': 0}
    """
    for value in values(reply):
        if isinstance(value, dict):
            said = {str(k).strip().casefold(): _number(v) for k, v in value.items()}
            found = {c: n for c in criteria if (n := said.get(c)) is not None}
            if found:
                return found
    raise Malformed(f"it holds no object with 0, 1 or 2 under {', '.join(criteria)}")


def _number(value: object) -> int | None:
    """0, 1 or 2, however written; None for anything else."""
    text = str("" if value is None else value).strip().casefold().removeprefix("answer").removeprefix("回答").strip()
    return 0 if text in _NEITHER else int(text) if text in ("1", "2") else None


def order(reply: str, count: int) -> list[int]:
    """The numbers 1 to `count`, the best first; raises `Malformed` where one is missing or occurs twice.

    >>> order('Best first: {"order": [2, "3", 1]}', 3)
    [2, 3, 1]
    """
    for value in values(reply):
        said = value.get("order") if isinstance(value, dict) else value
        if isinstance(said, list):
            found = [int(str(v)) for v in said if str(v).strip().isdecimal()]
            if len(said) == count and sorted(found) == list(range(1, count + 1)):
                return found
    raise Malformed(f"it holds no list of the numbers 1 to {count}, each once")


@dataclass(frozen=True, slots=True)
class Duel:
    """One criterion of two methods over all items: how many the first wins, and the shares with their intervals."""

    criterion: str
    first: str
    second: str
    n: int
    wins: int
    ties: int  # without the flipped ones
    losses: int
    flipped: int  # different winners in the two orders; ties as well
    failed: int
    ruled: int  # of the verdicts, those without a call, since an answer was missing
    win: Mean  # share of n
    loss: Mean
    net: Mean  # wins - losses, share of n


@dataclass(frozen=True, slots=True)
class Placement:
    """The mean place of a method, 1 = best; a failed judgement puts all on the middle place."""

    method: str
    place: Mean
    failed: int


@dataclass(frozen=True, slots=True)
class Bias:
    """How often the answer shown first wins, of the judgements that have a winner; the standard error is over items."""

    judgements: int
    first: Mean
    expected: float  # of a judge without bias


@dataclass(frozen=True)
class Verdicts:
    """A log of judgements, opened for reading."""

    manifest: Mapping[str, Any]
    found: Mapping[Job, Entry]

    @classmethod
    def open(cls, folder: Path) -> "Verdicts":
        """The verdicts in a folder; raises `BadInput`, `SourceError`."""
        manifest = read_manifest(folder)
        if not {"judging", "methods", "items"} <= manifest.keys():
            raise SourceError(folder / MANIFEST, 0, "is not one of kgmed eval judge", "name the folder of judgements")
        return cls(manifest, entries(folder))

    @property
    def criteria(self) -> tuple[str, ...]:
        """What is judged by; none for a ranking."""
        return kind_of(self.manifest["judging"]).criteria

    @property
    def contests(self) -> list[tuple[str, ...]]:
        """The methods of each contest."""
        methods = tuple(self.manifest["methods"])
        return _pairs(methods, self.manifest.get("against", ())) if self.criteria else [methods]

    def run(self, contest: Sequence[str], item: str, side: int) -> Run | None:
        """A judgement in one order; None where it failed or was not made."""
        entry = self.found.get(Job(BETWEEN.join(contest), item, side))
        return entry.run if entry else None

    def outcome(self, contest: Sequence[str], item: str, criterion: str) -> str:
        """The method that wins, or `TIE`, `FLIPPED`, `FAILED`."""
        one, other = (_winner(self.run(contest, item, side), criterion, self.criteria) for side in ORDERS)
        if one is None or other is None:
            return FAILED
        return one if one == other else FLIPPED if one and other else TIE

    def duels(self) -> list[Duel]:
        """Every criterion of every two methods."""
        return [self._duel(criterion, contest) for contest in self.contests for criterion in self.criteria]

    def _duel(self, criterion: str, contest: tuple[str, ...]) -> Duel:
        first, second = contest
        items = self.manifest["items"]
        winners = [self.outcome(contest, item, criterion) for item in items]
        ruled = sum(any((r := self.run(contest, i, s)) and r.method != MODEL for s in ORDERS) for i in items)
        wins, losses = ([float(x == who) for x in winners] for who in contest)
        return Duel(
            criterion, first, second, len(winners), winners.count(first), winners.count(TIE), winners.count(second),
            winners.count(FLIPPED), winners.count(FAILED), ruled, mean(wins), mean(losses),
            mean([w - x for w, x in zip(wins, losses, strict=True)]),
        )  # fmt: skip

    def places(self) -> list[Placement]:
        """The mean place of every method, the best first; [] where nothing was put in order."""
        if self.criteria:
            return []
        (contest,) = self.contests
        each = [self._places(contest, item) for item in self.manifest["items"]]
        failed, middle = each.count(None), (len(contest) + 1) / 2
        rows = [Placement(m, mean([row[m] if row else middle for row in each]), failed) for m in contest]
        return sorted(rows, key=lambda row: row.place.mean)

    def _places(self, contest: Sequence[str], item: str) -> dict[str, float] | None:
        """The place of each method over both orders; those that said nothing share the last; None = failed."""
        orders = [found for side in ORDERS if (found := _ranked(self.run(contest, item, side))) is not None]
        if len(orders) < len(ORDERS):
            return None
        return {m: sum(_place(m, found, len(contest)) for found in orders) / len(orders) for m in contest}

    def bias(self) -> Bias:
        """How often the first place wins."""
        shares, decided, expected = [], 0, []
        for item in self.manifest["items"]:
            won = [first for contest in self.contests for first, _ in self._firsts(contest, item)]
            expected += [1 / n for contest in self.contests for _, n in self._firsts(contest, item)]
            decided += len(won)
            shares += [sum(won) / len(won)] if won else []
        return Bias(decided, mean(shares), sum(expected) / len(expected) if expected else float("nan"))

    def _firsts(self, contest: Sequence[str], item: str) -> Iterator[tuple[bool, int]]:
        """Of each judgement of the model that has a winner: whether it was shown first, and of how many."""
        for run in (self.run(contest, item, side) for side in ORDERS):
            if run is None or run.method != MODEL:
                continue
            shown = _shown(run)
            won: Sequence[str | None]
            if self.criteria:
                won = [_winner(run, criterion, self.criteria) for criterion in self.criteria]
            else:
                won = [*(_ranked(run) or ())][:1]
            yield from ((who == shown[0], len(shown)) for who in won if who)

    def decisions(self, criterion: str) -> dict[tuple[str, str, str], int | None]:
        """By item and two methods: 1 = the first wins, -1 the second, 0 neither, None = failed."""
        if criterion not in self.criteria:
            raise BadInput(f"nothing was judged by {criterion!r}; judged by: {', '.join(self.criteria) or 'order'}")
        signs = {TIE: 0, FLIPPED: 0, FAILED: None}
        return {
            (item, a, b): {**signs, a: 1, b: -1}[self.outcome((a, b), item, criterion)]
            for a, b in self.contests
            for item in self.manifest["items"]
        }


def _shown(run: Run) -> list[str]:
    """The methods in the order in which the judge saw them."""
    found: list[str] = list(dict(run.settings)["shown"])
    return found


def _place(method: str, ranked: Sequence[str], count: int) -> float:
    """The place of one of `count` methods, those that are not ranked sharing the last ones.

    >>> _place("b", ["a", "b"], 4), _place("c", ["a", "b"], 4)
    (2.0, 3.5)
    """
    return float(ranked.index(method) + 1) if method in ranked else (len(ranked) + 1 + count) / 2


def _winner(run: Run | None, criterion: str, criteria: Sequence[str]) -> str | None:
    """The method that a judgement names, `TIE`, or None where it cannot be read."""
    try:
        number = criterion_scores(run.answer.text, criteria).get(criterion) if run else None
    except Malformed:
        return None
    return None if run is None or number is None else _shown(run)[number - 1] if number else TIE


def _ranked(run: Run | None) -> list[str] | None:
    """The methods that a judgement puts in order, the best first; None where it cannot be read."""
    if run is None:
        return None
    shown = _shown(run)
    try:
        return [shown[n - 1] for n in order(run.answer.text, len(shown))]
    except Malformed:
        return None


# --- People's ratings: their means, and how far raters agree. HyKGE's ACJ is of the retrieved knowledge: `sheets.py`.
# A CSV file with a header and the columns item, method, rater, rating; a rating is 1 (good), 0 (middling), -1 (bad), or
# empty where a rater gave none. The mean is x 100, as ACJ is (Jiang et al. 2025, HyKGE, 4.1.3).


COLUMNS = ("item", "method", "rater", "rating")
RATINGS = {"1": 1, "+1": 1, "0": 0, "-1": -1, "−1": -1, "": None}


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person says of one answer; None = nothing."""

    item: str
    method: str
    rater: str
    value: int | None


@dataclass(frozen=True, slots=True)
class Acj:
    """The ratings of one method: over items, of each the mean of its raters, x 100."""

    method: str
    mean: Mean  # of items that have a rating
    ratings: int
    missing: int  # of all items x raters of the file, those that are not there or empty


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two sides agree: of n units the share that is the same, and that beyond chance; None = cannot be told."""

    name: str  # Cohen's kappa or Krippendorff's alpha
    n: int
    same: float
    value: float | None
    missing: int = 0  # units that only one side, or neither, has


def read(path: Path) -> list[Rating]:
    """The ratings of a file; raises `SourceError` with file, line and mend."""
    found: dict[tuple[str, str, str], int] = {}
    ratings = []
    for line, row in csv_rows(path, COLUMNS):
        item, method, rater, text = (row[name].strip() for name in COLUMNS)
        if not (item and method and rater):
            raise SourceError(path, line, "lacks the item, the method or the rater", "fill it in or remove the line")
        if text not in RATINGS:
            raise SourceError(path, line, f"has the rating {text!r}", "write 1, 0 or -1, or nothing")
        key = item, method, rater
        if key in found:
            raise SourceError(path, line, f"rates what line {found[key]} rates", "keep one of them")
        found[key] = line
        ratings.append(Rating(*key, RATINGS[text]))
    if not ratings:
        raise SourceError(path, 0, "holds no rating", "give one a line: item,method,rater,rating")
    return ratings


def acj(ratings: Sequence[Rating]) -> list[Acj]:
    """The mean of every method, in the order of the file; what is missing of all items by all raters is counted."""
    items, raters = {r.item for r in ratings}, {r.rater for r in ratings}
    return [_acj(m, ratings, len(items) * len(raters)) for m in dict.fromkeys(r.method for r in ratings)]


def _acj(method: str, ratings: Sequence[Rating], wanted: int) -> Acj:
    of = _values(r for r in ratings if r.method == method)
    count = sum(map(len, of.values()))
    return Acj(method, mean([100 * sum(v) / len(v) for v in of.values()]), count, wanted - count)


def _values(ratings: Iterable[Rating]) -> Mapping[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for r in ratings:
        if r.value is not None:
            found[r.item, r.method].append(r.value)
    return found


def between_raters(ratings: Sequence[Rating]) -> Agreement | None:
    """Cohen's kappa of two raters, Krippendorff's alpha of more; None of one. `same` = pairs of raters that agree."""
    raters = sorted({r.rater for r in ratings})
    if len(raters) < 2:
        return None
    by = {(r.item, r.method, r.rater): r.value for r in ratings}
    answers = dict.fromkeys((r.item, r.method) for r in ratings)
    units = [[v for who in raters if (v := by.get((*a, who))) is not None] for a in answers]
    missing = sum(len(u) < len(raters) for u in units)
    if len(raters) == 2:
        both = [(u[0], u[1]) for u in units if len(u) == 2]
        value = kappa([a for a, _ in both], [b for _, b in both])
        return Agreement("Cohen's kappa", len(both), _same(both), value, missing)
    shared = [u for u in units if len(u) > 1]
    pairs = [(a, b) for u in shared for i, a in enumerate(u) for b in u[i + 1 :]]
    return Agreement("Krippendorff's alpha", len(shared), _same(pairs), alpha(shared), missing)


def _same(pairs: Sequence[tuple[object, object]]) -> float:
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else float("nan")


def preferences(ratings: Sequence[Rating]) -> dict[tuple[str, str], float]:
    """The mean rating of each item and method."""
    return {key: sum(v) / len(v) for key, v in _values(ratings).items()}


def with_judge(ratings: Sequence[Rating], decisions: Mapping[tuple[str, str, str], int | None]) -> Agreement:
    """Cohen's kappa between a judge's winners (see `Verdicts.decisions`) and whose answer people rate higher.

    What the judge failed on, or people did not rate, is missing.
    """
    rated = preferences(ratings)
    both = [
        (said, _sign(rated[item, a] - rated[item, b]))
        for (item, a, b), said in decisions.items()
        if said is not None and (item, a) in rated and (item, b) in rated
    ]
    value = kappa([a for a, _ in both], [b for _, b in both])
    return Agreement("Cohen's kappa", len(both), _same(both), value, len(decisions) - len(both))


def _sign(x: float) -> int:
    return (x > 1e-12) - (x < -1e-12)
