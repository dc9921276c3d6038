"""Phenopackets as they are read, damaged ones too, and the ranks of solved cases."""

import gzip
import json
import lzma
import sys
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.diagnose.engine import DiagnosisEngine
from kgmed.diagnose.patient import Patient
from kgmed.errors import BadInput, SourceError
from kgmed.evaluate.datasets.cases import Packet, packet, packets
from kgmed.graph.store.store import Store
from pheno_graph import annotated

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from _cohort import Cohort, Ranks

CASE: dict[str, Any] = {
    "id": "PMID_1_boy",
    "subject": {"id": "boy", "sex": "MALE", "timeAtLastEncounter": {"age": {"iso8601duration": "P3Y6M"}}},
    "phenotypicFeatures": [
        {"type": {"id": "HP:0001250", "label": "Seizure"}},
        {"type": {"id": "HP:0000365"}, "excluded": True},
    ],
    "interpretations": [{"diagnosis": {"disease": {"id": "OMIM:1", "label": "X"}}}],
    "diseases": [{"term": {"id": "OMIM:1"}, "onset": {"ontologyClass": {"id": "HP:0003593"}}}],
    "metaData": {"externalReferences": [{"id": "DOI:2"}, {"id": "PMID:1"}]},
}


def changed(**parts: object) -> dict[str, Any]:
    return CASE | parts


def test_a_phenopacket_gives_the_patient_the_disease_and_the_report() -> None:
    wanted = Patient(("HP:0001250",), ("HP:0000365",), "male", 3.5, (28 / 365, 1), "PMID_1_boy")
    assert packet(CASE) == Packet(wanted, "OMIM:1", "PMID:1")


def test_the_diagnosis_is_no_part_of_the_patient() -> None:
    assert "OMIM" not in repr(packet(CASE).patient)


def test_a_patient_without_sex_age_or_diagnosis_is_read_all_the_same() -> None:
    found = packet({"phenotypicFeatures": [{"type": {"id": "HP:0001250"}}], "subject": {"sex": "UNKNOWN_SEX"}})
    assert found == Packet(Patient(("HP:0001250",)))


@pytest.mark.parametrize("said", ["excluded", "negated"])  # of version 2, of version 1
def test_what_was_looked_for_in_vain_is_absent(said: str) -> None:
    feature = {"type": {"id": "HP:0008066"}, said: True}
    assert packet({"phenotypicFeatures": [feature]}).patient.absent == ("HP:0008066",)


def test_the_age_of_a_range_is_its_end_and_an_onset_may_be_an_age() -> None:
    span = {"ageRange": {"start": {"age": "P1Y"}, "end": {"iso8601duration": "P2Y"}}}
    found = packet(
        changed(subject={"timeAtLastEncounter": span}, diseases=[{"onset": {"age": {"iso8601duration": "P1Y"}}}])
    )
    assert (found.patient.age, found.patient.onset) == (2.0, (1.0, 1.0))


@pytest.mark.parametrize("pack", [None, lzma.open, gzip.open], ids=["plain", "xz", "gz"])
def test_lines_of_phenopackets_are_read_packed_or_not(tmp_path: Path, pack: Any) -> None:
    name = {None: "a.jsonl", lzma.open: "a.jsonl.xz", gzip.open: "a.jsonl.gz"}[pack]
    text = f"{json.dumps(CASE)}\n\n{json.dumps(changed(id='b'))}\n"
    with (pack or open)(tmp_path / name, "wt", encoding="utf-8") as file:
        file.write(text)
    assert [p.patient.id for p in packets(tmp_path / name)] == ["PMID_1_boy", "b"]


@pytest.mark.parametrize("message", [
    {"id": "f", "proband": CASE, "relatives": [changed(id="b")], "pedigree": {"persons": []}},
    {"id": "c", "description": "two of them", "members": [CASE, changed(id="b")]},
    {"id": "i", "family": {"proband": CASE, "relatives": [changed(id="b")]}, "diagnosis": []},
], ids=["family", "cohort", "interpretation of version 1"])  # fmt: skip
def test_every_message_that_holds_phenopackets_is_read(tmp_path: Path, message: dict[str, Any]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(message), encoding="utf-8")
    assert [p.patient.id for p in packets(tmp_path / "a.json")] == ["PMID_1_boy", "b"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("3", "has a int where an object"),
        ("{}", "has no phenotypicFeatures"),
        ('{"phenotypicFeatures": {}}', "phenotypicFeatures is no list"),
        ('{"phenotypicFeatures": [3]}', "has a int"),
        ('{"phenotypicFeatures": [{"type": {"id": "MONDO:1"}}]}', "'MONDO:1' is no HPO id"),
        ('{"phenotypicFeatures": [{"type": {"id": "HP:0000001"}, "excluded": "no"}]}', "excluded is no bool"),
        (json.dumps(changed(subject={"timeAtLastEncounter": {"age": {"iso8601duration": "old"}}})), "the age 'old'"),
    ],
)
def test_a_damaged_phenopacket_is_one_line_that_names_file_line_and_mend(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{json.dumps(CASE)}\n{text}\n", encoding="utf-8")
    with pytest.raises(SourceError) as error:
        list(packets(path))
    message = str(error.value)
    assert message.startswith(f"{path}:2: ")
    assert said in message
    assert "give a GA4GH phenopacket" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["a.json", "a.jsonl.xz", "a.jsonl.gz"])
