"""Errors as doors say them: problem+json (RFC 9457), or the OpenAI form under its paths; and headers of all answers."""

import json
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from kgmed.errors import (
    Ambiguous,
    BadInput,
    Busy,
    KgmedError,
    ModelFailed,
    Stopped,
    StoreError,
    Unavailable,
    UnknownName,
)
from kgmed.records import Entity, to_json

OPENAI = ("/v1/chat/", "/v1/models", "/v1/embeddings", "/v1/completions", "/v1/responses")
MEDIA = "application/problem+json"
REQUEST: ContextVar[str] = ContextVar("request", default="")  # the id of the request that is being answered
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURE = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong with a request; `candidates` = the entities that a name may mean (409)."""

    status: int
    title: str
    detail: str
    type: str = "about:blank"
    candidates: tuple[Entity, ...] = ()
    after: float = 0.0  # seconds to wait before asking again; 0 = it does not help
    param: str = ""  # the parameter that cannot be followed
    request: str = ""  # the id of the request, as in `X-Request-ID` and the log


class Unsupported(BadInput):
    """A parameter that is understood, and cannot be followed here."""

    def __init__(self, param: str, why: str) -> None:
        """Name the parameter, and what to do without it."""
        super().__init__(f"{param}: {why}")
        self.param = param


_STATUS: tuple[tuple[type[KgmedError], int], ...] = (  # the first that fits
    (UnknownName, 404),
    (Ambiguous, 409),
    (Unsupported, 400),
    (BadInput, 422),
    (Busy, 503),
    (ModelFailed, 502),
    (Stopped, 504),
    (Unavailable, 503),
    (StoreError, 500),
    (KgmedError, 500),
)


def problem(status: int, detail: str, *, after: float = 0.0) -> Problem:
    """The problem of a status."""
    return Problem(status, HTTPStatus(status).phrase, detail, after=after)


def problem_of(error: KgmedError) -> Problem:
    """The problem that an error of ours is.

    >>> problem_of(UnknownName("graph", "hpoo", ["hpo"])).status
    404
    """
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    detail = "a file of the service cannot be used; its log says which" if status == 500 else str(error)
    candidates = tuple(error.candidates) if isinstance(error, Ambiguous) else ()
    after = (error.after or 1.0) if isinstance(error, Busy) else 0.0
    param = getattr(error, "param", "")
    return Problem(status, HTTPStatus(status).phrase, detail, candidates=candidates, after=after, param=param)  # type: ignore[arg-type]


def body_of(told: Problem, path: str) -> tuple[bytes, dict[str, str]]:
    """The body and the headers in which a path says a problem."""
    headers = {"content-type": MEDIA, "cache-control": "no-store"}
    if told.after:
        headers["retry-after"] = str(max(1, round(told.after)))
    if told.status == 401:
        headers["www-authenticate"] = "Bearer"
    if path.startswith(OPENAI):
        headers["content-type"] = "application/json"
        return json.dumps({"error": _as_openai(told)}, ensure_ascii=False).encode("utf-8", "replace"), headers
    return json.dumps(plain(told), ensure_ascii=False).encode("utf-8", "replace"), headers


def plain(told: Problem) -> dict[str, Any]:
    """A problem as plain data, without what it does not say."""
    said = {"type": told.type, "title": told.title, "status": told.status, "detail": told.detail}
    said["request"] = REQUEST.get()
    return said | ({"candidates": to_json(told.candidates)} if told.candidates else {})


_KINDS = {401: ("authentication_error", "invalid_api_key"), 404: ("invalid_request_error", "model_not_found"),
          429: ("rate_limit_error", "rate_limit_exceeded")}  # fmt: skip


def _as_openai(told: Problem) -> dict[str, Any]:
    """The error object of the OpenAI interface."""
    usual = ("server_error", "overloaded") if told.status >= 500 else ("invalid_request_error", "invalid_value")
    kind, code = ("invalid_request_error", "unsupported_parameter") if told.param else _KINDS.get(told.status, usual)
    return {"message": told.detail, "type": kind, "param": told.param or None, "code": code}
