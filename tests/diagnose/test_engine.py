"""Diseases by a patient's findings: held against arithmetic by hand, and what must hold for every graph."""

import itertools
import tempfile
from importlib.util import find_spec
from math import log, log1p
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgmed.diagnose.engine import (
    FEATURES,
    SECOND,
    ConditionalChoice,
    DiagnosisEngine,
    Differential,
    RankedDisease,
    fit,
    weights,
)
from kgmed.diagnose.findings import described, findings_in_text
from kgmed.diagnose.knowledge import EXACT, NONE
from kgmed.diagnose.patient import Patient, onset, parse_findings, years
from kgmed.errors import BadInput
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.encoders import NgramEncoder
from kgmed.toolkit import Toolkit
from pheno_graph import annotated

ROOT, A, A1, B = "HP:0000001", "HP:0000010", "HP:0000011", "HP:0000020"
IS_A = [(A, ROOT), (A1, A), (B, ROOT)]
ANNOTATIONS = [
    ("OMIM:1", A1, "3/7", "PMID:1"),
    ("OMIM:2", B, "", "PMID:2"),
    ("OMIM:3", A, "4/4", "PMID:3"),
]
F1, F2, F3 = 3.5 / 8, 0.5, 4.5 / 5
P_A1, P_B, P_A, P_ROOT = (x / 4 for x in (F1 + 0.5, F2 + 0.5, F1 + F3 + 0.5, F1 + F2 + F3 + 0.5))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return annotated(tmp_path_factory.mktemp("pheno") / "hpo", IS_A, ANNOTATIONS)


@pytest.fixture(scope="module")
def model(graph: Store) -> DiagnosisEngine:
    return DiagnosisEngine(graph)


def feature(model: DiagnosisEngine, patient: Patient, name: str) -> list[float]:
    """One feature of every disease."""
    found: list[float] = model.features(patient)[:, FEATURES.index(name)].tolist()
    return found


def kinds(ranked: RankedDisease) -> list[str]:
    return [reason.kind for reason in ranked.reasons]


def of(result: Differential, disease: str) -> RankedDisease:
    return next(r for r in result.ranked if r.disease.id == disease)


def test_the_likelihood_of_a_finding_is_that_computed_by_hand(model: DiagnosisEngine) -> None:
    general, special = Patient((A,)), Patient((A1,))
    assert feature(model, general, "exact") == [0, 0, pytest.approx(log1p(F3 / P_A))]
    assert feature(model, general, "narrower") == [pytest.approx(log1p(F1 / P_A)), 0, 0]
    assert feature(model, general, "broader") == [0, pytest.approx(log1p(F2 / P_ROOT)), 0]
    assert feature(model, special, "exact") == [pytest.approx(log1p(F1 / P_A1)), 0, 0]
    assert feature(model, special, "broader") == [0, pytest.approx(log1p(F2 / P_ROOT)), pytest.approx(log1p(F3 / P_A))]


def test_the_score_is_the_weighted_sum_of_the_features(model: DiagnosisEngine) -> None:
    wanted = weights("cases")["exact"] * log1p(F1 / P_A1) + weights("cases")["published"] * log(2)
    scores = model.scores(model.presentation(Patient((A1,))))
    assert scores.max() == pytest.approx(wanted)
    assert model.diagnose(Patient((A1,))).ranked[0].disease.id == "OMIM:1"


def test_two_diseases_explain_each_finding_by_the_better_of_them(model: DiagnosisEngine) -> None:
    told = model.presentation(Patient((A1, B)))
    alone = model.scores(told)
    each = np.array([model.scores(model.presentation(Patient((q,)))) for q in (A1, B)])
    before = 0.71 * log(2) - 0.047 * model.world.missing(told.present)  # of each disease without findings
    fits = each + 0.047 * np.array([model.world.missing(((n,),)) for n in map(model.graph.number, (A1, B))])
    fits -= 0.71 * log(2)
    assert alone == pytest.approx(before + fits.sum(0))
    two = {
        (i, j): before[i] + before[j] + np.maximum(fits[:, i], fits[:, j]).sum() for i, j in ((0, 1), (0, 2), (1, 2))
    }
    prior = log(SECOND) - np.logaddexp.reduce(before)
    wanted = [np.logaddexp.reduce([alone[d], *(s + prior for pair, s in two.items() if d in pair)]) for d in range(3)]
    found, both = model.with_second(told, alone)
    assert found == pytest.approx(wanted)
    assert both == ()


