"""How models of this process are loaded: on a device, with narrow weights, with an adapter; on tiny random ones."""

import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from kgmed.cli import app
from kgmed.config import Config
from kgmed.errors import BadInput, KgmedError
from kgmed.graph.base import NodeRow
from kgmed.graph.vectors import compute
from kgmed.methods.hykge import ENCODER, HyKGESettings, hykge
from kgmed.methods.mindmap import mindmap
from kgmed.models.base import Message
from kgmed.models.encoders import SentenceEncoder, TransformerCrossEncoder
from kgmed.models.named import check_choices, encoder_from, llm_from, llm_of, scorer_from
from kgmed.models.transformers_lm import TransformersLM
from kgmed.records import Mention
from kgmed.toolkit import Toolkit
from named_graph import small
from obliging import Obliging
from tiny_causal import saved_in
from tiny_encoder import encoder_in

pytest.importorskip("torch", reason="needs torch and transformers")
pytest.importorskip("transformers", reason="needs torch and transformers")

HELLO = [Message("user", "is a big toe gout")]
ABSENT = "cuda:93"  # a device that no machine has


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_in(tmp_path_factory.mktemp("models") / "tiny", width=64)


@pytest.fixture(scope="module")
def adapter(saved: Path) -> Path:
    """A folder of adapters that change what the model says."""
    peft: Any = pytest.importorskip("peft", reason="adapters need peft")
    import torch
    import transformers

    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(saved)
    numbers = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of peft about transformers
        peft.get_peft_model(model, numbers).save_pretrained(saved.parent / "adapter")
    return saved.parent / "adapter"


def test_an_adapter_on_its_model_and_its_folder_alone_are_the_same_model_and_not_the_bare_one(
    saved: Path, adapter: Path, tmp_path: Path
) -> None:
    words = [" gout", " fever", " toe"]
    bare, put_on, alone = (
        llm_from(f"hf/{saved}", folder=tmp_path),
        llm_from(f"hf/{saved}", folder=tmp_path, adapter=str(adapter)),
        llm_from(f"hf/{adapter}", folder=tmp_path),
    )
    found: list[Any] = [llm.logprobs("is a", words).totals for llm in (bare, put_on, alone)]  # type: ignore[attr-defined]
    assert np.allclose(found[1], found[2], atol=1e-5)
    assert not np.allclose(found[0], found[1], atol=1e-2)
    assert put_on.name == "hf/tiny + adapter"
    assert put_on.settings["weights"] != bare.settings["weights"]  # type: ignore[attr-defined]


def test_an_adapter_that_does_not_say_its_model_is_refused_and_so_is_what_is_none(
    adapter: Path, saved: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "lost"
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BadInput, match="--adapter"):
        llm_from(f"hf/{folder}", folder=tmp_path)
    (folder / "adapter_config.json").write_text("nothing", encoding="utf-8")
    with pytest.raises(BadInput, match="cannot be read"):
        llm_from(f"hf/{folder}", folder=tmp_path)
    with pytest.raises(KgmedError, match=r"cannot load|is no adapter"):
        llm_from(f"hf/{saved}", folder=tmp_path, adapter=str(tmp_path / "nowhere"))
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BadInput, match=r"lost holds no adapter_model\.safetensors; name the folder"):
        llm_from(f"hf/{saved}", folder=tmp_path, adapter=str(folder))


