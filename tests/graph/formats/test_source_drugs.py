"""MED-RT, DrugCentral, Orphadata and OMIM, from files made after what their publishers describe."""

import gzip
import tomllib
from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.graph import formats
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.records import Role

MEDRT = """<?xml version="1.0" encoding="UTF-8"?>
<terminology>
 <namespace><name>MED-RT</name><code>36</code></namespace>
 <concept><namespace>MED-RT</namespace><name>Cyclooxygenase Inhibitors [MoA]</name><code>N0000000160</code>
  <status>A</status><property><namespace>MED-RT</namespace><name>NUI</name><value>N0000000160</value></property></concept>
 <association><namespace>MED-RT</namespace><name>may_treat</name><from_namespace>RxNorm</from_namespace>
  <from_name>aspirin</from_name><from_code>1191</from_code><to_namespace>MeSH</to_namespace><to_name>Pain</to_name>
  <to_code>D010146</to_code></association>
 <association><namespace>MED-RT</namespace><name>CI_with</name><from_namespace>RxNorm</from_namespace>
  <from_name>aspirin</from_name><from_code>1191</from_code><to_namespace>MeSH</to_namespace>
  <to_name>Hemorrhage &amp; bleeding</to_name><to_code>D006470</to_code></association>
 <association><namespace>MED-RT</namespace><name>has_MoA</name><from_namespace>RxNorm</from_namespace>
  <from_name>aspirin</from_name><from_code>1191</from_code><to_namespace>MED-RT</to_namespace>
  <to_name>Cyclooxygenase Inhibitors [MoA]</to_name><to_code>N0000000160</to_code></association>
 <association><name>may_treat</name><from_namespace>RxNorm</from_namespace><from_code></from_code></association>
</terminology>
"""
DUMP = r"""--
-- PostgreSQL database dump
--
CREATE TABLE public.structures (id integer, name text);
COPY public.structures (cd_id, cas_reg_no, id, name) FROM stdin;
1	50-78-2	74	acetylsalicylic acid
2	\N	965	exemestane
\.
COPY public.omop_relationship (id, struct_id, concept_id, relationship_name, concept_name, umls_cui, @) FROM stdin;
1	74	21000716	indication	Pain	C0030193	22253000
2	74	21000717	contraindication	Peptic ulcer	\N	13200003
3	965	40249340	indication	Malignant tumor\tof breast	C0006142	254837009
4	\N	40249340	indication	nothing	C0006142	254837009
\.
COPY public.other (a) FROM stdin;
x
\.
""".replace("@", "snomed_conceptid")


def built(path: Path, folder: Path) -> Store:
    build(formats.read("", path), folder / "graph")
    return open_store(folder / "graph")


def test_medrt_says_what_drugs_treat_and_are_contraindicated_with(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Core_MEDRT_2026.07.06_XML.xml").write_text(MEDRT, "utf-8")
    graph = built(tmp_path / "in", tmp_path)
    said = {(t.relation.name, t.relation.role, t.tail.name) for t in graph.neighbours("RxNorm:1191")}
    assert said == {
        ("may_treat", Role.TREATS, "Pain"),
        ("CI_with", Role.CONTRAINDICATED, "Hemorrhage & bleeding"),
        ("has_MoA", Role.OTHER, "Cyclooxygenase Inhibitors [MoA]"),
    }
    assert graph.entity("RxNorm:1191").kind == "drug"
    assert graph.entity("MeSH:D010146").kind == "disease"
    assert graph.manifest.release == "2026.07.06"
    assert graph.manifest.dropped["an association without both ends and a name"]["count"] == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [(MEDRT[:400], "is no XML"), (MEDRT.replace("<term", "<!DOCTYPE x><term", 1), "declares a document type")],
)
def test_damaged_medrt_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "Core_MEDRT_XML.xml").write_text(text, "utf-8")
    with pytest.raises(SourceError, match=problem):
        list(formats.read("medrt", tmp_path / "Core_MEDRT_XML.xml").rows())


def test_drugcentral_says_what_drugs_are_for_from_a_packed_dump(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "drugcentral.dump.sql.gz", "wb") as file:
        file.write(DUMP.replace("\\\\", "\\").encode())
    graph = built(tmp_path / "drugcentral.dump.sql.gz", tmp_path)
    said = {(t.relation.role, t.tail.id, t.tail.name) for t in graph.neighbours("DrugCentral:74")}
    assert said == {
        (Role.TREATS, "umls:C0030193", "Pain"),
        (Role.CONTRAINDICATED, "SNOMEDCT:13200003", "Peptic ulcer"),
    }
    assert graph.lookup("CAS:50-78-2")[0].entity.name == "acetylsalicylic acid"
    assert graph.entity("umls:C0006142").name == "Malignant tumor of breast"
    assert sum(said["count"] for said in graph.manifest.dropped.values()) == 1


def test_a_dump_without_indications_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.sql").write_text(
        "--\n-- PostgreSQL database dump\n--\nCOPY public.other (a) FROM stdin;\nx\n", "utf-8"
    )
    with pytest.raises(SourceError, match="holds no table omop_relationship"):
        list(formats.read("", tmp_path / "d.sql").rows())


SMALL = Path(__file__).resolve().parents[3] / "bench" / "layouts.toml"
FILES = {
    layout["name"]: layout["files"] for layout in tomllib.loads(SMALL.read_text(encoding="utf-8"))["layout"]
}  # fmt: skip


def test_orphadata_in_a_folder_says_findings_genes_and_course_as_hpo_does(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for layout in ("Orphadata's findings", "Orphadata's genes", "Orphadata's natural history"):
        for name, text in FILES[layout].items():
            (tmp_path / "in" / name).write_text(text, "utf-8")
    graph = built(tmp_path / "in", tmp_path)
    findings = {t.tail.id: t for t in graph.neighbours("ORPHA:58")}
    assert {key: t.relation.role for key, t in findings.items()} == {
        "HP:0000256": Role.FINDING,
        "HP:0001250": Role.EXCLUDES,
    }
    assert findings["HP:0000256"].weight == pytest.approx(0.895)
    (support,) = findings["HP:0000256"].support
    assert (support.reference, dict(support.qualifiers)["frequency"]) == ("PMID:22419176", "very frequent (99-80%)")
    dysplasia = {(t.relation.role, t.head.id): t for t in graph.neighbours("ORPHA:166024")}
    assert {s.reference for s in dysplasia[Role.GENE, "gene:KIF7"].support} == {"PMID:22587682", "PMID:17033973"}
    names = ("HGNC:30497", "JBTS12", "kinesin family member 7")
    assert [[match.entity.id for match in graph.lookup(name)] for name in names] == [["gene:KIF7"]] * 3
    assert graph.manifest.dropped["a gene without a symbol, or not yet assessed"]["count"] == 1
    assert graph.manifest.licence == "CC BY 4.0"


def test_omim_says_how_a_gene_is_known_and_no_gene_where_no_mutation_was_found(tmp_path: Path) -> None:
    (tmp_path / "morbidmap.txt").write_text(FILES["OMIM's morbidmap, marks"]["morbidmap.txt"], "utf-8")
    graph = built(tmp_path / "morbidmap.txt", tmp_path)
    ties = {t.head.id: t.relation.name for i in range(len(graph)) for t in graph.neighbours(graph.at(i).id)}
    assert ties == {
        "OMIM:202110": "associated_gene",
        "OMIM:114480": "susceptibility_gene",
        "OMIM:614691": "provisional_gene",
        "OMIM:300500": "mapped_locus",
        "OMIM:616093": "associated_gene",
    }
