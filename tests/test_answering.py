"""Which graph answers, and how."""

from pathlib import Path

import pytest

from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Echo, Scripted
from kgmed.records import Question
from kgmed.session import Asker
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


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Store]:
    return {"en": small(tmp_path, EN, "en"), "zh": small(tmp_path, ZH, "zh", "zh")}


def asker(stores: dict[str, Store], opened: list[str] | None = None, **more: object) -> Asker:
    seen = opened if opened is not None else []

    def open_graph(name: str) -> Store:
        seen.append(name)
        return stores[name]

    return Asker(("en", "zh"), open_graph, {"en": "en", "zh": "zh"}, encoder=NgramEncoder(), **more)  # type: ignore[arg-type]


def test_the_graph_of_the_questions_language_answers_and_no_other_is_opened(stores: dict[str, Store]) -> None:
    opened: list[str] = []
    both = asker(stores, opened)
    assert both.ask("What are the symptoms of gout?").graph.startswith("en")
    assert opened == ["en"]
    assert both.ask("痛风吃什么药？").graph.startswith("zh")
    assert opened == ["en", "zh"]
    both.ask("What are the symptoms of gout?")
    assert opened == ["en", "zh"]


def test_a_graph_that_lacks_what_is_asked_gives_way_to_one_that_has_it(stores: dict[str, Store]) -> None:
    run = asker(stores).ask("What drugs treat gout?")
    assert run.graph.startswith("zh")
    assert "秋水仙碱" in run.answer.text


def test_where_all_abstain_the_one_that_knows_the_words_does_so(stores: dict[str, Store]) -> None:
    run = asker(stores).ask("What are the genes of toe pain?")
    assert run.answer.abstained
    assert run.graph.startswith("en")
    assert run.answer.text.startswith("Not in the graph: Genes")


def test_a_question_that_no_graph_knows_says_which_were_asked(stores: dict[str, Store]) -> None:
    run = asker(stores).ask("What is the boiling point of tungsten?")
    assert run.answer.abstained
    assert run.answer.text.endswith("(en, zh)")
    assert "tungsten" in [m.surface for m in run.missed]


def test_options_reach_the_question(stores: dict[str, Store]) -> None:
    run = asker(stores).ask("Which has toe pain?", options={"A": "gout", "B": "zog"})
    assert run.question.options == (("A", "gout"), ("B", "zog"))
    assert run.answer.choices == ("A",)


def test_an_empty_question_and_no_graph_are_refused(stores: dict[str, Store]) -> None:
    with pytest.raises(BadInput, match="empty"):
        asker(stores).ask(Question(" "))
    with pytest.raises(BadInput, match="no graph"):
        Asker((), stores.__getitem__, encoder=NgramEncoder()).ask("gout?")


def test_auto_reads_with_the_model_only_where_one_is_given(stores: dict[str, Store]) -> None:
    assert asker(stores).ask("symptoms of gout").method == "facts"
    said = asker(stores, llm=Scripted(["Gout has the symptom toe pain [1]."])).ask("symptoms of gout")
    assert said.method == "llm"
    assert said.answer.text == "Gout has the symptom toe pain [1]."


def test_a_model_that_is_of_no_use_is_replaced_by_the_facts_and_the_run_says_so(stores: dict[str, Store]) -> None:
    run = asker(stores, llm=Echo()).ask("What are the symptoms of gout?")
    assert run.answer.reader == "facts"
    assert run.failures
    assert "toe pain [1]" in run.answer.text


def test_an_unknown_method_is_named(stores: dict[str, Store]) -> None:
    with pytest.raises(UnknownName, match="no method is called 'fcats'; did you mean facts"):
        asker(stores, method="fcats").ask("gout")
