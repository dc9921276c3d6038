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


def holding(known: Any, schemas: Sequence[Schema | None], ends: Sequence[int]) -> Any:
    """What makes `generate` hold each row to its schema, None = to none; `known` = what `reads` gave.

    A row for which no token is left ends; what it has said by then is no whole JSON.
    """
    import torch  # heavy
    import transformers

    rows = {i: _grammar(known, schema) for i, schema in enumerate(schemas) if schema is not None}

    class Held(transformers.LogitsProcessor):
        begun = False

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            for i, row in list(rows.items()):
                if self.begun and not _went_on(row, int(input_ids[i, -1])):
                    del rows[i]
                else:
                    scores[i, torch.from_numpy(~_allowed(row, scores.shape[1], ends))] = -torch.inf
            self.begun = True
            return scores

    return transformers.LogitsProcessorList([Held()])


def _grammar(known: Any, schema: Schema) -> Any:
    """What follows a reply token by token; raises `ModelFailed` for a schema that the library cannot hold one to."""
    from llguidance import LLMatcher

    found = LLMatcher(known, LLMatcher.grammar_from_json_schema(json.dumps({**schema, "x-guidance": _COMPACT})))
    if found.is_error():
        raise ModelFailed(f"a reply cannot be held to its JSON schema: {' '.join(found.get_error().split())[:200]}")
    return found


def _went_on(row: Any, token: int) -> bool:
    """Whether the row took that token, and did not end before it: padding follows what was cut off."""
    return not row.is_stopped() and bool(row.validate_tokens([token])) and bool(row.consume_token(token))


def _allowed(row: Any, many: int, ends: Sequence[int]) -> NDArray[np.bool_]:
    """Which of so many tokens may come next: those of the grammar, or the ends where there is none."""
    found = np.zeros(many, bool)
    if not row.is_stopped():
        bits = np.unpackbits(np.frombuffer(row.compute_bitmask(), np.uint8), bitorder="little")[:many]
        found[: len(bits)] = bits
    if not found.any():
        found[list(ends)] = True
    return found
