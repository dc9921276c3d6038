"""Texts about entities on their way in: names, aliases, descriptions, attributes."""

from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.store.arena import ArenaWriter, save


class About:
    """Texts with the number of their entity and further columns, as they come; sorted by entity at the end."""

    def __init__(self, folder: Path, name: str, nodes: str, **columns: str) -> None:
        """Begin the arena `name`; `nodes` is the file of the entities, `columns` the files and types of the others."""
        self.texts = ArenaWriter(folder, name)
        self._folder, self._files = folder, (nodes, *columns)
        self._columns = [array(code) for code in ("i", *columns.values())]

    def __len__(self) -> int:
        """The number of texts."""
        return len(self._columns[0])

    @property
    def nodes(self) -> NDArray[np.int32]:
        """The entity of each text, in the order in which they came."""
        return np.frombuffer(self._columns[0], np.int32)

    def extend(self, texts: Iterable[str], *columns: Iterable[int]) -> None:
        """Append texts, with their entities and the other columns."""
        self.texts.extend(texts)
        for column, values in zip(self._columns, columns, strict=True):
            if isinstance(values, np.ndarray):
                column.frombytes(values.astype(column.typecode, copy=False).tobytes())
            else:
                column.extend(values)

    def close(self) -> None:
        """Write the files."""
        order = np.argsort(self.nodes, kind="stable")
        self.texts.close(order)
        for file, column in zip(self._files, self._columns, strict=True):
            save(self._folder, file, np.frombuffer(column, column.typecode)[order])
