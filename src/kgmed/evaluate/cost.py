"""What an evaluation would take, before it is begun: calls, tokens and money, each with a bound that is held.

Nobody's model is asked for it. Calls are bounded by what a method says of itself, every step asked twice. Tokens are
measured: a stand-in takes the model's place for a few questions on the real graph, once replying in the form that is
asked for, once uselessly, so that every step is asked again; its replies count at their longest.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

from kgmed.config import Config
from kgmed.errors import BadInput
from kgmed.evaluate.controls import controlled
from kgmed.evaluate.log import Entry, Job
from kgmed.evaluate.run import Evaluation, NamedMethods, Plan, StoppedEarly, answered_entry, is_gone, session_with
from kgmed.graph import library
from kgmed.models.base import Message, Reply
from kgmed.models.hosted import ANTHROPIC, OFFICIAL
from kgmed.models.limits import FRAME, Ledger, Price, ledger, prices
from kgmed.registry import methods
from kgmed.servers import host_of
from kgmed.session import Session, open_session
from kgmed.steps.budget import tokens

TWICE = 2  # times a step is asked: a reply that cannot be used is asked for once more
ADDED = {  # calls that a setting adds at most, in the place of a part that asks no model, or as a step more
    "ranking=expansion": 2,
    "relevance=llm": 2,
    "recognizer=model": 4,  # three drawn, and one more where they name nothing
    "reranker=model": 2,
    "summary=true": 2,
}
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
    (0, 4, 4)
    >>> calls_at_most("kg-rank[ranking=expansion]", Config())
    6
    """
    parts = controlled(name)
    most = methods.get(parts.method).about.calls.most
    given = {**config.settings, **dict(parts.settings)}
    added = sum(ADDED.get(f"{n}={_YES.get(f'{v}'.lower(), v)}", 0) for n, v in given.items())
    likely = LIKELIHOODS if config.choose == "likelihood" else 0
    return (TWICE * most + added + likely) * max(1, graphs) if most else 0


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
    found = Estimate(name, n, n * calls.usual, n * calls.fewest, n * most, 0)
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
        """The session with the stand-in."""
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
    """What a method's model costs, as `price_of` has it."""
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
