"""The description of the interface, and thousands of requests made of it: none may be answered against it."""

import json
from typing import Any

import hypothesis
import pytest

from served import HTTP, Running, cases_of, running

schemathesis = pytest.importorskip("schemathesis")
CASES = 12  # a door; more by hand: the count changes nothing else


@pytest.fixture(scope="module")
def described(service: Running) -> Any:
    return HTTP.get(f"{service.url}/openapi.json").json()


def test_every_door_says_what_it_is_what_it_gives_and_how_it_fails(described: Any) -> None:
    for path, doors in described["paths"].items():
        for method, door in doors.items():
            assert door["summary"].endswith("."), (method, path)
            assert door["description"].startswith(door["summary"])
            said = door["responses"]
            assert "200" in said
            assert "default" in said or {"401", "429", "503"} <= set(said)
    paths = described["paths"]
    assert "502" in paths["/v1/ask"]["post"]["responses"]
    assert {"404", "409", "413", "422", "502"}.isdisjoint(paths["/v1/about"]["get"]["responses"])


def test_a_request_has_an_id_in_header_problem_and_log() -> None:
    with running(cases_of(keep=False)) as own:
        answer = HTTP.get(f"{own.url}/v1/graphs/nosuch/complete?q=a", headers={"x-request-id": "mine-1"})
        assert answer.headers["x-request-id"] == answer.json()["request"] == "mine-1"
        made = HTTP.get(f"{own.url}/v1/about", headers={"x-request-id": "no id"}).headers["x-request-id"]
        assert len(made) == 32
        for path in ("/health", "/healthz", "/livez", "/readyz"):
            assert HTTP.get(own.url + path).status_code in ((200, 503) if path == "/readyz" else (200,))
        assert HTTP.get(f"{own.url}/docs").headers["location"] == "/#/docs"
    assert {"mine-1", made} <= {told.get("id") for told in map(json.loads, own.lines)}


def test_records_are_described_without_their_examples(described: Any) -> None:
    assert "Run" in described["components"]["schemas"]
    assert ">>>" not in json.dumps(described)


def test_problems_have_their_media_type(described: Any) -> None:
    said = described["paths"]["/v1/ask"]["post"]["responses"]["404"]["content"]
    assert list(said) == ["application/problem+json"]


SAYS_MORE = ("/v1/diagnose", "/v1/phenopacket")  # what a schema cannot say of a patient is refused by 422


def test_no_request_is_answered_against_the_description(service: Running, described: Any) -> None:
    api = schemathesis.openapi.from_dict(described)
    broken = [found for result in api.get_all_operations() if (found := violation(service, result.ok()))]
    assert not broken, "\n".join(broken)


def violation(service: Running, door: Any) -> str:
    """The first violation that a door is made to do; "" = none."""
    own = [schemathesis.checks.CHECKS.get_by_names(["positive_data_acceptance"])[0]] if door.path in SAYS_MORE else []

    @hypothesis.settings(max_examples=CASES, deadline=None, database=None, derandomize=True,
                         suppress_health_check=list(hypothesis.HealthCheck))  # fmt: skip
    @hypothesis.given(case=door.as_strategy())
    def ask(case: Any) -> None:
        case.call_and_validate(base_url=service.url, timeout=30, excluded_checks=own)

    try:
        ask()
    except (AssertionError, BaseExceptionGroup) as error:
        return f"{door.label}: {error!r} {getattr(error, 'exceptions', '')}"[:900]
    return ""
