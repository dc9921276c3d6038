"""Log-probabilities of texts after one start by a causal model of `transformers`, which reads the start once."""

import copy
from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 8  # texts
Scores = list[NDArray[np.float64]]


def scored(model: Any, rows: Sequence[Sequence[int]], begins: Sequence[int], device: str) -> Scores:
    """The log-probabilities of the tokens of each row from where it begins, which is after its first token.

    What all rows share is read once where the model keeps keys and values of all that it has read, else with each row.
    """
    shared = min(begins, default=1) - 1  # the last token before is read again, for what it says of the next
    read = _read(model, rows[0][:shared], device) if shared else None
    shared = shared if read is not None else 0
    found: Scores = []
    for i in range(0, len(rows), AT_ONCE):
        found += _group(model, rows[i : i + AT_ONCE], begins[i : i + AT_ONCE], read, shared, device)
    return found


def _read(model: Any, start: Sequence[int], device: str) -> Any:
    """What a model keeps of a text that it has read; None where it cannot be given to several."""
    import torch  # heavy
    from transformers.cache_utils import DynamicCache, DynamicLayer

    last = {"logits_to_keep": 1} if "logits_to_keep" in signature(model.forward).parameters else {}
    kept = model(input_ids=torch.tensor([list(start)], device=device), use_cache=True, **last)
    found = getattr(kept, "past_key_values", None)
    whole = isinstance(found, DynamicCache) and all(type(layer) is DynamicLayer for layer in found.layers)
    return found if whole else None


def _group(
    model: Any, rows: Sequence[Sequence[int]], begins: Sequence[int], read: Any, shared: int, device: str
) -> Scores:
    """Some rows at once, after what was read of them."""
    import torch  # heavy

    rest = max(map(len, rows)) - shared
    ids = torch.zeros((len(rows), rest), dtype=torch.long)
    mask = torch.ones((len(rows), shared + rest), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row) - shared] = torch.tensor(list(row[shared:]))
        mask[i, len(row) :] = 0
    past = {}
    if read is not None:
        past = {"past_key_values": copy.deepcopy(read)}
        past["past_key_values"].batch_repeat_interleave(len(rows))
    logits = model(input_ids=ids.to(device), attention_mask=mask.to(device), **past).logits
    found = []
    for i, (row, begin) in enumerate(zip(rows, begins, strict=True)):
        said = torch.log_softmax(logits[i, begin - 1 - shared : len(row) - 1 - shared].double(), -1).cpu().numpy()
        found.append(said[np.arange(len(row) - begin), list(row[begin:])])
    return found
