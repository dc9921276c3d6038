"""What docs/serve.md and the folder deploy tell people to do is done."""

import json
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import served
from kgmed.cli import app
from kgmed.errors import BadInput
from kgmed.service.guard import LARGEST
from kgmed.service.kept import RECENT
from kgmed.service.uses import LONGEST, MOST, open_judge
from served import HTTP, Running

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
DEPLOY = sorted(path for path in (ROOT / "deploy").iterdir() if path.is_file())
CHART = ROOT / "deploy" / "helm"


def commands(text: str) -> list[list[str]]:
    """The words of every `kgmed` command of a file of deployment, without `kgmed` itself."""
    listed = [json.loads(found) for found in re.findall(r'\["kgmed", .*\]', text)]
    plain = [
        shlex.split(found)
        for found in re.findall(r"(?:/bin/|RUN |&& |run --rm kgmed |-v \S+ kgmed )(kgmed [^&#\n]*)", text)
    ]
    return [words[1:] for words in (*listed, *plain)]


@pytest.mark.parametrize("file", DEPLOY, ids=lambda path: path.name)
def test_every_command_of_a_deployment_is_one_that_the_program_knows(file: Path) -> None:
    found = commands(file.read_text(encoding="utf-8"))
    assert found or file.name == "nginx.conf"
    for words in found:
        result = CliRunner().invoke(app, [*words, "--help"])
        assert result.exit_code == 0, (words, result.output)


@pytest.mark.parametrize("name", ["deployment", "service", "ingress", "disruption"])
def test_the_chart_is_what_a_cluster_takes_and_every_value_is_used_and_explained(name: str) -> None:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    assert not [line for line in text.splitlines() if re.match(r"(image|replicas|[a-z]+):", line) and len(line) < 8]
    templates = {path.stem: path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir()}
    assert set(re.findall(r"\.Values\.(\w+)", "".join(templates.values()))) == set(values)
    plain = re.sub(r"{{ \.Values\.(\w+) }}", lambda m: str(values[m[1]]), templates[name])
    plain = re.sub(r"^{{-? (if [^}]*|end) }}\n", "", plain, flags=re.MULTILINE)
    made = yaml.safe_load(plain.replace("{{ .Release.Name }}", "kgmed"))
    assert "{{" not in str(made)
    assert made["metadata"]["name"] == "kgmed"
    if name == "ingress":
        (rule,) = made["spec"]["rules"]
        assert rule["host"] == values["publicName"]
        assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "kgmed", "port": {"name": "http"}}
    if name == "deployment":
        (container,) = made["spec"]["template"]["spec"]["containers"]
        result = CliRunner().invoke(app, [*container["command"][1:], "--help"])
        assert result.exit_code == 0, result.output
        mounted = {m["name"] for c in (container, *made["spec"]["template"]["spec"]["initContainers"])
                   for m in c["volumeMounts"]}  # fmt: skip
        assert mounted == {v["name"] for v in made["spec"]["template"]["spec"]["volumes"]}


def test_helm_takes_the_chart_with_an_ingress_and_without() -> None:
    chart = pytest.importorskip("helm_python.chart", reason="Helm is not here: pip install helm-python-sdk")
    for values, n in (({}, 3), ({"ingressClass": "nginx"}, 4)):
        assert chart.lint(str(CHART), values, strict=True)["errors"] == []
        made = chart.Chart.load(str(CHART)).render(values, name="kgmed").items()
        assert len([yaml.safe_load(text)["kind"] for path, text in made if text.strip() and "NOTES" not in path]) == n


def test_the_python_of_the_page_runs_against_a_service(service: Running) -> None:
    pieces = re.findall(r"^```py\n(.*?)^```$", PAGE, re.M | re.S)
    assert len(pieces) == 3
    for piece in (piece for piece in pieces if "reward" not in piece):
        code = piece.replace("http://127.0.0.1:8765", service.url)
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "rachnodactyly" in done.stdout


def test_the_python_that_asks_for_rewards_runs_against_a_service_that_gives_them(tmp_path: Path) -> None:
    (piece,) = re.findall(r"^```py\n([^`]*service\.reward.*?)^```$", PAGE, re.M | re.S)
    cases = [{"disease": "measles", "positive": ["fever", "rash"]}, {"disease": "flu", "positive": ["cough"]}] * 3
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    judge = open_judge(str(tmp_path / "cases.jsonl"), None, "best")
    with served.running(replace(served.cases_of(keep=False), judge=judge)) as service:
        code = piece.replace("http://127.0.0.1:8765", service.url)
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert float(done.stdout.strip().strip("[]")) > 0, done.stderr


def test_the_requests_of_the_page_are_the_doors_that_there_are(service: Running) -> None:
    paths = HTTP.get(f"{service.url}/openapi.json").json()["paths"]
    told = {re.sub(r"\?.*", "", path) for path in re.findall(r"`(?:GET|POST) (/v1/[^`\s]+)`", PAGE)}
    plain = {re.sub(r":path\}", "}", path) for path in paths}
    assert {path.replace("{id:path}", "{id}") for path in told} <= plain
    rest = plain - told - {"/v1/models", "/v1/models/{model}", "/v1/chat/completions"}
    assert not rest, "a door that docs/serve.md does not name"


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert f"questions {LONGEST:,} characters, lists {MOST} rows" in PAGE
    assert (LARGEST, "bodies are at most 1 MiB" in PAGE) == (1 << 20, True)
    assert f"only the newest {RECENT}" in PAGE


def test_a_port_that_is_taken_is_told_in_one_line(service: Running) -> None:
    done = CliRunner().invoke(app, ["serve", "--graph", "hpo", "--port", str(service.port)])
    assert isinstance(done.exception, BadInput)
    assert "choose another by --port" in str(done.exception)


def test_the_command_serves_until_it_is_ended(home: Path) -> None:
    code = "from kgmed.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--port", "0", "--encoder", "ngrams", "--graph", "hpo"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        lines = [service.stderr.readline() for _ in range(2)] if service.stderr else []
        service.terminate()
        assert service.wait(30) == -signal.SIGTERM
    assert "serving at http://127.0.0.1" in lines[0]
    assert '"event": "ready"' in lines[1]
