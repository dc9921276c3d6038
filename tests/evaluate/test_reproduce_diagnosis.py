"""RLKGF's tables with models: made end to end on a few patients, with a server that says what a test tells it to."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from json_server import JsonServer, serving
from kgmed.cli import app
from kgmed.errors import BadInput, UnknownName
from kgmed.evaluate.log import entries
from kgmed.evaluate.reproduce import table, with_trained
from tiny_causal import bytes_in, saved_in

SHOWN = {"肺炎": ("咳嗽", "发热"), "腹泻": ("稀便", "腹痛")}


def goal(disease: str, *symptoms: str) -> dict[str, Any]:
    slots = {"explicit_inform_slots": dict.fromkeys(symptoms, True), "implicit_inform_slots": {"皮疹": False}}
    return {"disease_tag": disease, "goal": slots, "consult_id": disease + symptoms[0]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with MZ's file: ten patients to train on, three to test."""
    test = [goal("肺炎", "咳嗽"), goal("腹泻", "稀便"), goal("肺炎", "发热", "稀便")]
    return patients_in(tmp_path_factory.mktemp("rlkgf"), test)


def patients_in(folder: Path, test: list[dict[str, Any]]) -> Path:
    """The folder, with MZ's file of ten patients to train on and those to test."""
    train = [goal(d, *symptoms) for d, symptoms in SHOWN.items() for _ in range(5)]
    (folder / "mz").mkdir(parents=True)
    (folder / "mz" / "acl2018-mds.p").write_bytes(pickle.dumps({"train": train, "test": test}, protocol=2))
    return folder


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with serving() as found:
        found.answers = said
        yield found


def said(asked: dict[str, Any]) -> dict[str, Any]:
    """The trained model is always right, the base names pneumonia or, where it sees triples, another disease."""
    text = asked["messages"][-1]["content"]
    right = "腹泻" if "症状：稀便" in text else "肺炎"
    reply = {"base": "诊断：支原体肺炎" if "<" in text else "诊断：肺炎", "taught": right}[asked["model"]]
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    message = {"role": "assistant", "content": reply}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def kgmed(home: Path, server: JsonServer, *words: object) -> Result:
    known = {"KGMED_HOME": str(home), "KGMED_DATA": str(home), "COLUMNS": "200", "KGMED_API_KEY": "k"}
    named = ["--llm", "openai/base", "--base-url", server.url]
    return CliRunner().invoke(app, ["reproduce", *map(str, words), *named], env=known)


def accuracies(told: dict[str, Any], metric: str = "accuracy") -> dict[tuple[str, str], float]:
    return {(r["row"], r["model"]): round(r["ours"]["mean"], 4) for r in told["figures"] if r["metric"] == metric}


