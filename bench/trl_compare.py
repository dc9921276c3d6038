"""GRPO and RLOO of TRL beside our PPO: the same tiny model, warm start, questions and graph reward; test accuracy.

    KGMED_DATA=DIR python bench/trl_compare.py

A model of 0.1 million parameters from nothing learns how an answer looks from random labels, then each trainer goes on
from there for as many rounds of as many answers. TRL takes the reward by `kgmed.reward.graph_reward.for_trl`; what is
not named below is as TRL has it by default. Needs: pip install "kgmed[train,peers]".
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from _data import data

from kgmed.evaluate.datasets import patients
from kgmed.pipeline import Reward
from kgmed.reward.cases import CauseGraph
from kgmed.reward.criticality import Criticality
from kgmed.reward.graph_reward import for_trl
from kgmed.train import ppo, stages
from kgmed.train.demo import spread
from kgmed.train.policies import Free, NameTokens, tiny
from kgmed.train.stages import Watch, ppo_run, supervised, validation_accuracy
from kgmed.train.task import Task, graph_reward, task


class Run(NamedTuple):
    """What a trainer made of a policy."""

    before: float  # test accuracy after the warm start
    after: float
    validation: float
    seconds: float  # of processor


Trainer = Callable[[Task, Free, Reward, argparse.Namespace, int], None]


def main() -> None:
    given = _arguments()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    asked = task(patients("DXY", data()))
    reward = graph_reward(asked, Criticality(CauseGraph.counted(asked.train), temperature=0.05), asked.train)
    trainers: dict[str, Trainer] = {"PPO (ours)": by_ppo, "GRPO (TRL)": by_trl("GRPO"), "RLOO (TRL)": by_trl("RLOO")}
    print(f"DXY, test; {given.rounds} rounds of {given.prompts} questions x {given.samples} answers, rate {given.rate}")
    print("| trainer | warm start | after | of each seed | validation | seconds of processor |\n" + "|---" * 6 + "|")
    for name, train in trainers.items():
        print(_line(name, [run(asked, reward, train, given, seed) for seed in given.seeds]), flush=True)


def run(asked: Task, reward: Reward, train: Trainer, given: argparse.Namespace, seed: int) -> Run:
    """The accuracy of a warm start, and what it is after a trainer; the warm start of a seed is the same for all."""
    policy = Free(tiny(asked.names, seed=seed), longest=1)
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(folder=Path(folder), seed=seed)
        supervised(policy, asked, stages.SFTSettings(steps=40, rate=1e-3), watch, labels="random")
    before, began = _accuracy(asked, policy), process_time()
    train(asked, policy, reward, given, seed)
    return Run(before, _accuracy(asked, policy), validation_accuracy(policy, asked)["accuracy"], process_time() - began)


def by_ppo(asked: Task, policy: Free, reward: Reward, given: argparse.Namespace, seed: int) -> None:
    """Our loop."""
    answers = given.prompts * given.samples
    settings = ppo.PPOSettings(
        steps=given.rounds, rate=given.rate, prompts=given.prompts, samples=given.samples, batch=answers,
        at_once=answers, epochs=given.epochs,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        ppo_run("rlkgf", policy, asked, reward, settings, Watch(folder=Path(folder), seed=seed, every=given.rounds))


def by_trl(name: str) -> Trainer:
    """A trainer of TRL; our policy holds the model that it trains."""

    def train(asked: Task, policy: Free, reward: Reward, given: argparse.Namespace, seed: int) -> None:
        trl = import_module("trl")
        with tempfile.TemporaryDirectory() as folder:
            arguments = {
                "output_dir": folder, "seed": seed, "use_cpu": True, "report_to": "none", "save_strategy": "no",
                "bf16": False, "disable_tqdm": True, "logging_strategy": "no", "learning_rate": given.rate,
                "per_device_train_batch_size": given.prompts * given.samples, "num_generations": given.samples,
                "num_iterations": given.epochs, "max_steps": given.rounds * given.epochs,
                "max_completion_length": policy.longest, "beta": 0.0,
            }  # fmt: skip
            trainer = getattr(trl, f"{name}Trainer")(
                model=policy.causal.model,
                args=getattr(trl, f"{name}Config")(**arguments),
                reward_funcs=for_trl(reward),
                train_dataset=_prompts(asked.questions(asked.train)),
                processing_class=_tokenizer(policy, asked),
            )
            trainer.remove_callback(import_module("transformers").PrinterCallback)
            trainer.train()
        policy.causal.model.train(mode=False)

    return train


def _prompts(questions: Sequence[str]) -> Any:
    return import_module("datasets").Dataset.from_dict({"prompt": list(questions)})


def _tokenizer(policy: Free, asked: Task) -> Any:
    """The policy's tokenizer as TRL takes one; checked to read every question as the policy does."""
    ours = policy.causal.tokens
    if not isinstance(ours, NameTokens):
        sys.exit("only the tiny model is compared")
    fast = ours.fast()
    if any(fast(q).input_ids != ours.encode(q) for q in asked.questions(asked.train)):
        sys.exit("the two tokenizers differ")
    return fast


def _accuracy(asked: Task, policy: Free) -> float:
    return asked.split.test.report(asked.predict(policy)).accuracy


def _line(name: str, runs: list[Run]) -> str:
    each = ", ".join(f"{r.after:.3f}" for r in runs)
    cells = [_shown([r.before for r in runs]), _shown([r.after for r in runs]), each]
    cells += [_shown([r.validation for r in runs]), f"{sum(r.seconds for r in runs) / len(runs):.0f}"]
    return f"| {name} | {' | '.join(cells)} |"


def _shown(values: Sequence[float]) -> str:
    return "{:.3f} ± {:.3f}".format(*spread(values))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1e-3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
