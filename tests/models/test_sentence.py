"""On tiny models with random weights, built and saved by the real classes."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgmed.errors import BadInput, KgmedError, Unavailable
from kgmed.models.encoders import SentenceEncoder, TransformerCrossEncoder
from tiny_encoder import encoder_in

TEXTS = ["fever", "fever and cough and gout", "", "发热", "gout " * 100, "\ud800"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encoder_in(tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_rows_are_unit_vectors_that_no_padding_and_no_neighbour_changes(saved: Path, pooling: str) -> None:
    encode = SentenceEncoder(saved / "encoder", pooling=pooling, batch=2)
    rows = encode(TEXTS)
    assert rows.shape == (6, encode.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.allclose(rows, [encode([text])[0] for text in TEXTS], atol=1e-5)
    assert np.allclose(rows, SentenceEncoder(saved / "encoder", pooling=pooling, batch=99)(TEXTS), atol=1e-5)
    assert not np.allclose(rows[0], rows[3], atol=1e-2)
    assert encode([]).shape == (0, 8)


def test_the_mean_is_that_of_torch_over_the_tokens_of_the_text(saved: Path) -> None:
    import torch
    import transformers

    tokens = transformers.AutoTokenizer.from_pretrained(saved / "encoder")("fever and cough", return_tensors="pt")
    with torch.inference_mode():
        states = transformers.AutoModel.from_pretrained(saved / "encoder")(**tokens).last_hidden_state[0]
    wanted = torch.nn.functional.normalize(states.mean(0), dim=0).numpy()
    padded = SentenceEncoder(saved / "encoder")(["fever and cough", "gout and fever and cough and gout"])
    assert np.allclose(padded[0], wanted, atol=1e-5)


def test_scores_come_in_the_order_of_the_pairs_and_no_neighbour_changes_them(saved: Path) -> None:
    score = TransformerCrossEncoder(saved / "cross", batch=2)
    pairs = [("fever", "fever and cough and gout"), ("fever", "gout"), ("gout", "fever"), ("", "")]
    scores = score(pairs)
    assert np.allclose(scores, [score([pair])[0] for pair in pairs], atol=1e-5)
    assert len({round(float(s), 3) for s in scores}) == 4
    assert score([]).shape == (0,)


def test_names_tell_apart_what_gives_other_vectors(saved: Path) -> None:
    made = [SentenceEncoder(saved / "encoder", pooling=p, longest=n) for p in ("mean", "cls") for n in (0, 8)]
    assert [e.name for e in made] == ["encoder-mean-16", "encoder-mean-8", "encoder-cls-16", "encoder-cls-8"]
    assert str(saved) not in repr(made[0])


def test_a_model_of_several_numbers_is_no_pair_scorer(saved: Path) -> None:
    with pytest.raises(BadInput, match="gives 3 numbers"):
        TransformerCrossEncoder(saved / "three")


def test_a_folder_that_holds_no_model_is_refused_in_one_line(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(KgmedError, match="model") as caught:
        SentenceEncoder(tmp_path)
    assert "\n" not in str(caught.value)


class Attack:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return print, ("attacked",)


def test_a_pickle_of_tensors_is_read_and_one_with_code_in_it_is_refused_unrun(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    shutil.copytree(saved / "encoder", tmp_path / "m")
    weights = SentenceEncoder(saved / "encoder")._model.state_dict()
    (tmp_path / "m" / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "m" / "pytorch_model.bin")
    assert np.allclose(SentenceEncoder(tmp_path / "m")(TEXTS), SentenceEncoder(saved / "encoder")(TEXTS), atol=1e-5)
    torch.save({**weights, "x": Attack()}, tmp_path / "m" / "pytorch_model.bin")
    with pytest.raises(KgmedError, match="is a pickle of more than tensors"):
        SentenceEncoder(tmp_path / "m")
    assert "attacked" not in capsys.readouterr().out


def test_a_pooling_that_is_none_is_bad_input_before_anything_is_loaded() -> None:
    with pytest.raises(BadInput, match="mean, cls"):
        SentenceEncoder("nowhere", pooling="max")


def test_without_the_packages_what_to_install_is_said() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        with pytest.raises(Unavailable, match=r"kgmed\[local\]"):
            TransformerCrossEncoder("nowhere")
    else:
        pytest.skip("torch is installed")
