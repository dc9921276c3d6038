"""A tiny causal model with random weights, built and saved by the real classes; needs torch and transformers."""

from pathlib import Path
from typing import Any

SAID = "fever cough gout and the of is a big red toe system user assistant : . yes no".split()  # noqa: SIM905
WORDS = ["<s>", "</s>", "<unk>", *SAID]


def saved_in(folder: Path, *, template: str = "", begins: bool = True) -> Path:
    """A folder with a Llama of two layers over a vocabulary of words."""
    import tokenizers
    import torch
    import transformers

    torch.manual_seed(0)
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if begins:
        words.post_processor = tokenizers.processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 0)])
    marks = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    make: Any = transformers.PreTrainedTokenizerFast
    fast = make(tokenizer_object=words, **marks)
    fast.chat_template = template or None
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, initializer_range=1.0, bos_token_id=0, eos_token_id=1, pad_token_id=None,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
