"""Diseases that explain findings."""

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.pipeline import notes
from kgmed.records import Relation, Role
from kgmed.steps.diagnosis import EMERGENCY, Consult, Diagnosis, OnlyRare, told_of
from kgmed.steps.fitting import Fitting
from kgmed.steps.posterior import posterior
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


def scores(g: RoleGraph, *links: str, no: tuple[str, ...] = ()) -> dict[str, float]:
    found = Diagnosis(g)(Q, [*(g.link(n) for n in links), *(g.link(n, no=True) for n in no)])
    return {e.about[0].name: e.score for e in found}


def test_a_score_is_the_log_of_the_frequency_over_the_base_rate() -> None:
    g = graph([("D1", "has", "q"), ("D2", "has", "r")], {("D1", "has", "q"): 0.8, ("D2", "has", "r"): 0.8})
    # P(q) = (1 + 0.5) / (3 + 1)
    assert scores(g, "q") == {"D1": round(math.log(0.8 / 0.375), 4)}
    # D2 lacks q, D1 lacks r: half the base rate, at most 0.01
    both = round(math.log(0.8 / 0.375) + math.log(0.01 / 0.375), 4)
    assert scores(g, "q", "r") == {"D1": both, "D2": both}


def test_without_frequencies_a_finding_of_a_short_list_counts_more_than_one_of_a_long_list() -> None:
    assert scores(graph([("D1", "has", "q")]), "q") == {"D1": round(math.log(0.9 / 0.375), 4)}
    many = [("D2", "has", name) for name in ("q", *(f"f{i}" for i in range(99)))]  # 100 / (100 + 100)
    assert scores(graph([("D1", "has", "q"), *many]), "q") == {
        "D1": round(math.log(0.9 / 0.625), 4),
        "D2": round(math.log(0.5 / 0.625), 4),
    }


def test_a_broader_annotation_backs_off_and_a_narrower_one_counts_in_full() -> None:
    rows = [("q", "is_a", "wide"), ("D1", "has", "wide"), ("D2", "has", "q")]
    g = graph(rows, {rows[1]: 0.8, rows[2]: 0.6})
    # P(q) = 1.5/4, P(wide) = 2.5/4; D1 has q by 0.8 * min(3/5, 1/2)
    assert scores(g, "q", "wide")["D1"] == round(math.log(0.4 / 0.375) + math.log(0.8 / 0.625), 4)
    assert scores(g, "wide")["D2"] == round(math.log(0.6 / 0.625), 4)


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
    assert found["common"] - found["rare"] == pytest.approx(math.log(6) / 2, abs=2e-4)


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
    found = Diagnosis(g)(query(text), [g.link("q")])
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
    g = RoleGraph(rows, RELATIONS, {"disease": ["Angina", "Heart attack", "Stroke"]})
    found = Consult(g)(Q, [g.link("q"), g.link("r")])
    assert [(e.about[0].name, e.id) for e in found] == [("Heart attack", EMERGENCY), ("Angina", ""), ("Stroke", "")]


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


def test_a_name_made_of_two_findings_stands_for_both() -> None:
    rows = [(f"{d}{i}", "has", d) for d in ("发热", "咳嗽") for i in range(3)]
    rows = [("both", "has", "发热"), ("both", "has", "咳嗽"), ("other", "has", "发热咳嗽"), *rows]
    g = RoleGraph(rows, RELATIONS, {"disease": [r[0] for r in rows]}, language="zh")
    assert Diagnosis(g)(Q, [g.link("发热咳嗽")])[0].about == (g.entity("both"), g.entity("发热"), g.entity("咳嗽"))


def test_the_disease_asked_of_a_name_made_of_findings_is_one_that_has_the_parts() -> None:
    rows = [(f"{d}{i}", "has", d) for d in ("发热", "咳嗽") for i in range(3)]
    rows = [("both", "has", "发热"), ("both", "has", "咳嗽"), ("other", "has", "发热咳嗽"), *rows]
    g = RoleGraph(rows, RELATIONS, {"disease": [r[0] for r in rows]}, language="zh")
    found = Fitting(g, lambda _: [])(query("发热咳嗽是什么病"), [g.link("发热咳嗽")])
    assert found[0].about[0] == g.entity("both")
    assert found[0].kind == "candidate"


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


