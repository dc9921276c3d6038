"""From the names that a person types to an `Asker`: graphs of the data folder or behind a server, a method, models."""

import os
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath

from kgmed.answering import Asker
from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.folders import data_folder
from kgmed.kg import library, sources
from kgmed.kg.fuzzy import Fuzzy
from kgmed.kg.glossary import Glossary
from kgmed.kg.graph import KnowledgeGraph, LocalGraph
from kgmed.kg.remote.named import is_remote, remote
from kgmed.kg.vectors import compute
from kgmed.kit import Kit, default_encoder
from kgmed.models.at_most import AtMost
from kgmed.models.brief import Brief
from kgmed.models.cached import Absent, Cached, Mode, recorded
from kgmed.models.choose import llm_from
from kgmed.models.get import MODELS
from kgmed.models.ledger import Reaching, Told
from kgmed.models.metered import Budget, Metered
from kgmed.models.ngram import NgramEncoder
from kgmed.models.parts import encoder_from, scorer_from
from kgmed.models.prices import prices
from kgmed.models.rate import Rate
from kgmed.models.remembered import Remembered
from kgmed.recognize.tagger import open_tagger
from kgmed.registry import method as method_named
from kgmed.setup import AUTO, Setup
from kgmed.stages import LLM

Progress = Callable[[int], None]


def asker(chosen: Setup, *, progress: Progress | None, environment: Mapping[str, str] = os.environ) -> Asker:
    """See `kgmed.load`; `environment` is where the key of a remote graph is looked for."""
    if chosen.method != AUTO:
        method_named(chosen.method)
    languages = {} if is_remote(chosen.graph) else _languages()
    names = tuple(languages) if chosen.graph == AUTO else (chosen.graph,)
    if not names:
        raise Unavailable('no graph is here; pip install "kgmed[starter]", or: kgmed graph build NAME FILE')
    encoder = encoder_from(chosen.encoder) if chosen.encoder else default_encoder()
    if not isinstance(encoder, NgramEncoder):
        encoder = Remembered(encoder)

    def open_graph(name: str) -> KnowledgeGraph:
        return remote(name, data_folder(), environment) if is_remote(name) else _open(name, progress)

    return Asker(
        names,
        open_graph,
        languages,
        chosen.method,
        model(chosen),
        encoder,
        pairs=scorer_from(chosen.scorer, encoder) if chosen.scorer else None,
        prompts=chosen.prompts,
        glossary=Glossary(_open(chosen.glossary, progress)) if chosen.glossary else None,
        preset=chosen.preset,
        settings=chosen.settings,
        evidence_tokens=chosen.evidence_tokens,
        abstain_below=chosen.abstain_below,
        tagger=open_tagger(chosen.tagger) if chosen.tagger else None,
        choose=chosen.choose,
    )


def model(chosen: Setup) -> LLM | None:
    """The language model, within its limits, behind its cache, its calls written down; None where none is named."""
    replayed = chosen.cache is not None and chosen.cache_mode is Mode.REPLAY
    if not chosen.llm and not replayed:
        if chosen.cache:
            raise BadInput("a cache of replies needs a model to record: --llm NAME, or --cache-mode replay")
        return None
    llm = _recorded(chosen, chosen.cache) if replayed and chosen.cache else _model(chosen)
    table = prices(chosen.prices)
    behind: LLM = Reaching(llm)
    if not replayed:
        behind = _limited(behind, chosen)
    if chosen.cache:
        behind = Cached(behind, chosen.cache, mode=chosen.cache_mode)
    if chosen.reply_tokens:
        behind = Brief(behind, chosen.reply_tokens)
    return Told(behind, price=table.get(llm.name), behind=True)


def _model(chosen: Setup) -> LLM:
    """The model that is named."""
    precision, batch = chosen.precision, chosen.batch
    return llm_from(chosen.llm, base_url=chosen.base_url, folder=data_folder(), batch=batch, precision=precision)


def _limited(llm: LLM, chosen: Setup) -> LLM:
    """The model within its budget, rate and number of calls."""
    if chosen.budget is not None or chosen.rate:
        money = None if chosen.budget is None else Decimal(str(chosen.budget))
        rate = Rate(chosen.rate) if chosen.rate else None
        at_once = max(8, chosen.batch)
        llm = Metered(llm, budget=Budget(money), price=prices(chosen.prices), rate=rate, at_once=at_once)
    return AtMost(llm, chosen.max_calls) if chosen.max_calls else llm


def _recorded(chosen: Setup, path: Path) -> LLM:
    """The model whose replies are replayed: by name and settings where it is behind a server, else from the file."""
    if chosen.llm.startswith(("openai/", "anthropic/")):
        return _model(chosen)
    known = recorded(path)
    wanted = _file_name(chosen.llm)
    found = [m for m in known if (not wanted or m.name == wanted) and _set_so(m.settings, chosen)]
    if len(found) != 1:
        names = sorted({m.name for m in known})
        if wanted and not found:
            raise UnknownName(f"recorded model in {path}", wanted, names)
        raise BadInput(f"{path} has replies of {len(found)} models ({', '.join(names)}); name one by --llm")
    return Absent(found[0].name, found[0].settings)


def _set_so(settings: Mapping[str, object], chosen: Setup) -> bool:
    """Whether a recorded model was asked with the batch and the precision that are given, if any are."""
    return (chosen.batch == 1 or settings.get("batch") == chosen.batch) and (
        not chosen.precision or settings.get("dtype") == chosen.precision
    )


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


def prepare(name: str) -> None:
    """Compute what asking a graph needs (the indexes of its names), so that the first question does not wait for it."""
    Kit(library.load(name), encoder=NgramEncoder()).prepare()


def vectors(name: str, progress: Progress) -> tuple[int, str]:
    """How many names of a graph have vectors now, and by which encoder."""
    store, encoder = library.load(name), default_encoder()
    compute(store, encoder, lambda done, of: progress(done))
    return len(Fuzzy(store)), encoder.name


def _languages() -> dict[str, str]:
    """The graphs that can be asked, packaged ones first, with the language of their names."""
    built = {m.name: m.language for m in library.graphs()}
    packaged = {name: built.get(name) or _language(name) for name in library.PACKAGED}
    return {name: language for name, language in packaged.items() if language is not None} | built


def _language(name: str) -> str | None:
    """The language of a packaged graph that is not built yet; None where its package is not installed."""
    try:
        return sources.read(library.PACKAGED[name], None, name=name).language
    except Unavailable:
        return None


def _open(name: str, progress: Progress | None) -> LocalGraph:
    """A graph by name or folder; a packaged one is built when it is not there yet."""
    if name in library.PACKAGED and not any(m.name == name for m in library.graphs()):
        library.build_graph(name, progress=progress)
    return library.load(name)
