"""Precision, recall and F1 of entities."""

from hypothesis import given
from hypothesis import strategies as st

from kgmed.evaluate.linking import NerScore, by_kind, score
from kgmed.models.w2ner import FoundEntity

WHOLE, INNER = FoundEntity("sym", ((0, 4),)), FoundEntity("bod", ((0, 2),))
SPLIT = FoundEntity("sym", ((0, 2), (5, 7)))
found_entities = st.builds(
    FoundEntity, st.sampled_from(["a", "b"]), st.sampled_from([((0, 1),), ((0, 2),), ((0, 1), (2, 3)), ((1, 3),)])
)
texts = st.lists(st.tuples(st.sets(found_entities), st.sets(found_entities)), max_size=5)


def test_an_entity_is_right_only_with_its_type_and_all_its_parts() -> None:
    gold = [[WHOLE, INNER, SPLIT]]
    assert score([[WHOLE, INNER, SPLIT]], gold) == NerScore(3, 3, 3)
    assert score([[FoundEntity("dis", ((0, 4),)), FoundEntity("sym", ((0, 7),))]], gold) == NerScore(2, 3, 0)
    assert score([[FoundEntity("dis", ((0, 4),)), FoundEntity("sym", ((0, 7),))]], gold, typed=False) == NerScore(
        2, 3, 1
    )


def test_counts_are_summed_before_they_are_divided() -> None:
    found, gold = [[WHOLE], [WHOLE, INNER, SPLIT]], [[WHOLE], [INNER]]
    s = score(found, gold)
    assert (s.precision, s.recall, s.f1) == (2 / 4, 2 / 2, 2 * (1 / 2) / (3 / 2))


def test_nothing_found_or_nothing_to_find_is_zero_and_no_failure() -> None:
    assert [(s.precision, s.recall, s.f1) for s in (score([[]], [[WHOLE]]), score([[WHOLE]], [[]]))] == [(0, 0, 0)] * 2
    assert score([], []).f1 == 0


def test_the_same_entity_found_twice_counts_once() -> None:
    assert score([[WHOLE, WHOLE]], [[WHOLE]]) == NerScore(1, 1, 1)


@given(texts)
def test_types_add_up_to_the_whole_and_f1_is_the_harmonic_mean(
    pairs: list[tuple[set[FoundEntity], set[FoundEntity]]],
) -> None:
    found, gold = [f for f, _ in pairs], [g for _, g in pairs]
    whole, kinds = score(found, gold), by_kind(found, gold).values()
    assert (whole.found, whole.gold, whole.right) == tuple(
        sum(getattr(k, name) for k in kinds) for name in ("found", "gold", "right")
    )
    if whole.right:
        assert abs(whole.f1 - 2 / (1 / whole.precision + 1 / whole.recall)) < 1e-12