def test_a_file_that_is_not_there_or_no_archive_is_a_source_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="there is no such file"):
        list(packets(tmp_path / name))
    (tmp_path / name).write_bytes(b"\xff\xfe nonsense")
    with pytest.raises(SourceError, match=r"compressed data is damaged|UTF-8"):
        list(packets(tmp_path / name))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*CASE, "type", "id", "age"]), inner),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_a_phenopacket_or_bad_input(value: object) -> None:
    try:
        found: object = packet(value)
    except BadInput as e:
        found = e
    assert isinstance(found, Packet) or "\n" not in str(found)


def test_figures_count_cases_without_a_rank_as_not_found() -> None:
    ranks = Ranks((1.0, 2.5, inf, 3.0))
    assert (ranks.top(1), ranks.top(3), ranks.unranked) == (0.25, 0.75, 1)
    assert ranks.reciprocal == pytest.approx((1 + 1 / 2.5 + 1 / 3) / 4)


A, B = "HP:0000001", "HP:0000002"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Store:
    rows = [("OMIM:1", A, "1/1", "PMID:1"), ("OMIM:1", B, "1/1", "PMID:2"), ("OMIM:2", A, "", "PMID:3")]
    return annotated(tmp_path_factory.mktemp("cohort") / "hpo", [], [*rows, ("OMIM:3", B, "1/1", "PMID:1")])


def test_without_its_own_report_a_case_is_ranked_by_what_others_say(small: Store) -> None:
    cases = [Packet(Patient((A,)), d, r) for d, r in [("OMIM:1", "PMID:1"), ("OMIM:3", "PMID:1"), ("OMIM:9", "")]]
    cohort = Cohort(small, cases)
    scores = [cohort.model.features(c.patient)[:, 0] for c in cases]
    assert [cohort.rank(c, s, own=True) for c, s in zip(cases, scores, strict=True)] == [1, 3, inf]
    assert [cohort.rank(c, s, own=False) for c, s in zip(cases, scores, strict=True)] == [2, inf, inf]


@pytest.mark.data
@pytest.mark.starter
def test_on_published_cases_the_fitted_scorer_ranks_better_than_the_plain_likelihood(hpo: Store, data: Path) -> None:
    found = packets(data / "phenopackets_dev" / "phenopackets_dev.jsonl.xz")
    cohort = Cohort(hpo, list(found)[::8])
    model = cohort.model
    for own in (True, False):
        fitted, plain = [], []
        for case in cohort.packets:
            known = model.known(case.patient)[0]
            fitted.append(cohort.rank(case, model.features(known) @ model.weights, own=own))
            near = [model.world.nearest((hpo.number(q),))[0] for q in known.present]
            plain.append(cohort.rank(case, sum(near, np.zeros(model.world.size)), own=own))
        assert Ranks(tuple(fitted)).top(1) > Ranks(tuple(plain)).top(1) + 0.05


@pytest.mark.data
@pytest.mark.starter
def test_no_copy_of_a_disease_keeps_a_row_of_the_report_left_out(hpo: Store, data: Path) -> None:
    from kgmed.diagnose.table import read

    cases = list(packets(data / "phenopackets_dev" / "phenopackets_dev.jsonl.xz"))
    cohort = Cohort(hpo, cases)
    assert len(cases) == 1342
    originals = read(hpo)
    copied = originals.with_copies(cohort.copies)
    for i, (_, reference) in enumerate(cohort.copies):
        mine = copied.disease == len(originals.diseases) + i
        assert reference not in set(copied.references[copied.reference[mine]].tolist())
    assert not DiagnosisEngine(hpo).of()[len(originals.diseases) :].any()


def test_a_damaged_gzip_file_is_one_line(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps([CASE] * 50).encode(), mtime=0)
    path = tmp_path / "bad.json.gz"
    path.write_bytes(whole[:12] + b"\xff" * 20 + whole[32:])
    with pytest.raises(SourceError, match="compressed data is damaged"):
        list(packets(path))


def test_a_patient_without_findings_is_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "three.jsonl"
    empty = {"id": "PMID_2_girl", "subject": {"id": "girl"}}
    path.write_text("\n".join(map(json.dumps, [CASE, empty, CASE])), encoding="utf-8")
    skipped: list[str] = []
    assert len(list(packets(path, skipped.append))) == 2
    assert skipped == [f"PMID_2_girl ({path}:2)"]
