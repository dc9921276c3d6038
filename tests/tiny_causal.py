"""Tiny causal models with random weights, built and saved by the real classes; they need torch and transformers."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SAID = "fever cough gout and the of is a big red toe system user assistant : . yes no".split()  # noqa: SIM905
WORDS = ["<s>", "</s>", "<unk>", *SAID]


def saved_in(folder: Path, *, template: str = "", begins: bool = True, model: Any = None, width: int = 16) -> Path:
    """A folder with a Llama of two layers over a vocabulary of words, or with that model."""
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
    return _saved(folder, fast, model or _llama(len(WORDS), 64, width))


def bytes_in(folder: Path, *, template: str = "", context: int = 256, words: Iterable[str] = (), **form: Any) -> Path:
    """A folder with a model of the same kind over single bytes, which can write whatever there is.

    The words of texts, where some are given, are tokens of their own: a model learns to say these in a few steps.
    """
    import tokenizers
    import torch
    import transformers

    torch.manual_seed(0)
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    split = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    known = {word: None for text in words for word, _ in split.pre_tokenize_str(text) if len(word) > 1}
    vocabulary = {w: i for i, w in enumerate(["<s>", "</s>", *letters, *known])}
    written = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], ignore_merges=True))
    written.pre_tokenizer = split
    written.decoder = tokenizers.decoders.ByteLevel()
    make: Any = transformers.PreTrainedTokenizerFast
    made = make(tokenizer_object=written, bos_token="<s>", eos_token="</s>")
    made.chat_template = template or None
    return _saved(folder, made, _llama(len(vocabulary), context, **form))


def _llama(words: int, context: int, width: int = 16, spread: float = 1.0) -> Any:
    """A Llama of two layers."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=words, hidden_size=width, intermediate_size=width, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=context, initializer_range=spread, bos_token_id=0, eos_token_id=1, pad_token_id=None,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def _saved(folder: Path, tokenizer: Any, model: Any) -> Path:
    """The folder, with that model and that tokenizer in it."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def sizes(llm: Any, callers: int = 1) -> list[int]:
    """How many rows a model is given, each time it is; filled as it is asked.

    The first step ends when so many have called, so that they go on together however slow their threads are.
    """
    given: list[int] = []

    def note(module: object, args: object, kwargs: Any) -> None:
        end = time.monotonic() + 60
        while not given and callers > 1 and time.monotonic() < end:
            if len(llm._together._waiting) + len(llm._together._going) >= callers:
                break
            time.sleep(0.001)
        given.append(len(kwargs["input_ids"]))

    llm._model.register_forward_pre_hook(note, with_kwargs=True)
    return given
