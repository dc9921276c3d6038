"""The verdicts of a model and of the rules as one, and what is shown of them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kgmed.errors import ModelFailed
from kgmed.models.fakes import Scripted
from kgmed.prompts import ASSISTED, OWN_KNOWLEDGE, tasked
from kgmed.records import Answer, Context, Entity, Evidence, Query, Question, Relation, Role, Triple, Verdict
from kgmed.steps.check import ByTriples
from kgmed.steps.citations import Citations
from kgmed.steps.label import Labelled, ModelJudge

ASPIRIN, FEVER, ULCER = (Entity(n.lower(), n) for n in ("Aspirin", "Fever", "Peptic ulcer"))
FACTS = (
    Triple(ASPIRIN, Relation("treats", Role.TREATS), FEVER),
    Triple(ASPIRIN, Relation("contraindicated", Role.CONTRAINDICATED), ULCER),
    Triple(ASPIRIN, Relation("dosage", Role.DOSAGE), Entity("", "500 mg every 6 hours")),
)
CONTEXT = Context("", tuple(Evidence(f"{t.head.name} — {t.relation} → {t.tail.name}", "triple", (t,)) for t in FACTS))
QUERY = Query(Question("What of aspirin?"))
SUPPORTS, CONTRADICTS, SILENT = "supports", "contradicts", "says nothing"


def labelled(text: str, *said: str, strict: bool = False) -> Answer:
    """The answer as it is shown, where a model says that of its sentences, by evidence 1."""
    rows = ", ".join(f'{{"sentence": {i}, "verdict": "{v}", "facts": [1]}}' for i, v in enumerate(said, start=1))
    judge = ModelJudge(Scripted([f'{{"verdicts": [{rows}]}}'], every=True)) if said else None
    with tasked(ASSISTED):
        return Labelled(ByTriples(Citations()), judge, strict)(QUERY, CONTEXT, Answer(text, reader="llm fake"))


def label(text: str, *said: str) -> str:
    return labelled(text, *said).verdicts[0].label


def test_a_model_bears_out_what_is_said_in_other_words() -> None:
    text = "It brings a raised temperature down."
    assert label(text) == "unsupported"
    answer = labelled(text, SUPPORTS)
    assert answer.text == "It brings a raised temperature down [1]."
    assert (answer.verdicts[0].label, answer.citations) == ("supported", (1,))


@pytest.mark.parametrize("text", ["It brings 39.7 degrees down.", "It helps with 800 mg [1].", "Take 5 tablets [3]."])
def test_a_model_bears_out_no_number_that_is_in_no_fact(text: str) -> None:
    assert label(text, SUPPORTS) == "unsupported"


def test_a_model_bears_out_nothing_that_the_rules_find_the_opposite_of() -> None:
    text = "Aspirin is safe in peptic ulcer [2]."
    assert label(text) == "contradicted"
    assert label(text, SUPPORTS) == "unsupported"


def test_a_warning_follows_only_where_both_say_so_or_a_number_differs() -> None:
    text = "Aspirin is safe in peptic ulcer [2]."
    assert "Warning: " in labelled(text, CONTRADICTS).text
    assert "Warning: " not in labelled(text, SILENT).text
    assert "Warning: " in labelled("Aspirin is taken at 800 mg every 6 hours [3].", SILENT).text
    only = labelled("It is wrong that it helps in fever [1].", CONTRADICTS)
    assert only.text == "It is wrong that it helps in fever [1]. [disputed]"
    assert "disputed sentences, which the evidence contradicts: 1" in only.limits


def test_what_the_rules_alone_bear_out_is_the_models_own_where_the_model_does_not_find_it() -> None:
    assert label("Aspirin treats fever [1].") == "supported"
    assert label("Aspirin treats fever [1].", SILENT) == "unsupported"


def test_strict_leaves_out_what_is_the_models_own_and_the_headings_over_it() -> None:
    text = "Aspirin treats fever [1].\n\nWhat else:\n- Rest is good.\n- Never take it when fasting.\n\nNote:\n- Sleep."
    answer = labelled(text, SUPPORTS, strict=True)
    assert answer.text == ("Aspirin treats fever [1].\n\nWhat else:\n- Never take it when fasting. [the model's own]")


def test_the_check_ends_no_answer() -> None:
    judge = ModelJudge(Scripted([ModelFailed("it is tired")], every=True))
    answer = Labelled(ByTriples(Citations()), judge)(QUERY, CONTEXT, Answer("Aspirin treats fever.", reader="llm fake"))
    assert answer.verdicts[0].label == "supported"


def test_what_a_preset_has_from_its_authors_is_not_marked() -> None:
    with tasked(OWN_KNOWLEDGE):
        answer = Labelled(Citations())(QUERY, CONTEXT, Answer("The moon is cheese.", reader="llm fake"))
    assert answer.text == "The moon is cheese."


def test_an_ingredient_is_what_its_product_is() -> None:
    product, text = Entity("p", "Aspirin tablets"), Entity("", "Not in asthma or peptic ulcer")
    not_in = Triple(product, Relation("contraindicated", Role.CONTRAINDICATED), text)
    made_of = Triple(product, Relation("contains", Role.INGREDIENT), ASPIRIN)
    asthma = Triple(Entity("x", "Asthma"), Relation("shows", Role.FINDING), Entity("y", "Wheezing"))
    cited = (Evidence("Aspirin tablets", "text", (not_in, made_of)), Evidence("Asthma", "triple", (asthma,)))
    check = ByTriples(Citations())
    for said, wanted in (
        ("Aspirin must not be used in asthma [1].", "supported"),
        ("Aspirin is safe in asthma [1].", "contradicted"),
    ):
        assert [v.label for v in check(QUERY, Context("", cited), Answer(said)).verdicts] == [wanted]


def test_a_bare_no_stands_or_falls_with_what_follows() -> None:
    with_it = [v.label for v in labelled("No. Aspirin is contraindicated in peptic ulcer [2].").verdicts]
    assert with_it == ["supported", "supported"]
    assert label("Yes. Aspirin is safe in peptic ulcer [2].") == "unsupported"
    assert label("No, aspirin is contraindicated in peptic ulcer [2].") == "supported"


def test_the_denial_of_one_clause_is_not_put_on_another() -> None:
    low = Triple(Entity("l", "低血糖"), Relation("病因", Role.CAUSE), Entity("i", "胰岛素"))
    cited = (Evidence("低血糖 — 病因 → 胰岛素", "triple", (low,)),)
    check = ByTriples(Citations())
    said = Answer("胰岛素可引起低血糖，但二甲双胍单用一般不会。")
    assert [v.label for v in check(Query(Question("低血糖？")), Context("", cited), said).verdicts] != ["contradicted"]


def test_what_a_method_writes_beside_its_answer_is_not_put_before_the_judge() -> None:
    asked: list[str] = []

    def judge(question: Question, cited: object, verdicts: Sequence[Verdict]) -> dict[int, tuple[str, tuple[int, ...]]]:
        asked.extend(v.sentence for v in verdicts if v.label != "neutral")
        return {}

    def check(query: Query, context: Context, answer: Answer) -> Answer:
        return replace(answer, verdicts=tuple(Verdict(s, False, "") for s in (answer.text, "P1('a'->'b')")))

    with tasked(ASSISTED):
        Labelled(check, judge)(QUERY, CONTEXT, Answer("Aspirin treats fever [1].", reader="llm fake"))  # type: ignore[arg-type]
    assert asked == ["Aspirin treats fever [1]."]


def test_a_heading_is_neither_judged_nor_marked_whatever_its_words() -> None:
    answer = labelled("What must be done at once:\n- Rest in bed.\n- Drink much. Sleep.", SILENT, SILENT)
    own = "[the model's own]"
    assert answer.text.split("\n") == [
        "What must be done at once:",
        f"- Rest in bed. {own}",
        f"- Drink much. Sleep. {own}",
    ]
    assert answer.verdicts[0].label == "neutral"


@pytest.mark.parametrize(
    ("act", "label", "offers"),
    [("offers", "contradicted", True), ("mentions", "unsupported", True), ("warns", "unsupported", False)],
)
def test_the_model_says_whether_a_sentence_offers_what_is_not_for_the_patient(
    act: str, label: str, *, offers: bool
) -> None:
    said = '{"verdicts": [{"sentence": 1, "verdict": "says nothing", "facts": []}]}'
    judge = ModelJudge(Scripted([said, f'{{"sentences": [{{"sentence": 1, "says": "{act}"}}]}}'], every=True))
    check = Labelled(ByTriples(Citations()), judge, against=lambda frame, text: "Not for this patient: aloe.")
    with tasked(ASSISTED):
        answer = check(QUERY, CONTEXT, Answer("Aloe is what many take.", reader="llm fake"))
    assert (answer.verdicts[0].label, answer.verdicts[0].offers) == (label, offers)
    assert ("Warning: " in answer.text) is (act == "offers")


def test_a_sentence_that_objects_to_a_fact_is_disputed_and_not_warned_of() -> None:
    answer = labelled("Aspirin is not for fever here [1].", "objects")
    assert answer.verdicts[0].label == "contradicted"
    assert "Warning: " not in answer.text


def test_what_only_the_model_said_before_bears_nothing_out() -> None:
    judge = ModelJudge(Scripted(['{"verdicts": [{"sentence": 1, "verdict": "supports", "facts": [1]}]}'], every=True))
    recalled = Context("", (Evidence("Flu brings fever.", "passage"),))
    with tasked(ASSISTED):
        answer = Labelled(ByTriples(Citations()), judge)(
            QUERY, recalled, Answer("Flu brings fever [1].", reader="llm x")
        )
    assert answer.text == "Flu brings fever. [the model's own]"
    assert (answer.verdicts[0].label, answer.citations) == ("unsupported", ())
