"""Texts of any length through windows, with a network that knows one entity."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from kgmed.models.w2ner import NNW, THW, Architecture, FoundEntity
from kgmed.models.w2ner_network import Labeller


class Knows(torch.nn.Module):
    """A network that is sure of 胃痛 wherever it stands, and of nothing else, padding not looked at."""

    def forward(self, batch: Sequence[Sequence[str]]) -> torch.Tensor:
        n = max(map(len, batch))
        scores = torch.zeros(len(batch), n, n, THW + 1)
        for of_text, words in zip(scores, batch, strict=True):
            of_text[len(words) :, len(words) :, THW] = 9
            for i in range(len(words) - 1):
                if words[i : i + 2] == ["胃", "痛"]:
                    of_text[i, i + 1, NNW] = of_text[i + 1, i, THW] = 9
        scores[..., 0] += 1
        return scores


def labeller(window: int, overlap: int) -> Labeller:
    return Labeller(Knows(), ["sym"], replace(Architecture(), window=window, overlap=overlap))


@given(st.lists(st.text(alphabet="胃痛吗 ", max_size=60), max_size=4), st.integers(5, 12))
def test_an_entity_is_found_once_wherever_it_stands_in_a_text_of_any_length(texts: list[str], window: int) -> None:
    wanted = [[FoundEntity("sym", ((i, i + 2),)) for i in range(len(t)) if t.startswith("胃痛", i)] for t in texts]
    spaced = [t.replace(" ", "吗") for t in texts]  # one unit a character, so that places are those of the text
    assert labeller(window, 4)(spaced) == wanted


def test_places_are_those_of_the_text_with_its_spaces() -> None:
    assert labeller(8, 4)(["  胃 痛 "]) == [[FoundEntity("sym", ((2, 5),))]]


def test_no_texts_and_empty_texts_have_no_entities() -> None:
    assert labeller(8, 4)([]) == []
    assert labeller(8, 4)(["", " "]) == [[], []]
