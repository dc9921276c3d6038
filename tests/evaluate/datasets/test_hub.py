"""Questions of the model hub: every layout that is known, and one fetched from a hub on the loopback interface."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgmed.errors import BadInput, Unavailable
from kgmed.evaluate.datasets import dataset, own
from loopback import Quiet, running

TWO = (("A", "gout"), ("B", "flu"))
ROWS: list[tuple[dict[str, Any], tuple[tuple[str, str], ...], tuple[str, ...]]] = [
    ({"question": "?", "options": {"A": "gout", "B": "flu"}, "answer": "flu", "answer_idx": "B"}, TWO, ("B",)),
    ({"question": "?", "options": ["gout", "flu"], "answer": "flu"}, TWO, ("B",)),
    ({"question": "?", "options": ["gout", "flu"], "answer": ["A", "B"]}, TWO, ("A", "B")),
    ({"question": "?", "options": [{"key": "A", "value": "gout"}, {"key": "B", "value": "flu"}], "answer": "BA"}, TWO,
     ("A", "B")),
    ({"question": "?", "choices": {"label": ["A", "B"], "text": ["gout", "flu"]}, "answerKey": "A"}, TWO, ("A",)),
    ({"question": "?", "choices": ["A. gout", "B. flu"], "answer": 1}, TWO, ("B",)),
    ({"question": "?", "opa": "gout", "opb": "flu", "opc": "", "cop": 0}, TWO, ("A",)),
    ({"Question": "?", "A": "gout", "B": "flu", "Answer": "B"}, TWO, ("B",)),
    ({"question": "?", "opa": "gout", "opb": "flu", "cop": -1}, TWO, ()),
    ({"question": "?", "option_a": "gout", "option_b": "flu", "subject": "x", "answer": "B"}, TWO, ("B",)),
    ({"question": "?", "choice0": "gout", "choice1": "flu", "answer_index": 1, "answer": "flu"}, TWO, ("B",)),
    ({"Q": "-", "question": "?", "option 1": "gout", "option 2": "flu", "correct": "A"}, TWO, ("A",)),
    ({"问题": "?", "选项A": "gout", "选项B": "flu", "答案": "A"}, TWO, ("A",)),
]  # fmt: skip


@pytest.mark.parametrize(("row", "choices", "right"), ROWS)
def test_a_question_with_options_is_read_in_every_layout(
    row: dict[str, Any], choices: tuple[tuple[str, str], ...], right: tuple[str, ...]
) -> None:
    found = own.item("hub/o/n", "test", 3, row)
    assert (found.question.text, found.question.options, found.gold.choices) == ("?", choices, right)
    assert (found.question.id, found.part) == ("test:3", "test")


@pytest.mark.parametrize(
    ("row", "texts"),
    [
        ({"question": "Why? ", "answer": "So."}, ("So.",)),
        ({"query": "Why?", "answers": ["So.", " "], "language": "en"}, ("So.",)),
        ({"prompt": "Why?", "long_answer": "So."}, ("So.",)),
        ({"question": "Why?"}, ()),
    ],
)
def test_a_question_without_options_has_reference_texts(row: dict[str, Any], texts: tuple[str, ...]) -> None:
    found = own.item("hub/o/n", "train", 0, row)
    assert (found.question.text, found.question.options, found.gold.texts) == ("Why?", (), texts)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"text": "a", "label": 1}, "no question among the columns text, label"),
        ({"question": " "}, "no question among"),
        ({"question": 5}, "no question among"),
        ({"question": "?", "options": "gout; flu"}, "in no form that is known"),
        ({"question": "?", "options": [1, 2]}, "in no form that is known"),
        ({"question": "?", "options": {"first": "gout"}}, "in no form that is known"),
        ({"question": "?", "choices": {"label": ["A"], "text": None}}, "in no form that is known"),
        ({"question": "?", "options": ["x"] * 13}, "in no form that is known"),
        ({"question": "?", "options": ["gout", "flu"], "answer": "cold"}, "its answer 'cold' is none"),
        ({"question": "?", "options": ["gout", "flu"], "answer": 2}, "its answer '2' is none"),
        ({"question": "?", "options": ["gout", "flu"], "answer": True}, "its answer 'True' is none"),
        ({"question": "?", "answer": 5.5}, "reference answer is no text"),
        ({"question": "?", "answer": 5}, "its answer is 5, and none of the columns question, answer holds an option"),
        (
            {"question": "?", "first": "gout", "answer": "A"},
            "its answer is 'A', and none of the columns question, first",
        ),
    ],
)
def test_a_row_that_is_not_understood_is_named_with_its_mend(row: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=f"^hub/o/n, row 7 of dev: .*{says}.*; write its questions as JSON Lines"):
        own.item("hub/o/n", "dev", 7, row)


@pytest.mark.parametrize(
    ("split", "part"), [("validation", "dev"), ("test_hard", "test"), ("train-2", "train"), ("x", "x")]
)
def test_a_split_is_a_part_by_how_its_name_begins(split: str, part: str) -> None:
    found = own.item("hub/o/n", split, 0, {"question": "?"})
    assert (found.part, found.question.id) == (part, f"{split}:0")


def test_a_folder_that_would_be_read_in_its_place_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "o/folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="the folder o/folder lies here"):
        dataset("hub/o/folder")


@pytest.mark.parametrize(
    "name", ["hub/", "hub/a", "hub/a/", "hub//b", "hub/a/b/c", "hub/../x/y", "hub/../x", "hub/~/x"]
)
def test_a_name_of_another_form_is_refused_before_anything_is_fetched(name: str) -> None:
    with pytest.raises(BadInput, match="is not of the form hub/OWNER/NAME"):
        dataset(name)


COMMIT = "0123456789" * 4


@pytest.fixture
def served() -> Iterator[tuple[str, dict[str, bytes]]]:
    """The address of a hub that has the data set o/n, and its files, which a test may change."""
    files: dict[str, bytes] = {"README.md": b"---\nlicense: mit\n---\n"}

    class Hub(Quiet):
        def do_GET(self) -> None:  # noqa: N802
            path = self.path.split("?")[0]
            about = [{"type": "file", "oid": _sum(b), "size": len(b), "path": f} for f, b in files.items()]
            if path.startswith("/datasets/o/n/resolve/") and (name := path.split("/", 6)[6]) in files:
                self.say(files[name], ETag=f'"{_sum(files[name])}"')
            elif path.startswith("/api/datasets/o/n/tree/"):
                self.say(about if path.endswith(COMMIT) else [])
            elif path.startswith("/api/datasets/o/n"):
                self.say({"id": "o/n", "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]})
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()

        do_HEAD = do_GET  # noqa: N815 - the name that the server looks for

        def say(self, body: object, **headers: str) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(200)
            length = {"Content-Length": str(len(data)), "X-Repo-Commit": COMMIT}
            for name, value in (length | headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

    with running(Hub) as url:
        yield url, files


def _sum(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def test_a_set_of_the_hub_is_fetched_asked_and_refused_when_it_has_changed(
    served: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    pytest.importorskip("datasets")
    address, files = served
    rows = [
        {
            "question": f"Which drug treats gout in {n}?",
            "options": {"A": "oseltamivir", "B": "colchicine"},
            "answer": "B",
        }
        for n in range(2)
    ]
    files["test.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "g.tsv").write_text("colchicine\ttreats\tgout\noseltamivir\ttreats\tflu\n", "utf-8")
    home = {"KGMED_HOME": str(tmp_path), "HF_ENDPOINT": address, "HF_HUB_DISABLE_TELEMETRY": "1"}

    def kgmed(*words: str, cache: str = "first") -> "subprocess.CompletedProcess[str]":
        run = "from kgmed.cli import main; main()"
        environment = {**os.environ, **home, "HF_HOME": str(tmp_path / cache), "no_proxy": "127.0.0.1"}
        return subprocess.run(
            [sys.executable, "-c", run, *words], capture_output=True, text=True, env=environment, check=False
        )

    assert kgmed("graph", "build", "g", str(tmp_path / "g.tsv")).returncode == 0
    asked = ("eval", "run", str(tmp_path / "out"), "--set", "hub/o/n", "--graph", "g", "--method", "facts")
    told = kgmed(*asked, "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["in the log"] == 2
    scored = json.loads(kgmed("eval", "score", str(tmp_path / "out"), "--metric", "accuracy", "--json").stdout)
    assert scored["scores"][0]["mean"]["mean"] == 1
    missing = kgmed(*asked[:2], str(tmp_path / "other"), *asked[3:], "--part", "dev")
    assert missing.returncode == 2
    assert "hub/o/n has no part 'dev'; it has test" in missing.stderr
    files["test.jsonl"] = files["test.jsonl"].replace(b"treats gout", b"eases gout")
    refused = kgmed(*asked, cache="second")
    assert refused.returncode == 2, refused.stderr
    assert "was begun with another dataset" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_without_the_library_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(Unavailable, match=r'pip install "kgmed\[hub\]"'):
        dataset("hub/o/without")
