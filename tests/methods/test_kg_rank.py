"""KG-Rank from question to answer with a model that says what it is told."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest

from kgmed.errors import BadInput, ModelFailed, Unavailable
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.methods.kg_rank import PRESETS, KGRankSettings, PerEntity, Ranking, kg_rank
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Scripted
from kgmed.pipeline import Pipeline
from kgmed.records import Question
from kgmed.registry import methods
from kgmed.steps.rank import MMR, Cut, Rerank, Similarity
from kgmed.toolkit import Toolkit
from named_graph import small

ROWS: tuple[Row, ...] = (
    NodeRow("gout", kind="disease", description="A disease of uric acid."),
    NodeRow("asthma", kind="disease"),
    *(EdgeRow("gout", "has_finding", f"finding {i}") for i in range(30)),
    *(EdgeRow("asthma", "has_finding", f"finding {i}") for i in range(25)),
    EdgeRow("colchicine", "treats", "gout"),
    EdgeRow("salbutamol", "treats", "asthma"),
)
Q = "Which drug treats gout?"
TERMS = '{"terms": ["gout", "uric acid"]}'
SAID = "Colchicine treats gout [1]."
CALLS: dict[Ranking, int] = {"similarity": 2, "expansion": 3, "mmr": 2, "rerank": 2, "random": 2}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("kg_rank"), ROWS)


def toolkit(graph: Store, replies: Iterable[str | Exception] | None = None) -> Toolkit:
    return Toolkit(graph, None if replies is None else Scripted(replies), NgramEncoder())


@pytest.mark.parametrize("ranking", list(CALLS))
def test_every_ranking_answers_and_asks_the_model_as_often_as_the_method_does(graph: Store, ranking: Ranking) -> None:
    replies = ["gout — drug", TERMS, SAID] if ranking == "expansion" else [TERMS, SAID]
    parts = toolkit(graph, replies)
    run = kg_rank(parts, settings=KGRankSettings(ranking=ranking))(Q)
    assert isinstance(parts.llm, Scripted)
    assert len(parts.llm.asked) == CALLS[ranking]
    assert run.answer.text == SAID
    assert [link.entity.name for link in run.links] == ["gout"]
    assert [m.name for m in run.missed] == ["uric acid"]
    assert len(run.evidence) == 20
    assert run.method == f"kg-rank ({ranking})"
    assert not run.failures


def test_the_draft_ranks_and_no_reader_sees_it(graph: Store) -> None:
    parts = toolkit(graph, ["It is finding 17 finding 17.", TERMS, SAID])
    run = kg_rank(parts, settings=KGRankSettings(ranking="expansion", keep=3))(Q)
    assert "finding 17" in run.evidence[0].text
    assert isinstance(parts.llm, Scripted)
    assert "It is finding 17" not in "".join(m.text for m in (*parts.llm.asked[1], *parts.llm.asked[2]))


def test_the_best_are_kept_of_each_entity_or_of_all(graph: Store) -> None:
    question = "Which drug treats gout, and what is asthma?"
    entity = kg_rank(toolkit(graph), preset="paper")(question)
    overall = kg_rank(toolkit(graph), settings=KGRankSettings(scope="global"))(question)
    assert [sum(e.about[0].name == n for e in entity.evidence) for n in ("gout", "asthma")] == [20, 20]
    assert len(overall.evidence) == 20
    assert {e.text for e in entity.evidence} >= {"colchicine — treats → gout", "salbutamol — treats → asthma"}


@pytest.mark.parametrize("said", ["colchicine [1]", "in 1998 [2]", "4 drugs [1]", "yes [1]"])
def test_a_short_answer_is_taken_as_it_is(graph: Store, said: str) -> None:
    parts = toolkit(graph, [TERMS, said])
    run = kg_rank(parts, settings=KGRankSettings(short=True))(Q)
    assert (run.answer.text, run.failures) == (said, ())
    assert isinstance(parts.llm, Scripted)
    assert parts.llm.asked[1][-1].text.endswith(f"{Q} ->")


def test_a_random_control_has_the_same_evidence_every_time_and_no_better_one(graph: Store) -> None:
    control = kg_rank(toolkit(graph), settings=KGRankSettings(ranking="random", keep=5))
    first = control(Q).evidence
    control("What is asthma?")
    assert control(Q).evidence == first
    assert kg_rank(toolkit(graph), settings=KGRankSettings(ranking="random", keep=5, seed=7))(Q).evidence != first


def test_without_a_model_the_ranked_facts_are_the_answer(graph: Store) -> None:
    run = kg_rank(toolkit(graph))(Q)
    assert "colchicine — treats → gout [1]" in run.answer.text
    with pytest.raises(BadInput, match="answer expansion needs a language model"):
        kg_rank(toolkit(graph), settings=KGRankSettings(ranking="expansion"))


def test_a_model_whose_answer_is_of_no_use_is_told_of_and_the_facts_are_read(graph: Store) -> None:
    for useless in ("", "so so so so " * 9, "药物。药物可治疗痛风，请就诊。", ModelFailed("down"), "###"):
        run = kg_rank(toolkit(graph, [TERMS, useless]))(Q)
        assert run.failures
        assert run.answer.reader == "facts"


def test_for_terms_that_cannot_be_read_the_graphs_names_stand_in_and_the_run_says_so(graph: Store) -> None:
    run = kg_rank(toolkit(graph, ["none", "still none", SAID]))(Q)
    assert [link.entity.name for link in run.links] == ["gout"]
    assert len(run.failures) == 1
    assert "terms by the graph's names: scripted gave no usable reply twice" in run.failures[0]
    assert run.answer.text == SAID


def test_a_model_that_cannot_be_reached_for_the_terms_ends_the_run(graph: Store) -> None:
    with pytest.raises(Unavailable, match="no server"):
        kg_rank(toolkit(graph, [Unavailable("no server")]))(Q)


def test_no_term_in_the_graph_is_abstained_from_and_no_reader_is_asked(graph: Store) -> None:
    parts = toolkit(graph, ['{"terms": ["tungsten"]}'])
    run = kg_rank(parts)("What is tungsten?")
    assert run.answer.abstained
    assert isinstance(parts.llm, Scripted)
    assert len(parts.llm.asked) == 1


def test_the_numbers_are_those_of_the_paper_and_its_code(graph: Store) -> None:
    paper, code = PRESETS["paper"], PRESETS["code"]
    assert (paper.base, paper.step, paper.penalty, paper.keep, paper.pool) == (0.1, 0.01, "mean", 20, 200)
    assert (paper.scope, paper.terms, paper.relations) == ("entity", 5, 500)
    differing = {f.name for f in fields(KGRankSettings) if getattr(paper, f.name) != getattr(code, f.name)}
    assert differing == {"definitions", "answer_tokens"}
    assert {f.name for f in fields(KGRankSettings) if getattr(paper, f.name) != getattr(PRESETS["safe"], f.name)} == {
        "warnings",
        "asked",
        "helpful",
    }
    parts = toolkit(graph)
    assert kg_rank(parts, settings=KGRankSettings(ranking="mmr")).rank == (
        PerEntity(Cut(MMR(parts.encoder, 20, 0.1, 0.01, "mean"), 20)),
    )
    run = kg_rank(toolkit(graph, [TERMS, SAID]), preset="code")(Q)
    assert run.context.cited[0].text == "gout is defined as: A disease of uric acid."


def changed(a: Pipeline, b: Pipeline) -> set[str]:
    """The stages of two pipelines that are of other kinds."""
    return {f.name for f in fields(Pipeline) if repr(getattr(a, f.name)) != repr(getattr(b, f.name))} - {"name"}


@pytest.mark.parametrize(
    ("settings", "stages"),
    [
        (KGRankSettings(ranking="mmr"), {"rank"}),
        (KGRankSettings(ranking="random"), {"rank"}),
        (KGRankSettings(ranking="expansion"), {"rank", "expand"}),
        (KGRankSettings(scope="global"), {"rank"}),
        (KGRankSettings(definitions=True), {"phrase"}),
        (KGRankSettings(relations=9), {"retrieve"}),
        (KGRankSettings(terms=3), {"recognize"}),
    ],
)
def test_a_changed_setting_changes_the_expected_stage_only(
    graph: Store, settings: KGRankSettings, stages: set[str]
) -> None:
    parts = toolkit(graph, [])
    base, other = kg_rank(parts, preset="paper"), kg_rank(parts, settings=settings)
    base = replace(base, task=other.task)
    same = replace(base, check=other.check)  # a function made anew each time
    assert changed(same, other) == stages


def test_ten_threads_get_the_answers_of_one(graph: Store) -> None:
    ask = kg_rank(toolkit(graph))
    questions = [f"Which drug treats {d}?" for d in ("gout", "asthma")] * 5
    alone = [ask(q).context for q in questions]
    with ThreadPoolExecutor(10) as pool:
        assert [run.context for run in pool.map(ask, questions)] == alone
    assert "gout" not in alone[1].text


def test_the_cross_encoder_ranks_what_similarity_left(graph: Store) -> None:
    first, second = kg_rank(toolkit(graph), settings=KGRankSettings(pool=7, keep=3, warnings=True)).rank
    assert isinstance(first, PerEntity)
    assert isinstance(second, PerEntity)
    assert isinstance(first.rank, Similarity)
    assert isinstance(second.rank, Rerank)
    assert (first.rank.keep, second.rank.keep) == (7, 3)


def test_a_warning_stands_beyond_the_number_of_triples_by_preset_safe_alone(tmp_path: Path) -> None:
    rows: tuple[Row, ...] = (
        NodeRow("gout", kind="disease"),
        *(EdgeRow(f"drug {i}", "treats", "gout") for i in range(5)),
        *(EdgeRow(f"bad drug {i}", "contraindicated_in", "gout") for i in range(5)),
    )
    store = small(tmp_path / "warning", rows)
    for warnings, there in ((True, range(3, 9)), (False, range(2, 3))):
        for ranking in get_args(Ranking):
            settings = KGRankSettings(ranking=ranking, keep=2, warnings=warnings)
            if ranking != "expansion":
                found = kg_rank(toolkit(store), settings=settings)("What treats gout?").evidence
                assert len(found) in there, (ranking, [e.text for e in found])


def test_it_is_registered_under_its_name(graph: Store) -> None:
    assert methods.get("kg-rank").build(toolkit(graph))(Question(Q)).method == "kg-rank (rerank)"
