"""A report says what the log says: every method, every failure, whose figures are whose."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kgmed.evaluate.datasets import datasets
from kgmed.evaluate.items import Gold, Item
from kgmed.evaluate.log import Entry, Job
from kgmed.evaluate.metrics import made_metrics, metrics
from kgmed.evaluate.report import plots, tables
from kgmed.evaluate.report.page import csv_files, html_page, markdown_report, markdown_results, write_report
from kgmed.evaluate.report.plots import Point
from kgmed.evaluate.report.tables import MAIN, Study, default_baseline, report_metrics, sweeps
from kgmed.evaluate.report.text import Table
from kgmed.evaluate.run import Plan
from kgmed.records import Answer, Context, Entity, Evidence, Query, Question, Relation, Run, Spent, Stage, Triple
from kgmed.registry import methods

pytestmark = pytest.mark.skipif(
    not (find_spec("jinja2") and find_spec("matplotlib")), reason="reports need jinja2 and matplotlib"
)
EVIL = '<script>alert("x")</script>\u202e=cmd'
OPTIONS = (("A", EVIL), ("B", "rest"))
ITEMS = [Item(Question(f"{EVIL} {i}", OPTIONS, "en", f"q{i}"), Gold(("A",))) for i in range(12)]
MANIFEST = {
    "dataset": {"name": "mmcu", "revision": "r", "sha256": "s", "part": "test", "limit": 4, "sample": 0},
    "graph": "toy 1 #abc",
    "setup": {"graph": "/home/somebody/toy", "llm": "it's; rm -rf x", "evidence_tokens": 0},
    "versions": {"kgmed": "0.1.0"},
}


def run(item: Item, choice: str, *, tokens: int = 10, name: str = "") -> Run:
    triple = Triple(Entity("a", EVIL), Relation("treats"), Entity("b", "rest"), source=EVIL)
    piece = Evidence(EVIL, "triple", (triple,))
    answer = Answer(EVIL, choices=(choice,) if choice else ())
    stages = (Stage("link", 0.25), Stage("read", 0.5))
    spent = Spent(calls=1, tokens_in=tokens, tokens_out=tokens, cost=tokens / 1000)
    context, models = Context("", (piece,)), (("llm", EVIL),)
    return Run(Query(item.question), (), (), (), (piece,), context, answer, stages, name, failures=(EVIL,),
               models=models, spent=spent)  # fmt: skip


def study(methods: dict[str, str], *, total: int = 2819, **changes: Any) -> Study:
    """A study of methods by the letter that each gives to its questions; "x" = the run failed, "." = not run."""
    log = {}
    items = ITEMS[: len(next(iter(methods.values())))]
    for method, said in methods.items():
        for item, letter in zip(items, said, strict=True):
            job = Job(method, item.question.id)
            if letter != ".":
                run_of = None if letter == "x" else run(item, letter, tokens=10 * len(method))
                log[job] = Entry(job, run_of, EVIL if run_of is None else "")
    plan = Plan(tuple(methods), items)
    made = Study("folder", datasets()["mmcu"], MANIFEST, plan, log, total, report_metrics("choice", ()))
    return replace(made, **changes)


TOLD = {"zero-shot": "ABBB", "hykge": "AAAB", "hykge+random": "BBx.", "mindmap": "xxxx"}


def column(table: Table, name: str) -> dict[object, object]:
    return {row[0]: row[table.header.index(name)] for row in table.rows}


def test_sets_that_compare_the_same_methods_stand_side_by_side_with_arrows_for_what_is_sure() -> None:
    sure = study({"zero-shot": "B" * 12, "hykge": "A" * 12, "mindmap": "B" * 11 + "x"}, name="sure")
    unsure = study({"zero-shot": "BABA", "hykge": "AABA", "mindmap": "xxxx"}, name="unsure")
    worse = study({"zero-shot": "A" * 12, "hykge": "B" * 12, "mindmap": "A" * 12}, name="worse")
    [table] = tables.overview([sure, study(TOLD), unsure, worse])
    assert table.header == ("method", "sure: accuracy", "unsure: accuracy", "worse: accuracy")
    assert table.rows == (
        ("zero-shot", "0.0000", "0.5000", "1.0000"),
        ("hykge", "1.0000 ↑", "0.7500", "0.0000 ↓"),
        ("mindmap", "0.0000", "0.0000", "1.0000"),
        ("one option drawn at random", "0.5000", "0.5000", "0.5000"),
    )
    assert "## All sets at a glance: 3 methods" in markdown_report([sure, worse])
    assert "<h2>All sets at a glance: 3 methods</h2>" in html_page([sure, worse])
    assert "1.0000 ↑" in csv_files([sure, worse])["tables/overview-1.csv"]
    assert tables.overview([sure]) == []
    bare = replace(sure, plan=replace(sure.plan, items=[replace(i, question=Question("?")) for i in ITEMS]))
    assert tables.overview([sure, bare])[0].rows[-1] == ("one option drawn at random", "0.5000", "0.0000")
    spoken = replace(sure, dataset=datasets()["liveqa"], metrics=report_metrics("text", ("seconds",)))
    assert [row[0] for row in tables.overview([spoken, spoken])[0].rows] == ["zero-shot", "hykge", "mindmap"]


def test_every_method_has_a_line_with_its_failures_counted_as_failures() -> None:
    table = tables.headline(study(TOLD))
    assert column(table, "accuracy") == {"zero-shot": 0.25, "hykge": 0.75, "hykge+random": 0, "mindmap": 0}
    assert column(table, "n") == {**dict.fromkeys(TOLD, 4), "hykge+random": 3}
    assert column(table, "failed") == {"zero-shot": 0, "hykge": 0, "hykge+random": 1, "mindmap": 4}
    told = tables.failures(study(TOLD))
    assert ("mindmap", "failed", 4, EVIL) in told.rows
    assert ("hykge", "went on", 4, EVIL) in told.rows


def test_the_baseline_is_zero_shot_else_the_first_control_else_the_one_named() -> None:
    assert column(tables.headline(study(TOLD)), "against zero-shot")["hykge"] == 0.5
    assert column(tables.headline(study(TOLD)), "against zero-shot")["zero-shot"] is None
    assert default_baseline(["facts", "hykge+random", "facts+random"]) == "hykge+random"
    named = study(TOLD, chosen_baseline="hykge")
    assert {d.baseline for d in named.differences} == {"hykge"}
    assert column(tables.differences_of(named, named.main), "difference")["zero-shot"] == -0.5
    assert min(d.corrected - d.p for d in named.differences) >= 0


def test_figures_of_papers_stand_in_their_own_column_with_their_model() -> None:
    of = study(TOLD)
    table = tables.headline(of)
    assert table.header[-1] == "paper, with its model"
    assert "0.4965 with GPT-3.5" in str(column(table, "paper, with its model")["hykge"])
    assert column(table, "paper, with its model")["hykge+random"] == ""
    other = replace(of, dataset=replace(of.dataset, name="own"))
    assert set(column(tables.headline(other), "paper, with its model").values()) == {""}
    drawn = re.findall(r"<svg.*?</svg>", html_page([of]), re.S)
    assert drawn
    assert not any("0.4965" in drawing or "GPT" in drawing for drawing in drawn)


def test_every_figure_of_a_paper_is_of_a_method_a_data_set_and_a_metric_that_there_are() -> None:
    found = tables.figures()
    assert {f.method.partition("[")[0] for f in found} <= set(methods.names())
    assert {f.dataset for f in found} <= set(datasets())
    made = {f"{name}{more}" for name in made_metrics() for more in ("", "-f1", "-similarity")}
    made |= {f"bertscore-{part}" for part in "prf"}  # as `make_bertscore` names them
    assert {f.metric for f in found} <= {*metrics(), *made}
    assert all(f.value >= 1 if f.metric in ("perplexity", "calls") else 0 < f.value < 1 for f in found)
    assert all(f.model for f in found)
    keys = [(f.method, f.dataset, f.metric, f.model) for f in found]
    assert len(keys) == len(set(keys))


def test_a_sample_is_called_one_and_a_whole_set_is_not() -> None:
    assert "a sample of 4 of its 2819 questions" in html_page([study(TOLD)])
    assert "A sample: 4 of 2819" in markdown_report([study(TOLD)])
    whole = study(TOLD, total=4)
    assert "sample of" not in html_page([whole])
    assert "All 4 questions" in tables.headline(whole).note


def test_letters_are_told_beside_those_that_are_right() -> None:
    table = tables.letters(study(TOLD))
    assert table.rows[0] == ("right answers", None, 1.0, 0.0)
    assert column(table, "distance") == {"right answers": None, "zero-shot": 0.75, "hykge": 0.25, "hykge+random": 1.0,
                                         "mindmap": None}  # fmt: skip


class Page(HTMLParser):
    """The tags of a page and what they point to."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attrs)


