"""MindMap's decision tree on the screen and as an image, with the steps that nothing bears out."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kgmed.errors import BadInput
from kgmed.types import Run


def told(run: Run) -> Iterator[str]:
    """The tree of a run's reasoning, and a line "! ..." for each step that is invented or unsupported."""
    from kgmed.models.steps import outputs, tree
    from kgmed.read.tree_text import drawn

    parts = outputs(run.answer.reasoning)
    trees = tree(parts.tree)
    if trees:
        yield ""
        yield "Decision tree"
        yield from drawn(trees).split("\n")
    sentences = _sentences(run)
    for verdict in run.answer.verdicts if parts.tree or parts.inference else ():
        if not verdict.supported and verdict.sentence not in sentences:
            yield f"! {verdict.sentence}: {verdict.reason}"


def write_svg(run: Run, path: Path) -> None:
    """Write the tree of a run; raises `BadInput` where it has none, or the file cannot be written."""
    from kgmed.models.steps import outputs, tree
    from kgmed.read.tree_svg import svg

    trees = tree(outputs(run.answer.reasoning).tree)
    if not trees:
        raise BadInput(f"the answer has no decision tree to write to {path}; --method mindmap makes one")
    try:
        _replace(path, svg(trees, title=run.question.text))
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror}); name another file") from None


def _sentences(run: Run) -> set[str]:
    """The sentences of the answer, whose verdicts are not about steps."""
    from kgmed.check.terms import sentences

    return set(sentences(run.answer.text))


def _replace(path: Path, text: str) -> None:
    """Write a file beside, then rename it into its place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
