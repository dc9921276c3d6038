"""The command line: every command calls one library function; only here is anything printed."""

import errno
import os
import sys

import typer
from typer.core import TyperGroup

from kgmed.cli import evaluate, graph, methods, reward, train
from kgmed.cli.ask import ask, chat
from kgmed.cli.diagnose import SETTINGS, diagnose
from kgmed.cli.show import say_anything, warn
from kgmed.errors import BadInput, KgmedError, StoreError

_NO_MORE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT)  # nobody reads on; the disk or one's share of it is full


_NO_RIGHTS = (errno.EACCES, errno.EPERM, errno.EROFS)


class Commands(TyperGroup):
    """All the commands; an interrupt, a closed pipe, a full disk end each alike (typer would not say why)."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run the command; Ctrl-C is exit code 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from kgmed.evaluate.run import still_asking  # heavy; no start-up pays for it

            sys.stderr.write("kgmed: stopped; what was finished is kept\n")
            if still_asking():
                sys.stdout.flush()
                os._exit(130)  # what a killed run leaves is whole, so nobody waits for the questions that were begun
            sys.exit(130)
        except OSError as e:
            if e.errno in _NO_RIGHTS and e.filename is not None:
                raise StoreError(f"{e.filename}: {e.strerror}; check whose it is, or set KGMED_HOME") from e
            if e.errno not in _NO_MORE:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the end would complain once more
            if isinstance(e, BrokenPipeError):
                sys.exit(0)
            sys.stderr.write(f"kgmed: {e.strerror}; make room and run the command again\n")
            sys.exit(1)


app = typer.Typer(
    cls=Commands,
    help="Answers medical questions from a knowledge graph and shows what each answer stands on.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(ask)
app.command()(chat)
app.command(context_settings=SETTINGS)(diagnose)
app.add_typer(graph.app, name="graph", help="Build, list, search and check graphs.")
app.add_typer(methods.models_app, name="models", help="List and fetch language models.")
app.add_typer(methods.app, name="methods", help="List the methods and the rivals; try them all on the same questions.")
evaluate.app.add_typer(evaluate.rescore_app, name="rescore", help="Score the papers' recorded answers again.")
app.add_typer(evaluate.app, name="eval", help="Compare methods on data sets, with a log, scores and statistics.")
app.add_typer(reward.app, name="reward", help="Rank diagnoses and reward answers by labelled cases.")
app.add_typer(train.app, name="train", help="Train models on your own files, here.")


def main() -> None:
    """Run the command; a known error is one line on standard error and exit code 2 (bad input) or 1."""
    say_anything()
    try:
        app()
    except KgmedError as e:
        warn([str(e)])
        sys.exit(2 if isinstance(e, BadInput) else 1)
