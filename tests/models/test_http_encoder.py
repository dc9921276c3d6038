"""Against a real HTTP server on the loopback interface."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from json_server import JsonServer, Said, serving
from kgmed.errors import BadInput, Busy, KgmedError, ModelFailed, Unavailable
from kgmed.models.encoders import HttpEncoder, HttpPairScorer
from kgmed.servers import TokenBucket

KEY = "sk-secret-0123456789"


def embedded(asked: Any) -> Any:
    """Vectors (length, 1) of the texts, last text first."""
    rows = [{"index": i, "embedding": [float(len(t)), 1.0]} for i, t in enumerate(asked["input"])]
    return {"data": rows[::-1]}


def ranked(asked: Any) -> Any:
    """The share of a document's length in ten, best first."""
    rows = [{"index": i, "relevance_score": len(t) / 10} for i, t in enumerate(asked["documents"])]
    return {"results": sorted(rows, key=lambda row: -row["relevance_score"])}


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with serving() as state:
        yield state


def encoder(server: JsonServer, *, batch: int = 64, timeout: float = 10.0, retries: int = 0) -> HttpEncoder:
    environment = {"KGMED_API_KEY": KEY}
    url = f"{server.url}/v1"
    return HttpEncoder("m", url, batch=batch, timeout=timeout, retries=retries, environment=environment)


def scorer(server: JsonServer, *, layout: str = "vllm", batch: int = 100) -> HttpPairScorer:
    environment = {"KGMED_API_KEY": KEY}
    return HttpPairScorer("m", f"{server.url}/v1/", layout=layout, batch=batch, retries=0, environment=environment)


def test_vectors_come_as_unit_rows_in_the_order_of_the_texts(server: JsonServer) -> None:
    server.answers = embedded
    rows = encoder(server, batch=2)(["abc", "", "a", "ab"])
    wanted = np.array([[3, 1], [0, 0], [1, 1], [2, 1]], np.float32)
    norms = np.array([[10**0.5], [1], [2**0.5], [5**0.5]], np.float32)
    assert rows.dtype == np.float32
    assert np.allclose(rows, wanted / norms)
    assert [a["input"] for a in server.asked] == [["a"], ["abc", "a"], ["ab"]]
    assert {*server.paths} == {"/v1/embeddings"}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_rate_is_kept_between_requests(server: JsonServer) -> None:
    server.answers, pauses = embedded, list[float]()
    rate = TokenBucket(1.0, clock=lambda: 0.0, sleep=pauses.append)
    HttpEncoder("m", f"{server.url}/v1", batch=1, rate=rate, environment={})(["abc", "a"])
    assert len(server.asked) == 3  # the first tells the length of a vector
    assert pauses == [1.0, 2.0]
    server.answers = ranked
    HttpPairScorer("m", f"{server.url}/v1", rate=rate, environment={})([("q", "a")])
    assert pauses == [1.0, 2.0, 3.0]


def test_no_texts_have_no_rows(server: JsonServer) -> None:
    server.answers = embedded
    assert encoder(server)([]).shape == (0, 2)


def test_vectors_whose_length_changes_are_refused(server: JsonServer) -> None:
    server.says = [Said({"data": [{"index": 0, "embedding": [1.0] * n}]}) for n in (2, 3)]
    with pytest.raises(ModelFailed, match="length 3 after 2"):
        encoder(server)(["abc"])


@pytest.mark.parametrize("layout", ["cohere", "jina", "vllm"])
def test_scores_come_in_the_order_of_the_pairs_one_request_a_question(server: JsonServer, layout: str) -> None:
    server.answers = ranked
    pairs = [("q2", "aa"), ("q1", "a"), ("q2", "aaaa"), ("q1", "aaa"), ("q2", "")]
    assert np.allclose(scorer(server, layout=layout, batch=2)(pairs), [0.2, 0.1, 0.4, 0.3, 0])
    assert [(a["query"], a["documents"]) for a in server.asked] == [
        ("q1", ["a", "aaa"]),
        ("q2", ["aa", "aaaa"]),
        ("q2", [""]),
    ]
    assert {*server.paths} == {"/v1/rerank"}
    assert all(("return_documents" in a) == (layout == "jina") for a in server.asked)
    assert scorer(server)([]).shape == (0,)


