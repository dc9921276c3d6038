"""The tables of the five papers: all are listed, each stands on what there is, and one is made end to end."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.errors import UnknownName
from kgmed.evaluate.controls import controlled
from kgmed.evaluate.datasets import datasets, others
from kgmed.evaluate.diagnosing import OF_SCORERS
from kgmed.evaluate.judge import kind_of
from kgmed.evaluate.log import LOG, entries
from kgmed.evaluate.metrics import made_metrics, metrics
from kgmed.evaluate.reproduce import PaperTable, doable, scorer_of, table, tables
from kgmed.evaluate.run import GIVEN_UP
from kgmed.registry import methods
from loopback import Loopback, Said, loopback

PAPERS = {  # what our specification of the papers names of each
    "kg-rank": "table1 table2 figure2 table3 table4 table5 table7 table8 mintaka figure3 figure8 figure9",
    "mkg-rank": "main small table2 figure2 figure3 figure4 figure7 figure11 time cost",
    "mindmap": "table1 table2 table3 table4 table5 table6 table7 table8",
    "hykge": "table1 table2 table3 table4 figure4 figure5 shapes",
    "rlkgf": "table1 table2 table3 table4 table5 table6 table7 base figure3 figure5 figure8 transfer",
}
SUBJECTS = ("clinical_knowledge", "college_medicine", "professional_medicine")
NUMBERS_OF = {  # what a metric that is made of a model gives, by name
    "bertscore": ("bertscore-p", "bertscore-r", "bertscore-f"),
    "hallucination": ("hallucination", "hallucination-similarity"),
}
FIGURES = {"kg-rank": 370, "mkg-rank": 54, "mindmap": 93, "hykge": 223, "rlkgf": 400}  # as many as the papers print
EVERY = pytest.mark.parametrize("of", tables().values(), ids=lambda of: of.id)
N = 6  # questions of the data set in the tests


def test_every_table_and_figure_of_the_five_papers_is_listed() -> None:
    assert set(tables()) == {f"{paper}/{name}" for paper, names in PAPERS.items() for name in names.split()}


def test_the_numbers_of_the_papers_are_all_here() -> None:
    held = {paper: sum(len(t.figures) for t in tables().values() if t.id.startswith(paper)) for paper in PAPERS}
    assert held == FIGURES
    for name in ("not in our specification", "not checked"):
        assert not [t.id for t in tables().values() if name in f"{t}"]


@EVERY
def test_a_table_has_something_to_run_or_says_why_not(of: PaperTable) -> None:
    assert of.shows
    assert of.place
    assert bool(of.lacks) != bool(of.datasets and of.metrics and (of.rows or of.scorers))
    assert of.scorers or of.lacks or ((of.graphs or of.cases) and of.models)


@EVERY
def test_what_a_table_names_is_there_or_is_said_to_be_missing(of: PaperTable) -> None:
    can = doable(of, Path("nowhere"), metric_models=["all"])
    told = "; ".join(can.missing)
    assert all(name in told for name in of.datasets)
    for label, name in of.rows.items():
        assert controlled(name).method in methods.names()
        assert label in can.rows or f"row {label}: " in told
    of_scorers = {*OF_SCORERS} if of.scorers else set()
    assert {m for m in of.metrics if m not in {*metrics(), *made_metrics(), *of_scorers}} == set()
    assert all(scorer_of(name).fit for name in of.scorers.values())
    assert not can.any


@EVERY
def test_a_printed_number_stands_in_a_row_a_data_set_and_a_metric_of_its_table(of: PaperTable) -> None:
    scored = {one for name in of.metrics for one in NUMBERS_OF.get(name, (name,))}
    for p in of.figures:
        assert p.row in {*of.rows, *of.scorers, *of.cannot}
        assert p.dataset in of.datasets
        assert p.metric in scored
        assert p.model in {*of.models, "no model"}
        assert 0 < p.value < {"seconds": 100, "calls": 10, "tokens-in": 2000, "perplexity": 300}.get(p.metric, 1)
    keys = [p[:4] for p in of.figures]
    assert len(keys) == len(set(keys))


@EVERY
def test_what_a_judge_of_a_paper_found_stands_by_a_criterion_and_a_row_of_ours(of: PaperTable) -> None:
    criteria = kind_of(of.judge).criteria or ("",) if of.judge else ()
    assert {criterion for criterion, _, _ in of.said} <= {*criteria}
    assert {row for _, row, _ in of.said} <= {*of.rows}
    assert len({(criterion, row) for criterion, row, _ in of.said}) == len(of.said)


@EVERY
def test_the_data_sets_of_a_table_are_of_its_kind(of: PaperTable) -> None:
    assert not {*of.datasets} & {*(others() if of.rows else datasets())}


def test_a_table_that_there_is_not_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"no table is called 'kg-rank/tabel2'; did you mean kg-rank/table2"):
        table("kg-rank/tabel2")


# --- As a person meets it, with a server that says what a test tells it to.


def answer(text: str) -> Said:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return Said({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a graph and six questions of CMMLU."""
    folder = tmp_path_factory.mktemp("reproduce")
    (folder / "flu.tsv").write_text("流感\t症状\t发热\n流感\t药物\t奥司他韦\n肺炎\t症状\t咳嗽\n", encoding="utf-8")
    for part in ("dev", "test"):
        for subject in SUBJECTS:
            path = folder / "cmmlu_medical" / part / f"{subject}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["", "Question", "A", "B", "C", "D", "Answer"])
                for i in range(2 if part == "test" else 1):
                    rows.writerow([i, f"流感的症状是什么（{subject} {i}）", "发热", "咳嗽", "皮疹", "便秘", "A"])
    built = kgmed(folder, "graph", "build", "flu", str(folder / "flu.tsv"))
    assert built.exit_code == 0, built.output
    return folder


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as found:
        found.says = lambda _: answer("A")
        yield found


