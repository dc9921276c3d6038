"""The reward drives the trainers of TRL that are installed: GRPO and RLOO, a step or two each on a tiny model."""

import warnings
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="training needs torch")
transformers: Any = pytest.importorskip("transformers", reason="training needs transformers")
pytest.importorskip("peft", reason="training needs peft")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what TRL imports
    trl: Any = pytest.importorskip("trl", reason="TRL's trainers need trl")
    datasets: Any = pytest.importorskip("datasets", reason="TRL's trainers need datasets")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from kgmed.reward.cases import CauseGraph  # noqa: E402
from kgmed.reward.criticality import Criticality  # noqa: E402
from kgmed.reward.graph_reward import for_trl  # noqa: E402
from kgmed.train.base import snapshot  # noqa: E402
from kgmed.train.policies import Free, NameTokens, tiny  # noqa: E402
from kgmed.train.task import FLOOR, graph_reward, task  # noqa: E402
from made_cases import made_split  # noqa: E402

NAMES = ("flu", "gout", "high fever", "fever")


@pytest.mark.parametrize("name", ["GRPO", "RLOO"])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_trainer_of_trl_asks_the_reward_and_learns_from_it(name: str, tmp_path: Path) -> None:
    asked = task(made_split())
    policy, marks = Free(tiny(asked.names), longest=1), list[float | None]()
    tokens = policy.causal.tokens
    assert isinstance(tokens, NameTokens)
    reward = graph_reward(asked, Criticality(CauseGraph.counted(asked.train)), asked.train)

    def noted(questions: Any, answers: Any) -> list[float | None]:
        marks.extend(found := reward(questions, answers))
        return found

    before = snapshot(policy)
    getattr(trl, f"{name}Trainer")(
        model=policy.causal.model,
        args=getattr(trl, f"{name}Config")(
            output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none", save_strategy="no",
            disable_tqdm=True, per_device_train_batch_size=64, num_generations=8, max_steps=2, learning_rate=1e-2,
            max_completion_length=policy.longest, beta=0.0,
        ),
        reward_funcs=for_trl(noted),
        train_dataset=datasets.Dataset.from_dict({"prompt": asked.questions(asked.train)}),
        processing_class=tokens.fast(),
    ).train()  # fmt: skip
    assert len(marks) == 2 * 64
    assert FLOOR in marks
    assert any(mark is not None and mark > 0 for mark in marks)
    assert not all(torch.equal(p, before[key]) for key, p in policy.parameters().items() if "value" not in key)


@given(st.lists(st.sampled_from(["Fever", "high fever", "gout", "feverish", "no", "No", ",", "; ", "x"]), max_size=8))
def test_the_tiny_model_reads_alike_in_transformers(words: list[str]) -> None:
    tokens, text = NameTokens(NAMES), " ".join(words)
    assert tokens.fast()(text).input_ids == tokens.encode(text)
