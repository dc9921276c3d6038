"""A service beside LightRAG's server: the same graph, the same questions, in the same run.

    python bench/serve_peer.py --python PEER/bin/python --tokens FOLDER [--diseases 300] [--seconds 5]

`PEER` is an environment of its own with `lightrag-hku[api]`. `FOLDER` holds tiktoken's file of o200k_base under the
name that its cache gives it; where its own address cannot be reached the wheel of `litellm` has it.

Both serve the findings of the same diseases of HPO, and are asked for the signs of each, without a language model: of
LightRAG `POST /query/data` in the mode "local" with the disease as its keyword, which gives entities and relations out
of its vectors and its graph and asks no model; of kgmed `POST /v1/ask`, which finds the disease in the question and
answers. Both embed by kgmed's encoder, which LightRAG asks for over HTTP in this process. `right` is the share of
questions of whose disease at least one finding is in the reply.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
from _figures import keep
from serve import Talk, free_port, memory, serving, spread, talked, talking

from kgmed.graph import library
from kgmed.graph.base import EdgeRow, NodeRow, Row, Source
from kgmed.graph.formats.obo import KINDS, RELATIONS
from kgmed.models.base import Encoder
from kgmed.records import Role
from kgmed.toolkit import default_encoder

CLIENTS = (1, 16)
Facts = dict[str, list[str]]  # a disease and the names of its findings

# What the other's environment runs to fill its stores: a folder, and the rows as JSON on standard input.
_FILL = """
import asyncio, json, os, sys
from functools import partial
import numpy as np
from lightrag import LightRAG
from lightrag.llm.openai import openai_embed
from lightrag.utils import EmbeddingFunc

async def none(*_, **__):
    raise RuntimeError("a model was asked")

async def main(folder, host):
    embed = partial(openai_embed.func, model="kgmed", base_url=host, api_key="none")
    rag = LightRAG(working_dir=folder, llm_model_func=none,
                   embedding_func=EmbeddingFunc(embedding_dim=512, max_token_size=8192, func=embed))
    await rag.initialize_storages()
    await rag.ainsert_custom_kg(json.load(sys.stdin))
    await rag.finalize_storages()

asyncio.run(main(*sys.argv[1:]))
"""


def main() -> None:
    """Print both, and the ratio."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", required=True, help="of an environment with lightrag-hku[api]")
    options.add_argument("--tokens", required=True, help="TIKTOKEN_CACHE_DIR of that environment")
    options.add_argument("--diseases", type=int, default=300)
    options.add_argument("--seconds", type=float, default=5.0, help="of each number of clients")
    args = options.parse_args()
    rows, facts = some_of_hpo(args.diseases)
    print(f"{len(facts)} diseases, {sum(map(len, facts.values())):,} findings of HPO")
    with tempfile.TemporaryDirectory() as scratch, embedding() as host:
        with lightrag(args, Path(scratch), host, facts) as (port, pids):
            theirs = [measured("LightRAG", port, pids, facts, n, args.seconds) for n in CLIENTS]
        os.environ["KGMED_HOME"] = scratch
        relations = {relation.name: relation for relation in RELATIONS}
        library.build_source("hpo", Source("hpo", lambda: rows, "1", language="en", relations=relations, kinds=KINDS))
        with serving(["--graph", "hpo", "--no-log"]) as (port, pids):
            ours = [measured("kgmed", port, pids, facts, n, args.seconds) for n in CLIENTS]
    for clients, one, other in zip(CLIENTS, ours, theirs, strict=True):
        print(f"{clients} clients: kgmed answers {one / other:.1f} times as many a second")


def some_of_hpo(count: int) -> tuple[list[Row], Facts]:
    """The rows of some diseases with their findings, and the same by name."""
    store = library.open_graph("hpo")
    rng = random.Random(0)
    facts: Facts = {}
    rows: list[Row] = []
    diseases = [node for node in store.of_kind("disease").tolist() if store.at(node).id.startswith("OMIM:")]
    for node in rng.sample(diseases, len(diseases)):
        disease = store.at(node)
        edges = store.incident(node, limit=64, roles=[Role.FINDING])
        found = {t.tail.id: t.tail for t in store.triples(edges) if t.head.id == disease.id}
        if len(found) >= 3 and disease.name not in facts:
            facts[disease.name] = [e.name for e in found.values()]
            rows += [NodeRow(disease.id, disease.name, "disease")]
            rows += [NodeRow(e.id, e.name, "phenotype") for e in found.values()]
            rows += [EdgeRow(disease.id, "has_phenotype", e.id) for e in found.values()]
        if len(facts) == count:
            break
    nodes = {row.key: row for row in rows if isinstance(row, NodeRow)}
    return [*nodes.values(), *(row for row in rows if isinstance(row, EdgeRow))], facts


# --- LightRAG, and the embeddings that it asks for.


