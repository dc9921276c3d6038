"""Diseases that explain findings."""

import math
from dataclasses import replace

import pytest

from kgmed.diagnose.engine import weights
from kgmed.diagnose.findings import findings_of
from kgmed.diagnose.retrieve import EMERGENCY, Consult, Diagnosis, told_of
from kgmed.facts.plan import OnlyRare
from kgmed.frame import Frame
from kgmed.pipeline import notes
from kgmed.question.patient import patient_of
from kgmed.records import Query, Relation, Role
from role_graph import RoleGraph, query

HAS = Relation("has", Role.FINDING)
SEEN_IN = Relation("seen in", Role.FINDING, reverse=True)
LACKS = Relation("lacks", Role.EXCLUDES)
IS_A = Relation("is_a", Role.IS_A)
RELATIONS = (HAS, SEEN_IN, LACKS, IS_A)
DISEASES = ["D1", "D2", "D3"]
Q = query("What could it be?")


def graph(rows: list[tuple[str, str, str]], weights: dict[tuple[str, str, str], float] | None = None) -> RoleGraph:
    return RoleGraph(rows, RELATIONS, {"disease": DISEASES}, weights=weights, isolated=[*DISEASES, "q", "r", "wide"])


def story(text: str) -> Query:
    """A query with the patient that its words tell."""
    return replace(query(text), frame=Frame(patient=patient_of(text)))


def scores(g: RoleGraph, *links: str, no: tuple[str, ...] = ()) -> dict[str, float]:
    found = Diagnosis(g)(Q, [*(g.link(n) for n in links), *(g.link(n, no=True) for n in no)])
    return {e.about[0].name: e.score for e in found}


def test_a_disease_that_only_has_something_broader_is_not_proposed() -> None:
    g = graph([("q", "is_a", "wide"), ("D1", "has", "wide"), ("D2", "has", "q")])
    assert set(scores(g, "q")) == {"D2"}


def test_an_excluded_finding_speaks_against_a_disease_and_is_shown() -> None:
    g = graph([("D1", "has", "q"), ("D1", "lacks", "r"), ("D2", "has", "q"), ("D3", "has", "r")])
    assert scores(g, "q", "r")["D1"] < scores(g, "q", "r")["D2"]
    found = {e.about[0].name: e for e in Diagnosis(g)(Q, [g.link("q"), g.link("r")])}
    assert "NOT r" in found["D1"].text
    assert found["D1"].is_safety


def test_a_finding_that_is_not_there_speaks_against_those_that_have_it() -> None:
    g = graph([("D1", "has", "q"), ("D1", "has", "r"), ("D2", "has", "q")])
    told = scores(g, "q", no=("r",))
    assert told["D1"] < told["D2"]
    assert scores(g, no=("r",)) == {}


def test_a_relation_written_backwards_gives_the_same() -> None:
    forward, backward = (
        graph([("D1", "has", "q"), ("D2", "has", "r")]),
        graph([("q", "seen in", "D1"), ("D2", "has", "r")]),
    )
    assert scores(forward, "q") == scores(backward, "q")


def test_what_a_disease_lacks_is_said_in_the_language_of_the_graph() -> None:
    g = graph([("D1", "has", "q"), ("D2", "has", "r")])
    assert [e.text for e in Diagnosis(g)(Q, [g.link("q"), g.link("r")])] == [
        "D1: q; not listed: r",
        "D2: r; not listed: q",
    ]


def test_only_diseases_are_proposed_and_each_name_once() -> None:
    names = ["D1", "Stickler syndrome, type I", "Stickler syndrome, type II"]
    g = RoleGraph([(n, "has", "q") for n in (*names, "gene")], RELATIONS, {"disease": names})
    assert set(scores(g, "q")) == {"D1", "Stickler syndrome, type I"}