def test_the_page_stands_alone_and_nothing_of_strangers_is_alive_in_it() -> None:
    whole = html_page([study(TOLD), study(TOLD, name=EVIL), study({f"hykge[hops={i}]": "AB" for i in (1, 2)})])
    parser = Page()
    parser.feed(whole)
    assert not parser.tags & {
        "script", "link", "img", "iframe", "object", "base", "form", "image", "foreignobject", "metadata", "animate"
    }  # fmt: skip
    assert not [name for name, _ in parser.attributes if name.startswith("on") or name == "src"]
    assert all((value or "").startswith("#") for name, value in parser.attributes if name.endswith("href"))
    assert all(value.startswith("#") for value in re.findall(r"url\(([^)]*)", whole))
    assert "<script" not in whole
    assert "\u202e" not in whole
    assert not re.search(r"@import|https?://", whole.split("</style>")[0])
    assert whole.count("<style") == 1
    assert "default-src 'none'" in whole


def test_names_in_a_plot_are_text_whatever_they_look_like() -> None:
    names = [EVIL, '$x^2$ <g id="tip-0">', "中文\n\u2066", '" style="fill:#2a6fb0', "half \ud800 pair", "--><b>"]
    points = [Point(name, i / 10, 0.0, 1.0, float(i)) for i, name in enumerate(names)]
    for drawn in (
        plots.intervals(points, EVIL, baseline=EVIL),
        plots.scatter(points, EVIL, EVIL),
        plots.stacked([(name, {EVIL: 1.0, "b": 2.0}) for name in names], EVIL),
        plots.lines([(name, points) for name in names], EVIL, EVIL),
    ):
        parser = Page()
        parser.feed(drawn)
        assert parser.tags <= {"svg", "g", "path", "defs", "use", "text", "title", "clippath", "rect", "tspan"}
        assert not [name for name, _ in parser.attributes if name.startswith("on")]
        assert not re.search("[\u202e\u2066\ud800]", drawn)
        assert "⟨U+202E⟩" in drawn
        assert "$x^2$ &lt;g id" in drawn
        assert '<g id="tip-' not in drawn


