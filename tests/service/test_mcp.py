"""The official client of the Model Context Protocol: in this process, and over HTTP; see test_doors for stdio."""

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx2
import jsonschema
import mcp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.streamable_http import streamable_http_client

import served
from kgmed.errors import StoreError
from kgmed.graph.store.store import Store
from kgmed.service.app import ServiceSettings
from kgmed.service.guard import Keys
from kgmed.service.mcp import ShortLines, in_thread, mcp_server
from kgmed.service.uses import UseCases
from kgmed.session import Session
from served import LENS, LONG, QUESTION, Running, until


def with_client(ask: Callable[[Any], Awaitable[Any]], server: Any = None) -> Any:
    """What a client of the server gives; of one in this process where none is named."""

    async def talk() -> Any:
        place = server or mcp_server(served.cases_of(keep=False), in_thread)
        async with mcp.Client(place) as client:
            return await ask(client)

    return asyncio.run(talk())


def test_every_tool_is_read_only_and_says_what_it_gives() -> None:
    tools = with_client(lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools} == {"ask", "find", "facts", "text", "paths", "diagnose", "check"}
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
        assert tool.description
        assert tool.output_schema["type"] == "object" or "$ref" in tool.output_schema


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("ask", {"question": QUESTION}),
        ("ask", {"question": "Which has ectopia lentis?", "options": {"A": "Weill syndrome", "B": "Twin disease"}}),
        ("ask", {"frame": {"intent": "symptoms", "subject": ["Marfan syndrome"]}}),
        ("find", {"name": "arachnodactily"}),
        ("facts", {"entity": "Marfan syndrome", "graph": "hpo", "relation": "symptoms"}),
        ("facts", {"entity": "秋水仙碱", "relation": "helps", "other": "痛风"}),
        ("text", {"entity": LONG, "graph": "hpo"}),
        ("paths", {"entity": LONG, "other": LENS, "graph": "hpo"}),
        ("diagnose", {"text": "spider fingers", "sex": "male"}),
        ("diagnose", {"findings": ["spider fingers", f"-{LENS}"]}),
        ("check", {"text": "Marfan syndrome shows arachnodactyly. It is caused by tungsten."}),
    ],
)
def test_what_a_tool_gives_fits_its_schema_and_is_told_as_text(tool: str, given: dict[str, Any]) -> None:
    async def both(client: Any) -> Any:
        return await client.list_tools(), await client.call_tool(tool, given)

    listed, done = with_client(both)
    assert not done.is_error, done.content
    schema = next(t.output_schema for t in listed.tools if t.name == tool)
    jsonschema.validate(done.structured_content, schema)
    assert done.content[0].text
    assert max(len(done.content[0].text), len(json.dumps(done.structured_content, ensure_ascii=False))) <= 4_000


def test_the_text_of_an_answer_is_the_answer_with_its_evidence_and_no_json() -> None:
    text = with_client(lambda c: c.call_tool("ask", {"question": QUESTION})).content[0].text
    assert "Arachnodactyly" in text
    assert "PMID:1" in text
    assert len(text) < 2_000


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("facts", {"entity": "arachnodactyl signs", "graph": "hpo"}, "no entity of the graph is called"),
        ("facts", {"entity": LONG, "relation": "symptom"}, "did you mean symptoms"),
        ("ask", {"frame": {"intent": "symptom"}}, "did you mean symptoms"),
        ("ask", {"question": QUESTION, "graph": "hpoo"}, "did you mean hpo"),
        ("ask", {"question": QUESTION, "method": "fact"}, "did you mean facts"),
        ("ask", {"question": " "}, "question:"),
        ("diagnose", {"findings": ["HP:1"]}, "findings.0"),
        ("diagnose", {"text": "tungsten"}, "no finding of hpo"),
        ("diagnose", {"findings": [LONG], "age": "4", "sex": "x"}, "sex:"),
    ],
)
def test_the_model_is_told_what_to_mend(tool: str, given: dict[str, Any], said: str) -> None:
    done = with_client(lambda client: client.call_tool(tool, given))
    assert done.is_error
    assert said in done.content[0].text


def test_graphs_entities_and_runs_are_resources(service: Running) -> None:
    async def read(client: Any) -> Any:
        asked = await client.call_tool("ask", {"question": QUESTION})
        names = [
            "kgmed://graphs",
            f"kgmed://graphs/hpo/entities/{LONG}",
            f"kgmed://runs/{asked.structured_content['id']}",
        ]
        return asked.structured_content, [json.loads((await client.read_resource(n)).contents[0].text) for n in names]

    run, (graphs, entity, kept) = with_client(read, f"{service.url}/mcp")
    assert {g["name"] for g in graphs} == {"auto", "cmekg", "hpo"}
    assert entity["entity"]["description"] == "Long slender fingers."
    assert kept["answer"]["text"] in run["answer"]
    assert [e["text"] for e in kept["context"]["cited"]] == [f["text"] for f in run["facts"]]


@pytest.mark.parametrize(
    "uri", ["kgmed://runs/last", "kgmed://graphs/nope/entities/x", "kgmed://graphs/..%2fhpo/entities/x"]
)
def test_a_resource_that_is_not_there_is_an_error(uri: str) -> None:
    async def read(client: Any) -> None:
        with pytest.raises(mcp.MCPError):
            await client.read_resource(uri)

    with_client(read)


def test_a_damaged_file_is_told_and_not_hidden() -> None:
    def broken(name: str) -> Any:
        raise StoreError("the disk is damaged")

    cases = served.cases_of(keep=False)
    server = mcp_server(replace(cases, session=replace(cases.session, open_graph=broken)), in_thread)
    done = with_client(lambda client: client.call_tool("ask", {"question": QUESTION}), server)
    assert done.is_error
    assert "damaged" in done.content[0].text


