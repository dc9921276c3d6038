"""The papers' own examples on real graphs, with what their models said given: what the remaining steps make of it.

MindMap's slides on EMCKG (a file of the data folder) and HyKGE's case on CMeKG. Those of KG-Rank and MKG-Rank stand on
UMLS, whose licence keeps it out of here.
"""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from kgmed.graph import formats
from kgmed.graph.base import EdgeRow, NodeRow
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.graph.union import merge
from kgmed.methods import hykge, mindmap
from kgmed.models.encoders import UseEncoder
from kgmed.models.fakes import Scripted, TrigramEncoder
from kgmed.records import Role
from kgmed.steps.phrase import chain
from kgmed.toolkit import Toolkit
from named_graph import small

COMPLAINT = "Doctor, I feel fatigued, my abdomen is swollen and my skin is yellow with jaundice. What could it be?"
CASE = "胃食管反流病用什么药治疗？反酸、烧心怎么办？"
HYPOTHESIS = "可能是胃食管反流病。治疗可用质子泵抑制剂、H2受体拮抗剂，以及氢氧化铝、碳酸钙等抗酸药。"
ANSWER = "可用质子泵抑制剂 [1]。"


@pytest.mark.data
@pytest.mark.parametrize("preset", ["paper", "code"])
def test_mindmaps_slides_the_first_path_is_theirs_and_tests_and_drugs_reach_the_reader(
    data: Path, tmp_path: Path, preset: str
) -> None:
    build(formats.read("triples", data / "genmedgpt5k" / "emckg_train.txt", name="emckg"), tmp_path / "emckg")
    said = ["Fatigue, Swollen abdomen, Jaundice", "Output 1: It may be liver cancer."]
    toolkit = Toolkit(open_store(tmp_path / "emckg"), Scripted(said), TrigramEncoder())
    settings = replace(mindmap.PRESETS[preset], rewrite=False)  # type: ignore[index]
    run = mindmap.mindmap(toolkit, settings=settings)(COMPLAINT)
    first = chain(run.evidence[0])
    places = [first.find(f"({name})") for name in ("Fatigue", "Cirrhosis", "Stomach bloating", "Liver cancer")]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] < first.find("(Swollen abdomen)")
    assert [e.id for e in run.evidence] == [f"P{i}" for i in range(1, 6)] + [f"N{i}" for i in range(1, 6)]
    roles = Counter(e.triples[0].relation.role for e in run.evidence if e.kind == "neighbours")
    assert roles[Role.TESTS] >= 1
    assert roles[Role.TREATS] >= 1 or preset == "paper"  # the paper takes neighbours in the graph's order


GUARDED = replace(hykge.PAPER, per_pair=50, pool=200, same_pattern=3, same_pair=3, warnings=3)


@pytest.mark.starter
def test_hykges_case_ten_chains_of_many_and_no_pair_of_entities_takes_more_than_three(cmekg: Store) -> None:
    toolkit = Toolkit(cmekg, Scripted([HYPOTHESIS, ANSWER]), UseEncoder())
    run = hykge.hykge(toolkit, settings=GUARDED)(CASE)
    named = {link.entity.name for link in run.links}
    assert {"胃食管反流病", "反酸", "质子泵抑制剂", "H2受体拮抗剂", "氢氧化铝", "碳酸钙"} <= named
    assert len(run.evidence) == 10
    pairs = Counter(frozenset(entity.name for entity in e.about) for e in run.evidence)
    assert max(pairs.values()) <= 3
    assert len(pairs) >= 4
    assert any({"胃食管反流病", "质子泵抑制剂"} == set(pair) for pair in pairs)
    found, kept = run.notes[:2]
    assert found.startswith("chains: ")
    assert kept.endswith("-> 10")
    assert isinstance(toolkit.llm, Scripted)
    assert len(toolkit.llm.asked) == 2
    every = replace(hykge.PRESETS["paper"], per_pair=0, pool=0, rerank=False)
    whole = hykge.hykge(Toolkit(cmekg, Scripted([HYPOTHESIS, ANSWER]), UseEncoder()), settings=every)(CASE)
    total, _, looked = (int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", whole.notes[0]))
    assert total == looked > 1000  # 125 on the paper's fused graph, which cannot be had


@pytest.mark.starter
def test_a_graph_with_descriptions_gives_them_to_one_without(cmekg: Store, tmp_path: Path) -> None:
    said = "胃酸反流入食管引起的疾病。"
    rows = (
        NodeRow("胃食管反流病", kind="disease", description=said),
        EdgeRow("胃食管反流病", "cure_way", "抗反流手术"),
    )
    described = small(tmp_path / "disease-kg", rows, name="disease-kg", language="zh")
    merge([cmekg, described], tmp_path / "both")
    for graph, there in ((cmekg, False), (open_store(tmp_path / "both"), True)):
        toolkit = Toolkit(graph, Scripted([HYPOTHESIS, ANSWER]), UseEncoder())
        run = hykge.hykge(toolkit, settings=GUARDED)(CASE)
        assert any(said in e.text for e in run.context.cited if e.kind == "description") is there
        assert (said in run.context.text) is there
