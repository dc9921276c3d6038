"""Small whole files of every format that is read, and ways to damage them: for fuzzing, in tests and at length."""

import gzip
import io
import json
import pickle
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from made_wheels import icd10_wheel, who_wheel

OBO = b"""format-version: 1.2
data-version: hp/releases/2030-02-01

[Term]
id: HP:0000118
name: Phenotypic abnormality

[Term]
id: HP:0000010
name: Sore toe
alt_id: HP:0000011
def: "Pain in a \\"toe\\"." [PMID:9]
synonym: "Toe ache" EXACT layperson []
xref: UMLS:C1 "toe" {source="x"}
is_a: HP:0000118 {source="x"} ! Phenotypic abnormality
relationship: part_of HP:0000118

[Term]
id: HP:0000012
is_obsolete: true
"""
ANNOTATIONS = b"""#version: 2030-02-01
database_id\tdisease_name\tqualifier\thpo_id\treference\tevidence\tonset\tfrequency\tsex\tmodifier\taspect\tbiocuration
OMIM:1\tToe, Basel type; T\t\tHP:0000010\tPMID:1;PMID:2\tPCS\tHP:0003577\t1/2\tMALE\t\tP\tx
OMIM:1\tToe\tNOT\tHP:0000011\tPMID:1\tPCS\t\t50%\t\tHP:1\tP\tx
"""
GENES = b"ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id\n7\tTOE1\tHP:1\tx\t-\tOMIM:1\n"
ENTRY = {"gaishu_info": {"name": "百咳", "desc": "d"}, "symptom_data": {"symptoms": ["干咳"]}, "inspect_info": ["血"]}
LINE = {
    "name": "百咳",
    "symptom": ["干咳"],
    "drug_detail": ["厂片(片)"],
    "cure_department": ["内", "呼"],
    "get_prob": 0.5,
}
TURTLE = b"""@prefix ex: <http://ex.org/> .
ex:A a ex:Drug ; <http://www.w3.org/2000/01/rdf-schema#label> "Aspirin"@en ; ex:r [ ex:s "x\\u0041" ],
  <<( ex:a ex:b ex:c )>> .
"""


