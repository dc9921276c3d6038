"""What labels warn of in many words (alcohol, kidneys, allergies), and classes named by a part of names."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from kgmed.language.pair import pairs_asked
from kgmed.records import Evidence, Link, Mention, Relation, Role, Triple
from kgmed.steps.asked import AskedFor
from kgmed.steps.family import medicines_of
from kgmed.steps.fitting import Fitting
from kgmed.steps.labels import WarnedOf
from kgmed.steps.pairs import Between
from role_graph import RoleGraph, query

RELATIONS = (
    Relation("必须", Role.CONTRAINDICATED),
    Relation("注意", Role.PRECAUTION),
    Relation("不良反应", Role.ADVERSE),
    Relation("适应症", Role.TREATS),
    Relation("病因", Role.CAUSE),
)
G = RoleGraph(
    [
        ("阿托伐他汀", "不良反应", "肌肉痛"),
        ("普萘洛尔", "适应症", "高血压"),
        ("脂肪肝", "病因", "酗酒"),
        ("卡托普利", "不良反应", "咳嗽"),
    ],
    RELATIONS,
    {
        "drug": ["甲硝唑", "头孢唑肟", "头孢噻吩", "阿托伐他汀", "普萘洛尔", "头孢", "他汀", "美洛昔康", "卡托普利"],
        "disease": ["高血压", "哮喘", "脂肪肝", "青霉素过敏", "肾功能不全"],
        "symptom": ["肌肉痛", "肌肉疼", "咳嗽"],
        "cause": ["酗酒", "饮酒", "喝酒", "磺胺"],
    },
    texts=[
        ("甲硝唑", "注意", "服药期间应避免酒精饮品"),
        ("头孢唑肟", "注意", "给药后一周内应避免饮酒"),
        ("头孢噻吩", "必须", "对青霉素类药物过敏者禁用"),
        ("美洛昔康", "注意", "肾脏功能损害者慎用"),
        ("美洛昔康", "必须", "对磺胺类药物过敏者禁用"),
    ],
    isolated=["头孢", "他汀", "哮喘", "肌肉疼", "饮酒", "喝酒", "青霉素过敏", "肾功能不全", "磺胺"],
    language="zh",
)


def linked(text: str, *names: str) -> list[Link]:
    return [
        Link(Mention(n, n, text.index(n), text.index(n) + len(n)), G.entity(n), 1.0, "exact")
        for n in sorted(names, key=text.index)
    ]


def verdicts(text: str, *names: str) -> list[Evidence]:
    medicines_of.cache_clear()
    between, links = Between(G), linked(text, *names)
    pair = between.fitting(query(text), links, pairs_asked(text))
    return between(query(text), links, pair) if pair else between.why(query(text), links)


@pytest.mark.parametrize(
    ("text", "names", "verdict", "said"),
    [
        ("昨天喝了点酒今天能吃甲硝唑吗", ("甲硝唑",), "no", "避免酒精"),
        ("甲硝唑和酒能一起吃吗", ("甲硝唑",), "no", "避免酒精"),
        ("吃了头孢能喝酒吗", ("头孢", "喝酒"), "no", "头孢唑肟"),
        ("对青霉素过敏能用头孢吗", ("青霉素过敏", "头孢"), "no", "头孢噻吩"),
        ("磺胺过敏能吃美洛昔康吗", ("磺胺", "美洛昔康"), "no", "磺胺类药物过敏者禁用"),
        ("肾功能不全能吃美洛昔康吗", ("肾功能不全", "美洛昔康"), "caution", "肾脏功能损害"),
        ("吃他汀会不会肌肉疼", ("他汀", "肌肉疼"), "yes", "阿托伐他汀"),
        ("喝酒会引起脂肪肝吗", ("喝酒", "脂肪肝"), "yes", "酗酒"),
        ("吃卡托普利为什么咳嗽", ("卡托普利", "咳嗽"), "yes", "卡托普利"),
    ],
)
def test_what_warns_in_other_words_or_of_a_class(text: str, names: tuple[str, ...], verdict: str, said: str) -> None:
    found = verdicts(text, *names)
    assert found[0].id == verdict
    assert said in found[0].text


def test_a_condition_of_which_nothing_is_known_is_told_before_what_a_medicine_is_given_for() -> None:
    found = verdicts("高血压合并哮喘的病人可以用普萘洛尔吗", "高血压", "哮喘", "普萘洛尔")
    assert [e.id for e in found] == ["none", "other"]
    assert "哮喘与普萘洛尔" in found[0].text


def test_a_reason_that_no_medicine_gives_is_not_made_up() -> None:
    assert [e.id for e in verdicts("吃普萘洛尔为什么咳嗽", "普萘洛尔", "咳嗽")] == ["none"]


class Labelled(RoleGraph):
    """The same graph with its texts in one table, as a store has them."""

    @property
    def tables(self) -> SimpleNamespace:
        rows = self._labels()
        names = [r.name for r in self.relations]
        return SimpleNamespace(
            text=[t.tail.name for t in rows], text_relation=np.array([names.index(t.relation.name) for t in rows])
        )

    def text(self, number: int) -> Triple:
        return self._labels()[number]

    def _labels(self) -> list[Triple]:
        return [t for node in range(self.adjacency.nodes) for t in self.attributes(self.at(node).id)]


LABELLED = Labelled(
    [("甲硝唑", "适应症", "感染"), ("甲硝唑", "必须", "癫痫"), ("阿托品", "注意", "高热")],
    RELATIONS,
    {"drug": ["甲硝唑", "阿托品", "氯丙嗪", "倍他米松"], "disease": ["青光眼", "癫痫", "感染"]},
    texts=[
        ("阿托品", "必须", "青光眼患者禁用"),
        ("氯丙嗪", "注意", "青光眼患者慎用"),
        ("倍他米松", "注意", "长期使用可引起青光眼"),
    ],
    isolated=["青光眼"],
    language="zh",
)


def test_medicines_whose_labels_warn_of_a_condition_those_that_are_forbidden_first() -> None:
    medicines_of.cache_clear()
    asked = WarnedOf(LABELLED).of
    (found,) = asked(query("青光眼病人禁用哪些药"), [LABELLED.link("青光眼")])
    assert (found.id, [t.subject.name for t in found.triples]) == ("no", ["阿托品", "氯丙嗪"])
    assert "未列出者不等于安全" in found.text
    (edge,) = asked(query("癫痫不能吃什么药"), [LABELLED.link("癫痫")])
    assert [t.subject.name for t in edge.triples] == ["甲硝唑"]
    assert asked(query("青光眼是什么"), [LABELLED.link("青光眼")]) == []
    assert asked(query("甲硝唑哪些药不能同用"), [LABELLED.link("甲硝唑")]) == []


@pytest.mark.parametrize("text", ["小孩癫痫可以洗澡吗", "癫痫能献血吗"])
def test_a_list_is_no_answer_to_yes_or_no(text: str) -> None:
    (found,) = Fitting(LABELLED, lambda _: ())(query(text), [LABELLED.link("癫痫")])
    assert (found.id, found.triples) == ("lacking", ())


def test_a_class_that_nothing_was_linked_to_is_asked_of_its_members_in_the_order_of_the_question() -> None:
    assert [e.id for e in verdicts("他汀类药物会引起肌肉疼吗", "肌肉疼")] == ["yes"]


def test_both_conditions_of_which_nothing_is_known_are_told() -> None:
    found = verdicts("有高血压和哮喘能吃阿托伐他汀吗", "高血压", "哮喘", "阿托伐他汀")
    assert [e.id for e in found] == ["none", "none"]


@pytest.mark.parametrize(("name", "asked"), [("高血压急症", "高血压"), ("高血压", "高血压")])
def test_what_a_stage_has_not_is_told_of_the_disease(name: str, asked: str) -> None:
    g = RoleGraph(
        [("普萘洛尔", "适应症", "高血压")],
        RELATIONS,
        {"drug": ["普萘洛尔"], "disease": ["高血压", "高血压急症"]},
        isolated=["高血压急症"],
        language="zh",
    )
    (found,) = AskedFor(g)(query(f"{name}怎么治疗"), [g.link(name)])
    assert found.about[0].name == asked


@pytest.mark.parametrize(
    ("text", "names", "medicines"),
    [("孕妇感冒了吃什么药", ("孕妇", "感冒"), {"感冒灵"}), ("孕妇吃什么药", ("孕妇",), {"多维片"})],
)
def test_the_people_for_whom_a_treatment_is_asked_are_no_illness(
    text: str, names: tuple[str, ...], medicines: set[str]
) -> None:
    g = RoleGraph(
        [("感冒灵", "适应症", "感冒"), ("多维片", "适应症", "孕妇")],
        RELATIONS,
        {"drug": ["感冒灵", "多维片"], "disease": ["感冒"], "population": ["孕妇"]},
        language="zh",
    )
    links = [Link(Mention(n, n, text.index(n), text.index(n) + len(n)), g.entity(n), 1.0, "exact") for n in names]
    found = Fitting(g, lambda _: ())(query(text), links)
    assert {t.head.name for e in found for t in e.triples} == medicines


def test_whether_one_may_drink_with_an_illness_is_told_by_what_drinking_does_to_it_and_never_by_medicines() -> None:
    relations = (Relation("cause", Role.CAUSE), Relation("禁忌", Role.CONTRAINDICATED))
    kinds = {"disease": ["肝硬化", "痛风"], "cause": ["酗酒"], "drug": ["乙醇", "药"]}
    rows = [("肝硬化", "cause", "酗酒"), ("药", "禁忌", "痛风")]
    g = RoleGraph(rows, relations, kinds, isolated=["乙醇"])

    def first(text: str, illness: str) -> Evidence:
        drunk = Mention("喝酒", "喝酒", text.index("喝酒"), text.index("喝酒") + 2)
        links = [g.link(illness), replace(g.link("乙醇"), mention=drunk)]
        return Fitting(g, lambda _: ())(query(text), links)[0]

    assert [t.tail.name for t in first("肝硬化病人能喝酒吗", "肝硬化").triples] == ["酗酒"]
    assert first("痛风能喝酒吗", "痛风").id == "none"
