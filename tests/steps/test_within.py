"""Evidence fitted to tokens: it fits, warnings stay, what was dropped is told, the numbers point where they should."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.language.text import one_line
from kgmed.methods.kg_rank import ByEntity
from kgmed.models.fakes import TrigramEncoder
from kgmed.pipeline import Phraser
from kgmed.records import Context, Entity, Evidence, Query, Question, Relation, Role, Triple
from kgmed.steps.budget import Within, tokens
from kgmed.steps.phrase import Numbered, NumberedChains
from kgmed.steps.retrieve import arrows
from memory_graph import MemoryGraph

QUERY = Query(Question("What?"))
ENTITIES = [Entity(f"e{i}", f"Entity {i}") for i in range(3)]
NOT_IN = Relation("contraindicated", Role.CONTRAINDICATED)
GRAPH = MemoryGraph([("Entity 0", "r", "Entity 1"), ("Entity 1", "r", "Entity 2")])


def piece(text: str, score: float, about: int, *, warns: bool) -> Evidence:
    triples = (Triple(ENTITIES[0], NOT_IN, ENTITIES[1]),) if warns else ()
    return Evidence(text, "triple", triples, (ENTITIES[about],), score)


TEXTS = st.text(alphabet=st.sampled_from("abc 痛风[]1:：\n"), min_size=1, max_size=30).filter(lambda t: bool(t.strip()))
PIECES = st.lists(
    st.builds(piece, TEXTS, st.floats(-3, 3), st.integers(0, 2), warns=st.booleans()),
    max_size=12,
    unique_by=lambda e: e.text,
)
PHRASERS = st.sampled_from([Numbered(), ByEntity(GRAPH, definitions=False)])


def size(text: str) -> int:
    return sum(map(tokens, text.split("\n")))


@given(PIECES, st.integers(1, 80), PHRASERS)
def test_it_fits_but_for_warnings_which_all_stay(
    pieces: list[Evidence], most: int, phrase: Numbered | ByEntity
) -> None:
    context = Within(phrase, most, TrigramEncoder())(QUERY, pieces)
    warned = [e for e in pieces if e.is_safety]
    assert all(e in context.cited for e in warned)
    if size(context.text) > most:
        assert list(context.cited) == [e for e in phrase(QUERY, pieces).cited if e.is_safety]
        assert "none of it was dropped" in context.notes[-1]


@given(PIECES, st.integers(1, 80), PHRASERS)
def test_the_marks_point_at_what_is_cited_in_the_order_of_the_whole(
    pieces: list[Evidence], most: int, phrase: Numbered | ByEntity
) -> None:
    whole, context = phrase(QUERY, pieces), Within(phrase, most)(QUERY, pieces)
    marks = [int(m) for m in re.findall(r"^\[(\d+)\]", context.text, re.MULTILINE)]
    assert marks == list(range(1, len(context.cited) + 1))
    assert [e for e in whole.cited if e in context.cited] == list(context.cited)
    for i, e in enumerate(context.cited, start=1):
        assert f"[{i}] {one_line(e.text)}" in context.text


@given(PIECES, PHRASERS)
def test_what_fits_as_a_whole_is_left_as_it_is(pieces: list[Evidence], phrase: Numbered | ByEntity) -> None:
    whole = phrase(QUERY, pieces)
    assert Within(phrase, size(whole.text))(QUERY, pieces) == whole


@given(PIECES, st.integers(1, 80))
def test_what_is_dropped_is_counted_in_the_notes(pieces: list[Evidence], most: int) -> None:
    context = Within(Numbered(), most)(QUERY, pieces)
    lost = len(pieces) - len(context.cited)
    told = [n for n in context.notes if "pieces of evidence dropped" in n]
    assert [n.split()[0] for n in told] == ([str(lost)] if lost else [])


@given(PIECES, st.integers(1, 60))
def test_more_tokens_never_fit_when_nothing_left_would_go_in(pieces: list[Evidence], most: int) -> None:
    context = Within(Numbered(), most)(QUERY, pieces)
    left = [e for e in pieces if e not in context.cited]
    free = most - size(context.text)
    assert all(tokens(f"[{len(pieces)}] {one_line(e.text)}") + 2 > free for e in left if free > 0)


def test_the_best_scored_goes_first_and_one_that_repeats_it_last() -> None:
    texts = [("gout hurts the big toe", 1.0), ("gout hurts the big toes", 0.9), ("colchicine eases it", 0.8)]
    pieces = [piece(t, s, 0, warns=False) for t, s in texts]
    room = size("[1] gout hurts the big toe\n[2] gout hurts the big toes")
    plain = Within(Numbered(), room)(QUERY, pieces)
    varied = Within(Numbered(), room, TrigramEncoder(), repeats=0.9)(QUERY, pieces)
    assert [e.text for e in plain.cited] == [texts[0][0], texts[1][0]]
    assert [e.text for e in varied.cited] == [texts[0][0], texts[2][0]]
    assert varied.notes == (f"1 of 3 pieces of evidence dropped to fit {room} tokens (best score dropped 0.9)",)


def test_where_nothing_fits_the_best_is_cut_with_the_triples_that_are_still_told() -> None:
    names = [*(f"a finding {i}" for i in range(40)), "finding 1"]  # the last one is cut off, however like the second
    flu, seen = Entity("f", "Flu"), Relation("has_symptom", Role.FINDING)
    triples = tuple(Triple(flu, seen, Entity(n, n)) for n in names)
    long = Evidence(f"Flu; has_symptom: {', '.join(names)}", "document", triples, (flu,), 2.0)
    worse = Evidence(f"Gout; has_symptom: {', '.join(names)}", "document", triples, (flu,), 1.0)
    context = Within(Numbered(), 40)(QUERY, [worse, long])
    assert size(context.text) <= 40
    assert context.text.startswith("[1] Flu; has_symptom: a finding 0, a finding 1, ")
    assert context.text.endswith(" …")
    [shown] = context.cited
    assert shown.triples == triples[:10]
    assert shown.text == context.text.removeprefix("[1] ")
    assert context.notes == ("the best of 2 pieces of evidence was cut to fit 40 tokens, the others dropped",)
    assert Within(Numbered(), 5)(QUERY, [long]).cited == ()  # not one triple would be left
    warned = replace(long, triples=(*triples, Triple(flu, NOT_IN, ENTITIES[0])))
    assert Within(Numbered(), 40)(QUERY, [warned]).cited == (warned,)


@pytest.mark.parametrize(
    ("phrase", "shown"),
    [
        (Numbered(), "[1] s 0 -(seen)-> s 1 <-(seen)- s 2 -(seen)-> s 3 …"),
        (NumberedChains(), "[1] E1: (s 0)-seen->(s 1)<-seen-(s 2)-seen->(s 3)<-seen-(s 4) …"),
    ],
)
def test_a_chain_is_cut_between_two_of_its_names(phrase: Phraser, shown: str) -> None:
    signs, seen = [Entity(f"s{i}", f"s {i}") for i in range(30)], Relation("seen", Role.FINDING)
    triples = tuple(Triple(*((b, seen, a) if i % 2 else (a, seen, b))) for i, (a, b) in enumerate(pairwise(signs)))
    along = [i % 2 == 0 for i in range(29)]
    chain = Evidence(arrows(triples, along), "path", triples, (signs[0], signs[-1]), 1.0)
    context = Within(phrase, 16)(QUERY, [chain])
    assert context.text.split("\n")[-1] == shown
    assert context.cited[0].triples == triples[: shown.count("seen")]


def test_a_text_without_evidence_that_is_too_long_is_left_out() -> None:
    class Heading:
        def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
            return Context("Nothing is known of this:")

    assert Within(Heading(), 2)(QUERY, []).cited == ()


def test_a_heading_without_evidence_goes_too() -> None:
    pieces = [piece("short", 1.0, 0, warns=False), piece("a long text " * 9, 0.5, 1, warns=False)]
    context = Within(ByEntity(GRAPH, definitions=False), 12)(QUERY, pieces)
    assert context.text == "Entity 0:\n[1] short"


def test_lines_without_numbers_are_left_whole_and_the_notes_say_so() -> None:
    def phrase(query: Query, evidence: object, /) -> Context:
        return Context("a long text without any number in it", (piece("a", 1.0, 0, warns=False),))

    context = Within(phrase, 2)(QUERY, [])
    assert context.text.startswith("a long")
    assert context.notes == ("evidence not fitted: its lines are not numbered",)
