"""Every question is answered or declined on whatever graph: roles either way round, edges and texts, any kinds."""

import random
from pathlib import Path

import pytest

from kgmed.config import Config
from kgmed.graph import library
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Source, TextRow
from kgmed.records import Relation, Role
from kgmed.session import open_session

THINGS = ("gout", "flu", "rash", "colchicine", "aspirin", "痛风", "秋水仙碱", "皮疹", "biopsy", "GENE1")
KINDS = ("disease", "symptom", "drug", "ingredient", "gene", "test", "department", "")
FORMS = (
    "Can {0} treat {1}?", "Does {0} cause {1}?", "is {0} safe in {1}", "can i take {0} with {1}", "{0} vs {1}",
    "what is {0}", "{0} side effects", "why does {0} give me {1}", "I have {0} and {1}, what could it be?",
    "which test for {0}", "is {0} hereditary", "is {0} contagious", "What treats {0}?", "dose of {0}",
    "what causes {0}", "can i take {0} in pregnancy", "first choice for {0}", "how is {0} prevented",
    "complications of {0}",
    "{0}吃什么药？", "{0}会引起{1}吗？", "{0}怎么办？", "{0}能吃{1}吗", "{0}和{1}有什么区别", "{0}为什么会{1}",
    "得了{0}又有{1}是什么病", "{0}患者能用{1}吗", "{0}的禁忌", "{0}挂什么科", "{0}会传染吗", "{0}要做什么检查",
    "既然{0}能治{1}，那{1}会好吗", "孕妇能用{0}吗", "{0}首选什么药", "{0}和{1}能一起吃吗",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))


def _source(chance: random.Random) -> Source:
    """A graph of the things with edges and texts of relations of all roles, some of them read backwards."""
    roles = list(Role)
    relations = {
        f"{role.value} {turned:d}": Relation(f"{role.value} {turned:d}", role, reverse=turned)
        for role in roles
        for turned in (False, True)
    }
    rows: list[Row] = [NodeRow(t, t, chance.choice(KINDS), "", (Alias(t.upper()),)) for t in THINGS]
    for name in relations:
        for _ in range(2):
            head, tail = chance.sample(THINGS, 2)
            rows.append(EdgeRow(head, name, tail))
        head, told = chance.sample(THINGS, 2)
        rows.append(TextRow(head, name, f"{told} and others, not in {chance.choice(THINGS)}"))
    return Source("any", lambda: rows, language=chance.choice(("en", "zh")), relations=relations)


@pytest.mark.parametrize("seed", range(12))
def test_a_question_of_any_form_about_any_two_things_ends_in_an_answer_or_in_none(seed: int) -> None:
    chance = random.Random(seed)
    library.build_source("any", _source(chance))
    with open_session(Config(graph="any", method="facts")) as session:
        for form in FORMS:
            said = session.ask(form.format(*chance.sample(THINGS, 2))).answer
            assert said.text
            assert said.abstained or said.citations
