"""Arrays kept beside a graph."""

from pathlib import Path

import numpy as np

from kgmed.derived import Arrays, cached_arrays, derived_folder


def numbers() -> Arrays:
    return {"a": np.arange(3)}


def never() -> Arrays:
    raise LookupError("made again")


def test_arrays_are_made_once_and_opened_afterwards(tmp_path: Path) -> None:
    cached_arrays(str(tmp_path), "numbers", "1", ("a",), numbers)
    assert cached_arrays(str(tmp_path), "numbers", "1", ("a",), never)["a"].tolist() == [0, 1, 2]


def test_another_key_makes_them_anew(tmp_path: Path) -> None:
    cached_arrays(str(tmp_path), "numbers", "1", ("a",), numbers)
    assert cached_arrays(str(tmp_path), "numbers", "2", ("a",), lambda: {"a": np.zeros(1)})["a"].tolist() == [0]


def test_damaged_arrays_are_made_anew(tmp_path: Path) -> None:
    cached_arrays(str(tmp_path), "numbers", "1", ("a",), numbers)
    (derived_folder(str(tmp_path), "numbers", "1") / "a.npy").write_bytes(b"\x93NUMPY damaged")
    assert cached_arrays(str(tmp_path), "numbers", "1", ("a",), numbers)["a"].tolist() == [0, 1, 2]
    assert cached_arrays(str(tmp_path), "numbers", "1", ("a",), never)["a"].tolist() == [0, 1, 2]


def test_a_pickled_array_is_not_read(tmp_path: Path) -> None:
    place = derived_folder(str(tmp_path), "numbers", "1")
    place.mkdir(parents=True)
    np.save(place / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert cached_arrays(str(tmp_path), "numbers", "1", ("a",), numbers)["a"].tolist() == [0, 1, 2]


def test_without_a_folder_they_stay_in_memory() -> None:
    assert cached_arrays("", "numbers", "1", ("a",), numbers)["a"].tolist() == [0, 1, 2]


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cached_arrays(str(tmp_path / "file"), "numbers", "1", ("a",), numbers)["a"].tolist() == [0, 1, 2]
