"""What holds for every method and baseline: how often a model is asked, no leaks, threads, a server that fails."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from json_server import JsonServer, Said, serving
from kgmed.errors import BadInput, ModelFailed, Unavailable
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.fakes import Scripted, TrigramEncoder
from kgmed.models.limits import RecordedLLM
from kgmed.pipeline import Pipeline
from kgmed.records import Query, Run, Stage
from kgmed.registry import About, methods
from kgmed.toolkit import Toolkit
from named_graph import small
from obliging import Obliging

ROWS: tuple[Row, ...] = (
    NodeRow("scurvy", kind="disease", description="A disease of missing vitamin C."),
    NodeRow("measles", kind="disease", description="A disease of the morbillivirus."),
    NodeRow("bleeding gums", kind="symptom"),
    NodeRow("rash", kind="symptom"),
    NodeRow("lemon juice", kind="drug"),
    NodeRow("vitamin A", kind="drug"),
    NodeRow("ascorbate level", kind="test"),
    NodeRow("antibody test", kind="test"),
    EdgeRow("scurvy", "has_symptom", "bleeding gums"),
    EdgeRow("scurvy", "need_medical_test", "ascorbate level"),
    EdgeRow("lemon juice", "treats", "scurvy"),
    EdgeRow("gum tissue", "location_of", "scurvy"),
    EdgeRow("scanty fruit", "risk_of", "scurvy"),
    EdgeRow("measles", "has_symptom", "rash"),
    EdgeRow("measles", "need_medical_test", "antibody test"),
    EdgeRow("vitamin A", "treats", "measles"),
    EdgeRow("skin", "location_of", "measles"),
    EdgeRow("crowding", "risk_of", "measles"),
)
SCURVY = "I have bleeding gums. Is it scurvy, and what helps?"
MEASLES = "My child has a rash. Is it measles, and what helps?"
OF_SCURVY = ("scurvy", "bleeding gums", "lemon juice", "ascorbate", "vitamin C", "scanty fruit")
METHODS = methods.names()
WITH_MODEL = [method.name for method in methods.all() if method.about.calls.usual]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("every"), ROWS)


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with serving() as state:
        yield state


def pipeline(graph: Store, name: str, llm: object) -> Pipeline:
    made: Pipeline = methods.get(name).build(Toolkit(graph, RecordedLLM(llm), TrigramEncoder()))  # type: ignore[arg-type]
    return made


def same(run: Run) -> Run:
    """The run without its times."""
    return replace(run, stages=tuple(replace(s, seconds=0.0) for s in run.stages))


def described(name: str) -> About:
    return methods.get(name).about


@pytest.mark.parametrize("name", METHODS)
def test_a_model_is_asked_as_often_as_the_description_says(graph: Store, name: str) -> None:
    llm = Obliging()
    run = pipeline(graph, name, llm)(SCURVY)
    calls = described(name).calls
    assert calls.fewest <= len(llm.asked) <= calls.most
    assert len(llm.asked) == calls.usual, [step for step, _ in llm.asked]
    assert run.failures == ()
    assert sum(s.calls for s in run.stages) == run.spent.calls == len(llm.asked)
    assert sum(s.tokens for s in run.stages) == 15 * len(llm.asked)


@pytest.mark.parametrize("name", METHODS)
def test_calls_and_tokens_stand_with_the_stage_that_made_them(graph: Store, name: str) -> None:
    llm = Obliging()
    made = pipeline(graph, name, llm)
    stages = {s.name: s for s in made(SCURVY).stages}
    assert stages["link"] == Stage("link", stages["link"].seconds)
    assert (stages["read"].calls > 0) == bool(llm.asked)
    assert bool(stages["expand"].calls) == (made.expand is not Query)


@pytest.mark.parametrize("name", WITH_MODEL)
def test_nothing_of_one_question_is_seen_in_the_next(graph: Store, name: str) -> None:
    llm, alone = Obliging(), Obliging()
    ask = pipeline(graph, name, llm)
    ask(SCURVY)
    first = len(llm.asked)
    second = ask(MEASLES)
    assert same(second) == same(pipeline(graph, name, alone)(MEASLES))
    assert llm.asked[first:] == alone.asked
    assert [word for word in OF_SCURVY if word in alone.said] == []
    assert second.context == pipeline(graph, name, Obliging())(MEASLES).context


@pytest.mark.parametrize("name", METHODS)
def test_ten_threads_get_the_runs_of_one(graph: Store, name: str) -> None:
    ask = pipeline(graph, name, Obliging())
    questions = [SCURVY, MEASLES] * 5
    alone = [same(ask(q)) for q in questions]
    with ThreadPoolExecutor(10) as pool:
        assert list(map(same, pool.map(ask, questions))) == alone
    assert alone[0] != alone[1]


@pytest.mark.parametrize("name", WITH_MODEL)
def test_the_reader_is_shown_what_was_found_or_the_answer_says_that_nothing_was_looked_up(
    graph: Store, name: str
) -> None:
    llm = Obliging()
    made = pipeline(graph, name, llm)
    run = made(SCURVY)
    if made.retrieve:
        assert run.context.cited
        assert any("scurvy" in messages[-1].text for _, messages in llm.asked)
        assert not run.answer.abstained
    else:
        assert (run.links, run.evidence, run.answer.citations) == ((), (), ())
        assert "no evidence was looked up" in run.answer.limits
        assert "lemon juice" not in llm.said


@pytest.mark.parametrize("name", METHODS)
def test_a_method_that_needs_a_model_says_so_and_another_does_without(graph: Store, name: str) -> None:
    toolkit = Toolkit(graph, None, TrigramEncoder())
    if described(name).needs_model:
        with pytest.raises(BadInput, match=f"the method {name} needs a language model"):
            methods.get(name).build(toolkit)
    else:
        assert methods.get(name).build(toolkit)(SCURVY).spent.calls == 0


@pytest.mark.parametrize("name", WITH_MODEL)
@pytest.mark.parametrize("reply", ["", "###", "\ufffd\ufffd", ModelFailed("down")])
def test_a_model_that_says_nothing_usable_is_told_of_and_no_answer_is_made_up(
    graph: Store, name: str, reply: str | Exception
) -> None:
    ask = pipeline(graph, name, Scripted([reply] * 40))
    try:
        run = ask(SCURVY)
    except ModelFailed:
        return  # typed, and nothing was answered
    assert run.failures
    assert run.answer.reader == "facts"
    assert run.context.cited


def completion(text: str) -> dict[str, object]:
    """An answer of an OpenAI-compatible server."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


