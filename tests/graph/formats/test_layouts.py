"""Graphs in the layouts in which they are published, each one command: what a question asks for is found in each."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from kgmed.errors import BadInput, SourceError
from kgmed.graph import formats
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.doctor import preview
from kgmed.graph.export import export
from kgmed.graph.formats import base, json_records
from kgmed.graph.library import build_graph, load, source_of
from kgmed.records import Role

GOUT, PAIN, COLCHICINE = "gout", "joint pain", "colchicine"
TREATS, FINDING = (Role.TREATS, COLCHICINE), (Role.FINDING, PAIN)
Makes = Callable[[Path], Path]


def files(**content: str) -> Makes:
    """A folder of files; "__" stands for a dot in their names."""

    def make(folder: Path) -> Path:
        for name, text in content.items():
            place = folder / "graph" / name.replace("__", ".")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text.lstrip("\n").replace(" | ", "\t"), encoding="utf-8")
        return folder / "graph"

    return make


def one(name: str, text: str) -> Makes:
    """A file."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_text(text.lstrip("\n").replace(" | ", "\t"), encoding="utf-8")
        return path

    return make


def zipped(make: Makes) -> Makes:
    """A zip of what another layout makes, in a folder of its own."""

    def packed(folder: Path) -> Path:
        inside = make(folder)
        with ZipFile(folder / "graph.zip", "w") as archive:
            for file in sorted(inside.iterdir()):
                archive.write(file, f"release/{file.name}")
        return folder / "graph.zip"

    return packed


