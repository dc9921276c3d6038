"""A decoder cut in two: lower layers that training leaves alone, and upper ones that it changes.

What the lower layers make of a prompt never changes, so it is computed once. With adapters in a third of the layers
alone, a step over the same prompts costs about a third.
"""

import copy
from typing import TYPE_CHECKING, Any

from kgmed.errors import BadInput
from kgmed.train.extra import need

if TYPE_CHECKING:
    from torch import Tensor

_TRIED = (3, 1, 2, 5, 4)  # any tokens, to see that the halves are the whole


class Halves:
    """Runs a decoder as its two halves; the results of the lower one are kept, a row of tokens each."""

    def __init__(self, body: Any, upper: int) -> None:
        """Cut `upper` layers off the top of a decoder with `layers` and `norm`; raises `BadInput` where that fails."""
        torch = need("torch")
        if not (hasattr(body, "layers") and hasattr(body, "norm") and 0 < upper < len(body.layers)):
            raise BadInput(
                f"the top {upper} layers of this model cannot be trained alone; train adapters in all of them"
            )
        cut = len(body.layers) - upper
        self._lower, self._upper = _shallow(body), _shallow(body)
        self._lower.layers, self._upper.layers = body.layers[:cut], body.layers[cut:]
        self._lower.norm = torch.nn.Identity()
        self._known: dict[tuple[int, ...], Tensor] = {}
        self._check(body)

    def __call__(self, input_ids: "Tensor", attention_mask: "Tensor", position_ids: "Tensor") -> "Tensor":
        """The hidden states (n, L, d) of padded rows of tokens, as the whole decoder gives them where the mask is 1."""
        below = self._below(input_ids, attention_mask, position_ids)
        found: Tensor = self._upper(
            inputs_embeds=below, attention_mask=attention_mask, position_ids=position_ids, use_cache=False
        ).last_hidden_state
        return found

    def _below(self, ids: "Tensor", mask: "Tensor", places: "Tensor") -> "Tensor":
        """What the lower layers make of the rows, computed for those that are new."""
        torch, there = need("torch"), mask.bool()
        keys = [tuple(row[seen].tolist()) for row, seen in zip(ids, there, strict=True)]
        new = [i for i, key in enumerate(keys) if key not in self._known]
        if new:
            with torch.no_grad():
                states = self._lower(
                    input_ids=ids[new], attention_mask=mask[new], position_ids=places[new], use_cache=False
                ).last_hidden_state
            self._known.update({keys[i]: row[there[i]].clone() for i, row in zip(new, states, strict=True)})
        width = self._known[keys[0]].shape[-1]
        below: Tensor = torch.zeros(*ids.shape, width, device=ids.device, dtype=self._known[keys[0]].dtype)
        for i, key in enumerate(keys):
            below[i, there[i]] = self._known[key]
        return below

    def _check(self, body: Any) -> None:
        """Refuse a decoder that does more than run its layers one after the other."""
        torch = need("torch")
        device = next(body.parameters()).device
        ids = torch.tensor([_TRIED], device=device)
        mask, places = torch.ones_like(ids), torch.arange(ids.shape[1], device=device)[None, :]
        with torch.no_grad():
            whole = body(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=False).last_hidden_state
            halves = self(ids, mask, places)
        self._known.clear()
        if not torch.allclose(whole, halves, rtol=1e-3, atol=1e-3 * float(whole.abs().max())):
            raise BadInput("this model is more than its layers in turn; train adapters in all of them")


def _shallow(body: Any) -> Any:
    """A copy of a module whose parts can be replaced without changing the module; the parts are the same ones."""
    twin = copy.copy(body)
    twin._modules = dict(body._modules)
    return twin