NODES = ["q", "r", "wide"]
EDGES = st.sets(
    st.one_of(
        st.tuples(st.sampled_from(DISEASES), st.sampled_from(["has", "lacks"]), st.sampled_from(NODES)),
        st.tuples(st.sampled_from(NODES), st.just("seen in"), st.sampled_from(DISEASES)),
        st.sampled_from([("q", "is_a", "wide"), ("r", "is_a", "wide"), ("q", "is_a", "r")]),
    ),
    max_size=9,
)


@given(edges=EDGES, denied=st.sets(st.sampled_from(NODES)), data=st.data())
def test_it_scores_as_the_definition_says(
    edges: set[tuple[str, str, str]], denied: set[str], data: st.DataObject
) -> None:
    rows = sorted(edges)
    drawn = data.draw(st.lists(st.integers(1, 10), min_size=len(rows), max_size=len(rows)))
    weights = {row: w / 10 for row, w in zip(rows, drawn, strict=True)}
    asked = data.draw(st.lists(st.sampled_from(NODES), min_size=1, unique=True))
    g = graph(rows, weights)
    links = [g.link(n, no=n in denied) for n in asked if posterior(g).is_finding(g.number(n))]
    want = _brute(rows, weights, {n: n in denied for n in asked})
    got = {e.about[0].name: e.score for e in Diagnosis(g)(Q, links)}
    assert got.keys() == want.keys()
    assert all(math.isclose(got[d], want[d], abs_tol=2e-4) for d in want)


def test_a_broader_finding_that_is_written_both_ways_counts_with_the_larger_weight() -> None:
    rows = [("D1", "has", "q"), ("D3", "has", "r"), ("q", "is_a", "r"), ("r", "seen in", "D3")]
    weights = dict(zip(rows, (0.1, 0.1, 1.0, 0.9), strict=True))
    g = graph(rows, weights)
    got = {e.about[0].name: e.score for e in Diagnosis(g)(Q, [g.link("q"), g.link("r")])}
    assert got == pytest.approx(_brute(rows, weights, {"q": False, "r": False}), abs=2e-4)


def _brute(
    rows: list[tuple[str, str, str]], weights: dict[tuple[str, str, str], float], asked: dict[str, bool]
) -> dict[str, float]:
    """The definition in the module's head, one disease and one finding at a time."""
    up = {n: {n} for n in NODES}
    for _, n in product(range(3), NODES):
        up[n] |= {b for a, r, t in rows if r == "is_a" and a in up[n] for b in up[t]}
    down = {n: {m for m in NODES if n in up[m]} for n in NODES}
    has: dict[tuple[str, str], float] = {}
    for row in rows:
        pair = _finding(row)
        if pair:
            breadth = len({r for r in map(_finding, rows) if r and r[0] == pair[0]})
            frequency = weights[row] if weights[row] < 1 else 100 / (100 + breadth)
            has[pair] = max(has.get(pair, 0.0), frequency)
    lacks = {(h, t) for h, r, t in rows if r == "lacks"}
    with_it = {n: {d for d in DISEASES if any((d, k) in has for k in down[n])} for n in NODES}
    base = {n: (len(with_it[n]) + 0.5) / (len(DISEASES) + 1) for n in NODES}
    known = {n: no for n, no in asked.items() if with_it[n]}
    proposed = {d for n, no in known.items() if not no for d in with_it[n]}
    return {d: sum(_term(d, n, no, has, lacks, up, down, base) for n, no in known.items()) for d in proposed}


def _finding(row: tuple[str, str, str]) -> tuple[str, str] | None:
    return (row[0], row[2]) if row[1] == "has" else (row[2], row[0]) if row[1] == "seen in" else None


