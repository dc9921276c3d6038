"""Frames written by hand: what a question was understood to ask, without the understander."""

from collections.abc import Mapping
from dataclasses import replace

from kgmed.frame import Ask, Frame, Intent
from kgmed.records import Query
from role_graph import query


def given(*intents: Intent, language: str = "en") -> Frame:
    """A frame that asks for these, of nothing in particular."""
    return Frame(tuple(map(Ask, intents)), language=language, source="given", confidence=1.0)


def asked(text: str, *intents: Intent, language: str = "en", options: Mapping[str, str] | None = None) -> Query:
    """A query of that text that was understood to ask for these."""
    return replace(query(text, options), frame=given(*intents, language=language))
