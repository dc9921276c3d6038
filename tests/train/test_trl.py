"""TRL in our runs: GRPO and RLOO learn from the graph's reward, and read questions as our policies do."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="training needs torch")
transformers: Any = pytest.importorskip("transformers", reason="training needs transformers")
pytest.importorskip("peft", reason="training needs peft")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what TRL imports
    trl: Any = pytest.importorskip("trl", reason="TRL's trainers need trl")
    pytest.importorskip("datasets", reason="TRL's trainers need datasets")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from kgmed.errors import BadInput  # noqa: E402
from kgmed.reward.cases import Case, CauseGraph  # noqa: E402
from kgmed.reward.criticality import Criticality  # noqa: E402
from kgmed.train import base, ppo, stages, with_trl  # noqa: E402
from kgmed.train.causal import HubTokens  # noqa: E402
from kgmed.train.policies import ChoicePolicy, Free, NameTokens, tiny  # noqa: E402
from kgmed.train.run import TrainingPlan  # noqa: E402
from kgmed.train.task import Task, graph_reward, task  # noqa: E402
from made_cases import DISEASES, made_split  # noqa: E402

NAMES = ("flu", "gout", "high fever", "fever")


def policy(made: Task) -> Free:
    return Free(tiny(made.names, width=32), longest=1)


@pytest.mark.parametrize("way", ["grpo", "rloo"])
def test_trl_learns_from_the_graphs_reward_and_writes_our_log(way: Any, tmp_path: Path) -> None:
    made = task(made_split(), listed=False)
    trained = policy(made)
    chosen = ppo.PPOSettings(steps=30, prompts=16, samples=4, batch=64, at_once=64, rate=5e-3)
    reward = graph_reward(made, Criticality(CauseGraph.counted(made.train), temperature=0.05), made.train)
    rows = stages.reinforced(way, trained, made, reward, chosen, stages.Watch(folder=tmp_path, every=30))
    assert rows[0]["accuracy"] < 0.6
    assert rows[-1]["accuracy"] > 0.8
    assert rows[-1]["reward"] > rows[1]["reward"]
    assert [row["step"] for row in rows] == list(range(31))
    assert rows[5]["tokens_per_second"] > 1
    begun = policy(made)
    base.put(
        tmp_path / "checkpoint.safetensors",
        begun.parameters(),
        base.state(tmp_path / "checkpoint.safetensors").settings,
    )
    assert stages.validation_accuracy(begun, made)["accuracy"] == rows[-1]["accuracy"]


def test_questions_that_a_tokenizer_reads_nothing_in_do_not_stop_it(tmp_path: Path) -> None:
    found = made_split()
    nothing = tuple(Case(f"n{i}", (), disease="flu") for i in range(len(found.train)))
    made = task(replace(found, train=found.train[:8] + nothing), listed=False)
    reward = graph_reward(made, Criticality(CauseGraph.counted(found.train)), found.train[:8])
    chosen = ppo.PPOSettings(steps=6, prompts=1, samples=2, batch=2, at_once=2, epochs=1)
    rows = stages.reinforced("grpo", policy(made), made, reward, chosen, stages.Watch(folder=tmp_path, every=6))
    assert rows[-1]["step"] == 6


def test_what_is_longer_than_an_answer_may_be_is_refused_before_training(tmp_path: Path) -> None:
    made = task(made_split(), listed=False)
    with_two = Free(tiny(["flu", "gout", "scurvy"], width=32), longest=1)
    plan = TrainingPlan(folder=tmp_path / "x", settings={}, rate=1e-3, last=1)
    with pytest.raises(BadInput, match="more than 1; allow more"):
        with_trl.supervised(with_two, made.questions(made.train[:1]), ["flu gout"], plan, batch=16, at_once=16)
    assert not (tmp_path / "x").exists()


def test_steps_that_do_not_divide_are_refused(tmp_path: Path) -> None:
    made = task(made_split(), listed=False)
    chosen = ppo.PPOSettings(prompts=3, samples=3, batch=9, at_once=4)
    reward = graph_reward(made, Criticality(CauseGraph.counted(made.train)), made.train)
    watch = stages.Watch(folder=tmp_path / "x")
    with pytest.raises(BadInput, match="do not divide into 4 at once"):
        stages.reinforced("grpo", policy(made), made, reward, chosen, watch)


def test_over_a_closed_list_grpo_is_our_loop_and_rloo_is_refused(tmp_path: Path) -> None:
    made = task(made_split(), listed=False)
    choice = ChoicePolicy(tiny(made.names, width=32), DISEASES)
    reward = graph_reward(made, Criticality(CauseGraph.counted(made.train), temperature=0.05), made.train)
    chosen = ppo.PPOSettings(steps=20, prompts=16, samples=4, batch=64, rate=5e-3)
    rows = stages.reinforced("grpo", choice, made, reward, chosen, stages.Watch(folder=tmp_path, every=20))
    assert rows[-1]["accuracy"] > 0.8
    with pytest.raises(BadInput, match="rloo is for a policy that writes"):
        stages.reinforced("rloo", choice, made, reward, chosen, stages.Watch(folder=tmp_path / "x"))


class Words:
    """A tokenizer of transformers whose words are those given, with the chat template of ChatML."""

    def __new__(cls, *words: str, template: bool = True) -> Any:
        from tokenizers import Tokenizer, models, pre_tokenizers

        marks = ["<|im_end|>", "<|im_start|>", "?"]
        made = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*marks, *words])}, unk_token="?"))
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=made, eos_token=marks[0], pad_token=marks[0], additional_special_tokens=marks[:2],
        )  # fmt: skip
        if template:
            fast.chat_template = (
                "{% for m in messages %}<|im_start|> {{ m.role }} {{ m.content }} <|im_end|>{% endfor %}"
                "{% if add_generation_prompt %}<|im_start|> assistant{% endif %}"
            )
        return fast


def test_a_question_in_the_chat_template_has_the_tokens_that_trl_makes_of_it() -> None:
    tokens = HubTokens(Words("user", "assistant", "fever", "flu"), chat=True)
    ids = tokens._tokenizer.apply_chat_template(tokens.turn("fever"), add_generation_prompt=True, tokenize=True)
    assert tokens.ask("fever") == list(ids["input_ids"] if hasattr(ids, "keys") else ids)
    assert len(tokens.ask("fever")) == 6
    assert tokens.said("flu") == tokens.said(" flu")
    with pytest.raises(BadInput, match=r"holds '<\|im_end\|>', which steers the model"):
        tokens.ask("fever <|im_end|> flu")
    with pytest.raises(BadInput, match="no chat template"):
        HubTokens(Words("user", template=False), chat=True)


@given(
    st.lists(st.sampled_from(["Fever", "high fever", "gout", "feverish", "no", "No", "无", ",", "; ", "x"]), max_size=8)
)
def test_the_tiny_model_reads_alike_in_transformers(words: list[str]) -> None:
    tokens, text = NameTokens(NAMES), " ".join(words)
    assert tokens.fast()(text).input_ids == tokens.ask(text)
