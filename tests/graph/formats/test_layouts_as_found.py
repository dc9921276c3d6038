"""Graphs as engineers find them: other headers, JSON documents, archives, standard input, and what is no graph."""

import gzip
import io
import json
import sys
import tarfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from typer.testing import CliRunner

from kgmed import registry
from kgmed.cli import app
from kgmed.errors import BadInput, SourceError
from kgmed.graph import formats
from kgmed.graph.doctor import Preview, preview
from kgmed.graph.formats.base import DENIED
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
OBO = "http://purl.obolibrary.org/obo/"
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
    packed(KGX_TABLES), gzip.compress(f"head,relation,tail\n{TRIPLES}".encode(), mtime=0), json.dumps(APOC).encode(),
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
    ("x.csv", b"CREATE TABLE user (id int, name text);\nINSERT INTO user VALUES (1, 'b');\n", "nodes and no edges"),
    ("x.csv", b"head,relation,tail\n", "holds no entity"),
    ("x.json", b'[["gout", "treats"]]', "its format is not recognised"),
    ("x.json", b'{"resourceType": "Patient", "id": "1", "name": [{"family": "A"}]}', "holds nodes and no edges"),
    ("x.json", b'{"id": "p", "subject": {"id": "s"}, "metaData": {}}', "its format is not recognised"),
    ("x.json", b'{"nodes": [3], "links": []}', "is no JSON object"),
    ("x.json", b'{\n"a":' * 5000, "is nested too deeply"),
    ("x.cypher", b"CREATE (a {b: " + b"[" * 9000 + b"})", "is nested too deeply"),
    ("x.sql", b"INSERT INTO kg VALUES ('a);\n" + b"b;\n" * 99, "opens a quote and does not close it"),
    ("x.json", b'{"nodes": 3, "links": []}', "is no list of objects"),
    ("x.json", b'{"nodes": [], "links": []} 3', "goes on after its end"),
    ("x.json", b'[{"head": "a", "tail": "b", "relation": "c"}', "ends too early"),
    ("x.zip", packed({"one.txt": "a\tb\tc\n", "two.txt": "d\te\tf\n"}), r"x\.zip: its format is not recognised"),
    ("x.zip", packed({"a.csv": "from,to\n1,2\n1\n", "b.csv": "id,name\n1,gout\n"}), r"x\.zip/a\.csv:3: has 1 columns"),
])  # fmt: skip
def test_what_is_no_graph_is_told_in_one_line_by_the_name_that_was_given(
    tmp_path: Path, name: str, data: bytes, told: str
) -> None:
    if name.endswith(("owl", "ofn")):
        pytest.importorskip("pyoxigraph")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadInput, match=told) as caught:
        build_graph("mine", tmp_path / name, strict=True)
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


# --- Polarity: what a file denies is never told as so, whatever the format.

SEIZURE = "seizure"
KGX_DENIED: dict[str, list[Mapping[str, object]]] = {
    "nodes": [*NODES, {"id": "d", "name": SEIZURE, "category": "Symptom"}],
    "edges": [
        *links(of="subject object", kind="predicate"),
        {"subject": "a", "predicate": "has_symptom", "object": "d", "negated": True},
        {"subject": "b", "predicate": "treats", "object": "d", "negated": True},
    ],
}
DENIED_APOC = [
    *APOC,
    {"type": "node", "id": "3", "labels": ["Symptom"], "properties": {"name": SEIZURE}},
    *({"type": "relationship", "id": i, "label": label, "start": {"id": start}, "end": {"id": "3"},
       "properties": {"negated": True}} for i, label, start in (("2", "HAS_SYMPTOM", "0"), ("3", "TREATS", "1"))),
]  # fmt: skip
DENIED_ROWS = [
    (COLCHICINE, "treats", GOUT, "", ""),
    (GOUT, "has_symptom", PAIN, "false", ""),
    (GOUT, "has_symptom", SEIZURE, "true", "NOT|has_symptom"),
    (COLCHICINE, "treats", SEIZURE, "true", "NOT"),
]


def denied_table(mark: str, column: str, *, names: tuple[str, str] = ("head", "tail")) -> str:
    at = 4 if column == "qualifier" else 3
    rows = [(names[0], "relation", names[1], column), *((*row[:3], row[at]) for row in DENIED_ROWS)]
    return "".join(mark.join(row) + "\n" for row in rows)


