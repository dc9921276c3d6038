"""A small model from base through a format-only warm start to RLKGF and to RLAIF on DXY; test accuracy after each.

    KGMED_DATA=DIR python bench/rlkgf_train.py                 # SmolLM2-135M, one of the listed diseases
    KGMED_DATA=DIR python bench/rlkgf_train.py --policy free   # the same, writing freely, as in the paper
    KGMED_DATA=DIR python bench/rlkgf_train.py --policy tiny   # 0.1M parameters from nothing

SmolLM2 is fetched by: kgmed models get smollm2. A run that was stopped goes on where it was (--folder).
"""

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from kgmed.evaluate.cases.folder import SETS, read
from kgmed.folders import data_folder
from kgmed.reward.cases import Case
from kgmed.reward.criticality import Criticality
from kgmed.reward.graph import CauseGraph
from kgmed.reward.scoring import first
from kgmed.train import ppo, sft
from kgmed.train.demo import CHECKS, STAGES, Demo, spread, verdict
from kgmed.train.judge import ByLikelihood
from kgmed.train.log import read as read_log
from kgmed.train.plot import plot
from kgmed.train.policies import KINDS, policy
from kgmed.train.task import task


def main() -> None:
    given = _arguments()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    data = os.environ.get("KGMED_DATA")
    if not data:
        sys.exit("set KGMED_DATA to the folder of data sets")
    made = demo(given, Path(data))
    began, cpu = perf_counter(), process_time()
    judged = made.taught[1]
    figures = [made.seed(seed) for seed in given.seeds]
    print(table(figures))
    ceiling, judge = _validation(made)
    print(f"reward model agrees with its judge on {judged:.3f} of the validation pairs")
    print(verdict(figures, ceiling=ceiling, judge=judge))
    graph = made.task.split.test.report(made.task.words.back(first(made.scorer)))
    print(f"the graph alone, test: {graph.accuracy:.3f} ± {graph.error:.3f} (over {graph.n} cases)")
    logs = {f"{s} {i}": given.folder / f"seed-{i}" / s / "log.jsonl" for i in given.seeds for s in STAGES[1:]}
    print(f"minutes of this command: {_minutes(perf_counter() - began, process_time() - cpu)}")
    rows = [row for log in logs.values() for row in read_log(log)]
    spent = [sum(row.get(key, 0.0) for row in rows) for key in ("seconds", "processor")]
    print(f"of all training steps, also of commands before it: {_minutes(*spent)}")
    plot(logs, given.folder / "training.svg")


def demo(given: argparse.Namespace, data: Path) -> Demo:
    free = given.policy != "choice"
    asked = task(read(given.set, data), listed=given.policy == "free")
    tiny = given.policy == "tiny"
    rate = 3e-3 if tiny else given.rate
    return Demo(
        task=asked,
        scorer=Criticality(CauseGraph.counted(asked.train), temperature=0.05),  # ours: T = 1 makes all rewards alike
        judge=ByLikelihood(policy(given.policy, given.model, asked, data_folder()), asked.question(Case("", ()))),
        make=lambda seed: policy(
            given.policy, given.model, asked, data_folder(), seed=seed, top=0 if free else given.top
        ),
        folder=given.folder,
        warm=sft.Settings(steps=40 if tiny else 15 if free else 10, rate=1e-3 if tiny else 3e-4),
        reinforce=ppo.Settings(
            steps=given.steps,
            rate=rate,
            samples=8 if tiny or not free else 1,
            batch=128 if tiny or not free else 16,
            at_once=512 if tiny else 128 if not free else 8,
            kl=0.02 if free and not tiny else 0.0,
            kl_every=10,
        ),
        tell=_tell,
    )


def _minutes(seconds: float, processor: float) -> str:
    return f"{seconds / 60:.1f} by the clock, {processor / 60:.1f} of processor"


def table(figures: list[dict[str, dict[str, Any]]]) -> str:
    lines = [
        f"| | test accuracy, {len(figures)} seeds | of each seed | {' | '.join(CHECKS)} (answered) |",
        "|---|---|---|---|---|",
    ]
    for stage in STAGES:
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
    graph = first(made.scorer)(cases)
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
    parser.add_argument("--set", choices=SETS, default="DXY")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--top", type=int, default=10, help="adapters in so many upper layers, 0 = in all; for choice")
    parser.add_argument("--folder", type=Path, default=None, help="where all is kept; the data folder's if not given")
    given = parser.parse_args()
    given.folder = given.folder or data_folder() / "training" / f"{given.set}-{given.policy}"
    return given


if __name__ == "__main__":
    main()
