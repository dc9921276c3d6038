import pytest

from kgmed.models.fakes import Scripted
from kgmed.records import Context, Entity, Evidence, Query, Question, Relation, Role, Triple
from kgmed.steps.phrase import NumberedChains, Rewritten

FLU, FEVER, COUGH, DRUG = (Entity(n, n) for n in ("flu", "fever", "cough", "aspirin"))
HAS = Relation("has_symptom", Role.FINDING)
PATH = Evidence("", "path", (Triple(FLU, HAS, FEVER), Triple(FLU, HAS, COUGH)), (FEVER, COUGH), id="P1")
NEAR = Evidence("", "neighbours", (Triple(FLU, HAS, COUGH),), (FLU,), id="N1")
WARNS = Evidence("", "neighbours", (Triple(DRUG, Relation("not_in", Role.CONTRAINDICATED), FLU),), (FLU,), id="N2")
QUERY = Query(Question("Is it flu?"))
GOOD = "'flu' 'has symptom' 'fever' and 'cough'."


def rewritten(*replies: str, style: str = "mindmap", evidence: tuple[Evidence, ...] = (PATH, NEAR)) -> Context:
    return Rewritten(Scripted(replies), style)(QUERY, evidence)  # type: ignore[arg-type]


def test_chains_are_labelled_and_keep_the_direction_of_the_graph() -> None:
    assert NumberedChains()(QUERY, [PATH, NEAR]).text == (
        "[1] P1: (fever)<-has symptom-(flu)-has symptom->(cough)\n[2] N1: (flu)-has symptom->(cough)"
    )


@pytest.mark.parametrize(
    "reply",
    [
        f"P1: {GOOD}",
        f"Path-based Evidence 1: {GOOD}",
        f"Sure, here it is:\n\n**P1**: {GOOD}\n\nHope this helps.",
        f"路径证据1：{GOOD}",
        f"- P1: {GOOD}\n- P7: invented",
        f"1. P1: {GOOD}",
    ],
)
def test_a_sentence_is_taken_by_its_label_in_every_form(reply: str) -> None:
    context = rewritten(reply, "N1: 'flu' has 'cough'.")
    assert context.text == f"[1] P1: {GOOD}\n[2] N1: 'flu' has 'cough'."
    assert context.notes == ()


@pytest.mark.parametrize(
    "reply", ["", "I cannot.", "P1: The flu is bad.", "P2: 'flu' 'fever' 'cough'", "P1 'flu'", "{}"]
)
def test_a_sentence_that_lost_its_triple_is_replaced_by_its_chain_and_reported(reply: str) -> None:
    context = rewritten(reply, "N1: 'flu' has 'cough'.")
    assert context.text.startswith("[1] P1: (fever)<-has symptom-(flu)")
    assert context.notes == ("rewritten evidence lost the triple of P1; shown as chains",)
    assert context.cited == (PATH, NEAR)


def test_declarative_sentences_may_leave_out_evidence_but_never_a_warning() -> None:
    context = rewritten(f"P1: {GOOD}", style="declarative", evidence=(PATH, NEAR, WARNS))
    assert context.cited == (PATH, WARNS)
    assert context.text.endswith("[2] N2: (aspirin)-not in->(flu)")
    assert context.notes[-1] == "left out as not relevant by scripted: N1"


def test_a_conversion_that_says_nothing_leaves_out_nothing() -> None:
    assert rewritten("Sorry.", style="declarative").cited == (PATH, NEAR)


def test_without_evidence_no_model_is_asked() -> None:
    assert rewritten(evidence=()).text == ""
