"""Graphs as programs that draw them write them: GML, DOT, SIF; and lists of nodes and edges in YAML."""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from kgmed.errors import KgmedError, SourceError
from kgmed.graph import formats
from kgmed.graph.base import DroppedRow, EdgeRow, NodeRow, Row
from kgmed.graph.formats.base import DENIED
from kgmed.graph.library import build_graph

GML = """Creator "yFiles"
# a remark
graph [
  directed 1
  node [
    id 0
    label "gout &amp;
 podagra"
    graphics [ label "no name" x 1.5 ]
    kind "Disease"
  ]
  node [ id 1 label "joint pain" ]
  node [ id 2 label "fever" ]
  edge [ source 0 target 1 relation "has_symptom" weight 0.5 ]
  edge [ source 0 target 2 relation "has_symptom" negated 1 ]
]
"""
DOT = r"""/* made by
hand */
strict digraph "a graph" {
  rankdir=LR; node [shape=box color="red"]; edge [label="has_symptom"]
  "gout" -> { "joint pain":n; swelling } [weight=0.5]
  g [label="the \"big\" toe", kind=Anatomy]  // a remark
  gout -> fever [negated=true]
  subgraph cluster { flu -> fever -> <<b><i>chills</i></b>> }
  colchicine -- gout [label=treats]
}
"""
SIF = "gout\thas_symptom\tjoint pain\tswelling\ncolchicine\ttreats\tgout\nalone\nhalf\tline\n"
YAML = """# a remark
graph:
  nodes:
    - {id: a, name: gout, kind: Disease}
    - id: b
      name: joint pain
    - {id: c, name: fever, synonyms: [pyrexia, "high temperature"]}
  edges:
    - {source: a, target: b, relation: has_symptom}
    - source: a
      target: c
      relation: has_symptom
      negated: true
"""


def rows(text: str, name: str, folder: Path) -> list[Row]:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return list(formats.read("", file).rows())


def edges(found: list[Row]) -> list[tuple[str, str, str]]:
    """The edges by the names of their ends."""
    names = {row.key: row.name for row in found if isinstance(row, NodeRow) and row.name}
    told = [row for row in found if isinstance(row, EdgeRow)]
    return [(names.get(e.head, e.head), e.relation, names.get(e.tail, e.tail)) for e in told]


def test_gml(tmp_path: Path) -> None:
    found = rows(GML, "x.gml", tmp_path)
    assert edges(found) == [
        ("gout & podagra", "has_symptom", "joint pain"),
        ("gout & podagra", "excludes", "fever"),
    ]
    assert [row.weight for row in found if isinstance(row, EdgeRow)] == [0.5, 1]
    assert next(row.kind for row in found if isinstance(row, NodeRow)) == "disease"
    apart = GML.removeprefix('Creator "yFiles"\n# a remark\n').replace("graph [", "graph\n[")
    assert edges(rows(apart, "x.txt", tmp_path)) == edges(found)


def test_dot(tmp_path: Path) -> None:
    found = rows(DOT, "x.dot", tmp_path)
    assert edges(found) == [
        ("gout", "has_symptom", "joint pain"),
        ("gout", "has_symptom", "swelling"),
        ("gout", "excludes", "fever"),
        ("flu", "has_symptom", "fever"),
        ("fever", "has_symptom", "chills"),
        ("colchicine", "treats", "gout"),
    ]
    assert 'the "big" toe' in {row.name for row in found if isinstance(row, NodeRow)}


def test_sif(tmp_path: Path) -> None:
    found = rows(SIF, "x.sif", tmp_path)
    assert edges(found) == [
        ("gout", "has_symptom", "joint pain"),
        ("gout", "has_symptom", "swelling"),
        ("colchicine", "treats", "gout"),
    ]
    assert [row.line for row in found if isinstance(row, DroppedRow)] == [4]
    assert edges(rows("a treats b c\n", "y.sif", tmp_path)) == [("a", "treats", "b"), ("a", "treats", "c")]


@pytest.mark.parametrize("ending", [".yaml", ".yml"])
def test_yaml(ending: str, tmp_path: Path) -> None:
    found = rows(YAML, f"x{ending}", tmp_path)
    assert edges(found) == [("gout", "has_symptom", "joint pain"), ("gout", "excludes", "fever")]
    assert "high temperature" in {a.text for row in found if isinstance(row, NodeRow) for a in row.aliases}


def test_triples_in_yaml(tmp_path: Path) -> None:
    text = "- {head: gout, relation: has_symptom, tail: fever}\n- head: colchicine\n  relation: treats\n  tail: gout\n"
    assert edges(rows(text, "x.yaml", tmp_path)) == [
        ("gout", "has_symptom", "fever"),
        ("colchicine", "treats", "gout"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [("x.gml", GML), ("x.dot", DOT), ("x.sif", SIF), ("x.yaml", YAML)],
)
def test_what_is_denied_of_other_roles_is_left_out(name: str, text: str, tmp_path: Path) -> None:
    text = text.replace("has_symptom", "treats")
    found = rows(text, name, tmp_path)
    denied = [row for row in found if isinstance(row, DroppedRow) and row.reason == DENIED]
    assert len(denied) == (0 if name == "x.sif" else 1)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.gml", "graph [ node [ id 0 ]", "ends inside 'graph'"),
        ("x.gml", "graph [ node [ 0 id ] ]", "'0' may not stand there"),
        ("x.gml", 'graph [ node [ id 0 label "gout ] ]', "ends inside a quoted text"),
        ("x.gml", "graph [ " * 99, "'[' may not stand there"),
        ("x.dot", "digraph { a -> }", "'}' may not stand there"),
        ("x.dot", "digraph { a -> b", "ends too early"),
        ("x.dot", 'digraph { a -> "b }', "ends inside a quoted text"),
        ("x.dot", "digraph " + "{ " * 99, "nested too deeply"),
        ("x.dot", "digraph { a -> b > c }", "holds '>'"),
        ("x.yaml", "nodes:\n- {id: a, name: [\n", "is no YAML"),
        ("x.yaml", "nodes:\n- &a {id: a, name: b}\nedges:\n- *a\n", "holds an alias"),
        ("x.yaml", "edges:\n- {source: a, target: b, relation: treats}\n---\nmore: 1\n", "goes on after its end"),
        ("x.yaml", "edges:\n- {source: a, target: " + "[" * 5000, "nested too deeply"),
        ("x.yaml", "- " * 5000, ""),
    ],
)
def test_damage_is_told_in_one_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as told:
        build_graph("mine", file)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [("x.gml", GML), ("x.dot", DOT), ("x.sif", SIF), ("x.yaml", YAML)],
)
def test_no_damage_ends_in_anything_but_an_error_of_kgmed(name: str, text: str, tmp_path: Path) -> None:
    draw = random.Random(0)
    for _ in range(150):
        signs = list(text)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(signs))
            signs[at : at + draw.randint(0, 9)] = draw.choice(["", '"', "[", "]", "{", "}", "\n", "*", "&", "<", "\\"])
        with suppress(KgmedError):
            rows("".join(signs), name, tmp_path)