HETIONET = files(
    nodes__tsv=f"""
id | name | kind
Disease::DOID:1 | {GOUT} | Disease
Compound::DB1 | {COLCHICINE} | Compound
Symptom::D1 | {PAIN} | Symptom
""",
    edges__sif="""
source | metaedge | target
Compound::DB1 | CtD | Disease::DOID:1
Disease::DOID:1 | DpS | Symptom::D1
""",
    metaedges__tsv="metaedge | abbreviation | edges\nCompound - treats - Disease | CtD | 755\n",
)
NEO4J = files(
    disease__csv=f"diseaseId:ID(Disease),name:string,:LABEL,synonyms:string[]\n1,{GOUT},Disease,podagra;arthritis\n",
    drug__csv=f':ID(Drug),name,:LABEL\n1,"{COLCHICINE}",Drug\n',
    symptom__csv=f":ID(Symptom),name,:LABEL\n1,{PAIN},Symptom\n",
    treats__csv=":START_ID(Drug),:END_ID(Disease),:TYPE\n1,1,TREATS\n",
    has__csv=":START_ID(Disease),:END_ID(Symptom),:TYPE\n1,1,HAS_SYMPTOM\n",
)
OWN_FOLDER = files(
    diseases__csv=f"id,name,type\nd1,{GOUT},Disease\n",
    others__csv=f"id,name,type\nm1,{COLCHICINE},Drug\ns1,{PAIN},Symptom\n",
    edges_drug_treats_disease__csv="from,to\nm1,d1\n",
    edges_disease_has_symptom__csv="from,to\nd1,s1\n",
)
KGX = files(
    x_nodes__tsv=f"""
id | category | name | description | synonym | xref
MONDO:1 | biolink:Disease | {GOUT} | A disease. | podagra\\|gouty arthritis | DOID:1
HP:1 | biolink:NamedThing\\|biolink:PhenotypicFeature | {PAIN} |  |  | {""}
CHEBI:1 | biolink:SmallMolecule | {COLCHICINE} |  |  | {""}
""".replace("\\|", "|"),
    x_edges__tsv="""
id | subject | predicate | object | publications
1 | MONDO:1 | biolink:has_phenotype | HP:1 | PMID:1
2 | CHEBI:1 | biolink:treats | MONDO:1 | PMID:2
""",
)
KGX_JSON = files(
    x_nodes__jsonl="\n".join(
        json.dumps({"id": i, "category": [f"biolink:{kind}"], "name": name})
        for i, kind, name in (
            ("MONDO:1", "Disease", GOUT),
            ("HP:1", "PhenotypicFeature", PAIN),
            ("C:1", "Drug", COLCHICINE),
        )
    ),
    x_edges__jsonl="\n".join(
        json.dumps({"subject": head, "predicate": f"biolink:{relation}", "object": tail})
        for head, relation, tail in (("MONDO:1", "has_phenotype", "HP:1"), ("C:1", "treats", "MONDO:1"))
    ),
)
PRIMEKG = one(
    "kg.csv",
    f"""
relation,display_relation,x_index,x_id,x_type,x_name,x_source,y_index,y_id,y_type,y_name,y_source
indication,indication,1,DB1,drug,{COLCHICINE},DrugBank,2,5393,disease,{GOUT},MONDO
indication,indication,2,5393,disease,{GOUT},MONDO,1,DB1,drug,{COLCHICINE},DrugBank
disease_phenotype_positive,phenotype present,3,2829,effect/phenotype,{PAIN},HPO,2,5393,disease,{GOUT},MONDO
disease_phenotype_positive,phenotype present,2,5393,disease,{GOUT},MONDO,3,2829,effect/phenotype,{PAIN},HPO
""",
)
APOC_CSV = one(
    "export.csv",
    f"""
_id,_labels,name,_start,_end,_type
0,:Disease,{GOUT},,,
1,:Drug,{COLCHICINE},,,
2,:Symptom,{PAIN},,,
,,,1,0,TREATS
,,,0,2,HAS_SYMPTOM
""",
)
APOC_JSON = one(
    "export.json",
    "\n".join(
        json.dumps(entry)
        for entry in (
            *(
                {"type": "node", "id": str(i), "labels": [kind], "properties": {"name": name}}
                for i, (kind, name) in enumerate((("Disease", GOUT), ("Drug", COLCHICINE), ("Symptom", PAIN)))
            ),
            *(
                {"id": "0", "type": "relationship", "label": label, "start": {"id": a}, "end": {"id": b}}
                for a, label, b in (("1", "TREATS", "0"), ("0", "HAS_SYMPTOM", "2"))
            ),
        )
    ),
)
CPUBMED = one("triples.txt", f"{GOUT}@疾病 | 临床表现 | {PAIN}@症状\n{GOUT}@疾病 | 药物治疗 | {COLCHICINE}@药物\n")
RF2 = files(
    sct2_Concept_Snapshot_INT_20250101__txt="id | active\n1 | 1\n2 | 1\n3 | 1\n8 | 1\n9 | 1\n4 | 0\n",
    sct2_Description_Snapshot_en_INT_20250101__txt=f"""
id | active | conceptId | languageCode | typeId | term
1 | 1 | 1 | en | 900000000000003001 | {GOUT} (disorder)
2 | 1 | 1 | en | 900000000000013009 | podagra
3 | 1 | 2 | en | 900000000000003001 | {PAIN} (finding)
4 | 1 | 3 | en | 900000000000003001 | {COLCHICINE} (medicinal product)
5 | 1 | 8 | en | 900000000000003001 | Has manifestation (attribute)
6 | 1 | 9 | en | 900000000000003001 | Treated by (attribute)
7 | 0 | 1 | en | 900000000000013009 | gone
8 | 1 | 4 | en | 900000000000003001 | inactive (disorder)
""",
    sct2_Relationship_Snapshot_INT_20250101__txt="""
id | active | sourceId | destinationId | typeId
1 | 1 | 1 | 2 | 8
2 | 1 | 1 | 3 | 9
3 | 0 | 2 | 1 | 8
4 | 1 | 4 | 1 | 116680003
""",
)
OBO = one(
    "x.obo",
    f"""
format-version: 1.2
ontology: x

[Term]
id: D:1
name: {GOUT}
namespace: disease
relationship: has_symptom S:1
relationship: treated_by M:1

[Term]
id: S:1
name: {PAIN}

[Term]
id: M:1
name: {COLCHICINE}
""",
)
OBOGRAPHS = one(
    "x.json",
    json.dumps(
        {
            "graphs": [
                {
                    "nodes": [
                        {"id": "http://purl.obolibrary.org/obo/D_1", "lbl": GOUT, "type": "CLASS"},
                        {"id": "http://purl.obolibrary.org/obo/S_1", "lbl": PAIN, "type": "CLASS"},
                        {"id": "http://purl.obolibrary.org/obo/M_1", "lbl": COLCHICINE, "type": "CLASS"},
                        {"id": "http://purl.obolibrary.org/obo/X_9", "lbl": "old", "meta": {"deprecated": True}},
                        {"id": "http://purl.obolibrary.org/obo/RO_1", "lbl": "has symptom", "type": "PROPERTY"},
                    ],
                    "edges": [
                        {
                            "sub": f"http://purl.obolibrary.org/obo/{a}",
                            "pred": pred,
                            "obj": f"http://purl.obolibrary.org/obo/{b}",
                        }
                        for a, pred, b in (
                            ("D_1", "http://purl.obolibrary.org/obo/RO_1", "S_1"),
                            ("M_1", "treats", "D_1"),
                        )
                    ],
                }
            ]
        },
        indent=1,
    ),
)
_OBO_IRI = "http://purl.obolibrary.org/obo"
OWL = one(
    "x.owl",
    f"""
<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:oio="http://www.geneontology.org/formats/oboInOwl#">
<owl:Ontology rdf:about="{_OBO_IRI}/x.owl"><rdfs:comment>About it.</rdfs:comment></owl:Ontology>
<owl:ObjectProperty rdf:about="{_OBO_IRI}/RO_1"><rdfs:label>has symptom</rdfs:label></owl:ObjectProperty>
<owl:Class rdf:about="{_OBO_IRI}/D_1"><rdfs:label>{GOUT}</rdfs:label>
 <rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="{_OBO_IRI}/RO_1"/>
  <owl:someValuesFrom rdf:resource="{_OBO_IRI}/S_1"/></owl:Restriction></rdfs:subClassOf></owl:Class>
<owl:Axiom><owl:annotatedSource rdf:resource="{_OBO_IRI}/D_1"/><oio:hasDbXref>x</oio:hasDbXref></owl:Axiom>
<owl:Class rdf:about="{_OBO_IRI}/S_1"><rdfs:label>{PAIN}</rdfs:label></owl:Class>
<owl:Class rdf:about="{_OBO_IRI}/X_9"><rdfs:label>old</rdfs:label>
 <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated></owl:Class>
</rdf:RDF>
""",
)
TURTLE = one(
    "x.ttl",
    f"""
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix e: <http://example.org/> .
e:p1 a owl:ObjectProperty ; rdfs:label "has symptom"@en , "hat Symptom"@de .
e:d1 rdfs:label "{GOUT}" ; e:p1 e:s1 .
e:s1 rdfs:label "{PAIN}" .
""",
)
GRAPHML = one(
    "x.graphml",
    f"""
<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="name"/><key id="d1" for="node" attr.name="kind"/>
<key id="d2" for="edge" attr.name="relation"/>
<graph edgedefault="directed">
<node id="a"><data key="d0">{GOUT}</data><data key="d1">disease</data></node>
<node id="b"><data key="d0">{PAIN}</data></node><node id="c"><data key="d0">{COLCHICINE}</data></node>
<edge source="a" target="b"><data key="d2">has_symptom</data></edge>
<edge source="c" target="a"><data key="d2">treats</data></edge>
</graph></graphml>
""",
)
GEXF = one(
    "x.gexf",
    f"""
<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph defaultedgetype="directed">
<attributes class="edge"><attribute id="0" title="relation" type="string"/></attributes>
<attributes class="node"><attribute id="0" title="kind" type="string"/></attributes>
<nodes><node id="a" label="{GOUT}"><attvalues><attvalue for="0" value="disease"/></attvalues></node>
<node id="b" label="{PAIN}"/><node id="c" label="{COLCHICINE}"/></nodes>
<edges><edge source="a" target="b" label="has_symptom" weight="3.0"/>
<edge source="c" target="a"><attvalues><attvalue for="0" value="treats"/></attvalues></edge></edges>
</graph></gexf>
""",
)
XGMML = one(
    "x.xgmml",
    f"""
<?xml version="1.0"?>
<graph label="x" xmlns="http://www.cs.rpi.edu/XGMML"><att name="networkMetadata" value="x"/>
<node id="1" label="{GOUT}"><att name="kind" type="string" value="disease"/><graphics>
<att name="NODE" value="y"/></graphics></node>
<node id="2" label="{PAIN}"/><node id="3" label="{COLCHICINE}"/>
<edge source="1" target="2" label="1 (has_symptom) 2"><att name="interaction" value="has_symptom"/></edge>
<edge source="3" target="1" label="treats"/></graph>
""",
)
TRIPLES = f"{GOUT},has_symptom,{PAIN}\n{COLCHICINE},treats,{GOUT}\n"
LAYOUTS: dict[str, tuple[Makes, set[tuple[Role, str]]]] = {
    "Hetionet": (HETIONET, {TREATS, FINDING}),
    "Hetionet in a zip": (zipped(HETIONET), {TREATS, FINDING}),
    "PrimeKG": (PRIMEKG, {TREATS, FINDING}),
    "Neo4j's import files": (NEO4J, {TREATS, FINDING}),
    "node files and edge files": (OWN_FOLDER, {TREATS, FINDING}),
    "APOC CSV": (APOC_CSV, {TREATS, FINDING}),
    "APOC JSON": (APOC_JSON, {TREATS, FINDING}),
    "KGX TSV": (KGX, {TREATS, FINDING}),
    "KGX JSON Lines": (KGX_JSON, {TREATS, FINDING}),
    "CPubMed-KG": (CPUBMED, {TREATS, FINDING}),
    "SNOMED RF2": (RF2, {TREATS, FINDING}),
    "OBO": (OBO, {TREATS, FINDING}),
    "OBO Graphs": (OBOGRAPHS, {TREATS, FINDING}),
    "OWL": (OWL, {FINDING}),
    "Turtle with labelled properties": (TURTLE, {FINDING}),
    "GraphML": (GRAPHML, {TREATS, FINDING}),
    "GEXF": (GEXF, {TREATS, FINDING}),
    "XGMML": (XGMML, {TREATS, FINDING}),
    "CSV without a header": (one("x.csv", TRIPLES), {TREATS, FINDING}),
    "head, relation, tail": (one("x.csv", "head,relation,tail\n" + TRIPLES), {TREATS, FINDING}),
    "source, type, target": (one("x.csv", "source,type,target\n" + TRIPLES), {TREATS, FINDING}),
    "a header of other words": (one("x.csv", "Krankheit,relation,Befund\n" + TRIPLES), {TREATS, FINDING}),
    "TSV": (one("x.tsv", TRIPLES.replace(",", "\t")), {TREATS, FINDING}),
}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_published_layout_is_built_in_one_command_and_fit_to_answer_from(layout: str, tmp_path: Path) -> None:
    make, expected = LAYOUTS[layout]
    if layout.startswith(("OWL", "Turtle")):
        pytest.importorskip("pyoxigraph")
    build_graph("mine", make(tmp_path))
    store = load("mine")
    (gout,) = {match.entity for match in store.lookup(GOUT)}
    found = {
        (triple.relation.role, ({triple.head.name, triple.tail.name} - {GOUT}).pop())
        for triple in store.neighbours(gout.id)
    }
    assert found == expected
    findings = [t for t in store.neighbours(gout.id) if t.relation.role is Role.FINDING]
    assert {(t.tail if t.relation.reverse else t.head).name for t in findings} == {GOUT}
    assert {store.at(i).name for i in range(len(store))} >= {GOUT, *(name for _, name in expected)}
    assert not {"head", "relation", "tail", "old", "inactive"} & {store.at(i).name for i in range(len(store))}


