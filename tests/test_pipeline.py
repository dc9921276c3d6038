"""The pass from a question to a run."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from threading import Barrier

import pytest

from kgmed.errors import BadInput, ModelFailed, Unavailable
from kgmed.pipeline import Pipeline, note, notes
from kgmed.records import Answer, Context, Entity, Evidence, Link, Mention, Query, Question
from kgmed.steps.facts import facts
from kgmed.steps.phrase import Numbered
from kgmed.steps.retrieve import First

GOUT = Entity("d", "gout", "disease")
FOUND, LOST = Mention("gout", "gout", 8, 12), Mention("zog", "zog", 16, 19)


def recognize(query: Query) -> list[Mention]:
    return [FOUND, LOST]


def link(mentions: Sequence[Mention]) -> list[Link]:
    return [Link(m, GOUT, 1.0, "exact") for m in mentions if m is FOUND]


def retrieve(query: Query, links: Sequence[Link]) -> list[Evidence]:
    return [Evidence(f"{x.entity.name} hurts", "text", about=(x.entity,)) for x in links]


PIPELINE = Pipeline(recognize, link, (retrieve, retrieve), (First(5),), Numbered(), facts, name="test", graph="g 1")


def failing(error: Exception):  # type: ignore[no-untyped-def]
    def read(query: Query, context: Context) -> Answer:
        raise error

    return read


def test_a_run_holds_all_that_happened() -> None:
    run = PIPELINE("What is gout or zog?")
    assert [link.entity for link in run.links] == [GOUT]
    assert run.missed == (LOST,)
    assert [e.text for e in run.evidence] == ["gout hurts"]
    assert run.context.cited == run.evidence
    assert "gout hurts [1]" in run.answer.text
    assert (run.method, run.graph, run.failures) == ("test", "g 1", ())


def test_every_stage_is_timed_once_in_order() -> None:
    stages = PIPELINE("gout?").stages
    assert [s.name for s in stages] == ["expand", "recognize", "link", "retrieve", "rank", "phrase", "read", "check"]
    assert all(s.seconds >= 0 for s in stages)


def test_an_empty_question_is_refused() -> None:
    for text in ("", "  \n"):
        with pytest.raises(BadInput, match="empty"):
            PIPELINE(text)


def test_where_the_reader_cannot_the_other_reads_and_the_run_says_why() -> None:
    run = replace(PIPELINE, read=failing(ModelFailed("it babbled")), otherwise=facts)("gout?")
    assert run.answer.reader == "facts"
    assert run.failures == ("it babbled",)


def test_a_search_that_was_cut_short_is_told_in_the_run() -> None:
    def cut(query: Query, links: Sequence[Link]) -> list[Evidence]:
        note("only the first chains were kept")
        return retrieve(query, links)

    assert replace(PIPELINE, retrieve=(retrieve, cut))("what is gout").failures == ("only the first chains were kept",)


def test_without_another_reader_the_failure_is_raised() -> None:
    with pytest.raises(Unavailable, match="no model"):
        replace(PIPELINE, read=failing(Unavailable("no model")))("gout?")


def test_an_error_of_another_kind_is_never_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        replace(PIPELINE, read=failing(ZeroDivisionError()), otherwise=facts)("gout?")


def test_rankers_run_in_turn_and_a_check_has_the_last_word() -> None:
    def backwards(query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        return list(reversed(evidence))

    def two(query: Query, links: Sequence[Link]) -> list[Evidence]:
        return [Evidence("one", "text"), Evidence("two", "text")]

    def shout(query: Query, context: Context, answer: Answer) -> Answer:
        return replace(answer, text=answer.text.upper())

    run = replace(PIPELINE, retrieve=(two,), rank=(backwards, First(1)), check=shout)(Question("gout?"))
    assert [e.text for e in run.evidence] == ["two"]
    assert "TWO [1]" in run.answer.text


def test_a_notebook_shows_the_answer_and_a_table_that_no_name_can_break() -> None:
    def nasty(query: Query, links: Sequence[Link]) -> list[Evidence]:
        return [Evidence("a | b\n| c <script>", "text")]

    shown = replace(PIPELINE, retrieve=(nasty,))("gout?")._repr_markdown_()
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert rows[2:] == ["| 1 | a \\| b \\| c &lt;script> |  |"]
    assert "<script" not in shown


def test_what_a_ranker_notes_stands_in_the_run() -> None:
    def rank(query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        note("one pick changed")
        return list(evidence)

    assert replace(PIPELINE, rank=(rank, First(5)))("Is it gout?").notes == ("one pick changed",)


def test_a_note_of_any_stage_is_kept_with_what_was_left_out_or_with_what_went_wrong() -> None:
    def noting(name: str, stage):  # type: ignore[no-untyped-def]
        def wrapped(*given):  # type: ignore[no-untyped-def]
            note(name)
            found = stage(*given)
            return [*found] if isinstance(found, list) else found

        return wrapped

    p = PIPELINE
    many = replace(
        p, expand=noting("expand", p.expand), recognize=noting("recognize", recognize), link=noting("link", link),
        retrieve=(noting("first", retrieve), noting("second", retrieve)), rank=(noting("rank", First(5)),),
        phrase=noting("phrase", Numbered()), read=noting("read", facts), check=noting("check", p.check),
    )  # fmt: skip
    run = many("gout?")
    assert run.failures == ("expand", "recognize", "link", "first", "second", "read", "check")
    assert run.notes == ("rank", "phrase")


def test_runs_at_the_same_time_keep_their_own_notes() -> None:
    together = Barrier(10)

    def slow(query: Query, links: Sequence[Link]) -> list[Evidence]:
        together.wait()
        for i in range(50):
            note(f"{query.text} {i}")
        together.wait()
        return []

    pipeline = replace(PIPELINE, retrieve=(slow,))
    with ThreadPoolExecutor(10) as pool:
        runs = list(pool.map(pipeline, map(str, range(10))))
    assert [run.failures for run in runs] == [tuple(f"{name} {i}" for i in range(50)) for name in range(10)]


def test_a_note_left_in_a_thread_of_the_stage_is_not_lost() -> None:
    def threaded(query: Query, links: Sequence[Link]) -> list[Evidence]:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(copy_context().run, note, "late").result()
        return []

    assert replace(PIPELINE, retrieve=(threaded,))("gout?").failures == ("late",)


def test_a_run_within_a_run_keeps_its_notes_to_itself() -> None:
    def inner(query: Query, links: Sequence[Link]) -> list[Evidence]:
        note("inner")
        return []

    def within(query: Query, links: Sequence[Link]) -> list[Evidence]:
        note("outer")
        assert replace(PIPELINE, retrieve=(inner,))(query.question).failures == ("inner",)
        return []

    assert replace(PIPELINE, retrieve=(within,))("gout?").failures == ("outer",)


def test_outside_of_a_run_a_note_is_no_error_and_goes_nowhere() -> None:
    note("nobody asked")
    with notes() as left:
        pass
    assert left == []
