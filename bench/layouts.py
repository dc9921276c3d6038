"""About 100 MB in each published layout, built into a graph in a process of its own: processor seconds and peak memory.

    python bench/layouts.py                          # all of them, about ten minutes of one core
    python bench/layouts.py --mb 10 --layout OWL     # smaller, one of them
    python bench/layouts.py --small                  # what is read of small files in the layouts of layouts.toml

Each file has the same 50,000 diseases, 5,000 symptoms and 500 drugs and as many triples as fill it, so that memory
tells what a reader holds of its file. The peak is of the whole process: Python and its packages take about 60 MB of it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from _figures import keep

from kgmed.errors import SourceError
from kgmed.graph.library import build_graph, load

DISEASES, SYMPTOMS, DRUGS = 50_000, 5_000, 500
OBO = "http://purl.obolibrary.org/obo"
CHILD = """
import sys, time
from pathlib import Path
from kgmed.graph.library import build_graph
counts = build_graph("mine", Path(sys.argv[1])).manifest.counts
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
print(counts["entities"], counts["triples"], peak, time.process_time())
"""


def disease(i: int) -> str:
    """The name of a disease."""
    return f"disease of the {i:05d}. kind"


def symptom(i: int) -> str:
    """The name of a symptom."""
    return f"symptom number {i:04d}"


def drug(i: int) -> str:
    """The name of a drug."""
    return f"drug {i:03d}"


def pairs() -> Iterator[tuple[int, int]]:
    """Disease and symptom of one triple after the other, each pair once."""
    return ((k % DISEASES, (k // DISEASES + 13 * k) % SYMPTOMS) for k in count())


def nodes() -> Iterator[tuple[str, str, str]]:
    """Id, name and kind of every entity."""
    for letter, kind, number, name in (("D", "Disease", DISEASES, disease), ("S", "Symptom", SYMPTOMS, symptom),
                                       ("M", "Drug", DRUGS, drug)):  # fmt: skip
        yield from ((f"{letter}:{i}", name(i), kind) for i in range(number))


def fill(
    path: Path, lines: Iterable[str], size: float, *, head: str = "", first: Iterable[str] = (), end: str = ""
) -> None:
    """Write lines until a file has its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        out.write(head)
        done = len(head)
        for part in (first, lines):
            for line in part:
                out.write(line)
                done += len(line)
                if part is lines and done > size:
                    break
        out.write(end)


Make = Callable[[Path, float], Path]


def one(name: str, line: str, *, head: str = "", end: str = "", first: Callable[[], Iterable[str]] = tuple) -> Make:
    """A file with a line a triple."""

    def make(place: Path, size: float) -> Path:
        rows = (line.format(d=d, s=s, disease=disease(d), symptom=symptom(s), n=n) for n, (d, s) in enumerate(pairs()))
        fill(place / name, rows, size, head=head, end=end, first=first())
        return place / name

    return make


def folder(
    named: str, node: str, edged: str, edge: str, *, heads: tuple[str, str], more: dict[str, str] | None = None
) -> Make:
    """A file of nodes and a file of edges in a folder."""

    def make(place: Path, size: float) -> Path:
        rows = (node.format(id=i, name=name, kind=kind) for i, name, kind in nodes())
        fill(place / named, rows, float("inf"), head=heads[0])
        one(edged, edge, head=heads[1])(place, size - (place / named).stat().st_size)
        for name, text in (more or {}).items():
            (place / name).write_text(text, encoding="utf-8")
        return place

    return make


def zipped(make: Make) -> Make:
    """A zip of a folder."""

    def packed(place: Path, size: float) -> Path:
        inside = make(place / "inside", size)
        with ZipFile(place / "graph.zip", "w", ZIP_DEFLATED) as archive:
            for file in sorted(inside.iterdir()):
                archive.write(file, f"release/{file.name}")
        return place / "graph.zip"

    return packed


def neo4j(place: Path, size: float) -> Path:
    """Files of nodes by label, with the headers of Neo4j's import."""
    for kind in ("Disease", "Symptom", "Drug"):
        rows = (f"{i},{name},{kind}\n" for i, name, one_kind in nodes() if one_kind == kind)
        fill(place / f"{kind}.csv", rows, float("inf"), head=f":ID({kind}),name,:LABEL\n")
    edges = one("has.csv", "D:{d},S:{s},HAS_SYMPTOM\n", head=":START_ID(Disease),:END_ID(Symptom),:TYPE\n")
    edges(place, size)
    return place


