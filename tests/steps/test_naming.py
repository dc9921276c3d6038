"""What ties two things besides an edge: a name that holds the other, and an illness told with its findings."""

from kgmed.records import Relation, Role
from kgmed.steps.naming import naming, with_its_findings
from role_graph import RoleGraph

G = RoleGraph(
    [
        ("胺碘酮", "可引起", "甲状腺功能减退症"),
        ("胺碘酮", "可引起", "无甲状腺肿"),
        ("痛风", "表现", "疼痛"),
        ("痛风", "表现", "发热"),
        ("流感", "表现", "发热"),
        ("秋水仙碱", "治疗", "痛风"),
    ],
    (Relation("可引起", Role.ADVERSE), Relation("表现", Role.FINDING), Relation("治疗", Role.TREATS)),
    {"drug": ["胺碘酮", "秋水仙碱"], "disease": ["痛风", "流感"], "symptom": ["疼痛", "发热"], "body part": ["甲状腺"]},
    isolated=["甲状腺"],
    language="zh",
)


def test_what_is_named_after_a_thing_is_found_and_what_denies_it_is_not() -> None:
    entries = {G.number(G.link("胺碘酮").entity.id): ()}
    assert [t.tail.name for t, _ in naming(G, entries, ["甲状腺"])] == ["甲状腺功能减退症"]
    assert list(naming(G, entries, ["肾"])) == []


def test_an_illness_that_is_told_with_its_findings_is_what_is_asked_about() -> None:
    links = [G.link(n) for n in ("痛风", "疼痛", "发热")]
    assert [x.entity.name for x in with_its_findings(G, links)] == ["痛风"]
    both = [G.link(n) for n in ("流感", "疼痛")]
    assert list(with_its_findings(G, both)) == both
