"""JSON sent to a model's server and JSON back, with nothing but the standard library."""

import http.client
import json
import time
import urllib.error
import urllib.request
from typing import Any

from kgmed.errors import Busy
from kgmed.models.border import Remote, seconds_to_wait

MOST = 1 << 28  # bytes of an answer
AGAIN = (408, 409, 429, 500, 502, 503, 504, 529)  # statuses that may go away by themselves
LONGEST = 60.0  # seconds between two tries, whatever a server asks for


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nowhere, so that a key goes to no other host."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        """None: the redirection is an answer like any other."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def post(remote: Remote, url: str, body: object, *, timeout: float, retries: int, pause: float = 0.5) -> Any:
    """The answer to a body, as plain data; raises `Unavailable`, or `ModelFailed` where the answer is none.

    `timeout` in seconds for each try; a try that may succeed later is made again after `pause`, then twice that, ...,
    or when the server says.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "kgmed"}
    if remote.key:
        headers["Authorization"] = f"Bearer {remote.key}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")  # noqa: S310
    for left in reversed(range(retries + 1)):
        after = 0.0
        try:
            return _read(remote, request, timeout)
        except urllib.error.HTTPError as error:
            with error:
                after = seconds_to_wait({k.lower(): v for k, v in error.headers.items()})
                if error.code not in AGAIN or not left:
                    raise remote.refused(error.code, _said(error), after=after) from None
        except TimeoutError:
            if not left:
                raise remote.late() from None
        except (OSError, http.client.HTTPException) as error:
            if not left:
                raise _lost(remote, error) from None
        time.sleep(min(LONGEST, max(after, pause * 2 ** (retries - left))))
    raise remote.lost()


def _lost(remote: Remote, error: Exception) -> Busy:
    """Our error for a connection that was not made, or not kept."""
    if isinstance(error, http.client.IncompleteRead):
        return remote.broken()
    return remote.late() if isinstance(getattr(error, "reason", None), TimeoutError) else remote.lost()


def _read(remote: Remote, request: urllib.request.Request, timeout: float) -> Any:
    """The answer to one try."""
    with _OPENER.open(request, timeout=timeout) as answer:
        text = answer.read(MOST + 1)
        promised = answer.headers.get("Content-Length") or ""
    if len(text) > MOST:
        raise remote.unusable(f"more than {MOST} bytes")
    if promised.isdecimal() and len(text) < int(promised):
        raise http.client.IncompleteRead(text, int(promised) - len(text))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise remote.unusable("no JSON; is the base URL right?") from None


def _said(error: urllib.error.HTTPError) -> str:
    """What a refusal says, as far as it can be read."""
    try:
        return error.read(2000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return str(error.code)
