"""What a toolkit holds is used by the methods: the pair scorer, the glossary, the user's prompts."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.names import Glossary
from kgmed.graph.store.store import Store
from kgmed.methods.hykge import hykge
from kgmed.methods.kg_rank import kg_rank
from kgmed.methods.mkg_rank import PAPER, mkg_rank
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import OverlapScorer, Scripted
from kgmed.records import Question
from kgmed.toolkit import Toolkit
from named_graph import small

ROWS: tuple[Row, ...] = (
    NodeRow("gout", kind="disease"),
    NodeRow("toe pain", kind="symptom"),
    EdgeRow("gout", "has_symptom", "toe pain"),
)


class Counting:
    """A pair scorer that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        self.asked.append(len(pairs))
        return OverlapScorer()(pairs)


@pytest.fixture
def graph(tmp_path: Path) -> Store:
    return small(tmp_path, ROWS)


def test_the_kits_pair_scorer_ranks(graph: Store) -> None:
    for method in (kg_rank, hykge):
        pairs = Counting()
        method(Toolkit(graph, encoder=NgramEncoder(), pairs=pairs))("What is gout, toe pain?")
        assert pairs.asked


def test_the_kits_glossary_translates_before_a_model_does(graph: Store) -> None:
    llm = Scripted(['{"medical entities": ["痛风"]}', "Gout has symptom toe pain [1]."])
    toolkit = Toolkit(graph, llm, NgramEncoder(), glossary=Glossary(words={"痛风": "gout"}))
    settings = type(PAPER)(declarative=False, min_score=0.0)
    run = mkg_rank(toolkit, settings=settings)(Question("痛风是什么？"))
    assert [link.entity.name for link in run.links] == ["gout"]
    assert len(llm.asked) == 2


def test_the_users_prompts_reach_every_step(graph: Store, tmp_path: Path) -> None:
    own = tmp_path / "prompts" / "kg_rank"
    own.mkdir(parents=True)
    (own / "terms.en.txt").write_text("# user\nMine: $most $question", encoding="utf-8")
    (own / "reader.en.txt").write_text("# user\nMine too: $fence $evidence $question", encoding="utf-8")
    llm = Scripted(['{"terms": ["gout"]}', "Gout has toe pain [1]."])
    kg_rank(Toolkit(graph, llm, NgramEncoder(), prompts=tmp_path / "prompts"))("What is gout?")
    assert [asked[0].text.split(":")[0] for asked in llm.asked] == ["Mine", "Mine too"]
