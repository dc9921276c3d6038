"""Training through TRL on accelerate: supervised, GRPO, RLOO, and a language model as reward model of preferences.

TRL brings several GPUs, FSDP and DeepSpeed by accelerate's configuration, bfloat16 and gradient checkpointing; tokens,
rewards, the log and the final weights are ours, so that any run can begin where another ended. Checkpoints in between
are those of transformers, whose reader takes tensors and plain data alone.
"""

import json
import logging
import pickle
import shutil
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kgmed.errors import BadInput, SourceError, Unavailable
from kgmed.models.files import load_transformer
from kgmed.pipeline import Reward
from kgmed.records import Question
from kgmed.reward.cases import text_of
from kgmed.reward.graph_reward import for_trl
from kgmed.train import base
from kgmed.train import run as runs
from kgmed.train.base import need
from kgmed.train.causal import Causal, HubTokens, Tokens, Tuning, with_adapters
from kgmed.train.policies import Free
from kgmed.train.ppo import PPOSettings
from kgmed.train.run import Meter, Row, TrainingPlan
from kgmed.train.task import FLOOR, Task

Trainer = Literal["SFT", "GRPO", "RLOO", "Reward"]
_NAMES = {  # of TRL's measures, as our log has them
    "loss": "loss", "reward": "reward", "kl": "kl", "completions/mean_length": "length",
    "clip_ratio/region_mean": "clipped", "frac_reward_zero_std": "alike", "accuracy": "agreement",
    "mean_token_accuracy": "tokens_right",
}  # fmt: skip


