"""The pictures of the page in README and docs, taken anew from a running service.

    python bench/pictures.py [--out docs/pictures] [--url http://127.0.0.1:8765]
    python bench/pictures.py --first-minute [--out docs/pictures]

Without `--url` a service on the graphs of the data folder is started for it. `--first-minute` does what a new user
does, in a new environment and an empty data folder: install, serve, open, ask, look at the evidence, ask on, compare
methods, build a graph of one's own, and start again with a language model (a stand-in behind an OpenAI-compatible
server, whose words are fixed). Each step is timed from the one before and has its picture; it ends with an error where
a step fails. It needs Chromium and Chinese fonts (`apt-get install chromium fonts-noto-cjk`), playwright and pillow.
Printed are the files, their bytes, and the seconds from a press of Enter to the drawn answer on this machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

DESK, PHONE = ViewportSize(width=1120, height=700), ViewportSize(width=360, height=740)
COLOURS = 160  # of a picture: a third of the bytes, and no difference that one sees
TALL = ("ask", "graph", "compare")  # pictures of the whole page
PATIENT = "#/diagnose?present=HP:0001166,HP:0001083,HP:0002616&absent=HP:0000365&sex=female&age=30"
Take = Callable[[Page], None]


def asked(question: str) -> Take:
    """Ask a question, and say how long the answer took."""

    def take(page: Page) -> None:
        page.get_by_role("textbox").first.fill(question)
        begin = time.perf_counter()
        page.keyboard.press("Enter")
        page.wait_for_selector(".result .pill, .result.abstained, .abstained")
        print(f"  {time.perf_counter() - begin:.2f} s from Enter to the drawn answer: {question}")

    return take


def cited(question: str) -> Take:
    """Ask a question, and choose its first citation."""

    def take(page: Page) -> None:
        asked(question)(page)
        page.locator(".answer-text .cite").first.click()

    return take


def ranked(page: Page) -> None:
    """Rank the diseases of the patient in the address."""
    page.locator(".finding >> nth=3").wait_for()
    page.locator("button.main").click()
    page.wait_for_selector(".disease")


def beside(page: Page) -> None:
    """Two diseases side by side."""
    ranked(page)
    for box in page.locator(".disease input[type=checkbox]").all()[:2]:
        box.check()
    page.wait_for_selector(".two .between >> nth=1")


def known(page: Page) -> None:
    """What is known of a thing, as a drawing that can be walked in."""
    page.wait_for_selector(".role-group .chip")
    page.locator("[data-tab=explore]").click()
    page.locator(".explore-place canvas").first.wait_for()
    page.wait_for_timeout(1_000)


def compared(page: Page) -> None:
    """One question through two methods."""
    page.get_by_role("textbox").first.fill("What treats gout?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".columns .panel >> nth=1")


PICTURES: tuple[tuple[str, str, str, dict[str, Any], Take], ...] = (  # file, address, language, context, what to do
    ("ask", "#/ask", "en-GB", {}, cited("What are the symptoms of Marfan syndrome?")),
    ("ask-zh", "#/ask", "zh-CN", {}, asked("糖尿病用什么药治疗？")),
    ("ask-dark", "#/ask", "en-GB", {"color_scheme": "dark"}, cited("Can a pregnant woman take ibuprofen?")),
    ("ask-phone", "#/ask", "en-GB", {"viewport": PHONE}, asked("Can a pregnant woman take ibuprofen?")),
    ("diagnose", PATIENT, "en-GB", {}, ranked),
    ("side-by-side", PATIENT, "en-GB", {}, beside),
    ("graph", "#/graph/auto/OMIM:154700", "en-GB", {}, known),
    ("compare", "#/compare", "en-GB", {}, compared),
)


@contextmanager
def service(url: str) -> Iterator[str]:
    """The address of a service that is ready: the one named, else one of its own until the block ends."""
    if url:
        yield url.rstrip("/")
        return
    port = "8766"
    server = subprocess.Popen(
        [sys.executable, "-c", "from kgmed.cli import main; main()", "serve", "--port", port], stderr=subprocess.DEVNULL
    )
    try:
        yield _ready(f"http://127.0.0.1:{port}", server)
    finally:
        server.terminate()
        server.wait(120)


def _ready(url: str, server: "subprocess.Popen[bytes]") -> str:
    """The address, once the service is ready."""
    for _ in range(3_000):
        if server.poll() is not None:
            raise SystemExit("the service has ended; try: kgmed serve")
        try:
            if urlopen(f"{url}/health/ready").status == 200:
                return url
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the service was not ready in ten minutes")


# --- The first minute of somebody new.

INSTALL = 'pip install ".[starter,serve]"'
TERMINAL = """<body style="margin:0;background:#1d1f21;color:#e8e6e3;font:15px/1.5 monospace"><pre id="t"
style="margin:0;padding:18px 22px;white-space:pre-wrap"></pre>"""


WORDS = "Marfan syndrome shows long slender fingers (arachnodactyly) [1]. Its gene is FBN1. The heart is spared [1]."
READING = {
    "things": [{"words": "Marfan syndrome", "names": ["Marfan syndrome"], "kind": "disease", "part": "asked"}],
    "asks": [{"intent": "symptoms", "subject": [1], "object": [], "negative": False, "form": "list"}],
}
JUDGED = {
    "verdicts": [
        {"sentence": 1, "verdict": "supports", "facts": [1]},
        {"sentence": 2, "verdict": "says nothing", "facts": []},
        {"sentence": 3, "verdict": "contradicts", "facts": [1]},
    ]
}


class StandIn(BaseHTTPRequestHandler):
    """A language model of fixed words behind the OpenAI interface."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        needed = asked.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("required", [])
        helps = '{"facts"' in asked["messages"][-1]["content"]
        said = JUDGED if "verdicts" in needed else READING if needed else {"facts": [1, 2]} if helps else None
        text = WORDS if said is None else json.dumps(said)
        about = {"id": "1", "created": 1, "model": "demo"}
        told = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "delta" if asked.get("stream") else "message": told}
        kind = "chat.completion.chunk" if asked.get("stream") else "chat.completion"
        body = json.dumps({**about, "object": kind, "choices": [choice]})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if asked.get("stream") else "application/json")
        self.end_headers()
        self.wfile.write((f"data: {body}\n\ndata: [DONE]\n\n" if asked.get("stream") else body).encode())

    def log_message(self, *args: object) -> None:
        """Nothing."""


