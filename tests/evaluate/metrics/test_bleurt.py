"""BLEURT-20's layout on a tiny checkpoint that TensorFlow wrote, held against the numbers that TensorFlow gives for it.

`tiny_bleurt` was made by TensorFlow 2: the layers of BLEURT's modeling.py and RemBERT's projection, 2 layers of 8,
random weights, saved by its `Saver`; `BY_TENSORFLOW` is what its session gave for `IDS`.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval_makers import run
from kgmed.errors import BadInput, KgmedError, ModelFailed, SourceError
from kgmed.evaluate.items import Choices, Gold, Item
from kgmed.evaluate.metrics import make
from kgmed.evaluate.metrics.bleurt import Bleurt, _network, _object, _renamed, read_bundle
from kgmed.records import Question

torch: Any = pytest.importorskip("torch", reason="needs torch and transformers")
pytest.importorskip("transformers", reason="needs torch and transformers")
spm: Any = pytest.importorskip("sentencepiece", reason="needs sentencepiece")

TINY = Path(__file__).parent / "tiny_bleurt"
IDS = [[2, 5, 6, 3, 7, 8, 9, 3], [2, 5, 3, 7, 3], [2, 10, 11, 12, 3, 13, 3]]
BY_TENSORFLOW = [0.47629642486572266, 0.35981905460357666, 0.30149149894714355]
WORDS = ["▁", "g", "o", "u", "t", "f", "l", "e", "v", "r", "a"]


class Letters:
    """Sentence pieces that are numbers in the text."""

    def piece_to_id(self, piece: str) -> int:
        return {"[CLS]": 2, "[SEP]": 3}[piece]

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The checkpoint with sentence pieces of its own."""
    found = tmp_path / "BLEURT-tiny"
    shutil.copytree(TINY, found)
    corpus = ["gout flu fever", "goal rate", "over a lot of tea"] * 20
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus), model_prefix=str(found / "sent_piece"), vocab_size=16, model_type="char",
        pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, user_defined_symbols=["[CLS]", "[SEP]"], hard_vocab_limit=False,
        minloglevel=2,
    )  # fmt: skip
    return found


def pair(ids: list[int]) -> tuple[str, str]:
    """The texts of a row of pieces."""
    first = ids.index(3)
    return " ".join(map(str, ids[1:first])), " ".join(map(str, ids[first + 1 : -1]))


def test_the_numbers_are_those_of_tensorflow_whatever_stands_in_a_batch() -> None:
    weights = _renamed(read_bundle(TINY / "variables/variables"))
    network = _network(TINY, _object(TINY / "bert_config.json"), weights)
    scorer = Bleurt(network, Letters(), 16, "tiny")
    pairs = [pair(ids) for ids in IDS]
    assert scorer(pairs).tolist() == pytest.approx(BY_TENSORFLOW, abs=2e-6)
    assert [float(scorer([p])[0]) for p in pairs] == pytest.approx(BY_TENSORFLOW, abs=2e-6)


def test_a_text_that_is_too_long_loses_its_last_pieces() -> None:
    scorer = Bleurt(None, Letters(), 8, "tiny")
    assert scorer._row("5 6 7 8", "9 10 11") == ([2, 5, 6, 7, 3, 9, 10, 3], 5)


def test_every_variable_of_the_bundle_is_read_and_no_other() -> None:
    found = read_bundle(TINY / "variables/variables")
    assert found["bert/embeddings/word_embeddings"].shape == (16, 4)
    assert found["bert/encoder/layer_1/intermediate/dense/kernel"].shape == (8, 12)
    assert found["global_step"] == 0
    assert sum(v.nbytes for v in found.values()) == (TINY / "variables/variables.data-00000-of-00001").stat().st_size


def test_the_authors_layout_and_a_converted_one_give_the_same_metric(folder: Path, tmp_path: Path) -> None:
    item = Item(Question("What is it?", id="q"), Gold(texts=("gout", "fever")))
    (own,) = make("bleurt", Choices({"": str(folder)}), [item])
    converted = tmp_path / "converted"
    converted.mkdir()
    config = json.loads((folder / "bert_config.json").read_text()) | {"model_type": "bleurt"}
    (converted / "config.json").write_text(json.dumps(config))
    shutil.copy(folder / "sent_piece.model", converted)
    names = {
        name.replace("rembert.", "bleurt.").replace(
            "embedding_hidden_mapping_in", "embedding_projection"
        ): torch.tensor(np.array(values))
        for name, values in _renamed(read_bundle(folder / "variables/variables")).items()
    }
    save_file = pytest.importorskip("safetensors.torch").save_file
    kept = names | {"bleurt.embeddings.position_ids": torch.arange(16)[None]}
    save_file({name: weight.contiguous() for name, weight in kept.items()}, converted / "model.safetensors")
    (other,) = make("bleurt", Choices({"": str(converted)}), [item])
    answered = run(item.question, "a gout")
    assert own.of(answered, item) == pytest.approx(other.of(answered, item), abs=1e-6)
    assert own.of(answered, item) != own.of(run(item.question, "tea"), item)
    one = Item(item.question, Gold(texts=("gout",)))
    (alone,) = make("bleurt", Choices({"": str(folder)}), [one])
    assert alone.of(None, one) == alone.of(run(one.question, ""), one)
    assert "BLEURT-tiny@" in own.source
    assert "16 pieces" in own.source
    with pytest.raises(BadInput, match="nothing can be computed on 'cuda:93'"):
        make("bleurt", Choices({"": str(folder)}, device="cuda:93"), [item])


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("variables/variables.index", b"x" * 99, "holds no variables of TensorFlow"),
        ("variables/variables.index", None, "cannot be read"),
        ("variables/variables.data-00000-of-00001", b"", "holds no variables of TensorFlow"),
        ("bert_config.json", b"{}", "its configuration lacks one of embedding_size"),
        ("bert_config.json", b"[]", "is no JSON object"),
        ("sent_piece.model", b"no pieces", "holds no sentence pieces"),
    ],
)
def test_a_damaged_checkpoint_is_refused_in_one_line(folder: Path, file: str, content: bytes | None, told: str) -> None:
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    with pytest.raises((SourceError, ModelFailed), match=told) as caught:
        Bleurt.open(folder)
    assert "\n" not in str(caught.value)


def test_a_bundle_cut_anywhere_is_refused_or_lacks_nothing(tmp_path: Path) -> None:
    whole = (TINY / "variables/variables.index").read_bytes()
    shutil.copy(TINY / "variables/variables.data-00000-of-00001", tmp_path / "variables.data-00000-of-00001")
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        (tmp_path / "variables.index").write_bytes(damaged)
        try:
            read_bundle(tmp_path / "variables")
        except KgmedError as error:
            assert "variables.index" in str(error)  # noqa: PT017 - some damage does not show, none may end otherwise