def test_the_page_is_the_same_each_time() -> None:
    assert html_page([study(TOLD)]) == html_page([study(TOLD)])


def test_disagreements_show_every_answer_and_failure_side_by_side() -> None:
    whole = html_page([study(TOLD)])
    part = whole[whole.index("Where methods disagree") :]
    assert "3 of 4 questions are not scored alike" in part
    assert part.count("<details>") >= 3
    assert part.count('<section class="answer">') == 3 * len(TOLD)
    assert part.count("failed:") == 3 + 1 + 0  # mindmap at three questions, hykge+random at q2
    alike = study({"a": "AAAA", "b": "AAAA"})
    assert "scored alike on every question" in html_page([alike])


def test_sweeps_are_found_among_the_methods_and_drawn_by_value() -> None:
    names = ["hykge[hops=10]", "hykge[hops=2]", "hykge[hops=2]+random", "hykge[hops=3]+random", "kg-rank[ranking=mmr]",
             "hykge[keep=5]"]  # fmt: skip
    (found,) = sweeps(names)
    assert found.setting == "hops"
    assert dict(found.series) == {
        "hykge": ((2.0, "hykge[hops=2]"), (10.0, "hykge[hops=10]")),
        "hykge+random": ((2.0, "hykge[hops=2]+random"), (3.0, "hykge[hops=3]+random")),
    }
    of = study({"hykge[hops=1]": "ABBB", "hykge[hops=2]": "AAAB"})
    (one,) = sweeps(list(of.plan.methods))
    score, held, pieces, seconds = plots.sweep(of, one)
    assert "evidence-recall@20 by hops" in held
    assert "hykge[hops=2]: 0.7500" in score
    assert "hykge[hops=2]: 1.0000" in pieces
    assert "hykge[hops=1]: 0.7500" in seconds


def places(drawn: str, kind: str) -> dict[str, tuple[float, float]]:
    """The tooltip of each dot or bar, and its extent from left to right."""
    found = {}
    for tip, body in re.findall(r"<g><title>([^<]*)</title>(.*?)</g>", drawn, re.S):
        xs = re.findall(r'<use [^>]*x="([\d.]+)"' if kind == "dot" else r"[ML] ([\d.]+) ", body)
        found[tip] = (min(map(float, xs)), max(map(float, xs)))
    return found


