"""A model's folder is data: neither its pickled weights nor its own code can run anything."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgmed.errors import KgmedError
from tiny_causal import saved_in

torch = pytest.importorskip("torch", reason="needs torch and transformers")
pytest.importorskip("transformers", reason="needs torch and transformers")


class Trap:
    """Makes a file when it is unpickled with classes allowed."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Path]]:
        return Path.touch, (self.mark,)


def by_library(folder: Path) -> object:
    from kgmed.models.transformers_lm import TransformersLM

    return TransformersLM(folder)([])


def by_trainer(folder: Path) -> object:
    from kgmed.train.causal import load_causal as opened

    return opened(str(folder), folder)


def by_tagger(folder: Path) -> object:
    from kgmed.models.w2ner_network import _pretrained

    return _pretrained(str(folder))


WAYS = [by_library, by_trainer, by_tagger]


@pytest.mark.parametrize("way", WAYS)
def test_weights_that_would_run_something_are_refused(way: Callable[[Path], object], tmp_path: Path) -> None:
    folder, mark = saved_in(tmp_path / "model"), tmp_path / "mark"
    (folder / "model.safetensors").unlink()
    torch.save({"model.embed_tokens.weight": Trap(mark)}, folder / "pytorch_model.bin")
    with pytest.raises(KgmedError):
        way(folder)
    assert not mark.exists()
    with (tmp_path / "trap").open("wb") as file:
        pickle.dump(Trap(mark), file)
    pickle.loads((tmp_path / "trap").read_bytes())
    assert mark.exists(), "the trap itself works"


@pytest.mark.parametrize("way", WAYS)
def test_code_in_a_models_folder_is_not_run(way: Callable[[Path], object], tmp_path: Path) -> None:
    folder, mark = saved_in(tmp_path / "model"), tmp_path / "mark"
    (folder / "own.py").write_text(f"from pathlib import Path\nPath({str(mark)!r}).touch()\n", encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    classes = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForCausalLM"), "own.Own")
    config |= {"model_type": "own", "auto_map": classes}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(KgmedError):
        way(folder)
    assert not mark.exists()