def test_two_diseases_are_told_where_they_are_likelier_than_one(tmp_path: Path) -> None:
    left, right = ([f"HP:00001{side}{i}" for i in range(9)] for side in "12")
    more = [(f"OMIM:{side}", q, "9/9", "PMID:1") for side, qs in (("7", left), ("8", right)) for q in qs]
    others = [(f"OMIM:{100 + i}", A, "1/9", "PMID:1") for i in range(60)]
    graph = annotated(tmp_path / "two", [(q, ROOT) for q in (*left, *right, A)], more + others)
    made = DiagnosisEngine(graph)
    assert {e.id for e in made.diagnose(Patient((*left, *right))).both} == {"OMIM:7", "OMIM:8"}
    assert made.diagnose(Patient(tuple(left))).both == ()


def test_absent_and_missing_findings_count_by_their_frequency(model: DiagnosisEngine) -> None:
    assert feature(model, Patient((B,), (A,)), "excluded") == pytest.approx([-log(1 - F1), 0, -log(1 - F3)])
    assert feature(model, Patient((B,)), "missing") == pytest.approx([F1, 0, F3])
    assert feature(model, Patient((A1,)), "missing") == pytest.approx([0, F2, 0])
    assert feature(model, Patient((A,)), "missing") == pytest.approx([0, F2, 0])


def test_every_reason_names_its_finding_its_frequency_and_its_publication(model: DiagnosisEngine) -> None:
    result = model.diagnose(Patient((A,), (B,)), keep=3)
    assert kinds(of(result, "OMIM:1")) == ["narrower"]
    assert kinds(of(result, "OMIM:2")) == ["broader", "excluded", "missing"]
    (reason,) = of(result, "OMIM:3").reasons
    assert (reason.kind, reason.frequencies, reason.references) == ("exact", ("4/4",), ("PMID:3",))
    near = of(result, "OMIM:2").reasons[0]
    assert near.through is not None
    assert near.through.id == ROOT
    assert [t.object.id for t in near.triples] == [B]


def test_the_result_names_the_release_and_says_what_it_is_not(model: DiagnosisEngine, graph: Store) -> None:
    result = model.diagnose(Patient((A,)))
    assert result.graph == graph.label
    assert graph.label in result.limits
    assert "not a diagnosis" in result.limits


def test_findings_that_the_graph_does_not_have_are_told_and_count_for_nothing(model: DiagnosisEngine) -> None:
    with_unknown = model.diagnose(Patient((A, "HP:7777777"), ("HP:8888888",)))
    assert with_unknown.unknown == ("HP:7777777", "HP:8888888")
    assert with_unknown.ranked == model.diagnose(Patient((A,))).ranked
    assert model.diagnose(Patient(("HP:7777777",))).ranked == ()


def test_a_database_without_diseases_is_refused(model: DiagnosisEngine) -> None:
    with pytest.raises(BadInput, match="no annotated disease of 'ORPHA'"):
        model.diagnose(Patient((A,)), database="ORPHA")


def test_what_a_disease_is_said_not_to_have_speaks_against_it_and_lends_it_nothing(tmp_path: Path) -> None:
    rows = [("OMIM:1", B, "", ""), ("OMIM:1", A, "NOT", "PMID:9"), ("OMIM:2", B, "", ""), ("OMIM:2", A1, "", "")]
    model = DiagnosisEngine(annotated(tmp_path, IS_A, rows))
    assert feature(model, Patient((A1,)), "denied") == [1, 0]
    assert feature(model, Patient((A1,)), "broader")[0] == 0
    refused = of(model.diagnose(Patient((A1,))), "OMIM:1")
    assert "denied" in kinds(refused)
    assert "PMID:9" in [r for reason in refused.reasons for r in reason.references]
    assert "agrees" in kinds(of(model.diagnose(Patient((B,), (A1,))), "OMIM:1"))