def denied_graphml() -> str:
    rows = (
        f'<edge source="{h}" target="{t}"><data key="r">{r}</data><data key="n">{n}</data></edge>'
        for h, r, t, n, _ in DENIED_ROWS
    )
    keys = '<key id="r" for="edge" attr.name="relation"/><key id="n" for="edge" attr.name="negated"/>'
    nodes = "".join(f'<node id="{name}"/>' for name in (GOUT, PAIN, COLCHICINE, SEIZURE))
    return f"<graphml>{keys}<graph>{nodes}{''.join(rows)}</graph></graphml>"


def json_lines(objects: Sequence[object]) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def denied_obo() -> str:
    terms = {name: [f"[Term]\nid: X:{i}\nname: {name}"] for i, name in enumerate((GOUT, PAIN, COLCHICINE, SEIZURE))}
    ids = {name: f"X:{i}" for i, name in enumerate(terms)}
    for head, relation, tail, negated, _ in DENIED_ROWS:
        terms[head].append(f'relationship: {relation} {ids[tail]} {{source="x", negated="{negated}"}} ! {tail}')
    return "format-version: 1.2\nontology: x\n\n" + "\n\n".join(map("\n".join, terms.values())) + "\n"


def denied_obographs() -> str:
    ids = {name: f"{OBO}X_{i}" for i, name in enumerate((GOUT, PAIN, COLCHICINE, SEIZURE))}
    edges = [
        {"sub": ids[h], "pred": f"{OBO}{r}", "obj": ids[t],
         "meta": {"basicPropertyValues": [{"pred": "http://x.org/negated", "val": n}]}}
        for h, r, t, n, _ in DENIED_ROWS
    ]  # fmt: skip
    nodes: list[dict[str, str]] = [{"id": i, "lbl": name, "type": "CLASS"} for name, i in ids.items()]
    nodes += [{"id": f"{OBO}{r}", "lbl": r, "type": "PROPERTY"} for r in ("treats", "has_symptom")]
    return json.dumps({"graphs": [{"nodes": nodes, "edges": edges}]})


def denied_cypher() -> str:
    nodes = "".join(f"CREATE (:Thing {{name: '{name}'}});\n" for name in (GOUT, PAIN, COLCHICINE, SEIZURE))
    return nodes + "".join(
        f"MATCH (a:Thing {{name: '{h}'}}), (b:Thing {{name: '{t}'}}) "
        f"CREATE (a)-[:{r} {{negated: {n or 'false'}}}]->(b);\n"
        for h, r, t, n, _ in DENIED_ROWS
    )


def denied_sql() -> str:
    rows = ",".join(f"('{h}','{r}','{t}','{n}')" for h, r, t, n, _ in DENIED_ROWS)
    return f"CREATE TABLE kg (head text, relation text, tail text, negated text);\nINSERT INTO kg VALUES {rows};\n"


def denied_gml() -> str:
    names = dict.fromkeys(name for h, _, t, _, _ in DENIED_ROWS for name in (h, t))
    nodes = "".join(f'node [ id {i} label "{name}" ]\n' for i, name in enumerate(names))
    at = list(names).index
    return f"graph [\n{nodes}" + "".join(
        f'edge [ source {at(h)} target {at(t)} relation "{r}" negated "{n or "false"}" ]\n'
        for h, r, t, n, _ in DENIED_ROWS
    ) + "]\n"  # fmt: skip


def denied_dot() -> str:
    return "digraph {\n" + "".join(
        f'"{h}" -> "{t}" [label="{r}" negated="{n or "false"}"]\n' for h, r, t, n, _ in DENIED_ROWS
    ) + "}\n"  # fmt: skip


