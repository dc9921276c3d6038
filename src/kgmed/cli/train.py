"""`kgmed train`: models that are trained here, on a graph's own names or on marked text."""

import typer

from kgmed.cli.train_ner import ner
from kgmed.cli.train_pairs import pairs

app = typer.Typer(no_args_is_help=True)
app.command()(ner)
app.command()(pairs)


@app.callback()
def train() -> None:
    """Train a model; nothing is sent anywhere."""
