"""Language models by the names that a person types."""

from pathlib import Path

from kgmed.errors import BadInput, UnknownName
from kgmed.models.anthropic import Anthropic
from kgmed.models.from_hub import as_folder
from kgmed.models.get import MODELS, fetched
from kgmed.models.gguf import Gguf
from kgmed.models.openai import OpenAI
from kgmed.stages import LLM

FORMS = ("gguf/PATH", "hf/FOLDER_OR_NAME", "openai/NAME", "anthropic/NAME", *MODELS)


def llm_from(spec: str, *, base_url: str = "", folder: Path, batch: int = 1, precision: str = "") -> LLM:
    """The language model of that name; `folder` is the data folder that packaged models are kept in.

    `openai/NAME` is any model behind an OpenAI-compatible server (`base_url`), `anthropic/NAME` one of
    Anthropic's, `gguf/PATH` or a path that ends in .gguf a file, `hf/...` a folder, a name on the model hub or a GGUF
    file read through transformers, `smollm2` and `hf/smollm2` the one that `kgmed models get smollm2` fetches. `batch`
    and `precision` are for `hf/...` only (see `TransformersLM`).
    """
    kind, _, rest = spec.partition("/")
    if (batch != 1 or precision) and not (kind == "hf" and rest):
        raise BadInput(f"{spec!r} takes neither a batch nor a precision; name a model as hf/FOLDER_OR_NAME for them")
    if kind == "openai" and rest:
        return OpenAI(rest, base_url=base_url)
    if kind == "anthropic" and rest:
        return Anthropic(rest, base_url=base_url)
    if base_url:
        raise BadInput(f"{spec!r} runs here and takes no base URL; name a model behind it as openai/NAME")
    if kind == "gguf" and rest:
        return Gguf(Path(rest).expanduser())
    if kind == "hf" and rest:
        from kgmed.models.transformers_lm import AUTO, TransformersLM  # heavy where it is made

        path = Path(rest).expanduser()
        place = as_folder(rest, folder) if rest in MODELS else path if path.exists() else rest
        return TransformersLM(place, batch=batch, dtype=precision or AUTO)
    if spec.lower().endswith(".gguf"):
        return Gguf(Path(spec).expanduser())
    if spec not in MODELS:
        raise UnknownName("language model", spec, FORMS)
    return Gguf(fetched(spec, folder))
