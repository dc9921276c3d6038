"""Graphs as engineers find them: other headers, JSON documents, archives, standard input, and what is no graph."""

import gzip
import io
import json
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from kgmed.errors import BadInput
from kgmed.graph.doctor import Preview, preview
from kgmed.graph.library import build_graph, load, source_of

GOUT, PAIN, COLCHICINE = "gout", "joint pain", "colchicine"
TRIPLES = f"{GOUT},has_symptom,{PAIN}\n{COLCHICINE},treats,{GOUT}\n"
NODES = [
    {"id": "a", "name": GOUT, "category": "Disease"},
    {"id": "b", "name": COLCHICINE, "category": "Drug"},
    {"id": "c", "name": PAIN, "category": "Symptom"},
]
APOC = [
    {"type": "node", "id": "0", "labels": ["Disease"], "properties": {"name": GOUT}},
    {"type": "node", "id": "1", "labels": ["Drug"], "properties": {"name": COLCHICINE}},
    {"type": "node", "id": "2", "labels": ["Symptom"], "properties": {"name": PAIN}},
    {"type": "relationship", "id": "0", "label": "TREATS", "start": {"id": "1"}, "end": {"id": "0"}},
    {"type": "relationship", "id": "1", "label": "HAS_SYMPTOM", "start": {"id": "0"}, "end": {"id": "2"}},
]
NEO4J_APART = {
    "disease_header.csv": "id:ID(Disease),name,:LABEL\n",
    "disease.csv": f"1,{GOUT},Disease\n",
    "drug-header.csv": "id:ID(Drug),name,:LABEL\n",
    "drug-part1.csv": f"1,{COLCHICINE},Drug\n",
    "drug-part2.csv": "2,aspirin,Drug\n",
    "symptom_header.csv": "id:ID(Symptom),name,:LABEL\n",
    "symptom.csv": f"1,{PAIN},Symptom\n",
    "treats_header.csv": ":START_ID(Drug),:END_ID(Disease),:TYPE\n",
    "treats.csv": "1,1,TREATS\n",
    "has_header.csv": ":START_ID(Disease),:END_ID(Symptom),:TYPE\n",
    "has.csv": "1,1,HAS_SYMPTOM\n",
}
PRIMEKG_IN_TWO = {
    "nodes.csv": "node_index,node_id,node_type,node_name,node_source\n"
    f"0,5393,disease,{GOUT},MONDO\n1,DB1,drug,{COLCHICINE},DrugBank\n2,HP1,effect/phenotype,{PAIN},HPO\n",
    "edges.csv": "relation,display_relation,x_index,y_index\nindication,indication,1,0\nindication,indication,0,1\n"
    "disease_phenotype_positive,phenotype present,0,2\n",
}
KGX_TABLES = {
    "kg_nodes.tsv": "id\tcategory\tname\n" + "".join(f"{n['id']}\t{n['category']}\t{n['name']}\n" for n in NODES),
    "kg_edges.tsv": "subject\tpredicate\tobject\na\tbiolink:has_phenotype\tc\nb\tbiolink:treats\ta\n",
}
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
QUADS = "".join(
    f"<http://e/{a}> <{b}> {c} <http://e/g> .\n"
    for a, b, c in (
        *(("a", LABEL, f'"{GOUT}"'), ("b", LABEL, f'"{COLCHICINE}"'), ("c", LABEL, f'"{PAIN}"')),
        *(("b", "http://e/treats", "<http://e/a>"), ("a", "http://e/has_symptom", "<http://e/c>")),
    )
)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path / "home"))


