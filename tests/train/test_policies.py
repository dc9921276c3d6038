"""Policies hold to what a plain reading of the model gives: probabilities, values, and independence of neighbours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="training needs torch")
transformers: Any = pytest.importorskip("transformers", reason="training needs transformers")
pytest.importorskip("peft", reason="adapters need peft")

from kgmed.errors import BadInput, UnknownName  # noqa: E402
from kgmed.train.base import restore, snapshot  # noqa: E402
from kgmed.train.causal import Causal, Tuning, build  # noqa: E402
from kgmed.train.policies import ChoicePolicy, Free, NameTokens, policy, tiny, until_end  # noqa: E402

NAMES = ("flu", "gout", "fever", "rash")
PROMPTS = ["fever. No rash", "rash", "rash fever fever rash rash gout", "fever. No rash"]


class Letters:
    """A tokenizer of letters, so that names share beginnings."""

    end = 0

    def ask(self, question: str, /) -> list[int]:
        return [ord(c) % 31 + 1 for c in question.strip()]

    said = ask

    def turn(self, question: str, /) -> str:
        return question

    def fast(self) -> Any:
        raise NotImplementedError

    def decode(self, tokens: Sequence[int], /) -> str:
        return "".join(chr(t + 95) for t in tokens if t)

    def save(self, folder: Path, /) -> None:
        raise NotImplementedError


def letters(seed: int = 0, **tuning: Any) -> Causal:
    """A model of letters whose logits are far from uniform."""
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.5,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.LlamaForCausalLM(config)
    return build("letters", model, Letters(), Tuning(**{"full": True} | tuning))


def plain(causal: Causal, tokens: list[int]) -> Any:
    """The model's log-probabilities (n, words) after each token, without padding or cache."""
    with torch.no_grad():
        return causal.model(input_ids=torch.tensor([tokens])).logits[0].log_softmax(-1)


def test_a_free_policy_gives_the_log_probabilities_of_the_model() -> None:
    free = Free(tiny(NAMES, seed=3), longest=3)
    answers = free.encode(PROMPTS, ["flu", "fever rash", "gout gout gout", "rash"])
    scores = free.scores(answers)
    for i, prompt in enumerate(PROMPTS):
        before, after = free.causal.tokens.ask(prompt), answers.actions[i][answers.mask[i]].tolist()
        rows = plain(free.causal, before + after)
        wanted = [rows[len(before) - 1 + t, token] for t, token in enumerate(after)]
        assert scores.logp[i][answers.mask[i]].tolist() == pytest.approx([float(w) for w in wanted], abs=1e-5)


def test_answers_that_share_a_question_are_scored_and_learnt_from_as_if_each_were_alone() -> None:
    free = Free(tiny(NAMES, seed=3), longest=3)
    asked, said = ["rash", "rash fever", "rash", "rash"], ["flu", "gout", "fever rash", "flu"]

    def slope(parts: list[tuple[list[str], list[str]]]) -> list[Any]:
        total = torch.stack([free.scores(free.encode(*part)).logp.sum() for part in parts]).sum()
        wanted = [p for name, p in free.parameters().items() if "value" not in name]
        return [total.detach(), *torch.autograd.grad(total, wanted)]

    together, alone = slope([(asked, said)]), slope([([q], [a]) for q, a in zip(asked, said, strict=True)])
    assert all(torch.allclose(x, y, atol=1e-4) for x, y in zip(together, alone, strict=True))


def test_the_policy_that_answered_is_not_apart_from_itself() -> None:
    free = Free(letters(), longest=4)
    answers = free.answer(["xy", "x", "xy"] * 5, torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(free.scores(answers).logp, free.scores(answers).logp)
    assert not free.scores(answers).logp[~answers.mask].any()


def test_given_answers_end_and_one_as_long_as_allowed_needs_no_end() -> None:
    free = Free(tiny(NAMES), longest=2)
    answers = free.encode(["rash", "rash"], ["flu", "gout fever"])
    assert answers.actions.tolist() == [[3, 0], [4, 5]]
    assert answers.mask.all()
    with pytest.raises(BadInput, match="3 tokens, more than 2"):
        free.encode(["rash"], ["flu flu flu"])


def test_a_free_policy_writes_the_likeliest_tokens_whatever_its_neighbours_are() -> None:
    free = Free(tiny(NAMES, seed=7), longest=4)
    together = free.answer(PROMPTS)
    for i, prompt in enumerate(PROMPTS):
        alone = free.answer([prompt])
        assert alone.texts[0] == together.texts[i]
        tokens, said = free.causal.tokens.ask(prompt), alone.actions[0][alone.mask[0]].tolist()
        for token in said:
            assert int(plain(free.causal, tokens)[-1].argmax()) == token
            tokens = [*tokens, token]


def test_answers_are_drawn_as_often_as_they_are_likely_and_the_same_with_the_same_seed() -> None:
    free = Free(tiny(NAMES, seed=3), longest=1)
    asked = ["rash"] * 2000
    drawn = free.answer(asked, torch.Generator().manual_seed(1))
    shares = plain(free.causal, free.causal.tokens.ask("rash"))[-1].exp()
    counts = torch.bincount(drawn.actions[:, 0], minlength=6) / 2000
    assert torch.allclose(counts, shares, atol=0.05)
    assert torch.equal(drawn.actions, free.answer(asked, torch.Generator().manual_seed(1)).actions)


def test_what_stands_after_the_end_is_no_part_of_an_answer() -> None:
    mask = until_end(torch.tensor([[5, 0, 5, 0], [5, 5, 5, 5], [0, 0, 0, 0]]), 0)
    assert mask.int().tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]


