"""The page as a person meets it: real files, a real server, a real browser; in English and Chinese."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import page_graphs
import served
from browser import PHONE, Visit, saved, visiting
from kgmed.errors import KgmedError
from kgmed.models.base import Message, Reply
from kgmed.service.app import ServiceSettings
from kgmed.service.guard import Keys
from kgmed.service.uses import LONGEST, AskRequest

PAGE = files("kgmed.service") / "page"
OWN = {item.name: item.read_text(encoding="utf-8") for item in PAGE.iterdir() if item.name.endswith(".js")}
VENDORED = {
    "htm-preact.js": (  # preact/standalone.module.js of htm 3.1.1
        "023016453045a09419cc89c26a5daaca0116171baf7d0b4991b92f14065a66ff"
        "72202c30c7191fa2ced3ecbe039d1eaabc8b2083ed67b23ca8722e4d48ac8fdc"
    ),
    "cytoscape.mjs": (  # dist/cytoscape.esm.min.mjs of cytoscape 3.34.4
        "178fbbf9092cfa4ab0273c037c5666c8e0554b559b7627a21ee468e9faf692ee"
        "8803484388cb100f82183572e9f620ffe30d2802dd849982b457b96ec276dcd1"
    ),
}
VIEWS = ("ask", "diagnose", "graph", "compare", "reports", "graphs", "docs")
PATIENT = f"#/diagnose?present={page_graphs.LONG},{page_graphs.LENS}&absent={page_graphs.DEAF}"
QUESTION = "What are the symptoms of Marfan syndrome?"
CHINESE = "痛风用什么药治疗？"


@pytest.fixture(scope="module")
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with two graphs and a report, as long as the tests of this file run."""
    home = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGMED_HOME", str(home))
        page_graphs.build()
        report = home / "reports" / "small-study" / "report.html"
        report.parent.mkdir(parents=True)
        report.write_text("<h1>A study</h1><script>alert(1)</script>", encoding="utf-8")
        yield home


@pytest.fixture(autouse=True)
def home(data_home: Path) -> Path:
    """The data folder of this file, in place of that of the other tests of the service."""
    return data_home


@pytest.fixture(scope="module")
def service(data_home: Path) -> Iterator[served.Running]:
    """A service without a model, with a folder of reports."""
    cases = replace(served.cases_of(), reports=data_home / "reports")
    with served.running(cases) as made:
        yield made


@pytest.fixture(params=["en", "zh"])
def spoken(request: pytest.FixtureRequest, browser: Any, service: served.Running) -> Iterator[tuple[Visit, str]]:
    """A visitor of each language."""
    with visiting(browser, service.url, locale="zh-CN" if request.param == "zh" else "en-GB") as made:
        yield made, request.param


# --- The files.


@pytest.mark.parametrize("name", sorted(VENDORED))
def test_a_vendored_file_is_the_published_one_byte_for_byte(name: str) -> None:
    found = (PAGE / "vendor" / name).read_bytes()
    assert hashlib.sha512(found).hexdigest() == VENDORED[name]
    licences = (PAGE / "vendor" / "LICENSES.txt").read_text(encoding="utf-8")
    assert name in licences
    assert "Permission is hereby granted, free of charge" in licences


@pytest.mark.parametrize("name", sorted(OWN))
def test_text_is_never_written_as_html_nor_run(name: str) -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function"
    assert not re.findall(forbidden, OWN[name])


def test_every_word_is_there_in_both_languages_and_every_one_is_used() -> None:
    table, _, rest = OWN["words.js"].partition("/** What a role is called, seen from its subject and")
    words = dict(re.findall(r"^  (\w+): (\[[^\]]*\])", table, re.MULTILINE))
    asked = {key for text in (*OWN.values(), rest) for key in re.findall(r"\bt\(\"(\w+)\"", text)}
    assert asked <= words.keys()
    elsewhere = " ".join(text for name, text in OWN.items() if name != "words.js") + rest
    assert not [key for key in words if not re.search(rf"\b{key}\b", elsewhere)]
    for key, pair in words.items():
        english, chinese = json.loads(re.sub(r",\s*\]", "]", pair))
        assert english, key
        assert chinese, key
        assert english.count("{n}") == chinese.count("{n}"), key


def test_the_frame_of_the_page_has_neither_script_nor_style_of_its_own() -> None:
    frame = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|style=|<script(?![^>]*src=)|\son\w+=|https?://", frame)


