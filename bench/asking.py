"""Train the classifier of questions on templates of our own: what is asked where no pattern knows the words.

    python bench/asking.py [--write]

The templates are `asking.jsonl` (type, text with placeholders); the encoder is the embedded one. A fifth is held out;
printed are, for each language, the share that is right there, and of the guesses of at least `CERTAIN` how many there
are and how many are right. With --write all templates train, and the weights are written to
`src/kgmed/language/asking.npz`.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.language import restate
from kgmed.language.text import has_cjk
from kgmed.toolkit import default_encoder

TEMPLATES = Path(__file__).with_suffix(".jsonl")
WEIGHTS = Path(restate.__file__).with_name("asking.npz")
ROUNDS, RATE, DECAY = 1500, 30.0, 3e-6
KINDS = {"{D}": "X", "{D2}": "X", "{S}": "X", "{M}": "M", "{M2}": "M", "{G}": "G"}
Floats = NDArray[np.float32]


def main() -> None:
    """Train, print, and write where that is asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--write", action="store_true", help="train on all templates and write the weights")
    write = options.parse_args().write
    rows = [json.loads(line) for line in TEMPLATES.read_text(encoding="utf-8").splitlines()]
    texts = [row["text"] for row in rows]
    types = sorted({row["type"] for row in rows})
    gold = np.array([types.index(row["type"]) for row in rows])
    held = np.array([xxhash.xxh3_64_intdigest(text.encode()) % 5 == 0 for text in texts])
    chinese = np.array([has_cjk(text) for text in texts])
    encoder = default_encoder()
    vectors = encoder([_filled(text) for text in texts])
    weights, biases = [], []
    for name, mine in (("English", ~chinese), ("Chinese", chinese)):
        weight, bias = _trained(vectors[mine & ~held], gold[mine & ~held], len(types))
        shares = _softmax(vectors[mine & held] @ weight + bias)
        right, sure = shares.argmax(axis=1) == gold[mine & held], shares.max(axis=1) >= restate.CERTAIN
        print(f"{name}: of {len(right)} held out {right.mean():.3f} right; {sure.mean():.3f} sure, of these "
              f"{right[sure].mean():.3f} right")  # fmt: skip
        weight, bias = _trained(vectors[mine], gold[mine], len(types))
        weights.append(weight.astype(np.float16))
        biases.append(bias)
    if write:
        said, maker = np.array(types), np.array(encoder.name)
        np.savez_compressed(WEIGHTS, weights=np.stack(weights), bias=np.stack(biases), types=said, encoder=maker)
        print(f"wrote {WEIGHTS.stat().st_size:,} bytes for {len(types)} types")


def _filled(text: str) -> str:
    """A template with the names that stand in at its placeholders."""
    places = []
    for placeholder, kind in KINDS.items():
        at = text.find(placeholder)
        while at >= 0:
            places.append((at, at + len(placeholder), kind))
            at = text.find(placeholder, at + 1)
    return restate.standing_in(text, places, chinese=has_cjk(text))


def _trained(vectors: Floats, gold: NDArray[np.int64], count: int) -> tuple[Floats, Floats]:
    """The weights (dims, types) and biases of a softmax regression, by gradient descent with decay."""
    wanted = np.eye(count, dtype=np.float32)[gold]
    weight, bias = np.zeros((vectors.shape[1], count), np.float32), np.zeros(count, np.float32)
    speed = np.zeros_like(weight)
    for _ in range(ROUNDS):
        off = (_softmax(vectors @ weight + bias) - wanted) / len(vectors)
        speed = 0.9 * speed + (vectors.T @ off + DECAY * weight)
        weight -= RATE * speed
        bias -= RATE * off.sum(axis=0)
    return weight, bias


def _softmax(scores: Floats) -> Floats:
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float32)


if __name__ == "__main__":
    main()