def cared(*rows: tuple[str, str, str]) -> RoleGraph:
    treats = Relation("treats", Role.TREATS)
    return RoleGraph(rows, (*RELATIONS, treats), {"disease": ["common", "rare", "pain"]})


def test_of_two_that_fit_alike_the_one_about_which_more_is_done_comes_first() -> None:
    fits = [("common", "has", "q"), ("rare", "has", "q")]
    found = scores(cared(*fits, *((f"drug {i}", "treats", "common") for i in range(5))), "q")
    assert found["common"] - found["rare"] == pytest.approx(math.log(6) * weights("patients")["care"], abs=2e-4)


def test_what_many_diseases_show_is_no_good_explanation() -> None:
    found = scores(cared(("rare", "has", "q"), ("pain", "has", "q"), ("common", "has", "pain")), "q")
    assert found["rare"] > found["pain"]


def test_a_finding_does_not_explain_itself() -> None:
    assert set(scores(cared(("pain", "has", "pain"), ("rare", "has", "pain")), "pain")) == {"rare"}


def test_one_case_of_one_counts_less_than_many_of_many() -> None:
    # a weight of 1 states nothing, see the module; readers of counts shrink them
    g = graph([("D1", "has", "q"), ("D2", "has", "q")], {("D1", "has", "q"): 0.56, ("D2", "has", "q"): 0.8})
    assert scores(g, "q")["D1"] < scores(g, "q")["D2"]


def named(*findings: str) -> dict[str, float]:
    """The diseases that 腹痛, which three diseases have, leads to, one disease a finding."""
    plain = [(f"P{i}", "has", "腹痛") for i in range(3)]
    rows = [(f"D{i}", "has", name) for i, name in enumerate(findings)]
    g = RoleGraph([*plain, *rows], RELATIONS, {"disease": [r[0] for r in (*plain, *rows)]}, language="zh")
    return scores(g, "腹痛")


def test_a_finding_named_after_another_is_a_kind_of_it_unless_its_name_denies_it() -> None:
    assert set(named("右下腹痛", "无腹痛", "不伴腹痛", "腹痛消失")) == {"P0", "P1", "P2", "D0"}


def test_a_finding_that_patients_speak_of_is_found_within_longer_names_and_by_its_other_names() -> None:
    # 腹痛 stands in the table of lay words, and so do the other names of its line
    assert set(named("右下腹痛剧烈", "Stomach pain", "头痛")) == {"P0", "P1", "P2", "D0", "D1"}


def test_a_finding_backs_off_to_the_one_that_it_is_named_after() -> None:
    plain = [(f"P{i}", "has", "头痛") for i in range(3)]
    rows = [*plain, ("D", "has", "搏动性头痛"), ("P0", "has", "恶心"), ("other", "has", "恶心")]
    g = RoleGraph(rows, RELATIONS, {"disease": [*(r[0] for r in rows), *"abcdefgh"]}, isolated=[*"abcdefgh"])
    assert scores(g, "恶心")["P0"] == scores(g, "恶心")["other"]
    assert scores(g, "搏动性头痛", "恶心")["P0"] > scores(g, "搏动性头痛", "恶心")["other"]


def test_two_names_of_one_finding_count_once() -> None:
    rows = [("D", "has", "Dysuria"), ("D", "has", "尿痛"), ("E", "has", "r")]
    g = RoleGraph(rows, RELATIONS, {"disease": ["D", "E"]})
    assert scores(g, "Dysuria", "尿痛") == scores(g, "Dysuria")


def told(text: str, *diseases: str) -> list[str]:
    """Of diseases that show the same finding, those that are proposed first for a story."""
    g = RoleGraph([(d, "has", "q") for d in diseases], RELATIONS, {"disease": diseases})
    found = Diagnosis(g)(story(text), [g.link("q")])
    return [e.about[0].name for e in found if e.score >= found[0].score - 0.01]