def put(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def found(path: Path) -> set[tuple[str, str]]:
    """What a question about gout would find: role and name at the other end."""
    build_graph("mine", path, force=True)
    store = load("mine")
    (gout,) = {match.entity for match in store.lookup(GOUT)}
    return {(t.relation.role.value, ({t.head.name, t.tail.name} - {GOUT}).pop()) for t in store.neighbours(gout.id)}


BOTH = {("finding", PAIN), ("treats", COLCHICINE)}


def links(*, of: str, kind: str = "relation") -> list[dict[str, str]]:
    head, tail = of.split()
    return [{head: "b", tail: "a", kind: "treats"}, {head: "a", tail: "c", kind: "has_symptom"}]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("document", [
    APOC, {"nodes": APOC[:3], "rels": APOC[3:]},
    {"directed": True, "graph": {}, "nodes": NODES, "links": links(of="source target")},
    {"nodes": NODES, "edges": links(of="subject object", kind="predicate")},
    {"elements": {"nodes": [{"data": n} for n in NODES],
                  "edges": [{"data": e} for e in links(of="source target", kind="interaction")]}},
    [{"head": COLCHICINE, "relation": "treats", "tail": GOUT}, {"head": GOUT, "relation": "has_symptom", "tail": PAIN}],
], ids=["APOC's array", "APOC's document", "networkx", "KGX", "Cytoscape", "list of triples"])  # fmt: skip
def test_a_json_document_of_nodes_and_edges_is_a_graph(tmp_path: Path, document: object, indent: int | None) -> None:
    (tmp_path / "x.json").write_text(json.dumps(document, indent=indent), encoding="utf-8")
    assert found(tmp_path / "x.json") == BOTH


@pytest.mark.parametrize("files", [NEO4J_APART, PRIMEKG_IN_TWO], ids=["headers apart", "PrimeKG's nodes and edges"])
def test_a_folder_as_its_publisher_describes_it_is_a_graph(tmp_path: Path, files: dict[str, str]) -> None:
    assert found(put(tmp_path / "graph", files)) == BOTH


def test_names_that_stand_where_ids_do_are_found_by_name(tmp_path: Path) -> None:
    head = "head,relation,tail\n"
    first, second = TRIPLES.splitlines(keepends=True)
    assert found(put(tmp_path / "parts", {"1.csv": head + first, "2.csv": head + second})) == BOTH
    node = '<node id="{}"/>'
    edge = '<edge source="{}" target="{}"><data key="r">{}</data></edge>'
    (tmp_path / "x.graphml").write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="r" for="edge" attr.name="relation"/><graph>'
        + "".join(map(node.format, (GOUT, PAIN, COLCHICINE)))
        + edge.format(COLCHICINE, GOUT, "treats")
        + edge.format(GOUT, PAIN, "has_symptom")
        + "</graph></graphml>"
    )
    assert found(tmp_path / "x.graphml") == BOTH


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tgz", ".tar.xz"])
def test_a_tar_is_a_graph(tmp_path: Path, suffix: str) -> None:
    folder = put(tmp_path / "graph", KGX_TABLES)
    mode = {".tar": "w", ".tar.xz": "w:xz"}.get(suffix, "w:gz")
    with tarfile.open(tmp_path / f"kg{suffix}", mode) as archive:  # type: ignore[call-overload]
        archive.add(folder, "release")
    assert found(tmp_path / f"kg{suffix}") == BOTH


def test_a_tar_leads_nowhere_else_and_gives_no_link(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("head,relation,tail\nsecret,treats,gout\n")
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for name in ("../../escaped.csv", f"{tmp_path}/escaped.csv"):
            data = ("head,relation,tail\n" + TRIPLES).encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("linked.csv")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "secret.csv")
        archive.addfile(link)
    assert found(tmp_path / "x.tar") == BOTH
    assert not [f for folder in (tmp_path, tmp_path.parent) for f in folder.glob("escaped*")]
    assert not load("mine").lookup("secret")


def test_a_tar_that_unpacks_to_more_than_is_bearable_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("big.csv")
        member.size = 80 << 20
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    with pytest.raises(BadInput, match="unpacks to more than 64 MB"):
        build_graph("mine", tmp_path / "x.tar.gz")


def packed(files: Mapping[str, str]) -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


@pytest.mark.parametrize("data", [
    packed(KGX_TABLES), gzip.compress(f"head,relation,tail\n{TRIPLES}".encode()), json.dumps(APOC).encode(),
], ids=["zip", "gzip", "JSON"])  # fmt: skip
def test_standard_input_may_be_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
    assert found(Path("-")) == BOTH


