"""Pair scorers as rankers: the fragment matrix and what the released one got wrong."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.models.fakes import OverlapScorer
from kgmed.records import Entity, Evidence, Query, Question, Relation, Role, Triple
from kgmed.steps.rank import STOP, Aggregate, Fragments, Rerank, aggregated, fragments, matrix, segmented

O4 = np.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.25]])
HOW: list[Aggregate] = ["max", "mean", "sum", "rrf", "quota"]


class Table:
    """A pair scorer that looks its scores up and counts what it is asked."""

    def __init__(self, table: dict[tuple[str, str], float]) -> None:
        self.table = table
        self.asked: list[tuple[str, str]] = []

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        self.asked += pairs
        return np.array([self.table[pair] for pair in pairs], np.float32)


def chains(*texts: str) -> list[Evidence]:
    return [Evidence(text, "path") for text in texts]


def test_of_two_chunks_and_three_chains_each_chain_gets_its_own_best() -> None:
    rows, columns = ["one two", "two three"], ["x", "y", "z"]
    table = Table({(r, c): float(O4[i, j]) for i, r in enumerate(rows) for j, c in enumerate(columns)})
    assert np.allclose(matrix(table, rows, columns), O4)
    rank = Fragments(table, keep=3, window=2, overlap=1, whole=False)
    kept = rank(Query(Question("one two three")), chains("x", "y", "z"))
    assert rank.rows(Query(Question("one two three"))) == rows
    assert [(e.text, round(e.score, 4)) for e in kept] == [("x", 0.9), ("y", 0.8), ("z", 0.25)]
    assert np.max(O4.ravel().reshape(3, 2), axis=1).tolist() == [0.9, 0.3, 0.8]  # what a transposed table would give


def test_the_aggregations_are_those_of_their_names() -> None:
    assert aggregated(O4, "max").tolist() == [0.9, 0.8, 0.25]
    assert np.allclose(aggregated(O4, "sum"), [1.2, 0.9, 0.45])
    assert np.allclose(aggregated(O4, "mean"), [0.6, 0.45, 0.225])
    assert np.allclose(aggregated(O4, "rrf"), [1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62 + 1 / 63])
    assert np.allclose(aggregated(O4, "quota"), [1, 1 / 2, 1 / 3])


def test_with_quotas_each_row_picks_its_best_in_turn() -> None:
    scores = np.array([[0.9, 0.8, 0.7, 0.0], [0.6, 0.5, 0.0, 0.1]])
    assert np.argsort(-aggregated(scores, "quota")).tolist() == [0, 1, 2, 3]
    assert np.argsort(-aggregated(scores, "max")).tolist() == [0, 1, 2, 3]
    far = np.array([[0.9, 0.8, 0.7, 0.0], [0.0, 0.0, 0.0, 0.1]])
    assert np.argsort(-aggregated(far, "quota")).tolist() == [0, 3, 1, 2]


def test_an_unknown_aggregation_is_refused() -> None:
    with pytest.raises(BadInput, match=r"'median'.*quota"):
        aggregated(O4, "median")  # type: ignore[arg-type]


@given(st.integers(1, 5), st.integers(1, 6), st.sampled_from(HOW), st.integers(0, 99))
def test_no_order_of_the_columns_changes_their_scores(k: int, m: int, how: Aggregate, seed: int) -> None:
    draw = np.random.default_rng(seed)
    scores, order = draw.random((k, m)), draw.permutation(m)
    assert np.allclose(aggregated(scores, how)[order], aggregated(scores[:, order], how))


@given(st.integers(0, 200), st.integers(1, 40), st.integers(0, 39))
def test_fragments_cover_every_place_and_only_the_last_is_short(length: int, window: int, overlap: int) -> None:
    if overlap >= window:
        with pytest.raises(BadInput, match="overlap < window"):
            fragments(length, window, overlap)
        return
    parts = fragments(length, window, overlap)
    assert {i for part in parts for i in range(part.start, part.stop)} == set(range(length))
    assert all(part.stop - part.start == window for part in parts[:-1])
    assert all(a.stop - b.start == overlap for a, b in pairwise(parts))
    assert len({part.stop for part in parts}) == len(parts)


@pytest.mark.parametrize(("length", "expected"), [
    (10, [10]), (15, [15]), (20, [20]), (34, [34]), (40, [35, 20]), (60, [35, 35, 20]), (80, [35, 35, 35, 20]),
])  # fmt: skip
def test_the_lengths_that_the_released_chunker_loses_are_covered(length: int, expected: list[int]) -> None:
    assert [part.stop - part.start for part in fragments(length, 35, 15)] == expected


def test_nothing_of_question_options_and_hypothesis_is_lost_in_fragments() -> None:
    query = Query(Question("维生素B12 1.5mg，CD4低，痛？", (("A", "补铁"),)), "H2受体拮抗剂。" * 20)
    joined = "".join(Fragments(OverlapScorer()).rows(query))
    for kept in ("维生素B12", "1.5mg", "CD4低", "痛", "补铁", "H2受体拮抗剂"):
        assert kept in joined
    assert len(Fragments(OverlapScorer()).rows(query)[0]) == 35


def test_words_are_the_unit_of_scripts_with_spaces_and_only_stop_words_are_left_out() -> None:
    query = Query(Question("Is the vitamin A of 5 mg good for the skin in a case of CD4 < 200 and acne?"))
    first, *rest = Fragments(OverlapScorer(), whole=False).rows(query)
    assert first == "Is vitamin A 5 mg good for skin case CD4"
    assert rest == ["for skin case CD4 < 200 acne?"]


def test_question_and_hypothesis_are_rows_as_a_whole() -> None:
    rows = Fragments(OverlapScorer(), window=2, overlap=0).rows(Query(Question("gout now here"), "red toe hurts"))
    assert rows[-2:] == ["gout now here", "red toe hurts"]


def test_equal_texts_are_scored_once_and_kept_once() -> None:
    scorer = Table({("q", "x"): 0.2, ("q", "y"): 0.9})
    kept = Rerank(scorer)(Query(Question("q")), chains("x", "y", "x"))
    assert [e.text for e in kept] == ["y", "x"]
    assert scorer.asked == [("q", "x"), ("q", "y")]


def test_ties_keep_their_order() -> None:
    scorer = Table({("q", t): 0.5 for t in "abc"})
    assert [e.text for e in Rerank(scorer)(Query(Question("q")), chains("b", "a", "b", "c"))] == ["b", "a", "c"]


@pytest.mark.parametrize("how", HOW)
def test_the_best_comes_first_and_a_warning_is_never_dropped(how: Aggregate) -> None:
    warning = Triple(Entity("d", "d"), Relation("no", Role.CONTRAINDICATED), Entity("p", "p"))
    given_ = [Evidence("zzz", "triple", (warning,)), *chains("nothing", "red toe", "gout of the toe")]
    kept = Fragments(OverlapScorer(), keep=2, aggregate=how)(Query(Question("gout of the toe"), "red toe"), given_)
    assert {e.text for e in kept} == {"gout of the toe", "red toe", "zzz"}
    assert [e.score for e in kept] == sorted((e.score for e in kept), reverse=True)


def test_the_guess_is_scored_where_it_is_asked_for() -> None:
    query = Query(Question("?"), "gout")
    assert Rerank(OverlapScorer(), over_hypothesis=True)(query, chains("asthma", "x ?\ngout"))[0].text != "asthma"


def test_chunks_of_chinese_are_ten_words_with_four_shared_where_words_are_told_apart() -> None:
    pytest.importorskip("jieba", reason="words of Chinese need jieba")
    text = "胃食管反流病患者常有反酸和烧心，医生通常建议使用质子泵抑制剂，必要时加用H2 受体拮抗剂，每日20 mg。"
    cut = Fragments(OverlapScorer(), unit="segmented", whole=False)
    rows = cut.rows(Query(Question(text)))
    assert len(rows) >= 2
    words = segmented(text)
    assert words is not None
    assert "质子泵" in words
    told = [w for w in words if w.isalnum() and w not in STOP]
    assert all(word in "".join(rows) for word in told)
    assert rows[0].replace(" ", "") == "".join(told[:10])
    assert rows[1].replace(" ", "") == "".join(told[6:16])
    assert not any(mark in "".join(rows) for mark in "，。的")
    english = Fragments(OverlapScorer(), unit="segmented", whole=False).rows(Query(Question("a red toe " * 4)))
    assert english == Fragments(OverlapScorer(), unit="script", whole=False).rows(Query(Question("a red toe " * 4)))
