"""A decoder in two halves is the whole decoder, and what the lower half made of a prompt is kept."""

from dataclasses import replace
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="training needs torch")
transformers: Any = pytest.importorskip("transformers", reason="training needs transformers")
pytest.importorskip("peft", reason="adapters need peft")

from kgmed.errors import BadInput  # noqa: E402
from kgmed.train.causal import Causal, SplitDecoder, Tuning, build  # noqa: E402
from kgmed.train.policies import ChoicePolicy, NameTokens  # noqa: E402
from kgmed.train.run import adam  # noqa: E402

NAMES = ("flu", "gout", "fever", "rash")
PROMPTS = ["fever. No rash", "rash", "rash fever fever rash rash gout"]


def model(seed: int = 0) -> Any:
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = transformers.LlamaConfig(vocab_size=7, num_hidden_layers=4, initializer_range=0.5, **sizes)
        return transformers.LlamaForCausalLM(config)


def half_trained(top: int = 1) -> Causal:
    return build("m", model(), NameTokens(NAMES), Tuning(top=top))


def test_the_halves_give_what_the_whole_gives_also_after_training() -> None:
    causal = half_trained()
    choice = ChoicePolicy(causal, NAMES[:2])
    whole = ChoicePolicy(replace(causal, halves=None), NAMES[:2])
    optimizer = adam(choice, 0.03)
    for _ in range(12):
        assert torch.allclose(choice.chances(PROMPTS), whole.chances(PROMPTS), atol=1e-5)
        optimizer.zero_grad()
        torch.autograd.backward(-choice.scores(choice.encode(PROMPTS, ["flu"] * 3)).logp.sum())
        optimizer.step()
    assert float(choice.chances(PROMPTS)[:, 0].detach().min()) > 0.9


def test_adapters_stand_in_the_upper_layers_alone() -> None:
    trained = [name for name in half_trained(2).parameters() if not name.startswith("value")]
    assert {name.split("layers.")[1].split(".")[0] for name in trained} == {"2", "3"}


@pytest.mark.parametrize("top", [4, 9, -1])
def test_a_cut_that_leaves_nothing_below_is_refused(top: int) -> None:
    with pytest.raises(BadInput, match="cannot be trained alone"):
        SplitDecoder(model().get_decoder(), top)


def test_the_top_of_a_model_that_is_trained_whole_is_refused() -> None:
    with pytest.raises(BadInput, match="go with adapters"):
        build("m", model(), NameTokens(NAMES), Tuning(full=True, top=1))


def test_a_decoder_that_is_more_than_its_layers_is_refused() -> None:
    class Scaled(transformers.LlamaModel):  # type: ignore[misc,unused-ignore]
        """Scales what it is given, as Gemma does: halves would scale twice."""

        def forward(self, input_ids: Any = None, inputs_embeds: Any = None, **other: Any) -> Any:
            given = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
            return super().forward(inputs_embeds=given * 3, **other)

    torch.manual_seed(0)
    with pytest.raises(BadInput, match="more than its layers"):
        SplitDecoder(Scaled(model().config).eval(), 1)
