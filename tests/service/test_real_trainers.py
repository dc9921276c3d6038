"""The clients of the installed OpenRLHF and veRL ask `/v1/reward`; without their packages nothing is tested.

They need no GPU for that: `pip install --no-deps openrlhf verl tensordict omegaconf hydra-core codetiming torchdata
antlr4-python3-runtime==4.9.3 pyvers orjson` beside the extra `train`.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import served
from kgmed.service.uses import open_judge
from served import HTTP
from tiny_causal import bytes_in

transformers: Any = pytest.importorskip("transformers", reason="the clients need a tokenizer")

CASES = [{"disease": "flu", "positive": ["fever", "cough"], "negative": ["rash"]}] * 6
CASES += [{"disease": "measles", "positive": ["fever", "rash"], "negative": ["cough"]}] * 4
ASKED = ["fever and cough, no rash", "fever and rash", "tungsten"]
ANSWERS = ["It is the flu.", "flu or measles", "flu"]


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    served.build(tmp_path)
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, CASES)), encoding="utf-8")
    with served.running(replace(served.cases_of(keep=False), judge=open_judge(str(path), None, "best"))) as service:
        yield f"{service.url}/v1/reward"


@pytest.fixture
def tokens(tmp_path: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(bytes_in(tmp_path / "tiny"))


def wanted(address: str) -> list[float]:
    found: list[float] = HTTP.post(address, json={"questions": ASKED, "answers": ANSWERS}).json()["scores"]
    assert found[0] > 0.5
    assert found[1:] == [0, 0]
    return found


def test_openrlhf_is_told_the_reward_of_what_it_generated(
    address: str, tokens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = find_spec("openrlhf")
    if whole is None or whole.submodule_search_locations is None:
        pytest.skip("openrlhf is not installed")
    for name in ("openrlhf", "openrlhf.utils"):  # without what the package itself imports, which wants a GPU
        package = ModuleType(name)
        package.__path__ = [str(Path(whole.submodule_search_locations[0], *name.split(".")[1:]))]
        monkeypatch.setitem(sys.modules, name, package)
    from openrlhf.utils.agent import SingleTurnAgentExecutor  # type: ignore[import-not-found]

    async def generate(answer: str) -> Any:
        said = tokens(text=answer, add_special_tokens=False)["input_ids"] + [tokens.eos_token_id]
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=said, finish_reason="stop", logprobs=None)])

    def reward(question: str, answer: str) -> Any:
        engine = SimpleNamespace(generate=lambda *_, **__: generate(answer))
        sampling = SimpleNamespace(max_tokens=64, logprobs=None)
        prompt = f"user\n{question}\nassistant\n"
        client = SingleTurnAgentExecutor([address])
        return asyncio.run(client.execute(prompt, "flu", sampling, 2048, tokens, engine))["reward"]

    assert [reward(q, a) for q, a in zip(ASKED, ANSWERS, strict=True)] == [[score] for score in wanted(address)]


def test_verl_is_told_the_reward_by_the_function_of_our_page(address: str, tokens: Any) -> None:
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    verl: Any = pytest.importorskip("verl", reason="verl is not installed")
    managers: Any = pytest.importorskip("verl.experimental.reward_loop.reward_manager")

    def compute_score(data_source: str, solution_str: str, ground_truth: Any, extra_info: dict[str, Any]) -> float:
        asked = {"solution_strs": [solution_str], "extra_infos": [{"question": extra_info["question"]}]}
        return float(HTTP.post(address, json=asked).raise_for_status().json()["scores"][0])

    async def reward(question: str, answer: str) -> float:
        manager = managers.get_reward_manager_cls("naive")({}, tokens, compute_score)
        said = [*tokens(answer)["input_ids"], tokens.eos_token_id]
        told = {"data_source": "dxy", "reward_model": {"ground_truth": None}, "extra_info": {"question": question}}
        batch = verl.DataProto.from_dict(
            tensors={"prompts": torch.zeros(1, 1, dtype=torch.long), "responses": torch.tensor([said]),
                     "attention_mask": torch.ones(1, 1 + len(said), dtype=torch.long)},
            non_tensors={name: numpy.array([value], dtype=object) for name, value in told.items()},
        )  # fmt: skip
        return float((await manager.run_single(batch))["reward_score"])

    found = [asyncio.run(reward(q, a)) for q, a in zip(ASKED, ANSWERS, strict=True)]
    assert found == pytest.approx(wanted(address))