def test_a_disease_of_children_is_for_children_and_one_of_women_not_for_men() -> None:
    assert told("I am 40 and cough", "小儿肺疡", "肺疡") == ["肺疡"]
    assert told("My 3-year-old coughs", "小儿肺疡", "肺疡", "老年性肺疡") == ["小儿肺疡", "肺疡"]
    assert told("a man of 40", "ovarian scar", "prostate stone") == ["prostate stone"]
    assert told("she is 40", "prostate stone", "ovarian scar") == ["ovarian scar"]


def test_a_poisoning_that_nobody_tells_of_comes_last() -> None:
    assert told("I feel sick", "zinc poisoning", "gastropathy") == ["gastropathy"]
    assert told("I swallowed paint", "gastropathy", "zinc poisoning") == ["gastropathy", "zinc poisoning"]


def test_of_two_that_fit_alike_the_one_that_is_seen_more_often_comes_first() -> None:
    assert told("I cough", "rabies", "influenza") == ["influenza"]
    assert told("I cough", "influenza", "gastropathy") == ["influenza"]


def test_what_may_kill_within_hours_stands_first_of_those_that_fit_as_well() -> None:
    rows = [
        (d, "has", f) for d in ("Angina", "Heart attack", "Stroke") for f in ("q", "r") if (d, f) != ("Stroke", "r")
    ]
    for common in ("", "qr"):  # what nearly all diseases have tells of no emergency
        others = [(f"o{i}", "has", f) for i in range(20) for f in {"x", *common}]
        g = RoleGraph(
            [*rows, *others], RELATIONS, {"disease": ["Angina", "Heart attack", "Stroke", *(d for d, *_ in others)]}
        )
        found = Consult(g)(Q, [g.link("q"), g.link("r")])
        assert [e.about[0].name for e in found[:2]] == ["Heart attack", "Angina"]
        assert [e.id for e in found[:2]] == ["" if common else EMERGENCY, ""]


def _two_with_their_like(*extra: tuple[str, str, str]) -> RoleGraph:
    """D1 and D2 share q; ten diseases are like D1 and have r and s, ten like D2 and have v and w."""
    like = [(f"{d}{i}", "has", f) for d, own in (("o", "rs"), ("p", "vw")) for i in range(10) for f in own]
    own = [("D1", "has", f) for f in "qrs"] + [("D2", "has", f) for f in "qvw"]
    kinds = {"disease": list(dict.fromkeys(row[0] for row in [*own, *like]))}
    return RoleGraph([*own, *like, *extra], RELATIONS, kinds)


def test_the_first_two_are_told_apart_by_what_the_one_has_and_the_other_has_not() -> None:
    g = _two_with_their_like()
    first, second = Consult(g)(Q, [g.link("q")])
    assert (told_of(first, "ask"), told_of(second, "ask")) == ("r, s", "v, w")


def test_an_illness_is_not_asked_for_to_tell_two_diseases_apart_nor_what_few_or_both_have() -> None:
    ill = [(d, "has", "pharyngitis") for d in ("D1", *(f"o{i}" for i in range(10)))]
    g = _two_with_their_like(*ill, ("D1", "has", "odd"), ("D2", "has", "r"))
    first, _ = Consult(g)(Q, [g.link("q")])
    assert told_of(first, "ask") == "s"


def _both(joined: str) -> RoleGraph:
    """A disease that has two findings, and one that has what is called by both of their names."""
    rows = [(f"{d}{i}", "has", d) for d in ("发热", "咳嗽") for i in range(3)]
    rows = [("both", "has", "发热"), ("both", "has", "咳嗽"), ("other", "has", joined), *rows]
    return RoleGraph(rows, RELATIONS, {"disease": [r[0] for r in rows]}, language="zh")


def test_a_name_that_joins_two_findings_stands_for_both() -> None:
    g = _both("发热、咳嗽")
    assert len(findings_of(g, [g.link("发热、咳嗽")])) == 2
    found = {e.about[0].name: e.about[1:] for e in Diagnosis(g)(Q, [g.link("发热、咳嗽")])}
    assert found["both"] == (g.entity("发热"), g.entity("咳嗽"))


