"""The trained tagger as a recogniser."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.linking.by_model import Tagger, open_tagger
from kgmed.models.w2ner import FoundEntity
from kgmed.records import Query, Question


class Spots:
    """A labeller that knows a few words, and notes what it was asked."""

    def __init__(self, **kinds: str) -> None:
        self.kinds = kinds
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[FoundEntity]]:
        self.asked.extend(texts)
        return [
            [
                FoundEntity(kind, ((t.index(word), t.index(word) + len(word)),))
                for word, kind in self.kinds.items()
                if word in t
            ]
            for t in texts
        ]


def test_question_and_hypothesis_are_tagged_whole_and_line_by_line() -> None:
    question, guess = "甲" * 3000 + "胃痛", "可能是胃炎。\n" + "乙" * 2000 + "胃痛"
    spots = Spots(胃痛="sym", 胃炎="dis")
    query = Query(Question(question), guess)
    found = Tagger(spots)(query)
    assert "".join(spots.asked) == query.expanded
    assert all("\n" not in line[:-1] for line in spots.asked)
    assert [(m.surface, m.start) for m in found] == [("胃痛", 3000), ("胃炎", 3006), ("胃痛", 5010)]
    assert all(query.expanded[m.start : m.end] == m.surface for m in found)


def test_nested_mentions_are_all_there_in_the_order_of_the_text() -> None:
    found = Tagger(Spots(细胞减少="sym", 细胞="bod"))(Query(Question("有细胞减少")))
    assert [m.name for m in found] == ["细胞", "细胞减少"]


def test_a_discontinuous_entity_is_looked_up_without_what_stands_in_it() -> None:
    text = "hand or finger pain"
    found = Tagger(lambda texts: [[FoundEntity("sym", ((0, 4), (15, 19)))]])(Query(Question(text)))
    assert [(m.name, m.surface) for m in found] == [("hand pain", text)]


def test_what_is_denied_is_marked() -> None:
    found = Tagger(Spots(fever="sym", cough="sym"))(Query(Question("I have a cough but no fever.")))
    assert {m.name: m.negated for m in found} == {"cough": False, "fever": True}


def test_types_that_are_not_wanted_are_left_out() -> None:
    found = Tagger(Spots(科="dep", 胃痛="sym"), without=frozenset({"dep"}))(Query(Question("胃痛挂什么科")))
    assert [m.name for m in found] == ["胃痛"]


def test_a_folder_without_a_tagger_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(SourceError, match=r"tagger\.json: is not there; name a folder that kgmed train ner"):
        open_tagger(tmp_path)


def test_the_module_is_imported_without_torch() -> None:
    code = "import sys, kgmed.linking.by_model; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
