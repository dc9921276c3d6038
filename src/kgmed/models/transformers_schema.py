"""Replies of a causal model of `transformers` held to a JSON schema: of the tokens that would leave it none is chosen.

The library llguidance says which tokens may come next; it reads the tokenizer once, which takes about a second.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import ModelFailed, Unavailable

Schema = Mapping[str, object]
# one way to write each value: a small model that may write white space writes nothing else
_COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def reads(tokenizer: Any, ends: Sequence[int]) -> Any:
    """What llguidance knows of a tokenizer; None of one that it cannot read, such as one of words or of Python's own.

    Raises `Unavailable` where the library is not installed.
    """
    try:
        from llguidance.hf import from_tokenizer  # heavy
    except ImportError as error:
        raise Unavailable('replies by JSON schema need llguidance: pip install "kgmed[local]"') from error
    try:
        return from_tokenizer(tokenizer, eos_token=list(ends)) if ends else None
    except ValueError:
        return None


class Held:
    """What holds one reply to its schema, token by token."""

    def __init__(self, known: Any, schema: Schema, ends: Sequence[int]) -> None:
        """`known` = what `reads` gave; raises `ModelFailed` for a schema that the library cannot hold one to."""
        from llguidance import LLMatcher

        grammar = LLMatcher.grammar_from_json_schema(json.dumps({**schema, "x-guidance": _COMPACT}))
        self._row, self._ends = LLMatcher(known, grammar), list(ends)
        if self._row.is_error():
            said = " ".join(self._row.get_error().split())
            raise ModelFailed(f"a reply cannot be held to its JSON schema: {said[:200]}")

    def went_on(self, token: int) -> bool:
        """Whether the schema took that token, and had not ended before it."""
        row = self._row
        return not row.is_stopped() and bool(row.validate_tokens([token])) and bool(row.consume_token(token))

    def allowed(self, many: int) -> NDArray[np.bool_]:
        """Which of so many tokens may come next: those of the schema, or the ends where there is none."""
        found = np.zeros(many, bool)
        if not self._row.is_stopped():
            bits = np.unpackbits(np.frombuffer(self._row.compute_bitmask(), np.uint8), bitorder="little")[:many]
            found[: len(bits)] = bits
        if not found.any():
            found[self._ends] = True
        return found


def holding(held: Held) -> Any:
    """What makes `generate` hold its one row to a schema; where no token is left it ends, and is no whole JSON."""
    import torch  # heavy
    import transformers

    class Only(transformers.LogitsProcessor):
        begun = False

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            if not self.begun or held.went_on(int(input_ids[0, -1])):
                scores[0, torch.from_numpy(~held.allowed(scores.shape[1]))] = -torch.inf
            self.begun = True
            return scores

    return transformers.LogitsProcessorList([Only()])
