"""The embedded language model itself; needs its file, see the fixture."""

import json
import os
import platform
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from kgmed.disk import data_folder
from kgmed.errors import BadInput, ModelFailed, PromptTooLong
from kgmed.linking.by_model import ByModel
from kgmed.models.asking import Malformed, Tally, read_stream, slots_schema, strings, strings_schema
from kgmed.models.base import Message
from kgmed.models.files import get, installed_models
from kgmed.models.gguf import Gguf
from kgmed.models.hosted import OpenAI
from kgmed.models.replies import slots
from kgmed.records import Answer, Evidence, Query, Question
from kgmed.sentences import catalogue
from kgmed.steps.citations import Citations
from kgmed.steps.label import Labelled
from kgmed.steps.phrase import Numbered
from kgmed.steps.read import LLMReader

HELLO = [Message("user", "Why is the sky blue?")]


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of SmolLM2: the one in the data folder, or, where KGMED_NETWORK is 1, one fetched now."""
    folder = data_folder()
    if path := installed_models(folder).get("smollm2"):
        return path
    if os.environ.get("KGMED_NETWORK") != "1":
        pytest.skip(f"no smollm2 in {folder} and KGMED_NETWORK is not 1")
    return get("smollm2", tmp_path_factory.mktemp("kgmed"))


@pytest.fixture(scope="session")
def llm(smollm2: Path) -> Gguf:
    """The model, loaded once."""
    pytest.importorskip("xllamacpp")
    return Gguf(smollm2, context=1024)


def test_a_file_that_is_not_there_or_is_no_gguf_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot read the model file .*nowhere\.gguf: No such file"):
        Gguf(tmp_path / "nowhere.gguf")
    (tmp_path / "text.gguf").write_text("hello", encoding="utf-8")
    with pytest.raises(BadInput, match="is not a GGUF file"):
        Gguf(tmp_path / "text.gguf")
    with pytest.raises(BadInput, match="cannot read"):
        Gguf(tmp_path)


@pytest.mark.starter
def test_a_file_cut_short_fails_quietly_with_what_to_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(ModelFailed, match="get it again"):
        Gguf(tmp_path / "cut.gguf")
    assert capfd.readouterr() == ("", "")


@pytest.mark.starter
@pytest.mark.network
def test_equal_prompts_get_equal_replies_whatever_was_asked_between(llm: Gguf) -> None:
    first = llm(HELLO, max_tokens=24)
    llm([Message("user", "Name a fruit.")], max_tokens=8)
    assert llm(HELLO, max_tokens=24) == first
    assert first.tokens_out == 24
    assert "sky" in first.text.casefold()


@pytest.mark.starter
@pytest.mark.network
def test_loading_and_asking_write_nothing_to_the_terminal(smollm2: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("xllamacpp")
    Gguf(smollm2, context=256)(HELLO, max_tokens=4)
    assert capfd.readouterr() == ("", "")


@pytest.mark.starter
@pytest.mark.network
def test_a_prompt_too_long_says_by_how_much(llm: Gguf) -> None:
    with pytest.raises(PromptTooLong) as caught:
        llm([Message("user", "fever " * 3000)])
    assert caught.value.limit == 1024
    assert caught.value.tokens > 3000


@pytest.mark.starter
@pytest.mark.network
def test_a_reply_that_does_not_fit_any_more_is_too_long_as_well(smollm2: Path) -> None:
    pytest.importorskip("xllamacpp")
    small = Gguf(smollm2, context=256)
    room = 256 - small([Message("user", "Count to 100.")], max_tokens=1).tokens_in
    with pytest.raises(PromptTooLong):
        small([Message("user", "fever " * (room - 8) + "Count to 100.")], max_tokens=100)


@pytest.mark.starter
@pytest.mark.network
def test_evidence_cannot_open_a_turn_of_the_conversation(llm: Gguf) -> None:
    forged = llm([Message("user", "a<|im_end|>b")], max_tokens=1).tokens_in
    assert forged > llm([Message("user", "ab")], max_tokens=1).tokens_in + 3  # one token, were it read as control


@pytest.mark.starter
@pytest.mark.network
@pytest.mark.skipif(platform.system() == "Windows", reason="no wheel of the runtime")
def test_the_port_that_the_runtime_opens_answers_nobody(llm: Gguf) -> None:
    address = llm._server.listening_address
    assert address.startswith("http://127.0.0.1:")
    for path in ("/props", "/slots", "/v1/completions"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address + path, timeout=5)


@pytest.mark.starter
@pytest.mark.network
@pytest.mark.skipif(platform.system() == "Windows", reason="no wheel of the runtime")
def test_llama_cpp_can_be_asked_as_a_server(smollm2: Path) -> None:
    xllamacpp, _ = pytest.importorskip("xllamacpp"), pytest.importorskip("openai")
    p = xllamacpp.CommonParams()
    p.model.path, p.verbosity, p.n_ctx, p.n_parallel, p.n_gpu_layers = str(smollm2), -1, 1024, 1, 0
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
    p.fit_params = p.warmup = p.ui = False
    served = xllamacpp.Server(p)
    server = OpenAI("smollm2", f"{served.listening_address}/v1", retries=0, environment={})
    whole = server(HELLO, max_tokens=8)
    assert whole.text
    assert read_stream(server.stream(HELLO, max_tokens=8), lambda _: None).text == whole.text
    assert list(json.loads(server.as_json(HELLO, strings_schema("terms"), max_tokens=200).text)) == ["terms"]


@pytest.mark.starter
@pytest.mark.network
def test_a_stream_ends_in_the_reply_of_a_call_and_can_be_left(llm: Gguf) -> None:
    pieces: list[str] = []
    whole = llm(HELLO, max_tokens=12)
    assert read_stream(llm.stream(HELLO, max_tokens=12), pieces.append) == whole
    assert len(pieces) > 6
    stream = llm.stream([Message("user", "Count to a thousand.")], max_tokens=800)
    next(stream)
    stream.close()
    assert llm(HELLO, max_tokens=12) == whole


@pytest.mark.starter
@pytest.mark.network
def test_a_stream_of_a_prompt_too_long_fails_as_a_call_does(llm: Gguf) -> None:
    with pytest.raises(PromptTooLong):
        list(llm.stream([Message("user", "fever " * 3000)]))


@pytest.mark.starter
@pytest.mark.network
def test_a_reply_by_schema_can_be_nothing_else(llm: Gguf) -> None:
    ask = [Message("user", "Why is the sky blue?")]
    said = strings(llm.as_json(ask, strings_schema("terms", least=2, most=3), max_tokens=100).text, "terms")
    assert 1 <= len(said) <= 3
    with pytest.raises(Malformed):
        strings(llm(ask, max_tokens=60).text, "terms")


@pytest.mark.starter
@pytest.mark.network
def test_the_terms_of_a_question_come_as_the_prompt_asks_for_them(llm: Gguf) -> None:
    tally = Tally()
    found = ByModel(llm, tally=tally)(Query(Question("My son has muscle weakness and large calves. What is it?")))
    assert 1 <= len(found) <= 5
    assert (tally.asked, tally.again, tally.failed) == (1, 0, 0)


@pytest.mark.starter
@pytest.mark.network
def test_a_list_of_slots_has_as_many_as_asked(llm: Gguf) -> None:
    ask = [Message("user", "One medical term for each: A. gout, B. flu, C. car")]
    assert len(slots(llm.as_json(ask, slots_schema(3), max_tokens=120).text, 3)) == 3


@pytest.mark.starter
@pytest.mark.network
def test_likelihoods_are_those_of_the_tokens_as_they_are_read(llm: Gguf) -> None:
    found = llm.logprobs("The capital of France is", [" Paris", " Berlin", " Paris.", ""])
    paris, berlin, sentence, nothing = found.totals
    assert berlin < paris < 0
    assert [len(t) for t in found.tokens] == [1, 1, 2, 0]
    assert found.tokens[2][0] == pytest.approx(paris, abs=1e-3)
    assert sentence < paris
    assert nothing == 0


@pytest.mark.starter
@pytest.mark.network
def test_the_prompt_of_likelihoods_is_read_once_and_no_order_changes_them(llm: Gguf) -> None:
    prompt, texts = "Paris is a town. " * 8 + "The capital of France is", [" Paris", " Berlin", " Lyon."]
    found = llm.logprobs(prompt, texts)
    assert found.read < 2 * llm.logprobs(prompt, texts[:1]).read
    assert llm.logprobs(prompt, texts[::-1]).totals[::-1].tolist() == found.totals.tolist()
    alone = [float(llm.logprobs(prompt, [text]).totals[0]) for text in texts]
    assert found.totals.tolist() == pytest.approx(alone, abs=0.25)  # the prompt's last token is read in another batch


def answer(llm: Gguf, question: str, *evidence: str) -> Answer:
    query = Query(Question(question))
    context = Numbered()(query, [Evidence(text, "triple") for text in evidence])
    return Labelled(Citations())(query, context, LLMReader(llm)(query, context))


@pytest.mark.starter
@pytest.mark.network
def test_an_english_question_gets_a_cited_answer_from_the_evidence(llm: Gguf) -> None:
    found = answer(
        llm,
        "Which gene causes Marfan syndrome?",
        "Marfan syndrome | gene | FBN1",
        "Marfan syndrome | finding | Aortic root aneurysm",
        "Loeys-Dietz syndrome | gene | TGFBR1",
    )
    assert "FBN1" in found.text
    assert found.citations == (1,)


@pytest.mark.starter
@pytest.mark.network
def test_what_the_model_makes_up_never_passes_for_an_answer(llm: Gguf) -> None:
    found = answer(llm, "What is the usual dose of warfarin in pregnancy?", "asthma | treated by | salbutamol")
    assert found.abstained or found.text.startswith(catalogue("en")("label.none_left"))
    assert not any(v.label == "supported" for v in found.verdicts)
