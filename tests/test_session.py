"""Which graph answers, and how."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import kgmed
from kgmed.config import Config
from kgmed.errors import BadInput, Stopped, Unavailable, UnknownName
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.base import LLM, Reply
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Echo, Scripted
from kgmed.pipeline import Pipeline
from kgmed.question.emergency import helped
from kgmed.records import Question, Stage
from kgmed.registry import methods
from kgmed.session import Session
from kgmed.stop import Stop
from kgmed.toolkit import Toolkit
from named_graph import small

EN: tuple[Row, ...] = (
    NodeRow("gout", kind="disease"),
    NodeRow("toe pain", kind="symptom"),
    EdgeRow("gout", "has_symptom", "toe pain"),
)
ZH: tuple[Row, ...] = (
    NodeRow("痛风", kind="disease"),
    NodeRow("gout", kind="disease"),
    NodeRow("秋水仙碱", kind="drug"),
    EdgeRow("秋水仙碱", "treats", "痛风"),
    EdgeRow("秋水仙碱", "treats", "gout"),
)

CHOSEN = '{"facts": [1]}'  # which pieces of evidence help


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Store]:
    return {"en": small(tmp_path, EN, "en"), "zh": small(tmp_path, ZH, "zh", "zh")}


def session(
    stores: dict[str, Store], opened: list[str] | None = None, llm: LLM | None = None, **options: Any
) -> Session:
    seen = opened if opened is not None else []

    def open_graph(name: str) -> Store:
        seen.append(name)
        return stores[name]

    return Session(("en", "zh"), open_graph, {"en": "en", "zh": "zh"}, Config(**options), llm, NgramEncoder())


def test_the_graph_of_the_questions_language_answers_and_no_other_is_opened(stores: dict[str, Store]) -> None:
    opened: list[str] = []
    both = session(stores, opened)
    assert both.ask("What are the symptoms of gout?").graph.startswith("en")
    assert opened == ["en"]
    assert both.ask("痛风吃什么药？").graph.startswith("zh")
    assert opened == ["en", "zh"]
    both.ask("What are the symptoms of gout?")
    assert opened == ["en", "zh"]


def test_a_graph_that_lacks_what_is_asked_gives_way_to_one_that_has_it(stores: dict[str, Store]) -> None:
    run = session(stores).ask("What drugs treat gout?")
    assert run.graph.startswith("zh")
    assert "colchicine" in run.answer.text


def test_where_all_abstain_the_one_that_knows_the_words_does_so(stores: dict[str, Store]) -> None:
    run = session(stores).ask("What are the genes of toe pain?")
    assert run.answer.abstained
    assert run.graph.startswith("en")
    assert run.answer.text.startswith("The graph has no genes for toe pain.")


def test_a_question_that_no_graph_knows_says_which_were_asked(stores: dict[str, Store]) -> None:
    run = session(stores).ask("What is the boiling point of tungsten?")
    assert run.answer.abstained
    assert run.answer.text.endswith("(en, zh)")
    assert "tungsten" in [m.surface for m in run.missed]


def test_options_reach_the_question(stores: dict[str, Store]) -> None:
    run = session(stores).ask("Which has toe pain?", options={"A": "gout", "B": "zog"})
    assert run.question.options == (("A", "gout"), ("B", "zog"))
    assert run.answer.choices == ("A",)


def test_an_empty_question_and_no_graph_are_refused(stores: dict[str, Store]) -> None:
    with pytest.raises(BadInput, match="empty"):
        session(stores).ask(Question(" "))
    with pytest.raises(BadInput, match="no graph"):
        Session((), stores.__getitem__, encoder=NgramEncoder()).ask("gout?")


def test_auto_reads_with_the_model_only_where_one_is_given(stores: dict[str, Store]) -> None:
    assert session(stores).ask("symptoms of gout").method == "facts"
    said = session(stores, llm=Scripted([CHOSEN, "Gout has the symptom toe pain [1]."])).ask("symptoms of gout")
    assert said.method == "llm"
    assert said.answer.text == "Gout has the symptom toe pain [1]."


def test_a_model_that_is_of_no_use_is_replaced_by_the_facts_and_the_run_says_so(stores: dict[str, Store]) -> None:
    run = session(stores, llm=Echo()).ask("What are the symptoms of gout?")
    assert run.answer.reader == "facts"
    assert run.failures
    assert "toe pain [1]" in run.answer.text


def test_an_unknown_method_is_named(stores: dict[str, Store]) -> None:
    with pytest.raises(UnknownName, match="no method is called 'fcats'; did you mean facts"):
        session(stores, method="fcats").ask("gout")


def test_eight_first_questions_at_once_open_the_graph_once(stores: dict[str, Store]) -> None:
    opened: list[str] = []
    shared, start = session(stores, opened), Barrier(8)

    def ask(_: int) -> str:
        start.wait()
        return shared.ask("What are the symptoms of gout?").answer.text

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(8)))
    assert opened == ["en"]
    assert len(answers) == 1


def test_a_prepared_session_has_its_graphs_open(stores: dict[str, Store]) -> None:
    opened: list[str] = []
    prepared = session(stores, opened).prepare()
    assert opened == ["en", "zh"]
    prepared.ask("symptoms of gout")
    assert opened == ["en", "zh"]


def test_evidence_is_retrieved_and_no_reader_is_asked(stores: dict[str, Store]) -> None:
    llm = Scripted([])
    run = session(stores, llm=llm).retrieve("What are the symptoms of gout?")
    assert run.context.cited
    assert (run.answer.text, run.answer.reader, llm.asked) == ("", "none", [])
    assert run.evidence == session(stores).ask("What are the symptoms of gout?").evidence


def test_a_method_may_be_a_function(stores: dict[str, Store]) -> None:
    def mine(toolkit: Toolkit) -> Pipeline:
        facts: Pipeline = methods.get("facts").build(toolkit)
        return replace(facts, name="mine")

    assert session(stores, method=mine).ask("symptoms of gout").method == "mine"


def test_a_stopped_question_raises_between_its_stages(stores: dict[str, Store]) -> None:
    stop = Stop()
    stages: list[str] = []

    def on_stage(stage: Stage) -> None:
        stages.append(stage.name)
        if stage.name == "link":
            stop.set()

    with pytest.raises(Stopped, match="stopped"):
        session(stores).ask("symptoms of gout", stop=stop, on_stage=on_stage)
    assert stages == ["expand", "recognize", "link"]


def test_a_question_without_time_left_is_stopped(stores: dict[str, Store]) -> None:
    with pytest.raises(Stopped):
        session(stores).ask("symptoms of gout", stop=Stop(seconds=1e-9))
    with pytest.raises(BadInput, match="more than 0 seconds"):
        Stop(seconds=0)


def test_a_question_that_is_too_long_is_refused_in_one_line(stores: dict[str, Store]) -> None:
    with pytest.raises(BadInput, match="50,000 are the most"):
        session(stores).ask("gout " * 10_001)


def test_signs_that_stand_for_many_characters_count_as_what_they_stand_for(stores: dict[str, Store]) -> None:
    with pytest.raises(BadInput, match=r"has 50,004 characters"):
        session(stores).ask("ﷺ" * 2_778)


def test_a_deadline_ends_an_ask_and_a_token_beside_it_counts_too(stores: dict[str, Store]) -> None:
    with pytest.raises(Stopped):
        session(stores).under(deadline=1e-9).ask("What are the symptoms of gout?")
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        session(stores).under(deadline=600).ask("What are the symptoms of gout?", stop=stop)
    with pytest.raises(BadInput, match="above 0 seconds"):
        Config(deadline=0)


def test_a_stream_tells_stages_findings_and_words_and_ends_with_the_run(stores: dict[str, Store]) -> None:
    llm = Scripted([CHOSEN, "Gout has the symptom toe pain [1]."])
    events = list(session(stores, llm=llm).stream("What are the symptoms of gout?"))
    kinds = [e.kind for e in events]
    assert kinds[:4] == ["stage", "stage", "stage", "found"]
    assert [link.entity.name for e in events for link in e.links] == ["gout"]
    assert "".join(e.text for e in events) == "Gout has the symptom toe pain [1]."
    assert kinds[-1] == "run"
    last = events[-1].run
    assert last is not None
    assert last.answer.text == "Gout has the symptom toe pain [1]."


def test_a_stream_that_nobody_reads_on_is_stopped(stores: dict[str, Store]) -> None:
    events = session(stores).stream("symptoms of gout")
    assert next(events).kind == "stage"
    events.close()  # type: ignore[attr-defined]


def test_what_goes_wrong_in_a_stream_is_raised_there(stores: dict[str, Store]) -> None:
    with pytest.raises(BadInput, match="empty"):
        list(session(stores).stream(" "))


def test_the_async_forms_give_the_same_run(stores: dict[str, Store]) -> None:
    shared = session(stores)

    async def both() -> tuple[str, str, str]:
        asked = await shared.aask("symptoms of gout")
        found = await shared.aretrieve("symptoms of gout")
        kinds = [event.kind async for event in shared.astream("symptoms of gout")]
        return asked.answer.text, found.context.text, kinds[-1]

    text, context, last = asyncio.run(both())
    run = shared.ask("symptoms of gout")
    assert (text, context, last) == (run.answer.text, run.context.text, "run")


def test_an_option_of_another_package_changes_the_pipeline(stores: dict[str, Store]) -> None:
    quiet = session(stores).under(lambda made, _: replace(made, name="changed"), evidence_tokens=5)
    run = quiet.ask("symptoms of gout")
    assert run.method == "changed"
    assert quiet.config.evidence_tokens == 5


# --- an emergency is answered first with the call for help


def test_an_emergency_is_answered_first_with_a_call_for_help_with_or_without_a_model(stores: dict[str, Store]) -> None:
    asked = "My toe pain is from poison: I drank bleach"
    for llm in (None, Echo()):
        said = session(stores, llm=llm).ask(asked).answer.text
        assert said == helped(asked)  # what a graph lists would take it back


def test_a_wish_to_die_is_answered_with_help_alone(stores: dict[str, Store]) -> None:
    answer = session(stores).ask("I have gout and want to die").answer
    assert answer.text == helped("I want to die")
    assert not answer.citations


def test_a_stream_begins_with_the_call_for_help(stores: dict[str, Store]) -> None:
    first = next(iter(session(stores).stream("I have gout and want to die")))
    assert first.text.strip() == helped("I want to die")


class Named(Scripted):
    """A model with a name of its own."""

    def __init__(self, name: str) -> None:
        super().__init__([f"{name} knows gout."] * 9)
        self.name = name


class Renamed(NgramEncoder):
    """An encoder under another name."""

    name = "renamed"


@pytest.mark.parametrize("again", [lambda s, m: replace(s, llm=m), lambda s, m: replace(s.under(), llm=m)])
def test_a_session_with_another_model_asks_that_one(stores: dict[str, Store], again: Any) -> None:
    one, other = Named("one"), Named("other")
    first = session(stores, llm=one, method="zero-shot")
    first.ask("What are the symptoms of gout?")
    again(first, other).ask("What are the symptoms of gout?")
    assert (len(one.asked), len(other.asked)) == (1, 1)
    first.ask("What are the symptoms of gout?")
    assert (len(one.asked), len(other.asked)) == (2, 1)


PARTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {  # a field of a session -> its new value, what shows it in use
    "llm": (Named("new"), lambda t: t.llm.name),
    "encoder": (Renamed(), lambda t: t.encoder.name),
    "pairs": (lambda pairs: pairs, lambda t: t.pairs),
    "tagger": (lambda query: (), lambda t: t.tagger),
    "glossary": (object(), lambda t: t.glossary),
    "config": (Config(prompts=Path(__file__).parent / "prompts"), lambda t: t.prompts),
    "open_graph": (None, lambda t: t.graph.name),
}


@pytest.mark.parametrize("changed", [set(pair) for pair in combinations_with_replacement(PARTS, 2)], ids=sorted)
def test_no_part_of_a_session_outlives_its_replacement(
    stores: dict[str, Store], tmp_path: Path, changed: set[str]
) -> None:
    other = small(tmp_path, EN, "other")
    before = session(stores, llm=Named("old"))
    old = before.toolkit("en")
    changes: dict[str, Any] = {name: PARTS[name][0] or (lambda _: other) for name in changed}
    new = replace(before, **changes).toolkit("en")
    assert {name for name, (_, shown) in PARTS.items() if shown(new) != shown(old)} == changed
    assert replace(before, wraps=(lambda made, _: made,)).toolkit("en") is old  # what does not change it is shared


def test_options_under_which_a_part_is_made_make_it_anew(stores: dict[str, Store]) -> None:
    before = session(stores, llm=Named("own"))
    assert before.under(reply_tokens=5, device="cpu").llm is before.llm  # an object of the caller's stays
    changed = before.under(encoder="ngrams", llm="openai/m", base_url="http://localhost:1/v1")
    names = [s.llm and s.llm.name for s in (changed, changed.under(llm="openai/n"), changed.under(reply_tokens=7))]
    assert names == [
        f"openai/{it}" for it in ("m at localhost:1", "n at localhost:1", "m at localhost:1, 7 tokens a reply")
    ]
    with pytest.raises(BadInput, match="keeps its graphs"):
        before.under(graph="hpo")


class Down:
    """A model whose server is not there."""

    name = "down"

    def __call__(self, messages: Any, /, *, max_tokens: int = 256) -> Reply:
        raise Unavailable("cannot reach localhost:1; is the server running?")


NEED = [m.name for m in methods.all() if m.about.needs_model and not m.about.baseline and m.name != "rlkgf-prompt"]


@pytest.mark.parametrize("name", NEED)
def test_where_a_model_fails_every_method_says_so_and_gives_the_facts(stores: dict[str, Store], name: str) -> None:
    seen: list[str] = []
    asked = replace(session(stores, llm=Down(), method=name), graphs=("en",))
    run = asked.ask("What are the symptoms of gout?", on_stage=lambda stage: seen.append(stage.name))
    assert run.failures[0].endswith("cannot reach localhost:1; is the server running?")
    assert (run.method.split()[0], run.answer.reader) == (name, "facts")
    assert run.spent.failed == run.spent.calls > 0
    assert len(seen) == len(set(seen))  # no stage is told of twice


def test_as_the_authors_have_it_a_failure_is_none_of_the_methods_answers(stores: dict[str, Store]) -> None:
    with pytest.raises(Unavailable, match="cannot reach"):
        session(stores, llm=Down(), method="mkg-rank", preset="paper").ask("What are the symptoms of gout?")
    with pytest.raises(BadInput, match="language model"):  # no model was asked
        session(stores, method="mkg-rank").ask("What are the symptoms of gout?")


def test_a_graph_that_is_not_there_is_told_at_once_and_a_session_by_its_names() -> None:
    with pytest.raises(UnknownName, match="no graph is called 'nosuch'"):
        kgmed.load(graph="nosuch")
    llm = Scripted(["x"])
    session = Session(("a", "b"), lambda name: pytest.fail("opened"), llm=llm)
    assert repr(session) == f"Session(graph='a,b', method='auto', llm={llm.name!r})"


def test_the_evidence_of_a_run_is_a_table(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    store = small(tmp_path, (NodeRow("gout", kind="disease"), EdgeRow("colchicine", "treats", "gout")), "en")
    run = Session(("en",), lambda _: store, encoder=NgramEncoder()).ask("What treats gout?")
    (row,) = run.table().to_dict("records")
    assert [row[name] for name in ("head", "relation", "tail", "number", "cited")] == [
        "colchicine", "treats", "gout", 1, True,
    ]  # fmt: skip


def test_a_measured_value_is_the_finding_that_it_stands_for(tmp_path: Path) -> None:
    rows = (NodeRow("HP:0002900", "Hypokalemia", "phenotype"), NodeRow("d", "Conn syndrome", "disease"),
            EdgeRow("d", "has_phenotype", "HP:0002900"))  # fmt: skip
    store = small(tmp_path, rows, "hpo")
    asked = Session(("hpo",), lambda _: store, {}, Config(), None, NgramEncoder())
    run = asked.ask("A man of 50 with a potassium of 2.1 mmol/l. What could it be?")
    assert [(link.mention.surface, link.entity.id, link.how) for link in run.links] == [
        ("potassium of 2.1 mmol/l", "HP:0002900", "value")
    ]
    assert asked.ask("A man of 50 with a potassium of 4.1 mmol/l. What could it be?").links == ()


def test_a_program_that_asks_a_new_model_with_each_question_does_not_keep_them_all(stores: dict[str, Store]) -> None:
    first = session(stores, llm=Echo(), method="zero-shot")
    for _ in range(20):
        assert replace(first, llm=Echo()).ask("gout?").answer.text
    assert len(first._toolkits.made) == 8