@contextmanager
def embedding() -> Iterator[str]:
    """The address of an interface of OpenAI that embeds by kgmed's encoder, and has no other door."""
    encoder: Encoder = default_encoder()

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            given = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            rows = [
                {"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(encoder(given))
            ]
            said = {"object": "list", "data": rows, "model": "kgmed", "usage": {"prompt_tokens": 0, "total_tokens": 0}}
            data = json.dumps(said).encode()
            self.send_response(200 if self.path.endswith("/embeddings") else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is said of requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@contextmanager
def lightrag(args: argparse.Namespace, folder: Path, host: str, facts: Facts) -> Iterator[tuple[int, list[int]]]:
    """The port of a server of LightRAG on the same facts, and its processes."""
    port = free_port()
    given = {
        **os.environ, "TIKTOKEN_CACHE_DIR": args.tokens, "WORKING_DIR": str(folder / "rag"), "INPUT_DIR": str(folder),
        "HOST": "127.0.0.1", "PORT": str(port), "LLM_BINDING": "openai", "LLM_BINDING_HOST": host, "LLM_MODEL": "none",
        "LLM_BINDING_API_KEY": "none", "EMBEDDING_BINDING": "openai", "EMBEDDING_BINDING_HOST": host,
        "OPENAI_API_KEY": "none", "EMBEDDING_BINDING_API_KEY": "none",
        "EMBEDDING_MODEL": "kgmed", "EMBEDDING_DIM": "512", "LOG_LEVEL": "ERROR",
    }  # fmt: skip
    given.pop("PYTHONPATH", None)
    (folder / "rag").mkdir()
    begin = time.perf_counter()
    subprocess.run([args.python, "-c", _FILL, folder / "rag", host], input=json.dumps(custom(facts)), text=True,
                   check=True, env=given, stdout=subprocess.DEVNULL, cwd=folder)  # fmt: skip
    print(f"LightRAG: filled in {time.perf_counter() - begin:.1f} s")
    command = [str(Path(args.python).parent / "lightrag-server")]
    with subprocess.Popen(
        command, env=given, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            _wait(f"http://127.0.0.1:{port}/health", server)
            yield port, [p.pid for p in (psutil.Process(server.pid), *psutil.Process(server.pid).children(True))]
        finally:
            server.terminate()


def _wait(url: str, server: "subprocess.Popen[bytes]") -> None:
    """Until it answers."""
    for _ in range(600):
        if server.poll() is not None:
            raise SystemExit("LightRAG's server has ended")
        try:
            if urlopen(url).status == 200:
                return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("LightRAG's server does not answer")


def custom(facts: Facts) -> dict[str, Any]:
    """The facts as LightRAG takes them."""
    findings = dict.fromkeys(name for names in facts.values() for name in names)
    chunks = [{"content": f"{d} has {', '.join(n)}.", "source_id": d, "file_path": "hpo"} for d, n in facts.items()]
    entities = [
        *({"entity_name": d, "entity_type": "disease", "description": d, "source_id": d} for d in facts),
        *({"entity_name": n, "entity_type": "finding", "description": n, "source_id": "hpo"} for n in findings),
    ]
    relations = [
        {"src_id": d, "tgt_id": n, "description": f"{d} has {n}", "keywords": "finding", "weight": 1.0, "source_id": d}
        for d, names in facts.items() for n in dict.fromkeys(names) if n != d  # it refuses loops
    ]  # fmt: skip
    return {"chunks": chunks, "entities": entities, "relationships": relations}


# --- Asking.


def measured(name: str, port: int, pids: Sequence[int], facts: Facts, clients: int, seconds: float) -> float:
    """How many questions a second are answered; they are printed."""
    rest, took, right = itertools.cycle(facts), [], []
    begin = time.perf_counter()

    async def client() -> None:
        async with talking(port) as talk:
            while time.perf_counter() - begin < seconds:
                disease = next(rest)
                asked = time.perf_counter()
                reply = await one(name, talk, disease)
                took.append(1e3 * (time.perf_counter() - asked))
                right.append(any(finding.lower() in reply for finding in facts[disease]))

    async def all_() -> None:
        await asyncio.gather(*(client() for _ in range(clients)))

    asyncio.run(all_())
    rate = len(took) / (time.perf_counter() - begin)
    share = sum(right) / len(right)
    keep("serve_peer", {f"{name} {clients} a second": rate, f"{name} {clients} right": share})
    print(f"{name:9} {clients:3} clients: {rate:6.1f} a second, ms {spread(took)}, right {share:.3f}; {memory(pids)}")
    return rate


async def one(name: str, talk: Talk, disease: str) -> str:
    """The reply to the question for the signs of a disease, in small letters."""
    question = f"What are the signs of {disease}?"
    if name == "kgmed":
        said = await talked(talk, "POST", "/v1/ask", {"question": question})
        return str(json.loads(said)["answer"]["text"]).lower()
    body = {"query": question, "mode": "local", "ll_keywords": [disease], "hl_keywords": ["signs"], "top_k": 10}
    said = await talked(talk, "POST", "/query/data", body)
    return said.decode().lower()


if __name__ == "__main__":
    main()
