"""Statistics against hand-computed cases and against scipy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgmed.evaluate.scores import holm, interval, mcnemar, mean, paired_bootstrap


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    chance = np.random.default_rng(1)
    samples = [mean(chance.normal(3, 1, 60).tolist(), draws=400, seed=i) for i in range(200)]
    assert 0.88 < np.mean([m.low <= 3 <= m.high for m in samples]) < 0.99


def test_a_difference_by_chance_alone_is_seldom_called_one() -> None:
    chance = np.random.default_rng(2)
    ps = [
        paired_bootstrap(chance.normal(0, 1, 50).tolist(), chance.normal(0, 1, 50).tolist(), draws=400, seed=i).p
        for i in range(200)
    ]
    assert np.mean([p < 0.05 for p in ps]) < 0.11


def test_a_large_difference_is_found_and_has_its_sign() -> None:
    better = [1.0] * 40 + [0.0] * 10
    worse = [0.0] * 40 + [0.0] * 10
    d = paired_bootstrap(better, worse)
    assert d.mean == 0.8
    assert d.low > 0.6
    assert d.p < 0.001
    assert paired_bootstrap(worse, better).mean == -0.8


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_is_the_exact_binomial_test(pairs: list[tuple[bool, bool]]) -> None:
    binomtest = pytest.importorskip("scipy.stats").binomtest
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    only_a, n = sum(x and not y for x, y in pairs), sum(x != y for x, y in pairs)
    wanted = binomtest(only_a, n).pvalue if n else 1.0
    assert mcnemar(a, b) == pytest.approx(wanted, abs=1e-12)
    assert mcnemar(a, b) == mcnemar(b, a)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_a_corrected_p_value_is_never_smaller_and_keeps_the_order(ps: list[float]) -> None:
    corrected = holm(ps)
    assert all(c >= p for c, p in zip(corrected, ps, strict=True))
    assert all(c <= 1 for c in corrected)
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    assert all(corrected[i] <= corrected[j] for i, j in pairwise(order))


def test_values_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="not pairs"):
        paired_bootstrap([1.0], [])
    with pytest.raises(ValueError, match="not pairs"):
        mcnemar([True], [])


def test_of_one_value_no_interval_and_no_certainty_are_told() -> None:
    one, pair = mean([0.5]), paired_bootstrap([1.0], [0.0])
    assert (one.n, one.mean, interval(one)) == (1, 0.5, "none")
    assert (pair.n, pair.mean, pair.p, interval(pair)) == (1, 1.0, 1.0, "none")
    assert interval(mean([0.0, 1.0])) == "0.0000 to 1.0000"
