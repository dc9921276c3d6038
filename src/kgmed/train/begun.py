"""Rows of tokens that a decoder has begun to read; rows that begin alike are read once.

The keys and values of a prompt are kept and shared by its answers: eight answers to a question cost little more than
one. Gradients flow back through them, so that training on answers trains how the prompts are read, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgmed.train.extra import need

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(slots=True, eq=False)
class Begun:
    """n rows of tokens as far as a decoder has read them."""

    body: Any  # the decoder: tokens -> hidden states
    seen: "Tensor"  # (n, L) int64, 0 where a row is padded
    last: "Tensor"  # (n, d), the hidden state at the end of each row
    kept: Any  # keys and values of the rows, a cache of transformers

    def then(self, tokens: "Tensor", mask: "Tensor") -> "Tensor":
        """The hidden states (n, T, d) at tokens (n, T) that come next, which from now on belong to the rows."""
        self.seen = need("torch").cat([self.seen, mask.to(self.seen)], 1)
        states = _read(self.body, tokens.to(self.seen.device), self.seen, self.kept).last_hidden_state
        self.last = states[:, -1]
        return states  # type: ignore[no-any-return]


def begin(body: Any, rows: Sequence[Sequence[int]], *, pad: int, device: str = "cpu") -> Begun:
    """The rows, read; those that are alike once, all padded on the left to one length."""
    torch = need("torch")
    unique = list(dict.fromkeys(map(tuple, rows)))
    number = {row: i for i, row in enumerate(unique)}
    places = torch.tensor([number[tuple(row)] for row in rows], device=device)
    ids, seen = padded(unique, pad=pad, device=device)
    out = _read(body, ids, seen)
    out.past_key_values.batch_select_indices(places)
    return Begun(body, seen[places], out.last_hidden_state[:, -1][places], out.past_key_values)


def padded(rows: Sequence[Sequence[int]], *, pad: int, device: str = "cpu") -> tuple["Tensor", "Tensor"]:
    """Tokens (n, L) padded on the left, and a mask (n, L) int64."""
    torch, longest = need("torch"), max(map(len, rows))
    ids = torch.tensor([[pad] * (longest - len(row)) + list(row) for row in rows], device=device)
    seen = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=device)
    return ids, seen


def _read(body: Any, ids: "Tensor", seen: "Tensor", kept: Any = None) -> Any:
    """What a decoder makes of tokens (n, T) at the end of rows whose mask is `seen` (n, L + T)."""
    places = (seen.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    return body(input_ids=ids, attention_mask=seen, position_ids=places, past_key_values=kept, use_cache=True)