def test_a_layout_that_is_none_is_bad_input(server: JsonServer) -> None:
    with pytest.raises(BadInput, match="cohere, jina, vllm"):
        scorer(server, layout="x")


BAD_ROWS: list[Any] = [
    None,
    [],
    {},
    {"data": 1, "results": 1},
    {"data": [], "results": []},
    {"data": [{"index": 1, "embedding": [1.0]}], "results": [{"index": 1, "relevance_score": 1}]},
    {"data": [{"embedding": [1.0]}], "results": [{"relevance_score": 1}]},
    {"data": [{"index": 0, "embedding": "AAAA"}], "results": [{"index": 0, "relevance_score": "1"}]},
    {"data": [{"index": 0, "embedding": [float("nan")]}], "results": [{"index": 0, "relevance_score": float("nan")}]},
    {"data": [{"index": 0, "embedding": []}], "results": [{"index": 0, "relevance_score": None}]},
    b"<html>",
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", BAD_ROWS)
def test_an_answer_that_is_none_is_a_failure_and_never_a_zero(server: JsonServer, body: Any) -> None:
    server.says = [Said(body)]
    with pytest.raises(ModelFailed, match="cannot be used"):
        encoder(server)(["abc"])
    with pytest.raises(ModelFailed, match="cannot be used"):
        scorer(server)([("q", "abc")])


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (Said({"error": f"bad key {KEY}"}, 401), Unavailable, "refuses the key"),
        (Said({"detail": "no"}, 404), Unavailable, "has no model 'm'"),
        (Said({"detail": "slow"}, 429), Busy, "refuses more requests"),
        (Said(b"oops\noops", 500), Busy, "is failing"),
        (Said(b'{"data', 200), ModelFailed, "cannot be used"),
        (Said({"detail": "bad"}, 400), ModelFailed, "cannot be used"),
        (Said(b"", 307, {"Location": "/elsewhere"}), ModelFailed, "cannot be used"),
        (Said(b'{"data', 200, {"Content-Length": "5000"}), Busy, "broke off"),
    ],
)
def test_each_failure_is_one_line_without_the_key(
    server: JsonServer, said: Said, kind: type[KgmedError], words: str
) -> None:
    server.says = [said]
    with pytest.raises(kind, match=words) as caught:
        encoder(server, timeout=0.5)(["abc"])
    assert type(caught.value) is kind
    assert KEY not in f"{caught.value!r} {encoder(server)!r} {scorer(server)!r} {inspect.signature(HttpEncoder)}"
    assert "\n" not in str(caught.value)
    assert server.paths == ["/v1/embeddings"]


def test_a_busy_server_is_tried_again(server: JsonServer) -> None:
    fine = Said({"data": [{"index": 0, "embedding": [2.0]}]})
    server.says = [Said({}, 503), fine]
    assert encoder(server, retries=1)(["abc"]).tolist() == [[1.0]]


def test_a_server_that_is_late_or_not_there_is_unavailable(server: JsonServer) -> None:
    server.says = [Said({}, seconds=0.5)]
    with pytest.raises(Unavailable, match="did not answer in time"):
        encoder(server, timeout=0.1)(["a"])
    with pytest.raises(Unavailable, match=r"cannot reach 127\.0\.0\.1:9"):
        HttpEncoder("m", "http://127.0.0.1:9", retries=0, environment={})(["a"])


def test_a_password_in_the_url_is_not_shown() -> None:
    assert "pw" not in repr(HttpEncoder("m", "http://me:pw@localhost:8000/v1", environment={}))
