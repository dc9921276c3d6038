"""The contract of reward functions in the installed TRL: how GRPO calls one, and what it makes of the numbers."""

import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs torch")
transformers: Any = pytest.importorskip("transformers", reason="training needs transformers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what TRL imports
    trl: Any = pytest.importorskip("trl", reason="TRL's trainers need trl")
    datasets: Any = pytest.importorskip("datasets", reason="TRL's trainers need datasets")

from kgmed.reward.cases import Case, CauseGraph, NamesIn, case_in  # noqa: E402
from kgmed.reward.criticality import Criticality  # noqa: E402
from kgmed.reward.graph_reward import KGReward, for_trl  # noqa: E402
from tiny_causal import saved_in  # noqa: E402

GRAPH = CauseGraph.of({"gout": {"toe": 5, "red": 3}, "fever": {"cough": 5, "red": 1}})
REWARD = KGReward(
    Criticality(GRAPH), NamesIn({"gout": [], "fever": []}), case_in(NamesIn({s: [] for s in GRAPH.symptoms}))
)
SCORES = dict(zip(GRAPH.diseases, Criticality(GRAPH)([Case("", ("red",))])[0].tolist(), strict=True))


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_grpo_calls_the_function_by_its_signature_with_the_columns_of_the_data(tmp_path: Path) -> None:
    calls: list[tuple[list[str], dict[str, Any], list[float]]] = []
    function = for_trl(REWARD, unjudged=-1.0)

    def noted(prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
        calls.append((completions, columns, found := function(prompts, completions, **columns)))
        return found

    folder = saved_in(tmp_path / "model")
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    tokens.pad_token = tokens.eos_token
    rows = {"prompt": ["the big red toe", "no"], "positive": [["red"], ["unheard of"]], "negative": [[], ["toe"]]}
    trl.GRPOTrainer(
        model=transformers.AutoModelForCausalLM.from_pretrained(folder),
        args=trl.GRPOConfig(
            output_dir=str(tmp_path / "out"), use_cpu=True, bf16=False, report_to="none", save_strategy="no",
            disable_tqdm=True, per_device_train_batch_size=16, num_generations=8, max_steps=2,
            max_completion_length=4, beta=0.0, seed=0,
        ),
        reward_funcs=noted,
        train_dataset=datasets.Dataset.from_dict(rows),
        processing_class=tokens,
    ).train()  # fmt: skip
    assert calls
    for completions, columns, found in calls:
        assert len(found) == len(completions) == len(columns["positive"]) == 16
        assert all(isinstance(number, float) for number in found)
        for text, there, number in zip(completions, columns["positive"], found, strict=True):
            named = [word for word in ("gout", "fever") if word in text.split()]
            if there == ["unheard of"]:
                assert number == -1.0
            elif len(named) == 1:
                assert number == pytest.approx(SCORES[named[0]])
            else:
                assert number == 0.0
    assert {number > 0 for _, _, found in calls for number in found} == {True, False}
