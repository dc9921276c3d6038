"""Two small graphs for the tests of the page: HPO with more findings than a picture shows, and one in Chinese."""

from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.obo import KINDS, RELATIONS
from kgmed.graph.library import build_source
from kgmed.records import Relation, Role, Support

LONG, LENS, DEAF, MARFAN, WEILL = "HP:0001166", "HP:0001083", "HP:0000365", "OMIM:154700", "OMIM:277600"
SPIDER = (Alias("Spider fingers", Scope.LAYPERSON), Alias("蜘蛛指", Scope.TRANSLATION))
HARM = "<img src=x onerror=alert(1)>"  # a name that a page must show and never obey
SIGNS = (
    "Scoliosis", "Myopia", "Tall stature", "Pectus carinatum", "Pes planus", "High palate", "Dural ectasia",
    "Aortic root aneurysm", "Striae distensae", "Slender build", "Retinal detachment", "Glaucoma", "Cataract",
)  # fmt: skip


def finding(disease: str, sign: str, frequency: str, reference: str, relation: str = "has_phenotype") -> EdgeRow:
    """A disease has a finding, or excludes it, says a publication."""
    return EdgeRow(disease, relation, sign, 1.0, (Support(reference, (("frequency", frequency),)),))


HPO: tuple[Row, ...] = (
    NodeRow(LONG, "Arachnodactyly", "phenotype", "Long slender fingers.", SPIDER),
    NodeRow(LENS, "Ectopia lentis", "phenotype", "The lens is not in its place.", (Alias("Lens dislocation"),)),
    NodeRow(DEAF, "Hearing impairment", "phenotype"),
    *(NodeRow(f"HP:80000{i:02}", name, "phenotype") for i, name in enumerate(SIGNS)),
    NodeRow("HP:8000050", HARM, "phenotype", f"A finding called {HARM}."),
    NodeRow(MARFAN, "Marfan syndrome", "disease", aliases=(Alias("OMIM:134797", Scope.XREF),)),
    NodeRow(WEILL, "Weill-Marchesani syndrome", "disease"),
    NodeRow("OMIM:900001", "Twin disease", "disease"),
    NodeRow("ORPHA:900001", "Twin disease", "disease"),
    finding(MARFAN, LONG, "124/197", "PMID:28050285"),
    finding(MARFAN, LENS, "119/251", "PMID:29587526"),
    *(finding(MARFAN, f"HP:80000{i:02}", f"{30 - i}/40", "PMID:33436942") for i in range(len(SIGNS))),
    finding(WEILL, LENS, "64/73", "PMID:29587526"),
    finding(WEILL, "HP:8000011", "36/46", "PMID:29587526"),
    finding(WEILL, DEAF, "0/9", "PMID:29587526", "excludes"),
    finding("OMIM:900001", "HP:8000050", "3/4", "PMID:1"),
    finding("ORPHA:900001", "HP:8000050", "2/4", "PMID:2"),
)  # fmt: skip
HERBS = (
    *(f"药物{i}" for i in range(13)),
    "别嘌醇",
    "秋水仙碱",
)  # the last has a warning
CMEKG: tuple[Row, ...] = (
    NodeRow("痛风", kind="disease", aliases=(Alias("gout", Scope.TRANSLATION),)),
    *(NodeRow(name, kind="drug") for name in HERBS),
    NodeRow("妊娠", kind="condition"),
    NodeRow("关节痛", kind="symptom"),
    *(EdgeRow(name, "治疗", "痛风") for name in HERBS),
    EdgeRow("秋水仙碱", "禁忌", "妊娠"),
    EdgeRow("痛风", "症状", "关节痛"),
    EdgeRow("痛风", "体征", "关节痛"),
)


def build() -> None:
    """The graphs hpo and cmekg of the data folder that KGMED_HOME names."""
    relations = {relation.name: relation for relation in RELATIONS}
    licence = "free to use; cite it"
    build_source("hpo", Source("hpo", lambda: HPO, "2025", licence, language="en", relations=relations, kinds=KINDS))
    chinese = {
        "治疗": Relation("治疗", Role.TREATS),
        "禁忌": Relation("禁忌", Role.CONTRAINDICATED),
        "症状": Relation("症状", Role.FINDING),
        "体征": Relation("体征", Role.FINDING),
    }
    build_source("cmekg", Source("cmekg", lambda: CMEKG, "2", "MIT", language="zh", prefix="cmekg", relations=chinese))
