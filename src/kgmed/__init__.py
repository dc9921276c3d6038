"""kgmed answers medical questions from a knowledge graph and shows what each answer stands on."""

from kgmed.types import (
    Answer,
    Candidate,
    Context,
    Entity,
    Evidence,
    Link,
    Mention,
    Query,
    Question,
    Relation,
    Role,
    Run,
    Support,
    Triple,
    Verdict,
    to_json,
)

__all__ = [
    "Answer",
    "Candidate",
    "Context",
    "Entity",
    "Evidence",
    "Link",
    "Mention",
    "Query",
    "Question",
    "Relation",
    "Role",
    "Run",
    "Support",
    "Triple",
    "Verdict",
    "to_json",
]
