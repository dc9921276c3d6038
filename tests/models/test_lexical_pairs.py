import numpy as np

from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import TrigramEncoder
from kgmed.models.scorers import LexicalPairs


def test_its_name_says_that_it_is_no_cross_encoder() -> None:
    assert LexicalPairs(TrigramEncoder()).name == "words and trigrams-256, no cross-encoder"
    assert LexicalPairs().name == "words, no cross-encoder"


def test_words_and_vectors_count_half_each() -> None:
    encoder = NgramEncoder()
    pairs = [("fever", "fever and chills"), ("头痛发热", "发热"), ("gout", "asthma"), ("fever", "fever and chills")]
    rows = encoder([text for pair in pairs for text in pair])
    cosines = np.sum(rows[::2] * rows[1::2], axis=1)
    assert np.allclose(LexicalPairs(encoder)(pairs), (LexicalPairs()(pairs) + cosines) / 2, atol=1e-6)


def test_it_is_symmetric_and_the_same_text_scores_one() -> None:
    score = LexicalPairs(NgramEncoder())
    assert np.allclose(score([("a fever", "fever"), ("痛风", "痛风")]), score([("fever", "a fever"), ("痛风", "痛风")]))
    assert np.isclose(score([("痛风", "痛风")])[0], 1, atol=1e-6)


def test_a_text_without_words_scores_nothing() -> None:
    assert LexicalPairs()([("", "fever"), ("?", "!")]).tolist() == [0.0, 0.0]
