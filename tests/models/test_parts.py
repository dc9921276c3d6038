"""Encoders and pair scorers by the names that a person types."""

import pytest

from kgmed.errors import BadInput, UnknownName
from kgmed.models.base import name_of
from kgmed.models.encoders import HttpEncoder, HttpPairScorer, NgramEncoder
from kgmed.models.fakes import OverlapScorer, TrigramEncoder
from kgmed.models.named import encoder_from, scorer_from
from kgmed.models.scorers import LexicalPairs


def test_names_lead_to_their_parts() -> None:
    assert isinstance(encoder_from("ngrams"), NgramEncoder)
    assert isinstance(encoder_from("server/m@http://127.0.0.1:9/v1"), HttpEncoder)
    assert isinstance(scorer_from("words", TrigramEncoder()), LexicalPairs)
    for layout in ("vllm", "cohere", "jina"):
        scorer = scorer_from(f"{layout}/org/m@http://127.0.0.1:9/v1", TrigramEncoder())
        assert isinstance(scorer, HttpPairScorer)
        assert "org/m" in scorer.name


@pytest.mark.parametrize("spec", ["", "nothing", "server/", "local/"])
def test_a_name_that_nothing_has_lists_those_there_are(spec: str) -> None:
    with pytest.raises(UnknownName, match="no encoder is called"):
        encoder_from(spec)


@pytest.mark.parametrize("spec", ["vllm/m", "vllm/m@host", "vllm/@http://h/v1", "cohere/m@ftp://h"])
def test_a_server_needs_an_address(spec: str) -> None:
    with pytest.raises(BadInput, match="does not say where its server is"):
        scorer_from(spec, TrigramEncoder())


def test_a_part_without_a_name_goes_by_its_class() -> None:
    assert name_of(OverlapScorer()) == "OverlapScorer"
    assert name_of(TrigramEncoder()) == "trigrams-256"
