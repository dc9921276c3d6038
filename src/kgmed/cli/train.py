"""`kgmed train`: models that are trained here, on a graph's own names or on marked text."""

import typer

app = typer.Typer(no_args_is_help=True)


@app.callback()
def train() -> None:
    """Train a model; nothing is sent anywhere."""