def environment(home: Path) -> dict[str, str]:
    return {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_DATA": str(home), "KGMED_API_KEY": "k"}


def kgmed(home: Path, *words: str) -> Result:
    return CliRunner().invoke(app, list(words), env=environment(home))


def words_of(server: Loopback, out: Path, *more: str, models: tuple[str, ...] = ("a",)) -> list[str]:
    named = [word for model in models for word in ("--llm", f"openai/{model}@{server.url}")]
    return ["reproduce", "mkg-rank/main", *named, "--graph", "flu", "--out", str(out), *more]


def test_the_list_says_what_can_be_had_and_why_the_rest_cannot(home: Path) -> None:
    told = {row["id"]: row for row in json.loads(kgmed(home, "reproduce", "--list", "--json").stdout)}
    assert set(told) == set(tables())
    assert told["mkg-rank/main"]["here"] == "in part"
    assert any("jmmlu" in why for why in told["mkg-rank/main"]["missing"])
    assert told["kg-rank/table2"]["here"] == "no"


def test_a_dry_run_asks_nobody_and_says_calls_tokens_and_money(home: Path, tmp_path: Path, server: Loopback) -> None:
    prices = tmp_path / "prices.toml"
    host = server.url.removeprefix("http://").partition("/")[0]
    prices.write_text(f'["openai/a at {host}"]\ninput = 1\noutput = 2\nas_of = 2026-01-31\n', encoding="utf-8")
    words = words_of(server, tmp_path / "out", "--dry-run", "--json", "--prices", str(prices))
    told = json.loads(kgmed(home, *words).stdout)
    by = {row["estimate"]["method"]: row["estimate"] for row in told["methods"]}
    assert server.asked == []
    assert not (tmp_path / "out").exists()
    assert by["zero-shot"]["questions"] == N
    assert by["zero-shot"]["most"] == 2 * N
    assert by["mkg-rank"]["tokens_most"] > by["mkg-rank"]["tokens"] > 0
    assert by["mkg-rank"]["cost_most"] > 0
    assert re.search(r"at most \d+ calls, [\d,]+ tokens, \d\.\d\d USD", told["total"])
    assert any("jmmlu" in why for why in told["missing"])


def test_a_table_is_ours_beside_the_papers_with_all_that_differed(home: Path, tmp_path: Path, server: Loopback) -> None:
    told = json.loads(
        kgmed(home, *words_of(server, tmp_path, "--json", "--seed", "0", "--seed", "1", models=("a", "b"))).stdout
    )
    of = {(r["row"], r["model"]): r for r in told["figures"] if r["metric"] == "accuracy"}
    assert set(of) == {(row, f"openai/{m}") for row in ("Zero-shot", "MKG-Rank") for m in "ab"}
    mine = of["Zero-shot", "openai/a"]
    assert (mine["ours"]["n"], mine["ours"]["mean"], mine["deviation"], mine["failed"]) == (N, 1.0, 0.0, 0)
    assert ["Qwen-2.5-72B", 0.8454] in mine["theirs"]
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "84.54 Qwen-2.5-72B" in text
    for what in ("Model: openai/a, openai/b; the paper's: Qwen-2.5-72B", "Graph: flu", "the paper's: UMLS", "Seeds: 2",
                 "the paper: 886", "data set jmmlu"):  # fmt: skip
        assert what in text, what
    assert server.url not in text.split("## Command")[0]
    calls = sum(e.run.spent.calls for e in entries(tmp_path / "cmmlu").values() if e.run)
    assert len(server.asked) == calls <= 2 * 2 * N * 2 * (1 + 6)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [("SIGKILL", -9), ("SIGTERM", 130), ("SIGINT", 130)])
