"""A run in a notebook and as a graph: what is drawn, what is marked, and that no text can break it."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_makers import items, run
from kgmed.records import (
    Answer,
    Context,
    Entity,
    Evidence,
    Link,
    Mention,
    Query,
    Question,
    Relation,
    Role,
    Run,
    Support,
    Triple,
    Verdict,
)  # fmt: skip
from kgmed.show_run import to_svg, translated_run

EVIL = "<script>alert(1)</script>\"'&]]>\x00\ud800<img src=x onerror=x>[1]"
DISEASE = Entity("d", "flu", "disease")
FLU = Answer("It is flu [1].")
TAGS = {
    *("div", "p", "ul", "li", "b", "br", "i", "span", "sub", "a", "table", "tr", "th", "td"),
    *("svg", "g", "defs", "marker", "rect", "path", "text", "title"),
}


def shown(triples: Sequence[Triple], answer: Answer = FLU, asked: Sequence[Entity] = ()) -> Run:
    """A run with a piece of evidence for each triple."""
    cited = tuple(Evidence(f"{t.head.name} {t.relation} {t.tail.name}", "triple", (t,)) for t in triples)
    links = tuple(Link(Mention(e.name, e.name, 0, 1), e, 1.0, "exact") for e in asked)
    return Run(Query(Question("Which?")), (), links, (), cited, Context("", cited), answer)


def fact(head: Entity, name: str, tail: Entity, role: Role = Role.FINDING) -> Triple:
    return Triple(head, Relation(name, role), tail, source="toy 1", support=(Support("PMID:1"),))


def things(n: int, kind: str = "symptom") -> list[Entity]:
    return [Entity(f"s{i}", f"sign {i}", kind) for i in range(n)]


def read(made: Run) -> ElementTree.Element:
    """The HTML, which is well-formed XML as well."""
    return ElementTree.fromstring(made._repr_html_())


def boxes(made: Run) -> list[ElementTree.Element]:
    return [g for g in ElementTree.fromstring(to_svg(made)).iter() if g.get("rx") == "5"]


def test_a_notebook_shows_question_answer_evidence_and_limits() -> None:
    made = shown([fact(DISEASE, "has", e) for e in things(3)], Answer("It is flu [1], not [9].", limits="Not advice."))
    text = "".join(read(made).itertext())
    for part in ("Which?", "It is flu", "Not advice.", "flu has sign 2", "toy 1, PMID:1", "finding"):
        assert part in text


def test_chinese_names_are_english_or_in_brackets_in_an_english_page_and_the_run_keeps_its_own() -> None:
    names = [Entity("c:1", "皮肤科", "department"), Entity("c:2", "清化热痰", "treatment")]
    made = shown([fact(DISEASE, "就诊科室", names[0], Role.CARE), fact(DISEASE, "药物治疗", names[1], Role.TREATS)])
    unknown = translated_run(shown([fact(DISEASE, "阶段", names[0], Role.OTHER)])).context.cited[0]
    assert unknown.triples[0].relation.name == "other (阶段)"
    page = "".join(read(made).itertext())
    assert [part for part in ("dermatology", "treatment (清化热痰)", "treated by department") if part not in page] == []
    assert "皮肤科" not in page
    assert made.context.cited[0].triples[0].tail == names[0]
    chinese = replace(made, query=Query(Question("流感看什么科？")))
    assert translated_run(chinese) is chinese


def test_what_a_label_forbids_is_not_denied_twice() -> None:
    text = Entity("", "孕妇禁用", "text")
    made = translated_run(shown([fact(Entity("m", "aspirin", "drug"), "禁忌证", text, Role.CONTRAINDICATED)]))
    assert made.context.cited[0].triples[0].tail.name == "pregnancy"


def test_a_run_is_one_short_line_as_plain_text() -> None:
    made = shown([fact(DISEASE, "has", e) for e in things(30)], Answer("It is flu [1]. " * 50))
    assert len(repr(made).splitlines()) == 1
    assert len(repr(made)) < 250


def test_marks_lead_to_the_rows_of_their_evidence_and_others_lead_nowhere() -> None:
    page = read(shown([fact(DISEASE, "has", e) for e in things(2)], Answer("One [1], two [2], none [3].")))
    links = [a.get("href", "#")[1:] for a in page.iter("a")]
    assert len(links) == 2
    assert links == [row.get("id") for row in page.iter("tr") if row.get("id")]


def test_two_runs_on_one_page_do_not_share_the_places_that_their_marks_lead_to() -> None:
    one, other = (shown([fact(DISEASE, "has", e) for e in things(1)]) for _ in range(2))
    found = [{e.get("id") for e in read(made).iter()} - {None} for made in (one, other)]
    assert found[0]
    assert not found[0] & found[1]


def test_a_run_that_abstained_says_so_and_draws_nothing() -> None:
    made = shown([], Answer("The graph has nothing.", abstained=True))
    assert "No answer" in made._repr_html_()
    assert "<svg" not in made._repr_html_()
    assert "No answer" not in shown([])._repr_html_()


def test_sentences_that_the_evidence_does_not_bear_out_are_marked_and_steps_listed() -> None:
    verdicts = (
        Verdict("It is flu [1].", True, "in [1]"),
        Verdict("It never kills.", False, "against [1]", label="contradicted"),
        Verdict("First step", False, "invented"),
    )
    page = read(
        shown([fact(DISEASE, "has", things(1)[0])], Answer("It is flu [1]. It never kills.", verdicts=verdicts))
    )
    [doubt] = page.iter("span")
    assert (doubt.text, doubt.get("title")) == ("It never kills.", "against [1]")
    assert [e.text for e in page.iter("sub")] == [" contradicted"]
    assert [e.text for e in page.iter("li")] == ["unsupported: First step (invented)"]


@given(st.text(max_size=30) | st.just(EVIL))
def test_no_text_becomes_markup(text: str) -> None:
    evil = Entity(text, text, text)
    answer = Answer(text, limits=text, verdicts=(Verdict(text, False, text, label=text), Verdict("x", False, text)))
    made = replace(
        shown([fact(evil, text, evil), fact(evil, text, DISEASE)], answer, [evil]),
        query=Query(Question(text, ((text, text),))), failures=(text,), notes=(text,), method=text, graph=text, id=text,
    )  # fmt: skip
    page = read(made)
    assert {e.tag.rpartition("}")[2] for e in page.iter()} <= TAGS
    assert not [name for e in page.iter() for name in e.attrib if name.startswith("on")]
    assert "<script" not in made._repr_markdown_()


def test_the_same_run_gives_the_same_page() -> None:
    made = run(items(1)[0].question, "flu [1]")
    assert made._repr_html_() == made._repr_html_()


def test_at_most_twenty_entities_are_drawn_those_of_the_question_first_and_the_rest_counted() -> None:
    last = things(40)[-1]
    made = shown([fact(DISEASE, "has", e) for e in things(40)], asked=[DISEASE, last])
    drawn = boxes(made)
    assert len(drawn) == 20
    assert "and 21 more entities" in to_svg(made)
    thick = [b for b in drawn if b.get("stroke-width") == "2.5"]
    assert len(thick) == 2
    assert "sign 39" in to_svg(made)


def test_kinds_have_colours_and_what_warns_is_red() -> None:
    drug = Entity("m", "aspirin", "drug")
    made = shown([fact(DISEASE, "has", things(1)[0]), fact(drug, "not in", DISEASE, Role.CONTRAINDICATED)])
    assert len({b.get("fill") for b in boxes(made)}) == 3
    paths = [e for e in ElementTree.fromstring(to_svg(made)).iter() if e.get("marker-end")]
    red = [p for p in paths if p.get("stroke") == "#b42318"]
    assert ["not in" in "".join(p.itertext()) for p in red] == [True]
    assert len(paths) == 2
    for name in ("disease", "symptom", "drug", "finding", "contraindicated"):
        assert f">{name}</text>" in to_svg(made)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(Role)), min_size=1, max_size=30))
def test_no_two_boxes_overlap_and_all_lie_within_the_picture(rows: list[tuple[int, int, Role]]) -> None:
    some = things(10)
    made = shown([fact(some[a], f"r{a}", some[b], role) for a, b, role in rows], asked=some[3:5])
    image = ElementTree.fromstring(to_svg(made))
    places = [(float(b.get("x", 0)), float(b.get("y", 0))) for b in boxes(made)]
    assert len(places) == len({i for a, b, _ in rows for i in (a, b)})
    assert all(abs(x - p) >= 190 or abs(y - q) >= 28 for i, (x, y) in enumerate(places) for p, q in places[:i])
    assert all(x + 190 <= float(image.get("width", 0)) and y + 28 <= float(image.get("height", 0)) for x, y in places)


def test_triples_that_say_the_same_and_relations_of_one_role_between_two_entities_are_one_arrow() -> None:
    sign = things(1)[0]
    same = [fact(DISEASE, "has", sign), replace(fact(DISEASE, "has", sign), weight=0.5), fact(DISEASE, "shows", sign)]
    image = to_svg(shown(same))
    assert image.count("marker-end") == 1
    assert ">has, shows</text>" in image


def test_the_evidence_as_a_graph_holds_what_its_triples_say() -> None:
    sign, dose = things(1)[0], Entity("", "one a day")
    made = shown([fact(DISEASE, "has", sign), fact(DISEASE, "taken", dose, Role.DOSAGE)], asked=[DISEASE])
    graph = made.evidence_graph()
    assert isinstance(graph, networkx.MultiDiGraph)
    assert graph.nodes["d"] == {"name": "flu", "kind": "disease", "description": "", "asked": True}
    assert graph.nodes["one a day"]["asked"] is False
    assert graph.edges["d", "s0", 0] == {
        "relation": "has", "role": "finding", "reverse": False, "weight": 1.0, "source": "toy 1",
        "references": ["PMID:1"], "citations": [1],
    }  # fmt: skip
    assert graph.graph["run"] == made.id


def test_a_fact_cited_twice_is_one_edge_and_what_is_not_cited_is_left_out_unless_asked_for() -> None:
    one, other = (fact(DISEASE, "has", e) for e in things(2))
    made = replace(shown([one, one]), evidence=(Evidence("a", "triple", (one, other)),))
    assert [c for *_, c in made.evidence_graph().edges(data="citations")] == [[1, 2]]
    assert [c for *_, c in made.evidence_graph(cited=False).edges(data="citations")] == [[1, 2], []]


def test_without_networkx_the_error_names_what_to_install() -> None:
    code = """
import sys
sys.modules["networkx"] = None
from kgmed.errors import Unavailable
from kgmed.records import Answer, Context, Query, Question, Run
try:
    Run(Query(Question("?")), (), (), (), (), Context(""), Answer("")).evidence_graph()
except Unavailable as problem:
    print(problem)
"""
    told = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert 'pip install "kgmed[graphs]"' in told


@pytest.mark.parametrize("needed", ["pydantic", "networkx"])
def test_what_the_records_need_on_demand_is_not_loaded_with_them(needed: str) -> None:
    code = f"import sys, kgmed.records, kgmed.show_run; print({needed!r} in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_a_run_is_told_in_a_line_by_the_beginnings_of_its_texts_with_spaces_or_without() -> None:
    answer = Answer("胃溃疡的治疗：" + "奥美拉唑、" * 20)
    shown = repr(Run(Query(Question("How is a  gastric\nulcer treated?")), (), (), (), (), Context(""), answer))
    assert shown.startswith("<Run 'How is a gastric ulcer treated?' → '胃溃疡的治疗：奥美拉唑、")
    assert "…', evidence: 0," in shown
    assert shown.count("奥美拉唑") == 10
