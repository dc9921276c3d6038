"""Another package adds a method, a ranker, a format, a metric, a data set and an encoder, each in one file."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import kgmed

METHOD = '''
"""A method of one hop, whose ranker puts short pieces first."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.pipeline import Pipeline
from kgmed.records import Evidence, Query
from kgmed.registry import About, Calls, methods
from kgmed.steps.facts import facts
from kgmed.steps.phrase import Numbered
from kgmed.steps.retrieve import Neighbours
from kgmed.toolkit import Toolkit


@dataclass(frozen=True, slots=True)
class Shortest:
    """The `keep` shortest pieces."""

    keep: int

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        return sorted(evidence, key=lambda piece: len(piece.text))[: self.keep]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    keep: int = 2


@methods.register(
    "brief",
    about=About(does="the shortest facts", calls=Calls.always(0, "no step asks a model"), needs={"local_graph"}),
    presets={"paper": Settings(), "code": Settings(keep=1)},
)
def brief(toolkit: Toolkit, *, settings: Settings | None = None) -> Pipeline:
    return Pipeline(
        recognize=toolkit.recognize,
        link=toolkit.link,
        retrieve=(Neighbours(toolkit.graph),),
        rank=(Shortest((settings or Settings()).keep),),
        phrase=Numbered(),
        read=facts,
        name="brief",
        graph=toolkit.graph.label,
    )
'''
FORMAT = '''
"""Files of the simple interaction format: head, relation and any number of tails between tabs."""

from collections.abc import Iterator
from pathlib import Path

from kgmed.graph.base import EdgeRow, Source
from kgmed.registry import formats


@formats.register("fan", suffixes=(".fan",))
def read_fan(path: Path, *, name: str = "", release: str = "") -> Source:
    def rows() -> Iterator[EdgeRow]:
        for line in path.read_text("utf-8").splitlines():
            head, relation, *tails = line.split("\\t")
            yield from (EdgeRow(head, relation, tail) for tail in tails)

    return Source(name or path.stem, rows, release=release, language="en", inputs=(path,))
'''
METRIC = '''
"""How many words an answer has."""

from kgmed.evaluate.items import Metric
from kgmed.registry import metrics

metrics.add(Metric("words", "words of the answer", "ours", lambda run, item: float(len(run.answer.text.split()))))
'''
OPTION = '''
"""Answers of no more than so many lines."""

from dataclasses import replace

from kgmed.config import PipelineOption


def at_most(pipeline, toolkit, lines):
    def read(query, context):
        answer = pipeline.read(query, context)
        return replace(answer, text="\\n".join(answer.text.split("\\n")[:lines]))

    return replace(pipeline, read=read)


lines = PipelineOption("most_lines", int, "No more lines of an answer than so many.", at_most)
'''
DATA_SET = '''
"""A data set of one question."""

from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.records import Question
from kgmed.registry import datasets


def read(data):
    yield Item(Question("What are the signs of flu?", language="en", id="1"), Gold(texts=("fever",)))


datasets.add(
    DataSet(
        name="quiz", title="Quiz", task="text", languages=("en",), licence="CC0", citation="none", source="none",
        revision="1", files=(), items=1, read=read,
    )
)
'''
ENCODER = '''
"""An encoder that finds all texts alike."""

import numpy as np

from kgmed.registry import encoders


@encoders.register("flat/WIDTH")
class Flat:
    def __init__(self, width: str) -> None:
        self.dimensions = int(width)
        self.name = f"flat-{width}"

    def __call__(self, texts):
        return np.full((len(texts), self.dimensions), self.dimensions**-0.5, np.float32)