def tar() -> bytes:
    buffer, data = io.BytesIO(), json.dumps({"0": ENTRY}).encode()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        member = tarfile.TarInfo("a.json")
        member.size = len(data)
        file.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def packed(make: Callable[[Path], Path]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return make(Path(folder) / "a.whl").read_bytes()


SEEDS: Mapping[str, tuple[str, str, bytes]] = {  # id -> (format, name of the file, whole data)
    "cypher": (
        "script",
        "a.cypher",
        b"CREATE (a:Disease {name: 'g\\'out', id: 1})\nMERGE (b:Symptom {name: 'x; y'}) CREATE (a)-[:HAS]->(b);\n"
        b"UNWIND [{i: 0, p: {name: 'c'}}] AS row\nCREATE (n:Drug {id: row.i}) SET n += row.p;\n",
    ),
    "orphadata": (
        "orphadata",
        "en_product4.xml",
        b"<?xml version='1.0'?>\n<JDBOR>\n<Disorder><OrphaCode>58</OrphaCode><Name>gout</Name>\n"
        b"<HPODisorderAssociationList><HPODisorderAssociation><HPO><HPOId>HP:1</HPOId><HPOTerm>pain</HPOTerm></HPO>"
        b"<HPOFrequency><Name>Often (9-8%)</Name></HPOFrequency>"
        b"</HPODisorderAssociation></HPODisorderAssociationList></Disorder></JDBOR>\n",
    ),
    "omim": ("omim", "morbidmap.txt", b"# Phenotype\n{gout}, 100001 (3)\tABC1, A\t100002\t1p1\n"),
    "matrix": ("tables", "m.csv", b"drug,gout,flu\ncolchicine,1,0\n"),
    "gremlin": (
        "script",
        "a.gremlin",
        b"a = g.addV('Disease').property('name','gout').next()\ng.addV('Drug').as('b')"
        b".property('name','c').addE('treats').from('b').to(a).iterate()\n",
    ),
    "sql": (
        "script",
        "a.sql",
        b"CREATE TABLE kg (head text, relation text, tail text);\nINSERT INTO kg VALUES ('a''b', "
        b"'treats', 'c'), ('d', 'r', NULL);\nCOPY kg (head, relation, tail) FROM stdin;\na\tr\tc\\td\n\\.\n",
    ),
    "kinds": (
        "tables",
        "a.tsv",
        b"# remark\ngene_curie\tgene_symbol\tdisease_title\tclassification_title\n"
        b"HGNC:1\tA\tx\tDefinitive\nHGNC:2\tB\ty\tRefuted\n",
    ),
    "tsv": ("triples", "a.tsv", "a (b)\tr\t干咳\nb\thas_symptom\tc_d\nnan\tr\tb\n".encode() * 3),
    "csv": (
        "triples",
        "a.csv",
        b'head,relation,tail,weight,source,pmid\n"a, ""b""",r,"c\nd",0.5,s,P:1;P:2\nx,r,y,,,\n',
    ),
    "jsonl": ("triples", "a.jsonl", b'{"head": "a\\u00e9", "relation": "r", "tail": "b", "weight": 0.5}\n' * 3),
    "gzip": ("triples", "a.tsv.gz", gzip.compress(b"a\tr\tb\nc\tr\td\n" * 20, mtime=0)),
    "table": (
        "disease_table",
        "a.csv",
        b'idx,disease,Symptom,Note\n0,Flu,"[\'a\', ""b\'s"", nan, \'c\\u0041\']",x\n' * 2,
    ),
    "entries": ("disease_json", "a.json", json.dumps({"0": ENTRY, "1": ENTRY}, indent=1).encode()),
    "entry lines": ("disease_json", "b.json", (json.dumps(LINE) + "\n").encode() * 3),
    "archive": ("disease_json", "a.tar.gz", tar()),
    "pickle": ("cmekg", "a.pkl", pickle.dumps({"甲": {"别称": ["乙"], "适应症": ["丙［丁］", "等"]}}, protocol=0)),
    "obo": ("obo", "a.obo", OBO),
    "turtle": ("rdf", "a.ttl", TURTLE),
    "pubtator": (
        "pubtator",
        "a.pubtator",
        b"7|t|Gout\n7|a|and FAM\n7\t0\t4\tGout\tDisease\tD006073\n7\t9\t12\tFAM\tChemical\t-1\n7\tCID\tD1\tD006073\n",
    ),
    "indications": (
        "pharmacotherapydb",
        "a.tsv",
        b"doid_id\tdrugbank_id\tdisease\tdrug\tcategory\nDOID:1\tDB1\tgout\tA\tDM\nDOID:1\tDB2\tgout\tB\tNOT\n",
    ),
    "icd10": ("icd10", "a.whl", packed(icd10_wheel)),
    "who-eml": ("who-eml", "a.whl", packed(who_wheel)),
    "babelon": (
        "babelon",
        "hp-de.tsv",
        b"subject_id\ttranslation_value\ttranslation_status\nHP:1\ta|b\tOFFICIAL\nHP:2\tc\tX\nID\tAL\tb\n",
    ),
    "n-triples": (
        "rdf",
        "a.nt",
        b'<http://e.org/a> <http://e.org/r> "x"@en .\n<http://e.org/a> <http://e.org/r> _:b .\n',
    ),
}
PIECES = [
    b"",
    b"\0",
    b"\n",
    b"\r",
    b"\t",
    b",",
    b'"',
    b"'",
    b"\\",
    b"\xff",
    b"\xef\xbb\xbf",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
]
PIECES += [
    b"9" * 5000,
    b"[" * 5000,
    b'{"a":' * 2000,
    b"NaN",
    b"nan",
    b"1e999",
    b"\\ud800",
    b"\\u0000",
    b"/",
    b":",
    b"\xed\xa0\x80",
]
PIECES += [
    b"cos\nsystem\n",
    b"R",
    b"(Vid\ntR",
    b"p999999999\n",
    b"g999\n",
    b"\x8e" + b"\xff" * 8,
    b"\x96" + b"\xff" * 8,
    b"r\xff\xff\xff\xff",
]
PIECES += [
    b"d",
    b"l",
    b"s",
    b"a",
    b"u",
    b"0",
    b"2",
    b".",
    b"\x80\x04",
    b"i",
    b"b",
    b"}",
    b"%",
    b"-1/0",
    b"+1/2",
    b"[Term]\n",
    b"id:\n",
]

KINDS = ("cut off", "put in", "replace", "remove", "swap", "double", "turn brackets")
Damage = tuple[str, float, float, bytes]  # what, where, to where (shares of the length), with what


def hurt(data: bytes, damage: Sequence[Damage]) -> bytes:
    for kind, one, other, piece in damage:
        a, b = sorted((int(one * len(data)), int(other * len(data))))
        near = min(b, a + 8)
        data = {
            "cut off": data[:a],
            "put in": data[:a] + piece + data[a:],
            "replace": data[:a] + piece + data[a + len(piece) :],
            "remove": data[:a] + data[near:],
            "swap": data[:a] + data[near:b] + data[a:near] + data[b:],
            "double": data[:b] + data[a:],
            "turn brackets": data[:a] + data[a:b].translate(bytes.maketrans(b"[]{}()<>", b"][}{)(><")) + data[b:],
        }[kind]
    return data


# Indexes of graphs handed out (`graph.json`) with values of another kind than theirs.

_TOLD: list[Any] = [
    [], None, 1, "x", {}, {"kgmed": 1}, {"kgmed": 2}, {"kgmed": True},
    *({"files": files} for files in (["a.npy"], {"a.npy": None}, {"a.npy": ["abc", "00"]}, {"a.npy": [1]}, {}, None,
        {"a.npy": [-1, "0" * 64]}, {"a.npy": [10**18, "0" * 64]}, {"a.npy": [float("inf"), "0" * 64]},
        {"a.npy": [10**400, "0" * 64]}, {"a.npy": [1, "0" * 63]}, {"a.npy": [1, None]}, {"a.npy": {"0": 1}},
        {"a.npy\n": [1, "0" * 64]})),
    *({"name": name} for name in (None, 7, ["x"], {"x": 1}, "x" * 101)),
]  # fmt: skip
_WHOLE = {"kgmed": 1, "name": "x", "files": {"a.npy": [1, "0" * 64]}}
HOSTILE_INDEXES = [
    json.dumps(_WHOLE | told if isinstance(told, dict) and told.keys() - {"kgmed"} else told) for told in _TOLD
]
HOSTILE_INDEXES += ["", "{", "[" * 100_000, '{"kgmed": 1' + "0" * 5_000 + "}"]
