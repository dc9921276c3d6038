"""Our ROUGE and BLEU against rouge-score, NLTK and sacrebleu over generated answers: equal, and how much faster.

    python bench/metrics.py [--answers 10000]      # needs pip install "kgmed[eval,peers]"

Answers and references are drawn from a made-up vocabulary by a fixed seed; a reference shares words with its answer.
Both sides start from the text, so the time is that of tokenising, stemming and counting. sacrebleu scores in percent
and is asked for one reference, without smoothing, with our words, cut at BLEU-4.
"""

import argparse
import logging
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from _figures import keep
from nltk.translate.bleu_score import sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from kgmed.evaluate.metrics.text import KINDS, bleu, words

Pair = tuple[str, str]
Score = Callable[[Pair], float]
ROOTS = ("treat", "fever", "cough", "patient", "infect", "disease", "heal", "diagnos", "pain", "cause", "dose")
ENDS = ("", "s", "ed", "ing", "ation", "ment", "al", "ness")
NAMES = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}
EQUAL = 1e-6


def generated(number: int, *, seed: int = 0) -> list[Pair]:
    """So many answers of 5 to 150 words, each with its reference."""
    draw = np.random.default_rng(seed)
    known = [root + end for root in ROOTS for end in ENDS] + ["the", "of", "a", "12", "in"]
    chance = 1 / np.arange(1, len(known) + 1)
    found = []
    for _ in range(number):
        said, other = (draw.choice(known, draw.integers(5, 151), p=chance / chance.sum()).tolist() for _ in range(2))
        wanted = [*said[: int(draw.integers(0, len(said)))], *other]
        found.append((text(said), text(wanted)))
    return found


def text(found: Sequence[str]) -> str:
    """Words as a text with capitals and marks."""
    return (" ".join(found) + ".").capitalize()


def cases() -> dict[str, tuple[Score, Score]]:
    """Each metric: ours, and that of a reference package."""
    return {
        **{
            f"{kind}{'-stem' if stem else ''} (rouge-score)": (
                ours_rouge(kind, stem=stem),
                theirs_rouge(kind, stem=stem),
            )
            for stem in (False, True)
            for kind in KINDS
        },
        **{f"bleu-{n} (nltk)": (ours_bleu(n), theirs_bleu(n)) for n in range(1, 5)},
        "bleu-4 (sacrebleu)": (ours_bleu(4), sacre()),
    }


def ours_rouge(kind: str, *, stem: bool) -> Score:
    """F of ours."""
    return lambda pair: KINDS[kind](words(pair[0], stem=stem), words(pair[1], stem=stem)).f


def theirs_rouge(kind: str, *, stem: bool) -> Score:
    """F of rouge-score."""
    scorer = RougeScorer([NAMES[kind]], use_stemmer=stem)
    return lambda pair: float(scorer.score(pair[1], pair[0])[NAMES[kind]].fmeasure)


def ours_bleu(n: int) -> Score:
    """BLEU-n of ours."""
    return lambda pair: bleu(words(pair[0]), [words(pair[1])], n)


def theirs_bleu(n: int) -> Score:
    """BLEU-n of NLTK; what it gives for no match (about 1e-80 and more) is 0."""

    def score(pair: Pair) -> float:
        found = float(sentence_bleu([words(pair[1])], words(pair[0]), weights=(1 / n,) * n))
        return found if found > 1e-60 else 0.0

    return score


def sacre() -> Score:
    """BLEU-4 of sacrebleu."""
    scorer = BLEU(tokenize="none", smooth_method="none", effective_order=False)

    def score(pair: Pair) -> float:
        said, wanted = (" ".join(words(part)) for part in pair)
        return float(scorer.sentence_score(said, [wanted]).score) / 100

    return score


def measured(score: Score, pairs: Sequence[Pair]) -> tuple[np.ndarray, float]:
    """The scores, and the seconds they took."""
    begin = time.process_time()
    found = np.array([score(pair) for pair in pairs])
    return found, time.process_time() - begin


def main() -> int:
    """Print one line a metric; 1 where a score differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, default=10_000)
    pairs = generated(parser.parse_args().answers)
    warnings.filterwarnings("ignore", module="nltk")  # of answers that share no n-gram
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it advises against single answers at every one
    differ = False
    print(f"{len(pairs):,} answers; times in seconds of processor time")
    print(f"{'metric (reference)':30} {'largest difference':>18} {'ours':>7} {'theirs':>7} {'theirs / ours':>13}")
    for name, (ours, theirs) in cases().items():
        (a, mine), (b, its) = measured(ours, pairs), measured(theirs, pairs)
        apart = float(np.abs(a - b).max())
        differ |= apart > EQUAL
        keep("metrics", {f"{name} apart": apart, f"{name} times": its / mine})
        print(f"{name:30} {apart:18.1e} {mine:7.2f} {its:7.2f} {its / mine:13.1f}", flush=True)
    print(f"{'NOT equal' if differ else 'all equal'} to {EQUAL:g}")
    return int(differ)


if __name__ == "__main__":
    raise SystemExit(main())