def own_folder(place: Path, size: float) -> Path:
    """Node files by kind and an edge file that is called by its relation."""
    for kind in ("Disease", "Symptom"):
        rows = (f"{i},{name},{kind}\n" for i, name, one_kind in nodes() if one_kind == kind)
        fill(place / f"{kind}.csv", rows, float("inf"), head="id,name,type\n")
    one("edges_disease_has_symptom.csv", "D:{d},S:{s}\n", head="from,to\n")(place, size)
    return place


def rf2(place: Path, size: float) -> Path:
    """Snapshot files of SNOMED's release format."""
    ids = {i: f"{n + 100}" for n, (i, _, _) in enumerate(nodes())}
    fill(place / "sct2_Concept_Snapshot_INT_20250101.txt", (f"{n}\t1\n" for n in ["8", *ids.values()]), float("inf"),
         head="id\tactive\n")  # fmt: skip
    tags = {"Disease": "disorder", "Symptom": "finding", "Drug": "medicinal product"}
    said = (
        f"{n}\t1\t{ids[i]}\ten\t900000000000003001\t{name} ({tags[kind]})\n"
        for n, (i, name, kind) in enumerate(nodes())
    )
    fill(place / "sct2_Description_Snapshot_en_INT_20250101.txt", said, float("inf"),
         head="id\tactive\tconceptId\tlanguageCode\ttypeId\tterm\n",
         first=["1\t1\t8\ten\t900000000000003001\tHas manifestation (attribute)\n"])  # fmt: skip
    rows = (f"{n}\t1\t{ids[f'D:{d}']}\t{ids[f'S:{s}']}\t8\n" for n, (d, s) in enumerate(pairs()))
    fill(place / "sct2_Relationship_Snapshot_INT_20250101.txt", rows, size,
         head="id\tactive\tsourceId\tdestinationId\ttypeId\n")  # fmt: skip
    return place


def grouped(size: float, each: int) -> Iterator[tuple[int, list[int]]]:
    """Each disease with as many symptoms as fill a file where one takes so many bytes."""
    some = max(1, int((size - DISEASES * 2 * each) / DISEASES / each))
    return ((d, [(13 * d + k) % SYMPTOMS for k in range(some)]) for d in range(DISEASES))


def obo(place: Path, size: float) -> Path:
    """An ontology in OBO, the triples in its terms."""
    terms = (
        f"\n[Term]\nid: D:{d}\nname: {disease(d)}\nnamespace: disease\n"
        + "".join(f"relationship: has_symptom S:{s}\n" for s in of)
        for d, of in grouped(size, 36)
    )
    others = (f"\n[Term]\nid: S:{s}\nname: {symptom(s)}\n" for s in range(SYMPTOMS))
    fill(place / "x.obo", terms, float("inf"), head="format-version: 1.2\nontology: x\n", first=others)
    return place / "x.obo"


def obographs(place: Path, size: float) -> Path:
    """OBO Graphs JSON in one line."""
    told = (
        json.dumps({"id": f"{OBO}/{i.replace(':', '_')}", "lbl": name, "type": "CLASS"}) + ", "
        for i, name, _ in nodes()
    )
    relation = json.dumps({"id": f"{OBO}/RO_1", "lbl": "has symptom", "type": "PROPERTY"})
    edges = (f'{{"sub": "{OBO}/D_{d}", "pred": "{OBO}/RO_1", "obj": "{OBO}/S_{s}"}}, ' for d, s in pairs())
    last = f'{{"sub": "{OBO}/D_0", "pred": "{OBO}/RO_1", "obj": "{OBO}/S_1"}}'
    fill(place / "x.json", edges, size, head='{"graphs": [{"nodes": [', first=[*told, relation + '], "edges": ['],
         end=last + "]}]}")  # fmt: skip
    return place / "x.json"


def owl(place: Path, size: float) -> Path:
    """An ontology in OWL, each triple a restriction."""
    head = (
        '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#">\n'
        f'<owl:ObjectProperty rdf:about="{OBO}/RO_1"><rdfs:label>has symptom</rdfs:label></owl:ObjectProperty>\n'
    )
    others = (
        f'<owl:Class rdf:about="{OBO}/S_{s}"><rdfs:label>{symptom(s)}</rdfs:label></owl:Class>\n'
        for s in range(SYMPTOMS)
    )
    classes = (
        f'<owl:Class rdf:about="{OBO}/D_{d}"><rdfs:label>{disease(d)}</rdfs:label>'
        + "".join(
            f'<rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="{OBO}/RO_1"/>'
            f'<owl:someValuesFrom rdf:resource="{OBO}/S_{s}"/></owl:Restriction></rdfs:subClassOf>\n'
            for s in of
        )
        + "</owl:Class>\n"
        for d, of in grouped(size, 218)
    )
    fill(place / "x.owl", classes, float("inf"), head=head, first=others, end="</rdf:RDF>\n")
    return place / "x.owl"


