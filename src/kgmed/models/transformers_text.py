"""A reply of a causal model of `transformers`, whole or piece by piece."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kgmed.models.transformers_schema import Schema


class Asked(NamedTuple):
    """One call: the tokens of the prompt, the most of the reply, and the JSON schema that it is held to, if any."""

    prompt: list[int]
    most: int
    schema: Schema | None = None


def generated(model: Any, tokenizer: Any, asked: Asked, device: str, told: Mapping[str, Any]) -> list[int]:
    """The tokens of the likeliest reply, up to its end or its most; `told` = further arguments of `generate`."""
    import torch  # heavy
    import transformers

    ends, pad = ends_of(model, tokenizer), tokenizer.pad_token_id
    config = transformers.GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=asked.most,
        do_sample=False,
        eos_token_id=ends or None,
        pad_token_id=pad if pad is not None else (ends[0] if ends else None),
    )
    ids = torch.tensor([asked.prompt], device=device)
    with torch.inference_mode():
        whole = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config, **told)
    return [int(token) for token in whole[0, len(asked.prompt) :]]


def ends_of(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a reply."""
    ends = model.generation_config.eos_token_id or tokenizer.eos_token_id
    return [] if ends is None else [int(e) for e in (ends if isinstance(ends, list) else [ends])]


def streaming(tokenizer: Any, put: Callable[[str], bool]) -> Mapping[str, Any]:
    """What makes `generate` hand its text to `put`, and end when that says so."""
    import transformers  # heavy

    state = {"left": False}

    class Told(transformers.TextStreamer):
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:  # noqa: FBT001, FBT002
            state["left"] = put(text)

    class Left(transformers.StoppingCriteria):
        def __call__(self, input_ids: Any, scores: Any, **kwargs: object) -> Any:
            import torch

            return torch.full((len(input_ids),), fill_value=state["left"], device=input_ids.device)

    return {
        "streamer": Told(tokenizer, skip_prompt=True, skip_special_tokens=True),
        "stopping_criteria": transformers.StoppingCriteriaList([Left()]),
    }
