"""Terms picked out by a model: KG-Rank's first prompt and the replies it may get."""

import pytest

from kgmed.linking.by_model import ByModel
from kgmed.models.asking import Malformed, Tally
from kgmed.models.fakes import Scripted
from kgmed.records import Mention, Query, Question

Q = Query(Question("A man has gout and no fever. Is it his kidney?"))
GOUT = Mention("gout", "gout", 10, 14)


def terms(*replies: str, query: Query = Q) -> list[str]:
    return [m.name for m in ByModel(Scripted(replies))(query)]


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('```json\n{"terms": ["gout"]}\n```', ["gout"]),
        ('{"terms": ["gout", "fever"]} These matter most.', ["gout", "fever"]),
        ('{"terms": []}', []),
        ('{"terms": ["e1", "e2", "e3", "e4", "e5", "e6", "e7"]}', ["e1", "e2", "e3", "e4", "e5"]),
        ('{"terms": ["gout", "Gout", "gout"]}', ["gout"]),
        ("｛“terms”：［“gout”，“fever”，……］｝", ["gout", "fever"]),
    ],
)
def test_fences_prose_no_terms_too_many_and_repeated_ones(reply: str, found: list[str]) -> None:
    assert terms(reply) == found


@pytest.mark.parametrize("reply", ["gout", "", '{"terms": "gout"}', '{"terms": [1]}', '{"terms": ["gout"'])
def test_an_unusable_reply_is_asked_for_once_more_and_then_fails_and_is_counted(reply: str) -> None:
    tally = Tally()
    llm = Scripted([reply, '{"terms": ["gout"]}', reply, reply])
    recognize = ByModel(llm, tally=tally)
    assert recognize(Q) == [GOUT]
    with pytest.raises(Malformed):
        recognize(Q)
    assert (len(llm.asked), tally.asked, tally.again, tally.failed) == (4, 2, 2, 1)


def test_a_term_is_a_whole_word_of_the_text_and_denied_where_the_text_denies_it() -> None:
    found = ByModel(Scripted(['{"terms": ["Fever", "out", "renal disease"]}']))(Q)
    assert [(m.name, m.surface, m.start, m.negated) for m in found] == [
        ("out", "out", -1, False),
        ("renal disease", "renal disease", -1, False),
        ("Fever", "fever", 22, True),
    ]


def test_the_guess_is_not_looked_at_but_options_are() -> None:
    llm = Scripted(['{"术语": ["痛风"]}'])
    query = Query(Question("脚趾痛是什么病？", (("A", "痛风"),)), "可能是骨折")
    assert [m.name for m in ByModel(llm)(query)] == ["痛风"]
    asked = llm.asked[0][-1].text
    assert "A. 痛风" in asked
    assert "骨折" not in asked


def test_without_a_question_no_model_is_asked() -> None:
    assert ByModel(Scripted([]))(Query(Question(" "))) == []


def test_the_example_of_the_prompt_is_no_reply_unless_the_question_is_about_it() -> None:
    shown = '{"terms": ["salbutamol", "Spirometry"]}'
    llm = Scripted([shown, '{"terms": ["salbutamol", "gout"]}'])
    assert [m.surface for m in ByModel(llm)(Query(Question("Is it gout?")))] == ["gout"]
    assert "repeats the example" in llm.asked[1][-1].text
    asked = Query(Question("What does spirometry show?"))
    assert [m.surface for m in ByModel(Scripted([shown]))(asked)] == ["spirometry"]
    with pytest.raises(Malformed, match="repeats the example"):
        ByModel(Scripted([shown] * 2))(Query(Question("Is it gout?")))
