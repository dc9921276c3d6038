import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import ModelFailed, Unavailable
from kgmed.models.base import LLM, Encoder, Message, PairScorer
from kgmed.models.fakes import Echo, OverlapScorer, Scripted, TrigramEncoder


def test_the_fakes_fit_their_protocols() -> None:
    models: list[LLM] = [Scripted([]), Echo()]
    encoders: list[Encoder] = [TrigramEncoder()]
    scorers: list[PairScorer] = [OverlapScorer()]
    assert [m.name for m in models] == ["scripted", "echo"]
    assert encoders[0].dimensions == 256
    assert scorers[0]([]).shape == (0,)


def test_a_script_that_has_run_out_fails_and_keeps_what_it_was_asked() -> None:
    llm = Scripted(["a"])
    llm([Message("user", "one two")])
    with pytest.raises(ModelFailed, match="no reply left"):
        llm([])
    assert llm.asked == [(Message("user", "one two"),), ()]


def test_a_script_may_hold_failures() -> None:
    llm = Scripted([Unavailable("down"), "up"])
    with pytest.raises(Unavailable, match="down"):
        llm([])
    assert llm([]).text == "up"


def test_an_echo_of_nothing_is_empty() -> None:
    assert Echo()([]).text == ""


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=4))
def test_every_text_gets_a_unit_row_and_equal_texts_equal_rows(texts: list[str]) -> None:
    encoder = TrigramEncoder(32)
    rows = encoder(texts)
    assert rows.shape == (len(texts), 32)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(rows, encoder(texts))


def test_the_scorer_prefers_the_text_that_holds_the_other() -> None:
    scores = OverlapScorer()([("咳嗽", "咳嗽和发热"), ("咳嗽", "痛风"), ("", "x")])
    assert scores.tolist() == [1.0, 0.0, 0.0]