@pytest.mark.parametrize(("name", "text"), [
    ("x.nq", QUADS), ("x.trig", "<http://e/g> {\n" + QUADS.replace("<http://e/g> .", ".") + "}\n"),
    ("x.jsonld", json.dumps({
        "@context": {"label": LABEL, "treats": {"@id": "http://e/treats", "@type": "@id"},
                     "has": {"@id": "http://e/has_symptom", "@type": "@id"}},
        "@graph": [{"@id": "http://e/a", "label": GOUT, "has": "http://e/c"}, {"@id": "http://e/c", "label": PAIN},
                   {"@id": "http://e/b", "label": COLCHICINE, "treats": "http://e/a"}]})),
])  # fmt: skip
def test_rdf_in_its_other_syntaxes_is_a_graph(tmp_path: Path, name: str, text: str) -> None:
    pytest.importorskip("pyoxigraph")
    (tmp_path / name).write_text(text)
    assert found(tmp_path / name) == BOTH


@pytest.mark.parametrize(("name", "data", "told"), [
    ("x.owl", b'<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"></Ontology>', "robot convert"),
    ("x.ofn", b"Prefix(:=<http://e/>)\nOntology(<http://e/>)\n", "OWL in a syntax that is not read"),
    ("x.csv", "head,relation,tail\na,treats,b\n".encode("utf-16"), "is UTF-16 text; save the file as UTF-8"),
    ("x.csv", b"CREATE TABLE kg (h text, r text, t text);\nINSERT INTO kg VALUES ('a', 'b', 'c');\n", "of no format"),
    ("x.csv", b"head,relation,tail\n", "holds no entity"),
    ("x.json", b'[["gout", "treats", "x"]]', "is no JSON object"),
    ("x.json", b'{"nodes": [3], "links": []}', "is no JSON object"),
    ("x.json", b'{"nodes": 3, "links": []}', "is no list of objects"),
    ("x.json", b'{"nodes": [], "links": []} 3', "goes on after its end"),
    ("x.json", b'[{"head": "a", "tail": "b", "relation": "c"}', "ends too early"),
    ("x.zip", packed({"train.txt": "a\tb\tc\n", "test.txt": "d\te\tf\n"}), r"x\.zip: is of no format"),
    ("x.zip", packed({"a.csv": "from,to\n1\n", "b.csv": "id,name\n1,gout\n"}), r"x\.zip/a\.csv:2: has 1 columns"),
])  # fmt: skip
def test_what_is_no_graph_is_told_in_one_line_by_the_name_that_was_given(
    tmp_path: Path, name: str, data: bytes, told: str
) -> None:
    if name.endswith(("owl", "ofn")):
        pytest.importorskip("pyoxigraph")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadInput, match=told) as caught:
        build_graph("mine", tmp_path / name)
    assert "\n" not in str(caught.value)
    assert "/kgmed-" not in str(caught.value)


def looked(folder: Path, text: str) -> Preview:
    (folder / "x.csv").write_text(text)
    seen = preview(source_of("mine", folder / "x.csv"))
    assert seen is not None
    return seen


@pytest.mark.parametrize(("order", "end"), [("r,h,t", "heads"), ("h,t,r", "tails")])
def test_a_preview_says_which_column_seems_to_hold_the_relation(tmp_path: Path, order: str, end: str) -> None:
    pairs = ((GOUT, PAIN), ("asthma", "cough"), ("flu", "fever"), ("mumps", "swelling"))
    rows = [{"h": h, "r": "has_symptom", "t": t} for h, t in pairs]
    text = "".join(",".join(row[place] for place in order.split(",")) + "\n" for row in rows)
    assert any(f"the {end} (has symptom) seem to be the relations" in said for said in looked(tmp_path, text).unsure)


def test_a_preview_says_nothing_of_the_kind_where_the_relation_is_in_the_middle(tmp_path: Path) -> None:
    assert not looked(tmp_path, "symptom of the flu,R1,fever\ncauses of gout,R2,gout\n" + TRIPLES).unsure[1:]


def test_a_preview_warns_of_a_file_without_a_triple_and_of_ids_with_their_kind(tmp_path: Path) -> None:
    assert "there is no triple" in looked(tmp_path, "head,relation,tail\n").unsure
    ids = "Compound::DB1,treats,Disease::MESH:D006073\nCompound::DB2,treats,Disease::MESH:D006074\n"
    assert any("look like ids" in said for said in looked(tmp_path, ids).unsure)
