"""The page's other views as a clinician meets them: diagnosis, the graph, methods beside each other, what is kept."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import page_graphs
import served
from browser import DESK, PHONE, Visit, saved, visiting
from kgmed.errors import KgmedError
from kgmed.graph import library
from kgmed.service.app import ServiceSettings
from kgmed.service.kept import Fetches, Uploads

PATIENT = f"#/diagnose?present={page_graphs.LONG},{page_graphs.LENS}&absent={page_graphs.DEAF}&sex=male&age=12"


@pytest.fixture(scope="module")
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with two graphs, as long as the tests of this file run."""
    home = tmp_path_factory.mktemp("views")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGMED_HOME", str(home))
        page_graphs.build()
        yield home


@pytest.fixture(autouse=True)
def home(data_home: Path) -> Path:
    """The data folder of this file, in place of that of the other tests of the service."""
    return data_home


@pytest.fixture(scope="module")
def service(data_home: Path) -> Iterator[served.Running]:
    """A service without a model."""
    with served.running(served.cases_of()) as made:
        yield made


def ranked(visit: Visit) -> list[str]:
    """The diseases of the ranking, after it is there."""
    visit.page.locator("button.main").click()
    visit.page.wait_for_selector(".disease")
    return visit.texts(".disease h3 > a")


# --- Diagnosis.


def test_findings_are_typed_turned_and_ranked_by_the_keyboard_alone(visit: Visit) -> None:
    press, page = visit.page.keyboard.press, visit.open("#/diagnose").page
    field = page.get_by_role("combobox").first
    field.focus()
    for letters, name in (("spider", "Arachnodactyly"), ("lens d", "Ectopia lentis"), ("hear", "Hearing impairment")):
        page.keyboard.type(letters)
        page.get_by_role("option", name=name).wait_for()
        press("Enter")
        page.locator(".finding", has_text=name).wait_for()
    page.get_by_role("button", name="Hearing impairment: present").focus()
    press("Enter")
    assert visit.texts(".finding .sign") == ["present", "present", "absent"]
    page.get_by_role("button", name="Rank diseases").focus()
    press("Enter")
    page.wait_for_selector(".disease")
    assert visit.texts(".disease h3 > a")[0] == "Marfan syndrome"


def test_in_chinese_findings_and_diseases_have_their_chinese_names(browser: Any, service: served.Running) -> None:
    with visiting(browser, service.url, locale="zh-CN") as visit:
        visit.open(PATIENT).page.locator(".finding", has_text="蜘蛛指").wait_for()
        assert ranked(visit)[0] == "马方综合征"
        assert "蜘蛛指" in visit.page.locator(".disease").first.inner_text()
        field = visit.page.get_by_role("combobox").first
        field.fill("lens d")  # Ectopia lentis, which has no Chinese name here, is still found
        visit.page.get_by_role("option", name="Ectopia lentis").wait_for()


def test_arrow_keys_choose_among_completions_and_escape_leaves_them(visit: Visit) -> None:
    page = visit.open("#/diagnose").page
    page.get_by_role("combobox").first.fill("e")
    page.get_by_role("option").first.wait_for()
    chosen = page.locator("[role=option][aria-selected=true]")
    first = chosen.inner_text()
    page.keyboard.press("ArrowDown")
    assert chosen.inner_text() != first
    page.keyboard.press("Escape")
    page.get_by_role("option").first.wait_for(state="hidden")


def test_a_chip_shows_its_definition_and_can_be_taken_away(visit: Visit) -> None:
    page = visit.open(PATIENT).page
    page.get_by_role("button", name="What is Arachnodactyly?").click()
    page.get_by_text("Long slender fingers.").wait_for()
    page.get_by_role("button", name="Remove Arachnodactyly").click()
    assert page.locator(".finding").count() == 2


def test_a_ranking_says_what_speaks_for_and_against_and_what_is_expected(visit: Visit) -> None:
    assert ranked(visit.open(PATIENT))[:2] == ["Marfan syndrome", "Weill-Marchesani syndrome"]
    first = visit.text(".disease >> nth=0")
    assert all(word in first for word in ("2 fit", "For", "124/197", "Expected, not mentioned", "Scoliosis"))
    visit.page.get_by_role("button", name="Reasons: Weill-Marchesani syndrome").click()
    second = visit.text(".disease >> nth=1")
    assert "has it" not in second.partition("Not listed")[0]
    assert "does not have it either" in second
    assert "Not medical advice" in visit.text(".ranking .limits")
    visit.page.get_by_role("button", name="Source of this fact: Arachnodactyly").click()
    assert "PMID:28050285" in visit.text(".fact")


