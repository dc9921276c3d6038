"""HyKGE from question to answer with a model that says what it is told."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from kgmed.errors import BadInput, ModelFailed
from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.search.chains import SHAPES
from kgmed.graph.store.store import Store
from kgmed.language.text import one_line
from kgmed.linking.by_model import Tagger
from kgmed.methods.hykge import PAPER, PRESETS, ChainRetriever, HyKGESettings, OptionFacts, TopChains, hykge
from kgmed.models.encoders import NgramEncoder
from kgmed.models.fakes import Scripted
from kgmed.models.w2ner import FoundEntity
from kgmed.pipeline import Pipeline, notes
from kgmed.records import Entity, Evidence, Link, Mention, Query, Question, Relation, Role, Triple
from kgmed.registry import methods
from kgmed.steps.rank import Fragments
from kgmed.steps.retrieve import First
from kgmed.toolkit import Toolkit
from named_graph import small

ROWS: tuple[Row, ...] = (
    NodeRow("gout", kind="disease", description="A disease of uric acid."),
    NodeRow("red toe", kind="symptom", description="A toe that is red."),
    NodeRow("colchicine", kind="drug"),
    EdgeRow("gout", "has_finding", "red toe"),
    EdgeRow("colchicine", "treats", "gout"),
    EdgeRow("colchicine", "eases", "red toe"),
    *(EdgeRow("gout", "has_finding", f"finding {i}") for i in range(15)),
    *(EdgeRow(f"remedy {i}", "treats", "gout") for i in range(15)),
    *(EdgeRow(f"remedy {i}", "eases", "red toe") for i in range(15)),
)
Q = "What helps a man with a red toe?"
GUESS = "It may be gout. Colchicine is a drug for it."
SAID = "Colchicine eases a red toe [1]. Answer: B"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("hykge"), ROWS)


def toolkit(graph: Store, replies: Iterable[str | Exception] | None = None) -> Toolkit:
    return Toolkit(graph, None if replies is None else Scripted(replies), NgramEncoder())


def test_two_calls_a_hypothesis_that_finds_and_an_answer_that_cites(graph: Store) -> None:
    parts = toolkit(graph, [GUESS, SAID])
    run = hykge(parts)(Question(Q, (("A", "remedy 3"), ("B", "colchicine"))))
    assert isinstance(parts.llm, Scripted)
    assert len(parts.llm.asked) == 2
    assert {link.entity.name for link in run.links} == {"red toe", "gout", "colchicine", "remedy 3"}
    assert run.answer.choices == ("B",)
    assert run.answer.citations == (1, 2)  # the piece that the model names, and the one that bears it out
    assert {e.kind for e in run.evidence} == {"triple"}  # facts of the options
    assert (run.method, run.failures) == ("hykge", ())


def test_the_reader_is_shown_arrows_and_descriptions_but_not_the_hypothesis(graph: Store) -> None:
    parts = toolkit(graph, ["It may be gout, I suppose. Colchicine.", SAID])
    hykge(parts, settings=replace(PRESETS["safe"], descriptions=True))(Q)
    assert isinstance(parts.llm, Scripted)
    read = parts.llm.asked[1][-1].text
    assert "I suppose" not in read
    assert "<-(" in read
    assert "gout is defined as: A disease of uric acid." in read
    assert Q in read


def test_the_question_is_never_cut_however_long_the_hypothesis(graph: Store) -> None:
    long = "It may be gout. " * 2000
    run = hykge(toolkit(graph, [long, SAID]))("word " * 300 + Q)
    assert run.query.expanded.index(Q) < run.query.expanded.index("It may be gout")
    assert "red toe" in {link.entity.name for link in run.links}


def test_the_best_chain_stands_first(graph: Store) -> None:
    run = hykge(toolkit(graph, [GUESS, SAID]))(Q)
    scores = [e.score for e in run.evidence]
    assert scores == sorted(scores, reverse=True)
    assert run.evidence[0].score > run.evidence[-1].score


def test_one_entity_alone_has_its_triples_unless_told_otherwise(graph: Store) -> None:
    alone = "Tell me of colchicine."
    assert [e.kind for e in hykge(toolkit(graph), preset="code")(alone).evidence] == ["triple", "triple"]
    assert hykge(toolkit(graph), settings=replace(PAPER, alone="never"))(alone).answer.abstained


def test_questions_leave_nothing_behind(graph: Store) -> None:
    ask = hykge(toolkit(graph))
    first = ask("red toe and gout").context
    assert "red toe" not in "".join(e.text for e in ask("What is finding 3?").evidence).replace("finding", "")
    assert ask("red toe and gout").context == first
    assert ask("What is tungsten?").answer.abstained
    assert ask("red toe and gout").context == first


def test_a_hypothesis_or_a_reader_that_fails_does_not_end_the_run_and_is_told_of(graph: Store) -> None:
    for broken in ("", "<think>gout", ModelFailed("down")):
        run = hykge(toolkit(graph, [broken, "Gout [1]."]))(Q)
        assert run.query.hypothesis == ""
        assert run.failures[0].startswith("searched with the question alone: ")
    for useless in ("", "[1] [2]", "so so so so " * 9, "可以使用药物治疗。", ModelFailed("down")):
        run = hykge(toolkit(graph, [GUESS, useless]))(Q)
        assert run.failures
        assert run.answer.reader == "facts"


def test_without_a_model_the_ranked_chains_are_the_answer_and_the_run_says_so(graph: Store) -> None:
    run = hykge(toolkit(graph))("red toe, colchicine")
    assert run.method == "hykge without hypothesis"
    assert run.context.text.startswith("[1] red toe <-(eases)- colchicine")


def test_the_numbers_are_those_of_the_paper_and_its_code() -> None:
    paper, code = PRESETS["paper"], PRESETS["code"]
    assert (paper.hops, paper.keep, paper.similar, paper.window, paper.overlap) == (3, 10, 0.7, 10, 4)
    assert (paper.hypothesis_tokens, paper.aggregate, paper.described_from) == (500, "max", 0.0)
    assert (code.hops, code.keep, code.similar, code.window, code.overlap) == (2, 11, 0.6, 35, 15)
    assert (code.unit, code.described_from, code.alone) == ("char", 0.2, "always")


def changed(a: Pipeline, b: Pipeline) -> set[str]:
    """The stages in which two pipelines differ."""
    return {f.name for f in fields(Pipeline) if repr(getattr(a, f.name)) != repr(getattr(b, f.name))} - {"name"}


@pytest.mark.parametrize(
    ("settings", "stage"),
    [
        (replace(PRESETS["safe"], hypothesis=False), "expand"),
        (replace(PRESETS["safe"], descriptions=True), "phrase"),
        (replace(PRESETS["safe"], fragments=False), "rank"),
        (replace(PRESETS["safe"], rerank=False), "rank"),
        (replace(PRESETS["safe"], chains=False), "retrieve"),
        (replace(PRESETS["safe"], aggregate="quota"), "rank"),
        (replace(PRESETS["safe"], same_pattern=1), "rank"),
        (replace(PRESETS["safe"], hops=3), "retrieve"),
        (replace(PRESETS["safe"], alone="never"), "retrieve"),
    ],
)
def test_an_ablation_is_one_setting_and_changes_one_stage(graph: Store, settings: HyKGESettings, stage: str) -> None:
    parts = toolkit(graph, [])
    base, other = hykge(parts), hykge(parts, settings=settings)
    assert changed(replace(base, check=other.check, link=other.link), other) == {stage}


def test_without_chains_there_are_triples_and_without_a_reranker_the_first_found(graph: Store) -> None:
    ask = "What helps a red toe in gout?"
    assert {e.kind for e in hykge(toolkit(graph), settings=replace(PAPER, chains=False))(ask).evidence} == {"triple"}
    plain = hykge(toolkit(graph), settings=replace(PAPER, rerank=False))
    query = plain(ask).query
    found = plain.retrieve[0](query, plain(ask).links)
    assert [e.text for e in plain(ask).evidence] == [e.text for e in found[: PAPER.keep]]


def test_without_fragments_question_and_hypothesis_are_the_only_rows(graph: Store) -> None:
    [top] = hykge(toolkit(graph), settings=replace(PAPER, fragments=False)).rank
    assert isinstance(top, TopChains)
    rank = top.ways[-1]
    assert isinstance(rank, Fragments)
    parts = toolkit(graph, [GUESS, SAID])
    query = hykge(parts)(Q).query
    assert len(rank.rows(query)) == 3  # both together, the question, the hypothesis


def test_it_is_registered_under_its_name(graph: Store) -> None:
    assert methods.get("hykge").build(toolkit(graph, [GUESS, SAID]))(Question(Q)).method == "hykge"


def test_a_trained_tagger_takes_the_place_of_the_graphs_names(graph: Store) -> None:
    def label(texts: Sequence[str]) -> list[list[FoundEntity]]:
        return [[FoundEntity("dis", ((i, i + 4),))] if (i := t.find("gout")) >= 0 else [] for t in texts]

    parts = replace(toolkit(graph, [GUESS, SAID]), tagger=Tagger(label))
    run = hykge(parts)(Question(Q, (("A", "remedy 3"), ("B", "colchicine"))))
    assert [m.name for m in run.mentions] == ["gout"]
    assert [link.entity.name for link in run.links] == ["gout"]


def chained(inner: str, *, role: Role = Role.OTHER) -> Evidence:
    """A chain from a to b over an inner entity."""
    a, x, b = (Entity(n, n) for n in ("a", inner, "b"))
    triples = (Triple(a, Relation("r", role), x), Triple(b, Relation("s"), x))
    return Evidence(f"a {inner} b", "co_ancestor", triples, (a, b), 1.0)


def named(*names: str) -> Callable[[str], list[Link]]:
    return lambda _: [Link(Mention(n, n, 0, 1), Entity(n, n), 1.0, "exact") for n in names]


def test_the_number_of_chains_is_a_limit_and_what_is_asked_about_warns_beside_it() -> None:
    chains = [chained(str(i), role=Role.CONTRAINDICATED) for i in range(20)]
    top = TopChains((First(1 << 30),), named("a"), keep=10, same_pattern=0, warnings=3)
    with notes() as left:
        kept = top(Query(Question("a?")), chains)
    assert [e.kind for e in kept] == ["co_ancestor"] * 10 + ["warning"] * 3
    assert left == ["chains kept: 20 -> 10", "warnings: 3 of 10 shown"]
    assert len(TopChains(top.ways, named("other"), keep=10)(Query(Question("c?")), chains)) == 10


def test_one_pattern_does_not_take_all_places_while_others_are_left() -> None:
    same, other = [chained(str(i)) for i in range(9)], chained("z", role=Role.TREATS)
    other = replace(other, triples=(replace(other.triples[0], relation=Relation("q")), other.triples[1]))
    top = TopChains((First(1 << 30),), named(), keep=5, same_pattern=3, same_pair=0)
    kept = top(Query(Question("?")), [*same, other])
    assert [e.text for e in kept] == ["a 0 b", "a 1 b", "a 2 b", "a z b", "a 3 b"]


def test_one_pair_does_not_take_all_places_whatever_stands_between_them() -> None:
    one = [replace(chained(str(i)), triples=chained(str(i)).triples[:1]) for i in range(9)]
    ends = (Entity("a", "a"), Entity("c", "c"))
    top = TopChains((First(1 << 30),), named(), keep=5, same_pattern=0, same_pair=3)
    kept = top(Query(Question("?")), [*one, replace(one[0], text="a z c", about=ends)])
    assert [e.text for e in kept] == ["a 0 b", "a 1 b", "a 2 b", "a z c", "a 3 b"]
    turned = replace(one[0], text="b z a", about=one[0].about[::-1])
    assert top(Query(Question("?")), [*one[:3], turned, replace(one[0], text="a z c", about=ends)])[3].text == "a z c"


def test_each_shape_alone_can_be_asked_for(graph: Store) -> None:
    query, links = Query(Question(Q)), toolkit(graph).linked("red toe, gout")
    found = {shape: {e.kind for e in ChainRetriever(graph, shapes=(shape,))(query, links)} for shape in SHAPES}
    assert all(kinds <= {shape} for shape, kinds in found.items())
    assert any(found.values())
    with pytest.raises(BadInput, match="shape"):
        ChainRetriever(graph, shapes=("ring",))(Query(Question(Q)), toolkit(graph).linked("red toe, gout"))


def test_the_model_finds_the_terms_where_the_tagger_is_to_give_way(graph: Store) -> None:
    listed = ['{"terms": ["gout"]}', "no JSON", '{"terms": ["colchicine", "gout"]}']
    settings = replace(PRESETS["paper"], recognizer="model")
    parts = toolkit(graph, [GUESS, *listed, SAID])
    run = hykge(parts, settings=settings)(Question(Q))
    assert [m.name for m in run.mentions] == ["gout", "colchicine"]
    assert {entity.name for e in run.evidence for entity in e.about} == {"gout", "colchicine"}
    nothing = toolkit(graph, [GUESS, "-", "-", "-", "-", SAID])
    named = {m.name for m in hykge(nothing, settings=settings)(Question(Q)).mentions}
    assert named >= {"red toe", "gout"}  # by the graph's own names, after a fourth call


def test_the_model_chooses_the_chains_and_the_order_is_its_own(graph: Store) -> None:
    settings = replace(PRESETS["paper"], reranker="model", listed=20, keep=3, same_pattern=0)
    parts = toolkit(graph, [GUESS, "7, 2", SAID])
    run = hykge(parts, settings=settings)(Question(Q))
    assert isinstance(parts.llm, Scripted)
    lines = re.findall(r"^\d+\. (.+)$", parts.llm.asked[1][-1].text, re.MULTILINE)
    assert len(lines) == 20
    assert [one_line(e.text) for e in run.evidence] == [lines[6], lines[1]]
    silent = hykge(toolkit(graph, [GUESS, "none of them", SAID]), settings=settings)(Question(Q))
    assert [one_line(e.text) for e in silent.evidence] == lines[:3]
    assert any("chains as they came" in line for line in silent.notes)


def test_chains_are_summed_up_before_they_are_read_and_their_evidence_stays(graph: Store) -> None:
    settings = replace(PRESETS["paper"], summary=True)
    parts = toolkit(graph, [GUESS, "Colchicine eases a red toe [1].", SAID])
    run = hykge(parts, settings=settings)(Question(Q))
    assert isinstance(parts.llm, Scripted)
    assert "Colchicine eases a red toe [1]." in parts.llm.asked[-1][-1].text
    assert "-(" not in parts.llm.asked[-1][-1].text
    assert run.context.text == "Colchicine eases a red toe [1]."
    assert len(run.context.cited) > 10
    lost = hykge(toolkit(graph, [GUESS, "###", SAID]), settings=settings)(Question(Q))
    assert "-(treats)->" in lost.context.text
    assert any("not summed up" in line for line in lost.notes)


@pytest.mark.parametrize("setting", [{"recognizer": "model"}, {"reranker": "model"}, {"summary": True}])
def test_what_a_model_is_to_do_needs_one(graph: Store, setting: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="need a language model"):
        hykge(toolkit(graph), settings=replace(PAPER, **setting))


def test_rivals_find_terms_by_the_same_tagger(graph: Store) -> None:
    found = FoundEntity("dis", ((0, 4),))
    parts = replace(toolkit(graph, []), tagger=Tagger(lambda texts: [[found] for _ in texts]))
    for name in ("hykge", "kgrag", "qe", "chain-of-note", "chain-of-knowledge", "kalmv", "kg-gpt", "sure"):
        made = methods.get(name).build(parts)
        assert [m.name for m in made.recognize(Query(Question("gout?")))] == ["gout"], name


# --- Which option of an exam question the evidence names.

OF_OPTIONS: tuple[Row, ...] = (
    *(NodeRow(name, kind="drug") for name in ("salbutamol", "warfarin", "insulin")),
    *(NodeRow(name, kind="disease") for name in ("asthma", "thrombosis", "diabetes")),
    EdgeRow("salbutamol", "treats", "asthma"),
    EdgeRow("salbutamol", "treats", "wheezing at night"),
    EdgeRow("salbutamol", "department", "night clinic of wheezing"),
    EdgeRow("warfarin", "treats", "thrombosis"),
    EdgeRow("warfarin", "has_side_effect", "bleeding at night"),
    EdgeRow("insulin", "treats", "diabetes"),
)
EXAM = Question("What treats wheezing at night in asthma?",
                (("A", "warfarin"), ("B", "salbutamol"), ("C", "insulin")))  # fmt: skip


def test_the_evidence_of_an_exam_question_names_the_option_most_that_the_graph_bears_out(tmp_path: Path) -> None:
    graph = small(tmp_path, OF_OPTIONS)
    run = hykge(toolkit(graph))(EXAM)
    named = Counter(t.head.name for e in run.evidence for t in e.triples)
    assert named == {"salbutamol": 2, "warfarin": 1}  # that of insulin shares no word with the question
    assert all("clinic" not in e.text for e in run.evidence)  # a department, which is not asked for


def test_as_published_and_without_options_nothing_of_the_options_facts_is_there(tmp_path: Path) -> None:
    graph = small(tmp_path, OF_OPTIONS)
    for preset in ("paper", "code"):
        made = hykge(toolkit(graph), preset=preset)
        assert not any(isinstance(one, OptionFacts) for one in made.retrieve)
    [found] = hykge(toolkit(graph)).retrieve
    assert isinstance(found, OptionFacts)
    links = hykge(toolkit(graph)).link(toolkit(graph).recognize(Query(Question(EXAM.text))))
    plain = [e for one in found.otherwise for e in one(Query(Question(EXAM.text)), links)]
    assert found(Query(Question(EXAM.text)), links) == plain
    strange = Query(replace(EXAM, text="Which is best?"))
    assert found(strange, links) == [e for one in found.otherwise for e in one(strange, links)]
