"""Words of asking with one slip are read as they are meant, and stand where they were written."""

import pytest

from kgmed.language.pair import is_yes_no, pairs_asked
from kgmed.language.question import texts_asked, types_asked, words_that_ask
from kgmed.language.text import Unslipped


@pytest.mark.parametrize(
    ("text", "name"),
    [("asprin side efects", "side effect"), ("symtoms of gout", "symptom"), ("treatmnet for gout", "treatment")],
)
def test_a_slip_in_a_word_of_asking_asks_the_same(text: str, name: str) -> None:
    assert [row.name for row in types_asked(text)] == [name]


@pytest.mark.parametrize("word", ["caused", "affects", "present", "created", "message", "gout"])
def test_other_words_stay_as_they_are(word: str) -> None:
    assert Unslipped(word).text == word


def test_the_words_that_ask_stand_where_they_were_written() -> None:
    text = "symtoms of gout and its treatmnet"
    assert [text[a:b] for a, b in words_that_ask(text)] == ["symtoms", "treatmnet"]


def test_a_year_and_an_overdose_are_texts_that_few_graphs_hold() -> None:
    assert [row.name for row in texts_asked("What was the first year insulin was used?")] == ["history"]
    assert [row.name for row in texts_asked("tylenol overdose")] == ["overdose"]


def test_taken_with_and_a_last_ok_ask_whether_it_is_safe() -> None:
    assert pairs_asked("Can warfarin be taken with aspirin?")[0].name == "safety"
    assert is_yes_no("valproate during pregnancy, ok?")
