"""The answer made of the evidence alone."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frames import asked
from kgmed.frame import Ask, Frame, Intent
from kgmed.records import Answer, Entity, Evidence, Relation, Role, Triple
from kgmed.steps.facts import facts
from kgmed.steps.phrase import Numbered

GOUT, PAIN, DRUG = Entity("d", "gout", "disease"), Entity("s", "pain", "symptom"), Entity("m", "colchicine", "drug")
TREATS = Triple(DRUG, Relation("treats", Role.TREATS), GOUT)
HAS = Triple(GOUT, Relation("has", Role.FINDING), PAIN)
DIAGNOSIS = Evidence("gout: pain", "candidate", (HAS,), (GOUT, PAIN), 1.2)
TREATMENT = Evidence("colchicine — treats → gout", "candidate", (TREATS,), (DRUG, GOUT), 0.9)
LIST = Evidence("gout — has → pain", "neighbours", (HAS,), (GOUT,), 1.0)
WARNING = Evidence("colchicine — must not → x", "warning", (Triple(DRUG, Relation("n", Role.CONTRAINDICATED), PAIN),))


def answer(
    text: str, *evidence: Evidence, wants: Sequence[Intent] = (), options: dict[str, str] | None = None
) -> Answer:
    query = asked(text, *wants, options=options)
    return facts(query, Numbered()(query, evidence))


def test_a_diagnosis_comes_with_its_candidates_and_numbers() -> None:
    said = answer("What could it be?", DIAGNOSIS, LIST)
    assert said.text.splitlines()[:2] == ["Diseases that fit the findings, best first:", "- gout: pain [1]"]
    assert [(c.name, c.entity, c.citations) for c in said.candidates] == [("gout", GOUT, (1,))]
    assert not said.abstained


def test_what_is_asked_for_comes_first_and_warnings_last() -> None:
    lines = answer("What drugs treat gout?", LIST, TREATMENT, WARNING, wants=[Intent.TREATMENT]).text.splitlines()
    assert [line for line in lines if line.endswith(":")] == ["Treatments:", "What the graph says:", "Warnings:"]


def test_a_finding_that_is_a_disease_itself_is_no_diagnosis() -> None:
    fever = Entity("f", "fever", "disease")
    piece = Evidence("gout — has → fever", "neighbours", (Triple(GOUT, HAS.relation, fever),), (GOUT,))
    said = answer("What are the symptoms of gout?", piece, wants=[Intent.SYMPTOMS])
    assert said.text.startswith("Findings:")


def test_it_abstains_without_evidence_or_with_warnings_alone_or_with_nothing_that_was_asked() -> None:
    assert answer("What is it?").abstained
    assert answer("What is it?", WARNING).abstained
    nothing = answer("What drugs treat gout?", LIST, wants=[Intent.TREATMENT])
    assert nothing.abstained
    assert nothing.text.splitlines()[0] == "Not in the graph: Treatments"
    assert "gout — has → pain [1]" in nothing.text


def test_half_an_answer_says_which_half_is_missing() -> None:
    half = answer("What tests and drugs for gout?", TREATMENT, wants=[Intent.TESTS, Intent.TREATMENT])
    assert not half.abstained
    assert half.text.splitlines()[0] == "Not in the graph: Tests"


def test_it_speaks_the_language_of_the_question() -> None:
    said = answer("痛风吃什么药？", TREATMENT, wants=[Intent.TREATMENT])
    assert said.text.startswith("治疗：\n- colchicine")
    assert "不构成医疗建议" in said.limits
    assert answer("今天天气怎么样？").text == "图谱中没有能回答这个问题的内容。"


@pytest.mark.parametrize("text", ["What is it?", "是什么？"])
@pytest.mark.parametrize("negative", [False, True])
def test_whatever_is_asked_for_has_a_heading(text: str, *, negative: bool) -> None:
    for intent in Intent:
        query = replace(asked(text), frame=Frame((Ask(intent, negative=negative),)))
        said = facts(query, Numbered()(query, [LIST]))
        assert said.abstained is (bool(query.frame.roles) and Role.FINDING not in query.frame.roles)


def option(letter: str, score: float) -> Evidence:
    return Evidence(f"{letter}: tie", "option", (HAS,), (GOUT, PAIN), score, letter)


def test_the_option_with_the_strongest_ties_is_chosen() -> None:
    said = answer("Which?", option("A", 0.4), option("B", 0.3), option("B", 0.3), options={"A": "x", "B": "y"})
    assert said.choices == ("B",)
    assert said.text.startswith("Best supported option B (y):")
    assert [(c.name, c.score, c.citations) for c in said.candidates] == [("B", 0.6, (2, 3)), ("A", 0.4, (1,))]


def test_options_that_tie_or_have_no_ties_choose_none() -> None:
    tie = answer("Which?", option("A", 0.4), option("B", 0.4), options={"A": "x", "B": "y"})
    assert (tie.choices, tie.abstained) == ((), True)
    assert tie.text.startswith("The options are supported alike")
    none = answer("Which?", LIST, options={"A": "x"})
    assert (none.choices, none.abstained) == ((), True)


NASTY = st.sampled_from(["\n", "\r", "[2]", "【3】", "\u2028", "\x1b[31m", "- ", "Warnings:", "a", "药", " "])


@given(names=st.lists(st.lists(NASTY, min_size=1).map("".join), min_size=1, max_size=5))
@pytest.mark.parametrize("wants", [(), (Intent.TREATMENT,), (Intent.SYMPTOMS,)])
@pytest.mark.parametrize("question", ["What is it?", "吃什么药？"])
def test_no_name_can_forge_a_line_or_a_mark(question: str, wants: tuple[Intent, ...], names: list[str]) -> None:
    evidence = [Evidence(f"x — r → {n}{i}", "neighbours", (HAS,), (GOUT,)) for i, n in enumerate(names)]
    said = answer(question, *evidence, wants=wants)
    lines = [line for line in said.text.split("\n") if line.startswith("- ")]
    assert len(lines) == len(names)
    assert len(said.text.splitlines()) == len(said.text.split("\n"))
    for i, line in enumerate(lines, start=1):
        assert re.findall(r"\[\d+\]", line) == [f"[{i}]"]
        assert line.endswith(f"[{i}]")


def test_an_option_cannot_forge_a_mark() -> None:
    said = answer("Which?", option("A", 0.4), options={"A": "x\n- y [7]"})
    assert re.findall(r"\[\d+\]", said.text) == ["[1]"]
