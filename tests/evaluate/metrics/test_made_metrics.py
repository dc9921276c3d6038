"""Metrics that are made from a corpus or a model's numbers, and the parts of those made from models."""

from collections.abc import Sequence
from itertools import permutations
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from eval_makers import run
from kgmed.errors import BadInput, PromptTooLong, UnknownName
from kgmed.evaluate.items import Choices, Gold, Item
from kgmed.evaluate.metrics import bleurt, by_model, make, metric
from kgmed.evaluate.metrics.by_model import Rarity, Read, grams, models, mover_distance, mover_score, token_weights
from kgmed.graph.base import NodeRow
from kgmed.models.asking import LogProbs
from kgmed.models.fakes import OverlapScorer, Wordwise
from kgmed.records import Question
from named_graph import small


def item(*texts: str) -> Item:
    return Item(Question("red toe?", id="q"), Gold(texts=texts))


def said(text: str, of: Item) -> float | None:
    return by_model._perplexity_of(Wordwise((("flu", 1 / 16),))).of(run(of.question, text), of)


def test_perplexity_is_two_to_the_mean_of_bits() -> None:
    assert said("red", item()) == pytest.approx(2)  # the question has it: 1/2
    assert said("flu", item()) == pytest.approx(16)
    assert said("red flu", item()) == pytest.approx(2**2.5)  # 1 bit and 4 bits
    assert said("red gout flu", item()) == pytest.approx(2 ** (8 / 3))


def test_what_has_no_perplexity_is_told_apart_and_not_guessed() -> None:
    class Short:
        name = "short"

        def logprobs(self, prompt: str, continuations: list[str], /) -> LogProbs:
            raise PromptTooLong("too long")

    made = by_model._perplexity_of(Short())  # type: ignore[arg-type]
    assert made.of(run(item().question, "x"), item()) is None
    assert said("  ", item()) is None
    assert made.of(None, item()) is None
    assert made.higher is False
    assert "short" in made.source


ITEMS = [item("gout toe"), item("gout flu")]


def test_the_likeness_of_keywords_is_the_cosine_of_frozen_weights() -> None:
    alike, opposite = by_model.make_hallucination(ITEMS)
    rare, new = 1 + log(3 / 2), 1 + log(3)
    wanted = {"gout toe": 1.0, "gout": 1 / sqrt(1 + rare**2), "made up": 0.0, "": 0.0,
              "toe toe gout": (1 + 2 * rare**2) / (sqrt(1 + 4 * rare**2) * sqrt(1 + rare**2)),
              "gout lies": 1 / (sqrt(1 + new**2) * sqrt(1 + rare**2))}  # fmt: skip
    for text, value in wanted.items():
        assert alike.of(run(ITEMS[0].question, text), ITEMS[0]) == pytest.approx(value)
        assert opposite.of(run(ITEMS[0].question, text), ITEMS[0]) == pytest.approx(1 - value)
    assert (alike.of(None, ITEMS[0]), opposite.of(None, ITEMS[0])) == (0, 1)
    assert alike.of(run(ITEMS[0].question, "x"), item("...")) is None


def test_the_likeness_is_that_of_scikit_learn_where_it_knows_the_words() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    corpus = ["gout toe pain", "gout flu fever fever", "flu cough", "pain toe toe"]
    model = text.TfidfVectorizer(analyzer=str.split).fit(corpus)
    like = by_model.Likeness(t.split() for t in corpus)
    for a in corpus:
        for b in corpus:
            theirs = float((model.transform([a]) @ model.transform([b]).T).toarray()[0, 0])
            assert like(a.split(), b.split()) == pytest.approx(theirs)


def test_the_corpus_is_told_by_its_hash_whatever_its_order() -> None:
    sources = [by_model.make_hallucination(items)[0].source for items in (ITEMS, ITEMS[::-1], ITEMS[:1])]
    assert sources[0] == sources[1] != sources[2]