# --- Every view in both languages.


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_view_is_accessible_in_both_languages_light_and_dark(
    browser: Any, service: served.Running, language: str, view: str, scheme: str
) -> None:
    locale = "zh-CN" if language == "zh" else "en-GB"
    with visiting(browser, service.url, locale=locale, color_scheme=scheme) as visit:
        visit.open(f"#/{view}")
        _fill(visit, view, language)
        assert visit.page.locator("html").get_attribute("lang") == locale.replace("en-GB", "en")
        assert visit.violations() == []
        assert ("不构成医疗建议" if language == "zh" else "Not medical advice") in visit.text("footer")
        visit.page.locator("footer").get_by_text("hpo 2025").wait_for()  # told once the service has named its graphs


def _fill(visit: Visit, view: str, language: str) -> None:
    """Bring a view to where it has something to show."""
    page = visit.page
    if view == "ask":
        visit.ask(CHINESE if language == "zh" else QUESTION)
        page.locator(".how summary").click()
        page.locator(".answer-text .cite").first.click()
    elif view == "diagnose":
        visit.open(PATIENT)
        page.locator("button.main").click()
        page.wait_for_selector(".disease")
        for box in page.locator(".disease input[type=checkbox]").all()[:2]:
            box.check()
        page.wait_for_selector(".two .between >> nth=1")
    elif view == "graph":
        visit.open("#/graph/auto/" + ("cmekg:痛风" if language == "zh" else page_graphs.MARFAN))
        page.wait_for_selector(".role-group .chip")
        page.locator(".info").first.click()
        page.wait_for_selector(".fact")
    elif view == "compare":
        page.get_by_role("textbox").fill(QUESTION)
        page.locator("button.main").click()
        page.wait_for_selector(".columns .panel")
    elif view == "reports":
        page.get_by_text("small-study").wait_for()
    elif view == "docs":
        page.get_by_text("POST /v1/ask").click()
        page.get_by_text("question", exact=True).first.wait_for()
    else:
        page.wait_for_selector(".gettable li")


@pytest.mark.parametrize("shape", ["list", "picture", "table"])
def test_each_form_of_the_evidence_is_accessible(spoken: tuple[Visit, str], shape: str) -> None:
    visit, language = spoken
    visit.open().ask(CHINESE if language == "zh" else QUESTION)
    visit.page.locator(f"[data-tab={shape}]").click()
    assert visit.violations() == []
    assert visit.text("#evidence").count("(free to use; cite it)") <= 1 or shape == "table"


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", ["phone", "zoom"])
def test_nothing_runs_over_the_side_of_a_phone_or_of_a_page_at_double_size(
    browser: Any, service: served.Running, view: str, width: str
) -> None:
    size = PHONE if width == "phone" else {"width": 600, "height": 425}
    with visiting(browser, service.url, viewport=size) as visit:
        visit.open(f"#/{view}")
        _fill(visit, view, "en")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_the_language_can_be_changed_and_is_kept(visit: Visit) -> None:
    visit.open().page.get_by_role("button", name="切换到中文").click()
    assert visit.text("h1") == "提出一个医学问题"
    visit.page.reload()
    visit.page.wait_for_selector("h1")
    assert visit.text("h1") == "提出一个医学问题"


def test_light_and_dark_can_be_chosen_whatever_the_system_says(visit: Visit) -> None:
    visit.open()
    shade = "getComputedStyle(document.documentElement).backgroundColor"
    before = visit.page.evaluate(shade)
    for _ in range(2):
        visit.page.get_by_role("button", name=re.compile("Light or dark")).click()
    visit.page.locator("html[data-theme=dark]").wait_for()
    assert visit.page.evaluate(shade) != before


def test_what_moves_stands_still_for_those_who_ask_for_it(browser: Any, service: served.Running) -> None:
    for wish, moving in (("reduce", False), ("no-preference", True)):
        with visiting(browser, service.url, reduced_motion=wish) as visit:
            visit.open().page.evaluate("document.querySelector('main').innerText = ''")
            probe = "(() => { const dot = document.createElement('span'); dot.className = 'dots';"
            probe += " document.querySelector('main').append(dot); return getComputedStyle(dot).animationName })()"
            assert (visit.page.evaluate(probe) != "none") is moving


# --- Asking.


