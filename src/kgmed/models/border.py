"""What every model behind a server shares: its host, its key, and our errors for what goes wrong on the way.

Keys come from the environment and from nowhere else. They are in no message that these functions make.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from kgmed.errors import BadInput, ModelFailed, PromptTooLong, Unavailable

OWN_KEY = "KGMED_API_KEY"  # for any server
LONGEST = 200  # characters of what a server said


def host_of(base_url: str) -> str:
    """Host and port of a URL, without any user name or password in it.

    >>> host_of("http://me:secret@localhost:8000/v1")
    'localhost:8000'
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput("the base URL must look like http://localhost:8000/v1")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname


def key_from(environment: Mapping[str, str] | None, official: str = "") -> tuple[str, str]:
    """The variable that holds the key for a server, and the key; two empty texts where there is none.

    `official` is a company's own variable, looked at for its own host only. No environment = that of the process.
    """
    variables = os.environ if environment is None else environment
    for name in filter(None, (OWN_KEY, official)):
        if key := variables.get(name, "").strip():
            if not (key.isascii() and key.isprintable() and " " not in key):
                raise BadInput(f"the key in {name} holds spaces or other characters that no key has; set it again")
            return name, key
    return "", ""


@dataclass(frozen=True, slots=True)
class Remote:
    """A model behind a server, as far as messages name it; the key only so that it can be taken out of them."""

    kind: str  # openai, anthropic, ...
    model: str
    host: str
    key: str = field(default="", repr=False)
    too_long: tuple[str, ...] = ()  # the marks of a refusal that is about the length of the prompt

    @property
    def name(self) -> str:
        """The kind, the model and the server's host."""
        return f"{self.kind}/{self.model} at {self.host}"

    def clean(self, text: object) -> str:
        """The first 200 characters of what a server said, on one line, without the key."""
        line = " ".join(str(text).split())
        return (line.replace(self.key, "***") if self.key else line)[:LONGEST]

    def translated(self, sdk: Any, error: Exception) -> Unavailable:
        """Our error for one of an SDK (`openai`, `anthropic`: the same classes): host, what it said, what to do."""
        said = getattr(error, "message", "") or error
        if isinstance(error, sdk.APITimeoutError):
            return self.late()
        if isinstance(error, sdk.APIConnectionError):
            return self.lost()
        if isinstance(error, sdk.APIStatusError):
            return self.refused(error.status_code, said, f"{getattr(error, 'code', '')} {getattr(error, 'type', '')}")
        return self.unusable(said)

    def refused(self, status: int, said: object, marks: str = "") -> Unavailable:
        """Our error for an HTTP status that is none of success; `marks` = codes beside what the server said."""
        words = self.clean(said)
        if status in (400, 413) and any(mark in f"{marks} {said}" for mark in self.too_long):
            return PromptTooLong(f"{self.name} cannot read a prompt this long; ask with less evidence ({words})")
        if status in (401, 403):
            return Unavailable(f"{self.host} refuses the key; set the environment variable {OWN_KEY} ({words})")
        if status == 404:
            return Unavailable(f"{self.host} has no model {self.model!r}, or its base URL lacks /v1 ({words})")
        if status in (402, 429):
            return Unavailable(f"{self.host} refuses more requests for now; wait, or look at the account ({words})")
        if status >= 500:
            return Unavailable(f"{self.host} is failing, after several tries ({words})")
        return self.unusable(words)

    def late(self) -> Unavailable:
        """Our error for no answer in time."""
        return Unavailable(f"{self.host} did not answer in time; is the server busy, or the model too large for it?")

    def lost(self) -> Unavailable:
        """Our error for no connection."""
        return Unavailable(f"cannot reach {self.host}; is the server running, and the base URL right?")

    def unusable(self, said: object) -> ModelFailed:
        """Our error for an answer that is none."""
        return ModelFailed(f"{self.name} sent something that cannot be used ({self.clean(said)})")
