"""Training the reader of questions: rows are parsed, a small set is learnt, a bad file is told in one line."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.errors import BadInput, SourceError
from kgmed.frame import Form, Intent
from kgmed.graph.base import Match
from kgmed.question.emergency import emergency
from kgmed.question.model import Span, open_model
from kgmed.question.understand import Trained
from kgmed.records import Entity, Link, Mention, Query, Question
from kgmed.train.pooling import MarkedQuestion, asking_words, parse, read, rows_of

pytest.importorskip("sklearn")
from kgmed.train.questions import _fit_slots, fit, save, table

ILLS = (
    "gout",
    "asthma",
    "measles",
    "lupus",
    "malaria",
    "rickets",
    "scurvy",
    "anemia",
    "mumps",
    "tetanus",
    "leprosy",
    "rabies",
)
FORMS = {
    "TREATMENT": ("what treats {}", "how is {} treated", "treatment for {}"),
    "CAUSES": ("what causes {}", "why does one get {}", "origin of {}"),
    "TREATMENT neg": ("what must not be taken in {}", "which drugs to avoid in {}", "what makes {} worse"),
}


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors that say nothing: the n-grams must do it."""
    return np.ones((len(texts), 512), np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("marked")
    rows = [
        f"{label}\t{form.format(f'[S.d|{ill}]')}" for label, forms in FORMS.items() for form in forms for ill in ILLS
    ]
    (place / "small.tsv").write_text("\n".join(["# a comment", *rows, ""]), encoding="utf-8")
    return place


def test_what_was_learnt_is_read_again_from_its_file(folder: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    arrays, figures = fit(rows_of(folder), encode, "none", at=steps.append)
    save(tmp_path / "own.npz", arrays)
    understand = Trained(model=open_model(tmp_path / "own.npz"))
    said = {
        t: understand(Query(Question(t)), (), ()).asks[0]
        for t in ("what causes hives", "which drugs to avoid in hives")
    }
    assert [(a.intent, a.negative) for a in said.values()] == [(Intent.CAUSES, False), (Intent.TREATMENT, True)]
    assert figures.rows == 108
    assert figures.alone > 1 / 3  # of three labels alike
    assert len(steps) == len(set(steps)) > 2
    assert dict(table(figures))["questions"] == str(figures.rows)


def test_too_few_rows_are_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match="too few"):
        fit(rows_of(folder)[:3], encode, "none")


@pytest.mark.parametrize("line", ["FOO\twhat", "TREATMENT what treats gout", "TREATMENT maybe\twhat"])
def test_a_row_that_is_none_is_told_with_its_place(tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.tsv").write_text(f"TREATMENT\tgout\n{line}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"bad\.tsv, line 2"):
        read([tmp_path / "bad.tsv"])


def test_a_folder_without_questions_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no file of marked questions"):
        rows_of(tmp_path)


def test_a_file_that_holds_no_reader_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "own.npz").write_bytes(b"not weights")
    with pytest.raises(SourceError, match="no reader of questions"):
        open_model(tmp_path / "own.npz")


def test_words_that_ask_stand_outside_of_names(folder: Path) -> None:
    words = asking_words(rows_of(folder))
    assert "treats" in words
    assert "gout" not in words
    rows = [MarkedQuestion("感冒了怎么办", (), frozenset(), ())] * 5
    rows += [MarkedQuestion("抽烟怎么办", (), frozenset(), ())] * 5
    assert "感冒了" in asking_words(rows)
    assert "抽烟" not in asking_words(rows)
    named = MarkedQuestion("感冒", (), frozenset(), ((Span(0, 2, "disease"), "subject"),))
    assert "感冒了" not in asking_words([*rows, *[named] * 2])


def test_a_row_of_two_intents_keeps_both_and_its_marks() -> None:
    row = parse("CAUSES+TREATMENT\tcauses and cure of [S.d|gout]")
    assert row.intents == ("causes", "treatment")
    assert [row.text[span.start : span.end] for span, _ in row.names] == ["gout"]


