"""Questions made of a graph's own triples."""

from kgmed.evaluate.generated import FORMS, is_right, made_of, tally
from kgmed.methods.facts import facts
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Answer, Context, Query, Question, Relation, Role, Run
from kgmed.toolkit import Toolkit
from role_graph import RoleGraph

RELATIONS = (Relation("has symptom", Role.FINDING), Relation("treats", Role.TREATS))
ROWS = [
    ("goutitis", "has symptom", "toe pain"),
    ("measlosis", "has symptom", "red spots"),
    ("cholera", "has symptom", "watery stool"),
    ("colchicine", "treats", "goutitis"),
    ("rehydration", "treats", "cholera"),
]
KINDS = {
    "disease": ["goutitis", "measlosis", "cholera"],
    "symptom": ["toe pain", "red spots", "watery stool"],
    "drug": ["colchicine", "rehydration"],
}
G = RoleGraph(ROWS, RELATIONS, KINDS)


def test_true_questions_are_triples_and_false_ones_are_tied_by_nothing() -> None:
    triples = {(h, t) for h, _, t in ROWS}
    made = list(made_of(G, "en", 3))
    assert {m.true for m in made} == {True, False}
    for m in made:
        assert ((m.subject.name, m.object.name) in triples) is m.true
    assert made == list(made_of(G, "en", 3))


def test_every_form_stands_in_both_languages() -> None:
    assert len(FORMS) == 20
    assert all(form.english and form.chinese for form in FORMS)
    assert all(("{a}" in f.english) == ("{a}" in f.chinese) for f in FORMS)


def test_the_method_without_a_model_has_them_right() -> None:
    pipeline = facts(Toolkit(G, encoder=NgramEncoder()))
    rows = tally(list(made_of(G, "en", 3)), pipeline, "en")
    assert sum(row.asked for row in rows) > 20
    assert [row.wrong for row in rows if row.right < row.asked] == []


def test_no_evidence_is_never_right() -> None:
    [made, *_] = made_of(G, "en", 1)
    assert not is_right(made, Run(Query(Question("?")), (), (), (), (), Context(""), Answer("")))
