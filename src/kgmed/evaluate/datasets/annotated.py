"""Texts with entities marked (BC5CDR, CMeEE, cMedQANER, cEHRNER), names with concepts (XL-BEL), and the papers'
graphs.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, text
from kgmed.evaluate.items import DataSetInfo
from kgmed.evaluate.linking import Sample
from kgmed.evaluate.linking import read as samples
from kgmed.graph.base import Source
from kgmed.graph.formats import diseases, triples
from kgmed.graph.formats.pubtator import Document, documents
from kgmed.registry import datasets

# --- BC5CDR: 1,500 PubMed abstracts with chemicals and diseases marked by their MeSH ids, and what induces what.


FILES = {
    part: f"bc5cdr/CDR_{name}Set.PubTator.txt.gz"
    for part, name in (("train", "Training"), ("dev", "Development"), ("test", "Test"))
}


def read_bc5cdr(data: Path, *, part: str = "") -> Iterator[Document]:
    """The abstracts of one part, or of all three in turn; raises `SourceError`."""
    for name, file in FILES.items():
        if part in ("", name):
            yield from documents(data / file)


BC5CDR = datasets.add(
    DataSetInfo(
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
        read=read_bc5cdr,
        use="kgmed eval linking",
    )
)


# --- Chinese texts with their entities marked: CMeEE-V2, and cMedQANER and cEHRNER of ChineseBLUE.


def read_cmeee(data: Path, *, files: tuple[str, ...]) -> list[Sample]:
    """The texts of the files in turn; raises `SourceError`."""
    return [sample for file in files for sample in samples(_packed(data / file))]


def _packed(path: Path) -> Path:
    """The file, or the packed one beside it."""
    packed = path.with_name(path.name + ".xz")
    return packed if packed.exists() and not path.exists() else path


def _cmeee_set(name: str, title: str, files: tuple[str, ...], items: int, **about: str) -> DataSetInfo[list[Sample]]:
    """A set of texts; `about` has licence, citation, source and revision."""
    paths = tuple(f"cmeee/{file}" for file in files)
    return DataSetInfo(
        name=name, title=title, task="recognition", languages=("zh",), files=paths, items=items,
        read=partial(read_cmeee, files=paths), use="kgmed train ner", **about,
    )  # fmt: skip


datasets.add(
    _cmeee_set(
        "cmeee",
        "CMeEE-V2, dev",
        ("CMeEE-V2_dev.json",),
        5000,
        licence="CBLUE's terms: research",
        citation="Zhang et al. 2022, CBLUE, ACL",
        source="https://github.com/hs3434/CMeEE-V2",
        revision="a49056b",
    )
)
_BLUE = {
    "licence": "see its LICENSE",
    "citation": "Zhang et al. 2020, Conceptualized Representation Learning for Chinese Biomedical Text Mining",
    "source": "https://github.com/alibaba-research/ChineseBLUE",
    "revision": "52eefc9",
}
datasets.add(
    _cmeee_set("cmedqaner", "cMedQANER, dev and test", ("cMedQANER_dev.json", "cMedQANER_test.json"), 390, **_BLUE)
)
datasets.add(_cmeee_set("cehrner", "cEHRNER, dev and test", ("cEHRNER_dev.json", "cEHRNER_test.json"), 85, **_BLUE))


# --- XL-BEL: mentions in Wikipedia of several languages, each with its UMLS concept.


def read_xlbel(data: Path, *, file: str) -> Iterator[tuple[str, str]]:
    """Mention and concept (UMLS:C0008301) of each line "CUI||mention"; raises `SourceError`."""
    for number, line in enumerate(text(data / file).splitlines(), start=1):
        concept, mark, mention = line.partition("||")
        if not (concept.strip() and mark and mention.strip()):
            raise SourceError(data / file, number, "is not CUI||mention", FETCH)
        yield mention.strip(), f"UMLS:{concept.strip()}"


def _xlbel_set(language: str) -> DataSetInfo[Iterator[tuple[str, str]]]:
    file = f"xlbel/v0.0_{language}.txt"
    return DataSetInfo(
        name=f"xlbel-{language}",
        title=f"XL-BEL, {language}",
        task="linking",
        languages=(language,),
        licence="MIT",
        citation="Liu et al. 2021, Learning Domain-Specialised Representations for Cross-Lingual Biomedical Entity "
        "Linking, ACL",
        source="https://github.com/cambridgeltl/sapbert",
        revision="1a528f6",
        files=(file,),
        items=1000,
        read=partial(read_xlbel, file=file),
        use="kgmed eval linking",
    )


for language in ("de", "en", "es", "fi", "ja", "ko", "ru", "th", "tr", "zh"):  # all of XL-BEL
    datasets.add(_xlbel_set(language))


# --- The papers' graphs that come as files: MindMap's EMCKG, and a later crawl of the site behind HyKGE's Disease-KG.


_EMCKG, _DISEASES = "genmedgpt5k/emckg_train.txt", "disease_kg_xywy/medical_parts.tar.xz"


def _emckg(data: Path) -> Source:
    return triples.read_triples(data / _EMCKG, name="emckg")


def _diseases(data: Path) -> Source:
    return diseases.read_disease_json(data / _DISEASES, name="disease-kg")


datasets.add(
    DataSetInfo(
        name="emckg",
        title="EMCKG, MindMap's graph for GenMedGPT-5k",
        task="graph",
        languages=("en",),
        licence="none stated",
        citation="Wen et al. 2024, MindMap, ACL",
        source="https://github.com/wyl-willing/MindMap",
        revision="0411a54",
        files=(_EMCKG,),
        items=5802,
        read=_emckg,
        use="kgmed graph build",
    )
)
datasets.add(
    DataSetInfo(
        name="disease-kg",
        title="Diseases of xywy.com, crawled anew in the fields of Disease-KG",
        task="graph",
        languages=("zh",),
        licence="none stated; crawled, for research here only",
        citation="Tonystark-001, MedicalKGQA",
        source="https://github.com/Tonystark-001/MedicalKGQA",
        revision="47e5b29",
        files=(_DISEASES,),
        items=284041,
        read=_diseases,
        use="kgmed graph build",
    )
)