def test_what_kgmed_exports_as_graphml_it_reads_again(tmp_path: Path) -> None:
    build_graph("mine", one("x.csv", TRIPLES)(tmp_path))
    export(load("mine"), tmp_path / "x.graphml")
    build_graph("again", tmp_path / "x.graphml")
    first, second = ({(t.head.name, t.relation, t.tail.name) for t in _triples(name)} for name in ("mine", "again"))
    assert first == second


def _triples(name: str) -> list:  # type: ignore[type-arg]
    from kgmed.graph.export import triples

    return list(triples(load(name)))


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("times", [1, 3_000])
def test_obo_graphs_are_read_a_piece_at_a_time_as_they_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None, times: int
) -> None:
    monkeypatch.setattr(json_records, "_READ", 7 if times == 1 else 4096)
    meta = {"xrefs": [{"val": "x:[{"}]}
    nodes = [
        {"id": f"{_OBO_IRI}/D_{i}", "lbl": f"disease {i} – 病", "type": "CLASS", "meta": meta} for i in range(times)
    ]
    edges = [{"sub": f"{_OBO_IRI}/D_{i}", "pred": "RO_1", "obj": f"{_OBO_IRI}/D_0", "n": 12.5e3} for i in range(times)]
    graph = {"edges": edges, "meta": {"a": [1]}, "other": [[1], {"nodes": 3}], "nodes": nodes}  # edges before nodes
    second = {"nodes": [{"id": "RO_1", "lbl": "has symptom", "type": "PROPERTY"}], "edges": []}
    document = {"x": [1, {"graphs": 2}], "graphs": [graph, second]}
    (tmp_path / "x.json").write_text(json.dumps(document, indent=indent, ensure_ascii=False), encoding="utf-8")
    read = list(formats.read("obographs", tmp_path / "x.json", name="mine").rows())
    assert [row[:2] for row in read[:times]] == [(f"D:{i}", n["lbl"]) for i, n in enumerate(nodes)]
    assert [row[:3] for row in read[times:]] == [(f"D:{i}", "has symptom", "D:0") for i in range(times)]


