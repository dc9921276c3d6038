"""Names in other words: DXY's Chinese diseases and symptoms in plain English, for a model that reads no Chinese."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from kgmed.errors import BadInput, SourceError
from kgmed.reward.cases import Case, Predict


@dataclass(frozen=True, slots=True)
class Wording:
    """Names as a data set has them -> names as a model reads them; a name without a row stays as it is."""

    language: str  # ISO 639-1 of the questions
    words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `BadInput` where two names become one: the way back would be lost."""
        if len(set(self.words.values())) < len(self.words):
            raise BadInput("two names of a wording table read alike; give each words of its own")

    def __call__(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names as a model reads them."""
        return tuple(self.words.get(name, name) for name in names)

    def case(self, case: Case) -> Case:
        """A case as a model reads it.

        >>> Wording("en", {"发烧": "fever", "肺炎": "pneumonia"}).case(Case("1", ("发烧",), disease="肺炎")).positive
        ('fever',)
        """
        return replace(
            case,
            positive=self(case.positive),
            negative=self(case.negative),
            unsure=self(case.unsure),
            explicit=self(case.explicit),
            disease=self([case.disease])[0],
        )

    def cases(self, cases: Iterable[Case]) -> tuple[Case, ...]:
        """Cases as a model reads them."""
        return tuple(map(self.case, cases))

    def back(self, predict: Predict) -> Predict:
        """A predictor of the data set's own cases, from one of those that a model reads."""
        names = {word: name for name, word in self.words.items()}

        def predicted(cases: Sequence[Case]) -> list[str | None]:
            return [names.get(said, said) if said is not None else None for said in predict(self.cases(cases))]

        return predicted


def wording(name: str, language: str) -> Wording:
    """The wording of a set of cases: DXY in English, every other set in its own language."""
    if name != "DXY":
        return Wording(language)
    with resources.as_file(resources.files(__package__) / "dxy.en.tsv") as path:
        return Wording("en", read(path))


def read(path: Path) -> dict[str, str]:
    """The table of a file with two columns between tabs; raises `SourceError`."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    if wrong := [i for i, row in enumerate(rows, start=1) if len(row) != 2 or not all(cell.strip() for cell in row)]:
        raise SourceError(path, wrong[0], "not two cells between a tab", "write: name, tab, words")
    return {row[0]: row[1] for row in rows}
