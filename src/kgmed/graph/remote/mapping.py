"""What the mapping files of graphs that kgmed did not write have in common, over Bolt and in PostgreSQL: small TOML."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput
from kgmed.graph.formats.base import infer
from kgmed.records import Relation, Role
from kgmed.toml import read

ID, ALIAS, ABOUT = ("id", "identifier", "curie", "cui", "code"), ("alias", "synonym"), ("description", "definition")
CALLED = ("name", "preferred_label", "label", "title", "term")


def read_toml(path: Path, keys: Collection[str]) -> dict[str, Any]:
    """What a mapping file says; raises `BadInput` naming the file and a key that no mapping has."""
    told = read(path)
    known(path, told, keys, "a mapping")
    return told


def known(path: Path, told: Mapping[str, Any], keys: Collection[str], what: str) -> None:
    """Raise `BadInput` for a key that `what` has not."""
    if strange := sorted(told.keys() - {*keys}):
        raise BadInput(f"{path}: {what} has no {strange[0]!r}; it has {', '.join(sorted(keys))}")


def relation_of(path: Path, name: str, told: Any) -> Relation:
    """The relation of a type: a role, or a table of name, role, reverse; raises `BadInput`."""
    said = {"role": told} if isinstance(told, str) else told
    try:
        called = said.get("name", name.replace("_", " ").lower())
        if not isinstance(called, str):
            raise BadInput(f"{path}: name of {name} must be a text, not {called!r}")
        return Relation(called, Role(said["role"]), bool(said.get("reverse")))
    except (AttributeError, KeyError, ValueError):
        roles = ", ".join(role.value for role in Role)
        raise BadInput(f"{path}: {name} = {told!r} names no role; roles: {roles}") from None


def proposed(name: str) -> str:
    """The relation that a name suggests, as a mapping file has it.

    >>> proposed("HAS_SYMPTOM")
    'name = "has symptom", role = "finding"'
    """
    relation = infer(words(name))
    back = ", reverse = true" if relation.reverse else ""
    return f"name = {toml(relation.name)}, role = {toml(relation.role.value)}{back}"


def alike(found: Collection[str], wanted: Sequence[str]) -> str:
    """The first name that is wanted among those that there are, in capitals or not; "" = none."""
    return next((key for want in wanted for key in found if key.lower() == want), "")


def words(name: str) -> str:
    """A name of a schema as words, in small letters."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


def toml(text: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)