@pytest.mark.parametrize(("text", "told"), [
    ('{"graphs": [{"nodes": [{"id": "a"}]}', "ends too early"), ('{"graphs": [{"nodes": [{"id": "a', "is no JSON"),
    ('{"graphs": [{"nodes": [{"id": "a"} {"id": "b"}]}]}', "',' must stand there"), ('{"graphs": []} 3', "goes on"),
    ('{"graphs": [{"nodes": 3}]}', "no list of objects"), ('{"graphs": [{"edges": [3]}]}', "no list of objects"),
    ('{"graphs": [{"nodes": [{"id": "\\ud800"}]}]}', "half a character"), ("[1]", "no list of graphs"),
    ('{"graphs": [{"nodes": [' + "[" * 100_000, "no list of objects"), ('{"graph": 3}', "no list of graphs"),
    ('{3: "graphs"}', "a key must be"), ('{"x": ' + "[" * 100_000, "nested too deeply"),
])  # fmt: skip
def test_damaged_obo_graphs_are_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(SourceError, match=told) as caught:
        list(formats.read("obographs", tmp_path / "x.json", name="mine").rows())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shift", range(4))
def test_a_format_is_told_by_the_beginning_of_a_line_of_any_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    monkeypatch.setattr(base, "_BLOCK", 4096)
    monkeypatch.setattr(base, "_LONGEST", 8192)  # of a line that is read whole
    nodes = [{"id": "D:1", "lbl": "病" * 1000 + "a" * shift, "type": "CLASS"}] * 30
    text = json.dumps({"graphs": [{"nodes": nodes, "edges": []}]}, ensure_ascii=False)
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    assert formats.detect(tmp_path / "x.json") == "obographs"
    assert len(list(formats.read("", tmp_path / "x.json", name="mine").rows())) == 30