def test_keywords_can_be_the_names_of_a_graph(tmp_path: Path) -> None:
    graph = small(tmp_path, (NodeRow("d", "Gout", "disease"), NodeRow("s", "Toe pain", "symptom")))
    find = by_model.graph_keywords(graph).find
    assert sorted(find("It may be gout; the toe pain of gout is great")) == ["gout", "gout", "toe pain"]


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdef"), max_size=8))
def test_likeness_goes_from_0_to_1_either_way_round(a: list[str], b: list[str]) -> None:
    like = by_model.Likeness([["a", "b"], ["a", "c"]])
    assert 0 <= like(a, b) <= 1
    assert like(a, b) == pytest.approx(like(b, a))
    assert not a or like(a, a) == pytest.approx(1)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.integers(0, 99))
def test_the_mover_distance_of_equal_weights_is_that_of_the_best_matching(n: int, seed: int) -> None:
    pytest.importorskip("scipy")
    cost = np.random.default_rng(seed).random((n, n))
    wanted = min(sum(cost[i, j] for i, j in enumerate(order)) / n for order in permutations(range(n)))
    assert mover_distance(np.full(n, 1 / n), np.full(n, 1 / n), cost) == pytest.approx(wanted, abs=1e-9)


def test_mover_score_of_a_hand_case() -> None:
    pytest.importorskip("scipy")
    right, up = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    assert mover_score((right, np.array([0.5, 0.5])), (up, np.ones(1))) == pytest.approx(1 - sqrt(2) / 2)
    assert mover_score((-up, np.ones(1)), (up, np.ones(1))) == 0  # the distance is 2
    near = np.array([[0.8, 0.6]])
    assert mover_score((near, np.ones(1)), (up, np.ones(1))) == pytest.approx(1 - sqrt(0.2**2 + 0.6**2))


def test_the_mover_distance_of_a_hand_case() -> None:
    pytest.importorskip("scipy")
    cost = np.array([[0.0, 1.0], [1.0, 0.5]])
    moved = mover_distance(np.array([0.5, 0.5]), np.array([0.25, 0.75]), cost)
    assert moved == pytest.approx(0.25 * 0 + 0.25 * 1 + 0.5 * 0.5)


def test_a_text_shorter_than_an_n_gram_is_one_and_weights_sum_to_one() -> None:
    rows, weights = grams(np.array([[0.6, 0.8]]), np.ones(1), 2)
    assert rows.tolist() == [[0.6, 0.8]]
    assert weights.tolist() == [1.0]
    assert grams(np.eye(3), np.array([0.0, 0.0, 1.0]), 2)[1].tolist() == [0.0, 1.0]


def test_tokens_weigh_by_rarity_or_alike_where_none_is_rare() -> None:
    read = Read((8, 1, 2, 9), np.zeros((4, 1), np.float32))
    assert token_weights(read, {8, 9}, Rarity([(1, 2), (1, 3)])).tolist() == [0, 0, 1, 0]
    assert token_weights(read, {8, 9}, Rarity([(1, 2)])).tolist() == [0, 0.5, 0.5, 0]
    assert token_weights(Read((8, 9), np.zeros((2, 1), np.float32)), {8, 9}, None).tolist() == [0, 0]


def test_bleurt_asks_every_pair_once_and_a_failure_counts_as_saying_nothing() -> None:
    class Counting:
        asked: list[tuple[str, str]] = []  # noqa: RUF012

        def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
            self.asked.extend(pairs)
            return np.asarray(OverlapScorer()(pairs) + 0.25, np.float32)

    made = bleurt._bleurt_of(Counting(), ITEMS, "toy@1")
    runs = [run(i.question, "gout") for i in ITEMS]
    told = made.over([*runs, None], [*ITEMS, ITEMS[0]])
    asked = len(Counting.asked)
    assert made.over([*runs, None], [*ITEMS, ITEMS[0]]) == told
    assert len(Counting.asked) == asked == 4
    assert told[2] == 0.25
    assert made.of(runs[0], item()) is None
    assert "toy@1" in made.source


def test_a_metric_that_is_not_made_and_a_second_model_are_refused() -> None:
    with pytest.raises(UnknownName, match="bertscore"):
        make("bertscor", Choices(), ITEMS)
    with pytest.raises(UnknownName, match="bertscore"):
        metric("bertscor")
    with pytest.raises(BadInput, match="two models"):
        models(["a", "b"])
    with pytest.raises(BadInput, match="two models for bleurt"):
        models(["bleurt=a", "bleurt=b"])
    assert models(["x=y"]) == {"": "x=y"}
