"""A trained pair scorer and its file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, KgmedError, SourceError
from kgmed.models.fakes import TrigramEncoder
from kgmed.models.scorers import FEATURES, TrainedPairs, features, load, save

WEIGHTS = tuple(float(i - 5) for i in range(len(FEATURES)))
PAIRS = [
    ("calf pain", "Pain of the calf"),
    ("type 1 diabetes", "type 2 diabetes"),
    ("发热", "高热"),
    ("", "x"),
    ("", ""),
]


def test_a_scorer_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    scorer = TrainedPairs(WEIGHTS, 0.25, "g 1 #abc", TrigramEncoder())
    save(scorer, tmp_path / "deep" / "s.json", {"mrr": 0.5})
    again = load(tmp_path / "deep" / "s.json", TrigramEncoder())
    assert again == scorer
    assert np.array_equal(again(PAIRS), scorer(PAIRS))
    assert again.name == "trained on g 1 #abc: words and trigrams-256, no cross-encoder"
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["s.json"]


def test_a_scorer_of_words_needs_no_encoder_and_takes_none(tmp_path: Path) -> None:
    save(TrainedPairs(WEIGHTS, 0.0, "g"), tmp_path / "s.json")
    assert load(tmp_path / "s.json", None) == load(tmp_path / "s.json", TrigramEncoder())


def test_another_encoder_than_it_was_trained_with_is_refused(tmp_path: Path) -> None:
    save(TrainedPairs(WEIGHTS, 0.0, "g", TrigramEncoder(64)), tmp_path / "s.json")
    for encoder in (None, TrigramEncoder(128)):
        with pytest.raises(BadInput, match="trained with the encoder trigrams-64"):
            load(tmp_path / "s.json", encoder)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"}, {"version": 2}, {"features": ["x"]}, {"weights": [1.0]}, {"weights": "x"}, {"bias": None},
        {"weights": [float("nan")] * len(FEATURES)}, {"encoder": 3}, {"trained_on": None},
    ],
)  # fmt: skip
def test_a_file_that_is_damaged_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "s.json"
    save(TrainedPairs(WEIGHTS, 0.0, "g"), path)
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), encoding="utf-8")
    with pytest.raises(SourceError, match=r"s\.json: holds no pair scorer") as caught:
        load(path, None)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00"])
def test_a_file_that_is_something_else_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text, encoding="utf-8")
    with pytest.raises(KgmedError, match=r"s\.json"):
        load(tmp_path / "s.json", None)
    with pytest.raises(KgmedError, match=r"none\.json"):
        load(tmp_path / "none.json", None)


def test_features_tell_numbers_and_opposites_apart() -> None:
    rows = {pair: dict(zip(FEATURES, row, strict=True)) for pair, row in zip(PAIRS, features(PAIRS, None), strict=True)}
    assert rows[PAIRS[1]]["numbers differ"] == 1
    assert rows[PAIRS[0]]["numbers differ"] == 0
    opposed = features([("hypertension", "hypotension"), ("hypertension", "hypertension")], None)
    assert opposed[:, FEATURES.index("opposed")].tolist() == [1, 0]


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=4))
def test_any_pair_has_finite_features_that_its_neighbours_do_not_change(pairs: list[tuple[str, str]]) -> None:
    rows = features(pairs, TrigramEncoder(32))
    assert rows.shape == (len(pairs), len(FEATURES))
    assert np.isfinite(rows).all()
    assert all(
        np.allclose(row, features([pair], TrigramEncoder(32))[0], atol=1e-5)
        for pair, row in zip(pairs, rows, strict=True)
    )
