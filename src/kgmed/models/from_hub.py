"""Models loaded through `transformers`: from a local folder, by a name on the model hub, or from a GGUF file."""

import pickle
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from kgmed.errors import ModelFailed, Unavailable
from kgmed.models.get import fetched


def loaded(kind: str, model: str | Path, device: str = "cpu", *, dtype: str = "") -> tuple[Any, Any]:
    """Tokenizer and model of an `Auto...` class, ready to be asked; raises `Unavailable` or `ModelFailed`.

    Nothing of a model's own code is run, and weights that come as a pickle may hold tensors only. A path that ends in
    .gguf is read into full precision (package `gguf`). `dtype` such as float32; "" = that of the model.
    """
    try:
        import torch  # noqa: F401
        import transformers  # heavy
        from safetensors import SafetensorError
    except ImportError as error:
        raise Unavailable('transformer models need torch and transformers: pip install "kgmed[local]"') from error
    if not sys.stderr.isatty():
        bars: Any = transformers.utils.logging
        bars.disable_progress_bar()
    path = Path(model)
    file = {"gguf_file": path.name} if path.suffix.lower() == ".gguf" else {}
    place = path.parent if file else model
    number = {"dtype": dtype} if dtype else {}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False, **file)
        found = getattr(transformers, kind).from_pretrained(place, trust_remote_code=False, **file, **number)
    except OSError as error:  # no such folder, no such name, no network, a file that is missing
        raise Unavailable(f"cannot load the model {model}: {' '.join(str(error).split())[:200]}") from error
    except ImportError as error:
        raise Unavailable('GGUF files need the package gguf: pip install "kgmed[local]"') from error
    except (ValueError, KeyError, RuntimeError, SafetensorError, pickle.UnpicklingError) as error:
        raise ModelFailed(f"{model} is no model that can be used: {' '.join(str(error).split())[:200]}") from error
    return tokenizer, found.to(device).train(mode=False)


def as_folder(name: str, folder: Path) -> Path:
    """A packaged GGUF model of that data folder as a folder that transformers reads in a second.

    Made once, beside the file (20 s; 0.5 GB for smollm2). Raises `Unavailable`.
    """
    file = fetched(name, folder)
    made = file.with_suffix(".transformers")
    if not made.is_dir():
        try:
            _make_folder(file, made)
        except OSError as error:
            if not made.is_dir():  # else another process made it meanwhile
                raise Unavailable(f"cannot keep the model in {made.parent}: {error.strerror or error}") from error
    return made


def _make_folder(file: Path, made: Path) -> None:
    """Write the folder beside its place and rename it, so that it is never half there."""
    beside = Path(tempfile.mkdtemp(prefix=".", dir=made.parent))
    try:
        tokenizer, model = loaded("AutoModelForCausalLM", file, dtype="float32")
        model.hf_quantizer, model.is_quantized = None, False  # else transformers refuses to save what was quantised
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(beside)
        tokenizer.save_pretrained(beside)
        beside.rename(made)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
