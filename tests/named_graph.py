"""A small graph in files for the tests of finding and linking."""

from pathlib import Path

from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store

HPO: tuple[Row, ...] = (
    NodeRow("HP:1", "Muscle weakness", "phenotype", aliases=(Alias("Muscular weakness", Scope.LAYPERSON),)),
    NodeRow("HP:2", "Progressive muscle weakness", "phenotype", aliases=(Alias("Muscle weakness, progressive"),)),
    NodeRow("HP:3", "Calf muscle hypertrophy", "phenotype", aliases=(Alias("Calf hypertrophy"),)),
    NodeRow("HP:4", "Elevated circulating creatine kinase concentration", "phenotype",
            aliases=(Alias("Increased creatine kinase"), Alias("UMLS:C0151576", Scope.XREF))),
    NodeRow("HP:5", "Fever", "phenotype"),
    NodeRow("HP:6", "Hypokalemia", "phenotype"),
    NodeRow("HP:7", "Severe", "clinical modifier"),
    NodeRow("HP:8", "Cough", "phenotype"),
    NodeRow("HP:9", "Pulmonary edema", "phenotype"),
    NodeRow("NCBIGene:1", "SET", "gene"),
    NodeRow("HP:10", "Fevers", "phenotype"),
    EdgeRow("HP:2", "is_a", "HP:1"),
)  # fmt: skip
CMEKG: tuple[Row, ...] = (
    *(
        NodeRow(n, n, "symptom")
        for n in ("反酸", "发热", "头痛", "咳嗽", "恶心", "呕吐", "无尿", "无力", "伴头痛", "无发热")
    ),
    NodeRow("恶心或呕吐", "恶心或呕吐", "symptom"),
    NodeRow("痛", "痛", "symptom"),
    NodeRow("严重", "严重", "symptom"),
    NodeRow("痛经", "痛经", "disease"),
    NodeRow("胃食管反流病", "胃食管反流病", "disease", aliases=(Alias("gastroesophageal reflux", Scope.TRANSLATION),)),
    NodeRow("Ⅱ型糖尿病", "Ⅱ型糖尿病", "disease", aliases=(Alias("fever", Scope.TRANSLATION),)),
)


def small(folder: Path, rows: tuple[Row, ...] = HPO, name: str = "small", language: str = "en") -> Store:
    """A store of those rows."""
    build(Source(name, lambda: iter(rows), language=language), folder / name)
    return open_store(folder / name)


SITES = [a + b for a in ("hepat", "nephr", "cardi", "derm", "arthr", "oste", "neur", "gastr", "rhin", "ot")
          for b in ("o", "al", "ic", "oid", "ine")]  # fmt: skip
KINDS = (("itis", "inflammation"), ("algia", "pain"), ("omegaly", "enlargement"), ("osis", "decay"), ("oma", "tumour"))


def paired(folder: Path) -> Store:
    """A graph whose entities have two names that share no word: Xitis, and inflammation of X."""
    rows = [
        NodeRow(f"X:{site}{end}", site + end, aliases=(Alias(f"{word} of the {site}"),))
        for site in SITES
        for end, word in KINDS
    ]
    return small(folder, tuple(rows))
