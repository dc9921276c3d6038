"""A tagger as a folder: `tagger.json` (what it is) and `tagger.safetensors` (its weights); nothing is unpickled.

A tagger on a transformer also has the folder `encoder` with that model's configuration and tokenizer, so that opening
it needs neither a network nor the model it was made from.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from kgmed.errors import BadInput, SourceError, Unavailable
from kgmed.models.from_hub import loaded
from kgmed.models.use import UseEncoder
from kgmed.models.w2ner.encoders import Embeddings, Transformer, Vocabulary
from kgmed.models.w2ner.grid import THW
from kgmed.models.w2ner.labeller import Labeller
from kgmed.models.w2ner.network import W2NER
from kgmed.models.w2ner.settings import Architecture, from_plain, to_plain
from kgmed.stages import Encoder

PLAN, WEIGHTS, ENCODER = "tagger.json", "tagger.safetensors", "encoder"
_FORMAT = "kgmed tagger 1"


@dataclass(frozen=True, slots=True)
class Plan:
    """All of a tagger but its weights."""

    architecture: Architecture
    kinds: tuple[str, ...]
    vocabulary: Vocabulary


def new_network(plan: Plan, vectors: Encoder | None = None) -> W2NER:
    """A network with random weights, on a transformer as it was pretrained where the plan names one."""
    a = plan.architecture
    return _network(plan, _pretrained(a.encoder) if a.encoder else _embeddings(plan, vectors))


def on(network: W2NER, device: str) -> W2NER:
    """The network, moved to a device of torch; raises `BadInput` where there is none of that name."""
    try:
        return network.to(device)
    except (RuntimeError, AssertionError) as e:
        raise BadInput(f"nothing can be computed on {device!r} ({_short(e)}); try cpu") from None


def open_labeller(folder: Path, vectors: Encoder | None = None) -> Labeller:
    """The tagger of a folder; raises `SourceError` for a damaged file, `BadInput` for vectors that do not fit."""
    plan = read_plan(folder)
    a = plan.architecture
    network = _network(plan, _configured(folder / ENCODER) if a.encoder else _embeddings(plan, vectors))
    load_weights(network, read_tensors(folder / WEIGHTS)[0], folder / WEIGHTS)
    return Labeller(network.train(mode=False), plan.kinds, a)


def write_plan(folder: Path, plan: Plan, network: W2NER) -> None:
    """Put down all but the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(network.encoder, Transformer):
        network.encoder.write(folder / ENCODER)
    known = plan.vocabulary
    write_json(folder / PLAN, {"format": _FORMAT, "architecture": to_plain(plan.architecture), "kinds": plan.kinds,
                               "units": known.units, "pairs": known.pairs})  # fmt: skip


def read_plan(folder: Path) -> Plan:
    """What `write_plan` put down; raises `SourceError`."""
    path = folder / PLAN
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if read["format"] != _FORMAT:
            raise BadInput(f"its format is not {_FORMAT!r}")
        words = [tuple(map(_text, read[key])) for key in ("kinds", "units", "pairs")]
        return Plan(from_plain(read["architecture"]), words[0], Vocabulary(words[1], words[2]))
    except FileNotFoundError:
        raise SourceError(path, 0, "is not there", "name a folder that kgmed train ner has written") from None
    except (OSError, ValueError, KeyError, TypeError, BadInput) as e:
        raise SourceError(path, 0, f"is no tagger's description ({e})", "train it again") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def write_json(path: Path, value: object) -> None:
    """Put plain data into a file, whole or not at all."""
    _replace(path, lambda p: p.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"))


def write_tensors(path: Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any] | None = None) -> None:
    """Put tensors, and plain data beside them, into one file, whole or not at all."""
    own = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    _replace(path, lambda p: save_file(own, p, {"state": json.dumps(state or {}, ensure_ascii=False)}))


def _replace(path: Path, write: Any) -> None:
    """Write beside the file, then rename."""
    beside = path.with_name(f"{path.name}.new")
    write(beside)
    beside.replace(path)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file and the plain data beside them; raises `SourceError`."""
    try:
        with safe_open(path, framework="pt") as file:
            state = json.loads((file.metadata() or {}).get("state", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, dict(state)  # noqa: SIM118
    except FileNotFoundError:
        raise SourceError(path, 0, "is not there", "let kgmed train ner finish its first epoch") from None
    except (OSError, ValueError, SafetensorError) as e:
        raise SourceError(path, 0, f"cannot be read ({e})", "train it again") from None


def load_weights(network: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Give a network its weights; raises `SourceError` where they are not its own."""
    try:
        network.load_state_dict(dict(weights))
    except RuntimeError as e:
        raise SourceError(
            path, 0, f"holds other weights than {PLAN} tells of ({_short(e)})", "train it again"
        ) from None


def _network(plan: Plan, encoder: Embeddings | Transformer) -> W2NER:
    return W2NER(plan.architecture, encoder, encoder.width, THW + len(plan.kinds))


def _embeddings(plan: Plan, vectors: Encoder | None) -> Embeddings:
    """Embeddings, with the vectors that the plan names, if none are given the embedded ones; raises `BadInput`."""
    wanted = plan.architecture.vectors
    vectors = vectors or (UseEncoder() if wanted else None)
    given = vectors.name if vectors else ""
    if wanted != given:
        raise BadInput(f"this tagger was made on the vectors of {wanted or 'no encoder'}, not of {given or 'none'}")
    return Embeddings(plan.vocabulary, plan.architecture.embedding, vectors)


def _pretrained(model: str) -> Transformer:
    """A transformer with its weights, by folder or by name on the hub; raises `Unavailable` or `ModelFailed`."""
    tokenizer, model_itself = loaded("AutoModel", model)
    return Transformer(model_itself, tokenizer)


def _configured(folder: Path) -> Transformer:
    """A transformer with random weights, as the folder describes it; raises `SourceError`."""
    transformers = _transformers()
    here = {"pretrained_model_name_or_path": folder, "local_files_only": True}
    try:
        config = transformers.AutoConfig.from_pretrained(**here, trust_remote_code=False)
        tokenizer = transformers.AutoTokenizer.from_pretrained(**here, trust_remote_code=False)
        return Transformer(transformers.AutoModel.from_config(config, trust_remote_code=False), tokenizer)
    except (OSError, ValueError, KeyError, RuntimeError) as e:
        raise SourceError(folder, 0, f"is no encoder ({_short(e)})", "train it again") from None


def _transformers() -> Any:
    """The package; raises `Unavailable`."""
    try:
        return import_module("transformers")  # heavy
    except ImportError as e:
        raise Unavailable('a tagger on a transformer needs transformers: pip install "kgmed[train]"') from e


def _short(error: Exception) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split())[:200]