def test_the_choice_among_names_is_the_models_shared_out_at_each_fork() -> None:
    causal, names = letters(), ("ab", "abc", "ad", "b")
    choice, before = ChoicePolicy(causal, names), Letters().said("xyz")
    found = choice.chances(["xyz"])[0]
    a, b, c, d = (Letters().said(x)[0] for x in "abcd")

    def among(prefix: list[int], turns: list[int]) -> list[float]:
        shares = plain(causal, before + prefix)[-1].exp()[turns]
        return [float(s) for s in shares / shares.sum()]

    first, second, third = among([], [a, b]), among([a], [b, d]), among([a, b], [0, c])
    wanted = [first[0] * second[0] * third[0], first[0] * second[0] * third[1], first[0] * second[1], first[1]]
    assert found.detach().tolist() == pytest.approx(wanted, abs=1e-5)
    assert float(found.detach().sum()) == pytest.approx(1, abs=1e-5)


def test_a_choice_is_the_same_whatever_its_neighbours_are() -> None:
    choice = ChoicePolicy(letters(), ("ab", "abc", "ad", "b"), batch=2)
    asked = ["x", "yyyyyy", "zz", "x", "wvu"]
    together, scores = choice.chances(asked), choice.scores(choice.encode(asked, ["ab", "b", "ad", "abc", "b"]))
    for i, prompt in enumerate(asked):
        assert torch.allclose(choice.chances([prompt])[0], together[i], atol=1e-5)
    assert torch.allclose(scores.logp[:, 0].exp(), together[range(5), [0, 3, 2, 1, 3]], atol=1e-5)


def test_a_choice_tells_what_it_said_of_its_answers() -> None:
    choice = ChoicePolicy(letters(), ("ab", "ad", "b"))
    answers = choice.answer(["x", "yy"] * 4, torch.Generator().manual_seed(0))
    assert answers.given is not None
    scores = choice.scores(answers)
    assert torch.allclose(answers.given.logp, scores.logp, atol=1e-6)
    assert torch.allclose(answers.given.values, scores.values, atol=1e-6)
    assert set(answers.texts) <= {"ab", "ad", "b"}


@pytest.mark.parametrize("names", [("ab",), ("ab", "ab"), ("ab", "ab ")])
def test_names_that_cannot_be_told_apart_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="two names"):
        ChoicePolicy(letters(), names)


def test_an_answer_that_is_not_listed_is_refused() -> None:
    with pytest.raises(BadInput, match="'c' is none of the 2"):
        ChoicePolicy(letters(), ("a", "b")).encode(["x"], ["c"])


def test_the_value_head_learns_without_moving_the_model() -> None:
    free = Free(tiny(NAMES), longest=2)
    torch.autograd.backward(free.scores(free.encode(["rash"], ["flu"])).values.sum())
    grads: dict[str, Any] = {name: p.grad for name, p in free.parameters().items()}
    assert grads.pop("value.weight").abs().sum() > 0
    assert grads.pop("value.bias") is not None
    assert all(g is None for g in grads.values())


