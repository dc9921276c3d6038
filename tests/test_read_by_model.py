"""A question read by a language model: names by their synonyms, what is asked, the patient; and its fallback."""

import json
from typing import Any

import pytest

from kgmed.config import Config
from kgmed.frame import Form, Frame, Intent
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.linking.by_model import ReadByModel
from kgmed.models.base import Reply
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Scripted
from kgmed.records import Query, Question
from kgmed.session import Session
from kgmed.toolkit import Toolkit
from named_graph import small

ROWS: tuple[Row, ...] = (
    *(NodeRow(name, name, "drug") for name in ("Warfarin", "Ibuprofen", "Colchicine")),
    NodeRow("Gout", "Gout", "disease"),
    NodeRow("Toe pain", "Toe pain", "phenotype"),
    EdgeRow("Warfarin", "interacts_with", "Ibuprofen"),
    EdgeRow("Colchicine", "treats", "Gout"),
    EdgeRow("Gout", "has_phenotype", "Toe pain"),
)
ASKED = "Mum is on Coumadin. Could she have Nurofen?"
SAID = {
    "things": [
        {"words": "Coumadin", "names": ["warfarin"], "kind": "drug", "part": "takes"},
        {"words": "Nurofen", "names": ["ibuprofen"], "kind": "drug", "part": "asked"},
    ],
    "asks": [{"intent": "interactions", "subject": [2], "object": [1], "negative": False, "form": "yes/no"}],
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("read"), ROWS)


def read(graph: Store, reply: str, text: str = ASKED, **more: Any) -> Frame:
    toolkit = Toolkit(graph, Scripted([reply], every=True), NgramEncoder())
    query = Query(Question(text, **more))
    return toolkit.understand_by_model(query, *toolkit.understood(query.question))


def test_brands_are_linked_by_what_they_contain(graph: Store) -> None:
    frame = read(graph, json.dumps(SAID))
    [ask] = frame.asks
    assert (frame.source, ask.intent, ask.form) == ("model", Intent.INTERACTIONS, Form.YES_NO)
    assert [n.links[0].entity.name for n in ask.things] == ["Ibuprofen", "Warfarin"]
    assert [ASKED[a:b] for n in ask.things for a, b in n.spans] == ["Nurofen", "Coumadin"]
    assert [n.names[0] for n in frame.patient.takes] == ["Coumadin"]


def test_the_patient_is_whom_the_model_says_it_is_asked_for(graph: Store) -> None:
    asked = "I'm 29, pregnant, with a 4 year old daughter. Can I take Nurofen?"
    told = {**SAID, "patient": {"age": 29, "sex": "female", "groups": []}, "premise": "Nurofen is safe\nin pregnancy."}
    patient = read(graph, json.dumps(told), asked).patient
    assert (patient.age, patient.sex, patient.groups) == (29.0, "female", ("pregnancy",))
    assert "child" not in patient.traits
    assert read(graph, json.dumps(told), asked).premise == "Nurofen is safe in pregnancy."


@pytest.mark.parametrize("said", [{}, {"age": None}, {"age": "29"}, {"age": True}, {"age": -1}, {"groups": "x"}, []])
def test_an_age_that_the_model_leaves_out_is_the_youngest_told(graph: Store, said: object) -> None:
    patient = read(graph, json.dumps({**SAID, "patient": said, "premise": 3}), "I'm 29, she is 4 years old").patient
    assert patient.age == 4.0


def test_a_likely_disease_is_asked_about_and_is_no_finding(graph: Store) -> None:
    said = {
        "things": [
            {"words": "toe", "names": ["toe pain"], "kind": "finding", "part": "finding"},
            {"words": "", "names": ["gout"], "kind": "disease", "part": "likely"},
        ],
        "asks": [{"intent": "diagnosis", "subject": []}, {"intent": "treatment", "subject": [2], "form": "?"}],
    }
    frame = read(graph, json.dumps(said), "My toe hurts. What is it, and what helps?")
    assert [n.links[0].entity.name for n in frame.findings] == ["Toe pain"]
    assert [n.links[0].entity.name for n in frame.asks[1].subject] == ["Gout"]
    assert frame.asks[1].subject[0].spans == ()


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I think she should not.",
        '{"asks": []}',
        '{"things": "x", "asks": [3, {"intent": "magic"}]}',
        '{"asks": "x"}',
        '{"things": [{"words": "x"',
    ],
)
def test_what_cannot_be_read_is_read_by_the_classifier(graph: Store, reply: str) -> None:
    assert read(graph, reply).source == "trained"


