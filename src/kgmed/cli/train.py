"""`kgmed train`: models that are trained here, on a graph's own names, on marked text or on cases."""

import typer

from kgmed.cli.train_ner import ner
from kgmed.cli.train_pairs import pairs
from kgmed.cli.train_rl import rlaif, rlkgf, sft

app = typer.Typer(no_args_is_help=True)
app.command()(ner)
app.command()(pairs)
app.command()(sft)
app.command()(rlkgf)
app.command()(rlaif)


@app.callback()
def train() -> None:
    """Train a model; nothing is sent anywhere."""
