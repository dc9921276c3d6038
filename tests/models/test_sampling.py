"""How words are drawn reaches models, caches and runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kgmed.config import Config
from kgmed.errors import BadInput
from kgmed.models.base import Message, Reply, Sampling, sampled, sampling
from kgmed.models.encoders import NgramEncoder
from kgmed.models.named import CachedLLM, recorded_models
from kgmed.session import Session
from named_graph import small

NO_NUMBERS: list[dict[str, Any]] = [
    {"temperature": -1}, {"temperature": 3}, {"top_p": 0}, {"top_p": 1.5}, {"penalty": 0},
]  # fmt: skip
HELLO = [Message("user", "What is gout?")]


class Drawn:
    """A model that says how it was drawn."""

    name = "drawn"

    @property
    def settings(self) -> dict[str, object]:
        return sampling().settings

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        how = sampling()
        return Reply(f"Gout {how.temperature} {how.top_p} {how.seed}", 1, 1, self.name)


def test_the_options_of_a_session_reach_the_model_and_stand_in_the_run(tmp_path: Path) -> None:
    from kgmed.graph.base import EdgeRow

    store = small(tmp_path, (EdgeRow("gout", "treated by", "colchicine"),), "g")
    given = Config(method="zero-shot", temperature=0.6, top_p=0.9, seed=4, penalty=1.1)
    warm = Session(("g",), lambda _: store, config=given, llm=Drawn(), encoder=NgramEncoder())
    run = warm.ask("What is gout?")
    assert run.answer.text == "Gout 0.6 0.9 4"
    assert dict(run.settings) | {"temperature": 0.6, "top_p": 0.9, "seed": 4} == dict(run.settings)
    assert dict(run.settings)["repetition_penalty"] == 1.1
    cold = warm.under(temperature=None, top_p=None, seed=0, penalty=1)
    assert cold.ask("What is gout?").answer.text == "Gout 0.0 1.0 0"
    assert sampling() == Sampling()


def test_replies_of_two_seeds_are_kept_apart_and_replayed_apart(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    kept = CachedLLM(Drawn(), path)
    for seed in (0, 1, 0):
        with sampled(Sampling(0.6, seed=seed)):
            assert kept(HELLO).text == f"Gout 0.6 1.0 {seed}"
    assert (kept.hits.hits, kept.hits.misses) == (1, 2)
    kept.close()
    (absent,) = recorded_models(path)
    again = CachedLLM(absent, path, mode="replay")
    with sampled(Sampling(0.6, seed=1)):
        assert again(HELLO).text == "Gout 0.6 1.0 1"


@pytest.mark.parametrize("numbers", NO_NUMBERS)
def test_numbers_that_no_model_takes_are_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"temperature|top-p|penalty"):
        Sampling(**numbers)
