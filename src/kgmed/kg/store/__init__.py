"""The embedded store: immutable memory-mapped files, built in one pass, replaced whole or not at all."""

from kgmed.kg.store.build import build
from kgmed.kg.store.edits import edit
from kgmed.kg.store.manifest import Manifest
from kgmed.kg.store.store import Store, open_store

__all__ = ["Manifest", "Store", "build", "edit", "open_store"]