def test_standard_input_is_a_graph_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRIPLES.encode()), encoding="utf-8"))
    build_graph("mine", Path("-"))
    assert len(load("mine")) == 3


def rows(make: Makes, folder: Path) -> list[Row]:
    return list(formats.read("", make(folder), name="mine").rows())


def test_an_edge_that_stands_in_both_directions_under_one_name_is_one(tmp_path: Path) -> None:
    edges = [row[:3] for row in rows(PRIMEKG, tmp_path) if isinstance(row, EdgeRow)]
    assert [edges.count(edge) for edge in edges] == [2, 2, 2, 2]


def test_other_names_references_and_descriptions_are_kept(tmp_path: Path) -> None:
    read = rows(KGX, tmp_path)
    gout = next(row for row in read if isinstance(row, NodeRow) and row.name == GOUT)
    assert [alias.text for alias in gout.aliases] == ["podagra", "gouty arthritis", "DOID:1"]
    assert (gout.kind, gout.description) == ("disease", "A disease.")
    assert [row.support[0].reference for row in read if isinstance(row, EdgeRow)] == ["PMID:1", "PMID:2"]


def test_a_name_of_two_kinds_is_two_entities(tmp_path: Path) -> None:
    twice = one("x.txt", "发热@疾病 | 临床表现 | 发热@症状\n")
    assert [(row.name, row.kind) for row in rows(twice, tmp_path) if isinstance(row, NodeRow)] == [
        ("发热", "disease"),
        ("发热", "symptom"),
    ]