def test_a_table_that_was_killed_goes_on_and_ends_like_one_that_was_not(
    home: Path, tmp_path: Path, server: Loopback, how: str, code: int
) -> None:
    words = words_of(server, tmp_path / "killed")
    command = [sys.executable, "-c", "from kgmed.cli import main; main()", *words]
    log = tmp_path / "killed" / "cmmlu" / LOG
    server.says = lambda _: Said(answer("A").body, seconds=0.05)
    process = subprocess.Popen(command, env={**os.environ, **environment(home)}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)  # fmt: skip
    while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") >= 3):
        time.sleep(0.005)
    assert process.poll() is None, "it ended before it was killed"
    process.send_signal(getattr(signal, how))
    assert process.wait() == code
    before = log.read_bytes().count(b"\n")
    written = tmp_path / "killed" / "table.json"
    assert written.exists() == (code > 0)
    if written.exists():
        told = json.loads(written.read_text())
        right = [f["ours"] for f in told["figures"] if f["metric"] == "accuracy"]
        assert (sum(f["n"] for f in right), {f["mean"] for f in right}) == (before, {1})
        by = ("eval", "score", str(log.parent), "--metric", "accuracy")
        scored = json.loads(kgmed(home, *by, "--json").stdout)["scores"]
        assert [s["mean"] for s in scored] == right
        assert sum(s["left"] for s in scored) == 2 * N - before
        assert f"Not finished: {before} of {2 * N} answers are there" in kgmed(home, *by).stdout
        assert told["differed"][0].startswith(f"Not finished: {before} of {2 * N} answers of cmmlu are there")
    on = json.loads(kgmed(home, *words, "--json").stdout)
    calm = json.loads(kgmed(home, *words_of(server, tmp_path / "calm", "--json")).stdout)
    assert (before >= 3, on["asked now"] + before, calm["asked now"]) == (True, 2 * N, 2 * N)
    assert on["figures"] == calm["figures"]


LIVEQA = """<?xml version="1.0"?><LiveQA>{}</LiveQA>"""
ASKED = """<NLM-QUESTION qid="{0}"><NIST-PARAPHRASE>流感的症状是什么 {0}</NIST-PARAPHRASE><ReferenceAnswers>
<ReferenceAnswer><ANSWER>发热。</ANSWER></ReferenceAnswer></ReferenceAnswers></NLM-QUESTION>"""
BY = ("factuality", "completeness", "readability", "relevance")


@pytest.fixture
def preferred(home: Path, tmp_path: Path, server: Loopback) -> Iterator[tuple[Loopback, list[str]]]:
    """A judge and the words that ask it about two questions of LiveQA."""
    path = tmp_path / "data" / "liveqa_medical" / "TREC-2017-LiveQA-Medical-Test.xml"
    path.parent.mkdir(parents=True)
    path.write_text(LIVEQA.format("".join(ASKED.format(n) for n in "12")), encoding="utf-8")
    with loopback() as judge:
        judge.says = lambda _: answer(json.dumps(dict.fromkeys(BY, 1)))
        yield judge, ["reproduce", "kg-rank/table4", "--llm", f"openai/a@{server.url}", "--graph", "flu", "--data",
                      str(tmp_path / "data"), "--out", str(tmp_path / "out"), "--json", "--judge",
                      f"openai/j@{judge.url}"]  # fmt: skip


