"""A browser for tests: Debian's Chromium by Playwright, that keeps what a page must not do, and axe-core."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
NAMES = ("chromium", "chromium-browser", "google-chrome")
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1200, "height": 850}


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser until the block ends; without one the test is skipped, but never in CI."""
    program = next((found for name in NAMES if (found := shutil.which(name))), "")
    if not program:
        why = "no Chromium is installed: apt-get install chromium fonts-noto-cjk"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    with sync_api.sync_playwright() as playwright:
        # as root, as CI runs, Chromium has no sandbox of its own
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@cache
def axe() -> str:
    """The script of axe-core, as a package brings it."""
    return (files(pytest.importorskip("axe_playwright_python")) / "axe.min.js").read_text(encoding="utf-8")


@dataclass
class Visit:
    """A page of a service in a browser; `wrong` = what no page may do: errors, warnings, requests to elsewhere."""

    page: Any
    origin: str
    wrong: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # "POST /v1/ask", ...

    def listen(self) -> "Visit":
        """This visit, listening."""
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        return self

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"console: {message.text}")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob"):
            self.asked.append(f"{request.method} {parts.path}")
            if f"{parts.scheme}://{parts.netloc}" != self.origin:
                self.wrong.append(f"request: {request.url}")

    def open(self, where: str = "#/ask") -> "Visit":
        """This visit at a view, which is there."""
        self.page.goto(f"{self.origin}/{where}")
        self.page.wait_for_selector("main h1, main h2")
        return self

    def ask(self, question: str) -> "Visit":
        """This visit with the outcome of a question."""
        self.page.get_by_role("textbox").first.fill(question)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector(".result")
        return self

    def text(self, selector: str) -> str:
        """The words that an element shows."""
        return str(self.page.locator(selector).first.inner_text())

    def texts(self, selector: str) -> list[str]:
        """The words that elements show."""
        return [" ".join(text.split()) for text in self.page.locator(selector).all_inner_texts()]

    def violations(self) -> list[str]:
        """What axe-core finds wrong, a line each."""
        self.page.evaluate(axe())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [f"{v['id']}: {node['html'][:200]} ({node['failureSummary']})" for v in found for node in v["nodes"]]


@contextmanager
def visiting(browser: Any, origin: str, **context: Any) -> Iterator[Visit]:
    """A visit with a profile of its own; what it must not do fails the test."""
    given = {"viewport": DESK, "locale": "en-GB", "reduced_motion": "reduce", **context}
    profile = browser.new_context(**given)
    profile.set_default_timeout(30_000)
    visit = Visit(profile.new_page(), origin).listen()
    yield visit
    profile.close()
    assert not visit.wrong, "\n".join(visit.wrong)


def saved(visit: Visit, click: Any) -> Path:
    """The file that a click saves."""
    with visit.page.expect_download() as download:
        click()
    return Path(download.value.path())