def trl() -> Any:
    """The package TRL, which speaks of errors alone; raises `Unavailable` with the command that installs it."""
    for name in ("trl", "bitsandbytes"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        found = need("trl")
    need("transformers").utils.logging.set_verbosity_error()
    need("transformers").utils.logging.disable_progress_bar()
    return found


def supervised(
    free: Free, questions: Sequence[str], texts: Sequence[str], plan: TrainingPlan, *, batch: int, at_once: int
) -> list[Row]:
    """The log of supervised fine-tuning on given answers, `batch` an optimiser step; `BadInput` for one too long."""
    given, tokens = free.encode(questions, texts), free.causal.tokens
    rows = []
    for question, actions, seen in zip(questions, given.actions, given.mask, strict=True):
        before, said = tokens.ask(question), actions[seen].tolist()
        rows.append({"input_ids": [*before, *said], "labels": [*[-100] * len(before), *said]})
    arguments = _rounds(plan, batch, at_once) | {"max_length": None}
    return _trained("SFT", free, plan, arguments, {"train_dataset": _data(rows)})


def reinforced(
    kind: Literal["GRPO", "RLOO"], free: Free, task: Task, reward: Reward, settings: PPOSettings, plan: TrainingPlan
) -> list[Row]:
    """The log of GRPO or RLOO against a reward on the train cases."""
    questions = [q for q in task.questions(task.train) if free.causal.tokens.ask(q)]  # TRL cannot read nothing
    answers = min(settings.prompts, len(questions)) * settings.samples
    own = {
        "num_generations": settings.samples,
        "num_iterations": settings.epochs,
        "max_completion_length": free.longest,
        "epsilon": settings.clip,
        "beta": settings.kl,
    }
    rows = [{"prompt": free.causal.tokens.turn(q)} for q in questions]
    batch = min(settings.batch, answers)
    arguments = _rounds(plan, batch, settings.at_once, answers // batch, settings.epochs)
    parts = {"train_dataset": _data(rows), "reward_funcs": for_trl(reward)}
    return _trained(kind, free, plan, arguments | own, parts)


def _rounds(plan: TrainingPlan, batch: int, at_once: int, steps: int = 1, epochs: int = 1) -> dict[str, Any]:
    """How a round of so many steps of a batch is gone through, over all processes; raises `BadInput`."""
    many = runs.processes().count
    at_once = min(at_once, max(batch // many, 1))
    if batch % (at_once * many):
        raise BadInput(
            f"steps of {batch} answers do not divide into {at_once} at once over {many} processes; change --batch, "
            "--prompts, --samples or --at-once"
        )
    turns, each = batch // (at_once * many), steps * epochs
    found = {
        "per_device_train_batch_size": at_once,
        "gradient_accumulation_steps": turns,
        "max_steps": plan.last * each,
        "logging_steps": each,
        "save_steps": plan.save_every * each,
    }
    return found | ({"steps_per_generation": steps * turns} if steps > 1 else {})


def _trained(
    kind: Trainer, policy: Free, plan: TrainingPlan, arguments: dict[str, Any], parts: dict[str, Any]
) -> list[Row]:
    """The log of one of TRL's trainers; a run that stopped goes on from its last checkpoint."""
    if runs.is_done(plan):
        runs.load_finished(policy, plan)
        return runs.read_log(plan)
    runs.open_run(policy, plan)
    folder, causal = plan.folder / "trainer", policy.causal
    with need("torch").random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TRL and transformers about their own defaults
        if arguments.get("beta") and causal.tuning.full:
            _keep_start(causal, plan.folder / "start")
        trainer = _trainer(kind, causal.model, causal.tokens, plan, causal.tuning, arguments | parts)
        trainer.add_callback(_told(plan, arguments["logging_steps"], causal.model))
        _go(trainer, folder)
    if trainer.state.global_step < arguments["max_steps"]:
        raise BadInput("there are too few questions for a round of all processes; lower --prompts")
    found = trainer.accelerator.get_state_dict(trainer.model_wrapped)
    if "ref" in getattr(causal.model, "peft_config", {}):  # a copy to stay near, which TRL adds
        causal.model.delete_adapter("ref")
    causal.model.train(mode=False)
    runs.end_run(policy, plan, found)
    if runs.processes().main:
        shutil.rmtree(folder, ignore_errors=True)
    return runs.read_log(plan)


def _trainer(kind: Trainer, model: Any, tokens: Tokens, plan: TrainingPlan, how: Tuning, given: dict[str, Any]) -> Any:
    """One of TRL's trainers; what is not named here is as TRL has it."""
    named = {"train_dataset", "reward_funcs", "eval_dataset"}
    common = {
        "output_dir": str(plan.folder / "trainer"),
        "seed": plan.seed,
        "use_cpu": how.device == "cpu",
        "bf16": how.bf16,
        "gradient_checkpointing": how.checkpointing,
        "learning_rate": plan.rate,
        "lr_scheduler_type": "linear" if plan.settings.get("decay", True) else "constant",
        "max_grad_norm": plan.settings.get("norm", 1.0),
        "report_to": "none",  # our log reports
        "save_total_limit": 1,
        "disable_tqdm": True,
        "ddp_find_unused_parameters": False,
    }
    arguments = {k: v for k, v in given.items() if k not in named}
    made = getattr(trl(), f"{kind}Trainer")(
        model=model,
        args=getattr(trl(), f"{kind}Config")(**common | arguments),
        processing_class=tokens.fast(),
        **{k: v for k, v in given.items() if k in named},
    )
    made.remove_callback(need("transformers").PrinterCallback)
    return made


def _keep_start(causal: Causal, folder: Path) -> None:
    """Keep the whole model as it begins where TRL reads what to stay near: it knows a folder, not weights."""
    if runs.processes().main and not folder.is_dir():
        causal.model.save_pretrained(folder)
    runs.processes().wait()
    causal.model.config._name_or_path = str(folder)


def _go(trainer: Any, folder: Path) -> None:
    """Train, from the last whole checkpoint in the folder where there is one."""
    last, begun = last_whole(folder), list[bool]()

    class Begun(need("transformers").TrainerCallback):  # type: ignore[misc]
        """Notes that all of a checkpoint was read."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            begun.append(True)

    trainer.add_callback(Begun())
    try:
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    except need("torch").OutOfMemoryError as error:
        raise Unavailable(
            "the device has too little memory; lower --at-once, or give --checkpointing, --bits 4"
        ) from error
    except (RuntimeError, EOFError, pickle.UnpicklingError, need("safetensors").SafetensorError) as error:
        if last and not begun:
            problem = f"not the checkpoint that was written: {' '.join(str(error).split())[:100]}"
            raise SourceError(last, 0, problem, "remove it; the run then begins again") from error
        if "inline_container" in str(error):  # what writes torch's files, whose parts came out too short
            raise Unavailable("a checkpoint was not written whole; make room and run the command again") from error
        raise


def last_whole(folder: Path) -> Path | None:
    """The newest checkpoint of transformers that was written to its end: what is told of the run comes last."""
    states = sorted(folder.glob("checkpoint-*/trainer_state.json"), key=lambda p: int(p.parent.name.rpartition("-")[2]))
    for path in reversed(states):
        with suppress(ValueError):
            json.loads(path.read_text(encoding="utf-8"))
            return path.parent
    return None


def _told(plan: TrainingPlan, each: int, model: Any) -> Any:
    """What writes our log, a row a round of so many optimiser steps, as a callback of transformers."""

    class Told(need("transformers").TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.meter = Meter(plan.device)
            if state.is_world_process_zero:
                runs.keep_to(plan, state.global_step // each)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            if "train_runtime" in logs or state.global_step % each:
                return
            found = {ours: round(float(logs[name]), 6) for name, ours in _NAMES.items() if name in logs}
            read = int(float(logs.get("num_tokens", 0)))
            row = {"step": state.global_step // each, **found, **self.meter.row(read)}
            was = model.training
            model.train(mode=False)
            plan.note(row | plan.watched(row["step"]))
            model.train(mode=was)
            self.meter.begin(read)

    return Told()


def _data(rows: Sequence[dict[str, Any]]) -> Any:
    return need("datasets").Dataset.from_list(list(rows))


# --- A language model with one number at the end of a question and an answer, taught by preferences.


@dataclass(frozen=True, slots=True, eq=False)
class LanguageReward:
    """The reward (protocol `Reward`) of a language model: how likely its score says an answer is better than none.

    An answer that names no listed disease, or several, gets the floor, as from the graph.
    """

    model: Any
    tokens: Tokens
    named: Callable[[str], str | None]  # the listed answer that a text names
    device: str = "cpu"
    batch: int = 32
    floor: float = FLOOR
    _known: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)

    def __call__(self, questions: Sequence[Question | str], answers: Sequence[str], /) -> list[float | None]:
        """The reward of each answer, a number from 0 to 1."""
        asked = [(text_of(q), answer) for q, answer in zip(questions, answers, strict=True)]
        new = [pair for pair in dict.fromkeys(asked) if pair not in self._known]
        self._known.update(zip(new, self._scores(new), strict=True))
        return [self._known[pair] if self.named(pair[1]) else self.floor for pair in asked]

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        torch, found = need("torch"), list[float]()
        for i in range(0, len(pairs), self.batch):
            rows = [exchange(self.tokens, q, a) for q, a in pairs[i : i + self.batch]]
            longest = max(map(len, rows))
            ids = torch.tensor([row + [self.tokens.end] * (longest - len(row)) for row in rows], device=self.device)
            seen = torch.tensor([[1] * len(r) + [0] * (longest - len(r)) for r in rows], device=self.device)
            with torch.inference_mode():
                states = self.model(input_ids=ids, attention_mask=seen).logits[:, 0]
            found += states.float().sigmoid().cpu().tolist()
        return found


def exchange(tokens: Tokens, question: str, answer: str) -> list[int]:
    """The tokens of a question and an answer, with the end."""
    return [*tokens.ask(question), *tokens.said(answer), tokens.end]


def taught(
    model: Any, tokens: Tokens, how: Tuning, chosen: Sequence[tuple[str, str, str]], plan: TrainingPlan,
    named: Callable[[str], str | None],
) -> LanguageReward:  # fmt: skip
    """A model with one output, taught by TRL on (question, better answer, worse answer); a finished run is read."""
    model.config.pad_token_id = tokens.end
    reward = LanguageReward(model, tokens, named, how.device)
    place = plan.folder / "reward.safetensors"
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if place.exists():
        base.put(place, trained, plan.settings)
        return reward
    plan.folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"chosen_ids": exchange(tokens, q, better), "rejected_ids": exchange(tokens, q, worse)}
        for q, better, worse in chosen
    ]
    arguments = _rounds(plan, min(16, len(rows)), 8 if len(rows) >= 16 else 1) | {"max_length": None}
    with need("torch").random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = _trainer("Reward", model, tokens, plan, how, arguments | {"train_dataset": _data(rows)})
        _go(trainer, plan.folder / "trainer")
    found = trainer.accelerator.get_state_dict(trainer.model_wrapped)
    model.train(mode=False)
    if runs.processes().main:
        base.write(place, {f"weight/{name}": found[name] for name in trained}, base.State(plan.last, plan.settings))
        shutil.rmtree(plan.folder / "trainer", ignore_errors=True)
    return reward


def classifier(made: Causal, folder: str, how: Tuning, *, seed: int) -> tuple[Any, Tokens]:
    """A model that gives a text one number, and its tokenizer: of a folder, or "" = one from nothing, like `made`."""
    transformers, torch = need("transformers"), need("torch")
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        if not folder:
            config = transformers.LlamaConfig(**made.model.config.to_dict() | {"num_labels": 1})
            return transformers.LlamaForSequenceClassification(config).to(how.device), made.tokens
        words, whole = load_transformer("AutoModelForSequenceClassification", folder, how.device, labels=1)
        return (whole if how.full else with_adapters(whole, whole.model, how, head="score")), HubTokens(
            words, chat=how.chat
        )
