"""The papers' graphs that come as files: MindMap's EMCKG, and a later crawl of the site behind HyKGE's Disease-KG."""

from pathlib import Path

from kgmed.evaluate.items import Described
from kgmed.kg.rows import Source
from kgmed.kg.sources import disease_json, triples

_EMCKG, _DISEASES = "genmedgpt5k/emckg_train.txt", "disease_kg_xywy/medical_parts.tar.xz"


def _emckg(data: Path) -> Source:
    return triples.read(data / _EMCKG, name="emckg")


def _diseases(data: Path) -> Source:
    return disease_json.read(data / _DISEASES, name="disease-kg")


EMCKG = Described(
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
DISEASES = Described(
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