REFUSED = {"error": {"message": "no"}}
FAILING = {
    "429": Said(REFUSED, 429, {"retry-after-ms": "1"}),
    "500": Said(REFUSED, 500, {"retry-after-ms": "1"}),
    "garbage": Said(b"\xff\xfe{not json"),
    "half a reply": Said(b'{"id": "1", "choices": [{"mess'),
    "half a stream": Said(b'{"id": "1", "choices": [{"mess', headers={"Content-Length": "4000"}),
    "nothing": Said(b""),
    "silence": Said(b"", seconds=0.4),
}


def at(server: JsonServer, *, retries: int, timeout: float = 10.0) -> object:
    openai = pytest.importorskip("openai")
    assert openai
    from kgmed.models.hosted import OpenAI

    return OpenAI("m", f"{server.url}/v1", retries=retries, timeout=timeout, environment={})


@pytest.mark.parametrize("name", WITH_MODEL)
@pytest.mark.parametrize("how", FAILING)
def test_a_server_that_fails_is_a_typed_failure_or_the_facts_and_never_an_empty_context(
    graph: Store, server: JsonServer, name: str, how: str
) -> None:
    server.says = [FAILING[how]]
    ask = pipeline(graph, name, at(server, retries=0, timeout=0.15 if how == "silence" else 10.0))
    try:
        run = ask(SCURVY)
    except Unavailable:
        return  # typed, and nothing was answered
    assert run.failures
    assert run.answer.reader == "facts"
    assert run.context.cited


@pytest.mark.parametrize("name", WITH_MODEL)
@pytest.mark.parametrize("how", ["429", "500"])
def test_a_server_that_is_busy_once_is_asked_again_and_nothing_is_lost(
    graph: Store, server: JsonServer, name: str, how: str
) -> None:
    llm = Obliging()
    pipeline(graph, name, llm)(SCURVY)
    good = [Said(completion(llm.reply(step, messages))) for step, messages in llm.asked]
    server.says = [FAILING[how], *good]
    run = pipeline(graph, name, at(server, retries=2))(SCURVY)
    assert run.failures == ()
    assert len(server.asked) == len(llm.asked) + 1
    assert run.spent.failed == 0


def test_a_method_is_described_with_its_paper_or_is_ours() -> None:
    for name in METHODS:
        found = described(name)
        assert found.does
        assert found.calls.fewest <= found.calls.usual <= found.calls.most
        assert bool(found.paper) == bool(found.by) == bool(found.year) == bool(found.where)
        assert found.calls.fewest or not found.needs_model


def test_every_baseline_is_there() -> None:
    assert len([method for method in methods.all() if method.about.baseline]) == 17
