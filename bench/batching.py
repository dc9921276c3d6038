"""Tokens a second of one model through two runtimes: llama.cpp, and transformers alone and in batches.

    OMP_NUM_THREADS=1 python bench/batching.py [--prompts 16] [--tokens 32] [--batch 16] [--only WORD] [--clock cpu]

The model is smollm2 (`kgmed models get smollm2`); for transformers its weights are written once as a folder beside the
file (20 s, 0.5 GB). Every row gets the same prompts: findings of diseases of the graph hpo (which must be built), four
to forty of them, and the question to sum them up. "replies" = tokens of replies a second, prompts read included;
"times" = the seconds of the first row through those of this one; "as alone" = replies that are, letter by letter, those
of the row of the same precision that answers one by one. Rows whose name has not WORD in it are left out.
On a machine that others use too, `--clock cpu` counts the processor time of this process in place of that on the wall.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from _figures import keep
from _measure import now, use_clock

from kgmed.disk import data_folder
from kgmed.graph import library
from kgmed.models.base import LLM, Message, Reply
from kgmed.models.named import llm_from
from kgmed.records import Role


def prompts(many: int) -> list[list[Message]]:
    """Questions with findings of diseases, the same ones at every call."""
    graph, random = library.load("hpo"), np.random.default_rng(11)
    diseases = graph.of_kind("disease")
    made: list[list[Message]] = []
    while len(made) < many:
        disease = graph.at(int(random.choice(diseases)))
        found = graph.neighbours(disease.id, limit=int(random.integers(4, 41)), roles=(Role.FINDING,))
        lines = "\n".join(f"[{i}] {disease.name}: {t.object.name}" for i, t in enumerate(found, 1))
        if found:
            made.append([Message("user", f"{lines}\n\nWhat are the signs of {disease.name}? Answer briefly.")])
    return made


def answered(llm: LLM, asked: list[list[Message]], tokens: int, threads: int) -> tuple[float, list[Reply]]:
    """Seconds and replies; the model is asked a word before the clock runs."""
    llm([Message("user", "Hello")], max_tokens=2)
    begin = now()
    with ThreadPoolExecutor(threads) as pool:
        replies = list(pool.map(lambda messages: llm(messages, max_tokens=tokens), asked))
    return now() - begin, replies


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    for name, default in (("prompts", 16), ("tokens", 32), ("batch", 16)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", default="")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    chosen = parser.parse_args()
    use_clock(chosen.clock)
    folder = data_folder()
    place, batch = "hf/smollm2", chosen.batch
    rows: dict[str, tuple[Callable[[], LLM], int, str]] = {
        "llama.cpp, 4 bits": (lambda: llm_from("smollm2", folder=folder), 1, ""),
        "float32": (lambda: llm_from(place, folder=folder, precision="float32"), 1, ""),
        "bfloat16": (lambda: llm_from(place, folder=folder, precision="bfloat16"), 1, ""),
        f"bfloat16, batch {batch}": (
            lambda: llm_from(place, folder=folder, precision="bfloat16", batch=batch), batch, "bfloat16",
        ),
    }  # fmt: skip
    asked = prompts(chosen.prompts)
    told: dict[str, list[str]] = {}
    first = 0.0
    print(f"{len(asked)} prompts, up to {chosen.tokens} tokens of reply each")
    print(f"{'':24}{'s':>8}{'replies':>10}{'prompt tokens':>15}{'times':>8}{'as alone':>10}")
    for name, (load, threads, like) in rows.items():
        if chosen.only not in name:
            continue
        seconds, replies = answered(load(), asked, chosen.tokens, threads)
        first, told[name] = first or seconds, [r.text for r in replies]
        out, read = sum(r.tokens_out for r in replies), sum(r.tokens_in for r in replies)
        same = f"{sum(map(str.__eq__, told[name], told[like]))} of {len(asked)}" if like in told else ""
        keep("batching", {f"{name} s": seconds})
        print(f"{name:24}{seconds:>8.1f}{out / seconds:>10.1f}{read:>15,}{first / seconds:>8.1f}{same:>10}", flush=True)


if __name__ == "__main__":
    main()
