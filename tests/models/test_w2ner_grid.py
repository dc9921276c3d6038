"""Entities as relations and back; units and windows."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput
from kgmed.models.w2ner import (
    NNW,
    PRESETS,
    THW,
    Architecture,
    GridEntity,
    cells,
    covered_units,
    entities,
    from_plain,
    joined_parts,
    to_plain,
    units,
    windows,
)

KINDS = ["bod", "dis", "sym"]
WORDS = 7
some_words = st.sets(st.integers(0, WORDS - 1), min_size=1).map(lambda s: tuple(sorted(s)))
runs = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda ab: tuple(range(min(ab), max(ab) + 1)))


def typed(places: set[tuple[int, ...]], kind_of: list[str]) -> set[GridEntity]:
    """An entity for each of the places; those with one head and one tail are of one type, as a cell demands."""
    return {GridEntity(kind_of[(at[0] + 3 * at[-1]) % len(kind_of)], at) for at in places}


@given(st.sets(runs), st.permutations(KINDS))
def test_flat_and_nested_entities_come_back_from_their_relations_as_they_were(
    places: set[tuple[int, ...]], kinds: list[str]
) -> None:
    wanted = typed(places, kinds)
    assert set(entities(cells(wanted, KINDS), KINDS)) == wanted


@given(st.sets(some_words, max_size=4))
def test_every_discontinuous_entity_comes_back_though_others_may_join_it(places: set[tuple[int, ...]]) -> None:
    wanted = typed(places, KINDS)
    assert wanted <= set(entities(cells(wanted, KINDS), KINDS))


@given(st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(NNW, THW + 2)))
def test_decoding_finds_exactly_the_paths_of_next_words_from_a_head_to_its_tail(
    found: dict[tuple[int, int], int],
) -> None:
    def is_path(at: tuple[int, ...]) -> bool:
        return all(found.get((a, b)) == NNW for a, b in pairwise(at))

    runs = [tuple(i for i in range(5) if keep[i]) for keep in product([False, True], repeat=5)]
    wanted = {
        GridEntity(KINDS[found[at[-1], at[0]] - THW], at)
        for at in runs
        if at and is_path(at) and found.get((at[-1], at[0]), 0) >= THW
    }
    assert set(entities(found, KINDS)) == wanted


def test_two_entities_that_cross_are_told_apart() -> None:
    hand_pain, finger_numb = GridEntity("sym", (0, 3)), GridEntity("sym", (1, 2))
    assert entities(cells([hand_pain, finger_numb], KINDS), KINDS) == [hand_pain, finger_numb]


def test_a_grid_full_of_next_words_is_decoded_without_listing_all_its_paths() -> None:
    full = {(i, j): NNW for i in range(40) for j in range(i + 1, 40)} | {(39, 0): THW}
    assert len(entities(full, KINDS)) == 32


@given(st.text(max_size=40))
def test_units_do_not_overlap_and_leave_out_nothing_but_spaces(text: str) -> None:
    found = units(text)
    assert all(text[u.start : u.end] == u.text for u in found)
    assert "".join(u.text for u in found) == "".join(text.split())


@given(st.integers(0, 300), st.integers(1, 60), st.data())
def test_windows_cover_every_unit_and_give_each_to_exactly_one_of_them(
    count: int, longest: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, longest - 1))
    made = list(windows(count, longest, overlap))
    assert [i for w in made for i in range(w.first, w.last)] == list(range(count))
    for w in made:
        assert w.end - w.start <= longest
        assert w.start <= w.first < w.last <= w.end
        assert w.end == count or w.end - w.last >= overlap // 2  # room for what begins just before the border


@given(st.text(alphabet="胃痛ab1 ,", min_size=1, max_size=20), st.data())
def test_the_parts_of_some_units_cover_those_units(text: str, data: st.DataObject) -> None:
    found = units(text)
    at = tuple(sorted(data.draw(st.sets(st.integers(0, max(0, len(found) - 1)))))) if found else ()
    assert covered_units(found, joined_parts(found, at)) == at


def test_a_part_that_ends_within_a_word_covers_no_units() -> None:
    assert covered_units(units("SARS病"), [(0, 2)]) is None


@pytest.mark.parametrize("name", PRESETS)
def test_the_numbers_of_a_network_come_back_from_plain_data(name: str) -> None:
    architecture = PRESETS[name]  # type: ignore[index]
    assert from_plain(to_plain(architecture)) == architecture


@pytest.mark.parametrize(
    "change", [{"hidden": 3}, {"hidden": "64"}, {"dilations": []}, {"dropout": 1.0}, {"window": 8, "overlap": 8}]
)
def test_numbers_that_make_no_network_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        from_plain(to_plain(Architecture()) | change)


def test_settings_that_are_missing_or_unknown_are_refused() -> None:
    plain = to_plain(Architecture())
    wrongs: list[object] = [{**plain, "more": 1}, {k: v for k, v in plain.items() if k != "hidden"}, [], None]
    for wrong in wrongs:
        with pytest.raises(BadInput, match="exactly the settings"):
            from_plain(wrong)