def _term(d, n, no, has, lacks, up, down, base) -> float:  # type: ignore[no-untyped-def]
    broader = [has[d, a] * min(base[n] / base[a], 0.5) for a in up[n] - {n} if (d, a) in has]
    direct = [has[d, k] for k in down[n] if (d, k) in has]
    p = max([min(0.01, 0.5 * base[n]), *broader, *direct])
    if any((d, a) in lacks for a in up[n]):
        p = 0.001
    p = min(max(p, 1e-6), 0.9)
    return math.log((1 - p) / (1 - base[n])) if no else math.log(p / base[n])


def test_what_the_graph_says_to_befall_children_is_likelier_of_a_child() -> None:
    risk = Relation("befalls", Role.RISK)
    rows = [("D1", "has", "q"), ("D2", "has", "q"), ("D2", "befalls", "preschool children")]
    g = RoleGraph(rows, (*RELATIONS, risk), {"disease": DISEASES})

    def order(text: str) -> list[str]:
        return [e.about[0].name for e in Diagnosis(g)(query(text), [g.link("q")])]

    assert order("My child has q. What could it be?") == ["D2", "D1"]
    assert order("What could it be?") == ["D1", "D2"]


def test_what_is_told_is_no_reason_of_itself() -> None:
    g = graph([("D1", "has", "D2"), ("D2", "has", "q"), ("D1", "has", "q")])
    assert "D2" not in scores(g, "D2", "q")


def test_of_a_symptom_with_few_causes_of_its_own_the_diseases_that_show_it_are_told() -> None:
    cause = Relation("caused by", Role.CAUSE)
    rows = [("D1", "has", "q"), ("D2", "has", "q"), ("q", "caused by", "one"), ("D3", "caused by", "two")]
    g = RoleGraph(rows, (*RELATIONS, cause), {"disease": DISEASES})

    def told(name: str) -> list[str]:
        found = Fitting(g, lambda _: [])(query(f"What causes {name}?"), [g.link(name)])
        return [e.about[0].name for e in found if e.kind == "candidate"]

    assert told("q") == ["D1", "D2"]
    assert told("D3") == []


def test_people_who_have_a_disease_are_asked_about_as_it() -> None:
    warns = Relation("禁忌", Role.CONTRAINDICATED)
    kinds = {"drug": ["药"], "disease": ["高血压"], "population": ["高血压患者"]}
    g = RoleGraph([("药", "禁忌", "高血压")], (warns,), kinds, isolated=["高血压患者"])
    fitting = Fitting(g, lambda _: [])
    links = [(g.link("高血压患者"), 0, 5), (g.link("药"), 8, 9)]
    there = [replace(link, mention=replace(link.mention, start=a, end=b)) for link, a, b in links]
    [said, *_] = fitting(query("高血压患者可以吃药吗"), there)
    assert said.id == "no"


def test_the_words_of_a_name_ask_for_nothing() -> None:
    mode = Relation("mode", Role.INHERITANCE)
    rows = [("Hereditary D1", "has", "q"), ("q", "mode", "Autosomal dominant inheritance")]
    g = RoleGraph(rows, (*RELATIONS, mode), {"disease": ["Hereditary D1", "q"]})
    text, links = "Can people with Hereditary D1 have q?", [("Hereditary D1", 16), ("q", 35)]
    there = [
        replace(link, mention=replace(link.mention, start=at, end=at + len(name)))
        for name, at in links
        for link in [g.link(name)]
    ]
    [said, *_] = Fitting(g, lambda _: [])(query(text), there)
    assert [t.tail.name for t in said.triples] == ["q"]


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
    found = Diagnosis(g)(query("饮酒后小腿疼痛，是什么病"), links)
    assert {t.object.name for e in found for t in e.triples} == {"疼痛"}
    assert found[0].about[0].name == "D2"
    sober = Diagnosis(g)(query("小腿疼痛，是什么病"), [g.link("小腿"), g.link("疼痛")])
    assert sober[0].about[0].name != "D2"
