"""Names that a graph lacks are never linked to those that look like them: drugs, opposites, other domains' words."""

from collections import Counter
from pathlib import Path

import pytest

from kgmed.evaluate.generated import gate, other_domains, told, trapped, traps, without_look_alikes
from kgmed.graph.base import LocalGraph, NodeRow
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Entity, Link, Mention, Question
from kgmed.toolkit import Toolkit
from named_graph import small

DRUGS = (
    NodeRow("1", "氯喹", "drug"),
    NodeRow("2", "羟基氯喹", "drug"),
    NodeRow("3", "氯化钠注射液", "drug"),
    NodeRow("4", "羟乙基淀粉（200/0.5）氯化钠注射液", "drug"),
    NodeRow("5", "羟乙基淀粉", "ingredient"),
    NodeRow("6", "高血压", "disease"),
    NodeRow("7", "关系", "symptom"),
    NodeRow("8", "头孢哌酮", "drug"),
    NodeRow("9", "舒巴坦", "drug"),
    NodeRow("10", "codeine", "drug"),
    NodeRow("11", "insulin", "drug"),
    NodeRow("12", "Thrombocytosis", "phenotype"),
    NodeRow("13", "LCAT deficiency", "disease"),
    NodeRow("14", "NHS", "gene"),
    NodeRow("15", "Boil", "phenotype"),
    NodeRow("16", "Gout", "disease"),
    NodeRow("18", "固体", "cause"),
    NodeRow("19", "LSFF2", "gene"),
    NodeRow("17", "Upper respiratory infection", "disease"),
)


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    return Toolkit(small(tmp_path_factory.mktemp("drugs"), DRUGS, "drugs", "zh"), encoder=NgramEncoder())


def linked(toolkit: Toolkit, text: str) -> list[str]:
    return [link.entity.name for link in toolkit.understood(Question(text))[1]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("左旋氯喹有什么副作用？", []),
        ("氯喹那多有什么作用？", []),
        ("氟氯喹怎么用", []),
        ("氯喹（Ⅱ）怎么用", []),
        ("服用氯喹可以喝酒吗？", ["氯喹"]),
        ("氯喹片怎么吃", ["氯喹"]),
        ("磷酸氯喹和高血压", ["氯喹", "高血压"]),
        ("羟乙基淀粉（200/0.5）氯化钠注射液怎么用？", ["羟乙基淀粉（200/0.5）氯化钠注射液"]),
        ("羟乙基淀粉(200/0.5)氯化钠注射液怎么用？", ["羟乙基淀粉（200/0.5）氯化钠注射液"]),
        ("头孢哌酮舒巴坦的用量", []),
        ("头孢哌酮、舒巴坦的用量", ["头孢哌酮", "舒巴坦"]),
        ("假性高血压怎么办", []),
        ("抗高血压", []),
        ("氯喹二磷酸可以吃吗", []),
        ("复合氯喹怎么用", []),
        ("氯喹补肾胶囊怎么吃", []),
        ("氯喹流浸膏怎么用", ["氯喹"]),
        ("吃氯喹乳膏好吗", ["氯喹"]),
        ("并非高血压", ["高血压"]),
        ("两者有什么关系？", []),
        ("什么是“关系”？", ["关系"]),
        ("insulin glargine dose", []),
        ("insulin sodium dose", ["insulin"]),
        ("pro-insulin", []),
        ("固体氯喹怎么用", []),
        ("氯喹龙有什么作用？", []),
        ("消食氯喹片怎么吃", []),
        ("消炎药氯喹怎么吃", ["氯喹"]),
        ("variants of LSFF1", []),
        ("He is thrombocytopenic", []),
        ("VLCAD deficiency", []),
        ("pseudo-gout", []),
        ("gout-like pain", []),
        ("Lower respiratory infection", []),
        ("How many NHS nurses are on strike?", []),
        ("Which variants of the gene NHS are known?", ["NHS"]),
        ("How long do I boil an egg?", []),
        ("I have a boil on my neck.", ["Boil"]),
        ("What is a boil?", ["Boil"]),
    ],
)
def test_a_name_is_linked_where_it_stands_whole_and_is_meant(toolkit: Toolkit, text: str, found: list[str]) -> None:
    assert linked(toolkit, text) == found


