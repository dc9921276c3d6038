"""Programs that people have, each the real package, against a real service on the loopback interface.

Those of the extra `clients` are skipped where they are not installed; those that need other releases of packages than
we do lie in folders of their own, KGMED_CLIENTS/PACKAGE (pip install --target), and run in processes of their own.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from pydantic import BaseModel

import served
from served import QUESTION, Running, Slow

SIGN = "Arachnodactyly"


class Signs(BaseModel):
    """What a caller wants to have."""

    signs: list[str]


@pytest.fixture(autouse=True)
def opened(service: Running) -> None:
    """Wait until the graphs of the service are opened: no client here asks twice."""
    while httpx2.get(f"{service.url}/health/ready").status_code != 200:
        time.sleep(0.1)


@pytest.fixture(scope="module")
def shaping(home: Path) -> Iterator[Running]:
    """A service with a model that puts everything into the caller's schema."""
    llm = Slow(words=('{"signs": ', '["ectopia lentis"]}'))
    with served.running(served.cases_of(llm=llm)) as made:
        yield made


def test_openai_asks_streams_offers_tools_and_parses(service: Running, shaping: Running) -> None:
    told: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: list[Any] = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="none", max_retries=0) as client:
        given: dict[str, Any] = {"model": "kgmed/hpo/facts", "messages": told}
        assert SIGN in (client.chat.completions.create(**given, tools=tools).choices[0].message.content or "")
        with client.chat.completions.stream(**given) as stream:
            assert SIGN in (stream.get_final_completion().choices[0].message.content or "")
        with pytest.raises(openai.BadRequestError, match="needs a language model"):
            client.chat.completions.parse(**given, response_format=Signs)
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model="kgmed/hpo/facts", input=QUESTION)
    with openai.OpenAI(base_url=f"{shaping.url}/v1", api_key="none", max_retries=0) as client:
        said = client.chat.completions.parse(model="kgmed/hpo/facts", messages=told, response_format=Signs)
    assert said.choices[0].message.parsed == Signs(signs=["ectopia lentis"])


def test_langchain_asks_streams_and_gets_a_structure(service: Running, shaping: Running) -> None:
    made = pytest.importorskip("langchain_openai", reason='pip install "kgmed[clients]"')
    given: dict[str, Any] = {"model": "kgmed/hpo/facts", "api_key": "none", "max_retries": 0}
    plain = made.ChatOpenAI(base_url=f"{service.url}/v1", temperature=0, **given)
    assert SIGN in plain.invoke(QUESTION).content
    assert SIGN in "".join(piece.content for piece in plain.stream(QUESTION))
    shaped = made.ChatOpenAI(base_url=f"{shaping.url}/v1", **given).with_structured_output(Signs)
    assert shaped.invoke(QUESTION) == Signs(signs=["ectopia lentis"])
    vectors = made.OpenAIEmbeddings(
        base_url=f"{service.url}/v1", model="kgmed/encoder", api_key="none", check_embedding_ctx_length=False
    ).embed_documents(["gout", "Marfan syndrome"])
    assert len(vectors) == 2
    assert len(vectors[0]) == len(vectors[1]) > 8


def test_litellm_asks_and_streams(service: Running) -> None:
    """In a process of its own: it asks for a list of prices and for much of the interpreter when it is read in."""
    script = (
        "import json, sys, litellm\n"
        "given = dict(model='openai/kgmed/hpo/facts', api_base=sys.argv[1], api_key='none', num_retries=0,\n"
        "             messages=[{'role': 'user', 'content': sys.argv[2]}])\n"
        "whole = litellm.completion(**given, seed=1, temperature=0).choices[0].message.content\n"
        "pieces = [p.choices[0].delta.content or '' for p in litellm.completion(**given, stream=True)]\n"
        "print(json.dumps([whole, ''.join(pieces)]))"
    )
    environment = {"PYTHONPATH": own_folder("litellm"), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    whole, pieces = json.loads(in_process(script, f"{service.url}/v1", QUESTION, **environment).splitlines()[-1])
    assert SIGN in whole
    assert pieces == whole


def test_llama_index_asks_and_streams(service: Running) -> None:
    script = (
        "import json, sys\n"
        "from llama_index.core.llms import ChatMessage\n"
        "from llama_index.llms.openai_like import OpenAILike\n"
        "llm = OpenAILike(model='kgmed/hpo/facts', api_base=sys.argv[1], api_key='none', is_chat_model=True,\n"
        "                 max_retries=0)\n"
        "told = [ChatMessage(role='user', content=sys.argv[2])]\n"
        "print(json.dumps([llm.chat(told).message.content, ''.join(p.delta or '' for p in llm.stream_chat(told))]))"
    )
    folder = own_folder("llama-index-llms-openai-like")
    whole, pieces = json.loads(in_process(script, f"{service.url}/v1", QUESTION, PYTHONPATH=folder).splitlines()[-1])
    assert SIGN in whole
    assert pieces == whole


def test_llm_of_the_command_line_asks(service: Running, tmp_path: Path) -> None:
    pytest.importorskip("llm", reason='pip install "kgmed[clients]"')
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: kgmed\n  model_name: kgmed/hpo/facts\n  api_base: {service.url}/v1\n", encoding="utf-8"
    )
    script = "import llm, sys; print(llm.get_model('kgmed').prompt(sys.argv[1], key='none', stream=False).text())"
    assert SIGN in in_process(script, QUESTION, LLM_USER_PATH=str(tmp_path))


def test_the_mcp_client_asks_over_http(service: Running) -> None:
    import mcp

    async def ask() -> Any:
        async with mcp.Client(f"{service.url}/mcp") as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools, await client.call_tool("ask", {"question": QUESTION})

    tools, said = asyncio.run(ask())
    assert "ask" in tools
    assert SIGN in said.content[0].text


def own_folder(package: str) -> str:
    """The folder in which a package lies with all that it needs."""
    folder = Path(os.environ.get("KGMED_CLIENTS", "/nonexistent")) / package
    if not folder.is_dir():
        pytest.skip(f"no {folder}; pip install --target it {package}, and name the folder above it by KGMED_CLIENTS")
    return str(folder)


def in_process(script: str, *words: str, **environment: str) -> str:
    """What a script prints in a process of its own."""
    clean = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *words],
        env={**clean, **environment}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