def test_a_table_of_preferences_is_judged_in_both_orders_and_never_twice(
    home: Path, tmp_path: Path, preferred: tuple[Loopback, list[str]]
) -> None:
    judge, words = preferred
    before = json.loads(kgmed(home, *words, "--dry-run").stdout)
    (bound,) = (r["estimate"] for r in before["methods"] if r["estimate"]["method"] == "judge openai/j")
    assert (bound["questions"], bound["most"], len(judge.asked)) == (2, 4, 0)
    assert not any("verdicts" in why for why in before["missing"])
    done = kgmed(home, *words)
    told = json.loads(done.stdout)
    assert (done.exit_code, told["incomplete"], len(judge.asked)) == (3, "1 of 4 data sets", 4)
    (verdicts,) = told["verdicts"]
    rows = [dict(zip(verdicts["header"], row, strict=True)) for row in verdicts["rows"]]
    assert [(r["criterion"], r["row"], r["against"]) for r in rows] == [(c, "KG-Rank", "Zero-shot") for c in BY]
    assert {(r["n"], r["wins"], r["flipped"], r["failed"]) for r in rows} == {(2, 0, 2, 0)}  # it takes the first shown
    assert "wins - losses" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    again = json.loads(kgmed(home, *words).stdout)
    assert (again["asked now"], again["verdicts"], len(judge.asked)) == (0, told["verdicts"], 4)


def test_a_judge_that_goes_away_ends_a_table_early_and_the_same_command_goes_on(
    home: Path, preferred: tuple[Loopback, list[str]]
) -> None:
    judge, words = preferred
    answers = judge.says
    judge.says = lambda found: answers(found) if len(judge.asked) <= 1 else Said({"error": "gone"}, 401)
    assert "verdicts failed" in json.loads(kgmed(home, *words).stdout)["incomplete"]
    judge.says = answers
    again = kgmed(home, *words, "--again")
    assert json.loads(again.stdout)["asked now"] == 3
    assert json.loads(again.stdout)["incomplete"] == "1 of 4 data sets"
    judge.says = lambda _: answer("I like both.")
    strange = kgmed(home, *words[:-1], f"openai/other@{judge.url}")
    assert "2 verdicts failed" in json.loads(strange.stdout)["incomplete"]
    assert "no verdicts" in json.loads(kgmed(home, *words[:-2], "--judge", "").stdout)["incomplete"]


def test_all_tables_are_made_one_after_the_other_with_the_gains_of_theirs_and_ours(
    home: Path, tmp_path: Path, server: Loopback
) -> None:
    words = ["reproduce", "--all", "--number", "2", "--probe", "1", "--llm", f"openai/qwen2.5-72b@{server.url}",
             "--graph", "flu", "--out", str(tmp_path), "--trained", "RLKGF=hf/none"]  # fmt: skip
    done = kgmed(home, *words, "--json")
    assert done.exit_code == 3, done.output
    told = {row["table"]: row for row in json.loads(done.stdout)["tables"]}
    assert set(told) == {of.id for of in tables().values() if of.datasets}
    made = {name for name, row in told.items() if row["figures"]}
    assert made == {f"mkg-rank/{name}" for name in ("main", "figure2", "figure4", "time", "cost")}
    for name, row in told.items():
        assert ("cannot be made here" in row["incomplete"]) == (name not in made), row["incomplete"]
        of, path = table(name), tmp_path / name.replace("/", "-") / "table.md"
        text = path.read_text(encoding="utf-8").replace("\\", "")
        for p in of.figures:  # the paper's numbers stand there, whether there is something of ours beside them or not
            assert f"| {p.row} " in text
            assert f" {p.model}" in text
        assert {f"## {p.dataset}: {p.metric}" for p in of.figures} <= {line.partition(" x ")[0] for line in
                                                                       text.splitlines()}  # fmt: skip
    assert done.stderr.splitlines()[0] == f"kgmed: {len(told)} tables: 0 can be made whole here, 5 in part, 31 not"
    figures = {r["row"]: r for r in told["mkg-rank/main"]["figures"] if r["metric"] == "accuracy"}
    assert figures["Zero-shot"]["gain"] is None
    assert figures["MKG-Rank"]["gain"] == figures["MKG-Rank"]["ours"]["mean"] - figures["Zero-shot"]["ours"]["mean"]
    assert figures["MKG-Rank"]["theirs"][0] == ["Qwen-2.5-72B", 0.816]
    assert dict(figures["MKG-Rank"]["their_gains"])["Qwen-2.5-72B"] == pytest.approx(0.816 - 0.8454)
    assert "-2.94 Qwen-2.5-72B" in (tmp_path / "mkg-rank-main/table.md").read_text(encoding="utf-8")
    asked = len(server.asked)
    again = kgmed(home, *words)
    assert len(server.asked) == asked
    assert again.stdout.splitlines()[0].startswith("incomplete: 1 of 4 data sets")
    assert "cannot be made here" in again.stdout.splitlines()[-1]
    both = kgmed(home, "reproduce", "mkg-rank/main", "--all")
    assert "name a table or give --all, not both" in str(both.exception)
    strange = kgmed(home, *words[:-1], "RLKFG=hf/none")
    assert "no row of a trained model is called 'RLKFG'; did you mean RLKGF" in str(strange.exception)


