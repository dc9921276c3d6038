"""What an evaluation is said to take holds: calls are bounded whatever is replied, and a bound is held."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eval_makers import items, run
from kgmed.config import Config, settings_of
from kgmed.errors import KgmedError
from kgmed.evaluate.controls import controlled
from kgmed.evaluate.cost import Held, StandIn, calls_at_most
from kgmed.evaluate.log import Entry, Job
from kgmed.evaluate.reproduce import doable, tables
from kgmed.evaluate.run import StoppedEarly
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.base import Message, Reply, ledger
from kgmed.models.fakes import TrigramEncoder
from kgmed.models.limits import RecordedLLM
from kgmed.records import Question, Run, Spent
from kgmed.registry import methods
from kgmed.toolkit import Toolkit
from named_graph import small
from obliging import Obliging

ROWS: tuple[Row, ...] = (
    NodeRow("scurvy", kind="disease", description="A disease of missing vitamin C."),
    *(NodeRow(f"sign {i}", kind="symptom") for i in range(8)),
    *(EdgeRow("scurvy", f"relation {i}", f"sign {i}") for i in range(8)),
    NodeRow("bleeding gums", kind="symptom"),
    NodeRow("lemon juice", kind="drug"),
    EdgeRow("scurvy", "has_symptom", "bleeding gums"),
    EdgeRow("lemon juice", "treats", "scurvy"),
)
QUESTIONS = (
    Question("I have bleeding gums. Is it scurvy, and what helps?"),
    Question("What helps in scurvy?", (("A", "lemon juice"), ("B", "bleeding gums"), ("C", "sign 1"))),
    Question("坏血病 scurvy 如何治疗？"),
    Question("Nothing that is known here."),
)
IN_TABLES = {m for table in tables().values() for m in doable(table, Path()).rows.values() if not table.scorers}
NAMES = sorted({*methods.names(), *IN_TABLES})


class Drawn(Obliging):
    """Replies as asked for, uselessly, or by words of the prompt, drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random, self.count = random.Random(seed), 0

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        self.count += 1
        how = self.random.choice(("asked for", "useless", "words"))
        if how == "asked for" and hasattr(messages, "prompt"):
            return super().__call__(messages, max_tokens=max_tokens)
        return StandIn(how == "words")(messages, max_tokens=max_tokens)

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, Any], /, *, max_tokens: int = 256) -> Reply:
        if self.random.random() < 0.5:
            return self(messages, max_tokens=max_tokens)
        self.count += 1
        return StandIn().as_json(messages, schema, max_tokens=max_tokens)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("cost"), ROWS)


def models() -> Iterator[Any]:
    yield from (StandIn(), StandIn(useful=False), Obliging(), *map(Drawn, range(3)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_reply_of_a_model_makes_a_method_ask_more_often_than_is_said_before(graph: Store, name: str) -> None:
    parts = controlled(name)
    method = methods.get(parts.method)
    presets = [settings_of(method, preset=p, given=dict(parts.settings)) for p in ("", *filter(None, method.presets))]
    most, seen = calls_at_most(name, Config()), 0
    for settings, llm, question in product(presets, models(), QUESTIONS):
        made = method.build(Toolkit(graph, RecordedLLM(llm), TrigramEncoder()), settings)
        with ledger() as book, suppress(KgmedError):  # what a failure took counts all the same
            made(question)
        seen = max(seen, len(book.calls))
        assert len(book.calls) <= most, (llm, question.text, [c.prompt for c in book.calls])
    assert parts.settings or seen >= method.about.calls.fewest


def test_a_graph_behind_a_server_and_a_choice_by_likelihood_are_counted_too() -> None:
    assert calls_at_most("hykge", Config(), graphs=2) == 2 * calls_at_most("hykge", Config())
    assert calls_at_most("hykge", Config(choose="likelihood")) == calls_at_most("hykge", Config()) + 2
    assert calls_at_most("facts", Config(choose="likelihood")) == 0


def test_what_takes_more_than_was_said_is_ended() -> None:
    one = run(items(1)[0].question, "said")
    spent = Entry(Job("m", "q0"), run_with(one, Spent(calls=3, tokens_in=50, tokens_out=10)))
    Held(3, 60)(spent)
    for calls, tokens in ((2, 60), (3, 59)):
        with pytest.raises(StoppedEarly, match="stopped early"):
            Held(calls, tokens)(spent)


def run_with(one: Run, spent: Spent) -> Run:
    return replace(one, spent=spent)


def test_what_a_cache_answers_is_not_held_against_the_bound() -> None:
    entry = Entry(Job("m", "q0"), run_with(run(items(1)[0].question, "said"), Spent(calls=9, cached=9)))
    Held(0, 0)(entry)
