"""`kgmed graph`: build, list, info, find, show, neighbours, paths, doctor, export."""

import typer

app = typer.Typer(no_args_is_help=True)