def test_a_judge_of_a_table_that_has_none_is_bad_input(home: Path, tmp_path: Path, server: Loopback) -> None:
    done = kgmed(home, *words_of(server, tmp_path, "--judge", "smollm2"))
    assert "no judge is asked for mkg-rank/main" in str(done.exception)


@pytest.mark.slow
def test_a_server_that_goes_away_ends_a_table_early_and_the_same_command_goes_on(
    home: Path, tmp_path: Path, server: Loopback
) -> None:
    server.says = lambda _: answer("A") if len(server.asked) <= 3 else Said({"error": "gone"}, 401)
    command = [sys.executable, "-c", "from kgmed.cli import main; main()", *words_of(server, tmp_path)]
    run = {"env": {**os.environ, **environment(home)}, "capture_output": True, "text": True, "check": False}
    done = subprocess.run(command, **run)  # type: ignore[call-overload]
    assert done.returncode == 4, done.stderr
    last = done.stderr.splitlines()[-1]
    assert "stopped early" in last
    assert "--again" in last
    assert (tmp_path / "table.md").exists()
    asked = len(server.asked)
    server.says = lambda _: answer("A")
    done = subprocess.run([*command, "--again"], **run)  # type: ignore[call-overload]
    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines()[0] == "incomplete: 1 of 4 data sets"
    assert all(e.run for e in entries(tmp_path / "cmmlu").values())
    assert GIVEN_UP <= asked < 2 * N * 3


@pytest.mark.slow
def test_bad_input_is_one_line_and_exit_code_2(home: Path, tmp_path: Path, server: Loopback) -> None:
    bad = {
        "did you mean mkg-rank/main or": ["reproduce", "mkg-rank/mian", "--llm", "smollm2"],
        "name at least one model": ["reproduce", "mkg-rank/main", "--graph", "flu"],
        "cannot be made here": ["reproduce", "kg-rank/table2", "--llm", "smollm2"],
        "mkg-rank cannot be asked: no key": ["reproduce", "mkg-rank/time", "--llm", "smollm2"],
        "mkg-rank cannot be asked: 127.0.0.1:9 cannot be reached": [
            "reproduce", "mkg-rank/main", "--llm", "smollm2", "--graph", "sparql+http://127.0.0.1:9/sparql",
        ],
        "name each model once": words_of(server, tmp_path, models=("a", "a")),
    }  # fmt: skip
    for told, words in bad.items():
        command = [sys.executable, "-c", "from kgmed.cli import main; main()", *words]
        done = subprocess.run(
            command, env={**os.environ, **environment(home)}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, (words, done.stderr)
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert server.asked == []


@pytest.mark.parametrize("more", [("--llm", "nope"), ("--llm", "smollm2", "--judge", "nope", "--dry-run")])
def test_a_model_or_judge_that_there_is_not_is_refused_before_anything_is_counted(
    home: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    told = kgmed(home, "reproduce", "mkg-rank/main", "--data", str(home), "--out", str(tmp_path / "out"), *more)
    assert isinstance(told.exception, UnknownName)
    assert "no language model is called 'nope'" in str(told.exception)
    assert "at most" not in told.output


def test_the_help_of_reproduce_names_its_own_preset(home: Path) -> None:
    assert "paper = as the paper has it (the default here)" in " ".join(
        kgmed(home, "reproduce", "--help").output.split()
    )
