"""No text becomes code, no file names a class, no command goes through a shell: held on every syntax tree.

The words stand in many lines ("kgmed eval", "kgmed[eval]"); only calls count. ruff's rules S forbid most of these as
well, but a rule can be waived in a line, and this cannot.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgmed

ROOT = Path(kgmed.__file__).parent
BUILT_IN = {"eval", "exec", "compile", "__import__"}
NAMED = {
    *("os.system", "os.popen", "os.execv", "os.spawnv", "pty.spawn", "subprocess.getoutput"),
    *("pickle.load", "pickle.loads", "marshal.load", "marshal.loads", "shelve.open", "dill.load", "joblib.load"),
    *("torch.load", "yaml.load", "yaml.unsafe_load", "pandas.read_pickle", "pd.read_pickle"),
}
MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "builtins", "runpy", "code", "codeop", "pty"}
LAST = {name.rpartition(".")[2] for name in NAMED if name.startswith(("os.", "subprocess."))}
ALLOWED = {("graph/formats/cmekg.py", "pickle.Unpickler")}  # a class of ours over it that refuses every class


def unsafe(tree: ast.AST) -> Iterator[str]:
    """What of it would run text, unpickle classes or use a shell."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "pickle.Unpickler":
            yield "pickle.Unpickler"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported(node)
        elif isinstance(node, ast.Call):
            name, given = ast.unparse(node.func), {k.arg: ast.unparse(k.value) for k in node.keywords}
            if name in BUILT_IN or name in NAMED:
                yield name
            if given.get("shell", "False") != "False":
                yield f"{name} with a shell"
            if name.endswith(("np.load", "numpy.load")) and given.get("allow_pickle") != "False":
                yield f"{name} that may unpickle"
            if given.get("trust_remote_code", "False") != "False":
                yield f"{name} that runs a model's code"
            if name.endswith("from_pretrained") and "trust_remote_code" not in given:
                yield f"{name} that does not refuse a model's code"


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """What an import brings in by which text could be run, or by a name that `unsafe` would not know."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        yield from (name for name in names if name in MODULES - {"pickle"})
        yield from (f"{a.name} as {a.asname}" for a in node.names if a.asname and a.name in {*MODULES, "os"})
    elif node.module in MODULES:
        yield f"from {node.module}"
    elif node.module in {"os", "subprocess"}:
        yield from (f"from {node.module} import {name}" for name in names if name in LAST)


def test_nothing_that_is_read_is_ever_run() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), what)
        for path in ROOT.rglob("*.py")
        for what in unsafe(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == ALLOWED


@pytest.mark.parametrize(
    "code",
    [
        "eval(reply)",
        "exec(reply)",
        "os.system(command)",
        "pickle.load(file)",
        "from pickle import load",
        "import pickle as p",
        "import os as o",
        "import builtins",
        "from builtins import eval as e",
        "from os import system",
        "from subprocess import getoutput",
        "class P(pickle.Unpickler): ...",
        "subprocess.run(command, shell=True)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "torch.load(path)",
        "AutoModel.from_pretrained(place)",
        "AutoModel.from_pretrained(place, trust_remote_code=True)",
    ],
)
def test_each_way_of_running_what_is_read_would_be_seen(code: str) -> None:
    assert list(unsafe(ast.parse(code)))