def test_an_answer_comes_with_its_evidence_drawn_and_a_click_on_a_mark_shows_which(visit: Visit) -> None:
    visit.open().ask(QUESTION)
    assert "Arachnodactyly" in visit.text(".answer-text")
    assert visit.page.locator(".pill.hot").count() == 0
    visit.page.locator(".answer-text .cite").first.click()
    assert visit.page.locator(".pill.hot").count() > 2
    assert visit.page.locator(".edge.hot").count() == 1
    assert "Marfan syndrome" in visit.text("#evidence-1.marked")
    assert "hpo 2025 (free to use; cite it)" in visit.text("#evidence-1 .from")
    visit.page.locator(".answer-text .cite").first.click()
    assert visit.page.locator(".pill.hot").count() == 0


def test_a_picture_shows_twelve_of_a_role_until_asked_for_the_others(visit: Visit) -> None:
    visit.open("#/graph/hpo/" + page_graphs.MARFAN).page.locator("[data-tab=picture]").click()
    pills = visit.page.locator(".pill:not(.more)")
    assert pills.count() == 13  # the disease and twelve findings
    visit.page.locator(".pill.more").click()
    assert pills.count() == 1 + 2 + len(page_graphs.SIGNS)


def test_the_picture_is_walked_by_arrow_keys_and_opens_the_facts_of_a_box(visit: Visit) -> None:
    visit.open().ask(QUESTION).page.locator(".pill[tabindex='0']").focus()
    name = "document.activeElement.getAttribute('aria-label')"
    assert visit.page.evaluate(name) == "Marfan syndrome"
    visit.page.keyboard.press("End")
    visit.page.keyboard.press("Home")
    assert visit.page.evaluate(name) == "Marfan syndrome"
    visit.page.keyboard.press("ArrowRight")
    first = visit.page.evaluate(name)
    assert first.endswith("Findings: Marfan syndrome")
    visit.page.keyboard.press("ArrowDown")
    second = visit.page.evaluate(name)
    assert second != first
    visit.page.keyboard.press("Enter")
    opened = visit.text(".chosen")
    assert second.partition(",")[0] in opened
    assert all(word in opened for word in ("hpo 2025", "free to use; cite it", "PMID:"))
    visit.page.keyboard.press("Escape")
    assert visit.page.locator(".chosen").count() == 0


def test_table_and_picture_tell_the_same_facts(visit: Visit) -> None:
    visit.open().ask(QUESTION)
    if visit.page.locator(".pill.more").count():
        visit.page.locator(".pill.more").click()
    drawn = {name.partition(",")[0] for name in visit.page.locator(".pill:not(.root):not(.more)").evaluate_all(
        "all => all.map(g => g.getAttribute('aria-label'))")}  # fmt: skip
    visit.page.locator("[data-tab=table]").click()
    assert drawn == set(visit.texts(".facts tbody td[data-label=To]"))
    assert set(visit.texts(".facts td[data-label=Licence]")) == {"free to use; cite it"}


def test_a_question_in_the_address_is_filled_in_and_never_sent(visit: Visit) -> None:
    visit.open("#/ask?q=What%20treats%20gout%3F")
    assert visit.page.get_by_role("textbox").input_value() == "What treats gout?"
    visit.page.wait_for_load_state("networkidle")
    assert not [line for line in visit.asked if line.startswith("POST")]
    assert "Press Ask" in visit.text(".question")
    visit.page.locator("button.main").click()
    visit.page.wait_for_selector(".result")
    assert "POST /v1/ask" in visit.asked


def test_the_address_of_an_answer_shows_it_to_others_with_the_evidence_it_names(
    visit: Visit, browser: Any, service: served.Running
) -> None:
    visit.open().ask(QUESTION)
    address = visit.page.url
    assert re.search(r"#/run/[0-9a-f-]{36}$", address)
    with visiting(browser, service.url) as other:
        other.open(address.partition("/#")[2].join(["#", "/1"]))
        other.page.wait_for_selector(".result")
        assert other.text(".answer-text") == visit.text(".answer-text")
        assert other.page.locator(".answer-text .cite.marked").count() == 1
        assert not [line for line in other.asked if line.startswith("POST")]


def test_what_is_not_found_is_offered_as_it_is_spelled_and_asked_by_a_button(visit: Visit) -> None:
    visit.open().ask("What are the symptoms of Marphan sindrom?")
    assert "No answer from the graph" in visit.text(".abstained h2")
    visit.page.get_by_role("button", name="Marfan syndrome").click()
    visit.page.wait_for_selector(".answer:not(.abstained)")
    assert visit.page.locator(".question textarea").input_value() == "What are the symptoms of Marfan syndrome?"
    assert "Arachnodactyly" in visit.text(".answer-text")