def test_an_expected_finding_is_added_by_a_button_and_the_ranking_is_then_old(visit: Visit) -> None:
    ranked(visit.open(PATIENT))
    visit.page.get_by_role("button", name="Add Scoliosis as present").click()
    assert "Scoliosis" in visit.texts(".finding .chip-name")
    assert "changed since this ranking" in visit.text(".notice")
    visit.page.locator("button.main").click()
    visit.page.locator(".disease >> nth=0").get_by_text("3 fit").wait_for()
    assert visit.page.locator(".notice").count() == 0


def test_two_diseases_stand_side_by_side(visit: Visit) -> None:
    ranked(visit.open(PATIENT))
    for name in ("Marfan syndrome", "Weill-Marchesani syndrome"):
        visit.page.get_by_role("checkbox", name=f"Compare {name}").check()
    visit.page.get_by_role("row", name="Glaucoma").wait_for()
    rows = {row.split("\t")[0]: row.split("\t")[1:] for row in visit.page.locator(".two tbody tr").all_inner_texts()}
    assert rows["Ectopia lentis"] == ["has it 119/251", "has it 64/73"]
    assert rows["Arachnodactyly"] == ["has it 124/197", "not listed"]
    assert rows["Glaucoma"] == ["19/40", "36/46"]
    assert rows["Hearing impairment"][1].startswith("does not have it either")


def test_a_printed_ranking_is_the_patient_the_diseases_and_nothing_to_press(visit: Visit) -> None:
    ranked(visit.open(PATIENT))
    visit.page.emulate_media(media="print")
    shown = visit.page.locator("body").inner_text()
    assert "Present: Arachnodactyly (HP:0001166)" in shown.replace("present:", "Present:")
    assert "male · Age 12 · hpo 2025" in shown
    assert visit.page.get_by_role("button").count() == 0
    assert not visit.page.locator(".patient-side").is_visible()


def test_a_phenopacket_goes_out_and_comes_in_as_the_same_patient(visit: Visit, tmp_path: Path) -> None:
    page = visit.open(PATIENT).page
    file = saved(visit, lambda: page.get_by_role("button", name="Save as phenopacket").click())
    packet = json.loads(file.read_text(encoding="utf-8"))
    assert [f["type"]["id"] for f in packet["phenotypicFeatures"]][:2] == [page_graphs.LONG, page_graphs.LENS]
    kept = tmp_path / "patient.json"
    kept.write_text(json.dumps(packet), encoding="utf-8")
    page.get_by_role("button", name="Clear all").click()
    page.locator("input[type=file]").set_input_files(kept)
    page.locator(".finding >> nth=2").wait_for()
    assert visit.texts(".finding .chip-name") == ["Arachnodactyly", "Ectopia lentis", "Hearing impairment"]
    assert visit.texts(".finding .sign") == ["present", "present", "absent"]
    assert page.get_by_label("Sex").input_value() == "male"
    other = tmp_path / "other.json"
    other.write_text("[1]", encoding="utf-8")
    page.locator("input[type=file]").set_input_files(other)
    page.get_by_text("other.json is no phenopacket").wait_for()


def test_a_pasted_description_becomes_chips_that_can_be_put_right(visit: Visit) -> None:
    page = visit.open("#/diagnose").page
    page.locator(".paste summary").click()
    text = page.get_by_role("textbox", name="Or paste a description")
    text.fill("A boy with arachnodactyly and ectopia lentis. No hearing impairment.")
    page.get_by_role("button", name="Find the findings in it").click()
    page.get_by_text("3 findings were read").wait_for()
    assert visit.texts(".finding .sign") == ["present", "present", "absent"]
    assert page.locator(".disease").count() == 0  # nothing is ranked before it was looked at


def test_a_link_with_a_patient_is_filled_in_and_never_sent(visit: Visit) -> None:
    page = visit.open(PATIENT).page
    page.locator(".finding", has_text="Arachnodactyly").wait_for()
    page.wait_for_load_state("networkidle")
    assert not [line for line in visit.asked if line.startswith("POST")]


# --- The graph.


def test_a_thing_is_searched_and_each_fact_says_where_it_is_from(visit: Visit) -> None:
    page = visit.open("#/graph").page
    page.get_by_role("combobox").first.fill("marf")
    page.get_by_role("option", name="Marfan syndrome").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_selector(".thing")
    assert page.url.endswith("#/graph/auto/OMIM%3A154700")
    assert "Findings 15" in visit.texts(".role-group h3")
    page.get_by_role("button", name="Source of this fact: Arachnodactyly").click()
    told = visit.text(".fact")
    assert [w for w in ("124/197", "hpo 2025", "free to use; cite it", "PMID:28050285") if w not in told] == []