def apoc_json(place: Path, size: float) -> Path:
    """JSON Lines as APOC exports them."""
    told = (
        json.dumps({"type": "node", "id": i, "labels": [kind], "properties": {"name": name}}) + "\n"
        for i, name, kind in nodes()
    )
    ends = '"start": {{"id": "D:{d}"}}, "end": {{"id": "S:{s}"}}}}\n'
    line = '{{"id": "{n}", "type": "relationship", "label": "HAS_SYMPTOM", ' + ends
    return one("export.json", line, first=lambda: told)(place, size)


def in_turtle() -> Iterator[str]:
    """The labels in Turtle."""
    return (f'e:{i.replace(":", "")} rdfs:label "{name}" .\n' for i, name, _ in nodes())


def in_graphml() -> Iterator[str]:
    """The nodes in GraphML."""
    return (
        f'<node id="{i}"><data key="d0">{name}</data><data key="d1">{kind.lower()}</data></node>\n'
        for i, name, kind in nodes()
    )


KGX_EDGE = '{{"subject": "D:{d}", "predicate": "biolink:has_phenotype", "object": "S:{s}"}}\n'
TRIPLE = "{disease},has_symptom,{symptom}\n"
PRIME = "relation,display_relation,x_index,x_id,x_type,x_name,x_source,y_index,y_id,y_type,y_name,y_source\n"
LAYOUTS: dict[str, Make] = {
    "Hetionet": folder("nodes.tsv", "{kind}::{id}\t{name}\t{kind}\n", "edges.sif",
                       "Disease::D:{d}\tDpS\tSymptom::S:{s}\n",
                       heads=("id\tname\tkind\n", "source\tmetaedge\ttarget\n"),
                       more={"metaedges.tsv": "metaedge\tabbreviation\tedges\nDisease - presents - Symptom\tDpS\t9\n"}),
    "PrimeKG": one("kg.csv", "disease_phenotype_positive,phenotype present,{s},S{s},effect/phenotype,{symptom},HPO,"
                   "{d},D{d},disease,{disease},MONDO\n", head=PRIME),
    "Neo4j's import files": neo4j,
    "node files and edge files": own_folder,
    "APOC CSV": one("export.csv", ",,,D:{d},S:{s},HAS_SYMPTOM\n", head="_id,_labels,name,_start,_end,_type\n",
                    first=lambda: (f"{i},:{kind},{name},,,\n" for i, name, kind in nodes())),
    "APOC JSON": apoc_json,
    "KGX TSV": folder("x_nodes.tsv", "{id}\tbiolink:{kind}\t{name}\n", "x_edges.tsv",
                      "{n}\tD:{d}\tbiolink:has_phenotype\tS:{s}\n",
                      heads=("id\tcategory\tname\n", "id\tsubject\tpredicate\tobject\n")),
    "KGX JSON Lines": folder("x_nodes.jsonl", '{{"id": "{id}", "category": ["biolink:{kind}"], "name": "{name}"}}\n',
                             "x_edges.jsonl", KGX_EDGE,
                             heads=("", "")),
    "CPubMed-KG": one("triples.txt", "{disease}@疾病\t临床表现\t{symptom}@症状\n"),
    "SNOMED RF2": rf2,
    "OBO": obo,
    "OBO Graphs": obographs,
    "OWL": owl,
    "Turtle with labelled properties": one(
        "x.ttl", "e:D{d} e:p1 e:S{s} .\n", first=in_turtle,
        head="@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n@prefix e: <http://example.org/> .\n"
        'e:p1 rdfs:label "has symptom"@en .\n'),
    "GraphML": one("x.graphml", '<edge source="D:{d}" target="S:{s}"><data key="d2">has_symptom</data></edge>\n',
                   head='<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
                   '<key id="d0" for="node" attr.name="name"/><key id="d1" for="node" attr.name="kind"/>\n'
                   '<key id="d2" for="edge" attr.name="relation"/>\n<graph edgedefault="directed">\n',
                   first=in_graphml, end="</graph></graphml>\n"),
    "CSV without a header": one("x.csv", TRIPLE),
    "head, relation, tail": one("x.csv", TRIPLE, head="head,relation,tail\n"),
    "source, type, target": one("x.csv", TRIPLE, head="source,type,target\n"),
    "a header of other words": one("x.csv", TRIPLE, head="Krankheit,relation,Befund\n"),
    "TSV": one("x.tsv", TRIPLE.replace(",", "\t")),
    "things of two kinds": one("x.tsv", "{n}\t{disease}\t{symptom}\n", head="row\tdisease_title\tsymptom_name\n"),
    "Cypher": one("x.cypher", 'MATCH (a:Disease {{name: "{disease}"}}), (b:Symptom {{name: "{symptom}"}}) '
                  "CREATE (a)-[:HAS_SYMPTOM]->(b);\n"),
    "SQL": one("x.sql", "INSERT INTO kg VALUES ('{disease}', 'has_symptom', '{symptom}');\n",
               head="CREATE TABLE kg (head text, relation text, tail text);\n"),
}  # fmt: skip
LAYOUTS["Hetionet in a zip"] = zipped(LAYOUTS["Hetionet"])


