"""No path to an answer offers a medicine that is known not to be for who asks: every kind of question and method."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kgmed.config import Config
from kgmed.facts.tools import Toolbox
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.graph.library import build_source
from kgmed.models.base import Message
from kgmed.records import VERDICT, Relation, Role, Run
from kgmed.registry import methods
from kgmed.session import Conversation, Session, open_session
from kgmed.toolkit import Toolkit
from obliging import GOOD, Obliging


def node(english: str, chinese: str, kind: str) -> NodeRow:
    return NodeRow(english, english, kind, aliases=(Alias(chinese, Scope.TRANSLATION),))


DRUG = ("isotretinoin", "异维A酸")
ROWS: tuple[Row, ...] = (
    node("acne", "痤疮", "disease"),
    node("depression", "抑郁症", "disease"),
    node("pimples", "丘疹", "symptom"),
    node("oily skin", "皮肤油腻", "symptom"),
    node("headache", "头痛", "symptom"),
    node(*DRUG, "drug"),
    node("benzoyl peroxide", "过氧化苯甲酰", "drug"),
    node("tetracycline", "四环素", "drug"),
    node("soy", "大豆", "food"),
    EdgeRow("isotretinoin", "treats", "acne"),
    EdgeRow("benzoyl peroxide", "treats", "acne"),
    EdgeRow("acne", "has_symptom", "pimples"),
    EdgeRow("acne", "has_symptom", "oily skin"),
    EdgeRow("isotretinoin", "must_not", "depression"),
    EdgeRow("isotretinoin", "causes", "headache"),
    TextRow("isotretinoin", "must_not", "Not in pregnancy"),
    TextRow("isotretinoin", "must_not", "Not together with tetracycline"),
    TextRow("isotretinoin", "must_not", "Not in people allergic to soy"),
    TextRow("isotretinoin", "must_not", "Not in children under 12 years"),
    TextRow("isotretinoin", "dose", "20 mg once a day"),
    TextRow("benzoyl peroxide", "dose", "a thin layer once a day"),
)
ROLES = {
    "treats": Role.TREATS,
    "must_not": Role.CONTRAINDICATED,
    "has_symptom": Role.FINDING,
    "causes": Role.ADVERSE,
    "dose": Role.DOSAGE,
}
PATIENTS = (
    ("I am pregnant.", "我怀孕了。"),
    ("My daughter is 4 years old.", "我女儿4岁。"),
    ("I have depression.", "我有抑郁症。"),
    ("I take tetracycline.", "我在吃四环素。"),
    ("I am allergic to soy.", "我对大豆过敏。"),
)
ASKED = (  # of each kind of answer that can name a medicine
    ("What helps against acne?", "痤疮吃什么药？"),
    ("How is acne treated?", "痤疮怎么治疗？"),
    ("How much isotretinoin is taken?", "异维A酸吃多少？"),
    ("Can isotretinoin be taken for acne?", "能吃异维A酸治痤疮吗？"),
    ("Does isotretinoin help against acne?", "异维A酸对痤疮有用吗？"),
    ("Is isotretinoin safe?", "异维A酸安全吗？"),
    ("Is isotretinoin or benzoyl peroxide better for acne?", "异维A酸和过氧化苯甲酰哪个治痤疮好？"),
    ("What is isotretinoin used for?", "异维A酸治什么？"),
    ("What is isotretinoin?", "异维A酸是什么药？"),
    ("What are the side effects of isotretinoin?", "异维A酸有什么副作用？"),
    ("There are pimples and oily skin. What is it and what helps?", "有丘疹、皮肤油腻，是什么病，吃什么药？"),
    ("Which medicines are there for acne, and how much is taken?", "痤疮有哪些药，用量多少？"),
)
BARRED = ("Not suitable for this patient", "不适合该患者")
FORBIDS = ("no", "harm", "interacts")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGMED_HOME", str(tmp_path_factory.mktemp("gate")))
        relations = {name: Relation(name, role) for name, role in ROLES.items()}
        build_source("gate", Source("gate", lambda: ROWS, "1", "free", language="en", relations=relations))
        yield opened("auto")


def opened(method: str) -> Session:
    return open_session(Config(graph="gate", encoder="ngrams", method=method))


def offered(run: Run) -> str:
    """In which way an answer offers the medicine; "" = in none."""
    text = run.answer.text
    lines = [line for line in text.splitlines() if any(name in line for name in DRUG)]
    cited = [e for e in run.context.cited if any(x.id == DRUG[0] for x in e.about) or any(d in e.text for d in DRUG)]
    given = (Role.TREATS, Role.DOSAGE)
    rows = [(e, t) for e in run.context.cited if e.kind not in (VERDICT, "warning") for t in e.triples]
    listed = [t for e, t in rows if t.relation.role in given and t.subject.id == DRUG[0] and t.subject not in e.about]
    said = any(b in line for line in lines for b in BARRED) or any(e.kind == VERDICT and e.id in FORBIDS for e in cited)
    against = [e for e in cited if e.triples and e.triples[0].relation.role is Role.CONTRAINDICATED]
    warned = said or against or any(e.kind == "warning" for e in cited)
    if listed and run.answer.reader == "facts":
        return "listed"
    if lines and lines[0].startswith(("Yes", "可以", "能：", "有用")):
        return "yes comes first"
    return "unsaid" if lines and not (said if run.answer.reader != "facts" else warned) else ""


@pytest.mark.parametrize("question", ASKED)
def test_no_kind_of_question_is_answered_with_it(session: Session, question: tuple[str, str]) -> None:
    asked = [
        t for p in PATIENTS for who, what in zip(p, question, strict=True) for t in (f"{who} {what}", f"{what} {who}")
    ]
    assert {text: why for text in asked if (why := offered(session.ask(text)))} == {}


class Offering(Obliging):
    """A model whose answers offer it."""

    def reply(self, step: str, messages: tuple[Message, ...]) -> str:  # type: ignore[override]
        said = super().reply(step, messages)
        for words in sorted({g for g in GOOD.values() if "t is so" in g or g == "so [1]"}, key=len, reverse=True):
            said = said.replace(words, "Take isotretinoin 异维A酸 [1].")
        return said


@pytest.mark.parametrize("name", methods.names())
def test_no_method_leaves_a_models_offer_alone(session: Session, name: str) -> None:
    asking = replace(opened(name), llm=Offering())
    for text in ("I am pregnant. What helps against acne?", "我怀孕了。痤疮吃什么药？"):
        said = asking.ask(text).answer.text
        assert not any(d in said for d in DRUG) or any(b in said for b in BARRED), said


@pytest.mark.parametrize("turns", [
    ("What helps against acne?", "And in pregnancy?"),
    ("I am pregnant. What are the signs of acne?", "What helps against it?"),
    ("I am pregnant.", "How is acne treated?"),
    ("I am allergic to soy. What helps against acne?", "What is headache?", "What is the dose of isotretinoin?"),
    ("我怀孕了，痤疮有什么症状？", "吃什么药？"),
    ("痤疮吃什么药？", "孕妇呢？"),
    ("我对大豆过敏，痤疮吃什么药？", "异维A酸怎么吃？"),
])  # fmt: skip
def test_a_talk_does_not_forget_whom_it_is_about(session: Session, turns: tuple[str, ...]) -> None:
    talk = Conversation(session)
    last = [talk.ask(text) for text in turns][-1]
    assert offered(last) == ""


def test_of_somebody_else_nothing_is_remembered(session: Session) -> None:
    talk = Conversation(session)
    talk.ask("I am pregnant. What helps against acne?")
    assert talk.ask("My husband has acne, what helps?").query.frame.patient.groups == ()


@pytest.mark.parametrize(("language", "illness", "other"), [("en", "acne", "depression"), ("zh", "痤疮", "抑郁症")])
def test_the_tools_offer_nothing_that_is_forbidden_in_the_other_thing(
    session: Session, language: str, illness: str, other: str
) -> None:
    toolkit = session.toolkit("gate", language)
    assert isinstance(toolkit, Toolkit)
    box = Toolbox(toolkit, language)
    asked = box.frame("treatment", [illness], findings=[other])
    for pieces in (box.facts(illness, "treatment", other), box.answered(asked)[1]):
        listed = {
            t.subject.id for e in pieces if e.kind != "warning" for t in e.triples if t.relation.role is Role.TREATS
        }
        assert listed == {"benzoyl peroxide"}
        assert any(e.kind == "warning" for e in pieces)


# --- Every door: what a patient is told of over MCP, REST and the OpenAI interface, and what is looked up there.

GIVEN: tuple[dict[str, Any], ...] = (
    {"groups": ["pregnancy"]},
    {"age": "4"},
    {"age": "18m", "sex": "female"},
    {"illnesses": ["depression"]},
    {"takes": ["tetracycline"]},
    {"allergies": ["soy"]},
)
HELPS = {"intent": "treatment", "subject": ["acne"]}
MCP_DOORS: tuple[tuple[str, dict[str, Any]], ...] = (  # what names a medicine, and where the patient stands
    ("facts", {"entity": "acne", "relation": "treatment"}),
    ("facts", {"entity": "isotretinoin", "relation": "dosage"}),
    ("facts", {"entity": "isotretinoin", "relation": "helps", "other": "acne"}),
    ("ask", {"frame": HELPS}),
    ("ask", {"frame": {"intent": "dosage", "subject": ["isotretinoin"]}}),
    ("ask", {"frame": {"intent": "safety", "subject": ["isotretinoin"], "object": ["acne"]}}),
    ("check", {"text": "Isotretinoin treats acne."}),
)


def over_mcp(session: Session, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """What a client in this process is told."""
    mcp = pytest.importorskip("mcp")
    from kgmed.service.mcp import in_thread, mcp_server
    from kgmed.service.uses import UseCases

    async def talk() -> list[Any]:
        async with mcp.Client(mcp_server(UseCases(session, ("gate",)), in_thread)) as client:
            return [await client.call_tool(tool, {**given, "graph": "gate"}) for tool, given in calls]

    return asyncio.run(talk())


def test_a_patient_who_is_given_over_mcp_passes_the_same_gate(session: Session) -> None:
    def asked(tool: str, given: dict[str, Any], patient: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        framed = "frame" in given
        return tool, {"frame": {**given["frame"], "patient": patient}} if framed else {**given, "patient": patient}

    calls = [asked(tool, given, patient) for patient in GIVEN for tool, given in MCP_DOORS]
    for call, done in zip(calls, over_mcp(session, calls), strict=True):
        said = done.content[0].text
        assert not done.is_error, (call, said)
        assert any(b in said for b in (*BARRED, "must_not", "not for:")), (call, said)
        if call[0] != "check":
            first, *_ = rows = [line for line in said.splitlines() if DRUG[0] in line.lower()]
            assert "treats" not in first, (call, said)
            assert not [row for row in rows if "← treats" in row or " mg" in row], (call, said)


def test_a_patient_whom_a_question_tells_of_is_known_to_every_door_that_answers_it(session: Session) -> None:
    openai = pytest.importorskip("kgmed.service.openai") and pytest.importorskip("fastapi.testclient")
    from kgmed.service.app import make_app
    from kgmed.service.uses import UseCases

    body = {"role": "user", "content": "I am pregnant. What helps against acne?"}
    calls = [
        ("ask", {"question": body["content"]}),
        ("check", {"text": "Take isotretinoin.", "question": body["content"]}),
    ]
    said = [done.content[0].text for done in over_mcp(session, calls)]
    with openai.TestClient(make_app(UseCases(session, ("gate",))), base_url="http://localhost") as client:
        rest = client.post("/v1/ask", json={"question": body["content"]}).json()
        chat = client.post("/v1/chat/completions", json={"model": "kgmed/gate/facts", "messages": [body]}).json()
        page = client.get("/v1/graphs/gate/entities/isotretinoin").json()
    said += [rest["answer"]["text"], chat["choices"][0]["message"]["content"]]
    for text in said:
        assert any(b in text for b in BARRED), text
    roles = [(t["head"]["id"], t["relation"]["role"]) for t in (*page["neighbours"], *page["attributes"])]
    assert roles.count((DRUG[0], "contraindicated")) == 5, page