def test_a_follow_up_is_asked_in_the_light_of_the_answer_before_it(visit: Visit) -> None:
    visit.open().ask(QUESTION)
    before = visit.page.url
    visit.page.get_by_label("Ask a follow-up").fill("What about Weill-Marchesani syndrome?")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url(lambda url: url != before)
    assert visit.text(".answer-text").startswith("Findings of Weill-Marchesani syndrome")
    assert visit.text(".conversation li").startswith(QUESTION)
    visit.page.go_back()
    visit.page.wait_for_url(before)
    visit.page.get_by_text("Findings of Marfan syndrome").wait_for()
    visit.page.get_by_role("link", name="Ask", exact=True).click()
    visit.page.locator(".examples").wait_for()
    assert visit.page.locator(".question textarea").input_value() == ""


def test_how_an_answer_was_made_can_be_opened(visit: Visit) -> None:
    visit.open().ask(QUESTION).page.locator(".how summary").click()
    made = visit.text(".how")
    assert [
        word for word in ("collecting facts", "hpo 2025", "encoder:", "keep = ", "Prompts") if word not in made
    ] == []
    run = saved(visit, lambda: visit.page.get_by_role("button", name="Save as JSON", exact=True).click())
    assert json.loads(run.read_text(encoding="utf-8"))["query"]["question"]["text"] == QUESTION


def test_a_warning_is_drawn_as_one(browser: Any, service: served.Running) -> None:
    with visiting(browser, service.url, locale="zh-CN") as visit:
        visit.open("#/graph/auto/cmekg:秋水仙碱").page.locator("[data-tab=picture]").click()
        assert "禁忌" in visit.page.locator(".group.safety").text_content()
        assert visit.page.locator(".edge.safety").count() == 1


def test_what_has_a_warning_is_never_behind_the_button_for_the_others(visit: Visit) -> None:
    drawn = """async () => {
        const { grow, place } = await import("./picture.js");
        const entity = (id) => ({ id, name: id, kind: "" });
        const relation = (role) => ({ name: role, role, reverse: false });
        const fact = (head, role, tail) =>
            ({ numbers: [], triple: { head: entity(head), relation: relation(role), tail: entity(tail) } });
        const drugs = [...Array(20).keys()].map((i) => fact(`drug ${i}`, "treats", "gout"));
        const tree = grow([...drugs, fact("drug 19", "contraindicated", "pregnancy")], [entity("gout")]);
        return place(tree, 1000, new Set()).pills.map((pill) => pill.key);
    }"""
    shown = visit.open().page.evaluate(drawn)
    assert "drug 19" in shown
    assert "pregnancy" in shown
    assert "drug 15" not in shown


class Speaks(served.Slow):
    """A model that takes its time over an answer, and none over what is not streamed: its reading of the question."""

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        return Reply("{}", 1, 1, self.name)


def test_a_question_can_be_stopped_and_says_so(browser: Any, data_home: Path) -> None:
    model = Speaks(words=["word "] * 2000, seconds=0.05)
    with served.running(served.cases_of(llm=model)) as slow, visiting(browser, slow.url) as visit:
        visit.open().page.get_by_role("textbox").fill(QUESTION)
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector(".outcome .answer-text")  # words arrive while the model speaks
        assert "Marfan syndrome" in visit.text(".outcome .found")
        visit.page.get_by_role("button", name="Stop").click()
        visit.page.get_by_text("Stopped").wait_for()
        assert visit.asked.count("POST /v1/ask") == 1
        assert model.said < len(model.words)


def test_a_report_opens_as_a_page_of_its_own_that_runs_nothing_or_is_saved(visit: Visit) -> None:
    visit.open("#/reports")
    with visit.page.context.expect_page() as opened:
        visit.page.get_by_role("link", name="Open").click()
    report = opened.value
    report.wait_for_load_state()
    assert report.locator("h1").inner_text() == "A study"
    file = saved(visit, lambda: visit.page.get_by_role("button", name="Save: small-study").click())
    assert file.read_text(encoding="utf-8").startswith("<h1>A study</h1>")


def test_what_goes_wrong_is_said_in_the_words_of_the_server(visit: Visit) -> None:
    visit.open().page.goto(f"{visit.origin}/#/run/00000000-0000-7000-8000-000000000000")
    visit.page.wait_for_selector(".trouble")
    assert "run" in visit.text(".trouble")
    visit.page.route("**/v1/ask", lambda route: route.abort())
    visit.page.locator(".question textarea").fill(QUESTION)
    visit.page.keyboard.press("Enter")
    visit.page.get_by_text("does not answer").wait_for()
    assert [w for w in visit.wrong if "404" in w or "ERR_FAILED" in w] == visit.wrong  # the browser's own notes of it
    visit.wrong.clear()


