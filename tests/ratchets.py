"""Figures of the code that may only fall; `python tests/ratchets.py` lowers those in ratchets.toml that have fallen."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx

import kgmed

ROOT = Path(kgmed.__file__).parent
FILE = Path(__file__).with_suffix(".toml")
CLEARLY = 0.98  # a figure at or below this share of the file's is told
PATTERNS = {"re.compile", "lazily", "InTwoLanguages"}  # what compiles a pattern
PATTERN_HOMES = ("question/", "graph/formats/")
QUESTION_HOMES = ("question/", "linking/", "prompts/")
CHINESE_HOMES = ("prompts/", "question/", "graph/formats/")
_CHINESE = re.compile("[\u3400-\u9fff]")
_ASK = ["ask", "--graph", "hpo", "What are the signs of Marfan syndrome?"]
_TRACE = """
import sys
root, files, passages = sys.argv.pop(1), set(), set()

def note(frame, event, _):
    here = frame.f_code.co_filename
    if event != "call" or not here.startswith(root):
        return
    files.add(here)
    before = frame.f_back
    while before and not before.f_code.co_filename.startswith(root):
        before = before.f_back
    if before and before.f_code.co_filename != here:
        passages.add((before.f_code.co_filename, here))

import kgmed.cli
sys.setprofile(note)
try:
    kgmed.cli.main()
finally:
    sys.setprofile(None)
    print(len(files), len(passages), file=sys.stderr)
"""


def sources(root: Path, *, outside: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """The modules of a package by their path with their text, but for those in some folders."""
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if not place.startswith(tuple(outside)):
            yield place, path.read_text(encoding="utf-8")


def source_figures(root: Path) -> dict[str, int]:
    """The figures that are counted in the source of a package."""
    everything = dict(sources(root))
    return {
        "files": len(everything),
        "lines": sum(len(text.splitlines()) for text in everything.values()),
        "import_cycles": len(import_cycles(everything)),
        "compiled_patterns": sum(map(_patterns, dict(sources(root, outside=PATTERN_HOMES)).values())),
        "raw_question_reads": sum(map(_question_reads, dict(sources(root, outside=QUESTION_HOMES)).values())),
        "chinese_lines": sum(map(_chinese_lines, dict(sources(root, outside=CHINESE_HOMES)).values())),
    }


def question_figures(home: Path) -> dict[str, int]:
    """The files that one question runs through, and the passages from file to file; `home` is to keep the graph."""
    environment = os.environ | {"KGMED_HOME": str(home)}
    # once without the trace: this builds the graph and what is derived from it
    subprocess.run([sys.executable, "-m", "kgmed", *_ASK], env=environment, check=True, capture_output=True)
    command = [sys.executable, "-c", _TRACE, f"{ROOT}{os.sep}", *_ASK]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    files, passages = done.stderr.split()[-2:]
    return {"question_files": int(files), "question_passages": int(passages)}


def import_cycles(modules: dict[str, str]) -> list[list[str]]:
    """The groups of modules that import each other, also in a function or for type checking alone.

    `modules` are texts by path. A module imports what its statements name, not the packages that this is in.
    """
    names = {_dotted(place): place for place in modules}
    edges = [
        (name, there)
        for name, place in names.items()
        for there in _imported(ast.parse(modules[place]), names)
        if there != name
    ]
    parts = networkx.strongly_connected_components(networkx.DiGraph(edges))
    return sorted(sorted(part) for part in parts if len(part) > 1)


def _dotted(place: str) -> str:
    """The name of a module by its path in the package."""
    return ".".join(["kgmed", *place.removesuffix(".py").split("/")]).removesuffix(".__init__")


def _imported(tree: ast.Module, names: Iterable[str]) -> Iterator[str]:
    """The modules, of those of some names, that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for full in (f"{node.module}.{alias.name}" for alias in node.names):
                if there := next((name for name in (full, node.module) if name in names), ""):
                    yield there


def _patterns(text: str) -> int:
    """How many patterns a module compiles."""
    return sum(isinstance(n, ast.Call) and ast.unparse(n.func) in PATTERNS for n in ast.walk(ast.parse(text)))


def _question_reads(text: str) -> int:
    """How often a module reads the text of a query or of a question."""
    reads = (n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute) and n.attr == "text")
    return sum(ast.unparse(n).rpartition(".")[2] in ("query", "question") for n in reads)


def _chinese_lines(text: str) -> int:
    """How many lines of a module hold Chinese characters."""
    return sum(_CHINESE.search(line) is not None for line in text.splitlines())


def limits() -> dict[str, int]:
    """The figures of ratchets.toml, by name."""
    found: dict[str, int] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return found


def compare(measured: dict[str, int], most: dict[str, int]) -> tuple[list[str], list[str]]:
    """A message for each figure that is above its limit, and one for each that is clearly below."""
    above = [f"{name} is {n}, {FILE.name} allows {most[name]}" for name, n in measured.items() if n > most[name]]
    below = [
        f"{name} is {n}, {FILE.name} still has {most[name]}; lower it: python tests/{Path(__file__).name}"
        for name, n in measured.items()
        if n < most[name] and n <= CLEARLY * most[name]
    ]
    return above, below


def lower(text: str, measured: dict[str, int]) -> str:
    """The text of ratchets.toml with the figures that have fallen."""

    def least(row: re.Match[str]) -> str:
        name, n = row[1], int(row[2])
        return f"{name} = {min(n, measured.get(name, n))}"

    return re.sub(r"^(\w+) = (\d+)", least, text, flags=re.M)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        found = source_figures(ROOT) | question_figures(Path(folder))
    FILE.write_text(lower(FILE.read_text(encoding="utf-8"), found), encoding="utf-8")
    print(*(f"{name} = {n}" for name, n in found.items()), sep="\n")  # noqa: T201