def test_a_thing_that_several_facts_name_is_listed_once_with_all_of_them(visit: Visit) -> None:
    page = visit.open("#/graph/auto/cmekg:痛风").page
    source = page.locator(".role-group", has_text="Findings").locator(".info")
    source.first.wait_for()
    assert source.count() == 1
    source.click()
    assert page.locator(".fact").count() == 2


def test_what_a_thing_has_stands_as_in_an_answer(visit: Visit) -> None:
    page = visit.open().ask("What are the symptoms of Marfan syndrome?").page
    page.locator("[data-tab=table]").click()
    answered = visit.texts(".facts tbody td[data-label=To]")
    visit.open(f"#/graph/auto/{page_graphs.MARFAN}").page.get_by_role("button", name="more facts").click()
    visit.page.wait_for_selector(".chip >> nth=14")
    assert visit.texts(".facts-list .chip a") == answered
    assert len(answered) == 15
    asked = page.evaluate("fetch('/v1/graphs/cmekg/entities/痛风/neighbours?limit=2').then((r) => r.json())")
    assert [t["relation"]["role"] for t in asked["triples"]] == ["treats", "finding"]  # and not 15 times the first


def test_a_box_of_the_picture_can_be_expanded_where_it_is(visit: Visit) -> None:
    page = visit.open(f"#/graph/auto/{page_graphs.MARFAN}").page
    page.locator("[data-tab=picture]").click()
    page.get_by_role("button", name="more: Findings").click()
    page.get_by_role("button", name="Ectopia lentis, Findings").click()
    assert page.get_by_role("button", name="Weill-Marchesani syndrome").count() == 0
    page.get_by_role("button", name="Show here what is known of it").click()
    page.get_by_role("button", name="Weill-Marchesani syndrome, Finding of: Ectopia lentis").wait_for()


def test_paths_between_two_things_are_drawn_and_listed(visit: Visit) -> None:
    page = visit.open(f"#/graph/auto/{page_graphs.MARFAN}").page
    page.get_by_role("combobox", name="Paths to").fill("weill")
    page.get_by_role("option", name="Weill-Marchesani syndrome").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_selector(".path")
    lines = visit.texts(".path")
    assert "Marfan syndrome Findings Ectopia lentis Finding of Weill-Marchesani syndrome" in [
        line.replace("— ", "").replace(" →", "") for line in lines
    ]
    page.locator(".path").first.click()
    assert page.locator(".pill.hot").count() >= 2


def test_a_name_that_several_things_have_is_a_choice(visit: Visit) -> None:
    visit.open("#/graph/hpo/Twin%20disease").page.get_by_text("Which one?").wait_for()
    visit.page.get_by_role("link", name="Twin disease").first.click()
    visit.page.wait_for_selector(".thing")
    visit.wrong[:] = [w for w in visit.wrong if "409" not in w]  # the browser notes it by itself


def test_a_name_that_looks_like_html_is_shown_as_it_is(visit: Visit) -> None:
    page = visit.open("#/graph/hpo/HP:8000050").page
    page.wait_for_selector(".thing")
    assert page_graphs.HARM in visit.text(".thing h2")
    assert page_graphs.HARM in visit.text(".thing .definition")
    page.locator("[data-tab=picture]").click()
    page.locator(".pill").first.wait_for()
    page.goto(f"{visit.origin}/#/ask?q=%3Cimg src=x onerror=alert(1)%3E")
    page.wait_for_selector("textarea")
    visit.ask(f"What is {page_graphs.HARM}?")
    assert page.locator("main img").count() == 0


def test_names_are_chinese_where_the_page_is(browser: Any, service: served.Running) -> None:
    with visiting(browser, service.url, locale="zh-CN") as visit:
        visit.open("#/graph/auto/cmekg:痛风")
        visit.page.wait_for_selector(".role-group .chip")
        assert "治疗药物与方法 15" in visit.texts(".role-group h3")


# --- What is beside them.


def test_methods_answer_side_by_side_and_each_answer_opens_with_its_evidence(visit: Visit) -> None:
    page = visit.open("#/compare").page
    page.get_by_role("textbox").fill("What are the symptoms of Marfan syndrome?")
    page.get_by_role("checkbox", name="kg-rank").check()
    page.locator("button.main").click()
    page.wait_for_selector(".columns .panel")
    assert visit.texts(".columns h2") == ["facts", "kg-rank"]
    page.get_by_role("link", name="Open with its evidence").first.click()
    page.wait_for_selector(".result .evidence")