def test_the_key_of_a_service_is_asked_for_and_kept_for_the_tab(browser: Any, data_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key = Keys.of(str(file)).add("ward")
    with (
        served.running(served.cases_of(), ServiceSettings(keys=str(file))) as locked,
        visiting(browser, locked.url) as visit,
    ):
        visit.page.goto(locked.url)
        visit.page.get_by_label("Key").fill(key)
        visit.page.keyboard.press("Enter")
        visit.ask(QUESTION)
        assert "Arachnodactyly" in visit.text(".answer-text")
        assert visit.page.evaluate("localStorage.length + document.cookie.length") <= 2  # language and light
        visit.wrong[:] = [w for w in visit.wrong if "401" not in w]


def test_a_question_is_asked_and_its_evidence_opened_without_a_mouse(visit: Visit) -> None:
    visit.open("#/graphs")
    press, active = visit.page.keyboard.press, "document.activeElement"
    press("Tab")
    assert visit.page.evaluate(f"{active}.className") == "skip"
    visit.open()
    assert visit.page.evaluate(f"{active}.tagName") == "TEXTAREA"
    visit.page.keyboard.type(QUESTION)
    press("Enter")
    visit.page.wait_for_selector(".result")
    assert visit.page.evaluate(f"{active}.textContent") == "Answer"
    press("Tab")
    assert visit.page.evaluate(f"{active}.getAttribute('aria-label')") == "Evidence 1"
    press("Enter")
    assert visit.page.locator(".evidence-item.marked").count() == 1


# --- What is kept, corrected, copied and typed.


def _asked(visit: Visit) -> int:
    return visit.asked.count("POST /v1/ask")


def test_a_second_click_neither_stops_nor_asks_again(visit: Visit) -> None:
    visit.open().page.locator(".question textarea").fill(QUESTION)
    visit.page.locator(".question button.main").dblclick()
    visit.page.wait_for_selector(".result")
    visit.page.locator(".question textarea").press("Enter", no_wait_after=True)
    visit.page.wait_for_selector(".result")
    assert _asked(visit) == 2
    visit.page.route("**/v1/ask", lambda route: None)  # never answered
    for _ in range(3):
        visit.page.locator(".question textarea").press("Enter")
    visit.page.wait_for_selector("[aria-busy=true]")
    assert _asked(visit) == 3


@pytest.mark.parametrize("view", ["ask", "compare", "diagnose"])
def test_nothing_is_cut_off_and_what_is_too_long_is_said(visit: Visit, view: str) -> None:
    visit.open(f"#/{view}")
    if view == "diagnose":
        visit.page.locator(".paste summary").click()
    field = visit.page.locator("main textarea").first
    field.fill("a" * (LONGEST - 1))
    assert len(field.input_value()) == LONGEST - 1
    assert f"{LONGEST - 1:,}" in visit.text(".hint[role=status]")
    field.fill("a" * (LONGEST + 1))
    assert len(field.input_value()) == LONGEST + 1
    assert "too long" in visit.text(".notice")
    assert visit.page.locator("main form button[disabled]").count()
    assert visit.violations() == []


def test_keys_reach_the_field_break_a_line_and_send(visit: Visit) -> None:
    visit.open("#/graphs").page.get_by_role("link", name="Ask", exact=True).click()
    field = visit.page.locator(".question textarea")
    visit.page.wait_for_function("document.activeElement.tagName == 'TEXTAREA'")
    visit.page.locator("h1").click()
    visit.page.evaluate("document.activeElement.blur()")
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("What are the signs")
    visit.page.keyboard.press("Control+Enter")
    visit.page.keyboard.type("of Marfan syndrome/?")
    assert field.input_value() == "What are the signs\nof Marfan syndrome/?"
    assert not _asked(visit)
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector(".result")


def test_an_example_is_asked(visit: Visit) -> None:
    visit.open().page.locator(".example").first.click()
    visit.page.wait_for_selector(".result")
    assert _asked(visit) == 1


def test_a_model_is_chosen_asked_alone_and_each_of_its_sentences_labelled(browser: Any, data_home: Path) -> None:
    one, two = (
        Speaks(
            words=["Arachnodactyly [1]. ", "Its cause is a virus. ", "How long it lasts, the facts do not tell."],
            name=name,
        )
        for name in ("one", "two")
    )
    cases = replace(served.cases_of(llm=one), models={"two": two})
    with served.running(cases) as own, visiting(browser, own.url) as visit:
        page = visit.open().page
        page.locator(".choices summary").click()
        page.get_by_label("Model").select_option("two")
        page.get_by_label("Method").select_option("llm")
        assert "answers from what it knows" in visit.text(".choices .hint")
        visit.ask(QUESTION)
        assert (one.asked, two.asked) == (0, 1)
        assert visit.texts(".answer-text .label") == ["[the model's own]"]
        cited = page.locator(".answer-text .cite").first
        assert "Arachnodactyly" in cited.get_attribute("title")
        assert visit.texts(".verdicts li.neutral") == [
            "How long it lasts, the facts do not tell. nothing to check claims nothing of medicine"
        ]
        page.get_by_role("button", name="Ask the model alone").click()
        page.wait_for_selector(".alone .answer-text")
        assert "POST /v1/ask" in visit.asked[-1]
        assert visit.violations() == []
        with pytest.raises(KgmedError, match="known: one, two"):
            cases.ask(AskRequest(question=QUESTION, model="three"))


def test_nothing_is_lost_by_leaving_a_view(browser: Any, data_home: Path) -> None:
    model = Speaks(words=["word "] * 20, seconds=0.05)
    with served.running(served.cases_of(llm=model)) as slow, visiting(browser, slow.url) as visit:
        visit.open().page.locator(".question textarea").fill("half a ques")
        visit.page.get_by_role("link", name="Graph", exact=True).click()
        visit.page.get_by_role("link", name="Ask", exact=True).click()
        assert visit.page.locator(".question textarea").input_value() == "half a ques"
        visit.page.locator(".question textarea").fill(QUESTION)
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector(".outcome .answer-text")
        visit.page.get_by_role("link", name="Graph", exact=True).click()  # while the model speaks
        visit.page.locator("nav a[href^='#/run/']").wait_for()
        visit.page.get_by_role("link", name="Ask", exact=True).click()
        visit.page.wait_for_selector(".result")
        assert _asked(visit) == 1
        assert model.left == 1


def test_conversations_are_listed_searched_renamed_saved_and_deleted(visit: Visit) -> None:
    visit.open().ask(QUESTION)
    visit.page.get_by_label("Ask a follow-up").fill("And in children?")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector(".conversation")
    assert visit.page.locator(".question textarea").input_value() == f"{QUESTION} And in children?"
    visit.open("#/ask").ask("What are the symptoms of Weill-Marchesani syndrome?")
    visit.page.reload()
    visit.page.wait_for_selector(".result")
    titles = ".history li > a"
    assert visit.texts(titles) == ["What are the symptoms of Weill-Marchesani syndrome?", QUESTION]
    assert "2 questions" in visit.text(".history li >> nth=1")
    visit.page.get_by_label("Search your questions").fill("children")
    assert visit.texts(titles) == [QUESTION]
    visit.page.get_by_role("button", name=f"Rename: {QUESTION}").click()
    visit.page.locator(".history form input").fill("My question")
    visit.page.keyboard.press("Enter")
    visit.page.get_by_role("link", name="My question").wait_for()
    assert visit.texts(titles) == ["My question"]
    file = saved(visit, lambda: visit.page.get_by_role("button", name="Save: My question").click())
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# My question")
    assert text.count("## ") == 2
    assert visit.violations() == []
    visit.page.locator(titles).click()
    visit.page.wait_for_selector(".conversation [aria-current]")
    visit.page.get_by_role("button", name="Delete: My question").click()
    assert visit.page.locator(titles).count() == 0
    visit.page.get_by_label("Search your questions").fill("")
    assert len(visit.texts(titles)) == 1
    visit.page.get_by_role("button", name="Delete all").click()
    assert visit.page.locator(".history section").count() == 0


def test_what_was_asked_of_the_service_is_listed_searched_saved_and_deleted(visit: Visit) -> None:
    visit.open().ask("What are the signs of Weill-Marchesani syndrome?")
    visit.open().ask(QUESTION)
    page, rows = visit.page, ".of-service li > a"
    page.locator(".of-service summary").click()
    page.locator(rows).nth(1).wait_for()
    assert visit.texts(rows)[:2] == [QUESTION, "What are the signs of Weill-Marchesani syndrome?"]
    assert page.locator(".of-service li.open").count() == 1
    assert visit.violations() == []
    page.get_by_label("Search what was asked of the service").fill("weill sign%")
    page.get_by_text("None of your questions").wait_for()
    page.get_by_label("Search what was asked of the service").fill("WEILL signs")
    page.locator(rows).first.wait_for()
    assert set(visit.texts(rows)) == {"What are the signs of Weill-Marchesani syndrome?"}
    saved_run = saved(visit, lambda: page.get_by_role("button", name=re.compile("^Save: ")).last.click())
    assert saved_run.read_text(encoding="utf-8").startswith("# What are the signs")
    before = page.locator(rows).count()
    page.get_by_role("button", name=re.compile("^Delete: ")).last.click()
    assert served.until(lambda: page.locator(rows).count() == before - 1)


def test_what_was_asked_is_listed_only_where_no_other_machine_asks(data_home: Path, tmp_path: Path) -> None:
    for settings in (ServiceSettings(demo=True), ServiceSettings(proxy=True)):
        with served.running(served.cases_of(), settings) as public:
            assert served.HTTP.get(f"{public.url}/v1/runs").status_code == 404
            assert served.HTTP.delete(f"{public.url}/v1/runs/{'0' * 8}").status_code == 404


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_how_a_question_was_read_is_shown_and_corrected_by_a_click(
    browser: Any, service: served.Running, scheme: str
) -> None:
    with visiting(browser, service.url, color_scheme=scheme, viewport=PHONE if scheme == "dark" else None) as visit:
        visit.open().ask(QUESTION)
        assert visit.texts(".read mark") == ["Marfan syndrome"]
        intent = visit.page.locator(".read select")
        assert intent.input_value() == "symptoms"
        visit.page.get_by_role("button", name="Change: Marfan syndrome").click()
        assert visit.violations() == []
        visit.page.get_by_role("combobox", name="What does “Marfan syndrome” mean?").fill("weill")
        visit.page.get_by_role("option", name="Weill-Marchesani").first.click()
        visit.page.get_by_text("Findings of Weill-Marchesani syndrome").first.wait_for()
        assert "chosen by you" in visit.text(".result .found >> nth=1")
        intent.select_option("genes")
        visit.page.locator(".read small", has_text="chosen by you").wait_for()
        assert visit.page.locator(".read select").input_value() == "genes"
        assert "Weill-Marchesani" in visit.text(".result")
        assert visit.violations() == []
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_answer_and_its_evidence_are_copied_and_saved_in_forms_that_others_read(
    browser: Any, service: served.Running
) -> None:
    with visiting(browser, service.url, permissions=["clipboard-read", "clipboard-write"]) as visit:
        visit.open().ask(QUESTION)
        pasted = "navigator.clipboard.readText()"
        visit.page.get_by_role("button", name="Copy answer").click()
        visit.page.get_by_text("Copied").wait_for()
        text = visit.page.evaluate(pasted)
        assert text.startswith(f"{QUESTION}\n")
        assert all(word in text for word in ("Arachnodactyly", "[1] ", "hpo 2025", "#/run/", "not medical advice"))
        visit.page.get_by_role("button", name="Copy as Markdown").click()
        visit.page.wait_for_function("navigator.clipboard.readText().then(t => t.startsWith('# '))")

        def of(form: str) -> str:
            button = visit.page.get_by_role("button", name=f"Save as {form}", exact=True)
            return saved(visit, button.click).read_text(encoding="utf-8")

        rows = list(csv.DictReader(io.StringIO(of("CSV"))))
        assert len(rows) == len(page_graphs.SIGNS) + 2
        assert {row["licence"] for row in rows} == {"free to use; cite it"}
        bib, ris = of("BibTeX"), of("RIS")
        assert bib.count("@misc{") == ris.count("TY  - ") == ris.count("ER  - ") > 2
        assert "PMID" in bib


def test_a_cell_that_a_spreadsheet_would_run_is_text(visit: Visit) -> None:
    made = visit.open().page.evaluate("""async () => {
        const { asCsv } = await import("./parts.js");
        const entity = (name) => ({ id: "x:1", name, kind: "" });
        const relation = { name: "r", role: "treats", reverse: false };
        const [head, tail] = [entity('=cmd("x")'), entity("a, b")];
        const triple = { head, relation, tail, weight: 1, source: "s 1", support: [] };
        return asCsv([{ triple, numbers: [1] }], []);
    }""")
    assert '"\'=cmd(""x"")"' in made
    assert '"a, b"' in made


def test_a_comparison_has_an_address_and_stays(visit: Visit, browser: Any, service: served.Running) -> None:
    visit.open("#/compare").page.get_by_role("textbox").fill(QUESTION)
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector(".columns .panel")
    visit.page.wait_for_url("**runs=*")
    address, shown = visit.page.url, visit.texts(".columns h2")
    visit.page.get_by_role("link", name="Graph", exact=True).click()
    visit.page.get_by_role("link", name="Compare", exact=True).click()
    visit.page.wait_for_selector(".columns .panel")
    with visiting(browser, service.url) as other:
        other.page.goto(address)
        other.page.wait_for_selector(".columns .panel")
        assert other.texts(".columns h2") == shown
        assert not [line for line in other.asked if line.startswith("POST")]


def test_names_of_another_language_are_translated_in_the_page_and_kept_in_what_is_saved(
    browser: Any, data_home: Path
) -> None:
    with served.running(served.cases_of(graph="cmekg")) as service, visiting(browser, service.url) as visit:
        visit.open().ask("What treats gout?")
        visit.page.locator(".evidence [data-tab=table]").click()
        rows = visit.texts("table.facts tbody tr")
        assert [row for row in rows if re.search(r"[\u3400-\u9fff]", re.sub(r"\(.*?\)", "", row))] == []
        kept = saved(visit, lambda: visit.page.get_by_role("button", name="Save as JSON").click())
        assert "痛风" in kept.read_text(encoding="utf-8")


def test_a_pasted_story_fills_in_age_and_sex(visit: Visit) -> None:
    visit.open("#/diagnose").page.locator(".paste summary").click()
    visit.page.locator(".paste textarea").fill("Girl of 7 with arachnodactyly. Her brother is well.")
    visit.page.locator(".paste button").click()
    visit.page.locator(".chip.finding").wait_for()
    assert visit.page.get_by_label("Sex").input_value() == "female"
    assert visit.page.get_by_label("Age").input_value() == "7"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_name_that_was_read_from_other_words_can_be_told_from_its_link(
    browser: Any, service: served.Running, scheme: str
) -> None:
    with visiting(browser, service.url, color_scheme=scheme) as visit:
        visit.open().ask("What are the symptoms of marfans syndrome?")
        assert visit.page.locator(".found q").count()
        assert visit.violations() == []


@pytest.mark.parametrize("where", ["desk", "phone"])
def test_a_graph_is_drawn_searched_zoomed_grown_and_saved(browser: Any, service: served.Running, where: str) -> None:
    dark = {"viewport": PHONE, "color_scheme": "dark"} if where == "phone" else {}
    with visiting(browser, service.url, **dark) as visit:
        visit.open("#/graph/hpo/" + page_graphs.MARFAN)
        assert not [line for line in visit.asked if "cytoscape" in line]
        visit.page.locator("[data-tab=explore]").click()
        visit.page.locator(".explore-place canvas").first.wait_for()
        cy = "document.querySelector('.explore-place').cytoscape"
        before = visit.page.evaluate(f"{cy}.nodes().length")
        assert before == 1 + 2 + len(page_graphs.SIGNS)
        level = visit.page.evaluate(f"{cy}.zoom()")
        visit.page.get_by_role("button", name="Zoom in").click()
        assert visit.page.evaluate(f"{cy}.zoom()") > level
        visit.page.get_by_label("Find in the drawing").fill("arachno")
        assert visit.page.evaluate(f"{cy}.nodes('.found').map(n => n.data('label'))") == ["Arachnodactyly"]
        assert visit.violations() == []
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        visit.page.locator(".explore-list select").select_option(label="Ectopia lentis")
        assert served.until(lambda: visit.page.evaluate(f"{cy}.nodes().length") > before)
        assert visit.page.get_by_role("link", name="Open in the graph: Ectopia lentis").count() == 1
        visit.page.get_by_role("button", name="Fit").click()
        picture = saved(visit, lambda: visit.page.get_by_role("button", name="Save as PNG").click())
        assert picture.read_bytes().startswith(b"\x89PNG")
        drawing = ElementTree.parse(saved(visit, lambda: visit.page.get_by_role("button", name="Save as SVG").click()))
        assert len(list(drawing.iter("{http://www.w3.org/2000/svg}circle"))) == visit.page.evaluate(
            f"{cy}.nodes().length"
        )


def test_a_disease_of_several_databases_stands_in_the_ranking_once(visit: Visit) -> None:
    visit.open("#/diagnose?present=HP:8000050").page.locator("button.main").click()
    visit.page.wait_for_selector(".disease")
    names = visit.texts(".disease h3 > a")
    assert len(names) == len({name.lower() for name in names})
    assert {"OMIM:900001", "ORPHA:900001"} <= set(re.findall(r"\w+:\d+", visit.text(".disease h3")))
