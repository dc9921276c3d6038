"""What a service tells of itself: a JSON line for each request and each run, and figures for Prometheus.

No line holds what was asked, nor the query of an address: questions are about patients. `log_questions` adds the text.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgmed.records import Run
from kgmed.service.guard import REQUEST
from kgmed.service.work import Work

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


def to_stderr(line: str) -> None:
    """Write a line to standard error; where that is full or closed, nobody is told."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class _Pools(Collector):
    """What the pools have counted, read when it is asked for."""

    def __init__(self, works: Sequence[Work]) -> None:
        self.works = works

    def collect(self) -> Any:
        """A family for each count."""
        says = {
            "inside": "jobs that are worked on or wait", "refused": "jobs refused for want of a place",
            "late": "jobs stopped because their time was over", "stopped": "jobs stopped because the client had left",
        }  # fmt: skip
        for name, said in says.items():
            family = GaugeMetricFamily(f"kgmed_{name}", said, labels=["pool"])
            for work in self.works:
                family.add_metric([work.name], getattr(work.counts, name))
            yield family


class Telemetry:
    """Figures and log lines of one service."""

    def __init__(
        self, works: Sequence[Work], *, write: Callable[[str], object] = to_stderr, questions: bool = False
    ) -> None:
        """`write` takes a line; `questions` = log lines of runs hold the question's text."""
        self.registry, self.write, self.questions = CollectorRegistry(), write, questions
        self.requests = Histogram(
            "kgmed_request_seconds", "requests", ["route", "status"], registry=self.registry, buckets=_SECONDS
        )
        self.stages = Histogram(
            "kgmed_stage_seconds", "stages of runs", ["method", "stage"], registry=self.registry, buckets=_SECONDS
        )
        self.abstained = Counter("kgmed_abstained", "runs without an answer", ["method"], registry=self.registry)
        self.registry.register(_Pools(works))

    def run(self, run: Run) -> None:
        """Count a run and write its line."""
        for stage in run.stages:
            self.stages.labels(run.method, stage.name).observe(stage.seconds)
        if run.answer.abstained:
            self.abstained.labels(run.method).inc()
        seconds = round(sum(stage.seconds for stage in run.stages), 4)
        told = {"id": run.id, "graph": run.graph, "method": run.method, "seconds": seconds,
                "abstained": run.answer.abstained}  # fmt: skip
        self.line("run", told | ({"question": run.question.text} if self.questions else {}))

    def line(self, event: str, told: dict[str, Any]) -> None:
        """Write a line of JSON."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.write(json.dumps({"at": at, "event": event, **told}, ensure_ascii=True))

    def figures(self) -> bytes:
        """The figures as Prometheus reads them."""
        return generate_latest(self.registry)


class Measured:
    """An application whose requests are timed, counted by their route, and logged."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        """Around everything."""
        self.app, self.telemetry = app, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and take the time."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status, failed = time.perf_counter(), 499, True  # unless an answer begins, the client has left
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        name = given if re.fullmatch(r"[\w.-]{1,64}", given, re.ASCII) else uuid4().hex
        REQUEST.set(name)

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-request-id", name.encode())]}
            await send(message)

        try:
            await self.app(scope, receive, sent)
            failed = False
        finally:
            status = 500 if failed else status
            seconds = time.perf_counter() - begin
            route = getattr(scope.get("route"), "path", "") or "other"
            self.telemetry.requests.labels(route, str(status)).observe(seconds)
            told = {"id": name, "method": scope["method"], "route": route, "status": status}
            told["seconds"] = round(seconds, 4)
            if who := scope.get("state", {}).get("who"):
                told["key"] = who
            if not route.startswith("/health") and not route.endswith("z"):
                self.telemetry.line("request", told)
