"""The agent: tools called step by step by a model that says what it is told, here or behind a server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from json_server import JsonServer, Said, serving
from kgmed.errors import BadInput, ModelFailed, UnknownName
from kgmed.facts.tools import LONGEST, TOOLS, Toolbox, lines
from kgmed.graph.base import EdgeRow, NodeRow, Row, Source, TextRow
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.methods.agent import AgentSettings, agent
from kgmed.models.base import call_line
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Scripted
from kgmed.models.hosted import Anthropic, OpenAI
from kgmed.records import Evidence, Relation, Role, Run
from kgmed.registry import methods
from kgmed.toolkit import Toolkit

RELATIONS = {
    r.name: r
    for r in (
        Relation("treats", Role.TREATS), Relation("can cause", Role.ADVERSE), Relation("contains", Role.INGREDIENT),
        Relation("interacts with", Role.INTERACTS), Relation("must not be used in", Role.CONTRAINDICATED),
        Relation("shows", Role.FINDING), Relation("associated gene", Role.GENE),
    )
}  # fmt: skip
ROWS: tuple[Row, ...] = (
    *(NodeRow(n, n, "drug") for n in ("warfarin", "Warfarin Tablets", "ibuprofen", "Ibuprofen Tablets", "atropine",
                                      "Atropine Injection")),
    *(NodeRow(n, n, "disease") for n in ("glaucoma", "Marfan syndrome", "Twin disease")),
    *(NodeRow(n, n, "phenotype") for n in ("Tall stature", "Ectopia lentis", "Rash")),
    NodeRow("FBN1", "FBN1", "gene"),
    EdgeRow("Warfarin Tablets", "contains", "warfarin"),
    EdgeRow("Ibuprofen Tablets", "contains", "ibuprofen"),
    EdgeRow("Warfarin Tablets", "interacts with", "Ibuprofen Tablets"),
    EdgeRow("Atropine Injection", "contains", "atropine"),
    TextRow("Atropine Injection", "must not be used in", "people with glaucoma"),
    EdgeRow("Marfan syndrome", "shows", "Tall stature"),
    EdgeRow("Marfan syndrome", "shows", "Ectopia lentis"),
    EdgeRow("Twin disease", "shows", "Rash"),
    EdgeRow("Marfan syndrome", "associated gene", "FBN1"),
    *(EdgeRow("ibuprofen", "can cause", f"Effect number {i} that has quite a long name") for i in range(200)),
)  # fmt: skip
Q = "My mother takes warfarin. Which gene is it?"
GENE = call_line("facts", {"entity": "Marfan syndrome", "relation": "genes"})
TIE = call_line("facts", {"entity": "warfarin", "relation": "interactions", "other": "ibuprofen"})
FBN1 = "Marfan syndrome — associated gene → FBN1"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("agent")
    build(Source("small", lambda: iter(ROWS), language="en", relations=RELATIONS), folder / "small")
    return open_store(folder / "small")


def box(graph: Store, **more: Any) -> Toolbox:
    return Toolbox(Toolkit(graph, None, NgramEncoder()), **more)


def asked(graph: Store, llm: Any, question: str = Q, **settings: int) -> Run:
    return agent(Toolkit(graph, llm, NgramEncoder()), settings=AgentSettings(**settings))(question)


# --- The tools.


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("facts", {"entity": "warfarin", "relation": "interactions", "other": "ibuprofen"}, "interacts with"),
        ("facts", {"entity": "atropine", "relation": "contraindications", "other": "glaucoma"}, "glaucoma"),
        ("facts", {"entity": "Marfan syndrome", "relation": "genes"}, "FBN1"),
        ("facts", {"entity": "warfarin", "other": "ibuprofen"}, "interacts with"),
        ("diagnose", {"findings": ["Tall stature", "Ectopia lentis"]}, "Marfan syndrome"),
        ("paths", {"entity": "FBN1", "other": "Ectopia lentis"}, "Marfan syndrome"),
        ("text", {"entity": "Atropine Injection"}, "people with glaucoma"),
        ("find", {"name": "fbn1"}, "FBN1 | FBN1 | gene"),
    ],
)
def test_a_tool_finds_what_hangs_on_products_and_what_lies_between(
    graph: Store, tool: str, given: dict[str, Any], said: str
) -> None:
    assert said in lines(box(graph)(tool, given))[0]


@pytest.mark.parametrize(
    ("tool", "given", "kind", "said"),
    [
        ("fact", {}, UnknownName, "did you mean facts"),
        ("facts", {"relation": "genes"}, BadInput, "needs entity"),
        ("facts", {"name": "warfarin"}, BadInput, "not name"),
        ("facts", {"entity": 3, "relation": "genes"}, BadInput, "string"),
        ("facts", {"entity": "warfarin", "relation": "gene"}, UnknownName, "genes"),
        ("facts", {"entity": "tungsten", "relation": "genes"}, UnknownName, "tungsten"),
        ("diagnose", {"findings": ["tungsten"]}, UnknownName, "tungsten"),
    ],
)
def test_a_call_that_cannot_be_made_says_what_to_mend(
    graph: Store, tool: str, given: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        box(graph)(tool, given)


def test_a_reply_is_short_however_much_there_is(graph: Store) -> None:
    many = [Evidence("x" * 500, "text") for _ in range(100)]
    said = lines(many)
    assert len("\n".join(said)) <= LONGEST
    assert said[-1] == "and 93 more"
    everything = box(graph, keep=100)("facts", {"entity": "ibuprofen", "relation": "side_effects"})
    assert len("\n".join(lines(everything))) <= LONGEST


# --- The loop, with a model that writes its calls as text.


def test_what_the_model_keeps_is_what_it_answers_from_and_the_run_tells_the_way(graph: Store) -> None:
    llm = Scripted([f"Let me look.\n{TIE}\n{GENE}", call_line("done", {"facts": [2]}), "The gene is FBN1 [1]."])
    run = asked(graph, llm)
    assert [e.text for e in run.context.cited] == [FBN1]
    assert run.answer.citations == (1,)
    assert [n.partition(":")[0] for n in run.notes if "facts(" in n] == [
        "facts(entity=warfarin, relation=interactions, other=ibuprofen)",
        "facts(entity=Marfan syndrome, relation=genes)",
    ]
    told = llm.asked[1]
    assert [m.role for m in told[-4:]] == ["assistant", "user", "assistant", "user"]
    assert "[2] " + FBN1 in told[-1].text


def test_a_wrong_call_is_told_and_the_next_one_may_be_right(graph: Store) -> None:
    wrong = call_line("facts", {"entity": "Marfan syndrom", "relation": "gene"})
    llm = Scripted([wrong, GENE, call_line("done", {"facts": [1]}), "FBN1 [1]."])
    assert [e.text for e in asked(graph, llm).context.cited] == [FBN1]
    assert "did you mean genes" in llm.asked[1][-1].text


@pytest.mark.parametrize(("limits", "turns"), [({"turns": 2}, 2), ({"calls": 1}, 2), ({"turns": 6, "calls": 3}, 4)])
def test_a_model_that_never_ends_is_stopped_by_the_budget(graph: Store, limits: dict[str, int], turns: int) -> None:
    llm = Scripted([*[GENE] * turns, *["FBN1 [1]."] * 2])
    run = asked(graph, llm, Q, **limits)
    assert len([m for m in llm.asked if "done(" in m[0].text]) == turns
    assert FBN1 in [e.text for e in run.context.cited]


def test_facts_that_no_one_gathered_cannot_be_kept(graph: Store) -> None:
    llm = Scripted([GENE, call_line("done", {"facts": [7, -1, 1, 1, "x"]}), "FBN1 [1]."])
    assert [e.text for e in asked(graph, llm).context.cited] == [FBN1]


def test_a_model_that_fails_half_way_leaves_what_was_found(graph: Store) -> None:
    run = asked(graph, Scripted([GENE, ModelFailed("it broke"), "FBN1 [1]."]))
    assert [e.text for e in run.context.cited] == [FBN1]
    assert any("it broke" in line for line in run.failures)


def test_without_a_model_it_is_refused(graph: Store) -> None:
    with pytest.raises(BadInput, match="needs a language model"):
        methods.get("agent").build(Toolkit(graph, None, NgramEncoder()))


# --- The loop, with servers that know function calling.


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with serving() as state:
        yield state


KEY = {"KGMED_API_KEY": "sk-secret"}


def openai_said(text: str | None = None, *calls: tuple[str, dict[str, Any]]) -> Said:
    made = [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for i, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})
    choice = {"index": 0, "finish_reason": "tool_calls" if made else "stop", "message": message}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return Said({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                 "usage": usage})  # fmt: skip


def test_a_server_of_openai_s_kind_gets_functions_and_their_results(graph: Store, server: JsonServer) -> None:
    pytest.importorskip("openai")
    server.says = [
        openai_said(None, ("facts", {"entity": "Marfan syndrome", "relation": "genes"})),
        openai_said(None, ("done", {"facts": [1]})),
        openai_said("The gene is FBN1 [1]."),
    ]
    run = asked(graph, OpenAI("m", server.url, retries=0, environment=KEY))
    assert [e.text for e in run.context.cited] == [FBN1]
    first, second, answer = server.asked[:3]
    assert [t["function"]["name"] for t in first["tools"]] == [*(t.name for t in TOOLS), "done"]
    call, result = second["messages"][-2:]
    assert call["tool_calls"][0]["function"]["name"] == "facts"
    assert (result["role"], result["tool_call_id"]) == ("tool", call["tool_calls"][0]["id"])
    assert FBN1 in result["content"]
    assert "tools" not in answer


def test_a_server_that_refuses_functions_is_asked_in_plain_text(graph: Store, server: JsonServer) -> None:
    pytest.importorskip("openai")
    refused = {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice', "type": "BadRequestError"}}
    done = openai_said(call_line("done", {"facts": [1]}))
    server.says = [Said(refused, 400), openai_said(GENE), done, openai_said("The gene is FBN1 [1].")]
    run = asked(graph, OpenAI("m", server.url, retries=0, environment=KEY))
    assert [e.text for e in run.context.cited] == [FBN1]
    assert "tools" not in server.asked[1]
    assert [m["role"] for m in server.asked[2]["messages"][-2:]] == ["assistant", "user"]


def test_a_server_of_anthropic_s_kind_gets_tools_and_their_results(graph: Store, server: JsonServer) -> None:
    pytest.importorskip("anthropic")

    def said(*content: dict[str, Any]) -> Said:
        usage = {"input_tokens": 7, "output_tokens": 3}
        more = {"stop_reason": "tool_use", "stop_sequence": None, "usage": usage, "model": "m"}
        return Said({"id": "1", "type": "message", "role": "assistant", "content": list(content)} | more)

    def use(name: str, given: dict[str, Any]) -> dict[str, Any]:
        return {"type": "tool_use", "id": "toolu_9", "name": name, "input": given}

    server.says = [
        said({"type": "text", "text": "Looking."}, use("facts", {"entity": "Marfan syndrome", "relation": "genes"})),
        said(use("done", {"facts": [1]})),
        said({"type": "text", "text": "The gene is FBN1 [1]."}),
    ]
    run = asked(graph, Anthropic("m", server.url, retries=0, environment=KEY))
    assert [e.text for e in run.context.cited] == [FBN1]
    call, result = server.asked[1]["messages"][-2:]
    assert call["content"][0]["name"] == "facts"
    assert result["content"][0]["tool_use_id"] == call["content"][0]["id"]
    assert server.asked[0]["tools"][0]["input_schema"]["required"] == ["name"]


def test_replies_with_tools_are_kept_apart_from_those_without(tmp_path: Path, server: JsonServer) -> None:
    pytest.importorskip("openai")
    from kgmed.models.base import Message, offering
    from kgmed.models.named import CachedLLM

    server.says = [openai_said("plain"), openai_said(None, ("done", {"facts": []}))]
    kept = CachedLLM(OpenAI("m", server.url, retries=0, environment=KEY), tmp_path / "replies.sqlite")
    asking = [Message("user", "?")]
    assert kept(asking).text == "plain"
    with offering(TOOLS):
        assert kept(asking).text == call_line("done", {"facts": []})
    assert kept(asking).text == "plain"
