"""Many names at once get the keys that each of them gets alone."""

from hypothesis import example, given
from hypothesis import strategies as st

from kgmed.language.text import FUNCTION_WORDS, fold_all, fold_normalised, normalise, normalise_all

PIECES = [*FUNCTION_WORDS, "tumours", "İ", "肺炎", "Ⅱ", "5", ".", "12.5", "'s", "`", "’s", "_", " ", "\t", "\n", "\x1c"]
NAMES = st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(max_size=8), max_size=6)


@given(NAMES)
@example([])
@example(["", "a.b", ".5", "5.", "1.2.3", "..", "Crohn's_x", "x's y", "of the", "of"])
def test_all_keys_are_those_of_each_name_alone(names: list[str]) -> None:
    keys = [normalise(name) for name in names]
    assert normalise_all(names) == keys
    assert fold_all(keys) == [fold_normalised(key) for key in keys]
