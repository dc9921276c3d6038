"""Names that look like a given one."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.graph.base import NodeRow
from kgmed.graph.names import Fuzzy, _grams
from named_graph import CMEKG, small


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Fuzzy:
    return Fuzzy(small(tmp_path_factory.mktemp("graph")))


def test_a_misspelled_name_is_found_first(names: Fuzzy) -> None:
    best = names.search("Hypokalemai")[0]
    assert best.name == "Hypokalemia"
    assert 0.7 < best.score < 1


def test_the_name_itself_scores_one(names: Fuzzy) -> None:
    assert names.search("FEVER")[0].score == 1


def test_names_below_the_score_are_left_out(names: Fuzzy) -> None:
    assert not names.search("Hypokalemai", at_least=0.99)
    assert not names.search("tungsten", at_least=0.5)


@pytest.mark.parametrize("text", ["", "?", "漢"])
def test_texts_without_shared_grams_find_nothing(names: Fuzzy, text: str) -> None:
    assert names.search(text) == []


def test_cross_references_are_no_names(names: Fuzzy) -> None:
    assert not [n for n in names.search("UMLS:C0151576") if n.name.startswith("UMLS")]


def test_one_wrong_character_in_chinese_is_found(tmp_path: Path) -> None:
    assert Fuzzy(small(tmp_path, CMEKG)).search("胃食道反流病")[0].name == "胃食管反流病"


def test_it_opens_what_it_kept(tmp_path: Path) -> None:
    graph = small(tmp_path)
    made, opened = Fuzzy(graph), Fuzzy(graph)
    assert made.search("calf hypertrofy") == opened.search("calf hypertrofy")
    assert list(Path(graph.folder).glob("derived/fuzzy-*/gram.npy"))


def test_a_graph_without_names_finds_nothing(tmp_path: Path) -> None:
    assert Fuzzy(small(tmp_path, (NodeRow("?", "?"),))).search("fever") == []


@given(st.lists(st.text(max_size=12), max_size=8))
def test_grams_are_those_of_each_name_alone(keys: list[str]) -> None:
    together, of = _grams(keys)
    for i, key in enumerate(keys):
        assert sorted(together[of == i].tolist()) == sorted(_grams([key])[0].tolist())
    assert together.dtype == np.uint64