BEGUN = [
    {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]  # fmt: skip
PING = {"jsonrpc": "2.0", "id": 77, "method": "ping"}


@pytest.mark.parametrize(
    "line",
    [b"{no json", b"[" * 100_000, b'{"a":' * 50_000, bytes(range(256)).replace(b"\n", b""), b"", b"x" * (40 << 20)],
    ids=["malformed", "a deep list", "deep objects", "bytes", "nothing", "40 MB"],
)
def test_a_line_that_is_no_message_is_passed_over_and_the_next_one_answered(line: bytes) -> None:
    given = b"\n".join([*(json.dumps(m).encode() for m in BEGUN), line, json.dumps(PING).encode(), b""])
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-m", "kgmed", "mcp"], stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(given)
        server.stdin.flush()  # at its end what is not answered yet is given up
        said = [json.loads(server.stdout.readline())["id"] for _ in range(2)]
        rest, complaints = server.communicate()
    assert said == [0, 77]
    assert (server.returncode, rest, complaints) == (0, b"", b"")


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.integers(1, 12))
def test_of_a_line_so_many_bytes_are_given_however_they_arrive(lines: list[bytes], at_once: int) -> None:
    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(min(size or 1, at_once))

    source = Slow(b"".join(line + b"\n" for line in lines))
    assert io.BufferedReader(ShortLines(source, 10)).read() == b"".join(line[:10] + b"\n" for line in lines)


def test_who_closes_standard_input_is_told_in_a_line() -> None:
    code = "import sys; sys.stdin = None; from kgmed.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "mcp"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "kgmed: the Model Context Protocol needs standard input and output, and one is closed; open both\n"
    )


def test_who_leaves_in_the_middle_ends_it_without_a_traceback() -> None:
    words = [sys.executable, "-m", "kgmed", "mcp"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as made:
        assert made.stdin is not None
        assert made.stdout is not None
        made.stdout.close()
        _, said = made.communicate(b"\n".join(json.dumps(m).encode() for m in [*BEGUN, PING, {}]))
    assert (made.returncode, said) == (0, b"")


def test_over_http_a_key_is_needed_where_there_is_one(tmp_path: Any) -> None:
    keys = Keys(tmp_path / "keys.json")
    key = keys.add("ann")

    async def talk(url: str, headers: dict[str, str]) -> Any:
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            mcp.Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return await client.call_tool("ask", {"question": QUESTION})

    with served.running(served.cases_of(keep=False), ServiceSettings(keys=str(keys.path))) as service:
        assert not asyncio.run(talk(f"{service.url}/mcp", {"x-api-key": key})).is_error
        with pytest.raises(BaseException) as refused:  # noqa: PT011 - the client wraps it in groups
            asyncio.run(talk(f"{service.url}/mcp", {}))
        assert not isinstance(refused.value, AssertionError)
        assert until(lambda: '"status": 401' in "".join(service.lines))


# --- An agent's script on the packaged graphs: the questions that a measurement found unanswerable by looking around.


THREE = [  # tool, arguments, what its first line says
    ("facts", {"entity": "华法林", "relation": "interactions", "other": "布洛芬", "graph": "cmekg"}, "吲哚美辛"),
    ("facts", {"entity": "阿托品", "relation": "contraindications", "other": "青光眼", "graph": "cmekg"}, "禁"),
    ("diagnose", {"findings": ["Arachnodactyly", "Ectopia lentis", "Aortic root aneurysm"]}, "Marfan syndrome"),
    ("facts", {"entity": "Marfan syndrome", "relation": "genes", "graph": "hpo"}, "FBN1"),
    ("facts", {"entity": "华法林", "relation": "interactions", "graph": "cmekg"}, "华法林"),  # dozens of products
]


@pytest.mark.starter
def test_an_agent_finds_what_hangs_on_products_ingredients_and_findings(hpo: Store, cmekg: Store) -> None:
    stores, languages = {"hpo": hpo, "cmekg": cmekg}, {"hpo": "en", "cmekg": "zh"}
    cases = UseCases(Session(("hpo", "cmekg"), stores.__getitem__, languages), ("hpo", "cmekg"))

    async def script(client: Any) -> list[Any]:
        return [await client.call_tool(tool, asked) for tool, asked, _ in THREE]

    for done, (tool, asked, said) in zip(with_client(script, mcp_server(cases, in_thread)), THREE, strict=True):
        text = done.content[0].text
        assert not done.is_error, (tool, asked, text)
        assert said in text.splitlines()[0], (tool, asked, text)
        assert len(text) <= 4_000
        assert len(json.dumps(done.structured_content, ensure_ascii=False)) <= 4_000
        assert done.structured_content["facts"][0]["source"]


@pytest.mark.starter
def test_an_agent_s_own_answer_is_held_against_the_graphs(hpo: Store) -> None:
    cases = UseCases(Session(("hpo",), {"hpo": hpo}.__getitem__, {"hpo": "en"}), ("hpo",))
    said = "Marfan syndrome can show Ectopia lentis. Marfan syndrome can show Rickets."
    found = with_client(lambda c: c.call_tool("check", {"text": said}), mcp_server(cases, in_thread)).structured_content
    assert [v["label"] for v in found["verdicts"]] == ["supported", "unsupported"]
    (number,) = found["verdicts"][0]["facts"]
    assert "Ectopia lentis" in found["facts"][number - 1]["text"]
