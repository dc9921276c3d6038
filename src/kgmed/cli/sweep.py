"""`kgmed eval sweep`: one setting of a method at several values, in one evaluation, so that they are compared."""

from typing import Annotated

import typer
from typer.core import TyperGroup

from kgmed.errors import BadInput

REST = {"ignore_unknown_options": True, "allow_extra_args": True}


def sweep(
    context: typer.Context,
    out: Annotated[str, typer.Argument(help="The folder of the evaluation.")],
    method: Annotated[list[str], typer.Option("--method", "-m", help="A method whose setting is varied.")],
    vary: Annotated[list[str], typer.Option("--vary", help="SETTING=VALUE,VALUE,...; several: one after the other.")],
    beside: Annotated[list[str] | None, typer.Option("--beside", help="A method asked as it is, beside them.")] = None,
) -> None:
    """Ask with one setting at several values, as hykge[hops=1]; all other options are those of `kgmed eval run`."""
    wanted = [*(beside or []), *(name for m in method for text in vary for name in varied(m, text))]
    parent = context.parent
    group = parent.command if parent else None
    if not isinstance(group, TyperGroup):
        raise BadInput("kgmed eval sweep is a command of kgmed eval")
    run = group.commands["run"]
    words = [out, *(word for name in wanted for word in ("--method", name)), *context.args]
    with run.make_context("run", words, parent=parent) as inner:
        run.invoke(inner)


def varied(method: str, text: str) -> list[str]:
    """The method's names with the setting at each value; raises `BadInput`.

    >>> varied("hykge", "hops=1,2"), varied("hykge[keep=5]", "hops=3")
    (['hykge[hops=1]', 'hykge[hops=2]'], ['hykge[keep=5,hops=3]'])
    """
    name, _, values = text.partition("=")
    told = [value.strip() for value in values.split(",")]
    if not name.strip() or not all(told):
        raise BadInput(f"--vary {text!r} is not of the form SETTING=VALUE,VALUE,...")
    begin = f"{method[:-1]}," if method.endswith("]") else f"{method}["
    return [f"{begin}{name.strip()}={value}]" for value in told]
