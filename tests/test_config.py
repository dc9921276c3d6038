"""What is chosen in a TOML file and on the command line, and what cannot be chosen."""

from pathlib import Path

import pytest

from kgmed.config import Config, Mode, configure, read_config
from kgmed.errors import BadInput, SourceError, UnknownName

TEXT = """
graph = "hpo"
method = "kg-rank"
cache = "replies.sqlite"
cache_mode = "refresh"
budget = 2
evidence_tokens = 500
[settings]
ranking = "mmr"
keep = 5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "kgmed.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_and_its_paths_are_taken_from_its_folder(tmp_path: Path) -> None:
    found = read_config(written(tmp_path, TEXT))
    assert (found.graph, found.method, found.evidence_tokens, found.budget) == ("hpo", "kg-rank", 500, 2.0)
    assert found.cache == tmp_path / "replies.sqlite"
    assert found.cache_mode is Mode.REFRESH
    assert found.settings == {"ranking": "mmr", "keep": 5}


def test_what_is_given_is_laid_over_the_file_setting_by_setting(tmp_path: Path) -> None:
    given = {"method": "hykge", "graph": None, "llm": "", "settings": {"keep": "7"}}
    found = configure(written(tmp_path, TEXT), given)
    assert (found.graph, found.method, found.llm) == ("hpo", "hykge", "")
    assert found.settings == {"ranking": "mmr", "keep": "7"}


def test_nothing_given_is_the_default() -> None:
    assert configure(None, {}) == Config()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("graph =", "is no TOML"),
        ("grpah = 'hpo'", "did you mean graph"),
        ("graph = 3", "graph is '3'"),
        ("max_calls = -1", "whole number"),
        ("cache_mode = 'play'", "record, replay, refresh"),
        ("settings = 3", "settings must be a table"),
        ("api_key = 'abc'", "set the environment variable"),
    ],
)
def test_a_damaged_file_is_named_with_the_mend(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SourceError, match=said) as problem:
        read_config(path)
    assert str(path) in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_key_in_the_file_is_not_repeated_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as problem:
        read_config(written(tmp_path, "api_key = 'sk-very-secret'"))
    assert "very-secret" not in str(problem.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_config(tmp_path / "none.toml")


def test_choices_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="to replay replies, name their file"):
        configure(None, {"cache_mode": "replay"})
    with pytest.raises(BadInput, match="no folder of prompts"):
        configure(None, {"prompts": tmp_path / "none"})
    with pytest.raises(BadInput, match="1 call or more"):
        configure(None, {"batch": 0})
    with pytest.raises(BadInput, match="reply_tokens is"):
        configure(None, {"reply_tokens": -1})
    with pytest.raises(BadInput, match="budget must be 0"):
        configure(None, {"budget": -1})
    with pytest.raises(UnknownName, match=r"no option of kgmed\.load"):
        configure(None, {"modle": "x"})


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 100_000, "[" * 2_000 + "]" * 2_000])
def test_a_number_too_long_and_lists_too_deep_are_one_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "kgmed.toml"
    path.write_text(f"[settings]\nrate = {value}\n", encoding="utf-8")
    with pytest.raises(SourceError, match="is no TOML"):
        read_config(path)
