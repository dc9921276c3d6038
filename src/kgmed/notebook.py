"""A box to ask in, for notebooks: the extra `notebook` brings ipywidgets.

import kgmed
from kgmed.notebook import ask_box

box = ask_box(kgmed.load(graph="hpo"))  # the last value of a cell is shown
box.run  # the run of the newest answer
"""

from html import escape
from typing import Any

from kgmed.errors import KgmedError, Unavailable
from kgmed.session import Conversation, Session
from kgmed.show_run import to_html


def ask_box(session: Session) -> Any:
    """A widget with a field for questions, which shows each answer with its evidence drawn; a question may go on from
    the one before. Its `run` is that of the newest answer, None before. Raises `Unavailable` without ipywidgets.
    """
    try:
        import ipywidgets
    except ImportError:
        raise Unavailable('the ask box needs ipywidgets: pip install "kgmed[notebook]"') from None
    field = ipywidgets.Text(placeholder="What are the signs of Marfan syndrome?", layout={"width": "100%"})
    button = ipywidgets.Button(description="Ask", button_style="primary")
    shown = ipywidgets.HTML()
    box = ipywidgets.VBox([ipywidgets.HBox([field, button]), shown])
    box.run = None
    talk, before = Conversation(session), [""]

    def ask(_: object) -> None:
        if field.value.strip() in ("", before[0]):  # the button is pressed, and the field is left by that
            return
        before[0] = field.value.strip()
        button.disabled, shown.value = True, "<p>…</p>"
        try:
            box.run = talk.ask(field.value)
            shown.value = to_html(box.run)
        except KgmedError as error:
            shown.value = f"<p>{escape(str(error))}</p>"
        finally:
            button.disabled = False

    button.on_click(ask)
    field.continuous_update = False  # its value changes with Enter, or when it is left
    field.observe(ask, "value")
    return box