def _without(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        for file in folder.glob(name):
            file.unlink()

    return damage


def _with(name: str, text: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return damage


DAMAGE: list[tuple[str, Callable[[Path], None], str]] = [
    ("model", _without("*"), "holds no config.json"),
    ("model", _with("config.json", "{"), "config.json cannot be read"),
    ("model", _with("config.json", "[1]"), "is no JSON object"),
    ("model", _with("config.json", "{}"), "cannot be used"),
    ("model", _without("token*"), "holds no tokenizer"),
    ("model", _with("tokenizer.json", "{"), "the tokenizer in .* cannot be used"),
    ("model", _without("*.safetensors"), "cannot be used"),
    ("model", _with("model.safetensors", "cut"), "cannot be used"),
    ("adapter", _without("*"), "holds no adapter_config.json"),
    ("adapter", _without("adapter_config.json"), "holds no adapter_config.json"),
    ("adapter", _without("adapter_model.*"), "holds no adapter_model.safetensors"),
    ("adapter", _with("adapter_config.json", '{"peft_type": "none"}'), "the adapter in .* cannot be used"),
]


@pytest.mark.parametrize(("kind", "damage", "told"), DAMAGE, ids=[f"{kind}: {told}" for kind, _, told in DAMAGE])
def test_a_damaged_folder_is_bad_input_that_says_what_is_wrong_there_and_what_mends_it(
    saved: Path, adapter: Path, tmp_path: Path, kind: str, damage: Callable[[Path], None], told: str
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(saved if kind == "model" else adapter, folder)
    damage(folder)
    model, given = (folder, "") if kind == "model" else (saved, str(folder))
    with pytest.raises(BadInput, match=told) as caught:
        llm_from(f"hf/{model}", folder=tmp_path, adapter=given)
    assert re.search(r"; (name|save|fetch)", str(caught.value)), "there is no mend"
    assert "damaged" in str(caught.value)


def test_an_adapters_weights_alone_and_a_folder_or_a_model_that_are_gone_are_refused(
    saved: Path, adapter: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(BadInput, match="there is no folder"):
        llm_from(f"hf/{gone}", folder=tmp_path)
    with pytest.raises(BadInput, match="is a file"):
        llm_from(f"hf/{saved / 'config.json'}", folder=tmp_path)
    lost = Path(shutil.copytree(adapter, tmp_path / "lost"))
    (lost / "adapter_config.json").unlink()
    with pytest.raises(BadInput, match=r"holds no adapter_config\.json"):
        llm_from(f"hf/{lost}", folder=tmp_path)
    (lost / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(gone)}), encoding="utf-8")
    with pytest.raises(BadInput, match="which is not here; name that model as --llm"):
        llm_from(f"hf/{lost}", folder=tmp_path)


def test_in_training_an_empty_folder_is_bad_input_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    cases = tmp_path / "cases.jsonl"
    rows = [f'{{"positive": ["a{i}"], "disease": "d{i % 2}", "split": "train"}}' for i in range(8)]
    cases.write_text("\n".join([*rows, *(r.replace("train", "test") for r in rows)]), encoding="utf-8")
    command = ["train", "rlkgf", str(cases), "--out", str(tmp_path / "out"), "--model", str(tmp_path / "empty")]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, BadInput), (result.output, result.exception)
    assert "holds no config.json; name the folder" in str(result.exception)


@pytest.mark.parametrize("bits", [4, 8])
def test_narrow_weights_answer_and_say_so(saved: Path, bits: int) -> None:
    pytest.importorskip("bitsandbytes", reason="weights of 4 and 8 bits need bitsandbytes")
    pytest.importorskip("accelerate", reason="weights of 4 and 8 bits need accelerate")
    llm = TransformersLM(saved, bits=bits)
    kinds = {type(m).__name__ for m in llm._model.modules()}
    assert {4: "Linear4bit", 8: "Linear8bitLt"}[bits] in kinds
    assert llm(HELLO, max_tokens=4) == llm(HELLO, max_tokens=4)
    assert llm.settings["bits"] == bits


def test_narrow_weights_may_carry_an_adapter(saved: Path, adapter: Path) -> None:
    pytest.importorskip("bitsandbytes", reason="weights of 4 bits need bitsandbytes")
    pytest.importorskip("accelerate", reason="weights of 4 bits need accelerate")
    words = [" gout", " fever", " toe"]
    bare, put_on = TransformersLM(saved, bits=4), TransformersLM(saved, bits=4, adapter=adapter)
    assert not np.allclose(bare.logprobs("is a", words).totals, put_on.logprobs("is a", words).totals, atol=1e-2)


def test_a_folder_without_a_model_is_bad_input_that_says_what_is_not_in_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no config\.json; name the folder"):
        llm_from(f"hf/{tmp_path}", folder=tmp_path)
    with pytest.raises(BadInput, match=r"holds no config\.json"):
        encoder_from(f"local/{tmp_path}")


def test_other_widths_are_refused(saved: Path) -> None:
    with pytest.raises(BadInput, match="4 or 8 bits, not 5"):
        TransformersLM(saved, bits=5)


def test_a_device_that_is_not_there_is_refused_before_anything_is_read() -> None:
    for make in (TransformersLM, SentenceEncoder, TransformerCrossEncoder):
        with pytest.raises(BadInput, match=rf"nothing can be computed on '{ABSENT}'") as caught:
            make("/nowhere", device=ABSENT)
        assert "\n" not in str(caught.value)


def test_in_every_command_a_device_that_is_not_there_is_bad_input_in_one_line(saved: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    rows = [f'{{"positive": ["a{i}"], "disease": "d{i % 2}", "split": "train"}}' for i in range(8)]
    cases.write_text("\n".join([*rows, *(r.replace("train", "test") for r in rows)]), encoding="utf-8")
    out = ("--out", str(tmp_path / "out"))
    commands = [
        ["ask", "gout?", "--graph", "hpo", "--llm", f"hf/{saved}"],
        ["ask", "gout?", "--graph", "hpo", "--encoder", f"local/{saved}"],
        ["ask", "gout?", "--graph", "hpo", "--scorer", f"local/{saved}"],
        ["train", "sft", str(cases), *out, "--policy", "tiny"],
        ["train", "rlkgf", str(cases), *out, "--policy", "tiny"],
        ["train", "rlaif", str(cases), *out, "--policy", "tiny"],
        ["methods", "try", "--llm", f"hf/{saved}"],
    ]
    for command in commands:
        result = CliRunner().invoke(app, [*command, "--device", ABSENT])
        assert isinstance(result.exception, BadInput), (command, result.output, result.exception)
        assert "nothing can be computed on" in str(result.exception)
        assert "\n" not in str(result.exception)


def test_a_device_that_no_model_takes_is_refused_and_one_for_the_encoder_leaves_the_server_alone(saved: Path) -> None:
    with pytest.raises(BadInput, match="takes --device"):
        check_choices(Config(llm="openai/NAME", device="cuda"))
    with pytest.raises(BadInput, match="takes --texts"):
        check_choices(Config(encoder="ngrams", texts=8))
    chosen = Config(
        llm="openai/NAME", base_url="http://localhost:1/v1", encoder=f"local/{saved}", device="cpu", precision="float32"
    )
    check_choices(chosen)
    assert llm_of(chosen) is not None
    given: list[dict[str, Any]] = [{"device": "cpu"}, {"bits": 4}, {"adapter": "x"}]
    for choice in given:
        with pytest.raises(BadInput, match=rf"takes no {next(iter(choice))}"):
            llm_from("openai/NAME", folder=saved, **choice)


def test_encoders_and_scorers_take_precision_and_number_of_texts(tmp_path: Path) -> None:
    encoder_in(tmp_path)
    whole = encoder_from(f"local/{tmp_path / 'encoder'}")
    half = encoder_from(f"local/{tmp_path / 'encoder'}", precision="bfloat16", device="cpu", texts=2)
    texts = ["fever", "cough and gout", "gout gout gout"]
    assert np.allclose(whole(texts), half(texts), atol=0.05)
    assert not np.array_equal(whole(texts), half(texts))
    assert (whole.name, half.name) == ("encoder-mean-16", "encoder-bfloat16-mean-16")
    pairs = [("fever", "cough"), ("gout", "gout and fever")]
    first, second = (scorer_from(f"local/{tmp_path / 'cross'}", whole, precision=p)(pairs) for p in ("", "bfloat16"))
    assert np.allclose(first, second, atol=0.1)
    with pytest.raises(BadInput, match="no precision of a model"):
        encoder_from(f"local/{tmp_path / 'encoder'}", precision="float128")


def test_with_the_vectors_of_any_encoder_mindmap_and_hykge_compare_all_names(tmp_path: Path) -> None:
    encoder = SentenceEncoder(encoder_in(tmp_path) / "encoder")
    other = encoder.name
    encoder.name = f"{ENCODER}-{other}"  # the threshold of HyKGE's settings is for the paper's encoder
    names = ["fever", "gout and gout", "and fever and", "发热"]
    graph = small(tmp_path / "graph", tuple(NodeRow(f"X:{i}", name) for i, name in enumerate(names)))
    mention = [Mention("cough", "cough", 0, 5)]

    def linked(near: float) -> list[list[str]]:
        toolkit = Toolkit(graph, llm=Obliging(), encoder=encoder)
        made = (mindmap(toolkit, preset="paper"), hykge(toolkit, settings=HyKGESettings(similar=near)))
        return [[link.entity.name for link in one.link(mention)] for one in made]

    assert linked(-1.0) == [[], []]  # no name shares letters with it
    compute(graph, encoder)
    rows = encoder(["cough", *names])
    cosines = rows[1:] @ rows[0]
    best = names[int(cosines.argmax())]
    assert linked(-1.0) == [[best], [best]]
    assert linked(float(cosines.max()) + 0.01) == [[best], []]  # the threshold is HyKGE's alone
    encoder.name = other
    compute(graph, encoder)
    assert Toolkit(graph, encoder=encoder).unlike > cosines.max()  # names of two things are as near to each other
    assert linked(-1.0) == [[best], []]


@pytest.mark.gpu
def test_on_a_gpu_all_kinds_of_models_give_what_they_give_on_a_cpu(saved: Path, tmp_path: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    encoder_in(tmp_path)
    here, there = (SentenceEncoder(tmp_path / "encoder", device=d) for d in ("cpu", "cuda"))
    assert np.allclose(here(["gout and fever"]), there(["gout and fever"]), atol=1e-3)
    assert TransformersLM(saved, device="cuda")(HELLO, max_tokens=4).tokens_out > 0
    assert TransformersLM(saved, device="cuda", batch=4)(HELLO, max_tokens=4).tokens_out > 0