def test_every_shipped_row_is_a_row() -> None:
    rows = rows_of()
    assert len(rows) > 15_000
    assert {intent for row in rows for intent in row.intents} == {str(i) for i in Intent}


def test_words_of_quality_before_a_chinese_name_are_one_with_it() -> None:
    rows = {"糜烂": "symptom", "出血性": "cause", "胃炎": "disease", "过敏": "disease", "咳嗽": "symptom"}
    for text, whole in (("糜烂出血性胃炎怎么治疗", "糜烂出血性胃炎"), ("过敏性咳嗽吃什么药", "过敏性咳嗽")):
        found = [(text.index(n), n, kind) for n, kind in rows.items() if n in text]
        links = [Link(Mention(n, n, at, at + len(n)), Entity(n, n, kind), 1.0, "exact") for at, n, kind in found]
        [ask] = Trained()(Query(Question(text)), [link.mention for link in links], links).asks
        assert [(n.names[0], n.links[0].entity.name) for n in ask.things] == [(whole, found[-1][1])]


def test_whether_a_food_may_be_eaten_with_an_illness_is_a_question_of_safety() -> None:
    name = Mention("gout", "gout", 16, 20)
    query = Query(Question("Can people with gout eat seafood?"))
    [ask] = Trained()(query, [name], [Link(name, Entity("gout", "gout", "disease"), 1.0, "exact")]).asks
    assert (ask.intent, ask.form) == (Intent.SAFETY, Form.YES_NO)
    assert {n.names[0] for n in ask.things} == {"gout", "seafood"}


def test_what_was_measured_of_a_patient_is_no_illness_to_treat() -> None:
    text = "有糖尿病血糖20怎么治疗"
    found = [("糖尿病", "disease"), ("血糖", "symptom")]
    links = [
        Link(Mention(n, n, text.index(n), text.index(n) + len(n)), Entity(n, n, kind), 1.0, "exact")
        for n, kind in found
    ]
    [ask] = Trained()(Query(Question(text)), [link.mention for link in links], links).asks
    assert [n.names[0] for n in ask.things] == ["糖尿病"]


def test_names_that_nobody_marked_teach_nothing() -> None:
    forms = [form for some in FORMS.values() for form in some]
    rows = [parse(f"TREATMENT\t{form.format(f'[S.d|{ill}]')}") for form in forms for ill in ILLS]
    unmarked = [replace(parse(f"TREATMENT\tany news on {ill}"), marked=False) for ill in ILLS]

    def find(text: str) -> list[Span]:
        [ill] = [ill for ill in ILLS if ill in text]
        return [Span(text.index(ill), text.index(ill) + len(ill), "disease")]

    _, names, (right, _) = _fit_slots([*rows, *unmarked], find)
    assert all(names)  # those of an unmarked row are told by what the others teach
    assert (len(right.right), right.share) == (len(rows), 1.0)


def test_an_allergy_is_told_of_the_medicine_that_it_is_to_and_not_asked_about() -> None:
    penicillin = Entity("p", "青霉素", "drug")
    known = {"青霉素": [Match(penicillin, "青霉素", "exact", 1.0)]}
    understand = Trained(lookup=lambda name: known.get(name, []))
    text = "对青霉素过敏能用头孢拉定吗"
    spans = [(1, 6, Entity("a", "青霉素过敏", "disease")), (8, 12, Entity("c", "头孢拉定", "drug"))]
    links = [Link(Mention(text[a:b], text[a:b], a, b), entity, 1.0, "exact") for a, b, entity in spans]
    frame = understand(Query(Question(text)), [link.mention for link in links], links)
    assert [n.links[0].entity for n in frame.patient.allergic_to] == [penicillin]
    assert [n.names[0] for ask in frame.asks for n in ask.things] == ["头孢拉定"]
    text = "Patient with aspirin allergy and fever, which drug?"
    spans = [(13, 20, Entity("p", "aspirin", "drug")), (21, 28, Entity("y", "Allergy", "disease"))]
    spans += [(33, 38, Entity("f", "Fever", "disease"))]
    links = [Link(Mention(text[a:b], text[a:b], a, b), entity, 1.0, "exact") for a, b, entity in spans]
    frame = understand(Query(Question(text)), [link.mention for link in links], links)
    assert [n.names[0] for n in frame.patient.allergic_to] == ["aspirin"]
    assert "allergy" not in [n.names[0] for ask in frame.asks for n in ask.things]
    alone = understand(Query(Question("青霉素过敏怎么办")), [], [])
    assert alone.patient.allergic_to == ()


