"""The box to ask in, used as a person uses it; the widgets are real, the browser is not there."""

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kgmed.config import Config
from kgmed.graph.base import EdgeRow, NodeRow, Source
from kgmed.graph.formats.obo import KINDS, RELATIONS
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.notebook import ask_box
from kgmed.session import Session, open_session

pytest.importorskip("ipywidgets")


@cache
def graph() -> Store:
    rows = (
        NodeRow("OMIM:1", "Marfan syndrome", "disease"),
        NodeRow("HP:1", "Arachnodactyly", "phenotype"),
        EdgeRow("OMIM:1", "has_phenotype", "HP:1"),
    )
    folder, relations = Path(tempfile.mkdtemp()) / "hpo", {relation.name: relation for relation in RELATIONS}
    build(Source("hpo", lambda: rows, language="en", relations=relations, kinds=KINDS), folder)
    return open_store(folder)


@pytest.fixture
def session() -> Iterator[Session]:
    with open_session(Config(graph=graph().folder, encoder="ngrams", log=False)) as made:
        yield made


def parts(box: Any) -> tuple[Any, Any, Any]:
    """The field, the button, and what is shown."""
    (field, button), shown = box.children[0].children, box.children[1]
    return field, button, shown


def test_a_question_is_answered_with_its_evidence_drawn_by_enter_and_by_the_button(session: Session) -> None:
    for by_button in (False, True):
        box = ask_box(session)
        field, button, shown = parts(box)
        before = box.run
        assert before is None
        field.value = "What are the signs of Marfan syndrome?"  # Enter, or leaving the field by the button
        if by_button:
            first = box.run
            button.click()
            assert box.run is first, "it was asked twice"
        assert box.run.question.text == field.value
        assert "<svg" in shown.value
        assert not button.disabled


def test_what_cannot_be_asked_is_told_as_text(session: Session) -> None:
    box = ask_box(session)
    field, button, shown = parts(box)
    button.click()
    assert shown.value == ""
    field.value = "<script>alert(1)</script> " * 4_000
    assert "<script>" not in shown.value
    assert not button.disabled