def test_a_twin_of_another_database_lends_its_findings_and_one_of_the_same_does_not(tmp_path: Path) -> None:
    rows = [("OMIM:1", B, "1/1", "PMID:1"), ("OMIM:2", B, "1/1", "PMID:2"), ("ORPHA:9", A1, "1/1", "ORPHA:9")]
    genes = [EdgeRow(d, "associated_gene", "gene:G") for d in ("OMIM:1", "ORPHA:9")]
    model = DiagnosisEngine(annotated(tmp_path, IS_A, rows, genes))
    assert feature(model, Patient((A1,)), "twin")[:2] == [pytest.approx(log1p(0.75 / ((0.75 + 0.5) / 4))), 0]
    reason = of(model.diagnose(Patient((A1,))), "OMIM:1").reasons[0]
    assert reason.through is not None
    assert (reason.kind, reason.through.id, reason.references) == ("twin", "ORPHA:9", ("ORPHA:9",))


def test_sex_and_age_speak_against_diseases_that_do_not_begin_so(tmp_path: Path) -> None:
    rows = [("OMIM:1", A, "", ""), ("OMIM:2", A, "", "")]
    more: list[Row] = [
        NodeRow("HP:0001419", "X-linked recessive inheritance"),
        NodeRow("HP:0003581", "Adult onset"),
        EdgeRow("OMIM:1", "has_inheritance", "HP:0001419"),
        EdgeRow("OMIM:2", "has_onset", "HP:0003581", 1.0),
    ]
    model = DiagnosisEngine(annotated(tmp_path, IS_A, rows, more))
    assert feature(model, Patient((A,), sex="female"), "sex") == [1, 0]
    assert feature(model, Patient((A,), sex="male"), "sex") == [0, 0]
    assert feature(model, Patient((A,), age=3.0), "onset") == [0, 1]
    assert feature(model, Patient((A,), age=30.0), "onset") == [0, 0]
    assert feature(model, Patient((A,), age=30.0, onset=(2.0, 2.0)), "onset") == [0, 1]
    assert kinds(of(model.diagnose(Patient((A,), sex="female")), "OMIM:1")) == ["exact", "sex"]


TERMS = [f"HP:000000{i}" for i in range(6)]  # 1 and 2 are kinds of 0, 4 is a kind of 3
FOREST = [(TERMS[1], TERMS[0]), (TERMS[2], TERMS[0]), (TERMS[4], TERMS[3])]
annotation = st.tuples(st.sampled_from(TERMS), st.sampled_from(["", "1/9", "7/7", "very rare (1-4%)"]))
diseases = st.lists(st.lists(annotation, min_size=1, max_size=4, unique_by=lambda a: a[0]), min_size=2, max_size=4)


@settings(deadline=None, max_examples=40)
@given(diseases, st.sets(st.sampled_from(TERMS), max_size=3), st.sampled_from(TERMS))
def test_a_finding_that_a_disease_has_never_lowers_it_against_one_that_has_nothing_like_it(
    found: list[list[tuple[str, str]]], before: set[str], added: str
) -> None:
    rows = [(f"OMIM:{i}", t, f, "PMID:1") for i, terms in enumerate(found) for t, f in terms]
    with tempfile.TemporaryDirectory() as folder:
        model = DiagnosisEngine(annotated(Path(folder) / "hpo", [*FOREST, (TERMS[5], "HP:0000009")], rows))
        kind, _ = model.world.fit((model.graph.number(added),))
        first, then = (model.features(Patient(tuple(p))) @ model.weights for p in (before - {added}, {*before, added}))
    for has, lacks in itertools.product(np.flatnonzero(kind == EXACT), np.flatnonzero(kind == NONE)):
        assert then[has] - then[lacks] >= first[has] - first[lacks] - 1e-9


def test_a_description_gives_findings_that_are_there_and_findings_that_are_not(tmp_path: Path) -> None:
    rows = [("OMIM:1", A, "", ""), ("OMIM:1", B, "", "")]
    graph = annotated(tmp_path, IS_A, rows, [NodeRow(A, "Seizure"), NodeRow(B, "Hearing impairment")])
    linked = Toolkit(graph, encoder=NgramEncoder()).linked
    said = findings_in_text(graph, linked, "a boy with seizure, no hearing impairment")
    assert (said.present, said.absent) == ((A,), (B,))
    model, story = DiagnosisEngine(graph), "Girl of 7 with seizure. Her brother is well."
    patient, _ = described(model, linked, Patient(()), story)
    assert (patient.present, patient.sex, patient.age) == ((A,), "female", 7.0)
    if find_spec("pandas"):
        (row,) = model.diagnose(patient).table().to_dict("records")
        assert (row["rank"], row["id"], row["exact"]) == (1, "OMIM:1", 1)
    patient, _ = described(model, linked, Patient((), sex="male", age=30.0), story)
    assert (patient.sex, patient.age) == ("male", 30.0), "what is given is not taken from the text"