def test_a_brand_with_its_ingredient_in_brackets_is_one_medicine() -> None:
    understand = Trained()
    for text in ("我对依木兰(硫唑嘌呤)过敏，痛风吃什么", "I am allergic to Imuran (azathioprine). What helps gout?"):
        one, other = ("依木兰", "硫唑嘌呤") if "依" in text else ("Imuran", "azathioprine")
        rows = [(one, "drug"), (other, "ingredient"), ("痛风" if "痛" in text else "gout", "disease")]
        links = [
            Link(Mention(n, n, text.index(n), text.index(n) + len(n)), Entity(n, n, kind), 1.0, "exact")
            for n, kind in rows
        ]
        frame = understand(Query(Question(text)), [link.mention for link in links], links)
        assert [n.names for n in frame.patient.allergic_to] == [(one, other)]
        assert [n.names[0] for ask in frame.asks for n in ask.things] == [rows[2][0]]


@pytest.mark.parametrize(
    ("text", "name", "intents"),
    [
        ("哮喘的病因和治疗方法", "哮喘", {Intent.CAUSES, Intent.TREATMENT}),
        ("肺结核 症状 并发症 治疗", "肺结核", {Intent.SYMPTOMS, Intent.COMPLICATIONS, Intent.TREATMENT}),
        ("causes, symptoms and prevention of gout", "gout", {Intent.CAUSES, Intent.SYMPTOMS, Intent.PREVENTION}),
        ("what are the complications and treatment of eczema?", "eczema", {Intent.COMPLICATIONS, Intent.TREATMENT}),
        ("what are the symptoms of hand, foot and mouth disease", "hand, foot and mouth disease", {Intent.SYMPTOMS}),
        ("gout and kidney stones: how is gout treated", "gout", {Intent.TREATMENT}),
    ],
)
def test_each_of_the_things_that_a_sentence_joins_is_asked(text: str, name: str, intents: set[Intent]) -> None:
    at = text.index(name)
    link = Link(Mention(name, name, at, at + len(name)), Entity(name, name, "disease"), 1.0, "exact")
    assert set(Trained()(Query(Question(text)), [link.mention], [link]).intents) == intents


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("potassium 2.0 in my blood test", "value"),
        ("今天化验血钾7.6", "value"),
        ("血小板 1.5万", "value"),
        ("my blood sugar is 180", ""),  # in mg/dl, and impossible in mmol/l
        ("calcium 600 mg tablets", ""),
        ("ionized calcium 1.2", ""),
        ("3 months ago my potassium was 2.0", ""),
        ("I was poisoned by carbon monoxide 35 years ago", ""),
        ("我妈10年前得过脑梗，今天突然半边身子没力气", "stroke"),
        ("I tried to kill myself 10 years ago", "self-harm"),
        ("grandpa put three fentanyl patches on at once", "poison"),
        ("how do I apply a fentanyl patch", ""),
        ("This cough is not a breathing problem, she has had it for four months", ""),
        ("he is not breathing", "arrest"),
        ("What are the long-term effects of lead poisoning?", ""),
    ],
)
def test_what_is_an_emergency_now(text: str, kind: str) -> None:
    found = emergency(text)
    assert (found.kind if found else "") == kind