DENYING: dict[str, Mapping[str, str]] = {
    "triples, CSV": {"x.csv": denied_table(",", "negated")},
    "triples, TSV": {"x.tsv": denied_table("\t", "excluded")},
    "triples, qualifier": {"x.csv": denied_table(",", "qualifier")},
    "triples, JSON Lines": {"x.jsonl": json_lines([dict(zip(("head", "relation", "tail", "negated"), row, strict=False))
                                                   for row in DENIED_ROWS])},
    "KGX, TSV": {"x_nodes.tsv": "id\tname\tcategory\n" + "".join(
                     f"{n['id']}\t{n['name']}\t{n['category']}\n" for n in KGX_DENIED["nodes"]),
                 "x_edges.tsv": "subject\tpredicate\tobject\tnegated\n" + "".join(
                     f"{e['subject']}\t{e['predicate']}\t{e['object']}\t{e.get('negated', '')}\n"
                     for e in KGX_DENIED["edges"])},
    "KGX, JSON Lines": {"x_nodes.jsonl": json_lines(KGX_DENIED["nodes"]),
                        "x_edges.jsonl": json_lines(KGX_DENIED["edges"])},
    "KGX, JSON": {"x.json": json.dumps(KGX_DENIED)},
    "APOC, JSON": {"x.json": json_lines(DENIED_APOC)},
    "GraphML": {"x.graphml": denied_graphml()},
    "GML": {"x.gml": denied_gml()},
    "DOT": {"x.dot": denied_dot()},
    "YAML": {"x.yaml": json.dumps(KGX_DENIED)},
    "OBO": {"x.obo": denied_obo()},
    "OBO Graphs": {"x.json": denied_obographs()},
    "Cypher": {"x.cypher": denied_cypher()},
    "SQL": {"x.sql": denied_sql()},
}  # fmt: skip
DENY_ELSEWHERE = {"hpo", "orphadata", "parquet", "pharmacotherapydb", "rdf"}  # tests/graph/formats/test_source_*.py
DENY_NOTHING = {  # whose rows have no field that could
    "babelon", "cmekg", "disease_json", "disease_table", "drugcentral", "icd10", "medrt", "omim", "pubtator", "rf2",
    "sif", "umls", "who-eml",
}  # fmt: skip


def test_every_format_has_a_test_of_what_it_denies_or_no_way_to_deny(tmp_path: Path) -> None:
    folders = [put(tmp_path / f"{i}", files) for i, files in enumerate(DENYING.values())]
    tried = {formats.detect(folder if len(files) > 1 else folder / next(iter(files)))
             for folder, files in zip(folders, DENYING.values(), strict=True)}  # fmt: skip
    assert tried | DENY_ELSEWHERE | DENY_NOTHING == set(registry.formats.names())


@pytest.mark.parametrize("files", DENYING.values(), ids=DENYING)
def test_what_a_file_denies_is_excluded_or_left_out_and_counted(tmp_path: Path, files: Mapping[str, str]) -> None:
    folder = put(tmp_path / "graph", files)
    assert found(folder if len(files) > 1 else folder / next(iter(files))) == {*BOTH, ("excludes", SEIZURE)}
    store = load("mine")
    assert store.manifest.dropped[DENIED]["count"] == 1  # that colchicine treats seizures is not said
    (seizure,) = {match.entity for match in store.lookup(SEIZURE)}
    assert [t.relation.role.value for t in store.neighbours(seizure.id)] == ["excludes"]


# --- Blemishes: a row is mended or left out, counted and told by line; --strict refuses.

