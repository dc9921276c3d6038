"""On a tiny causal model with random weights, built and saved by the real classes."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kgmed.disk import data_folder
from kgmed.errors import BadInput, KgmedError, ModelFailed, PromptTooLong, Unavailable
from kgmed.models import files
from kgmed.models.asking import loads, read_stream, slots_schema, strings_schema
from kgmed.models.base import Message, Reply, Sampling, sampled
from kgmed.models.files import installed_models
from kgmed.models.gguf import Gguf
from kgmed.models.named import CachedLLM, llm_from
from kgmed.models.transformers_lm import TransformersLM
from tiny_causal import SAID, WORDS, bytes_in, saved_in, sizes

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


def test_a_repetition_penalty_lets_less_be_said_again(llm: TransformersLM, saved: Path) -> None:
    plain = llm(HELLO, max_tokens=12).text.split()
    for model in (llm, TransformersLM(saved, batch=2)):
        with sampled(Sampling(penalty=2.0)):
            varied = model(HELLO, max_tokens=12).text.split()
            assert model.settings["repetition_penalty"] == 2.0
        assert len({*varied}) / len(varied) > len({*plain}) / len(plain)


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
    assert read_stream(llm.stream(HELLO, max_tokens=12), pieces.append) == whole
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
    second.__dict__.pop("_weights")
    CachedLLM(first, tmp_path / "c.db")(HELLO, max_tokens=4)
    other = CachedLLM(second, tmp_path / "c.db")
    other(HELLO, max_tokens=4)
    assert other.hits.hits == 0


def test_a_model_is_named_on_the_command_line(saved: Path, tmp_path: Path) -> None:
    assert llm_from(f"hf/{saved}", folder=tmp_path).name == "hf/tiny"
    chosen = llm_from(f"hf/{saved}", folder=tmp_path, batch=4, precision="bfloat16")
    assert isinstance(chosen, TransformersLM)
    assert (chosen.settings["batch"], chosen.settings["dtype"]) == (4, "bfloat16")
    with pytest.raises(Unavailable, match="kgmed models get smollm2"):
        llm_from("hf/smollm2", folder=tmp_path)
    with pytest.raises(BadInput, match="takes no base URL"):
        llm_from(f"hf/{saved}", base_url="http://localhost/v1", folder=tmp_path)


def test_a_folder_made_of_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tiny.gguf"
    monkeypatch.setattr(files, "fetched_file", lambda name, folder: file)
    file.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(KgmedError):
        files.as_folder("tiny", tmp_path)
    assert list(tmp_path.iterdir()) == [file]
    made = files.load_transformer("AutoModelForCausalLM", saved_in(tmp_path / "source"))
    monkeypatch.setattr(files, "load_transformer", lambda *given, **more: made)
    assert TransformersLM(files.as_folder("tiny", tmp_path))(HELLO, max_tokens=2).tokens_in
    assert {p.name for p in tmp_path.iterdir()} == {"tiny.gguf", "tiny.transformers", "source"}
    file = tmp_path / "nowhere" / "tiny.gguf"
    with pytest.raises(Unavailable, match="cannot keep the model in"):
        files.as_folder("tiny", tmp_path)


def test_a_damaged_gguf_file_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(BadInput, match=r"cut\.gguf cannot be used"):
        TransformersLM(tmp_path / "cut.gguf")


@pytest.mark.starter
@pytest.mark.network
def test_one_file_gives_the_same_likelihoods_through_both_runtimes() -> None:
    pytest.importorskip("gguf")
    pytest.importorskip("xllamacpp")
    path = installed_models(data_folder()).get("smollm2")
    if path is None:
        pytest.skip(f"no smollm2 in {data_folder()}")
    prompt, texts = "Scurvy is caused by", [" vitamin C deficiency", " a virus", " Iron."]
    here, there = Gguf(path, context=256).logprobs(prompt, texts), TransformersLM(path).logprobs(prompt, texts)
    assert [len(t) for t in here.tokens] == [len(t) for t in there.tokens]
    assert np.allclose(here.means, there.means, atol=0.3)  # llama.cpp rounds what goes through its layers to 8 bits
    assert list(np.argsort(here.means)) == list(np.argsort(there.means))


def at_once(calls: list[Callable[[], object]]) -> list[object]:
    """What each call gives or raises, all begun at the same moment in threads of their own."""
    ready = threading.Barrier(len(calls))

    def one(call: Callable[[], object]) -> object:
        ready.wait(60)
        try:
            return call()
        except KgmedError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def test_sixteen_threads_each_get_the_reply_that_they_would_get_alone(llm: TransformersLM, saved: Path) -> None:
    both, draw = TransformersLM(saved, batch=16, dtype="float32"), random.Random(5)
    given = sizes(both, 16)
    asked = [
        [
            ([Message("user", " ".join(draw.choices(SAID, k=draw.randint(1, 30))))], draw.randint(1, 20))
            for _ in range(6)
        ]
        for _ in range(16)
    ]
    said = at_once([lambda mine=mine: [both(m, max_tokens=n) for m, n in mine] for mine in asked])  # type: ignore[misc]
    alone = [[llm(m, max_tokens=n) for m, n in mine] for mine in asked]
    assert len({reply.text for mine in alone for reply in mine}) > 40  # else a mix-up would not show
    assert said == alone
    assert 4 < max(given) <= 16


def test_one_prompt_too_long_in_a_batch_touches_no_other(llm: TransformersLM, saved: Path) -> None:
    both = TransformersLM(saved, batch=4)
    long = [Message("user", "fever " * 100)]
    said = at_once([lambda: both(long), *[lambda: both(HELLO, max_tokens=8)] * 3])
    assert isinstance(said[0], PromptTooLong)
    assert said[1:] == [llm(HELLO, max_tokens=8)] * 3


def test_calls_of_every_kind_at_once_give_what_they_give_alone(llm: TransformersLM, saved: Path) -> None:
    both = TransformersLM(saved, batch=8)
    said = at_once([
        *[lambda: both(HELLO, max_tokens=9)] * 5,
        *[lambda: read_stream(both.stream(HELLO, max_tokens=5), lambda _: None)] * 3,
        *[lambda: both.logprobs("is the toe", [" red", " big toe"]).totals.round(4).tolist()] * 3,
    ])  # fmt: skip
    assert said[:5] == [llm(HELLO, max_tokens=9)] * 5
    assert said[5:8] == [llm(HELLO, max_tokens=5)] * 3
    assert said[8:] == [llm.logprobs("is the toe", [" red", " big toe"]).totals.round(4).tolist()] * 3


def test_without_a_batch_calls_at_once_are_answered_one_by_one(saved: Path) -> None:
    alone = TransformersLM(saved)
    given = sizes(alone)
    assert len(set(map(str, at_once([lambda: alone(HELLO, max_tokens=5)] * 6)))) == 1
    assert set(given) == {1}


def test_the_start_is_read_once_for_all_texts(saved: Path) -> None:
    llm = TransformersLM(saved)
    read: list[tuple[int, ...]] = []
    llm._model.register_forward_pre_hook(
        lambda module, args, given: read.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    texts = [" gout", " fever and cough", *[f" {w} toe" for w in SAID if w not in ":."], ""]
    found = llm.logprobs("is the big red toe", texts)
    assert read[0] == (1, 5)  # the mark and all words but the last, which is read again with each text
    assert all(rows <= 8 and length <= 4 for rows, length in read[1:])
    plain = scored_plainly(llm, [llm._tokens("is the big red toe" + t) for t in texts], 6)
    assert all(np.allclose(a, b, atol=1e-4) for a, b in zip(found.tokens, plain, strict=True))


def scored_plainly(llm: TransformersLM, rows: list[list[int]], begin: int) -> list[np.ndarray]:
    import torch

    found = []
    for row in rows:
        with torch.inference_mode():
            said = llm._model(input_ids=torch.tensor([row])).logits[0].double().log_softmax(-1).numpy()
        found.append(np.array([said[i - 1, row[i]] for i in range(begin, len(row))]))
    return found


def test_a_precision_is_that_of_the_weights_and_told_in_the_settings(saved: Path) -> None:
    llm = TransformersLM(saved, dtype="bfloat16", batch=4)
    assert {str(w.dtype) for w in llm._model.parameters()} == {"torch.bfloat16"}
    assert (llm.settings["dtype"], llm.settings["batch"]) == ("bfloat16", 4)
    assert llm(HELLO, max_tokens=4) == llm(HELLO, max_tokens=4)
    assert not {"dtype", "batch"} & set(TransformersLM(saved).settings)
    with pytest.raises(BadInput, match="float32, bfloat16, float16"):
        TransformersLM(saved, dtype="int3")
    with pytest.raises(BadInput, match="at least one"):
        TransformersLM(saved, batch=0)


def test_a_reply_held_to_a_schema_is_json_of_it_beside_others_that_are_not(tmp_path: Path) -> None:
    both, alone = TransformersLM(bytes_in(tmp_path / "bytes"), batch=8), TransformersLM(tmp_path / "bytes")
    strings: dict[str, object] = {"type": "object", "properties": {"a": {"enum": ["gout", "flu"]}}, "required": ["a"]}
    schemas: list[dict[str, object]] = [slots_schema(0), strings, strings | {"additionalProperties": False}]
    said = at_once([
        *[lambda s=s: both.as_json(HELLO, s, max_tokens=40) for s in schemas],
        lambda: both(HELLO, max_tokens=40),
        lambda: both.as_json(HELLO, strings_schema("terms", least=1), max_tokens=14),
    ])  # fmt: skip
    *held, free, cut = [reply.text for reply in said if isinstance(reply, Reply)]
    assert loads(held[0]) == {"list": []}
    assert loads(held[2])["a"] in ("gout", "flu")
    assert free == alone(HELLO, max_tokens=40).text
    assert cut.startswith('{"terms": ["')
    assert alone.as_json(HELLO, schemas[2], max_tokens=40).text == held[2]
    with pytest.raises(ModelFailed, match="cannot be held"):
        alone.as_json(HELLO, {"type": "riddle"}, max_tokens=4)


def test_a_model_over_words_which_cannot_write_json_gives_a_plain_reply(llm: TransformersLM) -> None:
    assert llm.as_json(HELLO, slots_schema(0), max_tokens=8) == llm(HELLO, max_tokens=8)


def test_a_reply_cut_within_a_character_ends_before_it(tmp_path: Path) -> None:
    llm = TransformersLM(bytes_in(tmp_path / "bytes"))
    schema = {"type": "object", "properties": {"a": {"const": "\u75db\u98ce"}}, "required": ["a"]}
    cut = [llm.as_json(HELLO, schema, max_tokens=n).text for n in range(1, 16)]
    assert cut[5:12] == ['{"a": ', '{"a": "', '{"a": "', '{"a": "', '{"a": "\u75db', '{"a": "\u75db', '{"a": "\u75db']


def test_a_draw_follows_its_seed(llm: TransformersLM) -> None:
    def drawn(seed: int) -> str:
        with sampled(Sampling(2.0, seed=seed)):
            return llm(HELLO, max_tokens=12).text

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(4)}) > 1
