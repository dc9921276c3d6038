"""Encoders and pair scorers by the names that a person types."""

from pathlib import Path

from kgmed.errors import BadInput, UnknownName
from kgmed.models.http_encoder import LAYOUTS, HttpEncoder, HttpPairScorer
from kgmed.models.ngram import NgramEncoder
from kgmed.models.pairs import LexicalPairs
from kgmed.models.trained_pairs import load
from kgmed.models.use import UseEncoder
from kgmed.stages import Encoder, PairScorer

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
        from kgmed.models.sentence import SentenceEncoder  # heavy where it is made

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
        from kgmed.models.sentence import CrossEncoder  # heavy where it is made

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