def first_minute(browser: Browser, out: Path) -> None:
    """The steps with their seconds and pictures; ends with an error where one does not do what the page says."""
    with tempfile.TemporaryDirectory() as scratch:
        venv = Path(scratch) / "venv"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        given = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        given |= {"KGMED_HOME": f"{scratch}/home", "PATH": f"{venv}/bin:{given['PATH']}", "KGMED_API_KEY": "none"}
        root = Path(__file__).resolve().parents[1]
        at = time.perf_counter()

        def step(name: str, page: Page) -> None:
            nonlocal at
            print(f"{name}: {time.perf_counter() - at:.1f} s", flush=True)
            shot(page, out / f"first-{name}.png", full=False)
            at = time.perf_counter()

        terminal = browser.new_context(viewport=ViewportSize(width=840, height=150)).new_page()
        terminal.set_content(TERMINAL)
        subprocess.run([*INSTALL.replace('"', "").split(), "--quiet"], cwd=root, env=given, check=True)
        say = "(text) => document.getElementById('t').textContent = text"
        terminal.evaluate(say, f"$ {INSTALL}\n$")
        step("install", terminal)
        page = browser.new_context(viewport=DESK, locale="en-GB", reduced_motion="reduce").new_page()
        page.set_default_timeout(600_000)  # two graphs become one: minutes where much else is going on
        with started([], given) as lines:
            terminal.evaluate(say, "\n".join(["$ kgmed serve", *lines]))
            step("serve", terminal)
            page.goto(ADDRESS)
            page.wait_for_selector(".example")
            step("open", page)
            asked("What are the symptoms of Marfan syndrome?")(page)
            step("ask", page)
            page.locator(".answer-text .cite").first.click()
            page.wait_for_selector(".evidence-list .marked")
            page.locator(".evidence-list .marked").scroll_into_view_if_needed()
            step("see", page)
            go_on(page, Path(scratch), step)
        subprocess.run(["pip", "install", ".[models]", "--quiet"], cwd=root, env=given, check=True)
        with_model(page, given, step)


