"""A model of a folder behind all that stands before it, asked by several threads at once; recorded, and replayed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgmed.config import Config, Mode
from kgmed.errors import BadInput
from kgmed.models.base import LLM, Message
from kgmed.models.named import llm_of
from kgmed.models.transformers_lm import TransformersLM
from tiny_causal import SAID, saved_in, sizes

pytest.importorskip("torch", reason="needs torch and transformers")
pytest.importorskip("transformers", reason="needs torch and transformers")


def behind(llm: LLM | None) -> TransformersLM:
    """The model at the end of what stands before it."""
    while (inner := getattr(llm, "llm", None)) is not None:
        llm = inner
    assert isinstance(llm, TransformersLM)
    return llm


def test_threads_reach_the_model_at_once_through_cache_meter_and_ledger(tmp_path: Path) -> None:
    folder = saved_in(tmp_path / "tiny")
    chosen = Config(llm=f"hf/{folder}", batch=16, precision="float32", cache=tmp_path / "c.db", max_calls=100, rate=1e6)
    llm = llm_of(chosen)
    assert llm is not None
    given = sizes(behind(llm), 12)
    words = [w for w in SAID if w not in ".:"][:12]

    def ask(word: str) -> str:
        return llm([Message("user", f"is a {word} toe red")], max_tokens=12).text

    with ThreadPoolExecutor(12) as pool:
        said = list(pool.map(ask, words))
    assert max(given) > 8  # more than a meter lets through by itself
    alone = TransformersLM(folder)
    assert said == [alone([Message("user", f"is a {word} toe red")], max_tokens=12).text for word in words]
    assert len(set(said)) > 6

    replayed = llm_of(Config(llm=chosen.llm, cache=chosen.cache, cache_mode=Mode.REPLAY))
    assert replayed is not None
    assert [replayed([Message("user", f"is a {word} toe red")], max_tokens=12).text for word in words] == said


def test_of_replies_recorded_with_two_batches_those_of_the_one_named_are_replayed(tmp_path: Path) -> None:
    folder = saved_in(tmp_path / "tiny")
    recording = Config(llm=f"hf/{folder}", cache=tmp_path / "c.db")
    for batch in (2, 4):
        llm = llm_of(recording.replace(batch=batch))
        assert llm is not None
        llm([Message("user", "fever")], max_tokens=batch)
    replaying = recording.replace(cache_mode=Mode.REPLAY)
    with pytest.raises(BadInput, match="replies of 2 models"):
        llm_of(replaying)
    found = llm_of(replaying.replace(batch=4))
    assert found is not None
    assert found([Message("user", "fever")], max_tokens=4).tokens_out <= 4


def test_replies_are_no_longer_than_is_chosen_and_the_cache_knows_the_model_itself(tmp_path: Path) -> None:
    folder = saved_in(tmp_path / "tiny")
    short = llm_of(Config(llm=f"hf/{folder}", reply_tokens=2, cache=tmp_path / "c.db"))
    assert short is not None
    asked = [Message("user", "is a fever toe red")]
    said = short(asked, max_tokens=12)
    assert said.tokens_out <= 2
    assert short.name == "hf/tiny, 2 tokens a reply"
    replayed = llm_of(Config(llm=f"hf/{folder}", cache=tmp_path / "c.db", cache_mode=Mode.REPLAY))
    assert replayed is not None
    assert replayed(asked, max_tokens=2).text == said.text