def test_a_value_depends_on_where_a_state_points_not_on_its_length() -> None:
    causal = tiny(NAMES)
    torch.nn.init.ones_(causal.value.weight)
    states = torch.randn(3, causal.value.in_features, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(causal.values(50 * states), causal.values(states), atol=1e-6)
    assert causal.values(states).abs().max() > 0


def test_adapters_begin_as_the_model_itself_and_only_they_are_trained() -> None:
    def model() -> Any:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return transformers.LlamaForCausalLM(transformers.LlamaConfig(
                vocab_size=7, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                num_key_value_heads=2,
            ))  # fmt: skip

    tokens = NameTokens(NAMES)
    full, lora = (Free(build("m", model(), tokens, Tuning(full=f)), longest=2) for f in (True, False))
    answers = full.encode(["rash"], ["flu"])
    assert torch.allclose(full.scores(answers).logp, lora.scores(answers).logp, atol=1e-6)
    assert all("lora" in name or name.startswith("value") for name in lora.parameters())
    assert sum(p.numel() for p in lora.parameters().values()) != sum(p.numel() for p in full.parameters().values())


def test_what_is_not_trained_may_be_held_in_half_precision() -> None:
    whole, half = (letters(full=False, bf16=b) for b in (False, True))
    assert all(p.dtype == torch.float32 for p in half.parameters().values())
    assert {p.dtype for p in half.body.parameters() if not p.requires_grad} == {torch.bfloat16}
    answers = Free(half).encode(["xy", "x"], ["ab", "b"])
    found, wanted = Free(half).scores(answers).logp, Free(whole).scores(answers).logp
    assert found.dtype == torch.float32
    assert torch.allclose(found, wanted, atol=0.5)
    assert not torch.equal(found, wanted)


def test_a_whole_model_keeps_float32_and_computes_in_bfloat16() -> None:
    whole, half = letters(), letters(bf16=True)
    assert all(p.dtype == torch.float32 for p in half.parameters().values())
    answers = Free(half).encode(["xy", "x"], ["ab", "b"])
    found, wanted = Free(half).scores(answers).logp, Free(whole).scores(answers).logp
    assert (found.dtype, torch.allclose(found, wanted, atol=0.5), torch.equal(found, wanted)) == (
        torch.float32,
        True,
        False,
    )


def test_layers_computed_again_give_the_same_gradient() -> None:
    kept, again = letters(full=False), letters(full=False, checkpointing=True)
    answers = Free(kept).encode(["xy", "x", "xy"], ["ab", "b", "c"])
    for causal in (kept, again):
        torch.autograd.backward(Free(causal).scores(answers).logp.sum())
    for name, parameter in kept.parameters().items():
        if not name.startswith("value"):
            assert torch.allclose(parameter.grad, again.parameters()[name].grad, atol=1e-5), name
    assert Free(again).answer(["xy"]).texts == Free(kept).answer(["xy"]).texts


def test_adapters_have_the_rank_the_alpha_and_the_layers_that_are_asked_for() -> None:
    causal = letters(full=False, rank=2, alpha=8, dropout=0.1, targets=("q_proj",))
    config = causal.model.peft_config["default"]
    assert (config.r, config.lora_alpha, config.lora_dropout) == (2, 8, 0.1)
    assert {name.split(".lora_")[0].rpartition(".")[2] for name in causal.parameters() if "lora" in name} == {"q_proj"}
    with pytest.raises(BadInput, match=r"no linear layer 'k'; it has .*q_proj"):
        letters(full=False, targets=("k",))


def test_what_does_not_go_together_is_refused() -> None:
    for wrong in ({"full": True, "bits": 4}, {"top": 1, "checkpointing": True}, {"rank": 0}, {"dropout": 1.0}):
        with pytest.raises(BadInput):
            Tuning(**wrong)


def test_a_snapshot_can_be_put_back() -> None:
    free = Free(tiny(NAMES), longest=2)
    kept = snapshot(free)
    with torch.no_grad():
        for parameter in free.parameters().values():
            parameter.add_(1)
    restore(free, kept)
    assert all(torch.equal(p, kept[name]) for name, p in free.parameters().items())


def test_the_seed_alone_makes_a_tiny_model_and_other_draws_are_left_alone() -> None:
    torch.manual_seed(9)
    wanted = torch.rand(3)
    torch.manual_seed(9)
    one, two, three = (snapshot(Free(tiny(NAMES, seed=s))) for s in (1, 1, 2))
    assert torch.equal(torch.rand(3), wanted)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], three[name]) for name in one)


def test_a_trained_model_is_saved_for_other_programs(tmp_path: Path) -> None:
    free = Free(tiny(NAMES, seed=4), longest=2)
    free.save(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    tokens = free.causal.tokens.ask("rash fever")
    with torch.no_grad():
        again = loaded(input_ids=torch.tensor([tokens])).logits[0].log_softmax(-1)
    assert torch.allclose(again, plain(free.causal, tokens), atol=1e-5)
    assert (tmp_path / "names.json").exists()
    assert not list(tmp_path.glob("*.bin"))


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(UnknownName, match="no policy is called 'chioce'"):
        policy("chioce", "smollm2", None, Path())  # type: ignore[arg-type]