@pytest.mark.parametrize(
    "thing",
    [
        3,
        {},
        {"words": 5, "names": "ibuprofen"},
        {"words": "Nurofen", "names": [None, "ibuprofen"], "kind": ["x"], "part": {}},
    ],
)
def test_things_of_another_form_are_no_failure(graph: Store, thing: object) -> None:
    frame = read(graph, json.dumps({"things": [thing], "asks": [{"intent": "uses", "subject": [1, 9, "x", True]}]}))
    assert frame.asks[0].intent is Intent.USES


def test_it_is_asked_once_for_one_question_and_not_for_options(graph: Store) -> None:
    toolkit = Toolkit(graph, Scripted([json.dumps(SAID)], every=True), NgramEncoder())
    query = Query(Question(ASKED))
    first, second = (toolkit.understand_by_model(query, *toolkit.understood(query.question)) for _ in range(2))
    assert first == second
    assert isinstance(toolkit.understand_by_model, ReadByModel)
    assert read(graph, json.dumps(SAID), options=(("A", "Gout"), ("B", "Warfarin"))).source == "trained"


TERMS = {
    "baselines/facts": '{"facts": [1]}',
    "kg_rank/terms": '{"terms": ["warfarin", "ibuprofen"]}',
    "mkg_rank/question_terms": '{"medical entities": ["Coumadin", "Nurofen"]}',
    "mkg_rank/translate": '["warfarin", "ibuprofen"]',
    "mkg_rank/declarative": "E1: Warfarin interacts_with Ibuprofen.",
    "mindmap/extract": "warfarin, ibuprofen",
}


class Doctor:
    """A model that reads, answers and judges by the prompt."""

    name = "doctor"

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.steps: list[str] = []

    def __call__(self, messages: Any, /, *, max_tokens: int = 256) -> Reply:
        step = messages.prompt.split(".")[0]
        self.steps.append(step)
        verdict = '{"verdicts": [{"sentence": 1, "verdict": "supports", "facts": [1]}]}'
        if step in TERMS:
            return Reply(TERMS[step], 10, 5)
        return Reply({"question/frame": json.dumps(SAID), "check/sentences": verdict}.get(step, self.answer), 10, 5)


TOLD = "No, the two interact. Paracetamol would be the safer choice."


def session(graph: Store, llm: Doctor, **options: Any) -> Session:
    return Session(("g",), lambda _: graph, config=Config(**options), llm=llm, encoder=NgramEncoder())


def test_an_answer_is_from_what_the_model_knows_and_cites_what_the_graph_bears_out(graph: Store) -> None:
    llm = Doctor(TOLD)
    run = session(graph, llm).ask(ASKED)
    assert llm.steps == ["question/frame", "ask/detailed", "check/sentences"]
    assert run.answer.text == ("No, the two interact [1]. Paracetamol would be the safer choice. [the model's own]")
    assert "Warfarin" in run.context.cited[0].text
    assert "medical advice" in run.answer.limits
    assert [v.label for v in run.answer.verdicts] == ["supported", "unsupported"]


@pytest.mark.parametrize("method", ["llm", "kg-rank", "mkg-rank", "mindmap", "hykge"])
@pytest.mark.parametrize("strict", [False, True])
def test_no_method_replaces_what_a_model_says_or_prints_it_unmarked(graph: Store, method: str, strict: bool) -> None:
    llm = Doctor(f"Output 1: {TOLD}" if method == "mindmap" else TOLD)
    run = session(graph, llm, method=method, strict=strict).ask(ASKED)
    own = "Paracetamol would be the safer choice. [the model's own]"
    assert run.answer.reader != "facts"
    assert (own in run.answer.text, "Paracetamol" in run.answer.text) == (not strict, not strict)
    assert "medical advice" in run.answer.limits


@pytest.mark.parametrize("method", ["kg-rank", "hykge"])
def test_under_paper_the_question_is_read_and_the_answer_checked_as_the_authors_do(graph: Store, method: str) -> None:
    llm = Doctor(TOLD)
    run = session(graph, llm, method=method, preset="paper").ask(ASKED)
    assert not {"question/frame", "check/sentences"} & {*llm.steps}
    assert run.answer.text == TOLD


def test_a_model_that_fails_is_said_to_in_the_first_line(graph: Store) -> None:
    run = session(graph, Doctor("")).ask(ASKED)
    assert run.answer.text.startswith("The language model could not answer (doctor said nothing")
    assert "Warfarin" in run.answer.text
