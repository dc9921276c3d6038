"""A small model from base through a format-only warm start to RLKGF and to RLAIF on DXY; test accuracy after each.

    KGMED_DATA=DIR python bench/rlkgf_train.py                 # SmolLM2-135M, one of the listed diseases
    KGMED_DATA=DIR python bench/rlkgf_train.py --policy free --stages sft rlkgf  # writing freely, as in the paper
    KGMED_DATA=DIR python bench/rlkgf_train.py --policy tiny   # 0.1M parameters from nothing

SmolLM2 is fetched by: kgmed models get smollm2. A run that was stopped goes on where it was (--folder).
"""

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from _data import data

from kgmed.evaluate.datasets import patients
from kgmed.folders import data_folder
from kgmed.reward.cases import Case, CauseGraph, best_disease
from kgmed.reward.criticality import Criticality
from kgmed.train import ppo, stages
from kgmed.train.base import Policy
from kgmed.train.base import read as read_log
from kgmed.train.demo import CHECKS, STAGES, Demo, spread, verdict
from kgmed.train.policies import KINDS, policy
from kgmed.train.preference import ByLikelihood
from kgmed.train.run import plot
from kgmed.train.task import task


def main() -> None:
    given = _arguments()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    made = demo(given, data())
    began, cpu = perf_counter(), process_time()
    figures = [made.seed(seed, given.stages) for seed in given.seeds]
    print(table(figures))
    if {"sft", "rlkgf", "rlaif"} <= set(given.stages):
        ceiling, judge = _validation(made)
        print(f"reward model agrees with its judge on {made.taught[1]:.3f} of the validation pairs")
        print(verdict(figures, ceiling=ceiling, judge=judge))
    graph = made.task.split.test.report(made.task.words.back(best_disease(made.scorer)))
    print(f"the graph alone, test: {graph.accuracy:.3f} ± {graph.error:.3f} (over {graph.n} cases)")
    logs = {f"{s} {i}": given.folder / f"seed-{i}" / s / "log.jsonl" for i in given.seeds for s in given.stages}
    print(f"minutes of this command: {_minutes(perf_counter() - began, process_time() - cpu)}")
    rows = [row for log in logs.values() for row in read_log(log)]
    spent = [sum(row.get(key, 0.0) for row in rows) for key in ("seconds", "processor")]
    print(f"of all training steps, also of commands before it: {_minutes(*spent)}")
    plot(logs, given.folder / "training.svg")


def demo(given: argparse.Namespace, sets: Path) -> Demo:
    free, tiny = given.policy == "free", given.policy == "tiny"
    asked = task(patients(given.set, sets), listed=free)

    def made(seed: int) -> Policy:
        layers = {} if tiny else {"top": given.top, "half": True}
        return policy(given.policy, given.model, asked, data_folder(), seed=seed, **layers)

    return Demo(
        task=asked,
        scorer=Criticality(CauseGraph.counted(asked.train), temperature=0.05),  # ours: T = 1 makes all rewards alike
        judge=ByLikelihood(made(0), asked.question(Case("", ()))),
        make=made,
        folder=given.folder,
        warm=_warm(given.policy),
        reinforce=ppo.PPOSettings(
            steps=given.steps or (40 if free else 20),
            rate=given.rate or {"choice": 1e-3, "free": 3e-4, "tiny": 3e-3}[given.policy],
            prompts=64 if tiny else 16,
            batch=512 if tiny else 128,
            at_once=512 if tiny else 128,
            kl=0.02 if free else 0.0,
            kl_every=10,
        ),
        tell=_tell,
    )


def _warm(kind: str) -> stages.SFTSettings:
    """How a policy learns the form of an answer; one that writes has more to learn of it."""
    steps, rate = {"choice": (10, 3e-4), "free": (15, 1e-3), "tiny": (40, 1e-3)}[kind]
    return stages.SFTSettings(steps=steps, rate=rate)


def _minutes(seconds: float, processor: float) -> str:
    return f"{seconds / 60:.1f} by the clock, {processor / 60:.1f} of processor"


def table(figures: list[dict[str, dict[str, Any]]]) -> str:
    lines = [
        f"| | test accuracy, {len(figures)} seeds | of each seed | {' | '.join(CHECKS)} (answered) |",
        "|---|---|---|---|---|",
    ]
    for stage in figures[0]:
        found = [f[stage] for f in figures]
        each = ", ".join(f"{f['accuracy']:.3f}" for f in found)
        after = [_after([f["after"][check] for f in found]) for check in CHECKS]
        lines.append(f"| {stage} | {_shown(found)} | {each} | {' | '.join(after)} |")
    return "\n".join(lines)


def _shown(found: list[dict[str, Any]]) -> str:
    value, error = spread([f["accuracy"] for f in found])
    return f"{value:.3f} ± {error:.3f}" if len(found) > 1 else f"{value:.3f}"


def _after(found: list[dict[str, Any]]) -> str:
    share = 1 - sum(f["unanswered"] / len(f["right"]) for f in found) / len(found)
    return f"{_shown(found)} ({share:.2f})"


def _validation(made: Demo) -> tuple[float, float]:
    """The accuracy on validation of the graph's first choice, and of the reward model's."""
    cases = made.task.validation
    graph = best_disease(made.scorer)(cases)
    model = made.taught[0]
    judge = [model.answers[int(model.shares(q).argmax())] for q in made.task.questions(cases)]
    return _right(graph, cases), _right(judge, cases)


def _right(said: Any, cases: tuple[Case, ...]) -> float:
    return sum(bool(s == c.disease) for s, c in zip(said, cases, strict=True)) / len(cases)


def _tell(what: str, row: dict[str, Any]) -> None:
    shown = ", ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
    print(f"{what}: {shown}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=KINDS, default="choice")
    parser.add_argument("--model", default="smollm2", help="smollm2, a folder of a causal model, or a name on the hub")
    parser.add_argument("--set", default="DXY")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--stages", choices=STAGES, nargs="+", default=STAGES)
    parser.add_argument("--steps", type=int, help="rounds of PPO; 20, for free 40")
    parser.add_argument("--rate", type=float, help="of PPO; 1e-3 for choice, 3e-4 for free, 3e-3 for tiny")
    parser.add_argument("--top", type=int, default=10, help="adapters in so many upper layers, 0 = in all")
    parser.add_argument("--folder", type=Path, default=None, help="where all is kept; the data folder's if not given")
    given = parser.parse_args()
    given.folder = given.folder or data_folder() / "training" / f"{given.set}-{given.policy}"
    return given


if __name__ == "__main__":
    main()
