"""Language models, encoders and pair scorers by the names that a person types."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

from kgmed.config import Config, Mode
from kgmed.disk import data_folder
from kgmed.errors import BadInput, UnknownName
from kgmed.models.base import LLM, Encoder, PairScorer
from kgmed.models.cache import Absent, CachedLLM, recorded_models
from kgmed.models.files import MODELS
from kgmed.models.limits import Budget, CallLimit, CountedLLM, Metered, RecordedLLM, ReplyLimit, prices
from kgmed.registry import Factories, encoders, models, scorers
from kgmed.servers import TokenBucket

# --- By name; each registers where it stands.


HERE = ("batch", "precision", "device", "bits", "adapter")  # choices for what runs in this process


def llm_from(spec: str, *, base_url: str = "", folder: Path, **here: Any) -> LLM:
    """The language model of that name; `folder` is the data folder that packaged models are kept in.

    `openai/NAME` is any model behind an OpenAI-compatible server (`base_url`), `anthropic/NAME` one of
    Anthropic's, `gguf/PATH` or a path that ends in .gguf a file, `hf/...` a folder, a name on the model hub or a GGUF
    file read through transformers, `smollm2` and `hf/smollm2` the one that `kgmed models get smollm2` fetches. `here`
    = those of `HERE` that are wanted, for `hf/...` only (see `TransformersLM`).
    """
    given = {"batch": 1, "precision": "", "device": "", "bits": 0, "adapter": ""} | here
    name, takes = _form(spec)
    if wanted := _asked(given) - takes:
        what = "neither a batch nor a precision" if wanted & {"batch", "precision"} else f"no {sorted(wanted)[0]}"
        raise BadInput(f"{spec!r} takes {what}; name a model as hf/FOLDER_OR_NAME for them")
    if base_url and "base_url" not in takes:
        raise BadInput(f"{spec!r} runs here and takes no base URL; name a model behind it as openai/NAME")
    made: LLM = models.make(name, base_url=base_url, folder=folder, **given)
    return made


def check_name(spec: str) -> None:
    """Raises `UnknownName` for what is no name of a language model, before anything is read or counted for it."""
    models.find(_form(spec)[0])


def _asked(given: Mapping[str, Any]) -> set[str]:
    """Which of the choices are made."""
    return {name for name in HERE if given[name] and (name, given[name]) != ("batch", 1)}


def _form(spec: str) -> tuple[str, frozenset[str]]:
    """The name with its form, for a file that is named by its path alone, and which choices its maker takes."""
    try:
        return spec, frozenset(models.find(spec)[0].takes)
    except UnknownName:
        return (f"gguf/{spec}" if spec.lower().endswith(".gguf") else spec), frozenset()


def encoder_from(spec: str, *, device: str = "", precision: str = "", texts: int = 0) -> Encoder:
    """The encoder of that name; raises `UnknownName`, `BadInput`, `Unavailable`.

    `use` is the embedded one, `ngrams` needs nothing; `local/NAME` is a folder or a name on the model hub, read by the
    mean of its tokens (`local-cls/NAME`: by its first), `server/NAME@URL` a model behind `URL/embeddings`. Those of
    this process (`local...`) take a device, a precision, and how many `texts` are read at once (0 = 32).
    """
    made: Encoder = encoders.make(spec, device=device, precision=precision, texts=texts)
    return made


def scorer_from(spec: str, encoder: Encoder, *, device: str = "", precision: str = "", texts: int = 0) -> PairScorer:
    """The pair scorer of that name; `words` is `LexicalPairs` over the encoder.

    `trained/FILE` is what `kgmed train pairs` left, for the encoder that it was trained with.
    `local/NAME` is a cross-encoder in a folder or on the model hub, with the choices of a local encoder;
    `vllm/NAME@URL`, `cohere/...` and `jina/...` are models behind `URL/rerank`. Raises `UnknownName`, `BadInput`,
    `Unavailable`.
    """
    made: PairScorer = scorers.make(spec, encoder=encoder, device=device, precision=precision, texts=texts)
    return made


def check_choices(chosen: Config) -> None:
    """Raises `BadInput` where a device, precision or number of texts is chosen and nothing that is named takes it."""
    parts = [(models, chosen.llm), (encoders, chosen.encoder), (scorers, chosen.scorer)]
    takes = {choice for kind, spec in parts if spec for choice in _takes(kind, spec)}
    takes |= {"device"} if chosen.tagger else set()
    for name in ("device", "precision", "texts"):
        if getattr(chosen, name) and name not in takes:
            raise BadInput(
                f"no model that is named takes --{name}; name one that runs here: --llm hf/NAME, --encoder local/NAME "
                "or --scorer local/NAME"
            )


def _takes(kind: Factories[Any], spec: str) -> tuple[str, ...]:
    """The choices that a part of that name takes."""
    try:
        return kind.find(spec)[0].takes
    except UnknownName:
        return ()


# --- The language model that a configuration names, within its limits and behind its cache.


def llm_of(chosen: Config) -> LLM | None:
    """The language model, within its limits, behind its cache, its calls written down; None where none is named."""
    replayed = chosen.cache is not None and chosen.cache_mode is Mode.REPLAY
    if not chosen.llm and not replayed:
        if chosen.cache:
            raise BadInput("a cache of replies needs a model to record: --llm NAME, or --cache-mode replay")
        return None
    llm = _recorded(chosen, chosen.cache) if replayed and chosen.cache else _model(chosen)
    table = prices(chosen.prices)
    behind: LLM = CountedLLM(llm)
    if not replayed:
        behind = _limited(behind, chosen)
    if chosen.cache:
        behind = CachedLLM(behind, chosen.cache, mode=chosen.cache_mode)
    if chosen.reply_tokens:
        behind = ReplyLimit(behind, chosen.reply_tokens)
    return RecordedLLM(behind, price=table.get(llm.name), behind=True)


def _model(chosen: Config) -> LLM:
    """The model that is named."""
    here = {name: getattr(chosen, name) for name in HERE}
    others = (chosen.encoder, chosen.scorer)
    if any(other.startswith("local") for other in others) and not {"device"} & _form(chosen.llm)[1]:
        here |= {"device": "", "precision": ""}  # those are for the encoder or the scorer
    return llm_from(chosen.llm, base_url=chosen.base_url, folder=data_folder(), **here)


def _limited(llm: LLM, chosen: Config) -> LLM:
    """The model within its budget, rate and number of calls."""
    if chosen.budget is not None or chosen.rate:
        money = None if chosen.budget is None else Decimal(str(chosen.budget))
        rate = TokenBucket(chosen.rate / 60) if chosen.rate else None
        at_once = max(8, chosen.batch)
        llm = Metered(llm, budget=Budget(money), price=prices(chosen.prices), rate=rate, at_once=at_once)
    return CallLimit(llm, chosen.max_calls) if chosen.max_calls else llm


def _recorded(chosen: Config, path: Path) -> LLM:
    """The model whose replies are replayed: by name and settings where it is behind a server, else from the file."""
    if chosen.llm.startswith(("openai/", "anthropic/")):
        return _model(chosen)
    known = recorded_models(path)
    wanted = _file_name(chosen.llm)
    found = [m for m in known if (not wanted or m.name == wanted) and _set_so(m.settings, chosen)]
    if len(found) != 1:
        names = sorted({m.name for m in known})
        if wanted and not found:
            raise UnknownName(f"recorded model in {path}", wanted, names)
        raise BadInput(f"{path} has replies of {len(found)} models ({', '.join(names)}); name one by --llm")
    return Absent(found[0].name, found[0].settings)


def _set_so(settings: Mapping[str, object], chosen: Config) -> bool:
    """Whether a recorded model was asked with the batch, the precision and the bits that are given, if any are."""
    given = {"batch": chosen.batch if chosen.batch > 1 else 0, "dtype": chosen.precision, "bits": chosen.bits}
    return all(not value or settings.get(name) == value for name, value in given.items())


def _file_name(spec: str) -> str:
    """What a model in a file is called in the cache.

    >>> _file_name("models/a.gguf"), _file_name("gguf/models/a.gguf"), _file_name("")
    ('gguf/a.gguf', 'gguf/a.gguf', '')
    >>> _file_name("hf/org/name")
    'hf/org/name'
    """
    if spec.startswith("hf/"):
        path = Path(spec.removeprefix("hf/")).expanduser()
        return f"hf/{path.name}" if path.exists() else spec
    place = MODELS[spec].member if spec in MODELS else spec
    return f"gguf/{PurePosixPath(place).name}" if spec else ""
