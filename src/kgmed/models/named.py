"""Language models, encoders and pair scorers by the names that a person types."""

from pathlib import Path

from kgmed.errors import BadInput, UnknownName
from kgmed.models.base import LLM, Encoder, PairScorer
from kgmed.models.encoders import LAYOUTS, HttpEncoder, HttpPairScorer, NgramEncoder, UseEncoder
from kgmed.models.files import MODELS, as_folder, fetched_file
from kgmed.models.gguf import Gguf
from kgmed.models.hosted import Anthropic, OpenAI
from kgmed.models.scorers import LexicalPairs, load

# --- Language models by the names that a person types.


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
    return Gguf(fetched_file(spec, folder))


# --- Encoders and pair scorers by the names that a person types.


ENCODERS = ("use", "ngrams", "local/NAME", "local-cls/NAME", "server/NAME@URL")
SCORERS = ("words", "trained/FILE", "local/NAME", *(f"{layout}/NAME@URL" for layout in LAYOUTS))


def encoder_from(spec: str) -> Encoder:
    """The encoder of that name.

    `use` is the embedded one, `ngrams` needs nothing; `local/NAME` is a folder or a name on the model hub, read by the
    mean of its tokens (`local-cls/NAME`: by its first), `server/NAME@URL` a model behind `URL/embeddings`.
    """
    kind, _, rest = spec.partition("/")
    if spec == "use":
        return UseEncoder()
    if spec == "ngrams":
        return NgramEncoder()
    if kind in ("local", "local-cls") and rest:
        from kgmed.models.encoders import SentenceEncoder  # heavy where it is made

        return SentenceEncoder(_place(rest), pooling="cls" if kind == "local-cls" else "mean")
    if kind == "server" and rest:
        return HttpEncoder(*_at(rest, spec))
    raise UnknownName("encoder", spec, ENCODERS)


def scorer_from(spec: str, encoder: Encoder) -> PairScorer:
    """The pair scorer of that name; `words` is `LexicalPairs` over the encoder.

    `trained/FILE` is what `kgmed train pairs` left, for the encoder that it was trained with.
    `local/NAME` is a cross-encoder in a folder or on the model hub; `vllm/NAME@URL`, `cohere/...` and `jina/...` are
    models behind `URL/rerank`.
    """
    kind, _, rest = spec.partition("/")
    if spec == "words":
        return LexicalPairs(encoder)
    if kind == "trained" and rest:
        return load(Path(_place(rest)), encoder)
    if kind == "local" and rest:
        from kgmed.models.encoders import TransformerCrossEncoder as CrossEncoder  # heavy where it is made

        return CrossEncoder(_place(rest))
    if kind in LAYOUTS and rest:
        name, url = _at(rest, spec)
        return HttpPairScorer(name, url, layout=kind)
    raise UnknownName("scorer", spec, SCORERS)


def name_of(part: object) -> str:
    """What a part is called in a run's record: its own name, else its class."""
    name = getattr(part, "name", "")
    return name if isinstance(name, str) and name else type(part).__name__


def _place(rest: str) -> str:
    """The folder, with ~ for home, or the name on the hub."""
    return str(Path(rest).expanduser()) if rest.startswith("~") else rest


def _at(rest: str, spec: str) -> tuple[str, str]:
    """Name and address of a model behind a server."""
    name, at, url = rest.rpartition("@")
    if not (at and name and url.startswith(("http://", "https://"))):
        raise BadInput(f"{spec!r} does not say where its server is; write {spec.split('/')[0]}/NAME@https://HOST/v1")
    return name, url
