"""The numbers of the network, those of HyKGE as defaults."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from kgmed.errors import BadInput

Preset = Literal["paper", "code", "small"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The shape of a network; "paper" and "code" are those of HyKGE (arXiv 2312.15883)."""

    encoder: str = ""  # folder or hub name of a transformer; "" = embeddings of units, learnt from nothing
    vectors: str = ""  # name of a kgmed encoder whose frozen vectors of the units stand beside the learnt ones
    embedding: int = 128  # ours: of a unit, and of two neighbours; not used with a transformer
    hidden: int = 1024  # paper, both directions of the LSTM together; 512 in the code
    distance: int = 20  # W2NER
    region: int = 20  # W2NER
    channels: int = 128  # code; not in HyKGE's paper
    dilations: tuple[int, ...] = (1, 2, 3)  # W2NER; 1 to 4 in HyKGE's code
    biaffine: int = 512  # code
    perceptron: int = 128  # ours: hidden width of the perceptron over the convolutions
    dropout: float = 0.5  # W2NER
    window: int = 128  # ours: units that are looked at together
    overlap: int = 48  # ours: units that two windows share; an entity up to half as long is never cut

    def __post_init__(self) -> None:
        """Raise `BadInput` for numbers that make no network."""
        least = {"embedding": 1, "hidden": 2, "distance": 1, "region": 1, "channels": 1, "biaffine": 1, "perceptron": 1}
        for name, number in least.items():
            if getattr(self, name) < number:
                raise BadInput(f"{name} is {getattr(self, name)}; it must be at least {number}")
        if self.hidden % 2:
            raise BadInput(f"hidden is {self.hidden}; it is of two directions and must be even")
        if not self.dilations or min(self.dilations) < 1:
            raise BadInput(f"dilations are {self.dilations}; give at least one, each at least 1")
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout is {self.dropout}; it must be from 0 to below 1")
        if not 0 <= self.overlap < self.window:
            raise BadInput(f"a window of {self.window} units cannot share {self.overlap} with the next; share fewer")


PAPER = Architecture()
PRESETS: dict[Preset, Architecture] = {
    "paper": PAPER,
    "code": replace(PAPER, hidden=512, dilations=(1, 2, 3, 4)),
    "small": replace(  # ours: for one core without a GPU
        PAPER, embedding=96, hidden=256, channels=32, biaffine=64, perceptron=32, dropout=0.3, window=64, overlap=32
    ),
}


def to_plain(architecture: Architecture) -> dict[str, Any]:
    """The numbers as plain data.

    >>> from_plain(to_plain(PAPER)) == PAPER
    True
    """
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(architecture).items()}


def from_plain(plain: object) -> Architecture:
    """The numbers from plain data; raises `BadInput` for a name, a kind or a number that cannot be."""
    known = {f.name: getattr(PAPER, f.name) for f in fields(Architecture)}
    if not isinstance(plain, Mapping) or set(plain) != set(known):
        raise BadInput(f"the network needs exactly the settings {', '.join(known)}")
    for name, value in plain.items():
        items = value if name == "dilations" and isinstance(value, list) else [value]
        kind = int if name == "dilations" else type(known[name])
        if not all(type(item) in ((int, float) if kind is float else (kind,)) for item in items):
            raise BadInput(f"the setting {name} is {value!r}, which is no {kind.__name__}")
    return Architecture(**{**plain, "dilations": tuple(plain["dilations"])})
