"""The prompt with knowledge: one disease of those that the graph ties to the findings, or none."""

from typing import Any

import pytest

from kgmed.errors import BadInput, ModelFailed
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.methods.rlkgf import DiseaseReader, RLKGFPromptSettings, listed_answer
from kgmed.models.fakes import Scripted, TrigramEncoder
from kgmed.records import Context, Entity, Evidence, Query, Question, Run
from kgmed.registry import methods
from kgmed.reward.cases import Case, patient_text
from kgmed.reward.cases import question as case_question
from kgmed.steps.read import LLMReader
from kgmed.toolkit import Toolkit
from named_graph import small

ROWS: tuple[Row, ...] = (
    NodeRow("type 1 diabetes", kind="disease"),
    NodeRow("type 2 diabetes", kind="disease"),
    NodeRow("measles", kind="disease"),
    NodeRow("thirst", kind="symptom"),
    NodeRow("weight loss", kind="symptom"),
    NodeRow("rash", kind="symptom"),
    NodeRow("fever", kind="symptom"),
    NodeRow("cough", kind="symptom"),
    EdgeRow("type 1 diabetes", "has_symptom", "thirst"),
    EdgeRow("type 1 diabetes", "has_symptom", "weight loss"),
    EdgeRow("type 2 diabetes", "has_symptom", "thirst"),
    EdgeRow("measles", "has_symptom", "rash"),
    EdgeRow("measles", "has_symptom", "fever", weight=0.5),
    EdgeRow("measles", "has_symptom", "cough", weight=0.9),
)
LISTED = (("A", "type 1 diabetes"), ("B", "type 2 diabetes"), ("C", "measles"))
WHICH = Question("The patient has: rash. Does not have: thirst. Which disease is it most likely?", LISTED)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("rlkgf"), ROWS)


def asked(graph: Store, reply: str, question: str = "He has thirst and weight loss.") -> tuple[Run, Scripted]:
    llm = Scripted([reply])
    return methods.get("rlkgf-prompt").build(Toolkit(graph, llm, TrigramEncoder()))(question), llm


def test_the_model_sees_the_tied_diseases_with_their_facts_and_no_others(graph: Store) -> None:
    _, llm = asked(graph, "type 1 diabetes")
    shown = llm.asked[0][-1].text
    assert "[1] type 1 diabetes: thirst" in shown
    assert "[2] type 2 diabetes: thirst" in shown
    assert "measles" not in shown


@pytest.mark.parametrize(
    "reply", ["type 2 diabetes", "Type 2 diabetes [2]", "not type 1 diabetes but type 2 diabetes", "It is number [2]."]
)
def test_the_disease_that_is_named_is_the_answer_and_cites_its_facts(graph: Store, reply: str) -> None:
    run, _ = asked(graph, reply)
    assert run.answer.text == "type 2 diabetes [2]"
    assert [c.name for c in run.answer.candidates] == ["type 2 diabetes"]
    (number,) = run.answer.citations
    assert {t.head.name for t in run.context.cited[number - 1].triples} == {"type 2 diabetes"}


def test_unknown_is_an_abstention(graph: Store) -> None:
    run, _ = asked(graph, "UNKNOW")
    assert run.answer.abstained
    assert run.answer.citations == ()
    assert not run.failures


@pytest.mark.parametrize("reply", ["pituitary gout [1]", "non-type 2 diabetes [2]", "diabetes insipidus [1]"])
def test_a_disease_outside_the_list_is_no_listed_one_whatever_its_number(graph: Store, reply: str) -> None:
    with pytest.raises(ModelFailed, match="named no disease of the list"):
        asked(graph, reply)


@pytest.mark.parametrize("reply", ["胃食管反流病 [1]", "下咽食管癌 [1]", "胃食管癌"])
def test_a_chinese_disease_is_not_the_listed_one_that_it_resembles(reply: str) -> None:
    cited = tuple(Evidence(f"{n}: 烧心", "candidate", about=(Entity(n, n, "disease"),)) for n in ("食管癌", "胃炎"))
    read = DiseaseReader(LLMReader(Scripted([reply]), name="rlkgf/diagnose"))
    with pytest.raises(ModelFailed, match="named no disease of the list"):
        read(Query(Question("烧心是什么病？")), Context("[1] 食管癌\n[2] 胃炎", cited))


@pytest.mark.parametrize("reply", ["type 1 diabetes or type 2 diabetes", "measles", "It could be many things."])
def test_several_or_none_of_the_list_is_no_answer_and_nothing_stands_in(graph: Store, reply: str) -> None:
    with pytest.raises(ModelFailed, match="disease of the list"):
        asked(graph, reply)


def test_without_findings_nothing_is_asked(graph: Store) -> None:
    run, llm = asked(graph, "measles", "What is the weather?")
    assert run.answer.abstained
    assert llm.asked == []


