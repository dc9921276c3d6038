"""The walk on the patient's subgraph."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import Adjacency
from kgmed.graph.search.walk import Transition, closed_form, seeds
from kgmed.records import Role
from kgmed.reward.cases import Case, CauseGraph, best_disease, softmax
from kgmed.reward.criticality import Criticality

GRAPH = CauseGraph.of({"d1": {"s1": 1, "s2": 1}, "d2": {"s2": 1, "s3": 1}})  # O2
BOTH = Case("p", ("s1", "s2"))


@st.composite
def graphs(draw: st.DrawFn) -> CauseGraph:
    rows = draw(
        st.lists(st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 9), min_size=1), min_size=1, max_size=5)
    )
    return CauseGraph.of({f"d{i}": dict(row) for i, row in enumerate(rows)})


def test_the_masses_are_those_computed_by_hand() -> None:
    masses = Criticality(GRAPH).masses([0, 1])
    np.testing.assert_allclose(masses[:2], [[0.344955, 0.066810], [0.205882, 0.205882]], atol=1e-6)


def test_the_score_is_the_softmax_of_the_mean_over_the_symptoms() -> None:
    np.testing.assert_allclose(Criticality(GRAPH).values(BOTH), [0.275419, 0.136346], atol=1e-6)
    np.testing.assert_allclose(Criticality(GRAPH)([BOTH]), [[0.534712, 0.465288]], atol=1e-6)
    np.testing.assert_allclose(Criticality(GRAPH, temperature=0.1)([BOTH]), [[0.800709, 0.199291]], atol=1e-6)


def test_counts_weigh_the_edges() -> None:
    heavy = CauseGraph.of({"d1": {"s1": 5, "s2": 1}, "d2": {"s2": 1, "s3": 1}})
    np.testing.assert_allclose(Criticality(heavy).masses([0, 1])[1], [0.230853, 0.180911], atol=1e-6)


@given(graphs(), st.sampled_from([0.0, 0.3, 0.7, 0.95]))
def test_closed_form_and_iteration_agree(graph: CauseGraph, c: float) -> None:
    solved, iterated = Criticality(graph, c=c), Criticality(graph, c=c, iterate=True)
    for symptom in graph.symptoms:
        case = Case("p", (symptom,))
        np.testing.assert_allclose(solved.values(case), iterated.values(case), atol=1e-10)


@given(graphs(), st.sampled_from([0.1, 1.0, 5.0]))
def test_the_initial_kernel_changes_nothing(graph: CauseGraph, h: float) -> None:
    case = Case("p", graph.symptoms)
    kernel = Criticality(graph, gaussian="init", h=h, iterate=True)
    np.testing.assert_allclose(kernel.values(case), Criticality(graph).values(case), atol=1e-10)


def test_the_kernel_as_edge_or_restart_changes_the_score() -> None:
    plain = Criticality(GRAPH).values(BOTH)
    edge, restart = (Criticality(GRAPH, gaussian=g).values(BOTH) for g in ("edge", "restart"))
    assert np.abs(edge - plain).max() > 0.01
    assert np.abs(restart - plain).max() > 0.01


@given(graphs(), st.sampled_from(["edge", "restart"]))
def test_the_other_kernels_agree_between_closed_form_and_iteration_too(graph: CauseGraph, gaussian: str) -> None:
    case = Case("p", graph.symptoms[:1])
    solved = Criticality(graph, gaussian=gaussian)  # type: ignore[arg-type]
    np.testing.assert_allclose(solved.values(case), replace(solved, iterate=True, _known={}).values(case), atol=1e-10)


@given(graphs(), st.data())
def test_the_walk_stays_in_the_patients_subgraph(graph: CauseGraph, data: st.DataObject) -> None:
    symptoms = data.draw(st.lists(st.sampled_from(graph.symptoms), min_size=1, unique=True))
    diseases, closed = graph.closure(symptoms)
    inside = [graph.diseases.index(d) for d in diseases]
    assert set(symptoms) <= set(closed)
    assert all(
        graph.count[d, graph.symptoms.index(s)] == 0
        for s in symptoms
        for d in range(len(graph.diseases))
        if d not in inside
    )
    scores = Criticality(graph)([Case("p", tuple(symptoms))])[0]
    assert [graph.diseases[j] for j in np.flatnonzero(~np.isnan(scores))] == list(diseases)
    assert np.nansum(scores) == pytest.approx(1.0)
    small = CauseGraph.of(
        {
            d: {s: graph.count[i, graph.symptoms.index(s)] for s in closed if graph.count[i, graph.symptoms.index(s)]}
            for d, i in zip(diseases, inside, strict=True)
        }
    )
    np.testing.assert_allclose(Criticality(small)([Case("p", tuple(symptoms))])[0], scores[inside], atol=1e-12)


def test_the_masses_are_those_of_the_walk_on_the_whole_graph_where_the_subgraph_is_all_of_it() -> None:
    whole = Transition.of(Adjacency.of(5, np.array([[0, 0, 2], [0, 0, 3], [1, 0, 3], [1, 0, 4]])))
    walked = closed_form(whole, seeds(5, [2, 3, 4]))[:, :2]
    np.testing.assert_allclose(Criticality(GRAPH).masses([0, 1]), walked, atol=1e-12)


@given(graphs(), st.sampled_from(["column", "symmetric", "row"]), st.sampled_from([0.3, 0.7]), st.booleans())
def test_each_normalisation_is_equation_2_solved_with_that_matrix(
    graph: CauseGraph, normalization: str, c: float, iterate: bool
) -> None:
    made = Criticality(graph, c=c, normalization=normalization, iterate=iterate)  # type: ignore[arg-type]
    m, n = graph.count.shape
    joined = np.block([[np.zeros((m, m)), graph.count], [graph.count.T, np.zeros((n, n))]])
    degree = joined.sum(axis=0)
    root = 1 / np.sqrt(degree)
    matrix = {"column": joined / degree, "row": joined / degree[:, None], "symmetric": root[:, None] * joined * root}
    solved = (1 - c) * np.linalg.inv(np.eye(m + n) - c * matrix[normalization])[:m, m:].T
    np.testing.assert_allclose(made.masses(range(m)), solved, atol=1e-9)


@given(graphs(), st.sampled_from(["mean", "sum", "max", "product"]), st.data())
def test_a_batch_is_scored_as_its_cases_one_by_one_and_as_a_loop_over_their_symptoms(
    graph: CauseGraph, aggregate: str, data: st.DataObject
) -> None:
    some = st.lists(st.sampled_from("abcdefgh"), max_size=4, unique=True)
    drawn = [data.draw(st.tuples(some, some)) for _ in range(data.draw(st.integers(0, 6)))]
    cases = [Case(str(i), tuple(there), tuple(absent)) for i, (there, absent) in enumerate(drawn)]
    made = Criticality(graph, aggregate=aggregate, denied=0.5)  # type: ignore[arg-type]
    join: dict[str, Any] = {
        "mean": np.mean,
        "sum": np.sum,
        "max": np.max,
        "product": lambda x, axis: np.log(np.maximum(x, 1e-12)).sum(0),
    }
    batch = made.totals(cases)
    assert batch.shape == (len(cases), len(graph.diseases))
    for row, case in zip(batch, cases, strict=True):
        wanted, rows = np.full(len(row), np.nan), list(graph.around(case.positive))
        there, absent = graph.places(case.positive), graph.places(case.negative)
        if rows:
            masses = made.masses(rows)
            against = join[aggregate](masses[absent], axis=0) if absent else 0.0
            wanted[rows] = join[aggregate](masses[there], axis=0) - 0.5 * against
        np.testing.assert_allclose(row, wanted, atol=1e-12)


def test_a_patient_without_a_known_symptom_cannot_be_judged() -> None:
    scores = Criticality(GRAPH)([Case("p", ()), Case("q", ("zzz",)), BOTH])
    assert np.isnan(scores[:2]).all()
    assert best_disease(Criticality(GRAPH))([Case("p", ("zzz",)), BOTH]) == [None, "d1"]
    assert Criticality(GRAPH)([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("aggregate", "value"), [("sum", 0.550837), ("max", 0.344955), ("product", np.log(0.344955 * 0.205882))]
)
def test_symptoms_add_up_in_other_ways(aggregate: str, value: float) -> None:
    made = Criticality(GRAPH, aggregate=aggregate)  # type: ignore[arg-type]
    assert made.values(BOTH)[0] == pytest.approx(value, abs=1e-5)


def test_a_denied_symptom_speaks_against_the_diseases_it_leads_to() -> None:
    case = Case("p", ("s2",), negative=("s3",))
    plain, denied = Criticality(GRAPH)([case])[0], Criticality(GRAPH, denied=0.5)([case])[0]
    assert plain[0] == pytest.approx(plain[1])
    assert denied[0] > denied[1]


@pytest.mark.parametrize("aggregate", ["mean", "sum", "max", "product"])
def test_the_reasons_add_up_to_the_score_and_name_the_triples(aggregate: str) -> None:
    case = Case("p", ("s1", "s2", "zzz"), negative=("s3",))
    made = Criticality(GRAPH, denied=0.5, aggregate=aggregate)  # type: ignore[arg-type]
    reasons = made.reasons(case, "d1")
    assert sum(r.share for r in reasons) == pytest.approx(made.values(case)[0])
    assert {r.symptom: r.denied for r in reasons} == {"s1": False, "s2": False, "s3": True}
    by_name = {r.symptom: r.triple for r in reasons}
    assert by_name["s3"] is None
    fact = by_name["s1"]
    assert fact is not None
    assert (fact.head.name, fact.relation.role, fact.tail.name) == ("d1", Role.FINDING, "s1")
    assert made.reasons(Case("p", ("s1",)), "d2") == ()


def test_weights_and_thresholds_of_counted_cases() -> None:
    cases = [Case("1", ("a", "b"), disease="x"), Case("2", ("a",), disease="x"), Case("3", ("a",), ("b",), disease="y")]
    graph = CauseGraph.counted(cases)
    assert graph.weight("count").tolist() == [[2.0, 1.0], [1.0, 0.0]]
    assert graph.weight("symptom given disease").tolist() == [[1.0, 0.5], [1.0, 0.0]]
    np.testing.assert_allclose(graph.weight("disease given symptom"), [[2 / 3, 1.0], [1 / 3, 0.0]])
    assert graph.weight("none").tolist() == [[1.0, 1.0], [1.0, 0.0]]
    assert CauseGraph.counted(cases, at_least=2).symptoms == ("a",)
    assert graph.triple(0, 1).weight == 0.5


def test_the_softmax_keeps_the_order_and_leaves_out_what_is_not_there() -> None:
    rows = softmax(np.array([[1.0, np.nan, 2.0], [np.nan] * 3]), 0.5)
    assert np.isnan(rows[0, 1])
    assert rows[0, 2] > rows[0, 0]
    assert np.isnan(rows[1]).all()


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UnknownName, match="mean"):
        Criticality(GRAPH, aggregate="men")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="restart"):
        Criticality(GRAPH, gaussian="restrt")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="symmetric"):
        Criticality(GRAPH, normalization="symetric")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="count"):
        GRAPH.weight("counts")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="d1"):
        Criticality(GRAPH).reasons(BOTH, "d3")
    with pytest.raises(BadInput, match="above 0"):
        Criticality(GRAPH, temperature=0.0)
    with pytest.raises(BadInput, match="negative"):
        CauseGraph.of({"d": {"s": -1}})
