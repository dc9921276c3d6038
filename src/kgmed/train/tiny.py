"""A model of 90 thousand parameters from nothing, whose words are the names of symptoms and diseases: for tests.

Everything but its size is as with a large model: it writes freely, may write nonsense, and learns from the reward.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgmed.train.causal import Causal, build
from kgmed.train.extra import need

_END, _NO = 0, 1
_SAID_END = "<end>"
_DENIALS = ("no", "无")


class NameTokens:
    """A tokenizer whose tokens are names; everything else in a text but denials is passed over.

    >>> tokens = NameTokens(["flu", "fever", "high fever"])
    >>> tokens.encode("High fever, fever. No flu?"), tokens.decode([2, 0])
    ([4, 3, 1, 2], 'flu')
    """

    end = _END

    def __init__(self, names: Sequence[str]) -> None:
        """Take the names, longest matches first."""
        self.names = tuple(names)
        self._number = {name.casefold(): i for i, name in enumerate(names, start=2)} | dict.fromkeys(_DENIALS, _NO)
        longest = sorted(self._number, key=len, reverse=True)
        edges = (rf"\b{re.escape(n)}\b" if n.isascii() else re.escape(n) for n in longest)
        self._pattern = re.compile("|".join(edges))

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.names) + 2

    def encode(self, text: str, /) -> list[int]:
        """The names in a text, in its order."""
        return [self._number[found] for found in self._pattern.findall(text.casefold())]

    def decode(self, tokens: Sequence[int], /) -> str:
        """The names of tokens."""
        return " ".join(self.names[t - 2] if t > _NO else "no" for t in tokens if t != _END)

    def fast(self) -> Any:
        """The same as a tokenizer of transformers, for other trainers; of denials it knows the English one alone.

        A vocabulary of transformers cannot hold two words of one number. Prompts are padded on the left.
        """
        parts, made = need("tokenizers"), need("transformers").PreTrainedTokenizerFast
        vocabulary = {_SAID_END: _END} | {word: i for word, i in self._number.items() if word != _DENIALS[1]}
        words = parts.Tokenizer(parts.models.WordLevel(vocabulary, unk_token=_SAID_END))
        words.normalizer = parts.normalizers.Lowercase()
        pattern = parts.Regex(self._pattern.pattern)
        words.pre_tokenizer = parts.pre_tokenizers.Split(pattern, behavior="removed", invert=True)
        return made(tokenizer_object=words, eos_token=_SAID_END, pad_token=_SAID_END, padding_side="left")

    def save(self, folder: Path, /) -> None:
        """Write the names."""
        (folder / "names.json").write_text(json.dumps(self.names, ensure_ascii=False), encoding="utf-8")


def tiny(names: Sequence[str], *, seed: int = 0, width: int = 64, layers: int = 2) -> Causal:
    """A Llama of that size with random weights, all of them trained."""
    transformers, torch = need("transformers"), need("torch")
    tokens = NameTokens(names)
    config = transformers.LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=_END,
        pad_token_id=_END,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.LlamaForCausalLM(config)
    return build("tiny", model, tokens, adapt="full", seed=seed)