'''
FAN = "flu\thas_symptom\tfever\tcough\nflu\thas_symptom\tvery bad headache behind the eyes\n"
ASK = "What are the signs of flu?"


def installed(site: Path, files: Mapping[str, str], points: Mapping[str, str]) -> None:
    """Put a package of those files there, as an installer does, with its entry points: group and name -> place."""
    (site / "other").mkdir(parents=True, exist_ok=True)
    for name, text in {"__init__": "", **files}.items():
        (site / "other" / f"{name}.py").write_text(text, "utf-8")
    about = site / "other-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n", "utf-8")
    rows = [f"[{group}]\n{name} = {place}\n" for (group, _, name), place in
            ((key.partition(":"), place) for key, place in points.items())]  # fmt: skip
    (about / "entry_points.txt").write_text("\n".join(rows), "utf-8")


class Machine:
    """A folder with a package installed, in which commands are run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"

    def python(self, code: str, *words: str) -> subprocess.CompletedProcess[str]:
        paths = [str(self.site), *filter(None, [os.environ.get("PYTHONPATH", "")])]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "KGMED_HOME": str(self.folder), "COLUMNS": "300"}
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, env=env, cwd=self.folder, capture_output=True, text=True, check=False)

    def kgmed(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.python("from kgmed.cli import main; main()", *words)

    def told(self, *words: str) -> Any:
        done = self.kgmed(*words, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a graph of triples."""
    made = Machine(tmp_path_factory.mktemp("home"))
    tails = ("fever", "cough", "very bad headache behind the eyes")
    (made.folder / "mine.tsv").write_text("".join(f"flu\thas_symptom\t{tail}\n" for tail in tails), "utf-8")
    assert made.kgmed("graph", "build", "mine", "mine.tsv").returncode == 0
    return made.folder


@pytest.fixture
def machine(home: Path, tmp_path: Path) -> Machine:
    """A machine with that graph and no package but kgmed."""
    return Machine(shutil.copytree(home, tmp_path / "machine"))


def test_a_method_with_a_ranker_of_its_own_is_one_file(machine: Machine) -> None:
    installed(machine.site, {"brief": METHOD}, {"kgmed.methods:brief": "other.brief"})
    run = machine.told("ask", "--graph", "mine", "--encoder", "ngrams", "--method", "brief", ASK)
    assert run["method"] == "brief"
    assert [cited["text"].rpartition(" ")[2] for cited in run["context"]["cited"]] == ["fever", "cough"]
    run = machine.told("ask", "--graph", "mine", "--encoder", "ngrams", "--method", "brief", "--preset", "code", ASK)
    assert (run["preset"], run["settings"], len(run["context"]["cited"])) == ("code", [["keep", 1]], 1)
    listed = {method["name"]: method for method in machine.told("methods")}
    assert listed["brief"]["presets"] == {"paper": {"keep": 2}, "code": {"keep": 1}}
    refused = machine.kgmed("ask", "--graph", "mine", "--method", "breif", ASK)
    assert "did you mean brief" in refused.stderr


def test_a_format_is_one_file_and_its_files_are_recognised(machine: Machine) -> None:
    installed(machine.site, {"fan": FORMAT}, {"kgmed.formats:fan": "other.fan:read_fan"})
    (machine.folder / "other.fan").write_text(FAN, "utf-8")
    built = machine.kgmed("graph", "build", "other", "other.fan")
    assert built.returncode == 0, built.stderr
    assert "4 entities, 3 triples" in built.stdout
    assert "fever" in machine.told("ask", "--graph", "other", ASK)["answer"]["text"]


def test_a_metric_and_a_data_set_are_one_file_each(machine: Machine) -> None:
    points = {"kgmed.metrics:words": "other.words", "kgmed.datasets:quiz": "other.quiz"}
    installed(machine.site, {"words": METRIC, "quiz": DATA_SET}, points)
    assert "words" in [metric["name"] for metric in machine.told("eval", "metrics")]
    data = ("--data", str(machine.folder))
    asked = machine.kgmed("eval", "run", "out", "--set", "quiz", "--method", "facts", "--graph", "mine", *data)
    assert asked.returncode == 0, asked.stderr
    (score,) = machine.told("eval", "score", "out", "--metric", "words", *data)["scores"]
    assert (score["metric"], score["mean"]["n"]) == ("words", 1)
    assert score["mean"]["mean"] > 3


def test_an_option_is_one_file(machine: Machine) -> None:
    installed(machine.site, {"shorter": OPTION}, {"kgmed.options:most_lines": "other.shorter:lines"})
    listed = ("ask", "--graph", "mine", "--method", "kg-rank", "--encoder", "ngrams")
    whole, cut = (machine.told(*listed, *more, ASK) for more in ((), ("--most-lines", "1")))
    assert cut["answer"]["text"] == whole["answer"]["text"].split("\n")[0] != whole["answer"]["text"]
    (machine.folder / "mine.toml").write_text(
        'graph = "mine"\nmethod = "kg-rank"\nencoder = "ngrams"\nmost_lines = 1\n', "utf-8"
    )
    assert machine.told("ask", "--config", "mine.toml", ASK)["answer"] == cut["answer"]
    assert "must be a whole number" in machine.python("import kgmed; kgmed.load('mine', most_lines='x')").stderr


def test_an_encoder_is_one_file(machine: Machine) -> None:
    installed(machine.site, {"flat": ENCODER}, {"kgmed.encoders:flat": "other.flat"})
    run = machine.told("ask", "--graph", "mine", "--method", "kg-rank", "--encoder", "flat/7", ASK)
    assert ["encoder", "flat-7"] in run["models"]
    assert "flat/WIDTH" in machine.kgmed("ask", "--graph", "mine", "--encoder", "zzz", ASK).stderr


def test_a_function_that_says_nothing_of_itself_is_a_method_too(machine: Machine) -> None:
    text = '''