def in_json() -> Iterator[str]:
    """The nodes of a JSON document, and the begin of its links."""
    yield from (f'{{"id": "{i}", "name": "{name}", "kind": "{kind}"}},\n' for i, name, kind in nodes() if i != "M:0")
    yield '{"id": "M:0", "name": "drug 000", "kind": "Drug"}], "links": [\n'


def in_one_statement(place: Path, size: float) -> Path:
    """SQL as `mysqldump` writes it: thousands of rows in one statement and one line."""
    rows = (f"('{disease(d)}','has_symptom','{symptom(s)}')" for d, s in pairs())
    begun = "INSERT INTO `kg` VALUES "
    lines = (begun + ",".join(islice(rows, 10_000)) + ";\n" for _ in count())
    fill(place / "x.sql", lines, size, head="CREATE TABLE `kg` (`head` text, `relation` text, `tail` text);\n")
    return place / "x.sql"


def by_disease(place: Path, size: float) -> Path:
    """A table with a disease a row and its symptoms in a cell."""
    rows = (
        f"{disease(d)},a clinic,{drug(d % DRUGS)},{' '.join(f'symptom{s:04d}' for s in of)}\n"
        for d, of in grouped(size, 12)
    )
    fill(place / "x.csv", rows, float("inf"), head="name,department,drug,symptom\n")
    return place / "x.csv"


def in_texts(place: Path, size: float) -> Path:
    """JSON Lines of texts with the triples that each says."""
    told = ({"predicate": "has_symptom", "subject": disease(d), "object": {"@value": symptom(s)}} for d, s in pairs())
    lines = (json.dumps({"text": "a text", "spo_list": list(islice(told, 8))}) + "\n" for _ in count())
    fill(place / "x.jsonl", lines, size)
    return place / "x.jsonl"


def in_gb18030(place: Path, size: float) -> Path:
    """Triples in Chinese, in the encoding of spreadsheets there."""
    path = one("x.csv", "{disease}病,临床表现,{symptom}症\n")(place, size)
    path.write_bytes(path.read_text(encoding="utf-8").encode("gb18030"))
    return path


def in_gml() -> Iterator[str]:
    """The nodes in GML, whose ids are numbers."""
    begin = {"D": 0, "S": 100_000, "M": 200_000}
    told = ((begin[i[0]] + int(i[2:]), name, kind) for i, name, kind in nodes())
    return (f'node [\n id {i}\n label "{name}"\n kind "{kind}"\n]\n' for i, name, kind in told)


def in_yaml() -> Iterator[str]:
    """The nodes of a YAML document, and the begin of its edges."""
    yield from (f'- {{id: {i.replace(":", "")}, name: "{name}", kind: {kind}}}\n' for i, name, kind in nodes())
    yield "edges:\n"


GAF = "X\tP{d}\t{disease}\tinvolved_in\tGO:{s:07d}\tPMID:1\tIDA\t\tP\t\t\tprotein\ttaxon:9606\t20200101\tX\t\t\n"
LAYOUTS |= {
    "JSON with nodes and links": one(
        "x.json", '{{"source": "D:{d}", "relation": "has_symptom", "target": "S:{s}"}},\n', head='{"nodes": [\n',
        first=in_json, end='{"source": "D:0", "relation": "has_symptom", "target": "S:1"}]}\n'),
    "JSON Lines of triples": one(
        "x.jsonl", '{{"head": "{disease}", "relation": "has_symptom", "tail": "{symptom}"}}\n'),
    "N-Triples": one("x.nt", "<http://e.org/D{d}> <http://e.org/hasSymptom> <http://e.org/S{s}> .\n"),
    "GAF": one("x.gaf", GAF, head="!gaf-version: 2.2\n"),
    "Gremlin": one("x.groovy", "g.addV('Disease').property('name','{disease}').as('a').addV('Symptom')"
                   ".property('name','{symptom}').as('b').addE('has_symptom').from('a').to('b').iterate()\n"),
    "SQL, COPY": one("x.sql", "{disease}\thas_symptom\t{symptom}\n",
                     head="COPY kg (head, relation, tail) FROM stdin;\n",
                     end="\\.\n"),
    "SQL, rows in one statement": in_one_statement,
    "a disease a row": by_disease,
    "texts with their triples": in_texts,
    "GB18030": in_gb18030,
    "GML": one("x.gml", 'edge [\n source {d}\n target 1{s:05d}\n label "has_symptom"\n]\n', head="graph [\n",
               end="]\n", first=in_gml),
    "DOT": one("x.dot", '"D:{d}" -> "S:{s}" [label=has_symptom];\n', head="digraph {\n", end="}\n",
               first=lambda: (f'"{i}" [label="{name}", kind={kind}];\n' for i, name, kind in nodes())),
    "SIF": one("x.sif", "{disease}\thas_symptom\t{symptom}\n"),
    "YAML": one("x.yaml", "- {{source: D{d}, relation: has_symptom, target: S{s}}}\n", head="nodes:\n", first=in_yaml),
}  # fmt: skip


