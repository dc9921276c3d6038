"""Replies of a causal model of `transformers` to several prompts at once: which go together, and how each is cut."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kgmed.models.transformers_schema import Schema

STEP = 100  # tokens of a prompt that are read in the time of one step, by bench/batching.py
LONGER = 4  # times as many tokens asked for as another, who would have to wait for them


class Asked(NamedTuple):
    """One call: the tokens of the prompt, the most of the reply, and the JSON schema that it is held to, if any."""

    prompt: list[int]
    most: int
    schema: Schema | None = None


def together(waiting: Sequence[Asked], batch: int, context: int) -> list[int]:
    """The places of the calls to generate together: the first, and those most like it in the prompt's length.

    One that cannot be padded within the context, or whose padding would take longer to read than its own steps, waits.

    >>> long, short = Asked([5] * 900, 4), Asked([5] * 100, 4)
    >>> together([short, long, short, Asked([5] * 110, 64)], 8, 2048)
    [0, 2]
    """
    chosen, first = [0], waiting[0]
    longest, total, most = len(first.prompt), len(first.prompt), first.most
    near = sorted(range(1, len(waiting)), key=lambda i: abs(len(waiting[i].prompt) - len(first.prompt)))
    for i in near:
        length, steps = max(longest, len(waiting[i].prompt)), max(most, waiting[i].most)
        padding = length * (len(chosen) + 1) - total - len(waiting[i].prompt)
        alike = steps <= LONGER * min(waiting[j].most for j in [*chosen, i])
        if len(chosen) < batch and alike and length + steps <= context and padding <= STEP * steps:
            chosen, longest, most, total = [*chosen, i], length, steps, total + len(waiting[i].prompt)
    return chosen


def generated(
    model: Any, tokenizer: Any, asked: Sequence[Asked], device: str, told: Mapping[str, Any]
) -> list[list[int]]:
    """The tokens of the likeliest reply to each prompt, up to its end or its most; prompts are padded on the left.

    `told` = further arguments of `generate`, such as those for one prompt alone.
    """
    import torch  # heavy

    longest = max(len(a.prompt) for a in asked)
    ends = ends_of(model, tokenizer)
    config = _config(model, tokenizer, ends, max(a.most for a in asked))
    ids = torch.full((len(asked), longest), int(config.pad_token_id or 0), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, a in enumerate(asked):
        ids[i, longest - len(a.prompt) :], mask[i, longest - len(a.prompt) :] = torch.tensor(a.prompt), 1
    stop = {} if len({a.most for a in asked}) == 1 else _each_at(longest, [a.most for a in asked])
    with torch.inference_mode():
        whole = model.generate(ids.to(device), attention_mask=mask.to(device), generation_config=config, **stop, **told)
    return [_cut(row[: a.most], ends) for row, a in zip(whole[:, longest:].tolist(), asked, strict=True)]


def ends_of(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a reply."""
    ends = model.generation_config.eos_token_id or tokenizer.eos_token_id
    return [] if ends is None else [int(e) for e in (ends if isinstance(ends, list) else [ends])]


def _config(model: Any, tokenizer: Any, ends: list[int], most: int) -> Any:
    """How to generate: always the likeliest token, up to that many."""
    import transformers  # heavy

    pad = tokenizer.pad_token_id
    return transformers.GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=most,
        do_sample=False,
        eos_token_id=ends or None,
        pad_token_id=pad if pad is not None else (ends[0] if ends else None),
    )


def _cut(row: list[int], ends: list[int]) -> list[int]:
    """The row up to the token that ends it, which is kept.

    >>> _cut([7, 8, 2, 2, 2], [2]), _cut([7, 8], [2])
    ([7, 8, 2], [7, 8])
    """
    return next((row[: i + 1] for i, token in enumerate(row) if token in ends), row)


def _each_at(start: int, most: Sequence[int]) -> Mapping[str, Any]:
    """What makes `generate` end each row at its own length, after a prompt of `start` tokens."""
    import torch  # heavy
    import transformers

    class Reached(transformers.StoppingCriteria):
        def __call__(self, input_ids: Any, scores: Any, **kwargs: object) -> Any:
            return torch.tensor(most, device=input_ids.device) <= input_ids.shape[1] - start

    return {"stopping_criteria": transformers.StoppingCriteriaList([Reached()])}


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