ROWS = f"head,relation,tail\n{TRIPLES}"
FILE = "x.csv"
BLEMISHED = {
    "missing last cells": ("x.csv", f"head,relation,tail,source\n{TRIPLES}", 2),
    "missing last cells of a table": ("x.csv", f":START_ID,:END_ID,:TYPE,weight,from\n{GOUT},{PAIN},has_symptom\n"
                                      f"{COLCHICINE},{GOUT},treats,1,a\n", 2),
    "surplus empty cells": ("x.csv", ROWS.replace(PAIN, f"{PAIN},,"), 2),
    "too many cells": ("x.csv", f"{ROWS}a,b,c,d\n", 4),
    "too few cells": ("x.csv", f"{ROWS}a,b\n", 4),
    "a cell that spans lines": ("x.tsv", f"head\trelation\ttail\n{GOUT}\tdescribed as\t\"a painful\njoint disease\"\n"
                                + TRIPLES.replace(",", "\t"), 2),
    "a quote that is never closed": ("x.csv", f'{ROWS}"a,is_a,b\n', 4),
    "a quote inside a cell": ("x.csv", f'{ROWS}"a"x,is_a,b\n', 4),
    "a line that is no JSON": ("x.jsonl", "".join(f'{{"head":"{h}","relation":"{r}","tail":"{t}"}}\n' for h, r, t in (
        line.split(",") for line in TRIPLES.splitlines())) + '{"head":\n', 3),
    "a stanza without an id": ("x.obo", f"[Term]\nid: A:1\nname: {GOUT}\nrelationship: has_symptom A:2\n"
                               f"\n[Term]\nid: A:2\nname: {PAIN}\n\n[Term]\nname: odd\n\n[Term]\nid: A:3\n"
                               f"name: {COLCHICINE}\nrelationship: treats A:1\n", 10),
    "a line that is no tag": ("x.obo", f"[Term]\nid: A:1\nname: {GOUT}\nrelationship: has_symptom A:2\nodd line\n"
                              f"\n[Term]\nid: A:2\nname: {PAIN}\n\n[Term]\nid: A:3\n"
                              f"name: {COLCHICINE}\nrelationship: treats A:1\n", 5),
    "an IRI with a blank": ("x.nt", "<http://e/gout> <http://e/has_symptom> <http://e/joint pain> .\n"
                            "<http://e/colchicine> <http://e/treats> <http://e/gout> .\n", 1),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "line"), BLEMISHED.values(), ids=BLEMISHED)
def test_a_blemish_costs_at_most_its_row_and_is_told_by_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    if name.endswith(".nt"):
        pytest.importorskip("pyoxigraph")
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert found(tmp_path / name) >= BOTH
    assert line in [n for said in load("mine").manifest.dropped.values() for n in said["lines"]]
    with pytest.raises(SourceError, match=f"{name}:{line}: "):
        build_graph("mine", tmp_path / name, strict=True, force=True)


def test_a_file_most_of_whose_rows_are_no_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(ROWS + "and, so, on, and on\n" * 9)
    with pytest.raises(SourceError, match=r"x\.csv:4: has 4 columns, not 3, as 9 of 11 rows"):
        build_graph("mine", tmp_path / "x.csv")


CHINESE = f"头实体,关系,尾实体\n{GOUT},has_symptom,{PAIN}\n{COLCHICINE},treats,{GOUT}\n痛风,症状,关节痛\n"


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "utf-16-be", "latin-1", "utf-8-sig"])
@pytest.mark.parametrize("as_folder", [False, True])
def test_the_encoding_is_told_by_the_bytes(tmp_path: Path, encoding: str, *, as_folder: bool) -> None:
    text = ROWS + "Ménière,has_symptom,vertigo\n" if encoding == "latin-1" else CHINESE
    folder = put(tmp_path / "graph", {})
    data = (b"\xfe\xff" if encoding == "utf-16-be" else b"") + text.encode(encoding)
    (folder / "x.csv").write_bytes(data)
    assert found(folder if as_folder else folder / "x.csv") == BOTH
    assert load("mine").lookup("Ménière" if encoding == "latin-1" else "痛风")


def test_lines_in_another_encoding_are_mended_and_told(tmp_path: Path) -> None:
    data = (ROWS + "Sjögren,is_a,x\n").encode() + "Ménière,has_symptom,vertigo\n".encode("latin-1")
    (tmp_path / "x.csv").write_bytes(data)
    assert found(tmp_path / "x.csv") == BOTH
    assert load("mine").lookup("Ménière")
    assert load("mine").lookup("Sjögren")
    assert {"count": 1, "lines": [5]} in load("mine").manifest.dropped.values()
    with pytest.raises(SourceError, match=r"x\.csv:5: read as cp1252"):
        build_graph("mine", tmp_path / "x.csv", strict=True)


def test_an_encoding_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes((ROWS + "痛風,症狀,疼痛\n").encode("big5"))
    build_graph("mine", tmp_path / "x.csv", encoding="big5", strict=True)
    assert load("mine").lookup("痛風")
    with pytest.raises(BadInput, match="no encoding that is known"):
        build_graph("mine", tmp_path / "x.csv", encoding="klingon")
    with pytest.raises(SourceError, match="is no utf-8 text"):
        build_graph("mine", tmp_path / "x.csv", encoding="utf-8")


