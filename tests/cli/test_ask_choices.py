"""What can be chosen at `kgmed ask`: settings, prompts, budgets, a cache that needs no model again, a TOML file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from json_server import JsonServer, Said, serving
from kgmed.cli import app
from kgmed.errors import KgmedError

pytest.importorskip("openai")

ROWS = "head\trelation\ttail\ncolchicine\ttreats\tgout\nibuprofen\ttreats\tgout\ngout\thas_symptom\ttoe pain\n"
PROMPTS = ["kg_rank/terms.en", "question/frame.en", "baselines/facts.en", "kg_rank/reader.en", "check/sentences.en"]
ASKED = ("ask", "Which drug treats gout?", "-g", "toe", "-m", "kg-rank", "--encoder", "ngrams")


def replies(asked: Any) -> Any:
    """What the server says: the terms to the prompt that asks for them, else the answer."""
    text = (
        '{"terms": ["gout"], "facts": [1]}'
        if "JSON" in json.dumps(asked["messages"])
        else "Colchicine treats gout [1]."
    )
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("choices")
    (folder / "toe.tsv").write_text(ROWS, encoding="utf-8")
    assert run(folder, "graph", "build", "toe", str(folder / "toe.tsv")).exit_code == 0
    return folder


@pytest.fixture
def server(home: Path) -> Iterator[JsonServer]:
    with serving() as running:
        running.answers = replies
        price = f'["{name(running)}"]\ninput = 1\noutput = 2\nas_of = 2026-01-01\n'
        (home / "prices.toml").write_text(price, encoding="utf-8")
        yield running


def name(server: JsonServer) -> str:
    return f"openai/m at {server.url.removeprefix('http://')}"


def run(home: Path, *words: str, typed: str | None = None) -> Result:
    env = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_API_KEY": "k"}
    return CliRunner().invoke(app, list(words), env=env, input=typed)


def told(result: Result) -> Any:
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def model(server: JsonServer) -> tuple[str, ...]:
    return ("--llm", "openai/m", "--base-url", f"{server.url}/v1")


def failed(result: Result) -> str:
    assert isinstance(result.exception, KgmedError), result.output
    return str(result.exception)


def test_the_run_tells_settings_models_prompts_calls_and_cost(server: JsonServer, home: Path) -> None:
    run_ = told(run(home, *ASKED, *model(server), "--set", "ranking=mmr", "--set", "keep=5", "--json"))
    assert run_["preset"] == "safe"
    assert dict(run_["settings"])["ranking"] == "mmr"
    assert dict(run_["settings"])["keep"] == 5
    assert dict(run_["models"])["llm"] == name(server)
    assert dict(run_["models"])["encoder"].startswith("ngram")
    assert [p.split()[0] for p in run_["prompts"]] == PROMPTS
    spent = run_["spent"]
    assert (spent["calls"], spent["cached"], spent["tokens_in"], spent["tokens_out"]) == (5, 0, 500, 50)
    assert spent["cost"] == pytest.approx((500 + 2 * 50) / 1e6)
    assert {s["name"]: s["calls"] for s in run_["stages"]}["read"] == 1
    assert "500 in, 50 out, 0.0006 USD" in run(home, *ASKED, *model(server), "--evidence").stdout


def test_a_recorded_run_is_replayed_with_no_server_and_no_model(server: JsonServer, home: Path, tmp_path: Path) -> None:
    cache = ("--cache", str(tmp_path / "replies.sqlite"))
    first = told(run(home, *ASKED, *model(server), *cache, "--json"))
    calls = len(server.asked)
    again = told(run(home, *ASKED, *model(server), *cache, "--json"))
    assert len(server.asked) == calls == 5
    assert (again["spent"]["cached"], again["spent"]["tokens_in"]) == (5, 0)
    alone = told(run(home, *ASKED, *cache, "--cache-mode", "replay", "--json"))
    assert len(server.asked) == calls
    assert alone["answer"]["text"] == first["answer"]["text"] == "Colchicine treats gout [1]."
    assert dict(alone["models"])["llm"] == name(server)
    refreshed = told(run(home, *ASKED, *model(server), *cache, "--cache-mode", "refresh", "--json"))
    assert refreshed["spent"]["cached"] == 0
    assert len(server.asked) == 2 * calls


def test_a_reply_that_was_never_recorded_is_an_error_that_names_the_prompt(
    server: JsonServer, home: Path, tmp_path: Path
) -> None:
    cache = ("--cache", str(tmp_path / "replies.sqlite"))
    told(run(home, *ASKED, *model(server), *cache, "--json"))
    other = ("ask", "Which drug treats toe pain?", *ASKED[2:], *cache, "--cache-mode", "replay")
    message = failed(run(home, *other))
    assert f"has no reply of {name(server)}" in message
    assert "toe pain" in message
    missing = (*ASKED, "--cache", str(tmp_path / "none.sqlite"), "--cache-mode", "replay")
    assert "none.sqlite" in failed(run(home, *missing))
    assert not (tmp_path / "none.sqlite").exists()


def test_a_cache_without_a_model_and_an_unrecorded_model_are_refused(
    server: JsonServer, home: Path, tmp_path: Path
) -> None:
    cache = ("--cache", str(tmp_path / "replies.sqlite"))
    assert "needs a model to record" in failed(run(home, *ASKED, *cache))
    told(run(home, *ASKED, *model(server), *cache, "--json"))
    replayed = (*cache, "--cache-mode", "replay", "--llm", "smollm2")
    assert "no recorded model in" in failed(run(home, *ASKED, *replayed))


def test_a_budget_and_a_number_of_calls_end_the_run_before_they_are_passed(server: JsonServer, home: Path) -> None:
    assert f"the budget of {name(server)} ends here" in failed(run(home, *ASKED, *model(server), "--budget", "0.0001"))
    assert server.asked == []
    assert "was asked 1 times" in failed(run(home, *ASKED, *model(server), "--max-calls", "1"))
    assert len(server.asked) == 1


def test_a_budget_without_a_price_is_refused(server: JsonServer, home: Path, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("", encoding="utf-8")
    answer = run(home, *ASKED, *model(server), "--budget", "1", "--prices", str(tmp_path / "p.toml"))
    assert "no price of openai/m at 127.0.0.1" in failed(answer)


def test_a_prompt_of_ones_own_is_asked_with_and_its_hash_changes(
    server: JsonServer, home: Path, tmp_path: Path
) -> None:
    own = tmp_path / "kg_rank"
    own.mkdir()
    text = "# user\nMy own way. $fence\n$evidence\n$question\n"
    (own / "reader.en.txt").write_text(text, encoding="utf-8")
    plain = told(run(home, *ASKED, *model(server), "--json"))
    changed = told(run(home, *ASKED, *model(server), "--prompts", str(tmp_path), "--json"))
    assert "My own way." in json.dumps(server.asked[-2])
    assert plain["prompts"][0] == changed["prompts"][0]
    assert plain["prompts"][3] != changed["prompts"][3]


def test_a_configuration_file_stands_for_the_options(server: JsonServer, home: Path, tmp_path: Path) -> None:
    (tmp_path / "kgmed.toml").write_text(
        f'graph = "toe"\nmethod = "kg-rank"\nencoder = "ngrams"\nllm = "openai/m"\nbase_url = "{server.url}/v1"\n'
        '[settings]\nranking = "similarity"\n',
        encoding="utf-8",
    )
    config = ("--config", str(tmp_path / "kgmed.toml"), "--json")
    one = told(run(home, "ask", "Which drug treats gout?", *config))
    assert one["method"] == "kg-rank (similarity)"
    over = told(run(home, "ask", "Which drug treats gout?", *config, "--set", "ranking=random"))
    assert over["method"] == "kg-rank (random)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "rankin=mmr"), "did you mean ranking"),
        (("--set", "ranking=best"), "it must be one of similarity, expansion, mmr, rerank, random"),
        (("--set", "ranking"), "NAME=VALUE"),
        (("--preset", "papper"), "did you mean paper"),
        (("--encoder", "nothing"), "no encoder is called 'nothing'"),
        (("--scorer", "cohere/x"), "where its server is"),
        (("--prompts", "nowhere"), "no folder of prompts"),
        (("--cache-mode", "replay"), "name their file"),
        (("--prices", "nowhere.toml", "--cache", "x", "--cache-mode", "replay"), "x"),
    ],
)
def test_a_choice_that_cannot_be_made_is_one_line(home: Path, words: tuple[str, ...], said: str) -> None:
    message = failed(run(home, *ASKED, *words))
    assert said in message
    assert "\n" not in message


def test_short_answers_are_a_setting(server: JsonServer, home: Path) -> None:
    run_ = told(run(home, *ASKED, *model(server), "--set", "short=true", "--json"))
    assert run_["prompts"][3].startswith("kg_rank/short.en ")


def test_definitions_are_a_setting_on_which_the_paper_is_silent(home: Path) -> None:
    paper, code = (told(run(home, *ASKED, "--preset", p, "--json")) for p in ("paper", "code"))
    assert dict(paper["settings"])["definitions"] is False
    assert dict(code["settings"])["definitions"] is True
    mixed = told(run(home, *ASKED, "--set", "definitions=true", "--json"))
    assert dict(mixed["settings"])["definitions"] is True


def test_a_server_that_is_away_leaves_the_facts_and_the_run_says_so(home: Path) -> None:
    words = ("--llm", "openai/m", "--base-url", "http://127.0.0.1:9/v1", "--json")
    result = run(home, "ask", "symptoms of gout", "-g", "toe", "--encoder", "ngrams", *words)
    run_ = told(result)
    assert run_["answer"]["reader"] == "facts"
    assert run_["failures"]
    assert run_["spent"]["failed"] == 3  # to read the question, to choose the evidence, and to answer
    assert run_["answer"]["text"].startswith("The language model could not answer (")


def test_a_server_that_says_what_cannot_be_used_is_told_of(server: JsonServer, home: Path) -> None:
    server.answers = None
    server.says = [Said({"nonsense": True})]
    run_ = told(run(home, *ASKED, *model(server), "--json"))
    assert run_["failures"]
    assert run_["spent"]["failed"] > 0


def streamed(*words: str) -> Said:
    """What a server sends that streams its words."""
    parts: list[dict[str, Any]] = [{"delta": {"content": word}, "finish_reason": None} for word in words]
    chunks = [[{"index": 0, **part}] for part in [*parts, {"delta": {}, "finish_reason": "stop"}]]
    kind: dict[str, Any] = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    data = [*({**kind, "choices": chunk} for chunk in chunks), {**kind, "choices": [], "usage": usage}]
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in data)
    return Said(body.encode(), 200, {"Content-Type": "text/event-stream"})


def test_the_words_of_the_answer_are_shown_as_they_come_where_that_is_asked_for(home: Path, server: JsonServer) -> None:
    server.answers = None
    as_data = Said(replies({"messages": "JSON"}))
    server.says = [as_data, as_data, as_data, streamed("Colchicine ", "treats \x1b[2Jgout [1]."), as_data]
    found = run(home, *ASKED, *model(server), "--stream")
    assert found.exit_code == 0, found.output
    assert found.stderr == "Colchicine treats ⟨U+001B⟩[2Jgout [1].\n\n"
    assert [asked.get("stream", False) for asked in server.asked] == [False, False, False, True, False]
    assert found.stdout.count("Colchicine treats") == 1


def test_no_words_are_shown_where_no_terminal_looks_or_json_is_wanted(home: Path, server: JsonServer) -> None:
    found = run(home, *ASKED, *model(server))
    assert (found.exit_code, found.stderr) == (0, "")
    assert "take one of them" in failed(run(home, *ASKED, *model(server), "--stream", "--json"))
