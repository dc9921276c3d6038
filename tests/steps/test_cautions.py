"""The line of warnings below an answer."""

import pytest

from kgmed.records import Entity, Evidence, Relation, Role, Triple
from kgmed.steps.cautions import warning_lines

DRUG = Entity("m", "Fluconazole Tablets", "drug")
NOT_IN, CARE = Relation("not in", Role.CONTRAINDICATED), Relation("care", Role.PRECAUTION)


def said(question: str, *triples: Triple) -> str:
    rows = [(i, Evidence("x", "warning", (t,), (DRUG,))) for i, t in enumerate(triples, start=1)]
    return "\n".join(warning_lines(rows, question, ()))


def text(relation: Relation, told: str) -> Triple:
    return Triple(DRUG, relation, Entity("", told))


def test_what_forbids_a_medicine_is_said_whoever_asks() -> None:
    asthma = Triple(DRUG, NOT_IN, Entity("a", "asthma", "disease"))
    assert said("What treats thrush?", asthma) == "Warnings: Fluconazole Tablets: not in asthma [1]"


@pytest.mark.parametrize("question", ["What treats thrush?", "鹅口疮吃什么药"])
def test_care_in_pregnancy_is_no_warning_where_nobody_is_pregnant(question: str) -> None:
    assert said(question, Triple(DRUG, CARE, Entity("p", "pregnancy", "condition"))) == ""
    assert said(question, text(CARE, "FDA pregnancy category C (letters used until 2015)")) == ""


def test_care_in_pregnancy_is_said_to_who_is_pregnant() -> None:
    care = Triple(DRUG, CARE, Entity("p", "pregnancy", "condition"))
    assert "with care in pregnancy" in said("I am pregnant, what treats thrush?", care)


@pytest.mark.parametrize(
    "told", ["对本品过敏者禁用", "对本品中任何成份过敏者禁用。", "对药物中任何一种活性物质或辅料过敏的患者"]
)
def test_an_allergy_to_the_medicine_itself_is_said_only_where_allergies_are_asked_about(told: str) -> None:
    assert said("鹅口疮吃什么药", text(NOT_IN, told)) == ""
    assert told.rstrip("。") in said("对药物过敏，鹅口疮吃什么药", text(NOT_IN, told))


def test_an_allergy_to_others_of_its_kind_is_said() -> None:
    assert "青霉素" in said("咽炎吃什么药", text(NOT_IN, "青霉素过敏及青霉素皮肤试验阳性患者禁用"))


def test_a_label_that_warns_in_another_language_is_pointed_to_and_not_printed() -> None:
    shown = said(
        "What treats thrush?", text(NOT_IN, "某种无法翻译的严重情形患者"), Triple(DRUG, NOT_IN, Entity("k", "某病态"))
    )
    assert "某" not in shown
    assert shown.endswith("[1][2]")
