"""Nothing is said where the best evidence is weak, and the rule is told."""

import pytest

from kgmed.records import Answer, Context, Evidence, Query, Question
from kgmed.steps.budget import UnlessWeak

READ = UnlessWeak(lambda query, context: Answer("said"), 0.5)
EN, ZH = Query(Question("Why?")), Query(Question("为什么？"))


def context(*scores: float, kind: str = "triple") -> Context:
    return Context("x", tuple(Evidence("x", kind, score=s) for s in scores))


def test_below_the_threshold_it_abstains_with_both_numbers() -> None:
    answer = READ(EN, context(0.1, 0.49))
    assert answer.abstained
    assert answer.text == ("The evidence is too weak to answer from: its best score is 0.49, and 0.5 is asked for.")
    assert answer.limits == "abstained: best score of the evidence 0.49 is below 0.5"
    assert READ(ZH, context(0.1)).text.startswith("证据太弱")


@pytest.mark.parametrize("scores", [(0.5,), (0.1, 0.9), ()])
def test_at_the_threshold_or_without_evidence_the_reader_speaks(scores: tuple[float, ...]) -> None:
    assert READ(EN, context(*scores)).text == "said"


def test_what_no_ranker_chose_makes_evidence_no_stronger() -> None:
    strong = (*context(9.0, kind="warning").cited, *context(9.0, kind="description").cited)
    assert READ(EN, Context("x", (*strong, *context(0.1).cited))).abstained
    assert READ(EN, Context("x", strong)).text == "said"
