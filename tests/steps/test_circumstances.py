"""What labels warn of in many words (alcohol, kidneys, allergies), and classes named by a part of their members' names."""

import pytest

from kgmed.language.pair import pairs_asked
from kgmed.records import Evidence, Link, Mention, Relation, Role
from kgmed.steps.family import medicines_of
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
    assert [e.id for e in found] == ["none", "given"]
    assert "哮喘与普萘洛尔" in found[0].text


def test_a_reason_that_no_medicine_gives_is_not_made_up() -> None:
    assert verdicts("吃普萘洛尔为什么咳嗽", "普萘洛尔", "咳嗽") == []
