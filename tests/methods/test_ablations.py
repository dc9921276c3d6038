"""The rows of HyKGE's Table 2, each one replacement, which changes its own stage and what follows from it."""

from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.methods.hykge import TopChains, hykge
from kgmed.models.fakes import TrigramEncoder
from kgmed.pipeline import Pipeline, Ranker
from kgmed.records import Query, Run
from kgmed.steps.phrase import Arrows
from kgmed.steps.rank import Fragments
from kgmed.steps.retrieve import First, Neighbours
from kgmed.toolkit import Toolkit
from named_graph import small
from obliging import Obliging

ROWS: tuple[Row, ...] = (
    NodeRow("scurvy", kind="disease", description="A disease of missing vitamin C."),
    NodeRow("bleeding gums", kind="symptom", description="Gums that bleed."),
    EdgeRow("scurvy", "has_symptom", "bleeding gums"),
    EdgeRow("lemon juice", "treats", "scurvy"),
    EdgeRow("lemon juice", "eases", "bleeding gums"),
    *(EdgeRow("scurvy", "has_symptom", f"sign {i}") for i in range(15)),
    *(EdgeRow(f"remedy {i}", "treats", "scurvy") for i in range(15)),
    *(EdgeRow(f"remedy {i}", "eases", "bleeding gums") for i in range(15)),
)
Q = "What helps bleeding gums in a sailor who ate no fresh fruit for many months? Is it scurvy?"
Ablation = Callable[[Pipeline, Store], Pipeline]
TABLE_2: dict[str, tuple[Ablation, str]] = {
    "w/o HO": (lambda p, g: replace(p, expand=Query), "expand"),
    "w/o chains": (lambda p, g: replace(p, retrieve=(Neighbours(g),)), "retrieve"),
    "w/o description": (lambda p, g: replace(p, phrase=Arrows(g, descriptions=False)), "phrase"),
    "w/o fragment": (lambda p, g: replace(p, rank=tuple(map(_whole, p.rank))), "rank"),
    "w/o reranker": (lambda p, g: replace(p, rank=(First(10),)), "rank"),
}
OF_STAGE = {"expand": "query", "retrieve": "evidence", "rank": "evidence", "phrase": "context"}  # what a stage makes
ORDER = ["query", "links", "evidence", "context"]


def _whole(rank: Ranker) -> Ranker:
    """Question and hypothesis as one fragment."""
    if isinstance(rank, TopChains):
        return replace(rank, ways=tuple(map(_whole, rank.ways)))
    if isinstance(rank, Fragments):
        return replace(rank, window=1 << 30, overlap=0, window_cjk=1 << 30, overlap_cjk=0)
    return rank


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("ablations"), ROWS)


def base(graph: Store) -> Pipeline:
    return hykge(Toolkit(graph, Obliging(), TrigramEncoder()), preset="paper")


def parts(run: Run) -> dict[str, object]:
    """What the stages of a run made, in their order."""
    return {name: getattr(run, name) for name in ORDER}


@pytest.mark.parametrize("name", TABLE_2)
def test_an_ablation_is_one_replacement_of_one_stage(graph: Store, name: str) -> None:
    ablate, stage = TABLE_2[name]
    whole = base(graph)
    other = ablate(whole, graph)
    assert [f.name for f in fields(Pipeline) if getattr(whole, f.name) is not getattr(other, f.name)] == [stage]


@pytest.mark.parametrize("name", TABLE_2)
def test_an_ablation_changes_what_its_stage_makes_and_nothing_before_it(graph: Store, name: str) -> None:
    ablate, stage = TABLE_2[name]
    whole, other = parts(base(graph)(Q)), parts(ablate(base(graph), graph)(Q))
    place = ORDER.index(OF_STAGE[stage])
    assert [whole[n] == other[n] for n in ORDER[:place]] == [True] * place
    assert whole[ORDER[place]] != other[ORDER[place]]
