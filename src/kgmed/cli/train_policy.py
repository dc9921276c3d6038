"""`kgmed train sft | rlkgf | grpo | rloo | rlaif | compare`: a language model that diagnoses, however it is taught."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from kgmed.cli import show
from kgmed.cli.reward import Aggregate, Labelled, Mu, Normalize, Restart, Scored, fitted_on, scorer_choice, split_of
from kgmed.disk import data_folder
from kgmed.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from kgmed.pipeline import Reward
    from kgmed.reward.rlkgf import Explaining, ScorerChoice
    from kgmed.train.base import Policy
    from kgmed.train.causal import Tuning
    from kgmed.train.compare import Comparison
    from kgmed.train.preference import Judge
    from kgmed.train.run import Row
    from kgmed.train.stages import Watch
    from kgmed.train.task import Task

_HEAT = 0.05  # ours: the temperature of a scorer that rewards; at 1, the authors', all rewards are nearly alike


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What every training of a policy takes."""

    out: Annotated[Path, typer.Option("--out", help="The folder of the run; an unfinished run is resumed.")]
    data: Annotated[
        Path | None, typer.Option("--data", help="The folder that holds the data sets.", envvar="KGMED_DATA")
    ] = None
    policy: Annotated[
        str, typer.Option("--policy", help="choice (of a listed disease), free (writes), tiny (from scratch).")
    ] = "choice"
    model: Annotated[
        str, typer.Option("--model", help="smollm2, a folder of a causal model, or a name on the model hub.")
    ] = "smollm2"
    begin: Annotated[
        Path | None, typer.Option("--begin", help="The folder of a run to start from, such as a warm start.")
    ] = None
    language: Annotated[
        str, typer.Option(help="Of the questions: zh for DXY in its own; without it DXY is asked in English.")
    ] = ""
    prompt: Annotated[
        str, typer.Option("--prompt", help="bare (a line each), or figure6 (the words of RLKGF's Figure 6).")
    ] = "bare"
    longest: Annotated[int, typer.Option("--longest", help="Tokens of an answer, with free.", min=1)] = 16
    seed: Annotated[int, typer.Option(help="Seed of adapters, order and sampling.")] = 0
    every: Annotated[int, typer.Option("--watch", help="Measure on validation every so many steps.", min=1)] = 10
    report_to: Annotated[
        list[str] | None, typer.Option("--report-to", help="tensorboard or wandb, besides the log; may be repeated.")
    ] = None
    plot: Annotated[Path | None, typer.Option(help="Draw the log into this .png or .svg file.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False


_MODEL = "What is trained"


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """What of the model is trained, and how it is held."""

    full: Annotated[
        bool, typer.Option("--full", help="The whole model, not adapters (LoRA).", rich_help_panel=_MODEL)
    ] = False
    top: Annotated[
        int, typer.Option(help="Number of upper layers with adapters; 0 = all.", min=0, rich_help_panel=_MODEL)
    ] = 0
    rank: Annotated[int, typer.Option(help="Rank of the adapters.", rich_help_panel=_MODEL)] = 16
    alpha: Annotated[int, typer.Option(help="Scale of the adapters; 0 = 2 * rank.", rich_help_panel=_MODEL)] = 0
    dropout: Annotated[float, typer.Option(help="Adapters' dropout; not with PPO.", rich_help_panel=_MODEL)] = 0.0
    targets: Annotated[
        str, typer.Option(help="Linear layers with adapters, as q_proj,v_proj; all if none.", rich_help_panel=_MODEL)
    ] = ""
    bf16: Annotated[
        bool,
        typer.Option("--bf16", help="Frozen weights in bfloat16; with --full compute in it.", rich_help_panel=_MODEL),
    ] = False
    bits: Annotated[int, typer.Option(help="Load frozen weights in 4 or 8 bits.", rich_help_panel=_MODEL)] = 0
    checkpointing: Annotated[
        bool,
        typer.Option("--checkpointing", help="Gradient checkpointing: less memory, slower.", rich_help_panel=_MODEL),
    ] = False
    chat: Annotated[bool, typer.Option("--chat", help="Ask in the model's chat template.", rich_help_panel=_MODEL)] = (
        False
    )
    device: Annotated[str, typer.Option(help="cpu, cuda, ...", rich_help_panel=_MODEL)] = "cpu"

    def tuning(self) -> "Tuning":
        """The same for a model; each process of several has a device of its own."""
        from kgmed.train.causal import Tuning
        from kgmed.train.run import processes

        given = {f.name: getattr(self, f.name) for f in fields(self)}
        targets = tuple(name.strip() for name in self.targets.split(",") if name.strip())
        return Tuning(**given | {"targets": targets, "device": processes().device(self.device)})


_LOOP = "How it learns"


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """The numbers of reinforcement; what is not given is the preset's."""

    preset: Annotated[
        str, typer.Option(help="ours, or paper (RLKGF's Table 7, its temperature and floor).", rich_help_panel=_LOOP)
    ] = "ours"
    steps: Annotated[int | None, typer.Option(help="Rounds of answering and learning.", rich_help_panel=_LOOP)] = None
    rate: Annotated[float | None, typer.Option(help="Learning rate.", rich_help_panel=_LOOP)] = None
    prompts: Annotated[int | None, typer.Option(help="Questions a round.", min=1, rich_help_panel=_LOOP)] = None
    samples: Annotated[int | None, typer.Option(help="Answers a question.", min=1, rich_help_panel=_LOOP)] = None
    epochs: Annotated[int | None, typer.Option(help="Passes over a round's answers.", min=1, rich_help_panel=_LOOP)] = (
        None
    )
    batch: Annotated[int | None, typer.Option(help="Answers an optimiser step.", min=1, rich_help_panel=_LOOP)] = None
    at_once: Annotated[
        int | None, typer.Option("--at-once", help="Answers in memory at once.", min=1, rich_help_panel=_LOOP)
    ] = None
    clip: Annotated[float | None, typer.Option(help="Clip range of the ratio.", rich_help_panel=_LOOP)] = None
    kl: Annotated[
        float | None, typer.Option(help="Weight of the KL penalty to the initial policy.", min=0, rich_help_panel=_LOOP)
    ] = None
    gamma: Annotated[float | None, typer.Option(help="Discount a token; PPO.", rich_help_panel=_LOOP)] = None
    smoothing: Annotated[float | None, typer.Option("--lambda", help="GAE lambda; PPO.", rich_help_panel=_LOOP)] = None

    def settings(self) -> Any:
        """The numbers: a preset's, but for those given. Raises `UnknownName`."""
        from kgmed.train.ppo import PAPER, PPOSettings

        presets = {"ours": PPOSettings(), "paper": PAPER}
        if self.preset not in presets:
            raise UnknownName("preset of PPO", self.preset, presets)
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "preset"}
        answers = (self.prompts or presets[self.preset].prompts) * (self.samples or presets[self.preset].samples)
        given["batch"] = self.batch or (min(answers, presets[self.preset].batch) if self.preset == "ours" else None)
        return replace(presets[self.preset], **{name: value for name, value in given.items() if value is not None})


_REWARD = "What rewards"


@dataclass(frozen=True, slots=True)
class ScorerOptions:
    """Which score of the graph rewards: that of `kgmed reward`."""

    scorer: Scored = "rlkgf"
    mu: Mu = ""
    restart: Restart = None
    normalize: Normalize = None
    aggregate: Aggregate = None
    temperature: Annotated[
        float | None, typer.Option(help="Softmax temperature of the scorer; default: 0.05, 1 with --preset paper.")
    ] = None

    def choice(self, seed: int, usual: float = _HEAT) -> "ScorerChoice":
        """The scorer, checked, with the `usual` temperature unless another is given."""
        from kgmed.reward.rlkgf import BEST

        heat = self.temperature if self.temperature or self.scorer == BEST else usual
        return scorer_choice(self.scorer, self.mu, self.restart, self.normalize, self.aggregate, heat, seed)


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Who judges for RLAIF, and what that may cost."""

    judge: Annotated[
        str,
        typer.Option(
            help="likelihood (of the model itself), labels (always right: a bound), or any language model.",
            rich_help_panel=_REWARD,
        ),
    ] = "likelihood"
    base_url: Annotated[str, typer.Option("--base-url", help="The judge's server.", rich_help_panel=_REWARD)] = ""
    pairs: Annotated[
        int, typer.Option(help="Pairs of responses that are judged, at most.", min=1, rich_help_panel=_REWARD)
    ] = 400
    reward_model: Annotated[
        str,
        typer.Option(
            "--reward-model",
            help="words (linear), policy (a model like the policy's), or a causal model.",
            rich_help_panel=_REWARD,
        ),
    ] = "words"
    calls_at_once: Annotated[
        int, typer.Option("--calls-at-once", help="Seed of the judge.", min=1, rich_help_panel=_REWARD)
    ] = 8
    cache: Annotated[
        Path | None, typer.Option("--cache", help="Replies; in the run's folder if not given.", rich_help_panel=_REWARD)
    ] = None
    budget: Annotated[float | None, typer.Option(help="US dollars, at most.", rich_help_panel=_REWARD)] = None
    max_calls: Annotated[
        int, typer.Option("--max-calls", help="Calls, at most; 0 = any number.", rich_help_panel=_REWARD)
    ] = 0


def _task(cases: str, run: RunOptions) -> "Task":
    """The task of the cases, as the options say; raises `UnknownName`."""
    from kgmed.train.task import task

    if run.prompt not in ("bare", "figure6"):
        raise UnknownName("prompt", run.prompt, ("bare", "figure6"))
    split, free = split_of(cases, run.data), run.policy == "free"
    return task(split, listed=free, language=run.language, figure6=run.prompt == "figure6")


def as_options(function: Callable[..., None]) -> Callable[..., None]:
    """Makes a command of a function: the fields of its parameters that are dataclasses become options."""
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hints[name] for name in signature(function).parameters if is_dataclass(hints[name])}
    taken: dict[str, Parameter] = {}
    for name, own in signature(function).parameters.items():
        if name not in groups:
            taken[name] = own.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name])
            continue
        within = get_type_hints(groups[name], include_extras=True)
        for part in signature(groups[name]).parameters.values():
            taken[part.name] = part.replace(kind=Parameter.KEYWORD_ONLY, annotation=within[part.name])

    def command(**values: Any) -> None:
        made = {name: kind(**{f.name: values[f.name] for f in fields(kind)}) for name, kind in groups.items()}
        function(**made, **{name: values[name] for name in hints if name not in groups and name in taken})

    command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
    command.__signature__ = Signature(list(taken.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: p.annotation for name, p in taken.items()}
    return command


Sft = Annotated[str, typer.Option(help="true, or random: how an answer looks, and nothing else.")]
SftSteps = Annotated[int | None, typer.Option(help="Optimiser steps.")]
SftBatch = Annotated[int | None, typer.Option(help="Answers an optimiser step.", min=1)]


@as_options
def sft(
    cases: Labelled, run: RunOptions, tuning: TuningOptions, labels: Sft = "true", steps: SftSteps = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate.")] = None, batch: SftBatch = None,
    at_once: Annotated[int | None, typer.Option("--at-once", help="Answers in memory at once.", min=1)] = None,
) -> None:  # fmt: skip
    """Train on the diagnoses of the train cases (TRL; a choice by our own loop)."""
    from kgmed.train import stages

    if labels not in ("true", "random"):
        raise UnknownName("kind of labels", labels, ("true", "random"))
    given: dict[str, Any] = {"steps": steps, "rate": rate, "batch": batch, "at_once": at_once}
    settings = replace(stages.SFTSettings(), **{name: value for name, value in given.items() if value is not None})
    _train(cases, run, tuning, lambda p, t, w: stages.supervised(p, t, settings, w, labels=labels))  # type: ignore[arg-type]


@as_options
def rlkgf(
    cases: Labelled, run: RunOptions, tuning: TuningOptions, loop: LoopOptions, reward: ScorerOptions,
    baseline: Annotated[
        str, typer.Option(help="The baseline of rewards: value (PPO), or group (GRPO's advantages in our loop).")
    ] = "value",
) -> None:  # fmt: skip
    """Train by our PPO against the graph: the reward of an answer is the score of the disease that it names."""
    _by_graph("ppo", cases, run, tuning, replace(loop.settings(), baseline=baseline), reward, loop.preset)


@as_options
def grpo(cases: Labelled, run: RunOptions, tuning: TuningOptions, loop: LoopOptions, reward: ScorerOptions) -> None:
    """Train by GRPO against the graph: by TRL; over a closed list by our loop with GRPO's advantages."""
    _by_graph("grpo", cases, run, tuning, loop.settings(), reward, loop.preset)


@as_options
def rloo(cases: Labelled, run: RunOptions, tuning: TuningOptions, loop: LoopOptions, reward: ScorerOptions) -> None:
    """Train by RLOO of TRL against the graph."""
    _by_graph("rloo", cases, run, tuning, loop.settings(), reward, loop.preset)


@as_options
def rlaif(
    cases: Labelled, run: RunOptions, tuning: TuningOptions, loop: LoopOptions, judge: JudgeOptions,
    way: Annotated[str, typer.Option("--by", help="ppo (ours), grpo or rloo (TRL).")] = "ppo",
) -> None:  # fmt: skip
    """Train against a reward model that a judge's preferences among the policy's own responses teach."""
    from kgmed.train import stages

    settings, how = loop.settings(), tuning.tuning()
    if way not in ("ppo", "grpo", "rloo"):
        raise UnknownName("way of reinforcement", way, ("ppo", "grpo", "rloo"))

    def go(policy: "Policy", task: "Task", watch: "Watch") -> "list[Row]":
        by = _judge(judge, run, tuning, task)
        reward = _taught(judge, by, policy, task, run, how)
        return stages.reinforced(way, policy, task, reward, settings, watch, kind="rlaif", scored=by.name)  # type: ignore[arg-type]

    _train(cases, run, tuning, go)


def _by_graph(
    way: str, cases: str, run: RunOptions, tuning: TuningOptions, settings: Any, reward: ScorerOptions, preset: str
) -> None:
    """Train against the score of the graph, as published at temperature 1 and with nothing below 0."""
    from kgmed.train import stages
    from kgmed.train.task import FLOOR, graph_reward, scorer_for

    heat, floor = (1.0, 0.0) if preset == "paper" else (_HEAT, FLOOR)
    choice = reward.choice(run.seed, heat)

    def go(policy: "Policy", task: "Task", watch: "Watch") -> "list[Row]":
        scorer: Explaining = scorer_for(task, lambda train, held: fitted_on(choice, train, held))
        paid = graph_reward(task, scorer, task.train, floor=floor)
        return stages.reinforced(way, policy, task, paid, settings, watch, scored=choice.told())  # type: ignore[arg-type]

    _train(cases, run, tuning, go)


def _train(
    cases: str, run: RunOptions, tuning: TuningOptions, go: "Callable[[Policy, Task, Watch], list[Row]]"
) -> None:
    """Train, ask the test cases once, and print what came of it; of several processes one does."""
    from kgmed.models.files import TRAINED
    from kgmed.train.run import processes
    from kgmed.train.stages import Watch

    asked = _task(cases, run)
    boards = tuple(run.report_to or ())
    there = processes()
    trained = _policy(run, tuning, asked)
    with telling() as tell:
        rows = go(trained, asked, Watch(folder=run.out, seed=run.seed, every=run.every, boards=boards, tell=tell))
    if not there.main:
        return
    if there.sharded:
        show.lines([f"weights are in {run.out}; the same command in one process tells what they are worth"])
        return
    trained.save(run.out / "model")
    told = asked.record(run.policy, chat=tuning.chat, longest=run.longest)
    (run.out / "model" / TRAINED).write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")
    report = asked.split.test.report(asked.predict(trained)) if len(asked.split.test) else None
    if run.plot:
        from kgmed.train.run import plot

        plot({run.out.name: run.out / "log.jsonl"}, run.plot)
    tested = {"accuracy": report.accuracy, "error": report.error, "cases": report.n} if report else None
    _print(run, trained.name, rows, len(asked.validation), tested)


def _print(run: RunOptions, name: str, rows: "list[Row]", n: int, test: dict[str, Any] | None) -> None:
    measured = [row["accuracy"] for row in rows if "accuracy" in row]
    start, end = (measured[0], measured[-1]) if measured else (None, None)
    if run.as_json:
        validation = {"start": start, "end": end, "cases": n}
        show.data({"policy": name, "folder": str(run.out), "validation": validation, "test": test} | _taken(rows))
        return
    if measured:
        show.lines([f"{name}: accuracy on {n} validation cases {start:.3f} at the start, {end:.3f} at the end"])
    if test:
        show.lines([f"on {test['cases']} test cases, asked once: {test['accuracy']:.3f} ± {test['error']:.3f}"])
    if took := _taken(rows):
        speed, memory = took["tokens_per_second"], took["memory_mb"]
        show.lines([f"{speed:,.0f} tokens a second (median step), at most {memory:,} MB"])
    show.lines([f"log, checkpoint and model are in {run.out}"])


def _taken(rows: "list[Row]") -> dict[str, Any]:
    """What the steps of a log took."""
    from statistics import median

    steps = [row for row in rows if "tokens_per_second" in row]
    if not steps:
        return {}
    return {
        "tokens_per_second": median(row["tokens_per_second"] for row in steps),
        "memory_mb": round(max(row["memory_mb"] for row in steps)),
    }


def _policy(run: RunOptions, tuning: TuningOptions, task: "Task") -> "Policy":
    """The policy to train, with the weights of the run to begin from."""
    from kgmed.train import base as checkpoint
    from kgmed.train.base import restore
    from kgmed.train.policies import policy
    from kgmed.train.run import CHECKPOINT

    how = tuning.tuning()
    made = policy(run.policy, run.model, task, data_folder(), seed=run.seed, tuning=how, longest=run.longest)
    if run.begin:
        path = run.begin / CHECKPOINT
        if not path.is_file():
            raise BadInput(f"{run.begin} holds no run to begin from; name the --out of one, as of kgmed train sft")
        try:
            restore(made, checkpoint.weights(path))
        except (KeyError, RuntimeError) as error:
            raise BadInput(
                f"{path} is of another model or other layers than {made.name}; begin from another"
            ) from error
    return made


def _judge(judge: JudgeOptions, run: RunOptions, tuning: TuningOptions, task: "Task") -> "Judge":
    """The judge that is named, within its limits, behind a cache of its replies."""
    from kgmed.config import Config
    from kgmed.models.named import llm_of
    from kgmed.reward.cases import Case
    from kgmed.train.policies import policy
    from kgmed.train.preference import ByLabels, ByLikelihood, ModelJudge

    if judge.judge == "labels":
        return ByLabels({task.question(c): c.disease for c in task.train}, task.named)
    if judge.judge == "likelihood":
        how = tuning.tuning()
        untrained = policy(run.policy, run.model, task, data_folder(), seed=run.seed, tuning=how, longest=run.longest)
        return ByLikelihood(untrained, task.question(Case("", ())), task.named)
    run.out.mkdir(parents=True, exist_ok=True)
    llm = llm_of(
        Config(
            llm=judge.judge, base_url=judge.base_url, cache=judge.cache or run.out / "replies.sqlite",
            budget=judge.budget, max_calls=judge.max_calls,
        )
    )  # fmt: skip
    if llm is None:
        raise BadInput("name the language model that judges: --judge")
    return ModelJudge(llm, at_once=judge.calls_at_once)


def _taught(
    judge: JudgeOptions, by: "Judge", policy: "Policy", task: "Task", run: RunOptions, how: "Tuning"
) -> "Reward":
    """The reward model of the judge's preferences; what both are worth is told and kept."""
    from kgmed.train import stages
    from kgmed.train.preference import response_pairs

    asked = response_pairs(policy, task.questions(task.train), task.named, most=judge.pairs, seed=run.seed)
    with show.steps("judging") as at:
        at(f"{len(asked)} pairs of responses, each in both orders")
        model = stages.RewardModel(_model_of(judge.reward_model, run), run.out / "judge", run.seed, tuning=how)
        reward, report = stages.reward_from_judge(
            by, task, asked, policy, model, lambda left: at(f"{left} of {len(asked)} pairs are left")
        )
    show.warn(report.lines())
    return reward


def _model_of(name: str, run: RunOptions) -> str:
    """A reward model by name: words, "" for one like a tiny policy, or the folder or hub name of a causal model."""
    from kgmed.models.files import MODELS, as_folder

    found = run.model if name == "policy" else name
    if name == "policy" and run.policy == "tiny":
        return ""
    return str(as_folder(found, data_folder())) if found in MODELS else found


def comparison(
    cases: str, run: RunOptions, tuning: TuningOptions, loop: LoopOptions, reward: ScorerOptions, judge: JudgeOptions,
    labelled: int, steps: int | None, tell: "Callable[[str, Row], None]",
) -> "Comparison":  # fmt: skip
    """All runs of a policy; numbers that are not given are those chosen for it."""
    from kgmed.train.compare import Comparison, chosen_numbers
    from kgmed.train.task import scorer_for

    asked = _task(cases, run)
    choice, how = reward.choice(0), tuning.tuning()
    warm, labels, numbers = chosen_numbers(run.policy)
    settings = replace(loop, **{k: v for k, v in numbers.items() if getattr(loop, k) is None}).settings()

    def made(seed: int) -> "Policy":
        return _policy(replace(run, seed=seed), tuning, asked)

    _ = made(0) if run.policy == "tiny" else None  # bad options are told before anything is written
    return Comparison(
        task=asked, fit=lambda known: scorer_for(known, choice.fit), scored=choice.told(), make=made, folder=run.out,
        judge=lambda: _judge(judge, replace(run, policy=_judging(run)), tuning, asked), judged_by=judge.judge,
        warm=warm, labels=replace(labels, steps=steps or labels.steps), reinforce=settings, pairs=judge.pairs,
        labelled=labelled,
        reward_model=_model_of(judge.reward_model, run) if judge.reward_model != "words" else "words", tuning=how,
        tell=tell,
    )  # fmt: skip


def _judging(run: RunOptions) -> str:
    """The policy whose likelihood judges: a language model over the list, where there is one."""
    from kgmed.models.files import MODELS, installed_models

    return "choice" if (run.model not in MODELS or run.model in installed_models(data_folder())) else run.policy


@contextmanager
def telling() -> "Iterator[Callable[[Row], None]]":
    """A function that shows a row of the log: a moving line, and one that stays where the accuracy was measured."""
    with show.steps("training") as at:

        def tell(row: "Row") -> None:
            shown = ", ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
            at(shown)
            if "accuracy" in row:
                show.warn([shown])

        yield tell
