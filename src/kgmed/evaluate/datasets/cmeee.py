"""Chinese texts with their entities marked: CMeEE-V2, and cMedQANER and cEHRNER of ChineseBLUE."""

from functools import partial
from pathlib import Path

from kgmed.evaluate.items import Described
from kgmed.evaluate.ner_texts import Sample
from kgmed.evaluate.ner_texts import read as samples


def read(data: Path, *, files: tuple[str, ...]) -> list[Sample]:
    """The texts of the files in turn; raises `SourceError`."""
    return [sample for file in files for sample in samples(_packed(data / file))]


def _packed(path: Path) -> Path:
    """The file, or the packed one beside it."""
    packed = path.with_name(path.name + ".xz")
    return packed if packed.exists() and not path.exists() else path


def _set(name: str, title: str, files: tuple[str, ...], items: int, **about: str) -> Described[list[Sample]]:
    """A set of texts; `about` has licence, citation, source and revision."""
    paths = tuple(f"cmeee/{file}" for file in files)
    return Described(
        name=name, title=title, task="recognition", languages=("zh",), files=paths, items=items,
        read=partial(read, files=paths), use="kgmed train ner", **about,
    )  # fmt: skip


CMEEE = _set(
    "cmeee",
    "CMeEE-V2, dev",
    ("CMeEE-V2_dev.json",),
    5000,
    licence="CBLUE's terms: research",
    citation="Zhang et al. 2022, CBLUE, ACL",
    source="https://github.com/hs3434/CMeEE-V2",
    revision="a49056b",
)
_BLUE = {
    "licence": "see its LICENSE",
    "citation": "Zhang et al. 2020, Conceptualized Representation Learning for Chinese Biomedical Text Mining",
    "source": "https://github.com/alibaba-research/ChineseBLUE",
    "revision": "52eefc9",
}
CMEDQANER = _set("cmedqaner", "cMedQANER, dev and test", ("cMedQANER_dev.json", "cMedQANER_test.json"), 390, **_BLUE)
CEHRNER = _set("cehrner", "cEHRNER, dev and test", ("cEHRNER_dev.json", "cEHRNER_test.json"), 85, **_BLUE)
