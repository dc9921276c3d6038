"""Every client against servers that misbehave: an error of ours, in time, in little memory, and nobody else told.

A try may take its timeout, and a stream of events ten times that. The clients try once here.
"""

import logging
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import hostile
from hostile import KEY
from hostile import hostile as serving
from kgmed.errors import Stopped, Unavailable
from kgmed.graph.remote.sparql import DBPEDIA, Sparql
from kgmed.graph.remote.umls import VARIABLE, Umls
from kgmed.models.base import Message
from kgmed.models.encoders import HttpEncoder, HttpPairScorer
from kgmed.models.hosted import Anthropic, OpenAI
from kgmed.servers import Limits
from kgmed.stop import Stop, stopping_by

pytestmark = pytest.mark.slow  # some four hundred servers are started
TIMEOUT = 0.25
MEMORY = 400 << 20  # bytes: a reply has at most 32 MB, one of vectors 256 MB
QUESTION = "Has my patient, Jane, gout?"
SAID = [Message("user", QUESTION)]
WITH_KEY = {"KGMED_API_KEY": KEY, VARIABLE: KEY}
ONCE: dict[str, Any] = {"timeout": TIMEOUT, "retries": 0, "environment": WITH_KEY}
LIMITS = Limits(timeout=TIMEOUT, retries=0, rate=1000.0)


def openai(url: str) -> object:
    pytest.importorskip("openai")
    return OpenAI("m", url, **ONCE)(SAID)


def openai_stream(url: str) -> object:
    pytest.importorskip("openai")
    return list(OpenAI("m", url, **ONCE).stream(SAID))


def anthropic(url: str) -> object:
    pytest.importorskip("anthropic")
    return Anthropic("m", url, **ONCE)(SAID)


def encoder(url: str) -> object:
    return HttpEncoder("m", url, **ONCE)([QUESTION])


def scorer(url: str) -> object:
    return HttpPairScorer("m", url, **ONCE)([(QUESTION, "gout")])


def umls(url: str) -> object:
    return Umls(url, limits=LIMITS, environment=WITH_KEY).search(QUESTION)


def sparql(url: str) -> object:
    return Sparql(DBPEDIA, url, limits=LIMITS).lookup(QUESTION)


CLIENTS: list[Callable[[str], object]] = [openai, openai_stream, anthropic, encoder, scorer, umls, sparql]
KINDS = hostile.GROWING | hostile.SLOW | hostile.LEADING | hostile.BROKEN


@pytest.mark.parametrize("client", CLIENTS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_misbehaves_ends_in_an_error_of_ours_in_time(
    client: Callable[[str], object], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(hostile.just(b"")) as other, serving(KINDS[kind]) as server, caplog.at_level(logging.INFO):
        server.elsewhere = other.url
        with pytest.raises(Unavailable) as error:
            client(server.url)
        assert not server.outlasted
        assert other.requests == []
        assert len(server.requests) <= 4  # the first, and three redirections on the same host
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    assert KEY not in str(error.value) + caplog.text
    assert error.value.__cause__ is None


def patient(kind: str, url: str) -> object:
    """A client that would wait for an hour."""
    more: dict[str, Any] = {"timeout": 3600.0, "retries": 3, "environment": WITH_KEY}
    if kind == "openai":
        return OpenAI("m", base_url=url, **more)(SAID)
    if kind == "openai_stream":
        return list(OpenAI("m", base_url=url, **more).stream(SAID))
    if kind == "anthropic":
        return Anthropic("m", base_url=url, **more)(SAID)
    return Sparql(DBPEDIA, url, limits=Limits(timeout=3600.0, retries=3)).lookup(QUESTION)


@pytest.mark.parametrize("client", ["openai", "openai_stream", "anthropic", "sparql"])
@pytest.mark.parametrize("kind", ["a drip of body", "a drip of headers", "a drip of events", "silence"])
def test_no_server_is_awaited_for_longer_than_the_run_has_left(client: str, kind: str) -> None:
    with serving(KINDS[kind]) as server:
        with pytest.raises(Stopped), stopping_by(Stop(seconds=0.5)):
            patient(client, server.url)
        assert not server.outlasted


@pytest.mark.parametrize("client", [openai, openai_stream, encoder, sparql], ids=lambda c: c.__name__)
@pytest.mark.parametrize("kind", hostile.GROWING)
def test_a_reply_that_grows_takes_little_memory(client: Callable[[str], object], kind: str) -> None:
    with serving(KINDS[kind]) as server:
        client_fails(client, server.url)  # loads what it needs
        tracemalloc.start()
        client_fails(client, server.url)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MEMORY
    assert server.sent < 2 * MEMORY  # in two tries


def client_fails(client: Callable[[str], object], url: str) -> None:
    with pytest.raises(Unavailable):
        client(url)