from dataclasses import replace
from kgmed.registry import methods

def plain(toolkit):
    """The facts under another name."""
    return replace(methods.get("facts").build(toolkit), name="plain")
'''
    installed(machine.site, {"plain": text}, {"kgmed.methods:plain": "other.plain:plain"})
    assert machine.told("ask", "--graph", "mine", "--encoder", "ngrams", "--method", "plain", ASK)["method"] == "plain"
    listed = {method["name"]: method for method in machine.told("methods")}
    assert listed["plain"]["does"] == "The facts under another name."


def test_a_plug_in_that_cannot_be_loaded_is_one_line_and_breaks_no_other(machine: Machine) -> None:
    files = {"brief": METHOD, "broken": "import no_such_module\n", "thief": METHOD.replace('"brief",', '"facts",')}
    points = {
        "kgmed.methods:broken": "other.broken",
        "kgmed.methods:hykge": "other.brief:brief",
        "kgmed.methods:stolen": "other.thief",
        "kgmed.methods:brief": "other.brief:brief",
    }
    installed(machine.site, files, points)
    done = machine.kgmed("methods", "--json")
    listed = {method["name"]: method for method in json.loads(done.stdout)}
    assert "brief" in listed
    assert listed["facts"]["does"].startswith("the evidence that fits")
    assert listed["hykge"]["paper"].startswith("HyKGE")
    reported = [line for line in done.stderr.splitlines() if "is left out" in line]
    for name, why in {
        "broken": "No module named 'no_such_module'",
        "hykge": "kgmed has a method of that name",
        "stolen": "'facts' of other.thief is there already",
    }.items():
        assert [why in line for line in reported if f"the plug-in {name} " in line] == [True]
    assert len(reported) == 3
    asked = machine.kgmed("ask", "--graph", "mine", "--method", "broken", ASK)
    assert asked.returncode == 2
    assert "no_such_module" in asked.stderr


def test_a_question_loads_no_plug_in_and_no_method_but_its_own(machine: Machine) -> None:
    installed(machine.site, {"broken": "raise SystemError\n"}, {"kgmed.methods:broken": "other.broken"})
    code = """
import sys, kgmed
kgmed.load(graph="mine", encoder="ngrams").ask("What are the signs of flu?")
parts = ("kgmed.methods.", "kgmed.evaluate", "kgmed.graph.formats.", "other")
print(sorted(m for m in sys.modules if m.startswith(parts) and not m.endswith(".base")))
"""
    done = machine.python(code)
    assert done.stdout.strip() == "['kgmed.methods.facts']", done.stderr


def test_a_file_in_a_package_of_kgmed_is_found_by_being_there(tmp_path: Path) -> None:
    """In a copy of the package, as a newcomer's clone is one."""
    copy = tmp_path / "site" / "kgmed"
    shutil.copytree(Path(kgmed.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "methods" / "brief.py").write_text(METHOD, "utf-8")
    (copy / "graph" / "formats" / "fan.py").write_text(FORMAT, "utf-8")
    (copy / "evaluate" / "metrics" / "length.py").write_text(METRIC, "utf-8")
    code = """
import pathlib, sys
from kgmed import registry
from kgmed.graph import formats
print(registry.methods.get("brief").settings_type.__module__, sorted(m for m in sys.modules if "kgmed.methods." in m))
print("brief" in registry.methods.names(), formats.detect(pathlib.Path("a.fan")), registry.metrics.get("words").name)
"""
    (tmp_path / "a.fan").write_text(FAN, "utf-8")
    done = Machine(tmp_path).python(code)
    assert done.stdout.splitlines() == ["kgmed.methods.brief ['kgmed.methods.brief']", "True fan words"], done.stderr
