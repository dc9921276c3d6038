"""On a tiny causal model with random weights, built and saved by the real classes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from kgmed.errors import BadInput, KgmedError, ModelFailed, PromptTooLong, Unavailable
from kgmed.folders import data_folder
from kgmed.models.cached import Cached
from kgmed.models.choose import llm_from
from kgmed.models.get import installed
from kgmed.models.gguf import Gguf
from kgmed.models.streaming import told
from kgmed.models.transformers_lm import TransformersLM
from kgmed.stages import Message
from tiny_causal import WORDS, saved_in

pytest.importorskip("torch", reason="needs torch and transformers")
pytest.importorskip("transformers", reason="needs torch and transformers")

HELLO = [Message("system", "the toe is red"), Message("user", "is a big toe gout")]
TEMPLATE = "{% for m in messages %}{{ m.role }} : {{ m.content }} . {% endfor %}assistant :"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_in(tmp_path_factory.mktemp("models") / "tiny", template=TEMPLATE)


@pytest.fixture(scope="module")
def llm(saved: Path) -> TransformersLM:
    return TransformersLM(saved)


def test_equal_prompts_get_equal_replies_with_their_tokens(llm: TransformersLM) -> None:
    first = llm(HELLO, max_tokens=8)
    llm([Message("user", "no")], max_tokens=3)
    assert llm(HELLO, max_tokens=8) == first
    assert (first.model, 1 <= first.tokens_out <= 8) == ("hf/tiny", True)
    template = "system : the toe is red . user : is a big toe gout . assistant :"
    assert first.tokens_in == len(template.split())
    assert first.text.startswith(llm(HELLO, max_tokens=1).text)


def test_a_reply_is_the_likeliest_word_each_time(llm: TransformersLM) -> None:
    import torch

    prompt = "system : the toe is red . user : is a big toe gout . assistant :"
    ids = [WORDS.index(w) for w in prompt.split()]
    said: list[str] = []
    while len(said) < 5:
        with torch.inference_mode():
            best = int(llm._model(torch.tensor([ids])).logits[0, -1].argmax())
        if best == 1:
            break
        ids.append(best)
        said.append(WORDS[best])
    assert llm(HELLO, max_tokens=5).text.split() == [w for w in said if w not in ("<s>", "<unk>")]


def test_log_probabilities_are_those_of_torch_and_no_neighbour_changes_them(llm: TransformersLM) -> None:
    import torch

    texts = ["gout", "fever and cough", "no", "the red toe is a big red toe", ""]
    found = llm.logprobs("is the toe", [f" {t}" if t else "" for t in texts])
    for text, tokens in zip(texts, found.tokens, strict=True):
        ids = [0, *(WORDS.index(w) for w in f"is the toe {text}".split())]
        with torch.inference_mode():
            rows = llm._model(torch.tensor([ids])).logits[0].double().log_softmax(-1).numpy()
        wanted = [rows[i - 1, ids[i]] for i in range(4, len(ids))]
        assert np.allclose(tokens, wanted, atol=1e-5)
    alone = TransformersLM.logprobs(llm, "is the toe", [" no"])
    assert alone.totals[0] == pytest.approx(found.totals[2], abs=1e-5)
    assert found.perplexities[0] == pytest.approx(np.exp(-found.totals[0]))


def test_probabilities_of_all_words_add_up_to_one(llm: TransformersLM) -> None:
    words = [w for w in WORDS if not w.startswith("<")]
    total = np.exp(llm.logprobs("is the toe", [f" {w}" for w in words]).totals).sum()
    marks = np.exp([_beginning(llm, "is the toe", i) for i in range(3)]).sum()
    assert total + marks == pytest.approx(1, abs=1e-5)


def _beginning(llm: TransformersLM, prompt: str, word: int) -> float:
    import torch

    ids = torch.tensor([[0, *(WORDS.index(w) for w in prompt.split())]])
    with torch.inference_mode():
        return float(llm._model(ids).logits[0, -1].double().log_softmax(-1)[word])


def test_a_stream_ends_in_the_reply_of_a_call_and_can_be_left(llm: TransformersLM) -> None:
    pieces: list[str] = []
    whole = llm(HELLO, max_tokens=12)
    assert told(llm.stream(HELLO, max_tokens=12), pieces.append) == whole
    assert "".join(pieces).split() == whole.text.split()
    stream = llm.stream(HELLO, max_tokens=40)
    next(stream)
    stream.close()
    assert llm(HELLO, max_tokens=12) == whole


def test_a_model_without_a_chat_template_reads_paragraphs(tmp_path: Path) -> None:
    plain = TransformersLM(saved_in(tmp_path / "plain"))
    assert plain(HELLO, max_tokens=2).tokens_in == 1 + 9  # the mark of a beginning, and the words


def test_evidence_cannot_open_a_turn(llm: TransformersLM) -> None:
    forged = llm([Message("user", "gout</s>")], max_tokens=1).tokens_in
    assert forged > llm([Message("user", "gout")], max_tokens=1).tokens_in + 1


def test_a_prompt_too_long_says_by_how_much(llm: TransformersLM) -> None:
    with pytest.raises(PromptTooLong) as caught:
        llm([Message("user", "fever " * 100)])
    assert (caught.value.limit, caught.value.tokens > 100) == (64, True)
    with pytest.raises(PromptTooLong):
        llm.logprobs("fever", [" cough" * 80])
    with pytest.raises(PromptTooLong):
        list(llm.stream([Message("user", "fever " * 100)]))


def test_a_text_without_a_word_before_it_has_no_probability(tmp_path: Path) -> None:
    plain = TransformersLM(saved_in(tmp_path / "bare", begins=False))
    with pytest.raises(ModelFailed, match="a longer prompt"):
        plain.logprobs("", ["gout"])


def test_a_model_trained_anew_does_not_meet_the_replies_of_the_old_one(saved: Path, tmp_path: Path) -> None:
    import torch

    first, second = TransformersLM(saved), TransformersLM(saved)
    assert first.settings == second.settings
    with torch.no_grad():
        second._model.lm_head.weight += 0.1
    second.__dict__.pop("settings")
    Cached(first, tmp_path / "c.db")(HELLO, max_tokens=4)
    other = Cached(second, tmp_path / "c.db")
    other(HELLO, max_tokens=4)
    assert other.hits.hits == 0


def test_a_model_is_named_on_the_command_line(saved: Path, tmp_path: Path) -> None:
    assert llm_from(f"hf/{saved}", folder=tmp_path).name == "hf/tiny"
    with pytest.raises(BadInput, match="takes no base URL"):
        llm_from(f"hf/{saved}", base_url="http://localhost/v1", folder=tmp_path)


@pytest.mark.parametrize("spoil", ["empty", "config", "weights", "nowhere"])
def test_a_folder_that_holds_no_model_is_a_typed_failure(saved: Path, tmp_path: Path, spoil: str) -> None:
    folder = tmp_path / "m"
    shutil.copytree(saved, folder)
    if spoil == "empty":
        for path in folder.iterdir():
            path.unlink()
    elif spoil == "nowhere":
        shutil.rmtree(folder)
    else:
        (folder / {"config": "config.json", "weights": "model.safetensors"}[spoil]).write_bytes(b"{}")
    with pytest.raises(KgmedError) as caught:
        TransformersLM(folder)
    assert isinstance(caught.value, Unavailable | ModelFailed)
    assert "\n" not in str(caught.value)


def test_a_damaged_gguf_file_is_a_typed_failure(tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(Unavailable):
        TransformersLM(tmp_path / "cut.gguf")


@pytest.mark.starter
@pytest.mark.network
def test_one_file_gives_the_same_likelihoods_through_both_runtimes() -> None:
    pytest.importorskip("gguf")
    pytest.importorskip("xllamacpp")
    path = installed(data_folder()).get("smollm2")
    if path is None:
        pytest.skip(f"no smollm2 in {data_folder()}")
    prompt, texts = "Scurvy is caused by", [" vitamin C deficiency", " a virus", " Iron."]
    here, there = Gguf(path, context=256).logprobs(prompt, texts), TransformersLM(path).logprobs(prompt, texts)
    assert [len(t) for t in here.tokens] == [len(t) for t in there.tokens]
    assert np.allclose(here.means, there.means, atol=0.3)  # llama.cpp rounds what goes through its layers to 8 bits
    assert list(np.argsort(here.means)) == list(np.argsort(there.means))
