"""Tiny encoders with random weights, built and saved by the real classes; they need torch and transformers."""

from pathlib import Path
from typing import Any

import pytest

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fever", "cough", "gout", "and", "发", "热"]


def encoder_in(folder: Path) -> Path:
    """The folder with an encoder, a cross-encoder and a classifier of three in folders of their own."""
    torch: Any = pytest.importorskip("torch", reason="needs torch and transformers")
    t: Any = pytest.importorskip("transformers", reason="needs torch and transformers")
    torch.manual_seed(0)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    tokenizer = t.BertTokenizer(str(folder / "vocab.txt"), model_max_length=16)
    size = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = {"vocab_size": len(WORDS), "max_position_embeddings": 16, "initializer_range": 1.0} | size
    t.BertModel(t.BertConfig(**config)).save_pretrained(folder / "encoder")
    for name, labels in (("cross", 1), ("three", 3)):
        model = t.BertForSequenceClassification(t.BertConfig(**config, num_labels=labels))
        model.save_pretrained(folder / name)
    for name in ("encoder", "cross", "three"):
        tokenizer.save_pretrained(folder / name)
    return folder
