"""The embedded store: immutable memory-mapped files, built in one pass, replaced whole or not at all."""

from kgmed.graph.store.build import build
from kgmed.graph.store.edits import edit
from kgmed.graph.store.folder import Manifest
from kgmed.graph.store.store import Store, open_store

__all__ = ["Manifest", "Store", "build", "edit", "open_store"]