def go_on(page: Page, scratch: Path, step: Callable[[str, Page], None]) -> None:
    """A follow-up, a comparison, and a graph of one's own."""
    asked("What treats asthma?")(page)
    page.get_by_label("Ask a follow-up").fill("and in pregnancy?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".conversation")
    page.evaluate("scrollTo(0, 0)")
    step("follow", page)
    page.goto(f"{ADDRESS}/#/compare")
    page.wait_for_selector(".methods")
    compared(page)
    step("compare", page)
    table = scratch / "triples.tsv"
    table.write_text("rickets\thas symptom\tbowed legs\nvitamin D\ttreats\trickets\n", encoding="utf-8")
    page.goto(f"{ADDRESS}/#/graphs")
    page.locator(".own input[type=text]").fill("mine")
    page.locator(".own input[type=file]").set_input_files(table)
    page.get_by_role("button", name="Build it").click()
    page.locator(".own").get_by_text("The graph mine is here").wait_for()
    page.locator(".own").scroll_into_view_if_needed()
    step("own", page)
    page.locator(".own").get_by_role("link", name="Ask a question").click()
    asked("How is rickets treated?")(page)


def with_model(page: Page, given: dict[str, str], step: Callable[[str, Page], None]) -> None:
    """The service again, with a language model."""
    with ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as model:
        Thread(target=model.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{model.server_address[1]}/v1"
        with started(["--llm", "openai/demo", "--base-url", base], given):
            page.goto(f"{ADDRESS}/#/ask")
            page.reload()
            page.wait_for_selector("main h1")
            asked("What are the signs of Marfan syndrome?")(page)
            page.wait_for_selector(".verdicts li")
            step("model", page)
        model.shutdown()


ADDRESS = "http://127.0.0.1:8767"


def _lives() -> bool:
    """Whether the service answers."""
    try:
        return bool(urlopen(f"{ADDRESS}/health/live").status == 200)
    except OSError:
        return False


@contextmanager
def started(options: list[str], given: dict[str, str]) -> Iterator[list[str]]:
    """What `kgmed serve` prints until it can be opened; it is ended with the block."""
    command = ["kgmed", "serve", "--port", "8767", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=given) as server:
        try:
            assert server.stderr is not None
            lines = [next(server.stderr)]
            while "serving at" not in lines[-1]:
                lines.append(next(server.stderr))
            Thread(target=server.stderr.read, daemon=True).start()  # a full pipe would stop the service
            while not _lives():
                time.sleep(0.2)
            yield [line.rstrip().replace("8767", "8765") for line in lines]
        finally:
            server.terminate()


def shot(page: Page, path: Path, *, full: bool) -> None:
    """Save what the page shows, in few colours."""
    page.evaluate("document.activeElement && document.activeElement.blur()")
    page.wait_for_timeout(200)
    page.screenshot(path=path, full_page=full)
    Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size:,} bytes")


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--url", default="", help="A service that runs already.")
    parser.add_argument("--first-minute", action="store_true", help="Those of the quickstart, timed.")
    given = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("no Chromium is installed: apt-get install chromium fonts-noto-cjk")
    given.out.mkdir(parents=True, exist_ok=True)
    if given.first_minute:
        with sync_playwright() as playwright:
            first_minute(
                playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"]), given.out
            )
        return
    with service(given.url) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for name, address, language, context, take in PICTURES:
            settings = {"viewport": DESK, "locale": language, "reduced_motion": "reduce", **context}
            page = browser.new_context(**settings).new_page()
            page.goto(f"{url}/{address}")
            page.wait_for_selector("main h1")
            take(page)
            page.evaluate("scrollTo(0, 0)")
            shot(page, given.out / f"{name}.png", full="viewport" not in context and name.startswith(TALL))
        browser.close()


if __name__ == "__main__":
    main()
