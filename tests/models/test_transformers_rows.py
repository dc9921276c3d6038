"""Rows that grow together are, letter by letter, what `generate` gives each alone: on tiny models of many kinds."""

import random
from pathlib import Path
from typing import Any

import pytest

from kgmed.errors import BadInput, ModelFailed
from kgmed.models.transformers_lm import TransformersLM
from kgmed.models.transformers_rows import BatchedReplies, RowRequest, computing, generate_tokens
from tiny_causal import WORDS, saved_in

torch = pytest.importorskip("torch", reason="needs torch and transformers")
transformers = pytest.importorskip("transformers", reason="needs torch and transformers")

SIZES: dict[str, object] = {
    "vocab_size": len(WORDS), "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "max_position_embeddings": 300,
    "initializer_range": 1.0, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None,
}  # fmt: skip
GPT: dict[str, object] = {"vocab_size": len(WORDS), "bos_token_id": 0, "eos_token_id": 1, "initializer_range": 1.0}
KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "Llama": ("LlamaConfig", SIZES),
    "Qwen 2": ("Qwen2Config", SIZES),
    "Qwen 3": ("Qwen3Config", SIZES),
    "Mistral, a window of 8": ("MistralConfig", SIZES | {"sliding_window": 8}),
    "Gemma 2, a window of 8": ("Gemma2Config", SIZES | {"sliding_window": 8}),
    "Gemma 3, a window of 8": ("Gemma3TextConfig", SIZES | {"sliding_window": 8}),
    "GPT-2": ("GPT2Config", GPT | {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 300}),
    "Bloom": ("BloomConfig", GPT | {"hidden_size": 16, "n_layer": 2, "n_head": 2}),
}


def made(kind: str) -> Any:
    config, sizes = KINDS[kind]
    torch.manual_seed(1)
    return transformers.AutoModelForCausalLM.from_config(getattr(transformers, config)(**sizes)).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_join_and_leave_at_any_step_are_those_of_generate(kind: str) -> None:
    model, draw = made(kind), random.Random(3)
    asked = [
        RowRequest([0, *draw.choices(range(3, len(WORDS)), k=draw.choice((1, 5, 20, 90)))], draw.randint(1, 40))
        for _ in range(40)
    ]
    rows, said = BatchedReplies(model, [1], "cpu", lambda schema: None), dict[int, list[int]]()
    left = dict(enumerate(asked))
    gone = 7
    while len(said) < len(asked) - 1:
        new = {n: left.pop(n) for n in list(left)[: draw.choice((0, 0, 0, 1, 3))]} if len(rows._rows) < 8 else {}
        if new or rows._rows:
            said |= rows.step(new)
        if gone in new and gone not in said:
            rows.leave(gone)

    class Words:
        pad_token_id, eos_token_id = None, 1

    alone = {n: generate_tokens(model, Words(), a, "cpu", {}) for n, a in enumerate(asked) if n != gone}
    said.pop(gone, None)
    assert len({tuple(row) for row in alone.values()}) > 20  # else a mix-up would not show
    assert said == alone
    assert (rows._keys, rows._values) == ([], [])


def test_a_model_that_keeps_a_state_is_refused_as_a_batch_and_answers_alone(tmp_path: Path) -> None:
    config = transformers.MambaConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, bos_token_id=0, eos_token_id=1, pad_token_id=0
    )
    place = saved_in(tmp_path / "mamba", model=transformers.AutoModelForCausalLM.from_config(config))
    with pytest.raises(BadInput, match="without --batch"):
        TransformersLM(place, batch=4)
    assert TransformersLM(place)._one


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory.\nTried"),
            r"m has not enough memory .*memory\. Tried\); give --bits",
        ),
        (AssertionError("N must be divisible"), r"m cannot compute \(N must be divisible\); try --precision"),
        (RuntimeError(""), r"m cannot compute \(RuntimeError\); try"),
    ],
)
def test_what_a_device_cannot_compute_is_one_line_with_a_mend(error: Exception, told: str) -> None:
    with pytest.raises(ModelFailed, match=told), computing("m"):
        raise error