@pytest.mark.parametrize(
    ("story", "found"),
    [
        ("Girl of 7, creatine kinase 12,000 and seizure.", ["HP:0003236"]),
        ("CK was 12000 U/L; haemoglobin 7.1 g/dL", ["HP:0003236", "HP:0001903"]),
        ("肌酸激酶 12000 U/L", ["HP:0003236"]),
        ("Creatine kinase 180 U/L, hemoglobin 142 g/L, potassium 4.1 mmol/L", []),
        ("creatine kinase 40-12000 U/L is the range; back 12000 steps", []),
        ("CK 12000 ng/ml; haemoglobin 7.1", []),  # not its unit, and none
        ("Her brother had a creatine kinase of 9000 U/L.", []),
    ],
)
def test_values_far_outside_the_usual_range_are_findings(tmp_path: Path, story: str, found: list[str]) -> None:
    terms = ["HP:0003236", "HP:0001903", "HP:0002900"]
    rows = [("OMIM:1", term, "", "") for term in (*terms, A)]
    graph = annotated(tmp_path, [(t, ROOT) for t in (*terms, A)], rows, [NodeRow(A, "Seizure")])
    linked = Toolkit(graph, encoder=NgramEncoder()).linked
    patient, links = described(DiagnosisEngine(graph), linked, Patient((A,)), story)
    assert [i for i in patient.present if i != A] == found
    assert [link.entity.id for link in links if link.how == "value"] == found


@pytest.mark.parametrize("text", ["", "old", "P", "PXY", "-3", "4 parsecs", "1e5"])
def test_an_age_that_cannot_be_read_is_refused_with_the_mend(text: str) -> None:
    with pytest.raises(BadInput, match="write 4, 4y, 18m or P4Y6M"):
        years(text)


def test_an_onset_is_a_term_or_an_age() -> None:
    assert onset("HP:0003577") == (0, 0)
    with pytest.raises(BadInput, match="no age of onset"):
        onset("HP:0001250")


def test_an_id_given_both_ways_or_misspelt_is_refused() -> None:
    with pytest.raises(BadInput, match="as present and as absent"):
        parse_findings([A, f"-{A}"])
    with pytest.raises(BadInput, match="no HPO id"):
        parse_findings(["HP:12"])


def test_a_sex_that_is_not_known_is_refused() -> None:
    with pytest.raises(BadInput, match="write female or male"):
        Patient((A,), sex="m")


def test_fitted_weights_are_where_the_slope_is_nought_or_at_their_bound() -> None:
    random = np.random.default_rng(1)
    choices = [ConditionalChoice(random.normal(size=(6, 3)), int(i)) for i in random.integers(0, 6, 40)]
    weights = fit(choices, signs=[1, -1, 1], ridge=0.5, steps=200)

    def loss(w: np.ndarray) -> float:
        each = np.concatenate([c.features for c in choices])
        lost = sum(log(np.exp(c.features @ w).sum()) - float(c.features[c.right] @ w) for c in choices)
        return lost + 0.25 * float((each.std(0) ** 2) @ w**2)

    for i, sign in enumerate([1, -1, 1]):
        assert weights[i] * sign >= 0
        for step in (1e-3, -1e-3):
            moved = weights.copy()
            moved[i] += step
            assert moved[i] * sign < 0 or loss(moved) >= loss(weights) - 1e-6


def test_a_fixed_weight_stays_and_the_others_are_fitted_around_it() -> None:
    one = ConditionalChoice(np.array([[1.0, 0.0], [0.0, 1.0]]), 0)
    weights = fit([one], signs=[1, 1], fixed=[None, -0.25])
    assert weights[1] == -0.25
    assert weights[0] > 0