def test_graphs_are_listed_with_licence_release_size_and_languages_and_how_to_get_more(visit: Visit) -> None:
    visit.open("#/graphs").page.wait_for_selector(".gettable li")
    hpo = visit.text(".cards .panel >> nth=0")
    assert [w for w in ("hpo", "2025", "free to use; cite it", "English", "kB", "Findings") if w not in hpo] == []
    assert "kgmed graph get symptom-ontology" in visit.text(".gettable")
    assert "kgmed graph build hpo" not in visit.text(".graphs")  # it is here


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_what_is_told_of_a_graph_stands_line_below_line(
    browser: Any, service: served.Running, size: dict[str, int]
) -> None:
    with visiting(browser, service.url, viewport=size) as visit:
        page = visit.open("#/graphs").page
        page.wait_for_selector(".gettable li")
        line = page.locator(".cards dl.plain > div").first
        assert line.bounding_box()["height"] < 40


def test_no_report_is_no_error(visit: Visit) -> None:
    visit.open("#/reports").page.get_by_text("No evaluation was kept yet").wait_for()


def test_a_graph_is_got_by_a_button_that_shows_how_far_it_is(browser: Any) -> None:
    go, on = Event(), Event()

    def fetch(name: str, fetching: Callable[[int], None], building: Callable[[int], None]) -> None:
        fetching(100_000)
        go.wait(60)
        building(1_234)
        on.wait(60)

    cases = replace(served.cases_of(keep=False), fetches=Fetches(fetch, lambda name: None))
    with served.running(cases, ServiceSettings(fetches=True)) as own, visiting(browser, own.url) as visit:
        page = visit.open("#/graphs").page
        page.get_by_role("button", name="Get it: symptom-ontology").click()
        page.get_by_text("Fetching 100 kB / 232 kB").wait_for()
        assert visit.violations() == []
        go.set()
        page.get_by_text("rows so far: 1,234").wait_for()
        on.set()
        page.locator(".gettable").get_by_text("Start the server again to ask it").wait_for()


def test_a_table_is_handed_in_looked_at_put_right_and_built(browser: Any, tmp_path: Path, home: Path) -> None:
    table = tmp_path / "Remedies.csv"
    rows = "Drug A,treats,Disease B,1\n,treats,Disease B,2\nDrug C,treats,Disease D,2\n"
    table.write_text(f"remedy,relation,trouble,book\n{rows}", encoding="utf-8")
    cases = replace(served.cases_of(keep=False), fetches=Fetches(prepare=lambda name: None))
    with served.running(cases, ServiceSettings(fetches=True)) as own, visiting(browser, own.url) as visit:
        page = visit.open("#/graphs").page
        page.get_by_label("Its name").fill("remedies")
        page.locator(".own input[type=file]").set_input_files(table)
        columns = page.get_by_label("What the columns mean")
        columns.wait_for()
        assert visit.violations() == []
        assert "without a column for the head" in visit.text(".own .notice")
        columns.fill('head = "remedy"\nrelation = "relation"\ntail = "trouble"\n')
        page.get_by_role("button", name="Look again").click()
        page.get_by_text("Drug A — treats — Disease B").wait_for()
        assert "All 2 facts" in visit.text(".own .seen")
        assert "rows dropped (an edge without both ends and a relation): 1, first in line 3" in visit.text(".own .seen")
        assert visit.violations() == []
        page.get_by_role("button", name="Build it").click()
        page.locator(".own").get_by_text("The graph remedies is here").wait_for()
        assert visit.violations() == []
        assert library.open_graph("remedies").manifest.counts["triples"] == 2
        assert not [*(home / "uploads").iterdir()]
        page.locator(".own input[type=file]").set_input_files(table)
        page.get_by_text("there is a graph called 'remedies' already").wait_for()
        assert "remedies" in " ".join(visit.texts(".cards .panel h2"))
        visit.wrong[:] = [w for w in visit.wrong if "422" not in w]  # the browser notes it by itself
    for name, file in (("../up", "a.csv"), ("up", "a.exe"), ("Up", "a.csv")):
        with pytest.raises(KgmedError):
            Uploads().put(name, file, b"x")
    with served.running(served.cases_of(keep=False)) as public:
        refused = served.HTTP.post(f"{public.url}/v1/upload/x?file=a.csv", content=b"a,b")
        assert refused.status_code == 404


def test_the_page_is_there_while_graphs_are_opened_and_a_question_waits_for_them(browser: Any) -> None:
    go, cases = Event(), served.cases_of(keep=False)

    def slowly(name: str) -> Any:
        go.wait(60)
        return library.open_graph(name)

    cases = replace(cases, session=replace(cases.session, open_graph=slowly))
    with served.running(cases) as own, visiting(browser, own.url) as visit:
        page = visit.open().page
        page.get_by_text("The server is opening its graphs").wait_for()
        page.get_by_role("textbox").fill("What are the symptoms of Marfan syndrome?")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Stop").wait_for()
        assert visit.violations() == []
        go.set()
        page.wait_for_selector(".result")
        assert "Arachnodactyly" in visit.text(".answer-text")
        page.get_by_text("The server is opening its graphs").wait_for(state="detached")