def test_a_table_says_what_columns_of_other_names_mean(tmp_path: Path) -> None:
    folder = files(a__csv="Nr,Krankheit,Befund,Art\n1,Gicht,Schmerz,has_symptom\n")(tmp_path)
    with pytest.raises(SourceError, match="say nothing: Nr, Krankheit, Befund, Art"):
        build_graph("mine", folder)
    table = tmp_path / "map.toml"
    table.write_text('head = "Krankheit"\ntail = "Befund"\nrelation = "Art"\n', encoding="utf-8")
    build_graph("mine", folder, columns=table)
    assert len(load("mine")) == 2


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (files(nodes__csv="id,name\n1,gout\n"), "holds nodes and no edges"),
        (files(x__csv="id,name\n1,gout,2\n", y__csv="from,to\n1,2\n"), "x.csv:2: has 3 columns, not 2"),
        (files(x__csv="just text\n"), "is no table"),
        (one("x.csv", "relation,a,b,c\nis,x,y,z\n"), "without a column for the head"),
        (one("x.graphml", '<!DOCTYPE a [<!ENTITY b "c">]><graphml>&b;</graphml>'), "declares a document type"),
        (one("x.graphml", "<graphml><graph><node id='a'/>"), "is no XML"),
        (one("x.gexf", "<gexf><graph><nodes><node id='a'>"), "is no XML"),
        (one("x.xgmml", '<!DOCTYPE a [<!ENTITY b "c">]><graph>&b;</graph>'), "declares a document type"),
        (one("x.json", '{"graphs": [3]}'), "holds no list of graphs"),
        (one("x.zip", "PK no zip"), "is no zip"),
        (files(sct2_Concept_Snapshot_1__txt="id | active\n1 | 1\n"), "no snapshot of SNOMED's description file"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_it(make: Makes, told: str, tmp_path: Path) -> None:
    with pytest.raises((SourceError, BadInput), match=told) as caught:
        build_graph("mine", make(tmp_path), strict=True)
    assert "\n" not in str(caught.value)


def test_a_zip_leads_nowhere_else_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("../../escaped.csv", "head,relation,tail\n" + TRIPLES)
    source = source_of("mine", tmp_path / "x.zip")
    assert len(list(source.rows())) == 2
    assert not list(tmp_path.parent.glob("escaped*"))
    assert source.inputs == (tmp_path / "x.zip",)


def test_a_preview_says_kinds_relations_and_triples_by_name(tmp_path: Path) -> None:
    said = preview(source_of("mine", PRIMEKG(tmp_path)))
    assert said is not None
    assert dict(said.kinds) == {"disease": 1, "drug": 1, "symptom": 1}
    assert [(r.name, r.role, n) for r, n in said.relations] == [
        ("indication", Role.TREATS, 2),
        ("disease_phenotype_positive", Role.FINDING, 2),
    ]
    assert (COLCHICINE, "indication", GOUT) in said.triples
    assert said.whole
    assert not said.unsure


def test_a_preview_warns_of_ids_for_names_and_of_relations_without_a_role(tmp_path: Path) -> None:
    folder = one("x.tsv", "C0000001 | R17 | C0000002\nC0000003 | R17 | C0000004\n")(tmp_path)
    said = preview(source_of("mine", folder))
    assert said is not None
    assert any("look like ids" in text for text in said.unsure)
    assert any("no role is known for R17" in text for text in said.unsure)


def test_the_layouts_are_those_that_are_told_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "graph.md").read_text(encoding="utf-8")
    told = (
        "Hetionet",
        "PrimeKG",
        "Neo4j",
        "APOC",
        "KGX",
        "CPubMed-KG",
        "SNOMED CT (RF2)",
        "OBO Graphs",
        "OWL",
        "GraphML, GEXF (Gephi), XGMML (Cytoscape)",
    )
    assert [layout for layout in told if f"| {layout} |" not in page] == []
