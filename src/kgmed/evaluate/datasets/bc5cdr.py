"""BC5CDR: 1,500 PubMed abstracts with chemicals and diseases marked by their MeSH ids, and what induces what."""

from collections.abc import Iterator
from pathlib import Path

from kgmed.evaluate.items import Described
from kgmed.kg.sources.pubtator import Document, documents

FILES = {
    part: f"bc5cdr/CDR_{name}Set.PubTator.txt.gz"
    for part, name in (("train", "Training"), ("dev", "Development"), ("test", "Test"))
}


def read(data: Path, *, part: str = "") -> Iterator[Document]:
    """The abstracts of one part, or of all three in turn; raises `SourceError`."""
    for name, file in FILES.items():
        if part in ("", name):
            yield from documents(data / file)


DATASET: Described[Iterator[Document]] = Described(
    name="bc5cdr",
    title="BioCreative V CDR: chemicals and diseases in abstracts",
    task="linking",
    languages=("en",),
    licence="public domain, as NCBI says with it",
    citation="Li et al. 2016, BioCreative V CDR task corpus, Database",
    source="https://github.com/patverga/bran",
    revision="32378da",
    files=tuple(FILES.values()),
    items=1500,
    read=read,
    use="kgmed eval linking",
)