def test_an_obsolete_term_leads_to_the_one_that_took_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.obo").write_text(
        '[Term]\nid: X:1\nname: old name\nis_obsolete: true\nreplaced_by: X:2\nsynonym: "older" EXACT []\n\n'
        "[Term]\nid: X:2\nname: new name\nalt_id: X:3\nxref: xref (ILX:1)\n\n"
        "[Term]\nid: X:4\nname: gone\nis_obsolete: true\nreplaced_by: X:5\n"  # which this part does not have
    )
    build_graph("mine", tmp_path / "x.obo")
    store = load("mine")
    for text in ("X:1", "X:3", "old name", "older", "new name"):
        assert {match.entity.id for match in store.lookup(text)} == {"X:2"}
    assert not any(map(store.lookup, ("xref", "gone", "X:4", "X:5")))
    assert store.manifest.counts["entities"] == 1
    assert store.manifest.dropped["obsolete"]["count"] == 2


# --- JSON of graphs under whatever names, and in whatever order.

BY_NAME = {"a": GOUT, "b": COLCHICINE, "c": PAIN}
EXCHANGED: dict[str, object] = {
    "TRAPI": {"message": {
        "query_graph": {"nodes": {"n0": {"ids": ["a"]}}, "edges": {"e0": {"subject": "n0", "object": "n1"}}},
        "knowledge_graph": {
            "edges": {
                "1": {"subject": "b", "predicate": "biolink:treats", "object": "a"},
                "2": {"subject": "a", "predicate": "biolink:has_phenotype", "object": "c"},
                "3": {"subject": "b", "predicate": "biolink:treats", "object": "c",
                      "attributes": [{"attribute_type_id": "biolink:negated", "value": True}]}},
            "nodes": {n["id"]: {"name": n["name"], "categories": [f"biolink:{n['category']}"]} for n in NODES}},
        "results": [{"node_bindings": {"n0": [{"id": "a"}]}}]}},
    "CX": [
        {"numberVerification": [{"longNumber": 281474976710655}]},
        {"nodes": [{"@id": i, "n": n["name"]} for i, n in enumerate(NODES)]},
        {"edges": [{"@id": 9, "s": 1, "t": 0, "i": "treats"}, {"@id": 10, "s": 0, "t": 2, "i": "has_symptom"}]},
        {"status": [{"success": True}]}],
    "CX2": [
        {"CXVersion": "2.0", "hasFragments": False},
        {"nodes": [{"id": i, "v": {"name": n["name"]}} for i, n in enumerate(NODES)]},
        {"edges": [{"id": 9, "s": 1, "t": 0, "v": {"interaction": "treats"}},
                   {"id": 10, "s": 0, "t": 2, "v": {"interaction": "has_symptom"}}]}],
    "vis.js": {"options": {"height": 3}, "edges": [{"from": "b", "to": "a", "label": "treats"},
                                                   {"from": "a", "to": "c", "label": "has_symptom"}],
               "nodes": [{"id": key, "label": name} for key, name in BY_NAME.items()]},
    "graphology": {"attributes": {}, "nodes": [{"key": k, "attributes": {"label": n}} for k, n in BY_NAME.items()],
                   "edges": [{"source": "b", "target": "a", "attributes": {"relation": "treats"}},
                             {"source": "a", "target": "c", "attributes": {"relation": "has_symptom"}}]},
    "JSON Graph": {"graph": {"nodes": {k: {"label": n} for k, n in BY_NAME.items()},
                             "edges": links(of="source target", kind="relation")}},
    "lists of one's own": {"about": "x " * 99, "facts": links(of="subject object", kind="predicate"),
                           "things": [{"id": key, "title": name} for key, name in BY_NAME.items()]},
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("document", EXCHANGED.values(), ids=EXCHANGED)
def test_nodes_and_edges_are_told_by_what_they_hold(tmp_path: Path, document: object, indent: int | None) -> None:
    (tmp_path / "x.json").write_text(json.dumps(document, indent=indent), encoding="utf-8")
    assert found(tmp_path / "x.json") == BOTH
    assert len(load("mine")) == 3


@pytest.mark.parametrize(
    "text",
    ["高血压@疾病\t临床表现\t头痛@症状\n", "head,relation,tail\n高血压@@疾病,临床表现,头痛@@症状\n"],
    ids=["one row", "with a header"],
)
def test_the_kind_behind_a_name_is_no_part_of_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    build_graph("mine", tmp_path / "x.txt")
    (found,) = load("mine").lookup("高血压")
    assert (found.entity.name, found.entity.kind) == ("高血压", "disease")


def test_quotes_of_neo4j_are_no_part_of_a_name(tmp_path: Path) -> None:
    nodes = "id:ID\tname\t:LABEL\nefo:1\t'Crohn's colitis'\tDisease\nd:2\t'ibuprofen'\tDrug\n"
    edges = ":START_ID\t:END_ID\t:TYPE\nd:2\tefo:1\tTREATS\n"
    build_graph("mine", put(tmp_path / "graph", {"nodes.tsv": nodes, "edges.tsv": edges}))
    assert {name.text for name in load("mine").names()} == {"Crohn's colitis", "ibuprofen"}


@pytest.mark.parametrize(
    "text",
    ["".join(f"person {i},{20 + i % 50},{i % 7}\n" for i in range(30)),
     "".join(f"code{i},title {i} of it,remark {i}\n" for i in range(60))],
    ids=["numbers", "a list of codes"],
)  # fmt: skip
def test_three_columns_without_relations_are_no_graph(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(SourceError, match="has no relations in its second column"):
        build_graph("mine", tmp_path / "x.csv")


def test_a_file_whose_columns_are_not_known_is_mapped_by_one_command(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text(f"Krankheit,Art,Befund,score\n{GOUT},has_symptom,{PAIN},.5\n{GOUT},has_symptom,fever,.2\n")
    with pytest.raises(
        SourceError, match=r"nearest are .*triples \(it has no column for the head and the relation"
    ) as e:
        build_graph("mine", own)
    assert str(e.value).count("it has no column") == 3
    proposed = CliRunner().invoke(app, ["graph", "map", str(own)]).output
    assert 'weight = "score"' in proposed
    assert "not used yet: Krankheit, Art, Befund" in proposed
    for what, name in (("head", "Krankheit"), ("relation", "Art"), ("tail", "Befund")):
        proposed = proposed.replace(f'# {what} = ""', f'{what} = "{name}"')
    (tmp_path / "map.toml").write_text(proposed, encoding="utf-8")
    build_graph("mine", own, columns=tmp_path / "map.toml")
    assert {t.tail.name: round(t.weight, 1) for t in load("mine").neighbours("mine:gout")} == {PAIN: 0.5, "fever": 0.2}


def test_xml_is_told_by_its_top_element_whatever_its_suffix_and_encoding(tmp_path: Path) -> None:
    disorder = (
        "<JDBOR><Disorder><OrphaCode>1</OrphaCode><Name>Ménière</Name><HPODisorderAssociationList>"
        "<HPODisorderAssociation><HPO><HPOId>HP:1</HPOId><HPOTerm>vertigo</HPOTerm></HPO></HPODisorderAssociation>"
        "</HPODisorderAssociationList></Disorder></JDBOR>"
    )
    path = tmp_path / "x.xml"
    path.write_bytes(f'<?xml version="1.0" encoding="ISO-8859-1"?>\n{disorder}'.encode("latin-1"))
    build_graph("mine", path)
    assert [match.entity.id for match in load("mine").lookup("Ménière")] == ["ORPHA:1"]
    pytest.importorskip("pyoxigraph")
    path.write_text(
        '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
        '<rdf:Description rdf:about="http://e/gout"><e:hasSymptom rdf:resource="http://e/pain"/></rdf:Description></rdf:RDF>'
    )
    assert found(path) == {("finding", "pain")}


REFUSED = {
    "x.xml": ('<?xml version="1.0"?>\n<!-- c -->\n<cohort/>', r"graphml \(it does not begin with <graphml or <gexf"),
    "x.yaml": ("- patient: A\n  disease: gout\n", r"triples \(it has no field for the head and the relation and the"),
    "x.json": ('{"patient": "A", "disease": "gout"}', r"tables, of nodes \(it has no field for the id and the name\)"),
    "x.txt": ("A000    Cholera\nA001    Cholera\n", r"triples \(it has no column for the head and the relation and"),
    "folder": ("", r"tables \(it holds no \*\.csv"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_three_nearest_formats_and_what_they_miss(tmp_path: Path, name: str) -> None:
    text, told = REFUSED[name]
    path = tmp_path / name
    if text:
        path.write_text(text, encoding="utf-8")
    else:
        put(path, {"notes.txt": "nothing\n"})
    with pytest.raises(SourceError, match=told) as refused:
        build_graph("mine", path)
    near = refused.value.mend.partition("nearest are ")[2]
    assert sum(near.count(word) for word in ("(it has no", "(it does not", "(it holds no")) == 3


# --- What the relation between two kinds of things means, and what ontologies call it.

BENCH = Path(__file__).resolve().parents[3] / "bench" / "layouts.toml"
SMALL = tomllib.loads(BENCH.read_text(encoding="utf-8"))["layout"]


@pytest.mark.parametrize("layout", SMALL, ids=[layout["name"] for layout in SMALL])
def test_a_small_file_says_what_it_says_or_is_refused_with_a_mend(tmp_path: Path, layout: dict[str, Any]) -> None:
    folder = put(tmp_path / "graph", layout["files"])
    path = folder if len(layout["files"]) > 1 else folder / next(iter(layout["files"]))
    if "says" not in layout:
        with pytest.raises(SourceError) as refused:
            build_graph("mine", path)
        assert refused.value.mend
        return
    build_graph("mine", path)
    store = load("mine")
    triples = [t for i in range(len(store)) for t in store.neighbours(store.at(i).id)]
    said = [(t.head.name, t.relation.role.value, t.tail.name)[:: -1 if t.relation.reverse else 1] for t in triples]
    assert set(said) == set(map(tuple, layout["says"]))


ONTOLOGIES = {
    "x.obo": "[Term]\nid: D:1\nname: gout\nrelationship: X:12 S:1\nrelationship: X:0099 S:1\n\n[Term]\nid: S:1\n"
    "name: joint pain\n\n[Term]\nid: D:9\nname: podagra\nis_obsolete: true\nreplaced_by: D:1\n\n"
    "[Typedef]\nid: X:12\nname: has phenotype\n",
    "x.json": json.dumps({"graphs": [{
        "nodes": [
            {"id": f"{OBO}D_1", "lbl": GOUT, "type": "CLASS"}, {"id": f"{OBO}S_1", "lbl": PAIN, "type": "CLASS"},
            {"id": f"{OBO}D_9", "lbl": "obsolete podagra", "meta": {"deprecated": True, "basicPropertyValues": [
                {"pred": f"{OBO}IAO_0100001", "val": f"{OBO}D_1"}]}}],
        "edges": [{"sub": f"{OBO}D_1", "pred": f"{OBO}{p}", "obj": f"{OBO}S_1"} for p in ("RO_0002200", "X_0099")],
    }]}),
    "x.ttl": f"""@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix obo: <{OBO}> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix oio: <http://www.geneontology.org/formats/oboInOwl#> .
        obo:D_1 rdfs:label "{GOUT}" ; obo:RO_0002200 obo:S_1 ; obo:X_0099 obo:S_1 ; rdfs:seeAlso <http://e/page> ;
            oio:inSubset obo:slim ; oio:created_by "someone" .
        obo:S_1 rdfs:label "{PAIN}" .
        obo:D_9 owl:deprecated true ; rdfs:label "obsolete podagra" ; obo:IAO_0100001 obo:D_1 .""",
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), ONTOLOGIES.items(), ids=ONTOLOGIES)
def test_ontologies_call_relations_by_label_and_lead_from_what_is_obsolete(
    tmp_path: Path, name: str, text: str
) -> None:
    if name.endswith("ttl"):
        pytest.importorskip("pyoxigraph")
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert found(tmp_path / name) == {("finding", PAIN), ("other", PAIN)}
    store = load("mine")
    assert {t.relation.name for t in store.neighbours("D:1")} == {"has phenotype", "linked by X:0099"}
    assert len(store) == 2  # no page, no subset
    assert {match.entity.id for text in ("D:9", "podagra") for match in store.lookup(text)} == {"D:1"}
