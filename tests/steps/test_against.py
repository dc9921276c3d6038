"""What the graph or the evidence says the opposite of is labelled, shown and warned of; warnings never are."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kgmed.facts.safety import NamedAgainst
from kgmed.frame import Frame, Patient
from kgmed.graph.store.store import Store
from kgmed.methods.facts import grounded
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Scripted
from kgmed.records import Answer, Context, Entity, Evidence, Link, Mention, Query, Question, Relation, Role, Triple
from kgmed.steps.check import ByTriples
from kgmed.steps.citations import Citations
from kgmed.steps.label import Labelled, with_warnings
from kgmed.toolkit import Toolkit
from memory_graph import MemoryGraph

ASPIRIN, ULCER, FEVER, GOUT, RASH, TOE = (
    Entity(n.lower(), n) for n in ("Aspirin", "Peptic ulcer", "Fever", "Gout", "Rash", "Toe pain")
)
NOT_IN = Relation("contraindicated", Role.CONTRAINDICATED)
TREATS = Relation("treats", Role.TREATS)
HAS = Relation("has", Role.FINDING)
LACKS = Relation("lacks", Role.EXCLUDES)
EVIDENCE = tuple(
    Evidence(f"{t.head.name} — {t.relation} → {t.tail.name}", "triple", (t,), (t.head,))
    for t in (
        Triple(ASPIRIN, TREATS, FEVER),
        Triple(GOUT, HAS, TOE),
        Triple(GOUT, LACKS, RASH),
        Triple(ASPIRIN, NOT_IN, ULCER),
    )
)
QUERY = Query(Question("What of aspirin and gout?"))


def labels(text: str, evidence: Sequence[Evidence] = EVIDENCE) -> list[str]:
    return [v.label for v in checked(text, evidence).verdicts]


def checked(text: str, evidence: Sequence[Evidence] = EVIDENCE) -> Answer:
    return Labelled(ByTriples(Citations()))(QUERY, Context("", tuple(evidence)), Answer(text, reader="test"))


@pytest.mark.parametrize(
    "text",
    [
        "Aspirin is safe in peptic ulcer.",
        "Patients with peptic ulcer can take aspirin.",
        "We recommend aspirin for Peptic Ulcer.",
        "Gout presents with rash.",
        "Rash is a common sign of gout.",
        "Gout does not cause toe pain.",
        "Aspirin does not treat fever.",
        "Aspirin is ineffective against fever.",
        "In gout there is no toe pain.",
        "Aspirin is safe in peptic ulcer, but not in asthma.",
        "Aspirin is used for peptic ulcer and not for gout.",
        "Gout presents with rash, not with fever.",
        "Fever is treated with ice, not aspirin.",
        "Fever is treated with ice but not with aspirin.",
    ],
)
def test_the_opposite_of_the_evidence_is_contradicted(text: str) -> None:
    assert labels(text) == ["contradicted"]


@pytest.mark.parametrize(
    "text",
    [
        "Aspirin treats fever.",
        "Gout has toe pain.",
        "Aspirin is contraindicated in peptic ulcer.",
        "Aspirin should not be taken by patients with peptic ulcer.",
        "Avoid aspirin in peptic ulcer.",
        "Do not give aspirin for fever in children.",
        "Aspirin must not be used for fever.",
        "Gout does not present with rash.",
        "Gout has toe pain but no rash.",
        "Gout has no rash but toe pain.",
        "Aspirin can cause peptic ulcer.",
        "Fever and gout differ.",
        "Aspirin is used in fever, not in peptic ulcer.",
        "Aspirin is used in fever but not in peptic ulcer.",
        "Aspirin in peptic ulcer is not safe.",
        "Aspirin is not recommended, in particular for peptic ulcer.",
        "Aspirin for peptic ulcer, however, is not recommended.",
        "Fever is treated with ice, not only aspirin.",
        "Gout presents with toe pain, not rash.",
        "Aspirin does not cause fever.",
        "Fever is due to infection, not aspirin.",
        "Gout does not treat toe pain.",
    ],
)
def test_what_agrees_warns_or_says_something_else_is_not(text: str) -> None:
    assert "contradicted" not in labels(text)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Gout includes toe pain.", "supported"),
        ("Toe pain includes gout.", "unsupported"),
        ("Diseases with toe pain include gout.", "supported"),
        ("Joint disease includes gout.", "supported"),
        ("Gout includes joint disease.", "unsupported"),
    ],
)
def test_what_includes_is_what_has_or_holds(text: str, label: str) -> None:
    joint = Triple(GOUT, Relation("is a", Role.IS_A), Entity("joint disease", "Joint disease"))
    kind = Evidence("Gout — is a → Joint disease", "triple", (joint,), (GOUT,))
    assert labels(text, [*EVIDENCE, kind]) == [label]


def test_a_contradicted_sentence_is_shown_with_the_triple_that_speaks_against_it() -> None:
    answer = checked("Aspirin treats fever. Aspirin is safe in peptic ulcer.")
    assert [v.label for v in answer.verdicts] == ["supported", "contradicted"]
    assert [v.supported for v in answer.verdicts] == [True, False]
    assert answer.text == (
        "Aspirin treats fever [1]. Aspirin is safe in peptic ulcer. [disputed]\n\n"
        "Warning: the evidence contradicts “Aspirin is safe in peptic ulcer.”: "
        "Aspirin — contraindicated → Peptic ulcer."
    )


def test_a_reader_whose_sentences_are_left_out_still_shows_what_is_contradicted() -> None:
    said = "Aspirin treats fever. Aspirin is safe in peptic ulcer. The moon is made of cheese."
    check = Labelled(ByTriples(Citations()), strict=True)
    answer = check(QUERY, Context("", EVIDENCE), Answer(said, reader="test"))
    assert "safe in peptic ulcer" in answer.text
    assert "moon" not in answer.text
    assert answer.text.count("Warning: ") == 1
    assert "disputed sentences, which the evidence contradicts: 1" in answer.limits
    assert "left out, as the evidence does not support them: 1 of 3" in answer.limits


def test_the_graph_is_asked_where_the_evidence_is_silent() -> None:
    rows = [("Aspirin", "bad for", "Ulcer"), ("Aspirin", "treats", "Fever")]
    graph = MemoryGraph(rows, roles={"bad for": Role.CONTRAINDICATED, "treats": Role.TREATS})

    def link(text: str) -> list[Link]:
        names = [n for n in ("Aspirin", "Ulcer", "Fever") if n in text]
        return [
            Link(Mention(n, n, text.index(n), text.index(n) + len(n)), graph.entity(n.lower()), 1.0, "exact")
            for n in names
        ]

    against = Labelled(ByTriples(Citations(), graph, link))
    said = Answer("Aspirin helps in Ulcer. Aspirin does not treat Fever.", reader="test")
    answer = against(QUERY, Context("", ()), said)
    assert [v.label for v in answer.verdicts] == ["contradicted", "contradicted"]
    assert "Warning: the graph contradicts “Aspirin helps in Ulcer.”" in answer.text


def test_a_sentence_that_recommends_what_is_not_for_the_patient_is_disputed_whoever_bears_it_out() -> None:
    told = replace(QUERY, frame=Frame(patient=Patient(age=4.0)))
    said = Answer("Aspirin treats fever [1]. Do not give aspirin. Rest helps.", reader="test")
    check = Labelled(ByTriples(Citations()), against=NamedAgainst())
    answer = check(told, Context("", EVIDENCE), said)
    assert [v.label for v in answer.verdicts] == ["contradicted", "unsupported", "unsupported"]
    assert "Aspirin treats fever [1]. [disputed]" in answer.text
    assert "contradicts “Aspirin treats fever [1].”: Not suitable for this patient" in answer.text
    assert check(QUERY, Context("", EVIDENCE), said).verdicts[0].label == "supported"


def test_an_exclusion_that_something_else_states_is_no_contradiction() -> None:
    both = (Triple(GOUT, LACKS, RASH), Triple(GOUT, HAS, RASH))
    evidence = [Evidence("", "triple", (t,), (GOUT,)) for t in both]
    assert "contradicted" not in labels("Gout presents with rash.", evidence)
    assert labels(
        "Aspirin treats peptic ulcer.", [*EVIDENCE, Evidence("", "triple", (Triple(ASPIRIN, TREATS, ULCER),))]
    ) == ["contradicted"]


def test_what_one_is_allergic_to_is_no_contraindicated_disease() -> None:
    drug, other = Entity("1", "阿莫西林"), Entity("2", "青霉素")
    text = Triple(drug, NOT_IN, Entity("", "对青霉素过敏者禁用"))
    evidence = [Evidence("", "triple", (text,), (drug,)), Evidence("", "triple", (Triple(other, TREATS, FEVER),))]
    assert "contradicted" not in labels("阿莫西林是青霉素类药物，可用于发热。", evidence)


def test_an_abstention_is_left_as_it_is() -> None:
    answer = Answer("Aspirin is safe in peptic ulcer.", abstained=True)
    assert ByTriples(Citations())(QUERY, Context("", EVIDENCE), answer) == answer


def test_without_a_contradiction_the_text_stays() -> None:
    assert with_warnings("a", checked("Aspirin treats fever.").verdicts, "en") == "a"


HPO = [
    ("Night blindness, congenital stationary, type 1H presents with nystagmus.", "contradicted"),
    ("Smith-Mccort dysplasia 2 includes intellectual disability.", "contradicted"),
    ("Smith-Mccort dysplasia 2 does not include intellectual disability.", "other"),
    ("Patients with Marfan syndrome have no ectopia lentis.", "contradicted"),
    ("Marfan syndrome does not cause tall stature.", "contradicted"),
    ("Marfan syndrome has ectopia lentis.", "other"),
]
CMEKG = [
    ("双氯芬酸钠含片适用于活动性消化性溃疡。", "contradicted"),
    ("双氯芬酸钠含片禁用于活动性消化性溃疡。", "other"),
    ("双氯芬酸钠含片适用于活动性消化性溃疡，但不用于哮喘。", "contradicted"),
    ("双氯芬酸钠含片适用于疼痛，但不用于活动性消化性溃疡。", "other"),
    ("阿司匹林不能治疗心肌梗死。", "contradicted"),
    ("阿司匹林可以治疗心肌梗死。", "other"),
]


def found(graph: Store, question: str, text: str) -> str:
    toolkit = Toolkit(graph, encoder=NgramEncoder())
    answer = toolkit.check(Query(Question(question)), Context("", ()), Answer(text))
    return answer.verdicts[0].label


@pytest.mark.starter
@pytest.mark.parametrize(("text", "label"), HPO)
def test_the_nots_and_the_findings_of_hpo(hpo: Store, text: str, label: str) -> None:
    assert (found(hpo, "What are the signs?", text) == "contradicted") == (label == "contradicted")


@pytest.mark.starter
@pytest.mark.parametrize(("text", "label"), CMEKG)
def test_the_contraindications_and_indications_of_cmekg(cmekg: Store, text: str, label: str) -> None:
    assert (found(cmekg, "能用吗？", text) == "contradicted") == (label == "contradicted")


@pytest.mark.starter
def test_a_model_that_contradicts_hpo_is_shown_with_a_warning(hpo: Store) -> None:
    reply = "Marfan syndrome has arachnodactyly [1]. Marfan syndrome does not cause tall stature."
    run = grounded(Toolkit(hpo, Scripted([reply]), NgramEncoder()))("What are the signs of Marfan syndrome?")
    assert [v.label for v in run.answer.verdicts] == ["supported", "contradicted"]
    assert "does not cause tall stature" in run.answer.text
    assert "Warning: the evidence contradicts" in run.answer.text
    assert "Marfan syndrome — has_phenotype → Tall stature" in run.answer.text