def test_a_preparation_for_somebody_or_with_a_misspelt_form_is_the_same_drug(tmp_path: Path) -> None:
    names = [
        "联苯苄唑",
        "联苯苄唑乳膏",
        "联苯苄唑乳斉",
        "对乙酰氨基酚",
        "小儿对乙酰氨基酚灌肠液",
        "氯化钾",
        "固体氯化钾",
    ]
    rows = tuple(NodeRow(str(i), n, "drug") for i, n in enumerate(names))
    graph = small(tmp_path / "full", rows, "forms", "zh")
    cases = without_look_alikes(graph, tmp_path / "reduced")[1]
    right = {c.text[c.start : c.end]: c.right for c in cases}
    assert right["联苯苄唑乳斉"] == {"0"}
    assert right["小儿对乙酰氨基酚灌肠液"] == {"3"}
    assert right["固体氯化钾"] == frozenset()


def test_a_name_one_letter_from_the_opposite_that_is_made_is_right(tmp_path: Path) -> None:
    names = ("Hypoxemia", "Hyperoxemia", "Hyperxenia syndrome", "Short fibulae", "Long fibula")
    rows = tuple(NodeRow(str(i), n, "phenotype") for i, n in enumerate(names))
    made = traps(small(tmp_path, rows, "letters"), each=5)
    right = {c.text[c.start : c.end]: c.right for c in made if c.rule == "opposite"}
    assert right["Hyperxemia"] == {"1"}
    assert right["Long fibulae"] == {"4"}


def test_traps_hold_no_name_of_the_graph_and_come_the_same_each_time(toolkit: Toolkit) -> None:
    made = traps(toolkit.graph, each=5)
    assert made == traps(toolkit.graph, each=5)
    assert {"prefix", "suffix", "bracket", "thing", "opposite"} <= {c.rule for c in made}
    assert not any(toolkit.graph.lookup(c.text[c.start : c.end]) for c in made if c.rule != "opposite")


def test_a_linker_that_takes_the_drug_inside_is_caught(toolkit: Toolkit) -> None:
    cases = traps(toolkit.graph, each=5)
    chloroquine = Entity("1", "氯喹", "drug")

    def careless(text: str) -> tuple[list[Mention], list[Link]]:
        at = text.find("氯喹")
        mentions = [Mention("氯喹", "氯喹", at, at + 2)] if at >= 0 else []
        return mentions, [Link(m, chloroquine, 1.0, "exact") for m in mentions]

    wrong = trapped(careless, cases)
    assert wrong
    assert sum(row[2] for row in told(cases, wrong)) > 0


def test_there_are_sixty_questions_of_other_domains_in_two_languages() -> None:
    texts = [c.text for c in other_domains()]
    assert len(texts) == len(set(texts)) >= 60
    assert 20 <= sum(not t.isascii() for t in texts) <= len(texts) - 20


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [(g, s) for g in ("hpo", "cmekg") for s in range(5)])
def test_the_gate_holds_on_the_packaged_graphs(name: str, seed: int, request: pytest.FixtureRequest) -> None:
    """Some hundred of its cases; all of them: kgmed eval linking --set adversarial --graph NAME --seeds 5."""
    graph: LocalGraph = request.getfixturevalue(name)
    cases, wrong = gate(Toolkit(graph, encoder=NgramEncoder()), each=12, seed=seed)
    counted = Counter(t.wrong for t in wrong)
    assert len(cases) >= 200
    assert counted["other drug"] == 0
    assert counted["opposite"] == 0
    assert counted["other entity"] <= 0.01 * len(cases)
    assert not [t for t in wrong if t.case.rule == "domain"]


@pytest.mark.parametrize("name", ["hpo", "cmekg"])
def test_the_gate_has_at_least_five_hundred_cases(name: str, request: pytest.FixtureRequest) -> None:
    assert len(traps(request.getfixturevalue(name))) + len(other_domains()) >= 500