def measure(name: str, make: Make, size: float) -> None:
    """Write a layout, build it in a child and print its row."""
    with tempfile.TemporaryDirectory(prefix="kgmed-layouts-") as place:
        path = make(Path(place) / "graph", size)
        files = [path] if path.is_file() else sorted(path.iterdir())
        written = sum(file.stat().st_size for file in files)
        done = subprocess.run([sys.executable, "-c", CHILD, path], capture_output=True, text=True, check=False,
                              env=os.environ | {"KGMED_HOME": f"{place}/home"})  # fmt: skip
        if done.returncode:
            print(f"{name:34s} {written / 1e6:6.0f}  FAILED: {done.stderr.strip().splitlines()[-1][:150]}", flush=True)
            return
        *counts, seconds = done.stdout.split()
        entities, triples, peak = map(int, counts)
        row = f"{name:34s} {written / 1e6:6.0f} {entities:9,d} {triples:10,d} {float(seconds):7.1f} {peak / 1e6:7.0f}"
        print(row, flush=True)
        keep("layouts", {f"{name} seconds": float(seconds), f"{name} peak MB": peak / 1e6})


SMALL: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["layout"]


def judged(layout: Mapping[str, Any], place: Path) -> tuple[str, str]:
    """What becomes of a small layout, and why: right, refused with a mend, less than it says, or garbage."""
    folder = place / "graph"
    folder.mkdir()
    for name, text in layout["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    try:
        build_graph("small", folder if len(layout["files"]) > 1 else folder / name, force=True)
    except SourceError as error:
        wanted = "refused" if "says" not in layout else "refused, it should not be"
        return (wanted if error.mend else "refused without a mend"), str(error).replace(str(place), "")
    graph = load("small")
    triples = [t for i in range(len(graph)) for t in graph.neighbours(graph.at(i).id)]
    found = {(t.head.name, t.relation.role.value, t.tail.name)[:: -1 if t.relation.reverse else 1] for t in triples}
    expected = {tuple(one) for one in layout.get("says", ())}
    more = sorted(found - expected)
    return ("garbage" if more else "right" if found == expected else "less"), f"{more or sorted(expected - found)}"


def small() -> None:
    """Judge the small layouts, those that are held out apart, and print."""
    for held_out in (False, True):
        counts = Counter[str]()
        for layout in SMALL:
            if layout.get("held_out", False) is not held_out:
                continue
            with tempfile.TemporaryDirectory(prefix="kgmed-layouts-") as place:
                os.environ["KGMED_HOME"] = f"{place}/home"
                outcome, why = judged(layout, Path(place))
            counts[outcome] += 1
            print(f"{layout['name']:34s} {outcome}{'' if outcome == 'right' else f'  {why[:200]}'}", flush=True)
        keep("layouts", {f"small {'held' if held_out else 'known'} {what}": n for what, n in counts.items()})
        print(f"== {'held out' if held_out else 'known'}: {dict(counts)}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=100.0)
    parser.add_argument("--layout", action="append", choices=list(LAYOUTS), help="may be repeated; all if not given")
    parser.add_argument("--small", action="store_true", help="judge the small files instead")
    options = parser.parse_args()
    if options.small:
        small()
        return
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'layout':34s} {'MB':>6s} {'entities':>9s} {'triples':>10s} {'seconds':>7s} {'peak MB':>7s}")
    for name in options.layout or LAYOUTS:
        measure(name, LAYOUTS[name], options.mb * 1e6)


if __name__ == "__main__":
    main()
