"""A question that follows another is understood in its light, and is never cut."""

from pathlib import Path

import pytest

from kgmed.config import Config
from kgmed.errors import BadInput
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Scripted
from kgmed.session import LONGEST, Conversation, Session
from named_graph import small

EN: tuple[Row, ...] = (
    NodeRow("gout", kind="disease"),
    NodeRow("rickets", kind="disease"),
    NodeRow("toe pain", kind="symptom"),
    NodeRow("colchicine", kind="drug"),
    NodeRow("vitamin D", kind="drug"),
    EdgeRow("gout", "has_symptom", "toe pain"),
    EdgeRow("colchicine", "treats", "gout"),
    EdgeRow("vitamin D", "treats", "rickets"),
    NodeRow("pregnancy", kind="condition"),
    EdgeRow("colchicine", "contraindicated_for", "pregnancy"),
)
ZH: tuple[Row, ...] = (
    NodeRow("痛风", kind="disease"),
    NodeRow("秋水仙碱", kind="drug"),
    EdgeRow("秋水仙碱", "treats", "痛风"),
)


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Store]:
    return {"en": small(tmp_path, EN, "en"), "zh": small(tmp_path, ZH, "zh", "zh")}


def talk(stores: dict[str, Store], llm: Scripted | None = None) -> Conversation:
    languages = {"en": "en", "zh": "zh"}
    return Conversation(Session(tuple(stores), stores.__getitem__, languages, llm=llm, encoder=NgramEncoder()))


def test_what_it_is_about_is_carried_over_where_a_question_names_nothing(stores: dict[str, Store]) -> None:
    told = talk(stores)
    assert "toe pain" in told.ask("What are the symptoms of gout?").answer.text
    follow = told.ask("Which drug treats it?")
    assert [(x.entity.name, x.how) for x in follow.links] == [("gout", "before, exact")]
    assert "colchicine" in follow.answer.text
    assert all(link.mention.start == -1 for link in follow.links)
    again = told.ask("And its symptoms?")
    assert [(x.entity.name, x.how) for x in again.links] == [("gout", "before, exact")]


def test_a_question_with_a_name_of_its_own_is_about_that(stores: dict[str, Store]) -> None:
    told = talk(stores)
    told.ask("What are the symptoms of gout?")
    run = told.ask("What treats rickets?")
    assert [x.entity.name for x in run.links] == ["rickets"]
    assert "colchicine" not in run.answer.text
    assert "vitamin D" in told.ask("How is it treated?").answer.text


@pytest.mark.parametrize("question", ["What treats scurvy?", "What is scurvy and how is it treated?"])
def test_a_name_that_no_graph_knows_is_not_taken_for_what_was_said_before(
    stores: dict[str, Store], question: str
) -> None:
    told = talk(stores)
    told.ask("What are the symptoms of gout?")
    run = told.ask(question)
    assert run.answer.abstained
    assert run.links == ()


def test_what_refers_back_before_it_names_something_unknown_is_carried_over(stores: dict[str, Store]) -> None:
    told = talk(stores)
    told.ask("What are the symptoms of gout?")
    assert [x.entity.name for x in told.ask("Can it be treated in kangaroos?").links] == ["gout"]


def test_the_first_question_has_nothing_to_be_about(stores: dict[str, Store]) -> None:
    assert talk(stores).ask("Which drug treats it?").answer.abstained


def test_a_talk_stays_with_its_graph_until_another_knows_more(stores: dict[str, Store]) -> None:
    told = talk(stores)
    assert told.ask("痛风吃什么药？").graph.startswith("zh")
    assert [x.entity.name for x in told.ask("它怎么治疗？").links] == ["痛风"]
    assert told.ask("What treats rickets?").graph.startswith("en")
    assert [x.entity.name for x in told.ask("How is it treated?").links] == ["rickets"]


def test_the_model_is_told_of_the_turns_before_and_of_the_whole_question(stores: dict[str, Store]) -> None:
    chosen = '{"facts": [1]}'
    llm = Scripted([chosen, "Gout has the symptom toe pain [1].", chosen, "Colchicine treats gout [1]."])
    told = talk(stores, llm)
    told.ask("What are the symptoms of gout?")
    told.ask("Which drug treats it?")
    asked = llm.asked[-1][-1].text
    assert "Question: What are the symptoms of gout?\nAnswer: Gout has the symptom toe pain [1]." in asked
    assert "Which drug treats it?" in asked


def test_only_so_many_turns_are_told_and_long_answers_in_short(stores: dict[str, Store]) -> None:
    told = Conversation(talk(stores).session, turns=2)
    questions = [f"{'What are the symptoms of gout? ' * 50}{i}?" for i in range(4)]
    runs = [told.ask(q) for q in questions]
    assert [len(run.question.history) for run in runs] == [0, 2, 4, 4]
    assert [run.question.text for run in runs] == questions
    assert all(len(line) <= LONGEST + 20 for run in runs for line in run.question.history[1::2])
    assert questions[2] in runs[3].question.history[2]


def test_a_question_that_cannot_be_asked_is_no_turn(stores: dict[str, Store]) -> None:
    told = talk(stores)
    told.ask("What are the symptoms of gout?")
    with pytest.raises(BadInput, match="empty"):
        told.ask("  ")
    assert len(told.runs) == 1


def test_two_talks_with_one_asker_know_nothing_of_each_other(stores: dict[str, Store]) -> None:
    asker = talk(stores).session
    one, two = Conversation(asker), Conversation(asker)
    one.ask("What are the symptoms of gout?")
    run = two.ask("Which drug treats it?")
    assert run.links == ()
    assert run.question.history == ()


@pytest.mark.parametrize("strict", [False, True])
def test_what_the_model_says_of_itself_is_marked_or_where_one_is_strict_left_out(
    stores: dict[str, Store], *, strict: bool
) -> None:
    llm = Scripted(['{"facts": [1]}', "Colchicine treats gout [1]. Bananas prevent baldness."])
    session = Session(("en",), stores.__getitem__, config=Config(strict=strict), llm=llm, encoder=NgramEncoder())
    said = session.ask("Which drug treats gout?").answer.text
    assert "Colchicine treats gout [1]." in said
    assert ("Bananas prevent baldness. [the model's own]" in said) is not strict
    assert ("Bananas" in said) is not strict


@pytest.mark.parametrize("people", ["And in pregnancy?", "What about pregnant women?"])
def test_a_follow_up_that_names_people_narrows_the_question_and_keeps_its_disease(
    stores: dict[str, Store], people: str
) -> None:
    told = talk(stores)
    told.ask("What treats gout?")
    run = told.ask(people)
    assert run.question.text == f"What treats gout? {people}"
    assert "gout" in [x.entity.name for x in run.links]
    assert run.query.frame.patient.groups == ("pregnancy",)
    assert run.query.frame.asks[0].subject[0].names[0] == "gout"