def test_a_finding_that_joins_nothing_is_never_cut_into_parts() -> None:
    g = _both("发热咳嗽")
    assert list(findings_of(g, [g.link("发热咳嗽")])) == [(g.number(g.link("发热咳嗽").entity.id),)]
    assert Diagnosis(g)(Q, [g.link("发热咳嗽")])[0].about[0] == g.entity("other")


def test_names_of_one_finding_are_one_set_of_nodes_of_which_the_best_counts() -> None:
    rows = [("D", "has", "Dysuria"), ("E", "has", "尿痛"), ("F", "has", "r")]
    g = RoleGraph(rows, RELATIONS, {"disease": ["D", "E", "F"]})
    links = [g.link("Dysuria"), g.link("尿痛")]
    assert [len(nodes) for nodes in findings_of(g, links)] == [2]
    assert scores(g, "Dysuria", "尿痛")["D"] == scores(g, "Dysuria", "尿痛")["E"]


def test_a_finding_that_no_disease_has_gives_way_to_a_broader_one() -> None:
    g = graph([("q", "is_a", "wide"), ("D1", "has", "wide")])
    found = Diagnosis(g)(Q, [g.link("q")])
    assert [e.about[0].name for e in found] == ["D1"]
    assert found[0].text == "D1: wide"


def test_where_nothing_is_done_about_any_disease_it_is_said_that_common_ones_are_lacking() -> None:
    rare, common = graph([("D1", "has", "q")]), cared(("rare", "has", "q"), ("drug", "treats", "rare"))
    for g, said in ((rare, 1), (common, 0)):
        evidence = Diagnosis(g)(Q, [g.link("q")])
        with notes() as left:
            assert OnlyRare(g)(Q, evidence) == evidence
        assert len(left) == said


def test_what_the_graph_says_to_befall_children_is_likelier_of_a_child() -> None:
    risk = Relation("befalls", Role.RISK)
    rows = [("D1", "has", "q"), ("D2", "has", "q"), ("D2", "befalls", "preschool children")]
    g = RoleGraph(rows, (*RELATIONS, risk), {"disease": DISEASES})

    def order(text: str) -> list[str]:
        return [e.about[0].name for e in Diagnosis(g)(story(text), [g.link("q")])]

    assert order("My child has q. What could it be?") == ["D2", "D1"]
    assert order("What could it be?") == ["D1", "D2"]


def test_what_is_told_is_no_reason_of_itself() -> None:
    g = graph([("D1", "has", "D2"), ("D2", "has", "q"), ("D1", "has", "q")])
    assert "D2" not in scores(g, "D2", "q")


def test_a_body_part_and_what_was_drunk_are_no_findings_and_a_drinker_has_what_drinking_causes_first() -> None:
    site, cause = Relation("site", Role.LOCATION), Relation("caused by", Role.CAUSE)
    rows = [
        ("D1", "has", "小腿"),
        ("D3", "site", "小腿"),
        ("D1", "has", "饮酒"),
        *((d, "has", "疼痛") for d in DISEASES),
    ]
    rows.append(("D2", "caused by", "酗酒"))
    g = RoleGraph(rows, (*RELATIONS, site, cause), {"disease": DISEASES}, language="zh")
    links = [g.link(name) for name in ("小腿", "饮酒", "疼痛")]
    found = Diagnosis(g)(story("饮酒后小腿疼痛，是什么病"), links)
    assert {t.object.name for e in found for t in e.triples} == {"疼痛"}
    assert found[0].about[0].name == "D2"
    sober = Diagnosis(g)(story("小腿疼痛，是什么病"), [g.link("小腿"), g.link("疼痛")])
    assert sober[0].about[0].name != "D2"