def test_a_dot_stands_where_its_value_is() -> None:
    drawn = plots.intervals([Point("a", 0.0, 0.0, 0.0), Point("b", 0.5, 0.25, 1.0), Point("c", 1.0, 1.0, 1.0)], "x")
    a, b, c = (left for left, _ in places(drawn, "dot").values())
    assert b - a == pytest.approx(c - b, abs=0.01)
    lines = re.findall(r'd="M ([\d.]+) ([\d.]+) \nL ([\d.]+) ([\d.]+) \n" [^>]*stroke-width: 2.3', drawn)
    [(left, right)] = [(float(x1), float(x2)) for x1, _, x2, _ in lines if x1 != x2]
    assert left == pytest.approx((a + b) / 2, abs=0.01)
    assert right == pytest.approx(c, abs=0.01)


def test_quality_is_drawn_against_money_where_prices_are_known_and_says_who_is_missing() -> None:
    whole = html_page([study(TOLD)])
    assert "US dollars a question" in whole
    assert "not drawn: mindmap" in whole


def test_a_stage_s_part_of_a_bar_is_as_wide_as_its_seconds() -> None:
    bars = places(plots.stacked([("a", {"link": 1.0, "read": 3.0})], "seconds"), "bar")
    assert list(bars) == ["a, link: 1.0000", "a, read: 3.0000"]
    link, read = (right - left for left, right in bars.values())
    assert read == pytest.approx(3 * link, abs=0.01)


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_a_package_that_reports_need_the_error_names_the_extra(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from kgmed.evaluate.report import page, plots\n"
        "for make in (lambda: page.html_page([]), lambda: plots.intervals([], 'x')):\n"
        "    try: make()\n"
        "    except page.Unavailable as e: print(e)"
    )
    told = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert package in told
    assert 'pip install "kgmed[eval]"' in told


def test_the_command_is_quoted_and_names_no_folder_of_the_machine() -> None:
    told = tables.command(study(TOLD))
    assert "/home" not in told
    assert "--number 4 --sample 0" in told
    assert "'it'\"'\"'s; rm -rf x'" in told
    assert "hykge+random" in told


def test_the_command_holds_all_that_answers_depend_on() -> None:
    setup = {"graph": "toy", "llm": "hf//home/x/tiny", "batch": 8, "precision": "bfloat16", "reply_tokens": 32}
    made_with = {**MANIFEST, "setup": {**setup, "choose": "likelihood", "evidence_tokens": 256}}
    told = replace(study(TOLD), manifest=made_with)
    made = tables.command(told)
    assert "--llm hf/tiny " in made
    for words in ("--batch 8", "--precision bfloat16", "--reply-tokens 32", "--choose likelihood"):
        assert words in made
    assert "/home" not in str(tables.provenance(told))


def test_results_name_the_model_and_the_commands() -> None:
    text = markdown_results([study(TOLD)], command="kgmed eval report folder --markdown results/results.md")
    assert "```sh\nkgmed eval report folder --markdown results/results.md\n```" in text
    assert "```sh\nkgmed eval run folder" in text
    assert "The language model: " in text
    assert "far smaller" not in text
    assert not re.search(r"(?<!\\)<script", text)
    for name in (
        "gguf/SmolLM2-135M-Instruct.Q4_1.gguf",
        "hf/SmolLM2-135M-Instruct.Q4_1.transformers, 8 tokens a reply",
    ):
        small = {job: replace(e, run=replace(e.run, models=(("llm", name),)))
                 for job, e in study(TOLD).log.items() if e.run}  # fmt: skip
        told = markdown_results([study(TOLD, log=small)], command="x")
        assert "(a file of 98 MB)" in told
        assert "far smaller" in told


def test_files_are_written_whole_and_tables_of_all_studies_stand_together(tmp_path: Path) -> None:
    paths = write_report([study(TOLD), study(TOLD, name="second")], tmp_path)
    assert {p.name for p in paths} >= {"report.html", "report.md", "scores.csv", "differences.csv", "failures.csv"}
    rows = (tmp_path / "tables" / "scores.csv").read_text("utf-8").splitlines()
    assert {row.split(",")[0] for row in rows} == {"evaluation", "folder", "second"}
    assert not list(tmp_path.rglob("*.new*"))


def test_the_usual_metrics_begin_with_the_main_one_and_named_ones_are_those() -> None:
    for task, main in MAIN.items():
        assert report_metrics(task, ())[0].name == main
        assert {m.name for m in report_metrics(task, ("all",))} == {
            m.name for m in metrics().values() if task in m.tasks
        }
    assert [m.name for m in report_metrics("choice", ("pcr", "accuracy"))] == ["pcr", "accuracy"]