def listed(graph: Store, replies: list[str], question: Question = WHICH, **numbers: Any) -> tuple[Run, Scripted]:
    llm = Scripted(replies)
    settings = RLKGFPromptSettings(**numbers)
    return methods.get("rlkgf-prompt").build(Toolkit(graph, llm, TrigramEncoder()), settings)(question), llm


def test_a_closed_list_is_asked_with_the_triples_of_the_patients_subgraph(graph: Store) -> None:
    run, llm = listed(graph, ["Diagnosis: measles"])
    shown = llm.asked[0][-1].text
    assert "type 1 diabetes; type 2 diabetes; measles." in shown
    assert [e.text for e in run.context.cited] == [
        "<measles, has_symptom, rash>", "<measles, has_symptom, cough>", "<measles, has_symptom, fever>"
    ]  # fmt: skip
    assert "<type" not in shown  # thirst is denied, so no other disease is tied to the patient
    assert (run.answer.choices, run.answer.citations) == (("C",), (1, 2, 3))


def test_of_each_disease_the_patients_own_triples_come_first_then_the_heaviest(graph: Store) -> None:
    run, _ = listed(graph, ["Diagnosis: measles"], triples=2)
    assert [e.text for e in run.context.cited] == ["<measles, has_symptom, rash>", "<measles, has_symptom, cough>"]


def test_without_triples_the_prompt_is_the_list_and_the_patient_alone(graph: Store) -> None:
    run, llm = listed(graph, ["Diagnosis: measles"], triples=0)
    assert run.context.cited == ()
    assert run.answer.choices == ("C",)
    assert "Triples" not in "".join(m.text for m in llm.asked[0])


def test_a_closed_lists_prompt_has_two_examples_as_turns_of_a_conversation(graph: Store) -> None:
    for triples in (0, 5):
        _, llm = listed(graph, ["Diagnosis: measles"], triples=triples)
        assert [m.role for m in llm.asked[0]] == ["system", "user", "assistant", "user", "assistant", "user"]
        assert llm.asked[0][4].text == "Diagnosis: UNKNOWN"


def test_the_language_of_the_instructions_is_a_setting_and_that_of_the_names_stays(graph: Store) -> None:
    run, llm = listed(graph, ["诊断：measles"], language="zh")
    assert llm.asked[0][-1].text.startswith("疾病列表：type 1 diabetes；type 2 diabetes；measles。")
    assert run.answer.choices == ("C",)


def test_a_disease_outside_a_closed_list_is_no_choice_and_named(graph: Store) -> None:
    run, _ = listed(graph, ["Diagnosis: German measles"])
    assert run.answer.choices == ()
    assert [c.name for c in run.answer.candidates] == ["German measles"]
    assert "outside the list" in run.answer.limits
    assert not run.answer.abstained


def test_a_closed_list_falls_back_on_nothing(graph: Store) -> None:
    with pytest.raises(ModelFailed, match="said nothing"):
        listed(graph, ["", "..."])


def test_a_reply_of_a_chinese_list_counts_by_the_whole_name() -> None:
    which = Question("患者有：烧心。最可能是下列哪种疾病？", (("A", "食管癌"), ("B", "胃炎")))
    replies = ["诊断：胃食管癌", "诊断：食管癌。", "患者应该是得了胃炎", "不是食管癌，而是胃炎。", "诊断：未知"]
    found = [listed_answer(reply, which) for reply in replies]
    assert [a.choices for a in found] == [(), ("A",), ("B",), ("B",), ()]
    assert [a.abstained for a in found] == [False] * 4 + [True]


def test_the_length_of_the_answer_is_a_setting(graph: Store) -> None:
    lengths: list[int] = []

    class Measured(Scripted):
        def __call__(self, messages: Any, /, *, max_tokens: int = 256) -> Any:
            lengths.append(max_tokens)
            return super().__call__(messages, max_tokens=max_tokens)

    toolkit = Toolkit(graph, Measured(["Diagnosis: measles"]), TrigramEncoder())
    methods.get("rlkgf-prompt").build(toolkit, RLKGFPromptSettings(answer_tokens=7))(WHICH)
    assert lengths == [7]


def test_what_was_trained_is_asked_as_it_was_trained(graph: Store) -> None:
    patient = Case("1", ("rash",), ("thirst",))
    asked = Question(patient_text(patient, "en"), LISTED)
    run, llm = listed(graph, ["measles"], question=asked, form="trained")
    assert [m.text for m in llm.asked[0]] == [case_question(patient, [name for _, name in LISTED], "en")]
    assert run.answer.choices == ("C",)
    with pytest.raises(BadInput, match="patients of data sets"):
        listed(graph, ["measles"], form="trained")
