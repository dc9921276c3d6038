"""An encoder that remembers: methods that are compared on the same questions ask for the same texts again and again."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgmed.stages import Encoder

_MOST = 1 << 14  # texts: 32 MB at 512 dimensions


class Remembered:
    """The vectors of another encoder; those of the last thousands of texts are not computed again. Thread-safe."""

    def __init__(self, encoder: Encoder) -> None:
        """`encoder` computes what is not remembered."""
        self._encoder = encoder
        self._rows: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """That of the encoder: vectors are the same."""
        return self._encoder.name

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._encoder.dimensions

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d)."""
        known = {text: row for text in texts if (row := self._rows.get(text)) is not None}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            computed = self._encoder(new)
            known |= dict(zip(new, computed, strict=True))
            if len(self._rows) + len(new) > _MOST:
                self._rows.clear()
            if len(new) <= _MOST:
                self._rows.update((text, known[text].copy()) for text in new)
        return np.array([known[text] for text in texts], np.float32).reshape(len(texts), self.dimensions)