def test_table_2_has_scorers_the_base_and_what_one_has_trained(home: Path, tmp_path: Path, server: JsonServer) -> None:
    pytest.importorskip("torch", reason="the scorer of the paper needs torch")
    shown = kgmed(home, server, "rlkgf/table2", "--out", tmp_path, "--json", "--trained", "RLKGF=openai/taught")
    assert shown.exit_code in (0, 3), shown.output
    told = json.loads(shown.stdout)
    of = accuracies(told)
    assert of["the walk alone (R_p)", "none"] == 1.0
    assert of["Base", "openai/base"] == pytest.approx(0.6667)
    assert of["RLKGF", "openai/taught"] == 1.0
    assert {row for row, _ in of} == {*table("rlkgf/table2").scorers, "Base", "RLKGF"}
    (trained,) = [r for r in told["figures"] if r["row"] == "RLKGF" and r["metric"] == "accuracy"]
    assert ["Qwen2.5-3B", 0.6268] in trained["theirs"]
    assert any("--trained" in why and "RLAIF" in why for why in told["differed"])
    texts = {asked["messages"][-1]["content"] for asked in server.asked}
    assert "疾病：肺炎；腹泻。\n症状：咳嗽。无皮疹。\n诊断：" in texts


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_table_2_is_made_from_data_to_row_by_one_command(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    pytest.importorskip("peft", reason="an adapter needs peft")
    model = bytes_in(tmp_path / "base", context=1024)
    known = {"KGMED_HOME": str(home), "KGMED_DATA": str(home), "COLUMNS": "200"}
    words = ["reproduce", "rlkgf/table2", "--data", home, "--out", tmp_path / "out", "--llm", f"hf/{model}", "--json",
             "--train", f"{model} --full --steps 2", "--probe", 1]  # fmt: skip
    done = CliRunner().invoke(app, [str(word) for word in words], env=known)
    assert done.exit_code == 3, done.output
    told = json.loads(done.stdout)
    folder = tmp_path / "out" / "trained" / "rlkgf" / "mz-questions"
    asked = {label: model for label, model in accuracies(told) if label == "RLKGF"}
    assert asked == {"RLKGF": f"hf/{folder / 'model'}"}
    assert (folder / "model" / "kgmed-task.json").is_file()


def test_without_a_model_the_scorers_are_told_alone(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the scorer of the paper needs torch")
    known = {"KGMED_HOME": str(home), "KGMED_DATA": str(home), "COLUMNS": "200"}
    shown = CliRunner().invoke(app, ["reproduce", "rlkgf/table4", "--out", str(tmp_path), "--json"], env=known)
    told = json.loads(shown.stdout)
    assert {row for row, _ in accuracies(told)} == {*table("rlkgf/table4").scorers}
    assert any("No model was named" in line for line in told["differed"])


def test_a_figure_of_scorers_alone_is_told_of_their_numbers(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the scorer of the paper needs torch")
    known = {"KGMED_HOME": str(home), "KGMED_DATA": str(home), "COLUMNS": "200"}
    told = {}
    for name in ("rlkgf/figure5", "rlkgf/figure8"):
        shown = CliRunner().invoke(app, ["reproduce", name, "--out", str(tmp_path / name), "--json"], env=known)
        assert shown.exit_code in (0, 3), shown.output
        told[name] = json.loads(shown.stdout)
    assert set(accuracies(told["rlkgf/figure5"])) == {(label, "none") for label in table("rlkgf/figure5").scorers}
    (stated,) = {r["ours"]["n"] for r in told["rlkgf/figure5"]["figures"] if r["metric"] == "accuracy-explicit"}
    assert stated == 3
    leads = accuracies(told["rlkgf/figure8"], "lead")
    assert 0 < leads["R (the paper's temperature, 1)", "none"] < leads["R, temperature .1 (ours)", "none"] < 1


def test_a_disease_outside_the_list_counts_as_wrong_and_is_counted(
    home: Path, tmp_path: Path, server: JsonServer
) -> None:
    shown = kgmed(home, server, "rlkgf/table6", "--out", tmp_path, "--json")
    assert shown.exit_code in (0, 3), shown.output
    told = json.loads(shown.stdout)
    assert accuracies(told)["KG prompt", "openai/base"] == 0.0
    assert accuracies(told, "outside")["KG prompt", "openai/base"] == 1.0
    figures = {r["row"]: r for r in told["figures"] if r["metric"] == "accuracy"}
    assert set(figures) == {*table("rlkgf/table6").rows}
    assert {(figure["ours"]["n"], figure["failed"]) for figure in figures.values()} == {(3, 0)}
    runs = [e.run for e in entries(tmp_path / "mz-questions").values() if e.job.method == "rlkgf-prompt"]
    assert len(runs) == 3
    assert all(run and run.graph.startswith("mz-cases ") for run in runs)
    assert all(run and run.context.cited for run in runs)


def test_a_dry_run_asks_nobody_and_says_what_it_takes(home: Path, tmp_path: Path, server: JsonServer) -> None:
    shown = kgmed(home, server, "rlkgf/table6", "--out", tmp_path / "out", "--dry-run", "--json")
    told = json.loads(shown.stdout)
    estimates = {one["estimate"]["method"]: one["estimate"] for one in told["methods"]}
    assert set(estimates) == {*table("rlkgf/table6").rows.values()}
    assert {one["questions"] for one in estimates.values()} == {3}
    assert estimates["rlkgf-prompt"]["most"] == 6
    assert min(one["tokens_most"] for one in estimates.values()) > 0
    assert server.asked == []
    assert not (tmp_path / "out").exists()


def test_a_row_that_no_model_can_be_trained_for_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean RLKGF"):
        with_trained(table("rlkgf/table2"), {"RLKFG": "hf/x"})
    with pytest.raises(BadInput, match="leave --trained out"):
        with_trained(table("kg-rank/table2"), {"RLKGF": "hf/x"})


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_an_adapter_that_one_has_trained_is_asked_as_it_was_trained(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="a model in a folder needs torch")
    transformers: Any = pytest.importorskip("transformers", reason="a model in a folder needs transformers")
    peft: Any = pytest.importorskip("peft", reason="an adapter needs peft")
    base = saved_in(tmp_path / "base", template="{% for m in messages %}{{ m['content'] }}{% endfor %}")
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    wanted = peft.LoraConfig(target_modules=["q_proj"], task_type="CAUSAL_LM", r=2)
    peft.get_peft_model(model, wanted).save_pretrained(tmp_path / "taught")
    known = {"KGMED_HOME": str(home), "KGMED_DATA": str(home), "COLUMNS": "200"}
    counted = CliRunner().invoke(app, ["reward", "graph", "MZ", "--data", str(home)], env=known)
    assert counted.exit_code == 0, counted.output
    words = ["eval", "run", tmp_path / "out", "--set", "mz-questions", "--graph", "mz-cases", "--data", home,
             "--llm", f"hf/{tmp_path / 'taught'}", "-m", "rlkgf-prompt[form=trained,answer_tokens=3]"]  # fmt: skip
    shown = CliRunner().invoke(app, [str(word) for word in words], env=known)
    assert shown.exit_code in (0, 3), shown.output
    found = entries(tmp_path / "out").values()
    assert len(found) == 3
    assert all(e.run is not None or e.error.startswith("Malformed") for e in found), [e.error for e in found]
    assert any(e.run and "rlkgf/trained" in "".join(e.run.prompts) for e in found)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    ("policy", "chat"),
    [("choice", False), ("choice", True), ("free", False), pytest.param("figure6", True, marks=pytest.mark.slow)],
)
def test_what_was_trained_is_worth_the_same_when_it_is_asked(tmp_path: Path, policy: str, *, chat: bool) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    pytest.importorskip("trl", reason="training on labels needs trl")
    pytest.importorskip("peft", reason="an adapter needs peft")
    seen = [goal(disease, *symptoms) for disease, symptoms in SHOWN.items()]  # as trained: so tiny a model has no more
    home = patients_in(tmp_path / "home", [*seen, goal("腹泻", "咳嗽", "发热")])
    base = bytes_in(tmp_path / "base", template="{% for m in messages %}{{ m['content'] }}{% endfor %}>", context=1024)
    kind = ["--policy", "free", "--prompt", policy] if policy == "figure6" else ["--policy", policy]
    words = ["train", "sft", "MZ", "--data", home, "--model", base, "--out", tmp_path / "run", "--steps", "120",
             "--rate", "0.02", "--full", "--longest", "24", "--json", *kind, *["--chat"] * chat]  # fmt: skip
    known = {"KGMED_HOME": str(home), "KGMED_DATA": str(home), "COLUMNS": "200"}
    made = CliRunner().invoke(app, [str(word) for word in words], env=known)
    assert made.exit_code == 0, made.output
    trained = json.loads(made.stdout[made.stdout.index("{") :])["test"]
    counted = CliRunner().invoke(app, ["reward", "graph", "MZ", "--data", str(home)], env=known)
    assert counted.exit_code == 0, counted.output
    asked = ["eval", "run", tmp_path / "out", "--set", "mz-questions", "--graph", "mz-cases", "--data", home,
             "--llm", f"hf/{tmp_path / 'run' / 'model'}", "-m", "rlkgf-prompt"]  # fmt: skip
    shown = CliRunner().invoke(app, [str(word) for word in asked], env=known)
    found = entries(tmp_path / "out")
    assert shown.exit_code == 0, [e.error for e in found.values()]
    assert len(found) == trained["cases"] == 3
    scored = CliRunner().invoke(
        app, ["eval", "score", str(tmp_path / "out"), "--metric", "accuracy", "--json"], env=known
    )
    assert json.loads(scored.stdout)["scores"][0]["mean"]["mean"] == pytest.approx(trained["accuracy"])
    if policy == "choice":  # to write it takes more steps than to choose
        assert trained["accuracy"] == pytest.approx(2 / 3)  # what was trained is known, and its opposite is not
